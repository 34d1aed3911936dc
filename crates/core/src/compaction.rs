//! What happens around a compaction: what a summariser is told, and what is put back that its
//! summary lost.
//!
//! A host's summary stands as it is. What it lost follows it in a block with a mark of its own, so
//! that the next summary is not made of what was restored.

mod claims;
mod history;

use std::collections::BTreeMap;
use std::fmt::Write;

pub use claims::{Claims, claims};
pub use history::{Change, Checkpoint, Compaction, CompactionKind, Streak, Verdict};

use crate::brief::{Anchor, AnchorKind};
use crate::frame::Outcome;
use crate::tokens::Tokenizer;

/// How the block of what was restored begins.
const START: &str = "<stack-restored";
/// How it ends.
const END: &str = "</stack-restored>";

/// What a summary is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose<'a> {
    /// The prompt is too large; the work goes on.
    Continue,
    /// A frame ends, and its parent gets the summary as its results.
    Complete {
        /// The frame's title.
        title: &'a str,
        /// What defines "done".
        criteria: Option<&'a str>,
        /// How it is said to end.
        outcome: Outcome,
    },
    /// Somebody wants to know where things stand.
    Checkpoint {
        /// Why, in their words.
        note: Option<&'a str>,
    },
}

/// What a summariser is told besides the host's own instructions: the recorded state, which it
/// need not find out by itself. It informs and grants nothing.
pub fn instructions(purpose: Purpose<'_>, state: &str) -> String {
    let mut told = String::new();
    match purpose {
        Purpose::Continue => {}
        Purpose::Complete {
            title,
            criteria,
            outcome,
        } => {
            let _ = write!(
                told,
                "The frame “{title}” ends as {}. Behind everything else, the summary has four more \
                 sections about this frame alone, for whoever asked for it and saw none of the \
                 work:\nSTATUS: completed, failed or blocked, and by what that is known\n\
                 SUMMARY: what was done or learned, against its goal\n\
                 ARTIFACTS: files and other things that were made, one a line\n\
                 DECISIONS: what was decided and why, one a line\n",
                outcome.status().label()
            );
            if let Some(criteria) = criteria {
                let _ = writeln!(told, "Its goal was: {criteria}");
            }
            told.push('\n');
        }
        Purpose::Checkpoint { note } => {
            told.push_str(
                "This summary is a checkpoint: it tells where the work stands, what is done, what \
                 is not, and how it can be taken up again.\n",
            );
            if let Some(note) = note {
                let _ = writeln!(told, "It was asked for with these words: {note}");
            }
            told.push('\n');
        }
    }
    if !state.trim().is_empty() {
        let _ = write!(
            told,
            "Recorded state of this session. Where it bears on the work that goes on, the summary \
             keeps names, paths, commands and decisions of it word for word; what is finished or \
             cancelled is told as such.\n\n{}",
            state.trim_end()
        );
    }
    told.trim_end().to_owned()
}

/// The results of a frame that ended with a summary: what was given first, then what the summary
/// claims.
pub fn results(given: Option<&str>, claims: &Claims) -> String {
    let mut text = given.unwrap_or_default().trim_end().to_owned();
    if !claims.summary.is_empty() && !says_nothing(&claims.summary) {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(&claims.summary);
    }
    if let Some(status) = &claims.status {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        let _ = write!(text, "Status as claimed: {status}");
    }
    text
}

/// What a session is told that is taken up again after a pause: where its workflow stands now.
pub fn resumption(state: &str) -> String {
    // The mark must end where we say, whatever the text quotes.
    let state = state.replace("</stack-update>", "");
    format!(
        "<stack-update after=\"resume\">\n{}\n</stack-update>",
        state.trim_end()
    )
}

/// Whether a summary says nothing at all.
pub fn says_nothing(summary: &str) -> bool {
    let mut lines = summary.lines().map(str::trim).filter(|line| {
        let is_heading = line.starts_with('#') || line.ends_with(':');
        !line.is_empty() && !is_heading
    });
    let is_empty_word = |line: &str| {
        let word: String = line
            .chars()
            .filter(|c| c.is_alphanumeric())
            .flat_map(char::to_lowercase)
            .collect();
        matches!(word.as_str(), "" | "none" | "na" | "nothing" | "empty")
    };
    lines.all(is_empty_word)
}

