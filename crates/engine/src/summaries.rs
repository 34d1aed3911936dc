//! Summaries of recorded work: a brief for a model that resumes a session, and results for frames
//! that ended without any, or with long ones.
//!
//! The texts are written by `flamestack_extract::summary`; this module gathers their material. A
//! session is recorded in the logs of its frames, one turn a piece. The newest turn may still be
//! pending: it is written when it ends.

mod record;

use flamestack_core::event::{Edit, Results};
use flamestack_core::frame::Origin;
use flamestack_core::id::{BlobId, Seq};
use flamestack_core::transcript::{Entry, EntryKind};
use flamestack_core::{Actor, Event, Frame, FrameId, Recorded, SessionRef, Text};
use flamestack_extract::state::WorkState;
use flamestack_extract::summary::{self, SummaryInput};
use flamestack_extract::tokens::{Estimate, Tokenizer};
use flamestack_store::{Reading, Slice, Step, transcript};

use crate::Engine;
use crate::error::Result;
use crate::ingest::is_wordless;
use crate::names;
use crate::request::Request;

/// Default length of a brief that accompanies a host's own summary, in tokens.
pub const BESIDE_SUMMARY_TOKENS: usize = 1000;
/// Length of a derived result, in tokens. Given results longer than this get a dense form.
pub const RESULT_TOKENS: usize = 300;
/// Length of the dense form of a result, in tokens. Many of them share a context.
pub const DENSE_TOKENS: usize = 150;
/// Size of the newest part of a transcript that a summary is made of, in bytes.
const RESULT_SOURCE: usize = 8 * 1024 * 1024;

/// Summarises recorded sessions and frames.
#[derive(Clone, Copy)]
pub struct Summaries<'e> {
    pub(crate) engine: &'e Engine,
}

