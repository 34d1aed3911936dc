//! Tools that look.

use flamestack_core::command::Actor;
use flamestack_core::frame::Status;
use flamestack_core::note::Note;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Tool, parse};
use crate::Engine;
use crate::error::EngineError;
use crate::names::resolve;
use crate::views::status::StatusView;
use crate::views::tree::TreeOptions;
use crate::views::{details, printable, status, tree};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

fn nothing() -> Value {
    json!({ "type": "object", "properties": {} })
}

pub(super) const STATUS: Tool = Tool {
    name: "stack_status",
    description: "Where this session stands: the path to the active frame, its place, what is next.",
    schema: nothing,
    run: |engine, actor, arguments| {
        let Nothing {} = parse(STATUS.name, arguments)?;
        let view = engine.read(|reading| {
            Ok(StatusView {
                sessions: status::gather(
                    reading,
                    Some(&actor.session),
                    &engine.project().worktree,
                )?,
                totals: reading.totals()?,
                set_aside: Vec::new(),
            })
        })?;
        Ok(status::plain(&view, Some(&actor.session)))
    },
};

pub(super) const TREE: Tool = Tool {
    name: "stack_tree",
    description: "The tree of frames with statuses, counts and a legend.",
    schema: || {
        json!({
            "type": "object",
            "properties": {
                "showFull": { "type": "boolean", "description": "Finished work too" },
                "rootID": { "type": "string", "description": "Only below this frame" },
                "showDetails": { "type": "boolean", "description": "Criteria and results too" }
            }
        })
    },
    run: |engine, actor, arguments| {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        struct Arguments {
            show_full: Option<bool>,
            #[serde(rename = "rootID")]
            root: Option<String>,
            show_details: Option<bool>,
        }
        let arguments: Arguments = parse(TREE.name, arguments)?;
        let view = engine.read(|reading| {
            let root = arguments
                .root
                .as_deref()
                .map(|name| resolve(reading, name))
                .transpose()?;
            let all = arguments.show_full.unwrap_or(false);
            tree::gather(
                reading,
                &TreeOptions {
                    root,
                    depth: None,
                    all,
                },
            )
        })?;
        let here = actor.session.to_string();
        Ok(tree::plain(
            &view,
            Some(&here),
            arguments.show_details.unwrap_or(false),
        ))
    },
};

pub(super) const DETAILS: Tool = Tool {
    name: "stack_frame_details",
    description: "Everything recorded about a frame, with what its children returned.",
    schema: || {
        json!({
            "type": "object",
            "properties": { "frameID": { "type": "string" } },
            "required": ["frameID"]
        })
    },
    run: |engine, _, arguments| {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Arguments {
            #[serde(rename = "frameID")]
            frame: String,
        }
        let Arguments { frame } = parse(DETAILS.name, arguments)?;
        let details =
            engine.read(|reading| details::gather(reading, &resolve(reading, &frame)?))?;
        let (_, log) = engine.frame_log(&details.frame.id)?;
        Ok(format!(
            "{}\nlog: {}\n",
            details::plain(&details),
            log.display()
        ))
    },
};

pub(super) const SUMMARY: Tool = Tool {
    name: "stack_get_summary",
    description: "What is recorded of a frame's outcome so far (by default of the active frame).",
    schema: || {
        json!({
            "type": "object",
            "properties": {
                "sessionID": { "type": "string", "description": "Frame id, if not the active one" }
            }
        })
    },
    run: summary,
};

