//! A row of the table of rules, as `data/rules.txt` describes it and `build.rs` builds it.

use std::ops::Range;

use crate::assign::Named;
use crate::rules::Keyword;
use crate::value;
use crate::view::{View, count, find, is_name};

#[expect(clippy::unreadable_literal, reason = "written by a program")]
mod tables {
    use super::{Automaton, Edge, Keyword, Named, Pattern, Rule, Shape, value};

    include!(concat!(env!("OUT_DIR"), "/tables.rs"));
}
pub(crate) use tables::{FOUR, KEYWORDS, PLACES, RULES, SHORT, STARTS, THREE};

/// One kind of secret: the keywords that announce it and the shape that it then must have.
pub(crate) struct Rule {
    pub(crate) kind: &'static str,
    #[cfg(test)]
    pub(crate) keywords: &'static str,
    pub(crate) shape: Shape,
    edge: Edge,
    lead: usize,
    min: usize,
    pub(crate) needs: &'static str,
    pub(crate) window: usize,
}

pub(crate) enum Shape {
    /// An issuer's token.
    Token(Pattern),
    /// A secret that only its surroundings give away.
    Context(Pattern),
    /// The value of a name that contains the keyword.
    Name(Named),
    /// A private key.
    Armour,
    /// A token on several lines.
    Wrapped,
}

/// The bytes that may precede a keyword.
#[derive(Clone, Copy)]
enum Edge {
    Any,
    NoLetter,
    NoName,
    NoBase64,
    First,
    Letter,
}

/// A keyword in a text.
#[derive(Clone, Copy)]
pub(crate) struct Spot<'t> {
    pub(crate) view: View<'t>,
    pub(crate) at: usize,
    /// The end of the keyword.
    pub(crate) end: usize,
}

impl Rule {
    /// Returns true if a secret is possible at `spot`. This is cheaper than a pattern.
    pub(crate) fn is_possible(&self, spot: Spot<'_>) -> bool {
        let Spot { view, at, end } = spot;
        let letter = |byte: u8| byte.is_ascii_alphanumeric();
        let edge = match self.edge {
            Edge::Any => true,
            Edge::NoLetter => view.edge(at, letter),
            Edge::NoName => view.edge(at, is_name),
            Edge::NoBase64 => view.edge(at, |byte| is_name(byte) || b"+/".contains(&byte)),
            Edge::First => view.is_first_word(at),
            Edge::Letter => view.back(at, 1).is_some_and(letter),
        };
        let graphic = |byte: u8| byte.is_ascii_graphic();
        let enough = || match self.lead {
            0 => view.run(end, self.min, graphic) - end >= self.min,
            _ => at - view.run_back(at, self.min, graphic) >= self.min,
        };
        edge && enough()
    }

    /// Returns true if one of the bytes that the rule needs is near `spot`.
    pub(crate) fn has_needed(&self, spot: Spot<'_>) -> bool {
        let end = spot.at.saturating_add(self.window.min(512));
        let window = spot.view.slice(spot.at..end);
        let mut needs = self.needs.as_bytes().split(|byte| *byte == b'|');
        self.needs.is_empty() || needs.any(|needed| find(window, needed).is_some())
    }

    /// Returns what `pattern`, of this rule, finds in the window around `spot`.
    pub(crate) fn search(&self, pattern: &Pattern, spot: Spot<'_>) -> Option<Match> {
        let Spot { view, at, end } = spot;
        let window = end.saturating_add(self.window).min(view.bytes.len());
        if self.lead > 0 {
            let first = view.floor.max(at.saturating_sub(self.lead));
            let mut starts = (first..=at).filter(|start| view.edge(*start, is_name));
            return starts.find_map(|start| pattern.search(view.bytes, start, start..window));
        }
        pattern.search(view.bytes, at, end..window)
    }
}

/// A secret that a pattern found.
#[derive(Clone, Copy)]
pub(crate) struct Match {
    pub(crate) start: usize,
    /// The end of the keyword that the secret begins with, or the start.
    pub(crate) body: usize,
    pub(crate) end: usize,
}

/// Judges the beginning of what a pattern matched, without the keyword.
type Check = fn(&[u8]) -> bool;

/// The pattern of a rule in its three parts, which are searched for in turn: an automaton that
/// captures would be many times slower.
pub(crate) struct Pattern {
    /// Nothing if the secret begins where the pattern does.
    before: Option<&'static Automaton>,
    /// The secret and what must follow it.
    secret: &'static Automaton,
    after: Option<&'static Automaton>,
    pub(crate) check: Check,
}

impl Pattern {
    /// Returns the match that begins where `span` does, after a keyword at `at`.
    fn search(&self, bytes: &[u8], at: usize, span: Range<usize>) -> Option<Match> {
        let (start, body) = match &self.before {
            Some(before) => [before.end(bytes, span.clone())?; 2].into(),
            None => (at, span.start),
        };
        let end = self.secret_end(bytes, body..span.end)?;
        Some(Match { start, body, end })
    }

    /// Returns true if the pattern says what follows the secret.
    pub(crate) fn is_followed(&self) -> bool {
        self.after.is_some()
    }

    /// Returns the end of the secret that begins where `span` does, what must follow it included
    /// in the span.
    pub(crate) fn secret_end(&self, bytes: &[u8], span: Range<usize>) -> Option<usize> {
        let end = self.secret.end(bytes, span.clone())?;
        match self.after {
            // What follows may be the end of the text, which has no byte.
            Some(after) => (span.start..=end).find(|at| after.end(bytes, *at..end) == Some(end)),
            None => Some(end),
        }
    }
}

/// A deterministic automaton. State 0 leads nowhere; in the next few, a match has ended before the
/// byte that led there.
struct Automaton {
    /// Classes of the bytes, which lead to the same states.
    classes: [u8; 256],
    /// Class of the end of the text.
    end: u8,
    /// Number of classes.
    width: usize,
    start: u16,
    /// The last of the states in which a match has ended.
    matching: u16,
    /// The next state, by state and class.
    table: &'static [u16],
}

impl Automaton {
    /// Returns the end of the match that begins where `span` does.
    fn end(&self, bytes: &[u8], span: Range<usize>) -> Option<usize> {
        let class = |byte: u8| self.classes.get(usize::from(byte)).copied();
        let next = |state: u16, class: u8| {
            let place = usize::from(state) * self.width + usize::from(class);
            self.table.get(place).copied().unwrap_or_default()
        };
        let (mut state, mut found) = (self.start, None);
        for (at, byte) in (span.start..).zip(bytes.get(span.clone())?) {
            state = next(state, class(*byte)?);
            if state <= self.matching {
                if state == 0 {
                    count(at - span.start);
                    return found;
                }
                found = Some(at);
            }
        }
        count(span.len());
        let class = bytes
            .get(span.end)
            .map_or(Some(self.end), |byte| class(*byte));
        let state = next(state, class?);
        let ended = (1..=self.matching).contains(&state).then_some(span.end);
        ended.or(found)
    }
}
