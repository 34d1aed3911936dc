//! Why something could not be installed or taken out.

use std::path::{Path, PathBuf};

/// A failure. Nothing was changed, unless the variant says so.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// A configuration file that is no JSON, not even with comments.
    #[error("{} is not valid JSON: {problem}", path.display())]
    NotJson {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        problem: String,
    },
    /// A configuration file that says something else than it should.
    #[error("{}: {problem}", path.display())]
    Unexpected {
        /// The file.
        path: PathBuf,
        /// What was expected and what is there.
        problem: String,
    },
    /// A link that leads nowhere, or to something that is no file.
    #[error("{} leads to no file", path.display())]
    NoFile {
        /// The link, or the thing that is no file.
        path: PathBuf,
    },
    /// A file that its owner protects.
    #[error("{} is write-protected", path.display())]
    Protected {
        /// The file.
        path: PathBuf,
    },
    /// A path that cannot stand in a configuration file.
    #[error("the path {} is not Unicode, so no configuration file can name it", path.display())]
    NotUnicode {
        /// The path.
        path: PathBuf,
    },
    /// The user has no home directory.
    #[error("there is no home directory")]
    NoHome,
    /// Something that could not be read or written.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// Something went wrong in the middle.
    #[error("stopped at {}: {problem}", path.display())]
    Halfway {
        /// Where.
        path: PathBuf,
        /// Why.
        problem: std::io::Error,
    },
}

impl InstallError {
    pub(super) fn unexpected(path: &Path, problem: impl Into<String>) -> Self {
        Self::Unexpected {
            path: path.to_owned(),
            problem: problem.into(),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::NotJson { .. } => {
                "nothing was changed; mend the file (comments and trailing commas are fine) and try again"
            }
            Self::Unexpected { .. } => "nothing was changed; mend the file and try again",
            Self::NoFile { .. } => "nothing was changed; remove the link or make what it leads to",
            Self::Protected { .. } => "nothing was changed; make the file writable and try again",
            Self::NotUnicode { .. } => {
                "nothing was changed; set FLAME_STATE_DIR to a folder with another name, or move `flame`"
            }
            Self::NoHome => "set HOME",
            Self::Io(_) => {
                "nothing was changed; check who owns the file and its directory, and whether they can be written"
            }
            Self::Halfway { .. } => "run the same command again: it goes on from there",
        }
        .to_owned()
    }
}