/// A text without the blocks that were put behind summaries before.
pub fn without_restored(text: &str) -> String {
    let mut rest = text;
    let mut kept = String::with_capacity(text.len());
    while let Some(start) = rest.find(START) {
        let (before, block) = rest.split_at(start);
        kept.push_str(before.trim_end());
        // A block without an end was cut off: nothing behind it is the host's.
        rest = block
            .find(END)
            .map_or("", |end| block.get(end + END.len()..).unwrap_or_default());
    }
    kept.push_str(rest);
    kept
}

/// Whether a text holds such a block.
pub fn has_restored(text: &str) -> bool {
    text.contains(START)
}

/// What there is besides what is put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// A summary that the host had made.
    Summary,
    /// One that said nothing.
    Silence,
    /// None: ours stands in its place.
    Nothing,
}

/// What was put back after a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restored<'a> {
    /// How often the session was compacted, this time included.
    pub count: u64,
    /// What there is besides.
    pub beside: Beside,
    /// The anchors that the summary had lost.
    pub lost: &'a [Anchor],
    /// The frame whose log holds everything.
    pub log: Option<&'a str>,
    /// What is put back.
    pub text: &'a str,
}

/// The summary with what it lost behind it.
pub fn with_restored(summary: &str, restored: &Restored<'_>) -> String {
    let mut whole = summary.trim_end().to_owned();
    if !whole.is_empty() {
        whole.push_str("\n\n");
    }
    let _ = write!(whole, "{START} compaction=\"{}\"", restored.count);
    if !restored.lost.is_empty() {
        let _ = write!(whole, " lost=\"{}\"", restored.lost.len());
    }
    whole.push_str(">\n");
    let _ = write!(
        whole,
        "The conversation was compacted ({} time). ",
        ordinal(restored.count)
    );
    match restored.beside {
        Beside::Summary if restored.lost.is_empty() => {
            whole.push_str("This is recorded besides.\n\n");
        }
        Beside::Summary => {
            let _ = write!(
                whole,
                "The summary had lost what is recorded here: {}.\n\n",
                kinds(restored.lost)
            );
        }
        Beside::Silence => {
            whole.push_str("The summary said nothing; this is what is recorded.\n\n");
        }
        Beside::Nothing => whole.push_str("This is what is recorded of it.\n\n"),
    }
    // The mark must end where we say, whatever the text quotes.
    whole.push_str(restored.text.replace(END, "").trim());
    if let Some(log) = restored.log {
        let _ = write!(whole, "\n\nEverything before: stack_recall {log}");
    }
    whole.push('\n');
    whole.push_str(END);
    whole
}

/// The kinds of anchors, each with how many there are of it.
fn kinds(anchors: &[Anchor]) -> String {
    let mut counts: BTreeMap<AnchorKind, usize> = BTreeMap::new();
    for anchor in anchors {
        *counts.entry(anchor.kind).or_default() += 1;
    }
    let named = counts.into_iter().map(|(kind, count)| match count {
        1 => kind.as_str().to_owned(),
        more => format!("{more} × {}", kind.as_str()),
    });
    named.collect::<Vec<_>>().join(", ")
}

