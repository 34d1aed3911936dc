//! Status of each session: its path, its position, what comes next.

use flamestack_core::{FrameHead, FrameId, Session, SessionRef, Status};
use flamestack_store::{Reading, Totals};

use super::hosted::Hosted;
use super::subagents::spent;
use super::{Ink, Paint, counted, frame_line, one_line, unpainted};
use crate::error::Result;
use crate::subagents::{Family, family};

/// Maximum length of a path.
const PATH: usize = 32;

/// Status of the project.
#[derive(Clone, Debug)]
pub struct StatusView {
    /// Sessions that work on a frame, this worktree's first.
    pub sessions: Vec<SessionStatus>,
    /// Number of frames by status.
    pub totals: Totals,
    /// Stores that were set aside and not yet recovered.
    pub set_aside: Vec<std::path::PathBuf>,
}

/// Status of one session.
#[derive(Clone, Debug)]
pub struct SessionStatus {
    /// The session.
    pub session: Session,
    /// True if it runs in the current worktree.
    pub here: bool,
    /// Frames from the root to the active one; at most the last few.
    pub path: Vec<FrameHead>,
    /// True if frames above the first one of the path were left out.
    pub cut: bool,
    /// Dense form of the active frame's criteria.
    pub criteria: Option<String>,
    /// Number of frames on the active frame's level, by status.
    pub siblings: Totals,
    /// Position among them, from 1; `None` if they are too many to count.
    pub position: Option<u64>,
    /// Number of the active frame's children, by status.
    pub children: Totals,
    /// Subagents below the session.
    pub subagents: Family,
    /// The next planned frame: the first planned child, else the next planned sibling.
    pub next: Option<FrameHead>,
}

/// Gathers the status of one session, or of all.
pub fn gather(
    reading: &dyn Reading,
    session: Option<&SessionRef>,
    worktree: &str,
) -> Result<Vec<SessionStatus>> {
    let known = match session {
        Some(session) => reading.session(session)?.into_iter().collect(),
        None => reading.sessions(true)?,
    };
    let mut standings = Vec::new();
    for known in known {
        if let Some(active) = &known.active {
            let active = *active;
            standings.push(standing(reading, known, worktree, &active)?);
        }
    }
    // This worktree first, and in it the shell last: users mostly ask about agents.
    standings.sort_by_key(|standing| {
        let key = &standing.session.key;
        (!standing.here, key.is_shell(), key.clone())
    });
    Ok(standings)
}

fn standing(
    reading: &dyn Reading,
    session: Session,
    worktree: &str,
    active: &FrameId,
) -> Result<SessionStatus> {
    let (path, cut) = path(reading, Some(active))?;
    let frame = reading.whole_frame(active)?;
    let parent = path.last().and_then(|head| head.parent);
    let siblings = reading.child_totals(parent.as_ref())?;
    let position = match path.last() {
        // Roots are separate tasks; a position among them means nothing.
        Some(head) if parent.is_some() && siblings.all() <= COUNTABLE => {
            Some(reading.siblings_before(head, &siblings)? + 1)
        }
        _ => None,
    };
    let rank = path.last().map(|head| head.rank);
    let next = match (reading.next_planned(active, None)?, &parent) {
        (Some(child), _) => Some(child),
        (None, Some(parent)) => match reading.next_planned(parent, rank)? {
            Some(next) => Some(next),
            None => reading.next_planned(parent, None)?,
        },
        (None, None) => None,
    };
    Ok(SessionStatus {
        here: session.worktree.as_deref() == Some(worktree),
        cut,
        criteria: frame.and_then(|frame| frame.compacted_criteria()),
        siblings,
        position,
        children: reading.child_totals(Some(active))?,
        subagents: family(reading, &session.key)?,
        session,
        next,
        path,
    })
}

