//! What is to be done, said before it is done.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::change::{self, Change};
use super::entry::{Document, Entry, new_file};
use super::error::InstallError;
use super::ledger::{Ledger, Recorded};

/// Whom an installation is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One project, by its root.
    Project(PathBuf),
    /// All projects of the user.
    Global,
}

impl Scope {
    /// The name of it in the ledger.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Project(root) => root.display().to_string(),
            Self::Global => "global".to_owned(),
        }
    }
}

/// What happens to something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// It is new.
    Add,
    /// It changes.
    Update,
    /// It goes.
    Remove,
    /// It stays, although one might expect otherwise.
    Leave,
}

/// One thing that happens, for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What happens.
    pub verb: Verb,
    /// To what.
    pub path: PathBuf,
    /// What that is, or why it stays.
    pub about: String,
}

/// What is to be done.
#[derive(Debug)]
pub struct Plan {
    /// What happens, in the order in which one would tell it.
    pub steps: Vec<Step>,
    changes: Vec<Change>,
    ledger_path: PathBuf,
    ledger: Ledger,
    ledger_changed: bool,
    removing: bool,
}

impl Plan {
    /// Whether anything happens.
    pub fn changes_something(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Does it.
    pub fn carry_out(&self) -> Result<(), InstallError> {
        let mut changes = Vec::new();
        if self.ledger_changed {
            let path = self.ledger_path.clone();
            changes.push(if self.ledger.is_empty() {
                Change::Delete(path)
            } else {
                Change::Write {
                    path,
                    text: self.ledger.text()?,
                }
            });
        }
        // The ledger is never behind what is there: first to know, last to forget.
        if self.removing {
            change::apply(&self.changes)?;
            change::apply(&changes)
        } else {
            changes.extend(self.changes.iter().cloned());
            change::apply(&changes)
        }
    }
}

/// A plan in the making.
pub(super) struct Planner {
    scope: String,
    before: Ledger,
    pub(super) ledger: Ledger,
    ledger_path: PathBuf,
    pub(super) steps: Vec<Step>,
    changes: Vec<Change>,
    folders: BTreeSet<PathBuf>,
}

impl Planner {
    pub(super) fn new(scope: &Scope, ledger_path: &Path) -> Result<Self, InstallError> {
        let ledger = Ledger::read(ledger_path)?;
        Ok(Self {
            scope: scope.name(),
            before: ledger.clone(),
            ledger,
            ledger_path: ledger_path.to_owned(),
            steps: Vec::new(),
            changes: Vec::new(),
            folders: BTreeSet::new(),
        })
    }

    pub(super) fn finish(self, removing: bool) -> Plan {
        Plan {
            ledger_changed: self.ledger != self.before,
            steps: self.steps,
            changes: self.changes,
            ledger_path: self.ledger_path,
            ledger: self.ledger,
            removing,
        }
    }

    pub(super) fn tell(&mut self, verb: Verb, path: &Path, about: impl Into<String>) {
        self.steps.push(Step {
            verb,
            path: path.to_owned(),
            about: about.into(),
        });
    }

    /// A folder is to be there. Says whether it is new.
    pub(super) fn folder(&mut self, path: &Path) -> bool {
        let missing: Vec<PathBuf> = path
            .ancestors()
            .take_while(|folder| !folder.exists() && !self.folders.contains(*folder))
            .map(Path::to_owned)
            .collect();
        for folder in missing.iter().rev() {
            self.folders.insert(folder.clone());
            self.ledger.made(folder, true, &self.scope);
        }
        for folder in path.ancestors() {
            self.ledger.made(folder, false, &self.scope);
        }
        if missing.is_empty() {
            return false;
        }
        self.changes.push(Change::Make(path.to_owned()));
        true
    }

    /// A file of ours is to hold this text. Says what happens to it, if something does.
    pub(super) fn file(&mut self, path: &Path, text: &str) -> Result<Option<Verb>, InstallError> {
        let there = change::read(path)?;
        if let Some(folder) = path.parent() {
            self.folder(folder);
        }
        self.ledger.wrote(path, text, &self.scope);
        if there.as_deref() == Some(text) {
            return Ok(None);
        }
        self.changes.push(Change::Write {
            path: path.to_owned(),
            text: text.to_owned(),
        });
        Ok(Some(if there.is_some() {
            Verb::Update
        } else {
            Verb::Add
        }))
    }

    /// A file of ours is no longer needed by anybody.
    pub(super) fn delete(&mut self, path: &Path) {
        self.ledger.files.remove(path);
        self.changes.push(Change::Delete(path.to_owned()));
    }

