//! Credentials in HTTP headers: `Authorization`, bare `Bearer …`, `Cookie` and `Set-Cookie`.
//! Headers named after a key (`X-Api-Key`, `PRIVATE-TOKEN`) are assignments like any other.

use super::Finding;
use super::assign::Gap;
use super::bytes::{ALNUM, B64, B64ANY, BLANK, LETTER, QUOTE, Set, View};
use super::literal::opening;
use super::rules;
use super::value::{Strength, WINDOW, Written, strength};

/// `Authorization: SCHEME CREDENTIALS`, in a header, in JSON, in code.
pub(super) fn authorization(view: View<'_>, at: usize, word: &str) -> Option<Finding> {
    if !view.edge(at, ALNUM) {
        return None;
    }
    let gap = Gap::after(view, at + word.len())?;
    let start = opening(view, gap.end).map_or(gap.end, |(start, _)| start);
    let scheme_end = view.run(start, LETTER.and(Set::of(b"-")), 16);
    let after = view.run(scheme_end, BLANK, 4);
    if after == scheme_end {
        return credentials(view, start, "authorization", Strength::Random);
    }
    match view.slice(start..scheme_end) {
        scheme if scheme.eq_ignore_ascii_case(b"basic") => basic(view, after),
        scheme if scheme.eq_ignore_ascii_case(b"bearer") => {
            credentials(view, after, "bearer-token", Strength::Mixed)
        }
        _ => credentials(view, after, "authorization", Strength::Random),
    }
}

/// `Bearer CREDENTIALS` without its header, where the credentials leave no doubt.
pub(super) fn bearer(view: View<'_>, at: usize, word: &str) -> Option<Finding> {
    let after = view.run(at + word.len(), BLANK, 4);
    if after == at + word.len() || !view.edge(at, ALNUM) {
        return None;
    }
    credentials(view, after, "bearer-token", Strength::Random)
}

/// `Basic` is followed by the base64 of a name and a password, or in prose by another word.
fn basic(view: View<'_>, start: usize) -> Option<Finding> {
    let end = view.run(start, B64, LONGEST);
    let text = view.slice(start..end);
    let pair = text.len() >= 8 && text.len().is_multiple_of(4) && decodes_to_pair(text);
    pair.then_some(Finding { start, end, kind: "basic-auth" })
}

/// Whether the base64 of `text` is printable and has a colon in it.
fn decodes_to_pair(text: &[u8]) -> bool {
    let digit = |byte: &u8| match *byte {
        byte @ b'A'..=b'Z' => u32::from(byte - b'A'),
        byte @ b'a'..=b'z' => u32::from(byte - b'a') + 26,
        byte @ b'0'..=b'9' => u32::from(byte - b'0') + 52,
        b'+' => 62,
        _ => 63,
    };
    let padding = text.iter().rev().take_while(|byte| **byte == b'=').count();
    let digits = text.get(..text.len() - padding).unwrap_or_default();
    let mut colon = false;
    let printable = digits.chunks(4).all(|chunk| {
        let bits = chunk.iter().fold(0, |bits, byte| bits << 6 | digit(byte));
        let bits = bits << (6 * (4 - chunk.len()));
        let [_, decoded @ ..] = bits.to_be_bytes();
        let decoded = decoded.iter().take(chunk.len().saturating_sub(1));
        colon |= decoded.clone().any(|byte| *byte == b':');
        decoded.clone().all(|byte| *byte >= b' ' && *byte != 0x7f)
    });
    printable && colon
}

fn credentials(
    view: View<'_>,
    start: usize,
    kind: &'static str,
    enough: Strength,
) -> Option<Finding> {
    let probe = view.run(start, B64ANY, WINDOW);
    let value = view.slice(start..probe);
    // A bearer's credentials may hold slashes; the judge takes those for paths.
    let plain: Vec<u8> = value.iter().copied().filter(|byte| *byte != b'/').collect();
    let templated = view.at(probe).is_some_and(|byte| b"$<{([%".contains(&byte));
    if templated || plain.len() < 8 || strength(&plain, Written::Quoted) < enough {
        return None;
    }
    let end = view.run(probe, B64ANY, usize::MAX);
    let dots = view.slice(start..end).iter().rev().take_while(|byte| **byte == b'.').count();
    let kind = rules::token_at(view, start).map_or(kind, |token| token.kind);
    Some(Finding { start, end: end - dots, kind })
}

/// `Cookie: a=b; c=d`, whole, and the value of `Set-Cookie: a=b; Path=/`.
pub(super) fn cookie(view: View<'_>, at: usize, word: &str) -> Option<Finding> {
    let gap = Gap::after(view, at + word.len())?;
    let start = opening(view, gap.end).map_or(gap.end, |(start, _)| start);
    if view.back(at, 1) == Some(b'-') {
        let value = access(view, start)?;
        return Some(Finding { start: value, end: until(view, start, LONGEST, true), kind: "cookie" });
    }
    let mut at = start;
    // Browsers send the cookies of access early. The bound keeps a text of headers linear.
    for _ in 0..12 {
        if access(view, at).is_some() {
            return Some(Finding { start, end: until(view, start, LONGEST, false), kind: "cookie" });
        }
        at = until(view, at, WINDOW, true);
        if view.at(at) != Some(b';') {
            return None;
        }
        at = view.run(at + 1, BLANK, 4);
    }
    None
}

/// Longer headers than servers accept are no headers.
const LONGEST: usize = 16 << 10;

/// The end of the header's value, or of one cookie of it: the line and the quote end both.
fn until(view: View<'_>, start: usize, limit: usize, one: bool) -> usize {
    let bytes = view.slice(start..view.len().min(start + limit));
    let ends = |byte: &u8| {
        !matches!(byte, b' '..=b'~') || *byte == b'\\' || QUOTE.has(*byte) || one && *byte == b';'
    };
    start + bytes.iter().position(ends).unwrap_or(bytes.len())
}

/// Where the value of the cookie at `start` begins, if the cookie gives access.
fn access(view: View<'_>, start: usize) -> Option<usize> {
    const SESSIONS: &[&[u8]] = &[b"sess", b"sid", b"auth", b"token", b"jwt", b"remember", b"login"];
    let name_end = view.run(start, ALNUM.and(Set::of(b"_-.$")), 64);
    if name_end == start || view.at(name_end) != Some(b'=') {
        return None;
    }
    let (name, value) = (view.slice(start..name_end), name_end + 1);
    let session = SESSIONS
        .iter()
        .any(|part| name.windows(part.len()).any(|window| window.eq_ignore_ascii_case(part)));
    let enough = if session { Strength::Mixed } else { Strength::Random };
    let text = view.slice(value..until(view, value, WINDOW, true));
    // Base64 holds slashes, which the judge takes for paths.
    let text: Vec<u8> = text.iter().copied().filter(|byte| *byte != b'/').collect();
    (text.len() >= 8 && strength(&text, Written::Quoted) >= enough).then_some(value)
}