/// Returns the frames from the root down to `from`, and true if those at the top were left out.
pub(super) fn path(
    reading: &dyn Reading,
    from: Option<&FrameId>,
) -> Result<(Vec<FrameHead>, bool)> {
    let mut path: Vec<FrameHead> = Vec::new();
    let mut next = from.copied();
    while let Some(id) = next.take()
        && path.len() < PATH
    {
        if let Some(frame) = reading.frame(&id)? {
            next.clone_from(&frame.parent);
            path.push(frame);
        }
    }
    path.reverse();
    let cut = path.first().is_some_and(|top| top.parent.is_some());
    Ok((path, cut))
}

/// Maximum number of siblings among which a position is determined.
const COUNTABLE: u64 = 10_000;

/// Renders the status as plain text, without colour.
pub fn plain(view: &StatusView, session: Option<&SessionRef>) -> String {
    let mut text = String::new();
    for standing in &view.sessions {
        text.push_str(&standing.draw(session, false, &unpainted));
    }
    if view.sessions.is_empty() {
        text.push_str(match session {
            Some(_) => "this session works on no frame\n\n",
            None => "no session works on a frame\n\n",
        });
    }
    text.push_str(&super::tree::totals_in_words(&view.totals));
    text.push('\n');
    text
}

impl SessionStatus {
    /// Draws path, position and next step; `with_host` adds what the host says of the session. `you`
    /// is the session that reads it.
    pub fn draw(&self, you: Option<&SessionRef>, with_host: bool, paint: Paint<'_>) -> String {
        let key = &self.session.key;
        let mut text = paint(Ink::Bold, &key.to_string());
        if you == Some(key) {
            text.push_str(&paint(Ink::Dim, " (you)"));
        }
        let worktree = self.session.worktree.as_ref();
        if let Some(worktree) = worktree.filter(|_| with_host && !self.here) {
            text.push_str(&paint(Ink::Dim, &format!(" (worktree {worktree})")));
        }
        text.push_str(if self.cut { "\n  …\n" } else { "\n" });
        let mut indent = String::new();
        for (level, head) in self.path.iter().enumerate() {
            indent = "  ".repeat(level.min(12) + 1);
            let line = frame_line(head.status, &head.id, &head.title, paint);
            text.push_str(&format!("{indent}{line}\n"));
        }
        if let Some(criteria) = self.criteria.as_ref().filter(|_| !self.path.is_empty()) {
            let criteria = format!("done when: {}", one_line(criteria, 100));
            text.push_str(&format!("{indent}  {}\n", paint(Ink::Dim, &criteria)));
        }
        if let Some(host) = Hosted(&self.session).line().filter(|_| with_host) {
            text.push_str(&format!("  {}\n", paint(Ink::Dim, &host)));
        }
        for fact in facts(self) {
            text.push_str(&format!("  {fact}\n"));
        }
        text + "\n"
    }
}

/// Renders position, children and next step, one line each.
fn facts(standing: &SessionStatus) -> Vec<String> {
    let mut facts = Vec::new();
    if let Some(position) = standing.position.filter(|_| standing.siblings.all() > 1) {
        let siblings = &standing.siblings;
        facts.push(format!(
            "task {position} of {} ({} done, {} planned)",
            siblings.all(),
            siblings.of(Status::Completed),
            siblings.of(Status::Planned)
        ));
    }
    if standing.children.all() > 0 {
        facts.push(format!(
            "{}, {} open",
            counted(standing.children.all(), "child", "children"),
            standing.children.open()
        ));
    }
    let subagents = &standing.subagents;
    for listed in &subagents.listed {
        if listed.run.state.is_in_flight() {
            let indent = "  ".repeat(listed.depth.min(12));
            let goal = one_line(listed.goal(), 60);
            let (session, state) = (&listed.run.session, listed.run.state);
            facts.push(format!("{indent}subagent {session}: {goal} ({state})"));
        }
    }
    if !subagents.listed.is_empty() {
        let count = counted(subagents.listed.len() as u64, "subagent", "subagents");
        facts.push(format!(
            "{count}; spent with them: {}",
            spent(&subagents.spent)
        ));
    }
    if let Some(next) = &standing.next {
        facts.push(format!(
            "next: {}  {}",
            next.id,
            one_line(next.title.as_str(), 72)
        ));
    }
    facts
}
