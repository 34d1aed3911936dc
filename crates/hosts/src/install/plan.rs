//! Plans of installations and removals, which can be shown before they are carried out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::change::{self, Change};
use super::entry::{ConfigFormat, Document, PluginEntry, new_file};
use super::error::InstallError;
use super::manifest::{self, InstalledEntry, Manifest};

/// The projects that an installation is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstallScope {
    /// One project, by its root.
    Project(PathBuf),
    /// All projects of the user.
    Global,
}

impl InstallScope {
    /// Returns the name in the manifest.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Project(root) => root.display().to_string(),
            Self::Global => "global".to_owned(),
        }
    }
}

/// The kind of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// Something is added.
    Add,
    /// Something is changed.
    Update,
    /// Something is removed.
    Remove,
    /// Something stays, although the user might expect otherwise.
    Leave,
}

impl StepKind {
    fn of_write(exists: bool) -> Self {
        if exists { Self::Update } else { Self::Add }
    }
}

/// A step of a plan, for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstallStep {
    /// The kind.
    pub kind: StepKind,
    /// The file or folder.
    pub path: PathBuf,
    /// A description of it, or the reason why it stays.
    pub about: String,
}

/// A plan of an installation or a removal.
#[derive(Debug)]
pub struct InstallPlan {
    /// The steps, in the order in which they are shown.
    pub steps: Vec<InstallStep>,
    changes: Vec<Change>,
    manifest_path: PathBuf,
    manifest: Manifest,
    manifest_changed: bool,
    direction: Direction,
}

/// The direction of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Install,
    Remove,
}

impl InstallPlan {
    /// Returns true if the plan changes anything.
    pub fn has_changes(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Carries out the plan.
    pub fn carry_out(&self) -> Result<(), InstallError> {
        let mut changes = Vec::new();
        if self.manifest_changed {
            let path = self.manifest_path.clone();
            changes.push(if self.manifest.is_empty() {
                Change::Delete(path)
            } else {
                let text = self.manifest.text()?;
                Change::Write { path, text }
            });
        }
        // The manifest must list everything that is installed, even after a crash: it is written
        // before an installation and after a removal.
        match self.direction {
            Direction::Remove => {
                change::apply(&self.changes)?;
                change::apply(&changes)
            }
            Direction::Install => {
                changes.extend(self.changes.iter().cloned());
                change::apply(&changes)
            }
        }
    }
}

/// Builds a plan.
pub(super) struct Planner {
    scope: String,
    before: Manifest,
    pub(super) manifest: Manifest,
    manifest_path: PathBuf,
    pub(super) steps: Vec<InstallStep>,
    changes: Vec<Change>,
    folders: BTreeSet<PathBuf>,
}

impl Planner {
    pub(super) fn new(scope: &InstallScope, manifest_path: &Path) -> Result<Self, InstallError> {
        let manifest = Manifest::read(manifest_path)?;
        Ok(Self {
            scope: scope.name(),
            before: manifest.clone(),
            manifest,
            manifest_path: manifest_path.to_owned(),
            steps: Vec::new(),
            changes: Vec::new(),
            folders: BTreeSet::new(),
        })
    }

    pub(super) fn finish(self, direction: Direction) -> InstallPlan {
        InstallPlan {
            manifest_changed: self.manifest != self.before,
            steps: self.steps,
            changes: self.changes,
            manifest_path: self.manifest_path,
            manifest: self.manifest,
            direction,
        }
    }

    pub(super) fn step(&mut self, kind: StepKind, path: &Path, about: impl Into<String>) {
        self.steps.push(InstallStep {
            kind,
            path: path.to_owned(),
            about: about.into(),
        });
    }

    /// Plans a folder. Returns true if it does not exist yet.
    pub(super) fn add_folder(&mut self, path: &Path) -> bool {
        let missing: Vec<PathBuf> = path
            .ancestors()
            .take_while(|folder| !folder.exists() && !self.folders.contains(*folder))
            .map(Path::to_owned)
            .collect();
        for folder in missing.iter().rev() {
            self.folders.insert(folder.clone());
            self.manifest.add_folder(folder, &self.scope);
        }
        for folder in path.ancestors() {
            self.manifest.need_folder(folder, &self.scope);
        }
        if missing.is_empty() {
            return false;
        }
        self.changes.push(Change::CreateDir(path.to_owned()));
        true
    }

