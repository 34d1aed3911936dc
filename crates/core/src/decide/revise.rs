//! Adding to and correcting the record: notes, logs, edits, moves, deletions, undo.
//!
//! # Undo across sessions
//!
//! Undo takes back the last command of *one* session, while others work in the same tree. The command
//! is masked, not deleted: its events stay in the journal and stop counting.
//!
//! ```text
//!  session A   push x ──────────────────── undo?
//!                     ╲                      ▲
//!  session B           push y below x ───────┘ refused: B has built on x
//! ```
//!
//! Three checks make sure that the masked tree is a legal one:
//!
//! 1. No later event of another session changes, or relies on, a frame that the command changed
//!    (`touched_by`). Otherwise: "built upon".
//! 2. A frame that comes back open must not be below a frame that has ended since
//!    (`check_restored`): undoing an invalidation after the parent was popped.
//! 3. No session may work on a frame that is not in progress without the command
//!    (`check_focus_stays`), unless the undo itself sends it back.
//!
//! The focus is restored by new events rather than by masking old ones, because the frame that a
//! session came from may have ended since: the session then goes to the nearest frame in progress
//! above it.

use std::collections::BTreeMap;

use super::{DecideResult, Decider, Remark};
use crate::author::Author;
use crate::command::Place;
use crate::event::{Edit, Event};
use crate::frame::{FrameHead, LogEntry, Rank, Status};
use crate::id::{FrameId, SessionRef};
use crate::note::Note;
use crate::refusal::Refusal;
use crate::tree_query::{LastCommand, TreeQuery};

