//! What is seen of a session, turned into facts: the same for a live host and for a recorded file.
//!
//! A [`Watching`] takes one entry after the other and says what happened, on the state that the
//! entries before it led to. It never refuses: what cannot be recorded is left out. These are the
//! rules:
//!
//! - A session has a frame of its own from the first entry that matters on, named after the first
//!   prompt until the host has a title for it. The first prompt needs no other frame; once there is
//!   a second one, each prompt is a frame below the session's.
//! - A prompt's frame ends at the next prompt: with the model's last words as its results, or as
//!   failed if the user stopped it.
//! - No session works on such derived frames. Where somebody asked for a frame and works on it, a
//!   prompt opens none: it is only kept as what the user said.
//! - What a person said is kept word for word in the frame that the session works on; what a host
//!   puts into a person's mouth never is.
//! - What a parent says to its subagent is no person's word.
//! - What is in messages that a session got from the one it is a copy of happened there.
//! - A thing that was seen before informs what comes after it, and is not recorded again.

mod changes;
mod prompts;
mod results;
mod scene;
mod shell;
mod subagents;
mod todos;
mod tools;
mod words;

use std::collections::{BTreeMap, BTreeSet};

pub use self::results::is_wordless;
use self::scene::Scene;
use super::{Decision, Ground, Rejected, Ruling};
use crate::command::Actor;
use crate::event::Event;
use crate::frame::LogEntry;
use crate::id::{FrameId, Mark, SessionRef, Timestamp};
use crate::neighbourhood::Neighbourhood;
use crate::subagent::Framing;
use crate::transcript::{Call, CallKind, Entry, Voice, What};

/// How long the title of a frame gets that is named after what somebody said, in characters.
const TITLE_LENGTH: usize = 80;
/// How often an id is drawn again when it is taken.
const DRAWS: usize = 8;
/// Beyond this many open children, the ones that mirror a host's list are not looked for.
const OPEN_CHILDREN: usize = 1000;

/// A session that is being watched: what has to be remembered from one entry to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watching {
    /// Whether it goes on right now. A past session works on nothing.
    live: bool,
    /// The session that it is part of.
    parent: Option<SessionRef>,
    /// Which subagents become frames.
    framing: Framing,
    /// Calls that are not answered yet.
    calls: BTreeMap<String, Call>,
    /// The model's last words since the last prompt, by thread.
    said: BTreeMap<SessionRef, String>,
    /// What the host calls a session, which may have no frame yet that could be called so.
    titles: BTreeMap<SessionRef, String>,
    /// What was recorded since the last [`Watching::told`].
    marks: BTreeSet<Mark>,
    /// Whether anything was, known by a mark or not.
    recorded: bool,
    /// When the last entry happened that says so.
    latest: Option<Timestamp>,
}

/// What an entry comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sight {
    /// Whose doing it is: the session, the thread inside of it, and the message.
    pub actor: Actor,
    /// When it happened, where that is known.
    pub at: Option<Timestamp>,
    /// What happened.
    pub decision: Decision,
}

/// Raw text of a session that is in the store already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The session, or the subagent inside of it, whose text it is.
    pub thread: SessionRef,
    /// The message in which it begins.
    pub message: Option<String>,
    /// When it began.
    pub at: Option<Timestamp>,
    /// Where it is.
    pub entry: LogEntry,
    /// By what its parts are known again.
    pub marks: Vec<Mark>,
}

impl Watching {
    /// Watches a session that goes on right now.
    pub fn live(parent: Option<SessionRef>) -> Self {
        Self {
            live: true,
            parent,
            ..Self::default()
        }
    }

    /// Looks at the record of a session.
    pub fn past(parent: Option<SessionRef>) -> Self {
        Self {
            parent,
            ..Self::default()
        }
    }

    /// Learns which session this one is part of, where that was not known before.
    pub fn is_part_of(&mut self, parent: Option<SessionRef>) {
        if self.parent.is_none() {
            self.parent = parent;
        }
    }

    /// The session was wound back or forward: what the model said last is in the journal, if it
    /// counts at all.
    pub fn was_wound(&mut self, session: &SessionRef) {
        self.said.remove(session);
        self.calls.clear();
    }

    /// Learns which subagents become frames; until then, all of them do.
    pub fn frames(&mut self, framing: Framing) {
        self.framing = framing;
    }

