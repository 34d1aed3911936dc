//! Texts around a compaction: instructions for the summariser, and the block that restores what its
//! summary lost.
//!
//! The host's summary stays as it is. What it lost follows in a `<stack-restored>` block, so that
//! the next summary can be made without it.

mod claims;

use std::collections::BTreeMap;

use flamestack_core::Outcome;
use flamestack_core::compaction::{Anchor, AnchorKind};
use flamestack_core::text::for_model;

pub use claims::claims;

/// Start of the block of restored text.
const START: &str = "<stack-restored";
/// End of that block.
const END: &str = "</stack-restored>";

/// Reason for a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SummaryPurpose<'a> {
    /// The prompt is too large; the work continues.
    Continue,
    /// A frame ends, and its parent gets the summary as its results.
    Complete {
        /// The frame's title.
        title: &'a str,
        /// Definition of "done".
        criteria: Option<&'a str>,
        /// Outcome with which it is popped.
        outcome: Outcome,
    },
    /// The user or the model asked for a checkpoint.
    Checkpoint {
        /// Reason, in their words.
        note: Option<&'a str>,
    },
}

/// Returns the text that is added to the host's own instructions for its summariser: the purpose and
/// the recorded state. It informs and grants nothing.
pub fn instructions(purpose: SummaryPurpose<'_>, state: &str) -> String {
    let line = |label: &str, text: Option<&str>| {
        text.map_or_else(String::new, |text| format!("{label}: {text}\n"))
    };
    let purpose = match purpose {
        SummaryPurpose::Continue => String::new(),
        SummaryPurpose::Complete {
            title,
            criteria,
            outcome,
        } => format!(
            "The frame “{title}” ends as {}. After everything else, the summary has four more \
             sections about this frame alone, for a reader who saw none of the work:\n\
             STATUS: completed, failed or blocked, and the evidence for it\n\
             SUMMARY: what was done or learned, measured against its goal\n\
             ARTIFACTS: files and other things that were made, one per line\n\
             DECISIONS: what was decided and why, one per line\n{}\n",
            outcome.status().label(),
            line("Its goal was", criteria)
        ),
        SummaryPurpose::Checkpoint { note } => format!(
            "This summary is a checkpoint: it describes the state of the work, what is done, what \
             is not, and how to resume it.\n{}\n",
            line("It was requested with these words", note)
        ),
    };
    let recorded = "Recorded state of this session. Where it matters to the remaining work, the \
        summary keeps its names, paths, commands and decisions verbatim; finished or cancelled work \
        is marked as such.";
    let state = for_model(state);
    match state.trim_end() {
        "" => purpose.trim_end().to_owned(),
        state => format!("{purpose}{recorded}\n\n{state}"),
    }
}

/// Returns the update for a session that is resumed after a pause: the state of its workflow.
pub fn resumption(state: &str) -> String {
    // The mark must end where we say, whatever the text quotes.
    let state = for_model(state);
    format!(
        "<stack-update after=\"resume\">\n{}\n</stack-update>",
        state.trim_end()
    )
}

/// Returns true if a summary is empty: only headings and "none".
pub fn says_nothing(summary: &str) -> bool {
    let mut lines = summary.lines().map(str::trim).filter(|line| {
        let is_heading = line.starts_with('#') || line.ends_with(':');
        !line.is_empty() && !is_heading
    });
    lines.all(is_empty_word)
}

/// Returns true if a line only says that there is nothing.
fn is_empty_word(line: &str) -> bool {
    let letters = line.chars().filter(|c| c.is_alphanumeric());
    let word: String = letters.flat_map(char::to_lowercase).collect();
    matches!(word.as_str(), "" | "none" | "na" | "nothing" | "empty")
}

/// Removes the blocks of restored text.
pub fn without_restored(text: &str) -> String {
    let mut rest = text;
    let mut kept = String::with_capacity(text.len());
    while let Some(start) = rest.find(START) {
        let (before, block) = rest.split_at(start);
        kept.push_str(before.trim_end());
        // A block without an end was cut off: everything after its start is ours.
        rest = block
            .find(END)
            .map_or("", |end| block.get(end + END.len()..).unwrap_or_default());
    }
    kept.push_str(rest);
    kept
}

/// Returns true if a text has a block of restored text.
pub fn has_restored(text: &str) -> bool {
    text.contains(START)
}

