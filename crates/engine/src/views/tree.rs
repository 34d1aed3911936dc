//! The tree of frames, as lines.
//!
//! The module `gather` reads it; this file draws it. By default a tree shows open frames and the last finished ones and counts the rest, so that its
//! cost follows what is shown. With `all`, everything is read in one pass. Neither way recurses, so
//! a tree may have any depth; beyond a limit the indentation stops growing and the level is written
//! as a number instead.

mod gather;

use flamestack_core::frame::CLAIMED;
use flamestack_core::id::Timestamp;
use flamestack_core::{FrameId, Status};
use flamestack_store::{FrameRow, Totals};

pub use self::gather::gather;
use super::canvas::{IDLE, columns, shortened};
use super::{BEFORE_TITLE, Canvas, Ink, counted, frame_line, icon, one_line};
use crate::hints::Voice;

/// Maximum depth of indentation.
const DEEPEST_INDENT: usize = 24;
/// Columns of a level's indentation.
const INDENT: usize = 3;
/// Columns that a line keeps for its frame, whatever the depth.
const FRAME: usize = 32;
/// Minimum number of columns of a title beside its remarks; below that they go to the next line.
const BESIDE: usize = 20;

/// Remark on a frame that the model has answered.
const ANSWERED: &str = "answered";

/// Options of a tree.
#[derive(Clone, Debug, Default)]
pub struct TreeOptions {
    /// Only the tree below this frame.
    pub root: Option<FrameId>,
    /// Maximum number of levels.
    pub depth: Option<usize>,
    /// Shows everything, including finished work.
    pub all: bool,
    /// Only frames with this status, and those above them.
    pub status: Option<Status>,
}

/// A tree, ready to be drawn.
#[derive(Clone, Debug, Default)]
pub struct TreeView {
    /// Lines from top to bottom.
    pub lines: Vec<TreeLine>,
    /// Number of frames in the project, by status.
    pub totals: Totals,
    /// True if only the part below one frame is shown.
    pub is_part: bool,
}

/// A line of a tree.
#[derive(Clone, Debug)]
pub enum TreeLine {
    /// A frame.
    Frame(Box<FrameLine>),
    /// Frames that are not shown: finished ones before the first finished one that is, or open ones
    /// after the last.
    Hidden {
        /// Branches before the line.
        indent: Indent,
        /// Parent of the frames.
        parent: Option<FrameId>,
        /// Number of frames, by status.
        totals: Totals,
    },
}

impl TreeLine {
    /// Returns the line of a frame, without what depends on its children and sessions.
    fn unfilled(indent: Indent, row: FrameRow) -> Self {
        Self::Frame(Box::new(FrameLine {
            indent,
            row,
            children: Totals::default(),
            sessions: Vec::new(),
            is_answered: false,
            hides_children: false,
        }))
    }
}

impl TreeLine {
    /// Draws the line; with `details` also criteria and results. `you` is the session that reads it.
    pub fn draw(&self, canvas: &Canvas<'_>, you: Option<&str>, details: bool) -> String {
        match self {
            Self::Hidden {
                indent,
                parent,
                totals,
            } => {
                let (first, rest) = (indent.draw(canvas), indent.draw_beneath(canvas, false));
                let hidden = hidden(canvas.voice, parent.as_ref(), totals);
                let lines = canvas.hanging(&first, &rest, &hidden);
                canvas.ink(Ink::Dim, lines.trim_end()) + "\n"
            }
            Self::Frame(line) => line.draw(canvas, you, details),
        }
    }
}

/// A frame's line.
#[derive(Clone, Debug)]
pub struct FrameLine {
    /// Branches before the line.
    pub indent: Indent,
    /// The frame.
    pub row: FrameRow,
    /// Number of its children, by status.
    pub children: Totals,
    /// The sessions that work on it, each with the time of the last event about it.
    pub sessions: Vec<(String, Option<Timestamp>)>,
    /// True for a prompt, or a session of one prompt, that the model has answered.
    pub is_answered: bool,
    /// True if its children are left out because of the maximum depth.
    pub hides_children: bool,
}

/// The branches before a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Indent {
    /// The level; 0 for a root.
    pub depth: usize,
    /// For each level above: true if that branch continues below.
    continues: Vec<bool>,
    /// True for the last line of its level.
    last: bool,
}

impl Indent {
    fn below(&self, last: bool) -> Self {
        let mut continues = self.continues.clone();
        if self.depth > 0 && self.depth <= DEEPEST_INDENT {
            continues.push(!self.last);
        }
        Self {
            depth: self.depth + 1,
            continues,
            last,
        }
    }

    /// Returns the number of levels that are indented. A narrow terminal has room for a few.
    fn levels(canvas: &Canvas<'_>) -> usize {
        let room = |width: usize| width.saturating_sub(FRAME) / INDENT;
        let room = canvas.width.map_or(DEEPEST_INDENT, room);
        room.clamp(1, DEEPEST_INDENT)
    }

