//! Tools that read the stack, search it and recall from it.

use flamestack_core::{Actor, Frame, FrameId, Note, Refusal, Text};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::ToolArgs;
use crate::Engine;
use crate::error::Result;
use crate::json::present;
use crate::names::resolve;
use crate::recall::RECALL_TOKENS;
use crate::views::status::StatusView;
use crate::views::tree::TreeOptions;
use crate::views::{details, finished_results, one_line, printable, status, tree};

/// Default number of search hits.
const HITS: usize = 10;
/// Maximum number of search hits.
const MAX_HITS: usize = 50;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StatusArgs {}

impl ToolArgs for StatusArgs {
    const NAME: &'static str = "stack_status";
    const DESCRIPTION: &'static str =
        "Where this session stands: the path to the active frame, its place, what is next.";

    fn call(self, engine: &Engine, actor: &Actor) -> Result<String> {
        let session = Some(&actor.session);
        let view = engine.read(|reading| {
            Ok(StatusView {
                sessions: status::gather(reading, session, &engine.project().worktree)?,
                totals: reading.totals()?,
                set_aside: Vec::new(),
            })
        })?;
        Ok(status::plain(&view, session))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct TreeArgs {
    /// Finished work too
    show_full: Option<bool>,
    /// Only below this frame
    #[serde(rename = "rootID")]
    root: Option<String>,
    /// Criteria and results too
    show_details: Option<bool>,
}

impl ToolArgs for TreeArgs {
    const NAME: &'static str = "stack_tree";
    const DESCRIPTION: &'static str = "The tree of frames with statuses, counts and a legend.";

    fn call(self, engine: &Engine, actor: &Actor) -> Result<String> {
        let view = engine.read(|reading| {
            let root = self.root.as_deref();
            let options = TreeOptions {
                root: root.map(|name| resolve(reading, name)).transpose()?,
                depth: None,
                all: self.show_full.unwrap_or(false),
            };
            tree::gather(reading, &options)
        })?;
        let here = actor.session.to_string();
        let details = self.show_details.unwrap_or(false);
        Ok(tree::plain(&view, Some(&here), details))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DetailsArgs {
    #[serde(rename = "frameID")]
    frame: String,
}

impl ToolArgs for DetailsArgs {
    const NAME: &'static str = "stack_frame_details";
    const DESCRIPTION: &'static str =
        "Everything recorded about a frame, with what its children returned.";

    fn call(self, engine: &Engine, _: &Actor) -> Result<String> {
        let details =
            engine.read(|reading| details::gather(reading, &resolve(reading, &self.frame)?))?;
        let (_, log) = engine.logs().render(&details.frame.id)?;
        let text = details::plain(&details);
        Ok(format!("{text}\nlog: {}\n", log.display()))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetSummaryArgs {
    /// Frame id, if not the active one
    #[serde(rename = "sessionID")]
    frame: Option<String>,
}

impl ToolArgs for GetSummaryArgs {
    const NAME: &'static str = "stack_get_summary";
    const DESCRIPTION: &'static str =
        "What is recorded of a frame's outcome so far (by default of the active frame).";

    fn call(self, engine: &Engine, actor: &Actor) -> Result<String> {
        engine.read(|reading| {
            let id = if let Some(name) = self.frame {
                resolve(reading, &name)?
            } else {
                let session = reading.session(&actor.session)?;
                session
                    .and_then(|known| known.frame())
                    .ok_or_else(|| Refusal::NoActiveFrame {
                        session: actor.session.clone(),
                    })?
            };
            Ok(summary(&details::gather(reading, &id)?))
        })
    }
}

fn summary(details: &details::Details) -> String {
    let frame = &details.frame;
    let mut text = format!("{} ({})\n", frame.title, frame.status);
    match &frame.results {
        Some(results) => text.push_str(&format!("\n{}\n", printable(results.as_str()))),
        None => text.push_str("\nno results yet\n"),
    }
    if let Some(summary) = frame.summary.as_ref().filter(|_| frame.results.is_none()) {
        let summary = printable(summary.as_str());
        text.push_str(&format!("\nlast summary:\n{summary}\n"));
    }
    if frame.awaiting.is_some() {
        text.push_str("\na summary of it is awaited\n");
    }
    for child in details.children.iter().map(|row| &row.frame) {
        if let Some(results) = finished_results(child) {
            text.push_str(&format!("\n{} “{}”: {results}\n", child.id, child.title));
        }
    }
    text
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RecallArgs {
    /// Words, a frame id, or id#n
    query: String,
    /// Maximum number of tokens
    tokens: Option<usize>,
}

impl ToolArgs for RecallArgs {
    const NAME: &'static str = "stack_recall";
    const DESCRIPTION: &'static str = "Get back what is no longer in the prompt: passages that hold all words of the query, a \
         frame by its id, or entry n of its log by id#n.";

    fn call(self, engine: &Engine, _: &Actor) -> Result<String> {
        let limit = self.tokens.unwrap_or(RECALL_TOKENS);
        let text = engine.recall().recall(&self.query, limit, &mut |_, _| {})?;
        Ok(text.unwrap_or_else(|| "Nothing found.".to_owned()))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchArgs {
    /// Words to look for
    query: String,
    /// Maximum number of hits
    limit: Option<u64>,
}

impl ToolArgs for SearchArgs {
    const NAME: &'static str = "stack_search";
    const DESCRIPTION: &'static str = "Search titles, criteria, results, notes and logs of all frames. A text matches if it \
         contains all words.";

    fn call(self, engine: &Engine, _: &Actor) -> Result<String> {
        if self.query.trim().is_empty() {
            return Err(Self::bad_argument("query", "there is no word to look for"));
        }
        let limit = self
            .limit
            .map_or(HITS, |limit| usize::try_from(limit).unwrap_or(MAX_HITS))
            .clamp(1, MAX_HITS);
        let results = engine.recall().search(&self.query, limit, &mut |_, _| {})?;
        let mut lines = Vec::new();
        for (hit, title) in results.searched.hits.iter().zip(&results.titles) {
            let title = one_line(title, 72);
            lines.push(format!("{}  {title}  ({})", hit.frame, hit.field));
            if hit.field != "title" {
                lines.push(format!("    {}", one_line(&hit.excerpt, 160)));
            }
        }
        if lines.is_empty() {
            lines.push("Nothing found.".to_owned());
        } else if results.searched.more {
            lines.push("There is more: ask with a higher limit.".to_owned());
        }
        Ok(lines.join("\n"))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetStateArgs {}

impl ToolArgs for GetStateArgs {
    const NAME: &'static str = "stack_get_state";
    const DESCRIPTION: &'static str = "The complete state as JSON, for user interfaces.";

    fn call(self, engine: &Engine, actor: &Actor) -> Result<String> {
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
    }
}

/// Renders a frame in the layout of the predecessor's `FrameMetadata`.
fn metadata(frame: &Frame) -> Value {
    let texts = |wanted: fn(&Note) -> Option<&str>| -> Vec<&str> {
        frame.notes.iter().filter_map(wanted).collect()
    };
    let invalidation = frame.invalidation.as_ref();
    present(json!({
        "sessionID": frame.id.as_str(),
        "parentSessionID": frame.parent.as_ref().map(FrameId::as_str),
        "status": frame.status.as_str(),
        "title": frame.title.as_str(),
        "successCriteria": frame.criteria.as_ref().map_or("", |text| text.as_str()),
        "successCriteriaCompacted": frame.compacted_criteria().unwrap_or_default(),
        "results": frame.results.as_ref().map(Text::as_str),
        "resultsCompacted": frame.compacted_results(),
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
        "invalidationReason": invalidation.map(|known| known.reason.as_str()),
        "invalidatedAt": invalidation.map(|known| known.at.0),
    }))
}
