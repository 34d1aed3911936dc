//! Opening and starting frames: push, plan, activate.

use super::{DecideResult, Decider, Remark};
use crate::command::{PlanItem, Under};
use crate::event::{Event, Goal};
use crate::frame::{FrameHead, Origin, Rank, Status};
use crate::id::FrameId;
use crate::refusal::Refusal;
use crate::tree_query::TreeQuery;

/// Maximum number of open children among which the frame of a prompt is looked for.
const OPEN_CHILDREN: usize = 1000;

/// State of a new frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// Work starts later.
    Planned,
    /// Work starts immediately.
    Started,
}

impl<N: TreeQuery + ?Sized> Decider<'_, N> {
    pub(super) fn push(&mut self, id: &FrameId, under: &Under, goal: &Goal) -> DecideResult<(), N> {
        if let Some(turn) = self.turned.clone() {
            return self.push_beside(id, under, goal, turn.before.as_ref());
        }
        let parent = self.parent(under)?;
        if let Some(parent) = &parent {
            match parent.status {
                Status::InProgress => {}
                Status::Planned => {
                    return Err(Refusal::ParentPlanned(parent.clone()).into());
                }
                Status::Blocked => {
                    return Err(Refusal::Blocked(parent.clone()).into());
                }
                _ => return Err(self.parent_finished(parent)?.into()),
            }
        }
        let parent = parent.map(|frame| frame.id);
        let rank = self.next_rank(parent.as_ref())?;
        self.open(id, parent, rank, Beginning::Started, Origin::Asked, goal)?;
        self.replace_prompt(id)?;
        self.focus(id);
        Ok(())
    }

    /// Takes the frame of the prompt that the session answers out of the tree, if it has nothing but raw
    /// text: the frame that the session goes to is the work of that prompt. The text stays in the session's
    /// frame.
    fn replace_prompt(&mut self, to: &FrameId) -> DecideResult<(), N> {
        let Some(own) = self.own.filter(|own| self.active == Some(*own)) else {
            return Ok(());
        };
        let (open, _) = self.tree.open_children(&own, OPEN_CHILDREN)?;
        let prompt = open.into_iter().rfind(|child| {
            child.origin == Origin::Prompt && child.status == Status::InProgress && child.id != *to
        });
        let Some(prompt) = prompt else {
            return Ok(());
        };
        let is_below = |event: &Event| match event {
            Event::FrameOpened { parent, .. } => *parent == Some(prompt.id),
            _ => false,
        };
        if self.events.iter().any(is_below) {
            return Ok(());
        }
        let Some(text) = self.tree.only_text(&prompt.id)? else {
            return Ok(());
        };
        for entry in text {
            self.events.push(Event::Logged { frame: own, entry });
        }
        self.events.push(Event::FrameDeleted {
            frame: prompt.id,
            with: Vec::new(),
        });
        Ok(())
    }

    /// Plans a frame for a further push in one message. All pushes of a message start from the frame
    /// that was active before it, and the session can work on only one of them.
    fn push_beside(
        &mut self,
        id: &FrameId,
        under: &Under,
        goal: &Goal,
        before: Option<&FrameId>,
    ) -> DecideResult<(), N> {
        let parent = match (under, before) {
            (Under::Active, Some(before)) => Some(self.frame(before)?),
            (Under::Active, None) => self.own_if_open()?,
            (named, _) => self.parent(named)?,
        };
        if let Some(parent) = &parent
            && !parent.status.is_open()
        {
            return Err(Refusal::PopWithPush.into());
        }
        let parent = parent.map(|frame| frame.id);
        let rank = self.next_rank(parent.as_ref())?;
        self.open(id, parent, rank, Beginning::Planned, Origin::Asked, goal)?;
        if let Some(active) = self.active {
            let begun = self.frame(&active)?;
            self.remarks.push(Remark::PlannedBeside(begun));
        }
        Ok(())
    }

    pub(super) fn plan(&mut self, under: &Under, items: &[PlanItem]) -> DecideResult<(), N> {
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
            let goal = &item.goal;
            self.open(
                &item.id,
                parent,
                rank,
                Beginning::Planned,
                Origin::Asked,
                goal,
            )?;
            pending.extend(in_order(Some(&item.id), Rank::after(None), &item.children));
        }
        Ok(())
    }

    pub(super) fn activate(&mut self, id: &FrameId) -> DecideResult<(), N> {
        let frame = self.frame(id)?;
        match frame.status {
            Status::InProgress if self.active.as_ref() == Some(id) => {
                self.remarks.push(Remark::AlreadyActive);
                return Ok(());
            }
            Status::InProgress => {}
            Status::Planned => self.begin(&frame)?,
            Status::Blocked => {
                self.end_block(&frame, !frame.is_started);
                if !frame.is_started {
                    self.begin(&frame)?;
                }
            }
            Status::Completed | Status::Failed | Status::Invalidated => {
                return Err(Refusal::AlreadyFinished(frame).into());
            }
        }
        self.replace_prompt(id)?;
        self.focus(id);
        Ok(())
    }

    /// Starts a planned frame, and the planned frames above it: work below them is work on them.
    fn begin(&mut self, frame: &FrameHead) -> DecideResult<(), N> {
        let mut beginning = vec![frame.id];
        let mut above = frame.parent;
        while let Some(id) = above {
            let parent = self.frame(&id)?;
            match parent.status {
                Status::Planned => {
                    above = parent.parent;
                    beginning.push(id);
                }
                Status::InProgress => break,
                Status::Blocked => return Err(Refusal::Blocked(parent).into()),
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

    /// Opens a frame under an id that was never used.
    pub fn open(
        &mut self,
        id: &FrameId,
        parent: Option<FrameId>,
        rank: Rank,
        beginning: Beginning,
        origin: Origin,
        goal: &Goal,
    ) -> DecideResult<(), N> {
        let twice = !self.drawn.insert(*id);
        if twice || self.tree.is_taken(id)? {
            return Err(Refusal::IdTaken(*id).into());
        }
        self.events.push(Event::FrameOpened {
            frame: *id,
            parent,
            rank,
            planned: beginning == Beginning::Planned,
            origin,
            goal: goal.clone(),
        });
        Ok(())
    }

    /// Returns the parent of new frames: as named, else the session's active frame, else its own
    /// frame unless that is finished, else none.
    fn parent(&self, under: &Under) -> DecideResult<Option<FrameHead>, N> {
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

    /// Returns, for a subagent without a frame, the nearest in-progress frame of its parent.
    fn beside_parent(&self) -> DecideResult<Option<FrameHead>, N> {
        let run = self.session.run.as_ref();
        let Some(parent) = run.and_then(|run| run.parent.as_ref()) else {
            return Ok(None);
        };
        let known = self.tree.session(parent)?;
        let focus = known.and_then(|known| known.frame());
        let above = self.in_progress_from(focus.as_ref())?;
        above.map(|above| self.frame(&above)).transpose()
    }

    fn own_if_open(&self) -> DecideResult<Option<FrameHead>, N> {
        match &self.own {
            Some(own) => Ok(Some(self.frame(own)?).filter(|own| own.status.is_open())),
            None => Ok(None),
        }
    }

    fn parent_finished(&self, parent: &FrameHead) -> DecideResult<Refusal, N> {
        let open_above = self.in_progress_from(parent.parent.as_ref())?;
        Ok(Refusal::ParentFinished {
            parent: parent.clone(),
            open_above,
        })
    }

    /// Returns the rank after the last child of a frame, or after the last root.
    pub fn next_rank(&self, parent: Option<&FrameId>) -> DecideResult<Rank, N> {
        Ok(Rank::after(self.tree.last_rank(parent)?))
    }
}

/// Returns the items of one level with their ranks, last first, ready to be popped off a stack.
fn in_order<'i>(
    parent: Option<&FrameId>,
    first: Rank,
    items: &'i [PlanItem],
) -> Vec<(Option<FrameId>, Rank, &'i PlanItem)> {
    let mut rank = first;
    let mut level: Vec<_> = items
        .iter()
        .map(|item| {
            let placed = (parent.copied(), rank, item);
            rank = Rank::after(Some(rank));
            placed
        })
        .collect();
    level.reverse();
    level
}
