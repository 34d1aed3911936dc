//! OpenCode's configuration files and folders, and our entries in them.

use std::fs::File;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;
use flamestack_core::text::percent_encoded;

use super::change;
use super::entry::{ConfigFormat, Document, FoundEntry, PluginEntry};
use super::error::InstallError;
use super::git;
use super::npm_placeholder::{self, FolderState};
use super::plan::{Direction, InstallPlan, InstallScope, Planner, StepKind};
use super::plugin;

/// Names of the configuration file, by precedence. The last is an old one that OpenCode reads only in
/// the user's own folder.
pub(super) const CONFIGS: [&str; 3] = ["opencode.jsonc", "opencode.json", "config.json"];
const TERMINAL_CONFIGS: [&str; 2] = ["tui.jsonc", "tui.json"];
const SCHEMA: &str = "https://opencode.ai/config.json";
const TERMINAL_SCHEMA: &str = "https://opencode.ai/tui.json";
/// The configuration folder of a project.
const FOLDER: &str = ".opencode";

/// Paths of an installation on this machine.
#[derive(Clone, Debug)]
pub struct InstallPaths {
    /// The folder of the plugin's files.
    pub plugin: PathBuf,
    /// The record of what was installed.
    pub manifest: PathBuf,
    /// The user's configuration folder of OpenCode.
    pub config: PathBuf,
    /// The user's home.
    pub home: PathBuf,
}

impl InstallPaths {
    /// Returns the paths of the user. The manifest is in the state directory; the plugin's files are in
    /// `data`, or in the default data directory.
    pub fn of_user(state: &Path, data: Option<&Path>) -> Result<Self, InstallError> {
        // OpenCode uses the XDG variables on all platforms.
        let base = etcetera::base_strategy::Xdg::new()
            .map_err(|_| InstallError::new("there is no home directory", "set HOME"))?;
        let data = data.map_or_else(|| base.data_dir().join("flamestack"), Path::to_owned);
        Ok(Self {
            plugin: data.join(plugin::FOLDER),
            manifest: state.join("installed.json"),
            config: base.config_dir().join("opencode"),
            home: base.home_dir().to_owned(),
        })
    }

    /// Prevents other processes from installing until the returned file is dropped.
    pub fn lock(&self) -> Result<File, InstallError> {
        let state = self.manifest.parent().unwrap_or_else(|| Path::new("."));
        flamestack_store::private_dir(state)?;
        let lock = flamestack_store::private_file(&state.join("installed.lock"))?;
        lock.lock()?;
        Ok(lock)
    }

    fn entry(
        &self,
        format: ConfigFormat,
        file: &str,
        command: &str,
    ) -> Result<PluginEntry, InstallError> {
        Ok(PluginEntry {
            format,
            url: file_url(&self.plugin.join(file))?,
            command: command.to_owned(),
        })
    }
}

/// Plans an installation. `command` is the program that the plugin starts.
pub fn install(
    paths: &InstallPaths,
    scope: &InstallScope,
    command: &Path,
    format: ConfigFormat,
) -> Result<InstallPlan, InstallError> {
    let command = unicode(command)?;
    let server = paths.entry(format, plugin::SERVER, command)?;
    let config = target_config(paths, scope, &server)?;
    let mut planner = Planner::new(scope, &paths.manifest)?;
    if let Some((file, package)) = package_entry(paths, scope, &server)? {
        let about = format!(
            "loads the plugin already, from the package {package}: a second copy would do nothing"
        );
        planner.step(StepKind::Leave, &file, about);
        return Ok(planner.finish(Direction::Install));
    }
    add_plugin_files(&mut planner, paths)?;
    if format == ConfigFormat::V1 {
        for folder in npm_folders(paths, scope, &config) {
            add_npm_placeholder(&mut planner, &folder, &server)?;
        }
    }
    let is_new = |path: &Path| fs_err::symlink_metadata(path).is_err();
    let mut created: Vec<PathBuf> = Vec::new();
    created.extend(is_new(&config).then(|| config.clone()));
    planner.add_entry(&config, SCHEMA, &server, "the plugin's entry")?;
    if format == ConfigFormat::V1 && plugin::has_terminal() {
        let terminal = paths.entry(format, plugin::TERMINAL, command)?;
        let beside = config.parent().unwrap_or_else(|| Path::new("."));
        let candidates: Vec<PathBuf> = TERMINAL_CONFIGS
            .iter()
            .map(|name| beside.join(name))
            .collect();
        let path = own_file(scope, &candidates, "tui.json", beside);
        created.extend(is_new(&path).then(|| path.clone()));
        planner.add_entry(&path, TERMINAL_SCHEMA, &terminal, "the TUI plugin's entry")?;
    }
    if let InstallScope::Project(root) = scope {
        keep_out_of_git(&mut planner, root, &created)?;
    }
    Ok(planner.finish(Direction::Install))
}

