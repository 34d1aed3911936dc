//! The rules: a command in, events or a refusal out.
//!
//! [`decide`] is total: every command on every state has an answer, and a refusal says what to do
//! instead. It keeps these laws, whatever the order of commands:
//!
//! - a session's active frame is in progress;
//! - nothing is opened below a frame that is finished, and nothing is finished above an open frame
//!   (a frame set aside as invalidated is the exception: work below it continues until it ends);
//! - parents are never descendants, and ids are never used twice;
//! - finished work is not changed, except that its results may be corrected.

mod adopt;
mod archive;
mod close;
mod fork;
mod open;
mod revert;
mod revise;
mod sessions;
mod summarise;

use std::collections::BTreeSet;

pub use self::open::Beginning;
pub use self::summarise::NO_RESULTS;
use crate::Session;
use crate::command::{Actor, Command};
use crate::event::Event;
use crate::frame::{FrameHead, Status};
use crate::id::{FrameId, SessionRef};
use crate::refusal::Refusal;
use crate::session::Turn;
use crate::tree_query::{QueryError, TreeQuery};

/// Outcome of a command that was not refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decided {
    /// Events to record; none if the command changes nothing.
    pub events: Vec<Event>,
    /// Remarks for the caller.
    pub remarks: Vec<Remark>,
}

/// Information for the caller that is not an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// A frame below an invalidated one is still in progress or blocked, and was not touched.
    StillOpen(FrameHead),
    /// The same fact is recorded already.
    AlreadyRecorded,
    /// The session works on this frame already.
    AlreadyActive,
    /// The file was imported before.
    AlreadyImported,
    /// A root was popped: the whole tree is finished.
    TreeFinished,
    /// The frame was blocked until now; it has the reason.
    WasBlocked(FrameHead),
    /// The frame could not be closed with its summary and stays open.
    NotEnded(Box<Refusal>),
    /// The new frame is only planned, because this one was pushed in the same message.
    PlannedBeside(FrameHead),
}

/// Reason for deciding nothing.
#[derive(Debug, thiserror::Error)]
pub enum DecideError<E> {
    /// The rules say no.
    #[error(transparent)]
    Refused(Box<Refusal>),
    /// The tree could not be read.
    #[error("{0}")]
    Unreadable(E),
}

