//! Receipts in sentences. Users and models read the same words; only the front decides about colour.

use std::collections::BTreeMap;

use flamestack_core::command::Place;
use flamestack_core::event::Closing;
use flamestack_core::frame::{CLAIMED, FrameStanding};
use flamestack_core::id::Seq;
use flamestack_core::note::{Note, NoteKind};
use flamestack_core::{
    Actor, Command, Event, FrameHead, FrameId, Recorded, Remark, SessionRef, Status,
};
use flamestack_store::{Reading, StoreError};

use super::{counted, icon, one_line, size, status, story};
use crate::commands::Receipt;
use crate::error::Result;
use crate::hints::Voice;
use crate::project::Project;
use crate::request::APPROVED;

/// Maximum number of frames in a receipt.
const LISTED: usize = 20;

/// Renders a receipt, one line for each event, with calls that its reader can make.
pub fn lines(
    reading: &dyn Reading,
    project: &Project,
    actor: &Actor,
    receipt: &Receipt,
    voice: Voice,
) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for recorded in &receipt.settled {
        lines.extend(sentence(reading, recorded)?);
    }
    match &receipt.command {
        Command::Plan { .. } => plan(&mut lines, receipt),
        Command::Undo => undo(reading, &mut lines, receipt)?,
        _ => events(reading, &mut lines, receipt)?,
    }
    if starts_tree(receipt) {
        if let Some(line) = lines.last_mut() {
            line.push_str(", at the root of a new tree");
        }
        lines.extend(left_behind(reading, actor, voice)?);
    }
    match &receipt.command {
        Command::Move { to, .. } => {
            if let (Some(line), Some(beside)) = (lines.last_mut(), beside(reading, to)?) {
                line.push_str(&format!(", {beside}"));
            }
        }
        Command::Activate(frame) => {
            activation(reading, &mut lines, receipt, frame)?;
            if !receipt.events.is_empty() {
                lines.extend(also_active(reading, project, actor, frame)?);
            }
        }
        Command::Unblock(frame) => {
            let switch = match voice {
                Voice::Cli => format!("`flame activate {frame}`"),
                Voice::Tool => format!("stack_frame_activate ({frame})"),
            };
            lines.push(format!("{switch} switches to it"));
        }
        _ => {}
    }
    lines.extend(receipt.remarks.iter().take(LISTED).map(remark));
    let skipped = receipt.remarks.len().saturating_sub(LISTED);
    if skipped > 0 {
        lines.push(format!("… and {}", more(skipped)));
    }
    if returns(receipt) {
        lines.extend(back_at(reading, actor, voice)?);
    }
    Ok(lines)
}

/// Adds a sentence for each of the last events of a command.
fn events(
    reading: &dyn Reading,
    lines: &mut Vec<String>,
    receipt: &Receipt,
) -> Result<(), StoreError> {
    // Starting a frame starts those above it; the last one is the one that was asked for.
    let skipped = receipt.events.len().saturating_sub(LISTED + 2);
    if skipped > 0 {
        lines.push(format!("… {} before this", more(skipped)));
    }
    // A remark says that a popped frame was blocked.
    let is_popped = matches!(receipt.command, Command::Pop { .. });
    let is_hidden = |event: &Event| {
        let is_known = is_popped && matches!(event, Event::FrameUnblocked { .. });
        is_known || replaces_prompt(&receipt.command, event)
    };
    let events = receipt.events.iter().skip(skipped);
    for recorded in events.filter(|recorded| !is_hidden(&recorded.event)) {
        lines.extend(sentence(reading, recorded)?);
    }
    Ok(())
}

/// Returns true for a push that opens a root.
fn starts_tree(receipt: &Receipt) -> bool {
    let opens_root = |recorded: &Recorded| {
        matches!(
            recorded.event,
            Event::FrameOpened {
                parent: None,
                planned: false,
                ..
            }
        )
    };
    matches!(receipt.command, Command::Push { .. }) && receipt.events.iter().any(opens_root)
}

