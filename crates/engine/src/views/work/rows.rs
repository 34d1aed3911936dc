//! Rows of the tree, as far as its branches are open.

use std::collections::{BTreeMap, BTreeSet};

use flamestack_core::id::Seq;
use flamestack_core::{FrameId, Status};
use serde::Serialize;

use super::amounts::Amounts;
use super::outline::WorkPlace;
use super::{Work, WorkScope};

/// Number of children shown of a branch, if no other number is asked for.
const CHILDREN: usize = 40;
/// Maximum number of rows.
const ROWS: usize = 1_000;
/// Maximum depth of a row.
const DEPTH: usize = 200;

/// The branches that a reader opened and closed. Others are open while work continues in them.
#[derive(Clone, Debug, Default)]
pub struct Opened {
    /// Branches that were opened.
    pub open: BTreeSet<FrameId>,
    /// Branches that were closed.
    pub closed: BTreeSet<FrameId>,
    /// Number of children to show of a branch; `None` stands for the roots.
    pub more: BTreeMap<Option<FrameId>, usize>,
}

/// Rows of the tree.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkRows {
    /// The last event that is taken into account.
    pub position: i64,
    /// The rows, in order.
    pub rows: Vec<WorkRow>,
    /// Number of frames in the project.
    pub frames: u64,
    /// True if the amounts are known; until then they are zero.
    pub is_counted: bool,
    /// Amounts of the whole project.
    pub total: Amounts,
    /// The part of them that belongs to no frame.
    pub outside: Amounts,
}

/// A row: a frame, or the rest of a branch.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that are independent of each other"
)]
pub struct WorkRow {
    /// The frame; for the rest of a branch the frame above it, or nothing.
    pub id: String,
    /// Number of frames above it.
    pub depth: usize,
    /// Title.
    pub title: String,
    /// Number of siblings that this row stands for, if it is the rest of a branch.
    pub hidden: u64,
    /// Status.
    pub status: &'static str,
    /// Reason for the frame.
    pub origin: &'static str,
    /// Number of frames below it, at any depth.
    pub below: u64,
    /// True if those are shown.
    pub is_open: bool,
    /// True if it is completed without recorded evidence.
    pub is_claimed: bool,
    /// Number of pieces of evidence.
    pub proofs: u64,
    /// Number of checks that failed.
    pub failures: u64,
    /// The one who opened it: `user` or `model`.
    pub by: &'static str,
    /// Sessions that work on it.
    pub active_in: Vec<String>,
    /// True if its messages left the prompt.
    pub is_folded: bool,
    /// True if some of its raw text was dropped.
    pub is_dropped: bool,
    /// Time when work began, in milliseconds.
    pub begun: Option<i64>,
    /// Time when it ended.
    pub ended: Option<i64>,
    /// Amounts of its own work.
    pub own: Amounts,
    /// Amounts of it and everything below it.
    pub total: Amounts,
}

impl WorkRow {
    fn of(place: &WorkPlace, depth: usize, is_open: bool) -> Self {
        Self {
            id: place.id.to_string(),
            depth,
            title: place.title.clone(),
            hidden: 0,
            status: place.status.as_str(),
            origin: place.origin.as_str(),
            below: place.below,
            is_open,
            is_claimed: place.standing().is_claimed,
            proofs: place.proofs,
            failures: place.failures,
            by: place.by.as_str(),
            active_in: place.active_in.iter().map(ToString::to_string).collect(),
            is_folded: place.is_folded,
            is_dropped: place.is_dropped,
            begun: place.begun.map(|at| at.0),
            ended: place.ended.map(|at| at.0),
            own: place.own,
            total: place.total,
        }
    }

    fn rest(above: Option<&WorkPlace>, depth: usize, hidden: &[&WorkPlace]) -> Self {
        let mut total = Amounts::default();
        for place in hidden {
            total.add(&place.total);
        }
        Self {
            id: above.map(|place| place.id.to_string()).unwrap_or_default(),
            depth,
            title: String::new(),
            hidden: hidden.len() as u64,
            status: Status::Completed.as_str(),
            origin: "",
            below: 0,
            is_open: false,
            is_claimed: false,
            proofs: 0,
            failures: 0,
            by: "",
            active_in: Vec::new(),
            is_folded: false,
            is_dropped: false,
            begun: None,
            ended: None,
            own: Amounts::default(),
            total,
        }
    }
}

