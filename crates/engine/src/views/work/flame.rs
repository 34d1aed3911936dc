//! Flame graphs: where tokens, money, time or messages went, merged and sorted.
//!
//! Siblings of one title and look are one box. Widths are sums over everything below, so they add up;
//! order has no meaning. A chart in time is in `chart`.

use std::collections::BTreeMap;

use flamestack_core::{FrameId, Status, enum_names};

use super::amounts::Measure;
use super::outline::WorkPlace;
use super::{Work, WorkScope};
use crate::views::counted;

/// Maximum depth of a picture. Deeper boxes are left out; the amounts above include them.
pub(super) const DEPTH: usize = 200;

enum_names! {
    /// Look of a box: the state of its frames.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Look {
        /// The whole picture.
        All = "all",
        /// Work in progress.
        Active = "active",
        /// Planned work.
        Planned = "planned",
        /// Blocked work.
        Blocked = "blocked",
        /// Completed work.
        Completed = "completed",
        /// Completed work whose messages left the prompt.
        Folded = "folded",
        /// Failed work.
        Failed = "failed",
        /// Work that is no longer wanted.
        Invalidated = "invalidated",
        /// Work outside of frames.
        Outside = "outside",
        /// Boxes that are too narrow to be shown.
        Rest = "rest",
    }
}

impl Look {
    /// Returns the look of a frame.
    pub fn of(place: &WorkPlace) -> Self {
        match place.status {
            Status::InProgress => Self::Active,
            Status::Planned => Self::Planned,
            Status::Blocked => Self::Blocked,
            Status::Completed if place.is_folded => Self::Folded,
            Status::Completed => Self::Completed,
            Status::Failed => Self::Failed,
            Status::Invalidated => Self::Invalidated,
        }
    }
}

/// Facts about a frame that its look does not show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct BoxMarks {
    /// True if it is completed without recorded evidence.
    pub is_claimed: bool,
    /// True if raw text of it was dropped.
    pub is_dropped: bool,
}

impl BoxMarks {
    /// Returns the marks of a frame.
    pub fn of(place: &WorkPlace) -> Self {
        Self {
            is_claimed: place.standing().is_claimed,
            is_dropped: place.is_dropped,
        }
    }
}

/// A flame graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlameGraph {
    /// The amount shown.
    pub measure: Measure,
    /// Its sum: the width of the picture.
    pub total: u64,
    /// The boxes, parents first.
    pub boxes: Vec<FlameBox>,
    /// Number of levels.
    pub levels: usize,
}

/// A box: a frame, or siblings that look alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlameBox {
    /// The first of its frames.
    pub frame: Option<FrameId>,
    /// Title.
    pub title: String,
    /// Look.
    pub look: Look,
    /// Facts that its look does not show.
    pub marks: BoxMarks,
    /// Number of frames.
    pub count: u64,
    /// Level, from 0.
    pub level: usize,
    /// Left edge, in the measure.
    pub from: u64,
    /// Width, in the measure.
    pub width: u64,
    /// The part of the width that is its own work.
    pub own: u64,
}

/// The amounts of each frame and of what is below it, in one measure.
pub(super) struct Values {
    own: Vec<u64>,
    total: Vec<u64>,
    pub(super) outside: u64,
}

impl Values {
    fn total(&self, number: usize) -> u64 {
        self.total.get(number).copied().unwrap_or_default()
    }

    pub(super) fn own(&self, number: usize) -> u64 {
        self.own.get(number).copied().unwrap_or_default()
    }
}

impl Work {
    /// Lays out a flame graph. Boxes narrower than one of `finest` parts of it are joined.
    pub fn graph(&self, scope: &WorkScope, measure: Measure, finest: Option<u64>) -> FlameGraph {
        let values = self.values(scope, measure);
        let tops = self.tops(scope);
        let inside: u64 = tops.iter().map(|number| values.total(*number)).sum();
        let outside = match scope {
            WorkScope::Frame(_) => 0,
            WorkScope::Project | WorkScope::Session(_) => values.outside,
        };
        let total = inside.saturating_add(outside);
        let mut layout = Layout {
            work: self,
            values: &values,
            narrow: finest.map_or(1, |finest| (total / finest.max(1)).max(1)),
            boxes: vec![FlameBox {
                frame: None,
                title: "all".to_owned(),
                look: Look::All,
                marks: BoxMarks::default(),
                count: tops.len() as u64,
                level: 0,
                from: 0,
                width: total,
                own: outside,
            }],
            stack: Vec::new(),
        };
        let end = layout.place(&tops, 0, 1);
        if outside > 0 {
            layout.boxes.push(FlameBox {
                frame: None,
                title: "outside of frames".to_owned(),
                look: Look::Outside,
                marks: BoxMarks::default(),
                count: 0,
                level: 1,
                from: end,
                width: outside,
                own: outside,
            });
        }
        while let Some((members, from, level)) = layout.stack.pop() {
            let mut below = Vec::new();
            for place in members.iter().filter_map(|it| self.outline.at(*it)) {
                below.extend_from_slice(place.children());
            }
            layout.place(&below, from, level);
        }
        let mut boxes = layout.boxes;
        boxes.sort_by_key(|one| (one.level, one.from));
        let levels = boxes.last().map_or(0, |deepest| deepest.level + 1);
        FlameGraph {
            measure,
            total,
            boxes,
            levels,
        }
    }

