//! Before and after a host summarises a session, and after a long pause.
//!
//! Before: the recorded state goes to the summariser. After: what the summary and the session's
//! next header do not say is found, and put behind the summary. After a pause the conversation is
//! whole, but the files of a workflow may have moved on without it.

use flamestack_core::brief::Brief;
use flamestack_core::compaction::{
    Restored, instructions, resumption, says_nothing, with_restored, without_restored,
};
use flamestack_core::context::SMALLEST_TOTAL;
use flamestack_core::id::SessionRef;

use crate::Engine;
use crate::brief::{Asked, Workflows};
use crate::context::{Wanted, Whose};
use crate::error::EngineError;

/// A brief that would get less than this is not worth its tags.
const LEAST: usize = 64;
/// What the tags around a brief take.
const TAGS: usize = 24;

impl Engine {
    /// What the summariser of a session is told besides the host's own instructions; nothing, if
    /// nothing is recorded that would help it.
    pub fn before_summary(
        &self,
        asked: &Asked,
        workflows: &Workflows,
    ) -> Result<Option<String>, EngineError> {
        let brief = self.brief(asked, workflows)?;
        Ok(brief
            .has_something_to_tell()
            .then(|| instructions(&brief.text)))
    }

    /// A host's summary with what it lost behind it; nothing, if it lost nothing. At most
    /// `asked.budget` tokens are added.
    pub fn after_summary(
        &self,
        session: &SessionRef,
        summary: &str,
        asked: &Asked,
        workflows: &Workflows,
    ) -> Result<Option<String>, EngineError> {
        let plain = without_restored(summary);
        let alone = says_nothing(&plain);
        let header = self.context(&Whose::Session(session.clone()), &Wanted::default())?;
        let header = header
            .map(|context| context.text.clone())
            .unwrap_or_default();
        let seen = format!("{plain}\n{header}");
        let brief = self.brief(asked, workflows)?;
        let lost = brief.lost_in(&seen).len();
        let text = self.missing(session, &brief, lost, &seen, asked.budget)?;
        let (count, own) = self.read(|reading| {
            let compactions = reading.conversation(session)?.compactions;
            let known = reading.session(session)?;
            Ok((compactions + 1, known.and_then(|known| known.own)))
        })?;
        if text.trim().is_empty() {
            return Ok((plain != summary).then_some(plain));
        }
        tracing::info!(session = %session, lost, "Compaction: what the summary lost is restored");
        let restored = Restored {
            count,
            alone,
            lost,
            log: own.as_ref().map(flamestack_core::FrameId::as_str),
            text: &text,
        };
        let kept = if alone { "" } else { plain.as_str() };
        Ok(Some(with_restored(kept, &restored)))
    }

    /// Where a workflow stands, for a session that is taken up again after a pause; nothing, if none
    /// is going on. At most `asked.budget` tokens, tags included.
    pub fn after_pause(
        &self,
        asked: &Asked,
        workflows: &Workflows,
    ) -> Result<Option<String>, EngineError> {
        let asked = Asked {
            budget: asked.budget.saturating_sub(TAGS).max(SMALLEST_TOTAL),
            ..asked.clone()
        };
        let brief = self.brief(&asked, workflows)?;
        Ok(brief.standing.is_some().then(|| resumption(&brief.text)))
    }

    /// What neither the summary nor the header says: the brief where it has anchors that were lost,
    /// then what else of the conversation is likely to be needed.
    fn missing(
        &self,
        session: &SessionRef,
        brief: &Brief,
        lost: usize,
        seen: &str,
        budget: usize,
    ) -> Result<String, EngineError> {
        let mut text = String::new();
        let mut left = budget;
        if lost > 0 {
            text.clone_from(&brief.text);
            left = left.saturating_sub(brief.tokens);
        }
        if left >= LEAST {
            let already = format!("{seen}\n{text}");
            if let Some(rest) = self.resume_brief(session, left, &already)? {
                if !text.is_empty() {
                    text.push_str("\n\n");
                }
                text.push_str(&rest);
            }
        }
        Ok(text)
    }
}