/// Adds the sentences about a switch to a frame.
fn activation(
    reading: &dyn Reading,
    lines: &mut Vec<String>,
    receipt: &Receipt,
    frame: &FrameId,
) -> Result<()> {
    if receipt.events.is_empty() {
        return Ok(());
    }
    // Switching to a frame that is in progress already has no sentence of its own, and neither has the
    // opening of a session that was not known before.
    let is_opened = |recorded: &Recorded| matches!(recorded.event, Event::SessionOpened { .. });
    let has_no_sentence = |it: &Recorded| {
        is_focused(it) || is_opened(it) || replaces_prompt(&receipt.command, &it.event)
    };
    if receipt.events.iter().any(is_focused) && receipt.events.iter().all(has_no_sentence) {
        lines.push(format!("{} is the active frame now", name(reading, frame)?));
    }
    Ok(())
}

/// Returns true for a command after which a session may be at another frame.
fn returns(receipt: &Receipt) -> bool {
    match receipt.command {
        Command::Pop { .. }
        | Command::Block { .. }
        | Command::Invalidate { .. }
        | Command::Undo => true,
        Command::SummarizeNow { .. } | Command::TakeSummary { .. } => {
            receipt.events.iter().any(is_focused)
        }
        _ => false,
    }
}

fn is_focused(recorded: &Recorded) -> bool {
    matches!(recorded.event, Event::SessionFocused { .. })
}

/// Returns true for the events with which the new frame replaces the prompt's own frame, which was not
/// requested.
fn replaces_prompt(command: &Command, event: &Event) -> bool {
    matches!(command, Command::Push { .. } | Command::Activate(_))
        && matches!(event, Event::FrameDeleted { .. } | Event::Logged { .. })
}

fn sentence(reading: &dyn Reading, recorded: &Recorded) -> Result<Option<String>, StoreError> {
    let name = |id: &FrameId| name(reading, id);
    Ok(Some(match &recorded.event {
        Event::FrameOpened {
            frame,
            parent,
            goal,
            planned,
            ..
        } => {
            let state = if *planned { "planned" } else { "in progress" };
            let below = match parent {
                Some(parent) => format!(", below {}", name(parent)?),
                None => String::new(),
            };
            let title = one_line(goal.title.as_str(), 72);
            format!("{frame} “{title}” is {state}{below}")
        }
        Event::FrameStarted { frame } => format!("{} is in progress", name(frame)?),
        Event::FrameClosed {
            frame,
            outcome,
            cascaded,
            ..
        } => {
            let how = match outcome {
                Closing::Completed => completed(reading, frame)?,
                Closing::Failed => "has failed".to_owned(),
            };
            format!("{} {how}{}", name(frame)?, along(cascaded))
        }
        Event::FrameBlocked { frame, reason, .. } => {
            format!(
                "{} is blocked: {}",
                name(frame)?,
                one_line(reason.as_str(), 120)
            )
        }
        Event::SummaryAwaited { frame, outcome, .. } => match outcome {
            Some(outcome) => format!(
                "{} ends as {} once a summary of it is there",
                name(frame)?,
                outcome.status()
            ),
            None => format!("{} gets a summary of the work so far", name(frame)?),
        },
        Event::SummaryArrived {
            frame,
            summary: Some(_),
        } => format!("{} has a summary", name(frame)?),
        Event::SummaryArrived {
            frame,
            summary: None,
        } => format!("nothing is recorded in {} to summarize", name(frame)?),
        Event::FrameUnblocked { frame, planned } => {
            let state = if *planned { "planned" } else { "in progress" };
            format!("{} is {state} again", name(frame)?)
        }
        Event::FrameEdited { frame, .. } => format!("{} is edited", name(frame)?),
        Event::FrameInvalidated {
            frame, cascaded, ..
        } => {
            format!("{} is invalidated{}", name(frame)?, along(cascaded))
        }
        Event::FrameMoved { frame, parent, .. } => match parent {
            Some(parent) => format!("{} is now below {}", name(frame)?, name(parent)?),
            None => format!("{} is now a root", name(frame)?),
        },
        Event::FrameDeleted { frame, with } => {
            let below = match with.len() as u64 {
                0 => String::new(),
                n => format!(", with {} below it", counted(n, "frame", "frames")),
            };
            format!("{} is deleted{below}", former_name(reading, frame)?)
        }
        Event::Noted { frame, note } => {
            let name = name(frame)?;
            match (note, note.kind()) {
                // An approval is recorded as a decision of the user.
                (Note::Decision { text, .. }, _) if text.as_str().ends_with(APPROVED) => {
                    format!("{name}: {}", one_line(text.as_str(), 72))
                }
                (_, NoteKind::Evidence) => format!("{name} has new evidence"),
                (_, kind) => format!("{name} has a new {}", kind.label()),
            }
        }
        Event::Logged { frame, entry } => {
            format!(
                "{} stores “{}” ({})",
                name(frame)?,
                entry.label,
                size(entry.bytes)
            )
        }
        Event::SessionBound { session, frame } => format!("{} is bound to {session}", name(frame)?),
        Event::SessionUnbound { session, frame } => {
            format!("{} is no longer bound to {session}", name(frame)?)
        }
        _ => return Ok(None),
    }))
}

