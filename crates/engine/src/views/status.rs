//! Where each conversation stands: its path, its place, what comes next.

use flamestack_core::Session;
use flamestack_core::frame::{FrameHead, Status};
use flamestack_core::id::{FrameId, SessionRef};
use flamestack_store::{Reading, Totals};

use super::hosted::Hosted;
use super::subagents::spent;
use super::{counted, icon, one_line};
use crate::error::EngineError;
use crate::subagents::{Family, family};

/// How far up a path is followed before it is cut in the middle.
const PATH: usize = 32;

/// Where the project stands.
#[derive(Clone, Debug)]
pub struct StatusView {
    /// Conversations that work on a frame, this worktree's first.
    pub sessions: Vec<Standing>,
    /// All frames by status.
    pub totals: Totals,
    /// Stores that were set aside and not yet recovered.
    pub set_aside: Vec<std::path::PathBuf>,
}

/// Where one conversation stands.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The conversation.
    pub session: SessionRef,
    /// Whether it belongs to the worktree that was asked about.
    pub here: bool,
    /// The worktree it runs in, where that is known.
    pub worktree: Option<String>,
    /// The frames from the root (or as far up as the path was followed) to the active one.
    pub path: Vec<FrameHead>,
    /// Frames above the first one of the path exist.
    pub cut: bool,
    /// Criteria of the active frame, dense.
    pub criteria: Option<String>,
    /// The active frame's siblings and itself by status.
    pub siblings: Totals,
    /// Which of them it is, from 1; unknown where they are too many to count.
    pub position: Option<u64>,
    /// The active frame's children by status.
    pub children: Totals,
    /// The subagents that it started, and those that they started.
    pub subagents: Family,
    /// What its host says of it.
    pub hosted: Hosted,
    /// What is planned next: the first planned child, else the next planned sibling.
    pub next: Option<FrameHead>,
}

/// Where all conversations stand, or the one that is asked for.
pub fn gather(
    reading: &dyn Reading,
    session: Option<&SessionRef>,
    worktree: &str,
) -> Result<Vec<Standing>, EngineError> {
    let known = match session {
        Some(session) => reading.session(session)?.into_iter().collect(),
        None => reading.sessions(true)?,
    };
    let mut standings = Vec::new();
    for known in known {
        if let Some(active) = &known.active {
            standings.push(standing(reading, &known, worktree, active)?);
        }
    }
    // This worktree first, and in it the person at the terminal last: agents are what one asks for.
    standings.sort_by_key(|standing| {
        (
            !standing.here,
            standing.session.is_shell(),
            standing.session.clone(),
        )
    });
    Ok(standings)
}

fn standing(
    reading: &dyn Reading,
    known: &Session,
    worktree: &str,
    active: &FrameId,
) -> Result<Standing, EngineError> {
    let (path, cut) = path(reading, Some(active))?;
    let frame = reading.whole_frame(active)?;
    let parent = path.last().and_then(|head| head.parent.clone());
    let siblings = reading.child_totals(parent.as_ref())?;
    let position = match path.last() {
        // Roots are separate pieces of work; a place among them says nothing.
        Some(head) if parent.is_some() && siblings.all() <= COUNTABLE => {
            Some(reading.siblings_before(head, &siblings)? + 1)
        }
        _ => None,
    };
    let rank = path.last().map(|head| head.rank);
    let next = match (reading.next_planned(active, None)?, &parent) {
        (Some(child), _) => Some(child),
        (None, Some(parent)) => match reading.next_planned(parent, rank)? {
            Some(behind) => Some(behind),
            None => reading.next_planned(parent, None)?,
        },
        (None, None) => None,
    };
    Ok(Standing {
        session: known.key.clone(),
        here: known.worktree.as_deref() == Some(worktree),
        worktree: known.worktree.clone(),
        cut,
        criteria: frame.and_then(|frame| frame.compacted_criteria()),
        siblings,
        position,
        children: reading.child_totals(Some(active))?,
        subagents: family(reading, &known.key)?,
        hosted: Hosted::gather(reading, &known.key)?,
        next,
        path,
    })
}

/// The frames from the root down to `from`, and whether those at the top were left out.
pub(super) fn path(
    reading: &dyn Reading,
    from: Option<&FrameId>,
) -> Result<(Vec<FrameHead>, bool), EngineError> {
    let mut path: Vec<FrameHead> = Vec::new();
    let mut next = from.cloned();
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

/// More siblings than this are not counted through to find a place among them.
const COUNTABLE: u64 = 10_000;

/// The status as plain text, without colour.
pub fn plain(view: &StatusView, session: Option<&SessionRef>) -> String {
    let mut text = String::new();
    for standing in &view.sessions {
        let you = session == Some(&standing.session);
        let mark = if you { " (you)" } else { "" };
        text.push_str(&format!("{}{mark}\n", standing.session));
        if standing.cut {
            text.push_str("  …\n");
        }
        let depth = standing.path.len();
        for (level, head) in standing.path.iter().enumerate() {
            text.push_str(&format!(
                "  {}{} {}  {}\n",
                "  ".repeat(level.min(12)),
                icon(head.status),
                head.id,
                one_line(head.title.as_str(), 72)
            ));
            if level + 1 == depth
                && let Some(criteria) = &standing.criteria
            {
                let indent = "  ".repeat(level.min(12));
                text.push_str(&format!(
                    "  {indent}  done when: {}\n",
                    one_line(criteria, 100)
                ));
            }
        }
        for fact in facts(standing) {
            text.push_str(&format!("  {fact}\n"));
        }
        text.push('\n');
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

/// Place, children and next step of a standing, a line each.
pub fn facts(standing: &Standing) -> Vec<String> {
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
