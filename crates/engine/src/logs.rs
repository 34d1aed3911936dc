//! Logs of frames: raw texts that are appended, read back, and rendered as Markdown files.

use std::collections::BTreeMap;
use std::path::PathBuf;

use flamestack_core::frame::LogEntry;
use flamestack_core::id::{BlobId, Seq};
use flamestack_core::{Actor, Frame, FrameId, Refusal, Title};
use flamestack_store::{StoreError, StoredBlob, TextHold, transcript};
use jiff::Zoned;

use crate::Engine;
use crate::commands::Receipt;
use crate::error::{EngineError, Result};
use crate::request::{NoteInput, Request};
use crate::views::log;
use crate::workspace::write_private;

/// Maximum length of one raw text, in bytes.
const MAX_TEXT: usize = 16 * 1024 * 1024;
/// Maximum length of the session in a rendered log, in bytes.
const MAX_SESSION: usize = 128 * 1024;

/// Reads and writes logs of frames.
#[derive(Clone, Copy)]
pub struct Logs<'e> {
    pub(crate) engine: &'e Engine,
}

impl Logs<'_> {
    /// Appends a raw text to the log of a frame, by default the active one, with the note that it is about.
    pub fn append(
        &self,
        actor: &Actor,
        frame: Option<&str>,
        label: &str,
        text: &str,
        note: Option<NoteInput>,
    ) -> Result<Receipt> {
        let label = Title::new(label).map_err(|problem| Refusal::BadText {
            field: "the label",
            problem,
        })?;
        if text.len() > MAX_TEXT {
            return Err(EngineError::TextTooLong(text.len() as u64));
        }
        // Checked before the text is stored, so that a refusal leaves nothing on disk.
        if let Some(frame) = frame {
            self.engine.frame_named(frame)?;
        } else {
            let session = self.engine.session(&actor.session)?;
            if session.is_none_or(|session| session.active.is_none()) {
                let session = actor.session.clone();
                return Err(Refusal::NoActiveFrame(session).into());
            }
        }
        let hold = self.hold()?;
        let kept = self.keep_text(&hold, text)?;
        let entry = LogEntry {
            label,
            blob: kept.id,
            bytes: kept.bytes,
        };
        let frame = frame.map(str::to_owned);
        self.engine
            .commands()
            .execute(actor, &Request::Log { frame, entry, note })
    }

    /// Keeps garbage collection away from raw texts until the journal refers to them.
    pub fn hold(&self) -> Result<TextHold> {
        self.engine.workspace.hold_texts()
    }

    /// Stores a raw text that some frame refers to, or will before the hold ends.
    pub fn keep_text(&self, hold: &TextHold, text: &str) -> Result<StoredBlob> {
        Ok(self.engine.blobs().put(hold, text)?)
    }

    /// Renders the log of a frame and writes it to the frame's log path. Returns the text, with times in the zone
    /// of its reader, and the path.
    pub fn render(&self, id: &FrameId, reader: Option<&Zoned>) -> Result<(String, PathBuf)> {
        let log = self.engine.read(|reading| log::gather(reading, id))?;
        let session = match &log.frame {
            Some(frame) => log::session(&frame.id, &self.turns(frame, &log.dropped)),
            None => String::new(),
        };
        let text = log::markdown(&log, None) + &session;
        let dir = self.engine.project().logs_dir();
        let path = dir.join(format!("{id}.md"));
        let written = flamestack_store::private_dir(&dir)
            .map_err(EngineError::from)
            .and_then(|()| write_private(&path, &text));
        // The file is only a copy of what is returned: a read-only state directory is not an obstacle.
        if let Err(failed) = written {
            tracing::warn!("log not written: {failed}");
        }
        let text = match reader {
            Some(_) => log::markdown(&log, reader) + &session,
            None => text,
        };
        Ok((text, path))
    }

    /// Returns the recorded turns of a frame: the first ones as Markdown, those beyond the limit
    /// by number only. Turns that were dropped are listed among the raw texts instead.
    fn turns(&self, frame: &Frame, dropped: &BTreeMap<BlobId, Seq>) -> Vec<log::ShownTurn> {
        let blobs = self.engine.blobs().reader();
        let is_turn = |(_, entry): &(usize, &LogEntry)| entry.label.as_str() == transcript::LABEL;
        let mut room = Some(MAX_SESSION);
        let mut turns = Vec::new();
        for (number, entry) in (1..).zip(&frame.log).filter(is_turn) {
            if dropped.contains_key(&entry.blob) {
                continue;
            }
            // What is only named need not be read: there may be gigabytes of it.
            let raw = match room.map(|_| blobs.get(&entry.blob)) {
                None => None,
                Some(Ok(Some(raw))) => Some(raw),
                Some(_) => continue,
            };
            let text = raw.zip(room);
            let text = text.map(|(raw, room)| (transcript::markdown(&raw), room));
            let text = text.filter(|(text, room)| !text.is_empty() && text.len() <= *room);
            room = text.as_ref().map(|(text, room)| room - text.len());
            let text = text.map(|(text, _)| text);
            turns.push(log::ShownTurn { number, text });
        }
        turns
    }

    /// Returns a raw text of a frame by its number in the log, from 1. A recorded turn is rendered
    /// as Markdown; a text that was dropped is replaced by a note that says so.
    pub fn raw_text(&self, id: &FrameId, number: usize) -> Result<String> {
        let frame = self.engine.read(|reading| Ok(reading.whole_frame(id)?))?;
        let entries = frame.map(|frame| frame.log).unwrap_or_default();
        let Some(entry) = number.checked_sub(1).and_then(|index| entries.get(index)) else {
            return Err(EngineError::NoSuchText {
                id: *id,
                number,
                pieces: entries.len(),
            });
        };
        match self.engine.blobs().get(&entry.blob) {
            Ok(Some(text)) if entry.label.as_str() == transcript::LABEL => {
                Ok(transcript::whole_markdown(&text))
            }
            Ok(Some(text)) => Ok(text),
            Ok(None) => self.tombstone(&entry.blob),
            Err(source @ StoreError::Unreadable { .. }) => Err(EngineError::LostText(source)),
            Err(error) => Err(error.into()),
        }
    }

    fn tombstone(&self, blob: &BlobId) -> Result<String> {
        let dropped = self
            .engine
            .read(|reading| Ok(reading.dropped(blob.as_str())?))?;
        match dropped {
            Some((seq, bytes)) => Ok(format!(
                "[dropped by `flame gc` at event {seq} to keep the store small: {}]\n",
                crate::views::size(bytes)
            )),
            None => Err(EngineError::LostText(StoreError::Unreadable {
                path: self.engine.project().dir.clone(),
                problem: format!("the text {blob} is missing"),
            })),
        }
    }
}
