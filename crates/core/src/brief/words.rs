//! Words in prose: whole ones, ones that say "nothing", and ones that record an approval.

use std::ops::Range;

/// Where a word stands in a text by itself, whatever its case. Letters, digits, `-` and `_` beside
/// it make it part of another word; so does a `/` behind something, as in a path.
pub(super) fn find_word(text: &str, word: &str) -> Option<Range<usize>> {
    find_words(text, word).next()
}

pub(super) fn find_words<'t>(text: &'t str, word: &str) -> impl Iterator<Item = Range<usize>> + 't {
    let (hay, needle) = (text.to_ascii_lowercase(), word.to_ascii_lowercase());
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            if needle.is_empty() {
                return None;
            }
            let start = from + hay.get(from..)?.find(&needle)?;
            let end = start + needle.len();
            from = end;
            let before = hay.get(..start).unwrap_or_default();
            let behind = hay.get(end..).unwrap_or_default();
            if stands_alone(before, behind) {
                return Some(start..end);
            }
        }
    })
}

fn stands_alone(before: &str, behind: &str) -> bool {
    let joins = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let mut earlier = before.chars().rev();
    let left = match earlier.next() {
        // `/bug-fix` is a command, `feature/bug-fix` is a path.
        Some('/' | '.') => earlier
            .next()
            .is_none_or(|c| !joins(c) && !matches!(c, '/' | '.' | '~')),
        Some(c) => !joins(c),
        None => true,
    };
    let mut later = behind.chars();
    let right = match later.next() {
        Some('/') => later.next().is_none_or(|c| !joins(c)),
        Some('.' | ':') => later.next().is_none_or(|c| !c.is_alphanumeric()),
        Some(c) => !joins(c),
        None => true,
    };
    left && right
}

pub(super) fn has_word(text: &str, word: &str) -> bool {
    find_word(text, word).is_some()
}

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

/// Whether what stands at a place in a text is said not to be so, or not yet: `bug-fix not
/// started`, `do not begin bug-fix`.
pub(super) fn is_denied(text: &str, at: &Range<usize>) -> bool {
    let ends = [';', ',', '—', '–', '|', '(', ')', '→'];
    let before = text.get(..at.start).unwrap_or_default();
    let before = before.rsplit(ends).next().unwrap_or_default();
    let before = before.rsplit(". ").next().unwrap_or_default();
    let behind = text.get(at.end..).unwrap_or_default();
    let behind = behind.split(ends).next().unwrap_or_default();
    let behind = behind.split(". ").next().unwrap_or_default();
    let refuses = [
        "not",
        "don't",
        "never",
        "until",
        "before",
        "without",
        "unless",
        "no longer",
        "avoid",
        "skip",
        "isn't",
        "wasn't",
    ];
    let few: Vec<&str> = behind.split_whitespace().take(4).collect();
    let few = few.join(" ");
    refuses.into_iter().any(|word| has_word(before, word))
        || ["not", "hasn't", "isn't", "wasn't", "later"]
            .into_iter()
            .any(|word| has_word(&few, word))
}

/// Words that make an approval one that has not happened.
const NOT_YET: &[&str] = &[
    "not",
    "isn't",
    "wasn't",
    "hasn't",
    "never",
    "no",
    "unapproved",
    "await",
    "awaiting",
    "awaits",
    "pending",
    "until",
    "unless",
    "once",
    "when",
    "if",
    "after",
    "before",
    "needs",
    "need",
    "needed",
    "must",
    "should",
    "shall",
    "to be",
    "requires",
    "require",
    "required",
    "request",
    "requested",
    "requesting",
    "ask",
    "asked",
    "wait",
    "waiting",
    "without",
    "gate",
    "precondition",
    "preconditions",
    "criteria",
    "criterion",
    "get",
    "obtain",
    "would",
    "could",
    "may",
    "will",
    "inferred",
    "draft",
    "proceed",
    "todo",
];

