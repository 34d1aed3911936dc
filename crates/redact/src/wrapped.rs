//! JSON Web Tokens that a mail, a terminal or an editor wrapped over several lines.

use crate::Finding;
use crate::rule::Spot;
use crate::value::{is_varied, looks_random};
use crate::view::{View, is_blank, is_quote};

/// Shorter lines are not wrapped.
const NARROWEST: usize = 32;
/// Maximum length of a token that is read over its lines.
const LONGEST: usize = 2048;

/// Returns the token that begins at `spot` and continues on the next lines. One that ends on its
/// line is found by its row in the table.
///
/// All lines but the first and the last have the same width. The last line is taken if it looks
/// random: the few characters that are left of a signature may be a word of the next sentence.
pub(crate) fn jwt(spot: Spot<'_>, kind: &'static str) -> Option<Finding> {
    let Spot { view, at, .. } = spot;
    let mut end = view.run(at, LONGEST, is_token);
    if end - at < NARROWEST {
        return None;
    }
    let mut token = view.slice(at..end).to_vec();
    let mut width = None;
    while token.len() < LONGEST && !is_complete(&token) {
        let Some(line) = next_line(view, end) else {
            break;
        };
        let line_end = view.run(line, LONGEST, is_token);
        let text = view.slice(line..line_end);
        let ends = view
            .at(line_end)
            .is_none_or(|byte| byte < b' ' || is_quote(byte) || b"\\,;)]}<".contains(&byte));
        let is_next = text.starts_with(b"eyJ") && !token.ends_with(b".");
        let is_full = width.is_none_or(|width| width == text.len());
        let is_wider = width.is_some_and(|width| width < text.len());
        if !ends || is_next || is_wider || !looks_random(text) {
            break;
        }
        token.extend(text);
        end = line_end;
        width = Some(text.len());
        if !is_full {
            break;
        }
    }
    let dots = token.iter().rev().take_while(|byte| **byte == b'.').count();
    let end = end - dots;
    (width.is_some() && is_jwt(&token)).then_some(Finding {
        start: at,
        end,
        kind,
    })
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)
}

/// Returns the start of the text on the line after `at`, if that is the end of a line.
fn next_line(view: View<'_>, at: usize) -> Option<usize> {
    let breaks = ["\r\n", "\n", "\\r\\n", "\\n"];
    let mut breaks = breaks.into_iter();
    let line = at + breaks.find(|text| view.has(at, text))?.len();
    let quoted = view.run(line, 1, |byte| byte == b'>');
    Some(view.run(quoted, 64, is_blank))
}

/// Header and claims, or the five parts of an encrypted token.
fn is_jwt(token: &[u8]) -> bool {
    let mut parts = token.split(|byte| *byte == b'.').map(<[u8]>::len);
    parts.next().is_some_and(|header| header >= 10)
        && parts.next().is_some_and(|claims| claims >= 8)
        && parts.next().is_some()
        && is_varied(token.get(..256).unwrap_or(token))
}

/// Returns true if the signature has the length of one of the usual algorithms.
fn is_complete(token: &[u8]) -> bool {
    let parts = token.split(|byte| *byte == b'.').count();
    let last = token.rsplit(|byte| *byte == b'.').next();
    let length = last.map_or(0, <[u8]>::len);
    parts == 3 && [43, 64, 86, 128, 176, 342, 512, 683].contains(&length)
        || parts == 5 && length == 22
}
