//! The tools and commands that the OpenCode plugin declares before its sidecar has answered.
//!
//! OpenCode reads a plugin's tools once, when it starts, and must not wait for another process then.

use anyhow::Result;
use flamestack_engine::tools::{self, Profile};
use flamestack_hosts::opencode::OWN_TEXTS;
use flamestack_hosts::sidecar;
use serde_json::{Value, json};

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
    let core: Vec<&str> = Profile::Core.tools().map(|tool| tool.name).collect();
    Ok(format!(
        "// Made from crates/engine/src/tools by `cargo xtask generate`.\n\n\
         import type {{ CommandDeclaration, ToolDeclaration }} from \"./protocol.js\"\n\n\
         /** The version of Flamestack that this was made from. */\n\
         export const VERSION = {}\n\n\
         /** All tools. */\n\
         export const TOOLS: ToolDeclaration[] = {}\n\n\
         /** The names of those in the profile `core`. */\n\
         export const CORE: string[] = {}\n\n\
         /** The beginnings of the texts that Flamestack adds to a session. */\n\
         export const OWN_TEXTS: string[] = {}\n\n\
         /** The commands that a person may type. */\n\
         export const COMMANDS: CommandDeclaration[] = {}\n",
        serde_json::to_string(env!("CARGO_PKG_VERSION"))?,
        serde_json::to_string_pretty(&all)?,
        serde_json::to_string_pretty(&core)?,
        serde_json::to_string(&OWN_TEXTS)?,
        serde_json::to_string_pretty(&sidecar::commands())?,
    ))
}
