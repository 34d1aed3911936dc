//! What the OpenCode plugin declares before its sidecar has said a word.
//!
//! OpenCode reads a plugin's tools once, when it starts, and must not wait for another process then.

use anyhow::Result;
use flamestack_engine::tools;
use serde_json::{Value, json};

/// The tools of the default profile.
const CORE: [&str; 8] = [
    "stack_frame_push",
    "stack_frame_pop",
    "stack_frame_plan_children",
    "stack_frame_activate",
    "stack_frame_invalidate",
    "stack_add_decision",
    "stack_status",
    "stack_recall",
];

/// The commands that a person may type: name, what it does, what the model is told.
const COMMANDS: [(&str, &str, &str); 3] = [
    (
        "push",
        "Open a frame for a piece of work",
        "Open a frame with stack_frame_push for this piece of work, then begin: $ARGUMENTS",
    ),
    (
        "pop",
        "Close the active frame with its results",
        "Close the active frame with stack_frame_pop: its status, and results that stand on their \
         own. $ARGUMENTS",
    ),
    (
        "plan",
        "Plan the steps of the active frame",
        "Plan the steps towards this with stack_frame_plan_children, without beginning any of \
         them: $ARGUMENTS",
    ),
];

/// The generated module.
pub(super) fn declarations() -> Result<String> {
    let all: Vec<Value> = tools::ALL
        .iter()
        .map(|tool| {
            json!({
                "name": tool.name,
                "description": tool.description,
                "schema": (tool.schema)(),
            })
        })
        .collect();
    let core: Vec<&str> = tools::ALL
        .iter()
        .map(|tool| tool.name)
        .filter(|name| CORE.contains(name))
        .collect();
    let commands: Vec<Value> = COMMANDS
        .iter()
        .map(|(name, description, template)| {
            json!({ "name": name, "description": description, "template": template })
        })
        .collect();
    Ok(format!(
        "// Made from crates/engine/src/tools by `cargo xtask generate`.\n\n\
         import type {{ CommandDeclaration, ToolDeclaration }} from \"./protocol.js\"\n\n\
         /** The version of Flamestack that this was made from. */\n\
         export const VERSION = {}\n\n\
         /** All tools. */\n\
         export const TOOLS: ToolDeclaration[] = {}\n\n\
         /** The names of those in the profile `core`. */\n\
         export const CORE: string[] = {}\n\n\
         /** The commands that a person may type. */\n\
         export const COMMANDS: CommandDeclaration[] = {}\n",
        serde_json::to_string(env!("CARGO_PKG_VERSION"))?,
        serde_json::to_string_pretty(&all)?,
        serde_json::to_string_pretty(&core)?,
        serde_json::to_string_pretty(&commands)?,
    ))
}
