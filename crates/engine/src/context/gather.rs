//! Gathers the surroundings of a frame from the indexes of a store.
//!
//! The result leads to the same context as a walk over the whole tree, but its cost follows the
//! surroundings and not the history: of long lists only the part that can matter is read.

use std::cell::OnceCell;

use flamestack_context::{
    CANDIDATES, DIRECTIVES, Group, LEVEL_PENALTY, LEVELS, PLANNED, SiblingPosition, Subagent,
    Surroundings,
};
use flamestack_core::frame::Rank;
use flamestack_core::id::Seq;
use flamestack_core::{Frame, FrameId, Note, SessionRef, Status, Title};
use flamestack_extract::relevance::Query;
use flamestack_store::{EndedFrame, Reading, Scored, SiblingIndex, StoreError, Totals};

use crate::error::{EngineError, Result};
use crate::subagents::family;

/// Maximum number of directives read from one frame. Those beyond what a context shows are counted
/// as left out.
const DIRECTIVES_READ: usize = 8 * DIRECTIVES;

/// Gathers the surroundings of a frame. `siblings` ranks the finished children of frames that have
/// more than [`CANDIDATES`] of them; without it the most recently finished are taken.
pub fn surroundings(
    reading: &dyn Reading,
    frame: &FrameId,
    session: Option<&SessionRef>,
    siblings: Option<&SiblingIndex>,
) -> Result<Surroundings> {
    // The last one is read only for the totals of its children.
    let path = reading.path(frame, 1 + LEVELS + 1)?;
    let totals = path.iter().map(|(frame, totals)| (frame.id, *totals));
    let totals: Vec<(FrameId, Totals)> = totals.collect();
    let mut near = path.into_iter().take(1 + LEVELS).map(|(frame, _)| frame);
    let Some(current) = near.next() else {
        return Err(EngineError::GoneFrame(*frame));
    };
    let mut gatherer = Gatherer {
        reading,
        siblings,
        query: OnceCell::new(),
        path: totals,
        around: Surroundings {
            session: session.cloned(),
            ancestors: near.collect(),
            ..Surroundings::of(current, reading.position()?)
        },
    };
    gatherer.load_ancestors()?;
    gatherer.load_children()?;
    // Roots are separate tasks, not siblings.
    if let Some(parent) = gatherer.around.current.parent {
        gatherer.load_siblings(&parent)?;
    }
    gatherer.load_directives()?;
    Ok(gatherer.around)
}

struct Gatherer<'a> {
    reading: &'a dyn Reading,
    siblings: Option<&'a SiblingIndex>,
    /// Query made from the frame; only needed where there are many candidates.
    query: OnceCell<Query>,
    /// The frame and its ancestors, with the totals of their children.
    path: Vec<(FrameId, Totals)>,
    around: Surroundings,
}

