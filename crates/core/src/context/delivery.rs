//! What a conversation is sent, so that nothing it has seen is ever rewritten.
//!
//! A header is sent once and then frozen, even an empty one. What a conversation changes itself,
//! it learns from its own tool calls. What others changed comes as an update, behind everything
//! sent before. Only after a compaction or a resume, when the prompt is a new one anyway, is there
//! a new header.

use std::collections::{BTreeMap, BTreeSet};

use crate::context::assemble::assemble_after;
use crate::context::draft::{Draft, Inside, Meter};
use crate::context::roster::{Candidate, Roster};
use crate::context::surroundings::{Directive, Surroundings};
use crate::context::telling::{Telling, tell};
use crate::context::{Provenance, SectionKind, Settings, assemble};
use crate::event::{Event, Recorded};
use crate::frame::{Frame, Status};
use crate::id::{FrameId, Seq, SessionRef};
use crate::note::NoteKind;
use crate::text::Prose;
use crate::tokens::Tokenizer;
use crate::xml::Element;

/// An update may have one of this many parts of a context's budget.
const UPDATE_SHARE: usize = 4;
/// A change that gets fewer tokens than this is not worth showing.
const LEAST_CHANGE: usize = 48;

/// Why a conversation needs to be told everything again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Its history was replaced by a summary.
    Compaction {
        /// How often that has happened to it.
        count: u32,
    },
    /// It was taken up again, perhaps by another program.
    Resume,
}

impl Reason {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Compaction { .. } => "compaction",
            Self::Resume => "resume",
        }
    }
}

/// What a conversation is to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Nothing: there is nothing new.
    Nothing,
    /// This, behind everything sent before.
    Update(String),
    /// This, instead of everything sent before; empty, if there is nothing to tell.
    Header(String),
}

/// One delivery with what a conversation knows after it: what the journal keeps of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sending {
    /// What is sent.
    pub delivery: Delivery,
    /// Why everything is told again, if it is.
    pub after: Option<Reason>,
    /// The frame that the conversation takes for the current one from now on.
    pub frame: Option<FrameId>,
    /// The open frames it may have heard of, so that it can be told when they are gone. Finished
    /// ones do not leave.
    pub known: Vec<FrameId>,
}

impl Sending {
    /// What the conversation has been sent once this has its place in the journal.
    pub fn sent_at(&self, position: Seq) -> Sent {
        Sent {
            position,
            frame: self.frame.clone(),
            known: self.known.iter().cloned().collect(),
        }
    }
}

/// Where the last delivery left a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The last event that it knows of.
    pub position: Seq,
    /// The frame that it takes for the current one.
    pub frame: Option<FrameId>,
    /// The open frames it may have heard of.
    pub known: BTreeSet<FrameId>,
}

/// Decides what a conversation is sent next.
///
/// `around` is what surrounds the frame that it works on, if it works on one. `since` holds the
/// events behind `sent.position` and, with each [`Event::CommandUndone`] and each conversation that
/// was wound back or forward, the events that count otherwise since. Without a reason, only what was never sent anything is sent a header: what has been sent
/// is a prefix of what will have been sent.
pub fn deliver(
    sent: Option<&Sent>,
    around: Option<&Surroundings>,
    since: &[Recorded],
    after: Option<Reason>,
    settings: &Settings,
    tokenizer: &dyn Tokenizer,
) -> Sending {
    let delivery = match (sent, after, around) {
        (Some(_), None, None) => Delivery::Nothing,
        (Some(sent), None, Some(around)) => {
            let changes = Changes::by_others(sent, around, since);
            let update = changes.written(settings, tokenizer);
            update.map_or(Delivery::Nothing, Delivery::Update)
        }
        (_, _, None) => Delivery::Header(String::new()),
        (_, Some(reason), Some(around)) => {
            Delivery::Header(assemble_after(around, settings, tokenizer, reason).text)
        }
        (None, None, Some(around)) => Delivery::Header(assemble(around, settings, tokenizer).text),
    };
    Sending {
        delivery,
        after,
        frame: around.map(|around| around.current.id.clone()),
        known: around.map(known).unwrap_or_default(),
    }
}

