//! The time in which sessions work, in segments of one frame each.

use flamestack_core::FrameId;
use flamestack_core::id::Timestamp;

/// Time without an event after which a session counts as paused, in milliseconds: an hour.
const PAUSE: i64 = 60 * 60 * 1000;

/// A stretch of time in which a session worked on one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) session: usize,
    pub(super) frame: Option<FrameId>,
    pub(super) from: i64,
    pub(super) to: i64,
}

impl Segment {
    /// Returns its length in milliseconds.
    pub(super) fn length(&self) -> u64 {
        self.to.saturating_sub(self.from).unsigned_abs()
    }
}

/// The time between two events of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    /// No time passed.
    None,
    /// The session rested.
    Rest,
    /// The session worked.
    Work,
}

impl Gap {
    /// Classifies the time between the last event of a session and the next one.
    pub(super) fn between(last: Timestamp, at: Timestamp, is_working: bool) -> Self {
        match at.0.saturating_sub(last.0) {
            ..=0 => Self::None,
            gap if is_working && gap < PAUSE => Self::Work,
            _ => Self::Rest,
        }
    }
}

/// The segments of all sessions, in the order of their beginnings.
#[derive(Debug, Default)]
pub(super) struct WorkingTime {
    segments: Vec<Segment>,
}

impl WorkingTime {
    pub(super) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Adds a stretch of work to the segment that the session is in, or as a new segment. Returns the
    /// number of the segment.
    pub(super) fn add(&mut self, current: Option<usize>, stretch: Segment) -> usize {
        if let Some(number) = current
            && let Some(segment) = self.segments.get_mut(number)
            && segment.frame == stretch.frame
            && segment.to == stretch.from
        {
            segment.to = stretch.to;
            return number;
        }
        self.segments.push(stretch);
        self.segments.len() - 1
    }
}
