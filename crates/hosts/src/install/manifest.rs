//! The record of what was installed, and for which scope. Only that is removed again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::change;
use super::entry::ConfigFormat;
use super::error::InstallError;

/// Everything that is installed for one user.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(default)]
pub(super) struct Manifest {
    /// Files that contain nothing but ours.
    pub(super) files: BTreeMap<PathBuf, InstalledFile>,
    /// Folders that we created, with the scopes that need them.
    pub(super) folders: BTreeMap<PathBuf, BTreeSet<String>>,
    /// Entries in configuration files.
    pub(super) entries: BTreeMap<PathBuf, InstalledEntry>,
    /// Lines that we added to lists of ignored files, with the scopes that need them.
    pub(super) lines: BTreeMap<PathBuf, BTreeMap<String, BTreeSet<String>>>,
}

/// A file that we wrote.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
pub(super) struct InstalledFile {
    /// Hash of the content that we wrote.
    pub(super) hash: String,
    /// The scopes that need it.
    pub(super) needed_by: BTreeSet<String>,
}

/// An entry that we added to a configuration file.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
pub(super) struct InstalledEntry {
    /// The scope that it was installed for.
    pub(super) scope: String,
    /// True for the format of OpenCode 2.
    #[serde(rename = "two")]
    pub(super) is_v2: bool,
    /// The entry as we wrote it.
    pub(super) value: Value,
    /// True if we created the list that contains it.
    #[serde(rename = "list_made")]
    pub(super) created_list: bool,
}

impl InstalledEntry {
    pub(super) fn format(&self) -> ConfigFormat {
        if self.is_v2 {
            ConfigFormat::V2
        } else {
            ConfigFormat::V1
        }
    }
}

pub(super) fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

impl Manifest {
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
        self.files.is_empty()
            && self.folders.is_empty()
            && self.entries.is_empty()
            && self.lines.is_empty()
    }

    /// Returns true if a file still has the content that we wrote.
    pub(super) fn is_unchanged(&self, path: &Path, text: &str) -> bool {
        let file = self.files.get(path);
        file.is_some_and(|file| file.hash == hash(text))
    }

    /// Records a file that we write.
    pub(super) fn add_file(&mut self, path: &Path, text: &str, scope: &str) {
        let hash = hash(text);
        let file = self.files.entry(path.to_owned()).or_insert(InstalledFile {
            hash: String::new(),
            needed_by: BTreeSet::new(),
        });
        file.hash = hash;
        file.needed_by.insert(scope.to_owned());
    }

    /// Records a folder that we create.
    pub(super) fn add_folder(&mut self, path: &Path, scope: &str) {
        let needed_by = self.folders.entry(path.to_owned()).or_default();
        needed_by.insert(scope.to_owned());
    }

    /// Records that a scope needs a folder too, if we created it earlier.
    pub(super) fn need_folder(&mut self, path: &Path, scope: &str) {
        if let Some(needed_by) = self.folders.get_mut(path) {
            needed_by.insert(scope.to_owned());
        }
    }
}
