//! One frame with everything recorded about it.

use std::collections::BTreeSet;

use flamestack_core::frame::Origin;
use flamestack_core::id::{BlobId, Timestamp};
use flamestack_core::note::NoteKind;
use flamestack_core::{Event, Frame, FrameHead, FrameId, Note, Status};
use flamestack_store::{FrameRow, Reading, Totals};

use super::compactions::{self, History};
use super::hosted::Hosted;
use super::{
    BEFORE_TITLE, Canvas, Ink, counted, finished_results, frame_line, icon, level, one_line,
    printable, size, story, time, tree,
};
use crate::error::{EngineError, Result};
use crate::hints::Voice;

/// Maximum number of open and of finished children listed.
const CHILDREN: usize = 20;

/// A frame, its ancestors, and what its children returned.
#[derive(Clone, Debug)]
pub struct Details {
    /// The frame.
    pub frame: Frame,
    /// Its ancestors, root first; of a deep path only the nearest ones.
    pub path: Vec<FrameHead>,
    /// Its open children and the last finished ones.
    pub children: Vec<FrameRow>,
    /// Number of its children by status.
    pub totals: Totals,
    /// The sessions that work on it.
    pub sessions: Vec<String>,
    /// The session bound to it, with its compactions.
    pub bound: Option<History>,
    /// The time when work on it began, as far as its history goes back.
    pub started: Option<Timestamp>,
    /// The time when it ended.
    pub ended: Option<Timestamp>,
    /// Number of its notes, the oldest, that are left out because there are too many.
    pub notes_left_out: u64,
    /// Its raw texts that garbage collection has dropped.
    pub dropped: BTreeSet<BlobId>,
}

/// Gathers the details of a frame.
pub fn gather(reading: &dyn Reading, id: &FrameId) -> Result<Details> {
    let Some(frame) = reading.whole_frame(id)? else {
        return Err(EngineError::GoneFrame(*id));
    };
    let (path, _) = super::status::path(reading, frame.parent.as_ref())?;
    let sessions = reading
        .focused_on(id)?
        .iter()
        .map(ToString::to_string)
        .collect();
    let totals = reading.child_totals(Some(id))?;
    let session = frame.session.as_ref();
    let bound = session.map(|session| compactions::gather(reading, session));
    let (mut started, mut ended) = (None, None);
    reading.visit_history(id, &mut |recorded| {
        let is_start = matches!(
            recorded.event,
            Event::FrameStarted { .. } | Event::FrameOpened { planned: false, .. }
        );
        if is_start && started.is_none() {
            started = Some(recorded.at);
        }
        if Some(recorded.seq) == frame.closed {
            ended = Some(match &recorded.event {
                // It ended before it came here, and nothing changed it since.
                Event::FrameImported { frame } | Event::FrameCopied { frame, .. } => {
                    frame.updated_at
                }
                _ => recorded.at,
            });
        }
        Ok(started.is_none() || ended.is_none() && frame.closed.is_some())
    })?;
    let mut dropped = BTreeSet::new();
    for entry in &frame.log {
        if reading.dropped(entry.blob.as_str())?.is_some() {
            dropped.insert(entry.blob.clone());
        }
    }
    Ok(Details {
        started,
        ended,
        notes_left_out: reading
            .note_count(id)?
            .saturating_sub(frame.notes.len() as u64),
        bound: bound.transpose()?,
        dropped,
        frame,
        path,
        children: level(reading, Some(*id), CHILDREN, CHILDREN)?,
        totals,
        sessions,
    })
}

