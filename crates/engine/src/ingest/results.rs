//! Results of derived frames, made from the model's last words.
//!
//! No other place makes up results.

use super::words::prose;
use flamestack_core::event::{Closing, Results};
use flamestack_core::session::life::ENDED_BY_ERROR;
use flamestack_core::{Event, FrameId, Text};

/// Maximum length of last words that are kept as results, in bytes.
pub(super) const LAST_WORDS: usize = 4000;

/// Results of a turn without last words.
pub(super) const WORDLESS: &str = "Ended without a word.";
/// The same, where the user interrupted it.
const INTERRUPTED: &str = "Interrupted by the user.";
/// The same, where the model neither said nor did anything.
const UNANSWERED: &str = "Ended without an answer.";
/// Makes the last words of a turn that an error ended.
pub(super) fn ended_by_error(why: &str) -> String {
    format!("{ENDED_BY_ERROR}{why}")
}

/// Returns true if the last words of a turn are those of an error.
pub(super) fn is_error(said: &str) -> bool {
    said.starts_with(ENDED_BY_ERROR)
}

/// Returns true if results only say that there were no last words.
pub(crate) fn is_wordless(results: &str) -> bool {
    matches!(results, WORDLESS | INTERRUPTED)
}

/// Makes the results of a turn in which the model neither said nor did anything.
pub(super) fn unanswered() -> Results {
    plain(UNANSWERED)
}

/// Makes the results of a turn from the model's last words in it.
pub(super) fn derived_results(said: Option<&str>, interrupted: bool) -> Results {
    let said = said.and_then(|said| prose(said, LAST_WORDS));
    let text = match (said, interrupted) {
        (Some(said), false) => said,
        (None, false) => fixed(WORDLESS),
        (None, true) => fixed(INTERRUPTED),
        (Some(said), true) => fixed(&format!("Interrupted by the user. Said last: {said}")),
    };
    as_is(text)
}

/// Wraps a text as results.
pub(super) fn as_is(full: Text) -> Results {
    Results {
        full,
        compacted: None,
    }
}

/// Wraps a fixed text as results.
pub(super) fn plain(text: &str) -> Results {
    as_is(fixed(text))
}

/// Closes a frame below which nothing is open.
pub(super) fn closed(frame: FrameId, outcome: Closing, results: Results) -> Event {
    Event::FrameClosed {
        frame,
        outcome,
        results,
        cascaded: Vec::new(),
    }
}

fn fixed(text: &str) -> Text {
    Text::recorded(text.to_owned())
}
