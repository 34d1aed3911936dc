//! The tree as a Markdown list, for pull requests and notes.

use flamestack_core::Status;
use flamestack_core::frame::CLAIMED;

use super::one_line;
use super::tree::{FrameLine, TreeLine, TreeView};

/// Renders a tree as a nested list: a box for each frame, ticked if it is completed, with its criteria
/// and results below it.
pub fn list(view: &TreeView) -> String {
    let mut text = String::new();
    for line in &view.lines {
        if let TreeLine::Frame(line) = line {
            text.push_str(&item(line));
        }
    }
    text
}

fn item(line: &FrameLine) -> String {
    let frame = &line.row.frame;
    let indent = "  ".repeat(line.indent.depth);
    let tick = if frame.status == Status::Completed {
        'x'
    } else {
        ' '
    };
    let status = match frame.status {
        Status::Completed if line.row.standing().is_claimed => format!(" ({CLAIMED})"),
        Status::Completed | Status::Planned => String::new(),
        status => format!(" ({status})"),
    };
    let title = one_line(frame.title.as_str(), usize::MAX);
    let mut text = format!("{indent}- [{tick}] **{title}** `{}`{status}\n", frame.id);
    for (name, body) in [
        ("Done when", frame.criteria.as_ref()),
        ("Blocked", frame.blocked_on.as_ref()),
        ("Results", frame.results.as_ref()),
    ] {
        if let Some(body) = body {
            let body = one_line(body.as_str(), usize::MAX);
            text.push_str(&format!("{indent}  {name}: {body}\\\n"));
        }
    }
    // A line break is between two lines, not after the last one.
    if let Some(whole) = text.strip_suffix("\\\n") {
        text.truncate(whole.len());
        text.push('\n');
    }
    text
}
