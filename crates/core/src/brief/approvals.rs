//! What was approved: by a line that records it, never by the mere presence of files.

mod wording;

use self::wording::says_approved;
use super::choice::Active;
use super::document::{Document, Kind, lines};
use super::mentions::has_path;
use super::session_log::SessionLog;
use super::words::has_word;
use super::{Source, Sources};
use crate::frame::Frame;
use crate::note::Note;
use crate::workflow::{Artifact, Role};

/// What is known about the approval of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Approval {
    /// It was recorded.
    Recorded { source: Source, words: String },
    /// It was recorded that there is none.
    Denied { source: Source, words: String },
    /// Nobody recorded it, but work went on from there.
    Inferred { from: String },
    /// Nobody recorded it.
    Open,
    /// There is nothing to approve.
    NoFile { is_empty: bool },
}

/// What is known about the approval of a file of the unit.
pub(super) fn approval(
    active: &Active<'_>,
    artifact: &Artifact,
    sources: &Sources,
    log: Option<&SessionLog>,
) -> Approval {
    let Some(document) = active.content(&artifact.file) else {
        let file = active
            .unit
            .and_then(|unit| unit.file(active.workflow, &artifact.file));
        return Approval::NoFile {
            is_empty: file.is_some(),
        };
    };
    let said = in_frames(active, artifact, sources)
        .or_else(|| in_log(active, artifact, sources, log))
        .or_else(|| in_files(active, artifact, document));
    match said {
        Some((true, source, words)) => return Approval::Recorded { source, words },
        Some((false, source, words)) => return Approval::Denied { source, words },
        None => {}
    }
    match later_work(active, artifact) {
        Some(from) => Approval::Inferred { from },
        None => Approval::Open,
    }
}

/// What somebody said: the approval and where it stands, or that there is none.
type Statement = (bool, Source, String);

/// Of which piece of work something speaks.
struct Speech<'a> {
    this: Known<'a>,
    /// Others of the same workflow: an approval of one is none of another.
    others: Vec<Known<'a>>,
}

/// A piece of work as it is named: by its name or its path.
struct Known<'a> {
    name: &'a str,
    path: String,
}

impl Known<'_> {
    fn is_in(&self, text: &str) -> bool {
        has_word(text, self.name) || has_path(text, &self.path)
    }
}

impl<'a> Speech<'a> {
    fn of(active: &'a Active<'a>, sources: &'a Sources) -> Self {
        let others = sources.spoken_of.iter().filter(|lead| {
            lead.workflow == active.workflow.name && Some(lead.name.as_str()) != active.known_name()
        });
        Self {
            this: Known {
                name: active.name(),
                path: active.workflow.mark(active.name()),
            },
            others: others
                .map(|lead| Known {
                    name: &lead.name,
                    path: active.workflow.mark(&lead.name),
                })
                .collect(),
        }
    }

    fn names_another(&self, text: &str) -> bool {
        self.others.iter().any(|other| other.is_in(text))
    }

    /// Whether a line counts for this piece of work: it names it and no other, or it names none and
    /// stands among texts that do so.
    fn counts<'t>(&self, line: &str, mut around: impl Iterator<Item = &'t str> + Clone) -> bool {
        if self.names_another(line) {
            return false;
        }
        let is_clear = || !around.clone().any(|text| self.names_another(text));
        self.this.is_in(line)
            || (is_clear() && (self.others.is_empty() || around.any(|text| self.this.is_in(text))))
    }
}

fn in_frames(active: &Active<'_>, artifact: &Artifact, sources: &Sources) -> Option<Statement> {
    let around = sources.around.as_ref()?;
    let speech = Speech::of(active, sources);
    let path: Vec<&Frame> = std::iter::once(&around.current)
        .chain(&around.ancestors)
        .collect();
    path.iter().enumerate().find_map(|(at, frame)| {
        let above = path.iter().skip(at);
        let goals = above.flat_map(|frame| {
            let criteria = frame.criteria.iter().map(crate::Prose::as_str);
            std::iter::once(frame.title.as_str()).chain(criteria)
        });
        let texts = goals.chain(frame.notes.iter().map(|note| note.text().as_str()));
        // The last word counts.
        frame.notes.iter().rev().find_map(|note| {
            if !matches!(note, Note::Decision { .. } | Note::Directive(_)) {
                return None;
            }
            let text = note.text().as_str();
            let given = says_approved(text, &artifact.approval)?;
            speech
                .counts(text, texts.clone())
                .then(|| (given, Source::Frame(frame.id.clone()), text.to_owned()))
        })
    })
}

/// The unit's notes on its progress, else the file's own word.
fn in_files(active: &Active<'_>, artifact: &Artifact, own: &Document) -> Option<Statement> {
    let last = |document: &Document, words: &[String]| {
        lines(document).into_iter().rev().find_map(|line| {
            let given = match line.kind {
                Kind::Plain | Kind::Bullet | Kind::Check('x' | 'X' | '✓' | '✔') => {
                    says_approved(line.text, words)?
                }
                // A box that is open is an approval to come.
                Kind::Check(_) => says_approved(line.text, words).map(|_| false)?,
                _ => return None,
            };
            Some((
                given,
                Source::file(document, line.number),
                line.text.to_owned(),
            ))
        })
    };
    let notes = active
        .workflow
        .artifacts
        .iter()
        .filter(|other| matches!(other.role, Role::Context | Role::Progress));
    notes
        .filter_map(|other| active.content(&other.file))
        .find_map(|document| last(document, &artifact.approval))
        .or_else(|| last(own, &[]).filter(|(given, ..)| *given))
}

/// The log speaks of this unit only in entries that name it; the newest word counts.
fn in_log(
    active: &Active<'_>,
    artifact: &Artifact,
    sources: &Sources,
    log: Option<&SessionLog>,
) -> Option<Statement> {
    let (log, document) = (log?, sources.session_log.as_ref()?);
    let speech = Speech::of(active, sources);
    log.entries.iter().find_map(|entry| {
        let texts = entry.lines.iter().map(|said| said.text.as_str());
        if !texts.clone().any(|text| speech.this.is_in(text)) {
            return None;
        }
        entry.lines.iter().rev().find_map(|said| {
            let given = says_approved(&said.text, &artifact.approval)? && !said.is_open;
            speech
                .counts(&said.text, texts.clone())
                .then(|| (given, Source::file(document, said.line), said.text.clone()))
        })
    })
}

/// Files that come behind this one and say something, or tasks that were done.
fn later_work(active: &Active<'_>, artifact: &Artifact) -> Option<String> {
    let mut later = active
        .workflow
        .artifacts
        .iter()
        .skip_while(|other| *other != artifact)
        .skip(1);
    let written = later.find(|other| active.content(&other.file).is_some());
    if let Some(other) = written {
        return Some(format!("`{}` being there", active.called(&other.file)));
    }
    let has_begun = artifact.role == Role::Tasks && !active.tasks.done().is_empty();
    has_begun.then(|| "tasks that are done".to_owned())
}
