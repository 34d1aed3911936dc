//! One entry, looked at where it happened: the session's own frame, the place for what was seen, and
//! what happens to the session as a whole.

use std::collections::BTreeSet;

use super::words::{self, prose, title};
use super::{DRAWS, OPEN_CHILDREN, TITLE_LENGTH, results};
use crate::decide::{Decision, Ground, Rejected, Ruling};
use crate::event::{Edit, Event, Goal};
use crate::frame::{FrameHead, Origin, Rank, Status};
use crate::id::{FrameId, Mark, SessionRef, Timestamp};
use crate::neighbourhood::Neighbourhood;
use crate::note::Note;
use crate::refusal::Refusal;
use crate::subagent::Framing;
use crate::transcript::{Call, Entry, What};

/// One entry, looked at where it happened.
pub(super) struct Scene<'a, 't, N: Neighbourhood + ?Sized> {
    pub(super) ground: Ground<'t, N>,
    pub(super) live: bool,
    /// When it happened, where that is known.
    pub(super) at: Option<Timestamp>,
    /// Which subagents become frames.
    pub(super) framing: Framing,
    /// The session that this one is part of.
    pub(super) parent: Option<SessionRef>,
    /// Whether this happened inside a subagent whose words are part of the same record.
    pub(super) inside: bool,
    /// What the host calls the session.
    pub(super) called: Option<String>,
    pub(super) said: Option<String>,
    /// What is to be recorded first, under the message that it began in.
    pub(super) opening: Option<(Option<String>, Decision)>,
    /// What later entries will want to know of: a failure that was seen for the first time, that the
    /// session changes files.
    pub(super) noticed: Vec<Mark>,
    /// What was recorded just before, which the tree does not know yet.
    pub(super) told: &'a BTreeSet<Mark>,
    pub(super) draw: &'a mut dyn FnMut() -> FrameId,
}

impl<N: Neighbourhood + ?Sized> Scene<'_, '_, N> {
    pub(super) fn record(&mut self, entry: &Entry, call: Option<&Call>) -> Ruling<(), N> {
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
            What::Waiting { on } => self.waiting(on.as_deref()),
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

    pub(super) fn session(&self) -> SessionRef {
        self.ground.actor.session.clone()
    }

    pub(super) fn tell(&mut self, event: Event) {
        self.ground.events.push(event);
    }

    /// An id that no frame has or had.
    pub(super) fn fresh_id(&mut self) -> Ruling<FrameId, N> {
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
    pub(super) fn derive(
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
            rank = Rank::after(Some(rank));
        }
        self.ground
            .open(&id, parent.cloned(), rank, planned, origin, goal)?;
        Ok(id)
    }

    /// The session's own frame, opened if there is none yet. A live session that works on nothing
    /// turns to it.
    pub(super) fn own(&mut self, named: Option<&str>) -> Ruling<FrameHead, N> {
        if let Some(own) = self.ground.own.clone() {
            let own = self.ground.frame(&own)?;
            if self.live && self.ground.active.is_none() && own.status == Status::InProgress {
                self.ground.focus(&own.id);
                self.ground.active = Some(own.id.clone());
            }
            return Ok(own);
        }
        match self.frame_instead()? {
            Some(above) => Ok(above),
            None => self.begin(named, None),
        }
    }

    /// Opens a frame that is this session from now on.
    pub(super) fn begin(
        &mut self,
        named: Option<&str>,
        beside: Option<&FrameHead>,
    ) -> Ruling<FrameHead, N> {
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
        // A session that goes on after its end is about what it is told now.
        let by_host = beside.is_none() && self.is_named_by_host(origin)?;
        let called = self.called.as_deref().filter(|_| by_host);
        let mut all = called.into_iter().chain(named);
        let name = all.find_map(|text| title(text, TITLE_LENGTH));
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
            rank: Rank::default(),
            status: Status::InProgress,
            origin,
            title: goal.title,
            blocked_on: None,
            session: Some(session),
        })
    }

    /// Makes a new frame a session's own. A live session that works on nothing turns to it.
    pub(super) fn bind(&mut self, session: &SessionRef, frame: &FrameId) {
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
    pub(super) fn frame_above(&self) -> Ruling<Option<FrameId>, N> {
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
    pub(super) fn here(&mut self) -> Ruling<FrameHead, N> {
        if self.ground.own.is_none() && self.ground.active.is_none() {
            return self.own(None);
        }
        match self.ground.place()? {
            Some(place) => Ok(place),
            None => self.own(None),
        }
    }

    /// Records a note, unless it says nothing new.
    pub(super) fn note(&mut self, frame: &FrameId, note: Note) -> Ruling<(), N> {
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

    /// Whether a session's own frame is called what its host calls the session.
    fn is_named_by_host(&self, origin: Origin) -> Ruling<bool, N> {
        match origin {
            Origin::Session => Ok(true),
            // What its parent wants of it says more than what the host calls it.
            Origin::Subagent => Ok(self.run()?.is_none_or(|run| run.goal.is_none())),
            _ => Ok(false),
        }
    }

    pub(super) fn titled(&mut self, named: &str) -> Ruling<(), N> {
        let Some(own) = self.ground.own.clone() else {
            return Ok(());
        };
        let own = self.ground.frame(&own)?;
        let by_host = self.is_named_by_host(own.origin)?;
        match title(named, TITLE_LENGTH) {
            Some(title) if by_host && own.status.is_open() && own.title != title => {
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

    pub(super) fn compacted(
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

    pub(super) fn interrupted(&mut self, how: &str) {
        let session = self.session();
        let how = prose(how, results::LAST_WORDS);
        self.tell(Event::SessionInterrupted { session, how });
    }

    pub(super) fn turned(&mut self) {
        let session = self.session();
        let said = self.said.as_deref();
        let said = said.and_then(|said| prose(said, results::LAST_WORDS));
        self.tell(Event::SessionTurned { session, said });
    }
}

impl<N: Neighbourhood + ?Sized> Ground<'_, N> {
    /// Where what the session does right now is recorded: the frame that somebody asked for and
    /// that the session works on, else the prompt that is being worked on, else its own frame.
    pub(super) fn place(&self) -> Ruling<Option<FrameHead>, N> {
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
    pub(super) fn open_prompt(&self, own: &FrameId) -> Ruling<Option<FrameHead>, N> {
        let open = self.mirrored(own, Origin::Prompt)?;
        Ok(open
            .into_iter()
            .rfind(|child| child.status == Status::InProgress))
    }

    /// The open children of a frame that mirror one kind of thing.
    pub(super) fn mirrored(&self, frame: &FrameId, origin: Origin) -> Ruling<Vec<FrameHead>, N> {
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
