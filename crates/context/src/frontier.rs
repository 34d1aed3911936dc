//! The frontier of the work: what is done, next and blocked, and which attempts failed.

use crate::surroundings::Surroundings;
use flamestack_core::frame::{Frame, Status};
use flamestack_core::id::FrameId;
use flamestack_core::note::Note;
use flamestack_core::text::Text;

/// The frontier of the work. Finished and invalidated frames are never in `next`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frontier<'a> {
    /// Completed children, in the order in which they ended.
    pub done: Vec<&'a Frame>,
    /// The first planned child, else the next planned sibling.
    pub next: Option<&'a Frame>,
    /// Blocked frames, including the current one.
    pub blocked: Vec<&'a Frame>,
    /// Failed attempts of ancestors, failed frames, attempts of finished siblings and children and of the
    /// current frame. What an error of the provider ended is not among them.
    pub failed: Vec<Failed<'a>>,
}

/// A failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed<'a> {
    /// A failed frame; its results say why.
    Frame(&'a Frame),
    /// An attempt inside a frame.
    Attempt {
        /// Frame of the attempt.
        frame: &'a FrameId,
        /// Description of the attempt.
        text: &'a str,
        /// Reason of the failure.
        why: Option<&'a str>,
    },
}

impl Surroundings {
    /// Returns the frontier of a frame.
    pub fn frontier(&self) -> Frontier<'_> {
        let mut done: Vec<&Frame> = with_status(&self.children.frames, Status::Completed).collect();
        done.sort_by_key(|frame| in_order(frame));
        let here = std::iter::once(&self.current);
        let waiting = here.chain(&self.open.frames);
        let mut failed: Vec<Failed<'_>> = Vec::new();
        for frame in self.ancestors.iter().rev() {
            failed.extend(attempts(frame));
        }
        let siblings = failed_frames(&self.siblings);
        let children = failed_frames(&self.children.frames);
        let mut given_up: Vec<&Frame> = siblings.chain(children).collect();
        given_up.sort_by_key(|frame| in_order(frame));
        let planned = self.planned.frames.iter();
        let first_planned = planned.min_by_key(|frame| (frame.rank, &frame.id));
        failed.extend(given_up.into_iter().map(Failed::Frame));
        // Beside a root are other trees.
        let siblings = match &self.current.parent {
            Some(_) => &*self.siblings,
            None => &[],
        };
        for finished in [siblings, &self.children.frames] {
            let mut finished: Vec<&Frame> = finished.iter().collect();
            finished.sort_by_key(|frame| in_order(frame));
            failed.extend(finished.into_iter().flat_map(attempts));
        }
        failed.extend(attempts(&self.current));
        Frontier {
            done,
            next: first_planned.or(self.next.as_ref()),
            blocked: waiting
                .filter(|frame| frame.status == Status::Blocked)
                .collect(),
            failed,
        }
    }
}

/// Returns the key of the order in which frames ended; ids break the ties of one command.
pub(super) fn in_order(frame: &Frame) -> (i64, i64, &FrameId) {
    (
        frame.closed.unwrap_or(frame.changed).0,
        frame.rank.0,
        &frame.id,
    )
}

/// Returns the frames with a status.
pub(super) fn with_status(
    frames: &[Frame],
    status: Status,
) -> impl Iterator<Item = &Frame> + Clone {
    frames.iter().filter(move |frame| frame.status == status)
}

/// Returns the frames whose work failed.
pub(super) fn failed_frames(frames: &[Frame]) -> impl Iterator<Item = &Frame> + Clone {
    with_status(frames, Status::Failed).filter(|frame| !frame.is_ended_by_error())
}

/// Returns the failed attempts of a frame, oldest first.
pub(super) fn attempts(frame: &Frame) -> impl DoubleEndedIterator<Item = Failed<'_>> {
    frame.notes.iter().filter_map(|note| match note {
        Note::FailedAttempt { text, why } => Some(Failed::Attempt {
            frame: &frame.id,
            text: text.as_str(),
            why: why.as_ref().map(Text::as_str),
        }),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::around;

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
              done Stock
                tried = Scanning
              blocked Invoices
              * Checkout
                tried = Polling
                done Cart
                  tried = Cookies
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
        assert_eq!(
            failed,
            [
                "One big table",
                "PayPal",
                "Cheques",
                "Scanning",
                "Cookies",
                "Polling"
            ]
        );
    }

    #[test]
    fn what_the_provider_refused_is_no_failed_attempt() {
        let mut around = around("doing Shop\n  failed PayPal\n  failed Cheques\n  * Cart");
        let refused = around.siblings.first_mut().unwrap();
        refused.origin = flamestack_core::frame::Origin::Prompt;
        let error = "Ended by an error: APIError: no credit";
        refused.results = Some(Text::new(error).unwrap());
        let failed = around.frontier().failed;
        let [Failed::Frame(only)] = failed.as_slice() else {
            panic!("{failed:?}");
        };
        assert_eq!(only.title.as_str(), "Cheques");
    }

    #[test]
    fn without_a_plan_below_the_next_sibling_is_next() {
        let around = around("doing Shop\n  planned Before\n  * Cart\n  planned After");
        assert_eq!(around.frontier().next.unwrap().title.as_str(), "After");
    }
}
