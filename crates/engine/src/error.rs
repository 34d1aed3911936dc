//! What can go wrong, in words for the one who asked.

use std::path::PathBuf;

use flamestack_core::context::TooSmall;
use flamestack_core::id::{FrameId, NotASession, SessionRef};
use flamestack_core::refusal::{Refusal, Voice};
use flamestack_store::StoreError;

use crate::views::counted;

/// A failure. Nothing was changed, unless the variant says so.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The rules said no.
    #[error(transparent)]
    Refused(Box<Refusal>),
    /// A name that stands for nothing.
    #[error("{}", no_frame(name))]
    UnknownFrame {
        /// What was typed.
        name: String,
    },
    /// A name that stands for several frames.
    #[error("`{name}` is the beginning of several frames: {}", listed(.candidates))]
    AmbiguousFrame {
        /// What was typed.
        name: String,
        /// Some of the frames it could be.
        candidates: Vec<(FrameId, String)>,
    },
    /// A session that has no frame of its own.
    #[error("{session} has no frame of its own")]
    UnboundSession {
        /// The session.
        session: SessionRef,
    },
    /// A frame that is no longer there.
    #[error("frame {id} was deleted, or its opening was undone")]
    GoneFrame {
        /// Its name.
        id: FrameId,
    },
    /// A text that is no session.
    #[error(transparent)]
    BadSession(#[from] NotASession),
    /// A tool that does not exist.
    #[error("there is no tool `{name}`")]
    UnknownTool {
        /// What was asked for.
        name: String,
        /// The most similar name.
        nearest: Option<String>,
    },
    /// Arguments that a tool does not take.
    #[error("{tool} cannot take these arguments: {problem}")]
    BadArguments {
        /// The tool.
        tool: String,
        /// What is wrong, and where.
        problem: String,
    },
    /// A setting that does not exist.
    #[error("there is no setting `{key}`{}", from(.origin.as_ref()))]
    UnknownSetting {
        /// What was asked for.
        key: String,
        /// The most similar key.
        nearest: Option<String>,
        /// Where it was found.
        origin: Option<String>,
    },
    /// A setting with a value it cannot have.
    #[error("the setting `{key}` {problem}{}", from(.origin.as_ref()))]
    BadSetting {
        /// The setting.
        key: String,
        /// What is wrong with the value.
        problem: String,
        /// Where it was found.
        origin: Option<String>,
    },
    /// A settings file that is no TOML.
    #[error("the settings in {} cannot be read: {problem}", path.display())]
    BadSettingsFile {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A context with hardly any room.
    #[error(transparent)]
    BudgetTooSmall(#[from] TooSmall),
    /// The store could not be read and was moved, whole, to another place.
    #[error("the store could not be read ({problem}). It was moved to {}", place.display())]
    SetAside {
        /// What was wrong with it.
        problem: String,
        /// Where it is now.
        place: PathBuf,
    },
    /// A place that holds no store.
    #[error("there is no store in {}", place.display())]
    NoStore {
        /// The place.
        place: PathBuf,
    },
    /// More raw text than a frame should carry.
    #[error("the text has {} and a piece of raw text may have 16 MB", counted(*.bytes, "byte", "bytes"))]
    TextTooLong {
        /// Its size.
        bytes: u64,
    },
    /// The user has no home directory, and nothing else says where state belongs.
    #[error("there is no home directory to keep state in")]
    NoHome,
    /// Raw text that a frame does not have.
    #[error("{id} has {}, so there is no {id}#{number}", crate::views::counted(*.pieces as u64, "piece of raw text", "pieces of raw text"))]
    NoSuchText {
        /// The frame.
        id: FrameId,
        /// Which piece was asked for.
        number: usize,
        /// How many there are.
        pieces: usize,
    },
    /// An entry that a frame's session does not have.
    #[error("{}, so there is no {id}#{number}", entries_of(id, *.entries))]
    NoSuchEntry {
        /// The frame.
        id: FrameId,
        /// Which entry was asked for.
        number: usize,
        /// How many there are.
        entries: usize,
    },
    /// Raw text that should be there and is not.
    #[error("the raw text cannot be read: {problem}")]
    LostText {
        /// What is wrong with it.
        problem: String,
    },
    /// Input that is not what it should be.
    #[error("{0}")]
    BadInput(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file could not be read or written.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl From<Refusal> for EngineError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl EngineError {
    /// What to do about it, in the voice of the one who asked.
    pub fn hint(&self, voice: Voice) -> Option<String> {
        let hint = match self {
            Self::Refused(refusal) => return refusal.hint(voice),
            Self::UnknownFrame { name } => match voice {
                Voice::Cli if name.trim().is_empty() => "`flame tree` shows the frames".to_owned(),
                Voice::Cli => format!(
                    "`flame tree` shows the frames, `flame search {}` looks for one",
                    quoted(name)
                ),
                Voice::Tool => "stack_tree shows the frames there are".to_owned(),
            },
            Self::AmbiguousFrame { .. } => "type more of the id".to_owned(),
            Self::UnboundSession { session } => format!(
                "`flame status --session {session}` shows what it works on, \
                 `flame bind ID {session}` makes a frame its own"
            ),
            Self::GoneFrame { id } => format!("`flame log {id}` still tells its story"),
            Self::BadSession(problem) => problem.remedy(),
            Self::UnknownTool { nearest, .. } => match nearest {
                Some(name) => format!("did you mean `{name}`?"),
                None => "`flame tool --list` names them all".to_owned(),
            },
            Self::BadArguments { tool, .. } => {
                format!("`flame tool {tool} --schema` shows what it takes")
            }
            Self::UnknownSetting { nearest, .. } => match nearest {
                Some(key) => format!("did you mean `{key}`?"),
                None => "`flame config list` names them all".to_owned(),
            },
            Self::BadSetting { key, .. } => {
                format!("`flame config list {key}` shows what it takes")
            }
            Self::BadSettingsFile { .. } => {
                "mend the file, or delete it to go back to the defaults".to_owned()
            }
            Self::BudgetTooSmall(_) => "leave the budget out to get the one that is set".to_owned(),
            Self::SetAside { .. } => {
                "nothing was deleted: `flame rebuild` recovers what can be read of it; \
                 without that, the next command begins with an empty store"
                    .to_owned()
            }
            Self::NoStore { .. } => "`flame doctor` says where stores were set aside".to_owned(),
            Self::TextTooLong { .. } => {
                "keep the part that matters, for example with `tail -n 2000`".to_owned()
            }
            Self::NoHome => "set HOME, XDG_STATE_HOME or FLAME_STATE_DIR".to_owned(),
            Self::NoSuchText { id, .. } => format!("`flame log {id}` lists what it has"),
            Self::NoSuchEntry { id, .. } => match voice {
                Voice::Cli => format!(
                    "`flame recall {id}` tells the frame in short, `flame log {id}` in full"
                ),
                Voice::Tool => format!("the query `{id}` tells the frame in short"),
            },
            Self::LostText { .. } => {
                "everything else is there: `flame doctor` lists the raw text that is lost"
                    .to_owned()
            }
            Self::BadInput(_) => return None,
            Self::Store(StoreError::BadRow { .. }) => {
                "`flame rebuild` folds the projections anew".to_owned()
            }
            Self::Store(StoreError::BadEvent { .. }) => {
                "`flame doctor` shows how far the damage goes, \
                 `flame rebuild --recover` keeps everything that can be read"
                    .to_owned()
            }
            Self::Store(StoreError::NotOurs { .. }) => {
                "move it away, or set FLAME_STATE_DIR to another place".to_owned()
            }
            Self::Store(StoreError::TooNew { .. }) => {
                "update Flamestack; if there is no newer one, the mark of the store is damaged and \
                 `flame rebuild --recover` keeps everything that can be read"
                    .to_owned()
            }
            Self::Store(StoreError::Unreadable { .. } | StoreError::Sqlite(_)) => {
                "`flame doctor` shows what is wrong, `flame rebuild` folds the projections anew, \
                 `flame rebuild --recover` keeps everything that can be read"
                    .to_owned()
            }
            Self::Store(StoreError::ReadOnly { .. }) => {
                "check who owns the file and its directory, and whether they can be written"
                    .to_owned()
            }
            Self::Store(StoreError::Busy) => {
                "the setting `store.busy_timeout_ms` says how long to wait".to_owned()
            }
            Self::Io(error) | Self::Store(StoreError::Io(error)) => return io_hint(error),
        };
        Some(hint)
    }
}

/// What to do about a file that could not be read or written.
pub fn io_hint(error: &std::io::Error) -> Option<String> {
    use std::io::ErrorKind;
    let hint = match error.kind() {
        ErrorKind::NotFound | ErrorKind::IsADirectory | ErrorKind::NotADirectory => {
            "check the path"
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "check who may read and write there; FLAME_STATE_DIR names another place for state"
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "make room on the disk: `flame gc` drops what can be made again"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

fn no_frame(name: &str) -> String {
    if name.trim().is_empty() {
        return "no frame was named: the name is empty".to_owned();
    }
    format!("there is no frame `{name}`")
}

fn entries_of(id: &FrameId, entries: usize) -> String {
    match entries {
        0 => format!("{id} belongs to no session of which anything is kept"),
        n => format!(
            "the session of {id} has {}",
            counted(n as u64, "entry", "entries")
        ),
    }
}

fn quoted(name: &str) -> String {
    if name.contains(char::is_whitespace) {
        format!("\"{name}\"")
    } else {
        name.to_owned()
    }
}

fn from(origin: Option<&String>) -> String {
    origin
        .map(|origin| format!(" (from {origin})"))
        .unwrap_or_default()
}

fn listed(candidates: &[(FrameId, String)]) -> String {
    let shown = candidates
        .iter()
        .take(5)
        .map(|(id, title)| format!("{id} “{}”", flamestack_core::text::condense(title, 40)));
    let mut list: Vec<String> = shown.collect();
    if candidates.len() > 5 {
        list.push("…".to_owned());
    }
    list.join(", ")
}
