//! Records one entry: the session's own frame, the frame for notes, and facts about the session.

use std::collections::BTreeSet;

use flamestack_core::decide::{Beginning, DecideResult, Decider};
use flamestack_core::event::{Closing, Edit, Goal};
use flamestack_core::frame::{Origin, Rank};
use flamestack_core::id::{Fingerprint, Timestamp};
use flamestack_core::session::checkpoint::InterruptionCause;
use flamestack_core::session::life::CUT_OFF;
use flamestack_core::stall::Stall;
use flamestack_core::subagent::{EndedBy, Framing};
use flamestack_core::transcript::{Call, Entry, EntryKind};
use flamestack_core::{
    DecideError, Decided, Event, FrameHead, FrameId, Note, Refusal, SessionRef, Status, Title,
    TreeQuery,
};

use super::observer::ObservedTurn;
use super::results;
use super::topics::Track;
use super::words::{self, prose, title};

/// Maximum length of a title derived from a prompt, in characters.
pub(super) const TITLE_LENGTH: usize = 80;
/// Number of attempts to draw an id that is not taken.
const DRAWS: usize = 8;
/// Maximum number of open children that are searched for those that mirror a host's list.
const OPEN_CHILDREN: usize = 1000;

/// Records one entry on the state that the entries before it led to.
pub(super) struct EntryRecorder<'a, 't, N: TreeQuery + ?Sized> {
    pub(super) decider: Decider<'t, N>,
    pub(super) live: bool,
    /// Time of the entry, where it is known.
    pub(super) at: Option<Timestamp>,
    pub(super) framing: Framing,
    pub(super) track: Track,
    /// True for a prompt that begins another topic, where topics are tracked.
    pub(super) begins_topic: bool,
    /// Reporter of the end of a subagent.
    pub(super) ended_by: EndedBy,
    /// The session that started this one.
    pub(super) parent: Option<SessionRef>,
    /// True inside a subagent whose words are part of its parent's record.
    pub(super) inside: bool,
    pub(super) host_title: Option<String>,
    /// The model's last words before this entry.
    pub(super) said: Option<String>,
    /// The turn before this entry.
    pub(super) turn: ObservedTurn,
    /// Events to record first, under the message that they began in.
    pub(super) opening: Option<(Option<String>, Decided)>,
    /// Fingerprints for later entries: a failure seen for the first time, a session that changes
    /// files.
    pub(super) noticed: Vec<Fingerprint>,
    /// Fingerprints that were recorded just before and are not in the tree yet.
    pub(super) recent: &'a BTreeSet<Fingerprint>,
    pub(super) draw: &'a mut dyn FnMut() -> FrameId,
}

impl<N: TreeQuery + ?Sized> EntryRecorder<'_, '_, N> {
    pub(super) fn record(&mut self, entry: &Entry, call: Option<&Call>) -> DecideResult<(), N> {
        match &entry.kind {
            EntryKind::User { speaker, text } => self.prompt(*speaker, text)?,
            EntryKind::Answer(answer) => {
                self.call_ended(answer)?;
                if let Some(call) = call {
                    self.answered(call, answer)?;
                }
            }
            EntryKind::Begun(call) => self.call_begun(call),
            EntryKind::Changed { paths } => self.produced(paths)?,
            EntryKind::Todos(items) => self.todos(items)?,
            EntryKind::SubagentStarted {
                id,
                kind,
                title,
                prompt,
                ..
            } => self.delegated(id, kind.as_deref(), title, prompt)?,
            EntryKind::SubagentEnded { id, ok, text } => self.returned(id, *ok, text)?,
            EntryKind::Compacted {
                automatic,
                summary,
                tokens_before,
            } => self.compacted(*automatic, summary.as_deref(), *tokens_before)?,
            // A session without any other entry has no turn to count.
            EntryKind::Interrupted { .. } | EntryKind::Failed { .. } | EntryKind::TurnEnded
                if self.decider.is_new_session() => {}
            EntryKind::Interrupted { how } => self.interrupted(how),
            EntryKind::Waiting { on } => self.waiting(on.as_deref()),
            EntryKind::Failed { why } => {
                self.said = Some(results::ended_by_error(why));
                self.turned();
            }
            EntryKind::TurnEnded => self.turned(),
            EntryKind::Titled { title } => self.titled(title)?,
            EntryKind::Usage(usage) => {
                let session = self.session();
                let usage = usage.clone();
                self.emit(Event::SessionSpent { session, usage });
            }
            EntryKind::Assistant { .. }
            | EntryKind::Thinking { .. }
            | EntryKind::Call(_)
            | EntryKind::Attached { .. }
            | EntryKind::Plan { .. } => {}
        }
        Ok(())
    }

