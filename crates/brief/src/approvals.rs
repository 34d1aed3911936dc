//! Approval of a work item's files: by a line that records it, never by the mere presence of files.

mod wording;

use std::cell::LazyCell;
use std::iter::once;
use std::ops::Deref;

use flamestack_context::Surroundings;
use flamestack_core::{Frame, Text};

use self::wording::says_approved;
use crate::LineSource;
use crate::active::Active;
use crate::document::{Document, Kind, lines};
use crate::facts::Facts;
use crate::mentions::ItemName;
use crate::session_log::SessionLog;
use crate::tasks::TaskState;
use crate::words::WordSet;
use crate::workflow::{Artifact, ArtifactRole};

/// State of the approval of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Approval {
    /// A line records it.
    Recorded { source: LineSource, words: String },
    /// A line records that it is missing.
    Denied { source: LineSource, words: String },
    /// No line records it, but work continued from the file.
    Inferred { from: String },
    /// No line records it.
    Open,
    /// The file is missing or empty.
    NoFile { is_empty: bool },
}

/// Looks for the approval of a file in the frames, the log and the files of the work item, in this order.
pub(crate) fn approval(active: &Active<'_>, artifact: &Artifact, facts: &Facts<'_>) -> Approval {
    let Some(document) = active.content(&artifact.file) else {
        return Approval::NoFile {
            is_empty: active.file(&artifact.file).is_some(),
        };
    };
    let names = WordSet::new(&artifact.approval);
    // Hardly a file has a statement that needs it.
    let subject = LazyCell::new(|| Subject::new(active, facts));
    let around = facts.sources.around.as_ref();
    let statement = around
        .and_then(|around| in_frames(&subject, &names, around))
        .or_else(|| in_log(&subject, &names, facts.log.as_ref()?))
        .or_else(|| in_files(active, &names, document));
    match statement {
        Some((true, source, words)) => Approval::Recorded { source, words },
        Some((false, source, words)) => Approval::Denied { source, words },
        None => match later_work(active, artifact) {
            Some(from) => Approval::Inferred { from },
            None => Approval::Open,
        },
    }
}

/// True for an approval, false for a denial; with the source and the line.
type Statement = (bool, LineSource, String);

/// The work item that statements are wanted of, and the others of its workflow: an approval of one is
/// not an approval of another.
struct Subject {
    this: ItemName,
    others: Vec<ItemName>,
}

impl Subject {
    fn new(active: &Active<'_>, facts: &Facts<'_>) -> Self {
        let workflow = active.workflow;
        let others = facts.sources.candidates.iter().filter(|other| {
            other.workflow == workflow.name && Some(other.name.as_str()) != active.known_name()
        });
        Self {
            this: ItemName::new(workflow, active.name()),
            others: others
                .map(|other| ItemName::new(workflow, &other.name))
                .collect(),
        }
    }

    fn is_other(&self, text: &str) -> bool {
        self.others.iter().any(|other| other.is_in(text))
    }

    /// Returns true if a line is about this item: it names it and no other, or it names none and the
    /// texts around it are about this item alone.
    fn owns(&self, line: &str, around: &[&str]) -> bool {
        let is_clear = || !around.iter().any(|text| self.is_other(text));
        let is_named = || around.iter().any(|text| self.this.is_in(text));
        !self.is_other(line)
            && (self.this.is_in(line) || (is_clear() && (self.others.is_empty() || is_named())))
    }
}

/// The nearest frame counts, and the user's last decision or directive about the approval in it.
fn in_frames(
    subject: &impl Deref<Target = Subject>,
    names: &WordSet,
    around: &Surroundings,
) -> Option<Statement> {
    let path: Vec<&Frame> = once(&around.current).chain(&around.ancestors).collect();
    (0..).zip(&path).find_map(|(at, frame)| {
        let goals = path.iter().skip(at).flat_map(|frame| {
            let criteria = frame.criteria.iter().map(Text::as_str);
            once(frame.title.as_str()).chain(criteria)
        });
        let notes = frame.notes.iter().map(|note| note.text().as_str());
        let texts: Vec<&str> = goals.chain(notes).collect();
        let statements = frame.notes.iter().rev();
        statements
            // A model does not approve its own work.
            .filter(|note| note.needs_the_user())
            .find_map(|note| {
                let text = note.text().as_str();
                let given = says_approved(text, Some(names))?;
                let is_owned = subject.owns(text, &texts);
                is_owned.then(|| (given, LineSource::Frame(frame.id), text.to_owned()))
            })
    })
}

/// The newest entry about this work item that mentions the approval counts.
fn in_log(
    subject: &impl Deref<Target = Subject>,
    names: &WordSet,
    log: &SessionLog<'_>,
) -> Option<Statement> {
    log.entries.iter().find_map(|entry| {
        let mut lines = entry.lines.iter().rev();
        lines.find_map(|line| {
            let given = says_approved(&line.text, Some(names))?;
            let is_open = line.kind == Kind::Check(TaskState::Open);
            let texts: Vec<&str> = entry.lines.iter().map(|line| &*line.text).collect();
            let is_owned = texts.iter().any(|text| subject.this.is_in(text))
                && subject.owns(&line.text, &texts);
            is_owned.then(|| (given && !is_open, line.source(), line.text.to_string()))
        })
    })
}

/// The notes on progress count before what the file says about itself.
fn in_files(active: &Active<'_>, names: &WordSet, own: &Document) -> Option<Statement> {
    let artifacts = active.workflow.artifacts.iter();
    let mut notes = artifacts
        .filter(|other| other.role.is_record())
        .filter_map(|other| active.content(&other.file));
    notes
        .find_map(|document| last_statement(document, Some(names)))
        .or_else(|| last_statement(own, None).filter(|(given, ..)| *given))
}

fn last_statement(document: &Document, names: Option<&WordSet>) -> Option<Statement> {
    let lines: Vec<_> = lines(document).collect();
    lines.iter().rev().find_map(|line| {
        let given = says_approved(&line.text, names)?;
        let given = match line.kind {
            Kind::Plain | Kind::Bullet | Kind::Check(TaskState::Done) => given,
            // An open box is an approval to come.
            Kind::Check(_) => false,
            _ => return None,
        };
        Some((given, line.source(), line.text.to_string()))
    })
}

/// Returns the sign that work continued from a file: a later file with content, or finished tasks.
fn later_work(active: &Active<'_>, artifact: &Artifact) -> Option<String> {
    let artifacts = active.workflow.artifacts.iter();
    let mut later = artifacts.skip_while(|other| *other != artifact).skip(1);
    let written = later.find(|other| active.content(&other.file).is_some());
    let has_begun = artifact.role == ArtifactRole::Tasks && !active.tasks.done().is_empty();
    written
        .map(|other| format!("the presence of `{}`", active.filled(&other.file)))
        .or_else(|| has_begun.then(|| "finished tasks".to_owned()))
}
