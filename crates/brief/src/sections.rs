//! Writers of a brief's lines, one file for each source or section.
//!
//! To add a section, add a [`Heading`](crate::Heading), a file here with a `write` function, and a call
//! below. Lines appear within a section in the order of the calls.

mod approvals;
mod artifacts;
mod findings;
mod frames;
mod gate;
mod git;
mod log;
mod progress;
mod stage;
mod tasks;
mod todos;

use crate::choice::Choice;
use crate::draft::Draft;
use crate::facts::Facts;
use crate::{Heading, LineSource, Mode};

/// Status of a session that plans and reads only.
pub(crate) const READ_ONLY: &str = "mode: plan (read-only)";
/// Number of finished steps of a work item that are shown, latest ones.
const DONE: usize = 4;
/// Number of steps ahead that are shown.
const TO_DO: usize = 6;
/// Number of planned frames that are shown.
const REMAINING: usize = 16;
/// Number of lines that frames, todos, the log or git add to a section.
const SHOWN: usize = 6;

/// Writes all lines of a brief.
pub(crate) fn write(draft: &mut Draft, facts: &Facts<'_>, choice: &Choice<'_>) {
    if facts.sources.mode == Mode::ReadOnly {
        draft.vital(Heading::Status, READ_ONLY, LineSource::Host);
    }
    frames::write(draft, facts);
    todos::write(draft, facts);
    if let Some(active) = &choice.active {
        stage::write(draft, facts, active);
        tasks::write(draft, active);
        artifacts::write(draft, active);
        progress::write(draft, active);
        approvals::write(draft, facts, active);
        findings::write(draft, active);
        gate::write(draft, active);
    }
    if let Some((text, source)) = &choice.remark {
        draft.useful(Heading::Status, text, source.clone());
    }
    log::write(draft, facts, choice.active.is_some());
    frames::write_fallback(draft, facts);
    git::write(draft, facts);
}
