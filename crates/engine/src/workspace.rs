//! A project's journal, raw texts and disposable indexes, opened when they are first needed.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

use flamestack_core::{Actor, DecideError, Decided, Recorded};
use flamestack_redact::Redactor;
use flamestack_store::{
    Blobs, Committed, Index, NextStep, OpenStore, Reading, SiblingIndex, Store, StoreError,
    StoreFileState, StoredBlob, TextHold, TokenCounts, set_aside,
};

use crate::clock::Clock;
use crate::error::{EngineError, Result};
use crate::project::{Found, Project};
use crate::readers::{JournalVersion, ReaderPool};

/// Number of times that a command is tried again because its store was replaced.
const MAX_REPLACEMENTS: usize = 8;

/// The state that every handle of an engine works on. All writes go through [`Workspace::commit`]
/// and [`Workspace::commit_steps`].
pub(crate) struct Workspace {
    pub(crate) project: Project,
    pub(crate) clock: Box<dyn Clock>,
    stores: Box<dyn OpenStore>,
    /// The connection of writers. Readers have their own, so that none of them waits here.
    store: Mutex<Option<Box<dyn Store>>>,
    readers: ReaderPool,
    /// Number of events of a deleted store whose loss was not reported to a caller.
    unreported: Mutex<Option<u64>>,
    /// Set once the place of the project is recorded.
    settled: OnceLock<()>,
    siblings: OnceLock<SiblingIndex>,
    counts: OnceLock<TokenCounts>,
    /// The rules by which everything that is written is redacted.
    pub(crate) redactor: Redactor,
}

impl Workspace {
    pub(crate) fn new(project: Project, clock: Box<dyn Clock>, stores: Box<dyn OpenStore>) -> Self {
        Self {
            project,
            clock,
            stores,
            store: Mutex::new(None),
            readers: ReaderPool::default(),
            unreported: Mutex::new(None),
            settled: OnceLock::new(),
            siblings: OnceLock::new(),
            counts: OnceLock::new(),
            redactor: Redactor::default(),
        }
    }

    pub(crate) fn blobs(&self) -> Blobs {
        Blobs::new(&self.project.dir).with_redactor(self.redactor.clone())
    }

    /// Index of finished siblings, for frames with more of them than can be ranked.
    pub(crate) fn sibling_index(&self) -> &SiblingIndex {
        self.siblings
            .get_or_init(|| SiblingIndex::new(&self.project.dir))
    }

    /// Token counts of texts that were counted before.
    pub(crate) fn token_counts(&self) -> &TokenCounts {
        self.counts
            .get_or_init(|| TokenCounts::new(&self.project.dir))
    }

    /// Deletes the indexes that are derived from the journal, as when the journal is replaced.
    pub(crate) fn drop_indexes(&self) -> Result<()> {
        Index::new(&self.project.dir).drop_all()?;
        self.sibling_index().drop_all()?;
        self.token_counts().drop_all()?;
        Ok(())
    }

    /// Keeps garbage collection away from raw texts until the journal refers to them. Creates the
    /// store, since texts belong to a journal.
    pub(crate) fn hold_texts(&self) -> Result<TextHold> {
        self.with_store(|_| Ok(()))?;
        Ok(self.blobs().hold()?)
    }

    /// Stores raw texts in one transaction.
    pub(crate) fn keep_texts(&self, hold: &TextHold, texts: &[&str]) -> Result<Vec<StoredBlob>> {
        Ok(self.blobs().put_all(hold, texts)?)
    }

