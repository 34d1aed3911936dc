//! The tree, as lines.
//!
//! By default a tree shows what is open and a little of what is finished, and counts the rest:
//! its cost follows what is shown. With `all`, everything is read in one pass. Neither recurses, so
//! a tree may be as deep as it likes; beyond a depth the indentation stops growing and the level is
//! written as a number instead.

use std::collections::BTreeMap;

use flamestack_core::frame::Status;
use flamestack_core::id::FrameId;
use flamestack_core::note::Note;
use flamestack_store::{FrameRow, Reading, Slice, Totals};

use super::{counted, icon, one_line};
use crate::error::EngineError;

/// How many finished frames are shown beside the open ones.
const FINISHED: usize = 5;
/// How many open frames are shown on one level.
const OPEN: usize = 25;
/// Beyond this depth a line is not indented further.
const DEEPEST_INDENT: usize = 24;

/// What to show.
#[derive(Clone, Debug, Default)]
pub struct TreeOptions {
    /// Only the tree below this frame.
    pub root: Option<FrameId>,
    /// Only so many levels.
    pub depth: Option<usize>,
    /// Everything, finished work included.
    pub all: bool,
}

/// A tree, ready to be drawn.
#[derive(Clone, Debug, Default)]
pub struct TreeView {
    /// From top to bottom.
    pub lines: Vec<Line>,
    /// All frames of the project.
    pub totals: Totals,
}

/// One line.
#[derive(Clone, Debug)]
pub enum Line {
    /// A frame.
    Frame(Box<FrameLine>),
    /// Frames that are not shown.
    Hidden {
        /// What stands before them.
        indent: Indent,
        /// Below which frame.
        parent: Option<FrameId>,
        /// How many, by status.
        totals: Totals,
    },
}

/// A frame's line.
#[derive(Clone, Debug)]
pub struct FrameLine {
    /// What stands before it.
    pub indent: Indent,
    /// The frame.
    pub row: FrameRow,
    /// Its children by status.
    pub children: Totals,
    /// The sessions that work on it.
    pub sessions: Vec<String>,
    /// Its children are left out, because the tree was to be no deeper.
    pub folded: bool,
}

/// The branches before a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Indent {
    /// The level; 0 for a root.
    pub depth: usize,
    /// For each level above: whether that branch goes on below.
    goes_on: Vec<bool>,
    /// Whether this is the last of its level.
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

    /// What stands before further lines about the same frame: the branches that go on past it.
    pub fn draw_beneath(&self, has_children: bool) -> String {
        let mut text = String::new();
        if self.depth > 0 {
            for goes_on in &self.goes_on {
                text.push_str(if *goes_on { "│  " } else { "   " });
            }
            text.push_str(if self.last { "   " } else { "│  " });
        }
        text.push_str(if has_children { "│ " } else { "  " });
        text
    }

    /// The branches as text.
    pub fn draw(&self) -> String {
        let mut text = String::new();
        if self.depth == 0 {
            return text;
        }
        for goes_on in &self.goes_on {
            text.push_str(if *goes_on { "│  " } else { "   " });
        }
        text.push_str(if self.last { "└─ " } else { "├─ " });
        if self.depth > DEEPEST_INDENT {
            text.push_str(&format!("({}) ", self.depth));
        }
        text
    }
}

/// A frame whose line is still to be written, and what comes after it on its level.
enum Pending {
    Frame(Indent, Box<FrameRow>),
    Hidden(Indent, Option<FrameId>, Totals),
}

/// Gathers a tree.
pub fn gather(reading: &dyn Reading, options: &TreeOptions) -> Result<TreeView, EngineError> {
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
    while let Some(next) = pending.pop() {
        match next {
            Pending::Hidden(indent, parent, totals) => {
                lines.push(Line::Hidden {
                    indent,
                    parent,
                    totals,
                });
            }
            Pending::Frame(indent, row) => {
                let id = row.frame.id.clone();
                let children = source.child_totals(&id)?;
                let deeper = options.depth.is_none_or(|depth| indent.depth + 1 < depth);
                if children.all() > 0 && deeper {
                    let mut level = source.level(Some(&id), Some(&indent), &children)?;
                    level.reverse();
                    pending.extend(level);
                }
                let sessions = sessions.get(&id).cloned().unwrap_or_default();
                lines.push(Line::Frame(Box::new(FrameLine {
                    indent,
                    row: *row,
                    children,
                    sessions,
                    folded: !deeper,
                })));
            }
        }
    }
    Ok(TreeView { lines, totals })
}

/// Where levels come from: the store, level by level, or everything at once.
struct Source<'r> {
    reading: &'r dyn Reading,
    everything: Option<BTreeMap<Option<FrameId>, Vec<FrameRow>>>,
}

