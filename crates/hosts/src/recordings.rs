//! Readers of the sessions that agent programs record, as neutral transcript entries.
//!
//! Every reader streams: it holds one line, or one message, at a time. Lines that cannot be read
//! are counted, the first ones are reported with their position, and reading continues. Kinds of
//! lines that only a newer version of a host writes are counted by name. The engine's ingest, not
//! the readers, decides what the entries mean.

pub mod claude;
pub mod codex;
pub mod ctrace;
mod detect;
pub mod gemini;
pub(crate) mod json;
mod lines;
pub mod opencode;
pub mod tools;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use flamestack_core::id::{NotASession, SessionRef};
use flamestack_core::transcript::Entry;

pub use self::detect::{RecordingFile, RecordingFormat, find};

/// Maximum number of problems that are reported one by one; the rest is only counted.
const REPORTED_PROBLEMS: usize = 20;

/// An item of a recording, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TranscriptItem {
    /// The following entries belong to this session, which may have occurred before.
    Session(RecordedSession),
    /// An entry of the current session.
    Entry(Box<Entry>),
    /// The recording of this session ends.
    Ended(SessionRef),
}

/// A session as its recording describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedSession {
    /// The session.
    pub session: SessionRef,
    /// The session that started it as a subagent.
    pub parent: Option<SessionRef>,
    /// The directory that it ran in.
    pub directory: Option<String>,
}

/// Receives the items of a recording, each with the number of bytes read so far. Reading stops if
/// it breaks.
pub type Sink<'a> = dyn FnMut(TranscriptItem, u64) -> ControlFlow<()> + 'a;

/// Passes items to a sink until it breaks.
fn deliver(
    items: impl IntoIterator<Item = TranscriptItem>,
    position: u64,
    sink: &mut Sink<'_>,
) -> ControlFlow<()> {
    items.into_iter().try_for_each(|item| sink(item, position))
}

fn session_ref(host: &str, id: &str) -> Result<SessionRef, String> {
    let session = format!("{host}:{id}").parse();
    session.map_err(|error: NotASession| error.to_string())
}

/// Counts of what was read and what could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadReport {
    /// Number of lines or rows.
    pub lines: u64,
    /// The first problems.
    pub problems: Vec<RecordingProblem>,
    /// Number of problems.
    pub bad: u64,
    /// Number of lines of unknown kinds, by kind.
    pub unknown: BTreeMap<String, u64>,
}

/// A line or row that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingProblem {
    /// The file.
    pub path: PathBuf,
    /// The line or row, such as `line 7`.
    pub position: String,
    /// The problem, as a predicate of the line: "is not JSON".
    pub message: String,
}

impl fmt::Display for RecordingProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        write!(f, "{path}, {}: {}", self.position, self.message)
    }
}

impl ReadReport {
    fn problem(&mut self, path: &Path, position: String, message: impl Into<String>) {
        self.bad += 1;
        if self.problems.len() < REPORTED_PROBLEMS {
            self.problems.push(RecordingProblem {
                path: path.to_owned(),
                position,
                message: message.into(),
            });
        }
    }

    fn line_problem(&mut self, path: &Path, line: u64, message: impl Into<String>) {
        self.problem(path, format!("line {line}"), message);
    }

    fn unknown(&mut self, kind: &str) {
        let kind: String = kind.chars().take(60).collect();
        // Bounded, so that a file of garbage does not fill the memory.
        if self.unknown.len() < 100 || self.unknown.contains_key(&kind) {
            *self.unknown.entry(kind).or_default() += 1;
        }
    }

    /// Adds the counts of another report.
    pub fn add(&mut self, other: Self) {
        self.lines += other.lines;
        self.bad += other.bad;
        let free = REPORTED_PROBLEMS.saturating_sub(self.problems.len());
        self.problems.extend(other.problems.into_iter().take(free));
        for (kind, count) in other.unknown {
            *self.unknown.entry(kind).or_default() += count;
        }
    }
}

/// The reason why a recording cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file cannot be opened or read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The file is not a database of OpenCode.
    #[error("{path} cannot be read as OpenCode's database: {problem}")]
    Database {
        /// The file.
        path: PathBuf,
        /// The problem with it.
        problem: String,
    },
}

/// Reads a recording of any format.
pub fn read(recording: &RecordingFile, sink: &mut Sink<'_>) -> Result<ReadReport, RecordingError> {
    let path = &recording.path;
    match recording.format {
        RecordingFormat::Claude => claude::read(path, sink),
        RecordingFormat::Codex => codex::read(path, sink),
        RecordingFormat::Gemini => gemini::read(path, sink),
        RecordingFormat::OpenCode => opencode::read(path, sink),
        RecordingFormat::Ctrace => ctrace::read(path, sink),
    }
}