    /// Runs queries on one snapshot of the journal. Never creates the store.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&dyn Reading) -> Result<T>) -> Result<T> {
        self.refresh()?;
        let taken = self.readers.take(self.stores.as_ref(), &self.project.dir);
        let (reader, answer) = match taken {
            Ok(Some(reader)) => {
                self.settle();
                let answer = query(reader.store(), work);
                (Some(reader), answer)
            }
            Ok(None) => (None, query(self.stores.empty()?.as_ref(), work)),
            Err(error) => (None, Err(error.into())),
        };
        match answer {
            Err(EngineError::Store(error @ StoreError::Unreadable { .. })) => {
                self.close();
                // The last connection to be closed writes to the file, unless it met the damage.
                drop(reader);
                Err(self.set_aside(error))
            }
            answer => {
                self.readers.give_back(reader);
                answer
            }
        }
    }

    /// Runs a few queries about what was just recorded, on the connection that recorded it. Writers wait
    /// meanwhile, and the queries must not write.
    pub(crate) fn read_back<T>(&self, work: impl FnOnce(&dyn Reading) -> Result<T>) -> Result<T> {
        let Ok(slot) = self.store.try_lock() else {
            return self.read(work);
        };
        let Some(store) = slot.as_deref() else {
            drop(slot);
            return self.read(work);
        };
        let answer = query(store, work);
        drop(slot);
        match answer {
            Err(EngineError::Store(error @ StoreError::Unreadable { .. })) => {
                self.close();
                Err(self.set_aside(error))
            }
            answer => answer,
        }
    }

    /// Decides and records one command under the store's write lock. `decide` also returns a value
    /// for the caller; if it fails, nothing is recorded.
    pub(crate) fn commit<T>(
        &self,
        actor: &Actor,
        mut decide: impl FnMut(&dyn Reading) -> Result<(Decided, T)>,
    ) -> Result<(Committed, T)> {
        self.with_current_store(|store| {
            // The store's error type has no room for ours: such an error waits here while the
            // transaction ends without events.
            let mut outcome = Err(EngineError::Internal("no command was decided"));
            let committed = store.commit(self.clock.now(), actor, &mut |reading| match decide(
                reading,
            ) {
                Ok((decision, value)) => {
                    outcome = Ok(value);
                    Ok(decision)
                }
                Err(EngineError::Refused(refusal)) => Err(DecideError::Refused(refusal)),
                Err(EngineError::Store(error)) => Err(DecideError::Unreadable(error)),
                Err(error) => {
                    outcome = Err(error);
                    Ok(Decided::default())
                }
            })?;
            Ok((committed, outcome?))
        })
    }

    /// Records the steps of one command, each decided on the state that the ones before led to.
    pub(crate) fn commit_steps(&self, next: &mut NextStep<'_>) -> Result<Vec<Recorded>> {
        self.with_current_store(|store| Ok(store.commit_steps(next)?))
    }

    /// Returns a change token: equal tokens mean that no process has committed in between. `None`
    /// if there is no store yet.
    pub(crate) fn version(&self) -> Result<Option<JournalVersion>> {
        self.refresh()?;
        match self
            .readers
            .version(self.stores.as_ref(), &self.project.dir)
        {
            Err(error @ StoreError::Unreadable { .. }) => {
                self.close();
                Err(self.set_aside(error))
            }
            version => Ok(version?),
        }
    }

    /// Returns true if the project has no store yet. Reading from it must not create one.
    pub(crate) fn is_empty(&self) -> bool {
        !self.has_store()
    }

    pub(crate) fn has_store(&self) -> bool {
        self.project.dir.join("journal.db").exists()
    }

    /// Lends the store to `work`, opening it first if necessary. A store that turns out to be
    /// unreadable is set aside unchanged, and the error says where it is.
    pub(crate) fn with_store<T>(
        &self,
        work: impl FnOnce(&mut dyn Store) -> Result<T>,
    ) -> Result<T> {
        self.report_loss()?;
        let mut slot = self.lock();
        refresh_slot(&mut slot)?;
        let answer = match &mut *slot {
            Some(store) => work(store.as_mut()),
            None => match self.opened() {
                Ok(mut store) => {
                    store.set_redactor(self.redactor.clone());
                    self.settle();
                    work(slot.insert(store).as_mut())
                }
                Err(error) => Err(error.into()),
            },
        };
        match answer {
            Err(EngineError::Store(error @ StoreError::Unreadable { .. })) => {
                self.readers.close();
                *slot = None;
                Err(self.set_aside(error))
            }
            answer => answer,
        }
    }

    fn opened(&self) -> Result<Box<dyn Store>, StoreError> {
        let dir = &self.project.dir;
        let open = self.readers.give_to_writer(dir);
        open.map_or_else(|| self.stores.open(dir), Ok)
    }

    /// Does the same again with the store that is there now if another process has replaced the one
    /// that was open. That is noticed before anything is decided or written.
    fn with_current_store<T>(
        &self,
        mut work: impl FnMut(&mut dyn Store) -> Result<T>,
    ) -> Result<T> {
        for _ in 0..MAX_REPLACEMENTS {
            match self.with_store(&mut work) {
                Err(EngineError::Store(StoreError::Replaced)) => {}
                other => return other,
            }
        }
        Err(StoreError::Replaced.into())
    }

    /// Lets the next call fail with an error that had no caller to be returned to, if it is the loss
    /// of a store: a thread of the sidecar may be the first to notice it.
    pub(crate) fn report_later(&self, error: &EngineError) {
        if let EngineError::StoreGone(events) = error {
            *lock(&self.unreported) = Some(*events);
        }
    }

    fn report_loss(&self) -> Result<()> {
        let unreported = lock(&self.unreported).take();
        unreported.map_or(Ok(()), |events| Err(EngineError::StoreGone(events)))
    }

    /// Closes a store whose file was replaced or set aside, so that the one that is there now is
    /// opened next. A store that was deleted is reported once.
    fn refresh(&self) -> Result<()> {
        self.report_loss()?;
        match self.store.try_lock() {
            Ok(mut slot) => refresh_slot(&mut slot),
            // A writer has it and looks for itself; readers do not wait for writers.
            Err(TryLockError::WouldBlock) => Ok(()),
            Err(TryLockError::Poisoned(slot)) => refresh_slot(&mut slot.into_inner()),
        }
    }

    /// Closes the store so that its files can be replaced.
    pub(crate) fn close(&self) {
        *self.lock() = None;
        self.readers.close();
    }

    fn lock(&self) -> MutexGuard<'_, Option<Box<dyn Store>>> {
        lock(&self.store)
    }

    fn set_aside(&self, error: StoreError) -> EngineError {
        let journal = self.project.dir.join("journal.db");
        if let StoreError::Unreadable { path, .. } = &error
            && *path != journal
        {
            return error.into();
        }
        let name = crate::views::time::file_name(self.clock.now());
        match set_aside(&self.project.dir, &name) {
            Ok(Some(place)) => {
                // Indexes of this journal must not answer for the next one.
                if let Err(failed) = self.drop_indexes() {
                    tracing::warn!("indexes not deleted: {failed}");
                }
                tracing::error!(place = %place.display(), "Store set aside: {error}");
                EngineError::SetAside {
                    place,
                    source: error,
                }
            }
            Ok(None) => error.into(),
            Err(failed) => failed.into(),
        }
    }

    /// Records where the project is. Not being able to must not stop a command: the project is only
    /// harder to find after it is moved.
    fn settle(&self) {
        if self.settled.set(()).is_err() {
            return;
        }
        if let Found::Moved { from } = &self.project.found {
            tracing::info!(from = %from.display(), "Project was moved");
        }
        if let Err(error) = self.project.settle() {
            tracing::warn!("the project's path was not recorded: {error}");
        }
    }
}

