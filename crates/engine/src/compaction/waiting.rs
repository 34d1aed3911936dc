//! Frames that wait for a summary. If none comes, their result is derived from the transcript.

use std::time::Duration;

use flamestack_brief::compaction::{claims, says_nothing, without_restored};
use flamestack_core::compaction::Summary;
use flamestack_core::frame::Awaiting;
use flamestack_core::id::Timestamp;
use flamestack_core::{Actor, Command, FrameId, SessionRef, Text};

use super::Compactions;
use crate::commands::Receipt;
use crate::error::Result;
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
            .map(|(frame, _)| self.end_wait(actor, frame, summary))
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

    /// Ends the wait of frames that have waited for longer than `patience`. Their result is derived
    /// from the transcript.
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

    fn end_wait(&self, actor: &Actor, frame: FrameId, summary: Option<&str>) -> Result<Receipt> {
        let text = if let Some(summary) = summary {
            Some(summary.to_owned())
        } else {
            // The last turn may still be pending.
            if let Err(error) = self.engine.keep_pending(actor) {
                tracing::warn!("raw text not kept: {error}");
            }
            self.engine
                .summaries()
                .derived_result(&frame, RESULT_TOKENS)?
        };
        let text = text.and_then(|text| Text::new(&text).ok());
        let summary = text.map(|text| {
            let claims = claims(text.as_str());
            Box::new(Summary { text, claims })
        });
        let command = Command::TakeSummary { frame, summary };
        self.engine.commands().run(actor, &command)
    }
}
