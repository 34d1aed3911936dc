//! Words that were said, made fit for titles and texts.

use crate::event::Goal;
use crate::id::SessionRef;
use crate::text::{PROSE_LIMIT, Prose, Title, condense};

/// A text of at most `limit` bytes, unless nothing is left of it. What is cut off stays in the raw
/// text.
pub(super) fn prose(text: &str, limit: usize) -> Option<Prose> {
    let limit = limit.min(PROSE_LIMIT);
    let text = text.trim();
    if text.len() <= limit && !text.contains('\0') {
        return Prose::new(text).ok();
    }
    let text = text.replace('\0', "");
    if text.len() <= limit {
        return Prose::new(&text).ok();
    }
    let end = text.floor_char_boundary(limit.saturating_sub('…'.len_utf8()));
    let kept = text.get(..end).unwrap_or_default().trim_end();
    Prose::new(&format!("{kept}…")).ok()
}

/// A title out of what somebody said, without the marks that only shape it.
pub(super) fn title(text: &str, length: usize) -> Option<Title> {
    let plain = |line: &str| {
        let line = line.trim_start_matches(['#', '>', '*', '-', '=', '`', ' ', '\t']);
        line.trim_end_matches(['*', '`']).trim().replace('\0', "")
    };
    // One paragraph says what it is about; a heading alone often does not.
    let lines = text.lines().map(plain).filter(|line| !line.is_empty());
    let mut said = String::new();
    for line in lines {
        if !said.is_empty() {
            said.push(' ');
        }
        said.push_str(&line);
        if said.chars().count() >= length {
            break;
        }
    }
    Title::new(&condense(&said, length)).ok()
}

/// The title of a session of which nobody has said yet what it is about.
pub(super) fn unnamed(session: &SessionRef) -> Title {
    let start: String = session.id().chars().take(12).collect();
    Title::recorded(format!("Session {start}"))
}

/// A goal of which only the title is known.
pub(super) fn goal(title: Title) -> Goal {
    Goal {
        title,
        criteria: None,
        criteria_compacted: None,
    }
}
