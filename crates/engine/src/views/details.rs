//! One frame with everything recorded about it.

use flamestack_core::frame::Origin;
use flamestack_core::note::NoteKind;
use flamestack_core::{Frame, FrameHead, FrameId, Note};
use flamestack_store::{FrameRow, Reading, Totals};

use super::compactions::{self, History};
use super::hosted::Hosted;
use super::{counted, finished_results, icon, level, one_line, printable, story, time};
use crate::error::{EngineError, Result};

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
    Ok(Details {
        bound: bound.transpose()?,
        frame,
        path,
        children: level(reading, Some(*id), CHILDREN, CHILDREN)?,
        totals,
        sessions,
    })
}

/// Renders the details as plain text.
pub fn plain(details: &Details) -> String {
    let frame = &details.frame;
    let mut text = format!(
        "{} {}  {}\n",
        icon(frame.status),
        frame.id,
        one_line(frame.title.as_str(), 500)
    );
    facts(details, &mut |name, value| {
        text.push_str(&format!("  {name:<10} {value}\n"));
    });
    text.push_str(&outcome(details));
    for (kind, heading) in [
        (NoteKind::Directive, "What the user said"),
        (NoteKind::Artifact, "Artifacts"),
        (NoteKind::Decision, "Decisions"),
        (NoteKind::FailedAttempt, "Failed attempts"),
        (NoteKind::Evidence, "Evidence"),
    ] {
        section(&mut text, heading, notes(frame, kind));
    }
    section(&mut text, "Raw text", raw_texts(frame));
    section(&mut text, "Children", children(details));
    text
}

/// Passes the facts about a frame to `fact`, each with its name.
fn facts(details: &Details, fact: &mut dyn FnMut(&str, &str)) {
    let frame = &details.frame;
    fact("status", frame.status.label());
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
        fact("happened", &format!("in {}{messages}", span.session));
    }
    if !frame.aliases.is_empty() {
        fact("also", &frame.aliases.join(", "));
    }
    fact("opened", &time::minute(frame.created_at));
    fact("changed", &time::minute(frame.updated_at));
}

/// Renders criteria, results and compactions.
fn outcome(details: &Details) -> String {
    let frame = &details.frame;
    let mut text = String::new();
    let open_summary = frame.summary.as_ref().filter(|_| frame.results.is_none());
    for (heading, body) in [
        ("Done when", frame.criteria.as_ref()),
        ("Results", frame.results.as_ref()),
        ("Results, compacted", frame.results_compacted.as_ref()),
        ("Summary so far", open_summary),
    ] {
        section(
            &mut text,
            heading,
            body.map(|body| printable(body.as_str())),
        );
    }
    let bound = details.bound.as_ref().filter(|bound| !bound.is_empty());
    section(&mut text, "Compactions", bound.map(compactions::plain));
    text
}

fn section(text: &mut String, heading: &str, body: Option<String>) {
    if let Some(body) = body {
        text.push_str(&format!("\n{heading}\n"));
        for line in body.lines() {
            text.push_str(&format!("  {line}\n"));
        }
    }
}

fn notes(frame: &Frame, kind: NoteKind) -> Option<String> {
    let lines: Vec<String> = frame
        .notes
        .iter()
        .filter(|note| note.kind() == kind)
        .map(|note| match note {
            Note::Decision { text, why } | Note::FailedAttempt { text, why } => {
                format!("- {}", story::with_reason(text, why.as_ref()))
            }
            Note::Evidence(evidence) => format!("- {}", story::proof(evidence)),
            Note::Artifact(text) | Note::Directive(text) => {
                format!("- {}", one_line(text.as_str(), 300))
            }
        })
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Lists raw texts with the command that shows each.
fn raw_texts(frame: &Frame) -> Option<String> {
    let lines: Vec<String> = (1..)
        .zip(&frame.log)
        .map(|(n, entry)| {
            let size = counted(entry.bytes, "byte", "bytes");
            format!("- {} ({size}): flame log {}#{n}", entry.label, frame.id)
        })
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Lists children with their results.
fn children(details: &Details) -> Option<String> {
    if details.children.is_empty() {
        return None;
    }
    let mut lines = Vec::new();
    for row in &details.children {
        let frame = &row.frame;
        lines.push(format!(
            "{} {}  {}",
            icon(frame.status),
            frame.id,
            one_line(frame.title.as_str(), 72)
        ));
        if let Some(results) = finished_results(frame) {
            lines.push(format!("    {}", one_line(&results, 280)));
        }
    }
    let hidden = details
        .totals
        .all()
        .saturating_sub(details.children.len() as u64);
    if hidden > 0 {
        lines.push(format!(
            "… {} more (flame tree {} --all)",
            super::grouped(hidden),
            details.frame.id
        ));
    }
    Some(lines.join("\n"))
}
