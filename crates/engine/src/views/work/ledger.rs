//! The ledger: what the events of the journal say about the amounts of frames and sessions.
//!
//! A model call is charged to the frame that its session works on when the call begins, else to the frame
//! bound to the session, else to the session alone. A prompt that has a frame directly below that one is
//! charged instead, so that sessions without any pushes show what each prompt took. Costs stay facts after an undo or a revert, so the
//! ledger is only ever added to.

use std::collections::BTreeMap;

use flamestack_core::frame::Origin;
use flamestack_core::id::{BlobId, Seq, SessionRef, Timestamp};
use flamestack_core::transcript::Usage;
use flamestack_core::{Author, Event, Frame, FrameId, Recorded};

use super::amounts::Amounts;
use super::changes::Changes;
use super::folds::{Ending, Folds};
use super::timeline::{MarkKind, SessionMark};
use super::working_time::{Gap, Segment, WorkingTime};

/// Maximum number of marks kept for each session.
const MARKS: usize = 400;

/// Sums over the events.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    position: Seq,
    tallies: BTreeMap<FrameId, Tally>,
    names: BTreeMap<SessionRef, usize>,
    sessions: Vec<SessionTally>,
    time: WorkingTime,
    folds: Folds,
    /// The frames of raw texts, by a part of their hash.
    texts: BTreeMap<u64, FrameId>,
    /// Changes since the outline was updated.
    pub(super) changes: Changes,
}

/// Sums over the events of a frame.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    /// Amounts by session, by its place in the ledger.
    pub(super) parts: Vec<(usize, Amounts)>,
    pub(super) parent: Option<FrameId>,
    pub(super) begun: Option<Timestamp>,
    pub(super) ended: Option<Timestamp>,
    pub(super) by: Author,
    /// The session that opened it, by its place in the ledger.
    pub(super) session: usize,
    /// True if some of its raw text was dropped.
    pub(super) dropped: bool,
    /// True if it was pushed or planned. Frames that only mirror a session are not counted as folded: a host
    /// may shorten its prompts for reasons of its own.
    is_asked: bool,
    /// Size of the session's prompt when work on the frame began.
    size_before: u64,
}

/// Sums over the events of a session.
#[derive(Clone, Debug)]
pub(super) struct SessionTally {
    pub(super) key: SessionRef,
    pub(super) own: Option<FrameId>,
    pub(super) active: Option<FrameId>,
    /// The frame of the prompt that it answers, and the frame above that.
    prompt: Option<(FrameId, Option<FrameId>)>,
    pub(super) parent: Option<SessionRef>,
    /// All that it spent.
    pub(super) all: Amounts,
    /// The part of it that belongs to no frame.
    pub(super) outside: Amounts,
    pub(super) first: Timestamp,
    pub(super) last: Timestamp,
    pub(super) is_working: bool,
    pub(super) marks: Vec<SessionMark>,
    /// Tokens of its last call, prompt and answer.
    size: u64,
    /// The segment that it is in.
    segment: Option<usize>,
    /// Frames that ended since its last call, innermost first.
    ending: Vec<Ending>,
    /// The newest message in which it went to another frame, and the frame before that.
    moved: Option<(String, Option<FrameId>)>,
    /// The newest message that frames began in.
    begun_in: Option<(String, Vec<FrameId>)>,
}

impl Ledger {
    pub(super) fn position(&self) -> Seq {
        self.position
    }

    pub(super) fn tally(&self, frame: &FrameId) -> Option<&Tally> {
        self.tallies.get(frame)
    }

    pub(super) fn tallies(&self) -> impl Iterator<Item = (&FrameId, &Tally)> {
        self.tallies.iter()
    }

    pub(super) fn sessions(&self) -> &[SessionTally] {
        &self.sessions
    }

    pub(super) fn session(&self, place: usize) -> Option<&SessionTally> {
        self.sessions.get(place)
    }

    pub(super) fn session_named(&self, key: &SessionRef) -> Option<(usize, &SessionTally)> {
        let place = *self.names.get(key)?;
        Some((place, self.sessions.get(place)?))
    }

    pub(super) fn segments(&self) -> &[Segment] {
        self.time.segments()
    }

    /// Sets a session's active and own frame, after its events were masked or unmasked.
    pub(super) fn place_session(
        &mut self,
        key: &SessionRef,
        active: Option<FrameId>,
        own: Option<FrameId>,
    ) {
        let place = self.names.get(key).copied();
        if let Some(known) = place.and_then(|place| self.sessions.get_mut(place)) {
            known.active = active;
            known.own = own;
            known.segment = None;
        }
    }

