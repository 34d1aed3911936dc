//! One frame with everything around it.

use flamestack_core::frame::{Frame, FrameHead, Origin, Status};
use flamestack_core::id::FrameId;
use flamestack_core::note::{Note, NoteKind};
use flamestack_store::{FrameRow, Reading, Slice, Totals};

use super::compactions::{self, History};
use super::hosted::Hosted;
use super::{counted, icon, one_line, printable, story, time};
use crate::error::EngineError;

/// How many children are listed before the rest is counted.
const CHILDREN: usize = 20;

/// A frame, its ancestors, and what its children returned.
#[derive(Clone, Debug)]
pub struct Details {
    /// The frame.
    pub frame: Frame,
    /// The frames above it, root first; the nearest few of a deep path.
    pub path: Vec<FrameHead>,
    /// Its children: open ones and the last finished ones.
    pub children: Vec<FrameRow>,
    /// All of its children by status.
    pub totals: Totals,
    /// The sessions that work on it.
    pub sessions: Vec<String>,
    /// What is known of the session that is this frame.
    pub hosted: Option<Hosted>,
    /// The compactions of that session.
    pub compactions: Option<History>,
}

/// Gathers a frame's details.
pub fn gather(reading: &dyn Reading, id: &FrameId) -> Result<Details, EngineError> {
    let Some(frame) = reading.whole_frame(id)? else {
        return Err(EngineError::GoneFrame { id: id.clone() });
    };
    let (path, _) = super::status::path(reading, frame.parent.as_ref())?;
    let slice = |open: bool| Slice {
        parent: Some(id.clone()),
        open: Some(open),
        limit: Some(CHILDREN),
        last: !open,
    };
    let mut children = reading.rows(&slice(false))?;
    children.extend(reading.rows(&slice(true))?);
    children.sort_by(|a, b| (a.frame.rank, &a.frame.id).cmp(&(b.frame.rank, &b.frame.id)));
    let sessions = reading
        .focused_on(id)?
        .iter()
        .map(ToString::to_string)
        .collect();
    let totals = reading.child_totals(Some(id))?;
    let hosted = match &frame.session {
        Some(session) => Some(Hosted::gather(reading, session)?),
        None => None,
    };
    let session = frame.session.as_ref();
    let history = session.map(|session| compactions::gather(reading, session));
    let history = history.transpose()?;
    Ok(Details {
        compactions: history,
        frame,
        path,
        children,
        totals,
        sessions,
        hosted,
    })
}

/// The details as plain text.
pub fn plain(details: &Details) -> String {
    let frame = &details.frame;
    let mut text = format!(
        "{} {}  {}\n",
        icon(frame.status),
        frame.id,
        one_line(frame.title.as_str(), 500)
    );
    let mut fact = |name: &str, value: &str| {
        text.push_str(&format!("  {name:<10} {value}\n"));
    };
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
    let facts = details.hosted.as_ref().map(Hosted::facts);
    for (name, value) in facts.into_iter().flatten() {
        fact(name, &value);
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

/// What it is to come to, and what it has come to so far.
fn outcome(details: &Details) -> String {
    let frame = &details.frame;
    let mut text = String::new();
    section(
        &mut text,
        "Done when",
        frame
            .criteria
            .as_ref()
            .map(|criteria| printable(criteria.as_str())),
    );
    section(
        &mut text,
        "Results",
        frame
            .results
            .as_ref()
            .map(|results| printable(results.as_str())),
    );
    section(
        &mut text,
        "Results, compacted",
        frame
            .results_compacted
            .as_ref()
            .map(|results| printable(results.as_str())),
    );
    section(
        &mut text,
        "Summary so far",
        frame
            .summary
            .as_ref()
            .filter(|_| frame.results.is_none())
            .map(|summary| printable(summary.as_str())),
    );
    section(
        &mut text,
        "Compactions",
        details
            .compactions
            .as_ref()
            .filter(|history| !history.is_empty())
            .map(compactions::plain),
    );
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
            Note::Artifact(path) => format!("- {}", one_line(path.as_str(), 300)),
            Note::Decision { text, why } | Note::FailedAttempt { text, why } => {
                format!("- {}", story::with_reason(text, why.as_ref()))
            }
            Note::Evidence(evidence) => format!("- {}", story::proof(evidence)),
            Note::Directive(text) => format!("- {}", one_line(text.as_str(), 300)),
        })
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Pieces of raw text, each by the name that shows it.
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

/// Children with what they returned.
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
        if matches!(frame.status, Status::Completed | Status::Failed)
            && let Some(results) = frame.compacted_results()
        {
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