impl Summaries<'_> {
    /// Returns a brief of a session, at most `limit` tokens long, or `None` if nothing of it is
    /// recorded. The brief does not repeat `already`, which the model has anyway, such as the
    /// host's summary.
    pub fn resume_brief(
        &self,
        session: &SessionRef,
        limit: usize,
        already: &str,
    ) -> Result<Option<String>> {
        let entries = self.transcript(session)?;
        if entries.is_empty() {
            return Ok(None);
        }
        let frame = self.engine.read(|reading| {
            let own = reading.session(session)?.and_then(|known| known.own);
            own.map_or(Ok(None), |own| Ok(reading.whole_frame(&own)?))
        })?;
        let subject = subject(frame.as_ref(), already);
        Ok(Some(self.engine.counting(|tokenizer| {
            summary::brief(&entries, &subject, limit, tokenizer)
        })))
    }

    /// Reads the state of the work of a session; `None` if it has no transcript.
    pub fn state(&self, session: &SessionRef) -> Result<Option<WorkState>> {
        let entries = self.transcript(session)?;
        Ok((!entries.is_empty()).then(|| WorkState::read(&entries)))
    }

    /// Derives the result of a frame that ended without one from its transcript and those of the
    /// frames below it, or else from its notes, raw texts and children. Returns `None` if nothing is
    /// recorded.
    ///
    /// Tokens are estimated: the text goes into the journal, which must not depend on a tokenizer.
    pub fn derived_result(&self, frame: &FrameId, limit: usize) -> Result<Option<String>> {
        self.result(frame, None, limit)
    }

    /// Derives the dense form of long results: their beginning, and the names that came up in the
    /// frame. Returns `None` for short results, and if nothing of the frame is recorded; contexts
    /// then use the first sentences.
    pub fn dense_result(&self, frame: &FrameId, results: &str) -> Result<Option<String>> {
        if Estimate.count(results) <= RESULT_TOKENS {
            return Ok(None);
        }
        self.result(frame, Some(results), DENSE_TOKENS)
    }

    fn result(
        &self,
        frame: &FrameId,
        results: Option<&str>,
        limit: usize,
    ) -> Result<Option<String>> {
        let engine = self.engine;
        let turns = engine.read(|reading| recorded_turns(reading, frame, None))?;
        let mut entries = self.decode(newest(&turns))?;
        let frame = engine.read(|reading| Ok(reading.whole_frame(frame)?))?;
        if entries.is_empty() {
            return match frame.filter(|_| results.is_none()) {
                Some(frame) => self.recorded_result(&frame, limit),
                None => Ok(None),
            };
        }
        entries.extend(results.map(|results| {
            let text = results.to_owned();
            Entry::of(EntryKind::Assistant { text })
        }));
        let text = summary::result(&entries, &subject(frame.as_ref(), ""), limit, &Estimate);
        Ok(Some(text).filter(|text| !text.trim().is_empty()))
    }

    /// Adds a dense form to a pop whose results are long and have none.
    pub(crate) fn with_dense_results(&self, actor: &Actor, mut request: Request) -> Request {
        if let Request::Pop {
            frame,
            results,
            compacted: compacted @ None,
            ..
        } = &mut request
            && Estimate.count(results) > RESULT_TOKENS
        {
            let target = self.engine.read(|reading| match frame {
                Some(frame) => names::resolve(reading, frame).map(Some),
                None => Ok(reading.session(&actor.session)?.and_then(|it| it.active)),
            });
            // A wrong name is reported when the request itself is executed.
            if let Ok(Some(target)) = target {
                *compacted = self.dense_result(&target, results).unwrap_or_default();
            }
        }
        request
    }

    /// Adds results to the frames that some events closed without any, and dense forms to long
    /// results.
    pub(crate) fn complete_results(
        &self,
        actor: &Actor,
        recorded: &[Recorded],
    ) -> Result<Vec<Recorded>> {
        let mut steps = Vec::new();
        for event in recorded {
            let Event::FrameClosed { frame, results, .. } = &event.event else {
                continue;
            };
            let Some(edit) = self.missing_results(frame, results)? else {
                continue;
            };
            let edited = Event::FrameEdited {
                frame: *frame,
                edit,
            };
            // Marks the step as observed, so that `undo` does not take it for a command.
            let seen = Event::SessionWitnessed {
                session: actor.session.clone(),
                marks: Vec::new(),
            };
            let step = Step {
                at: event.at,
                actor: Actor {
                    session: event.session.clone(),
                    ..actor.clone()
                },
                events: vec![edited, seen],
            };
            steps.push((*frame, step));
        }
        if steps.is_empty() {
            return Ok(Vec::new());
        }
        let mut steps = steps.into_iter();
        self.engine.workspace.commit_steps(&mut |reading| {
            for (frame, step) in steps.by_ref() {
                // Another process may have undone the end of the frame in the meantime.
                let known = reading.frame(&frame)?;
                if known.is_some_and(|known| !known.status.is_open()) {
                    return Ok(Some(step));
                }
            }
            Ok(None)
        })
    }

    fn missing_results(&self, frame: &FrameId, results: &Results) -> Result<Option<Edit>> {
        if results.compacted.is_some() {
            return Ok(None);
        }
        let full = results.full.as_str();
        if !is_wordless(full) {
            let dense = self.dense_result(frame, full)?;
            let dense = dense.and_then(|dense| Text::new(&dense).ok());
            return Ok(dense.map(|dense| Edit {
                results_compacted: Some(dense),
                ..Edit::default()
            }));
        }
        let derived = self.derived_result(frame, RESULT_TOKENS)?;
        let derived = derived.and_then(|text| Text::new(&format!("{full}\n{text}")).ok());
        Ok(derived.map(|results| Edit {
            results: Some(results),
            ..Edit::default()
        }))
    }

    /// Returns the newest part of what is recorded of a session, in order.
    pub fn transcript(&self, session: &SessionRef) -> Result<Vec<Entry>> {
        let turns = self.engine.read(|reading| {
            let own = reading.session(session)?.and_then(|known| known.own);
            own.map_or(Ok(Vec::new()), |own| {
                recorded_turns(reading, &own, Some(session))
            })
        })?;
        let mut entries = self.decode(newest(&turns))?;
        let pending = self.engine.pending_text(session);
        entries.extend(pending.lines().filter_map(transcript::decode));
        // Within its own session a subagent is the main speaker.
        for entry in &mut entries {
            entry.agent = None;
        }
        Ok(entries)
    }

    /// Passes each line of a session's transcript to `each`, in order, one text in memory at a time.
    pub(crate) fn each_line(&self, session: &SessionRef, each: &mut dyn FnMut(&str)) -> Result<()> {
        let turns = self.engine.read(|reading| {
            let own = reading.session(session)?.and_then(|known| known.own);
            own.map_or(Ok(Vec::new()), |own| {
                recorded_turns(reading, &own, Some(session))
            })
        })?;
        let blobs = self.engine.blobs().reader();
        for RecordedTurn { blob, .. } in &turns {
            let text = blobs.get(blob)?.unwrap_or_default();
            text.lines().for_each(&mut *each);
        }
        self.engine
            .pending_text(session)
            .lines()
            .for_each(&mut *each);
        Ok(())
    }

    /// Returns the beginning of the transcript of a frame and those below it as Markdown, at least
    /// `bytes` long unless it ends before.
    pub(crate) fn transcript_start(&self, frame: &FrameId, bytes: usize) -> Result<String> {
        let turns = self
            .engine
            .read(|reading| recorded_turns(reading, frame, None))?;
        let blobs = self.engine.blobs().reader();
        let mut text = String::new();
        for RecordedTurn { blob, .. } in &turns {
            if text.len() > bytes {
                break;
            }
            if let Some(raw) = blobs.get(blob)? {
                text.push_str(&transcript::markdown(&raw));
            }
        }
        Ok(text)
    }

    fn decode(&self, turns: &[RecordedTurn]) -> Result<Vec<Entry>> {
        let blobs = self.engine.blobs().reader();
        let mut entries = Vec::new();
        for RecordedTurn { blob, .. } in turns {
            // Raw text may have been dropped to save space; the rest still counts.
            if let Some(text) = blobs.get(blob)? {
                entries.extend(text.lines().filter_map(transcript::decode));
            }
        }
        Ok(entries)
    }
}