/// Origin of the summary that the restored text follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SummaryKind {
    /// The host's own.
    Host,
    /// The host's own, which is empty.
    Empty,
    /// None: the restored text replaces it.
    Replaced,
}

/// Text that is restored after a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restored<'a> {
    /// Number of compactions of the session, including this one.
    pub count: u64,
    /// Origin of the summary.
    pub summary: SummaryKind,
    /// Anchors that the summary lost.
    pub lost: &'a [Anchor],
    /// Id of the frame whose log has the whole history.
    pub log: Option<&'a str>,
    /// The text itself.
    pub text: &'a str,
}

/// Appends restored text to a summary.
pub fn with_restored(summary: &str, restored: &Restored<'_>) -> String {
    let said = match restored.summary {
        SummaryKind::Host if restored.lost.is_empty() => "This is recorded as well.".to_owned(),
        SummaryKind::Host => {
            let kinds = kinds(restored.lost);
            format!("The summary omitted what is recorded here: {kinds}.")
        }
        SummaryKind::Empty => "The summary was empty; this is what is recorded.".to_owned(),
        SummaryKind::Replaced => "This is what is recorded of it.".to_owned(),
    };
    let (count, times) = (restored.count, ordinal(restored.count));
    let lost = match restored.lost.len() {
        0 => String::new(),
        lost => format!(" lost=\"{lost}\""),
    };
    // The mark must end where we say, whatever the text quotes.
    let text = for_model(restored.text);
    let log = restored
        .log
        .map(|log| format!("\n\nEverything before: stack_recall {log}"));
    let block = format!(
        "{START} compaction=\"{count}\"{lost}>\n\
         The conversation was compacted ({times} time). {said}\n\n{}{}\n{END}",
        text.trim(),
        log.unwrap_or_default()
    );
    match summary.trim_end() {
        "" => block,
        summary => format!("{summary}\n\n{block}"),
    }
}

/// Lists the kinds of anchors with their numbers.
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
            summary: SummaryKind::Host,
            lost: lost().leak(),
            log: Some("k3f9x2mq"),
            text,
        }
    }

    #[test]
    fn restored_text_follows_the_summary() {
        insta::assert_snapshot!(
            with_restored("## Objective\n- Fix the login\n", &restored("Goal: fix the login\n")),
            @r#"
        ## Objective
        - Fix the login

        <stack-restored compaction="3" lost="2">
        The conversation was compacted (3rd time). The summary omitted what is recorded here: goal, directive.

        Goal: fix the login

        Everything before: stack_recall k3f9x2mq
        </stack-restored>
        "#
        );
    }

    #[test]
    fn earlier_restored_blocks_are_removed_whole() {
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
    fn instructions_name_the_purpose() {
        let complete = SummaryPurpose::Complete {
            title: "Fix the login",
            criteria: Some("no redirect loop"),
            outcome: Outcome::Completed,
        };
        insta::assert_snapshot!(instructions(complete, "State.\n"), @"
        The frame “Fix the login” ends as completed. After everything else, the summary has four more sections about this frame alone, for a reader who saw none of the work:
        STATUS: completed, failed or blocked, and the evidence for it
        SUMMARY: what was done or learned, measured against its goal
        ARTIFACTS: files and other things that were made, one per line
        DECISIONS: what was decided and why, one per line
        Its goal was: no redirect loop

        Recorded state of this session. Where it matters to the remaining work, the summary keeps its names, paths, commands and decisions verbatim; finished or cancelled work is marked as such.

        State.
        ");
        insta::assert_snapshot!(
            instructions(SummaryPurpose::Checkpoint { note: Some("before lunch") }, ""), @"
        This summary is a checkpoint: it describes the state of the work, what is done, what is not, and how to resume it.
        It was requested with these words: before lunch
        "
        );
        assert!(instructions(SummaryPurpose::Continue, "State.").starts_with("Recorded state"));
        assert_eq!(instructions(SummaryPurpose::Continue, " "), "");
    }

    #[test]
    fn empty_summaries_are_detected() {
        for nothing in ["", "(none)", "## Objective\n- None.\n\n## Next\nn/a", "…\n"] {
            assert!(says_nothing(nothing), "{nothing}");
        }
        for something in ["none of the tests pass", "## Objective\n- Fix the login"] {
            assert!(!says_nothing(something), "{something}");
        }
    }
}
