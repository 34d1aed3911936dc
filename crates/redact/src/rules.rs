//! The search for what the rules describe.
//!
//! ```text
//!   text ──► keywords ──────► edge, bytes ────► pattern, within ──► check ──► finding
//!            one table load    around it         a window            of the
//!            per byte          (no regex yet)    (compiled now)      match
//! ```
//!
//! The whole is linear: a pattern sees a window of bytes at most, before it either fails or its
//! match is consumed with what lies beyond the window. No byte is consumed twice.

use crate::rule::{BUCKET_SIZE, BUCKETS, KEYWORDS, Match, Pattern, RULES, Rule, Shape, Spot};
use crate::value::holds_marker;
use crate::view::{self, View, count};
use crate::{Finding, armour, assign};

/// A keyword of a rule, or of a place where the search stops without a rule.
///
/// An Aho-Corasick automaton over the same keywords took a process 390 µs to build, which is more
/// than everything else that `flame push` does to its texts. These tables are built with the
/// program.
pub(crate) struct Keyword {
    text: &'static [u8],
    /// The first four bytes, and the bits of them that are not compared.
    first: u32,
    ignored: u32,
    any_case: bool,
    rule: Option<usize>,
}

impl Keyword {
    pub(crate) const fn new(text: &'static str, any_case: bool, rule: Option<usize>) -> Self {
        let text = text.as_bytes();
        let case = if any_case { 0x2020_2020 } else { 0 };
        let (first, short) = match text {
            [first, second, third] => ([*first, *second, *third, 0], 0xff00_0000),
            [first, second, third, fourth, ..] => ([*first, *second, *third, *fourth], 0),
            _ => ([0; 4], 0),
        };
        Self {
            text,
            first: u32::from_le_bytes(first),
            ignored: case | short,
            any_case,
            rule,
        }
    }

    /// Returns true if `text`, of which the first four bytes are `first`, begins with the keyword.
    fn begins(&self, text: &[u8], first: u32) -> bool {
        // Nearly all fail here, so the text is not read before.
        if (first ^ self.first) & !self.ignored != 0 {
            return false;
        }
        let begin = text.get(..self.text.len()).unwrap_or_default();
        begin == self.text || self.any_case && begin.eq_ignore_ascii_case(self.text)
    }

    /// Returns the rule of the keyword at `at`, if a secret is possible there.
    fn rule_at<'t>(&self, view: View<'t>, at: usize) -> Option<(&'static Rule, Spot<'t>)> {
        let rule = RULES.get(self.rule?)?;
        let end = at + self.text.len();
        let spot = Spot { view, at, end };
        rule.is_possible(spot).then_some((rule, spot))
    }
}

/// Returns the buckets in which a keyword may begin with `bytes`.
fn buckets(bytes: [u8; 4]) -> u64 {
    let places = BUCKETS.iter().zip(bytes);
    places.fold(u64::MAX, |buckets, (place, byte)| {
        buckets & place.get(usize::from(byte)).copied().unwrap_or_default()
    })
}

/// Returns the first place at or after `start` with a keyword, and the keywords there.
///
/// The last three bytes of a text are not looked at: no secret is that short.
pub(crate) fn next(bytes: &[u8], start: usize) -> Option<(usize, Vec<&'static Keyword>)> {
    let mut at = start;
    loop {
        let mut windows = bytes.get(at..)?.array_windows();
        let place = windows.position(|window| buckets(*window) != 0)?;
        count(place + 1);
        at += place;
        let keywords = keywords_at(bytes.get(at..)?);
        if !keywords.is_empty() {
            return Some((at, keywords));
        }
        at += 1;
    }
}

/// Returns the keywords that `text` begins with, in the order of the rules.
fn keywords_at(text: &[u8]) -> Vec<&'static Keyword> {
    let mut found = Vec::new();
    let first = first_four(text);
    let mut left = buckets(first);
    let first = u32::from_le_bytes(first);
    while left != 0 {
        let bucket = usize::try_from(left.trailing_zeros()).unwrap_or_default() * BUCKET_SIZE;
        left &= left - 1;
        let keywords = KEYWORDS.get(bucket..).unwrap_or_default().iter();
        found.extend(
            keywords
                .take(BUCKET_SIZE)
                .filter(|keyword| keyword.begins(text, first)),
        );
    }
    found.sort_unstable_by_key(|keyword| keyword.rule);
    found
}

/// Returns the secret that one of `keywords` at `at` announces.
pub(crate) fn find(view: View<'_>, at: usize, keywords: &[&Keyword]) -> Option<Finding> {
    keywords.iter().find_map(|keyword| {
        let (rule, spot) = keyword.rule_at(view, at)?;
        match &rule.shape {
            Shape::Token(pattern) => find_token(rule, pattern, spot),
            Shape::Context(pattern) => find_context(rule, pattern, spot),
            Shape::Name(named) => assign::find(spot, rule.kind, *named),
            Shape::Armour => armour::private_key(spot),
        }
    })
}

/// Returns the issuer's token that begins at `at`: its name says more than the name that it
/// is assigned to.
pub(crate) fn token_at(view: View<'_>, at: usize) -> Option<Finding> {
    let keywords = keywords_at(view.slice(at..view.bytes.len()));
    keywords.into_iter().find_map(|keyword| {
        let (rule, spot) = keyword.rule_at(view, at)?;
        match &rule.shape {
            Shape::Token(pattern) => find_token(rule, pattern, spot),
            _ => None,
        }
    })
}

/// Returns the secret in the surroundings of `spot`, which may be an issuer's token too.
fn find_context(rule: &Rule, pattern: &Pattern, spot: Spot<'_>) -> Option<Finding> {
    let view = spot.view;
    let found = rule.search(pattern, spot)?;
    let secret = view.slice(found.body..found.end);
    let templated = view.is(found.end, |byte| b"$<{([".contains(&byte));
    let token = token_at(view, found.body);
    let accepted = || !templated && !holds_marker(secret) && (pattern.check)(secret);
    let kind = token.map_or(rule.kind, |token| token.kind);
    (token.is_some() || accepted()).then(|| whole(pattern, view, found, kind))?
}

/// Returns the token whose prefix is at `spot`.
fn find_token(rule: &Rule, pattern: &Pattern, spot: Spot<'_>) -> Option<Finding> {
    let found = rule.search(pattern, spot)?;
    let body = spot.view.slice(found.body..found.end);
    (pattern.check)(body).then(|| whole(pattern, spot.view, found, rule.kind))?
}

/// Returns the whole of what was found, which may go on beyond the window.
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

/// Returns the first four bytes of `text`.
fn first_four(text: &[u8]) -> [u8; 4] {
    let mut bytes = text.iter().copied();
    std::array::from_fn(|_| bytes.next().unwrap_or_default())
}
