//! Tools around summaries and compactions.

use flamestack_core::command::Actor;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Tool, granted, parse};
use crate::Engine;
use crate::error::EngineError;
use crate::request::Request;
use crate::views::compactions;

pub(super) const SUMMARIZE: Tool = Tool {
    name: "stack_frame_summarize",
    description: "Have a summary of the active frame made, as a checkpoint. The frame goes on.",
    schema: || {
        json!({
            "type": "object",
            "properties": {
                "note": { "type": "string", "description": "What the summary should pay heed to" }
            }
        })
    },
    run: summarize,
};

fn summarize(engine: &Engine, actor: &Actor, arguments: Value) -> Result<String, EngineError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Arguments {
        note: Option<String>,
    }
    let Arguments { note } = parse(SUMMARIZE.name, arguments)?;
    let request = Request::AwaitSummary {
        frame: None,
        outcome: None,
        results: None,
        compacted: None,
        note,
    };
    granted(engine, actor, &request)
}

pub(super) const INFO: Tool = Tool {
    name: "stack_compaction_info",
    description: "This session's compactions: sizes before and after, what survived, what was lost, what waits for a summary.",
    schema: || json!({ "type": "object", "properties": {} }),
    run: |engine, actor, arguments| {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Nothing {}
        let Nothing {} = parse(INFO.name, arguments)?;
        let history = engine.read(|reading| Ok(compactions::gather(reading, &actor.session)?))?;
        Ok(compactions::plain(&history))
    },
};