    pub(super) fn values(&self, scope: &WorkScope, measure: Measure) -> Values {
        let session = match scope {
            WorkScope::Session(session) => Some(self.ledger.session_named(session)),
            WorkScope::Project | WorkScope::Frame(_) => None,
        };
        let places = 0..self.outline.len();
        let (own, outside) = match session {
            None => {
                let own = places.map(|it| self.outline.at(it).map(|place| place.own.of(measure)));
                let outside = self.outline.outside().of(measure);
                (own.map(Option::unwrap_or_default).collect(), outside)
            }
            Some(None) => (vec![0; self.outline.len()], 0),
            Some(Some((number, known))) => self.values_of_session(number, measure, |own| {
                *own = known.outside.of(measure);
            }),
        };
        let mut values = Values {
            total: own.clone(),
            own,
            outside,
        };
        for number in self.outline.order().iter().rev() {
            let total = values.total(*number);
            let above = self.outline.at(*number).and_then(WorkPlace::parent);
            if let Some(above) = above.and_then(|above| values.total.get_mut(above)) {
                *above = above.saturating_add(total);
            }
        }
        values
    }

    fn values_of_session(
        &self,
        session: usize,
        measure: Measure,
        outside: impl FnOnce(&mut u64),
    ) -> (Vec<u64>, u64) {
        let mut own = vec![0_u64; self.outline.len()];
        let mut rest = 0;
        outside(&mut rest);
        let mut charge = |frame: &FrameId, amount: u64| {
            let number = self.outline.standing(&self.ledger, frame);
            match number.and_then(|number| own.get_mut(number)) {
                Some(own) => *own = own.saturating_add(amount),
                None => rest = rest.saturating_add(amount),
            }
        };
        if measure == Measure::Saved {
            for (frame, place, saved) in self.ledger.saved() {
                if place == session {
                    charge(&frame, saved);
                }
            }
        } else {
            for (frame, tally) in self.ledger.tallies() {
                let amount = tally.own(Some(session)).of(measure);
                if amount > 0 {
                    charge(frame, amount);
                }
            }
        }
        (own, rest)
    }
}

/// A layout in the making.
struct Layout<'w> {
    work: &'w Work,
    values: &'w Values,
    /// Width below which boxes are joined.
    narrow: u64,
    boxes: Vec<FlameBox>,
    /// Boxes whose children are not placed yet: their frames, their left edge, the level below.
    stack: Vec<(Vec<usize>, u64, usize)>,
}

impl Layout<'_> {
    /// Places siblings side by side, the widest first, and returns the right edge.
    fn place(&mut self, siblings: &[usize], from: u64, level: usize) -> u64 {
        let mut groups: BTreeMap<(&str, Look, BoxMarks), Vec<usize>> = BTreeMap::new();
        for number in siblings {
            if let Some(place) = self.work.outline.at(*number)
                && self.values.total(*number) > 0
            {
                let key = (place.title.as_str(), Look::of(place), BoxMarks::of(place));
                groups.entry(key).or_default().push(*number);
            }
        }
        let sum = |values: &dyn Fn(usize) -> u64, members: &[usize]| -> u64 {
            members.iter().map(|number| values(*number)).sum()
        };
        let mut groups: Vec<_> = groups
            .into_iter()
            .map(|(key, members)| (sum(&|it| self.values.total(it), &members), key, members))
            .collect();
        groups.sort_by(|a, b| (b.0, a.1).cmp(&(a.0, b.1)));
        let mut from = from;
        let (mut narrow, mut left_out) = (0, 0);
        for (width, (title, look, marks), members) in groups {
            if width < self.narrow || level >= DEPTH {
                narrow += width;
                left_out += members.len() as u64;
                continue;
            }
            let first = members.first().and_then(|it| self.work.outline.at(*it));
            self.boxes.push(FlameBox {
                frame: first.map(|place| place.id),
                title: title.to_owned(),
                look,
                marks,
                count: members.len() as u64,
                level,
                from,
                width,
                own: sum(&|it| self.values.own(it), &members),
            });
            self.stack.push((members, from, level + 1));
            from += width;
        }
        if narrow >= self.narrow {
            self.boxes.push(FlameBox {
                frame: None,
                title: format!("{} …", counted(left_out, "smaller frame", "smaller frames")),
                look: Look::Rest,
                marks: BoxMarks::default(),
                count: left_out,
                level,
                from,
                width: narrow,
                own: narrow,
            });
        }
        from + narrow
    }
}
