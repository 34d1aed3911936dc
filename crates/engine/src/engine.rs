//! The engine: opens a project and hands out the handles that work on it.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use flamestack_core::id::Timestamp;
use flamestack_core::{FrameId, Session, SessionRef};
use flamestack_extract::tokens::{Estimate, Tokenizer};
use flamestack_redact::Redactor;
use flamestack_store::{Blobs, OpenOptions, OpenStore, Reading, TokenCounts};
use flamestack_tokens::{Counts, Memo};

use crate::autonomy::{Autonomy, AutonomyPolicy};
use crate::clock::Clock;
use crate::commands::Commands;
use crate::compaction::Compactions;
use crate::context::{ContextCache, Contexts, Preferences};
use crate::error::{EngineError, Result};
use crate::ingest::Ingests;
use crate::logs::Logs;
use crate::maintenance::Maintenance;
use crate::names;
use crate::project::Project;
use crate::recall::{Indexing, Recall};
use crate::sessions::Sessions;
use crate::settings::SettingsSources;
use crate::subagents::{Gather, Tracking};
use crate::summaries::Summaries;
use crate::views::work::Work;
use crate::workspace::{Workspace, lock};

/// Number of locks that the ingestion of all sessions shares.
const INGEST_LOCKS: usize = 64;

/// One project's stack, for every front.
///
/// The engine itself only reads; everything else is done through its handles: [`Commands`],
/// [`Contexts`], [`Compactions`], [`Summaries`], [`Recall`], [`Sessions`], [`Logs`] and
/// [`Maintenance`].
pub struct Engine {
    pub(crate) workspace: Workspace,
    pub(crate) preferences: Preferences,
    pub(crate) context_cache: ContextCache,
    ingests: Mutex<Ingests>,
    ingesting: [Mutex<()>; INGEST_LOCKS],
    tracking: Mutex<Tracking>,
    pub(crate) gather: Option<Gather>,
    /// The choices about autonomy, and the files that they were read from.
    pub(crate) policy: Mutex<Option<(SettingsSources, AutonomyPolicy)>>,
    pub(crate) indexing: Indexing,
    /// The work as far as this process has read it.
    pub(crate) work: Mutex<Work>,
}

impl Engine {
    /// Creates an engine for a project with an embedded store. Opens and creates nothing until it
    /// is needed.
    pub fn new(project: Project, clock: Box<dyn Clock>, busy_timeout: Duration) -> Self {
        Self::with_stores(project, clock, Box::new(OpenOptions { busy_timeout }))
    }

    /// Creates an engine for a project whose store is opened by `stores`.
    pub fn with_stores(
        project: Project,
        clock: Box<dyn Clock>,
        stores: Box<dyn OpenStore>,
    ) -> Self {
        Self {
            workspace: Workspace::new(project, clock, stores),
            preferences: Preferences::default(),
            context_cache: ContextCache::default(),
            ingests: Mutex::default(),
            ingesting: std::array::from_fn(|_| Mutex::default()),
            tracking: Mutex::default(),
            gather: None,
            policy: Mutex::default(),
            indexing: Indexing::default(),
            work: Mutex::default(),
        }
    }

    /// Replaces the preferences for contexts.
    #[must_use]
    pub fn with_contexts(self, preferences: Preferences) -> Self {
        Self {
            preferences,
            ..self
        }
    }

    /// Replaces the rules by which everything that is written is redacted.
    #[must_use]
    pub fn with_redactor(mut self, redactor: Redactor) -> Self {
        self.workspace.redactor = redactor;
        self
    }

    /// The rules by which everything that is written is redacted. Text that is cut before it is
    /// written is redacted before it is cut, as a part of a secret is not recognised.
    pub fn redactor(&self) -> &Redactor {
        &self.workspace.redactor
    }

    /// The project that this engine works on.
    pub fn project(&self) -> &Project {
        &self.workspace.project
    }

    /// Source of timestamps and frame ids.
    pub fn clock(&self) -> &dyn Clock {
        self.workspace.clock.as_ref()
    }

    /// Storage of raw texts.
    pub fn blobs(&self) -> Blobs {
        self.workspace.blobs()
    }

    /// Preferences for contexts.
    pub fn preferences(&self) -> &Preferences {
        &self.preferences
    }

    /// Runs queries on one snapshot of the journal. Never creates the store.
    pub fn read<T>(&self, work: impl FnOnce(&dyn Reading) -> Result<T>) -> Result<T> {
        self.workspace.read(work)
    }

