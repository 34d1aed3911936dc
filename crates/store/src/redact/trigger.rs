//! The cheap first look: at which places of a text some rule may begin, and which.
//! Whether it really does is for the rule to say.
//!
//! Each rule owns one bit. Three tables say for a byte which rules may have it as the first, the
//! second and the third byte of one of their triggers; the conjunction over three neighbouring
//! bytes leaves the candidates. Ordinary text leaves none nearly everywhere.

use super::bytes::View;
use super::rule::Rule;
use super::rules::RULES;

/// A place where at least one rule may begin.
pub(super) struct Hit {
    pub(super) at: usize,
    candidates: u128,
}

impl Hit {
    /// The candidates in the order of the table, which puts the specific before the general.
    pub(super) fn rules(&self) -> impl Iterator<Item = &'static Rule> {
        let mut left = self.candidates;
        std::iter::from_fn(move || {
            let lowest = left.trailing_zeros();
            // Shifting 128 places would overflow; no candidate is left then.
            left &= !1_u128.checked_shl(lowest)?;
            RULES.get(usize::try_from(lowest).ok()?)
        })
    }
}

/// The first place at or after `start` where a rule may begin.
///
/// The last two bytes of a text are never looked at: no secret is that short.
pub(super) fn next(view: View<'_>, start: usize) -> Option<Hit> {
    let mut places = view.from(start).array_windows().enumerate();
    let (skipped, candidates) = places.find_map(|(place, [first, second, third])| {
        let candidates = TABLES.first(*first) & TABLES.second(*second) & TABLES.third(*third);
        (candidates != 0).then_some((place, candidates))
    })?;
    Some(Hit {
        at: start + skipped,
        candidates,
    })
}

static TABLES: Tables = Tables::of(RULES);

struct Tables([[u128; 256]; 3]);

impl Tables {
    fn first(&self, byte: u8) -> u128 {
        let [first, _, _] = &self.0;
        look_up(first, byte)
    }

    fn second(&self, byte: u8) -> u128 {
        let [_, second, _] = &self.0;
        look_up(second, byte)
    }

    fn third(&self, byte: u8) -> u128 {
        let [_, _, third] = &self.0;
        look_up(third, byte)
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "run by the compiler: a bad index does not build"
    )]
    const fn of(rules: &[Rule]) -> Self {
        assert!(rules.len() <= 128, "a rule is a bit of a u128");
        let mut tables = [[0; 256]; 3];
        let mut rule = 0;
        while rule < rules.len() {
            let bit = 1 << rule;
            let mut triggers = rules[rule].triggers;
            while let [trigger, rest @ ..] = triggers {
                let trigger = trigger.as_bytes();
                let mut place = 0;
                while place < 3 {
                    if place < trigger.len() {
                        let byte = trigger[place];
                        tables[place][byte as usize] |= bit;
                        if rules[rule].any_case {
                            tables[place][byte.to_ascii_lowercase() as usize] |= bit;
                            tables[place][byte.to_ascii_uppercase() as usize] |= bit;
                        }
                    } else {
                        let mut any = 0;
                        while any < 256 {
                            tables[place][any] |= bit;
                            any += 1;
                        }
                    }
                    place += 1;
                }
                triggers = rest;
            }
            rule += 1;
        }
        Self(tables)
    }
}

/// A byte is always an index of 256 entries; the compiler drops the check.
fn look_up(table: &[u128; 256], byte: u8) -> u128 {
    table.get(usize::from(byte)).copied().unwrap_or_default()
}