    /// Plans a file of ours. Returns the kind of change, if there is one.
    pub(super) fn add_file(
        &mut self,
        path: &Path,
        text: &str,
    ) -> Result<Option<StepKind>, InstallError> {
        let existing = change::read(path)?;
        if let Some(folder) = path.parent() {
            self.add_folder(folder);
        }
        self.manifest.add_file(path, text, &self.scope);
        if existing.as_deref() == Some(text) {
            return Ok(None);
        }
        self.write(path, text.to_owned());
        Ok(Some(StepKind::of_write(existing.is_some())))
    }

    fn write(&mut self, path: &Path, text: String) {
        let path = path.to_owned();
        self.changes.push(Change::Write { path, text });
    }

    /// Plans to delete a file of ours that no scope needs.
    pub(super) fn delete_file(&mut self, path: &Path) {
        self.manifest.files.remove(path);
        self.changes.push(Change::Delete(path.to_owned()));
    }

    /// Plans an entry in a configuration file.
    pub(super) fn add_entry(
        &mut self,
        path: &Path,
        schema: &str,
        entry: &PluginEntry,
        about: &str,
    ) -> Result<(), InstallError> {
        let Some(text) = change::read(path)? else {
            let text = new_file(schema, entry);
            self.add_file(path, &text)?;
            self.record_entry(path, entry, true);
            self.step(StepKind::Add, path, about);
            return Ok(());
        };
        let document = Document::parse(path, &text)?;
        let existing = document.find(entry)?;
        let created_list = match self.manifest.entries.get(path) {
            Some(installed) => installed.created_list,
            None => !document.has_list(entry)?,
        };
        let is_ours = self.manifest.is_unchanged(path, &text);
        if !is_ours {
            // The user has changed the file: it must not be deleted with the entry.
            self.manifest.files.remove(path);
        }
        if let Some(with) = document.with(entry)? {
            if is_ours {
                self.manifest.add_file(path, &with, &self.scope);
            }
            self.write(path, with);
            self.step(StepKind::of_write(existing.is_some()), path, about);
        }
        self.record_entry(path, entry, created_list);
        Ok(())
    }

    /// Plans lines at the end of a list of ignored files.
    pub(super) fn add_lines(
        &mut self,
        path: &Path,
        lines: &[String],
        about: &str,
    ) -> Result<(), InstallError> {
        let mut text = change::read(path)?.unwrap_or_default();
        let mut is_changed = false;
        for line in lines {
            if !text.lines().any(|known| known == line) {
                if !text.is_empty() && !text.ends_with('\n') {
                    text.push('\n');
                }
                text.push_str(&format!("{line}\n"));
                is_changed = true;
            } else if self.recorded(path, line).is_none() {
                // The user's own line, which is not ours to remove.
                continue;
            }
            let recorded = self.manifest.lines.entry(path.to_owned()).or_default();
            let needed_by = recorded.entry(line.clone()).or_default();
            needed_by.insert(self.scope.clone());
        }
        if is_changed {
            if let Some(folder) = path.parent() {
                self.add_folder(folder);
            }
            self.write(path, text);
            self.step(StepKind::Update, path, about);
        }
        Ok(())
    }

    fn recorded(&self, path: &Path, line: &str) -> Option<&BTreeSet<String>> {
        self.manifest.lines.get(path)?.get(line)
    }

