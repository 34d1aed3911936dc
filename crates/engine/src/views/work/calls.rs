//! Model calls, each with the frame that it was charged to.

use flamestack_core::id::{Seq, SessionRef};
use flamestack_core::transcript::Usage;
use flamestack_core::{Event, FrameId};
use flamestack_store::Reading;

use super::ledger::{Ledger, SessionTally};
use super::{STEP, Work};
use crate::error::Result;

/// A model call.
#[derive(Clone, Debug)]
pub struct ChargedCall<'e> {
    /// The event that recorded it.
    pub seq: i64,
    /// Time of the session's event before it, in milliseconds.
    pub begun: i64,
    /// Time of its end.
    pub at: i64,
    /// The session.
    pub session: &'e SessionRef,
    /// The frame that it was charged to.
    pub frame: Option<FrameId>,
    /// Its cost.
    pub usage: &'e Usage,
}

impl Work {
    /// Visits all model calls of a project, oldest first.
    pub fn each_call(reading: &dyn Reading, each: &mut dyn FnMut(&ChargedCall<'_>)) -> Result<()> {
        let mut ledger = Ledger::default();
        loop {
            let events = reading.events_after(ledger.position(), STEP)?;
            for recorded in &events {
                if let Event::SessionSpent { session, usage } = &recorded.event {
                    let known = ledger.session_named(session).map(|(_, known)| known);
                    let Seq(seq) = recorded.seq;
                    each(&ChargedCall {
                        seq,
                        begun: known.map_or(recorded.at.0, |known| known.last.0),
                        at: recorded.at.0,
                        session,
                        frame: known.and_then(SessionTally::frame),
                        usage,
                    });
                }
                ledger.apply(recorded);
            }
            if events.len() < STEP {
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
