//! Records of progress: a log of steps, and the batch that the context file names.

use super::{DONE, TO_DO};
use crate::Heading;
use crate::active::Active;
use crate::claims::says_none;
use crate::dates::date_in;
use crate::document::{Document, Kind, Line, items, label_and_value, lines};
use crate::draft::{Draft, Rank};
use crate::fields::Field;
use crate::tasks::TaskState;
use crate::vocabulary::{WORDS, has};
use crate::workflow::ArtifactRole;

/// Labels of the context file that are shown with the status.
const BATCH_LABELS: [&str; 2] = ["Last completed batch", "Remaining batches"];

pub(super) fn write(draft: &mut Draft, active: &Active<'_>) {
    for artifact in &active.workflow.artifacts {
        let Some(document) = active.content(&artifact.file) else {
            continue;
        };
        match artifact.role {
            ArtifactRole::Progress => write_log(draft, active, document),
            ArtifactRole::Context => write_batches(draft, document),
            ArtifactRole::Document | ArtifactRole::Tasks => {}
        }
    }
}

fn write_batches(draft: &mut Draft, document: &Document) {
    for label in BATCH_LABELS {
        if let Some(line) = labelled_line(document, label) {
            let text = format!("{label}: {}", line.text);
            draft.useful(Heading::Status, &text, line.source());
        }
    }
}

fn write_log(draft: &mut Draft, active: &Active<'_>, document: &Document) {
    let progress = Progress::parse(document);
    if let Some(newest) = &progress.status {
        let text = format!("Progress notes: {}", newest.text);
        draft.needed(Heading::Status, &text, newest.source());
        let text = format!("{}: {}", active.name(), newest.text);
        draft.useful(Heading::ArtifactStatus, &text, newest.source());
    }
    let (done, open) = (progress.done.iter(), progress.open.iter());
    draft.add_last(
        (Heading::Completed, Rank::Useful),
        DONE,
        done.map(Line::sourced),
    );
    draft.add_first(
        (Heading::Remaining, Rank::Useful),
        TO_DO,
        open.map(Line::sourced),
    );
    for (field, line) in &progress.others {
        draft.add_field(*field, line);
    }
}

/// Returns the first line with a label such as `Last completed batch: 2`, with the value as its text.
fn labelled_line<'a>(document: &'a Document, label: &str) -> Option<Line<'a>> {
    lines(document).find_map(|line| {
        let (name, value) = label_and_value(&line.text)?;
        let is_label = name.eq_ignore_ascii_case(label) && !value.is_empty();
        is_label.then(|| line.with_text(value))
    })
}

/// The content of a log of progress.
#[derive(Debug, Default)]
struct Progress<'a> {
    /// The line labelled as status, else the newest line about what was done.
    status: Option<Line<'a>>,
    /// Finished steps, oldest first.
    done: Vec<Line<'a>>,
    open: Vec<Line<'a>>,
    /// Items of other fields.
    others: Vec<(Field, Line<'a>)>,
}

impl<'a> Progress<'a> {
    /// Reads a log of progress. Boxes say themselves what they are, headings and labels what the lines
    /// below them are; every other line is a finished step.
    fn parse(document: &'a Document) -> Self {
        let mut progress = Self::default();
        let mut zone = None;
        // Unlabelled steps, and the dates on them and on headings, in the order of the file.
        let (mut steps, mut dates) = (Vec::new(), Vec::new());
        for item in items(lines(document)) {
            if let Kind::Heading(_) = item.kind {
                zone = Field::named(&item.text);
                dates.extend(date_in(&item.text).filter(|_| zone.is_none()));
            } else if let Kind::Check(state) = item.kind {
                match state {
                    TaskState::Done => progress.done.push(item),
                    TaskState::Open | TaskState::Begun => progress.open.push(item),
                }
            } else if item.kind == Kind::Rule || says_none(&item.text) {
            } else if let Some(text) = status(&item.text) {
                progress.status = Some(item.with_text(text));
            } else if let Some((field, value)) = Field::labelled(&item.text) {
                match value {
                    "" if item.kind == Kind::Plain => zone = Some(field),
                    value => progress.add(field, item.with_text(value)),
                }
            } else if let Some(field) = zone {
                progress.add(field, item);
            } else {
                dates.extend(date_in(&item.text));
                steps.push(item);
            }
        }
        let newest_is_first = dates.first() > dates.last();
        if newest_is_first {
            steps.reverse();
        }
        if progress.status.is_none() {
            progress.status = steps.pop();
        }
        steps.append(&mut progress.done);
        if !newest_is_first {
            steps.sort_by_key(|item| item.number);
        }
        progress.done = steps;
        progress
    }

    fn add(&mut self, field: Field, item: Line<'a>) {
        match field {
            _ if says_none(&item.text) => {}
            Field::OpenWork | Field::Next | Field::PendingTests => self.open.push(item),
            Field::Completed => self.done.push(item),
            field => self.others.push((field, item)),
        }
    }
}

/// Returns the value of a line labelled as status or stage.
fn status(text: &str) -> Option<&str> {
    let (label, value) = label_and_value(text)?;
    (has(&WORDS.status, label) && !value.is_empty()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts<'a>(items: &'a [Line<'_>]) -> Vec<&'a str> {
        items.iter().map(|item| &*item.text).collect()
    }

    fn progress(text: &str) -> Progress<'static> {
        Progress::parse(Box::leak(Box::new(Document::new("progress.md", text))))
    }

    #[test]
    fn the_last_line_is_the_status() {
        let progress =
            progress("# Progress\n- reproduced\n- [x] a test\n- [ ] the fix\n- bug-fix begun\n");
        assert_eq!(progress.status.unwrap().text, "bug-fix begun");
        assert_eq!(texts(&progress.done), ["reproduced", "a test"]);
        assert_eq!(texts(&progress.open), ["the fix"]);
    }

    #[test]
    fn headings_and_labels_say_what_is_below() {
        let progress = progress(
            "**Status**: bug-fix in progress\n## Completed\n- a test\n- the patch\n## Remaining\n- run the suite\n\
             ## Notes\n- odd\nBlockers: none\nNext: ship it\n",
        );
        assert_eq!(progress.status.unwrap().text, "bug-fix in progress");
        assert_eq!(texts(&progress.done), ["a test", "the patch", "odd"]);
        assert_eq!(texts(&progress.open), ["run the suite", "ship it"]);
        assert!(progress.others.is_empty());
    }

    #[test]
    fn the_newest_entry_may_be_on_top() {
        let progress = progress("## 2026-03-02\n- bug-fix begun\n## 2026-03-01\n- reproduced\n");
        assert_eq!(progress.status.unwrap().text, "bug-fix begun");
        assert_eq!(texts(&progress.done), ["reproduced"]);
    }

    #[test]
    fn a_label_has_a_value_and_a_line() {
        let document = Document::new(
            "context.md",
            "# Context\n## Status\nLast completed batch: 2\n",
        );
        let batch = labelled_line(&document, "last completed batch").unwrap();
        assert_eq!((&*batch.text, batch.number), ("2", Some(3)));
    }
}
