//! What was approved: by a line that records it, never by the mere presence of files.

use super::choice::Active;
use super::document::{Document, Kind, lines};
use super::session_log::SessionLog;
use super::words::{has_word, says_approved};
use super::{Source, Sources};
use crate::note::Note;
use crate::workflow::{Artifact, Role};

/// What is known about the approval of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Approval {
    /// It was recorded.
    Recorded { source: Source, words: String },
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
    let recorded = in_frames(artifact, sources)
        .or_else(|| in_files(active, artifact, document))
        .or_else(|| in_log(active, artifact, sources, log));
    if let Some((source, words)) = recorded {
        return Approval::Recorded { source, words };
    }
    match later_work(active, artifact) {
        Some(from) => Approval::Inferred { from },
        None => Approval::Open,
    }
}

fn in_frames(artifact: &Artifact, sources: &Sources) -> Option<(Source, String)> {
    let around = sources.around.as_ref()?;
    std::iter::once(&around.current)
        .chain(&around.ancestors)
        .find_map(|frame| {
            let note = frame.notes.iter().find(|note| {
                matches!(note, Note::Decision { .. } | Note::Directive(_))
                    && says_approved(note.text().as_str(), &artifact.approval)
            })?;
            Some((
                Source::Frame(frame.id.clone()),
                note.text().as_str().to_owned(),
            ))
        })
}

/// The file's own word, or that of the unit's notes on its progress.
fn in_files(active: &Active<'_>, artifact: &Artifact, own: &Document) -> Option<(Source, String)> {
    let found = |document: &Document, words: &[String]| {
        lines(document).into_iter().find_map(|line| {
            let is_claim = matches!(
                line.kind,
                Kind::Plain | Kind::Bullet | Kind::Check('x' | 'X' | '✓' | '✔')
            );
            (is_claim && says_approved(line.text, words))
                .then(|| (Source::file(document, line.number), line.text.to_owned()))
        })
    };
    found(own, &[]).or_else(|| {
        active
            .workflow
            .artifacts
            .iter()
            .filter(|other| matches!(other.role, Role::Context | Role::Progress))
            .filter_map(|other| active.content(&other.file))
            .find_map(|document| found(document, &artifact.approval))
    })
}

/// The log speaks of this unit only in entries that name it.
fn in_log(
    active: &Active<'_>,
    artifact: &Artifact,
    sources: &Sources,
    log: Option<&SessionLog>,
) -> Option<(Source, String)> {
    let (log, document) = (log?, sources.session_log.as_ref()?);
    let is_about = |text: &str| has_word(text, active.name()) || text.contains(&active.path(""));
    log.entries.iter().find_map(|entry| {
        if !entry.lines.iter().any(|said| is_about(&said.text)) {
            return None;
        }
        let said = entry
            .lines
            .iter()
            .filter(|said| !said.text.starts_with("[ ]"))
            .find(|said| says_approved(&said.text, &artifact.approval))?;
        Some((Source::file(document, said.line), said.text.clone()))
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
        return Some(format!("`{}` being there", other.file));
    }
    let has_begun = artifact.role == Role::Tasks && !active.tasks.done().is_empty();
    has_begun.then(|| "tasks that are done".to_owned())
}