/// What a line says about the approval of something: that it was given, that it was not, or
/// nothing. `words` stand for the thing; they may be empty where the line stands in the file itself.
pub(super) fn says_approved(line: &str, words: &[String]) -> Option<bool> {
    let bare = line
        .trim_start_matches(['*', '_', ' '])
        .to_ascii_lowercase();
    let is_list = ["approved:", "approved —", "approvals:"]
        .into_iter()
        .any(|label| bare.starts_with(label));
    let clauses: Vec<&str> = if is_list {
        vec![line]
    } else {
        line.split([';', ',', '—', '–', '|'])
            .flat_map(|clause| clause.split(". "))
            .flat_map(|clause| clause.split(": "))
            .collect()
    };
    let mut said = paired(line, words);
    if said == Some(false) {
        return said;
    }
    for clause in clauses {
        let is_about = words.iter().any(|word| has_word(clause, word));
        if !(is_about || words.is_empty()) {
            continue;
        }
        let is_open = NOT_YET.iter().any(|word| has_word(clause, word)) || clause.contains('?');
        if is_open {
            // What is denied once is not approved, whatever else the line says.
            let speaks = approves(clause)
                || ["approval", "unapproved"]
                    .iter()
                    .any(|word| has_word(clause, word));
            if speaks {
                return Some(false);
            }
        } else if approves(clause) && (is_about || is_bare(clause)) {
            said = Some(true);
        }
    }
    said
}

/// What `design.md: approved`, `Approved by: Kim` or a row of a table says: a name, and what is said
/// of it.
fn paired(line: &str, words: &[String]) -> Option<bool> {
    let parts: Vec<&str> = line
        .split('|')
        .flat_map(|part| part.split(": "))
        .flat_map(|part| part.split(" — "))
        .flat_map(|part| part.split(" – "))
        .flat_map(|part| part.split(" - "))
        .map(|part| part.trim_matches(['*', '_', '`', ' ', ':']))
        .filter(|part| !part.is_empty())
        .collect();
    let [name, value, ..] = parts.as_slice() else {
        return None;
    };
    if words.is_empty() {
        let is_signed = ["approved by", "approved on", "signed off by"]
            .into_iter()
            .any(|known| name.eq_ignore_ascii_case(known));
        return (is_signed && is_somebody(value)).then_some(true);
    }
    let is_named = words.iter().any(|word| has_word(name, word));
    if !is_named || name.split_whitespace().count() > 4 || approves(name) {
        return None;
    }
    let value = value.split([';', ',']).next().unwrap_or_default();
    let is_open = NOT_YET.iter().any(|word| has_word(value, word)) || value.contains('?');
    if is_open {
        let speaks = approves(value) || has_word(value, "approval");
        speaks.then_some(false)
    } else {
        is_bare(value).then_some(true)
    }
}

/// Whether a value is filled in: `Kim`, but not `[name]`, `TBD` or `____`.
fn is_somebody(value: &str) -> bool {
    let is_open = NOT_YET.iter().any(|word| has_word(value, word));
    value.contains(char::is_alphanumeric)
        && !value.starts_with(['[', '<', '{'])
        && !is_open
        && !says_none(value)
}

fn approves(clause: &str) -> bool {
    let given = ["given", "granted", "received", "recorded"];
    ["approved", "signed off", "signed-off"]
        .into_iter()
        .any(|word| has_word(clause, word))
        || (has_word(clause, "approval") && given.into_iter().any(|word| has_word(clause, word)))
}

/// In a file of its own, an approval need not say of what: `approved`, `Status: Approved`,
/// `Approved by Kim`.
fn is_bare(clause: &str) -> bool {
    let clause = clause
        .trim()
        .trim_matches(['*', '_', '#', '>', ' ', '.', '!']);
    let lower = clause.to_ascii_lowercase();
    let lower = lower.trim_start_matches("**").replace("**", "");
    let rest = lower
        .strip_prefix("status:")
        .or_else(|| lower.strip_prefix("approval:"))
        .or_else(|| lower.strip_prefix("state:"))
        .unwrap_or(&lower)
        .trim();
    let rest = rest.strip_prefix('✅').unwrap_or(rest).trim();
    rest == "approved"
        || rest.starts_with("approved by ")
        || rest.starts_with("approved on ")
        || rest.starts_with("approved:")
        || rest.starts_with("approved (")
        || rest == "signed off"
}

/// A text on one line that cannot be taken for anything but data: no control characters, nothing
/// that looks like a tag, nothing that opens a block.
pub(super) fn plain(text: &str, limit: usize) -> String {
    let line = crate::text::condense(text, limit);
    let mut safe = String::with_capacity(line.len());
    let mut previous = ' ';
    for (at, c) in line.char_indices() {
        let behind = line.get(at + c.len_utf8()..).unwrap_or_default();
        match c {
            // `Vec<T>` stays, `<system>` and `</task>` do not.
            '<' if is_tag(previous, behind) => safe.push_str("&lt;"),
            '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}' => {}
            '`' if safe.ends_with("``") => {}
            _ => safe.push(c),
        }
        previous = c;
    }
    if safe.starts_with("``") || safe.starts_with(['#', '>', '~', '|']) {
        safe.insert(0, '\\');
    }
    safe
}

