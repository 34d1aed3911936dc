//! Ingests the entries of sessions, live or recorded: events go into the journal, raw text next to it.
//!
//! ```text
//!  entries ─▶ redact ─▶ plan: which to observe, which text is complete ─▶ raw text ─▶ blobs
//!                                  │                                          │
//!                                  ▼                                          ▼
//!     one transaction per part: observe each entry, log each text ─▶ events ─▶ journal
//! ```
//!
//! `memory` keeps the state of each session between calls, `plan` and `commit` are the two halves of the
//! drawing, `reverts` follows reverts and forks. [`Observer`] derives the events; it and the other files
//! below this one are pure.

mod calls;
mod commit;
mod memory;
mod observer;
mod plan;
mod prompts;
mod recorder;
mod results;
mod reverts;
mod spoken;
mod subagents;
#[cfg(test)]
mod tests;
mod todos;
mod tools;
pub mod topics;
mod words;

use std::borrow::Cow;

use flamestack_core::subagent::EndedBy;
use flamestack_core::transcript::{Entry, EntryKind};
use flamestack_core::{Actor, Recorded, SessionRef};
use flamestack_store::transcript;

use self::commit::step;
pub(crate) use self::memory::Ingests;
use self::memory::PendingText;
pub use self::observer::{Observation, Observer, StoredText};
pub(crate) use self::results::is_wordless;
pub use self::spoken::OWN_COMMAND;
pub(crate) use self::spoken::asked_words;
use crate::Engine;
use crate::error::Result;

/// Maximum number of entries that one commit records. Writers of other sessions take their turns between
/// two commits, however long a list of messages a host sends.
const ENTRIES_PER_COMMIT: usize = 400;

/// Kind of the record of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IngestMode {
    /// A session that is in progress.
    #[default]
    Live,
    /// The import of a past session, which has no active frame.
    Past,
    /// A session that another program drives. That program keeps its frames: prompts and to-do lists make none.
    Driven,
}

/// Properties of an ingested session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IngestOptions {
    /// Kind of the record.
    pub mode: IngestMode,
    /// The session that started it, where it is known.
    pub parent: Option<SessionRef>,
    /// True if the host does not say which session started which: subagents are recognised by their
    /// titles.
    pub without_ids: bool,
    /// True if every subagent that ends here keeps its frame, however short its run.
    pub keeps_frames: bool,
    /// Origin of the report that a subagent ended.
    pub ended_by: EndedBy,
}

/// One step of an ingest.
enum IngestStep<'e> {
    Observe(Box<Cow<'e, Entry>>),
    Log(SessionRef, Box<PendingText>),
}

impl Engine {
    /// Ingests entries of a session that is in progress.
    ///
    /// The same entry may come any number of times. An answer is understood if its call came
    /// before, in this or an earlier call of this engine, and a turn's end if the model's last
    /// words did; a caller with a new engine sends those again.
    pub fn ingest(&self, actor: &Actor, entries: &[Entry]) -> Result<Vec<Recorded>> {
        self.ingest_with(actor, &IngestOptions::default(), entries)
    }

    /// Ingests entries of a session. Those before an error stay recorded.
    pub fn ingest_with(
        &self,
        actor: &Actor,
        options: &IngestOptions,
        entries: &[Entry],
    ) -> Result<Vec<Recorded>> {
        let mut recorded = Vec::new();
        for part in entries.chunks(ENTRIES_PER_COMMIT) {
            recorded.extend(self.ingest_part(actor, options, part)?);
        }
        Ok(recorded)
    }

    /// Ingests entries with one commit.
    fn ingest_part(
        &self,
        actor: &Actor,
        options: &IngestOptions,
        entries: &[Entry],
    ) -> Result<Vec<Recorded>> {
        let alone = self.lock_ingest(&actor.session);
        // First of all: titles, names and excerpts are cut from these texts.
        let entries = entries.iter();
        let entries = entries.map(|entry| transcript::redacted(entry, self.redactor()));
        let entries = &*entries.collect::<Vec<Entry>>();
        let mut ingest = self.ingest_of(&actor.session, options);
        if options.mode != IngestMode::Past
            && let Some(known) = self.session(&actor.session)?
        {
            self.autonomy().follow(&mut ingest.signals, &known)?;
        }
        let mut steps = self.plan(actor, &mut ingest, entries)?;
        if options.without_ids && options.parent.is_none() {
            steps.extend(self.subagent_by_title(actor, entries));
        }
        let mut recorded = self.commit_ingest(actor, &mut ingest.observer, steps)?;
        {
            let mut ingests = self.ingests();
            let last = ingests.values().map(|ingest| ingest.last_used).max();
            ingest.last_used = last.unwrap_or_default() + 1;
            ingests.insert(actor.session.clone(), ingest);
        }
        drop(alone);
        self.forget_idle_sessions();
        recorded.extend(self.summaries().complete_results(actor, &recorded)?);
        if options.mode != IngestMode::Past {
            recorded.extend(self.sessions().keep_interruptions(&recorded)?);
        }
        Ok(recorded)
    }

    /// Returns the start of a subagent if a title says that the session is one.
    fn subagent_by_title(&self, actor: &Actor, entries: &[Entry]) -> Option<IngestStep<'static>> {
        let tracking = self.tracking();
        let titles = entries.iter().filter_map(|entry| match &entry.kind {
            EntryKind::Titled { title } => Some(title),
            _ => None,
        });
        let title = titles
            .rev()
            .find(|title| tracking.patterns.matches(title))?;
        let id = actor.session.id().to_owned();
        Some(IngestStep::Observe(Box::new(Cow::Owned(Entry {
            id: Some(format!("by title {id}")),
            ..Entry::from(EntryKind::SubagentStarted {
                id,
                call: None,
                kind: None,
                title: title.clone(),
                prompt: String::new(),
            })
        }))))
    }

    /// Ends the record of a past session: stores the rest of its raw text, completes its frame if
    /// nothing is left open, and forgets the session.
    pub fn settle(&self, actor: &Actor) -> Result<Vec<Recorded>> {
        let mut recorded = self.keep_pending(actor)?;
        let Some(mut ingest) = self.ingests().remove(&actor.session) else {
            return Ok(recorded);
        };
        let mut asked = false;
        let clock = self.clock();
        recorded.extend(self.workspace.commit_steps(&mut |reading| {
            if std::mem::replace(&mut asked, true) {
                return Ok(None);
            }
            let mut draw = || clock.draw_id();
            let observation = ingest.observer.finish(reading, actor, &mut draw)?;
            Ok(observation.map(|observation| step(observation, clock.now())))
        })?);
        recorded.extend(self.summaries().complete_results(actor, &recorded)?);
        Ok(recorded)
    }
}

/// Returns the subagent inside of a session that an entry belongs to, else the session.
fn thread_of(session: &SessionRef, entry: &Entry) -> SessionRef {
    let agent = entry.agent.as_deref();
    let inside = agent.and_then(|agent| session.beside(agent));
    inside.unwrap_or_else(|| session.clone())
}
