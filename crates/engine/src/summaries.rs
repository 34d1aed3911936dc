//! Summaries of recorded work: a brief for a model that resumes a session, and results for frames
//! that ended without any, or with long ones.
//! `docs/architecture.md`, "Texts for a session that continues", compares this module with its relatives.
//!
//! The texts are written by `flamestack_extract::summary`; this module gathers their material. A
//! session is recorded in the logs of its frames, one turn per text. The newest turn may still be
//! pending: it is written when it ends.

mod record;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use flamestack_core::event::{Edit, Results};
use flamestack_core::frame::Origin;
use flamestack_core::transcript::{Entry, EntryKind};
use flamestack_core::{Actor, Event, Frame, FrameId, Recorded, SessionRef, Text};
use flamestack_extract::state::WorkState;
use flamestack_extract::summary::{self, SummaryInput};
use flamestack_extract::tokens::{Estimate, Tokenizer};
use flamestack_store::{BlobReader, LogEnd, LoggedTurn, Reading, Step, WantedTurns, transcript};

use crate::Engine;
use crate::error::Result;
use crate::ingest::is_wordless;
use crate::names;
use crate::request::Request;

/// Default length of a brief that accompanies a host's own summary, in tokens.
pub const BESIDE_SUMMARY_TOKENS: usize = 1000;
/// Length of a derived result, in tokens. Given results longer than this get a compacted form.
pub const RESULT_TOKENS: usize = 300;
/// Length of the compacted form of a result, in tokens. Many of them share a context.
pub const DENSE_TOKENS: usize = 150;
/// Size of the newest part of a transcript that a summary is made of, in bytes.
const RESULT_SOURCE: u64 = 8 * 1024 * 1024;
/// Size of the oldest part of a transcript that its beginning is rendered from, in bytes: outputs of
/// tools are shown in part.
const START_SOURCE: u64 = 16 * 1024 * 1024;
/// Size of the part of a transcript in which an entry is looked for by its number, in bytes.
const VISITED: u64 = 256 * 1024 * 1024;

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
        let entries = self.record(session)?.without_folded_output();
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
        self.result(frame, None, limit, &self.engine.blobs().reader())
    }

    /// Derives the compacted form of long results: their beginning, and the names that came up in the
    /// frame. Returns `None` for short results, and if nothing of the frame is recorded; contexts
    /// then use the first sentences.
    pub fn dense_result(&self, frame: &FrameId, results: &str) -> Result<Option<String>> {
        self.dense_result_from(frame, results, &self.engine.blobs().reader())
    }

    fn dense_result_from(
        &self,
        frame: &FrameId,
        results: &str,
        blobs: &BlobReader,
    ) -> Result<Option<String>> {
        if Estimate.count(results) <= RESULT_TOKENS {
            return Ok(None);
        }
        self.result(frame, Some(results), DENSE_TOKENS, blobs)
    }

    fn result(
        &self,
        frame: &FrameId,
        results: Option<&str>,
        limit: usize,
        blobs: &BlobReader,
    ) -> Result<Option<String>> {
        let engine = self.engine;
        let turns = engine.read(|reading| newest_turns(reading, frame, None))?;
        let mut entries = decode(&turns, blobs)?;
        let frame = engine.read(|reading| Ok(reading.whole_frame(frame)?))?;
        if entries.is_empty() {
            return match frame.filter(|_| results.is_none()) {
                Some(frame) => self.recorded_result(&frame, limit),
                None => Ok(None),
            };
        }
        // Of a prompt that nothing followed, the frame's title says everything.
        let is_prompt = |entry: &Entry| matches!(entry.kind, EntryKind::User { .. });
        let has_notes = frame.as_ref().is_some_and(|frame| !frame.notes.is_empty());
        if results.is_none() && !has_notes && entries.iter().all(is_prompt) {
            return Ok(None);
        }
        entries.extend(results.map(|results| {
            let text = results.to_owned();
            Entry::from(EntryKind::Assistant { text })
        }));
        let text = summary::result(&entries, &subject(frame.as_ref(), ""), limit, &Estimate);
        Ok(Some(text).filter(|text| !text.trim().is_empty()))
    }

    /// Adds a compacted form to a pop whose results are long and have none.
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

    /// Adds results to the frames that some events closed without any, and compacted forms to long
    /// results.
    pub(crate) fn complete_results(
        &self,
        actor: &Actor,
        recorded: &[Recorded],
    ) -> Result<Vec<Recorded>> {
        let mut steps = Vec::new();
        // One for all: thousands of prompts may come at the same time.
        let blobs = self.engine.blobs().reader();
        for event in recorded {
            let Event::FrameClosed { frame, results, .. } = &event.event else {
                continue;
            };
            let Some(edit) = self.missing_results(frame, results, &blobs)? else {
                continue;
            };
            let edited = Event::FrameEdited {
                frame: *frame,
                edit,
            };
            // Marks the step as observed, so that `undo` does not take it for a command.
            let seen = Event::EntriesIngested {
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

    fn missing_results(
        &self,
        frame: &FrameId,
        results: &Results,
        blobs: &BlobReader,
    ) -> Result<Option<Edit>> {
        if results.compacted.is_some() {
            return Ok(None);
        }
        let full = results.full.as_str();
        if !is_wordless(full) {
            let dense = self.dense_result_from(frame, full, blobs)?;
            let dense = dense.and_then(|dense| Text::new(&dense).ok());
            return Ok(dense.map(|dense| Edit {
                results_compacted: Some(dense),
                ..Edit::default()
            }));
        }
        let derived = self.result(frame, None, RESULT_TOKENS, blobs)?;
        let derived = derived.and_then(|text| Text::new(&format!("{full}\n{text}")).ok());
        Ok(derived.map(|results| Edit {
            results: Some(results),
            ..Edit::default()
        }))
    }

    /// Returns the newest part of what is recorded of a session, in order.
    pub fn transcript(&self, session: &SessionRef) -> Result<Vec<Entry>> {
        Ok(self.record(session)?.entries)
    }

    /// Returns the same, with the places of the frames that were pushed in it and have ended.
    pub(crate) fn record(&self, session: &SessionRef) -> Result<SessionRecord> {
        let (turns, folded) = self.engine.read(|reading| {
            let own = reading.session(session)?.and_then(|known| known.own);
            let turns = own.map_or(Ok(Vec::new()), |own| {
                newest_turns(reading, &own, Some(session))
            })?;
            let folded = folded_frames(reading, &turns)?;
            Ok((turns, folded))
        })?;
        let blobs = self.engine.blobs().reader();
        let mut entries = Vec::new();
        let mut places = Vec::new();
        for turn in &turns {
            let from = entries.len();
            entries.extend(decode(std::slice::from_ref(turn), &blobs)?);
            if folded.contains(&turn.frame) {
                places.push(from..entries.len());
            }
        }
        let pending = self.engine.pending_text(session);
        entries.extend(pending.lines().filter_map(transcript::decode));
        // Within its own session a subagent is the main speaker.
        for entry in &mut entries {
            entry.agent = None;
        }
        Ok(SessionRecord {
            entries,
            folded: places,
        })
    }

    /// Passes lines of a session's transcript to `each`, in order, one text in memory at a time, until
    /// it returns false. Returns true if the transcript goes on beyond what a request reads.
    pub(crate) fn visit_lines(
        &self,
        session: &SessionRef,
        each: &mut dyn FnMut(&str) -> bool,
    ) -> Result<bool> {
        let turns = self.engine.read(|reading| {
            let own = reading.session(session)?.and_then(|known| known.own);
            own.map_or(Ok(Vec::new()), |own| {
                Ok(reading.turns(&WantedTurns {
                    frame: &own,
                    session: Some(session),
                    end: LogEnd::Oldest,
                    bytes: VISITED,
                })?)
            })
        })?;
        let blobs = self.engine.blobs().reader();
        for LoggedTurn { blob, .. } in &turns {
            let text = blobs.get(blob)?.unwrap_or_default();
            if !text.lines().all(&mut *each) {
                return Ok(false);
            }
        }
        if turns.iter().map(|turn| turn.bytes).sum::<u64>() >= VISITED {
            return Ok(true);
        }
        let pending = self.engine.pending_text(session);
        let _ended = pending.lines().all(each);
        Ok(false)
    }

    /// Returns the beginning of the transcript of a frame and those below it as Markdown, at least
    /// `bytes` long unless it ends before.
    pub(crate) fn transcript_start(&self, frame: &FrameId, bytes: usize) -> Result<String> {
        let wanted = WantedTurns {
            frame,
            session: None,
            end: LogEnd::Oldest,
            bytes: START_SOURCE,
        };
        let turns = self.engine.read(|reading| Ok(reading.turns(&wanted)?))?;
        let blobs = self.engine.blobs().reader();
        let mut text = String::new();
        for LoggedTurn { blob, .. } in &turns {
            if text.len() > bytes {
                break;
            }
            if let Some(raw) = blobs.get(blob)? {
                text.push_str(&transcript::markdown(&raw));
            }
        }
        Ok(text)
    }
}

/// The newest part of what is recorded of a session.
pub(crate) struct SessionRecord {
    pub(crate) entries: Vec<Entry>,
    /// The entries of frames that were pushed and have ended.
    folded: Vec<Range<usize>>,
}

impl SessionRecord {
    /// Returns the entries without the output of tools in frames that have ended: their results stand for
    /// it. The entries keep their numbers.
    pub(crate) fn without_folded_output(mut self) -> Vec<Entry> {
        for place in self.folded {
            for entry in self.entries.get_mut(place).unwrap_or_default() {
                if let EntryKind::Answer(answer) = &mut entry.kind {
                    answer.text.clear();
                }
            }
        }
        self.entries
    }
}

/// Returns the frames of these turns that were pushed and have ended, or are below such a frame.
fn folded_frames(reading: &dyn Reading, turns: &[LoggedTurn]) -> Result<BTreeSet<FrameId>> {
    let mut known: BTreeMap<FrameId, bool> = BTreeMap::new();
    for turn in turns {
        let mut path = Vec::new();
        let mut next = Some(turn.frame);
        let mut is_folded = false;
        while let Some(id) = next {
            if let Some(known) = known.get(&id) {
                is_folded = *known;
                break;
            }
            path.push(id);
            let Some(frame) = reading.frame(&id)? else {
                break;
            };
            is_folded = frame.origin == Origin::Asked && !frame.status.is_open();
            if is_folded {
                break;
            }
            next = frame.parent;
        }
        known.extend(path.into_iter().map(|id| (id, is_folded)));
    }
    let folded = known.into_iter().filter(|(_, is_folded)| *is_folded);
    Ok(folded.map(|(id, _)| id).collect())
}

/// Reads the entries of turns.
fn decode(turns: &[LoggedTurn], blobs: &BlobReader) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for LoggedTurn { blob, .. } in turns {
        // Raw text may have been dropped to save space; the rest still counts.
        if let Some(text) = blobs.get(blob)? {
            entries.extend(text.lines().filter_map(transcript::decode));
        }
    }
    Ok(entries)
}

/// The subject of a summary, from what is recorded of its frame.
pub(crate) fn subject<'a>(frame: Option<&'a Frame>, already: &'a str) -> SummaryInput<'a> {
    // A session without a prompt has the name of its id, which is not a goal.
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
        has_summary: summary::is_summary(already),
        has_state: false,
    }
}

/// Returns the newest turns in the logs of a frame and those below it, in order; only those of
/// `session`, if one is given.
fn newest_turns(
    reading: &dyn Reading,
    frame: &FrameId,
    session: Option<&SessionRef>,
) -> Result<Vec<LoggedTurn>> {
    Ok(reading.turns(&WantedTurns {
        frame,
        session,
        end: LogEnd::Newest,
        bytes: RESULT_SOURCE,
    })?)
}