fn known(around: &Surroundings) -> Vec<FrameId> {
    // What only mirrors a host's lists comes and goes, and nobody misses it.
    let open = all_frames(around).filter(|it| it.status.is_open() && !it.origin.is_mirror());
    let known: BTreeSet<FrameId> = open.map(|frame| frame.id.clone()).collect();
    known.into_iter().collect()
}

fn all_frames(around: &Surroundings) -> impl Iterator<Item = &Frame> {
    std::iter::once(&around.current)
        .chain(&around.ancestors)
        .chain(&around.children.frames)
        .chain(&around.planned.frames)
        .chain(&around.open.frames)
        .chain(&around.siblings)
        .chain(&around.uncles.frames)
        .chain(&around.next)
}

/// What others did to the frames that a conversation looks at.
struct Changes<'a> {
    around: &'a Surroundings,
    here: BTreeMap<&'a FrameId, &'a Frame>,
    /// Who turned the conversation to another frame, if somebody else did.
    turned_by: Option<&'a SessionRef>,
    /// Who touched what last.
    touched: BTreeMap<&'a FrameId, Touch<'a>>,
    /// What the user said elsewhere.
    said: Vec<&'a Directive>,
}

/// Events that count otherwise since, because their conversation was wound back or forward: each
/// with the event that says so.
#[derive(Default)]
struct Wound<'a> {
    back: BTreeMap<Seq, &'a Recorded>,
    forward: BTreeMap<Seq, &'a Recorded>,
}

impl<'a> Wound<'a> {
    fn take(&mut self, recorded: &'a Recorded) {
        let (seqs, out, into) = match &recorded.event {
            Event::SessionReverted { masked, .. } => (masked, &mut self.forward, &mut self.back),
            Event::SessionRestored { shown, .. } => (shown, &mut self.back, &mut self.forward),
            _ => return,
        };
        for seq in seqs {
            // There and back again is as if nothing had been.
            if out.remove(seq).is_none() {
                into.insert(*seq, recorded);
            }
        }
    }
}

struct Touch<'a> {
    seq: Seq,
    by: &'a SessionRef,
    /// What became of the frame, where it is no longer here to speak for itself.
    fate: Fate<'a>,
}

/// A word for what became of a frame, and why.
type Fate<'a> = Option<(&'static str, Option<&'a Prose>)>;

impl<'a> Changes<'a> {
    fn by_others(sent: &Sent, around: &'a Surroundings, since: &'a [Recorded]) -> Self {
        let mut changes = Self {
            around,
            here: all_frames(around).map(|frame| (&frame.id, frame)).collect(),
            turned_by: None,
            touched: BTreeMap::new(),
            said: Vec::new(),
        };
        let foreign = |recorded: &Recorded| Some(&recorded.session) != around.session.as_ref();
        let mut undone: BTreeMap<Seq, &Recorded> = BTreeMap::new();
        let mut wound = Wound::default();
        for recorded in since {
            if let Event::CommandUndone { batch } = recorded.event {
                undone.insert(batch, recorded);
            }
            wound.take(recorded);
        }
        for recorded in since {
            let is_new = recorded.seq > sent.position;
            if let Some(revert) = wound.back.get(&recorded.seq) {
                if !is_new && foreign(revert) {
                    changes.taken_back(sent, recorded, revert);
                }
                continue;
            }
            if let Some(restored) = wound.forward.get(&recorded.seq) {
                if foreign(restored) {
                    changes.came_back(sent, recorded, restored);
                }
                continue;
            }
            match undone.get(&recorded.batch) {
                // Done and taken back between two messages: as if it had never been.
                Some(_) if is_new => {}
                Some(undo) if foreign(undo) => changes.taken_back(sent, recorded, undo),
                None if is_new && foreign(recorded) => changes.happened(sent, recorded),
                _ => {}
            }
        }
        if sent.frame.as_ref() == Some(&around.current.id) {
            changes.turned_by = None;
        }
        let elsewhere = |directive: &&Directive| {
            directive.said > sent.position && Some(&directive.session) != around.session.as_ref()
        };
        changes.said = around.directives.iter().filter(elsewhere).collect();
        changes
    }