    /// Returns the tokens that folding saved, by frame, with the session.
    pub(super) fn saved(&self) -> impl Iterator<Item = (FrameId, usize, u64)> {
        self.folds
            .saved(|session| self.session(session).map_or(0, |it| it.all.calls))
    }

    /// Applies the next event of the journal. `is_new` is false if the outline was read after the event.
    pub(super) fn apply(&mut self, recorded: &Recorded, is_new: bool) {
        self.position = recorded.seq;
        self.changes.note(&recorded.event, is_new);
        let actor = self.seen(&recorded.session, recorded.at);
        let before = self.session(actor).and_then(SessionTally::frame);
        self.apply_to_sessions(recorded);
        self.apply_to_frames(recorded, actor);
        if let (Some(message), Some(known)) = (&recorded.message, self.sessions.get_mut(actor)) {
            known.moved_in(message, before);
        }
    }

    fn apply_to_sessions(&mut self, recorded: &Recorded) {
        let at = recorded.at;
        match &recorded.event {
            Event::SessionOpened { session, .. } => {
                self.seen(session, at);
            }
            Event::SessionFocused { session, to, .. } => {
                let place = self.seen(session, at);
                if let Some(known) = self.sessions.get_mut(place) {
                    known.active = *to;
                    // A person at a terminal has no turns.
                    known.is_working |= to.is_some() && session.is_shell();
                }
            }
            Event::SessionBound { session, frame } => self.change(session, at, |known| {
                known.own = Some(*frame);
            }),
            Event::SessionUnbound { session, .. } => {
                self.change(session, at, |known| known.own = None);
            }
            Event::SessionPrompted { session, .. } => {
                self.change(session, at, |known| known.is_working = true);
                let one = Amounts {
                    prompts: 1,
                    ..Amounts::default()
                };
                self.charge(session, &one);
                self.mark(session, at, MarkKind::Prompt);
            }
            Event::TurnEnded { session, .. } | Event::SubagentEnded { session, .. } => {
                self.rest(session, at, None);
            }
            Event::SessionInterrupted { session, .. } => {
                self.rest(session, at, Some(MarkKind::Interruption));
            }
            Event::SessionWaiting { session, on } => match on {
                Some(_) => self.rest(session, at, Some(MarkKind::Wait)),
                None => self.change(session, at, |known| known.is_working = true),
            },
            Event::SessionSpent { session, usage } => {
                self.spend(session, recorded, usage);
            }
            Event::SessionCompacted { session, .. } => self.compact(session, at),
            Event::SubagentStarted(start) => {
                let parent = start.parent.clone();
                self.change(&start.session, at, |known| {
                    known.parent = parent.or(known.parent.take());
                    known.is_working = true;
                });
            }
            _ => {}
        }
    }

    fn apply_to_frames(&mut self, recorded: &Recorded, actor: usize) {
        let at = recorded.at;
        match &recorded.event {
            Event::FrameOpened {
                frame,
                parent,
                planned,
                origin,
                ..
            } => {
                if let (Origin::Prompt, Some(known)) = (origin, self.sessions.get_mut(actor)) {
                    known.prompt = Some((*frame, *parent));
                }
                let tally = Tally {
                    parent: *parent,
                    begun: (!planned).then_some(at),
                    by: recorded.by,
                    session: actor,
                    is_asked: *origin == Origin::Asked,
                    ..Tally::default()
                };
                self.open(*frame, tally);
                if !planned {
                    self.begin_at_this_size(frame, actor, recorded);
                }
            }
            Event::FrameStarted { frame } => {
                let tally = self.tallies.entry(*frame).or_default();
                tally.begun = tally.begun.or(Some(at));
                tally.session = actor;
                self.begin_at_this_size(frame, actor, recorded);
            }
            Event::FrameImported { frame } => self.open(frame.id, given(frame, recorded, actor)),
            Event::FrameCopied { frame, .. } => {
                self.open(frame.id, given(frame, recorded, actor));
            }
            Event::FrameMoved { frame, parent, .. } => {
                self.tallies.entry(*frame).or_default().parent = *parent;
            }
            Event::FrameReopened { frame } => {
                self.tallies.entry(*frame).or_default().ended = None;
            }
            Event::FrameClosed {
                frame, cascaded, ..
            } => {
                self.close(frame, cascaded, at);
                self.await_fold(frame, actor, recorded);
            }
            Event::FrameInvalidated {
                frame, cascaded, ..
            } => self.close(frame, cascaded, at),
            Event::Logged { frame, entry } => {
                self.texts.insert(short(&entry.blob), *frame);
            }
            Event::BlobDropped { blob, .. } => {
                if let Some(frame) = self.texts.get(&short(blob)) {
                    self.tallies.entry(*frame).or_default().dropped = true;
                }
            }
            _ => {}
        }
    }

