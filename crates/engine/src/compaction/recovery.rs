//! Decides what a summary lost and what of it to restore, from sources that were read before and
//! without any IO.

use flamestack_brief::compaction::{Restored, SummaryKind, with_restored};
use flamestack_brief::workflow::Workflow;
use flamestack_brief::{Brief, Sources, list_verbatim, split_by_survival};
use flamestack_core::compaction::{Anchor, AnchorReport, Compaction, CompactionKind};
use flamestack_core::transcript::Entry;
use flamestack_core::{Frame, FrameId, Session, Text};
use flamestack_extract::summary::{self, SummaryInput};
use flamestack_extract::tokens::{Tokenizer, prefix};

use super::{CompactionReply, SummaryAuthor};
use crate::summaries::subject;
use crate::views::grouped;

/// Minimum room for the transcript's part of a recovery, in tokens.
const MIN_TRANSCRIPT: usize = 64;
/// Minimum length of a recovery, in tokens.
const MIN_RECOVERY: usize = 256;
/// Maximum share of a model's window that is appended to a summary: one part in this many.
const WINDOW_PARTS: u64 = 20;
/// A prompt that is fuller than this right after a compaction gets only the smallest recovery.
const FULL: (u64, u64) = (6, 10);

/// A session that is compacted.
pub(super) struct CompactedSession {
    pub(super) session: Session,
    /// The compaction that is under way.
    pub(super) checkpoint: Option<Compaction>,
    /// The last compactions, oldest first.
    pub(super) recent: Vec<Compaction>,
}

/// Everything that a recovery depends on, read once.
pub(super) struct CompactionSources<'a> {
    pub(super) author: SummaryAuthor,
    /// The host's summary, without what an earlier recovery appended.
    pub(super) plain: String,
    /// True if the summary has no content.
    pub(super) is_silent: bool,
    /// Maximum number of tokens to restore.
    pub(super) budget: usize,
    pub(super) state: CompactedSession,
    /// The session's own frame.
    pub(super) own: Option<Frame>,
    pub(super) brief: Sources,
    pub(super) workflows: &'a [Workflow],
    /// The context that the session gets in its next header.
    pub(super) header: String,
    pub(super) transcript: Vec<Entry>,
}

/// A planned recovery.
pub(super) struct Recovery {
    pub(super) report: AnchorReport,
    /// The text to restore; may be empty.
    text: String,
}

impl CompactedSession {
    /// Returns true if compactions no longer make room: then nothing is added to the prompt.
    fn is_looping(&self) -> bool {
        let checkpoint = self.checkpoint.as_ref();
        let overflow = checkpoint.is_some_and(|last| last.kind == Some(CompactionKind::Overflow));
        overflow && self.session.activity.compaction_loop.would_loop()
    }

    /// Returns the number of tokens to restore: fewer where the window is small, and the minimum
    /// where the prompt is nearly full even after a compaction.
    pub(super) fn recovery_budget(&self, budget: usize, author: SummaryAuthor) -> usize {
        let wanted = match author {
            SummaryAuthor::Host => budget,
            SummaryAuthor::Own(most) => most,
        };
        let Some(window) = self.session.window() else {
            return wanted;
        };
        let after = self.recent.iter().rev().take(2).find_map(|last| last.after);
        let (part, of) = FULL;
        let full =
            after.is_some_and(|after| after.saturating_mul(of) > window.saturating_mul(part));
        let most = if full || self.is_looping() {
            MIN_RECOVERY
        } else {
            usize::try_from(window / WINDOW_PARTS).unwrap_or(usize::MAX)
        };
        wanted.min(most).max(MIN_RECOVERY)
    }

    /// Returns the notice for a user whose session is compacted again and again.
    pub(super) fn no_room(&self) -> String {
        let smallest = self.recent.iter().filter_map(|last| last.after).min();
        let size = match (smallest, self.session.window()) {
            (Some(size), Some(window)) => format!(
                "right after a compaction the prompt still has {} of {} usable tokens",
                grouped(size),
                grouped(window)
            ),
            (Some(size), None) => format!(
                "right after a compaction the prompt still has {} tokens",
                grouped(size)
            ),
            (None, _) => format!(
                "the prompt had {} tokens when it was last sent",
                grouped(self.session.activity.size)
            ),
        };
        format!(
            "{} compactions in a row made no room: {size}, which is the size of the system prompt, \
             the tools and the newest messages. Flamestack adds nothing until a turn succeeds. A \
             model with a larger window, fewer tools or shorter instructions would help.",
            self.session.activity.compaction_loop.compactions + 1
        )
    }
}