    fn happened(&mut self, sent: &Sent, recorded: &'a Recorded) {
        if let Event::SessionFocused { session, .. } = &recorded.event
            && Some(session) == self.around.session.as_ref()
        {
            self.turned_by = Some(&recorded.session);
        }
        for (frame, fate) in visible(&recorded.event) {
            self.touch(sent, frame, recorded, fate);
        }
    }

    fn taken_back(&mut self, sent: &Sent, recorded: &'a Recorded, undo: &'a Recorded) {
        let opened = matches!(recorded.event, Event::FrameOpened { .. });
        for (frame, _) in visible(&recorded.event) {
            self.touch(sent, frame, undo, opened.then_some(("undone", None)));
        }
    }

    fn came_back(&mut self, sent: &Sent, recorded: &'a Recorded, restored: &'a Recorded) {
        for (frame, fate) in visible(&recorded.event) {
            self.touch(sent, frame, restored, fate);
        }
    }

    fn touch(&mut self, sent: &Sent, frame: &'a FrameId, by: &'a Recorded, fate: Fate<'a>) {
        let here = self.here.get(frame);
        // How another conversation goes about its work is nobody's news; a person's hand is.
        if here.is_some_and(|frame| frame.origin.is_mirror()) && !by.session.is_shell() {
            return;
        }
        if here.is_some() || (fate.is_some() && sent.known.contains(frame)) {
            let touch = Touch {
                seq: by.seq,
                by: &by.session,
                fate,
            };
            self.touched.insert(frame, touch);
        }
    }

    /// The update, unless there is nothing to say.
    fn written(&self, settings: &Settings, tokenizer: &dyn Tokenizer) -> Option<String> {
        let roster = self.roster(settings);
        if roster.total == 0 {
            return None;
        }
        let limit = settings.budget.total() / UPDATE_SHARE;
        let meter = Meter { tokenizer };
        let mut room = limit;
        for _ in 0..4 {
            let text = roster.measure(room, meter).fill(room, meter)?.section.body;
            let tokens = tokenizer.count(&text);
            if tokens <= limit && !text.is_empty() {
                return Some(text);
            }
            room = room.saturating_sub((tokens + 1).saturating_sub(limit).max(1));
        }
        let mut least = String::new();
        Element::new(SectionKind::Update.tag()).write(&mut least);
        (tokenizer.count(&least) <= limit).then_some(least)
    }

    fn roster(&self, settings: &Settings) -> Roster<'_> {
        let current = &self.around.current;
        let mut candidates = Vec::new();
        if let Some(by) = self.turned_by {
            let mut draft = tell(current, Telling::Everything, settings.calls);
            draft.name = SectionKind::Current.tag();
            candidates.push((Seq(i64::MAX), attributed(draft, by)));
        }
        for directive in &self.said {
            let draft = Draft {
                name: "directive",
                attributes: vec![("from", Provenance::User.as_str().into())],
                inside: Inside::Text(directive.text.as_str().into()),
            };
            candidates.push((directive.said, draft));
        }
        let told = self.turned_by.map(|_| &current.id);
        for (id, touch) in self.touched.iter().filter(|(id, _)| Some(**id) != told) {
            candidates.push((touch.seq, self.change(id, touch, settings)));
        }
        candidates.sort_by_key(|(seq, _)| *seq);
        let total = candidates.len();
        let candidate = |(place, (_, draft))| Candidate {
            draft,
            place,
            weight: 1,
            of: None,
        };
        Roster {
            kind: SectionKind::Update,
            provenance: Provenance::Stack,
            // The newest matter most, and are read last.
            candidates: candidates
                .into_iter()
                .enumerate()
                .map(candidate)
                .rev()
                .collect(),
            total,
            over_limit: 0,
            irrelevant: 0,
            least: LEAST_CHANGE,
            what: "changes",
            call: settings.calls.details(&current.id),
            calls: settings.calls,
            single: false,
        }
    }

    fn change(&self, id: &'a FrameId, touch: &Touch<'a>, settings: &Settings) -> Draft<'a> {
        let draft = match self.here.get(id) {
            Some(frame) if frame.status.is_open() => tell(frame, Telling::Goal, settings.calls),
            Some(frame) => tell(frame, Telling::Results, settings.calls),
            None => {
                let (fate, why) = touch.fate.unwrap_or(("gone", None));
                Draft {
                    name: "frame",
                    attributes: vec![("id", id.as_str().into()), ("status", fate.into())],
                    inside: match why {
                        Some(why) => Inside::Text(why.as_str().into()),
                        None => Inside::Nothing,
                    },
                }
            }
        };
        attributed(draft, touch.by)
    }
}

