//! A session that its host made as a copy of another one.
//!
//! The host says that it is one before anything happens in it, and its messages are known with its
//! first request to the model. Nothing is recorded until then: what the copied messages hold
//! happened in the original, and only the two lists side by side tell which messages are copies.

use flamestack_core::id::SessionRef;
use flamestack_engine::EngineError;

use super::session::ServedSession;
use super::wire::{HostMessage, OriginalMessage};

/// The beginning of a session.
#[derive(Default)]
pub(super) enum Origin {
    /// No request to the model was seen yet.
    #[default]
    Unknown,
    /// No request yet; the session is a fork.
    Fork {
        from: SessionRef,
        /// The messages of the original, once the shim has sent them.
        messages: Vec<OriginalMessage>,
    },
    /// A request was seen.
    Begun,
}

impl Origin {
    /// Returns true for a fork without a request to the model.
    pub(super) fn is_pending_fork(&self) -> bool {
        matches!(self, Self::Fork { .. })
    }
}

impl ServedSession<'_> {
    /// Records that the session is a copy of another one.
    pub(super) fn start_fork(&mut self, from: &SessionRef) -> Result<(), EngineError> {
        if !matches!(self.origin, Origin::Unknown) {
            return Ok(());
        }
        let known = self.engine.session(&self.session)?;
        // Otherwise another process has seen it begin.
        if known.is_none_or(|known| known.own.is_none() && known.active.is_none()) {
            self.origin = Origin::Fork {
                from: from.clone(),
                messages: Vec::new(),
            };
        }
        Ok(())
    }

    /// Takes the messages of the original.
    pub(super) fn copied(
        &mut self,
        from: &str,
        originals: &[OriginalMessage],
    ) -> Result<(), EngineError> {
        let Some(from) = self.session.beside(from) else {
            return Ok(());
        };
        self.start_fork(&from)?;
        if let Origin::Fork {
            from: known,
            messages,
        } = &mut self.origin
            && *known == from
        {
            *messages = originals.to_vec();
        }
        Ok(())
    }

    /// Begins the session with its first request to the model; a fork begins with the frames that
    /// were open in its original.
    pub(super) fn begin(&mut self, messages: &[HostMessage]) -> Result<(), EngineError> {
        if let Origin::Fork {
            from,
            messages: originals,
        } = &self.origin
        {
            let (pairs, later) = side_by_side(originals, messages);
            let actor = self.actor(None);
            self.engine.fork(&actor, from, pairs, later)?;
        }
        self.origin = Origin::Begun;
        Ok(())
    }
}

/// Returns each original with its copy, and the originals after the last one that was copied. A copy
/// has another id and the same time as its original.
fn side_by_side(
    originals: &[OriginalMessage],
    messages: &[HostMessage],
) -> (Vec<(String, String)>, Vec<String>) {
    let mut pairs = Vec::new();
    let mut rest = originals;
    for message in messages {
        let same = |one: &OriginalMessage| one.role == message.role && Some(one.at) == message.at;
        let Some(place) = rest.iter().position(same) else {
            continue;
        };
        let (passed, after) = rest.split_at(place + 1);
        let original = passed.last().map(|one| one.id.clone());
        pairs.extend(original.map(|id| (id, message.id.clone())));
        rest = after;
    }
    (pairs, rest.iter().map(|one| one.id.clone()).collect())
}

#[cfg(test)]
mod tests {
    use super::super::wire::HostRole;
    use super::*;

    fn original(id: &str, role: HostRole, at: i64) -> OriginalMessage {
        OriginalMessage {
            id: id.to_owned(),
            role,
            at,
        }
    }

    fn copy(id: &str, role: &str, at: i64) -> HostMessage {
        let message =
            serde_json::json!({ "id": id, "role": role, "time": { "created": at }, "parts": [] });
        serde_json::from_value(message).unwrap()
    }

    #[test]
    fn copies_are_known_by_when_they_began() {
        let of = [
            original("summarised", HostRole::User, 1),
            original("a", HostRole::User, 5),
            original("b", HostRole::Assistant, 6),
            original("c", HostRole::Assistant, 6),
            original("taken out since", HostRole::User, 7),
            original("d", HostRole::User, 8),
            original("later", HostRole::User, 9),
        ];
        let messages = [
            copy("A", "user", 5),
            copy("B", "assistant", 6),
            copy("C", "assistant", 6),
            copy("D", "user", 8),
            copy("new", "user", 20),
        ];
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        let pairs = vec![
            pair("a", "A"),
            pair("b", "B"),
            pair("c", "C"),
            pair("d", "D"),
        ];
        assert_eq!(
            side_by_side(&of, &messages),
            (pairs, vec!["later".to_owned()])
        );
    }
}
