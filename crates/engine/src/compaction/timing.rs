//! When a compaction would do the least harm: at the end of a frame, once the prompt is large.

use flamestack_core::id::SessionRef;

use crate::Engine;
use crate::error::EngineError;
use crate::views::grouped;

/// How full a session's prompt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    /// Tokens of the last model call, prompt and answer, by the host's account.
    pub used: u64,
    /// What a prompt may have, where the host says so.
    pub usable: Option<u64>,
    /// From how many tokens on a frame's end is a good place to compact.
    pub soft: Option<u64>,
}

impl Fill {
    /// Whether the prompt is large enough to be worth a compaction.
    pub fn is_large(self) -> bool {
        self.soft.is_some_and(|soft| self.used >= soft)
    }

    /// In words.
    pub fn plain(self) -> String {
        let Some(usable) = self.usable else {
            return format!("{} tokens used", grouped(self.used));
        };
        let percent = self.used.saturating_mul(100) / usable.max(1);
        let mut text = format!(
            "{} of {} usable tokens used ({percent} %)",
            grouped(self.used),
            grouped(usable)
        );
        if let Some(soft) = self.soft {
            text.push_str(&format!("; soft threshold {}", grouped(soft)));
        }
        text
    }
}

impl Engine {
    /// How full the prompt of a session is; nothing, if no call of it was seen.
    pub fn fill(&self, session: &SessionRef) -> Result<Option<Fill>, EngineError> {
        let (used, usable) = self.read(|reading| {
            let usable = reading.model(session)?.and_then(|model| model.window);
            Ok((reading.conversation(session)?.size, usable))
        })?;
        let percent = self.context_preferences().soft_threshold;
        let soft = usable.filter(|_| percent > 0);
        let soft = soft.map(|usable| usable.saturating_mul(percent) / 100);
        Ok((used > 0).then_some(Fill { used, usable, soft }))
    }
}
