//! Model calls, each with the frame that it was charged to.

use flamestack_core::id::{Seq, SessionRef};
use flamestack_core::transcript::Usage;
use flamestack_core::{Event, FrameId, Recorded};
use flamestack_store::Reading;

use super::ledger::Ledger;
use super::{STEP, Work};
use crate::error::Result;

/// A model call.
#[derive(Clone, Debug)]
pub struct ChargedCall {
    /// The event that recorded it.
    pub seq: i64,
    /// Time of the session's event before it, in milliseconds.
    pub begun: i64,
    /// Time of its end.
    pub at: i64,
    /// The session.
    pub session: SessionRef,
    /// The frame that it was charged to.
    pub frame: Option<FrameId>,
    /// Its cost.
    pub usage: Usage,
}

impl ChargedCall {
    /// Returns the call that an event recorded, if it did; the ledger is that of the events before it.
    fn of(ledger: &Ledger, recorded: &Recorded) -> Option<Self> {
        let Event::SessionSpent { session, usage } = &recorded.event else {
            return None;
        };
        let known = ledger.session_named(session).map(|(_, known)| known);
        let message = recorded.message.as_deref();
        let Seq(seq) = recorded.seq;
        Some(Self {
            seq,
            begun: known.map_or(recorded.at.0, |known| known.last.0),
            at: recorded.at.0,
            session: session.clone(),
            frame: known.and_then(|known| known.frame_of_call(message)),
            usage: usage.clone(),
        })
    }
}

impl Work {
    /// Reads everything that is new, and visits the model calls in it, oldest first.
    pub fn catch_up_with_calls(
        &mut self,
        reading: &dyn Reading,
        each: &mut dyn FnMut(ChargedCall),
    ) -> Result<()> {
        loop {
            let events = reading.events_after(self.ledger.position(), STEP)?;
            for recorded in &events {
                if let Some(call) = ChargedCall::of(&self.ledger, recorded) {
                    each(call);
                }
                self.ledger.apply(recorded, true);
            }
            if events.is_empty() {
                // Brings the tree up to date.
                self.catch_up(reading)?;
                return Ok(());
            }
        }
    }

    /// Returns the frame that is bound to a session, or the one that it works on.
    pub fn frame_of(&self, session: &SessionRef) -> Option<FrameId> {
        let (_, known) = self.ledger.session_named(session)?;
        known.own.or(known.active)
    }
}
