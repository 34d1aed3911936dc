//! Sessions as text: lists, one in full, and the tree of all.

use flamestack_core::session::checkpoint::InterruptionCheckpoint;
use flamestack_core::session::forest::{CleanupAction, CleanupStep};
use flamestack_core::session::link::SessionLink;
use flamestack_core::session::state::SessionState;
use flamestack_core::text::condense;
use flamestack_core::{SessionRef, Text};

use super::canvas::Canvas;
use super::{Ink, counted, printable};
use crate::sessions::listing::{SessionDetails, SessionRow};

/// Maximum length of a call's input that is shown, in characters.
const SHOWN_INPUT: usize = 200;
/// Number of changes of state that are shown.
const SHOWN_HISTORY: usize = 12;

/// Renders a session of a list: its state, its level, its name and its work, and below them the reason.
pub fn lines(row: &SessionRow, canvas: &Canvas<'_>) -> Vec<String> {
    let status = &row.status;
    let head = format!(
        "{:<13} {}  level {}  {}",
        status.state.as_str(),
        canvas.time(status.since),
        level(row),
        row.key()
    );
    let mut first = inked(canvas, status.state, &head);
    let title = row.title();
    if !title.is_empty() {
        let used = head.len() + 2;
        first = format!("{first}  {}", canvas.title(title, used));
    }
    let why = canvas.excerpt(&printable(&status.why), 300, 4);
    vec![first, canvas.ink(Ink::Dim, &format!("    {why}"))]
}

fn level(row: &SessionRow) -> String {
    match row.level.depth {
        depth @ 0..=1 => format!("{}", depth + 1),
        _ => format!("3+ ({} above)", row.level.depth),
    }
}

/// Colours a text by the state of its session: running turns stand out, resting ones recede.
fn inked(canvas: &Canvas<'_>, state: SessionState, text: &str) -> String {
    match state {
        SessionState::Idle | SessionState::Stale | SessionState::Closed => {
            canvas.ink(Ink::Dim, text)
        }
        state if state.is_busy() => canvas.ink(Ink::Bold, text),
        _ => text.to_owned(),
    }
}

/// Renders a session in full.
pub fn details(details: &SessionDetails, canvas: &Canvas<'_>) -> Vec<String> {
    let row = &details.row;
    let mut text = lines(row, canvas);
    let previous = row.status.previous.map_or("none", SessionState::as_str);
    text.push(format!("previous state: {previous}"));
    let addressee = match row.level.addressee() {
        "user" => "the user",
        _ => "its parent; the user may stop it",
    };
    let leaf = if row.level.is_leaf {
        ", with no session below it"
    } else {
        ""
    };
    text.push(format!(
        "level {}{leaf}; prompted by {addressee}",
        level(row)
    ));
    if !details.ancestors.is_empty() {
        let above: Vec<String> = details
            .ancestors
            .iter()
            .map(SessionRef::to_string)
            .collect();
        let orphan = if row.is_orphan { " (orphaned)" } else { "" };
        text.push(format!("below {}{orphan}", above.join(" < ")));
    }
    if let Some(frame) = &row.frame {
        text.push(format!(
            "frame {} {} ({})",
            frame.id,
            canvas.title(frame.title.as_str(), 24),
            frame.status
        ));
    }
    text.extend(facts(row));
    if let Some(stall) = &row.session.activity.stall {
        let sentence = printable(&stall.sentence());
        text.push(format!("repeats itself: {sentence}"));
    }
    if row.session.activity.resumes > 0 {
        let tries = counted(row.session.activity.resumes, "attempt", "attempts");
        text.push(format!(
            "{tries} to continue after the interruption, none of which ended a turn"
        ));
    }
    for child in &details.children {
        let role = child.role().unwrap_or("agent");
        text.push(format!(
            "child {} {role}, {}",
            child.key(),
            child.status.state.as_str()
        ));
    }
    text.extend(details.links.iter().map(|link| link_line(link, row.key())));
    if let Some((at, kept)) = &details.checkpoint {
        text.push(format!(
            "last interruption: {} at {}",
            kept.cause.as_str(),
            canvas.time(*at)
        ));
        text.extend(checkpoint(kept));
    }
    text.push(format!(
        "history: {}",
        counted(row.life.transitions, "change", "changes")
    ));
    let shown = details.history.len().saturating_sub(SHOWN_HISTORY);
    for change in details.history.iter().skip(shown) {
        let from = change.from.map_or("(none)", SessionState::as_str);
        let why = canvas.excerpt(&printable(&change.why()), 200, 48);
        text.push(format!(
            "  {}  {from} -> {}  {why}",
            canvas.time(change.at),
            change.to.as_str()
        ));
    }
    text
}

