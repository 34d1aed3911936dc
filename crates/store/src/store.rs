//! The interface of a store: a journal, its projections, and one way to write.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use flamestack_core::command::Actor;
use flamestack_core::decide::{DecideError, Decided, Remark};
use flamestack_core::event::{Event, Recorded};
use flamestack_core::id::Timestamp;
use flamestack_redact::Redactor;
use serde::{Deserialize, Serialize};

use crate::error::{Result, StoreError};
use crate::file_identity::StoreFileState;
use crate::projections::Reading;
use crate::sqlite::private_file;

/// The reason why a command changed nothing.
pub type CommitError = DecideError<StoreError>;

/// Decides a command on a snapshot of the projections.
pub type Decide<'a> = dyn FnMut(&dyn Reading) -> Result<Decided, CommitError> + 'a;

/// Returns the steps of a command, one after the other.
pub type NextStep<'a> = dyn FnMut(&dyn Reading) -> Result<Option<Step>, CommitError> + 'a;

/// A journal with its projections.
pub trait Store: Send {
    /// Sets the rules by which everything written from now on is redacted; before, the built-in
    /// ones apply.
    fn set_redactor(&mut self, redactor: Redactor);

    /// Decides and records one command.
    ///
    /// The decision is made on the state that it is appended to: no other writer, in this process or
    /// another, comes in between. The events, redacted, and their effect on every projection become
    /// durable together, or not at all. Once this returns `Ok`, they survive the death of the process
    /// and the loss of power.
    fn commit(
        &mut self,
        at: Timestamp,
        actor: &Actor,
        decide: &mut Decide<'_>,
    ) -> Result<Committed, CommitError>;

    /// Decides and records one command of several steps, each decided on the state after the steps
    /// before it. The steps become durable together, or not at all. `next` returns `None` when there
    /// is nothing left to do.
    fn commit_steps(&mut self, next: &mut NextStep<'_>) -> Result<Vec<Recorded>, CommitError>;

    /// Returns the state of the store's file. What is written to a file that is not in its place
    /// is in no store.
    fn file_state(&self) -> Result<StoreFileState>;

    /// Closes a store whose file is not in its place, without touching the files there. If the file
    /// is gone, a mark is left, so that the loss is reported. Returns the number of its events.
    fn retire(self: Box<Self>) -> Result<u64>;

    /// Returns a change token. Cheap enough to compare before every answer from a cache: no state is
    /// read from disk.
    fn version(&self) -> Result<Version>;

    /// Reads a snapshot at one point of the journal, whatever other processes write meanwhile.
    fn read(&self, work: &mut dyn FnMut(&dyn Reading) -> Result<()>) -> Result<()>;

    /// Replaces the projections by a fresh fold of the journal. `progress` gets the number of events
    /// folded and their total.
    fn rebuild(&mut self, progress: &mut dyn FnMut(u64, u64)) -> Result<Rebuilt>;

    /// Checks the journal, and the projections against it. Changes nothing.
    fn verify(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<Verified>;

    /// Returns space that is no longer used to the file system.
    fn compact(&mut self) -> Result<()>;

    /// Appends the readable events of a store that was set aside in `from`.
    fn recover(&mut self, from: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<Recovered>;
}

/// Opens the store of a project.
pub trait OpenStore: Send + Sync {
    /// Opens the store in a directory, creating both if needed.
    fn open(&self, dir: &Path) -> Result<Box<dyn Store>>;
    /// Opens the store in a directory, if there is one.
    fn open_existing(&self, dir: &Path) -> Result<Option<Box<dyn Store>>>;
    /// Returns an empty store in memory, which represents a project without a store.
    fn empty(&self) -> Result<Box<dyn Store>>;
}

/// One step of a command.
#[derive(Clone, Debug)]
pub struct Step {
    /// Time of the step.
    pub at: Timestamp,
    /// The acting session.
    pub actor: Actor,
    /// Its events.
    pub events: Vec<Event>,
}

/// A change token: equal tokens mean that no process has committed in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// Changes when the store is opened again.
    pub(crate) opened: u64,
    /// Changes with commits of other connections.
    pub(crate) others: i64,
    /// Changes with our own commits.
    pub(crate) own: u64,
}

/// A command that was recorded.
#[derive(Clone, Debug)]
pub struct Committed {
    /// Its events as recorded, that is, redacted. Empty if there was nothing to change.
    pub events: Vec<Recorded>,
    /// Remarks for the caller.
    pub remarks: Vec<Remark>,
}

impl Committed {
    /// Returns the events without their envelopes.
    pub fn facts(&self) -> impl Iterator<Item = &Event> {
        self.events.iter().map(|recorded| &recorded.event)
    }
}

/// The result of a rebuild.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// Number of events folded.
    pub events: u64,
    /// Number of frames afterwards.
    pub frames: u64,
}

/// The result of a recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Recovered {
    /// Number of events recovered.
    pub events: u64,
    /// Number of events known to be missing.
    pub lost: u64,
    /// True if the file was cut short, so that an unknown number of events at its end is missing.
    pub cut: bool,
}

/// File that marks a set-aside store as recovered and holds the numbers of the recovery.
const RECOVERED: &str = "recovered";

impl Recovered {
    /// Reads the numbers that a recovery left in the folder of a set-aside store; `None` if it was
    /// not recovered yet.
    pub fn of(place: &Path) -> Result<Option<Self>> {
        let text = match fs_err::read_to_string(place.join(RECOVERED)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        // An empty file counts as a complete recovery.
        let complete = Self {
            events: 1,
            ..Self::default()
        };
        Ok(Some(serde_json::from_str(&text).unwrap_or(complete)))
    }

    /// Marks a set-aside store as recovered without touching its files.
    pub fn note(&self, place: &Path) -> Result<()> {
        let numbers = serde_json::to_string(self).map_err(std::io::Error::from)?;
        let mut file = private_file(&place.join(RECOVERED))?;
        file.set_len(0)?;
        Ok(writeln!(file, "{numbers}")?)
    }

    /// Returns true if nothing is known to be missing.
    pub fn is_whole(&self) -> bool {
        self.events > 0 && self.lost == 0 && !self.cut
    }
}

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Number of events in the journal.
    pub events: u64,
    /// Number of frames in the projections.
    pub frames: u64,
    /// Times at which text was forgotten, with the number of places.
    pub forgotten: Vec<(Timestamp, u64)>,
    /// Problems found.
    pub findings: Vec<Finding>,
}

/// A problem of a store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Finding {
    /// SQLite's own check failed.
    #[error("the database is damaged: {0}")]
    Damaged(String),
    /// An event was altered.
    #[error("event {seq} was altered: {problem}")]
    Altered {
        /// Its sequence number.
        seq: i64,
        /// Description of the problem.
        problem: String,
    },
    /// Events are missing.
    #[error("{} missing after event {after}", if *.missing == 1 { "an event is".to_owned() } else { format!("{missing} events are") })]
    Gap {
        /// The event before the gap.
        after: i64,
        /// Number of missing events.
        missing: i64,
    },
    /// The store is read-only.
    #[error("the store can be read, but not written: {}", path.display())]
    ReadOnly {
        /// The database file.
        path: PathBuf,
    },
    /// A projection disagrees with the journal.
    #[error("the projection `{table}` differs from the journal in {rows} rows")]
    Disagrees {
        /// Name of the projection.
        table: String,
        /// Number of rows that differ.
        rows: u64,
    },
}
