//! The journal: the append-only list of events.
//!
//! This is all that another storage engine has to provide. The write path ([`crate::write`]) and the
//! projections are the same for every journal.

use flamestack_core::event::Recorded;
use flamestack_core::id::Seq;

use crate::error::Result;

/// An append-only list of events with a write lock.
pub trait Journal {
    /// Takes the write lock, waiting for other writers. It is released when the guard is dropped.
    fn lock(&self) -> Result<Box<dyn JournalLock + '_>>;
    /// Returns the sequence number of the last event; 0 in an empty journal.
    fn last(&self) -> Result<Seq>;
    /// Appends an event that is already redacted. Requires the write lock.
    fn append(&self, event: &Recorded) -> Result<()>;
    /// Returns events after a point, oldest first, at most `limit`, and fewer if they are large. Only
    /// an empty list means that there are no more.
    fn after(&self, after: Seq, limit: usize) -> Result<Vec<Recorded>>;
}

/// The write lock of a journal. Dropped without a commit, it discards what was appended.
pub trait JournalLock {
    /// Makes everything appended under the lock durable.
    fn commit(self: Box<Self>) -> Result<()>;
}
