//! What happens around a compaction: what a summariser is told, and what is put back that its
//! summary lost.
//!
//! A host's summary stands as it is. What it lost follows it in a block with a mark of its own, so
//! that the next summary is not made of what was restored.

use std::fmt::Write;

/// How the block of what was restored begins.
const START: &str = "<stack-restored";
/// How it ends.
const END: &str = "</stack-restored>";

/// What a summariser is told besides the host's own instructions: the recorded state, which it
/// need not find out by itself. It informs and grants nothing.
pub fn instructions(state: &str) -> String {
    format!(
        "Recorded state of this session. Where it bears on the work that goes on, the summary \
         keeps names, paths, commands and decisions of it word for word; what is finished or \
         cancelled is told as such.\n\n{}",
        state.trim_end()
    )
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

/// What was put back after a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restored<'a> {
    /// How often the session was compacted, this time included.
    pub count: u64,
    /// Whether the summary said nothing, so that this stands alone.
    pub alone: bool,
    /// How many anchors the summary had lost.
    pub lost: usize,
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
    if restored.lost > 0 {
        let _ = write!(whole, " lost=\"{}\"", restored.lost);
    }
    whole.push_str(">\n");
    if restored.alone {
        whole.push_str("The summary said nothing; this is what is recorded.\n\n");
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

#[cfg(test)]
mod tests {
    use super::*;

    fn restored(text: &str) -> Restored<'_> {
        Restored {
            count: 3,
            alone: false,
            lost: 2,
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
    fn empty_summaries_are_known_by_their_words() {
        for nothing in ["", "(none)", "## Objective\n- None.\n\n## Next\nn/a", "…\n"] {
            assert!(says_nothing(nothing), "{nothing}");
        }
        for something in ["none of the tests pass", "## Objective\n- Fix the login"] {
            assert!(!says_nothing(something), "{something}");
        }
    }
}
