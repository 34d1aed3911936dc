//! Where OpenCode looks: its configuration files and folders, and what is of ours in them.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;

use super::change;
use super::entry::{Dialect, Document, Entry};
use super::error::InstallError;
use super::plan::{Plan, Planner, Scope, Verb};
use super::plugin;
use super::seed::{self, Judged};

/// Names of the configuration file, the one that counts most first. The last is an old one, which
/// only the user's own folder has.
pub(super) const CONFIGS: [&str; 3] = ["opencode.jsonc", "opencode.json", "config.json"];
const TERMINAL_CONFIGS: [&str; 2] = ["tui.jsonc", "tui.json"];
const SCHEMA: &str = "https://opencode.ai/config.json";
const TERMINAL_SCHEMA: &str = "https://opencode.ai/tui.json";
/// A project's folder of configuration.
const FOLDER: &str = ".opencode";

/// Where everything is on this machine.
#[derive(Clone, Debug)]
pub struct Places {
    /// The plugin's files.
    pub plugin: PathBuf,
    /// The record of what was written.
    pub ledger: PathBuf,
    /// OpenCode's configuration of the user.
    pub config: PathBuf,
    /// The user's home.
    pub home: PathBuf,
}

impl Places {
    /// The user's own places. The state directory is where the record is kept; the plugin's files
    /// go to the data directory, or to the one that is named instead of it.
    pub fn of_user(state: &Path, data: Option<&Path>) -> Result<Self, InstallError> {
        // OpenCode goes by the XDG variables on every platform.
        let base = etcetera::base_strategy::Xdg::new().map_err(|_| InstallError::NoHome)?;
        let data = data.map_or_else(|| base.data_dir().join("flamestack"), Path::to_owned);
        Ok(Self {
            plugin: data.join(plugin::FOLDER),
            ledger: state.join("installed.json"),
            config: base.config_dir().join("opencode"),
            home: base.home_dir().to_owned(),
        })
    }

    /// Keeps other processes from installing at the same time, for as long as the file is held.
    pub fn lock(&self) -> Result<File, InstallError> {
        let state = self.ledger.parent().unwrap_or_else(|| Path::new("."));
        flamestack_store::private_dir(state)?;
        let lock = flamestack_store::private_file(&state.join("installed.lock"))?;
        lock.lock()?;
        Ok(lock)
    }

    fn entry(&self, dialect: Dialect, file: &str, command: &str) -> Result<Entry, InstallError> {
        Ok(Entry {
            dialect,
            url: file_url(&self.plugin.join(file))?,
            command: command.to_owned(),
        })
    }
}

/// Plans an installation. `command` is the program that the plugin is to start.
pub fn install(
    places: &Places,
    scope: &Scope,
    command: &Path,
    dialect: Dialect,
) -> Result<Plan, InstallError> {
    let command = command.to_str().ok_or_else(|| InstallError::NotUnicode {
        path: command.to_owned(),
    })?;
    let server = places.entry(dialect, plugin::SERVER, command)?;
    let config = target(places, scope, &server)?;
    let mut planner = Planner::new(scope, &places.ledger)?;
    write_files(&mut planner, places)?;
    if dialect == Dialect::One {
        for folder in folders(places, scope, &config) {
            plant(&mut planner, &folder, &server)?;
        }
    }
    planner.entry(&config, SCHEMA, &server, "the plugin's entry")?;
    if dialect == Dialect::One && plugin::has_terminal() {
        let terminal = places.entry(dialect, plugin::TERMINAL, command)?;
        let beside = config.parent().unwrap_or_else(|| Path::new("."));
        let existing = TERMINAL_CONFIGS.iter().map(|name| beside.join(name));
        let path = existing
            .clone()
            .find(|path| fs_err::symlink_metadata(path).is_ok())
            .unwrap_or_else(|| beside.join("tui.json"));
        let about = "the entry of the plugin's terminal part";
        planner.entry(&path, TERMINAL_SCHEMA, &terminal, about)?;
    }
    Ok(planner.finish(false))
}

