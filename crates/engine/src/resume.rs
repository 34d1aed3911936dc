//! Briefs and results from what is kept of a conversation: what a model needs to take it up again,
//! and what a parent needs of a frame that ended without results, or with long ones.
//!
//! How they are made is `flamestack_core::summary`'s to say; here their material is gathered. What
//! was said in a session lies in the logs of its frames, a turn to a piece, and the newest may
//! still wait for its turn to end.

use std::borrow::Cow;

use flamestack_core::command::Actor;
use flamestack_core::decide::{Rejected, is_wordless};
use flamestack_core::event::{Edit, Event, Recorded, Results};
use flamestack_core::frame::Frame;
use flamestack_core::id::{BlobId, FrameId, Seq, SessionRef};
use flamestack_core::summary::{self, Told};
use flamestack_core::text::Prose;
use flamestack_core::tokens::{Estimate, Tokenizer};
use flamestack_core::transcript::{Entry, What};
use flamestack_store::{Reading, Slice, Step, transcript};

use crate::Engine;
use crate::error::EngineError;
use crate::names;
use crate::request::Request;

/// How long a brief is where nothing else is said.
pub const BRIEF_TOKENS: usize = 4000;
/// How long it is beside a host's own summary.
pub const BESIDE_SUMMARY_TOKENS: usize = 1000;
/// How long the result of a frame is that nobody gave one.
pub const RESULT_TOKENS: usize = 300;
/// How long the dense form of a result is that is longer than that. Many stand side by side where
/// room is short.
pub const DENSE_TOKENS: usize = 150;
/// Of what is kept of a frame, so many bytes of the newest are looked at for its result.
const LOOKED_AT: usize = 8 * 1024 * 1024;

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
    /// if nothing is kept. For frames that end without results.
    ///
    /// Its tokens are estimated: it goes into the journal, which no tokenizer has a say in.
    pub fn derived_result(
        &self,
        frame: &FrameId,
        limit: usize,
    ) -> Result<Option<String>, EngineError> {
        self.told_of(frame, None, limit)
    }

    /// The dense form of results that are long: their beginning, and the names that came up in the
    /// frame. Nothing, if they are short or nothing is kept of the frame; the first sentences are
    /// dense enough then.
    pub fn dense_result(
        &self,
        frame: &FrameId,
        results: &str,
    ) -> Result<Option<String>, EngineError> {
        if Estimate.count(results) <= RESULT_TOKENS {
            return Ok(None);
        }
        self.told_of(frame, Some(results), DENSE_TOKENS)
    }

    fn told_of(
        &self,
        frame: &FrameId,
        results: Option<&str>,
        limit: usize,
    ) -> Result<Option<String>, EngineError> {
        let pieces = self.read(|reading| pieces_below(reading, frame, None))?;
        let mut entries = self.decoded(newest(&pieces))?;
        if entries.is_empty() {
            return Ok(None);
        }
        entries.extend(results.map(|results| Entry {
            id: None,
            message: None,
            at: None,
            agent: None,
            what: What::Assistant {
                text: results.to_owned(),
            },
        }));
        let frame = self.read(|reading| Ok(reading.whole_frame(frame)?))?;
        let told = told(frame.as_ref(), "");
        let text = summary::result(&entries, &told, limit, &Estimate);
        Ok(Some(text).filter(|text| !text.trim().is_empty()))
    }

    /// A request to finish a frame with long results and no dense form of them, with one.
    pub(crate) fn with_dense_results<'r>(
        &self,
        actor: &Actor,
        request: &'r Request,
    ) -> Cow<'r, Request> {
        let Request::Pop {
            frame,
            outcome,
            results,
            compacted: None,
        } = request
        else {
            return Cow::Borrowed(request);
        };
        if Estimate.count(results) <= RESULT_TOKENS {
            return Cow::Borrowed(request);
        }
        let meant = self.read(|reading| match frame {
            Some(frame) => names::resolve(reading, frame).map(Some),
            None => Ok(reading.session(&actor.session)?.and_then(|it| it.active)),
        });
        // Which frame is meant, and whether it can end, is for the request itself to say.
        let dense = meant.and_then(|meant| match meant {
            Some(meant) => self.dense_result(&meant, results),
            None => Ok(None),
        });
        match dense {
            Ok(Some(dense)) => Cow::Owned(Request::Pop {
                frame: frame.clone(),
                outcome: *outcome,
                results: results.clone(),
                compacted: Some(dense),
            }),
            _ => Cow::Borrowed(request),
        }
    }

    /// Sums up the frames that ended among some events and were given no results, or long ones.
    pub(crate) fn sum_up(
        &self,
        actor: &Actor,
        recorded: &[Recorded],
    ) -> Result<Vec<Recorded>, EngineError> {
        let mut steps = Vec::new();
        for event in recorded {
            let Event::FrameClosed { frame, results, .. } = &event.event else {
                continue;
            };
            let edit = self.summed_up(frame, results)?;
            let Some(edit) = edit else {
                continue;
            };
            let edited = Event::FrameEdited {
                frame: frame.clone(),
                edit,
            };
            // What was seen of a conversation is nobody's last command.
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
            steps.push((frame.clone(), step));
        }
        if steps.is_empty() {
            return Ok(Vec::new());
        }
        let mut steps = steps.into_iter();
        self.commit_steps(&mut |reading| {
            for (frame, step) in steps.by_ref() {
                // Somebody may have been quicker, and taken back what led to the frame's end.
                let known = reading.frame(&frame).map_err(Rejected::Unreadable)?;
                if known.is_some_and(|known| !known.status.is_open()) {
                    return Ok(Some(step));
                }
            }
            Ok(None)
        })
    }

    fn summed_up(&self, frame: &FrameId, results: &Results) -> Result<Option<Edit>, EngineError> {
        if results.compacted.is_some() {
            return Ok(None);
        }
        let full = results.full.as_str();
        if !is_wordless(full) {
            let dense = self.dense_result(frame, full)?;
            let dense = dense.and_then(|dense| Prose::new(&dense).ok());
            return Ok(dense.map(|dense| Edit {
                results_compacted: Some(dense),
                ..Edit::default()
            }));
        }
        let derived = self.derived_result(frame, RESULT_TOKENS)?;
        let derived = derived.and_then(|text| Prose::new(&format!("{full}\n{text}")).ok());
        Ok(derived.map(|results| Edit {
            results: Some(results),
            ..Edit::default()
        }))
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

    /// The beginning of what was said and done in a frame and in those below it, as far as it is
    /// kept: about so many bytes.
    pub(crate) fn told_in(&self, frame: &FrameId, bytes: usize) -> Result<String, EngineError> {
        let pieces = self.read(|reading| pieces_below(reading, frame, None))?;
        let blobs = self.blobs();
        let mut text = String::new();
        for Piece { blob, .. } in &pieces {
            if text.len() > bytes {
                break;
            }
            if let Some(raw) = blobs.get(blob)? {
                text.push_str(&transcript::markdown(&raw));
            }
        }
        Ok(text)
    }

    fn decoded(&self, pieces: &[Piece]) -> Result<Vec<Entry>, EngineError> {
        let blobs = self.blobs();
        let mut entries = Vec::new();
        for Piece { blob, .. } in pieces {
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

/// A piece of raw text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece {
    seq: Seq,
    blob: BlobId,
    bytes: u64,
}

/// The newest pieces that are not too much together.
fn newest(pieces: &[Piece]) -> &[Piece] {
    let mut room = LOOKED_AT as u64;
    let fits = |piece: &&Piece| {
        let left = room.checked_sub(piece.bytes);
        room = left.unwrap_or(0);
        left.is_some()
    };
    let count = pieces.iter().rev().take_while(fits).count();
    pieces.get(pieces.len() - count..).unwrap_or_default()
}

/// The pieces of raw text that were kept with a frame and those below it, in the order in which
/// they were; only those of one session, if one is named.
fn pieces_below(
    reading: &dyn Reading,
    frame: &FrameId,
    session: Option<&SessionRef>,
) -> Result<Vec<Piece>, EngineError> {
    let mut pieces = Vec::new();
    let mut open = vec![frame.clone()];
    while let Some(frame) = open.pop() {
        for recorded in reading.history(&frame)? {
            if let Event::Logged { entry, .. } = &recorded.event
                && entry.label.as_str() == transcript::LABEL
                && session.is_none_or(|session| *session == recorded.session)
            {
                pieces.push(Piece {
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
    pieces.sort_by_key(|piece| piece.seq);
    pieces.dedup();
    Ok(pieces)
}