/// Says that a frame is completed, or only claimed to be.
fn completed(reading: &dyn Reading, frame: &FrameId) -> Result<String, StoreError> {
    let standing = standing(reading, frame)?;
    let is_claimed = standing.is_some_and(|standing| standing.is_claimed);
    Ok(if is_claimed {
        format!("is completed ({CLAIMED})")
    } else {
        "is completed".to_owned()
    })
}

/// Returns the standing of a frame.
pub fn standing(
    reading: &dyn Reading,
    frame: &FrameId,
) -> Result<Option<FrameStanding>, StoreError> {
    Ok(reading.row(frame)?.map(|row| row.standing()))
}

/// Names the sibling that a frame was moved next to.
fn beside(reading: &dyn Reading, to: &Place) -> Result<Option<String>, StoreError> {
    Ok(match to {
        Place::Before(sibling) => Some(format!("just before {}", name(reading, sibling)?)),
        Place::After(sibling) => Some(format!("just after {}", name(reading, sibling)?)),
        Place::Under(_) | Place::Root => None,
    })
}

fn name(reading: &dyn Reading, id: &FrameId) -> Result<String, StoreError> {
    Ok(reading
        .frame(id)?
        .map_or_else(|| id.to_string(), |head| shown(&head)))
}

/// Names a frame that no longer exists by its last title.
fn former_name(reading: &dyn Reading, id: &FrameId) -> Result<String, StoreError> {
    let mut last = None;
    reading.visit_history(id, &mut |recorded| {
        let title = match recorded.event {
            Event::FrameOpened { goal, .. } => Some(goal.title),
            Event::FrameEdited { edit, .. } => edit.title,
            _ => None,
        };
        last = title.or_else(|| last.take());
        Ok(true)
    })?;
    Ok(match last {
        Some(title) => format!("{id} “{}”", one_line(title.as_str(), 72)),
        None => id.to_string(),
    })
}

fn along(cascaded: &[FrameId]) -> String {
    match cascaded.len() as u64 {
        0 => String::new(),
        n => format!(
            ", and with it {} below",
            counted(n, "planned frame", "planned frames")
        ),
    }
}

/// Lists the frames that were planned, each below its parent.
fn plan(lines: &mut Vec<String>, receipt: &Receipt) {
    let mut depths: BTreeMap<&FrameId, usize> = BTreeMap::new();
    let mut opened = Vec::new();
    for recorded in &receipt.events {
        if let Event::FrameOpened {
            frame,
            parent,
            goal,
            ..
        } = &recorded.event
        {
            let above = parent.as_ref().and_then(|parent| depths.get(parent));
            let depth = above.map_or(0, |depth| depth + 1);
            depths.insert(frame, depth);
            let indent = "  ".repeat(depth.min(12));
            opened.push(format!(
                "{indent}○ {frame}  {}",
                one_line(goal.title.as_str(), 72)
            ));
        }
    }
    let rest = opened.len().saturating_sub(LISTED);
    lines.extend(opened.into_iter().take(LISTED));
    if rest > 0 {
        lines.push(format!("… and {}", more(rest)));
    }
}

fn more(count: usize) -> String {
    format!("{} more", super::grouped(count as u64))
}

/// Lists the events that were undone; a switch of frames only if it was all that the command did.
fn undo(reading: &dyn Reading, lines: &mut Vec<String>, receipt: &Receipt) -> Result<()> {
    for recorded in &receipt.events {
        let Event::CommandUndone { batch } = &recorded.event else {
            continue;
        };
        let mut undone = reading.events_after(Seq(batch.0 - 1), LISTED)?;
        undone.retain(|event| event.batch == *batch);
        let is_switch = |event: &Recorded| matches!(event.event, Event::SessionFocused { .. });
        let is_shown = |event: &Recorded| {
            !is_switch(event) && !matches!(event.event, Event::SessionOpened { .. })
        };
        let only_switches = !undone.iter().any(is_shown);
        for event in undone {
            if is_shown(&event) || only_switches && is_switch(&event) {
                lines.push(format!("undone: {}", was_done(reading, &event)?));
            }
        }
    }
    Ok(())
}