    /// Opens a frame. One that is opened again after an undo keeps what was charged to it.
    fn open(&mut self, frame: FrameId, mut tally: Tally) {
        if let Some(known) = self.tallies.remove(&frame) {
            tally.parts = known.parts;
        }
        self.tallies.insert(frame, tally);
    }

    fn close(&mut self, frame: &FrameId, cascaded: &[FrameId], at: Timestamp) {
        for frame in std::iter::once(frame).chain(cascaded) {
            let tally = self.tallies.entry(*frame).or_default();
            tally.ended = Some(at);
            if let Some(known) = self.sessions.get_mut(tally.session) {
                known.prompt = known.prompt.filter(|(prompt, _)| prompt != frame);
            }
        }
    }

    /// Notes the time of a session's event and counts the time since its last one.
    fn seen(&mut self, session: &SessionRef, at: Timestamp) -> usize {
        let Some(place) = self.names.get(session).copied() else {
            let place = self.sessions.len();
            self.names.insert(session.clone(), place);
            self.sessions.push(SessionTally::new(session.clone(), at));
            return place;
        };
        let Some(known) = self.sessions.get_mut(place) else {
            return place;
        };
        let gap = Gap::between(known.last, at, known.is_working);
        if gap == Gap::None {
            return place;
        }
        let stretch = Segment {
            session: place,
            frame: known.frame(),
            from: known.last.0,
            to: at.0,
        };
        known.last = at;
        known.segment = match gap {
            Gap::Work => Some(self.time.add(known.segment, stretch)),
            Gap::None | Gap::Rest => None,
        };
        if gap == Gap::Work {
            let worked = Amounts {
                milliseconds: stretch.length(),
                ..Amounts::default()
            };
            self.charge(session, &worked);
        }
        place
    }

    fn change(
        &mut self,
        session: &SessionRef,
        at: Timestamp,
        change: impl FnOnce(&mut SessionTally),
    ) {
        let place = self.seen(session, at);
        if let Some(known) = self.sessions.get_mut(place) {
            change(known);
        }
    }

    /// Ends the work of a session until its next prompt.
    fn rest(&mut self, session: &SessionRef, at: Timestamp, mark: Option<MarkKind>) {
        self.change(session, at, |known| known.is_working = false);
        if let Some(mark) = mark {
            self.mark(session, at, mark);
        }
    }

    fn mark(&mut self, session: &SessionRef, at: Timestamp, kind: MarkKind) {
        self.change(session, at, |known| {
            if known.marks.len() >= MARKS {
                known.marks.remove(0);
            }
            known.marks.push(SessionMark { at: at.0, kind });
        });
    }

    /// Charges amounts to a session and to the frame that it works on.
    fn charge(&mut self, session: &SessionRef, amounts: &Amounts) {
        let Some(place) = self.names.get(session).copied() else {
            return;
        };
        let frame = self.session(place).and_then(SessionTally::frame);
        self.charge_to(place, frame, amounts);
    }

    fn charge_to(&mut self, place: usize, frame: Option<FrameId>, amounts: &Amounts) {
        let Some(known) = self.sessions.get_mut(place) else {
            return;
        };
        known.all.add(amounts);
        match frame {
            Some(frame) => self
                .tallies
                .entry(frame)
                .or_default()
                .charge(place, amounts),
            None => known.outside.add(amounts),
        }
    }

    fn spend(&mut self, session: &SessionRef, recorded: &Recorded, usage: &Usage) {
        let place = self.seen(session, recorded.at);
        let message = recorded.message.as_deref();
        let Some(known) = self.sessions.get_mut(place) else {
            return;
        };
        let (ended, ending) = Ending::before_call(std::mem::take(&mut known.ending), message);
        known.ending = ending;
        let (calls, size) = (known.all.calls, known.size);
        self.folds.take(place, calls, size, usage.prompt(), ended);
        let frame = known.frame_of_call(message);
        known.size = usage.prompt().saturating_add(usage.output);
        let size = known.size;
        let begun = std::mem::take(&mut known.begun_in);
        if let Some((_, frames)) = begun.filter(|(begun, _)| Some(begun.as_str()) == message) {
            for frame in frames {
                self.tallies.entry(frame).or_default().size_before = size;
            }
        }
        self.charge_to(place, frame, &Amounts::of_call(usage));
    }

