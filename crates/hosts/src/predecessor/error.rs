//! What can be wrong with a predecessor's files, and what to do about it.

use std::io;
use std::path::PathBuf;

use flamestack_core::Status;
use flamestack_core::text::TextProblem;

/// Why files were not read. Nothing has been changed.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// None of the known places holds a stack.
    #[error(
        "there is no stack in {}: looked for {}",
        .dir.display(),
        .looked.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
    )]
    NothingThere {
        /// Where somebody pointed us.
        dir: PathBuf,
        /// The files that would have done.
        looked: Vec<PathBuf>,
    },
    /// The system could not read a file; the message names it.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A file holds something else than it should.
    #[error("{}: {problem}", .file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        problem: Problem,
        /// How many frame files lie beside an unreadable state, from which it could be rescued.
        frame_files: usize,
    },
}

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Only `frames/` is there.
    #[error("the file is not there")]
    Missing,
    /// A directory, a pipe, a device.
    #[error("this is not a file")]
    NotAFile,
    /// More than anyone's stack.
    #[error("the file has more than {limit} bytes")]
    TooLarge {
        /// What is read at most.
        limit: u64,
    },
    /// Not UTF-8.
    #[error("the file is not UTF-8 text (from byte {at} on)")]
    NotText {
        /// The first byte that is wrong.
        at: usize,
    },
    /// Nothing in it.
    #[error("the file is empty")]
    Empty,
    /// JSON that stops in the middle, as a crash while writing leaves it.
    #[error("the file ends in the middle of its JSON, at line {line}, column {column}")]
    CutOff {
        /// The last line.
        line: usize,
        /// The last column.
        column: usize,
    },
    /// Not JSON, or not the JSON of a stack.
    #[error("{message} (line {line}, column {column})")]
    Malformed {
        /// What was expected or found.
        message: String,
        /// Where, from 1.
        line: usize,
        /// Where, from 1.
        column: usize,
    },
    /// A field of the state is not what it should be.
    #[error("`{}` is {} where {} belongs", .0.field, .0.found, .0.expected)]
    WrongType(WrongType),
    /// An export of a later version.
    #[error(
        "this was exported by a newer Flamestack (format {found}; this one reads up to {known})"
    )]
    Newer {
        /// Its format.
        found: u64,
        /// The newest that we know.
        known: u64,
    },
    /// Its `flamestack` object is not one of ours.
    #[error("the `flamestack` object is damaged: {message}")]
    BadOwn {
        /// How.
        message: String,
    },
    /// One frame is wrong.
    #[error("frame `{}` {problem}", shown(.frame))]
    Frame {
        /// Its name in the file.
        frame: String,
        /// What is wrong with it.
        problem: FrameProblem,
    },
    /// The source of new ids gives nothing but ids that are in use.
    #[error("no unused frame id was drawn in {attempts} attempts")]
    NoFreshId {
        /// How often we asked.
        attempts: usize,
    },
}

/// What is wrong with one frame in a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameProblem {
    /// It is not an object.
    #[error("is {found} where an object belongs")]
    NotAnObject {
        /// What is there.
        found: &'static str,
    },
    /// Its name is empty, too long or holds control characters.
    #[error("has a name that is empty, longer than {limit} characters or not printable")]
    BadName {
        /// The longest name that is read.
        limit: usize,
    },
    /// The name is there twice.
    #[error("is there twice")]
    Duplicate,
    /// A field that it cannot do without.
    #[error("has no `{field}`")]
    MissingField {
        /// Which.
        field: &'static str,
    },
    /// A field is not what it should be.
    #[error("has {} in `{}` where {} belongs", .0.found, .0.field, .0.expected)]
    WrongType(WrongType),
    /// A text that cannot be taken.
    #[error("cannot be taken: its `{field}` {problem}")]
    Text {
        /// Which field.
        field: String,
        /// What is wrong with it.
        problem: TextProblem,
    },
    /// A status that nobody knows.
    #[error("has the unknown status `{}`; there are {}", shown(.found), statuses())]
    UnknownStatus {
        /// What the file says.
        found: String,
    },
    /// The name in the index and the name in the frame differ.
    #[error("calls itself `{}`", shown(.session_id))]
    OtherName {
        /// Its `sessionID`.
        session_id: String,
    },
    /// Its parent is not in the file.
    #[error("has the parent `{}`, which is not there", shown(.parent))]
    UnknownParent {
        /// The parent's name.
        parent: String,
    },
    /// It is its own ancestor.
    #[error("is its own ancestor: {}", cycle(.path))]
    Cycle {
        /// The names from the frame up to itself.
        path: Vec<String>,
    },
    /// Its `flamestack` object is not one of ours.
    #[error("has a damaged `flamestack` object: {message}")]
    BadOwn {
        /// How.
        message: String,
    },
}

