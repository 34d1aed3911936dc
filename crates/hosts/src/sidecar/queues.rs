//! What is still to be handled, by conversation.
//!
//! Conversations are handled beside each other. Where one tells how another came out, what the
//! other said before that has to be recorded first.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use flamestack_core::id::SessionRef;

/// How long one conversation waits for another at most.
const PATIENCE: Duration = Duration::from_millis(150);

/// How many requests of each conversation are not handled yet.
#[derive(Debug, Default)]
pub(super) struct Queues {
    left: Mutex<BTreeMap<SessionRef, usize>>,
    handled: Condvar,
}

impl Queues {
    /// Another request came.
    pub(super) fn came(&self, session: &SessionRef) {
        *self.left().entry(session.clone()).or_default() += 1;
    }

    /// A request was handled.
    pub(super) fn handled(&self, session: &SessionRef) {
        if let Some(left) = self.left().get_mut(session) {
            *left = left.saturating_sub(1);
        }
        self.handled.notify_all();
    }

    /// Whether anything was ever heard of a conversation here.
    pub(super) fn knows(&self, session: &SessionRef) -> bool {
        self.left().contains_key(session)
    }

    /// Waits until all that has come of a conversation is handled, within reason.
    pub(super) fn drained(&self, session: &SessionRef) {
        let waits = |left: &mut BTreeMap<SessionRef, usize>| {
            left.get(session).is_some_and(|left| *left > 0)
        };
        // Whoever waits too long goes on with what is recorded.
        drop(
            self.handled
                .wait_timeout_while(self.left(), PATIENCE, waits),
        );
    }

    fn left(&self) -> MutexGuard<'_, BTreeMap<SessionRef, usize>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
