//! Steps that are the same in other words: a frame, a to-do item and a task of a file may all name one.

use std::collections::BTreeSet;

use flamestack_extract::lex::terms;

use crate::LineSource;
use crate::vocabulary::WORDS;

/// Number of words that a step shares with one that says more, to be the same.
const SHARED: usize = 3;

/// Returns true if two steps of different lists are the same. Those of one list never are: its author
/// tells them apart.
pub(crate) fn is_same_step(one: (&str, &LineSource), other: (&str, &LineSource)) -> bool {
    if is_one_list(one.1, other.1) {
        return false;
    }
    let (one, other) = (Step::of(one.0), Step::of(other.0));
    if one.numbers != other.numbers || one.is_denied != other.is_denied {
        return false;
    }
    let (less, more) = if one.words.len() <= other.words.len() {
        (one, other)
    } else {
        (other, one)
    };
    let is_part = less.words.is_subset(&more.words);
    is_part && (less.words.len() >= SHARED || !less.words.is_empty() && less.words == more.words)
}

fn is_one_list(one: &LineSource, other: &LineSource) -> bool {
    match (one, other) {
        (LineSource::File { path: one, .. }, LineSource::File { path: other, .. }) => one == other,
        (one, other) => one.kind() == other.kind(),
    }
}

/// The words of a step that say what is to be done.
struct Step {
    words: BTreeSet<String>,
    /// Numbers within the text: the third phase is not the second.
    numbers: BTreeSet<String>,
    is_denied: bool,
}

impl Step {
    fn of(text: &str) -> Self {
        let text = text.split(" — done when: ").next().unwrap_or(text);
        let text = without_number(text);
        // `(Batch 1)` is the heading that a task is below.
        let text = match text.rsplit_once(" (") {
            Some((task, note)) if note.ends_with(')') && !task.is_empty() => task,
            _ => text,
        };
        let mut words: BTreeSet<String> = terms(text).into_iter().collect();
        for verb in terms(&WORDS.doing.join(" ")) {
            words.remove(&verb);
        }
        let numbers = text.split(|c: char| !c.is_ascii_digit());
        let numbers = numbers.filter(|number| !number.is_empty());
        Self {
            words,
            numbers: numbers.map(str::to_owned).collect(),
            is_denied: WORDS.negation.is_in(text),
        }
    }
}

/// Returns a step without the number of its place in a list: `2 — Login form`, `2.1. Login form`.
fn without_number(text: &str) -> &str {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let bare = rest.trim_start().trim_start_matches(['—', '-', ')', ':']);
    if rest.len() < text.len() && bare.len() < text.len() {
        bare.trim_start()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn todo() -> LineSource {
        LineSource::Todo(1)
    }

    fn file(path: &str) -> LineSource {
        LineSource::File {
            path: path.to_owned(),
            line: None,
        }
    }

    #[test]
    fn a_step_in_other_words_is_the_same() {
        for (one, other) in [
            (
                "Migrate the callers of validateSession()",
                "migrate remaining callers of the old `validateSession()` to the new utility.",
            ),
            ("Build the login form", "2 — Login form (Batch 1)"),
            (
                "Write integration tests for the token validator",
                "Integration tests of token validator — done when: all pass",
            ),
        ] {
            assert!(
                is_same_step((one, &todo()), (other, &file("a.md"))),
                "{one}"
            );
        }
    }

    #[test]
    fn other_steps_are_kept() {
        for (one, other) in [
            ("Write tests for the login", "Write tests for the logout"),
            (
                "Phase 2 of the parser migration",
                "Phase 3 of the parser migration",
            ),
            ("Login tests", "Login tests for expired tokens"),
            (
                "Remove the old session cookie",
                "Do not remove the old session cookie",
            ),
            ("続ける", "やめる"),
        ] {
            assert!(
                !is_same_step((one, &todo()), (other, &file("a.md"))),
                "{one}"
            );
        }
        // Of one list, both are meant.
        let same = ("Build the login form", "Login form");
        assert!(!is_same_step((same.0, &todo()), (same.1, &todo())));
        assert!(!is_same_step(
            (same.0, &file("a.md")),
            (same.1, &file("a.md"))
        ));
        assert!(is_same_step(
            (same.0, &file("b.md")),
            (same.1, &file("a.md"))
        ));
    }
}
