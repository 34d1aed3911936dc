//! Tools that read the stack, search it and recall from it.

use std::collections::BTreeSet;

use flamestack_core::{Actor, FrameHead, FrameId, Refusal, Status};
use flamestack_store::Reading;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{ToolArgs, WholeNumber};
use crate::Engine;
use crate::error::Result;
use crate::hints::Voice;
use crate::names::resolve;
use crate::recall::{Patience, RECALL_TOKENS};
use crate::views::status::{OwnParts, StatusView};
use crate::views::tree::TreeOptions;
use crate::views::{
    Canvas, counted, details, finished_results, grouped, one_line, printable, status, tree,
};

/// Maximum number of lines of the tree in the status. The model reads it often.
const STATUS_LINES: usize = 24;
/// Default number of search hits.
const HITS: usize = 10;
/// Maximum number of search hits.
const MAX_HITS: usize = 50;

/// Maximum length of an answer, in bytes. Hosts drop an answer of 50 kB or more, in part or whole.
pub(super) const ANSWER_LIMIT: usize = 30_000;

/// Cuts an answer that a host would drop, and says how to get the rest.
fn limited(text: &str, more: &str) -> String {
    if text.len() <= ANSWER_LIMIT {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(ANSWER_LIMIT);
    let end = text
        .get(..end)
        .and_then(|shown| shown.rfind('\n'))
        .filter(|line| *line > ANSWER_LIMIT / 2)
        .unwrap_or(end);
    let (shown, rest) = text.split_at(end);
    let left_out = grouped(rest.len() as u64);
    format!("{shown}\n… {left_out} more bytes: {more}\n")
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StatusArgs {}

impl ToolArgs for StatusArgs {
    const NAME: &'static str = "stack_status";
    const ONLY_READS: bool = true;
    const DESCRIPTION: &'static str = "Where this session stands: the path to the active frame, its place, what is next, the tree.";

    fn call(self, engine: &Engine, actor: &Actor) -> Result<String> {
        let session = Some(&actor.session);
        let view = engine.read(|reading| {
            Ok(StatusView {
                sessions: status::gather(reading, session, &engine.project().worktree)?,
                totals: reading.totals()?,
                set_aside: Vec::new(),
            })
        })?;
        let path = view.sessions.first().map(|here| here.path.as_slice());
        let (tree, is_path_shown) = match path.unwrap_or_default() {
            [] => (String::new(), false),
            path => engine.read(|reading| tree_around(reading, path, actor))?,
        };
        let parts = OwnParts {
            path: !is_path_shown,
            stall: engine.settings()?.switch("stalls.show_model")?,
        };
        Ok(status::own(&Canvas::plain(Voice::Tool), &view, parts) + &tree)
    }
}

/// Draws the beginning of the tree that a session works in. Returns true if all of the session's path is in it.
fn tree_around(reading: &dyn Reading, path: &[FrameHead], actor: &Actor) -> Result<(String, bool)> {
    let options = TreeOptions {
        root: path.first().map(|top| top.id),
        ..TreeOptions::default()
    };
    let view = tree::gather(reading, &options)?;
    let here = actor.session.to_string();
    let canvas = Canvas::plain(Voice::Tool);
    let draw = |line: &tree::TreeLine| line.draw(&canvas, Some(&here), false);
    let mut text: String = view.lines.iter().take(STATUS_LINES).map(draw).collect();
    let shown = view.lines.iter().take(STATUS_LINES);
    let shown: BTreeSet<FrameId> = shown
        .filter_map(|line| match line {
            tree::TreeLine::Frame(line) => Some(line.row.frame.id),
            tree::TreeLine::Hidden { .. } => None,
        })
        .collect();
    let is_path_shown = path.iter().all(|head| shown.contains(&head.id));
    let rest = view.lines.len().saturating_sub(STATUS_LINES);
    if rest > 0 {
        let rest = counted(rest as u64, "line", "lines");
        text.push_str(&format!("… {rest} more: stack_tree\n"));
    }
    Ok((format!("\n{text}"), is_path_shown))
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
    /// Only frames with this status, and those above them
    status: Option<StatusName>,
}

// The status of a frame. (A doc comment would become a description.)
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum StatusName {
    Planned,
    InProgress,
    Blocked,
    Completed,
    Failed,
    Invalidated,
}

impl From<StatusName> for Status {
    fn from(name: StatusName) -> Self {
        match name {
            StatusName::Planned => Self::Planned,
            StatusName::InProgress => Self::InProgress,
            StatusName::Blocked => Self::Blocked,
            StatusName::Completed => Self::Completed,
            StatusName::Failed => Self::Failed,
            StatusName::Invalidated => Self::Invalidated,
        }
    }
}

impl ToolArgs for TreeArgs {
    const NAME: &'static str = "stack_tree";
    const ONLY_READS: bool = true;
    const DESCRIPTION: &'static str = "The tree of frames with statuses, counts and a legend.";

    fn call(self, engine: &Engine, actor: &Actor) -> Result<String> {
        let view = engine.read(|reading| {
            let root = self.root.as_deref();
            let options = TreeOptions {
                root: root.map(|name| resolve(reading, name)).transpose()?,
                depth: None,
                all: self.show_full.unwrap_or(false),
                status: self.status.map(Into::into),
            };
            tree::gather(reading, &options)
        })?;
        let here = actor.session.to_string();
        let details = self.show_details.unwrap_or(false);
        let text = tree::render(&Canvas::plain(Voice::Tool), &view, Some(&here), details);
        Ok(limited(
            &text,
            "stack_tree with rootID shows one part of it",
        ))
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
    const ONLY_READS: bool = true;
    const DESCRIPTION: &'static str =
        "Everything recorded about a frame, with what its children returned.";

    fn call(self, engine: &Engine, _: &Actor) -> Result<String> {
        let details =
            engine.read(|reading| details::gather(reading, &resolve(reading, &self.frame)?))?;
        let (_, log) = engine.logs().render(&details.frame.id, None)?;
        let text = details::render(&Canvas::plain(Voice::Tool), &details);
        let recall = format!("stack_recall {} shows it in parts", details.frame.id);
        let text = limited(&text, &recall);
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
    const ONLY_READS: bool = true;
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
                    .ok_or_else(|| Refusal::NoActiveFrame(actor.session.clone()))?
            };
            let recall = format!("stack_recall {id} shows it in parts");
            Ok(limited(&summary(&details::gather(reading, &id)?), &recall))
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
    tokens: Option<WholeNumber>,
}

impl ToolArgs for RecallArgs {
    const NAME: &'static str = "stack_recall";
    const ONLY_READS: bool = true;
    const DESCRIPTION: &'static str = "Get back what is no longer in the prompt: passages that hold all words of the query, a \
         frame by its id, or entry n of its log by id#n.";

    fn call(self, engine: &Engine, _: &Actor) -> Result<String> {
        let limit = self.tokens.map_or(RECALL_TOKENS, WholeNumber::get);
        let recall = engine.recall();
        let text = recall.recall(&self.query, limit, Patience::Request, &mut |_, _| {})?;
        Ok(text.unwrap_or_else(|| "Nothing found.".to_owned()))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchArgs {
    /// Words to look for
    query: String,
    /// Maximum number of hits
    limit: Option<WholeNumber>,
}

impl ToolArgs for SearchArgs {
    const NAME: &'static str = "stack_search";
    const ONLY_READS: bool = true;
    const DESCRIPTION: &'static str = "Search titles, criteria, results, notes and logs of all frames. A text matches if it \
         contains all words.";

    fn call(self, engine: &Engine, _: &Actor) -> Result<String> {
        let limit = self.limit.map_or(HITS, WholeNumber::get).clamp(1, MAX_HITS);
        let recall = engine.recall();
        let results = recall.search(&self.query, limit, Patience::Request, &mut |_, _| {})?;
        let mut lines = Vec::new();
        for (hit, title) in results.hits() {
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
        lines.extend(results.partial());
        Ok(lines.join("\n"))
    }
}
