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
//! - A thing that was seen before informs what comes after it, and is not recorded again.

mod prompts;
mod results;
mod subagents;
mod todos;
mod tools;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use self::words::{prose, title};
use super::{Decision, Ground, Rejected, Ruling};
use crate::command::Actor;
use crate::event::{Edit, Event, Goal};
use crate::frame::{FrameHead, LogEntry, Origin, Status};
use crate::id::{FrameId, Mark, SessionRef, Timestamp};
use crate::neighbourhood::Neighbourhood;
use crate::note::Note;
use crate::refusal::Refusal;
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
    /// Calls that are not answered yet.
    calls: BTreeMap<String, Call>,
    /// The model's last words since the last prompt, by thread.
    said: BTreeMap<SessionRef, String>,
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
        let thread = entry
            .agent
            .as_deref()
            .and_then(|agent| actor.session.beside(agent))
            .filter(|thread| *thread != actor.session);
        let speaker = thread.clone().unwrap_or_else(|| actor.session.clone());
        let said = self.said.get(&speaker).cloned();
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
            None => self.parent.clone(),
        };
        let mut scene = Scene {
            ground: Ground::new(tree, &acting)?,
            live: self.live,
            parent,
            inside: thread.is_some(),
            said,
            opening: None,
            failure: None,
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
            failure,
            ..
        } = scene;
        let decision = ground.into_decision();
        self.recorded |= !decision.events.is_empty();
        let matters = !decision.events.is_empty() || matters(&entry.what, call.as_ref());
        if let Some(mark) = mark.filter(|_| matters) {
            self.marks.insert(mark);
        }
        if let Some(failure) = failure {
            self.marks.insert(failure);
        }
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
            parent: None,
            inside: false,
            said: self.said.get(&actor.session).cloned(),
            opening: None,
            failure: None,
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
            parent: if inside {
                Some(actor.session.clone())
            } else {
                self.parent.clone()
            },
            inside,
            said: None,
            opening: None,
            failure: None,
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

/// One entry, looked at where it happened.
struct Scene<'a, 't, N: Neighbourhood + ?Sized> {
    ground: Ground<'t, N>,
    live: bool,
    /// The session that this one is part of.
    parent: Option<SessionRef>,
    /// Whether this happened inside a subagent whose words are part of the same record.
    inside: bool,
    said: Option<String>,
    /// What is to be recorded first, under the message that it began in.
    opening: Option<(Option<String>, Decision)>,
    /// A failure that was seen for the first time.
    failure: Option<Mark>,
    /// What was recorded just before, which the tree does not know yet.
    told: &'a BTreeSet<Mark>,
    draw: &'a mut dyn FnMut() -> FrameId,
}

impl<N: Neighbourhood + ?Sized> Scene<'_, '_, N> {
    fn record(&mut self, entry: &Entry, call: Option<&Call>) -> Ruling<(), N> {
        match &entry.what {
            What::User { voice, text } => self.prompt(*voice, text),
            What::Answer(answer) => match call {
                Some(call) => self.answered(call, answer),
                None => Ok(()),
            },
            What::Changed { paths } => self.produced(paths),
            What::Todos(items) => self.todos(items),
            What::SubagentStarted {
                id,
                kind,
                title,
                prompt,
                ..
            } => self.delegated(id, kind.as_deref(), title, prompt),
            What::SubagentEnded { id, ok, text } => self.returned(id, *ok, text),
            What::Compacted {
                automatic,
                summary,
                tokens_before,
            } => self.compacted(*automatic, summary.as_deref(), *tokens_before),
            // Of a session that has said nothing yet there is nothing to count.
            What::Interrupted { .. } | What::TurnEnded if self.ground.first_seen => Ok(()),
            What::Interrupted { how } => {
                self.interrupted(how);
                Ok(())
            }
            What::TurnEnded => {
                self.turned();
                Ok(())
            }
            What::Titled { title } => self.titled(title),
            What::Usage(usage) => {
                let session = self.session();
                let usage = usage.clone();
                self.tell(Event::SessionSpent { session, usage });
                Ok(())
            }
            What::Assistant { .. }
            | What::Thinking { .. }
            | What::Call(_)
            | What::Attached { .. }
            | What::Plan { .. } => Ok(()),
        }
    }

    fn session(&self) -> SessionRef {
        self.ground.actor.session.clone()
    }

