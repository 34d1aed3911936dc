//! How frames come into being and begin: push, plan, activate.

use super::{Ground, Remark, Ruling};
use crate::Rejected;
use crate::command::{PlanItem, Under};
use crate::event::{Event, Goal};
use crate::frame::{FrameHead, Origin, Rank, Status};
use crate::id::FrameId;
use crate::neighbourhood::Neighbourhood;
use crate::refusal::Refusal;

impl<N: Neighbourhood + ?Sized> Ground<'_, N> {
    pub(super) fn push(&mut self, id: &FrameId, under: &Under, goal: &Goal) -> Ruling<(), N> {
        if let Some(turn) = self.turned.clone() {
            return self.push_beside(id, under, goal, turn.before.as_ref());
        }
        let parent = self.parent(under)?;
        if let Some(parent) = &parent {
            match parent.status {
                Status::InProgress => {}
                Status::Planned => {
                    return Err(Refusal::ParentPlanned {
                        parent: parent.clone(),
                    }
                    .into());
                }
                Status::Blocked => {
                    return Err(Refusal::Blocked {
                        frame: parent.clone(),
                    }
                    .into());
                }
                _ => return Err(self.parent_finished(parent)?.into()),
            }
        }
        let parent = parent.map(|frame| frame.id);
        let rank = self.next_rank(parent.as_ref())?;
        self.open(id, parent, rank, false, Origin::Asked, goal)?;
        self.focus(id);
        Ok(())
    }

    /// A further push in one message. All of them are meant from where the message began, and only
    /// one of them can be worked on: this one is planned.
    fn push_beside(
        &mut self,
        id: &FrameId,
        under: &Under,
        goal: &Goal,
        before: Option<&FrameId>,
    ) -> Ruling<(), N> {
        let parent = match (under, before) {
            (Under::Active, Some(before)) => Some(self.frame(before)?),
            (Under::Active, None) => self.own_if_open()?,
            (named, _) => self.parent(named)?,
        };
        if let Some(parent) = &parent
            && !parent.status.is_open()
        {
            return Err(Refusal::PopBesidePush.into());
        }
        let parent = parent.map(|frame| frame.id);
        let rank = self.next_rank(parent.as_ref())?;
        self.open(id, parent, rank, true, Origin::Asked, goal)?;
        if let Some(active) = self.active.clone() {
            let begun = self.frame(&active)?;
            self.remarks.push(Remark::PlannedBeside(begun));
        }
        Ok(())
    }

    pub(super) fn plan(&mut self, under: &Under, items: &[PlanItem]) -> Ruling<(), N> {
        if items.is_empty() {
            return Err(Refusal::EmptyPlan.into());
        }
        let parent = self.parent(under)?;
        if let Some(parent) = &parent
            && !parent.status.is_open()
        {
            return Err(self.parent_finished(parent)?.into());
        }
        let parent = parent.map(|frame| frame.id);
        let first = self.next_rank(parent.as_ref())?;
        // Level by level would scatter a branch; a stack of pending items keeps it together.
        let mut pending: Vec<(Option<FrameId>, Rank, &PlanItem)> =
            in_order(parent.as_ref(), first, items);
        while let Some((parent, rank, item)) = pending.pop() {
            self.open(&item.id, parent, rank, true, Origin::Asked, &item.goal)?;
            pending.extend(in_order(Some(&item.id), Rank::after(None), &item.children));
        }
        Ok(())
    }

    pub(super) fn activate(&mut self, id: &FrameId) -> Ruling<(), N> {
        let frame = self.frame(id)?;
        match frame.status {
            Status::InProgress if self.active.as_ref() == Some(id) => {
                self.remarks.push(Remark::AlreadyActive);
                return Ok(());
            }
            Status::InProgress => {}
            Status::Planned => self.begin(&frame)?,
            Status::Blocked => return Err(Refusal::Blocked { frame }.into()),
            Status::Completed | Status::Failed | Status::Invalidated => {
                return Err(Refusal::AlreadyFinished { frame }.into());
            }
        }
        self.focus(id);
        Ok(())
    }

    /// Begins a planned frame. Planned frames above it begin with it: work below them is work on
    /// them.
    fn begin(&mut self, frame: &FrameHead) -> Ruling<(), N> {
        let mut beginning = vec![frame.id.clone()];
        let mut above = frame.parent.clone();
        while let Some(id) = above {
            let parent = self.frame(&id)?;
            match parent.status {
                Status::Planned => {
                    above = parent.parent;
                    beginning.push(id);
                }
                Status::InProgress => break,
                Status::Blocked => return Err(Refusal::Blocked { frame: parent }.into()),
                _ => return Err(self.parent_finished(&parent)?.into()),
            }
        }
        let started = beginning
            .into_iter()
            .rev()
            .map(|frame| Event::FrameStarted { frame });
        self.events.extend(started);
        Ok(())
    }

    pub(super) fn open(
        &mut self,
        id: &FrameId,
        parent: Option<FrameId>,
        rank: Rank,
        planned: bool,
        origin: Origin,
        goal: &Goal,
    ) -> Ruling<(), N> {
        let twice = !self.drawn.insert(id.clone());
        if twice || self.tree.is_taken(id).map_err(Rejected::Unreadable)? {
            return Err(Refusal::IdTaken { id: id.clone() }.into());
        }
        self.events.push(Event::FrameOpened {
            frame: id.clone(),
            parent,
            rank,
            planned,
            origin,
            goal: goal.clone(),
        });
        Ok(())
    }

    /// The parent of new frames: as named, else the session's active frame, else its own frame
    /// unless that is finished, else none.
    fn parent(&self, under: &Under) -> Ruling<Option<FrameHead>, N> {
        match under {
            Under::Root => Ok(None),
            Under::Frame(id) => self.frame(id).map(Some),
            Under::Active => match &self.active {
                Some(active) => self.frame(active).map(Some),
                None if self.own.is_none() => self.beside_parent(),
                None => self.own_if_open(),
            },
        }
    }

    /// Where a session without a frame stands that another one started: where that one does.
    fn beside_parent(&self) -> Ruling<Option<FrameHead>, N> {
        let run = self.tree.run(&self.actor.session);
        let parent = run
            .map_err(Rejected::Unreadable)?
            .and_then(|run| run.parent);
        let Some(parent) = parent else {
            return Ok(None);
        };
        let known = self.tree.session(&parent).map_err(Rejected::Unreadable)?;
        let standing = known.and_then(|known| known.active.or(known.own));
        let above = self.in_progress_from(standing.as_ref())?;
        above.map(|above| self.frame(&above)).transpose()
    }

    fn own_if_open(&self) -> Ruling<Option<FrameHead>, N> {
        match &self.own {
            Some(own) => Ok(Some(self.frame(own)?).filter(|own| own.status.is_open())),
            None => Ok(None),
        }
    }

    fn parent_finished(&self, parent: &FrameHead) -> Ruling<Refusal, N> {
        let open_above = self.in_progress_from(parent.parent.as_ref())?;
        Ok(Refusal::ParentFinished {
            parent: parent.clone(),
            open_above,
        })
    }

    pub(super) fn next_rank(&self, parent: Option<&FrameId>) -> Ruling<Rank, N> {
        Ok(Rank::after(
            self.tree.last_rank(parent).map_err(Rejected::Unreadable)?,
        ))
    }
}

/// The items of one level with their ranks, last first, ready to be popped off a stack.
fn in_order<'i>(
    parent: Option<&FrameId>,
    first: Rank,
    items: &'i [PlanItem],
) -> Vec<(Option<FrameId>, Rank, &'i PlanItem)> {
    let mut rank = first;
    let mut level: Vec<_> = items
        .iter()
        .map(|item| {
            let placed = (parent.cloned(), rank, item);
            rank = Rank::after(Some(rank));
            placed
        })
        .collect();
    level.reverse();
    level
}