fn summary(engine: &Engine, actor: &Actor, arguments: Value) -> Result<String, EngineError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Arguments {
        #[serde(rename = "sessionID")]
        frame: Option<String>,
    }
    let Arguments { frame } = parse(SUMMARY.name, arguments)?;
    engine.read(|reading| {
        let id = if let Some(name) = frame {
            resolve(reading, &name)?
        } else {
            let session = reading.session(&actor.session)?;
            session
                .and_then(|known| known.active.or(known.own))
                .ok_or_else(|| flamestack_core::Refusal::NoActiveFrame {
                    session: actor.session.clone(),
                })?
        };
        let details = details::gather(reading, &id)?;
        let frame = &details.frame;
        let mut text = format!("{} ({})\n", frame.title, frame.status);
        match &frame.results {
            Some(results) => text.push_str(&format!("\n{}\n", printable(results.as_str()))),
            None => text.push_str("\nno results yet\n"),
        }
        if let Some(summary) = frame.summary.as_ref().filter(|_| frame.results.is_none()) {
            text.push_str(&format!(
                "\nlast summary:\n{}\n",
                printable(summary.as_str())
            ));
        }
        if frame.awaiting.is_some() {
            text.push_str("\na summary of it is awaited\n");
        }
        let finished = details
            .children
            .iter()
            .filter(|row| matches!(row.frame.status, Status::Completed | Status::Failed));
        for row in finished {
            if let Some(results) = row.frame.compacted_results() {
                text.push_str(&format!(
                    "\n{} “{}”: {results}\n",
                    row.frame.id, row.frame.title
                ));
            }
        }
        Ok(text)
    })
}

pub(super) const STATE: Tool = Tool {
    name: "stack_get_state",
    description: "The complete state as JSON, for user interfaces.",
    schema: nothing,
    run: |engine, actor, arguments| {
        let Nothing {} = parse(STATE.name, arguments)?;
        let state = engine.read(|reading| {
            let mut frames = Map::new();
            let mut roots = Vec::new();
            let mut updated = 0;
            let mut ids = Vec::new();
            reading.all_rows(&mut |row| {
                updated = updated.max(row.frame.updated_at.0);
                ids.push(row.frame.id);
                Ok(())
            })?;
            for id in ids {
                if let Some(frame) = reading.whole_frame(&id)? {
                    if frame.parent.is_none() {
                        roots.push(json!(frame.id.as_str()));
                    }
                    frames.insert(frame.id.to_string(), metadata(&frame));
                }
            }
            let active = reading
                .session(&actor.session)?
                .and_then(|session| session.active);
            Ok(json!({
                "version": 1,
                "frames": frames,
                "activeFrameID": active.map(|id| id.to_string()),
                "rootFrameIDs": roots,
                "updatedAt": updated,
            }))
        })?;
        Ok(state.to_string())
    },
};

/// A frame as seed 000's `FrameMetadata`.
fn metadata(frame: &flamestack_core::Frame) -> Value {
    let texts = |wanted: fn(&Note) -> Option<&str>| -> Vec<&str> {
        frame.notes.iter().filter_map(wanted).collect()
    };
    let mut metadata = json!({
        "sessionID": frame.id.as_str(),
        "status": frame.status.as_str(),
        "title": frame.title.as_str(),
        "successCriteria": frame.criteria.as_ref().map_or("", |text| text.as_str()),
        "successCriteriaCompacted": frame.compacted_criteria().unwrap_or_default(),
        "createdAt": frame.created_at.0,
        "updatedAt": frame.updated_at.0,
        "artifacts": texts(|note| match note {
            Note::Artifact(path) => Some(path.as_str()),
            _ => None,
        }),
        "decisions": texts(|note| match note {
            Note::Decision { text, .. } => Some(text.as_str()),
            _ => None,
        }),
    });
    if let Value::Object(fields) = &mut metadata {
        let mut optional = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                fields.insert(name.to_owned(), value);
            }
        };
        optional(
            "parentSessionID",
            frame.parent.as_ref().map(|id| json!(id.as_str())),
        );
        optional(
            "results",
            frame.results.as_ref().map(|text| json!(text.as_str())),
        );
        optional(
            "resultsCompacted",
            frame.compacted_results().map(Value::String),
        );
        let invalidation = frame.invalidation.as_ref();
        optional(
            "invalidationReason",
            invalidation.map(|known| json!(known.reason.as_str())),
        );
        optional("invalidatedAt", invalidation.map(|known| json!(known.at.0)));
    }
    metadata
}