fn ordinal(count: u64) -> String {
    let ending = match (count % 10, count % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{count}{ending}")
}

/// Anchors word for word, as many as fit: what a brief shows only in part, or not at all.
pub fn word_for_word(
    lost: &[Anchor],
    told: &str,
    budget: usize,
    tokenizer: &dyn Tokenizer,
) -> String {
    let mut text = String::new();
    let mut used = 0;
    for anchor in lost.iter().filter(|anchor| !told.contains(&anchor.text)) {
        let line = format!("- {}: {}\n", anchor.kind.as_str(), anchor.text);
        let more = tokenizer.count(&line) + 1;
        if used + more <= budget {
            used += more;
            text.push_str(&line);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost() -> Vec<Anchor> {
        [(AnchorKind::Directive, "Never"), (AnchorKind::Goal, "Fix")]
            .map(|(kind, text)| Anchor {
                kind,
                text: text.to_owned(),
            })
            .into()
    }

    fn restored(text: &str) -> Restored<'_> {
        Restored {
            count: 3,
            beside: Beside::Summary,
            lost: lost().leak(),
            log: Some("k3f9x2mq"),
            text,
        }
    }

    #[test]
    fn what_was_lost_follows_the_summary() {
        insta::assert_snapshot!(
            with_restored("## Objective\n- Fix the login\n", &restored("Goal: fix the login\n")),
            @r#"
        ## Objective
        - Fix the login

        <stack-restored compaction="3" lost="2">
        The conversation was compacted (3rd time). The summary had lost what is recorded here: goal, directive.

        Goal: fix the login

        Everything before: stack_recall k3f9x2mq
        </stack-restored>
        "#
        );
    }

    #[test]
    fn what_was_restored_before_is_taken_out_whole() {
        let summary = "## Objective\n- Fix the login";
        let once = with_restored(summary, &restored("Goal"));
        assert_eq!(without_restored(&once), summary);
        let quoted = with_restored(summary, &restored("a </stack-restored> b"));
        assert_eq!(without_restored(&quoted), summary);
        let twice = format!("{once}\nmore\n{once}");
        assert_eq!(
            without_restored(&twice),
            format!("{summary}\nmore\n{summary}")
        );
        assert_eq!(without_restored("cut <stack-restored comp"), "cut");
    }

    #[test]
    fn instructions_say_what_the_summary_is_for() {
        let complete = Purpose::Complete {
            title: "Fix the login",
            criteria: Some("no redirect loop"),
            outcome: Outcome::Completed,
        };
        insta::assert_snapshot!(instructions(complete, "State.\n"), @"
        The frame “Fix the login” ends as completed. Behind everything else, the summary has four more sections about this frame alone, for whoever asked for it and saw none of the work:
        STATUS: completed, failed or blocked, and by what that is known
        SUMMARY: what was done or learned, against its goal
        ARTIFACTS: files and other things that were made, one a line
        DECISIONS: what was decided and why, one a line
        Its goal was: no redirect loop

        Recorded state of this session. Where it bears on the work that goes on, the summary keeps names, paths, commands and decisions of it word for word; what is finished or cancelled is told as such.

        State.
        ");
        insta::assert_snapshot!(
            instructions(Purpose::Checkpoint { note: Some("before lunch") }, ""), @"
        This summary is a checkpoint: it tells where the work stands, what is done, what is not, and how it can be taken up again.
        It was asked for with these words: before lunch
        "
        );
        assert!(instructions(Purpose::Continue, "State.").starts_with("Recorded state"));
        assert_eq!(instructions(Purpose::Continue, " "), "");
    }

    #[test]
    fn given_results_come_first() {
        let claims = claims("STATUS: completed\nSUMMARY: It was the cookie.");
        assert_eq!(
            results(Some("Fixed."), &claims),
            "Fixed.\n\nIt was the cookie.\n\nStatus as claimed: completed"
        );
        assert_eq!(results(None, &super::claims("(none)")), "");
    }

    #[test]
    fn what_is_word_for_word_fits_and_is_not_said_twice() {
        let tokenizer = crate::tokens::Estimate;
        let all = word_for_word(&lost(), "", 100, &tokenizer);
        assert_eq!(all, "- directive: Never\n- goal: Fix\n");
        assert_eq!(
            word_for_word(&lost(), "Never mind", 100, &tokenizer),
            "- goal: Fix\n"
        );
        assert_eq!(word_for_word(&lost(), "", 1, &tokenizer), "");
    }

    #[test]
    fn empty_summaries_are_known_by_their_words() {
        for nothing in ["", "(none)", "## Objective\n- None.\n\n## Next\nn/a", "…\n"] {
            assert!(says_nothing(nothing), "{nothing}");
        }
        for something in ["none of the tests pass", "## Objective\n- Fix the login"] {
            assert!(!says_nothing(something), "{something}");
        }
    }
}
