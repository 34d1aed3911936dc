//! The engine: a store, a clock, and what connects them.

use std::path::Path;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use flamestack_core::command::{Actor, Command};
use flamestack_core::decide::{Rejected, Remark, decide};
use flamestack_core::event::Recorded;
use flamestack_core::frame::LogEntry;
use flamestack_core::id::FrameId;
use flamestack_core::refusal::Refusal;
use flamestack_core::text::Title;
use flamestack_store::{
    Blobs, Index, Kept, OpenOptions, Reading, Searched, SqliteStore, Store, StoreError, Version,
    set_aside,
};

use crate::clock::Clock;
use crate::context::{Contexts, Preferences};
use crate::error::EngineError;
use crate::names;
use crate::project::Project;
use crate::request::Request;
use crate::subagents::{Gather, Tracking};
use crate::witness::Watches;

/// The longest piece of raw text that is kept, in bytes.
pub(crate) const LONGEST_TEXT: usize = 16 * 1024 * 1024;
/// How often an id is drawn again when it is taken. Twice in a row is already unheard of.
const DRAWS: usize = 8;

/// One project's stack, for every front.
pub struct Engine {
    project: Project,
    store: Mutex<Option<SqliteStore>>,
    clock: Box<dyn Clock>,
    options: OpenOptions,
    pub(crate) contexts: Contexts,
    watches: Mutex<Watches>,
    witnessing: Mutex<()>,
    tracking: Mutex<Tracking>,
    pub(crate) gather: Option<Gather>,
}

/// What a granted request came to.
#[derive(Clone, Debug)]
pub struct Receipt {
    /// The command it was.
    pub command: Command,
    /// What happened; nothing, if the wish was fulfilled already.
    pub events: Vec<Recorded>,
    /// What to tell the one who asked.
    pub remarks: Vec<Remark>,
}

impl Receipt {
    /// The frame that was opened, if one was.
    pub fn opened(&self) -> Option<&FrameId> {
        crate::request::opened(&self.command)
    }
}

/// A search hit with the frame it belongs to.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// What was found, best first.
    pub searched: Searched,
    /// The title of each hit's frame.
    pub titles: Vec<String>,
}

impl Engine {
    /// An engine for a project. Nothing is opened or made before it is needed.
    pub fn new(project: Project, clock: Box<dyn Clock>, busy_timeout: Duration) -> Self {
        Self {
            project,
            store: Mutex::new(None),
            clock,
            options: OpenOptions { busy_timeout },
            contexts: Contexts::default(),
            watches: Mutex::default(),
            witnessing: Mutex::default(),
            tracking: Mutex::default(),
            gather: None,
        }
    }

    /// The same engine with other preferences about contexts.
    #[must_use]
    pub fn with_contexts(self, preferences: Preferences) -> Self {
        Self {
            contexts: Contexts::new(preferences),
            ..self
        }
    }

    /// The project.
    pub fn project(&self) -> &Project {
        &self.project
    }

    /// Time and ids.
    pub fn clock(&self) -> &dyn Clock {
        self.clock.as_ref()
    }

    /// Raw text.
    pub fn blobs(&self) -> Blobs {
        Blobs::new(&self.project.dir)
    }

    /// Grants a request or says why not.
    pub fn execute(&self, actor: &Actor, request: &Request) -> Result<Receipt, EngineError> {
        // What was said until now belongs to the frame that the session is about to leave.
        if request.turns()
            && let Err(error) = self.keep_pending(actor)
        {
            tracing::warn!("raw text not kept: {error}");
        }
        let request = &*self.with_dense_results(actor, request);
        for _ in 1..DRAWS {
            match self.attempt(actor, request) {
                Err(EngineError::Refused(refusal))
                    if matches!(*refusal, Refusal::IdTaken { .. }) => {}
                answer => return answer,
            }
        }
        self.attempt(actor, request)
    }

    fn attempt(&self, actor: &Actor, request: &Request) -> Result<Receipt, EngineError> {
        // What is refused in a project that has no store yet must not make one.
        if self.lock().is_none() && !self.has_store() {
            let command = ask(&SqliteStore::empty()?, |reading| {
                let command = request.to_command(reading, self.clock.as_ref())?;
                match decide(reading, actor, &command) {
                    Ok(_) => Ok(command),
                    Err(Rejected::Refused(refusal)) => Err(EngineError::Refused(refusal)),
                    Err(Rejected::Unreadable(error)) => Err(error.into()),
                }
            })?;
            return self.in_store(actor, &Request::Ready(command));
        }
        self.in_store(actor, request)
    }

