//! The results of frames that nobody gave results.
//!
//! This is the one place where results are made up from what was said.

use super::words::prose;
use crate::event::{Closing, Event, Results};
use crate::id::FrameId;
use crate::text::Prose;

/// How much of the model's last words is kept as results, in bytes.
pub(super) const LAST_WORDS: usize = 4000;

/// The results of what ended and said nothing.
pub(super) const WORDLESS: &str = "Ended without a word.";
/// The same, where the user stopped it.
const INTERRUPTED: &str = "Interrupted by the user.";

/// Whether results only say that there were no words to take them from.
pub fn is_wordless(results: &str) -> bool {
    matches!(results, WORDLESS | INTERRUPTED)
}

/// What came out of a turn, by the model's last words in it.
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

/// A text as results.
pub(super) fn as_is(full: Prose) -> Results {
    Results {
        full,
        compacted: None,
    }
}

/// A text of our own as results.
pub(super) fn plain(text: &str) -> Results {
    as_is(fixed(text))
}

/// The end of a frame below which nothing is open.
pub(super) fn completed(frame: FrameId, results: Results) -> Event {
    Event::FrameClosed {
        frame,
        outcome: Closing::Completed,
        results,
        cascaded: Vec::new(),
    }
}

fn fixed(text: &str) -> Prose {
    Prose::recorded(text.to_owned())
}
