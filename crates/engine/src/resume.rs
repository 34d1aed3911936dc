//! Briefs: what a model needs to take up a conversation again, from what is kept of it.
//!
//! How a brief is made is `flamestack_core::summary`'s to say; here its material is gathered. What
//! was said in a session lies in the logs of its frames, a turn to a piece, and the newest may
//! still wait for its turn to end.

use flamestack_core::event::Event;
use flamestack_core::frame::Frame;
use flamestack_core::id::{BlobId, FrameId, Seq, SessionRef};
use flamestack_core::summary::{self, Told};
use flamestack_core::transcript::Entry;
use flamestack_store::{Reading, Slice, transcript};

use crate::Engine;
use crate::error::EngineError;

/// How long a brief is where nothing else is said.
pub const BRIEF_TOKENS: usize = 4000;
/// How long it is beside a host's own summary.
pub const BESIDE_SUMMARY_TOKENS: usize = 1000;
/// How long the result of a frame is that nobody gave one.
pub const RESULT_TOKENS: usize = 300;

impl Engine {
    /// The brief of a session, at most `limit` tokens long; nothing, if nothing is kept of it.
    /// `already` is what the model has anyway, such as the host's summary: it is not said again.
    pub fn resume_brief(
        &self,
        session: &SessionRef,
        limit: usize,
        already: &str,
    ) -> Result<Option<String>, EngineError> {
        let entries = self.said_in(session)?;
        if entries.is_empty() {
            return Ok(None);
        }
        let frame = self.read(|reading| {
            let own = reading.session(session)?.and_then(|known| known.own);
            own.map_or(Ok(None), |own| Ok(reading.whole_frame(&own)?))
        })?;
        let told = told(frame.as_ref(), already);
        Ok(Some(self.counting(|tokenizer| {
            summary::brief(&entries, &told, limit, tokenizer)
        })))
    }

    /// What a parent needs of a frame, from what is kept of it and of the frames below it; nothing,
    /// if nothing is kept. For frames that end without results, and for results that are too long.
    pub fn derived_result(
        &self,
        frame: &FrameId,
        limit: usize,
    ) -> Result<Option<String>, EngineError> {
        let pieces = self.read(|reading| pieces_below(reading, frame, None))?;
        let entries = self.decoded(&pieces)?;
        if entries.is_empty() {
            return Ok(None);
        }
        let frame = self.read(|reading| Ok(reading.whole_frame(frame)?))?;
        let told = told(frame.as_ref(), "");
        Ok(Some(self.counting(|tokenizer| {
            summary::result(&entries, &told, limit, tokenizer)
        })))
    }

    /// Everything that is kept of what was said and done in a session, in order.
    pub fn said_in(&self, session: &SessionRef) -> Result<Vec<Entry>, EngineError> {
        let pieces = self.read(|reading| {
            let own = reading.session(session)?.and_then(|known| known.own);
            own.map_or(Ok(Vec::new()), |own| {
                pieces_below(reading, &own, Some(session))
            })
        })?;
        let mut entries = self.decoded(&pieces)?;
        let waiting = self.waiting_text(session);
        entries.extend(waiting.lines().filter_map(transcript::decode));
        // Inside its own session a subagent is nobody else.
        for entry in &mut entries {
            entry.agent = None;
        }
        Ok(entries)
    }

    fn decoded(&self, pieces: &[(Seq, BlobId)]) -> Result<Vec<Entry>, EngineError> {
        let blobs = self.blobs();
        let mut entries = Vec::new();
        for (_, blob) in pieces {
            // Raw text may have been dropped to save space; what is left still counts.
            if let Some(text) = blobs.get(blob)? {
                entries.extend(text.lines().filter_map(transcript::decode));
            }
        }
        Ok(entries)
    }
}

fn told<'a>(frame: Option<&'a Frame>, already: &'a str) -> Told<'a> {
    Told {
        goal: frame.map(|frame| frame.title.as_str()),
        criteria: frame
            .and_then(|frame| frame.criteria.as_ref().map(flamestack_core::Prose::as_str)),
        notes: frame.map_or(&[], |frame| &frame.notes),
        log: frame.map(|frame| frame.id.as_str()),
        already,
    }
}

/// The pieces of raw text that were kept with a frame and those below it, in the order in which
/// they were; only those of one session, if one is named.
fn pieces_below(
    reading: &dyn Reading,
    frame: &FrameId,
    session: Option<&SessionRef>,
) -> Result<Vec<(Seq, BlobId)>, EngineError> {
    let mut pieces = Vec::new();
    let mut open = vec![frame.clone()];
    while let Some(frame) = open.pop() {
        for recorded in reading.history(&frame)? {
            if let Event::Logged { entry, .. } = &recorded.event
                && entry.label.as_str() == transcript::LABEL
                && session.is_none_or(|session| *session == recorded.session)
            {
                pieces.push((recorded.seq, entry.blob.clone()));
            }
        }
        let below = Slice {
            parent: Some(frame),
            ..Slice::default()
        };
        open.extend(reading.rows(&below)?.into_iter().map(|row| row.frame.id));
    }
    pieces.sort_by_key(|(seq, _)| *seq);
    pieces.dedup();
    Ok(pieces)
}