    fn in_store(&self, actor: &Actor, request: &Request) -> Result<Receipt, EngineError> {
        let mut asked = None;
        let mut misnamed = None;
        let answer = self.with_store(|store| {
            store
                .commit(self.clock.now(), actor, &mut |reading| {
                    match request.to_command(reading, self.clock.as_ref()) {
                        Ok(command) => {
                            let decision = decide(reading, actor, &command);
                            asked = Some(command);
                            decision
                        }
                        Err(EngineError::Store(error)) => Err(Rejected::Unreadable(error)),
                        // The transaction ends here; the reason is reported once it has.
                        Err(error) => {
                            misnamed = Some(error);
                            Ok(flamestack_core::Decision::default())
                        }
                    }
                })
                .map_err(|rejected| match rejected {
                    Rejected::Refused(refusal) => EngineError::Refused(refusal),
                    Rejected::Unreadable(error) => EngineError::Store(error),
                })
        })?;
        match (misnamed, asked) {
            (Some(error), _) => Err(error),
            (None, Some(command)) => {
                for recorded in &answer.events {
                    tracing::info!(session = %actor.session, "{}", crate::views::story::line(recorded));
                }
                Ok(Receipt {
                    command,
                    events: answer.events,
                    remarks: answer.remarks,
                })
            }
            (None, None) => Err(EngineError::BadInput(
                "the request came to nothing".to_owned(),
            )),
        }
    }

    /// Keeps a raw text for a frame.
    pub fn log_text(
        &self,
        actor: &Actor,
        frame: Option<&str>,
        label: &str,
        text: &str,
    ) -> Result<Receipt, EngineError> {
        let label = Title::new(label).map_err(|problem| Refusal::BadText {
            field: "the label",
            problem,
        })?;
        if text.len() > LONGEST_TEXT {
            return Err(EngineError::TextTooLong {
                bytes: text.len() as u64,
            });
        }
        // Asked before the text is kept, so that a refusal leaves nothing behind.
        if let Some(frame) = frame {
            self.frame_named(frame)?;
        } else {
            let known = self.read(|reading| Ok(reading.session(&actor.session)?))?;
            if known.is_none_or(|known| known.active.is_none()) {
                let session = actor.session.clone();
                return Err(Refusal::NoActiveFrame { session }.into());
            }
        }
        let kept = self.keep_text(text)?;
        let entry = LogEntry {
            label,
            blob: kept.id,
            bytes: kept.bytes,
        };
        self.execute(
            actor,
            &Request::Log {
                frame: frame.map(str::to_owned),
                entry,
            },
        )
    }

    /// Keeps a raw text that some frame speaks of or will speak of.
    pub fn keep_text(&self, text: &str) -> Result<Kept, EngineError> {
        flamestack_store::private_dir(&self.project.dir)?;
        Ok(self.blobs().put(text)?)
    }