    /// Runs a few queries about what this process has just recorded, without opening the store for them.
    /// They keep its other writers waiting.
    pub fn read_back<T>(&self, work: impl FnOnce(&dyn Reading) -> Result<T>) -> Result<T> {
        self.workspace.read_back(work)
    }

    /// Returns everything recorded about a session, unless it is unknown.
    pub fn session(&self, session: &SessionRef) -> Result<Option<Session>> {
        self.read(|reading| Ok(reading.session(session)?))
    }

    /// Resolves the name of a frame as users and models type it.
    pub fn frame_named(&self, name: &str) -> Result<FrameId> {
        self.read(|reading| names::resolve(reading, name))
    }

    /// Executes requests.
    pub fn commands(&self) -> Commands<'_> {
        Commands { engine: self }
    }

    /// Makes and delivers contexts.
    pub fn contexts(&self) -> Contexts<'_> {
        Contexts { engine: self }
    }

    /// Suggests and acts.
    pub fn autonomy(&self) -> Autonomy<'_> {
        Autonomy { engine: self }
    }

    /// Accompanies compactions.
    pub fn compactions(&self) -> Compactions<'_> {
        Compactions { engine: self }
    }

    /// Summarises recorded sessions and frames.
    pub fn summaries(&self) -> Summaries<'_> {
        Summaries { engine: self }
    }

    /// Searches and recalls what left the prompt.
    pub fn recall(&self) -> Recall<'_> {
        Recall {
            engine: self,
            is_gone: None,
        }
    }

    /// Reads and changes sessions.
    pub fn sessions(&self) -> Sessions<'_> {
        Sessions { engine: self }
    }

    /// Reads and writes logs of frames.
    pub fn logs(&self) -> Logs<'_> {
        Logs { engine: self }
    }

    /// Checks, repairs and shrinks the store.
    pub fn maintenance(&self) -> Maintenance<'_> {
        Maintenance { engine: self }
    }

    /// Returns the deadline of a wait for a summary that begins now.
    pub(crate) fn end_of_wait(&self) -> Result<Timestamp> {
        let patience = self
            .settings()?
            .number("compaction.completion_timeout_ms")?;
        let patience = i64::try_from(patience).unwrap_or(i64::MAX);
        Ok(Timestamp(self.clock().now().0.saturating_add(patience)))
    }

    /// Lets the next call fail with an error that had no caller to be returned to, if it is the loss of
    /// a store.
    pub fn report_later(&self, error: &EngineError) {
        self.workspace.report_later(error);
    }

    /// Loads the tokenizer, which takes longer than anything that needs it.
    pub fn warm_up(&self) {
        self.preferences.tokenizer().count("warm");
    }

    /// Lends `work` a tokenizer that remembers counts across processes.
    pub(crate) fn counting<T>(&self, work: impl FnOnce(&dyn Tokenizer) -> T) -> T {
        let tokenizer = self.preferences.tokenizer();
        if tokenizer.name() == Estimate.name() {
            // Faster to compute than to look up.
            return work(&Estimate);
        }
        let counts = self.workspace.token_counts();
        let made = work(&Memo::new(tokenizer.as_ref(), StoredCounts(counts)));
        counts.save();
        made
    }

    /// Serialises the ingestion of a session: an entry may refer to the one before it. Sessions do
    /// not wait for each other, except for a few that share a lock by chance.
    pub(crate) fn lock_ingest(&self, session: &SessionRef) -> MutexGuard<'_, ()> {
        let mut hash = DefaultHasher::new();
        session.hash(&mut hash);
        let place = hash.finish() % INGEST_LOCKS as u64;
        let [first, ..] = &self.ingesting;
        let place = usize::try_from(place).unwrap_or_default();
        lock(self.ingesting.get(place).unwrap_or(first))
    }

    /// Returns the rules for tracking subagents.
    pub fn tracking(&self) -> Tracking {
        lock(&self.tracking).clone()
    }

    /// Replaces the rules for tracking subagents.
    pub fn set_tracking(&self, tracking: Tracking) {
        *lock(&self.tracking) = tracking;
    }

    pub(crate) fn ingests(&self) -> MutexGuard<'_, Ingests> {
        lock(&self.ingests)
    }
}

/// Token counts kept by the store.
struct StoredCounts<'a>(&'a TokenCounts);

impl Counts for StoredCounts<'_> {
    fn get(&self, key: u128) -> Option<usize> {
        usize::try_from(self.0.get(key)?).ok()
    }

    fn put(&self, key: u128, tokens: usize) {
        self.0.put(key, tokens as u64);
    }
}