    pub(super) fn session(&self) -> SessionRef {
        self.decider.actor.session.clone()
    }

    pub(super) fn emit(&mut self, event: Event) {
        self.decider.events.push(event);
    }

    /// Draws an id that no frame has or had.
    pub(super) fn fresh_id(&mut self) -> DecideResult<FrameId, N> {
        let mut id = (self.draw)();
        for _ in 1..DRAWS {
            if self.decider.is_free(&id)? {
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
        beginning: Beginning,
        origin: Origin,
        goal: &Goal,
    ) -> DecideResult<FrameId, N> {
        let id = self.fresh_id()?;
        let first = self.opening.iter().flat_map(|(_, first)| &first.events);
        let opened_here = first.chain(&self.decider.events).filter(
            |event| matches!(event, Event::FrameOpened { parent: of, .. } if of.as_ref() == parent),
        );
        let mut rank = self.decider.next_rank(parent)?;
        for _ in 0..opened_here.count() {
            rank = Rank::after(Some(rank));
        }
        self.decider
            .open(&id, parent.copied(), rank, beginning, origin, goal)?;
        Ok(id)
    }

    /// Returns the session's own frame, and opens it if there does not exist yet. A live session that works
    /// on nothing focuses it.
    pub(super) fn own(&mut self, named: Option<&str>) -> DecideResult<FrameHead, N> {
        if let Some(own) = self.decider.own {
            let own = self.decider.frame(&own)?;
            if self.live && self.decider.active.is_none() && own.status == Status::InProgress {
                self.decider.focus(&own.id);
                self.decider.active = Some(own.id);
            }
            return Ok(own);
        }
        match self.parent_frame_instead()? {
            Some(above) => Ok(above),
            None => self.begin(named, None),
        }
    }

    /// Opens a frame and makes it the session's own.
    pub(super) fn begin(
        &mut self,
        named: Option<&str>,
        beside: Option<&FrameHead>,
    ) -> DecideResult<FrameHead, N> {
        let above = match beside {
            Some(former) => self.decider.in_progress_from(former.parent.as_ref())?,
            None => self.frame_above()?,
        };
        let session = self.session();
        let origin = if self.parent.is_some() {
            Origin::Subagent
        } else {
            Origin::Session
        };
        // A session that continues after its end is named after its newest prompt.
        let by_host = beside.is_none() && self.is_named_by_host(origin);
        let host_title = self.host_title.as_deref().filter(|_| by_host);
        let mut all = host_title.into_iter().chain(named);
        let name = all.find_map(|text| title(text, TITLE_LENGTH));
        let goal = Goal {
            title: name.unwrap_or_else(|| words::unnamed(&session)),
            criteria: None,
            criteria_compacted: None,
        };
        let id = self.derive(above.as_ref(), Beginning::Started, origin, &goal)?;
        self.emit(Event::SessionBound {
            session: session.clone(),
            frame: id,
        });
        self.decider.own = Some(id);
        if self.live && self.decider.active.is_none() {
            self.focus(&session, None, id);
            self.decider.active = Some(id);
        }
        Ok(FrameHead {
            id,
            parent: above,
            rank: Rank::default(),
            status: Status::InProgress,
            origin,
            title: goal.title,
            blocked_on: None,
            session: Some(session),
            is_started: true,
        })
    }

    /// Makes a frame the active one of a live session.
    pub(super) fn focus(&mut self, session: &SessionRef, from: Option<FrameId>, to: FrameId) {
        if self.live {
            self.emit(Event::SessionFocused {
                session: session.clone(),
                from,
                to: Some(to),
            });
        }
    }

    /// Returns the parent for the frame of a session that another one started: the nearest frame in
    /// progress of that session.
    pub(super) fn frame_above(&self) -> DecideResult<Option<FrameId>, N> {
        let Some(parent) = &self.parent else {
            return Ok(None);
        };
        let known = self.decider.tree.session(parent)?;
        let focus = known.and_then(|known| known.frame());
        self.decider.in_progress_from(focus.as_ref())
    }

    /// Returns the frame that receives notes and logs, and opens the session's own if needed.
    pub(super) fn here(&mut self) -> DecideResult<FrameHead, N> {
        if self.decider.own.is_none() && self.decider.active.is_none() {
            return self.own(None);
        }
        match self.current()? {
            Some(frame) => Ok(frame),
            None => self.own(None),
        }
    }

    /// Records a note, unless the frame has it already.
    pub(super) fn note(&mut self, frame: &FrameId, note: Note) -> DecideResult<(), N> {
        let frame = *frame;
        let is_same = |event: &Event| match event {
            Event::Noted {
                frame: of,
                note: other,
            } => *of == frame && *other == note,
            _ => false,
        };
        let is_known = note.is_idempotent()
            && (self.decider.events.iter().any(is_same)
                || self.decider.tree.has_note(&frame, &note)?);
        if !is_known {
            self.emit(Event::Noted { frame, note });
        }
        Ok(())
    }

    /// Returns true if a session's own frame takes the title that the host gives the session.
    fn is_named_by_host(&self, origin: Origin) -> bool {
        match origin {
            Origin::Session => true,
            // The parent's goal for it says more than the host's title.
            Origin::Subagent => self.run().is_none_or(|run| run.goal.is_none()),
            _ => false,
        }
    }

    pub(super) fn titled(&mut self, named: &str) -> DecideResult<(), N> {
        let Some(own) = self.decider.own else {
            // The host has just created it for another session: its work is visible from the start.
            if self.live && self.parent.is_some() && !self.inside {
                self.own(Some(named))?;
            }
            return Ok(());
        };
        let own = self.decider.frame(&own)?;
        let by_host = self.is_named_by_host(own.origin);
        match title(named, TITLE_LENGTH) {
            Some(title) if by_host && own.status.is_open() && own.title != title => {
                self.rename(&own, title);
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn rename(&mut self, frame: &FrameHead, title: Title) {
        let edit = Edit {
            title: Some(title),
            ..Edit::default()
        };
        let frame = frame.id;
        self.emit(Event::FrameEdited { frame, edit });
    }

    pub(super) fn compacted(
        &mut self,
        automatic: bool,
        summary: Option<&str>,
        tokens_before: Option<u64>,
    ) -> DecideResult<(), N> {
        let own = self.own(None)?;
        let session = self.session();
        // A live session has its summary in the prompt; a past one gets a frame for it.
        if let Some(summary) = summary.and_then(|text| prose(text, usize::MAX))
            && own.status == Status::InProgress
            && !self.live
        {
            let earlier = self.decider.session.activity.compactions;
            let name = format!("Compaction {}", earlier + 1);
            if let Some(title) = title(&name, TITLE_LENGTH) {
                let goal = words::goal(title);
                let id =
                    self.derive(Some(&own.id), Beginning::Started, Origin::Compaction, &goal)?;
                let results = results::as_is(summary);
                self.emit(results::closed(id, Closing::Completed, results));
            }
        }
        self.emit(Event::SessionCompacted {
            session,
            automatic,
            tokens_before,
        });
        Ok(())
    }

    pub(super) fn interrupted(&mut self, how: &str) {
        let session = self.session();
        let cause = match how {
            CUT_OFF => InterruptionCause::Crash,
            _ => InterruptionCause::Abort,
        };
        let how = prose(how, results::LAST_WORDS);
        self.emit(Event::SessionInterrupted {
            session,
            how,
            cause,
        });
    }

    /// Records that the work repeats itself, or no longer does, unless that is known.
    pub(super) fn stalled(&mut self, stall: Option<Stall>) {
        if self.decider.session.activity.stall != stall {
            let session = self.session();
            self.emit(Event::SessionStalled { session, stall });
        }
    }

    pub(super) fn turned(&mut self) {
        let session = self.session();
        let said = self.said.as_deref();
        let said = said.and_then(|said| prose(said, results::LAST_WORDS));
        self.emit(Event::TurnEnded { session, said });
    }

    /// Returns the frame that receives this session's observations: the pushed frame that the
    /// session works on, else the open prompt, else its own frame.
    fn current(&self) -> DecideResult<Option<FrameHead>, N> {
        let decider = &self.decider;
        let pushed = decider.active.filter(|_| decider.active != decider.own);
        if let Some(active) = pushed {
            return decider.frame(&active).map(Some);
        }
        let Some(own) = &decider.own else {
            return Ok(None);
        };
        if let Some(prompt) = self.open_prompt(own)? {
            return Ok(Some(prompt));
        }
        match decider.frame(own) {
            Ok(own) => Ok(Some(own)),
            Err(DecideError::Refused(refusal)) if matches!(*refusal, Refusal::NoSuchFrame(_)) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the prompt below a session's frame that is being worked on.
    pub(super) fn open_prompt(&self, own: &FrameId) -> DecideResult<Option<FrameHead>, N> {
        let open = self.mirrored(own, Origin::Prompt)?;
        Ok(open
            .into_iter()
            .rfind(|child| child.status == Status::InProgress))
    }

    /// Returns the open children of a frame that were derived for one reason.
    pub(super) fn mirrored(
        &self,
        frame: &FrameId,
        origin: Origin,
    ) -> DecideResult<Vec<FrameHead>, N> {
        let (open, _) = self.decider.tree.open_children(frame, OPEN_CHILDREN)?;
        Ok(open
            .into_iter()
            .filter(|child| child.origin == origin)
            .collect())
    }
}
