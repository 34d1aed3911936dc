//! The outline: the frames as a tree in memory, with the amounts of each and of what is below it.

use std::collections::{BTreeMap, BTreeSet};

use flamestack_core::frame::{FrameStanding, Origin, Rank};
use flamestack_core::id::{SessionRef, Timestamp};
use flamestack_core::{Author, Frame, FrameId, Status};
use flamestack_store::{OutlineRow, Reading};

use super::amounts::Amounts;
use super::ledger::Ledger;
use crate::error::Result;

/// Number of changed frames at which all are read again.
const MANY: usize = 2_000;

/// A frame in the outline.
#[derive(Clone, Debug)]
pub struct WorkPlace {
    /// The frame.
    pub id: FrameId,
    /// Its title.
    pub title: String,
    /// Its status.
    pub status: Status,
    /// Reason for the frame.
    pub origin: Origin,
    /// Number of pieces of evidence that support it.
    pub proofs: u64,
    /// Number of commands and tests that failed.
    pub failures: u64,
    /// Amounts of its own work.
    pub own: Amounts,
    /// Amounts of it and of everything below it.
    pub total: Amounts,
    /// Number of frames below it, at any depth.
    pub below: u64,
    /// Time when work on it began.
    pub begun: Option<Timestamp>,
    /// Time when it ended.
    pub ended: Option<Timestamp>,
    /// The one who opened it.
    pub by: Author,
    /// The session that opened it, where it is known.
    pub session: Option<SessionRef>,
    /// Sessions that work on it.
    pub active_in: Vec<SessionRef>,
    /// True if its messages left the prompt and its results took their place.
    pub is_folded: bool,
    /// True if some of its raw text was dropped.
    pub is_dropped: bool,
    rank: Rank,
    parent: Option<usize>,
    children: Vec<usize>,
}

impl WorkPlace {
    /// Returns its standing.
    pub fn standing(&self) -> FrameStanding {
        FrameStanding::of(self.status, self.origin, self.proofs)
    }

    fn of(row: &OutlineRow) -> Self {
        Self {
            id: row.id,
            title: super::super::one_line(row.title.as_str(), usize::MAX),
            status: row.status,
            origin: row.origin,
            proofs: row.proofs,
            failures: row.failures,
            own: Amounts::default(),
            total: Amounts::default(),
            below: 0,
            begun: None,
            ended: None,
            by: Author::default(),
            session: None,
            active_in: Vec::new(),
            is_folded: false,
            is_dropped: false,
            rank: row.rank,
            parent: None,
            children: Vec::new(),
        }
    }

    /// Returns true if there is a frame below it.
    pub fn has_children(&self) -> bool {
        !self.children.is_empty()
    }

    pub(super) fn children(&self) -> &[usize] {
        &self.children
    }

    pub(super) fn parent(&self) -> Option<usize> {
        self.parent
    }
}

/// All frames.
#[derive(Debug, Default)]
pub(super) struct Outline {
    places: Vec<WorkPlace>,
    numbers: BTreeMap<FrameId, usize>,
    roots: Vec<usize>,
    /// Parents before their children.
    order: Vec<usize>,
    /// Work that belongs to no frame.
    outside: Amounts,
}

impl Outline {
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn roots(&self) -> &[usize] {
        &self.roots
    }

    pub(super) fn at(&self, number: usize) -> Option<&WorkPlace> {
        self.places.get(number)
    }

    pub(super) fn number(&self, frame: &FrameId) -> Option<usize> {
        self.numbers.get(frame).copied()
    }

    pub(super) fn place(&self, frame: &FrameId) -> Option<&WorkPlace> {
        self.at(self.number(frame)?)
    }

    /// Returns the frames from the root down to one.
    pub(super) fn path(&self, number: usize) -> Vec<usize> {
        let mut path = vec![number];
        let mut next = self.at(number).and_then(|place| place.parent);
        while let Some(above) = next
            && path.len() <= self.places.len()
        {
            path.push(above);
            next = self.at(above).and_then(|place| place.parent);
        }
        path.reverse();
        path
    }

    pub(super) fn outside(&self) -> &Amounts {
        &self.outside
    }

    pub(super) fn total(&self) -> Amounts {
        let mut total = self.outside;
        for root in self.roots.iter().filter_map(|root| self.at(*root)) {
            total.add(&root.total);
        }
        total
    }

    /// Parents before their children.
    pub(super) fn order(&self) -> &[usize] {
        &self.order
    }

