//! Fill level of a prompt: once it is large, the end of a frame is the best place to compact.

use flamestack_core::SessionRef;

use super::Compactions;
use crate::error::Result;
use crate::views::grouped;

/// Fill level of a session's prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    /// Tokens of the last model call, prompt and answer, as reported by the host.
    pub used: u64,
    /// Number of tokens that a prompt may have, if the host reports it.
    pub usable: Option<u64>,
    /// Number of tokens from which the end of a frame is a good place to compact.
    pub soft: Option<u64>,
}

impl Fill {
    /// Returns true if the prompt is large enough to be worth a compaction.
    pub fn is_large(self) -> bool {
        self.soft.is_some_and(|soft| self.used >= soft)
    }

    /// Renders the fill level in one line.
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

impl Compactions<'_> {
    /// Returns the fill level of a session's prompt; `None` if no call of it was seen.
    pub fn fill(&self, session: &SessionRef) -> Result<Option<Fill>> {
        let known = self.engine.session(session)?;
        let Some(known) = known.filter(|known| known.activity.size > 0) else {
            return Ok(None);
        };
        let usable = known.window();
        let percent = self.engine.preferences.soft_threshold;
        let soft = usable.filter(|_| percent > 0);
        let soft = soft.map(|usable| usable.saturating_mul(percent) / 100);
        Ok(Some(Fill {
            used: known.activity.size,
            usable,
            soft,
        }))
    }
}
