//! A session around a compaction or a long pause: instructions for the summariser, what its summary
//! lost, and the status of the workflow when the user comes back.

use flamestack_brief::compaction::{has_restored, without_restored};
use flamestack_core::id::Timestamp;
use flamestack_core::transcript::EntryKind;
use flamestack_engine::EngineError;
use flamestack_engine::brief::BriefRequest;
use flamestack_engine::folding::FoldPolicy;

use super::session::ServedSession;
use super::wire::{HostMessage, SummarizeResult, SummaryReplacement, SummaryText, TextReplacement};
use crate::opencode::message::HostPart;

/// The progress of a session's compactions.
pub(super) struct CompactionProgress {
    /// True if the host itself asked for the newest summary.
    is_automatic: bool,
    /// The newest summary and its message, until it has replaced the history.
    summary: Option<(String, String)>,
    /// The newest summary in full with its time, for frames that wait for one.
    unclaimed: Option<(String, Timestamp)>,
    /// True if a frame may wait for a summary.
    is_awaited: bool,
    /// True if compactions follow each other without any work in between; nothing is added then.
    pub(super) is_looping: bool,
    advice: Advice,
}

impl Default for CompactionProgress {
    fn default() -> Self {
        Self {
            is_automatic: false,
            summary: None,
            unclaimed: None,
            // Another process may have left a frame waiting.
            is_awaited: true,
            is_looping: false,
            advice: Advice::default(),
        }
    }
}

/// The progress of the advice to compact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Advice {
    /// The prompt was not large when a frame last ended.
    #[default]
    NotNeeded,
    /// It was large; folding that frame may be enough.
    Folding,
    /// The advice was given.
    Given,
}

impl CompactionProgress {
    /// Handles a request for a summary, and a summary.
    pub(super) fn see(&mut self, message: &HostMessage) {
        for part in &message.parts {
            match part {
                HostPart::Compaction { automatic } => self.is_automatic = *automatic,
                HostPart::Text { text, .. } if message.is_summary => {
                    // The restored part is recorded already.
                    self.summary = Some((message.id.clone(), without_restored(text)));
                    if let Some(at) = message.at {
                        self.unclaimed = Some((text.clone(), Timestamp(at)));
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns the entry for a summary that has replaced the history, with its message.
    pub(super) fn replaced(&mut self) -> (Option<String>, EntryKind) {
        let (message, summary) = self.summary.take().unzip();
        let compacted = EntryKind::Compacted {
            automatic: self.is_automatic,
            summary,
            tokens_before: None,
        };
        (message, compacted)
    }

    pub(super) fn forget_advice(&mut self) {
        self.advice = Advice::default();
    }
}

impl ServedSession<'_> {
    /// Returns the instructions for a summary that the host is about to make.
    pub(super) fn summarize(&mut self) -> Result<SummarizeResult, EngineError> {
        self.record()?;
        // A summary that a frame waits for was asked for, even if the host calls it automatic.
        if self.is_awaited()? {
            self.compaction.is_automatic = false;
        }
        let before = self.engine.compactions().before_summary(
            &self.actor(None),
            self.compaction.is_automatic,
            &self.brief_request(self.sidecar.brief_budget),
            &self.sidecar.workflows,
        )?;
        Ok(SummarizeResult {
            instructions: before.text.into_iter().collect(),
            notice: before.notice,
        })
    }

    /// Checks a summary that the model has written.
    pub(super) fn summarized(
        &mut self,
        summary: &SummaryText,
    ) -> Result<SummaryReplacement, EngineError> {
        self.record()?;
        let after = self.engine.compactions().after_summary(
            &self.actor(Some(&summary.message)),
            &summary.text,
            self.sidecar.summaries,
            &self.brief_request(self.sidecar.restore_budget),
            &self.sidecar.workflows,
        )?;
        Ok(SummaryReplacement {
            text: after.text,
            notice: after.notice,
        })
    }

    /// Returns true if the host should summarise the session after this call, because a frame waits
    /// for that.
    pub(super) fn wants_summary(&mut self, tool: &str) -> bool {
        if !matches!(tool, "stack_frame_pop" | "stack_frame_summarize") {
            return false;
        }
        self.compaction.is_awaited = self.is_awaited().unwrap_or_default();
        self.compaction.is_awaited
    }

    /// Returns true if a frame waits for a summary.
    fn is_awaited(&self) -> Result<bool, EngineError> {
        let waiting = self.engine.compactions().awaiting(&self.session)?;
        Ok(!waiting.is_empty())
    }

    /// Ends the wait for summaries that were made while no plugin was running, or that do not come.
    pub(super) fn end_waiting(&mut self) -> Result<(), EngineError> {
        let unclaimed = self.compaction.unclaimed.take();
        if !self.compaction.is_awaited {
            return Ok(());
        }
        let actor = self.actor(None);
        let compactions = self.engine.compactions();
        if let Some((summary, at)) = unclaimed {
            compactions.found_summary(&actor, &summary, at)?;
        }
        compactions.give_up_waiting(&actor, self.sidecar.patience)?;
        self.compaction.is_awaited = self.is_awaited()?;
        Ok(())
    }

    /// Returns the advice to compact, if a frame has ended and the prompt is large; once between two
    /// compactions. Folding comes first: if the prompt was not large when the last frame ended,
    /// dropping the messages of this one may be enough.
    pub(super) fn advice(&mut self, tool: &str) -> Option<String> {
        if tool != "stack_frame_pop" || self.compaction.advice == Advice::Given {
            return None;
        }
        let fill = self.engine.compactions().fill(&self.session).ok()??;
        if !fill.is_large() {
            self.compaction.advice = Advice::NotNeeded;
            return None;
        }
        if self.compaction.advice == Advice::NotNeeded && self.sidecar.fold != FoldPolicy::Off {
            self.compaction.advice = Advice::Folding;
            return None;
        }
        self.compaction.advice = Advice::Given;
        Some(format!(
            "\nprompt: {}; a good place to compact",
            fill.plain()
        ))
    }

    /// Returns the status of the workflow, for a session that is resumed.
    pub(super) fn resume_brief(&self) -> Result<Option<String>, EngineError> {
        let request = self.brief_request(self.sidecar.restore_budget);
        let compactions = self.engine.compactions();
        compactions.after_pause(&request, &self.sidecar.workflows)
    }

    fn brief_request(&self, budget: usize) -> BriefRequest {
        BriefRequest {
            session: Some(self.session.clone()),
            todos: self.facts.todos.clone(),
            mode: self.facts.mode,
            budget,
        }
    }
}

/// Returns the texts that earlier compactions were restored in, without the restored parts: a
/// summary is not made of those.
pub(super) fn without_restored_texts(messages: &[HostMessage]) -> Vec<TextReplacement> {
    let parts = messages.iter().flat_map(|message| &message.parts);
    parts
        .filter_map(|part| match part {
            HostPart::Text { id, text, .. } if has_restored(text) => Some(TextReplacement {
                part: id.clone(),
                text: without_restored(text),
            }),
            _ => None,
        })
        .collect()
}
