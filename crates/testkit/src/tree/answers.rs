//! Queries on the tree in memory.

use std::collections::BTreeSet;
use std::convert::Infallible;

use super::Tree;
use flamestack_core::Author;
use flamestack_core::compaction::Compaction;
use flamestack_core::event::{Event, Recorded, Subject};
use flamestack_core::fold;
use flamestack_core::frame::{Awaiting, FrameHead, LogEntry, Origin, Rank, Status};
use flamestack_core::id::{Fingerprint, FrameId, Seq, SessionRef, Timestamp};
use flamestack_core::note::{Evidence, Note};
use flamestack_core::session::life::Life;
use flamestack_core::session::link::SessionLink;
use flamestack_core::session::{Activity, Session};
use flamestack_core::subagent::SubagentRun;
use flamestack_core::text::{Text, Title};
use flamestack_core::tree_query::{LastCommand, MaskOverlay, TreeQuery};

type Answer<T> = Result<T, Infallible>;

impl TreeQuery for Tree {
    type Error = Infallible;

    fn frame(&self, id: &FrameId) -> Answer<Option<FrameHead>> {
        Ok(self.frames.get(id).map(super::Frame::head))
    }

    fn is_taken(&self, id: &FrameId) -> Answer<bool> {
        Ok(self
            .journal
            .iter()
            .any(|recorded| recorded.event.frames().any(|frame| frame == *id)))
    }

    fn session(&self, session: &SessionRef) -> Answer<Option<Session>> {
        Ok(self.sessions.get(session).cloned())
    }

    fn focused_on(&self, frame: &FrameId) -> Answer<Vec<SessionRef>> {
        let focused = self
            .sessions
            .values()
            .filter(|known| known.active.as_ref() == Some(frame));
        Ok(focused.map(|known| known.key.clone()).collect())
    }

    fn open_children(&self, frame: &FrameId, limit: usize) -> Answer<(Vec<FrameHead>, usize)> {
        let open = || {
            self.children(Some(frame))
                .filter(|child| child.status.is_open())
        };
        Ok((
            open().take(limit).map(super::Frame::head).collect(),
            open().count(),
        ))
    }

    fn descendants(&self, frame: &FrameId, status: Option<Status>) -> Answer<Vec<FrameHead>> {
        let mut level = vec![*frame];
        let mut found = Vec::new();
        while !level.is_empty() {
            let mut next = Vec::new();
            for child in level.iter().flat_map(|id| self.children(Some(id))) {
                next.push(child.id);
                if status.is_none_or(|wanted| wanted == child.status) {
                    found.push(child.head());
                }
            }
            next.sort();
            level = next;
        }
        Ok(found)
    }

    fn last_rank(&self, parent: Option<&FrameId>) -> Answer<Option<Rank>> {
        let siblings = self.children.get(&parent.copied());
        Ok(siblings.and_then(BTreeSet::last).map(|(rank, _)| *rank))
    }

    fn ranks_around(
        &self,
        parent: Option<&FrameId>,
        rank: Rank,
    ) -> Answer<(Option<Rank>, Option<Rank>)> {
        let ranks = || self.children(parent).map(|child| child.rank);
        Ok((
            ranks().filter(|r| *r < rank).max(),
            ranks().filter(|r| *r > rank).min(),
        ))
    }

    fn has_note(&self, frame: &FrameId, note: &Note) -> Answer<bool> {
        let same = |known: &Note| known.repeats(note);
        Ok(self
            .frames
            .get(frame)
            .is_some_and(|frame| frame.notes.iter().any(same)))
    }

    fn todo(&self, frame: &FrameId, text: &Title) -> Answer<Option<FrameHead>> {
        let same = |child: &&super::Frame| child.origin == Origin::Todo && child.title == *text;
        let last = self.children(Some(frame)).filter(same).last();
        Ok(last.map(super::Frame::head))
    }

    fn command_runs(&self, frame: &FrameId, command: &Text) -> Answer<(Option<i32>, u64)> {
        let notes = self.frames.get(frame).map(|frame| frame.notes.as_slice());
        let mut last = None;
        let mut runs = 0;
        for note in notes.unwrap_or_default() {
            if let Note::Evidence(Evidence::Command {
                command: ran,
                exit_code,
            }) = note
            {
                runs += 1;
                if ran == command {
                    last = Some(*exit_code);
                }
            }
        }
        Ok((last, runs))
    }

