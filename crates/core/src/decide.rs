//! The rules: a command in, events or a refusal out.
//!
//! [`decide`] is total: every command on every state has an answer, and a refusal says what to do
//! instead. It keeps these laws, whatever the order of commands:
//!
//! - a session's active frame is in progress;
//! - nothing is opened below a frame that is finished, and nothing is finished above an open frame
//!   (a frame set aside as invalidated is the exception: work below it goes on until it ends);
//! - parents are never descendants, and names are never used twice;
//! - finished work is not changed, except that its results may be corrected.

mod adopt;
mod archive;
mod close;
mod fork;
mod open;
mod revert;
mod revise;
mod summarise;
mod witness;

use std::collections::BTreeSet;

pub use self::witness::{Kept, Sight, Watching, is_wordless};
use crate::Session;
use crate::command::{Actor, Command};
use crate::event::Event;
use crate::frame::{FrameHead, Status};
use crate::id::{FrameId, SessionRef};
use crate::neighbourhood::Neighbourhood;
use crate::refusal::Refusal;
use crate::session::Turn;

/// What a granted command comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// What happens; nothing, if the wish was fulfilled already.
    pub events: Vec<Event>,
    /// What the one who asked should know besides.
    pub remarks: Vec<Remark>,
}

/// Something worth saying that is no event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// A frame below an invalidated one is still in progress or blocked, and was not touched.
    StillOpen(FrameHead),
    /// The same was recorded before.
    AlreadyRecorded,
    /// The session works on that frame already.
    AlreadyActive,
    /// The file was brought in before.
    AlreadyImported,
    /// A root was popped: the whole tree is finished.
    TreeFinished,
    /// The frame could not be ended with its summary, and goes on.
    NotEnded(Box<Refusal>),
    /// The frame is only planned, because another one was begun in the same message.
    PlannedBeside(FrameHead),
}

/// Why nothing happened.
#[derive(Debug, thiserror::Error)]
pub enum Rejected<E> {
    /// The rules say no.
    #[error(transparent)]
    Refused(Box<Refusal>),
    /// The tree could not be read.
    #[error("{0}")]
    Unreadable(E),
}

impl<E> From<Refusal> for Rejected<E> {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

/// Applies the rules to a command.
pub fn decide<N: Neighbourhood + ?Sized>(
    tree: &N,
    actor: &Actor,
    command: &Command,
) -> Result<Decision, Rejected<N::Error>> {
    let mut ground = Ground::new(tree, actor)?;
    match command {
        Command::Push { id, under, goal } => ground.push(id, under, goal)?,
        Command::Plan { under, items } => ground.plan(under, items)?,
        Command::Activate { frame } => ground.activate(frame)?,
        Command::Pop {
            frame,
            outcome,
            results,
        } => {
            ground.pop(frame.as_ref(), *outcome, results)?;
        }
        Command::Block { frame, reason } => ground.block(frame.as_ref(), reason)?,
        Command::Unblock { frame } => ground.unblock(frame)?,
        Command::Invalidate { frame, reason } => ground.invalidate(frame.as_ref(), reason)?,
        Command::Edit { frame, edit } => ground.edit(frame.as_ref(), edit)?,
        Command::Note { frame, note } => ground.note(frame.as_ref(), note)?,
        Command::Log { frame, entry } => ground.log(frame.as_ref(), entry)?,
        Command::Move { frame, to } => ground.relocate(frame, to)?,
        Command::Delete { frame } => ground.delete(frame)?,
        Command::Bind { frame, session } => ground.bind(frame, session)?,
        Command::Unbind { session } => ground.unbind(session)?,
        Command::AwaitSummary {
            frame,
            outcome,
            given,
            note,
        } => ground.await_summary(frame.as_ref(), *outcome, given.as_ref(), note.as_ref())?,
        Command::TakeSummary { frame, text } => ground.take_summary(frame, text.as_ref())?,
        Command::Checkpoint(checkpoint) => {
            ground
                .events
                .push(Event::CompactionBegun(checkpoint.clone()));
        }
        Command::Summarise(verdict) => ground.summarise(verdict)?,
        Command::Undo => ground.undo()?,
        Command::Revert { messages, earlier } => ground.revert(messages, earlier)?,
        Command::Unrevert => ground.unrevert()?,
        Command::Fork(fork) => ground.fork(fork)?,
        Command::Archive => ground.archive()?,
        Command::Import(import) => ground.import(import)?,
        Command::DropBlobs(blobs) => {
            ground.first_seen = false;
            ground
                .events
                .extend(blobs.iter().map(|(blob, bytes)| Event::BlobDropped {
                    blob: blob.clone(),
                    bytes: *bytes,
                }));
        }
        Command::Describe(description) => ground.describe(description)?,
        Command::UseModel(model) => ground.use_model(model)?,
        Command::Send(sending) => {
            let sent = Event::ContextSent(sending.clone());
            ground.events.push(sent);
        }
    }
    Ok(ground.into_decision())
}

/// Where a decision is made: the tree around, who asks, and what has been concluded so far.
struct Ground<'a, N: Neighbourhood + ?Sized> {
    tree: &'a N,
    actor: &'a Actor,
    /// The session is new; if anything happens, that is the first thing to record.
    first_seen: bool,
    /// Whether the session was only named so far, by somebody else, and shows now where it works.
    shows_place: bool,
    active: Option<FrameId>,
    own: Option<FrameId>,
    /// How the session turned to another frame in this very message, if it did.
    turned: Option<Turn>,
    /// Ids given to new frames by this very command.
    drawn: BTreeSet<FrameId>,
    /// Sessions seen for the first time by this very command.
    opened: BTreeSet<SessionRef>,
    events: Vec<Event>,
    remarks: Vec<Remark>,
}

