//! Properties of events that several rules ask for, declared once for each event.

use super::Event;
use crate::delivery::Delivery;
use crate::id::{FrameId, SessionRef};
use crate::note::NoteKind;

/// Something that an event changes or relies on. Undo asks whether another session touched it since.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A frame that the event changes.
    Frame(FrameId),
    /// A frame that the event relies on, such as the new parent of a moved frame. The parent of a
    /// new frame is not among them: the new frame itself has its parent.
    Support(FrameId),
    /// A session that the event changes.
    Session(SessionRef),
}

/// Properties of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventTraits<'e> {
    /// The frame that it changes.
    pub frame: Option<&'e FrameId>,
    /// Further frames that it closes, invalidates or deletes.
    pub cascaded: &'e [FrameId],
    /// A frame that it relies on.
    pub support: Option<&'e FrameId>,
    /// The session that it binds or opens. Focus is not among these properties: it does not block an
    /// undo, unless the session still works there, which the rules check. Activity and deliveries do
    /// not block one either, since no frame relies on them.
    pub session: Option<&'e SessionRef>,
    /// True if it is reverted together with its message. Costs, compactions and descriptions by the
    /// host stay facts; so does a header, which belongs to no message.
    pub reverts: bool,
    /// True if it can be part of "my last command". Forks, dropped texts and reports of hosts are
    /// facts, which undo does not take back.
    pub undoable: bool,
    /// True if it changes what a context says of its frames. Files and raw text do not: they are
    /// recorded all the time, and the session that reads the context made them itself.
    pub in_context: bool,
}

const REVERTS: u8 = 1;
const UNDOABLE: u8 = 2;
const IN_CONTEXT: u8 = 4;
const ALL: u8 = REVERTS | UNDOABLE | IN_CONTEXT;

impl<'e> EventTraits<'e> {
    fn of(flags: u8) -> Self {
        Self {
            reverts: flags & REVERTS != 0,
            undoable: flags & UNDOABLE != 0,
            in_context: flags & IN_CONTEXT != 0,
            ..Self::default()
        }
    }

    fn frame(self, frame: &'e FrameId) -> Self {
        Self {
            frame: Some(frame),
            ..self
        }
    }

    fn with(self, cascaded: &'e [FrameId]) -> Self {
        Self { cascaded, ..self }
    }

    fn support(self, support: Option<&'e FrameId>) -> Self {
        Self { support, ..self }
    }

    fn session(self, session: &'e SessionRef) -> Self {
        self.binding(Some(session))
    }

    fn binding(self, session: Option<&'e SessionRef>) -> Self {
        Self { session, ..self }
    }
}

impl Event {
    /// Returns the properties of the event: the one table of what an event touches.
    pub fn traits(&self) -> EventTraits<'_> {
        let of = EventTraits::of;
        match self {
            Self::FrameOpened { frame, .. }
            | Self::FrameStarted { frame }
            | Self::FrameBlocked { frame, .. }
            | Self::FrameUnblocked { frame, .. }
            | Self::FrameReopened { frame }
            | Self::FrameEdited { frame, .. } => of(ALL).frame(frame),
            Self::FrameMoved { frame, parent, .. } => of(ALL).frame(frame).support(parent.as_ref()),
            Self::FrameClosed {
                frame, cascaded, ..
            }
            | Self::FrameInvalidated {
                frame, cascaded, ..
            }
            | Self::FrameDeleted {
                frame,
                with: cascaded,
            } => of(ALL).frame(frame).with(cascaded),
            Self::Noted { frame, note } => match note.kind() {
                NoteKind::Decision | NoteKind::FailedAttempt => of(ALL).frame(frame),
                // Contexts quote directives as the user's words, not as a change of a frame.
                NoteKind::Artifact | NoteKind::Evidence | NoteKind::Directive => {
                    of(REVERTS | UNDOABLE).frame(frame)
                }
            },
            Self::Logged { frame, .. }
            | Self::SummaryAwaited { frame, .. }
            | Self::SummaryArrived { frame, .. } => of(REVERTS | UNDOABLE).frame(frame),
            Self::FrameImported { frame } => of(UNDOABLE | IN_CONTEXT)
                .frame(&frame.id)
                .support(frame.parent.as_ref())
                .binding(frame.session.as_ref()),
            Self::FrameCopied { frame, .. } => of(IN_CONTEXT)
                .frame(&frame.id)
                .support(frame.parent.as_ref())
                .binding(frame.session.as_ref()),
            Self::SessionBound { session, frame } | Self::SessionUnbound { session, frame } => {
                of(REVERTS | UNDOABLE).session(session).frame(frame)
            }
            Self::SessionOpened { session, .. } => of(UNDOABLE).session(session),
            Self::SessionFocused { .. }
            | Self::SessionPrompted { .. }
            | Self::TurnEnded { .. }
            | Self::SessionInterrupted { .. } => of(REVERTS | UNDOABLE),
            Self::SessionCompacted { .. }
            | Self::SessionSpent { .. }
            | Self::SessionWaiting { .. } => of(UNDOABLE),
            Self::ContextSent(sending) => match sending.delivery {
                Delivery::Header(_) => of(0),
                Delivery::Nothing | Delivery::Update(_) => of(REVERTS),
            },
            Self::CompactionBegun(_)
            | Self::CompactionChecked(_)
            | Self::SessionReverted { .. }
            | Self::SessionRestored { .. }
            | Self::SubagentStarted(_)
            | Self::SubagentEnded { .. }
            | Self::ResumeBegun { .. }
            | Self::SessionStalled { .. }
            | Self::EntriesIngested { .. }
            | Self::StackImported { .. }
            | Self::CommandUndone { .. }
            | Self::BlobDropped { .. }
            | Self::TextForgotten { .. }
            | Self::SessionCreated(_)
            | Self::SessionLinked { .. }
            | Self::SessionClosed { .. }
            | Self::SessionHosted(_)
            | Self::CallBegun(_)
            | Self::CallEnded { .. }
            | Self::InterruptionKept(_)
            | Self::SessionDescribed(_)
            | Self::ModelUsed(_)
            | Self::SuggestionMade(_)
            | Self::SuggestionAnswered { .. }
            | Self::SuggestionsSnoozed { .. }
            | Self::SuggestionsReset => of(0),
        }
    }

    /// Returns the frames that the event changes.
    pub fn frames(&self) -> impl Iterator<Item = FrameId> {
        let traits = self.traits();
        traits.frame.into_iter().chain(traits.cascaded).copied()
    }

    /// Returns everything that the event changes or relies on.
    pub fn subjects(&self) -> impl Iterator<Item = Subject> {
        let traits = self.traits();
        let session = traits.session.cloned().map(Subject::Session);
        let support = traits.support.copied().map(Subject::Support);
        let frames = self.frames().map(Subject::Frame);
        session.into_iter().chain(frames).chain(support)
    }
}
