//! Problems with the predecessors' files, each with a hint for the user.

use std::io;
use std::path::PathBuf;

/// The reason why files were not read. Nothing has been changed.
#[derive(Debug, thiserror::Error)]
pub enum LegacyReadError {
    /// None of the known locations holds a stack.
    #[error(
        "there is no stack in {}: looked for {}",
        .dir.display(),
        .candidates.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
    )]
    NotFound {
        /// The directory that the user named.
        dir: PathBuf,
        /// The files that were looked for.
        candidates: Vec<PathBuf>,
    },
    /// The system could not read a file; the message names it.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The content of a file is not valid.
    #[error("{}: {problem}", .file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The problem with it.
        problem: FileProblem,
        /// Number of frame files next to an unreadable state, which `--frames-only` can import.
        frame_files: usize,
    },
}

/// A problem with the content of a file. Until `LegacyReadError::frame` names its frame, a problem
/// with one frame is a predicate of it: "has no `status`".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FileProblem {
    message: String,
    hint: &'static str,
    /// True if other frames of the file can be used.
    is_partial: bool,
}

/// A field with an invalid value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldProblem {
    /// Path of the field, such as `artifacts[1]`.
    pub(super) field: String,
    /// The problem with its value.
    pub(super) message: String,
}

pub(super) const RESTORE: &str = "restore an earlier copy of the file and import that";
pub(super) const OTHER_FILE: &str = "name another file or folder";
pub(super) const CORRECT_FILE: &str = "correct the file and import it again, or name another \
     directory if this is not the file of a stack";
pub(super) const CORRECT_FIELD: &str =
    "correct this field in the file, or remove the frame, and import it again";

impl LegacyReadError {
    /// Returns what the user can do about it.
    pub fn hint(&self) -> Option<String> {
        let (problem, frame_files) = match self {
            Self::Io(_) => return None,
            Self::NotFound { .. } => {
                let hint = "name the project's directory, or the directory that holds `state.json`";
                return Some(hint.to_owned());
            }
            Self::File {
                problem,
                frame_files,
                ..
            } => (problem, frame_files),
        };
        let (are, files, them) = match frame_files {
            0 => return Some(problem.hint.to_owned()),
            1 => ("is", "file", "it"),
            _ => ("are", "files", "them"),
        };
        Some(format!(
            "there {are} {frame_files} frame {files} next to it: `--frames-only` imports {them}; \
             or restore an earlier copy of the file"
        ))
    }

    /// Makes the error for a problem with a whole file.
    pub(super) fn file(file: impl Into<PathBuf>, problem: FileProblem) -> Self {
        Self::File {
            file: file.into(),
            problem,
            frame_files: 0,
        }
    }

    /// Makes the error for a problem with one frame in a file.
    pub(super) fn frame(file: impl Into<PathBuf>, frame: &str, problem: FileProblem) -> Self {
        let FileProblem { message, hint, .. } = problem;
        let message = format!("frame `{}` {message}", printable(frame));
        Self::file(file, FileProblem::new(message, hint).partial())
    }

    /// Adds the number of frame files to a problem that concerns all frames of a state.
    pub(super) fn beside(mut self, files: usize) -> Self {
        if let Self::File {
            problem,
            frame_files,
            ..
        } = &mut self
            && !problem.is_partial
        {
            *frame_files = files;
        }
        self
    }
}

impl FileProblem {
    pub(super) fn new(message: impl Into<String>, hint: &'static str) -> Self {
        Self {
            message: message.into(),
            hint,
            is_partial: false,
        }
    }

    /// Marks a problem that leaves other frames usable.
    pub(super) fn partial(self) -> Self {
        Self {
            is_partial: true,
            ..self
        }
    }
}

impl From<FieldProblem> for FileProblem {
    /// Makes the problem of the frame that has the field.
    fn from(FieldProblem { field, message }: FieldProblem) -> Self {
        let message = format!("has an invalid `{field}`: {message}");
        Self::new(message, CORRECT_FIELD)
    }
}

/// The reason why an export was not written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// There is a stack already.
    #[error("{} exists already", .0.display())]
    Exists(PathBuf),
    /// A folder of the export is a link, which may lead anywhere.
    #[error("{} is a link", .0.display())]
    Link(PathBuf),
    /// The system could not write; the message names the file.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl ExportError {
    /// Returns what the user can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Exists(_) => {
                Some("use `--force` to replace it, or name another directory".to_owned())
            }
            Self::Link(_) => Some("delete the link, or name another directory".to_owned()),
            Self::Io(_) => None,
        }
    }
}

/// Prepares a name from a file for a message: short, on one line, without control characters.
pub(super) fn printable(text: &str) -> String {
    const LIMIT: usize = 80;
    let mut line = String::new();
    for c in text.chars().take(LIMIT) {
        if c.is_control() {
            line.extend(c.escape_unicode());
        } else {
            line.push(c);
        }
    }
    if text.chars().nth(LIMIT).is_some() {
        line.push('…');
    }
    line
}