/// Answers of the rules' own functions.
type Ruling<T, N> = Result<T, Rejected<<N as Neighbourhood>::Error>>;

impl<'a, N: Neighbourhood + ?Sized> Ground<'a, N> {
    fn new(tree: &'a N, actor: &'a Actor) -> Ruling<Self, N> {
        let session = tree.session(&actor.session).map_err(Rejected::Unreadable)?;
        let first_seen = session.is_none();
        let placeless = session
            .as_ref()
            .is_some_and(|known| known.worktree.is_none());
        let turned = session
            .as_ref()
            .and_then(|known| known.turn.clone())
            .filter(|turn| Some(&turn.message) == actor.message.as_ref());
        let (active, own) = session.map_or((None, None), |known| (known.active, known.own));
        Ok(Self {
            tree,
            actor,
            first_seen,
            shows_place: placeless && actor.worktree.is_some(),
            active,
            own,
            turned,
            drawn: BTreeSet::new(),
            opened: BTreeSet::new(),
            events: Vec::new(),
            remarks: Vec::new(),
        })
    }

    fn into_decision(mut self) -> Decision {
        if (self.first_seen || self.shows_place) && !self.events.is_empty() {
            self.events.insert(
                0,
                Event::SessionOpened {
                    session: self.actor.session.clone(),
                    worktree: self.actor.worktree.clone(),
                },
            );
        }
        Decision {
            events: self.events,
            remarks: self.remarks,
        }
    }

    fn frame(&self, id: &FrameId) -> Ruling<FrameHead, N> {
        self.tree
            .frame(id)
            .map_err(Rejected::Unreadable)?
            .ok_or_else(|| Refusal::NoSuchFrame { id: id.clone() }.into())
    }

    /// The frame that was named, else the session's active one.
    fn named_or_active(&self, frame: Option<&FrameId>) -> Ruling<FrameHead, N> {
        match frame.or(self.active.as_ref()) {
            Some(id) => self.frame(id),
            None => Err(Refusal::NoActiveFrame {
                session: self.actor.session.clone(),
            }
            .into()),
        }
    }

    /// The nearest frame in progress, starting with `from` itself.
    fn in_progress_from(&self, from: Option<&FrameId>) -> Ruling<Option<FrameId>, N> {
        let mut next = from.cloned();
        while let Some(id) = next {
            let Some(frame) = self.tree.frame(&id).map_err(Rejected::Unreadable)? else {
                return Ok(None);
            };
            if frame.status == Status::InProgress {
                return Ok(Some(id));
            }
            next = frame.parent;
        }
        Ok(None)
    }

    /// The acting session turns to a frame.
    fn focus(&mut self, to: &FrameId) {
        if self.active.as_ref() != Some(to) {
            self.events.push(Event::SessionFocused {
                session: self.actor.session.clone(),
                from: self.active.clone(),
                to: Some(to.clone()),
            });
        }
    }

    /// Every session that works on a frame returns to the nearest frame in progress above it.
    fn leave(&mut self, frame: &FrameHead) -> Ruling<(), N> {
        self.leave_all(std::slice::from_ref(&frame.id), frame.parent.as_ref())
    }

    /// Every session that works on one of these frames returns to the nearest frame in progress,
    /// starting with `above`. A subagent that was given one of them works on nothing then: what is
    /// above belongs to whoever started it.
    fn leave_all(&mut self, frames: &[FrameId], above: Option<&FrameId>) -> Ruling<(), N> {
        let mut to = None;
        for frame in frames {
            let sessions = self.tree.focused_on(frame).map_err(Rejected::Unreadable)?;
            if sessions.is_empty() {
                continue;
            }
            let to = match &to {
                Some(to) => to,
                None => to.insert(self.in_progress_from(above)?),
            };
            for session in sessions {
                let done = self.was_given_one_of(&session, frames)?;
                self.events.push(Event::SessionFocused {
                    session,
                    from: Some(frame.clone()),
                    to: to.clone().filter(|_| !done),
                });
            }
        }
        Ok(())
    }

    /// Whether a session was started by another one for one of these frames.
    fn was_given_one_of(&self, session: &SessionRef, frames: &[FrameId]) -> Ruling<bool, N> {
        let known = self.tree.session(session).map_err(Rejected::Unreadable)?;
        let own = known.and_then(|known| known.own);
        if !own.is_some_and(|own| frames.contains(&own)) {
            return Ok(false);
        }
        let run = self.tree.run(session).map_err(Rejected::Unreadable)?;
        Ok(run.is_some_and(|run| run.parent.is_some()))
    }

    fn require_session(&mut self, session: &SessionRef) -> Ruling<Session, N> {
        let known = self.tree.session(session).map_err(Rejected::Unreadable)?;
        Ok(known.unwrap_or_else(|| {
            let told_anyway = self.first_seen && *session == self.actor.session;
            if !told_anyway && self.opened.insert(session.clone()) {
                self.events.push(Event::SessionOpened {
                    session: session.clone(),
                    worktree: None,
                });
            }
            Session::new(session.clone())
        }))
    }
}

#[cfg(test)]
mod tests;