    /// Returns the branches before further lines about the same frame.
    fn draw_beneath(&self, canvas: &Canvas<'_>, has_children: bool) -> String {
        let mut text = self.branches(canvas);
        if self.depth > 0 {
            text.push_str(if self.last { "   " } else { "│  " });
        }
        text.push_str(if has_children { "│ " } else { "  " });
        text
    }

    /// Returns the branches of the levels above.
    fn branches(&self, canvas: &Canvas<'_>) -> String {
        let branch = |continues: &bool| if *continues { "│  " } else { "   " };
        let shown = self.continues.iter().take(Self::levels(canvas));
        shown.map(branch).collect()
    }

    /// Renders the branches.
    fn draw(&self, canvas: &Canvas<'_>) -> String {
        let mut text = self.branches(canvas);
        if self.depth == 0 {
            return text;
        }
        text.push_str(if self.last { "└─ " } else { "├─ " });
        if self.depth > Self::levels(canvas) {
            text.push_str(&format!("({}) ", self.depth));
        }
        text
    }
}

impl FrameLine {
    fn draw(&self, canvas: &Canvas<'_>, you: Option<&str>, details: bool) -> String {
        let frame = &self.row.frame;
        let indent = self.indent.draw(canvas);
        let beneath = self.indent.draw_beneath(canvas, self.children.all() > 0);
        let mut remarks = self.remarks().join(" · ");
        if !remarks.is_empty() {
            remarks.insert_str(0, " · ");
        }
        let sessions = self.sessions.iter().map(|(session, seen)| {
            let who = if you == Some(session.as_str()) {
                "◀ you are here".to_owned()
            } else {
                let seen = (*seen).max(Some(frame.updated_at));
                let idle = seen.and_then(|seen| canvas.age_from(seen, IDLE));
                let idle = idle.map(|age| format!(" (last active {age})"));
                format!("◀ {session}{}", idle.unwrap_or_default())
            };
            match canvas.width {
                Some(width) => shortened(&who, width.saturating_sub(columns(&beneath)).max(FRAME)),
                None => who,
            }
        });
        let sessions: Vec<String> = sessions.collect();
        let session_columns: usize = sessions.iter().map(|it| columns(it) + 2).sum();
        let tail = columns(&remarks) + session_columns;
        let used = columns(&indent) + BEFORE_TITLE;
        let title = columns(&one_line(frame.title.as_str(), usize::MAX)).min(BESIDE);
        let is_beside = canvas
            .width
            .is_none_or(|width| used + title + tail <= width);
        let after_title = if is_beside { tail } else { 0 };
        let mut text = canvas.ink(Ink::Dim, &indent);
        let taken = columns(&indent) + after_title;
        text.push_str(&frame_line(
            canvas,
            frame.status,
            &frame.id,
            &frame.title,
            taken,
        ));
        let sessions = sessions
            .iter()
            .map(|session| canvas.ink(Ink::Bold, session));
        if is_beside {
            text.push_str(&canvas.ink(Ink::Dim, &remarks));
            text.extend(sessions.map(|session| format!("  {session}")));
            text.push('\n');
        } else {
            text.push('\n');
            let remarks = canvas.ink(Ink::Dim, remarks.trim_start_matches(" · "));
            let rest: Vec<String> = std::iter::once(remarks).chain(sessions).collect();
            let rest = rest.join("  ");
            text.push_str(&canvas.hanging(&beneath, &beneath, rest.trim_start()));
        }
        for detail in self.details(canvas).into_iter().filter(|_| details) {
            let lines = canvas.hanging(&beneath, &beneath, &detail);
            text.push_str(&(canvas.ink(Ink::Dim, lines.trim_end()) + "\n"));
        }
        text
    }

    /// Returns the remarks after the title: progress, evidence, reason of a block.
    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.children.all() > 0 {
            let done = self.children.of(Status::Completed);
            let wanted = self.children.all() - self.children.of(Status::Invalidated);
            let hidden = if self.hides_children {
                ", not shown"
            } else {
                ""
            };
            if wanted > 0 {
                remarks.push(format!("{done}/{wanted} done{hidden}"));
            } else if self.hides_children {
                // Invalidated children are not work to do.
                let given_up = super::grouped(self.children.all());
                remarks.push(format!("{given_up} invalidated{hidden}"));
            }
        }
        let checks = self.row.proofs.saturating_sub(self.row.commits);
        if checks > 0 {
            remarks.push(counted(checks, "check passed", "checks passed"));
        }
        if self.row.failures > 0 {
            remarks.push(counted(self.row.failures, "check failed", "checks failed"));
        }
        if self.row.commits > 0 {
            remarks.push(counted(self.row.commits, "commit", "commits"));
        }
        if self.row.standing().is_claimed {
            remarks.push(CLAIMED.to_owned());
        }
        if self.is_answered {
            remarks.push(ANSWERED.to_owned());
        }
        if let Some(reason) = &self.row.frame.blocked_on {
            remarks.push(format!("blocked: {}", one_line(reason.as_str(), 40)));
        }
        remarks
    }

    /// Returns criteria and results, one line each.
    fn details(&self, canvas: &Canvas<'_>) -> Vec<String> {
        let frame = &self.row.frame;
        let used = 12 + INDENT * (self.indent.depth.min(DEEPEST_INDENT) + 1);
        let detail =
            |name: &str, text: String| format!("{name}: {}", canvas.excerpt(&text, 100, used));
        let criteria = frame.compacted_criteria();
        let criteria = criteria.map(|text| detail("done when", text));
        let results = frame.compacted_results();
        let results = results.map(|text| detail("results", text));
        criteria.into_iter().chain(results).collect()
    }
}

