//! The search for what the rules describe.
//!
//! ```text
//!   text ──► keywords ──────► edge, bytes ────► pattern, within ──► check ──► finding
//!            one load per       around it         a window            of the
//!            byte                                                     match
//! ```
//!
//! The whole is linear: a pattern sees a window of bytes at most, before it either fails or its
//! match is consumed with what lies beyond the window. No byte is consumed twice.

use crate::rule::{
    FOUR, KEYWORDS, Match, PLACES, Pattern, RULES, Rule, SHORT, STARTS, Shape, Spot, THREE,
};
use crate::value::holds_marker;
use crate::view::{self, View, count};
use crate::{Finding, armour, assign, wrapped};

include!("hash.rs");

/// A keyword of a rule, or of a place where the search stops without a rule.
pub(crate) struct Keyword {
    pub(crate) text: &'static str,
    pub(crate) any_case: bool,
    pub(crate) rule: Option<usize>,
}

impl Keyword {
    /// Returns true if `text` begins with the keyword.
    fn begins(&self, text: &[u8]) -> bool {
        let begin = text.get(..self.text.len()).unwrap_or_default();
        begin == self.text.as_bytes()
            || self.any_case && begin.eq_ignore_ascii_case(self.text.as_bytes())
    }

    /// Returns the rule of the keyword at `at`, if a secret is possible there.
    fn rule_at<'t>(&self, view: View<'t>, at: usize) -> Option<(&'static Rule, Spot<'t>)> {
        let rule = RULES.get(self.rule?)?;
        let end = at + self.text.len();
        let spot = Spot { view, at, end };
        rule.is_possible(spot).then_some((rule, spot))
    }
}

/// Returns the first place at or after `start` where a keyword begins.
///
/// Three bytes are looked up at a time, hashed, in a table of bits, then four. An Aho-Corasick automaton over
/// the same keywords took a process 390 µs to build, which is more than everything else that
/// `flame push` does to its texts.
///
/// The last three bytes of a text are not looked at: no secret is that short.
pub(crate) fn next(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    loop {
        let mut windows = bytes.get(at..)?.array_windows();
        let place = windows.position(|window| is_keyword(*window))?;
        count(place + 1);
        at += place;
        if keywords_at(bytes.get(at..)?).next().is_some() {
            return Some(at);
        }
        at += 1;
    }
}

/// Returns true if a keyword may begin with these bytes.
fn is_keyword(bytes: [u8; 4]) -> bool {
    let has = |table: &[u64; 2048], hash: usize| {
        let bits = table.get(hash >> 6);
        bits.is_some_and(|bits| bits >> (hash & 63) & 1 == 1)
    };
    let three = hash_three(bytes);
    has(&THREE, three) && (has(&FOUR, hash_four(bytes)) || has(&SHORT, three))
}

/// Returns the keywords that `text` begins with, in the order of the rules.
fn keywords_at(text: &[u8]) -> impl Iterator<Item = &'static Keyword> {
    let hash = text.first_chunk().map_or(0, |first| hash_three(*first));
    let bound = |place: usize| STARTS.get(place).copied().map_or(0, usize::from);
    let place = hash >> START_BITS;
    let places = PLACES.get(bound(place)..bound(place + 1));
    let hash = u32::try_from(hash).unwrap_or_default();
    let same = places
        .unwrap_or_default()
        .iter()
        .filter(move |(of, _)| *of == hash);
    same.filter_map(|(_, number)| KEYWORDS.get(usize::from(*number)))
        .filter(|keyword| keyword.begins(text))
}

/// Returns the secret that one of the keywords at `at` announces.
pub(crate) fn find(view: View<'_>, at: usize) -> Option<Finding> {
    // Several rules of one keyword need the same: it is looked for once.
    let mut missing = None;
    keywords_at(view.bytes.get(at..)?).find_map(|keyword| {
        let (rule, spot) = keyword.rule_at(view, at)?;
        if missing == Some((rule.needs, rule.window)) || !rule.has_needed(spot) {
            missing = Some((rule.needs, rule.window));
            return None;
        }
        match &rule.shape {
            Shape::Token(pattern) => find_token(rule, pattern, spot),
            Shape::Context(pattern) => find_context(rule, pattern, spot),
            Shape::Name(named) => assign::find(spot, rule.kind, *named),
            Shape::Armour => armour::private_key(spot),
            Shape::Wrapped => wrapped::jwt(spot, rule.kind),
        }
    })
}

/// Returns the issuer's token that begins at `at`: its name says more than the name that it
/// is assigned to.
pub(crate) fn token_at(view: View<'_>, at: usize) -> Option<Finding> {
    keywords_at(view.bytes.get(at..)?).find_map(|keyword| {
        let (rule, spot) = keyword.rule_at(view, at)?;
        match &rule.shape {
            Shape::Token(pattern) => find_token(rule, pattern, spot),
            Shape::Wrapped => wrapped::jwt(spot, rule.kind),
            _ => None,
        }
    })
}

/// Returns the secret in the surroundings of `spot`, which may be an issuer's token too.
fn find_context(rule: &Rule, pattern: &Pattern, spot: Spot<'_>) -> Option<Finding> {
    let view = spot.view;
    let found = rule.search(pattern, spot)?;
    let secret = view.slice(found.body..found.end);
    let templated = !pattern.is_followed() && view.is(found.end, |byte| b"$<{([".contains(&byte));
    let token = token_at(view, found.body);
    let accepted = || !templated && !holds_marker(secret) && (pattern.check)(secret);
    let kind = token.map_or(rule.kind, |token| token.kind);
    let found = (token.is_some() || accepted()).then(|| whole(pattern, view, found, kind))??;
    // A token may continue on the next lines.
    let end = token.map_or(found.end, |token| token.end.max(found.end));
    Some(Finding { end, ..found })
}

/// Returns the token whose prefix is at `spot`.
fn find_token(rule: &Rule, pattern: &Pattern, spot: Spot<'_>) -> Option<Finding> {
    let found = rule.search(pattern, spot)?;
    let body = spot.view.slice(found.body..found.end);
    (pattern.check)(body).then(|| whole(pattern, spot.view, found, rule.kind))?
}

/// Returns the whole of what was found, which may continue beyond the window.
fn whole(pattern: &Pattern, view: View<'_>, found: Match, kind: &'static str) -> Option<Finding> {
    let until = |end| pattern.secret_end(view.bytes, found.body..end);
    let mut end = until(view.bytes.len())?;
    // Bodies may contain dashes, but five of them begin a block.
    if let Some(dashes) = view::find(view.slice(found.start..end), "-----")
        && kind != armour::KIND
    {
        end = until(found.start + dashes)?;
    }
    // A full stop belongs to the sentence around the token.
    let dots = view.slice(found.start..end).iter().rev();
    let end = end - dots.take_while(|byte| **byte == b'.').count();
    let start = found.start;
    Some(Finding { start, end, kind })
}
