//! The surroundings of a frame, read from a store by its indexes.
//!
//! What is read here leads to the same context as [`Surroundings::in_tree`], and costs what the
//! neighbourhood costs: of long lists only the part that can matter is read.

use std::cell::OnceCell;

use flamestack_core::context::{
    CANDIDATES, DIRECTIVES, Group, Interest, LEVELS, PLANNED, Place, Subagent, Surroundings,
};
use flamestack_core::frame::{Frame, Rank, Status};
use flamestack_core::id::{FrameId, Seq, SessionRef};
use flamestack_core::note::Note;
use flamestack_core::text::Title;
use flamestack_store::{Ended, Kinship, Reading, Scored, StoreError, Totals};

use crate::error::EngineError;
use crate::subagents::family;

/// How many directives of one frame are read; those that are too many are counted among what is
/// left out.
const DIRECTIVES_READ: usize = 8 * DIRECTIVES;

/// What an uncle's score loses with each level, as when a context ranks uncles.
const FARTHER: i64 = 16;

/// Who chooses among more finished children of a frame than can be looked at.
pub trait Kin {
    /// The children of `parent` that ended with `status` and are most likely to matter to
    /// `interest`, with their scores, at most `limit`.
    fn best(
        &self,
        reading: &dyn Reading,
        parent: &FrameId,
        status: Status,
        interest: &Interest,
        limit: usize,
    ) -> Result<Vec<Scored>, StoreError>;
}

impl Kin for Kinship {
    fn best(
        &self,
        reading: &dyn Reading,
        parent: &FrameId,
        status: Status,
        interest: &Interest,
        limit: usize,
    ) -> Result<Vec<Scored>, StoreError> {
        Kinship::best(self, reading, parent, status, interest, limit)
    }
}

/// Everything around a frame.
pub fn surroundings(
    reading: &dyn Reading,
    frame: &FrameId,
    session: Option<&SessionRef>,
    kin: &dyn Kin,
) -> Result<Surroundings, EngineError> {
    // The last is only there for how many children it has: they are uncles too.
    let path = reading.path(frame, 1 + LEVELS + 1)?;
    let totals = path
        .iter()
        .map(|(frame, totals)| (frame.id.clone(), *totals));
    let totals: Vec<(FrameId, Totals)> = totals.collect();
    let mut near = path.into_iter().take(1 + LEVELS).map(|(frame, _)| frame);
    let Some(current) = near.next() else {
        return Err(EngineError::GoneFrame { id: frame.clone() });
    };
    let mut look = Look {
        reading,
        kin,
        interest: OnceCell::new(),
        path: totals,
        around: Surroundings {
            session: session.cloned(),
            ancestors: near.collect(),
            ..Surroundings::of(current, reading.position()?)
        },
    };
    look.up()?;
    look.down()?;
    // Roots are other tasks, not siblings.
    if let Some(parent) = look.around.current.parent.clone() {
        look.aside(&parent)?;
    }
    look.listen()?;
    Ok(look.around)
}

struct Look<'a> {
    reading: &'a dyn Reading,
    kin: &'a dyn Kin,
    /// What the frame is about; nobody asks where there are few to choose from.
    interest: OnceCell<Interest>,
    /// The frame and those above it, with the totals of their children.
    path: Vec<(FrameId, Totals)>,
    around: Surroundings,
}

