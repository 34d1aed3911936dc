//! The tree of frames, as lines.
//!
//! By default a tree shows open frames and the last finished ones and counts the rest, so that its
//! cost follows what is shown. With `all`, everything is read in one pass. Neither way recurses, so
//! a tree may have any depth; beyond a limit the indentation stops growing and the level is written
//! as a number instead.

use std::collections::BTreeMap;

use flamestack_core::{FrameId, Note, Status};
use flamestack_store::{FrameRow, Reading, Totals};

use super::{Ink, Paint, counted, frame_line, icon, level, one_line, unpainted};
use crate::error::Result;

/// Maximum number of finished frames shown on one level.
const FINISHED: usize = 5;
/// Maximum number of open frames shown on one level.
const OPEN: usize = 25;
/// Maximum depth of indentation.
const DEEPEST_INDENT: usize = 24;

/// Options of a tree.
#[derive(Clone, Debug, Default)]
pub struct TreeOptions {
    /// Only the tree below this frame.
    pub root: Option<FrameId>,
    /// Maximum number of levels.
    pub depth: Option<usize>,
    /// Shows everything, including finished work.
    pub all: bool,
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
    /// Frames that are not shown.
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
            folded: false,
        }))
    }
}

impl TreeLine {
    /// Draws the line; with `details` also criteria and results. `you` is the session that reads it.
    pub fn draw(&self, you: Option<&str>, details: bool, paint: Paint<'_>) -> String {
        let line = match self {
            Self::Hidden {
                indent,
                parent,
                totals,
            } => {
                let hidden = format!("{}{}", indent.draw(), hidden(parent.as_ref(), totals));
                return paint(Ink::Dim, &hidden) + "\n";
            }
            Self::Frame(line) => line,
        };
        let frame = &line.row.frame;
        let mut text = paint(Ink::Dim, &line.indent.draw());
        text.push_str(&frame_line(frame.status, &frame.id, &frame.title, paint));
        for remark in line.remarks() {
            text.push_str(&paint(Ink::Dim, &format!(" · {remark}")));
        }
        for session in &line.sessions {
            let here = you == Some(session.as_str());
            let who = if here { "you are here" } else { session };
            text.push_str(&format!("  {}", paint(Ink::Bold, &format!("◀ {who}"))));
        }
        text.push('\n');
        let beneath = line.indent.draw_beneath(line.children.all() > 0);
        for detail in line.details().into_iter().filter(|_| details) {
            text.push_str(&paint(Ink::Dim, &format!("{beneath}{detail}")));
            text.push('\n');
        }
        text
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
    /// The sessions that work on it.
    pub sessions: Vec<String>,
    /// True if its children are left out because of the maximum depth.
    pub folded: bool,
}

/// The branches before a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Indent {
    /// The level; 0 for a root.
    pub depth: usize,
    /// For each level above: true if that branch continues below.
    goes_on: Vec<bool>,
    /// True for the last line of its level.
    last: bool,
}

impl Indent {
    fn below(&self, last: bool) -> Self {
        let mut goes_on = self.goes_on.clone();
        if self.depth > 0 && self.depth <= DEEPEST_INDENT {
            goes_on.push(!self.last);
        }
        Self {
            depth: self.depth + 1,
            goes_on,
            last,
        }
    }

    /// Returns the branches before further lines about the same frame.
    fn draw_beneath(&self, has_children: bool) -> String {
        let mut text = self.branches();
        if self.depth > 0 {
            text.push_str(if self.last { "   " } else { "│  " });
        }
        text.push_str(if has_children { "│ " } else { "  " });
        text
    }

    /// Returns the branches of the levels above.
    fn branches(&self) -> String {
        let branch = |goes_on: &bool| if *goes_on { "│  " } else { "   " };
        self.goes_on.iter().map(branch).collect()
    }

