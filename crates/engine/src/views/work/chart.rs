//! Flame charts: work in the order of time, with a lane for each session.
//!
//! A session works on one frame at a time, so the boxes of a lane nest and never overlap; what happens
//! in parallel is in other lanes.

use std::collections::{BTreeMap, BTreeSet};

use flamestack_core::FrameId;

use super::axis::Axis;
use super::flame::{BoxMarks, Look};
use super::outline::WorkPlace;
use super::working_time::Segment;
use super::{Work, WorkScope};

/// Maximum depth of a lane.
const DEPTH: usize = 200;

/// A flame chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlameChart {
    /// The time axis.
    pub axis: Axis,
    /// The lanes, in the order in which their sessions began.
    pub lanes: Vec<Lane>,
}

/// The work of one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// The session.
    pub session: String,
    /// The boxes, in the order of time, those above first.
    pub boxes: Vec<ChartBox>,
    /// Number of levels.
    pub levels: usize,
}

/// A stretch of work on a frame or on something below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartBox {
    /// The frame; none outside of frames.
    pub frame: Option<FrameId>,
    /// Its title.
    pub title: String,
    /// Its look.
    pub look: Look,
    /// Facts that its look does not show.
    pub marks: BoxMarks,
    /// Level in the lane, from 0.
    pub level: usize,
    /// Begin in milliseconds.
    pub from: i64,
    /// End in milliseconds.
    pub to: i64,
}

impl Work {
    /// Lays out a flame chart. Boxes narrower than one of `finest` parts of it are joined.
    pub fn chart(&self, scope: &WorkScope, finest: Option<u64>) -> FlameChart {
        let mut lanes: BTreeMap<usize, Vec<Segment>> = BTreeMap::new();
        let below = match scope {
            WorkScope::Frame(frame) => Some(self.below(frame)),
            WorkScope::Project | WorkScope::Session(_) => None,
        };
        let session = match scope {
            WorkScope::Session(session) => {
                let known = self.ledger.session_named(session);
                Some(known.map_or(usize::MAX, |(place, _)| place))
            }
            WorkScope::Project | WorkScope::Frame(_) => None,
        };
        let mut stretches = Vec::new();
        for segment in self.ledger.segments() {
            let frame = segment.frame;
            let number = frame.and_then(|it| self.outline.standing(&self.ledger, &it));
            let is_below = |below: &BTreeSet<usize>| number.is_some_and(|it| below.contains(&it));
            if below.as_ref().is_some_and(|below| !is_below(below))
                || session.is_some_and(|session| session != segment.session)
            {
                continue;
            }
            stretches.push((segment.from, segment.to));
            lanes.entry(segment.session).or_default().push(*segment);
        }
        let axis = Axis::new(stretches);
        let narrow = finest.map_or(0, |finest| {
            axis.length() / i64::try_from(finest.max(1)).unwrap_or(i64::MAX)
        });
        let lanes = lanes.into_iter().map(|(session, segments)| {
            let boxes = self.lane(session, &segments);
            let boxes = joined(boxes, narrow, &axis);
            let key = self
                .ledger
                .session(session)
                .map(|known| known.key.to_string());
            Lane {
                session: key.unwrap_or_default(),
                levels: boxes.iter().map(|it| it.level + 1).max().unwrap_or(0),
                boxes,
            }
        });
        FlameChart {
            lanes: lanes.collect(),
            axis,
        }
    }

    fn below(&self, frame: &FrameId) -> BTreeSet<usize> {
        let mut below = BTreeSet::new();
        let mut stack: Vec<usize> = self.outline.number(frame).into_iter().collect();
        while let Some(number) = stack.pop() {
            below.insert(number);
            let place = self.outline.at(number);
            stack.extend_from_slice(place.map(WorkPlace::children).unwrap_or_default());
        }
        below
    }

    /// Makes the boxes of a lane: neighbours that share the upper part of their paths share its boxes.
    fn lane(&self, session: usize, segments: &[Segment]) -> Vec<ChartBox> {
        let own = self.ledger.session(session).and_then(|known| known.own);
        let own = own.and_then(|own| self.outline.number(&own));
        let mut boxes: Vec<ChartBox> = Vec::new();
        // The open boxes: the frame and the place of each in the list.
        let mut open: Vec<(Option<usize>, usize)> = Vec::new();
        let mut end = i64::MIN;
        for segment in segments {
            let number = segment
                .frame
                .and_then(|frame| self.outline.standing(&self.ledger, &frame));
            let mut path: Vec<Option<usize>> = match number {
                Some(number) => self.outline.path(number).into_iter().map(Some).collect(),
                None => vec![None],
            };
            // A subagent's lane begins with its own frame.
            if let Some(at) = path.iter().position(|it| it.is_some() && *it == own) {
                path.drain(..at);
            }
            path.truncate(DEPTH);
            let shared = if segment.from == end {
                let pairs = open.iter().zip(&path);
                pairs
                    .take_while(|((frame, _), other)| frame == *other)
                    .count()
            } else {
                0
            };
            open.truncate(shared);
            for (_, place) in &open {
                if let Some(known) = boxes.get_mut(*place) {
                    known.to = segment.to;
                }
            }
            for (level, frame) in path.into_iter().enumerate().skip(shared) {
                open.push((frame, boxes.len()));
                boxes.push(self.chart_box(frame, level, segment));
            }
            end = segment.to;
        }
        boxes
    }

    fn chart_box(&self, frame: Option<usize>, level: usize, segment: &Segment) -> ChartBox {
        let place = frame.and_then(|frame| self.outline.at(frame));
        ChartBox {
            frame: place.map(|place| place.id),
            title: place.map_or_else(|| "outside of frames".to_owned(), |it| it.title.clone()),
            look: place.map_or(Look::Outside, Look::of),
            marks: place.map(BoxMarks::of).unwrap_or_default(),
            level,
            from: segment.from,
            to: segment.to,
        }
    }
}

/// Joins boxes that are too narrow with their neighbours of the same level.
fn joined(boxes: Vec<ChartBox>, narrow: i64, axis: &Axis) -> Vec<ChartBox> {
    if narrow <= 0 {
        return boxes;
    }
    let width = |it: &ChartBox| axis.place(it.to) - axis.place(it.from);
    let mut kept: Vec<ChartBox> = Vec::new();
    let mut last: BTreeMap<usize, usize> = BTreeMap::new();
    for one in boxes {
        if width(&one) >= narrow {
            last.insert(one.level, kept.len());
            kept.push(one);
            continue;
        }
        let before = last.get(&one.level).and_then(|it| kept.get_mut(*it));
        match before {
            Some(rest)
                if rest.look == Look::Rest
                    && axis.place(one.from) - axis.place(rest.to) <= narrow =>
            {
                rest.to = one.to.max(rest.to);
            }
            _ => {
                last.insert(one.level, kept.len());
                kept.push(ChartBox {
                    frame: None,
                    title: "…".to_owned(),
                    look: Look::Rest,
                    marks: BoxMarks::default(),
                    ..one
                });
            }
        }
    }
    // What is still too narrow to be seen goes.
    kept.retain(|it| width(it) * 2 >= narrow);
    kept
}
