//! Claims of a line of prose: that there is nothing, that something waits, that something was
//! decided or is over.

use crate::vocabulary::{WORDS, has};

/// Returns true if a text says that there is nothing: `none`, `None.`, `n/a`, `—`, `none; all is
/// well`, `no open blockers`, or something struck out.
pub(crate) fn says_none(text: &str) -> bool {
    let text = text.trim().trim_matches(['*', '_', '`']).trim();
    let lower = text.to_lowercase();
    !lower.contains(char::is_alphanumeric)
        || is_struck_out(&lower)
        || begins_with(&WORDS.nothing, &lower, ends_clause)
        || lower.strip_prefix("no ").is_some_and(names_countable)
}

/// Returns true if a line among blockers is about one that is gone.
pub(crate) fn says_unblocked(text: &str) -> bool {
    WORDS.unblocked.begins(text)
}

/// Returns true if a text is struck out as a whole: `~~the old way~~`.
pub(crate) fn is_struck_out(text: &str) -> bool {
    let text = text.trim().trim_end_matches('.');
    text.strip_prefix("~~")
        .and_then(|text| text.strip_suffix("~~"))
        .is_some_and(|inside| !inside.contains("~~"))
}

/// Returns true if the rest of a clause adds nothing to `none` before it.
fn ends_clause(rest: &str) -> bool {
    let word = rest.trim_start();
    rest.is_empty()
        || rest.starts_with(['.', ';', ',', '!', ':'])
        || word.starts_with(['(', '—', '–', '-'])
        || (rest.len() > word.len() && begins_with(&WORDS.still_nothing, word, |_| true))
}

/// Returns true if a text begins with a word of a list and the rest has a property.
fn begins_with(list: &[String], text: &str, rest: impl Fn(&str) -> bool) -> bool {
    list.iter()
        .any(|word| text.strip_prefix(word.as_str()).is_some_and(&rest))
}

/// Recognises what follows `no`: `blockers`, `known open questions right now`.
fn names_countable(mut rest: &str) -> bool {
    loop {
        let end = rest
            .find(|c: char| !c.is_alphanumeric())
            .unwrap_or(rest.len());
        let (word, more) = rest.split_at(end);
        if has(&WORDS.countable, word) {
            return ends_clause(more);
        }
        if !has(&WORDS.kind_of, word) {
            return false;
        }
        rest = more.trim_start();
    }
}

/// Returns true if a line says that something waits. "Unblocked" does not, nor does "not blocked".
pub(crate) fn says_blocked(text: &str) -> bool {
    let is_label = WORDS.blocker_label.find(text).any(|(_, at)| {
        let rest = text.get(at.end..).unwrap_or_default();
        at.start <= 2 && rest.trim_start_matches(['*', '_']).starts_with(':')
    });
    is_label || (WORDS.blocked.is_in(text) && !WORDS.not_blocked.is_in(text))
}

/// Returns true if a line records a decision.
pub(crate) fn says_decided(text: &str) -> bool {
    WORDS.decided.is_in(text) || text.to_ascii_lowercase().starts_with("prefer ")
}

/// Returns true if a line says that something is over.
pub(crate) fn says_over(text: &str) -> bool {
    WORDS.over.is_in(text) && !WORDS.negation.is_in(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_said_in_many_ways() {
        for none in [
            "none",
            "None.",
            "none; all tests pass",
            "N/A",
            "—",
            "",
            "none yet (no CI)",
            "**none**",
            "no blockers.",
            "No known open questions right now",
            "unblocked",
            "~~the old server~~",
        ] {
            assert!(says_none(none), "{none}");
        }
        for some in [
            "none of the tests run on Windows",
            "nonetheless slow",
            "the migration",
            "no access to staging",
            "no tests on Windows",
            "no",
            "~~a~~ and ~~b~~",
        ] {
            assert!(!says_none(some), "{some}");
        }
    }

    #[test]
    fn unblocked_is_no_blocker() {
        for yes in [
            "BLOCKED: staging is down",
            "Blocked on the review",
            "**Blocker**: no key",
            "we are waiting for the migration",
        ] {
            assert!(says_blocked(yes), "{yes}");
        }
        for no in [
            "unblocked the deploy",
            "no longer blocked by the review",
            "not blocked on anything",
            "fixed the block layout",
        ] {
            assert!(!says_blocked(no), "{no}");
        }
        assert!(says_unblocked("Unblocked since the keys arrived"));
        assert!(says_unblocked("**Resolved**: the server is up"));
        assert!(!says_unblocked("the fixed header is blocked"));
    }
}
