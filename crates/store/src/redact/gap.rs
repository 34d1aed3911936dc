//! What separates a name from its value: signs, quotes, types, and other names.
//! Where the value ends is in `literal`.

use super::bytes::{ALNUM, BACKSLASH, BLANK, QUOTE, SPACE, Set, View};
use super::holds_marker;

/// What separates a key from its value.
pub(super) struct Gap {
    /// Where the value begins.
    pub(super) end: usize,
    pub(super) sign: Sign,
    /// Whether there is nothing but the sign.
    pub(super) tight: bool,
}

/// The sign in a gap, as far as it matters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Equals,
    Colon,
    Comma,
}

impl Gap {
    /// Reads the gap after a key that ends at `at`.
    pub(super) fn after(view: View<'_>, at: usize) -> Option<Self> {
        let closed = after_quote(view, at);
        let quoted = closed != at;
        // Markdown puts keys in bold: `**Token:** …`, `**Token**: …`.
        let bold = view.run(closed, Set::of(b"*"), 2);
        let before = view.run(bold, BLANK, 16);
        let (sign, length) = sign(view, before, quoted)?;
        let after = before + length;
        let mut end = view.run(view.run(after, Set::of(b"*"), 2), BLANK, 16);
        if sign == Sign::Comma && !view.at(end).is_some_and(|byte| QUOTE.has(byte)) {
            return None;
        }
        if sign == Sign::Colon {
            end = after_type(view, end).unwrap_or(end);
        }
        Some(Self {
            end,
            sign,
            tight: length == 1 && end - at == 1,
        })
    }
}

/// After the quote that closes a key, and the bracket of `env["KEY"]`.
fn after_quote(view: View<'_>, at: usize) -> usize {
    let slashes = view.run(at, BACKSLASH, 8);
    if !view.at(slashes).is_some_and(|byte| QUOTE.has(byte)) {
        return at;
    }
    view.run(slashes + 1, Set::of(b"]"), 1)
}

fn sign(view: View<'_>, at: usize, quoted: bool) -> Option<(Sign, usize)> {
    const SIGNS: &[(&str, Sign)] = &[
        ("===", Sign::Equals),
        ("==", Sign::Equals),
        ("=>", Sign::Equals),
        (":=", Sign::Equals),
        ("?=", Sign::Equals),
        ("=", Sign::Equals),
        (":", Sign::Colon),
        ("：", Sign::Colon),
        ("＝", Sign::Equals),
    ];
    if view.has(at, "::") || view.has(at, "=~") {
        return None;
    }
    if quoted && view.at(at) == Some(b',') {
        return Some((Sign::Comma, 1));
    }
    let (text, sign) = SIGNS.iter().find(|(text, _)| view.has(at, text))?;
    Some((*sign, text.len()))
}

/// After the type of `token: Option<&str> = "…"`.
fn after_type(view: View<'_>, at: usize) -> Option<usize> {
    let end = view.run(at, ALNUM.and(BLANK).and(Set::of(b"_&'<>[]|?,:.*")), 48);
    let typed = end > at
        && view.at(end) == Some(b'=')
        && !view.has(end, "=>")
        && !holds_marker(view.slice(at..end));
    let spaced = view.at(end - 1).is_some_and(|byte| BLANK.has(byte));
    (typed && spaced).then(|| view.run(end + 1, BLANK, 16))
}

/// The value beside a name: `name: KEY` and `value: …` of Kubernetes, forms and JSON.
pub(super) fn named_value(view: View<'_>, at: usize) -> Option<Gap> {
    let between = view.run(after_quote(view, at), SPACE.and(Set::of(b",;\"'\\")), 80);
    let value = view.has_any_case(between, "value") && between > at;
    let gap = if value {
        Gap::after(view, between + "value".len())
    } else {
        None
    };
    gap.filter(|gap| gap.sign != Sign::Comma)
}
