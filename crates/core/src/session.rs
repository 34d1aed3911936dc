//! What is known of a conversation: its own frame, the frame it works on, and what was seen of it.

use crate::compaction::Streak;
use crate::event::{Event, Recorded};
use crate::id::{FrameId, Seq, SessionRef};
use crate::text::{Prose, Title};
use crate::transcript::Usage;

/// A conversation in a host, as the rules see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its name.
    pub key: SessionRef,
    /// The worktree it was first seen in, where that is known.
    pub worktree: Option<String>,
    /// The frame that is this session as a whole.
    pub own: Option<FrameId>,
    /// The frame it works on. There is no such thing outside a session.
    pub active: Option<FrameId>,
    /// When it last turned to another frame by itself, where its host names its messages.
    pub turn: Option<Turn>,
    /// The event that wound it back, as long as it can be wound forward again.
    pub reverted: Option<Seq>,
}

/// A message in which a session turned from one frame to another.
///
/// A model that makes several calls in one message means them all from where it stood before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The host's message.
    pub message: String,
    /// What the session worked on before.
    pub before: Option<FrameId>,
}

impl Session {
    /// A session of which nothing is known but its name.
    pub fn new(key: SessionRef) -> Self {
        Self {
            key,
            worktree: None,
            own: None,
            active: None,
            turn: None,
            reverted: None,
        }
    }
}

/// The model that a conversation talks to, as its host says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// What the host calls it.
    pub name: Title,
    /// How many tokens of a prompt it can take, where the host says so.
    pub window: Option<u64>,
}

/// What a host says of a conversation besides its messages; what is absent is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// The directory that it works in.
    pub directory: Option<Prose>,
    /// The version of the host.
    pub host_version: Option<Prose>,
    /// The agent that works in it.
    pub agent: Option<Prose>,
    /// The conversation that started it.
    pub parent: Option<SessionRef>,
    /// The conversation that it is a copy of.
    pub copy_of: Option<SessionRef>,
    /// What it has changed in files, by the host's account.
    pub diff: Option<DiffTotals>,
}

/// Lines and files that a conversation has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiffTotals {
    /// Lines added.
    pub added: u64,
    /// Lines deleted.
    pub deleted: u64,
    /// Files changed.
    pub files: u64,
}

impl Description {
    /// The same with what is newly known.
    pub fn and(self, newer: Self) -> Self {
        Self {
            directory: newer.directory.or(self.directory),
            host_version: newer.host_version.or(self.host_version),
            agent: newer.agent.or(self.agent),
            parent: newer.parent.or(self.parent),
            copy_of: newer.copy_of.or(self.copy_of),
            diff: newer.diff.or(self.diff),
        }
    }
}

/// What was seen of a conversation so far, in numbers and in the little that its next turn needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversation {
    /// How often a person spoke.
    pub prompts: u64,
    /// The host's message in which a person first spoke.
    pub opening: Option<String>,
    /// What the model said last in the turn that ended last, if no person has spoken since.
    pub said: Option<Prose>,
    /// The user stopped the work and has not spoken since.
    pub interrupted: bool,
    /// How often the user stopped the work.
    pub interruptions: u64,
    /// How often the host replaced the history by a summary.
    pub compactions: u64,
    /// Model calls whose cost is known.
    pub calls: u64,
    /// What they cost together; the model is the last one.
    pub spent: Usage,
    /// How many tokens the last of them had, prompt and answer.
    pub size: u64,
    /// Compactions that followed each other.
    pub streak: Streak,
}

/// The part of a [`Conversation`] that its messages made: what changes when it is wound back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Glimpse {
    /// How often a person spoke.
    pub prompts: u64,
    /// The host's message in which a person first spoke.
    pub opening: Option<String>,
    /// What the model said last in the turn that ended last.
    pub said: Option<Prose>,
    /// The user stopped the work and has not spoken since.
    pub interrupted: bool,
    /// How often the user stopped the work.
    pub interruptions: u64,
}

impl Conversation {
    /// The part that its messages made.
    pub fn glimpse(&self) -> Glimpse {
        Glimpse {
            prompts: self.prompts,
            opening: self.opening.clone(),
            said: self.said.clone(),
            interrupted: self.interrupted,
            interruptions: self.interruptions,
        }
    }

    /// The session that an event says something of, in this sense.
    pub fn concerned(event: &Event) -> Option<&SessionRef> {
        match event {
            Event::SessionPrompted { session }
            | Event::SessionTurned { session, .. }
            | Event::SessionInterrupted { session, .. }
            | Event::SessionCompacted { session, .. }
            | Event::SessionSpent { session, .. }
            | Event::SessionReverted { session, .. }
            | Event::SessionRestored { session, .. } => Some(session),
            _ => None,
        }
    }

    /// Takes in an event that concerns this session.
    pub fn change(&mut self, recorded: &Recorded) {
        match &recorded.event {
            Event::SessionPrompted { .. } => {
                if self.prompts == 0 {
                    self.opening.clone_from(&recorded.message);
                }
                self.prompts = self.prompts.saturating_add(1);
                self.said = None;
                self.interrupted = false;
            }
            Event::SessionTurned { said, .. } => {
                if said.is_some() {
                    self.said.clone_from(said);
                }
                self.interrupted = false;
                if said.is_some() {
                    self.streak.turned();
                }
            }
            Event::SessionInterrupted { .. } => {
                self.interruptions = self.interruptions.saturating_add(1);
                self.interrupted = true;
            }
            Event::SessionCompacted { automatic, .. } => {
                self.compactions = self.compactions.saturating_add(1);
                self.streak.compacted(*automatic);
            }
            Event::SessionSpent { usage, .. } => {
                self.calls = self.calls.saturating_add(1);
                self.spent.add(usage);
                self.size = usage.prompt().saturating_add(usage.output);
                self.streak.called();
            }
            Event::SessionReverted { seen, .. } | Event::SessionRestored { seen, .. } => {
                let seen = seen.clone();
                self.prompts = seen.prompts;
                self.opening = seen.opening;
                self.said = seen.said;
                self.interrupted = seen.interrupted;
                self.interruptions = seen.interruptions;
            }
            _ => {}
        }
    }
}