/// A field that holds another kind of value than it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongType {
    /// Which field.
    pub field: String,
    /// What belongs there.
    pub expected: &'static str,
    /// What is there.
    pub found: &'static str,
}

impl From<WrongType> for Problem {
    fn from(wrong: WrongType) -> Self {
        Self::WrongType(wrong)
    }
}

impl From<WrongType> for FrameProblem {
    fn from(wrong: WrongType) -> Self {
        Self::WrongType(wrong)
    }
}

impl ReadError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Io(_) => None,
            Self::NothingThere { .. } => Some(
                "name the project's directory, or the directory that holds `state.json`".to_owned(),
            ),
            Self::File { frame_files, .. } if *frame_files > 0 => Some(format!(
                "{frame_files} {} beside it: `--frames-only` imports {}; \
                 or put back a copy of the file from before",
                if *frame_files == 1 {
                    "frame file lies"
                } else {
                    "frame files lie"
                },
                if *frame_files == 1 { "it" } else { "them" },
            )),
            Self::File { problem, .. } => Some(problem.hint().to_owned()),
        }
    }

    /// A problem with a whole file.
    pub(super) fn file(file: impl Into<PathBuf>, problem: Problem) -> Self {
        Self::File {
            file: file.into(),
            problem,
            frame_files: 0,
        }
    }

    /// A problem with one frame in a file.
    pub(super) fn frame(file: impl Into<PathBuf>, frame: &str, problem: FrameProblem) -> Self {
        Self::file(
            file,
            Problem::Frame {
                frame: frame.to_owned(),
                problem,
            },
        )
    }
}

impl Problem {
    fn hint(&self) -> &'static str {
        match self {
            Self::Missing | Self::Empty | Self::CutOff { .. } => {
                "put back a copy of the file from before, and import that"
            }
            Self::NotAFile | Self::TooLarge { .. } => "name another directory",
            Self::NotText { .. } => "save it as UTF-8 and import it again",
            Self::Malformed { .. } | Self::WrongType(_) => {
                "correct the file at this place and import it again, or name another directory if it \
                 is not the file of a stack"
            }
            Self::Newer { .. } => "update Flamestack and import it again",
            Self::BadOwn { .. } => {
                "take the `flamestack` object out of the file: the rest can be imported without it"
            }
            Self::Frame { problem, .. } => problem.hint(),
            Self::NoFreshId { .. } => "try again",
        }
    }
}

impl FrameProblem {
    fn hint(&self) -> &'static str {
        match self {
            Self::BadName { .. } => "rename the frame in the file and import it again",
            Self::Duplicate => "remove or rename one of the two in the file and import it again",
            Self::NotAnObject { .. } | Self::MissingField { .. } | Self::WrongType(_) => {
                "correct this field in the file, or remove the frame, and import it again"
            }
            Self::Text { .. } => "shorten or clean this text in the file and import it again",
            Self::UnknownStatus { .. } => "put one of these into the file and import it again",
            Self::OtherName { .. } => {
                "make the frame's `sessionID` and its key in `frames` the same and import it again"
            }
            Self::UnknownParent { .. } => {
                "add the parent to the file, or remove the frame's `parentSessionID` to make it a \
                 root, and import it again"
            }
            Self::Cycle { .. } => {
                "remove the `parentSessionID` of the one that is the root and import it again"
            }
            Self::BadOwn { .. } => {
                "take the `flamestack` object out of the frame: the rest can be imported without it"
            }
        }
    }
}

/// Why an export was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// There is a stack already.
    #[error("{} is there already", .path.display())]
    Exists {
        /// What would have been overwritten.
        path: PathBuf,
    },
    /// The system could not write; the message names the file.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl WriteError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Exists { .. } => {
                Some("use `--force` to replace it, or name another directory".to_owned())
            }
            Self::Io(_) => None,
        }
    }
}

/// A text from a file as a message shows it: short, on one line, without control characters.
fn shown(text: &str) -> String {
    const LIMIT: usize = 80;
    let mut line: String = text
        .chars()
        .take(LIMIT)
        .flat_map(|c| {
            let escaped = c.is_control().then(|| c.escape_unicode());
            let plain = escaped.is_none().then_some(c);
            escaped.into_iter().flatten().chain(plain)
        })
        .collect();
    if text.chars().nth(LIMIT).is_some() {
        line.push('…');
    }
    line
}

fn statuses() -> String {
    Status::ALL.map(Status::as_str).join(", ")
}

fn cycle(path: &[String]) -> String {
    const LIMIT: usize = 6;
    let mut names: Vec<String> = path.iter().take(LIMIT).map(|name| shown(name)).collect();
    if path.len() > LIMIT {
        names.push("…".to_owned());
    }
    names.join(" → ")
}