impl CompactionSources<'_> {
    /// Decides which anchors were lost and what to restore.
    pub(super) fn plan(&self, tokenizer: &dyn Tokenizer) -> Recovery {
        let brief = self.compose(self.budget, tokenizer);
        let visible = format!("{}\n{}", self.usable_summary(), self.header);
        // A frame that ended since the checkpoint takes its anchors with it.
        let anchors = match &self.state.checkpoint {
            Some(last) if last.kind != Some(CompactionKind::Completion) => last.anchors.clone(),
            _ => brief.anchors.clone(),
        };
        let (survived, lost) = split_by_survival(anchors, &visible);
        let text = match self.author {
            SummaryAuthor::Host if self.state.is_looping() => String::new(),
            SummaryAuthor::Host => self.recovery_text(&brief, &lost, &visible, tokenizer),
            // The header may be cut, so this text must do without it.
            SummaryAuthor::Own(_) => self.recovery_text(&brief, &brief.anchors, "", tokenizer),
        };
        let summary = Text::new(&self.plain).ok();
        Recovery {
            report: AnchorReport {
                summary: summary.filter(|_| self.author == SummaryAuthor::Host),
                said_nothing: self.is_silent,
                survived,
                lost,
                restored: tokenizer.count(&text) as u64,
            },
            text,
        }
    }

    /// Composes the text to restore from up to four parts: claims of the summary that the record
    /// contradicts; a brief, if it covers lost anchors; lost anchors word for word, as far as the
    /// brief does not contain them; and the state of the work with the passages of the transcript
    /// that are most likely to be needed, in what is left of the budget.
    fn recovery_text(
        &self,
        brief: &Brief,
        lost: &[Anchor],
        visible: &str,
        tokenizer: &dyn Tokenizer,
    ) -> String {
        let mut text = self.contradictions(tokenizer);
        let mut has_state = false;
        if !lost.is_empty() {
            let known = format!("{visible}\n{}", brief.text);
            let words = list_verbatim(lost, &known, self.budget / 2, tokenizer);
            let used = tokenizer.count(&text) + tokenizer.count(&words);
            let left = self.budget.saturating_sub(used + 1);
            has_state = words.is_empty() || left > MIN_RECOVERY;
            if has_state {
                let brief = self.compose(left.max(MIN_RECOVERY), tokenizer);
                text.push_str(brief.text.trim_end());
                text.push('\n');
            }
            text.push_str(&words);
        }
        let left = self.budget.saturating_sub(tokenizer.count(&text));
        if left >= MIN_TRANSCRIPT && !self.transcript.is_empty() {
            let known = format!("{visible}\n{text}");
            let subject = SummaryInput {
                has_state,
                has_summary: summary::is_summary(self.usable_summary()),
                ..subject(self.own.as_ref(), &known)
            };
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(&summary::brief(&self.transcript, &subject, left, tokenizer));
        }
        text
    }

    /// Returns the claims of the host's summary that the record contradicts, as a section.
    fn contradictions(&self, tokenizer: &dyn Tokenizer) -> String {
        let state = self.brief.state.as_ref();
        let claims = state.map(|state| state.contradictions(self.usable_summary()));
        let lines: Vec<String> = claims.into_iter().flatten().collect();
        if lines.is_empty() {
            return String::new();
        }
        let text = format!("## Contradicted by the Record\n- {}\n", lines.join("\n- "));
        prefix(&text, self.budget / 4, &|text| tokenizer.count(text)).to_owned()
    }

    /// Renders the replacement of a host's summary.
    pub(super) fn render(&self, recovery: &Recovery, summary: &str) -> CompactionReply {
        let notice = match self.author {
            _ if self.state.is_looping() => Some(self.state.no_room()),
            SummaryAuthor::Host if self.is_silent => Some(
                "The host's summary has no content; the recorded state of the work replaces it."
                    .to_owned(),
            ),
            _ => None,
        };
        if recovery.text.trim().is_empty() {
            let plain = self.plain.clone();
            return CompactionReply {
                text: (plain != summary).then_some(plain),
                notice,
            };
        }
        let lost = &recovery.report.lost;
        tracing::info!(
            session = %self.state.session.key,
            lost = lost.len(),
            "Compaction: restored what the summary lost"
        );
        let restored = Restored {
            count: self.state.session.activity.compactions + 1,
            summary: match self.author {
                SummaryAuthor::Own(_) => SummaryKind::Replaced,
                SummaryAuthor::Host if self.is_silent => SummaryKind::Empty,
                SummaryAuthor::Host => SummaryKind::Host,
            },
            lost,
            log: self.state.session.own.as_ref().map(FrameId::as_str),
            text: &recovery.text,
        };
        CompactionReply {
            text: Some(with_restored(self.usable_summary(), &restored)),
            notice,
        }
    }

    /// Returns the summary if the session continues with it.
    fn usable_summary(&self) -> &str {
        match self.author {
            SummaryAuthor::Host if !self.is_silent => &self.plain,
            _ => "",
        }
    }

    fn compose(&self, budget: usize, tokenizer: &dyn Tokenizer) -> Brief {
        flamestack_brief::compose(self.workflows, &self.brief, budget, tokenizer)
    }
}