/// Plans to take out what was installed.
pub fn removal(places: &Places, scope: &Scope) -> Result<Plan, InstallError> {
    let mut planner = Planner::new(scope, &places.ledger)?;
    planner.take_out()?;
    Ok(planner.finish(true))
}

/// An entry of ours that OpenCode reads here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configured {
    /// For one project, or for all.
    pub scope: Scope,
    /// The file that has it.
    pub file: PathBuf,
    /// How it is written.
    pub dialect: Dialect,
    /// What it loads.
    pub package: String,
    /// The program that it names.
    pub command: Option<String>,
    /// Whether it loads the files that this program writes.
    pub is_here: bool,
}

/// The entries that OpenCode reads in a project, the user's own included.
pub fn configured(places: &Places, root: &Path) -> Result<Vec<Configured>, InstallError> {
    let mut found = Vec::new();
    for scope in [Scope::Project(root.to_owned()), Scope::Global] {
        for file in candidates(places, &scope) {
            let Some(text) = change::read(&file)? else {
                continue;
            };
            let document = Document::parse(&file, &text)?;
            for dialect in [Dialect::One, Dialect::Two] {
                let wanted = places.entry(dialect, plugin::SERVER, "flame")?;
                found.extend(document.find(&wanted)?.map(|entry| Configured {
                    scope: scope.clone(),
                    file: file.clone(),
                    dialect,
                    is_here: entry.package == wanted.url,
                    package: entry.package,
                    command: entry.command,
                }));
            }
        }
    }
    Ok(found)
}

/// How many of the plugin's files are there as they should be, and how many there should be.
pub fn files_in_place(places: &Places) -> (usize, usize) {
    let as_should_be = |(name, text): &&(&str, &str)| {
        fs_err::read(places.plugin.join(name)).is_ok_and(|there| there == text.as_bytes())
    };
    let files = plugin::FILES;
    (files.iter().filter(as_should_be).count(), files.len())
}

/// Every file that may have the entry, the one that counts most first.
fn candidates(places: &Places, scope: &Scope) -> Vec<PathBuf> {
    match scope {
        Scope::Global => CONFIGS.map(|name| places.config.join(name)).to_vec(),
        Scope::Project(root) => {
            let names = CONFIGS.iter().take(2);
            let in_folder = names.clone().map(|name| root.join(FOLDER).join(name));
            names.map(|name| root.join(name)).chain(in_folder).collect()
        }
    }
}

/// The file that is to have the entry: the one that has it, else the first that is there, else a
/// new one.
fn target(places: &Places, scope: &Scope, entry: &Entry) -> Result<PathBuf, InstallError> {
    let mut first = None;
    for file in candidates(places, scope) {
        let Some(text) = change::read(&file)? else {
            continue;
        };
        if Document::parse(&file, &text)?.find(entry)?.is_some() {
            return Ok(file);
        }
        first.get_or_insert(file);
    }
    let name = match entry.dialect {
        Dialect::One => "opencode.json",
        Dialect::Two => "opencode.jsonc",
    };
    Ok(first.unwrap_or_else(|| match scope {
        Scope::Global => places.config.join(name),
        Scope::Project(root) => root.join(FOLDER).join(name),
    }))
}

/// The folders that OpenCode installs packages into when it starts.
fn folders(places: &Places, scope: &Scope, config: &Path) -> Vec<PathBuf> {
    let mut folders = vec![places.config.clone()];
    let mut add = |folder: PathBuf| {
        let used = folder.is_dir() || config.parent() == Some(&folder);
        if used && !folders.contains(&folder) {
            folders.push(folder);
        }
    };
    if let Scope::Project(root) = scope {
        add(root.join(FOLDER));
    }
    add(places.home.join(FOLDER));
    folders
}