    /// Plans to remove the lines that no scope needs any more.
    fn remove_lines(&mut self, is_removed: &dyn Fn(&String) -> bool) -> Result<(), InstallError> {
        for (path, lines) in self.before.lines.clone() {
            let mut removed = BTreeSet::new();
            for (line, mut needed_by) in lines {
                needed_by.retain(|name| !is_removed(name));
                let recorded = self.manifest.lines.entry(path.clone()).or_default();
                if needed_by.is_empty() {
                    recorded.remove(&line);
                    removed.insert(line);
                } else {
                    recorded.insert(line, needed_by);
                }
            }
            self.manifest.lines.retain(|_, lines| !lines.is_empty());
            let Some(text) = change::read(&path)? else {
                continue;
            };
            let kept: Vec<&str> = text
                .split_inclusive('\n')
                .filter(|line| !removed.contains(line.trim_end_matches(['\r', '\n'])))
                .collect();
            let kept = kept.concat();
            if kept != text {
                self.write(&path, kept);
                self.step(
                    StepKind::Remove,
                    &path,
                    "the lines for the plugin's entries",
                );
            }
        }
        Ok(())
    }

    fn record_entry(&mut self, path: &Path, entry: &PluginEntry, created_list: bool) {
        let installed = InstalledEntry {
            scope: self.scope.clone(),
            is_v2: entry.format == ConfigFormat::V2,
            value: entry.value(),
            created_list,
        };
        self.manifest.entries.insert(path.to_owned(), installed);
    }

    /// Plans to remove everything that was installed for this scope, and for projects that no longer
    /// exist.
    pub(super) fn remove_all(&mut self) -> Result<(), InstallError> {
        let scope = self.scope.clone();
        let is_removed = |name: &String| {
            *name == scope
                || (name != "global" && Path::new(name).is_absolute() && !Path::new(name).exists())
        };
        for (path, installed) in self.before.entries.clone() {
            if is_removed(&installed.scope) {
                self.manifest.entries.remove(&path);
                self.remove_entry(&path, &installed)?;
            }
        }
        self.remove_lines(&is_removed)?;
        let mut deleted: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
        for (path, installed) in self.before.files.clone() {
            let Some(now) = self.manifest.files.get_mut(&path) else {
                continue;
            };
            now.needed_by.retain(|name| !is_removed(name));
            if !now.needed_by.is_empty() {
                continue;
            }
            self.manifest.files.remove(&path);
            match change::read(&path) {
                Ok(None) => {}
                Ok(Some(text)) if manifest::hash(&text) == installed.hash => {
                    self.delete_file(&path);
                    let folder = path.parent().unwrap_or(&path).to_owned();
                    deleted.entry(folder).or_default().push(path);
                }
                _ => self.step(StepKind::Leave, &path, "it was changed since"),
            }
        }
        for (folder, files) in deleted {
            match files.as_slice() {
                [file] => self.step(StepKind::Remove, file, "the file"),
                files => self.step(StepKind::Remove, &folder, format!("{} files", files.len())),
            }
        }
        // The deepest first, so that a folder is empty when its turn comes.
        for path in self.before.folders.clone().into_keys().rev() {
            let Some(now) = self.manifest.folders.get_mut(&path) else {
                continue;
            };
            now.retain(|name| !is_removed(name));
            if now.is_empty() {
                self.manifest.folders.remove(&path);
                if path.is_dir() {
                    self.changes.push(Change::DeleteEmptyDir(path));
                }
            }
        }
        Ok(())
    }

    fn remove_entry(
        &mut self,
        path: &Path,
        installed: &InstalledEntry,
    ) -> Result<(), InstallError> {
        let Some(text) = change::read(path)? else {
            return Ok(());
        };
        if self.manifest.is_unchanged(path, &text) {
            // The whole file is deleted.
            return Ok(());
        }
        self.manifest.files.remove(path);
        let document = Document::parse(path, &text)?;
        let entry = PluginEntry::from_value(installed.format(), installed.value.clone());
        match document.find(&entry)? {
            None => {}
            Some(found) if found.value == installed.value => {
                self.write(path, document.without(&entry, installed.created_list)?);
                self.step(StepKind::Remove, path, "the plugin's entry");
            }
            Some(_) => self.step(
                StepKind::Leave,
                path,
                "the plugin's entry was changed since: remove it by hand",
            ),
        }
        Ok(())
    }
}