fn facts(row: &SessionRow) -> Vec<String> {
    let life = &row.life;
    let metrics = &life.metrics;
    let mut text = Vec::new();
    if let Some(made) = &life.creation {
        let phase = made
            .phase
            .as_ref()
            .map(Text::as_str)
            .map(|phase| format!(", phase {phase}"));
        text.push(format!(
            "made for: {}{}",
            printable(made.purpose.as_str()),
            phase.unwrap_or_default()
        ));
    }
    if let Some(role) = row.role() {
        text.push(format!("role: {role}"));
    }
    if let Some(mode) = &row.session.description.governance {
        text.push(format!("governance: {mode}"));
    }
    if let Some(language) = &row.session.description.language {
        text.push(format!("language: {language}"));
    }
    let first = metrics.first_tool.as_deref();
    text.push(format!(
        "{}, {} with {} failed and {} refused{}",
        counted(metrics.turns, "turn", "turns"),
        counted(metrics.calls, "tool call", "tool calls"),
        metrics.failed_calls,
        metrics.refused_calls,
        first
            .map(|tool| format!("; the first call was {tool}"))
            .unwrap_or_default()
    ));
    text
}

/// Renders the state of a session at an interruption.
pub fn checkpoint(kept: &InterruptionCheckpoint) -> Vec<String> {
    let mut text = Vec::new();
    for call in &kept.in_flight {
        let input = condense(&printable(&call.start.input), SHOWN_INPUT);
        text.push(format!(
            "  outcome unknown, verify first: {} {input}",
            call.start.tool
        ));
        text.push(format!("    {}", call.start.check()));
    }
    if !kept.files.is_empty() {
        let files: Vec<String> = kept.files.iter().map(|file| printable(file)).collect();
        text.push(format!(
            "  touched since the last finished step: {}",
            files.join(", ")
        ));
    }
    for prompt in &kept.queued {
        let words = condense(&printable(prompt.words.as_str()), SHOWN_INPUT);
        text.push(format!("  queued, not seen by the model: {words}"));
    }
    if let Some(git) = &kept.git {
        let head = git
            .head
            .as_deref()
            .map_or("no commit", |head| head.get(..12).unwrap_or(head));
        let dirty = counted(git.dirty_total, "uncommitted file", "uncommitted files");
        text.push(format!("  git: {head}, {dirty}"));
    }
    text
}

fn link_line(link: &SessionLink, of: &SessionRef) -> String {
    let kind = link.kind.as_str().replace('_', " ");
    if link.session == *of {
        format!("{kind}: to {}", link.to)
    } else {
        format!("{kind}: from {}", link.session)
    }
}

/// Renders all sessions as a tree; rows come with each parent before its children.
pub fn tree(rows: &[SessionRow], links: &[SessionLink], canvas: &Canvas<'_>) -> Vec<String> {
    let mut text = Vec::new();
    for row in rows {
        let indent = "  ".repeat(usize::try_from(row.level.depth).unwrap_or(0).min(40));
        let orphan = if row.is_orphan { " (orphaned)" } else { "" };
        let head = format!(
            "{indent}{} {}{orphan}",
            row.key(),
            row.status.state.as_str()
        );
        let title = canvas.title(row.title(), head.chars().count() + 2);
        text.push(
            format!("{}  {title}", inked(canvas, row.status.state, &head))
                .trim_end()
                .to_owned(),
        );
        for link in links.iter().filter(|link| link.session == *row.key()) {
            let kind = link.kind.as_str().replace('_', " ");
            text.push(canvas.ink(Ink::Dim, &format!("{indent}  {kind} {}", link.to)));
        }
    }
    text
}

/// Renders a step of a clean-up.
pub fn care_line(step: &CleanupStep, dry_run: bool) -> String {
    let would = if dry_run { "would be " } else { "" };
    let what = match &step.action {
        CleanupAction::Close => format!("{would}closed"),
        CleanupAction::Adopt(Some(parent)) => format!("{would}adopted by {parent}"),
        CleanupAction::Adopt(None) => format!("{would}made a session of its own"),
    };
    format!("{} {what}: {}", step.session, step.why)
}
