//! A conversation that its host made as a copy of another one.
//!
//! It is known to be one before it says anything, and its messages are known with its first request
//! to the model. Until then nothing of it is recorded: what the copied messages hold happened
//! elsewhere, and which of them are copies only the two lists side by side tell.

use flamestack_core::id::SessionRef;
use flamestack_engine::EngineError;

use super::Sidecar;
use super::conversation::Conversation;
use super::wire::{Message, Original};

/// How a conversation begins.
#[derive(Default)]
pub(super) enum Beginning {
    /// The model was not asked anything yet.
    #[default]
    Ahead,
    /// Nor was it here, and the conversation is a copy of another one.
    Copy {
        from: SessionRef,
        /// That one's messages, once the shim has told them.
        of: Vec<Original>,
    },
    /// It has begun.
    Past,
}

impl Beginning {
    /// Whether it is a copy that has not begun.
    pub(super) fn is_copy(&self) -> bool {
        matches!(self, Self::Copy { .. })
    }
}

impl Conversation {
    /// The host says that this is a copy of another conversation.
    pub(super) fn is_copy_of(
        &mut self,
        sidecar: &Sidecar,
        from: &SessionRef,
    ) -> Result<(), EngineError> {
        if !matches!(self.beginning, Beginning::Ahead) {
            return Ok(());
        }
        let known = sidecar
            .engine
            .read(|reading| Ok(reading.session(&self.session)?))?;
        // Another process has seen it begin.
        if known.is_none_or(|known| known.own.is_none() && known.active.is_none()) {
            self.beginning = Beginning::Copy {
                from: from.clone(),
                of: Vec::new(),
            };
        }
        Ok(())
    }

    /// The messages of the conversation that this is a copy of.
    pub(super) fn copied(
        &mut self,
        sidecar: &Sidecar,
        from: &str,
        messages: &[Original],
    ) -> Result<(), EngineError> {
        let Some(from) = self.session.beside(from) else {
            return Ok(());
        };
        self.is_copy_of(sidecar, &from)?;
        if let Beginning::Copy { from: known, of } = &mut self.beginning
            && *known == from
        {
            *of = messages.to_vec();
        }
        Ok(())
    }

    /// The first request to the model: the conversation begins here, with what was open in the one
    /// that it is a copy of.
    pub(super) fn begin(
        &mut self,
        sidecar: &Sidecar,
        messages: &[Message],
    ) -> Result<(), EngineError> {
        if let Beginning::Copy { from, of } = &self.beginning {
            let (pairs, later) = side_by_side(of, messages);
            let actor = self.actor(sidecar, None);
            sidecar.engine.fork(&actor, from, pairs, later)?;
        }
        self.beginning = Beginning::Past;
        Ok(())
    }
}

/// Which message is a copy of which, and the originals behind the last one that was copied. A copy
/// has another name and began when its original did.
fn side_by_side(of: &[Original], messages: &[Message]) -> (Vec<(String, String)>, Vec<String>) {
    let mut pairs = Vec::new();
    let mut rest = of;
    for message in messages {
        let same = |one: &Original| one.role == message.role && Some(one.at) == message.at;
        let Some(place) = rest.iter().position(same) else {
            continue;
        };
        let (passed, behind) = rest.split_at(place + 1);
        let original = passed.last().map(|one| one.id.clone());
        pairs.extend(original.map(|id| (id, message.id.clone())));
        rest = behind;
    }
    (pairs, rest.iter().map(|one| one.id.clone()).collect())
}

#[cfg(test)]
mod tests {
    use super::super::wire::Role;
    use super::*;

    fn original(id: &str, role: Role, at: i64) -> Original {
        Original {
            id: id.to_owned(),
            role,
            at,
        }
    }

    fn copy(id: &str, role: &str, at: i64) -> Message {
        let message = serde_json::json!({ "id": id, "role": role, "at": at, "parts": [] });
        serde_json::from_value(message).unwrap()
    }

    #[test]
    fn copies_are_known_by_when_they_began() {
        let of = [
            original("summarised", Role::User, 1),
            original("a", Role::User, 5),
            original("b", Role::Assistant, 6),
            original("c", Role::Assistant, 6),
            original("taken out since", Role::User, 7),
            original("d", Role::User, 8),
            original("later", Role::User, 9),
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
