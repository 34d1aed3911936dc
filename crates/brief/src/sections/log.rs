//! The newest entry of the session log.

use super::SHOWN;
use crate::Heading;
use crate::document::Line;
use crate::draft::{Draft, Rank};
use crate::facts::Facts;
use crate::fields::Field;
use crate::session_log::Entry;

/// Fields that are shown with all their lines, in order.
const SHOWN_FIELDS: [Field; 5] = [
    Field::OpenWork,
    Field::Next,
    Field::PendingTests,
    Field::Decisions,
    Field::Blockers,
];

pub(super) fn write(draft: &mut Draft, facts: &Facts<'_>, has_workflow: bool) {
    let Some(entry) = facts.newest_entry() else {
        return;
    };
    write_goal_and_status(draft, entry);
    let done = entry.all(Field::Completed).map(Line::sourced);
    draft.add_last((Heading::Completed, Rank::Extra), SHOWN, done);
    for field in SHOWN_FIELDS {
        for line in entry.all(field) {
            draft.add_field(field, line);
        }
    }
    for line in entry.all(Field::Files) {
        for path in paths(&line.text) {
            draft.useful(Heading::ActiveFiles, path, line.source());
        }
    }
    for line in &entry.lines {
        for path in quoted(&line.text).filter(|path| is_path(path)) {
            draft.extra(Heading::ActiveFiles, path, line.source());
        }
    }
    // A workflow has a section for questions.
    for line in entry.all(Field::Questions).filter(|_| !has_workflow) {
        let text = format!("Open question: {}", line.text);
        draft.useful(Heading::Blockers, &text, line.source());
    }
    let mut next = entry.all(Field::Next).chain(entry.all(Field::OpenWork));
    if draft.is_empty(Heading::NextAction)
        && let Some(line) = next.next()
    {
        draft.vital(Heading::NextAction, &line.text, line.source());
    }
}

fn write_goal_and_status(draft: &mut Draft, entry: &Entry<'_>) {
    let focus = entry.focus.as_ref();
    let open = entry.all(Field::OpenWork).next();
    // A focus is a tag or a sentence; a tag says less than the open work.
    let sentence = focus.filter(|focus| focus.text.contains(' '));
    if draft.is_empty(Heading::Objective)
        && let Some(line) = sentence.or(open).or(focus)
    {
        draft.vital(Heading::Objective, &line.text, line.source());
    }
    if draft.is_empty(Heading::CurrentStep) {
        if let Some(line) = open {
            let text = format!("Current open work: {}", line.text);
            draft.vital(Heading::CurrentStep, &text, line.source());
        } else if let Some(line) = focus {
            draft.vital(Heading::CurrentStep, &line.text, line.source());
        }
    }
    if let Some(blocker) = entry.all(Field::Blockers).next() {
        let text = format!("At risk — blockers recorded: {}", blocker.text);
        draft.useful(Heading::Status, &text, blocker.source());
    } else if let Some(focus) = focus {
        let text = format!("Active — working on {}.", focus.text.trim_end_matches('.'));
        draft.useful(Heading::Status, &text, focus.source());
    }
}

/// Returns the texts between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Returns the paths in a list of files, quoted or not.
fn paths(text: &str) -> Vec<&str> {
    if text.contains('`') {
        return quoted(text).filter(|path| is_path(path)).collect();
    }
    let words = text
        .split([',', ';', ' '])
        .map(|word| word.trim_end_matches('.'));
    words.filter(|word| is_path(word)).collect()
}

/// Returns true if a word is a relative path: it ends in `/` or in a file with an extension.
fn is_path(word: &str) -> bool {
    let in_prose = |c: char| c.is_whitespace() || "()<>=*|:$@`".contains(c);
    if word.is_empty() || word.contains(in_prose) || word.starts_with(['/', '-', '~']) {
        return false;
    }
    let file = word
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or_default();
    match file.rsplit_once('.') {
        Some((stem, extension)) => {
            let is_extension = (1..=5).contains(&extension.len())
                && extension.chars().all(|c| c.is_ascii_alphanumeric())
                && extension.contains(|c: char| c.is_ascii_alphabetic());
            is_extension && (!stem.is_empty() || word.contains('/'))
        }
        None => word.ends_with('/') && word.len() > 2,
    }
}
