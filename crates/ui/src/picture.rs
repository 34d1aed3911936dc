//! Pictures of the work as files: a drawing to look at, and formats that other programs read.
//!
//! The same journal gives the same bytes.

mod folded;
mod speedscope;
mod svg;
mod trace;

use flamestack_core::frame::CLAIMED;
use flamestack_engine::views::icon;
use flamestack_engine::views::work::{BoxMarks, Look, Measure, Work, WorkPlace, WorkScope};

/// A picture to draw.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The part of the work.
    pub scope: WorkScope,
    /// The amount shown by a graph.
    pub measure: Measure,
    /// Merged and sorted, or in the order of time.
    pub order: Order,
    /// Title, such as the name of the project.
    pub title: String,
}

/// Order of the boxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// A flame graph: merged and sorted.
    Merged,
    /// A flame chart: in the order of time, with a lane for each session.
    InTime,
}

impl Picture {
    /// Draws it as one SVG file that zooms and searches.
    pub fn svg(&self, work: &Work) -> String {
        match self.order {
            Order::Merged => svg::graph(self, work),
            Order::InTime => svg::chart(self, work),
        }
    }

    /// Writes a speedscope file: one profile for each session.
    pub fn speedscope(&self, work: &Work) -> String {
        speedscope::write(self, work)
    }

    /// Writes folded stacks, as `inferno` and `flamegraph.pl` read them.
    pub fn folded(&self, work: &Work) -> String {
        folded::write(self, work)
    }

    /// Writes a trace for Chrome and Perfetto: one track for each session.
    pub fn trace(&self, work: &Work) -> String {
        trace::write(self, work)
    }
}

/// Returns a title with what a reader of plain text has to know of the frame: its sign, and in words
/// that it was folded, given up, only claimed to be done, or dropped.
pub(crate) fn label(title: &str, look: Look, marks: BoxMarks) -> String {
    let mut label = String::new();
    if let Some(sign) = sign(look) {
        label.push_str(sign);
        label.push(' ');
    }
    label.push_str(title);
    if let Some(word) = word(look) {
        label.push_str(&format!(" ({word})"));
    }
    if marks.is_claimed {
        label.push_str(&format!(" ({CLAIMED})"));
    }
    if marks.is_dropped {
        label.push_str(" (text dropped)");
    }
    label
}

fn label_of(place: &WorkPlace) -> String {
    label(&place.title, Look::of(place), BoxMarks::of(place))
}

fn sign(look: Look) -> Option<&'static str> {
    use flamestack_core::Status;
    let status = match look {
        Look::Active => Status::InProgress,
        Look::Planned => Status::Planned,
        Look::Blocked => Status::Blocked,
        Look::Completed | Look::Folded => Status::Completed,
        Look::Failed => Status::Failed,
        Look::Invalidated => Status::Invalidated,
        Look::All | Look::Outside | Look::Rest => return None,
    };
    Some(icon(status))
}

fn word(look: Look) -> Option<&'static str> {
    match look {
        Look::Folded => Some("folded"),
        Look::Invalidated => Some("invalidated"),
        _ => None,
    }
}
