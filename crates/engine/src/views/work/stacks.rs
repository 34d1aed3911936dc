//! Stacks: frames with work of their own, each with the frames above it, as other programs read them.
//!
//! The work of frames below [`DEPTH`] counts towards the frame above them at that level: a chain of frames would
//! otherwise be written in a space that grows with the square of its length.

use std::collections::BTreeMap;

use flamestack_core::{FrameId, SessionRef};

use super::amounts::Measure;
use super::flame::DEPTH;
use super::outline::WorkPlace;
use super::{Work, WorkScope};

/// A part of the tree in the order of lines.
struct Lines {
    /// Frames with their depths, parents first.
    lines: Vec<(usize, usize)>,
    /// The line that shows each frame; `usize::MAX` for a frame outside of the part.
    line_of: Vec<usize>,
}

impl Work {
    /// Visits the stacks of a part of the work: the frames from its root down to one, and the amount of work of
    /// that one's own.
    pub fn each_stack(
        &self,
        scope: &WorkScope,
        measure: Measure,
        each: &mut dyn FnMut(&[&WorkPlace], u64),
    ) {
        let values = self.values(scope, measure);
        let lines = self.lines(self.tops(scope));
        let mut own = vec![0_u64; lines.lines.len()];
        for (number, line) in lines.line_of.iter().enumerate() {
            if let Some(own) = own.get_mut(*line) {
                *own = own.saturating_add(values.own(number));
            }
        }
        let mut path: Vec<&WorkPlace> = Vec::new();
        for ((number, depth), own) in lines.lines.iter().zip(own) {
            path.truncate(*depth);
            path.extend(self.outline.at(*number));
            if own > 0 {
                each(&path, own);
            }
        }
        if values.outside > 0 && !matches!(scope, WorkScope::Frame(_)) {
            each(&[], values.outside);
        }
    }

    /// Visits the stacks of all sessions, session by session, in the order in which they began. All are found in
    /// one pass: a pass for each took minutes with ten thousand sessions.
    pub fn each_session_stack(
        &self,
        measure: Measure,
        each: &mut dyn FnMut(&SessionRef, &[&WorkPlace], u64),
    ) {
        let lines = self.lines(self.outline.roots().to_vec());
        // Work that belongs to no frame comes last.
        let outside = usize::MAX;
        let mut amounts: BTreeMap<(usize, usize), u64> = BTreeMap::new();
        let mut charge = |session: usize, line: usize, amount: u64| {
            if amount > 0 {
                let sum = amounts.entry((session, line)).or_default();
                *sum = sum.saturating_add(amount);
            }
        };
        let line = |frame: &FrameId| {
            let number = self.outline.standing(&self.ledger, frame);
            let line = number.and_then(|number| lines.line_of.get(number));
            line.copied().unwrap_or(outside)
        };
        if measure == Measure::Saved {
            for (frame, session, saved) in self.ledger.saved() {
                charge(session, line(&frame), saved);
            }
        } else {
            for (frame, tally) in self.ledger.tallies() {
                for (session, own) in &tally.parts {
                    charge(*session, line(frame), own.of(measure));
                }
            }
            for (session, known) in self.ledger.sessions().iter().enumerate() {
                charge(session, outside, known.outside.of(measure));
            }
        }
        for ((session, line), amount) in amounts {
            let Some(known) = self.ledger.session(session) else {
                continue;
            };
            let number = lines.lines.get(line).map(|(number, _)| *number);
            let path = number.map_or_else(Vec::new, |number| self.outline.path(number));
            let path: Vec<&WorkPlace> = path.iter().filter_map(|it| self.outline.at(*it)).collect();
            each(&known.key, &path, amount);
        }
    }

    fn lines(&self, tops: Vec<usize>) -> Lines {
        let mut lines = Lines {
            lines: Vec::new(),
            line_of: vec![usize::MAX; self.outline.len()],
        };
        // The last part is the line of the frame above.
        let mut stack: Vec<(usize, usize, usize)> =
            tops.into_iter().rev().map(|it| (it, 0, 0)).collect();
        while let Some((number, depth, above)) = stack.pop() {
            let (Some(place), Some(line_of)) =
                (self.outline.at(number), lines.line_of.get_mut(number))
            else {
                continue;
            };
            let line = if depth < DEPTH {
                lines.lines.push((number, depth));
                lines.lines.len() - 1
            } else {
                above
            };
            *line_of = line;
            let below = place.children().iter().rev();
            stack.extend(below.map(|it| (*it, depth + 1, line)));
        }
        lines
    }
}