    /// Renders the branches.
    fn draw(&self) -> String {
        let mut text = self.branches();
        if self.depth == 0 {
            return text;
        }
        text.push_str(if self.last { "└─ " } else { "├─ " });
        if self.depth > DEEPEST_INDENT {
            text.push_str(&format!("({}) ", self.depth));
        }
        text
    }
}

/// Gathers a tree.
pub fn gather(reading: &dyn Reading, options: &TreeOptions) -> Result<TreeView> {
    let totals = reading.totals()?;
    let mut sessions: BTreeMap<FrameId, Vec<String>> = BTreeMap::new();
    for session in reading.sessions(true)? {
        if let Some(active) = session.active {
            sessions
                .entry(active)
                .or_default()
                .push(session.key.to_string());
        }
    }
    let mut source = Source::new(reading, options)?;
    let mut lines = Vec::new();
    let mut pending = match &options.root {
        Some(root) => source.single(root)?,
        None => source.level(None, None, &reading.child_totals(None)?)?,
    };
    pending.reverse();
    while let Some(mut next) = pending.pop() {
        if let TreeLine::Frame(line) = &mut next {
            let id = line.row.frame.id;
            line.children = source.child_totals(&id)?;
            line.sessions = sessions.get(&id).cloned().unwrap_or_default();
            let depth = line.indent.depth + 1;
            line.folded = options.depth.is_some_and(|deepest| depth >= deepest);
            if line.children.all() > 0 && !line.folded {
                let level = source.level(Some(&id), Some(&line.indent), &line.children)?;
                pending.extend(level.into_iter().rev());
            }
        }
        lines.push(next);
    }
    Ok(TreeView {
        lines,
        totals,
        is_part: options.root.is_some(),
    })
}

/// Source of levels: the store, level by level, or everything at once.
struct Source<'r> {
    reading: &'r dyn Reading,
    everything: Option<BTreeMap<Option<FrameId>, Vec<FrameRow>>>,
}

impl<'r> Source<'r> {
    fn new(reading: &'r dyn Reading, options: &TreeOptions) -> Result<Self> {
        let everything = if options.all {
            let mut levels: BTreeMap<Option<FrameId>, Vec<FrameRow>> = BTreeMap::new();
            reading.all_rows(&mut |row| {
                levels.entry(row.frame.parent).or_default().push(row);
                Ok(())
            })?;
            Some(levels)
        } else {
            None
        };
        Ok(Self {
            reading,
            everything,
        })
    }

    fn single(&self, root: &FrameId) -> Result<Vec<TreeLine>> {
        let Some(frame) = self.reading.whole_frame(root)? else {
            return Ok(Vec::new());
        };
        let evidence = || {
            frame.notes.iter().filter_map(|note| match note {
                Note::Evidence(evidence) => Some(evidence.speaks_for()),
                _ => None,
            })
        };
        let proofs = evidence().filter(|speaks_for| *speaks_for).count() as u64;
        let failures = evidence().count() as u64 - proofs;
        let row = FrameRow {
            frame,
            proofs,
            failures,
        };
        Ok(vec![TreeLine::unfilled(Indent::default(), row)])
    }

    fn child_totals(&self, id: &FrameId) -> Result<Totals> {
        let Some(levels) = &self.everything else {
            return Ok(self.reading.child_totals(Some(id))?);
        };
        let mut totals = Totals::default();
        for row in levels.get(&Some(*id)).into_iter().flatten() {
            totals.add(row.frame.status, 1);
        }
        Ok(totals)
    }

