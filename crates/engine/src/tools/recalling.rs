//! The tool that gets things back.

use flamestack_core::command::Actor;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Tool, parse};
use crate::Engine;
use crate::error::EngineError;
use crate::recall::RECALL_TOKENS;

pub(super) const RECALL: Tool = Tool {
    name: "stack_recall",
    description: "Get back what is no longer in the prompt: passages that hold all words of the \
                  query, a frame by its id, or entry n of its log by id#n.",
    schema: || {
        json!({
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": "Words, a frame id, or id#n" },
                "tokens": { "type": "number", "description": "At most so many tokens" }
            },
            "required": ["query"]
        })
    },
    run: recall,
};

fn recall(engine: &Engine, _: &Actor, arguments: Value) -> Result<String, EngineError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Arguments {
        query: String,
        tokens: Option<usize>,
    }
    let Arguments { query, tokens } = parse(RECALL.name, arguments)?;
    let limit = tokens.unwrap_or(RECALL_TOKENS);
    let found = engine.recall(&query, limit, &mut |_, _| {})?;
    Ok(found.unwrap_or_else(|| "Nothing found.".to_owned()))
}