    fn last_compaction(&self, session: &SessionRef) -> Answer<Option<Compaction>> {
        let known = self.compactions.get(session);
        Ok(known.and_then(|known| known.last()).cloned())
    }

    fn awaiting(&self, session: &SessionRef) -> Answer<Vec<(FrameId, Awaiting)>> {
        let waiting = self.frames.values().filter_map(|frame| {
            let awaiting = frame.awaiting.as_ref()?;
            (awaiting.session == *session).then(|| (frame.id, awaiting.clone()))
        });
        Ok(waiting.collect())
    }

    fn runs_of(&self, parent: &SessionRef) -> Answer<Vec<SubagentRun>> {
        let started = |run: &&SubagentRun| run.parent.as_ref() == Some(parent);
        let mut runs: Vec<SubagentRun> = self.runs().filter(started).cloned().collect();
        runs.sort_by(|one, other| {
            (one.started, &one.session).cmp(&(other.started, &other.session))
        });
        Ok(runs)
    }

    fn life(&self, session: &SessionRef) -> Answer<Option<Life>> {
        Ok(self.lives.get(session).cloned())
    }

    fn links(&self, session: &SessionRef) -> Answer<Vec<SessionLink>> {
        let links = self.links.iter();
        let mine = links.filter(|link| link.session == *session || link.to == *session);
        Ok(mine.cloned().collect())
    }

    fn only_text(&self, frame: &FrameId) -> Answer<Option<Vec<LogEntry>>> {
        let bare = |frame: &&super::Frame| {
            frame.notes.is_empty() && self.children(Some(&frame.id)).next().is_none()
        };
        let found = self.frames.get(frame).filter(bare);
        Ok(found.map(|frame| frame.log.clone()))
    }

    fn is_seen(&self, mark: Fingerprint) -> Answer<bool> {
        Ok(self.seen.contains(&mark))
    }

    fn is_imported(&self, source: &str) -> Answer<bool> {
        Ok(self.imports.contains_key(source))
    }

    fn alias(&self, alias: &str) -> Answer<Option<FrameId>> {
        let named = |frame: &&super::Frame| frame.aliases.iter().any(|known| known == alias);
        Ok(self.frames.values().find(named).map(|frame| frame.id))
    }

    fn recorded(&self, places: &[Seq]) -> Answer<Vec<Recorded>> {
        let journal = self.journal.iter();
        let named = journal.filter(|recorded| places.contains(&recorded.seq));
        Ok(named.cloned().collect())
    }

    fn events_from_message(
        &self,
        session: &SessionRef,
        messages: &[String],
    ) -> Answer<Vec<Recorded>> {
        let within = |recorded: &&Recorded| {
            let message = recorded.message.as_ref();
            message.is_none_or(|message| !messages.contains(message))
        };
        let of_session = self.of_session(session).skip_while(within);
        Ok(of_session.cloned().collect())
    }

    fn events_since(&self, session: &SessionRef, from: Seq) -> Answer<Vec<Recorded>> {
        let of_session = self.of_session(session);
        let since = of_session.filter(|recorded| recorded.seq >= from);
        Ok(since.cloned().collect())
    }

    fn turn_before(&self, session: &SessionRef, point: Seq) -> Answer<Vec<Recorded>> {
        let before = self
            .of_session(session)
            .filter(|recorded| recorded.seq < point);
        let mut turn: Vec<Recorded> = Vec::new();
        for recorded in before {
            if Activity::concerned(&recorded.event) != Some(session) {
                continue;
            }
            if matches!(recorded.event, Event::SessionPrompted { .. }) {
                turn.clear();
            }
            turn.push(recorded.clone());
        }
        Ok(turn)
    }

    fn changed_since(&self, frame: &FrameId, from: Seq) -> Answer<Vec<Seq>> {
        let about = BTreeSet::from([Subject::Frame(*frame), Subject::Support(*frame)]);
        let changes = self.journal.iter().filter(|recorded| {
            recorded.seq >= from
                && self.counts(recorded)
                && !matches!(recorded.event, Event::Noted { .. } | Event::Logged { .. })
                && (self.opens_below(&recorded.event, &about)
                    || recorded
                        .event
                        .subjects()
                        .any(|subject| about.contains(&subject)))
        });
        Ok(changes.map(|recorded| recorded.seq).collect())
    }