    /// Returns the frames of one level to show, and a line for the rest.
    fn level(
        &mut self,
        parent: Option<&FrameId>,
        above: Option<&Indent>,
        totals: &Totals,
    ) -> Result<Vec<TreeLine>> {
        let (rows, hidden) = match &mut self.everything {
            Some(levels) => (
                levels.remove(&parent.copied()).unwrap_or_default(),
                Totals::default(),
            ),
            None => self.some_of(parent, totals)?,
        };
        let mut level = Vec::with_capacity(rows.len() + 1);
        let shown = rows.len();
        let hides = hidden.all() > 0;
        for (place, row) in rows.into_iter().enumerate() {
            let last = place + 1 == shown && !hides;
            let indent = above.map(|above| above.below(last)).unwrap_or_default();
            level.push(TreeLine::unfilled(indent, row));
        }
        if hides {
            let indent = above.map(|above| above.below(true)).unwrap_or_default();
            level.push(TreeLine::Hidden {
                indent,
                parent: parent.copied(),
                totals: hidden,
            });
        }
        Ok(level)
    }

    /// Returns open frames and the last finished ones, in order, and the number of those left out.
    fn some_of(
        &self,
        parent: Option<&FrameId>,
        totals: &Totals,
    ) -> Result<(Vec<FrameRow>, Totals)> {
        let has_finished = totals.all() > totals.open();
        let finished = if has_finished { FINISHED } else { 0 };
        let rows = level(self.reading, parent.copied(), OPEN, finished)?;
        let mut hidden = Totals::default();
        for status in Status::ALL {
            let shown = rows.iter().filter(|row| row.frame.status == status).count() as u64;
            hidden.add(status, totals.of(status).saturating_sub(shown));
        }
        Ok((rows, hidden))
    }
}

impl FrameLine {
    /// Returns the remarks after the title: progress, evidence, reason of a block.
    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.children.all() > 0 {
            let done = self.children.of(Status::Completed);
            let wanted = self.children.all() - self.children.of(Status::Invalidated);
            let hidden = if self.folded { ", not shown" } else { "" };
            if wanted > 0 {
                remarks.push(format!("{done}/{wanted} done{hidden}"));
            } else if self.folded {
                // Invalidated children are not work to do.
                let given_up = super::grouped(self.children.all());
                remarks.push(format!("{given_up} invalidated{hidden}"));
            }
        }
        if self.row.proofs > 0 {
            remarks.push(counted(self.row.proofs, "proof", "proofs"));
        } else if self.row.frame.status == Status::Completed {
            remarks.push("claimed".to_owned());
        }
        if self.row.failures > 0 {
            remarks.push(counted(self.row.failures, "failed check", "failed checks"));
        }
        if let Some(reason) = &self.row.frame.blocked_on {
            remarks.push(format!("blocked: {}", one_line(reason.as_str(), 40)));
        }
        remarks
    }

    /// Returns criteria and results, one line each.
    fn details(&self) -> Vec<String> {
        let frame = &self.row.frame;
        let criteria = frame
            .compacted_criteria()
            .map(|text| format!("done when: {}", one_line(&text, 100)));
        let results = frame
            .compacted_results()
            .map(|text| format!("results: {}", one_line(&text, 100)));
        criteria.into_iter().chain(results).collect()
    }
}

/// Renders a line of hidden frames.
fn hidden(parent: Option<&FrameId>, totals: &Totals) -> String {
    let call = match parent {
        Some(parent) => format!("flame tree {parent} --all"),
        None => "flame tree --all".to_owned(),
    };
    format!("… {} more ({call})", by_status(totals))
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
pub fn legend() -> String {
    let signs = [
        Status::InProgress,
        Status::Planned,
        Status::Blocked,
        Status::Completed,
        Status::Failed,
        Status::Invalidated,
    ];
    signs
        .map(|status| format!("{} {status}", icon(status)))
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

/// Renders the tree as plain text, without colour; with `details` also criteria and results.
pub fn plain(view: &TreeView, session: Option<&str>, details: bool) -> String {
    let lines = view.lines.iter();
    let mut text: String = lines
        .map(|line| line.draw(session, details, &unpainted))
        .collect();
    let in_all = if view.is_part { "in all, " } else { "" };
    let totals = format!("{in_all}{}", totals_in_words(&view.totals));
    text.push_str(&format!("\n{totals}\n{}\n", legend()));
    text
}