impl<E> From<Refusal> for DecideError<E> {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl<E: QueryError> From<E> for DecideError<E> {
    fn from(error: E) -> Self {
        Self::Unreadable(error)
    }
}

/// Applies the rules to a command.
pub fn decide<N: TreeQuery + ?Sized>(
    tree: &N,
    actor: &Actor,
    command: &Command,
) -> Result<Decided, DecideError<N::Error>> {
    let mut decider = Decider::new(tree, actor)?;
    match command {
        Command::Push { id, under, goal } => decider.push(id, under, goal)?,
        Command::Plan { under, items } => decider.plan(under, items)?,
        Command::Activate(frame) => decider.activate(frame)?,
        Command::Pop {
            frame,
            outcome,
            results,
        } => {
            decider.pop(frame.as_ref(), *outcome, results)?;
        }
        Command::Block { frame, reason } => decider.block(frame.as_ref(), reason)?,
        Command::Unblock(frame) => decider.unblock(frame)?,
        Command::Invalidate { frame, reason } => decider.invalidate(frame.as_ref(), reason)?,
        Command::Edit { frame, edit } => decider.edit(frame.as_ref(), edit)?,
        Command::Note { frame, note } => decider.note(frame.as_ref(), note)?,
        Command::Log { frame, entry, note } => {
            decider.log(frame.as_ref(), entry, note.as_ref())?;
        }
        Command::Move { frame, to } => decider.relocate(frame, to)?,
        Command::Delete(frame) => decider.delete(frame)?,
        Command::Bind { frame, session } => decider.bind(frame, session)?,
        Command::Unbind(session) => decider.unbind(session)?,
        Command::AwaitSummary {
            frame,
            outcome,
            given,
            note,
            until,
        } => {
            let (given, note) = (given.as_ref(), note.as_ref());
            decider.await_summary(frame.as_ref(), *outcome, given, note, *until)?;
        }
        Command::SummarizeNow {
            frame,
            outcome,
            given,
            summary,
        } => decider.summarize_now(frame.as_ref(), *outcome, given.as_ref(), summary.as_deref())?,
        Command::TakeSummary {
            frame,
            summary,
            if_over,
        } => decider.take_summary(frame, summary.as_deref(), *if_over)?,
        Command::Checkpoint(checkpoint) => {
            decider
                .events
                .push(Event::CompactionBegun(checkpoint.clone()));
        }
        Command::Summarise { report, claims } => decider.summarise(report, claims)?,
        Command::Undo => decider.undo()?,
        Command::Revert { messages, earlier } => decider.revert(messages, earlier)?,
        Command::Unrevert => decider.unrevert()?,
        Command::Fork(fork) => decider.fork(fork)?,
        Command::Archive => decider.archive()?,
        Command::Import(import) => decider.import(import)?,
        Command::DropBlobs(blobs) => {
            decider.first_seen = false;
            decider
                .events
                .extend(blobs.iter().map(|(blob, bytes)| Event::BlobDropped {
                    blob: blob.clone(),
                    bytes: *bytes,
                }));
        }
        Command::CreateSession { creation, parent } => {
            decider.create_session(creation, parent.as_ref())?;
        }
        Command::LinkSession {
            session,
            kind,
            to,
            removed,
        } => decider.link_session(session, *kind, to.as_ref(), *removed)?,
        Command::CloseSession { session, why } => decider.close_session(session, why.as_ref())?,
        Command::Interrupt { cause, how } => decider.interrupt(*cause, how.as_ref())?,
        Command::KeepInterruption(kept) => {
            decider.events.push(Event::InterruptionKept(kept.clone()));
        }
        Command::HostSession(process) => decider.host_session(process)?,
        Command::BeginResume => decider.begin_resume()?,
        Command::Describe(description) => decider.describe(description),
        Command::UseModel(model) => decider.use_model(model),
        Command::Send(sending) => decider.events.push(Event::ContextSent(sending.clone())),
        Command::Suggest(made) => decider.events.push(Event::SuggestionMade(made.clone())),
        Command::AnswerSuggestion { suggestion, state } => {
            let (suggestion, state) = (*suggestion, *state);
            let answered = Event::SuggestionAnswered { suggestion, state };
            decider.events.push(answered);
        }
        Command::Snooze { until } => {
            let until = *until;
            decider.events.push(Event::SuggestionsSnoozed { until });
        }
        Command::ResetSuggestions => decider.events.push(Event::SuggestionsReset),
    }
    Ok(decider.into_decision())
}

/// One decision in the making: the tree, the actor, and the events decided so far.
///
/// [`decide`] makes one for each command. Code that derives events from what a host reports builds
/// on its public methods, so that both keep the same laws.
pub struct Decider<'a, N: TreeQuery + ?Sized> {
    /// The tree before the decision.
    pub tree: &'a N,
    /// The session that acts.
    pub actor: &'a Actor,
    /// The session before the decision.
    pub session: Session,
    /// The frame that the session works on.
    pub active: Option<FrameId>,
    /// The frame that the session is bound to.
    pub own: Option<FrameId>,
    /// A session that ends with this decision: it works on no frame afterwards.
    pub ending: Option<SessionRef>,
    /// Events decided so far.
    pub events: Vec<Event>,
    /// True if the session is new. Then the first event opens it.
    first_seen: bool,
    /// True if the session was only named by another one so far, and its worktree is known now.
    shows_worktree: bool,
    /// The session's change of focus in this very message.
    turned: Option<Turn>,
    /// Ids given to new frames by this decision.
    drawn: BTreeSet<FrameId>,
    /// Sessions opened by this decision.
    opened: BTreeSet<SessionRef>,
    remarks: Vec<Remark>,
}

/// Result of a rule: a refusal, or an error of the tree that was queried.
pub type DecideResult<T, N> = Result<T, DecideError<<N as TreeQuery>::Error>>;

impl<'a, N: TreeQuery + ?Sized> Decider<'a, N> {
    /// Begins a decision.
    pub fn new(tree: &'a N, actor: &'a Actor) -> DecideResult<Self, N> {
        let known = tree.session(&actor.session)?;
        let first_seen = known.is_none();
        let session = known.unwrap_or_else(|| Session::new(actor.session.clone()));
        let placeless = !first_seen && session.worktree.is_none();
        let turned = session
            .turn
            .clone()
            .filter(|turn| Some(&turn.message) == actor.message.as_ref());
        Ok(Self {
            tree,
            actor,
            active: session.active,
            own: session.own,
            session,
            ending: None,
            events: Vec::new(),
            first_seen,
            shows_worktree: placeless && actor.worktree.is_some(),
            turned,
            drawn: BTreeSet::new(),
            opened: BTreeSet::new(),
            remarks: Vec::new(),
        })
    }

