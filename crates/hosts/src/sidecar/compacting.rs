//! A conversation around a compaction or a long pause: what its summariser is told, what is put back,
//! and where a workflow stands when somebody comes back to it.

use flamestack_core::compaction::{has_restored, without_restored};
use flamestack_core::transcript::Todo;
use flamestack_engine::EngineError;
use flamestack_engine::brief::Asked;

use super::Sidecar;
use super::conversation::Conversation;
use super::wire::{Instructions, Message, Part, Rewriting, Rewritten, Written};
use crate::transcript::tools;

impl Conversation {
    /// The host is about to have the conversation summarised.
    pub(super) fn summarizing(&mut self, sidecar: &Sidecar) -> Result<Instructions, EngineError> {
        self.record(sidecar)?;
        let asked = self.asked(sidecar.brief_budget);
        let told = sidecar.engine.before_summary(&asked, &sidecar.workflows)?;
        Ok(Instructions {
            instructions: told.into_iter().collect(),
        })
    }

    /// The model has written a text; only a summary is of interest.
    pub(super) fn written(
        &mut self,
        sidecar: &Sidecar,
        written: &Written,
    ) -> Result<Rewritten, EngineError> {
        if !written.summary {
            return Ok(Rewritten::default());
        }
        self.record(sidecar)?;
        let asked = self.asked(sidecar.restore_budget);
        let text = sidecar.engine.after_summary(
            &self.session,
            &written.text,
            &asked,
            &sidecar.workflows,
        )?;
        Ok(Rewritten { text })
    }

    /// Where the workflow stands, for a conversation that is taken up again.
    pub(super) fn resuming(&self, sidecar: &Sidecar) -> Result<Option<String>, EngineError> {
        let asked = self.asked(sidecar.restore_budget);
        sidecar.engine.after_pause(&asked, &sidecar.workflows)
    }

    fn asked(&self, budget: usize) -> Asked {
        let todos = self.todos.iter().map(|item| Todo {
            text: item.text.clone(),
            status: tools::status(&item.status),
        });
        Asked {
            session: Some(self.session.clone()),
            todos: todos.collect(),
            mode: self.mode,
            budget,
        }
    }
}

/// Texts without what was put behind earlier summaries: a summary is not made of that.
pub(super) fn rewritten(messages: &[Message]) -> Vec<Rewriting> {
    let parts = messages.iter().flat_map(|message| &message.parts);
    parts
        .filter_map(|part| match part {
            Part::Text { id, text, .. } if has_restored(text) => Some(Rewriting {
                part: id.clone(),
                text: without_restored(text),
            }),
            _ => None,
        })
        .collect()
}