/// A part of a tree that is left to visit.
enum Visit {
    Frame(usize, usize),
    Rest(Option<usize>, usize, Vec<usize>),
}

impl Work {
    /// Returns the rows of the open branches.
    pub fn rows(&self, opened: &Opened) -> WorkRows {
        let mut rows = Vec::new();
        let mut visits = Vec::new();
        self.branch(None, 0, opened, &mut visits);
        while let Some(visit) = visits.pop() {
            if rows.len() >= ROWS {
                break;
            }
            match visit {
                Visit::Frame(number, depth) => {
                    let Some(place) = self.outline.at(number) else {
                        continue;
                    };
                    let is_open = place.has_children() && depth < DEPTH && is_open(place, opened);
                    rows.push(WorkRow::of(place, depth, is_open));
                    if is_open {
                        self.branch(Some(number), depth + 1, opened, &mut visits);
                    }
                }
                Visit::Rest(above, depth, hidden) => {
                    let above = above.and_then(|above| self.outline.at(above));
                    let hidden = hidden.iter().filter_map(|it| self.outline.at(*it));
                    rows.push(WorkRow::rest(above, depth, &hidden.collect::<Vec<_>>()));
                }
            }
        }
        let Seq(position) = self.position();
        WorkRows {
            position,
            rows,
            frames: self.frames() as u64,
            is_counted: self.is_counted,
            total: self.total(),
            outside: *self.outline.outside(),
        }
    }

    /// Puts the children of a frame on the stack: open ones and the last of the others, with a row for
    /// those in between.
    fn branch(&self, above: Option<usize>, depth: usize, opened: &Opened, visits: &mut Vec<Visit>) {
        let place = above.and_then(|above| self.outline.at(above));
        let children = place.map_or(self.outline.roots(), WorkPlace::children);
        let key = place.map(|place| place.id);
        let limit = opened.more.get(&key).copied().unwrap_or(CHILDREN);
        let wanted = |number: &usize| {
            let place = self.outline.at(*number);
            place.is_some_and(|place| {
                matches!(place.status, Status::InProgress | Status::Blocked)
                    || !place.active_in.is_empty()
            })
        };
        let urgent: BTreeSet<usize> = children
            .iter()
            .copied()
            .filter(wanted)
            .take(limit)
            .collect();
        let room = limit.saturating_sub(urgent.len());
        let others = children.len() - urgent.len();
        let skipped = others.saturating_sub(room);
        let mut hidden = Vec::new();
        let mut shown = Vec::new();
        let mut passed = 0;
        for number in children {
            if urgent.contains(number) {
                shown.push(*number);
            } else if passed < skipped {
                passed += 1;
                hidden.push(*number);
            } else {
                shown.push(*number);
            }
        }
        visits.extend(shown.into_iter().rev().map(|it| Visit::Frame(it, depth)));
        if !hidden.is_empty() {
            visits.push(Visit::Rest(above, depth, hidden));
        }
    }

    /// Returns the frames that a picture of a scope starts from.
    pub(super) fn tops(&self, scope: &WorkScope) -> Vec<usize> {
        match scope {
            WorkScope::Frame(frame) => self.outline.number(frame).into_iter().collect(),
            WorkScope::Project | WorkScope::Session(_) => self.outline.roots().to_vec(),
        }
    }

    /// Returns the frames above one, root first, and the frame itself.
    pub fn path(&self, frame: &FrameId) -> Vec<&WorkPlace> {
        let number = self.outline.number(frame);
        let path = number.map(|number| self.outline.path(number));
        let places = path.into_iter().flatten();
        places
            .filter_map(|number| self.outline.at(number))
            .collect()
    }
}

fn is_open(place: &WorkPlace, opened: &Opened) -> bool {
    if opened.open.contains(&place.id) {
        return true;
    }
    let goes_on = matches!(place.status, Status::InProgress | Status::Blocked);
    goes_on && !opened.closed.contains(&place.id)
}