    /// What an entry comes to. `draw` draws ids for new frames.
    ///
    /// Where there is more than one answer, each is to be recorded before the next entry is looked
    /// at, in this order.
    pub fn see<N: Neighbourhood + ?Sized>(
        &mut self,
        tree: &N,
        actor: &Actor,
        entry: &Entry,
        draw: &mut dyn FnMut() -> FrameId,
    ) -> Result<Vec<Sight>, Rejected<N::Error>> {
        let mark = entry.mark(&actor.session);
        let known = match mark {
            Some(mark) => {
                self.marks.contains(&mark) || tree.is_seen(mark).map_err(Rejected::Unreadable)?
            }
            None => false,
        };
        let known = known || self.is_copied(tree, actor, entry)?;
        let thread = entry
            .agent
            .as_deref()
            .and_then(|agent| actor.session.beside(agent))
            .filter(|thread| *thread != actor.session);
        let speaker = thread.clone().unwrap_or_else(|| actor.session.clone());
        let said = self.said.get(&speaker).cloned();
        if let What::Titled { title } = &entry.what {
            self.titles.insert(speaker.clone(), title.clone());
        }
        let call = self.remember(&speaker, entry);
        self.latest = entry.at.or(self.latest);
        if known {
            return Ok(Vec::new());
        }
        let acting = Actor {
            session: speaker.clone(),
            worktree: actor.worktree.clone(),
            message: entry.message.clone(),
        };
        let parent = match &thread {
            Some(_) => Some(actor.session.clone()),
            None => self.parent_in(tree, &speaker)?,
        };
        let mut scene = Scene {
            ground: Ground::new(tree, &acting)?,
            live: self.live,
            at: entry.at,
            framing: self.framing,
            parent,
            inside: thread.is_some(),
            called: self.titles.get(&speaker).cloned(),
            said,
            opening: None,
            noticed: Vec::new(),
            told: &self.marks,
            draw,
        };
        match scene.record(entry, call.as_ref()) {
            Ok(()) => {}
            // Somebody arranged the tree so that this has no place in it.
            Err(Rejected::Refused(_)) => return Ok(Vec::new()),
            Err(unreadable) => return Err(unreadable),
        }
        let Scene {
            ground,
            opening,
            noticed,
            ..
        } = scene;
        let decision = ground.into_decision();
        self.recorded |= !decision.events.is_empty();
        let matters = !decision.events.is_empty() || matters(&entry.what, call.as_ref());
        if let Some(mark) = mark.filter(|_| matters) {
            self.marks.insert(mark);
        }
        self.marks.extend(noticed);
        let sights = opening
            .into_iter()
            .chain([(entry.message.clone(), decision)]);
        Ok(sights
            .filter(|(_, decision)| !decision.events.is_empty())
            .map(|(message, decision)| Sight {
                actor: Actor {
                    message,
                    ..acting.clone()
                },
                at: entry.at,
                decision,
            })
            .collect())
    }

    /// Everything that was recorded since this was asked last, as one fact: it is not to be
    /// recorded again.
    pub fn told(&mut self, session: &SessionRef) -> Option<Event> {
        let marks: Vec<Mark> = std::mem::take(&mut self.marks).into_iter().collect();
        let recorded = std::mem::take(&mut self.recorded);
        (recorded || !marks.is_empty()).then(|| Event::SessionWitnessed {
            session: session.clone(),
            marks,
        })
    }

    /// What becomes of a past session whose record ends here: it is completed if its last turn came
    /// to its end and nothing is left open.
    pub fn ended<N: Neighbourhood + ?Sized>(
        &mut self,
        tree: &N,
        actor: &Actor,
        draw: &mut dyn FnMut() -> FrameId,
    ) -> Result<Option<Sight>, Rejected<N::Error>> {
        let mut scene = Scene {
            ground: Ground::new(tree, actor)?,
            live: self.live,
            at: self.latest,
            framing: self.framing,
            parent: None,
            inside: false,
            called: None,
            said: self.said.get(&actor.session).cloned(),
            opening: None,
            noticed: Vec::new(),
            told: &self.marks,
            draw,
        };
        match scene.settle() {
            Ok(()) => {}
            Err(Rejected::Refused(_)) => return Ok(None),
            Err(unreadable) => return Err(unreadable),
        }
        let mut decision = scene.ground.into_decision();
        let closed = decision.events.iter().find_map(|event| match event {
            Event::FrameClosed { frame, .. } => Some(frame.to_string()),
            _ => None,
        });
        let Some(closed) = closed else {
            return Ok(None);
        };
        // This too is something that was seen, which undo does not take back.
        self.marks
            .insert(Mark::of(&actor.session, "ended", &closed));
        decision.events.extend(self.told(&actor.session));
        Ok(Some(Sight {
            actor: actor.clone(),
            at: self.latest,
            decision,
        }))
    }

