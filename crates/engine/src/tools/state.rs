//! The tool that returns the state of the stack as JSON.

use std::collections::BTreeSet;

use flamestack_core::{Actor, Frame, FrameId, Note, Status, Text};
use flamestack_store::Reading;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::reading::ANSWER_LIMIT;
use super::{ToolArgs, WholeNumber};
use crate::Engine;
use crate::error::Result;
use crate::json::present;
use crate::views::undisguised;

/// Maximum length of one text of a frame, in characters.
const TEXT_LIMIT: usize = 1_000;
/// Maximum number of notes of one kind, and of planned children, of a frame.
const LIST_LIMIT: usize = 50;
/// Maximum number of ancestors that are listed first.
const PATH_LIMIT: usize = 64;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetStateArgs {
    /// Frames to skip
    from: Option<WholeNumber>,
}

impl ToolArgs for GetStateArgs {
    const NAME: &'static str = "stack_get_state";
    const ONLY_READS: bool = true;
    const DESCRIPTION: &'static str = "The state as JSON, for user interfaces: the path to the active frame first. `omitted` \
         says how to get the rest.";
    const ESCAPES_RECORDS: bool = true;

    fn call(self, engine: &Engine, actor: &Actor) -> Result<String> {
        let from = self.from.map_or(0, WholeNumber::get);
        let state = engine.read(|reading| state(engine, reading, actor, from))?;
        let text = format!("{state:#}");
        // As an escape of JSON, so that a text from a record opens no tag.
        Ok(undisguised(&text).replace('<', "\\u003c"))
    }
}

fn state(engine: &Engine, reading: &dyn Reading, actor: &Actor, from: usize) -> Result<Value> {
    let active = reading
        .session(&actor.session)?
        .and_then(|session| session.active);
    let path = match active {
        Some(active) => reading.path(&active, PATH_LIMIT)?,
        None => Vec::new(),
    };
    let mut ids: Vec<FrameId> = path.iter().map(|(frame, _)| frame.id).collect();
    let first: BTreeSet<FrameId> = ids.iter().copied().collect();
    let mut roots = Vec::new();
    let mut updated = 0;
    reading.all_rows(&mut |row| {
        updated = updated.max(row.frame.updated_at.0);
        if row.frame.parent.is_none() {
            roots.push(row.frame.id);
        }
        if !first.contains(&row.frame.id) {
            ids.push(row.frame.id);
        }
        Ok(())
    })?;
    let mut frames = Map::new();
    let mut length = 0;
    let mut shown = 0;
    for id in ids.iter().skip(from) {
        if let Some(frame) = reading.whole_frame(id)? {
            let metadata = metadata(engine, reading, &frame)?;
            let pretty = format!("{metadata:#}");
            // Inside of the answer every line is indented by four blanks.
            length += pretty.len() + 4 * pretty.lines().count();
            // The first frame of a page is always on it, so that every page goes further.
            if length > ANSWER_LIMIT && shown > 0 {
                break;
            }
            frames.insert(id.to_string(), metadata);
        }
        shown += 1;
    }
    let next = from.saturating_add(shown);
    let left_out = ids.len().saturating_sub(next);
    let roots: Vec<String> = roots
        .iter()
        .take(LIST_LIMIT)
        .map(ToString::to_string)
        .collect();
    Ok(present(json!({
        "version": 1,
        "frames": frames,
        "activeFrameID": active.map(|id| id.to_string()),
        "rootFrameIDs": roots,
        "updatedAt": updated,
        "omitted": (left_out > 0).then(|| json!({
            "frames": left_out,
            "next": format!("stack_get_state with {{\"from\": {next}}}"),
        })),
    })))
}

/// Renders a frame in the layout of the predecessor's `FrameMetadata`. Names of texts that were cut
/// are in `truncated`.
fn metadata(engine: &Engine, reading: &dyn Reading, frame: &Frame) -> Result<Value> {
    let mut truncated = BTreeSet::new();
    let mut cut = |name: &'static str, text: &str| -> String {
        match text.char_indices().nth(TEXT_LIMIT) {
            Some((end, _)) => {
                truncated.insert(name);
                format!("{}…", text.get(..end).unwrap_or_default())
            }
            None => text.to_owned(),
        }
    };
    let criteria = frame.criteria.as_ref().map_or("", |text| text.as_str());
    let criteria = cut("successCriteria", criteria);
    let results = frame.results.as_ref().map(Text::as_str);
    let results = results.map(|results| cut("results", results));
    let mut artifacts = Vec::new();
    let mut decisions = Vec::new();
    for note in &frame.notes {
        match note {
            Note::Artifact(path) => artifacts.push(cut("artifacts", path.as_str())),
            Note::Decision { text, why, .. } => decisions.push(match why {
                Some(why) => cut("decisions", &format!("{text} (because {why})")),
                None => cut("decisions", text.as_str()),
            }),
            Note::FailedAttempt { .. } | Note::Evidence(_) | Note::Directive(_) => {}
        }
    }
    for (name, list) in [("artifacts", &mut artifacts), ("decisions", &mut decisions)] {
        if list.len() > LIST_LIMIT {
            truncated.insert(name);
            list.truncate(LIST_LIMIT);
        }
    }
    let mut planned = reading.children_with_status(&frame.id, Status::Planned, LIST_LIMIT + 1)?;
    if planned.len() > LIST_LIMIT {
        truncated.insert("plannedChildren");
        planned.truncate(LIST_LIMIT);
    }
    let planned: Vec<String> = planned.iter().map(|child| child.id.to_string()).collect();
    let invalidation = frame.invalidation.as_ref();
    let log = engine.project().logs_dir().join(format!("{}.md", frame.id));
    Ok(present(json!({
        "sessionID": frame.id.as_str(),
        "parentSessionID": frame.parent.as_ref().map(FrameId::as_str),
        "status": frame.status.as_str(),
        "claimed": frame.standing().is_claimed.then_some(true),
        "title": frame.title.as_str(),
        "successCriteria": criteria,
        "successCriteriaCompacted": frame.compacted_criteria().unwrap_or_default(),
        "results": results,
        "resultsCompacted": frame.compacted_results(),
        "createdAt": frame.created_at.0,
        "updatedAt": frame.updated_at.0,
        "artifacts": artifacts,
        "decisions": decisions,
        "plannedChildren": planned,
        "logPath": log.display().to_string(),
        "invalidationReason": invalidation.map(|known| cut_reason(known.reason.as_str())),
        "invalidatedAt": invalidation.map(|known| known.at.0),
        "truncated": (!truncated.is_empty()).then_some(truncated),
    })))
}

fn cut_reason(reason: &str) -> String {
    flamestack_core::text::condense(reason, TEXT_LIMIT)
}
