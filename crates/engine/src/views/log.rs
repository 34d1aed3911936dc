//! A frame's log as Markdown: goal, time line, what was learned, results, children.
//!
//! The log is rendered from the journal when somebody asks for it and kept under the path that is
//! the frame's `logPath`; deleting it loses nothing.

use std::collections::BTreeMap;

use flamestack_core::event::Recorded;
use flamestack_core::frame::{Frame, LogEntry, Status};
use flamestack_core::id::{BlobId, FrameId, Seq};
use flamestack_core::note::{Note, NoteKind};
use flamestack_store::{FrameRow, Reading, Slice, StoreError, transcript};

use super::{one_line, printable, story, time};
use crate::Engine;
use crate::engine::write_private;
use crate::error::EngineError;

/// How many children a log lists.
const CHILDREN: usize = 200;
/// How much of the conversation a log holds, in bytes.
const CONVERSATION: usize = 128 * 1024;

/// Everything a log tells.
#[derive(Clone, Debug)]
pub struct Log {
    /// The frame as it is now; none if it was deleted.
    pub frame: Option<Frame>,
    /// Its name.
    pub id: FrameId,
    /// What happened to it.
    pub history: Vec<Recorded>,
    /// Its children.
    pub children: Vec<FrameRow>,
    /// The raw texts that are gone, and the events that say so.
    pub dropped: BTreeMap<BlobId, Seq>,
}

/// Gathers a frame's log. Frames that were deleted still have a history.
pub fn gather(reading: &dyn Reading, id: &FrameId) -> Result<Log, EngineError> {
    let slice = Slice {
        parent: Some(id.clone()),
        limit: Some(CHILDREN),
        ..Slice::default()
    };
    let frame = reading.whole_frame(id)?;
    let mut dropped = BTreeMap::new();
    for entry in frame.iter().flat_map(|frame| &frame.log) {
        if let Some((seq, _)) = reading.dropped(entry.blob.as_str())? {
            dropped.insert(entry.blob.clone(), seq);
        }
    }
    Ok(Log {
        frame,
        dropped,
        id: id.clone(),
        history: reading.history(id)?,
        children: reading.rows(&slice)?,
    })
}

/// Renders a log.
pub fn markdown(log: &Log) -> String {
    let mut text = String::new();
    match &log.frame {
        Some(frame) => {
            text.push_str(&format!("# {}\n\n", one_line(frame.title.as_str(), 500)));
            text.push_str(&format!("`{}` · {}\n", frame.id, frame.status));
            body(&mut text, frame, &log.dropped);
        }
        None => text.push_str(&format!("# `{}`\n\nThis frame was deleted.\n", log.id)),
    }
    if !log.children.is_empty() {
        text.push_str("\n## Children\n\n");
        for row in &log.children {
            let frame = &row.frame;
            text.push_str(&format!(
                "- `{}` {} ({})",
                frame.id,
                one_line(frame.title.as_str(), 120),
                frame.status
            ));
            if let Some(results) = finished_results(frame) {
                text.push_str(&format!(": {}", one_line(&results, 280)));
            }
            text.push('\n');
        }
    }
    if !log.history.is_empty() {
        text.push_str("\n## Timeline\n\n");
        for recorded in &log.history {
            text.push_str(&format!(
                "- {} {} ({})\n",
                time::minute(recorded.at),
                story::happened(&recorded.event),
                recorded.session
            ));
        }
    }
    text
}

fn body(text: &mut String, frame: &Frame, dropped: &BTreeMap<BlobId, Seq>) {
    let mut section = |heading: &str, body: &str| {
        text.push_str(&format!("\n## {heading}\n\n{}\n", printable(body)));
    };
    if let Some(criteria) = &frame.criteria {
        section("Success criteria", criteria.as_str());
    }
    if let Some(reason) = &frame.blocked_on {
        section("Waits for", reason.as_str());
    }
    if let Some(invalidation) = &frame.invalidation {
        section("Invalidated", invalidation.reason.as_str());
    }
    if let Some(results) = &frame.results {
        section("Results", results.as_str());
    }
    for (kind, heading) in [
        (NoteKind::Directive, "What the user said"),
        (NoteKind::Decision, "Decisions"),
        (NoteKind::FailedAttempt, "Failed attempts"),
        (NoteKind::Artifact, "Artifacts"),
        (NoteKind::Evidence, "Evidence"),
    ] {
        let notes: Vec<String> = frame
            .notes
            .iter()
            .filter(|note| note.kind() == kind)
            .map(in_full)
            .collect();
        if !notes.is_empty() {
            section(heading, &notes.join("\n"));
        }
    }
    if !frame.log.is_empty() {
        let entries: Vec<String> = (1..)
            .zip(&frame.log)
            .map(|(n, entry)| {
                let dropped = match dropped.get(&entry.blob) {
                    Some(seq) => format!("; dropped by `flame gc` at event {seq}"),
                    None => String::new(),
                };
                format!(
                    "- `{}#{n}` {} ({} bytes{dropped})",
                    frame.id, entry.label, entry.bytes
                )
            })
            .collect();
        section("Raw text", &entries.join("\n"));
    }
}

