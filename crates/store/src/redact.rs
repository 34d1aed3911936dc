//! Secrets are taken out of every text before the store writes it.
//! This is not a scanner of files or histories, and it never asks a vendor whether a key is live.
//!
//! A finding becomes `[redacted:KIND]` and its surroundings stay readable:
//! `password=[redacted:password]`, `https://user:[redacted:password]@host/`.
//!
//! The order of worries is specificity first. A digest that is wrongly blanked loses the agent's
//! memory for good, so commit hashes, digests, UUIDs, ids and paths pass untouched, and a value
//! without a vendor's prefix is taken only where a key, a header or a URL says what it is.
//!
//! ```text
//!   text ──► trigger ──────────► rules ──────────► shape of the one rule ──► finding
//!            three table loads    which prefixes    token, assignment, url,
//!            per byte             begin here        header, key block
//! ```
//!
//! There is no regular expression here: this runs in a process that lives for some milliseconds,
//! and compiling the patterns would take longer than everything else. All tables are built by the
//! compiler, and each shape reads a bounded distance before it either fails or consumes what it
//! read, which makes the whole linear.
//!
//! **Invariant:** `redact(redact(x)) == redact(x)`. A finding acts as a wall: no shape looks back
//! across it, no body contains `[`, and no value holding a marker is judged a secret, so a marker
//! in the text is read as the finding that it replaced. Text that held a secret is looked at again
//! until nothing more is found; ordinary text is looked at once.
//!
//! Deliberately not recognised: `-pVALUE` flags, prose ("the password is …"), values with blanks
//! in them, templates and placeholders (`${VAR}`, `<token>`, `xxxx`, `changeme`).

use std::borrow::Cow;

mod assign;
mod block;
mod bytes;
mod dud;
mod gap;
mod header;
mod key;
mod literal;
mod random;
mod rule;
mod rules;
#[cfg(test)]
mod tests;
mod token;
mod trigger;
mod url;
mod value;

use bytes::View;

/// `text` with every secret replaced by `[redacted:KIND]`; borrowed when there was none.
pub fn redact(text: &str) -> Cow<'_, str> {
    let Some(mut clean) = replaced(text) else {
        return Cow::Borrowed(text);
    };
    // Of eight million texts glued together from pieces of secrets a second look found more in
    // four, such as a session's cookie that ran into a key block.
    for _ in 0..LOOKS {
        match replaced(&clean) {
            Some(cleaner) => clean = cleaner,
            None => break,
        }
    }
    Cow::Owned(clean)
}

/// How often a text with secrets is looked at again.
const LOOKS: usize = 8;

/// One look at `text`; nothing when it holds no secret.
fn replaced(text: &str) -> Option<String> {
    let mut findings = Findings::new(text.as_bytes());
    let first = findings.next()?;
    let mut clean = String::with_capacity(text.len());
    let mut kept = 0;
    for finding in std::iter::once(first).chain(findings) {
        // Shapes end on ASCII bytes; rounding outwards keeps a mistake there from panicking.
        let start = text.floor_char_boundary(finding.start).max(kept);
        clean.push_str(text.get(kept..start).unwrap_or_default());
        clean.push_str(MARKER);
        clean.push_str(finding.kind);
        clean.push(']');
        kept = text.ceil_char_boundary(finding.end);
    }
    clean.push_str(text.get(kept..).unwrap_or_default());
    Some(clean)
}

/// [`redact`] for a caller that gives the text away: no copy when there was no secret.
pub fn redact_owned(text: String) -> String {
    let clean = match redact(&text) {
        Cow::Owned(clean) => Some(clean),
        Cow::Borrowed(_) => None,
    };
    clean.unwrap_or(text)
}

/// How a replacement begins; a kind of lowercase letters and dashes follows, then `]`.
const MARKER: &str = "[redacted:";

/// One secret: the bytes to replace and what they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Finding {
    start: usize,
    end: usize,
    kind: &'static str,
}

/// The secrets of a text, in order and without overlap.
struct Findings<'t> {
    view: View<'t>,
    at: usize,
}

impl<'t> Findings<'t> {
    fn new(text: &'t [u8]) -> Self {
        Self {
            view: View::new(text),
            at: 0,
        }
    }

    /// Moves on to `end` and lets nothing look back behind it.
    fn wall(&mut self, end: usize) {
        self.at = end;
        self.view = self.view.walled(end);
    }
}

impl Iterator for Findings<'_> {
    type Item = Finding;

    fn next(&mut self) -> Option<Finding> {
        while let Some(hit) = trigger::next(self.view, self.at) {
            if let Some(end) = marker(self.view, hit.at) {
                self.wall(end);
                continue;
            }
            if let Some(finding) = hit.rules().find_map(|rule| rule.find(self.view, hit.at)) {
                self.wall(finding.end);
                return Some(finding);
            }
            self.at = hit.at + 1;
        }
        None
    }
}

/// The end of the replacement that begins at `at`, if one does.
fn marker(view: View<'_>, at: usize) -> Option<usize> {
    if !view.has(at, MARKER) {
        return None;
    }
    let kind = at + MARKER.len();
    let end = view.run(kind, bytes::KIND, 32);
    (end > kind && view.at(end) == Some(b']')).then_some(end + 1)
}

/// Whether a replacement begins somewhere in `text`: then it has been looked at before.
fn holds_marker(text: &[u8]) -> bool {
    text.windows(MARKER.len())
        .any(|window| window == MARKER.as_bytes())
}
