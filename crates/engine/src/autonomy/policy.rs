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
    /// The heuristics that suggest and act without being asked, and those that answer when asked.
    pub heuristics: ChosenHeuristics,
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
            heuristics: ChosenHeuristics::parse(MEASURED),
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
            heuristics: ChosenHeuristics::parse(&chosen),
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
        self.heuristics.on.contains(&heuristic)
    }

    /// Returns true if a heuristic answers when it is asked: with `measured` all do that the user did
    /// not turn off.
    pub fn answers(&self, heuristic: Heuristic) -> bool {
        self.heuristics.asked.contains(&heuristic)
    }
}

/// The value of `autonomy.heuristics`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenHeuristics {
    /// True if the list adds to what was measured, instead of replacing it.
    adds: bool,
    on: BTreeSet<Heuristic>,
    asked: BTreeSet<Heuristic>,
}

impl ChosenHeuristics {
    /// Parses names separated by commas. Settings were checked before.
    fn parse(value: &str) -> Self {
        let names = || value.split(',').map(str::trim);
        let has = |word: &str| names().any(|name| name == word);
        let mut chosen = Self {
            adds: has(MEASURED),
            on: BTreeSet::new(),
            asked: BTreeSet::new(),
        };
        if chosen.adds {
            chosen.on.extend(Heuristic::MEASURED);
            chosen.asked.extend(Heuristic::ALL);
        }
        if has("all") {
            chosen.on.extend(Heuristic::ALL);
            chosen.asked.extend(Heuristic::ALL);
        }
        names()
            .filter_map(Heuristic::from_name)
            .for_each(|one| chosen.enable(one));
        names()
            .filter_map(|name| Heuristic::from_name(name.strip_prefix('-')?))
            .for_each(|one| chosen.disable(one));
        chosen
    }

    /// Turns a heuristic on.
    pub fn enable(&mut self, heuristic: Heuristic) {
        self.on.insert(heuristic);
        self.asked.insert(heuristic);
    }

    /// Turns a heuristic off: it does not answer when it is asked, either.
    pub fn disable(&mut self, heuristic: Heuristic) {
        self.on.remove(&heuristic);
        self.asked.remove(&heuristic);
    }

    /// Returns the value of the setting.
    pub fn value(&self) -> String {
        let mut names: Vec<String> = Vec::new();
        if self.adds {
            names.push(MEASURED.to_owned());
        }
        for heuristic in Heuristic::ALL {
            let is_measured = self.adds && Heuristic::MEASURED.contains(&heuristic);
            if self.adds && !self.asked.contains(&heuristic) {
                names.push(format!("-{}", heuristic.as_str()));
            } else if self.on.contains(&heuristic) && !is_measured {
                names.push(heuristic.as_str().to_owned());
            }
        }
        if names.is_empty() {
            return "none".to_owned();
        }
        names.join(",")
    }
}

/// Checks the value of `autonomy.heuristics`.
pub(crate) fn check_heuristics(value: &str) -> Result<(), String> {
    let value = value.trim();
    if value == "none" {
        return Ok(());
    }
    for name in value.split(',').map(str::trim) {
        let heuristic = name.strip_prefix('-').unwrap_or(name);
        if !matches!(name, MEASURED | "all") && Heuristic::from_name(heuristic).is_none() {
            return Err(format!("cannot have `{name}`; use {}", heuristics_taken()));
        }
    }
    Ok(())
}

/// Describes the values of `autonomy.heuristics`.
pub(crate) fn heuristics_taken() -> String {
    let names = Heuristic::ALL.map(|heuristic| format!("`{}`", heuristic.as_str()));
    format!(
        "`none`, or a list separated by commas of `{MEASURED}`, `all` and names, with a `-` before one \
         to turn off: {}",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turning_one_on_or_off_leaves_the_others_as_they_are() {
        let change = |value: &str, change: fn(&mut ChosenHeuristics)| {
            let mut chosen = ChosenHeuristics::parse(value);
            change(&mut chosen);
            assert_eq!(ChosenHeuristics::parse(&chosen.value()), chosen);
            chosen.value()
        };
        let enable: fn(&mut ChosenHeuristics) = |chosen| chosen.enable(Heuristic::ContextOverflow);
        let disable: fn(&mut ChosenHeuristics) =
            |chosen| chosen.disable(Heuristic::ContextOverflow);
        assert_eq!(change("measured", enable), "measured,context_overflow");
        let off = "measured,-context_overflow";
        assert_eq!(change("measured,context_overflow", disable), off);
        assert_eq!(change(off, enable), "measured,context_overflow");
        // A list without `measured` is the whole list, as it was for the predecessor.
        assert_eq!(change("stagnation", enable), "stagnation,context_overflow");
        assert_eq!(change("context_overflow", disable), "none");
        assert_eq!(change("none", enable), "context_overflow");
        assert_eq!(ChosenHeuristics::parse("all,-duration").asked.len(), 6);
    }
}
