//! How what is recorded grows and is put right: notes, logs, edits, moves, deletions, undo.

use std::collections::BTreeMap;

use super::{Ground, Remark, Ruling};
use crate::Rejected;
use crate::command::Place;
use crate::event::{Edit, Event};
use crate::frame::{FrameHead, LogEntry, Rank, Status};
use crate::id::{FrameId, SessionRef};
use crate::neighbourhood::{LastCommand, Neighbourhood};
use crate::note::Note;
use crate::refusal::Refusal;

impl<N: Neighbourhood + ?Sized> Ground<'_, N> {
    /// Facts are facts: a frame takes notes whatever its status, since a late test result is as
    /// true as an early one.
    pub(super) fn note(&mut self, frame: Option<&FrameId>, note: &Note) -> Ruling<(), N> {
        let frame = self.named_or_active(frame)?;
        if note.counts_once()
            && self
                .tree
                .has_note(&frame.id, note)
                .map_err(Rejected::Unreadable)?
        {
            self.remarks.push(Remark::AlreadyRecorded);
            return Ok(());
        }
        self.events.push(Event::Noted {
            frame: frame.id,
            note: note.clone(),
        });
        Ok(())
    }

    pub(super) fn log(&mut self, frame: Option<&FrameId>, entry: &LogEntry) -> Ruling<(), N> {
        let frame = self.named_or_active(frame)?;
        self.events.push(Event::Logged {
            frame: frame.id,
            entry: entry.clone(),
        });
        Ok(())
    }

    pub(super) fn edit(&mut self, frame: Option<&FrameId>, edit: &Edit) -> Ruling<(), N> {
        let frame = self.named_or_active(frame)?;
        let goal =
            edit.title.is_some() || edit.criteria.is_some() || edit.criteria_compacted.is_some();
        let results = edit.results.is_some() || edit.results_compacted.is_some();
        if !goal && !results {
            return Err(Refusal::NothingToEdit.into());
        }
        if frame.status == Status::Invalidated {
            return Err(Refusal::AlreadyFinished { frame }.into());
        }
        if goal && !frame.status.is_open() {
            return Err(Refusal::GoalIsHistory { frame }.into());
        }
        if results && frame.status.is_open() {
            return Err(Refusal::NoResultsYet { frame }.into());
        }
        self.events.push(Event::FrameEdited {
            frame: frame.id,
            edit: edit.clone(),
        });
        Ok(())
    }

    pub(super) fn relocate(&mut self, id: &FrameId, to: &Place) -> Ruling<(), N> {
        let frame = self.frame(id)?;
        if frame.status != Status::Planned {
            return Err(Refusal::NotPlanned {
                frame,
                verb: "moved",
            }
            .into());
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
                    return Err(Refusal::BesideItself { frame }.into());
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

    fn beside(&self, sibling: &FrameHead, before: bool) -> Ruling<Rank, N> {
        let around = self
            .tree
            .ranks_around(sibling.parent.as_ref(), sibling.rank);
        let (lower, higher) = around.map_err(Rejected::Unreadable)?;
        let rank = match (before, lower, higher) {
            (true, Some(lower), _) => Rank::between(lower, sibling.rank),
            (true, None, _) => Some(Rank::before(sibling.rank)),
            (false, _, Some(higher)) => Rank::between(sibling.rank, higher),
            (false, _, None) => Some(Rank::after(Some(sibling.rank))),
        };
        rank.ok_or_else(|| {
            Refusal::NoRoom {
                sibling: sibling.clone(),
            }
            .into()
        })
    }

    fn check_new_parent(&self, frame: &FrameHead, parent: &FrameHead) -> Ruling<(), N> {
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
        Ok(())
    }

    pub(super) fn delete(&mut self, id: &FrameId) -> Ruling<(), N> {
        let frame = self.frame(id)?;
        if frame.status != Status::Planned {
            return Err(Refusal::NotPlanned {
                frame,
                verb: "deleted",
            }
            .into());
        }
        let below = self
            .tree
            .descendants(id, None)
            .map_err(Rejected::Unreadable)?;
        let worked_on =
            |frame: &&FrameHead| !matches!(frame.status, Status::Planned | Status::Invalidated);
        if let Some(begun) = below.iter().find(worked_on) {
            return Err(Refusal::NotPlanned {
                frame: begun.clone(),
                verb: "deleted",
            }
            .into());
        }
        for bound in std::iter::once(&frame).chain(&below) {
            if let Some(session) = &bound.session {
                let (session, frame) = (session.clone(), bound.id.clone());
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

    /// Takes back the session's last command, unless somebody has built on it. Where a session
    /// stood before is said explicitly, since that frame may have been finished meanwhile.
    pub(super) fn undo(&mut self) -> Ruling<(), N> {
        let session = self.actor.session.clone();
        let last = self
            .tree
            .last_command(&session)
            .map_err(Rejected::Unreadable)?;
        let Some(last) = last else {
            return Err(Refusal::NothingToUndo { session }.into());
        };
        if let Some((by, _)) = &last.touched_by {
            let by = by.clone();
            return Err(Refusal::BuiltUpon { session, by }.into());
        }
        self.check_restored(&last.restored)?;
        let returning = self.returning(&last.events)?;
        self.check_ground_stays(&last, &returning)?;
        self.events.push(Event::CommandUndone { batch: last.batch });
        self.events.extend(returning);
        Ok(())
    }

    /// The sessions that a command moved go back, except those that have gone elsewhere since.
    fn returning(&self, undone: &[Event]) -> Ruling<Vec<Event>, N> {
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
            let now = self.tree.session(session).map_err(Rejected::Unreadable)?;
            let now = now.and_then(|known| known.active);
            if now.as_ref() == to || *session == self.actor.session {
                returning.push(Event::SessionFocused {
                    session: session.clone(),
                    from: now,
                    to: self.standing_place(from, undone)?,
                });
            }
        }
        Ok(returning)
    }

    /// Nobody may be left standing on a frame that is not in progress without the command.
    fn check_ground_stays(&self, last: &LastCommand, returning: &[Event]) -> Ruling<(), N> {
        let returns = |standing: &SessionRef| {
            returning.iter().any(
                |event| matches!(event, Event::SessionFocused { session, .. } if session == standing),
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
            let standing = self.tree.focused_on(&id).map_err(Rejected::Unreadable)?;
            if let Some(by) = standing.into_iter().find(|session| !returns(session)) {
                let session = self.actor.session.clone();
                return Err(Refusal::BuiltUpon { session, by }.into());
            }
        }
        Ok(())
    }

    /// What an undo brings back must not be open below a frame that has ended, or gone, since.
    fn check_restored(&self, restored: &[FrameHead]) -> Ruling<(), N> {
        for frame in restored.iter().filter(|frame| frame.status.is_open()) {
            let Some(parent) = &frame.parent else {
                continue;
            };
            let with_it = restored.iter().find(|other| other.id == *parent).cloned();
            let above = match with_it {
                Some(above) => Some(above),
                None => self.tree.frame(parent).map_err(Rejected::Unreadable)?,
            };
            let ended = above
                .is_none_or(|above| matches!(above.status, Status::Completed | Status::Failed));
            if ended {
                let session = self.actor.session.clone();
                return Err(Refusal::EndedMeanwhile {
                    session,
                    frame: frame.clone(),
                }
                .into());
            }
        }
        Ok(())
    }

    /// Where a session stands once `undone` is taken back: `from` itself if the undone command is
    /// what ended or blocked it, else the nearest frame in progress.
    fn standing_place(
        &self,
        from: Option<&FrameId>,
        undone: &[Event],
    ) -> Ruling<Option<FrameId>, N> {
        let ended_by_it = |id: &FrameId| {
            undone.iter().any(|event| match event {
                Event::FrameClosed { frame, .. }
                | Event::FrameBlocked { frame, .. }
                | Event::FrameInvalidated { frame, .. } => frame == id,
                _ => false,
            })
        };
        match from {
            Some(id) if ended_by_it(id) => Ok(Some(id.clone())),
            from => self.in_progress_from(from),
        }
    }
}