/// Plans lines that keep new files out of this clone's commits: they name files on this machine.
fn keep_out_of_git(
    planner: &mut Planner,
    root: &Path,
    created: &[PathBuf],
) -> Result<(), InstallError> {
    let inside = created
        .iter()
        .filter_map(|path| path.strip_prefix(root).ok());
    let patterns = inside.map(|path| format!("/{}", path.display().to_string().replace('\\', "/")));
    let patterns: Vec<String> = patterns.collect();
    match git::exclude_file(root).filter(|_| !patterns.is_empty()) {
        Some(file) => planner.add_lines(&file, &patterns, "keeps these files out of git"),
        None => Ok(()),
    }
}

/// Returns true if git shares a file with the team.
fn is_shared(scope: &InstallScope, file: &Path) -> bool {
    match scope {
        InstallScope::Project(root) => file.exists() && git::is_tracked(root, file),
        InstallScope::Global => false,
    }
}

/// Returns the first existing file that is not shared with a team, else a new one; OpenCode reads a
/// `.json` and a `.jsonc` of one name. If both are shared, the first is edited after all.
fn own_file(scope: &InstallScope, candidates: &[PathBuf], name: &str, folder: &Path) -> PathBuf {
    let exists = |path: &&PathBuf| fs_err::symlink_metadata(path).is_ok();
    let existing: Vec<&PathBuf> = candidates.iter().filter(exists).collect();
    let own = existing.iter().find(|path| !is_shared(scope, path));
    if let Some(own) = own {
        return (*own).clone();
    }
    let other = match name.strip_suffix('c') {
        Some(json) => json.to_owned(),
        None => format!("{name}c"),
    };
    let fresh = [name, &other].map(|name| folder.join(name));
    let fresh = fresh
        .into_iter()
        .find(|path| fs_err::symlink_metadata(path).is_err());
    let first = existing.first().map(|path| (*path).clone());
    fresh.or(first).unwrap_or_else(|| folder.join(name))
}

/// Plans the removal of what was installed.
pub fn removal(paths: &InstallPaths, scope: &InstallScope) -> Result<InstallPlan, InstallError> {
    let mut planner = Planner::new(scope, &paths.manifest)?;
    planner.remove_all()?;
    Ok(planner.finish(Direction::Remove))
}

/// An entry of ours in a configuration file that OpenCode reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredEntry {
    /// The scope of the file.
    pub scope: InstallScope,
    /// The configuration file.
    pub file: PathBuf,
    /// The format of the entry.
    pub format: ConfigFormat,
    /// The file that it loads.
    pub package: String,
    /// The program that it starts.
    pub command: Option<String>,
    /// True if it loads the files that this program writes.
    pub is_here: bool,
    /// True if it loads the plugin as a package, which npm keeps up to date.
    pub is_package: bool,
}

