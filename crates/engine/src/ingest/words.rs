//! Makes titles and texts from what the user and the model said.

use super::spoken::without_additions;
use flamestack_core::event::Goal;
use flamestack_core::text::{PROSE_LIMIT, condense};
use flamestack_core::{SessionRef, Text, Title};

/// Cuts a text to at most `limit` bytes; none if it is empty. The raw text keeps the rest.
pub(super) fn prose(text: &str, limit: usize) -> Option<Text> {
    let limit = limit.min(PROSE_LIMIT);
    let text = text.trim();
    if text.len() <= limit && !text.contains('\0') {
        return Text::new(text).ok();
    }
    let text = text.replace('\0', "");
    if text.len() <= limit {
        return Text::new(&text).ok();
    }
    let end = text.floor_char_boundary(limit.saturating_sub('…'.len_utf8()));
    let kept = text.get(..end).unwrap_or_default().trim_end();
    Text::new(&format!("{kept}…")).ok()
}

/// Makes a title from a text, without Markdown marks and without what a host added.
pub(super) fn title(text: &str, length: usize) -> Option<Title> {
    let plain = |line: &str| {
        let line = line.trim_start_matches(['#', '>', '*', '-', '=', '`', ' ', '\t']);
        line.trim_end_matches(['*', '`']).trim().replace('\0', "")
    };
    // One paragraph says what it is about; a heading alone often does not.
    let text = without_additions(text);
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

/// Returns the title of a session without any prompt.
pub(super) fn unnamed(session: &SessionRef) -> Title {
    let start: String = session.id().chars().take(12).collect();
    Title::recorded(format!("Session {start}"))
}

/// Makes a goal that has only a title.
pub(super) fn goal(title: Title) -> Goal {
    Goal {
        title,
        criteria: None,
        criteria_compacted: None,
    }
}