/// Renders the details.
pub fn render(canvas: &Canvas<'_>, details: &Details) -> String {
    let frame = &details.frame;
    let sign = canvas.ink(Ink::Status(frame.status), icon(frame.status));
    let id = canvas.ink(Ink::Id, frame.id.as_str());
    let title = canvas.ink(Ink::Bold, &one_line(frame.title.as_str(), 500));
    let mut text = canvas.hanging(&format!("{sign} {id}  "), &" ".repeat(BEFORE_TITLE), &title);
    facts(canvas, details, &mut |name, value| {
        let name = canvas.ink(Ink::Dim, &format!("  {name:<10} "));
        text.push_str(&canvas.paragraph(&name, value));
    });
    outcome(canvas, &mut text, details);
    for kind in NoteKind::ALL {
        section(canvas, &mut text, kind.heading(), notes(frame, kind));
    }
    section(canvas, &mut text, "Earlier notes", earlier_notes(details));
    section(canvas, &mut text, "Raw text", raw_texts(canvas, details));
    section(canvas, &mut text, "Children", children(canvas, details));
    text
}

/// Passes the facts about a frame to `fact`, each with its name.
fn facts(canvas: &Canvas<'_>, details: &Details, fact: &mut dyn FnMut(&str, &str)) {
    let frame = &details.frame;
    let standing = frame.standing();
    if standing.is_claimed {
        let why = "no check, test or commit is recorded";
        fact("status", &format!("{standing}: {why}"));
    } else {
        fact("status", frame.status.label());
    }
    if frame.origin != Origin::Asked {
        fact("origin", &frame.origin.to_string());
    }
    if let Some(awaiting) = &frame.awaiting {
        let what = match awaiting.outcome {
            Some(outcome) => format!("a summary, to end as {}", outcome.status()),
            None => "a summary".to_owned(),
        };
        fact("waits for", &what);
    }
    if let Some(reason) = &frame.blocked_on {
        fact("waits for", &one_line(reason.as_str(), 200));
    }
    if let Some(invalidation) = &frame.invalidation {
        fact("reason", &one_line(invalidation.reason.as_str(), 200));
    }
    if !details.path.is_empty() {
        let path: Vec<String> = details
            .path
            .iter()
            .map(|head| format!("{} {}", head.id, one_line(head.title.as_str(), 40)))
            .collect();
        fact("path", &path.join(" › "));
    }
    if let Some(session) = &frame.session {
        fact("bound to", &session.to_string());
    }
    if let Some(bound) = &details.bound {
        for (name, value) in Hosted(&bound.session).facts() {
            fact(name, &value);
        }
    }
    if !details.sessions.is_empty() {
        fact("active in", &details.sessions.join(", "));
    }
    if let Some(span) = &frame.span {
        let messages = match (&span.first, &span.last) {
            (Some(first), Some(last)) => format!(", {first} to {last}"),
            (Some(first), None) => format!(", from {first}"),
            _ => String::new(),
        };
        fact("worked in", &format!("{}{messages}", span.session));
    }
    if !frame.aliases.is_empty() {
        fact("also", &frame.aliases.join(", "));
    }
    let opened = canvas.time_and_age(frame.created_at);
    fact("opened", &opened);
    let started = details.started.map(|at| canvas.time_and_age(at));
    if let Some(started) = started.filter(|started| *started != opened) {
        fact("started", &started);
    }
    let ended = details.ended;
    if let Some(ended) = ended {
        let mut text = canvas.time_and_age(ended);
        if let Some(started) = details.started {
            let took = time::duration(ended.0.saturating_sub(started.0));
            text.push_str(&format!(", after {took}"));
        }
        fact("ended", &text);
    }
    let changed = canvas.time_and_age(frame.updated_at);
    if changed != ended.map_or(opened, |at| canvas.time_and_age(at)) {
        fact("changed", &changed);
    }
}

/// Renders criteria, results and compactions.
fn outcome(canvas: &Canvas<'_>, text: &mut String, details: &Details) {
    let frame = &details.frame;
    let open_summary = frame.summary.as_ref().filter(|_| frame.results.is_none());
    for (heading, body) in [
        ("Done when", frame.criteria.as_ref()),
        ("Results", frame.results.as_ref()),
        ("Results, compacted", frame.results_compacted.as_ref()),
        ("Summary so far", open_summary),
    ] {
        let body = body.map(|body| printable(body.as_str()));
        section(canvas, text, heading, body);
    }
    let bound = details.bound.as_ref().filter(|bound| !bound.is_empty());
    let compactions = bound.map(|bound| compactions::plain(canvas, bound));
    section(canvas, text, "Compactions", compactions);
}

