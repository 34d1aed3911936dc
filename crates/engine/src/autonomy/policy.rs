//! The user's choices: how much Flamestack does unasked, and on which evidence.

use std::collections::BTreeSet;

use flamestack_core::autonomy::{AdviceKind, AutonomyLevel, Heuristic};

use crate::error::Result;
use crate::settings::Settings;

/// Minimum number of cases for the precision of a heuristic in this project to count.
pub const FEWEST_CASES: u64 = 20;

/// Value of `autonomy.heuristics` for those whose precision was measured to be high enough.
pub const MEASURED: &str = "measured";

/// The settings of autonomy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AutonomyPolicy {
    /// The extent to which Flamestack acts unasked.
    pub level: AutonomyLevel,
    /// Least score of a push that is suggested, in percent.
    pub push_threshold: u8,
    /// Least score of a pop that is suggested, in percent.
    pub pop_threshold: u8,
    /// The heuristics that the user chose; none if it is left to what was measured.
    pub chosen: Option<BTreeSet<Heuristic>>,
    /// Least precision of a heuristic in this project, in percent.
    pub min_precision: u64,
    /// True if suggestions are part of the context.
    pub in_context: bool,
}

impl Default for AutonomyPolicy {
    fn default() -> Self {
        Self {
            level: AutonomyLevel::Suggest,
            push_threshold: 90,
            pop_threshold: 90,
            chosen: None,
            min_precision: 90,
            in_context: false,
        }
    }
}

impl AutonomyPolicy {
    /// Reads the settings.
    pub fn from_settings(settings: &Settings) -> Result<Self> {
        let percent =
            |key: &str| -> Result<u8> { Ok(u8::try_from(settings.number(key)?).unwrap_or(100)) };
        let level = settings.get("autonomy.level")?.text.trim().to_owned();
        let chosen = settings.get("autonomy.heuristics")?.text.trim().to_owned();
        Ok(Self {
            level: AutonomyLevel::from_name(&level).unwrap_or_default(),
            push_threshold: percent("autonomy.push_threshold")?,
            pop_threshold: percent("autonomy.pop_threshold")?,
            chosen: (chosen != MEASURED).then(|| heuristics(&chosen)),
            min_precision: settings.share("autonomy.min_precision")?,
            in_context: settings.switch("autonomy.suggest_in_context")?,
        })
    }

    /// Returns the least score of advice that is suggested, in percent.
    pub fn threshold(&self, kind: AdviceKind) -> u8 {
        match kind {
            AdviceKind::Push => self.push_threshold,
            AdviceKind::Pop => self.pop_threshold,
        }
    }

    /// Returns true if a heuristic is on.
    pub fn speaks(&self, heuristic: Heuristic) -> bool {
        match &self.chosen {
            Some(chosen) => chosen.contains(&heuristic),
            None => Heuristic::MEASURED.contains(&heuristic),
        }
    }

    /// Returns true if a heuristic answers when it is asked: all do that the user did not turn off.
    pub fn answers(&self, heuristic: Heuristic) -> bool {
        self.chosen
            .as_ref()
            .is_none_or(|chosen| chosen.contains(&heuristic))
    }
}

/// Parses the names of heuristics, separated by commas. Settings were checked before.
fn heuristics(names: &str) -> BTreeSet<Heuristic> {
    let names = names.split(',').map(str::trim);
    if names.clone().any(|name| name == "all") {
        return Heuristic::ALL.into_iter().collect();
    }
    names.filter_map(Heuristic::from_name).collect()
}

/// Checks the value of `autonomy.heuristics`.
pub(crate) fn check_heuristics(value: &str) -> Result<(), String> {
    let value = value.trim();
    if matches!(value, MEASURED | "all" | "none") {
        return Ok(());
    }
    for name in value.split(',').map(str::trim) {
        if Heuristic::from_name(name).is_none() {
            return Err(format!("cannot have `{name}`; use {}", heuristics_taken()));
        }
    }
    Ok(())
}

/// Describes the values of `autonomy.heuristics`.
pub(crate) fn heuristics_taken() -> String {
    let names = Heuristic::ALL.map(|heuristic| format!("`{}`", heuristic.as_str()));
    format!(
        "`{MEASURED}`, `all`, `none`, or names separated by commas: {}",
        names.join(", ")
    )
}
