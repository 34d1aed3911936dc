//! Tools that open, close and annotate frames.

use flamestack_core::command::Actor;
use flamestack_core::frame::Outcome;
use flamestack_core::text::condense;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Tool, granted, parse};
use crate::Engine;
use crate::error::EngineError;
use crate::request::{Learned, Parent, Request, Wanted};

pub(super) const PUSH: Tool = Tool {
    name: "stack_frame_push",
    description: "Open a child frame of the active frame and make it active: a unit of work with \
                  its own goal. Its messages can be folded away once it is popped.",
    schema: || {
        json!({
            "type": "object",
            "properties": {
                "title": { "type": "string", "description": "Short name, 2-5 words" },
                "successCriteria": { "type": "string", "description": "What defines done" },
                "successCriteriaCompacted": {
                    "type": "string",
                    "description": "Dense version; derived when absent"
                }
            },
            "required": ["title", "successCriteria"]
        })
    },
    run: |engine, actor, arguments| {
        let goal: GoalArguments = parse(PUSH.name, arguments)?;
        granted(
            engine,
            actor,
            &Request::Push {
                parent: Parent::Active,
                goal: goal.into(),
            },
        )
    },
};

/// What a new frame is about, as tools take it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct GoalArguments {
    title: String,
    success_criteria: String,
    success_criteria_compacted: Option<String>,
}

impl From<GoalArguments> for Wanted {
    fn from(arguments: GoalArguments) -> Self {
        Self {
            title: arguments.title,
            criteria: Some(arguments.success_criteria),
            criteria_compacted: arguments.success_criteria_compacted,
        }
    }
}

pub(super) const POP: Tool = Tool {
    name: "stack_frame_pop",
    description: "Finish a frame (by default the active one) and return to its parent. The \
                  results are what the parent keeps of it; without them a summary is made.",
    schema: || {
        json!({
            "type": "object",
            "properties": {
                "frameID": { "type": "string", "description": "Frame to pop, if not the active one" },
                "status": { "type": "string", "enum": ["completed", "failed", "blocked"] },
                "results": {
                    "type": "string",
                    "description": "What was done or learned: files, names, decisions, open ends"
                },
                "resultsCompacted": {
                    "type": "string",
                    "description": "Dense version; derived when absent"
                },
                "summarize": {
                    "type": "boolean",
                    "description": "Append a summary to the results"
                }
            },
            "required": ["status"]
        })
    },
    run: pop,
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PopArguments {
    #[serde(rename = "frameID")]
    frame: Option<String>,
    status: String,
    results: Option<String>,
    results_compacted: Option<String>,
    #[serde(default)]
    summarize: Option<bool>,
}

/// How many characters of its results the answer to a pop carries. They stand in the call as well,
/// whole; but what a model goes on from is what came back.
const LONGEST_TOLD: usize = 1_000;

fn pop(engine: &Engine, actor: &Actor, arguments: Value) -> Result<String, EngineError> {
    let arguments: PopArguments = parse(POP.name, arguments)?;
    let outcome =
        Outcome::from_name(&arguments.status).ok_or_else(|| EngineError::BadArguments {
            tool: POP.name.to_owned(),
            problem: format!(
                "at `status`: `{}` is none of completed, failed, blocked",
                arguments.status.chars().take(40).collect::<String>()
            ),
        })?;
    let told = arguments.results.as_deref().unwrap_or_default();
    let told = condense(told, LONGEST_TOLD);
    let summarize = arguments.summarize.unwrap_or(false);
    let request = match arguments.results {
        Some(results) if !summarize => Request::Pop {
            frame: arguments.frame,
            outcome,
            results,
            compacted: arguments.results_compacted,
        },
        results => Request::AwaitSummary {
            frame: arguments.frame,
            outcome: Some(outcome),
            results,
            compacted: arguments.results_compacted,
            note: None,
        },
    };
    let granted = granted(engine, actor, &request)?;
    Ok(match granted.split_once('\n') {
        _ if told.is_empty() => granted,
        Some((how, next)) => format!("{how}\nresults: {told}\n{next}"),
        None => format!("{granted}\nresults: {told}"),
    })
}

pub(super) const ADD_DECISION: Tool = Tool {
    name: "stack_add_decision",
    description: "Record a decision, with its reason, in the active frame. It survives compaction.",
    schema: || {
        json!({
            "type": "object",
            "properties": { "decision": { "type": "string" } },
            "required": ["decision"]
        })
    },
    run: |engine, actor, arguments| {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Arguments {
            decision: String,
        }
        let Arguments { decision } = parse(ADD_DECISION.name, arguments)?;
        let note = Learned::Decision(decision, None);
        granted(engine, actor, &Request::Note { frame: None, note })
    },
};

pub(super) const ADD_ARTIFACT: Tool = Tool {
    name: "stack_add_artifact",
    description: "Record a file or resource that the active frame produced.",
    schema: || {
        json!({
            "type": "object",
            "properties": { "artifact": { "type": "string" } },
            "required": ["artifact"]
        })
    },
    run: |engine, actor, arguments| {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Arguments {
            artifact: String,
        }
        let Arguments { artifact } = parse(ADD_ARTIFACT.name, arguments)?;
        let note = Learned::Artifact(artifact);
        granted(engine, actor, &Request::Note { frame: None, note })
    },
};