impl<'r> Source<'r> {
    fn new(reading: &'r dyn Reading, options: &TreeOptions) -> Result<Self, EngineError> {
        let everything = if options.all {
            let mut levels: BTreeMap<Option<FrameId>, Vec<FrameRow>> = BTreeMap::new();
            reading.all_rows(&mut |row| {
                levels
                    .entry(row.frame.parent.clone())
                    .or_default()
                    .push(row);
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

    fn single(&self, root: &FrameId) -> Result<Vec<Pending>, EngineError> {
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
        Ok(vec![Pending::Frame(Indent::default(), Box::new(row))])
    }

    fn child_totals(&self, id: &FrameId) -> Result<Totals, EngineError> {
        let Some(levels) = &self.everything else {
            return Ok(self.reading.child_totals(Some(id))?);
        };
        let mut totals = Totals::default();
        for row in levels.get(&Some(id.clone())).into_iter().flatten() {
            totals.add(row.frame.status, 1);
        }
        Ok(totals)
    }

    /// The frames of one level that are to be shown, and a line for the rest.
    fn level(
        &mut self,
        parent: Option<&FrameId>,
        above: Option<&Indent>,
        totals: &Totals,
    ) -> Result<Vec<Pending>, EngineError> {
        let (rows, hidden) = match &mut self.everything {
            Some(levels) => (
                levels.remove(&parent.cloned()).unwrap_or_default(),
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
            level.push(Pending::Frame(indent, Box::new(row)));
        }
        if hides {
            let indent = above.map(|above| above.below(true)).unwrap_or_default();
            level.push(Pending::Hidden(indent, parent.cloned(), hidden));
        }
        Ok(level)
    }

    /// Open frames and the last few finished ones, in their order, and how many are left out.
    fn some_of(
        &self,
        parent: Option<&FrameId>,
        totals: &Totals,
    ) -> Result<(Vec<FrameRow>, Totals), EngineError> {
        let slice = |open: bool, limit: usize, last: bool| Slice {
            parent: parent.cloned(),
            open: Some(open),
            limit: Some(limit),
            last,
        };
        let mut rows = self.reading.rows(&slice(true, OPEN, false))?;
        if totals.all() > totals.open() {
            rows.extend(self.reading.rows(&slice(false, FINISHED, true))?);
        }
        rows.sort_by(|a, b| (a.frame.rank, &a.frame.id).cmp(&(b.frame.rank, &b.frame.id)));
        let mut hidden = Totals::default();
        for status in Status::ALL {
            let shown = rows.iter().filter(|row| row.frame.status == status).count() as u64;
            hidden.add(status, totals.of(status).saturating_sub(shown));
        }
        Ok((rows, hidden))
    }
}

impl FrameLine {
    /// What stands behind the title: progress, evidence, waiting, position.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.children.all() > 0 {
            let done = self.children.of(Status::Completed);
            let wanted = self.children.all() - self.children.of(Status::Invalidated);
            let hidden = if self.folded { ", not shown" } else { "" };
            if wanted > 0 {
                remarks.push(format!("{done}/{wanted} done{hidden}"));
            } else if self.folded {
                // What was given up is nothing to be done.
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
}

impl FrameLine {
    /// What the frame is for and what it gave, a line each.
    pub fn details(&self) -> Vec<String> {
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

/// How a [`Line::Hidden`] reads.
pub fn hidden(parent: Option<&FrameId>, totals: &Totals) -> String {
    let parts: Vec<String> = Status::ALL
        .into_iter()
        .filter(|status| totals.of(*status) > 0)
        .map(|status| format!("{} {status}", super::grouped(totals.of(status))))
        .collect();
    let call = match parent {
        Some(parent) => format!("flame tree {parent} --all"),
        None => "flame tree --all".to_owned(),
    };
    format!("… {} more ({call})", parts.join(", "))
}

/// The meaning of the signs.
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

/// How many frames there are, in words.
pub fn totals_in_words(totals: &Totals) -> String {
    if totals.all() == 0 {
        return "no frames yet".to_owned();
    }
    let parts: Vec<String> = Status::ALL
        .into_iter()
        .filter(|status| totals.of(*status) > 0)
        .map(|status| format!("{} {status}", super::grouped(totals.of(status))))
        .collect();
    format!(
        "{}: {}",
        counted(totals.all(), "frame", "frames"),
        parts.join(", ")
    )
}

/// The tree as plain text, without colour; with `details`, what frames are for and what they gave.
pub fn plain(view: &TreeView, session: Option<&str>, details: bool) -> String {
    let mut text = String::new();
    for line in &view.lines {
        match line {
            Line::Hidden {
                indent,
                parent,
                totals,
            } => {
                text.push_str(&format!(
                    "{}{}\n",
                    indent.draw(),
                    hidden(parent.as_ref(), totals)
                ));
            }
            Line::Frame(line) => {
                let frame = &line.row.frame;
                text.push_str(&format!(
                    "{}{} {}  {}",
                    line.indent.draw(),
                    icon(frame.status),
                    frame.id,
                    one_line(frame.title.as_str(), 72)
                ));
                for remark in line.remarks() {
                    text.push_str(&format!(" · {remark}"));
                }
                for known in &line.sessions {
                    let here = session.is_some_and(|session| session == known);
                    let mark = if here {
                        "you are here".to_owned()
                    } else {
                        known.clone()
                    };
                    text.push_str(&format!("  ◀ {mark}"));
                }
                text.push('\n');
                if details {
                    let beneath = line.indent.draw_beneath(line.children.all() > 0);
                    for detail in line.details() {
                        text.push_str(&format!("{beneath}{detail}\n"));
                    }
                }
            }
        }
    }
    text.push_str(&format!(
        "\n{}\n{}\n",
        totals_in_words(&view.totals),
        legend()
    ));
    text
}
