//! Forgetting: erasing text from everything that a project keeps.
//!
//! ```text
//!  raw texts ── rewritten ones get new names ──▶ events ── rewritten, with new checksums ──▶ tombstone
//!      │                                            └──▶ projections are folded again
//!      └── old ones deleted       then: VACUUM, empty WAL, indexes and logs deleted, other files
//!                                 rewritten, set-aside stores cleaned, every byte searched again
//! ```
//!
//! The store is locked against every other connection meanwhile. Each step can be repeated: a process
//! that dies in between leaves a whole store, and forgetting once more finishes the work.

mod files;
mod names;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use flamestack_core::event::Event;
use flamestack_core::id::{BlobId, FrameId, SessionRef, Timestamp};
use flamestack_core::text::Rewrite;

pub(crate) use self::names::{rename, renamed};
use crate::blobs::{Blobs, PATIENCE, StoredBlob};
use crate::error::{Result, StoreError};
use crate::sqlite::{Erased, exclusively, surveyed};

/// The text that replaces what was forgotten.
pub const FORGOTTEN: &str = "[forgotten]";

/// Rewrites a text; returns `None` if there is nothing to erase, else the rest and the number of
/// places.
pub type EraseText<'a> = dyn Fn(&str) -> Option<(String, u64)> + 'a;

/// A selection of what to forget.
pub struct Forget<'a> {
    /// Frames of which every text is forgotten.
    pub frames: BTreeSet<FrameId>,
    /// Raw texts that are forgotten whole.
    pub raw_texts: BTreeSet<BlobId>,
    /// Erases a text wherever it is.
    pub text: &'a EraseText<'a>,
}

/// The result of forgetting, or of a survey.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// Places in the journal.
    pub places: u64,
    /// Events with such places. Others that only name a rewritten raw text do not count.
    pub events: u64,
    /// Raw texts that were rewritten or deleted.
    pub texts: u64,
    /// Places in other files, such as diagnostics and set-aside stores.
    pub in_files: u64,
    /// Damaged copies of raw text that were deleted, since they cannot be searched.
    pub deleted: Vec<PathBuf>,
    /// Files that still hold the text: the user's settings, or files that cannot be rewritten.
    pub left: Vec<PathBuf>,
}

impl Forgotten {
    /// Returns true if there is nothing to forget.
    pub fn is_empty(&self) -> bool {
        self.places == 0 && self.texts == 0 && self.in_files == 0 && self.left.is_empty()
    }
}

/// Counts what would be forgotten. Changes nothing.
pub fn survey(dir: &Path, what: &Forget<'_>) -> Result<Forgotten> {
    let texts = rewritten_texts(dir, what, &mut |_, _| Ok(()))?;
    let erased = surveyed(dir, &mut |event| what.event(event, &BTreeMap::new()), what)?;
    let mut found = Forgotten {
        places: erased.places,
        events: erased.events,
        texts,
        ..Forgotten::default()
    };
    files::survey(dir, what, &mut found)?;
    Ok(found)
}

/// Erases text from all files of a project. Fails with [`StoreError::Busy`] if another process has
/// the store open.
pub fn forget(
    dir: &Path,
    what: &Forget<'_>,
    at: Timestamp,
    session: &SessionRef,
) -> Result<Forgotten> {
    let mut found = Forgotten::default();
    if !dir.exists() {
        return Ok(found);
    }
    let store = exclusively(dir)?;
    // The new texts come first, so that no event refers to a missing one.
    let blobs = Blobs::new(dir);
    let sweep = blobs.sweep(PATIENCE)?;
    let mut renamed = BTreeMap::new();
    let mut gone = Vec::new();
    let texts = rewritten_texts(dir, what, &mut |name, text| {
        if let (Some(id), Some(text)) = (BlobId::from_hex(&name), text) {
            renamed.insert(id, blobs.put(sweep.hold(), &text)?);
        }
        gone.push(name);
        Ok(())
    })?;
    found.texts = texts;
    let Erased { places, events } = store.erase(
        &mut |event| what.event(event, &renamed),
        what,
        texts,
        at,
        session,
    )?;
    (found.places, found.events) = (places, events);
    blobs.erase_all(&sweep, &gone)?;
    files::erase(dir, what, &mut found)?;
    store.finish()?;
    files::search(dir, what, &mut found)?;
    Ok(found)
}

impl Forget<'_> {
    /// Rewrites the texts of an event and returns the number of places.
    fn event(&self, event: &mut Event, renamed: &BTreeMap<BlobId, StoredBlob>) -> u64 {
        let whole = self.is_whole(event);
        let mut places = 0;
        event.rewrite(&mut |text| {
            let (text, found) = if whole {
                (blank(text), 1)
            } else {
                (self.text)(text)?
            };
            places += found;
            Some(text)
        });
        rename_blobs(event, renamed);
        places
    }

    /// Returns true if every text of an event is forgotten: those of the frames, and the contexts
    /// that show one of them.
    fn is_whole(&self, event: &Event) -> bool {
        if self.frames.is_empty() {
            return false;
        }
        if let Event::ContextSent(sending) = event {
            let mut shown = false;
            sending.delivery.clone().rewrite(&mut |text| {
                shown |= self
                    .frames
                    .iter()
                    .any(|frame| text.contains(frame.as_str()));
                None
            });
            return shown;
        }
        event.frames().any(|frame| self.frames.contains(&frame))
    }

    /// Rewrites a raw text; `None` if it stays as it is.
    fn raw_text(&self, id: &BlobId, text: &str) -> Option<String> {
        if self.raw_texts.contains(id) {
            return (text != FORGOTTEN).then(|| FORGOTTEN.to_owned());
        }
        (self.text)(text).map(|(text, _)| text)
    }
}

/// Returns the replacement of a whole text. A JSON object stays one.
fn blank(text: &str) -> String {
    let is_object = text.starts_with('{') && text.ends_with('}');
    if is_object { "{}" } else { FORGOTTEN }.to_owned()
}

/// Visits the raw texts that change, one by one: name and new text; without one if the text cannot be
/// read, and therefore not searched. Returns their number.
fn rewritten_texts(
    dir: &Path,
    what: &Forget<'_>,
    each: &mut dyn FnMut(String, Option<String>) -> Result<()>,
) -> Result<u64> {
    let blobs = Blobs::new(dir);
    let reader = blobs.reader();
    let mut number = 0;
    for name in blobs.stored_sizes()?.into_keys() {
        let text = match BlobId::from_hex(&name) {
            None => None,
            Some(id) => match reader.get(&id) {
                Ok(None) => continue,
                Ok(Some(text)) => match what.raw_text(&id, &text) {
                    None => continue,
                    changed => changed,
                },
                Err(StoreError::Unreadable { .. }) => None,
                Err(other) => return Err(other),
            },
        };
        number += 1;
        each(name, text)?;
    }
    Ok(number)
}

/// Gives the references of an event to raw text their new names.
fn rename_blobs(event: &mut Event, renamed: &BTreeMap<BlobId, StoredBlob>) {
    let entries = match event {
        Event::Logged { entry, .. } => std::slice::from_mut(entry),
        Event::FrameImported { frame } | Event::FrameCopied { frame, .. } => {
            frame.log.as_mut_slice()
        }
        _ => &mut [],
    };
    for entry in entries {
        if let Some(kept) = renamed.get(&entry.blob) {
            entry.blob = kept.id.clone();
            entry.bytes = kept.bytes;
        }
    }
    if let Event::BlobDropped { blob, .. } = event
        && let Some(kept) = renamed.get(blob)
    {
        *blob = kept.id.clone();
    }
}
