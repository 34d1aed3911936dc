//! Tokens that can be told by themselves: a prefix and a body, or a structure nobody else has.
//! What surrounds them does not matter, only that nothing is glued to their front.

use super::Finding;
use super::bytes::{ALNUM, B64URL, DIGIT, DOTTED, Set, View};
use super::value;

/// The body after a vendor's prefix.
pub(super) struct Token {
    kind: &'static str,
    body: Set,
    min: usize,
    exact: bool,
    proof: Proof,
    joined: Set,
    keep_prefix: bool,
}

/// What a body must show besides its length.
pub(super) enum Proof {
    /// Some variety, so that `xxxx…` stays.
    Variety,
    /// Variety and a digit, for bodies that might be words.
    Digit,
    /// That it looks drawn by lot.
    Random,
}

/// How much of a body is examined. A refusal costs at most this, an acceptance consumes it all.
const PROBE: usize = 64;

impl Token {
    pub(super) const fn new(kind: &'static str, body: Set, min: usize) -> Self {
        let (exact, proof, joined, keep_prefix) = (false, Proof::Variety, ALNUM, false);
        Self { kind, body, min, exact, proof, joined, keep_prefix }
    }

    pub(super) const fn exact(self) -> Self {
        Self { exact: true, ..self }
    }

    pub(super) const fn alone(self) -> Self {
        Self { joined: DOTTED, ..self }
    }

    pub(super) const fn apart(self) -> Self {
        Self { joined: DOTTED.and(Set::of(b"+/")), ..self }
    }

    pub(super) const fn proven(self, proof: Proof) -> Self {
        Self { proof, ..self }
    }

    pub(super) const fn after_prefix(self) -> Self {
        Self { keep_prefix: true, ..self }
    }

    fn proves(&self, probe: &[u8]) -> bool {
        // `sk-ant-api03-xxxxxxxx`: eight equal neighbours are never luck.
        if probe.chunk_by(|left, right| left == right).any(|run| run.len() >= 8) {
            return false;
        }
        let varied = value::distinct(probe) >= 5;
        match self.proof {
            Proof::Variety => varied,
            Proof::Digit => varied && probe.iter().any(u8::is_ascii_digit),
            Proof::Random => value::looks_random(probe),
        }
    }
}

/// The token with `prefix` at `at`.
pub(super) fn find(view: View<'_>, at: usize, prefix: &str, token: &Token) -> Option<Finding> {
    let body = at + prefix.len();
    if !view.edge(at, token.joined) {
        return None;
    }
    let probe = view.run(body, token.body, PROBE.max(token.min + 1));
    let length = probe - body;
    if length < token.min || token.exact && length > token.min {
        return None;
    }
    if !token.proves(view.slice(body..probe.min(body + PROBE))) {
        return None;
    }
    let end = without_dots(view, body, view.run(probe, token.body, usize::MAX));
    let start = if token.keep_prefix { body } else { at };
    Some(Finding { start, end, kind: token.kind })
}

/// A token at the end of a sentence does not own the full stop.
fn without_dots(view: View<'_>, start: usize, end: usize) -> usize {
    let dots = view.slice(start..end).iter().rev().take_while(|byte| **byte == b'.').count();
    end - dots
}

/// A JSON web token, signed (three parts) or encrypted (five).
pub(super) fn json_web(view: View<'_>, at: usize, _: &str) -> Option<Finding> {
    // The edge must exclude whatever a part may hold, or ten megabytes of `eyJ-` take for ever.
    if !view.edge(at, DOTTED) {
        return None;
    }
    let part = |start| view.run(start, B64URL, usize::MAX);
    let header = part(at);
    let payload = part(header + 1);
    let signature = part(payload + 1);
    let dotted = view.at(header) == Some(b'.') && view.at(payload) == Some(b'.');
    let long = header - at >= 10 && payload - header > 8 && signature - payload > 8;
    if !dotted || !long {
        return None;
    }
    let mut end = signature;
    while view.at(end) == Some(b'.') && part(end + 1) > end + 1 {
        end = part(end + 1);
    }
    Some(Finding { start: at, end, kind: "jwt" })
}

/// A Discord bot's token: its number in base64, a time and a signature.
pub(super) fn discord_bot(view: View<'_>, at: usize, _: &str) -> Option<Finding> {
    if !view.edge(at, DOTTED) {
        return None;
    }
    let number = view.run(at, ALNUM, 30);
    let time = view.run(number + 1, B64URL, 8);
    let end = view.run(time + 1, B64URL, 48);
    let dotted = view.at(number) == Some(b'.') && view.at(time) == Some(b'.');
    let sized = (23..=28).contains(&(number - at))
        && (6..=7).contains(&(time.saturating_sub(number + 1)))
        && end.saturating_sub(time + 1) >= 27;
    (dotted && sized).then_some(Finding { start: at, end, kind: "discord-token" })
}

/// A Telegram bot's token: its number, a colon, and 35 characters of which the first are `AA`.
pub(super) fn telegram_bot(view: View<'_>, at: usize, _: &str) -> Option<Finding> {
    let start = view.run_back(at, DIGIT, 12);
    let end = view.run(at + 1, B64URL, usize::MAX);
    let sized = (8..=11).contains(&(at - start)) && end - at > 33;
    let proven = sized && value::looks_random(view.slice(at + 1..end.min(at + PROBE)));
    proven.then_some(Finding { start, end, kind: "telegram-token" })
}

/// A client secret of Entra: three characters, a digit, `Q~` and some thirty more.
pub(super) fn azure_client_secret(view: View<'_>, at: usize, trigger: &str) -> Option<Finding> {
    let body = DOTTED.and(Set::of(b"~"));
    let start = view.run_back(at, body, 3);
    let rest = at + trigger.len();
    let probe = view.run(rest, body, PROBE);
    let sized = at - start == 3 && view.edge(start, body) && probe - rest >= 31;
    if !sized || !value::looks_random(view.slice(rest..probe)) {
        return None;
    }
    let end = without_dots(view, rest, view.run(probe, body, usize::MAX));
    Some(Finding { start, end, kind: "azure-client-secret" })
}