    /// A configuration file is to have an entry.
    pub(super) fn entry(
        &mut self,
        path: &Path,
        schema: &str,
        entry: &Entry,
        about: &str,
    ) -> Result<(), InstallError> {
        let Some(text) = change::read(path)? else {
            let text = new_file(schema, entry);
            self.file(path, &text)?;
            self.record(path, entry, true);
            self.tell(Verb::Add, path, about);
            return Ok(());
        };
        let document = Document::parse(path, &text)?;
        let had = document.find(entry)?;
        let list_made = match self.ledger.entries.get(path) {
            Some(recorded) => recorded.list_made,
            None => !document.has_list(entry)?,
        };
        let ours_alone = self.ledger.is_unchanged(path, &text);
        if !ours_alone {
            // Somebody has written into it: it is not ours to delete.
            self.ledger.files.remove(path);
        }
        if let Some(with) = document.with(entry)? {
            if ours_alone {
                self.ledger.wrote(path, &with, &self.scope);
            }
            self.changes.push(Change::Write {
                path: path.to_owned(),
                text: with,
            });
            let verb = if had.is_some() {
                Verb::Update
            } else {
                Verb::Add
            };
            self.tell(verb, path, about);
        }
        self.record(path, entry, list_made);
        Ok(())
    }

    fn record(&mut self, path: &Path, entry: &Entry, list_made: bool) {
        let recorded = Recorded {
            scope: self.scope.clone(),
            two: entry.dialect == super::entry::Dialect::Two,
            value: entry.value(),
            list_made,
        };
        self.ledger.entries.insert(path.to_owned(), recorded);
    }

    /// Takes out everything that was written for this installation, and for projects that are gone.
    pub(super) fn take_out(&mut self) -> Result<(), InstallError> {
        let scope = self.scope.clone();
        let leaves = |name: &String| {
            *name == scope
                || (name != "global" && Path::new(name).is_absolute() && !Path::new(name).exists())
        };
        for (path, recorded) in self.before.entries.clone() {
            if leaves(&recorded.scope) {
                self.ledger.entries.remove(&path);
                self.take_out_entry(&path, &recorded)?;
            }
        }
        let mut gone: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
        for (path, written) in self.before.files.clone() {
            let Some(now) = self.ledger.files.get_mut(&path) else {
                continue;
            };
            now.needed_by.retain(|name| !leaves(name));
            if !now.needed_by.is_empty() {
                continue;
            }
            self.ledger.files.remove(&path);
            match change::read(&path) {
                Ok(None) => {}
                Ok(Some(text)) if super::ledger::hash(&text) == written.hash => {
                    self.delete(&path);
                    let folder = path.parent().unwrap_or(&path).to_owned();
                    gone.entry(folder).or_default().push(path);
                }
                _ => self.tell(Verb::Leave, &path, "it was changed since"),
            }
        }
        for (folder, files) in gone {
            match files.as_slice() {
                [file] => self.tell(Verb::Remove, file, "the file"),
                files => self.tell(Verb::Remove, &folder, format!("{} files", files.len())),
            }
        }
        // The deepest first: a folder is empty when what was in it is gone.
        for path in self.before.folders.clone().into_keys().rev() {
            let Some(now) = self.ledger.folders.get_mut(&path) else {
                continue;
            };
            now.retain(|name| !leaves(name));
            if now.is_empty() {
                self.ledger.folders.remove(&path);
                if path.is_dir() {
                    self.changes.push(Change::Clear(path));
                }
            }
        }
        Ok(())
    }

    fn take_out_entry(&mut self, path: &Path, recorded: &Recorded) -> Result<(), InstallError> {
        let Some(text) = change::read(path)? else {
            return Ok(());
        };
        if self.ledger.is_unchanged(path, &text) {
            // The whole file goes.
            return Ok(());
        }
        self.ledger.files.remove(path);
        let document = Document::parse(path, &text)?;
        let entry = Entry::from_value(recorded.dialect(), &recorded.value);
        match document.find(&entry)? {
            None => {}
            Some(found) if found.value == recorded.value => {
                self.changes.push(Change::Write {
                    path: path.to_owned(),
                    text: document.without(&entry, recorded.list_made)?,
                });
                self.tell(Verb::Remove, path, "the plugin's entry");
            }
            Some(_) => self.tell(
                Verb::Leave,
                path,
                "the plugin's entry was changed since: take it out by hand",
            ),
        }
        Ok(())
    }
}