/// Renders an undone event with the title of its frame.
fn was_done(reading: &dyn Reading, undone: &Recorded) -> Result<String, StoreError> {
    Ok(match &undone.event {
        Event::SessionFocused { to: Some(to), .. } => {
            format!("the switch to {}", name(reading, to)?)
        }
        // Its line has the title.
        Event::FrameOpened { .. } => story::line(undone),
        event => match event.frames().next() {
            Some(frame) => format!("{} {}", name(reading, &frame)?, story::happened(event)),
            None => story::happened(event),
        },
    })
}

/// Renders a remark.
pub fn remark(remark: &Remark) -> String {
    match remark {
        Remark::StillOpen(head) => {
            format!(
                "still {} below it, and not touched: {}",
                head.status,
                shown(head)
            )
        }
        Remark::AlreadyRecorded => "that is recorded already".to_owned(),
        Remark::AlreadyActive => "that is the active frame already".to_owned(),
        Remark::AlreadyImported => "that file was imported before".to_owned(),
        Remark::PlannedBeside(begun) => format!(
            "it is planned, not started: {} was started in the same message",
            shown(begun)
        ),
        Remark::WasBlocked(head) => match &head.blocked_on {
            Some(reason) => format!("it was blocked: {}", one_line(reason.as_str(), 120)),
            None => "it was blocked".to_owned(),
        },
        Remark::NotEnded(refusal) => format!("it stays open, with its summary: {refusal}"),
        Remark::TreeFinished => "that was the root: the whole tree is finished".to_owned(),
    }
}

/// Names the sessions besides this one that work on a frame, without those whose worktree was removed.
fn also_active(
    reading: &dyn Reading,
    project: &Project,
    actor: &Actor,
    frame: &FrameId,
) -> Result<Option<String>> {
    let mut others = Vec::new();
    for session in reading.focused_on(frame)? {
        let worktree = reading.session(&session)?.and_then(|known| known.worktree);
        let is_gone = worktree.is_some_and(|worktree| project.is_worktree_gone(&worktree));
        if session != actor.session && !is_gone {
            others.push(session.to_string());
        }
    }
    Ok((!others.is_empty()).then(|| format!("careful: also active in {}", others.join(", "))))
}

/// Returns the frame in progress that a session worked on before its active one.
pub fn previous(reading: &dyn Reading, session: &SessionRef) -> Result<Option<FrameHead>> {
    let active = reading.session(session)?.and_then(|known| known.active);
    for id in reading.visited(session)? {
        let frame = reading.frame(&id)?.filter(|_| Some(id) != active);
        if let Some(frame) = frame.filter(|frame| frame.status == Status::InProgress) {
            return Ok(Some(frame));
        }
    }
    Ok(None)
}

/// Names the frame in progress that a session is no longer at, and the way back to it.
fn left_behind(reading: &dyn Reading, actor: &Actor, voice: Voice) -> Result<Option<String>> {
    Ok(previous(reading, &actor.session)?.map(|frame| {
        let back = match voice {
            Voice::Cli => "`flame activate -`".to_owned(),
            Voice::Tool => format!("stack_frame_activate ({})", frame.id),
        };
        format!(
            "{} is still in progress; {back} returns to it",
            shown(&frame)
        )
    }))
}

/// Names the active frame and the next planned one, or the way back to work.
fn back_at(reading: &dyn Reading, actor: &Actor, voice: Voice) -> Result<Vec<String>> {
    let standings = status::gather(reading, Some(&actor.session), "")?;
    let Some(standing) = standings.first() else {
        let mut lines = vec!["no frame is active now".to_owned()];
        lines.extend(left_behind(reading, actor, voice)?);
        return Ok(lines);
    };
    let mut lines = Vec::new();
    if let Some(active) = standing.path.last() {
        lines.push(format!("now at {} {}", icon(active.status), shown(active)));
    }
    if let Some(next) = &standing.next {
        lines.push(format!(
            "next: {}  {}",
            next.id,
            one_line(next.title.as_str(), 72)
        ));
    }
    Ok(lines)
}

/// Renders a frame as sentences name it.
pub fn shown(head: &FrameHead) -> String {
    format!("{} “{}”", head.id, one_line(head.title.as_str(), 72))
}
