//! The tree of frames, as lines.
//!
//! By default a tree shows open frames and the last finished ones and counts the rest, so that its
//! cost follows what is shown. With `all`, everything is read in one pass. Neither way recurses, so
//! a tree may have any depth; beyond a limit the indentation stops growing and the level is written
//! as a number instead.

use std::collections::{BTreeMap, BTreeSet};

use flamestack_core::id::Timestamp;
use flamestack_core::{Evidence, FrameId, Note, Status};
use flamestack_store::{FrameRow, Reading, Totals};

use super::canvas::{IDLE, columns, shortened};
use super::{BEFORE_TITLE, Canvas, Ink, counted, frame_line, icon, level, one_line};
use crate::error::Result;
use crate::hints::Voice;

/// Maximum number of finished frames shown on one level.
const FINISHED: usize = 5;
/// Maximum number of open frames shown on one level.
const OPEN: usize = 25;
/// Maximum depth of indentation.
const DEEPEST_INDENT: usize = 24;
/// Columns of a level's indentation.
const INDENT: usize = 3;
/// Columns that a line keeps for its frame, whatever the depth.
const FRAME: usize = 32;
/// Minimum number of columns of a title beside its remarks; below that they go to the next line.
const BESIDE: usize = 20;

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
            folded: false,
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
        let branch = |goes_on: &bool| if *goes_on { "│  " } else { "   " };
        let shown = self.goes_on.iter().take(Self::levels(canvas));
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

/// Gathers a tree.
pub fn gather(reading: &dyn Reading, options: &TreeOptions) -> Result<TreeView> {
    let totals = reading.totals()?;
    let mut sessions: BTreeMap<FrameId, Vec<(String, Option<Timestamp>)>> = BTreeMap::new();
    let seen = reading.last_seen()?;
    for session in reading.sessions(true)? {
        if let Some(active) = session.active {
            let seen = seen.get(&session.key).copied();
            let session = (session.key.to_string(), seen);
            sessions.entry(active).or_default().push(session);
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

/// A line of a level, before its place is known.
#[expect(
    clippy::large_enum_variant,
    reason = "a level has at most two hidden lines"
)]
enum Level {
    Row(FrameRow),
    Hidden(Totals),
}

/// Splits totals into those of finished and those of open frames.
fn split(totals: &Totals) -> (Totals, Totals) {
    let (mut finished, mut open) = (Totals::default(), Totals::default());
    for status in Status::ALL {
        let side = if status.is_open() {
            &mut open
        } else {
            &mut finished
        };
        side.add(status, totals.of(status));
    }
    (finished, open)
}

/// Source of levels: the store, level by level, or everything at once.
struct Source<'r> {
    reading: &'r dyn Reading,
    everything: Option<BTreeMap<Option<FrameId>, Vec<FrameRow>>>,
    /// True if frames were left out of everything because of their status.
    filtered: bool,
}

impl<'r> Source<'r> {
    fn new(reading: &'r dyn Reading, options: &TreeOptions) -> Result<Self> {
        let everything = if options.all || options.status.is_some() {
            let mut rows = Vec::new();
            reading.all_rows(&mut |row| {
                rows.push(row);
                Ok(())
            })?;
            if let Some(status) = options.status {
                retain_status(&mut rows, status);
            }
            let mut levels: BTreeMap<Option<FrameId>, Vec<FrameRow>> = BTreeMap::new();
            for row in rows {
                levels.entry(row.frame.parent).or_default().push(row);
            }
            Some(levels)
        } else {
            None
        };
        Ok(Self {
            reading,
            everything,
            filtered: options.status.is_some(),
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
        let is_commit = |note: &&Note| matches!(note, Note::Evidence(Evidence::Commit(_)));
        let commits = frame.notes.iter().filter(is_commit).count() as u64;
        let row = FrameRow {
            frame,
            proofs,
            commits,
            failures,
        };
        Ok(vec![TreeLine::unfilled(Indent::default(), row)])
    }

    fn child_totals(&self, id: &FrameId) -> Result<Totals> {
        let Some(levels) = self.everything.as_ref().filter(|_| !self.filtered) else {
            return Ok(self.reading.child_totals(Some(id))?);
        };
        let mut totals = Totals::default();
        for row in levels.get(&Some(*id)).into_iter().flatten() {
            totals.add(row.frame.status, 1);
        }
        Ok(totals)
    }

    /// Returns the frames of one level to show, and lines for the rest.
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
        let (earlier, later) = split(&hidden);
        let first_finished = rows.iter().position(|row| !row.frame.status.is_open());
        let mut level = Vec::with_capacity(rows.len() + 2);
        for (place, row) in rows.into_iter().enumerate() {
            if Some(place) == first_finished && earlier.all() > 0 {
                level.push(Level::Hidden(earlier));
            }
            level.push(Level::Row(row));
        }
        if first_finished.is_none() && earlier.all() > 0 {
            level.push(Level::Hidden(earlier));
        }
        if later.all() > 0 {
            level.push(Level::Hidden(later));
        }
        let count = level.len();
        let lines = level.into_iter().enumerate().map(|(place, line)| {
            let last = place + 1 == count;
            let indent = above.map(|above| above.below(last)).unwrap_or_default();
            match line {
                Level::Row(row) => TreeLine::unfilled(indent, row),
                Level::Hidden(totals) => TreeLine::Hidden {
                    indent,
                    parent: parent.copied(),
                    totals,
                },
            }
        });
        Ok(lines.collect())
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

/// Keeps the frames with a status and those above them.
fn retain_status(rows: &mut Vec<FrameRow>, status: Status) {
    let parents: BTreeMap<FrameId, Option<FrameId>> = rows
        .iter()
        .map(|row| (row.frame.id, row.frame.parent))
        .collect();
    let mut kept = BTreeSet::new();
    for row in rows.iter().filter(|row| row.frame.status == status) {
        let mut next = Some(row.frame.id);
        while let Some(id) = next
            && kept.insert(id)
        {
            next = parents.get(&id).copied().flatten();
        }
    }
    rows.retain(|row| kept.contains(&row.frame.id));
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
            let hidden = if self.folded { ", not shown" } else { "" };
            if wanted > 0 {
                remarks.push(format!("{done}/{wanted} done{hidden}"));
            } else if self.folded {
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
        if self.is_unproven() {
            remarks.push(NO_EVIDENCE.to_owned());
        }
        if let Some(reason) = &self.row.frame.blocked_on {
            remarks.push(format!("blocked: {}", one_line(reason.as_str(), 40)));
        }
        remarks
    }

    /// Returns true if the frame is completed and nothing that was recorded supports it.
    fn is_unproven(&self) -> bool {
        self.row.frame.status == Status::Completed && self.row.proofs == 0
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

/// Remark on a completed frame without evidence.
const NO_EVIDENCE: &str = "no evidence";

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
        let is_unproven = |line: &TreeLine| match line {
            TreeLine::Frame(line) => line.is_unproven(),
            TreeLine::Hidden { .. } => false,
        };
        if self.lines.iter().any(is_unproven) {
            let record = match canvas.voice {
                Voice::Cli => " (`flame check` records one)",
                Voice::Tool => "",
            };
            let words = format!(
                "{NO_EVIDENCE}: completed without a recorded check, test or commit{record}"
            );
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