    /// Visits all frames with their depths, parents first, siblings in order.
    pub(super) fn each(&self, each: &mut dyn FnMut(&WorkPlace, usize)) {
        let mut stack: Vec<(usize, usize)> = self.roots.iter().rev().map(|it| (*it, 0)).collect();
        while let Some((number, depth)) = stack.pop() {
            if let Some(place) = self.at(number) {
                each(place, depth);
                stack.extend(place.children.iter().rev().map(|it| (*it, depth + 1)));
            }
        }
    }

    /// Brings the outline up to date with what the ledger has read.
    pub(super) fn update(&mut self, reading: &dyn Reading, ledger: &mut Ledger) -> Result<()> {
        if ledger.changes.take_masked() {
            for session in reading.sessions(false)? {
                ledger.place_session(&session.key, session.active, session.own);
            }
        }
        let is_refreshed = match ledger.changes.take_touched() {
            Some(touched) if touched.len() < MANY => self.refresh(reading, &touched)?,
            _ => false,
        };
        if !is_refreshed {
            self.reload(reading)?;
        }
        self.count(ledger);
        Ok(())
    }

    /// Reads the tree and the sessions that work in it; there are no amounts then.
    pub(super) fn load(&mut self, reading: &dyn Reading) -> Result<()> {
        self.reload(reading)?;
        for session in reading.sessions(true)? {
            let number = session.active.and_then(|active| self.number(&active));
            if let Some(place) = number.and_then(|number| self.places.get_mut(number)) {
                place.active_in.push(session.key);
            }
        }
        self.add_up();
        Ok(())
    }

    fn reload(&mut self, reading: &dyn Reading) -> Result<()> {
        let mut rows: Vec<OutlineRow> = Vec::with_capacity(self.places.len());
        reading.outline(&mut |row| rows.push(row))?;
        rows.sort_unstable_by_key(|row| (row.rank, row.id));
        let numbers = rows.iter().enumerate();
        self.numbers = numbers.map(|(number, row)| (row.id, number)).collect();
        self.places.clear();
        self.places.extend(rows.iter().map(WorkPlace::of));
        self.roots.clear();
        // Rows are in the order of siblings.
        for (number, row) in rows.iter().enumerate() {
            self.attach(number, row.parent);
        }
        self.arrange();
        Ok(())
    }

    fn attach(&mut self, number: usize, parent: Option<FrameId>) {
        let above = parent.and_then(|parent| self.number(&parent));
        if let Some(place) = self.places.get_mut(number) {
            place.parent = above;
        }
        match above.and_then(|above| self.places.get_mut(above)) {
            Some(above) => above.children.push(number),
            None => self.roots.push(number),
        }
    }

    /// Orders parents before their children.
    fn arrange(&mut self) {
        self.order.clear();
        self.order.extend(&self.roots);
        let mut next = 0;
        while let Some(number) = self.order.get(next).copied() {
            next += 1;
            let children = self.places.get(number).map(|place| place.children.clone());
            self.order.extend(children.unwrap_or_default());
        }
    }

    /// Reads the frames that changed. Returns false if the tree changed in a way that needs all of them.
    fn refresh(&mut self, reading: &dyn Reading, touched: &BTreeSet<FrameId>) -> Result<bool> {
        let ids: Vec<FrameId> = touched.iter().copied().collect();
        let frames = reading.frames_with_notes(&ids)?;
        let found: BTreeSet<FrameId> = frames.iter().map(|frame| frame.id).collect();
        let is_gone = |id: &FrameId| !found.contains(id) && self.numbers.contains_key(id);
        if ids.iter().any(is_gone) {
            return Ok(false);
        }
        let mut is_new = false;
        for frame in &frames {
            let (proofs, failures) = frame.proofs_and_failures();
            let place = WorkPlace::of(&OutlineRow {
                id: frame.id,
                parent: frame.parent,
                rank: frame.rank,
                status: frame.status,
                origin: frame.origin,
                title: frame.title.clone(),
                proofs,
                failures,
            });
            let Some(number) = self.number(&frame.id) else {
                is_new = true;
                self.numbers.insert(frame.id, self.places.len());
                self.places.push(place);
                continue;
            };
            let parent = frame.parent.and_then(|parent| self.number(&parent));
            let Some(known) = self.places.get_mut(number) else {
                return Ok(false);
            };
            if known.parent != parent || known.rank != frame.rank {
                return Ok(false);
            }
            let children = std::mem::take(&mut known.children);
            *known = WorkPlace {
                parent,
                children,
                ..place
            };
        }
        if is_new {
            self.insert(&frames);
        }
        Ok(true)
    }