    /// Ends the decision. Its first event opens the session if that is new.
    pub fn into_decision(mut self) -> Decided {
        if (self.first_seen || self.shows_worktree) && !self.events.is_empty() {
            self.events.insert(
                0,
                Event::SessionOpened {
                    session: self.actor.session.clone(),
                    worktree: self.actor.worktree.clone(),
                },
            );
        }
        Decided {
            events: self.events,
            remarks: self.remarks,
        }
    }

    /// Returns true if nothing was recorded of the session before.
    pub fn is_new_session(&self) -> bool {
        self.first_seen
    }

    /// Returns true if an id was never given to a frame.
    pub fn is_free(&self, id: &FrameId) -> DecideResult<bool, N> {
        Ok(!self.drawn.contains(id) && !self.tree.is_taken(id)?)
    }

    /// Returns a frame, or refuses if it does not exist.
    pub fn frame(&self, id: &FrameId) -> DecideResult<FrameHead, N> {
        self.tree
            .frame(id)?
            .ok_or_else(|| Refusal::NoSuchFrame(*id).into())
    }

    /// Returns the named frame, or else the session's active one.
    fn named_or_active(&self, frame: Option<&FrameId>) -> DecideResult<FrameHead, N> {
        match frame.or(self.active.as_ref()) {
            Some(id) => self.frame(id),
            None => Err(Refusal::NoActiveFrame(self.actor.session.clone()).into()),
        }
    }

    /// Returns the nearest frame in progress, from `from` upwards.
    pub fn in_progress_from(&self, from: Option<&FrameId>) -> DecideResult<Option<FrameId>, N> {
        let mut next = from.copied();
        while let Some(id) = next {
            let Some(frame) = self.tree.frame(&id)? else {
                return Ok(None);
            };
            if frame.status == Status::InProgress {
                return Ok(Some(id));
            }
            next = frame.parent;
        }
        Ok(None)
    }

    /// Makes a frame the acting session's active one.
    pub fn focus(&mut self, to: &FrameId) {
        if self.active.as_ref() != Some(to) {
            self.events.push(Event::SessionFocused {
                session: self.actor.session.clone(),
                from: self.active,
                to: Some(*to),
            });
        }
    }

    /// Sends every session that works on a frame to the nearest frame in progress above it.
    fn leave(&mut self, frame: &FrameHead) -> DecideResult<(), N> {
        self.leave_all(std::slice::from_ref(&frame.id), frame.parent.as_ref())
    }

    /// Sends every session that works on one of these frames to the nearest frame in progress, from
    /// `above` upwards. A subagent that was given one of them works on nothing afterwards: the frames
    /// above belong to the session that started it.
    pub fn leave_all(
        &mut self,
        frames: &[FrameId],
        above: Option<&FrameId>,
    ) -> DecideResult<(), N> {
        let mut to = None;
        for frame in frames {
            let sessions = self.tree.focused_on(frame)?;
            if sessions.is_empty() {
                continue;
            }
            let to = match &to {
                Some(to) => to,
                None => to.insert(self.in_progress_from(above)?),
            };
            for session in sessions {
                let done = self.ending.as_ref() == Some(&session)
                    || self.was_given_one_of(&session, frames)?;
                self.events.push(Event::SessionFocused {
                    session,
                    from: Some(*frame),
                    to: (*to).filter(|_| !done),
                });
            }
        }
        Ok(())
    }

    /// Returns true if another session started this one for one of these frames.
    fn was_given_one_of(&self, session: &SessionRef, frames: &[FrameId]) -> DecideResult<bool, N> {
        let known = self.tree.session(session)?;
        Ok(known.is_some_and(|known| {
            let has_one = known.own.is_some_and(|own| frames.contains(&own));
            has_one && known.is_started_by_another()
        }))
    }

    /// Returns a session, and opens it if it is new.
    pub fn require_session(&mut self, session: &SessionRef) -> DecideResult<Session, N> {
        let known = self.tree.session(session)?;
        Ok(known.unwrap_or_else(|| {
            // `into_decision` opens the acting session.
            let is_acting = self.first_seen && *session == self.actor.session;
            if !is_acting && self.opened.insert(session.clone()) {
                self.events.push(Event::SessionOpened {
                    session: session.clone(),
                    worktree: None,
                });
            }
            Session::new(session.clone())
        }))
    }
}
