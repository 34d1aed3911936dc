//! A frame's log as Markdown: goal, results, notes, children, timeline, session.
//!
//! The log is rendered from the journal each time, so deleting the rendered file loses nothing.

use std::collections::{BTreeMap, VecDeque};

use flamestack_core::frame::FrameStanding;
use flamestack_core::id::{BlobId, Seq, Timestamp};
use flamestack_core::note::NoteKind;
use flamestack_core::{Frame, FrameId, Note, Recorded};
use flamestack_store::{FrameRow, Reading, Slice};
use jiff::Zoned;

use super::{counted, finished_results, one_line, printable, size, story, time};
use crate::error::Result;

/// Maximum number of children in a log.
const CHILDREN: usize = 200;
/// Maximum number of events in a log.
const TIMELINE: usize = 5_000;
/// Maximum number of turns that are named where there is no room for them.
const NAMED: usize = 50;

/// Content of a log.
#[derive(Clone, Debug)]
pub struct Log {
    /// The frame as it is now; `None` if it was deleted.
    pub frame: Option<Frame>,
    /// Id of the frame.
    pub id: FrameId,
    /// Times of the last events of the frame, oldest first, with a line about each.
    pub timeline: Vec<(Timestamp, String)>,
    /// Number of events before those.
    pub earlier: u64,
    /// Children of the frame.
    pub children: Vec<FrameRow>,
    /// Raw texts that were dropped, and the events that recorded it.
    pub dropped: BTreeMap<BlobId, Seq>,
}

/// Gathers the log of a frame. A deleted frame still has a history.
pub fn gather(reading: &dyn Reading, id: &FrameId) -> Result<Log> {
    let slice = Slice {
        parent: Some(*id),
        limit: Some(CHILDREN),
        ..Slice::default()
    };
    let frame = reading.whole_frame(id)?;
    let mut dropped = BTreeMap::new();
    for entry in frame.iter().flat_map(|frame| &frame.log) {
        if let Some((seq, _)) = reading.dropped(entry.blob.as_str())? {
            dropped.insert(entry.blob.clone(), seq);
        }
    }
    let standing = frame.as_ref().map(Frame::standing);
    let mut timeline = VecDeque::new();
    let mut earlier = 0;
    reading.visit_history(id, &mut |recorded| {
        if timeline.len() == TIMELINE {
            timeline.pop_front();
            earlier += 1;
        }
        timeline.push_back((recorded.at, line(&recorded, standing)));
        Ok(true)
    })?;
    Ok(Log {
        frame,
        dropped,
        id: *id,
        timeline: timeline.into(),
        earlier,
        children: reading.rows(&slice)?,
    })
}

/// Renders a log, without the session. `reader` is the time and zone of a user at a terminal; files are in UTC.
pub fn markdown(log: &Log, reader: Option<&Zoned>) -> String {
    let mut text = String::new();
    match &log.frame {
        Some(frame) => {
            text.push_str(&format!("# {}\n\n", one_line(frame.title.as_str(), 500)));
            text.push_str(&format!("`{}` · {}\n", frame.id, frame.standing()));
            body(&mut text, frame, &log.dropped);
        }
        None => text.push_str(&format!("# `{}`\n\nThis frame was deleted.\n", log.id)),
    }
    if !log.children.is_empty() {
        text.push_str("\n## Children\n\n");
        for row in &log.children {
            let frame = &row.frame;
            text.push_str(&format!(
                "- `{}` {} ({})",
                frame.id,
                one_line(frame.title.as_str(), 120),
                row.standing()
            ));
            if let Some(results) = finished_results(frame) {
                text.push_str(&format!(": {}", one_line(&results, 280)));
            }
            text.push('\n');
        }
    }
    if !log.timeline.is_empty() {
        text.push_str("\n## Timeline\n\n");
        if log.earlier > 0 {
            let earlier = counted(log.earlier, "earlier event", "earlier events");
            text.push_str(&format!("- … {earlier}\n"));
        }
        for (at, line) in &log.timeline {
            let at = reader.map_or_else(|| time::minute(*at), |now| time::local(*at, now));
            text.push_str(&format!("- {at} {line}\n"));
        }
    }
    text
}

/// Renders an event of the timeline, without its time.
fn line(recorded: &Recorded, standing: Option<FrameStanding>) -> String {
    let what = story::happened_in(&recorded.event, standing);
    format!("{what} ({})", recorded.session)
}

fn body(text: &mut String, frame: &Frame, dropped: &BTreeMap<BlobId, Seq>) {
    let mut section = |heading: &str, body: &str| {
        text.push_str(&format!("\n## {heading}\n\n{}\n", printable(body)));
    };
    let invalidation = frame.invalidation.as_ref();
    for (heading, body) in [
        ("Success criteria", frame.criteria.as_ref()),
        ("Waits for", frame.blocked_on.as_ref()),
        ("Invalidated", invalidation.map(|known| &known.reason)),
        ("Results", frame.results.as_ref()),
    ] {
        if let Some(body) = body {
            section(heading, body.as_str());
        }
    }
    for kind in NoteKind::ALL {
        let notes: Vec<String> = frame
            .notes
            .iter()
            .filter(|note| note.kind() == kind)
            .map(in_full)
            .collect();
        if !notes.is_empty() {
            section(kind.heading(), &notes.join("\n"));
        }
    }
    if !frame.log.is_empty() {
        let entries: Vec<String> = (1..)
            .zip(&frame.log)
            .map(|(n, entry)| {
                let dropped = match dropped.get(&entry.blob) {
                    Some(seq) => format!("; dropped by `flame gc` at event {seq}"),
                    None => String::new(),
                };
                format!(
                    "- `{}#{n}` {} ({}{dropped})",
                    frame.id,
                    entry.label,
                    size(entry.bytes)
                )
            })
            .collect();
        section("Raw text", &entries.join("\n"));
    }
}

/// Renders a note without cutting it.
fn in_full(note: &Note) -> String {
    match note {
        Note::Artifact(path) => format!("- `{path}`"),
        Note::Directive(text) => format!("- {text}"),
        Note::Decision { text, why, .. } | Note::FailedAttempt { text, why } => {
            let by = story::by(note);
            match why {
                Some(why) => format!("- {text} (because {why}){by}"),
                None => format!("- {text}{by}"),
            }
        }
        Note::Evidence(evidence) => format!("- {}", story::proof(evidence)),
    }
}

/// A recorded turn of a session.
#[derive(Clone, Debug)]
pub struct ShownTurn {
    /// Number of its raw text in the frame's log, from 1.
    pub number: usize,
    /// The turn as Markdown; `None` if the log has no room for it.
    pub text: Option<String>,
}

/// Renders the recorded turns of a frame, and names those that are left out.
pub fn session(frame: &FrameId, turns: &[ShownTurn]) -> String {
    let mut text = String::new();
    let mut left_out = Vec::new();
    let mut unnamed = 0;
    for turn in turns {
        match &turn.text {
            Some(_) if text.is_empty() => text.push_str("\n## Conversation\n\n"),
            Some(_) => {}
            None if left_out.len() == NAMED => unnamed += 1,
            None => left_out.push(format!("`flame log {frame}#{}`", turn.number)),
        }
        text.push_str(&printable(turn.text.as_deref().unwrap_or_default()));
    }
    if !left_out.is_empty() {
        let more = match unnamed {
            0 => String::new(),
            unnamed => format!(" and {}", counted(unnamed, "more turn", "more turns")),
        };
        text.push_str(&format!("More of it: {}{more}\n", left_out.join(", ")));
    }
    text
}
