//! The view model of the work: rows, amounts, flame graphs, time lines. Pages, terminals, pictures and
//! exports are drawn from it, so they cannot disagree.
//!
//! [`Work`] is kept by a front that stays and brought up to date from the journal: an update costs what
//! is new. It has no types of a terminal or a browser, and reads no clock: the same journal gives the
//! same view.

mod amounts;
mod axis;
mod calls;
mod changes;
mod chart;
mod flame;
mod folds;
mod ledger;
mod outline;
mod rows;
mod sections;
mod stacks;
mod timeline;
mod working_time;

use flamestack_core::FrameId;
use flamestack_core::id::{Seq, SessionRef};
use flamestack_store::Reading;

pub use self::amounts::{Amounts, Measure};
pub use self::axis::Axis;
pub use self::calls::ChargedCall;
pub use self::chart::{ChartBox, FlameChart, Lane};
pub use self::flame::{BoxMarks, FlameBox, FlameGraph, Look};
pub use self::outline::WorkPlace;
pub use self::rows::{Opened, WorkRow, WorkRows};
pub use self::sections::{CompactionReceipt, LeftOut, SectionView, SentView, sections};
pub use self::timeline::{MarkKind, SessionMark, TimelineRow};

use self::ledger::Ledger;
use self::outline::Outline;
use crate::error::Result;

/// Number of events that are read at a time.
const STEP: usize = 2_000;

/// The work of a project, as of a position of the journal.
#[derive(Debug, Default)]
pub struct Work {
    ledger: Ledger,
    outline: Outline,
    /// The last event that the outline knew when it was read before the events.
    outlined: Seq,
    is_counted: bool,
}

/// The part of the work that a picture shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WorkScope {
    /// Everything.
    #[default]
    Project,
    /// A frame and what is below it.
    Frame(FrameId),
    /// The work of one session.
    Session(SessionRef),
}

impl Work {
    /// Reads the whole work of a project.
    pub fn read(reading: &dyn Reading) -> Result<Self> {
        let mut work = Self::default();
        while !work.catch_up(reading)? {}
        Ok(work)
    }

    /// Reads some of the events that are new. Returns true when nothing is left to read; until then the
    /// rows and amounts are those of the last time it was.
    ///
    /// Of a long journal the tree is read first, from the projections: it is there in a fraction of the
    /// time that the amounts take.
    pub fn catch_up(&mut self, reading: &dyn Reading) -> Result<bool> {
        let last = reading.position()?;
        // A store that was replaced may be shorter than what was read of the former one.
        if last < self.position().max(self.outlined) {
            *self = Self::default();
        }
        let is_unread = self.position() == Seq(0) && self.outlined == Seq(0);
        if is_unread && usize::try_from(last.0).is_ok_and(|events| events > STEP) {
            self.outline.load(reading)?;
            self.outlined = last;
            return Ok(false);
        }
        let events = reading.events_after(self.ledger.position(), STEP)?;
        for recorded in &events {
            self.ledger.apply(recorded, recorded.seq > self.outlined);
        }
        let is_last = self.ledger.position() >= last;
        if is_last && self.ledger.changes.has_changed() {
            self.outline.update(reading, &mut self.ledger)?;
        }
        self.is_counted |= is_last;
        Ok(is_last)
    }

    /// Returns true if the amounts are known: the whole journal was read at least once. Before that they
    /// are zero.
    pub fn is_counted(&self) -> bool {
        self.is_counted
    }

    /// The last event that was read.
    pub fn position(&self) -> Seq {
        self.ledger.position()
    }

    /// Number of frames.
    pub fn frames(&self) -> usize {
        self.outline.len()
    }

    /// Returns the amounts of everything: all frames, and what belongs to none.
    pub fn total(&self) -> Amounts {
        self.outline.total()
    }

    /// Returns the place of a frame in the tree, with its amounts.
    pub fn place(&self, frame: &FrameId) -> Option<&WorkPlace> {
        self.outline.place(frame)
    }

    /// Visits the frames with the titles above them: parents first, siblings in order.
    pub fn each_place(&self, each: &mut dyn FnMut(&WorkPlace, usize)) {
        self.outline.each(each);
    }
}
