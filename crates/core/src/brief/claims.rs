//! What a line of prose claims: that there is nothing, that something waits, that something was
//! decided or is over.

use super::words::{find_word, has_word};

/// Whether a text says that there is nothing: `none`, `None.`, `n/a`, `—`, `none; all is well`, `no
/// open blockers`. What is struck out says nothing either.
pub(super) fn says_none(text: &str) -> bool {
    let text = text.trim().trim_matches(['*', '_', '`']).trim();
    let lower = text.to_lowercase();
    if !lower.contains(char::is_alphanumeric) || is_struck_out(&lower) {
        return true;
    }
    let nothing = [
        "none",
        "n/a",
        "na",
        "nil",
        "nothing",
        "not blocked",
        "unblocked",
        "tbd",
    ];
    nothing
        .into_iter()
        .any(|word| lower.strip_prefix(word).is_some_and(ends_clause))
        || has_no(&lower)
}

/// Whether what stands among blockers tells of one that is gone.
pub(super) fn says_unblocked(text: &str) -> bool {
    [
        "unblocked",
        "no longer blocked",
        "not blocked",
        "resolved",
        "cleared",
        "fixed",
    ]
    .into_iter()
    .any(|word| find_word(text, word).is_some_and(|at| at.start <= 2))
}

/// Whether a text is struck out as a whole: `~~the old way~~`.
pub(super) fn is_struck_out(text: &str) -> bool {
    let text = text.trim().trim_end_matches('.');
    text.strip_prefix("~~")
        .and_then(|text| text.strip_suffix("~~"))
        .is_some_and(|inside| !inside.contains("~~"))
}

/// Whether nothing of weight follows.
fn ends_clause(behind: &str) -> bool {
    let word = behind.trim_start();
    let adds = [
        "yet",
        "known",
        "so far",
        "recorded",
        "at ",
        "right now",
        "currently",
        "anymore",
        "left",
        "remaining",
        "for now",
        "today",
        "open",
        "pending",
    ];
    behind.is_empty()
        || behind.starts_with(['.', ';', ',', '!', ':'])
        || word.starts_with(['(', '—', '–', '-'])
        || (behind.len() > word.len() && adds.into_iter().any(|more| word.starts_with(more)))
}

/// `no blockers`, `no known open questions right now`.
fn has_no(lower: &str) -> bool {
    let Some(behind) = lower.strip_prefix("no ") else {
        return false;
    };
    let things = [
        "blocker",
        "blockers",
        "work",
        "tests",
        "tasks",
        "items",
        "questions",
        "decisions",
        "issues",
        "risks",
        "todos",
    ];
    let kinds = [
        "open",
        "known",
        "current",
        "active",
        "pending",
        "remaining",
        "outstanding",
        "further",
        "more",
        "new",
    ];
    let mut rest = behind;
    loop {
        let end = rest
            .find(|c: char| !c.is_alphanumeric())
            .unwrap_or(rest.len());
        let (word, more) = rest.split_at(end);
        if things.contains(&word) {
            return ends_clause(more);
        }
        if !kinds.contains(&word) {
            return false;
        }
        rest = more.trim_start();
    }
}

/// Whether a line says that something waits. "Unblocked" does not, nor does "not blocked".
pub(super) fn says_blocked(text: &str) -> bool {
    let is_label = ["blocked", "blocker", "blockers"].into_iter().any(|label| {
        find_word(text, label).is_some_and(|at| {
            at.start <= 2
                && text
                    .get(at.end..)
                    .is_some_and(|behind| behind.trim_start_matches(['*', '_']).starts_with(':'))
        })
    });
    let waits = [
        "blocked by",
        "blocked on",
        "is blocked",
        "still blocked",
        "waiting for",
        "waiting on",
    ];
    let denies = [
        "not blocked",
        "no longer",
        "never blocked",
        "unblocked",
        "was blocked",
        "no blocker",
        "no blockers",
    ];
    let says = |words: &[&str]| words.iter().any(|word| has_word(text, word));
    is_label || (says(&waits) && !says(&denies))
}

/// Whether a line records a decision.
pub(super) fn says_decided(text: &str) -> bool {
    ["decision", "decided", "chose", "chosen", "approved"]
        .into_iter()
        .any(|word| has_word(text, word))
        || text.to_ascii_lowercase().starts_with("prefer ")
}

/// Whether a line says that something is behind us.
pub(super) fn says_over(text: &str) -> bool {
    ["finished", "done", "complete", "completed", "passed", "ran"]
        .into_iter()
        .any(|word| has_word(text, word))
        && !denies(text)
}

fn denies(text: &str) -> bool {
    [
        "not", "never", "isn't", "hasn't", "wasn't", "until", "unless",
    ]
    .into_iter()
    .any(|word| has_word(text, word))
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
