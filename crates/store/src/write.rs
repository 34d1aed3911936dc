//! The write path: the only way in which events reach a journal.
//!
//! ```text
//!  lock ─▶ decide on the projections ─▶ redact ─▶ append ─▶ apply to the projections ─▶ commit
//! ```
//!
//! The decision is made under the journal's lock, on the state that it is appended to, so no other
//! writer can come in between. Without a commit, nothing has happened.

use flamestack_core::command::Actor;
use flamestack_core::event::{Event, Recorded};
use flamestack_core::id::{Seq, Timestamp};
use flamestack_core::text::Rewrite;
use flamestack_redact::Redactor;

use crate::error::Result;
use crate::journal::Journal;
use crate::projections::Projections;
use crate::store::{CommitError, Committed, Decide, NextStep};

/// A journal and the projections that follow it.
pub(crate) struct WritePath<'s> {
    pub(crate) journal: &'s dyn Journal,
    pub(crate) projections: &'s dyn Projections,
    pub(crate) redactor: &'s Redactor,
}

impl WritePath<'_> {
    /// Decides and records one command.
    pub(crate) fn commit(
        &self,
        at: Timestamp,
        actor: &Actor,
        decide: &mut Decide<'_>,
    ) -> Result<Committed, CommitError> {
        let lock = self.journal.lock()?;
        let decision = decide(self.projections.reading())?;
        let events = self.append(at, actor, decision.events, None)?;
        if !events.is_empty() {
            lock.commit()?;
        }
        Ok(Committed {
            events,
            remarks: decision.remarks,
        })
    }

    /// Decides and records one command of several steps.
    pub(crate) fn commit_steps(
        &self,
        next: &mut NextStep<'_>,
    ) -> Result<Vec<Recorded>, CommitError> {
        let lock = self.journal.lock()?;
        let mut recorded: Vec<Recorded> = Vec::new();
        while let Some(step) = next(self.projections.reading())? {
            let batch = recorded.first().map(|first| first.batch);
            recorded.extend(self.append(step.at, &step.actor, step.events, batch)?);
        }
        if !recorded.is_empty() {
            lock.commit()?;
        }
        Ok(recorded)
    }

    /// Redacts events, appends them and applies them: as a new command, or as part of the one that
    /// began with `batch`.
    fn append(
        &self,
        at: Timestamp,
        actor: &Actor,
        events: Vec<Event>,
        batch: Option<Seq>,
    ) -> Result<Vec<Recorded>> {
        if events.is_empty() {
            return Ok(Vec::new());
        }
        let first = Seq(self.journal.last()?.0 + 1);
        let mut recorded = Vec::with_capacity(events.len());
        for (seq, mut event) in (first.0..).map(Seq).zip(events) {
            event.rewrite(&mut |text| self.redactor.replacement(text));
            let entry = Recorded {
                seq,
                batch: batch.unwrap_or(first),
                at,
                session: actor.session.clone(),
                message: actor.message.clone(),
                by: actor.by,
                event,
            };
            self.journal.append(&entry)?;
            recorded.push(entry);
        }
        // Only now, so that the journal's pages stay together: recovery reads them from a file that
        // was cut short.
        for entry in &recorded {
            self.projections.apply(entry)?;
        }
        Ok(recorded)
    }
}
