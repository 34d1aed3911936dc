//! Frames that wait for a summary. If none comes, their result is derived from what is recorded.
//!
//! A wait ends by its recorded deadline, whichever process comes next: the host that was asked for the
//! summary may be gone.

use std::time::Duration;

use flamestack_brief::compaction::{claims, says_nothing, without_restored};
use flamestack_core::compaction::{Summary, SummaryClaims};
use flamestack_core::frame::Awaiting;
use flamestack_core::id::Timestamp;
use flamestack_core::{Actor, Author, Command, FrameId, SessionRef, Text};

use super::Compactions;
use crate::commands::Receipt;
use crate::error::Result;
use crate::request::Request;
use crate::summaries::RESULT_TOKENS;

impl Compactions<'_> {
    /// Returns the frames that wait for a summary of a session.
    pub fn awaiting(&self, session: &SessionRef) -> Result<Vec<(FrameId, Awaiting)>> {
        self.engine.read(|reading| Ok(reading.awaiting(session)?))
    }

    /// Ends the wait of the frames of a session that `ends` selects.
    pub(super) fn end_waits(
        &self,
        actor: &Actor,
        summary: Option<&str>,
        ends: impl Fn(&Awaiting) -> bool,
    ) -> Result<Vec<Receipt>> {
        let waiting = self.awaiting(&actor.session)?.into_iter();
        waiting
            .filter(|(_, awaiting)| ends(awaiting))
            .map(|(frame, _)| self.end_wait(actor, frame, summary, None))
            .collect()
    }

    /// Gives a summary that was made while Flamestack was not running to the frames that have waited
    /// since before it. Returns their number.
    pub fn found_summary(&self, actor: &Actor, summary: &str, at: Timestamp) -> Result<usize> {
        let plain = without_restored(summary);
        let usable = Some(plain.as_str()).filter(|plain| !says_nothing(plain));
        let ended = self.end_waits(actor, usable, |awaiting| awaiting.since <= at)?;
        Ok(ended.len())
    }

    /// Ends every wait whose deadline is over, of any session. Their results are derived. A store that
    /// cannot be written keeps its waits, and can still be read.
    pub fn settle_overdue(&self) -> Result<Vec<Receipt>> {
        let now = self.engine.clock().now();
        let mut overdue = self.engine.read(|reading| Ok(reading.all_awaiting()?))?;
        overdue.retain(|(_, awaiting)| awaiting.is_over(now));
        let mut ended = Vec::new();
        for (frame, awaiting) in overdue {
            let actor = Actor {
                session: awaiting.session,
                worktree: None,
                message: None,
                by: Author::Agent,
            };
            match self.end_wait(&actor, frame, None, Some(now)) {
                Ok(receipt) => ended.push(receipt),
                Err(error) => tracing::warn!(%frame, "a summary is still awaited: {error}"),
            }
        }
        Ok(ended)
    }

    /// Closes the frames of a session that only wait for their summary, before other work of the
    /// session begins: it would be opened below a frame that was popped.
    pub(crate) fn close_waiting(&self, actor: &Actor) -> Result<Vec<Receipt>> {
        // The end belongs to the message that asked for it, not to the one of the new work.
        let actor = Actor {
            message: None,
            ..actor.clone()
        };
        self.end_waits(&actor, None, |awaiting| awaiting.outcome.is_some())
    }

    /// Ends the wait of frames that have waited for longer than `patience`. Their result is derived.
    pub fn give_up_waiting(&self, actor: &Actor, patience: Duration) -> Result<Vec<Receipt>> {
        let now = self.engine.clock().now();
        let patience = i64::try_from(patience.as_millis()).unwrap_or(i64::MAX);
        let is_late = |awaiting: &Awaiting| now.0.saturating_sub(awaiting.since.0) >= patience;
        let ended = self.end_waits(actor, None, is_late)?;
        if !ended.is_empty() {
            tracing::info!(session = %actor.session, frames = ended.len(), "No summary came");
        }
        Ok(ended)
    }

    /// Summarizes a frame from its record, as a request to wait for a summary asks, where no host
    /// makes one: at a terminal.
    pub fn summarize_now(&self, actor: &Actor, request: &Request) -> Result<Receipt> {
        let summaries = self.engine.summaries();
        let request = summaries.with_dense_results(actor, request.clone());
        let (command, active) = self.engine.read(|reading| {
            let (clock, until) = (self.engine.clock(), Timestamp::default());
            let command = request.to_command(reading, actor, clock, until)?;
            let session = reading.session(&actor.session)?;
            Ok((command, session.and_then(|session| session.active)))
        })?;
        let Command::AwaitSummary {
            frame,
            outcome,
            given,
            ..
        } = command
        else {
            return self.engine.commands().execute(actor, &request);
        };
        let summary = match frame.or(active) {
            Some(frame) => self.derived(actor, frame)?.map(Box::new),
            None => None,
        };
        let command = Command::SummarizeNow {
            frame,
            outcome,
            given,
            summary,
        };
        self.engine.commands().run(actor, &command)
    }

    fn end_wait(
        &self,
        actor: &Actor,
        frame: FrameId,
        summary: Option<&str>,
        if_over: Option<Timestamp>,
    ) -> Result<Receipt> {
        let summary = match summary {
            Some(summary) => Text::new(summary).ok().map(|text| Summary {
                claims: claims(text.as_str()),
                text,
            }),
            None => self.derived(actor, frame)?,
        };
        let command = Command::TakeSummary {
            frame,
            summary: summary.map(Box::new),
            if_over,
        };
        self.engine.commands().run(actor, &command)
    }

    /// Makes a summary from what is recorded of a frame, if anything is.
    fn derived(&self, actor: &Actor, frame: FrameId) -> Result<Option<Summary>> {
        // The last turn may still be pending.
        if let Err(error) = self.engine.keep_pending(actor) {
            tracing::warn!("raw text not kept: {error}");
        }
        let summaries = self.engine.summaries();
        let derived = summaries.derived_result(&frame, RESULT_TOKENS)?;
        let text = derived.and_then(|text| Text::new(&text).ok());
        Ok(text.map(|text| Summary {
            // Its notes are recorded already.
            claims: SummaryClaims {
                results: text.as_str().to_owned(),
                notes: Vec::new(),
            },
            text,
        }))
    }
}