impl Look<'_> {
    fn up(&mut self) -> Result<(), EngineError> {
        self.around.levels = self.around.ancestors.len();
        if self.path.len() > 1 + LEVELS
            && let Some((root, levels)) = self.reading.top(&self.around.current.id)?
            && levels > self.around.levels
        {
            self.around.levels = levels;
            let root = self.reading.frames_with_notes(&[root])?;
            self.around.ancestors.extend(root);
        }
        self.uncles()
    }

    fn uncles(&mut self) -> Result<(), EngineError> {
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
                // Relatives farther away have less to do with the task at hand.
                score: uncle.score - FARTHER * level,
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

    fn down(&mut self) -> Result<(), EngineError> {
        let id = self.around.current.id.clone();
        let totals = self
            .path
            .first()
            .map(|(_, totals)| *totals)
            .unwrap_or_default();
        let mut finished: Vec<Ended> = Vec::new();
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
                frames: self.reading.standing(&id, Status::Planned, PLANNED)?,
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
                let run = self.reading.run(session)?;
                if run.as_ref().is_none_or(|run| run.state.is_in_flight()) {
                    self.around.subagents.push(Subagent {
                        session: session.clone(),
                        title: child.title.clone(),
                        frame: Some(child.id.clone()),
                        seen: child.changed,
                        standing: run.map(|run| (run.state, run.started)),
                    });
                }
            }
        }
        self.around.open.frames.extend(begun);
        self.in_flight()
    }

    /// Whoever the session has started, in whichever frame, and whoever those have started.
    fn in_flight(&mut self) -> Result<(), EngineError> {
        let Some(session) = self.around.session.clone() else {
            return Ok(());
        };
        for listed in family(self.reading, &session)?.listed {
            let run = &listed.run;
            let told = &self.around.subagents;
            let is_told = told.iter().any(|one| one.session == run.session);
            if is_told || !run.state.is_in_flight() || told.len() >= CANDIDATES {
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
                frame: frame.map(|frame| frame.id.clone()),
                seen: Seq(0),
                standing: Some((run.state, run.started)),
            });
        }
        Ok(())
    }

    fn aside(&mut self, parent: &FrameId) -> Result<(), EngineError> {
        let current = &self.around.current;
        let totals = self
            .path
            .get(1)
            .map(|(_, totals)| *totals)
            .unwrap_or_default();
        let head = current.head();
        let others = |status: Status| {
            count(&totals, status).saturating_sub(usize::from(current.status == status))
        };
        let mut place = Place {
            position: 0,
            of: usize::try_from(totals.all()).unwrap_or(usize::MAX),
            completed: others(Status::Completed),
            failed: others(Status::Failed),
            in_progress: others(Status::InProgress),
            blocked: others(Status::Blocked),
            planned: others(Status::Planned),
            invalidated: others(Status::Invalidated),
        };
        let mut siblings: Vec<Frame> = Vec::new();
        // Those of whom not all are read here, so that the store has to count who comes before.
        let mut uncounted = totals;
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

    /// The sibling to take up next.
    fn next(&self, parent: &FrameId, behind: Rank) -> Result<Option<Frame>, StoreError> {
        let next = match self.reading.next_planned(parent, Some(behind))? {
            Some(behind) => Some(behind),
            None => self.reading.next_planned(parent, None)?,
        };
        let Some(next) = next.filter(|next| next.id != self.around.current.id) else {
            return Ok(None);
        };
        let next = self.reading.frames_with_notes(&[next.id])?;
        Ok(next.into_iter().next())
    }

    /// Children that are in progress or blocked.
    fn begun(&self, parent: &FrameId, totals: &Totals) -> Result<Vec<Frame>, StoreError> {
        let mut begun = Vec::new();
        for status in [Status::InProgress, Status::Blocked] {
            if totals.of(status) > 0 {
                // One more, for the frame that stands among its own siblings.
                begun.extend(self.reading.standing(parent, status, CANDIDATES + 1)?);
            }
        }
        Ok(begun)
    }

    /// The children of a frame with a status that are worth looking at, where there are `total`
    /// of their kind.
    fn best(
        &self,
        parent: &FrameId,
        status: Status,
        total: usize,
    ) -> Result<Vec<Scored>, StoreError> {
        // One more, for the frame itself or the ancestor that stands among them.
        let limit = CANDIDATES + 1;
        if total > CANDIDATES {
            let interest = self
                .interest
                .get_or_init(|| Interest::of(&self.around.current));
            self.kin.best(self.reading, parent, status, interest, limit)
        } else {
            newest(self.reading, parent, status, limit)
        }
    }

    fn listen(&mut self) -> Result<(), EngineError> {
        let mut heard = Vec::new();
        for frame in self.around.ancestors.iter().chain([&self.around.current]) {
            if !frame
                .notes
                .iter()
                .any(|note| matches!(note, Note::Directive(_)))
            {
                continue;
            }
            let said = self.reading.directives(&frame.id, DIRECTIVES_READ)?;
            heard.extend(said.into_iter().rev());
        }
        // Stable: what one command recorded stays in its order.
        heard.sort_by_key(|directive| directive.said);
        self.around.directives = heard;
        Ok(())
    }
}

fn count(totals: &Totals, status: Status) -> usize {
    usize::try_from(totals.of(status)).unwrap_or(usize::MAX)
}

/// Nobody chooses: the newest are looked at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Newest;

impl Kin for Newest {
    fn best(
        &self,
        reading: &dyn Reading,
        parent: &FrameId,
        status: Status,
        _: &Interest,
        limit: usize,
    ) -> Result<Vec<Scored>, StoreError> {
        newest(reading, parent, status, limit)
    }
}

fn newest(
    reading: &dyn Reading,
    parent: &FrameId,
    status: Status,
    limit: usize,
) -> Result<Vec<Scored>, StoreError> {
    let ended = reading.ended(parent, status, limit)?;
    let scored = ended.into_iter().map(|frame| Scored { score: 0, frame });
    Ok(scored.collect())
}