/// Renders a heading and the lines below it. A line that is broken continues below its first word.
fn section(canvas: &Canvas<'_>, text: &mut String, heading: &str, body: Option<String>) {
    let Some(body) = body else { return };
    text.push_str(&format!("\n{}\n", canvas.ink(Ink::Bold, heading)));
    for line in body.lines() {
        let content = line.trim_start_matches([' ', '-', '*', '•']);
        let lead = line.len() - content.len();
        let (lead, content) = line.split_at_checked(lead).unwrap_or(("", line));
        text.push_str(&canvas.paragraph(&format!("  {lead}"), content));
    }
}

fn notes(frame: &Frame, kind: NoteKind) -> Option<String> {
    let lines: Vec<String> = frame
        .notes
        .iter()
        .filter(|note| note.kind() == kind)
        .map(|note| match note {
            Note::Decision { text, why, .. } | Note::FailedAttempt { text, why } => {
                let reasoned = story::with_reason(text, why.as_ref());
                format!("- {reasoned}{}", story::by(note))
            }
            Note::Evidence(evidence) => format!("- {}", story::proof(evidence)),
            Note::Artifact(text) | Note::Directive(text) => {
                format!("- {}", one_line(text.as_str(), 300))
            }
        })
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Counts the notes that are left out.
fn earlier_notes(details: &Details) -> Option<String> {
    let left_out = details.notes_left_out;
    let notes = counted(left_out, "note is", "notes are");
    (left_out > 0).then(|| format!("{notes} not shown; a search finds them, an export has them"))
}

/// Lists raw texts with the command that shows each.
fn raw_texts(canvas: &Canvas<'_>, details: &Details) -> Option<String> {
    let frame = &details.frame;
    let call = match canvas.voice {
        Voice::Cli => "flame log",
        Voice::Tool => "stack_recall",
    };
    let lines: Vec<String> = (1..)
        .zip(&frame.log)
        .map(|(n, entry)| {
            let size = size(entry.bytes);
            if details.dropped.contains(&entry.blob) {
                return format!("- {} ({size}): dropped by `flame gc`", entry.label);
            }
            format!("- {} ({size}): {call} {}#{n}", entry.label, frame.id)
        })
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Lists children with their results. Finished ones that are left out came before those shown, open
/// ones come after them.
fn children(canvas: &Canvas<'_>, details: &Details) -> Option<String> {
    if details.children.is_empty() {
        return None;
    }
    let rows = &details.children;
    let (mut earlier, mut later) = (Totals::default(), Totals::default());
    for status in Status::ALL {
        let shown = rows.iter().filter(|row| row.frame.status == status);
        let hidden = details.totals.of(status);
        let hidden = hidden.saturating_sub(shown.count() as u64);
        let side = if status.is_open() {
            &mut later
        } else {
            &mut earlier
        };
        side.add(status, hidden);
    }
    let left_out = |totals: &Totals| {
        let id = Some(&details.frame.id);
        (totals.all() > 0).then(|| tree::hidden(canvas.voice, id, totals))
    };
    let first_finished = rows.iter().position(|row| !row.frame.status.is_open());
    let mut lines = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        if Some(place) == first_finished {
            lines.extend(left_out(&earlier));
        }
        let frame = &row.frame;
        lines.push(frame_line(canvas, frame.status, &frame.id, &frame.title, 2));
        if let Some(results) = finished_results(frame) {
            lines.push(format!("    {}", one_line(&results, 280)));
        }
    }
    if first_finished.is_none() {
        lines.extend(left_out(&earlier));
    }
    lines.extend(left_out(&later));
    Some(lines.join("\n"))
}