    /// Keeps raw text of a session, or of a subagent inside of it, in the frame where it happened.
    pub fn keep<N: Neighbourhood + ?Sized>(
        &mut self,
        tree: &N,
        actor: &Actor,
        text: &Kept,
        draw: &mut dyn FnMut() -> FrameId,
    ) -> Result<Sight, Rejected<N::Error>> {
        let acting = Actor {
            session: text.thread.clone(),
            worktree: actor.worktree.clone(),
            message: text.message.clone(),
        };
        let inside = text.thread != actor.session;
        let mut scene = Scene {
            ground: Ground::new(tree, &acting)?,
            live: self.live,
            at: text.at,
            framing: self.framing,
            parent: if inside {
                Some(actor.session.clone())
            } else {
                self.parent_in(tree, &text.thread)?
            },
            inside,
            called: self.titles.get(&text.thread).cloned(),
            said: None,
            opening: None,
            noticed: Vec::new(),
            told: &self.marks,
            draw,
        };
        match scene.here() {
            Ok(frame) => scene.tell(Event::Logged {
                frame: frame.id,
                entry: text.entry.clone(),
            }),
            Err(Rejected::Refused(_)) => scene.ground.events.clear(),
            Err(unreadable) => return Err(unreadable),
        }
        let decision = scene.ground.into_decision();
        if !decision.events.is_empty() {
            self.recorded = true;
            self.marks.extend(&text.marks);
        }
        Ok(Sight {
            actor: acting,
            at: text.at,
            decision,
        })
    }

    /// The session that this one is part of, as far as anybody has said.
    fn parent_in<N: Neighbourhood + ?Sized>(
        &self,
        tree: &N,
        session: &SessionRef,
    ) -> Ruling<Option<SessionRef>, N> {
        if self.parent.is_some() {
            return Ok(self.parent.clone());
        }
        let run = tree.run(session).map_err(Rejected::Unreadable)?;
        Ok(run.and_then(|run| run.parent))
    }

    /// Whether an entry belongs to a message that the session got from the one it is a copy of.
    fn is_copied<N: Neighbourhood + ?Sized>(
        &self,
        tree: &N,
        actor: &Actor,
        entry: &Entry,
    ) -> Ruling<bool, N> {
        let Some(message) = entry.message.as_ref().filter(|_| self.live) else {
            return Ok(false);
        };
        let mark = Entry::copied_mark(&actor.session, message);
        tree.is_seen(mark).map_err(Rejected::Unreadable)
    }

    /// Takes in what later entries refer to; answers the call that this entry is the answer to.
    fn remember(&mut self, speaker: &SessionRef, entry: &Entry) -> Option<Call> {
        match &entry.what {
            What::Call(call) => {
                self.calls.insert(call.id.clone(), call.clone());
                None
            }
            What::Answer(answer) => self.calls.remove(&answer.call),
            // Another turn begins, in which nothing was said yet.
            What::User { voice, text } if prompts::is_request(*voice, text) => {
                self.said.remove(speaker);
                None
            }
            What::Assistant { text } if !text.trim().is_empty() => {
                self.said.insert(speaker.clone(), text.clone());
                None
            }
            _ => None,
        }
    }
}

/// Whether what an entry comes to depends on when it is seen, so that it must not be looked at
/// again even if it came to nothing.
fn matters(what: &What, call: Option<&Call>) -> bool {
    match what {
        What::User { voice, .. } => matches!(voice, Voice::Person | Voice::Slash),
        What::Answer(answer) => call.is_some_and(|call| {
            let telling = [CallKind::Edit, CallKind::Write, CallKind::Execute];
            !answer.ok || telling.contains(&call.kind)
        }),
        What::Assistant { .. }
        | What::Thinking { .. }
        | What::Call(_)
        | What::Attached { .. }
        | What::Plan { .. } => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests;