    /// Puts new frames below their parents, in their place among their siblings.
    fn insert(&mut self, frames: &[Frame]) {
        let mut levels: BTreeSet<Option<usize>> = BTreeSet::new();
        for frame in frames {
            let Some(number) = self.number(&frame.id) else {
                continue;
            };
            let above = frame.parent.and_then(|parent| self.number(&parent));
            let siblings = match above.and_then(|above| self.places.get(above)) {
                Some(above) => &above.children,
                None => &self.roots,
            };
            // New frames are mostly the last among their siblings.
            if !siblings.iter().rev().any(|sibling| *sibling == number) {
                self.attach(number, frame.parent);
                levels.insert(above);
            }
        }
        let key = |places: &[WorkPlace], number: usize| {
            places.get(number).map(|place| (place.rank, place.id))
        };
        for level in levels {
            let mut siblings = match level.and_then(|above| self.places.get_mut(above)) {
                Some(above) => std::mem::take(&mut above.children),
                None => std::mem::take(&mut self.roots),
            };
            siblings.sort_by_key(|number| key(&self.places, *number));
            match level.and_then(|above| self.places.get_mut(above)) {
                Some(above) => above.children = siblings,
                None => self.roots = siblings,
            }
        }
        self.arrange();
    }

    /// Takes the amounts over from the ledger and adds them up.
    fn count(&mut self, ledger: &Ledger) {
        for place in &mut self.places {
            place.own = Amounts::default();
            place.active_in.clear();
            place.is_folded = false;
            place.below = 0;
        }
        self.outside = Amounts::default();
        let mut tallies = ledger.tallies().peekable();
        // Both are in the order of ids.
        for (id, number) in &self.numbers {
            while let Some((known, _)) = tallies.peek()
                && *known < id
            {
                tallies.next();
            }
            let Some((known, tally)) = tallies.peek() else {
                break;
            };
            if *known != id {
                continue;
            }
            if let Some(place) = self.places.get_mut(*number) {
                place.own = tally.own(None);
                place.begun = tally.begun;
                place.ended = tally.ended.filter(|_| !place.status.is_open());
                place.by = tally.by;
                place.session = ledger.session(tally.session).map(|it| it.key.clone());
                place.is_dropped = tally.dropped;
            }
        }
        self.count_lost(ledger);
        for (frame, _, saved) in ledger.saved() {
            let number = self.standing(ledger, &frame);
            if let Some(place) = number.and_then(|number| self.places.get_mut(number)) {
                place.own.saved = place.own.saved.saturating_add(saved);
                place.is_folded |= place.id == frame && !place.status.is_open();
            }
        }
        for session in ledger.sessions() {
            self.outside.add(&session.outside);
            let number = session.active.and_then(|active| self.number(&active));
            if let Some(place) = number.and_then(|number| self.places.get_mut(number)) {
                place.active_in.push(session.key.clone());
            }
        }
        self.add_up();
    }

    /// Counts the work on frames that were deleted or undone to the nearest frame above that is left.
    fn count_lost(&mut self, ledger: &Ledger) {
        for (id, tally) in ledger.tallies() {
            if tally.parts.is_empty() || self.numbers.contains_key(id) {
                continue;
            }
            let own = tally.own(None);
            let number = self.standing(ledger, id);
            match number.and_then(|number| self.places.get_mut(number)) {
                Some(place) => place.own.add(&own),
                None => self.outside.add(&own),
            }
        }
    }

    /// Returns a frame, or the nearest one above it that is left.
    pub(super) fn standing(&self, ledger: &Ledger, frame: &FrameId) -> Option<usize> {
        let mut next = Some(*frame);
        for _ in 0..=self.places.len() {
            let frame = next?;
            if let Some(number) = self.number(&frame) {
                return Some(number);
            }
            next = ledger.tally(&frame).and_then(|tally| tally.parent);
        }
        None
    }

    fn add_up(&mut self) {
        for place in &mut self.places {
            place.total = place.own;
        }
        for number in self.order.iter().rev() {
            let Some(place) = self.places.get(*number) else {
                continue;
            };
            let (total, below, parent) = (place.total, place.below, place.parent);
            if let Some(above) = parent.and_then(|parent| self.places.get_mut(parent)) {
                above.total.add(&total);
                above.below += below + 1;
            }
        }
    }
}
