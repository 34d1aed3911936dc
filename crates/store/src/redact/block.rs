//! Private keys in their armour: PEM of all makes, OpenSSH, PGP, `PuTTY`; whole or cut off.
//! Public keys and certificates are none of our business.

use super::bytes::{ALNUM, B64, BACKSLASH, BLANK, DIGIT, QUOTE, SPACE, Set, UPPER, View};
use super::random::looks_random;
use super::{Finding, holds_marker};

/// A line of a key has at least this much base64.
const LINE: usize = 24;

/// The largest key with its armour; RSA of 16384 bits takes 13 KB.
const LONGEST: usize = 64 << 10;

/// The key whose `-----BEGIN ` is at `at`.
pub(super) fn private_key(view: View<'_>, at: usize, trigger: &str) -> Option<Finding> {
    let label = at + trigger.len();
    let label_end = view.run(label, UPPER.and(DIGIT).and(Set::of(b" ")), 48);
    let private = view
        .slice(label..label_end)
        .windows(11)
        .any(|window| window == b"PRIVATE KEY");
    if !private || !view.has(label_end, "----") {
        return None;
    }
    let body = view.run(label_end, DASH, 8);
    let end = armoured(view, body).or_else(|| bare(view, body))?;
    Some(Finding {
        start: at,
        end,
        kind: "private-key",
    })
}

/// The private lines of a `PuTTY` key.
pub(super) fn putty(view: View<'_>, at: usize, trigger: &str) -> Option<Finding> {
    let count = view.run(at + trigger.len(), BLANK, 4);
    let body = view.run(count, DIGIT, 4);
    let start = view.run(body, SPACE, 4);
    if start == body {
        return None;
    }
    let end = bare(view, start)?;
    Some(Finding {
        start,
        end,
        kind: "private-key",
    })
}

const DASH: Set = Set::of(b"-");

/// The end of a key that is whole, whatever stands between its lines: numbers, margins, quotes.
fn armoured(view: View<'_>, body: usize) -> Option<usize> {
    let window = view.slice(body..view.len().min(body + LONGEST));
    // The next beginning means that this key was cut off before its end.
    let dashes = window.windows(9).position(|window| {
        matches!(
            window,
            b"-----END " | b"-----BEGI" | b"---- END " | b"---- BEGI"
        )
    })?;
    let end = body + dashes;
    let between = window.get(..dashes)?;
    let lines = between
        .split(|byte| !B64.has(*byte))
        .filter(|run| is_line(run));
    // Two markers in a text about keys have the text between them, not a key.
    let keyed = lines.map(<[u8]>::len).sum::<usize>() * 3 >= between.len().max(LINE);
    let begins = window.get(dashes + 5) == Some(&b'B');
    if !keyed || begins || holds_marker(between) {
        return None;
    }
    let label = view.run(end, DASH.and(Set::of(b" ")), 8);
    let label_end = view.run(label, UPPER.and(DIGIT).and(Set::of(b" ")), 48);
    Some(view.run(label_end, DASH, 5))
}

/// Whether `run` can be a line of a key; paths are as long.
fn is_line(run: &[u8]) -> bool {
    run.len() >= LINE && looks_random(run.get(..64).unwrap_or(run))
}

/// The end of a key that was cut off: as far as its lines go.
fn bare(view: View<'_>, body: usize) -> Option<usize> {
    let mut end = None;
    let mut at = between(view, body);
    for _ in 0..6 {
        // `Proc-Type: 4,ENCRYPTED`, `Version: GnuPG v2`.
        let name = view.run(at, ALNUM.and(DASH), 24);
        if name == at || view.at(name) != Some(b':') {
            break;
        }
        at = between(view, line_end(view, name)?);
    }
    loop {
        let run = view.run(at, B64, usize::MAX);
        let first = end.is_none();
        if run - at < LINE || first && !is_line(view.slice(at..run)) {
            // The last line is shorter; it must have a line to itself, or it is a word.
            let last = !first && run > at && ends_line(view, run);
            return if last { Some(run) } else { end };
        }
        end = Some(run);
        at = between(view, run);
    }
}

/// After what may stand between two lines: blanks, line ends as bytes or as escapes, quotes,
/// a line's number and margin.
fn between(view: View<'_>, at: usize) -> usize {
    let plain = SPACE.and(QUOTE).and(Set::of(b">|,"));
    let mut at = at;
    // Bounded, so that megabytes of margins after a header cost nothing each.
    for _ in 0..8 {
        let start = at;
        at = view.run(at, plain, 32);
        let slashes = view.run(at, BACKSLASH, 4);
        if slashes > at && matches!(view.at(slashes), Some(b'n' | b'r' | b't')) {
            at = slashes + 1;
        }
        let number = view.run(at, DIGIT, 6);
        let margin = ["|", "→", "\t"]
            .iter()
            .find(|margin| view.has(number, margin));
        if number > at
            && let Some(margin) = margin
        {
            at = number + margin.len();
        }
        if at == start {
            break;
        }
    }
    at
}

fn ends_line(view: View<'_>, at: usize) -> bool {
    let ends = |byte| byte < b' ' || byte == b'\\' || QUOTE.has(byte);
    view.at(at).is_none_or(ends) || view.has(at, "----")
}

/// The end of a header's line, if it has one near and nothing was redacted in it.
fn line_end(view: View<'_>, at: usize) -> Option<usize> {
    let rest = view.slice(at..view.len().min(at + 200));
    let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\\'))?;
    let clean = !holds_marker(rest.get(..end)?);
    clean.then_some(at + end)
}
