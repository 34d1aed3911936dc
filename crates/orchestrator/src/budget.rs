//! Budgets: what a subtree has spent, and what it may spend.
//!
//! They are checked before every dispatch. A limit warns at 80 % and parks the subtree at 100 %; work
//! that is in progress is never cut off by one.

use serde::{Deserialize, Serialize};

/// Share of a limit at which the user is warned, in percent.
const WARN_AT: u64 = 80;

/// Limits of a run or of a frame with everything below it. `None` means no limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Tokens of all model calls, cached ones included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Cost in US dollars, as the host reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Prompts sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// Levels below the frame that has the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u64>,
    /// Frames below the frame that has the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames: Option<u64>,
    /// Time during which the run was driven, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
}

impl Limits {
    /// Returns these limits, with those of `newer` in their place where it has any.
    #[must_use]
    pub fn replaced_by(&self, newer: &Self) -> Self {
        Self {
            tokens: newer.tokens.or(self.tokens),
            cost: newer.cost.or(self.cost),
            turns: newer.turns.or(self.turns),
            depth: newer.depth.or(self.depth),
            frames: newer.frames.or(self.frames),
            wall_ms: newer.wall_ms.or(self.wall_ms),
        }
    }
}

/// Spending of a turn, a frame or a subtree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spending {
    /// Prompt tokens that were not cached.
    pub input: u64,
    /// Tokens that the model wrote, reasoning included.
    pub output: u64,
    /// Prompt tokens read from the cache.
    pub cache_read: u64,
    /// Prompt tokens written to the cache.
    pub cache_write: u64,
    /// Cost in US dollars, as the host reports it.
    pub cost: f64,
    /// Prompts sent.
    pub turns: u64,
    /// Requests that reached the model.
    pub requests: u64,
}

impl Spending {
    /// Returns the number of all tokens.
    pub fn tokens(&self) -> u64 {
        self.input
            .saturating_add(self.output)
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write)
    }

    /// Adds another spending.
    pub fn add(&mut self, other: &Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.cost += other.cost;
        self.turns = self.turns.saturating_add(other.turns);
        self.requests = self.requests.saturating_add(other.requests);
    }
}

/// A limit that was reached, or nearly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BudgetLimit {
    /// Name of the limit.
    pub name: String,
    /// Amount that was spent.
    pub spent: f64,
    /// Amount that may be spent.
    pub limit: f64,
}

impl BudgetLimit {
    /// Returns the option of `flame run` that sets this limit.
    pub fn option(&self) -> &'static str {
        match self.name.as_str() {
            "cost" => "--max-cost USD",
            "time" => "--max-minutes N",
            "turns" => "--max-turns N",
            _ => "--max-tokens N",
        }
    }

    /// Returns the limit in words.
    pub fn sentence(&self) -> String {
        let amount = |amount: f64| match self.name.as_str() {
            "cost" if amount < 1.0 => format!("${amount:.4}"),
            "cost" => format!("${amount:.2}"),
            "time" => format!("{:.0} s", amount / 1000.0),
            _ => format!("{amount:.0}"),
        };
        let name = match self.name.as_str() {
            "cost" | "time" => String::new(),
            name => format!(" {name}"),
        };
        format!(
            "{} of {}{name} spent",
            amount(self.spent),
            amount(self.limit)
        )
    }
}

/// Compares a spending with limits. Returns the limits that are nearly reached, and those reached.
pub(crate) fn compare(
    limits: &Limits,
    spent: &Spending,
    wall_ms: u64,
) -> (Vec<BudgetLimit>, Vec<BudgetLimit>) {
    #[expect(
        clippy::cast_precision_loss,
        reason = "shown to the user, and far below 2^52"
    )]
    let counted = |name: &str, spent: u64, limit: Option<u64>| {
        limit.map(|limit| (name.to_owned(), spent as f64, limit as f64))
    };
    let all = [
        counted("tokens", spent.tokens(), limits.tokens),
        counted("turns", spent.turns, limits.turns),
        counted("time", wall_ms, limits.wall_ms),
        limits
            .cost
            .map(|limit| ("cost".to_owned(), spent.cost, limit)),
    ];
    let (mut near, mut over) = (Vec::new(), Vec::new());
    for (name, spent, limit) in all.into_iter().flatten() {
        let found = BudgetLimit { name, spent, limit };
        #[expect(clippy::cast_precision_loss, reason = "a percentage")]
        let warn_at = limit * WARN_AT as f64 / 100.0;
        if spent >= limit {
            over.push(found);
        } else if spent >= warn_at {
            near.push(found);
        }
    }
    (near, over)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_warns_at_80_percent_and_parks_at_100() {
        let limits = Limits {
            tokens: Some(100),
            cost: Some(1.0),
            ..Limits::default()
        };
        let spent = |input: u64, cost: f64| Spending {
            input,
            cost,
            ..Spending::default()
        };
        let names = |found: Vec<BudgetLimit>| {
            let names: Vec<String> = found.into_iter().map(|limit| limit.name).collect();
            names.join(" ")
        };
        let at = |input, cost| {
            let (near, over) = compare(&limits, &spent(input, cost), 0);
            (names(near), names(over))
        };
        assert_eq!(at(79, 0.79), (String::new(), String::new()));
        assert_eq!(at(80, 0.1), ("tokens".to_owned(), String::new()));
        assert_eq!(at(100, 0.8), ("cost".to_owned(), "tokens".to_owned()));
        assert_eq!(at(0, 2.0), (String::new(), "cost".to_owned()));
    }

    #[test]
    fn newer_limits_replace_older_ones() {
        let old = Limits {
            tokens: Some(1),
            turns: Some(2),
            ..Limits::default()
        };
        let new = Limits {
            tokens: Some(9),
            ..Limits::default()
        };
        let now = old.replaced_by(&new);
        assert_eq!((now.tokens, now.turns), (Some(9), Some(2)));
    }
}