    /// Keeps several raw texts at once.
    pub(crate) fn keep_texts(&self, texts: &[&str]) -> Result<Vec<Kept>, EngineError> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        flamestack_store::private_dir(&self.project.dir)?;
        Ok(self.blobs().put_all(texts)?)
    }

    /// The frame that a name stands for.
    pub fn frame_named(&self, name: &str) -> Result<FrameId, EngineError> {
        self.read(|reading| names::resolve(reading, name))
    }

    /// Answers questions about one point of the journal.
    pub fn read<T>(
        &self,
        work: impl FnOnce(&dyn Reading) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        // Looking at a project that has no store yet must not make one.
        if self.lock().is_none() && !self.has_store() {
            return ask(&SqliteStore::empty()?, work);
        }
        self.with_store(|store| ask(store, work))
    }

    /// What of the store this is; nothing, if there is none yet.
    pub(crate) fn version(&self) -> Result<Option<Version>, EngineError> {
        if self.lock().is_none() && !self.has_store() {
            return Ok(None);
        }
        self.with_store(|store| Ok(Some(store.version()?)))
    }

    pub(crate) fn has_store(&self) -> bool {
        self.project.dir.join("journal.db").exists()
    }

    /// Finds texts; `progress` hears how the index catches up first.
    pub fn search(
        &self,
        query: &str,
        limit: usize,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Found, EngineError> {
        // An index of nothing would be the first trace of a project that has none.
        if self.lock().is_none() && !self.has_store() {
            return Ok(Found::default());
        }
        let index = Index::new(&self.project.dir);
        let blobs = self.blobs();
        self.read(|reading| {
            let searched = index.search(reading, &blobs, query, limit, progress)?;
            let titles = searched
                .hits
                .iter()
                .map(|hit| {
                    let frame = reading.frame(&hit.frame)?;
                    Ok(frame
                        .map(|frame| frame.title.as_str().to_owned())
                        .unwrap_or_default())
                })
                .collect::<Result<_, StoreError>>()?;
            Ok(Found { searched, titles })
        })
    }

    /// Lets `work` have the store, opening it first if need be. A store that turns out to be
    /// unreadable is set aside and reported; nothing of it is changed.
    pub(crate) fn with_store<T>(
        &self,
        work: impl FnOnce(&mut SqliteStore) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let mut slot = self.lock();
        let answer = match &mut *slot {
            Some(store) => work(store),
            None => match self.options.open(&self.project.dir) {
                Ok(store) => {
                    self.remember_identity()?;
                    work(slot.insert(store))
                }
                Err(error) => Err(error.into()),
            },
        };
        match answer {
            Err(EngineError::Store(error @ StoreError::Unreadable { .. })) => {
                *slot = None;
                Err(self.put_aside(error))
            }
            answer => answer,
        }
    }

    /// Closes the store, as before it is replaced.
    pub(crate) fn close(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> MutexGuard<'_, Option<SqliteStore>> {
        // A panic elsewhere cannot have left the store half-written: it writes in transactions.
        self.store
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// What is seen is recorded one thing after the other: what comes next may refer to it.
    pub(crate) fn witness_alone(&self) -> MutexGuard<'_, ()> {
        self.witnessing
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// How subagents are tracked here.
    pub fn tracking(&self) -> Tracking {
        self.tracked().clone()
    }

    /// Tracks subagents in another way from now on.
    pub fn set_tracking(&self, tracking: Tracking) {
        *self.tracked() = tracking;
    }

    fn tracked(&self) -> MutexGuard<'_, Tracking> {
        self.tracking
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(crate) fn watches(&self) -> MutexGuard<'_, Watches> {
        self.watches
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(crate) fn put_aside(&self, error: StoreError) -> EngineError {
        let journal = self.project.dir.join("journal.db");
        if let StoreError::Unreadable { path, .. } = &error
            && *path != journal
        {
            return error.into();
        }
        let name = crate::views::time::file_name(self.clock.now());
        match set_aside(&self.project.dir, &name) {
            Ok(Some(place)) => {
                // What was made from another journal must not speak for the next one.
                if let Err(failed) = self.drop_indexes() {
                    tracing::warn!("indexes not deleted: {failed}");
                }
                tracing::error!(place = %place.display(), "Store set aside: {error}");
                EngineError::SetAside {
                    problem: problem_of(&error),
                    place,
                }
            }
            Ok(None) => error.into(),
            Err(failed) => failed.into(),
        }
    }

    /// Says beside the store whose it is, for people who look into the state directory.
    fn remember_identity(&self) -> Result<(), EngineError> {
        let file = self.project.dir.join("project.txt");
        if !file.exists() {
            write_private(&file, &format!("{}\n", self.project.identity.display()))?;
        }
        Ok(())
    }
}

/// Puts a question to a store and carries both kinds of failure back.
fn ask<T>(
    store: &SqliteStore,
    work: impl FnOnce(&dyn Reading) -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    let mut work = Some(work);
    let mut answer = None;
    store.read(&mut |reading| {
        match work.take().map(|work| work(reading)) {
            Some(Err(EngineError::Store(error))) => return Err(error),
            other => answer = other,
        }
        Ok(())
    })?;
    answer.unwrap_or_else(|| Err(EngineError::BadInput("nothing was asked".to_owned())))
}

fn problem_of(error: &StoreError) -> String {
    match error {
        StoreError::Unreadable { problem, .. } => problem.clone(),
        other => other.to_string(),
    }
}

/// Replaces a file that only its owner can read.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<(), EngineError> {
    use std::io::Write;
    let mut file = flamestack_store::private_file(path)?;
    file.set_len(0)?;
    file.write_all(text.as_bytes())?;
    Ok(())
}