/// Renders a line of hidden frames: finished ones are earlier, open ones later than those shown.
pub(super) fn hidden(voice: Voice, parent: Option<&FrameId>, totals: &Totals) -> String {
    let call = match (voice, parent) {
        (Voice::Cli, Some(parent)) => format!("flame tree {parent} --all"),
        (Voice::Cli, None) => "flame tree --all".to_owned(),
        (Voice::Tool, Some(parent)) => format!("stack_tree with rootID {parent} and showFull"),
        (Voice::Tool, None) => "stack_tree with showFull".to_owned(),
    };
    let side = if totals.open() > 0 {
        "later"
    } else {
        "earlier"
    };
    let statuses: Vec<Status> = Status::ALL
        .into_iter()
        .filter(|status| totals.of(*status) > 0)
        .collect();
    let frames = match statuses.as_slice() {
        [status] => counted(
            totals.all(),
            &format!("{side} {status} frame"),
            &format!("{side} {status} frames"),
        ),
        _ => format!(
            "{}: {}",
            counted(
                totals.all(),
                &format!("{side} frame"),
                &format!("{side} frames")
            ),
            by_status(totals)
        ),
    };
    format!("… {frames} ({call})")
}

fn by_status(totals: &Totals) -> String {
    let parts: Vec<String> = Status::ALL
        .into_iter()
        .filter(|status| totals.of(*status) > 0)
        .map(|status| format!("{} {status}", super::grouped(totals.of(status))))
        .collect();
    parts.join(", ")
}

/// Returns the legend of the signs.
fn legend(canvas: &Canvas<'_>) -> String {
    let signs = [
        Status::InProgress,
        Status::Planned,
        Status::Blocked,
        Status::Completed,
        Status::Failed,
        Status::Invalidated,
    ];
    signs
        .map(|status| canvas.unbroken(&format!("{} {status}", icon(status))))
        .join("  ")
}

/// Renders the number of frames, by status.
pub fn totals_in_words(totals: &Totals) -> String {
    if totals.all() == 0 {
        return "no frames yet".to_owned();
    }
    let all = counted(totals.all(), "frame", "frames");
    format!("{all}: {}", by_status(totals))
}

impl TreeView {
    /// Returns the legend: the signs, and the remarks of this tree that need words.
    pub fn legend(&self, canvas: &Canvas<'_>) -> String {
        let mut text = canvas.paragraph("", &legend(canvas));
        let is_claimed = |line: &TreeLine| match line {
            TreeLine::Frame(line) => line.row.standing().is_claimed,
            TreeLine::Hidden { .. } => false,
        };
        let is_answered =
            |line: &TreeLine| matches!(line, TreeLine::Frame(line) if line.is_answered);
        if self.lines.iter().any(is_answered) {
            let words = format!("{ANSWERED}: the model's turn is over, and the session can go on");
            text.push_str(&canvas.paragraph("", &words));
        }
        if self.lines.iter().any(is_claimed) {
            let record = match canvas.voice {
                Voice::Cli => " (`flame check` records one)",
                Voice::Tool => "",
            };
            let words =
                format!("{CLAIMED}: completed without a recorded check, test or commit{record}");
            text.push_str(&canvas.paragraph("", &words));
        }
        text
    }
}

/// Renders the tree; with `details` also criteria and results.
pub fn render(
    canvas: &Canvas<'_>,
    view: &TreeView,
    session: Option<&str>,
    details: bool,
) -> String {
    let lines = view.lines.iter();
    let mut text: String = lines
        .map(|line| line.draw(canvas, session, details))
        .collect();
    let in_all = if view.is_part { "in all, " } else { "" };
    let totals = format!("{in_all}{}", totals_in_words(&view.totals));
    let totals = canvas.paragraph("", &totals);
    text.push_str(&format!("\n{totals}{}", view.legend(canvas)));
    text
}
