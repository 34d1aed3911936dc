//! How contexts are made here, from the settings.

use flamestack_core::context::{Budget, Guidance, Settings as Assembly, Surroundings};
use flamestack_core::tokens::{Estimate, Tokenizer};

use super::Wanted;
use crate::error::EngineError;
use crate::settings::{Origin, Settings};

/// How contexts are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preferences {
    /// What the core is told.
    pub assembly: Assembly,
    /// Whether somebody set the total, so that no model's window changes it.
    pub total_is_set: bool,
    /// The tokenizer's name.
    pub tokenizer: String,
    /// The most of a model's usable window that a context takes, in thousandths.
    pub window_share: usize,
    /// From which part of the usable window on a prompt counts as large, in percent; 0 for never.
    pub soft_threshold: u64,
    /// Whether a subagent is told what its parent works on.
    pub parents_for_subagents: bool,
    /// Whether a context has what subagents came to.
    pub subagents_results: bool,
}

impl Default for Preferences {
    fn default() -> Self {
        Self {
            assembly: Assembly::default(),
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
    /// What the settings say.
    pub fn from_settings(settings: &Settings) -> Result<Self, EngineError> {
        let number = |name: &str| settings.number(&format!("context.{name}"));
        let size = |name: &str| -> Result<usize, EngineError> {
            Ok(usize::try_from(number(name)?).unwrap_or(usize::MAX))
        };
        let limit = |name: &str| Ok::<_, EngineError>(Some(size(name)?).filter(|most| *most > 0));
        let budget = Budget::new(size("budget.total")?)?
            .with_ancestors(size("budget.ancestors")?)
            .with_siblings(size("budget.siblings")?)
            .with_current(size("budget.current")?)
            .with_overhead(size("budget.overhead")?);
        let guidance = match settings.get("context.guidance")?.text.trim() {
            "off" => Guidance::Off,
            "full" => Guidance::Full,
            _ => Guidance::Brief,
        };
        Ok(Self {
            assembly: Assembly {
                budget,
                guidance,
                max_ancestors: limit("max_ancestors")?,
                max_siblings: limit("max_siblings")?,
                minimum_relevance: i64::try_from(number("minimum_relevance")?).unwrap_or(i64::MAX),
                ..Assembly::default()
            },
            total_is_set: settings.get("context.budget.total")?.origin != Origin::BuiltIn,
            tokenizer: settings.get("context.tokenizer")?.text.trim().to_owned(),
            window_share: size("window_share")?,
            soft_threshold: settings.number("compaction.soft_threshold")?,
            parents_for_subagents: settings.switch("subagents.inject_parent_context")?,
            subagents_results: settings.switch("subagents.propagate_summaries")?,
        })
    }

    /// What of a frame's surroundings is told here.
    pub(crate) fn told(&self, mut around: Surroundings) -> Surroundings {
        if !self.parents_for_subagents {
            around = around.within_its_subagent();
        }
        if !self.subagents_results {
            around = around.without_subagents_results();
        }
        around
    }

    /// What the core is told when something else is wanted. A total below the smallest is refused.
    pub(super) fn settings(&self, wanted: &Wanted) -> Result<Assembly, EngineError> {
        let mut assembly = self.assembly.clone();
        let set = assembly.budget;
        if let Some(total) = wanted.budget {
            assembly.budget = Budget::new(total)?
                .with_ancestors(set.ancestors())
                .with_siblings(set.siblings())
                .with_current(set.current())
                .with_overhead(set.overhead());
        }
        // Who names a total means it.
        let is_named = self.total_is_set || wanted.budget.is_some();
        if let Some(usable) = wanted.usable_window.filter(|_| !is_named) {
            assembly.budget = assembly.budget.within_window(usable, self.window_share);
        }
        Ok(assembly)
    }

    /// What counts tokens. It loads its tables with the first count, not here.
    pub fn tokenizer(&self) -> Box<dyn Tokenizer + Send + Sync> {
        flamestack_tokens::by_name(&self.tokenizer).unwrap_or_else(|| Box::new(Estimate))
    }
}