impl<N: TreeQuery + ?Sized> Decider<'_, N> {
    /// Records a note. A frame accepts notes in every status: a late test result is as true as an
    /// early one. Whatever a model decides is recorded as the model's decision.
    pub(super) fn note(&mut self, frame: Option<&FrameId>, note: &Note) -> DecideResult<(), N> {
        if note.needs_the_user() && self.actor.by != Author::User {
            return Err(Refusal::OnlyTheUser.into());
        }
        let mut note = note.clone();
        if let Note::Decision { by, .. } = &mut note {
            *by = self.actor.by;
        }
        let frame = self.named_or_active(frame)?;
        if note.is_idempotent() && self.tree.has_note(&frame.id, &note)? {
            self.remarks.push(Remark::AlreadyRecorded);
            return Ok(());
        }
        self.events.push(Event::Noted {
            frame: frame.id,
            note,
        });
        Ok(())
    }

    pub(super) fn log(
        &mut self,
        frame: Option<&FrameId>,
        entry: &LogEntry,
        note: Option<&Note>,
    ) -> DecideResult<(), N> {
        let frame = self.named_or_active(frame)?.id;
        let entry = entry.clone();
        self.events.push(Event::Logged { frame, entry });
        match note {
            Some(note) => self.note(Some(&frame), note),
            None => Ok(()),
        }
    }

    pub(super) fn edit(&mut self, frame: Option<&FrameId>, edit: &Edit) -> DecideResult<(), N> {
        let frame = self.named_or_active(frame)?;
        let goal =
            edit.title.is_some() || edit.criteria.is_some() || edit.criteria_compacted.is_some();
        let results = edit.results.is_some() || edit.results_compacted.is_some();
        if !goal && !results {
            return Err(Refusal::NothingToEdit.into());
        }
        if frame.status == Status::Invalidated {
            return Err(Refusal::AlreadyFinished(frame).into());
        }
        if goal && !frame.status.is_open() {
            return Err(Refusal::GoalFrozen(frame).into());
        }
        if results && frame.status.is_open() {
            return Err(Refusal::NoResultsYet(frame).into());
        }
        self.events.push(Event::FrameEdited {
            frame: frame.id,
            edit: edit.clone(),
        });
        Ok(())
    }

    pub(super) fn relocate(&mut self, id: &FrameId, to: &Place) -> DecideResult<(), N> {
        let frame = self.frame(id)?;
        // A session expects the frames that mirror its host's lists where it opened them.
        let stays = frame.origin.is_mirror() && frame.status != Status::Planned;
        if stays || !frame.status.is_open() {
            return Err(Refusal::NotMovable(frame).into());
        }
        let (parent, rank) = match to {
            Place::Root => (None, self.next_rank(None)?),
            Place::Under(parent) => {
                let parent = self.frame(parent)?;
                let rank = self.next_rank(Some(&parent.id))?;
                (Some(parent), rank)
            }
            Place::Before(sibling) | Place::After(sibling) => {
                let sibling = self.frame(sibling)?;
                if sibling.id == frame.id {
                    return Err(Refusal::MoveNextToSelf(frame).into());
                }
                let rank = self.beside(&sibling, matches!(to, Place::Before(_)))?;
                let parent = sibling
                    .parent
                    .as_ref()
                    .map(|parent| self.frame(parent))
                    .transpose()?;
                (parent, rank)
            }
        };
        if let Some(parent) = &parent {
            self.check_new_parent(&frame, parent)?;
        }
        let parent = parent.map(|parent| parent.id);
        self.events.push(Event::FrameMoved {
            frame: frame.id,
            parent,
            rank,
        });
        Ok(())
    }

    fn beside(&self, sibling: &FrameHead, before: bool) -> DecideResult<Rank, N> {
        let around = self
            .tree
            .ranks_around(sibling.parent.as_ref(), sibling.rank);
        let (lower, higher) = around?;
        let rank = match (before, lower, higher) {
            (true, Some(lower), _) => Rank::between(lower, sibling.rank),
            (true, None, _) => Some(Rank::before(sibling.rank)),
            (false, _, Some(higher)) => Rank::between(sibling.rank, higher),
            (false, _, None) => Some(Rank::after(Some(sibling.rank))),
        };
        rank.ok_or_else(|| Refusal::NoRankLeft(sibling.clone()).into())
    }

    fn check_new_parent(&self, frame: &FrameHead, parent: &FrameHead) -> DecideResult<(), N> {
        if !parent.status.is_open() {
            let open_above = self.in_progress_from(parent.parent.as_ref())?;
            return Err(Refusal::ParentFinished {
                parent: parent.clone(),
                open_above,
            }
            .into());
        }
        let mut above = Some(parent.clone());
        while let Some(ancestor) = above {
            if ancestor.id == frame.id {
                return Err(Refusal::Cycle {
                    frame: frame.clone(),
                    into: parent.clone(),
                }
                .into());
            }
            above = ancestor.parent.map(|id| self.frame(&id)).transpose()?;
        }
        // Work is done below work in progress only, as with a push.
        if frame.status == Status::InProgress || frame.is_started {
            let parent = parent.clone();
            match parent.status {
                Status::Planned => return Err(Refusal::ParentPlanned(parent).into()),
                Status::Blocked => return Err(Refusal::Blocked(parent).into()),
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn delete(&mut self, id: &FrameId) -> DecideResult<(), N> {
        let frame = self.frame(id)?;
        if frame.status != Status::Planned {
            return Err(Refusal::NotPlanned(frame).into());
        }
        let below = self.tree.descendants(id, None)?;
        let worked_on =
            |frame: &&FrameHead| !matches!(frame.status, Status::Planned | Status::Invalidated);
        if let Some(begun) = below.iter().find(worked_on) {
            let frame = begun.clone();
            return Err(Refusal::NotPlanned(frame).into());
        }
        for bound in std::iter::once(&frame).chain(&below) {
            if let Some(session) = &bound.session {
                let (session, frame) = (session.clone(), bound.id);
                self.events.push(Event::SessionUnbound { session, frame });
            }
        }
        let with = below.into_iter().map(|frame| frame.id).collect();
        self.events.push(Event::FrameDeleted {
            frame: frame.id,
            with,
        });
        Ok(())
    }

    /// Undoes the session's last command, unless another session has built on it.
    pub(super) fn undo(&mut self) -> DecideResult<(), N> {
        let session = self.actor.session.clone();
        let last = self.tree.last_command(&session)?;
        let Some(last) = last else {
            return Err(Refusal::NothingToUndo(session).into());
        };
        if let Some((by, _)) = &last.touched_by {
            let by = by.clone();
            return Err(Refusal::BuiltUpon { session, by }.into());
        }
        self.check_restored(&last.restored)?;
        let returning = self.returning(&last.events)?;
        self.check_focus_stays(&last, &returning)?;
        self.events.push(Event::CommandUndone { batch: last.batch });
        self.events.extend(returning);
        self.events.extend(ended_waits(&last.events));
        Ok(())
    }

    /// Returns the focus changes that send the sessions that a command moved back, except those that
    /// have moved again since.
    fn returning(&self, undone: &[Event]) -> DecideResult<Vec<Event>, N> {
        let mut moved: BTreeMap<&SessionRef, (Option<&FrameId>, Option<&FrameId>)> =
            BTreeMap::new();
        for event in undone {
            if let Event::SessionFocused { session, from, to } = event {
                let first = moved.get(session).map_or(from.as_ref(), |known| known.0);
                moved.insert(session, (first, to.as_ref()));
            }
        }
        let mut returning = Vec::new();
        for (session, (from, to)) in moved {
            let now = self.tree.session(session)?;
            let now = now.and_then(|known| known.active);
            if now.as_ref() == to || *session == self.actor.session {
                returning.push(Event::SessionFocused {
                    session: session.clone(),
                    from: now,
                    to: self.focus_without(from, undone)?,
                });
            }
        }
        Ok(returning)
    }

    /// Refuses if a session would work on a frame that is not in progress without the command.
    fn check_focus_stays(&self, last: &LastCommand, returning: &[Event]) -> DecideResult<(), N> {
        let returns = |focused: &SessionRef| {
            returning.iter().any(
                |event| matches!(event, Event::SessionFocused { session, .. } if session == focused),
            )
        };
        for id in last.events.iter().flat_map(Event::frames) {
            let stays = last
                .restored
                .iter()
                .any(|frame| frame.id == id && frame.status == Status::InProgress);
            if stays {
                continue;
            }
            let focused = self.tree.focused_on(&id)?;
            if let Some(by) = focused.into_iter().find(|session| !returns(session)) {
                let session = self.actor.session.clone();
                return Err(Refusal::BuiltUpon { session, by }.into());
            }
        }
        Ok(())
    }

    /// Refuses if a frame would come back open below a frame that has ended, or gone, since.
    fn check_restored(&self, restored: &[FrameHead]) -> DecideResult<(), N> {
        for frame in restored.iter().filter(|frame| frame.status.is_open()) {
            let Some(parent) = &frame.parent else {
                continue;
            };
            let with_it = restored.iter().find(|other| other.id == *parent).cloned();
            let above = match with_it {
                Some(above) => Some(above),
                None => self.tree.frame(parent)?,
            };
            let ended = above
                .is_none_or(|above| matches!(above.status, Status::Completed | Status::Failed));
            if ended {
                let session = self.actor.session.clone();
                return Err(Refusal::ParentEnded {
                    session,
                    frame: frame.clone(),
                }
                .into());
            }
        }
        Ok(())
    }

    /// Returns the frame that a session works on without `undone`: `from` itself if the undone command
    /// closed or blocked it, else the nearest frame in progress.
    fn focus_without(
        &self,
        from: Option<&FrameId>,
        undone: &[Event],
    ) -> DecideResult<Option<FrameId>, N> {
        let ended_by_it = |id: &FrameId| {
            undone.iter().any(|event| match event {
                Event::FrameClosed { frame, .. }
                | Event::FrameBlocked { frame, .. }
                | Event::FrameInvalidated { frame, .. } => frame == id,
                _ => false,
            })
        };
        match from {
            Some(id) if ended_by_it(id) => Ok(Some(*id)),
            from => self.in_progress_from(from),
        }
    }
}

/// Returns the ends of the waits that would come back with an undo. A frame that was closed once its
/// summary had come would wait again, and the next command of its session would close it again.
fn ended_waits(undone: &[Event]) -> impl Iterator<Item = Event> {
    let is_closed = |id: &FrameId| {
        let closes =
            |event: &Event| matches!(event, Event::FrameClosed { frame, .. } if frame == id);
        undone.iter().any(closes)
    };
    undone.iter().filter_map(move |event| match event {
        Event::SummaryArrived { frame, .. } if is_closed(frame) => Some(Event::SummaryArrived {
            frame: *frame,
            summary: None,
        }),
        _ => None,
    })
}
