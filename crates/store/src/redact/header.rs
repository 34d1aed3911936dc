//! Credentials in HTTP headers: `Authorization`, bare `Bearer …`, `Cookie` and `Set-Cookie`.
//! Headers named after a key (`X-Api-Key`, `PRIVATE-TOKEN`) are assignments like any other.

use super::Finding;
use super::bytes::{ALNUM, B64, B64ANY, BLANK, LETTER, QUOTE, Set, View};
use super::gap::Gap;
use super::literal::opening;
use super::rules;
use super::token::body;
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
    pair.then_some(Finding {
        start,
        end,
        kind: "basic-auth",
    })
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
    let probe = body(view, start, B64ANY, WINDOW);
    let value = view.slice(start..probe);
    let plain = without_slashes(value);
    let templated = view.at(probe).is_some_and(|byte| b"$<{([%".contains(&byte));
    let begins = value.first().is_some_and(u8::is_ascii_alphanumeric);
    if templated || !begins || plain.len() < 8 || strength(&plain, Written::Quoted) < enough {
        return None;
    }
    let end = view.without_dots(start, body(view, start, B64ANY, usize::MAX));
    let kind = rules::token_at(view, start).map_or(kind, |token| token.kind);
    Some(Finding { start, end, kind })
}

/// `Cookie: a=b; c=d`, whole, and the value of `Set-Cookie: a=b; Path=/`.
pub(super) fn cookie(view: View<'_>, at: usize, word: &str) -> Option<Finding> {
    let gap = Gap::after(view, at + word.len())?;
    let start = opening(view, gap.end).map_or(gap.end, |(start, _)| start);
    let setting = view.back(at, 1) == Some(b'-');
    let mut at = start;
    // Browsers send the cookies of access early. The bound keeps a text of headers linear.
    for _ in 0..12 {
        let cookie = Cookie::read(view, at)?;
        if cookie.gives_access(view) {
            let (start, part) = if setting {
                (cookie.value, Part::Cookie)
            } else {
                (start, Part::Header)
            };
            let end = until(view, start, LONGEST, part);
            return Some(Finding {
                start,
                end,
                kind: "cookie",
            });
        }
        if setting || view.at(cookie.end) != Some(b';') {
            return None;
        }
        at = view.run(cookie.end + 1, BLANK, 4);
    }
    None
}

/// Longer headers than servers accept are no headers.
const LONGEST: usize = 16 << 10;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Header,
    Cookie,
}

/// The end of the header's value, or of one cookie of it: the line and the quote end both.
fn until(view: View<'_>, start: usize, limit: usize, part: Part) -> usize {
    let bytes = view.slice(start..view.len().min(start + limit));
    let ends = |byte: &u8| match byte {
        b';' => part == Part::Cookie,
        // A bracket may be a marker's: what follows it has been looked at.
        b'[' | b'\\' => true,
        byte => !matches!(byte, b' '..=b'~') || QUOTE.has(*byte),
    };
    start + bytes.iter().position(ends).unwrap_or(bytes.len())
}

/// One cookie of a header.
struct Cookie<'t> {
    name: &'t [u8],
    value: usize,
    /// Or how far it is judged, when it is longer.
    end: usize,
}

impl<'t> Cookie<'t> {
    fn read(view: View<'t>, start: usize) -> Option<Self> {
        let name_end = view.run(start, ALNUM.and(Set::of(b"_-.$")), 64);
        if name_end == start || view.at(name_end) != Some(b'=') {
            return None;
        }
        let value = name_end + 1;
        let end = until(view, value, WINDOW, Part::Cookie);
        Some(Self {
            name: view.slice(start..name_end),
            value,
            end,
        })
    }

    fn gives_access(&self, view: View<'_>) -> bool {
        const SESSIONS: &str = "sess sid auth token jwt remember login";
        let text = view.slice(self.value..self.end);
        if text.len() < 8 || text.starts_with(b"=") {
            return false;
        }
        let named = |part: &str| {
            let mut windows = self.name.windows(part.len());
            windows.any(|window| window.eq_ignore_ascii_case(part.as_bytes()))
        };
        let session = SESSIONS.split(' ').any(named);
        let enough = if session {
            Strength::Mixed
        } else {
            Strength::Random
        };
        strength(&without_slashes(text), Written::Quoted) >= enough
    }
}

/// Base64 holds slashes, which the judge takes for paths.
fn without_slashes(text: &[u8]) -> Vec<u8> {
    text.iter().copied().filter(|byte| *byte != b'/').collect()
}