fn refresh_slot(slot: &mut Option<Box<dyn Store>>) -> Result<()> {
    let file_state = match slot {
        Some(store) => store.file_state()?,
        None => StoreFileState::InPlace,
    };
    if file_state == StoreFileState::InPlace {
        return Ok(());
    }
    let events = match slot.take() {
        Some(store) => store.retire()?,
        None => 0,
    };
    match file_state {
        StoreFileState::Gone if events > 0 => {
            tracing::error!("The store was deleted while it was open, with {events} events");
            Err(EngineError::StoreGone(events))
        }
        _ => {
            tracing::warn!("The store was replaced while it was open: opening it again");
            Ok(())
        }
    }
}

/// Runs queries on a snapshot and carries both kinds of error out of the store's closure.
fn query<T>(store: &dyn Store, work: impl FnOnce(&dyn Reading) -> Result<T>) -> Result<T> {
    let mut work = Some(work);
    let mut answer = Err(EngineError::Internal("no query was run"));
    store.read(&mut |reading| {
        match work.take().map(|work| work(reading)) {
            Some(Err(EngineError::Store(error))) => return Err(error),
            Some(other) => answer = other,
            None => {}
        }
        Ok(())
    })?;
    answer
}

/// Replaces the content of a file that only its owner may read.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<()> {
    use std::io::Write;
    let mut file = flamestack_store::private_file(path)?;
    file.set_len(0)?;
    file.write_all(text.as_bytes())?;
    Ok(())
}

/// Returns `None` for a file or folder that does not exist.
pub(crate) fn if_exists<T>(found: std::io::Result<T>) -> std::io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// Locks a value. Every change of one is complete before its lock is released, and the store writes
/// in transactions, so a panic elsewhere cannot have left it half-changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