/// The subject of a summary, from what is recorded of its frame.
pub(crate) fn subject<'a>(frame: Option<&'a Frame>, already: &'a str) -> SummaryInput<'a> {
    // A session without a prompt has the name of its id, which is no goal.
    let is_named = |frame: &&Frame| {
        let unnamed = frame.title.as_str().starts_with("Session ");
        frame.origin != Origin::Session || !unnamed
    };
    SummaryInput {
        goal: frame.filter(is_named).map(|frame| frame.title.as_str()),
        criteria: frame.and_then(|frame| frame.criteria.as_ref().map(Text::as_str)),
        notes: frame.map_or(&[], |frame| &frame.notes),
        log: frame.map(|frame| frame.id.as_str()),
        already,
        has_state: false,
    }
}

/// A turn of a session in a frame's log.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RecordedTurn {
    seq: Seq,
    blob: BlobId,
    bytes: u64,
}

/// Returns the newest turns that together have at most [`RESULT_SOURCE`] bytes.
fn newest(turns: &[RecordedTurn]) -> &[RecordedTurn] {
    let mut room = RESULT_SOURCE as u64;
    let fits = |turn: &&RecordedTurn| {
        let left = room.checked_sub(turn.bytes);
        room = left.unwrap_or(0);
        left.is_some()
    };
    let count = turns.iter().rev().take_while(fits).count();
    turns.get(turns.len() - count..).unwrap_or_default()
}

/// Returns the turns in the logs of a frame and those below it, in order; only those of `session`,
/// if one is given.
fn recorded_turns(
    reading: &dyn Reading,
    frame: &FrameId,
    session: Option<&SessionRef>,
) -> Result<Vec<RecordedTurn>> {
    let mut turns = Vec::new();
    let mut open = vec![*frame];
    while let Some(frame) = open.pop() {
        for recorded in reading.history(&frame)? {
            if let Event::Logged { entry, .. } = &recorded.event
                && entry.label.as_str() == transcript::LABEL
                && session.is_none_or(|session| *session == recorded.session)
            {
                turns.push(RecordedTurn {
                    seq: recorded.seq,
                    blob: entry.blob.clone(),
                    bytes: entry.bytes,
                });
            }
        }
        let below = Slice {
            parent: Some(frame),
            ..Slice::default()
        };
        open.extend(reading.rows(&below)?.into_iter().map(|row| row.frame.id));
    }
    turns.sort_by_key(|turn| turn.seq);
    turns.dedup();
    Ok(turns)
}
