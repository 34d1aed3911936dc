//! Status of each session: its path, its position, what comes next.

use std::collections::BTreeMap;

use flamestack_core::frame::Origin;
use flamestack_core::id::Timestamp;
use flamestack_core::session::life::Life;
use flamestack_core::session::state::SessionState;
use flamestack_core::{FrameHead, FrameId, Session, SessionRef, Status};
use flamestack_store::{Reading, Totals};

use super::canvas::{IDLE, QUIET};
use super::hosted::Hosted;
use super::subagents::spent;
use super::{Canvas, Ink, counted, frame_line, one_line};
use crate::error::Result;
use crate::subagents::{Family, family};

/// Maximum number of children in progress among which the next frame is looked for.
const BEGUN: usize = 8;
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
    /// True if its worktree was removed; the caller finds out, as this view reads the store alone.
    pub is_worktree_gone: bool,
    /// The time of the last event about it or its active frame.
    pub seen: Option<Timestamp>,
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
    /// The frame to continue with: a child in progress, else the first planned child, else the next planned
    /// sibling.
    pub next: Option<FrameHead>,
    /// Its state and the reason for it; a user at a terminal has none.
    pub life: Option<Life>,
}

/// Gathers the status of one session, or of all.
pub fn gather(
    reading: &dyn Reading,
    session: Option<&SessionRef>,
    worktree: &str,
) -> Result<Vec<SessionStatus>> {
    let known: Vec<Session> = match session {
        Some(session) => reading.session(session)?.into_iter().collect(),
        None => reading.sessions(true)?,
    };
    let seen = reading.last_seen(&known)?;
    let mut standings = Vec::new();
    for known in known {
        if let Some(active) = &known.active {
            let active = *active;
            standings.push(standing(reading, known, worktree, &active, &seen)?);
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
    seen: &BTreeMap<SessionRef, Timestamp>,
) -> Result<SessionStatus> {
    let (path, cut) = path(reading, Some(active))?;
    let frame = reading.whole_frame(active)?;
    let parent = path.last().and_then(|head| head.parent);
    let siblings = reading.child_totals(parent.as_ref())?;
    let position = match path.last() {
        // Roots are separate tasks; a position among them means nothing.
        Some(head) if parent.is_some() && siblings.all() <= COUNTABLE => {
            let mut wanted = siblings;
            wanted.set(Status::Invalidated, 0);
            Some(reading.siblings_before(head, &wanted)? + 1)
        }
        _ => None,
    };
    let rank = path.last().map(|head| head.rank);
    let children = reading.child_totals(Some(active))?;
    let begun = match children.of(Status::InProgress) {
        0 => Vec::new(),
        _ => reading.children_with_status(active, Status::InProgress, BEGUN)?,
    };
    // Prompts and subagents continue without the user.
    let begun = begun
        .into_iter()
        .find(|child| child.origin == Origin::Asked);
    let below = match begun {
        Some(child) => Some(child.head()),
        None => reading.next_planned(active, None)?,
    };
    let next = match (below, &parent) {
        (Some(child), _) => Some(child),
        (None, Some(parent)) => match reading.next_planned(parent, rank)? {
            Some(next) => Some(next),
            None => reading.next_planned(parent, None)?,
        },
        (None, None) => None,
    };
    let changed = frame.as_ref().map(|frame| frame.updated_at);
    Ok(SessionStatus {
        seen: seen.get(&session.key).copied().max(changed),
        here: session.worktree.as_deref() == Some(worktree),
        is_worktree_gone: false,
        cut,
        criteria: frame.and_then(|frame| frame.compacted_criteria()),
        siblings,
        position,
        children,
        subagents: family(reading, &session.key)?,
        life: reading.life(&session.key)?,
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

/// Parts of a session's own status that are not always shown.
#[derive(Clone, Copy, Debug)]
pub struct OwnParts {
    /// The frames of its path; left out where a tree with them follows.
    pub path: bool,
    /// That the work repeats itself, which models are shown only if the user wants it.
    pub stall: bool,
}

/// Renders the status of one session, for that session: without its name, which it cannot use.
pub fn own(canvas: &Canvas<'_>, view: &StatusView, parts: OwnParts) -> String {
    let mut text = String::new();
    for standing in &view.sessions {
        let path = if parts.path {
            standing.path_lines(canvas)
        } else {
            standing.criteria_line(canvas, "")
        };
        let body = path + &standing.body(canvas, false, parts.stall);
        // Without a path there may be nothing to say but the totals.
        text.push_str(if body.trim().is_empty() { "" } else { &body });
    }
    if view.sessions.is_empty() {
        text.push_str("no active frame\n\n");
    }
    text.push_str(&super::tree::totals_in_words(&view.totals));
    text.push('\n');
    text
}

impl SessionStatus {
    /// Returns true if nothing was recorded about the session for a day.
    pub fn is_idle(&self, canvas: &Canvas<'_>) -> bool {
        self.seen
            .and_then(|seen| canvas.age_from(seen, IDLE))
            .is_some()
    }

    /// Draws the session with path, position and next step. `you` is the session that reads it.
    pub fn draw(&self, canvas: &Canvas<'_>, you: Option<&SessionRef>) -> String {
        let key = &self.session.key;
        let mut remarks = Vec::new();
        if you == Some(key) {
            remarks.push("you".to_owned());
        }
        let worktree = self.session.worktree.as_ref();
        if let Some(worktree) = worktree.filter(|_| !self.here) {
            let gone = if self.is_worktree_gone {
                ", which is gone"
            } else {
                ""
            };
            remarks.push(format!("worktree {worktree}{gone}"));
        }
        let age = self.seen.and_then(|seen| canvas.age_from(seen, QUIET));
        if let Some(age) = age.filter(|_| you != Some(key)) {
            remarks.push(format!("last active {age}"));
        }
        let mut text = canvas.ink(Ink::Bold, &key.to_string());
        if !remarks.is_empty() {
            text.push_str(&canvas.ink(Ink::Dim, &format!(" ({})", remarks.join(", "))));
        }
        let head = canvas.hanging("", "  ", &text);
        if self.is_idle(canvas) && you != Some(key) {
            let last = self.path.last();
            let frame = last.map(|head| {
                let line = frame_line(canvas, head.status, &head.id, &head.title, 2);
                format!("  {line}\n")
            });
            return format!("{head}{}\n", frame.unwrap_or_default());
        }
        head + &self.path_lines(canvas) + &self.body(canvas, true, true)
    }

    /// Draws the frames of the path, and the criteria of the last.
    fn path_lines(&self, canvas: &Canvas<'_>) -> String {
        let mut text = String::from(if self.cut { "  …\n" } else { "" });
        let levels = canvas
            .width
            .map_or(12, |width| width.saturating_sub(30) / 2);
        let levels = levels.clamp(1, 12);
        let mut indent = String::new();
        for (level, head) in self.path.iter().enumerate() {
            indent = "  ".repeat(level.min(levels) + 1);
            let line = frame_line(canvas, head.status, &head.id, &head.title, indent.len());
            text.push_str(&format!("{indent}{line}\n"));
        }
        text + &self.criteria_line(canvas, &indent)
    }

    fn criteria_line(&self, canvas: &Canvas<'_>, indent: &str) -> String {
        let Some(criteria) = self.criteria.as_ref().filter(|_| !self.path.is_empty()) else {
            return String::new();
        };
        let criteria = canvas.excerpt(criteria, 100, indent.len() + 14);
        let criteria = canvas.ink(Ink::Dim, &format!("done when: {criteria}"));
        let indent = format!("{indent}  ");
        canvas.hanging(&indent, &indent, &criteria)
    }

    /// Returns the reason why the session does not go on without the user.
    fn halt(&self) -> Option<String> {
        let life = self.life.as_ref()?;
        let halt = match life.state {
            SessionState::Interrupted => "interrupted",
            SessionState::Failed => "failed",
            SessionState::WaitingUser => "waiting",
            _ => return None,
        };
        Some(format!("{halt}: {}", life.last.why()))
    }

    /// Draws position and next step; `with_host` adds what the host says of the session,
    /// `with_stall` how it repeats itself.
    fn body(&self, canvas: &Canvas<'_>, with_host: bool, with_stall: bool) -> String {
        let mut text = String::new();
        if let Some(host) = Hosted(&self.session).line().filter(|_| with_host) {
            text.push_str(&canvas.hanging("  ", "    ", &canvas.ink(Ink::Dim, &host)));
        }
        if let Some(halt) = self.halt().filter(|_| with_host) {
            text.push_str(&canvas.hanging("  ", "    ", &one_line(&halt, 300)));
        }
        if let Some(stall) = self.session.activity.stall.as_ref().filter(|_| with_stall) {
            let line = format!("repeats itself: {}", one_line(&stall.sentence(), 200));
            text.push_str(&canvas.hanging("  ", "    ", &line));
        }
        for fact in facts(canvas, self) {
            text.push_str(&canvas.hanging("  ", "    ", &fact));
        }
        text + "\n"
    }
}

/// Renders position, children and next step, one line each.
fn facts(canvas: &Canvas<'_>, standing: &SessionStatus) -> Vec<String> {
    let mut facts = Vec::new();
    let siblings = &standing.siblings;
    let tasks = siblings.all() - siblings.of(Status::Invalidated);
    if let Some(position) = standing.position.filter(|_| tasks > 1) {
        facts.push(format!(
            "task {position} of {tasks} ({} done, {} planned)",
            siblings.of(Status::Completed),
            siblings.of(Status::Planned)
        ));
    }
    if standing.children.all() > 0 {
        let children = &standing.children;
        let wanted = children.all() - children.of(Status::Invalidated);
        let count = counted(children.all(), "child", "children");
        facts.push(match wanted {
            0 => format!("{count}, none open"),
            wanted => format!(
                "{count}, {} of {wanted} done",
                children.of(Status::Completed)
            ),
        });
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
            canvas.title(next.title.as_str(), 18)
        ));
    }
    facts
}
