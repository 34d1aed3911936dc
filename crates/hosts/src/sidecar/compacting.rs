//! A conversation around a compaction or a long pause: what its summariser is told, what is put back,
//! and where a workflow stands when somebody comes back to it.

use flamestack_core::compaction::{has_restored, without_restored};
use flamestack_core::transcript::Todo;
use flamestack_engine::EngineError;
use flamestack_engine::brief::Asked;
use flamestack_engine::folding::FoldPolicy;

use super::Sidecar;
use super::conversation::Conversation;
use super::wire::{Instructions, Message, Part, Rewriting, Rewritten, Written};
use crate::transcript::tools;

/// How far it has come with saying that the prompt is large.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Advice {
    /// It was not, when a frame last ended.
    #[default]
    NotNeeded,
    /// It was; what is folded now may be enough.
    Folding,
    /// It was said.
    Given,
}

impl Conversation {
    /// The host is about to have the conversation summarised.
    pub(super) fn summarizing(&mut self, sidecar: &Sidecar) -> Result<Instructions, EngineError> {
        self.record(sidecar)?;
        // What a frame waits for was asked for, whoever the host says decided.
        if !sidecar.engine.awaiting(&self.session)?.is_empty() {
            self.seen.automatic = false;
        }
        let asked = self.asked(sidecar.brief_budget);
        let told = sidecar.engine.before_summary(
            &self.actor(sidecar, None),
            self.seen.automatic,
            &asked,
            &sidecar.workflows,
        )?;
        Ok(Instructions {
            instructions: told.instructions.into_iter().collect(),
            notice: told.notice,
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
        let rewritten = sidecar.engine.after_summary(
            &self.actor(sidecar, Some(&written.message)),
            &written.text,
            sidecar.summaries,
            &asked,
            &sidecar.workflows,
        )?;
        Ok(Rewritten {
            text: rewritten.text,
            notice: rewritten.notice,
        })
    }

    /// Whether the host is to summarise the conversation after this call: a frame waits for it.
    pub(super) fn has_summary_made(&mut self, sidecar: &Sidecar, tool: &str) -> bool {
        if !matches!(tool, "stack_frame_pop" | "stack_frame_summarize") {
            return false;
        }
        let waiting = sidecar.engine.awaiting(&self.session);
        self.waits = waiting.is_ok_and(|waiting| !waiting.is_empty());
        self.waits
    }

    /// Ends the wait for summaries that were made while nobody listened, or that do not come.
    pub(super) fn end_waiting(&mut self, sidecar: &Sidecar) -> Result<(), EngineError> {
        let found = self.seen.found.take();
        if !self.waits {
            return Ok(());
        }
        let actor = self.actor(sidecar, None);
        if let Some((summary, at)) = found {
            sidecar.engine.found_summary(&actor, &summary, at)?;
        }
        sidecar.engine.give_up_waiting(&actor, sidecar.patience)?;
        self.waits = !sidecar.engine.awaiting(&self.session)?.is_empty();
        Ok(())
    }

    /// A word about compacting, where a frame has ended and the prompt is large; once between two
    /// compactions. Folding comes first: where the prompt was not large at the last end of a frame
    /// yet, leaving this one's messages out may be all it needs.
    pub(super) fn advice(&mut self, sidecar: &Sidecar, tool: &str) -> Option<String> {
        if tool != "stack_frame_pop" || self.advice == Advice::Given {
            return None;
        }
        let fill = sidecar.engine.fill(&self.session).ok()??;
        if !fill.is_large() {
            self.advice = Advice::NotNeeded;
            return None;
        }
        if self.advice == Advice::NotNeeded && sidecar.fold != FoldPolicy::Off {
            self.advice = Advice::Folding;
            return None;
        }
        self.advice = Advice::Given;
        Some(format!(
            "\nprompt: {}; a good place to compact",
            fill.plain()
        ))
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
