//! What was written, for whom, and what it was: only that is taken out again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::change;
use super::entry::Dialect;
use super::error::InstallError;

/// The ledger of one user.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(default)]
pub(super) struct Ledger {
    /// Files that are wholly ours.
    pub(super) files: BTreeMap<PathBuf, Written>,
    /// Folders that were not there before.
    pub(super) folders: BTreeMap<PathBuf, BTreeSet<String>>,
    /// Entries in files, of the user's or ours.
    pub(super) entries: BTreeMap<PathBuf, Recorded>,
}

/// A file of ours.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
pub(super) struct Written {
    /// What was in it.
    pub(super) hash: String,
    /// The installations that need it.
    pub(super) needed_by: BTreeSet<String>,
}

/// An entry in a configuration file.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
pub(super) struct Recorded {
    /// The installation that it belongs to.
    pub(super) scope: String,
    /// Whether it is written as OpenCode 2 wants it.
    pub(super) two: bool,
    /// The entry as it was written.
    pub(super) value: Value,
    /// Whether the list that it stands in was made for it.
    pub(super) list_made: bool,
}

impl Recorded {
    pub(super) fn dialect(&self) -> Dialect {
        if self.two { Dialect::Two } else { Dialect::One }
    }
}

/// The hash of a text.
pub(super) fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

impl Ledger {
    pub(super) fn read(path: &Path) -> Result<Self, InstallError> {
        let Some(text) = change::read(path)? else {
            return Ok(Self::default());
        };
        serde_json::from_str(&text).map_err(|error| {
            let problem = format!("the record of what was installed cannot be read: {error}");
            InstallError::unexpected(path, problem)
        })
    }

    pub(super) fn text(&self) -> Result<String, InstallError> {
        let text = serde_json::to_string_pretty(self).map_err(std::io::Error::from)?;
        Ok(text + "\n")
    }

    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.folders.is_empty() && self.entries.is_empty()
    }

    /// Whether a file is as it was written.
    pub(super) fn is_unchanged(&self, path: &Path, text: &str) -> bool {
        let written = self.files.get(path);
        written.is_some_and(|written| written.hash == hash(text))
    }

    /// Writes down a file of ours.
    pub(super) fn wrote(&mut self, path: &Path, text: &str, scope: &str) {
        let hash = hash(text);
        let written = self.files.entry(path.to_owned()).or_insert(Written {
            hash: String::new(),
            needed_by: BTreeSet::new(),
        });
        written.hash = hash;
        written.needed_by.insert(scope.to_owned());
    }

    /// Writes down a folder that is made now, or that this installation needs too.
    pub(super) fn made(&mut self, path: &Path, now: bool, scope: &str) {
        if now || self.folders.contains_key(path) {
            let needed_by = self.folders.entry(path.to_owned()).or_default();
            needed_by.insert(scope.to_owned());
        }
    }
}