/// Returns our entries in a project's and in the user's configuration files.
pub fn configured_entries(
    paths: &InstallPaths,
    root: &Path,
) -> Result<Vec<ConfiguredEntry>, InstallError> {
    let mut found = Vec::new();
    for scope in [InstallScope::Project(root.to_owned()), InstallScope::Global] {
        for file in config_files(paths, &scope) {
            let Some(text) = change::read(&file)? else {
                continue;
            };
            let document = Document::parse(&file, &text)?;
            for format in [ConfigFormat::V1, ConfigFormat::V2] {
                let expected = paths.entry(format, plugin::SERVER, "flame")?;
                let entry = |entry: FoundEntry, is_package| ConfiguredEntry {
                    scope: scope.clone(),
                    file: file.clone(),
                    format,
                    is_here: entry.package == expected.url,
                    package: entry.package,
                    command: entry.command,
                    is_package,
                };
                let (files, package) =
                    (document.find(&expected)?, document.find_package(&expected)?);
                found.extend(files.map(|files| entry(files, false)));
                found.extend(package.map(|package| entry(package, true)));
            }
        }
    }
    Ok(found)
}

/// Returns the entry of a package in the files that a host reads in a scope: the file, and its name.
fn package_entry(
    paths: &InstallPaths,
    scope: &InstallScope,
    expected: &PluginEntry,
) -> Result<Option<(PathBuf, String)>, InstallError> {
    let mut files = config_files(paths, scope);
    // A project's host reads the user's own files too.
    if *scope != InstallScope::Global {
        files.extend(config_files(paths, &InstallScope::Global));
    }
    for file in files {
        if let Some(text) = change::read(&file)?
            && let Some(found) = Document::parse(&file, &text)?.find_package(expected)?
        {
            return Ok(Some((file, found.package)));
        }
    }
    Ok(None)
}

/// Returns the number of up-to-date plugin files, and the number of all plugin files.
pub fn count_current_files(paths: &InstallPaths) -> (usize, usize) {
    let is_current = |(name, text): &&(&str, &str)| {
        fs_err::read(paths.plugin.join(name)).is_ok_and(|bytes| bytes == text.as_bytes())
    };
    let files = plugin::FILES;
    (files.iter().filter(is_current).count(), files.len())
}

/// Returns the files that may contain the entry, by precedence.
fn config_files(paths: &InstallPaths, scope: &InstallScope) -> Vec<PathBuf> {
    match scope {
        InstallScope::Global => CONFIGS.map(|name| paths.config.join(name)).to_vec(),
        InstallScope::Project(root) => {
            let names = CONFIGS.iter().take(2);
            let in_folder = names.clone().map(|name| root.join(FOLDER).join(name));
            names.map(|name| root.join(name)).chain(in_folder).collect()
        }
    }
}

/// Returns the file for the entry: the one that contains it, else the first existing one that is not
/// shared with a team, else a new one.
fn target_config(
    paths: &InstallPaths,
    scope: &InstallScope,
    entry: &PluginEntry,
) -> Result<PathBuf, InstallError> {
    let candidates = config_files(paths, scope);
    for file in &candidates {
        let Some(text) = change::read(file)? else {
            continue;
        };
        if Document::parse(file, &text)?.find(entry)?.is_some() {
            return Ok(file.clone());
        }
    }
    let name = match entry.format {
        ConfigFormat::V1 => "opencode.json",
        ConfigFormat::V2 => "opencode.jsonc",
    };
    let folder = match scope {
        InstallScope::Global => paths.config.clone(),
        InstallScope::Project(root) => root.join(FOLDER),
    };
    Ok(own_file(scope, &candidates, name, &folder))
}

/// Returns the folders that OpenCode installs packages into when it starts.
fn npm_folders(paths: &InstallPaths, scope: &InstallScope, config: &Path) -> Vec<PathBuf> {
    let mut folders = vec![paths.config.clone()];
    let mut add = |folder: PathBuf| {
        let is_used = folder.is_dir() || config.parent() == Some(&folder);
        if is_used && !folders.contains(&folder) {
            folders.push(folder);
        }
    };
    if let InstallScope::Project(root) = scope {
        add(root.join(FOLDER));
    }
    add(paths.home.join(FOLDER));
    folders
}

