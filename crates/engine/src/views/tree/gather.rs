//! Reading the lines of a tree from the store.

use std::collections::{BTreeMap, BTreeSet};

use flamestack_core::frame::Origin;
use flamestack_core::id::Timestamp;
use flamestack_core::{Evidence, FrameId, Note, Status};
use flamestack_store::{FrameRow, Reading, Totals};

use super::super::level;
use super::{FrameLine, Indent, TreeLine, TreeOptions, TreeView};
use crate::error::Result;

/// Maximum number of finished frames shown on one level.
const FINISHED: usize = 5;
/// Maximum number of open frames shown on one level.
const OPEN: usize = 25;

/// Gathers a tree.
pub fn gather(reading: &dyn Reading, options: &TreeOptions) -> Result<TreeView> {
    let totals = reading.totals()?;
    let mut sessions: BTreeMap<FrameId, Vec<(String, Option<Timestamp>)>> = BTreeMap::new();
    let mut answered = BTreeSet::new();
    let working = reading.sessions(true)?;
    let seen = reading.last_seen(&working)?;
    for session in working {
        if session.activity.is_answered() && session.active == session.own {
            answered.extend(session.own);
        }
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
            line.is_answered = is_answered(line, &answered);
            let depth = line.indent.depth + 1;
            line.hides_children = options.depth.is_some_and(|deepest| depth >= deepest);
            if line.children.all() > 0 && !line.hides_children {
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

/// Returns true for the open prompt of a session whose turn is over, or for its own frame if nothing is open
/// below. `answered` has the frames of such sessions.
fn is_answered(line: &FrameLine, answered: &BTreeSet<FrameId>) -> bool {
    let frame = &line.row.frame;
    let is_over = match (frame.origin, &frame.parent) {
        (Origin::Prompt, Some(parent)) => answered.contains(parent),
        (Origin::Session, _) => answered.contains(&frame.id) && line.children.open() == 0,
        _ => false,
    };
    is_over && frame.status == Status::InProgress
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
        let (proofs, failures) = frame.proofs_and_failures();
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