    fn tell(&mut self, event: Event) {
        self.ground.events.push(event);
    }

    /// An id that no frame has or had.
    fn fresh_id(&mut self) -> Ruling<FrameId, N> {
        let mut id = (self.draw)();
        for _ in 1..DRAWS {
            let tree = self.ground.tree;
            if !self.ground.drawn.contains(&id)
                && !tree.is_taken(&id).map_err(Rejected::Unreadable)?
            {
                break;
            }
            id = (self.draw)();
        }
        Ok(id)
    }

    /// Opens a derived frame as the last child of another, or as the last root.
    fn derive(
        &mut self,
        parent: Option<&FrameId>,
        planned: bool,
        origin: Origin,
        goal: &Goal,
    ) -> Ruling<FrameId, N> {
        let id = self.fresh_id()?;
        let first = self.opening.iter().flat_map(|(_, first)| &first.events);
        let opened_here = first.chain(&self.ground.events).filter(
            |event| matches!(event, Event::FrameOpened { parent: of, .. } if of.as_ref() == parent),
        );
        let mut rank = self.ground.next_rank(parent)?;
        for _ in 0..opened_here.count() {
            rank = crate::frame::Rank::after(Some(rank));
        }
        self.ground
            .open(&id, parent.cloned(), rank, planned, origin, goal)?;
        Ok(id)
    }

    /// The session's own frame, opened if there is none yet. A live session that works on nothing
    /// turns to it.
    fn own(&mut self, named: Option<&str>) -> Ruling<FrameHead, N> {
        if let Some(own) = self.ground.own.clone() {
            let own = self.ground.frame(&own)?;
            if self.live && self.ground.active.is_none() && own.status == Status::InProgress {
                self.ground.focus(&own.id);
                self.ground.active = Some(own.id.clone());
            }
            return Ok(own);
        }
        self.begin(named, None)
    }

    /// Opens a frame that is this session from now on.
    fn begin(&mut self, named: Option<&str>, beside: Option<&FrameHead>) -> Ruling<FrameHead, N> {
        let above = match beside {
            Some(former) => self.ground.in_progress_from(former.parent.as_ref())?,
            None => self.frame_above()?,
        };
        let session = self.session();
        let origin = if self.parent.is_some() {
            Origin::Subagent
        } else {
            Origin::Session
        };
        let name = named.and_then(|text| title(text, TITLE_LENGTH));
        let goal = Goal {
            title: name.unwrap_or_else(|| words::unnamed(&session)),
            criteria: None,
            criteria_compacted: None,
        };
        let id = self.derive(above.as_ref(), false, origin, &goal)?;
        self.bind(&session, &id);
        self.ground.own = Some(id.clone());
        Ok(FrameHead {
            id,
            parent: above,
            rank: crate::frame::Rank::default(),
            status: Status::InProgress,
            origin,
            title: goal.title,
            blocked_on: None,
            session: Some(session),
        })
    }

    /// Makes a new frame a session's own. A live session that works on nothing turns to it.
    fn bind(&mut self, session: &SessionRef, frame: &FrameId) {
        self.tell(Event::SessionBound {
            session: session.clone(),
            frame: frame.clone(),
        });
        let acting = *session == self.ground.actor.session;
        if self.live && (!acting || self.ground.active.is_none()) {
            self.tell(Event::SessionFocused {
                session: session.clone(),
                from: None,
                to: Some(frame.clone()),
            });
            if acting {
                self.ground.active = Some(frame.clone());
            }
        }
    }

    /// Where the frame of a session belongs that is part of another one: below what that one works
    /// on, as far as that is in progress.
    fn frame_above(&self) -> Ruling<Option<FrameId>, N> {
        let Some(parent) = &self.parent else {
            return Ok(None);
        };
        let known = self
            .ground
            .tree
            .session(parent)
            .map_err(Rejected::Unreadable)?;
        let standing = known.and_then(|known| known.active.or(known.own));
        self.ground.in_progress_from(standing.as_ref())
    }

    /// The frame that something is recorded in, with the session's own opened if need be.
    fn here(&mut self) -> Ruling<FrameHead, N> {
        if self.ground.own.is_none() && self.ground.active.is_none() {
            return self.own(None);
        }
        match self.ground.place()? {
            Some(place) => Ok(place),
            None => self.own(None),
        }
    }