    fn frame_under(&self, frame: &FrameId, counting: &MaskOverlay) -> Answer<Option<FrameHead>> {
        let journal = self.journal.iter().filter(|recorded| {
            !self.undone.contains(&recorded.batch)
                && counting.counts(recorded.seq, self.masked.contains(&recorded.seq))
                && recorded.event.frames().any(|id| id == *frame)
        });
        Ok(fold::frame(journal).map(|frame| frame.head()))
    }

    fn before(&self, frame: &FrameId, point: Seq) -> Answer<Option<super::Frame>> {
        let journal = self.journal.iter().filter(|recorded| {
            recorded.seq < point
                && self.counts(recorded)
                && recorded.event.frames().any(|id| id == *frame)
        });
        Ok(fold::frame(journal))
    }

    fn last_command(&self, session: &SessionRef) -> Answer<Option<LastCommand>> {
        let kept = |batch: Seq| {
            let mut events = self.of_batch(batch);
            events.any(|recorded| {
                !recorded.event.traits().undoable || self.masked.contains(&recorded.seq)
            })
        };
        let last = self.journal.iter().rev().find(|recorded| {
            recorded.session == *session
                && !self.undone.contains(&recorded.batch)
                && !kept(recorded.batch)
        });
        let Some(batch) = last.map(|recorded| recorded.batch) else {
            return Ok(None);
        };
        let events: Vec<Event> = self
            .of_batch(batch)
            .map(|recorded| recorded.event.clone())
            .collect();
        let changed: BTreeSet<Subject> = events
            .iter()
            .flat_map(Event::subjects)
            .flat_map(|subject| match subject {
                Subject::Frame(id) => vec![Subject::Support(id), Subject::Frame(id)],
                Subject::Session(_) => vec![subject],
                Subject::Support(_) => Vec::new(),
            })
            .collect();
        let undo_batches: BTreeSet<Seq> = self
            .journal
            .iter()
            .filter(|recorded| matches!(recorded.event, Event::CommandUndone { .. }))
            .map(|recorded| recorded.batch)
            .collect();
        let touching = self.journal.iter().rev().find(|later| {
            later.batch > batch
                && self.counts(later)
                && !undo_batches.contains(&later.batch)
                && (self.opens_below(&later.event, &changed)
                    || later
                        .event
                        .subjects()
                        .any(|subject| changed.contains(&subject)))
        });
        let touched_by = touching.map(|later| (later.session.clone(), later.event.clone()));
        let mut without = self.clone();
        without.apply(Recorded {
            seq: Seq(0),
            batch: Seq(0),
            at: Timestamp::default(),
            session: session.clone(),
            message: None,
            by: Author::of(session),
            event: Event::CommandUndone { batch },
        });
        let restored = events.iter().flat_map(Event::frames);
        let restored = restored.filter_map(|id| without.frames.get(&id).map(super::Frame::head));
        let restored = restored.collect();
        Ok(Some(LastCommand {
            batch,
            events,
            restored,
            touched_by,
        }))
    }
}

impl Tree {
    /// Returns the events of a session that count.
    fn of_session(&self, session: &SessionRef) -> impl Iterator<Item = &Recorded> {
        let of_session = |recorded: &&Recorded| recorded.session == *session;
        let journal = self.journal.iter().filter(move |it| of_session(it));
        journal.filter(|recorded| self.counts(recorded))
    }

    /// Returns true if an event opened a frame below one of these that still exists.
    fn opens_below(&self, event: &Event, changed: &BTreeSet<Subject>) -> bool {
        let Event::FrameOpened { frame, parent, .. } = event else {
            return false;
        };
        let there = self
            .frames
            .get(frame)
            .and_then(|frame| frame.parent.as_ref());
        parent.as_ref().is_some_and(|parent| {
            there == Some(parent) && changed.contains(&Subject::Frame(*parent))
        })
    }

    fn of_batch(&self, batch: Seq) -> impl Iterator<Item = &Recorded> {
        self.journal
            .iter()
            .filter(move |recorded| recorded.batch == batch)
    }
}
