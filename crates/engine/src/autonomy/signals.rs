//! Signals of a session in a project: read from its entries, followed from frame to frame, completed by
//! what the store knows.

use crate::autonomy::heuristics::{Criteria, WorkSignals};
use flamestack_core::autonomy::Boundary;
use flamestack_core::frame::Frame;
use flamestack_core::{FrameId, Session, SessionRef, Text};
use flamestack_store::Reading;

use super::criteria::criteria;
use super::reader::SignalReader;
use super::suggestions::Autonomy;
use crate::error::Result;

impl Autonomy<'_> {
    /// Returns the signals of a session as they are now.
    pub fn signals(&self, session: &SessionRef) -> Result<WorkSignals> {
        let reader = match self.engine.known_signals(session) {
            Some(reader) if reader.is_whole => reader,
            _ => self.read_again(session)?,
        };
        let known = self.engine.session(session)?;
        known.map_or(Ok(WorkSignals::default()), |known| {
            self.completed(&known, reader.signals)
        })
    }

    /// Reads the signals of a session from the newest part of its transcript.
    fn read_again(&self, session: &SessionRef) -> Result<SignalReader> {
        let mut reader = SignalReader::default();
        for entry in &self.engine.summaries().transcript(session)? {
            reader.read(entry);
        }
        Ok(reader)
    }

    /// Returns the signals of a session and the user's newest message, read again from the transcript where
    /// this process has not seen the session from its start.
    pub(super) fn current(&self, known: &Session) -> Result<(WorkSignals, String)> {
        if let Some(current) = self.engine.current_signals(&known.key, known.frame()) {
            return Ok(current);
        }
        let (mut reader, is_whole) = match self.engine.known_signals(&known.key) {
            Some(reader) if reader.is_whole => (reader, true),
            _ => (self.read_again(&known.key)?, false),
        };
        let has_moved = self.follow(&mut reader, known)?;
        reader.is_whole = true;
        if !is_whole || has_moved {
            self.engine.keep_signals(&known.key, &reader);
        }
        Ok((reader.signals, reader.asked))
    }

    /// Follows a session to the frame that it works on: there the counts begin again. Returns true if
    /// it is another one than before.
    ///
    /// This happens before entries are read. Asked for at the next boundary only, a frame would lose
    /// the errors that occurred in it since it was pushed.
    pub(crate) fn follow(&self, reader: &mut SignalReader, known: &Session) -> Result<bool> {
        let frame = known.frame();
        let Some(former) = reader.frame.filter(|former| Some(*former) != frame) else {
            reader.frame = frame;
            return Ok(false);
        };
        let (goal, left) = self
            .engine
            .read(|reading| Ok((goal(reading, known)?, reading.frame(&former)?)))?;
        let is_closed = left.is_none_or(|left| !left.status.is_open());
        if is_closed {
            reader.boundary = Some(Boundary::Pop);
        }
        reader.begin_frame(&goal, is_closed);
        reader.frame = frame;
        Ok(true)
    }

    /// Adds what the store knows better than a fold of entries.
    pub(super) fn completed(
        &self,
        known: &Session,
        mut signals: WorkSignals,
    ) -> Result<WorkSignals> {
        signals.window = known.window();
        signals.is_interrupted |= known.activity.interrupted;
        signals.compactions = u32::try_from(known.activity.compactions).unwrap_or(u32::MAX);
        if signals.tokens.is_none() && known.activity.size > 0 && signals.compactions == 0 {
            signals.tokens = Some(known.activity.size);
        }
        self.engine.read(|reading| {
            let running = reading.runs_of(&known.key)?;
            let running = running
                .iter()
                .filter(|run| run.state.is_in_flight())
                .count();
            signals.children = u32::try_from(running).unwrap_or(u32::MAX);
            if let Some(frame) = known.frame() {
                signals.criteria = covered(reading, &frame)?;
            }
            Ok(())
        })?;
        Ok(signals)
    }
}

/// Counts the criteria of a frame. Its notes are read only if it has some.
fn covered(reading: &dyn Reading, frame: &FrameId) -> Result<Criteria> {
    let bare = reading.bare_frame(frame)?;
    if bare.is_none_or(|bare| bare.criteria.is_none()) {
        return Ok(Criteria::default());
    }
    let frames = reading.frames_with_notes(&[*frame])?;
    Ok(frames.first().map(criteria).unwrap_or_default())
}

/// Returns the words of the goal that a session works towards.
fn goal(reading: &dyn Reading, known: &Session) -> Result<String> {
    let Some(id) = known.frame() else {
        return Ok(String::new());
    };
    let frame: Option<Frame> = reading.bare_frame(&id)?;
    Ok(frame.map_or(String::new(), |frame| {
        let criteria = frame.criteria.as_ref().map_or("", Text::as_str);
        format!("{}\n{criteria}", frame.title.as_str())
    }))
}
