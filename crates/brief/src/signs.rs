//! Evidence in the files of a work item that a stage has been reached or that the work is finished.

use crate::WorkItem;
use crate::claims::says_none;
use crate::document::{Kind, Line, lines};
use crate::tasks::{TaskList, TaskState};
use crate::words::{WordSet, is_denied};
use crate::workflow::{FileState, Sign, Workflow};

/// Returns true if the sign is in its file.
pub(crate) fn is_present(workflow: &Workflow, item: &WorkItem, sign: &Sign) -> bool {
    let Some(document) = item.content(workflow, &sign.file) else {
        return false;
    };
    match sign.has {
        Some(FileState::Content) => true,
        Some(FileState::Tasks) => !TaskList::parse(document).tasks.is_empty(),
        Some(FileState::AllTasksDone) => TaskList::parse(document).is_finished(),
        None => {
            let lines: Vec<Line<'_>> = lines(document).collect();
            sign.text.iter().any(|phrase| is_said(&lines, phrase))
        }
    }
}

/// Returns true if a line states a phrase: `# Decisions Made` is a heading, `Last completed batch:` a
/// label at the beginning of a line, and `Status: Done` may also be a heading with the value below it.
fn is_said(lines: &[Line<'_>], phrase: &str) -> bool {
    let (label, value) = phrase.split_once(": ").unwrap_or((phrase, ""));
    let words = WordSet::new([phrase.trim_end_matches(':')]);
    let value_words = WordSet::new([value]);
    // A heading that is nothing but the words is a place for the thing: what is below counts.
    let follows = |next: &Line<'_>| match next.kind {
        _ if value.is_empty() => has_happened(next),
        Kind::Heading(_) | Kind::Check(TaskState::Open) => false,
        _ => value_words.begins(&next.text),
    };
    (0..).zip(lines).any(|(at, line)| {
        let is_title = |title: &str| line.is_heading() && line.text.eq_ignore_ascii_case(title);
        if let Some(title) = phrase.strip_prefix('#') {
            is_title(title.trim_matches(['#', ' ']))
        } else if let Some(label) = phrase.strip_suffix(':') {
            has_label(line, label) && states(line, &words)
        } else if is_title(label) {
            let mut below = lines.iter().skip(at + 1);
            let next = below.find(|line| line.kind != Kind::Blank);
            next.is_some_and(follows)
        } else {
            states(line, &words)
        }
    })
}

fn has_label(line: &Line<'_>, label: &str) -> bool {
    let text = line.text.replace("**", "").to_ascii_lowercase();
    let text = text.trim_start_matches(['*', '_']);
    let rest = text.strip_prefix(&label.to_ascii_lowercase());
    rest.is_some_and(|rest| rest.starts_with(':'))
}

/// Returns true if a line states the words; an open box is still to come.
fn states(line: &Line<'_>, words: &WordSet) -> bool {
    // Marks around words do not change them.
    let bare = line.text.replace(['*', '`', '✅', '✔', '☑'], "");
    let bare: Vec<&str> = bare.split_whitespace().collect();
    let bare = bare.join(" ");
    let mut found = words.find(&bare);
    line.kind != Kind::Check(TaskState::Open) && found.any(|(_, at)| !is_denied(&bare, &at))
}

fn has_happened(line: &Line<'_>) -> bool {
    match line.kind {
        Kind::Heading(_) | Kind::Rule | Kind::Blank | Kind::Check(TaskState::Open) => false,
        Kind::Bullet | Kind::Check(_) | Kind::Plain => !says_none(&line.text),
    }
}
