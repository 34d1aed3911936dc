//! Command lines that show what was left out of a context. They work wherever there is a shell.

use flamestack_core::id::FrameId;

/// Returns the command that shows a frame and its children.
pub(super) fn details(frame: &FrameId) -> String {
    format!("flame show {frame}")
}

/// Returns the command that shows everything below a frame with its results.
pub(super) fn results_below(frame: &FrameId) -> String {
    format!("flame tree {frame} --all --details")
}

/// Returns the command that shows everything below a frame.
pub(super) fn below(frame: &FrameId) -> String {
    format!("flame tree {frame} --all")
}

/// Returns the command that lists everything left out of a frame's context.
pub(super) fn table(frame: &FrameId) -> String {
    format!("flame context -f {frame} --table")
}

/// Returns the command that shows the log of a frame.
pub(super) fn log(frame: &FrameId) -> String {
    format!("flame log {frame}")
}