/// Says who did it: a person at a terminal, or another conversation.
fn attributed<'d>(mut draft: Draft<'d>, by: &'d SessionRef) -> Draft<'d> {
    let by = if by.is_shell() {
        Provenance::User.as_str().into()
    } else {
        by.to_string().into()
    };
    draft.attributes.retain(|(name, _)| *name != "from");
    draft.attributes.push(("by", by));
    draft
}

/// The frames of which an event changes what a context says, and what becomes of them if they
/// leave it thereby. Files and raw text do not count: they are recorded all the time, and the
/// conversation that is concerned made them itself.
fn visible(event: &Event) -> Vec<(&FrameId, Fate<'_>)> {
    let invalidated = Status::Invalidated.as_str();
    match event {
        Event::Noted { frame, note } => match note.kind() {
            NoteKind::Decision | NoteKind::FailedAttempt => vec![(frame, None)],
            // Directives are told as what the user said, not as a change of a frame.
            NoteKind::Artifact | NoteKind::Evidence | NoteKind::Directive => Vec::new(),
        },
        Event::FrameOpened { frame, .. }
        | Event::FrameStarted { frame }
        | Event::FrameBlocked { frame, .. }
        | Event::FrameUnblocked { frame }
        | Event::FrameReopened { frame }
        | Event::FrameEdited { frame, .. } => vec![(frame, None)],
        Event::FrameImported(frame) | Event::FrameCopied { frame, .. } => vec![(&frame.id, None)],
        Event::FrameMoved { frame, .. } => vec![(frame, Some(("moved", None)))],
        Event::FrameClosed {
            frame,
            outcome,
            results,
            cascaded,
        } => {
            let dense = results.compacted.as_ref().unwrap_or(&results.full);
            let fate = Some((outcome.status().as_str(), Some(dense)));
            let cascaded = cascaded.iter().map(|id| (id, Some((invalidated, None))));
            std::iter::once((frame, fate)).chain(cascaded).collect()
        }
        Event::FrameInvalidated {
            frame,
            reason,
            cascaded,
        } => {
            let all = std::iter::once(frame).chain(cascaded);
            all.map(|id| (id, Some((invalidated, Some(reason)))))
                .collect()
        }
        Event::FrameDeleted { frame, with } => {
            let all = std::iter::once(frame).chain(with);
            all.map(|id| (id, Some(("deleted", None)))).collect()
        }
        Event::SessionOpened { .. }
        | Event::SessionFocused { .. }
        | Event::SessionBound { .. }
        | Event::SessionUnbound { .. }
        | Event::SessionPrompted { .. }
        | Event::SessionTurned { .. }
        | Event::SessionInterrupted { .. }
        | Event::SessionCompacted { .. }
        | Event::CompactionBegun(_)
        | Event::CompactionChecked(_)
        | Event::SummaryAwaited { .. }
        | Event::SummaryArrived { .. }
        | Event::SessionSpent { .. }
        | Event::SessionReverted { .. }
        | Event::SessionRestored { .. }
        | Event::SubagentStarted(_)
        | Event::SubagentEnded { .. }
        | Event::SessionWaiting { .. }
        | Event::SessionWitnessed { .. }
        | Event::Logged { .. }
        | Event::StackImported { .. }
        | Event::CommandUndone { .. }
        | Event::BlobDropped { .. }
        | Event::SessionDescribed(_)
        | Event::ModelUsed(_)
        | Event::ContextSent(_) => Vec::new(),
    }
}

#[cfg(test)]
#[path = "delivery_tests.rs"]
mod tests;