/// Plans the plugin's files, and the removal of files that an earlier version had.
fn add_plugin_files(planner: &mut Planner, paths: &InstallPaths) -> Result<(), InstallError> {
    let (mut added, mut updated) = (0, 0);
    for (name, text) in plugin::FILES {
        match planner.add_file(&paths.plugin.join(name), text)? {
            Some(StepKind::Add) => added += 1,
            Some(_) => updated += 1,
            None => {}
        }
    }
    let obsolete: Vec<PathBuf> = planner
        .manifest
        .files
        .keys()
        .filter(|path| path.parent() == Some(&paths.plugin))
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            !plugin::FILES.iter().any(|(file, _)| Some(*file) == name)
        })
        .cloned()
        .collect();
    for path in &obsolete {
        planner.delete_file(path);
    }
    let version = env!("CARGO_PKG_VERSION");
    let changed = added + updated + obsolete.len();
    if added == plugin::FILES.len() {
        let about = format!("the plugin {version}, {} files", plugin::FILES.len());
        planner.step(StepKind::Add, &paths.plugin, about);
    } else if changed > 0 {
        let files = if changed == 1 { "file" } else { "files" };
        let about = format!("the plugin {version}, {changed} {files}");
        planner.step(StepKind::Update, &paths.plugin, about);
    }
    Ok(())
}

/// Plans the npm placeholder in a configuration folder, unless the folder may need real packages.
fn add_npm_placeholder(
    planner: &mut Planner,
    folder: &Path,
    entry: &PluginEntry,
) -> Result<(), InstallError> {
    let package = npm_placeholder::PACKAGE;
    let left = match npm_placeholder::inspect(folder, entry)? {
        FolderState::NeedsPlaceholder => None,
        FolderState::Installed => return Ok(()),
        FolderState::HasUserContent(content) => Some(format!(
            "not prepared, because it has other {content}: OpenCode installs {package} there \
             before its first answer, which takes about a minute; `npm install {package}` in \
             that folder does it now"
        )),
        FolderState::PlaceholderWithUserContent => Some(format!(
            "prepared earlier, but has other plugins or tools by now: run `npm install` in that \
             folder if they import {package}"
        )),
    };
    if let Some(reason) = left {
        planner.step(StepKind::Leave, folder, reason);
        return Ok(());
    }
    let mut is_new = planner.add_folder(&folder.join(npm_placeholder::MODULES));
    for (name, text) in npm_placeholder::FILES {
        is_new |= planner.add_file(&folder.join(name), text)?.is_some();
    }
    if is_new {
        let about = "prepared, so the first request does not wait for npm";
        planner.step(StepKind::Add, folder, about);
    }
    let (name, text) = npm_placeholder::GITIGNORE;
    let gitignore = folder.join(name);
    match change::read(&gitignore)? {
        Some(existing) if existing != text => {
            if is_new && npm_placeholder::is_visible_to_git(&existing) {
                let about = "add package.json and package-lock.json to it to keep them out of git";
                planner.step(StepKind::Leave, &gitignore, about);
            }
        }
        _ => {
            planner.add_file(&gitignore, text)?;
        }
    }
    Ok(())
}

fn unicode(path: &Path) -> Result<&str, InstallError> {
    path.to_str().ok_or_else(|| InstallError::not_unicode(path))
}

/// Returns the URL of a file.
fn file_url(path: &Path) -> Result<String, InstallError> {
    let text = unicode(path)?;
    let text = if cfg!(windows) {
        format!("/{}", text.replace('\\', "/"))
    } else {
        text.to_owned()
    };
    Ok(format!("file://{}", percent_encoded(&text, b"/:@+,=")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_can_express_any_path() {
        let url = file_url(Path::new("/home/ada b/100%/#1/é?/index.ts")).unwrap();
        assert_eq!(url, "file:///home/ada%20b/100%25/%231/%C3%A9%3F/index.ts");
    }
}
