//! What was approved: by a line that records it, never by the mere presence of files.

mod wording;

use self::wording::says_approved;
use super::choice::Active;
use super::document::{Document, Kind, lines};
use super::session_log::SessionLog;
use super::words::has_word;
use super::{Source, Sources};
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
    let said = in_frames(artifact, sources)
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

fn in_frames(artifact: &Artifact, sources: &Sources) -> Option<Statement> {
    let around = sources.around.as_ref()?;
    std::iter::once(&around.current)
        .chain(&around.ancestors)
        .find_map(|frame| {
            // The last word counts.
            frame.notes.iter().rev().find_map(|note| {
                if !matches!(note, Note::Decision { .. } | Note::Directive(_)) {
                    return None;
                }
                let text = note.text().as_str();
                let given = says_approved(text, &artifact.approval)?;
                Some((given, Source::Frame(frame.id.clone()), text.to_owned()))
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
    let is_about = |text: &str| has_word(text, active.name()) || text.contains(&active.path(""));
    log.entries.iter().find_map(|entry| {
        if !entry.lines.iter().any(|said| is_about(&said.text)) {
            return None;
        }
        entry.lines.iter().rev().find_map(|said| {
            let given = says_approved(&said.text, &artifact.approval)? && !said.is_open;
            Some((given, Source::file(document, said.line), said.text.clone()))
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