/// The plugin's files, and no others of ours.
fn write_files(planner: &mut Planner, places: &Places) -> Result<(), InstallError> {
    let mut verbs = BTreeMap::new();
    for (name, text) in plugin::FILES {
        if let Some(verb) = planner.file(&places.plugin.join(name), text)? {
            *verbs.entry(verb == Verb::Add).or_insert(0) += 1;
        }
    }
    let former: Vec<PathBuf> = planner
        .ledger
        .files
        .keys()
        .filter(|path| path.parent() == Some(&places.plugin))
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            !plugin::FILES.iter().any(|(file, _)| Some(*file) == name)
        })
        .cloned()
        .collect();
    for path in &former {
        planner.delete(path);
    }
    let version = env!("CARGO_PKG_VERSION");
    if verbs.get(&true) == Some(&plugin::FILES.len()) {
        let about = format!("the plugin {version}, {} files", plugin::FILES.len());
        planner.tell(Verb::Add, &places.plugin, about);
    } else if !verbs.is_empty() || !former.is_empty() {
        let count = verbs.values().sum::<usize>() + former.len();
        let files = if count == 1 { "file" } else { "files" };
        let about = format!("the plugin {version}, {count} {files}");
        planner.tell(Verb::Update, &places.plugin, about);
    }
    Ok(())
}

/// Spares a configuration folder the installation of packages, if it has nothing of its own.
fn plant(planner: &mut Planner, folder: &Path, entry: &Entry) -> Result<(), InstallError> {
    let minute = format!(
        "OpenCode installs {} there before it answers for the first time, which takes about a \
         minute; `npm install {}` in that folder does it now",
        seed::WANTED,
        seed::WANTED
    );
    match seed::judge(folder, entry)? {
        Judged::Ready => return Ok(()),
        Judged::Own(what) => {
            let about = format!("not prepared, it has {what} of its own: {minute}");
            planner.tell(Verb::Leave, folder, about);
            return Ok(());
        }
        Judged::Outgrown => {
            let about = format!(
                "prepared, and has plugins or tools of its own by now: `npm install` in that \
                 folder if they import {}",
                seed::WANTED
            );
            planner.tell(Verb::Leave, folder, about);
            return Ok(());
        }
        Judged::Bare => {}
    }
    let mut new = planner.folder(&folder.join(seed::MODULES));
    for (name, text) in seed::FILES {
        new |= planner.file(&folder.join(name), text)?.is_some();
    }
    if new {
        let about = "prepared, so that the first request waits for no npm install";
        planner.tell(Verb::Add, folder, about);
    }
    let (name, text) = seed::GITIGNORE;
    let gitignore = folder.join(name);
    match change::read(&gitignore)? {
        Some(there) if there != text => {
            if new && seed::shows(&there) {
                let about = "add package.json and package-lock.json to it to keep them out of git";
                planner.tell(Verb::Leave, &gitignore, about);
            }
        }
        _ => {
            planner.file(&gitignore, text)?;
        }
    }
    Ok(())
}

/// The address of a file.
fn file_url(path: &Path) -> Result<String, InstallError> {
    let Some(text) = path.to_str() else {
        return Err(InstallError::NotUnicode {
            path: path.to_owned(),
        });
    };
    let text = if cfg!(windows) {
        format!("/{}", text.replace('\\', "/"))
    } else {
        text.to_owned()
    };
    let mut url = String::from("file://");
    for byte in text.bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"/:-._~@+,=".contains(&byte);
        if plain {
            url.push(char::from(byte));
        } else {
            url.push_str(&format!("%{byte:02X}"));
        }
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_holds_any_path() {
        let url = file_url(Path::new("/home/ada b/100%/#1/é?/index.ts")).unwrap();
        assert_eq!(url, "file:///home/ada%20b/100%25/%231/%C3%A9%3F/index.ts");
    }
}
