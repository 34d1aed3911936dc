//! Errors of the engine, with hints for the caller.

use std::path::PathBuf;

use flamestack_context::TooSmall;
use flamestack_core::id::NotASession;
use flamestack_core::{DecideError, FrameId, Refusal, SessionRef};
use flamestack_store::{BadQuery, CommitError, StoreError};

use crate::hints::{Voice, refusal_hint};
use crate::views::{counted, size};

/// The result of an operation of the engine.
pub type Result<T, E = EngineError> = std::result::Result<T, E>;

/// An error. Nothing was changed, unless the variant says so.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The rules refused a command.
    #[error(transparent)]
    Refused(Box<Refusal>),
    /// A name that matches no frame.
    #[error("{}", no_frame(.name))]
    UnknownFrame {
        /// The name as typed.
        name: String,
        /// The most similar frame and its title.
        nearest: Option<(FrameId, String)>,
    },
    /// A name that matches several frames.
    #[error("`{name}` matches several frames: {}", listed(.candidates))]
    AmbiguousFrame {
        /// The name as typed.
        name: String,
        /// Some of the frames that match.
        candidates: Vec<(FrameId, String)>,
    },
    /// A name that no session has.
    #[error("there is no session `{0}`")]
    UnknownSession(String),
    /// A name that several sessions have.
    #[error("`{name}` is the beginning of several sessions: {candidates}")]
    AmbiguousSession {
        /// The name.
        name: String,
        /// Two of them.
        candidates: String,
    },
    /// A session without a frame bound to it.
    #[error("no frame is bound to {0}")]
    UnboundSession(SessionRef),
    /// A frame that no longer exists.
    #[error("frame {0} was deleted, or its opening was undone")]
    GoneFrame(FrameId),
    /// A text that is not the name of a session.
    #[error(transparent)]
    BadSession(#[from] NotASession),
    /// A tool that does not exist.
    #[error("there is no tool `{name}`")]
    UnknownTool {
        /// The name as given.
        name: String,
        /// The most similar name.
        nearest: Option<String>,
    },
    /// Arguments that a tool does not accept.
    #[error("invalid arguments for {tool}: {problem}")]
    BadArguments {
        /// The tool.
        tool: String,
        /// The problem and its place.
        problem: String,
    },
    /// A setting that does not exist.
    #[error("there is no setting `{key}`{}", from(.origin.as_ref()))]
    UnknownSetting {
        /// The key as given.
        key: String,
        /// The most similar key.
        nearest: Option<String>,
        /// File or environment variable that contains it.
        origin: Option<String>,
    },
    /// A setting with an invalid value.
    #[error("the setting `{key}` {problem}{}", from(.origin.as_ref()))]
    BadSetting {
        /// The setting.
        key: String,
        /// The problem with the value.
        problem: String,
        /// File or environment variable that contains it.
        origin: Option<String>,
    },
    /// A settings file that is not valid TOML.
    #[error("cannot read the settings in {}: {source}", path.display())]
    BadSettingsFile {
        /// The file.
        path: PathBuf,
        /// The problem.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A query that is not searched for.
    #[error(transparent)]
    BadQuery(#[from] BadQuery),
    /// A search whose caller is gone.
    #[error("the search was cancelled")]
    Cancelled,
    /// A budget that is too small for a context.
    #[error(transparent)]
    BudgetTooSmall(#[from] TooSmall),
    /// The store could not be read and was moved, unchanged, to another directory.
    #[error("the store could not be read ({}). It was moved to {}", problem(.source), place.display())]
    SetAside {
        /// The new directory of the store.
        place: PathBuf,
        /// The problem with the store.
        source: StoreError,
    },
    /// The store was deleted while this process had it open. Holds the number of its events.
    #[error("the store of this project was deleted while it was in use; it had {}", counted(*.0, "event", "events"))]
    StoreGone(u64),
    /// A directory without a store.
    #[error("there is no store in {}", .0.display())]
    NoStore(PathBuf),
    /// A raw text that is too long, with its size in bytes.
    #[error("the text has {}; the maximum is 16 MB", size(*.0))]
    TextTooLong(u64),
    /// The user has no home directory, and no other directory for state is configured.
    #[error("no home directory to keep state in")]
    NoHome,
    /// A directory of the user that is not absolute, as with a relative HOME.
    #[error("the directory `{}` is not an absolute path", .0.display())]
    RelativeHome(PathBuf),
    /// A name or path that no project has.
    #[error("there is no project `{0}`")]
    UnknownProject(String),
    /// A project that is still at its path.
    #[error("{} still exists and has frames", .0.display())]
    ProjectInPlace(PathBuf),
    /// A project with frames, which another one would replace.
    #[error("{} has frames of its own", .0.display())]
    ProjectNotEmpty(PathBuf),
    /// A store that another process has open.
    #[error("another process has the store in {} open", .0.display())]
    InUse(PathBuf),
    /// A text or expression that cannot be forgotten.
    #[error("{0}")]
    BadPattern(String),
    /// A state directory that belongs to another user.
    #[error("the state directory {} belongs to another user", .0.display())]
    ForeignState(PathBuf),
    /// A raw text that a frame does not have.
    #[error("there is no {id}#{number}: {id} has {}", counted(*.pieces as u64, "raw text", "raw texts"))]
    NoSuchText {
        /// The frame.
        id: FrameId,
        /// Number of the text.
        number: usize,
        /// Number of texts that the frame has.
        pieces: usize,
    },
    /// An entry that a frame's session does not have.
    #[error("there is no {id}#{number}: {}", entries_of(id, *.entries))]
    NoSuchEntry {
        /// The frame.
        id: FrameId,
        /// Number of the entry.
        number: usize,
        /// Number of entries that the session has.
        entries: usize,
    },
    /// An entry that is further into a session than a request reads.
    #[error("{id}#{number} is too far into a very long session to be found by its number")]
    EntryTooFar {
        /// The frame.
        id: FrameId,
        /// Number of the entry.
        number: usize,
    },
    /// A raw text that the journal refers to and that cannot be read.
    #[error("the raw text cannot be read: {}", problem(.0))]
    LostText(#[source] StoreError),
    /// Invalid input of another kind.
    #[error("{0}")]
    BadInput(String),
    /// A broken invariant of the engine.
    #[error("internal error: {0} (please report this)")]
    Internal(&'static str),
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

impl From<CommitError> for EngineError {
    fn from(rejection: CommitError) -> Self {
        match rejection {
            DecideError::Refused(refusal) => Self::Refused(refusal),
            DecideError::Unreadable(error) => Self::Store(error),
        }
    }
}

impl EngineError {
    /// Returns what to do about the error, as a command line or as a tool call.
    #[expect(clippy::too_many_lines, reason = "one arm per error")]
    pub fn hint(&self, voice: Voice) -> Option<String> {
        let hint = match self {
            Self::Refused(refusal) => return refusal_hint(refusal, voice),
            Self::UnknownFrame {
                nearest: Some((id, title)),
                ..
            } => {
                let title = flamestack_core::text::condense(title, 60);
                return Some(format!("did you mean {id} “{title}”?"));
            }
            Self::UnknownFrame { name, .. } => match voice {
                Voice::Cli if name.trim().is_empty() || name.len() > 100 => {
                    "`flame tree` shows the frames"
                }
                Voice::Cli => {
                    let search = format!("`flame search {}` looks for one", quoted(name));
                    return Some(format!("`flame tree` shows the frames, {search}"));
                }
                Voice::Tool => "stack_tree shows the frames",
            },
            Self::AmbiguousFrame { .. } | Self::AmbiguousSession { .. } => {
                "use the id, or more characters of it"
            }
            Self::UnknownSession(_) => match voice {
                Voice::Cli => "`flame session list --all` lists the sessions",
                Voice::Tool => "stack_session_status lists the sessions",
            },
            Self::UnboundSession(session) => {
                return Some(match voice {
                    Voice::Cli => format!(
                        "`flame status --session {session}` shows what it works on, \
                         `flame bind ID {session}` binds a frame to it"
                    ),
                    Voice::Tool => "stack_session_status shows what it works on".to_owned(),
                });
            }
            Self::GoneFrame(id) => {
                return Some(match voice {
                    Voice::Cli => format!("`flame log {id}` still shows its history"),
                    Voice::Tool => "stack_tree lists the frames".to_owned(),
                });
            }
            Self::BadSession(problem) => return Some(problem.remedy()),
            Self::UnknownTool {
                nearest: Some(name),
                ..
            }
            | Self::UnknownSetting {
                nearest: Some(name),
                ..
            } => {
                return Some(format!("did you mean `{name}`?"));
            }
            Self::UnknownTool { .. } => match voice {
                Voice::Cli => "`flame tool --list` lists all tools",
                Voice::Tool => "use one of the tools that you were given",
            },
            Self::UnknownSetting { .. } => match voice {
                Voice::Cli => "`flame config list` lists all settings",
                Voice::Tool => return None,
            },
            Self::BadArguments { tool, .. } => {
                return Some(match voice {
                    Voice::Cli => format!("`flame tool {tool} --schema` shows its arguments"),
                    Voice::Tool => format!("the schema of {tool} describes its arguments"),
                });
            }
            Self::BadSetting { key, .. } => {
                return match voice {
                    Voice::Cli => Some(format!(
                        "`flame config list --long {key}` shows the valid values"
                    )),
                    // The problem says what is valid.
                    Voice::Tool => None,
                };
            }
            Self::BadSettingsFile { .. } => {
                "fix the file or its permissions, or delete it to return to the defaults"
            }
            Self::BadQuery(BadQuery::Empty) => "give at least one word, or a frame",
            Self::BadQuery(_) => "look for a few words that the text contains",
            Self::BudgetTooSmall(_) => "omit the budget to use the one in the settings",
            Self::SetAside { .. }
            | Self::StoreGone(_)
            | Self::NoStore(_)
            | Self::UnknownProject(_)
            | Self::ProjectInPlace(_)
            | Self::ProjectNotEmpty(_)
                if voice == Voice::Tool =>
            {
                ASK_THE_USER
            }
            Self::SetAside { .. } => {
                "nothing was deleted: `flame rebuild` recovers what can be read of it; \
                 otherwise the next command starts with an empty store"
            }
            Self::StoreGone(_) => PUT_BACK,
            Self::NoStore(_) => "`flame doctor` lists the stores that were set aside",
            Self::TextTooLong(_) => {
                "store only the part that matters, for example with `tail -n 2000`"
            }
            Self::NoHome => "set HOME, XDG_STATE_HOME or FLAME_STATE_DIR",
            Self::RelativeHome(_) => "set HOME to an absolute path",
            Self::BadPattern(_) => match voice {
                Voice::Cli => "use a more specific text; `--dry-run` shows the number of places",
                Voice::Tool => "use a more specific text",
            },
            Self::ForeignState(_) => "set FLAME_STATE_DIR to a directory of your own",
            Self::UnknownProject(_) => "`flame projects` lists all projects",
            Self::ProjectInPlace(_) => {
                "nothing needs to be relinked; a copy starts with frames of its own, and \
                 `flame export` and `flame import` copy frames"
            }
            Self::ProjectNotEmpty(_) => {
                "relink to an empty folder instead; `flame export` there and `flame import` here \
                 bring the frames together"
            }
            Self::InUse(_) => {
                "close the agent programs that work on this project, such as OpenCode, and try again"
            }
            Self::NoSuchText { id, .. } => {
                return Some(match voice {
                    Voice::Cli => format!("`flame log {id}` lists its raw texts"),
                    Voice::Tool => format!("the query `{id}` lists what is recorded of it"),
                });
            }
            Self::EntryTooFar { id, .. } => {
                return Some(match voice {
                    Voice::Cli => format!(
                        "`flame search WORDS` finds it by its words; `flame log {id}` lists the raw texts of the frame"
                    ),
                    Voice::Tool => "search for words that it contains".to_owned(),
                });
            }
            Self::NoSuchEntry { id, .. } => {
                return Some(match voice {
                    Voice::Cli => format!(
                        "`flame recall {id}` summarizes the frame, `flame log {id}` shows it in full"
                    ),
                    Voice::Tool => format!("the query `{id}` summarizes the frame"),
                });
            }
            Self::LostText(_) => match voice {
                Voice::Cli => {
                    "everything else is intact: `flame doctor` lists the raw texts that are lost"
                }
                Voice::Tool => "everything else is intact",
            },
            Self::BadInput(_) | Self::Internal(_) | Self::Cancelled => return None,
            Self::Store(error) => return store_hint(error, voice),
            Self::Io(error) => return io_hint(error),
        };
        Some(hint.to_owned())
    }
}

/// The remedy for a store that was deleted.
const PUT_BACK: &str = "put `journal.db` back from a copy if there is one; otherwise the next command \
                        starts with an empty store, and `flame doctor` reports it";
/// The hint to a model for a damaged or missing store: no tool can repair it.
const ASK_THE_USER: &str = "continue without the stack, and ask the user to run `flame doctor`";
/// The remedy for a full disk.
const FREE_SPACE: &str = "free some disk space, then try again: nothing in the store is damaged";

/// Returns what to do about a store that failed.
fn store_hint(error: &StoreError, voice: Voice) -> Option<String> {
    let hint = match error {
        StoreError::BadRow(_)
        | StoreError::BadEvent { .. }
        | StoreError::TooNew { .. }
        | StoreError::Unreadable { .. }
        | StoreError::Sqlite(_)
        | StoreError::OtherStore { .. }
            if voice == Voice::Tool =>
        {
            ASK_THE_USER
        }
        StoreError::BadRow(_) => "`flame rebuild` rebuilds the projections",
        StoreError::BadEvent { .. } => {
            "`flame doctor` shows the extent of the damage, \
             `flame rebuild --recover` keeps everything that can be read"
        }
        StoreError::BadBackup { .. } => "nothing was changed; use another backup",
        StoreError::PartOfEvent { .. } => "use a longer or more specific text; nothing was changed",
        StoreError::NotOurs(_) => "move it away, or set FLAME_STATE_DIR to another directory",
        StoreError::TooNew { .. } => {
            "update Flamestack; if there is no newer version, the version number in the store is \
             damaged and `flame rebuild --recover` keeps everything that can be read"
        }
        StoreError::Unreadable { .. } | StoreError::Sqlite(_) => {
            "`flame doctor` shows what is wrong, `flame rebuild` rebuilds the projections, \
             `flame rebuild --recover` keeps everything that can be read"
        }
        StoreError::OtherStore { path, mark } => {
            return Some(format!(
                "put the journal of this project back; to continue with `{}` instead, delete `{}`",
                path.display(),
                mark.display()
            ));
        }
        StoreError::Replaced => "nothing was recorded: try again",
        StoreError::LostCommit => match voice {
            Voice::Cli => "`flame status` shows what is recorded now; try again",
            Voice::Tool => "stack_status shows what is recorded now; try again",
        },
        StoreError::DiskFull => FREE_SPACE,
        StoreError::ReadOnly(_) => {
            "check the owner and the permissions of the file and its directory"
        }
        StoreError::Busy => match voice {
            Voice::Cli => "try again, or raise `store.busy_timeout_ms`",
            Voice::Tool => "try again",
        },
        StoreError::Io(error) => return io_hint(error),
    };
    Some(hint.to_owned())
}

/// Returns what to do about a file that could not be read or written.
pub fn io_hint(error: &std::io::Error) -> Option<String> {
    use std::io::ErrorKind;
    let hint = match error.kind() {
        ErrorKind::NotFound | ErrorKind::IsADirectory | ErrorKind::NotADirectory => {
            "check the path"
        }
        ErrorKind::AlreadyExists => "choose another file name, or delete it first",
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "check the permissions; FLAME_STATE_DIR sets another directory for state, XDG_CONFIG_HOME one for settings"
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => FREE_SPACE,
        _ => return None,
    };
    Some(hint.to_owned())
}

fn no_frame(name: &str) -> String {
    if name.trim().is_empty() {
        return "the name of the frame is empty".to_owned();
    }
    format!(
        "there is no frame `{}`",
        flamestack_core::text::quoted(name)
    )
}

fn entries_of(id: &FrameId, entries: usize) -> String {
    match entries {
        0 => format!("no session of {id} is recorded"),
        n => format!(
            "the session of {id} has {}",
            counted(n as u64, "entry", "entries")
        ),
    }
}

/// Returns the reason why a store or a text is unreadable.
fn problem(error: &StoreError) -> String {
    match error {
        StoreError::Unreadable { problem, .. } => problem.clone(),
        other => other.to_string(),
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

#[cfg(test)]
mod tests;
