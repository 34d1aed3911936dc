//! Errors of installing and removing.

use std::io;
use std::path::Path;

/// The reason why an installation or removal failed. Nothing was changed unless the hint says so.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct InstallError {
    message: String,
    hint: &'static str,
}

impl InstallError {
    pub(super) fn new(message: impl Into<String>, hint: &'static str) -> Self {
        let message = message.into();
        Self { message, hint }
    }

    /// Makes the error for a file with an unexpected structure.
    pub(super) fn unexpected(path: &Path, problem: impl AsRef<str>) -> Self {
        let message = format!("{}: {}", path.display(), problem.as_ref());
        Self::new(
            message,
            "nothing was changed; correct the file and try again",
        )
    }

    /// Makes the error for a path that no configuration file can name.
    pub(super) fn not_unicode(path: &Path) -> Self {
        let path = path.display();
        Self::new(
            format!("the path {path} is not Unicode, so no configuration file can name it"),
            "nothing was changed; set FLAME_STATE_DIR to a folder with another name, or move `flame`",
        )
    }

    /// Makes the error for a change that failed after others had been made.
    pub(super) fn halfway(path: &Path, problem: &io::Error) -> Self {
        let message = format!("stopped at {}: {problem}", path.display());
        Self::new(
            message,
            "run the same command again: it continues from there",
        )
    }

    /// Returns what the user can do about it.
    pub fn hint(&self) -> String {
        self.hint.to_owned()
    }
}

impl From<io::Error> for InstallError {
    fn from(error: io::Error) -> Self {
        Self::new(
            error.to_string(),
            "nothing was changed; check who owns the file and its directory, and whether they can be written",
        )
    }
}
