//! The files that settings were read from, and their state at that time.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The state of a settings file: time of its last change, size and number. None if there is no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp(Option<(SystemTime, u64, u64)>);

impl Stamp {
    fn of(file: &Path) -> Self {
        let found = fs_err::metadata(file).ok();
        Self(found.and_then(|found| Some((found.modified().ok()?, found.len(), number(&found)))))
    }
}

#[cfg(unix)]
fn number(found: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(found)
}

#[cfg(not(unix))]
fn number(_: &std::fs::Metadata) -> u64 {
    0
}

/// The files that settings were read from.
#[derive(Clone, Debug, Default)]
pub struct SettingsSources(Vec<(PathBuf, Stamp)>);

impl SettingsSources {
    /// Adds a file that is about to be read.
    pub(super) fn add(&mut self, file: &Path) {
        self.0.push((file.to_owned(), Stamp::of(file)));
    }

    /// Returns true if no file has changed since.
    pub fn are_current(&self) -> bool {
        self.0.iter().all(|(file, stamp)| Stamp::of(file) == *stamp)
    }
}
