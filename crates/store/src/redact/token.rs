//! Tokens that can be told by themselves: a prefix and a body, or a structure nobody else has.
//! What surrounds them does not matter, only that nothing is glued to their front.

use std::ops::Range;

use super::Finding;
use super::bytes::{ALNUM, B64URL, DIGIT, DOTTED, Set, View};
use super::random::{distinct, looks_random};

/// What follows a vendor's prefix. The methods say what else is asked of it.
pub(super) struct Token {
    body: Set,
    min: usize,
    exact: bool,
    proof: Proof,
    joined: Set,
    keep_prefix: bool,
}

enum Proof {
    /// Some variety, so that `xxxx…` stays.
    Variety,
    Digit,
    Random,
}

/// How much of a body is examined. A refusal costs at most this, an acceptance consumes it all.
const PROBE: usize = 64;

impl Token {
    /// At least `min` of `body`, not glued to a word.
    pub(super) const fn of(body: Set, min: usize) -> Self {
        Self {
            body,
            min,
            exact: false,
            proof: Proof::Variety,
            joined: ALNUM,
            keep_prefix: false,
        }
    }

    /// A longer body is something else.
    pub(super) const fn exact(mut self) -> Self {
        self.exact = true;
        self
    }

    /// The prefix is weak: nothing that could belong to a longer name may stand before it.
    pub(super) const fn alone(mut self) -> Self {
        self.joined = DOTTED;
        self
    }

    /// The prefix is common in base64, so it must not follow any of its characters.
    pub(super) const fn apart(mut self) -> Self {
        self.joined = DOTTED.and(Set::of(b"+/"));
        self
    }

    /// The prefix is weak: words may follow it, so the body must hold a digit.
    pub(super) const fn digit(mut self) -> Self {
        self.proof = Proof::Digit;
        self
    }

    /// The prefix says next to nothing: the body must look drawn by lot.
    pub(super) const fn random(mut self) -> Self {
        self.proof = Proof::Random;
        self
    }

    /// The prefix is no part of the secret and stays.
    pub(super) const fn after_prefix(mut self) -> Self {
        self.keep_prefix = true;
        self
    }

    /// Where the token with `prefix` at `at` is, if it is one.
    pub(super) fn find(&self, view: View<'_>, at: usize, prefix: &str) -> Option<Range<usize>> {
        let start = at + prefix.len();
        if !view.edge(at, self.joined) {
            return None;
        }
        let probe = body(view, start, self.body, PROBE.max(self.min + 1));
        let length = probe - start;
        if length < self.min || self.exact && length > self.min {
            return None;
        }
        if !self.proves(view.slice(start..probe.min(start + PROBE))) {
            return None;
        }
        let end = view.without_dots(start, body(view, start, self.body, usize::MAX));
        Some(if self.keep_prefix { start } else { at }..end)
    }

    /// Whether the beginning of a body convinces.
    fn proves(&self, probe: &[u8]) -> bool {
        // `sk-ant-api03-xxxxxxxx`: eight equal neighbours are never luck.
        let mut runs = probe.chunk_by(|left, right| left == right);
        if runs.any(|run| run.len() >= 8) {
            return false;
        }
        let varied = distinct(probe) >= 5;
        match self.proof {
            Proof::Variety => varied,
            Proof::Digit => varied && probe.iter().any(u8::is_ascii_digit),
            // Several beginnings, as a name may stand before what was drawn.
            Proof::Random => {
                let mut beginnings = [self.min, 32, PROBE].into_iter();
                beginnings.any(|length| probe.get(..length).is_some_and(looks_random))
            }
        }
    }
}

/// The end of a body that begins at `start`. Dashes may be in it, but five begin a block.
pub(super) fn body(view: View<'_>, start: usize, set: Set, limit: usize) -> usize {
    let end = view.run(start, set, limit);
    let block = view
        .slice(start..end)
        .windows(5)
        .position(|window| window == b"-----");
    block.map_or(end, |block| start + block)
}

/// A JSON web token, signed (three parts) or encrypted (five).
pub(super) fn json_web(view: View<'_>, at: usize, _: &str) -> Option<Finding> {
    // The edge must exclude whatever a part may hold, or ten megabytes of `eyJ-` take for ever.
    if !view.edge(at, DOTTED) {
        return None;
    }
    let part = |start| body(view, start, B64URL, usize::MAX);
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
    Some(Finding {
        start: at,
        end,
        kind: "jwt",
    })
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
    (dotted && sized).then_some(Finding {
        start: at,
        end,
        kind: "discord-token",
    })
}

/// A Telegram bot's token: its number, a colon, and 35 characters of which the first are `AA`.
pub(super) fn telegram_bot(view: View<'_>, at: usize, _: &str) -> Option<Finding> {
    let start = view.run_back(at, DIGIT, 12);
    let in_link = (1..=4)
        .map(|back| view.back(start, back))
        .eq(b"tob/".map(Some));
    let secret = at + 1;
    let end = body(view, secret, B64URL, usize::MAX);
    let sized = (8..=11).contains(&(at - start)) && end - secret >= 35;
    let found = sized
        && (in_link || view.edge(start, ALNUM))
        && looks_random(view.slice(secret..secret + 35));
    found.then_some(Finding {
        start,
        end,
        kind: "telegram-token",
    })
}

/// A client secret of Entra: three characters, a digit, `Q~` and some thirty more.
pub(super) fn azure_client_secret(view: View<'_>, at: usize, trigger: &str) -> Option<Finding> {
    let set = DOTTED.and(Set::of(b"~"));
    let start = view.run_back(at, set, 3);
    let rest = at + trigger.len();
    let probe = body(view, rest, set, 31);
    let sized = at - start == 3 && view.edge(start, set) && probe - rest == 31;
    if !sized || !looks_random(view.slice(rest..probe)) {
        return None;
    }
    let end = view.without_dots(rest, body(view, rest, set, usize::MAX));
    Some(Finding {
        start,
        end,
        kind: "azure-client-secret",
    })
}