impl Gatherer<'_> {
    fn load_ancestors(&mut self) -> Result<()> {
        self.around.levels = self.around.ancestors.len();
        if self.path.len() > 1 + LEVELS
            && let Some((root, levels)) = self.reading.top(&self.around.current.id)?
            && levels > self.around.levels
        {
            self.around.levels = levels;
            let root = self.reading.frames_with_notes(&[root])?;
            self.around.ancestors.extend(root);
        }
        self.load_ancestor_siblings()
    }

    fn load_ancestor_siblings(&mut self) -> Result<()> {
        let mut levels = Vec::new();
        let mut total = 0;
        let ancestors = self.around.ancestors.iter().zip(self.path.iter().skip(2));
        for (level, (ancestor, (above, totals))) in (0_i64..).zip(ancestors.take(LEVELS)) {
            let completed = count(totals, Status::Completed);
            let itself = usize::from(ancestor.status == Status::Completed);
            let others = completed.saturating_sub(itself);
            total += others;
            if others > 0 {
                levels.push((level, above, &ancestor.id));
            }
        }
        let mut found: Vec<Scored> = Vec::new();
        for (level, above, ancestor) in levels {
            let uncles = self.best(above, Status::Completed, total)?;
            let uncles = uncles.into_iter();
            let others = uncles.filter(|uncle| uncle.frame.id != *ancestor);
            found.extend(others.map(|uncle| Scored {
                // The farther away, the less it has to do with the current frame.
                score: uncle.score - LEVEL_PENALTY * level,
                ..uncle
            }));
        }
        found.sort_by(|one, other| other.cmp(one));
        found.truncate(CANDIDATES);
        let ids: Vec<FrameId> = found.into_iter().map(|uncle| uncle.frame.id).collect();
        self.around.uncles = Group {
            frames: self.reading.frames_with_notes(&ids)?,
            total,
        };
        Ok(())
    }

    /// Returns the totals of the children of the frame, or of an ancestor that many levels above it.
    fn child_totals(&self, level: usize) -> Totals {
        self.path
            .get(level)
            .map_or_else(Totals::default, |(_, totals)| *totals)
    }

    fn load_children(&mut self) -> Result<()> {
        let id = self.around.current.id;
        let totals = self.child_totals(0);
        let mut finished: Vec<EndedFrame> = Vec::new();
        for status in [Status::Completed, Status::Failed] {
            if totals.of(status) > 0 {
                finished.extend(self.reading.ended(&id, status, CANDIDATES)?);
            }
        }
        finished.sort();
        let first = finished.len().saturating_sub(CANDIDATES);
        let finished: Vec<FrameId> = finished.drain(first..).map(|child| child.id).collect();
        self.around.children = Group {
            frames: self.reading.frames_with_notes(&finished)?,
            total: count(&totals, Status::Completed) + count(&totals, Status::Failed),
        };
        if totals.of(Status::Planned) > 0 {
            self.around.planned = Group {
                frames: self
                    .reading
                    .children_with_status(&id, Status::Planned, PLANNED)?,
                total: count(&totals, Status::Planned),
            };
        }
        let begun = self.begun(&id, &totals)?;
        self.around.open.total += count(&totals, Status::InProgress);
        self.around.open.total += count(&totals, Status::Blocked);
        for child in &begun {
            let session = child.session.as_ref();
            if let Some(session) = session.filter(|its| Some(*its) != self.around.session.as_ref())
            {
                let run = self.reading.session(session)?.and_then(|known| known.run);
                if run.as_ref().is_none_or(|run| run.state.is_in_flight()) {
                    self.around.subagents.push(Subagent {
                        session: session.clone(),
                        title: child.title.clone(),
                        frame: Some(child.id),
                        seen: child.changed,
                        state_and_start: run.map(|run| (run.state, run.started)),
                    });
                }
            }
        }
        self.around.open.frames.extend(begun);
        self.load_subagents()
    }

    /// Loads the running subagents of the session, in whichever frame, and those that they started.
    fn load_subagents(&mut self) -> Result<()> {
        let Some(session) = self.around.session.clone() else {
            return Ok(());
        };
        for listed in family(self.reading, &session)?.listed {
            let run = &listed.run;
            let known = &self.around.subagents;
            let is_known = known.iter().any(|one| one.session == run.session);
            if is_known || !run.state.is_in_flight() || known.len() >= CANDIDATES {
                continue;
            }
            let frame = listed.frame.as_ref();
            let title = frame.map(|frame| frame.title.clone());
            self.around.subagents.push(Subagent {
                session: run.session.clone(),
                title: run
                    .goal
                    .clone()
                    .or(title)
                    .unwrap_or_else(|| Title::recorded(listed.goal().to_owned())),
                frame: frame.map(|frame| frame.id),
                seen: Seq(0),
                state_and_start: Some((run.state, run.started)),
            });
        }
        Ok(())
    }

    fn load_siblings(&mut self, parent: &FrameId) -> Result<()> {
        let current = &self.around.current;
        let totals = self.child_totals(1);
        let head = current.head();
        let others = |status: Status| {
            count(&totals, status).saturating_sub(usize::from(current.status == status))
        };
        let mut place = SiblingPosition {
            position: 0,
            // Invalidated frames are not tasks.
            of: usize::try_from(totals.all())
                .unwrap_or(usize::MAX)
                .saturating_sub(others(Status::Invalidated)),
            completed: others(Status::Completed),
            failed: others(Status::Failed),
            in_progress: others(Status::InProgress),
            blocked: others(Status::Blocked),
            planned: others(Status::Planned),
            invalidated: others(Status::Invalidated),
        };
        let mut siblings: Vec<Frame> = Vec::new();
        // Statuses of which not all siblings are read here: the store counts those before the frame.
        let mut uncounted = totals;
        uncounted.set(Status::Invalidated, 0);
        for (status, others) in [
            (Status::Completed, place.completed),
            (Status::Failed, place.failed),
        ] {
            if others > CANDIDATES {
                let found = self.best(parent, status, others)?;
                let found = found.into_iter().map(|sibling| sibling.frame.id);
                let found = found.filter(|sibling| *sibling != current.id);
                let found: Vec<FrameId> = found.take(CANDIDATES).collect();
                siblings.extend(self.reading.frames_with_notes(&found)?);
            } else if others > 0 {
                // One more, for the frame itself.
                let reading = self.reading;
                let mut found = reading.ended_with_notes(parent, status, others + 1)?;
                found.retain(|sibling| sibling.id != current.id);
                siblings.append(&mut found);
            }
            if others <= CANDIDATES {
                uncounted.set(status, 0);
            }
        }
        let read = |sibling: &&Frame| uncounted.of(sibling.status) == 0;
        let before = |sibling: &&Frame| (sibling.rank, &sibling.id) < (head.rank, &head.id);
        let read_before = siblings.iter().filter(read).filter(before).count();
        let others_before = self.reading.siblings_before(&head, &uncounted)?;
        place.position = usize::try_from(others_before)
            .unwrap_or(usize::MAX)
            .saturating_add(read_before)
            .saturating_add(1);
        let next = match place.planned {
            0 => None,
            _ => self.next(parent, head.rank)?,
        };
        let mut begun = Vec::new();
        if place.in_progress + place.blocked > 0 {
            begun = self.begun(parent, &totals)?;
            begun.retain(|sibling| sibling.id != current.id);
        }
        self.around.siblings = siblings;
        self.around.next = next;
        self.around.open.total += place.in_progress + place.blocked;
        self.around.open.frames.extend(begun);
        self.around.place = place;
        Ok(())
    }

    /// Returns the planned sibling to take up next: the first one after `rank`, else the first.
    fn next(&self, parent: &FrameId, rank: Rank) -> Result<Option<Frame>, StoreError> {
        let next = match self.reading.next_planned(parent, Some(rank))? {
            Some(next) => Some(next),
            None => self.reading.next_planned(parent, None)?,
        };
        let Some(next) = next.filter(|next| next.id != self.around.current.id) else {
            return Ok(None);
        };
        let next = self.reading.frames_with_notes(&[next.id])?;
        Ok(next.into_iter().next())
    }

    /// Returns the children that are in progress or blocked.
    fn begun(&self, parent: &FrameId, totals: &Totals) -> Result<Vec<Frame>, StoreError> {
        let mut begun = Vec::new();
        for status in [Status::InProgress, Status::Blocked] {
            if totals.of(status) > 0 {
                // One more, since the frame itself may be among them.
                begun.extend(
                    self.reading
                        .children_with_status(parent, status, CANDIDATES + 1)?,
                );
            }
        }
        Ok(begun)
    }

    /// Returns the finished children of a frame that are most likely to matter, out of `total`.
    fn best(
        &self,
        parent: &FrameId,
        status: Status,
        total: usize,
    ) -> Result<Vec<Scored>, StoreError> {
        // One more, since the frame itself or its ancestor may be among them.
        let limit = CANDIDATES + 1;
        if let Some(siblings) = self.siblings.filter(|_| total > CANDIDATES) {
            let query = self.query.get_or_init(|| Query::of(&self.around.current));
            return siblings.best(self.reading, parent, status, query, limit);
        }
        let newest = self.reading.ended(parent, status, limit)?;
        let scored = newest.into_iter().map(|frame| Scored { score: 0, frame });
        Ok(scored.collect())
    }

    fn load_directives(&mut self) -> Result<()> {
        let mut directives = Vec::new();
        for frame in self.around.ancestors.iter().chain([&self.around.current]) {
            let mut notes = frame.notes.iter();
            if notes.any(|note| matches!(note, Note::Directive(_))) {
                let newest = self.reading.directives(&frame.id, DIRECTIVES_READ)?;
                directives.extend(newest.into_iter().rev());
            }
        }
        // Stable, so that directives of one command keep their order.
        directives.sort_by_key(|directive| directive.said);
        self.around.directives = directives;
        Ok(())
    }
}

fn count(totals: &Totals, status: Status) -> usize {
    usize::try_from(totals.of(status)).unwrap_or(usize::MAX)
}
