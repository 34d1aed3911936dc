//! Recorded sessions of agent programs, read as neutral entries.
//!
//! Every reader streams: it holds one line, or one message, at a time. What it cannot read it
//! counts and names with its place, and goes on; what a newer version of a host writes and we do
//! not know yet is counted by its kind. What the entries mean is none of its business.

pub mod claude;
pub mod codex;
pub mod ctrace;
mod detect;
pub mod gemini;
mod json;
mod lines;
pub mod opencode;
pub mod tools;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use flamestack_core::SessionRef;
use flamestack_core::transcript::Entry;

pub use self::detect::{Format, Source, find};

/// How many problems are named; the rest is counted.
const NAMED: usize = 20;

/// What a reader comes upon, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// What follows is of this session; it may be one that was told of before.
    Session(About),
    /// Something that was said or done in it.
    Entry(Box<Entry>),
    /// This session's record ends here.
    Ended(SessionRef),
}

/// What a record says of a session as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The session.
    pub session: SessionRef,
    /// The session that it is part of.
    pub parent: Option<SessionRef>,
    /// The directory that it ran in.
    pub directory: Option<String>,
}

/// Takes what a reader comes upon, with how many bytes of the source lie behind it.
pub type Taker<'a> = dyn FnMut(Item, u64) -> ControlFlow<()> + 'a;

/// What a reader could not read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Lines or rows that were looked at.
    pub lines: u64,
    /// The first problems.
    pub problems: Vec<Problem>,
    /// How many problems there were in all.
    pub bad: u64,
    /// Kinds of lines that we do not know, and how many of each.
    pub unknown: BTreeMap<String, u64>,
}

/// A place that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub path: PathBuf,
    /// The line or row, such as `line 7`.
    pub place: String,
    /// What is wrong with it.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}: {}", self.path.display(), self.place, self.what)
    }
}

impl Report {
    fn problem(&mut self, path: &Path, place: String, what: impl Into<String>) {
        self.bad += 1;
        if self.problems.len() < NAMED {
            self.problems.push(Problem {
                path: path.to_owned(),
                place,
                what: what.into(),
            });
        }
    }

    fn unknown(&mut self, kind: &str) {
        let kind: String = kind.chars().take(60).collect();
        // A file of garbage must not fill the memory with kinds.
        if self.unknown.len() < 100 || self.unknown.contains_key(&kind) {
            *self.unknown.entry(kind).or_default() += 1;
        }
    }

    /// Takes in what another reader could not read.
    pub fn add(&mut self, other: Self) {
        self.lines += other.lines;
        self.bad += other.bad;
        for problem in other.problems {
            if self.problems.len() < NAMED {
                self.problems.push(problem);
            }
        }
        for (kind, count) in other.unknown {
            *self.unknown.entry(kind).or_default() += count;
        }
    }
}

/// Why a source cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be opened or read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A database is not what it should be.
    #[error("{path} cannot be read as OpenCode's database: {problem}")]
    Database {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

/// Reads a source, whatever its format.
pub fn read(source: &Source, take: &mut Taker<'_>) -> Result<Report, ReadError> {
    let path = &source.path;
    match source.format {
        Format::Claude => claude::read(path, take),
        Format::Codex => codex::read(path, take),
        Format::Gemini => gemini::read(path, take),
        Format::OpenCode => opencode::read(path, take),
        Format::Ctrace => ctrace::read(path, take),
    }
}
