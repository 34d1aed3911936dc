//! Where the work stands: what is done, what is being done, what comes next, what waits, and
//! what was tried in vain.

use crate::context::surroundings::Surroundings;
use crate::frame::{Frame, Status};
use crate::id::FrameId;
use crate::note::Note;
use crate::text::Prose;

/// Where the work stands. Finished and invalidated frames are never in `next`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frontier<'a> {
    /// Children that are completed, in the order in which they were.
    pub done: Vec<&'a Frame>,
    /// The frame that is worked on.
    pub doing: &'a Frame,
    /// The first planned child, else the next planned sibling.
    pub next: Option<&'a Frame>,
    /// What waits for something, the frame itself included.
    pub blocked: Vec<&'a Frame>,
    /// What was tried in vain, here and above.
    pub failed: Vec<Failed<'a>>,
}

/// Something that did not work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed<'a> {
    /// A whole frame; its results say what was learned.
    Frame(&'a Frame),
    /// An attempt inside a frame.
    Attempt {
        /// Where it was made.
        frame: &'a FrameId,
        /// What was tried.
        text: &'a str,
        /// Why it failed.
        why: Option<&'a str>,
    },
}

impl Surroundings {
    /// Where the work stands.
    pub fn frontier(&self) -> Frontier<'_> {
        let mut done: Vec<&Frame> = self
            .children
            .frames
            .iter()
            .filter(|child| child.status == Status::Completed)
            .collect();
        done.sort_by_key(|frame| in_order(frame));
        let here = std::iter::once(&self.current);
        let waiting = here.chain(&self.open.frames);
        let mut failed: Vec<Failed<'_>> = Vec::new();
        for frame in self.ancestors.iter().rev() {
            failed.extend(attempts(frame));
        }
        let mut given_up: Vec<&Frame> = self
            .siblings
            .iter()
            .chain(&self.children.frames)
            .filter(|frame| frame.status == Status::Failed)
            .collect();
        given_up.sort_by_key(|frame| in_order(frame));
        let planned = self.planned.frames.iter();
        let first_planned = planned.min_by_key(|frame| (frame.rank, &frame.id));
        failed.extend(given_up.into_iter().map(Failed::Frame));
        failed.extend(attempts(&self.current));
        Frontier {
            done,
            doing: &self.current,
            next: first_planned.or(self.next.as_ref()),
            blocked: waiting
                .filter(|frame| frame.status == Status::Blocked)
                .collect(),
            failed,
        }
    }
}

/// The order in which frames were finished; ids break the ties of one command.
pub(super) fn in_order(frame: &Frame) -> (i64, i64, &FrameId) {
    (
        frame.closed.unwrap_or(frame.changed).0,
        frame.rank.0,
        &frame.id,
    )
}

/// What was tried in vain inside a frame, oldest first.
pub(super) fn attempts(frame: &Frame) -> impl DoubleEndedIterator<Item = Failed<'_>> {
    frame.notes.iter().filter_map(|note| match note {
        Note::FailedAttempt { text, why } => Some(Failed::Attempt {
            frame: &frame.id,
            text: text.as_str(),
            why: why.as_ref().map(Prose::as_str),
        }),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::fixtures::around;

    fn titles(frames: &[&Frame]) -> Vec<String> {
        frames.iter().map(|frame| frame.title.to_string()).collect()
    }

    #[test]
    fn where_the_work_stands() {
        let around = around(
            "
            doing Shop
              tried = One big table
              failed PayPal
              blocked Invoices
              * Checkout
                tried = Polling
                done Cart
                invalidated Vouchers
                done Address
                failed Cheques
                planned Receipts
                planned Refunds
              planned Shipping
            ",
        );
        let frontier = around.frontier();
        assert_eq!(titles(&frontier.done), ["Cart", "Address"]);
        assert_eq!(frontier.doing.title.as_str(), "Checkout");
        assert_eq!(frontier.next.unwrap().title.as_str(), "Receipts");
        assert_eq!(titles(&frontier.blocked), ["Invoices"]);
        let failed: Vec<&str> = frontier
            .failed
            .iter()
            .map(|failed| match failed {
                Failed::Frame(frame) => frame.title.as_str(),
                Failed::Attempt { text, .. } => text,
            })
            .collect();
        assert_eq!(failed, ["One big table", "PayPal", "Cheques", "Polling"]);
    }

    #[test]
    fn without_a_plan_below_the_next_sibling_is_next() {
        let around = around("doing Shop\n  planned Before\n  * Cart\n  planned After");
        assert_eq!(around.frontier().next.unwrap().title.as_str(), "After");
    }
}
