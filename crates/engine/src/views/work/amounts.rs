//! Amounts of work: tokens, money, time, messages, and tokens saved by folding.

use flamestack_core::enum_names;
use flamestack_core::transcript::Usage;
use serde::Serialize;

use crate::views::{counted, grouped, time};

enum_names! {
    /// The amount that a picture shows.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Measure {
        /// Tokens of all model calls, prompts and answers.
        #[default]
        Tokens = "tokens",
        /// Money, in millionths of a dollar.
        Cost = "cost",
        /// Working time in milliseconds.
        Time = "time",
        /// Prompts and model calls.
        Messages = "messages",
        /// Tokens that later calls did not carry because finished frames were folded.
        Saved = "saved",
    }
}

impl Measure {
    /// Renders an amount with its unit.
    pub fn words(self, amount: u64) -> String {
        match self {
            Self::Tokens => counted(amount, "token", "tokens"),
            Self::Cost => dollars(amount),
            Self::Time => time::duration(i64::try_from(amount).unwrap_or(i64::MAX)),
            Self::Messages => counted(amount, "message", "messages"),
            Self::Saved => counted(amount, "token saved", "tokens saved"),
        }
    }
}

/// Renders millionths of a dollar: to the cent, or with as many digits as less than a cent needs.
fn dollars(micro: u64) -> String {
    match micro {
        0 => "$0".to_owned(),
        1..10_000 => format!("$0.{micro:06}").trim_end_matches('0').to_owned(),
        _ => {
            let cents = micro.saturating_add(5_000) / 10_000;
            format!("${}.{:02}", grouped(cents / 100), cents % 100)
        }
    }
}

/// Amounts of a frame, a session or a project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Amounts {
    /// New tokens of prompts.
    pub input: u64,
    /// Tokens of prompts that came from the cache.
    pub cache_read: u64,
    /// Tokens that were written to the cache.
    pub cache_write: u64,
    /// Tokens that models wrote.
    pub output: u64,
    /// Cost in millionths of a dollar; none if no host named one.
    pub micro_dollars: Option<u64>,
    /// Working time in milliseconds. Pauses, and the time in which a session waits for its user, do not
    /// count; sessions that work at the same time both do.
    pub milliseconds: u64,
    /// Number of prompts.
    pub prompts: u64,
    /// Number of model calls.
    pub calls: u64,
    /// Tokens that later calls did not carry because finished frames were folded.
    pub saved: u64,
}

impl Amounts {
    /// Returns the cost of a model call.
    pub fn of_call(usage: &Usage) -> Self {
        Self {
            input: usage.input,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            output: usage.output,
            micro_dollars: usage.micro_dollars,
            calls: 1,
            ..Self::default()
        }
    }

    /// Returns the tokens of all calls, prompts and answers.
    pub fn tokens(&self) -> u64 {
        self.input
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write)
            .saturating_add(self.output)
    }

    /// Returns the number of prompts and model calls.
    pub fn messages(&self) -> u64 {
        self.prompts.saturating_add(self.calls)
    }

    /// Returns the amount that a picture shows.
    pub fn of(&self, measure: Measure) -> u64 {
        match measure {
            Measure::Tokens => self.tokens(),
            Measure::Cost => self.micro_dollars.unwrap_or_default(),
            Measure::Time => self.milliseconds,
            Measure::Messages => self.messages(),
            Measure::Saved => self.saved,
        }
    }

    /// Adds other amounts.
    pub fn add(&mut self, other: &Self) {
        for (sum, more) in [
            (&mut self.input, other.input),
            (&mut self.cache_read, other.cache_read),
            (&mut self.cache_write, other.cache_write),
            (&mut self.output, other.output),
            (&mut self.milliseconds, other.milliseconds),
            (&mut self.prompts, other.prompts),
            (&mut self.calls, other.calls),
            (&mut self.saved, other.saved),
        ] {
            *sum = sum.saturating_add(more);
        }
        if let Some(more) = other.micro_dollars {
            let sum = self.micro_dollars.unwrap_or_default();
            self.micro_dollars = Some(sum.saturating_add(more));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Measure;

    #[test]
    fn amounts_read_well() {
        let costs = [0, 300, 50_000, 999_999, 1_000_000, 1_234_567_890];
        let costs = costs.map(|micro| Measure::Cost.words(micro));
        assert_eq!(
            costs.join(", "),
            "$0, $0.0003, $0.05, $1.00, $1.00, $1,234.57"
        );
        assert_eq!(Measure::Time.words(65_000), "1 min 5 s");
        assert_eq!(Measure::Saved.words(1), "1 token saved");
        assert_eq!(Measure::Messages.words(2_000), "2,000 messages");
    }
}