/// A note without anything cut off.
fn in_full(note: &Note) -> String {
    match note {
        Note::Artifact(path) => format!("- `{path}`"),
        Note::Decision {
            text,
            why: Some(why),
        }
        | Note::FailedAttempt {
            text,
            why: Some(why),
        } => {
            format!("- {text} (because {why})")
        }
        Note::Decision { text, .. } | Note::FailedAttempt { text, .. } | Note::Directive(text) => {
            format!("- {text}")
        }
        Note::Evidence(evidence) => format!("- {}", story::proof(evidence)),
    }
}

fn finished_results(frame: &Frame) -> Option<String> {
    matches!(frame.status, Status::Completed | Status::Failed)
        .then(|| frame.compacted_results())
        .flatten()
}

impl Engine {
    /// Renders a frame's log, keeps it under the frame's log path, and returns both.
    pub fn frame_log(&self, id: &FrameId) -> Result<(String, std::path::PathBuf), EngineError> {
        let log = self.read(|reading| gather(reading, id))?;
        let mut text = markdown(&log);
        if let Some(frame) = &log.frame {
            self.tell_conversation(&mut text, frame);
        }
        let dir = self.project().logs_dir();
        let path = dir.join(format!("{id}.md"));
        let written = flamestack_store::private_dir(&dir)
            .map_err(EngineError::from)
            .and_then(|()| write_private(&path, &text));
        // What may only be read can still be read: the file is a copy of what is printed.
        if let Err(failed) = written {
            tracing::warn!("log not kept: {failed}");
        }
        Ok((text, path))
    }

    /// What was said and done in the frame, as its host told it, with long answers of tools cut.
    fn tell_conversation(&self, text: &mut String, frame: &Frame) {
        let spoken = |(_, entry): &(usize, &LogEntry)| entry.label.as_str() == transcript::LABEL;
        let mut room = CONVERSATION;
        let mut left_out = Vec::new();
        for (number, entry) in (1..).zip(&frame.log).filter(spoken) {
            let told = match self.blobs().get(&entry.blob) {
                Ok(Some(raw)) if left_out.is_empty() => transcript::markdown(&raw),
                // What is gone is told among the raw texts.
                Ok(None) | Err(_) => continue,
                Ok(Some(_)) => String::new(),
            };
            if told.is_empty() || told.len() > room {
                left_out.push(format!("`flame log {}#{number}`", frame.id));
                continue;
            }
            if room == CONVERSATION {
                text.push_str("\n## Conversation\n\n");
            }
            room -= told.len();
            text.push_str(&printable(&told));
        }
        if !left_out.is_empty() {
            text.push_str(&format!("More of it: {}\n", left_out.join(", ")));
        }
    }

    /// A frame's raw text by its number in the log, from 1. What was said and done in a session is
    /// told as Markdown. Where the text was dropped, says so.
    pub fn raw_text(&self, id: &FrameId, number: usize) -> Result<String, EngineError> {
        let frame = self.read(|reading| Ok(reading.whole_frame(id)?))?;
        let entries = frame.map(|frame| frame.log).unwrap_or_default();
        let Some(entry) = number.checked_sub(1).and_then(|place| entries.get(place)) else {
            return Err(EngineError::NoSuchText {
                id: id.clone(),
                number,
                pieces: entries.len(),
            });
        };
        match self.blobs().get(&entry.blob) {
            Ok(Some(text)) if entry.label.as_str() == transcript::LABEL => {
                Ok(transcript::markdown(&text))
            }
            Ok(Some(text)) => Ok(text),
            Ok(None) => self.tombstone(&entry.blob),
            Err(StoreError::Unreadable { problem, .. }) => Err(EngineError::LostText { problem }),
            Err(error) => Err(error.into()),
        }
    }

    fn tombstone(&self, blob: &BlobId) -> Result<String, EngineError> {
        let dropped = self.read(|reading| Ok(reading.dropped(blob.as_str())?))?;
        match dropped {
            Some((seq, bytes)) => Ok(format!(
                "[dropped by `flame gc` at event {seq} to keep the store small: {bytes} bytes]\n"
            )),
            None => Err(EngineError::LostText {
                problem: format!("the text {blob} is missing"),
            }),
        }
    }
}