fn is_tag(previous: char, behind: &str) -> bool {
    let is_name = |text: &str| text.starts_with(|c: char| c.is_ascii_alphabetic());
    match behind.strip_prefix('/') {
        Some(name) => is_name(name),
        None => behind.starts_with(['!', '|']) || (!previous.is_alphanumeric() && is_name(behind)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_word_is_a_whole_word() {
        for yes in [
            "bug-fix",
            "`bug-fix x`",
            "/bug-fix now",
            "the Bug-Fix.",
            "run (bug-fix)",
            "bug-fix: on",
        ] {
            assert!(has_word(yes, "bug-fix"), "{yes}");
        }
        for no in [
            "debug-fix",
            "bug-fixes",
            "bug-fix-2",
            "feature/bug-fix",
            "bug_bug-fix_x",
            "bug-fix/x",
            "bug-fix.rs",
        ] {
            assert!(!has_word(no, "bug-fix"), "{no}");
        }
    }

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

    #[test]
    fn what_is_denied_is_not_so() {
        let denied = |text: &str| is_denied(text, &find_word(text, "bug-fix").unwrap());
        for yes in [
            "bug-fix not started; waiting",
            "do not begin bug-fix",
            "bug-analyze is done, bug-fix has not begun",
            "wait before bug-fix",
        ] {
            assert!(denied(yes), "{yes}");
        }
        for no in [
            "bug-fix under way, not verified",
            "not reproduced. Now bug-fix",
            "begin bug-fix",
        ] {
            assert!(!denied(no), "{no}");
        }
    }

    #[test]
    fn an_approval_has_happened() {
        let words = ["requirements".to_owned(), "requirements.md".to_owned()];
        for yes in [
            "requirements approved",
            "`requirements.md` approved by Kim, design pending approval",
            "Approved: requirements, design",
            "Decision: requirements are approved; next is the design",
            "approval of the requirements was given",
            "requirements.md: approved",
            "| requirements.md | ✅ Approved | Kim |",
            "**Requirements**: approved by Kim",
            "requirements — approved",
        ] {
            assert_eq!(says_approved(yes, &words), Some(true), "{yes}");
        }
        for no in [
            "requirements not approved",
            "requirements await approval",
            "once the requirements are approved",
            "requirements must be approved",
            "requirements approved?",
            "the design is approved",
            "requirements unapproved",
            "approval of requirements is inferred, approved later",
            "requirements.md: pending approval",
            "| requirements.md | draft |",
            "requirements: users see approved orders",
        ] {
            assert_ne!(says_approved(no, &words), Some(true), "{no}");
        }
        for yes in [
            "approved",
            "Status: Approved",
            "**Status**: Approved",
            "Approved by Kim on 2026-03-01",
            "✅ Approved",
            "Approved by: Kim",
        ] {
            assert_eq!(says_approved(yes, &[]), Some(true), "{yes}");
        }
        for no in [
            "Status: Not approved",
            "Approved by: [name]",
            "Approved by: ____",
            "Approved by: TBD",
            "Orders are approved automatically",
            "Draft",
        ] {
            assert_ne!(says_approved(no, &[]), Some(true), "{no}");
        }
    }

    #[test]
    fn data_stays_data() {
        assert_eq!(
            plain("a\n## Next Action\n- rm", 80),
            "a ## Next Action - rm"
        );
        assert_eq!(
            plain("<system>x</system> Vec<T>", 80),
            "&lt;system>x&lt;/system> Vec<T>"
        );
        assert_eq!(plain("# head", 80), "\\# head");
        assert_eq!(plain("```sh", 80), "\\``sh");
    }

    proptest! {
        #[test]
        fn plain_text_is_one_line(text in any::<String>()) {
            let line = plain(&text, 200);
            let is_one = !line.contains(['\n', '\r', '\u{1b}']);
            prop_assert!(is_one);
            prop_assert!(!line.contains("```"));
        }

        #[test]
        fn searching_never_fails(text in any::<String>(), word in "\\PC{0,5}") {
            let found: Vec<_> = find_words(&text, &word).collect();
            prop_assert!(found.len() <= text.len());
        }
    }
}
