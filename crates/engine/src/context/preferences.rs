//! Preferences for contexts, from the settings.

use flamestack_context::{Budget, ContextSettings, Guidance, Surroundings};
use flamestack_extract::tokens::{Estimate, Tokenizer};

use super::ContextOptions;
use crate::error::{EngineError, Result};
use crate::settings::{Settings, ValueOrigin};

/// Preferences for contexts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preferences {
    /// Settings of the assembly.
    pub assembly: ContextSettings,
    /// True if the user set the total, so that no model's window changes it.
    pub total_is_set: bool,
    /// Name of the tokenizer.
    pub tokenizer: String,
    /// Maximum share of a model's usable window that a context takes, in thousandths.
    pub window_share: usize,
    /// Share of the usable window from which a prompt counts as large, in percent; 0 for never.
    pub soft_threshold: u64,
    /// True if the context of a subagent shows the work of its parent.
    pub parents_for_subagents: bool,
    /// True if contexts show the results of subagents.
    pub subagents_results: bool,
}

impl Default for Preferences {
    fn default() -> Self {
        Self {
            assembly: ContextSettings::default(),
            total_is_set: false,
            tokenizer: "o200k".to_owned(),
            window_share: 20,
            soft_threshold: 70,
            parents_for_subagents: true,
            subagents_results: true,
        }
    }
}

impl Preferences {
    /// Reads the preferences from the settings.
    pub fn from_settings(settings: &Settings) -> Result<Self> {
        let number = |name: &str| settings.number(&format!("context.{name}"));
        let size = |name: &str| -> Result<usize> {
            Ok(usize::try_from(number(name)?).unwrap_or(usize::MAX))
        };
        let limit = |name: &str| Ok::<_, EngineError>(Some(size(name)?).filter(|most| *most > 0));
        let mut budget = Budget::new(size("budget.total")?)?;
        budget.ancestors = size("budget.ancestors")?;
        budget.siblings = size("budget.siblings")?;
        budget.current = size("budget.current")?;
        budget.overhead = size("budget.overhead")?;
        let guidance = settings.get("context.guidance")?.text.trim();
        let guidance = Guidance::from_name(guidance).unwrap_or_default();
        Ok(Self {
            assembly: ContextSettings {
                budget,
                guidance,
                max_ancestors: limit("max_ancestors")?,
                max_siblings: limit("max_siblings")?,
                minimum_relevance: i64::try_from(number("minimum_relevance")?).unwrap_or(i64::MAX),
            },
            total_is_set: settings.get("context.budget.total")?.origin != ValueOrigin::BuiltIn,
            tokenizer: settings.get("context.tokenizer")?.text.trim().to_owned(),
            window_share: size("window_share")?,
            soft_threshold: settings.number("compaction.soft_threshold")?,
            parents_for_subagents: settings.switch("subagents.inject_parent_context")?,
            subagents_results: settings.switch("subagents.propagate_summaries")?,
        })
    }

    /// Removes what the preferences exclude from contexts.
    pub(super) fn restrict(&self, mut around: Surroundings) -> Surroundings {
        if !self.parents_for_subagents {
            around = around.within_its_subagent();
        }
        if !self.subagents_results {
            around = around.without_subagents_results();
        }
        around
    }

    /// Returns the settings of one assembly. A budget below the smallest is refused.
    pub(super) fn settings(&self, options: &ContextOptions) -> Result<ContextSettings> {
        let mut assembly = self.assembly.clone();
        if let Some(total) = options.budget {
            assembly.budget = assembly.budget.with_total(total)?;
        }
        // A total that was asked for is not reduced to fit the window.
        let is_explicit = self.total_is_set || options.budget.is_some();
        if let Some(usable) = options.usable_window.filter(|_| !is_explicit) {
            assembly.budget = assembly.budget.within_window(usable, self.window_share);
        }
        Ok(assembly)
    }

    /// Returns the tokenizer, which loads its tables with the first count, not here.
    pub fn tokenizer(&self) -> Box<dyn Tokenizer + Send + Sync> {
        flamestack_tokens::by_name(&self.tokenizer).unwrap_or_else(|| Box::new(Estimate))
    }
}
