//! Frames that wait for a summary: it comes, or what is kept of the work stands for it.

use std::time::Duration;

use flamestack_core::command::{Actor, Command};
use flamestack_core::compaction::{says_nothing, without_restored};
use flamestack_core::frame::Awaiting;
use flamestack_core::id::{FrameId, SessionRef, Timestamp};
use flamestack_core::text::Prose;

use crate::engine::{Engine, Receipt};
use crate::error::EngineError;
use crate::request::Request;
use crate::resume::RESULT_TOKENS;

impl Engine {
    /// The frames that wait for a summary of a session.
    pub fn awaiting(&self, session: &SessionRef) -> Result<Vec<(FrameId, Awaiting)>, EngineError> {
        self.read(|reading| Ok(reading.awaiting(session)?))
    }

    /// Gives a summary to the frames of a session that wait for it. Without one, what is kept of
    /// their work stands for it.
    pub(super) fn give_summary(
        &self,
        actor: &Actor,
        summary: Option<&str>,
    ) -> Result<(), EngineError> {
        for (frame, _) in self.awaiting(&actor.session)? {
            self.end_wait(actor, frame, summary)?;
        }
        Ok(())
    }

    /// A summary of a session was found that was made while nobody listened: the frames that have
    /// waited since before it have it now. Answers how many did.
    pub fn found_summary(
        &self,
        actor: &Actor,
        summary: &str,
        at: Timestamp,
    ) -> Result<usize, EngineError> {
        let plain = without_restored(summary);
        let mut waiting = self.awaiting(&actor.session)?;
        waiting.retain(|(_, awaiting)| awaiting.since <= at);
        let count = waiting.len();
        let usable = Some(plain.as_str()).filter(|plain| !says_nothing(plain));
        for (frame, _) in waiting {
            self.end_wait(actor, frame, usable)?;
        }
        Ok(count)
    }

    /// Ends the wait of frames that have waited for longer than `patience`: no summary came.
    pub fn give_up_waiting(
        &self,
        actor: &Actor,
        patience: Duration,
    ) -> Result<Vec<Receipt>, EngineError> {
        let now = self.clock().now();
        let patience = i64::try_from(patience.as_millis()).unwrap_or(i64::MAX);
        let mut waiting = self.awaiting(&actor.session)?;
        waiting.retain(|(_, awaiting)| now.0.saturating_sub(awaiting.since.0) >= patience);
        let mut receipts = Vec::new();
        for (frame, _) in waiting {
            tracing::info!(session = %actor.session, %frame, "No summary came; what is kept of the frame stands for it");
            receipts.push(self.end_wait(actor, frame, None)?);
        }
        Ok(receipts)
    }

    fn end_wait(
        &self,
        actor: &Actor,
        frame: FrameId,
        summary: Option<&str>,
    ) -> Result<Receipt, EngineError> {
        let text = if let Some(summary) = summary {
            Some(summary.to_owned())
        } else {
            // What was said last still waits for its turn to end.
            if let Err(error) = self.keep_pending(actor) {
                tracing::warn!("raw text not kept: {error}");
            }
            self.derived_result(&frame, RESULT_TOKENS)?
        };
        let text = text.and_then(|text| Prose::new(&text).ok());
        let command = Command::TakeSummary { frame, text };
        self.execute(actor, &Request::Ready(command))
    }
}