    /// Records a note, unless it says nothing new.
    fn note(&mut self, frame: &FrameId, note: Note) -> Ruling<(), N> {
        let event = Event::Noted {
            frame: frame.clone(),
            note,
        };
        let Event::Noted { note, .. } = &event else {
            return Ok(());
        };
        let tree = self.ground.tree;
        let told = note.counts_once()
            && (self.ground.events.contains(&event)
                || tree.has_note(frame, note).map_err(Rejected::Unreadable)?);
        if !told {
            self.tell(event);
        }
        Ok(())
    }

    fn titled(&mut self, named: &str) -> Ruling<(), N> {
        let Some(own) = self.ground.own.clone() else {
            return Ok(());
        };
        let own = self.ground.frame(&own)?;
        let derived = matches!(own.origin, Origin::Session | Origin::Subagent);
        match title(named, TITLE_LENGTH) {
            Some(title) if derived && own.status.is_open() && own.title != title => {
                self.tell(Event::FrameEdited {
                    frame: own.id,
                    edit: Edit {
                        title: Some(title),
                        ..Edit::default()
                    },
                });
            }
            _ => {}
        }
        Ok(())
    }

    fn compacted(
        &mut self,
        automatic: bool,
        summary: Option<&str>,
        tokens_before: Option<u64>,
    ) -> Ruling<(), N> {
        let own = self.own(None)?;
        let session = self.session();
        let tree = self.ground.tree;
        let seen = tree.conversation(&session).map_err(Rejected::Unreadable)?;
        // A session that goes on has its summary in front of it, and need not be told again.
        if let Some(summary) = summary.and_then(|text| prose(text, usize::MAX))
            && own.status == Status::InProgress
            && !self.live
        {
            let name = format!("Compaction {}", seen.compactions + 1);
            if let Some(title) = title(&name, TITLE_LENGTH) {
                let goal = words::goal(title);
                let id = self.derive(Some(&own.id), false, Origin::Compaction, &goal)?;
                self.tell(results::completed(id, results::as_is(summary)));
            }
        }
        self.tell(Event::SessionCompacted {
            session,
            automatic,
            tokens_before,
        });
        Ok(())
    }

    fn interrupted(&mut self, how: &str) {
        let session = self.session();
        let how = prose(how, results::LAST_WORDS);
        self.tell(Event::SessionInterrupted { session, how });
    }

    fn turned(&mut self) {
        let session = self.session();
        let said = self.said.as_deref();
        let said = said.and_then(|said| prose(said, results::LAST_WORDS));
        self.tell(Event::SessionTurned { session, said });
    }
}

impl<N: Neighbourhood + ?Sized> Ground<'_, N> {
    /// Where what the session does right now is recorded: the frame that somebody asked for and
    /// that the session works on, else the prompt that is being worked on, else its own frame.
    fn place(&self) -> Ruling<Option<FrameHead>, N> {
        let asked_for = self.active.as_ref().filter(|_| self.active != self.own);
        if let Some(active) = asked_for {
            return self.frame(active).map(Some);
        }
        let Some(own) = &self.own else {
            return Ok(None);
        };
        match self.open_prompt(own)? {
            Some(prompt) => Ok(Some(prompt)),
            None => match self.frame(own) {
                Ok(own) => Ok(Some(own)),
                Err(Rejected::Refused(refusal))
                    if matches!(*refusal, Refusal::NoSuchFrame { .. }) =>
                {
                    Ok(None)
                }
                Err(error) => Err(error),
            },
        }
    }

    /// The prompt below a session's frame that is being worked on.
    fn open_prompt(&self, own: &FrameId) -> Ruling<Option<FrameHead>, N> {
        let open = self.mirrored(own, Origin::Prompt)?;
        Ok(open
            .into_iter()
            .rfind(|child| child.status == Status::InProgress))
    }

    /// The open children of a frame that mirror one kind of thing.
    fn mirrored(&self, frame: &FrameId, origin: Origin) -> Ruling<Vec<FrameHead>, N> {
        let (open, _) = self
            .tree
            .open_children(frame, OPEN_CHILDREN)
            .map_err(Rejected::Unreadable)?;
        Ok(open
            .into_iter()
            .filter(|child| child.origin == origin)
            .collect())
    }
}

#[cfg(test)]
mod tests;