    fn compact(&mut self, session: &SessionRef, at: Timestamp) {
        let place = self.seen(session, at);
        self.mark(session, at, MarkKind::Compaction);
        if let Some(known) = self.sessions.get_mut(place) {
            known.ending.clear();
            self.folds.end(place, known.all.calls);
        }
    }

    /// Notes the size of the prompt at which a frame begins. A host may report the call that began it
    /// afterwards, and then its size is the one that counts.
    fn begin_at_this_size(&mut self, frame: &FrameId, actor: usize, recorded: &Recorded) {
        let Some(known) = self.sessions.get_mut(actor) else {
            return;
        };
        self.tallies.entry(*frame).or_default().size_before = known.size;
        let Some(message) = &recorded.message else {
            return;
        };
        match &mut known.begun_in {
            Some((begun, frames)) if begun == message => frames.push(*frame),
            begun_in => *begun_in = Some((message.clone(), vec![*frame])),
        }
    }

    /// Notes a frame that ended: the next call shows by how much the prompt shrank.
    fn await_fold(&mut self, frame: &FrameId, actor: usize, recorded: &Recorded) {
        let mine = |it: &&Tally| it.session == actor && it.is_asked;
        let tally = self.tallies.get(frame).filter(mine);
        if let (Some(tally), Some(known)) = (tally, self.sessions.get_mut(actor)) {
            known.ending.push(Ending {
                frame: *frame,
                size_before: tally.size_before,
                message: recorded.message.clone(),
            });
        }
    }
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            parts: Vec::new(),
            parent: None,
            begun: None,
            ended: None,
            by: Author::default(),
            session: usize::MAX,
            dropped: false,
            is_asked: false,
            size_before: 0,
        }
    }
}

impl Tally {
    /// Returns the amounts of one session, or of all.
    pub(super) fn own(&self, session: Option<usize>) -> Amounts {
        let mut own = Amounts::default();
        for (place, amounts) in &self.parts {
            if session.is_none_or(|session| session == *place) {
                own.add(amounts);
            }
        }
        own
    }

    fn charge(&mut self, session: usize, amounts: &Amounts) {
        match self.parts.iter_mut().find(|(place, _)| *place == session) {
            Some((_, part)) => part.add(amounts),
            None => self.parts.push((session, *amounts)),
        }
    }
}

impl SessionTally {
    /// Returns the frame that is charged: the one that the session works on or is bound to, or directly
    /// below it the frame of the prompt that it answers.
    pub(super) fn frame(&self) -> Option<FrameId> {
        let frame = self.active.or(self.own);
        let prompt = self.prompt.filter(|(_, above)| *above == frame);
        prompt.map_or(frame, |(prompt, _)| Some(prompt))
    }

    /// Returns the frame that a call is charged to: the one in which its message began. OpenCode reports a
    /// call after the tools that it called, so the call that finished a frame comes after the frame's end.
    pub(super) fn frame_of_call(&self, message: Option<&str>) -> Option<FrameId> {
        match &self.moved {
            Some((moved, before)) if Some(moved.as_str()) == message => *before,
            _ => self.frame(),
        }
    }

    fn moved_in(&mut self, message: &str, before: Option<FrameId>) {
        let is_known = self.moved.as_ref().is_some_and(|(it, _)| it == message);
        if !is_known && self.frame() != before {
            self.moved = Some((message.to_owned(), before));
        }
    }

    fn new(key: SessionRef, at: Timestamp) -> Self {
        Self {
            key,
            own: None,
            active: None,
            prompt: None,
            parent: None,
            all: Amounts::default(),
            outside: Amounts::default(),
            first: at,
            last: at,
            is_working: false,
            marks: Vec::new(),
            size: 0,
            segment: None,
            ending: Vec::new(),
            moved: None,
            begun_in: None,
        }
    }
}

/// Returns the tally of a frame that was recorded elsewhere.
fn given(frame: &Frame, recorded: &Recorded, session: usize) -> Tally {
    Tally {
        parent: frame.parent,
        begun: Some(frame.created_at),
        ended: (!frame.status.is_open()).then_some(frame.updated_at),
        by: recorded.by,
        session,
        ..Tally::default()
    }
}

/// Returns a part of a hash that is long enough to tell texts apart.
fn short(blob: &BlobId) -> u64 {
    let hex = blob.as_str().get(..16).unwrap_or_default();
    u64::from_str_radix(hex, 16).unwrap_or_default()
}
