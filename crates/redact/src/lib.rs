//! Takes secrets out of text before it is written.
//! This is not a scanner of files or histories, and it never asks a vendor whether a key is live.
//!
//! A finding becomes `[redacted:KIND]` and its surroundings stay readable:
//! `password=[redacted:password]`, `https://user:[redacted:password]@host/`.
//!
//! Specificity comes first. A digest that is wrongly blanked is lost to the agent's memory for
//! good, so commit hashes, digests, UUIDs, ids and paths pass untouched, and a value without an
//! issuer's prefix is taken only where a name, a header or a URL says what it is.
//!
//! The rules are a table, `data/rules.txt`, which `rules` searches a text for; those of the user
//! are in `custom`.
//! Names and their values are read in `assign`, and `value` judges whether what was found is a
//! secret or a placeholder.
//!
//! **Invariant:** `redact(redact(x)) == redact(x)`. Nothing reads back across a finding, and no value that contains a marker is judged a secret, so a marker in the text is
//! read as the finding that it replaced. Text that held a secret is searched again until nothing
//! more is found; ordinary text is searched once.
//!
//! Deliberately not recognised: `-pVALUE` flags of most programs, prose ("the password is …"), a
//! word where only a whole line or statement makes it a password, most values with blanks in them,
//! templates and placeholders (`${VAR}`, `<token>`, `xxxx`, `changeme`).

use std::borrow::Cow;
use std::ops::Range;

mod armour;
mod assign;
mod custom;
mod hidden;
mod literal;
mod rule;
mod rules;
#[cfg(test)]
mod tests;
mod value;
mod view;
mod wrapped;

use custom::Custom;
pub use custom::{BadRule, Redactor, UNNAMED};
use hidden::{Around, Scan};
use view::View;

/// Returns `text` with every secret that the built-in rules know replaced by `[redacted:KIND]`;
/// borrowed if there was none.
pub fn redact(text: &str) -> Cow<'_, str> {
    redact_with(text, None)
}

fn redact_with<'t>(text: &'t str, custom: Option<&Custom>) -> Cow<'t, str> {
    let mut clean = Cow::Borrowed(text);
    // Of eight million texts glued together from pieces of secrets a second search found more in
    // four, such as a session's cookie that ran into a key block.
    for _ in 0..SEARCHES {
        let Some(cleaner) = search(&clean, custom) else {
            break;
        };
        clean = Cow::Owned(cleaner);
    }
    clean
}

/// Maximum number of times that a text is searched.
const SEARCHES: usize = 9;

/// The beginning of a replacement; a kind of small letters, digits and dashes follows, then `]`.
const MARKER: &str = "[redacted:";

/// One secret: the bytes to replace and their kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Finding {
    start: usize,
    end: usize,
    kind: &'static str,
}

/// Searches `text` once. Returns nothing if it holds no secret.
fn search(text: &str, custom: Option<&Custom>) -> Option<String> {
    let mut scan = Scan::new(text);
    let mut secrets = find_all(text, custom, |at| scan.follow(at));
    let hidden = scan.finish();
    // A zero-width space or a colour inside a token hides it from every pattern, and from no
    // reader. What a reader sees comes first, as the text itself may hold a part that is enough.
    let parts = hidden::around(text, &hidden);
    let seen = parts
        .iter()
        .filter_map(|around| find_visible(text, around, custom));
    let seen: Vec<Finding> = seen.flatten().collect();
    if !seen.is_empty() {
        secrets = seen;
    }
    (!secrets.is_empty()).then(|| replace(text, &secrets))
}

/// Returns the secrets of a part of `text`, searched without what is invisible in it.
fn find_visible(text: &str, around: &Around<'_>, custom: Option<&Custom>) -> Option<Vec<Finding>> {
    let Around { part, hidden } = around;
    let mut visible = String::with_capacity(part.len());
    // Where the parts of `visible` begin, there and in `text`.
    let mut parts = vec![(0, part.start)];
    for Range { start, end } in *hidden {
        let (_, copied) = *parts.last()?;
        visible.push_str(text.get(copied..*start)?);
        parts.push((visible.len(), *end));
    }
    visible.push_str(text.get(parts.last()?.1..part.end)?);
    let place = |at: usize| {
        let part = parts.partition_point(|(start, _)| *start <= at);
        let (start, original) = parts
            .get(part.saturating_sub(1))
            .copied()
            .unwrap_or_default();
        original + (at - start)
    };
    let mut secrets = find_all(&visible, custom, |_| {});
    // What a cut may have shortened is found whole without it.
    secrets.retain(|secret| {
        let is_cut = secret.start == 0 && part.start > 0;
        !is_cut && (secret.end < visible.len() || part.end == text.len())
    });
    for secret in &mut secrets {
        secret.start = place(secret.start);
        secret.end = place(secret.end.saturating_sub(1)) + 1;
    }
    Some(secrets)
}

fn replace(text: &str, findings: &[Finding]) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut copied = 0;
    for finding in findings {
        // Findings end on ASCII bytes; rounding outwards keeps a mistake there from panicking.
        let start = text.floor_char_boundary(finding.start).max(copied);
        clean.push_str(text.get(copied..start).unwrap_or_default());
        clean.push_str(MARKER);
        clean.push_str(finding.kind);
        clean.push(']');
        copied = text.ceil_char_boundary(finding.end);
    }
    clean.push_str(text.get(copied..).unwrap_or_default());
    clean
}

/// Returns the secrets of one search, in order and without overlap. Reports how far it is.
fn find_all(text: &str, custom: Option<&Custom>, mut reach: impl FnMut(usize)) -> Vec<Finding> {
    let bytes = text.as_bytes();
    let mut view = View { bytes, floor: 0 };
    let (mut at, mut secrets) = (0, Vec::new());
    while let Some(place) = rules::next(bytes, at) {
        reach(place);
        let secret = rules::find(view, place);
        if let (Some(Finding { start, end, .. }), Some(custom)) = (secret, custom)
            && text
                .get(start..end)
                .is_some_and(|secret| custom.allows(secret))
        {
            at = end.max(place + 1);
            continue;
        }
        let wall = secret
            .map(|secret| secret.end)
            .or_else(|| marker(view, place));
        at = wall.unwrap_or(place + 1);
        view.floor = wall.unwrap_or(view.floor);
        secrets.extend(secret);
    }
    secrets
}

/// Returns the end of the replacement that begins at `at`, if one does.
fn marker(view: View<'_>, at: usize) -> Option<usize> {
    if !view.has(at, MARKER) {
        return None;
    }
    let kind = at + MARKER.len();
    let end = view.run(kind, LONGEST_KIND, is_kind_byte);
    (end > kind && view.at(end) == Some(b']')).then_some(end + 1)
}

/// Maximum length of a kind.
const LONGEST_KIND: usize = 32;

fn is_kind_byte(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-')
}

/// Returns true if `name` can be the kind of a replacement.
fn is_kind(name: &str) -> bool {
    (1..=LONGEST_KIND).contains(&name.len()) && name.bytes().all(is_kind_byte)
}
