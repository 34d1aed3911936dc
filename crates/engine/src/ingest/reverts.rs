//! Sessions that their hosts revert, restore or fork.

use flamestack_core::command::Fork;
use flamestack_core::{Actor, Command, Event, Recorded, SessionRef};

use crate::Engine;
use crate::error::Result;

/// Maximum number of frames that a fork copies from the original session.
const MAX_COPIES: usize = 200;

impl Engine {
    /// Follows a host that reverted a session to before a message, or restored it.
    ///
    /// `messages` begins with that message, followed by the later ones that are known; it is empty
    /// if the session was restored. `earlier` names the messages before it.
    pub fn apply_revert(
        &self,
        actor: &Actor,
        messages: &[String],
        earlier: &[String],
    ) -> Result<Vec<Recorded>> {
        let mut recorded = self.keep_pending(actor)?;
        let pending = self.read(|reading| {
            let session = reading.session(&actor.session)?;
            let reverted = session.and_then(|known| known.reverted);
            Ok(reading.recorded(reverted.as_slice())?)
        })?;
        let pending = pending.into_iter().find_map(|entry| match entry.event {
            Event::SessionReverted { to, .. } => Some(to),
            _ => None,
        });
        if pending.as_ref() == messages.first() {
            return Ok(recorded);
        }
        // To another message: restores everything first, then reverts.
        if pending.is_some() {
            let forward = Command::Unrevert;
            recorded.extend(self.commands().run(actor, &forward)?.events);
        }
        if !messages.is_empty() {
            let (messages, earlier) = (messages.to_vec(), earlier.to_vec());
            let back = Command::Revert { messages, earlier };
            recorded.extend(self.commands().run(actor, &back)?.events);
        }
        if let Some(ingest) = self.ingests().get_mut(&actor.session) {
            ingest.observer.forget_turn(&actor.session);
        }
        Ok(recorded)
    }

    /// Follows a host that forked a session: the fork continues with what was open in the original and
    /// knows what was finished. `messages` pairs the original's messages with those of the fork, and
    /// `later` names the original's messages that the fork does not have.
    pub fn fork(
        &self,
        actor: &Actor,
        from: &SessionRef,
        messages: Vec<(String, String)>,
        later: Vec<String>,
    ) -> Result<Vec<Recorded>> {
        let ids = (0..MAX_COPIES).map(|_| self.clock().draw_id());
        let fork = Fork {
            from: from.clone(),
            messages,
            later,
            ids: ids.collect(),
        };
        let fork = Command::Fork(Box::new(fork));
        Ok(self.commands().run(actor, &fork)?.events)
    }
}
