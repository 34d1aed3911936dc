//! `flame tool`

use clap::Args;
use flamestack_core::{Actor, Author};
use flamestack_engine::hints::Voice;
use flamestack_engine::{EngineError, tools};
use serde_json::{Value, json};

use super::text_or_stdin;
use crate::command_context::CommandContext;
use crate::complete;
use crate::failure::Failure;
use crate::output::{DIM, Output, painted};

/// Call a tool exactly as an agent would
///
/// For example `flame tool stack_recall '{"query": "login"}'`.
#[derive(Args)]
pub(crate) struct Tool {
    /// The tool
    #[arg(required_unless_present = "list", add = complete::tool_names())]
    name: Option<String>,
    /// Its arguments as JSON; `-` reads standard input
    #[arg(value_name = "JSON")]
    arguments: Option<String>,
    /// List the tools
    #[arg(long, conflicts_with = "name")]
    list: bool,
    /// Print the tool's arguments as JSON Schema
    #[arg(long)]
    schema: bool,
}

impl Tool {
    pub(crate) fn run(self, ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
        let Some(name) = self.name.filter(|_| !self.list) else {
            return list(output);
        };
        if self.schema {
            return output.data(&(tools::named(&name)?.schema)());
        }
        let arguments = match self.arguments.as_deref().map(text_or_stdin).transpose()? {
            Some(text) => parse(&name, &text)?,
            None => Value::Null,
        };
        // A call says what a model would say, even if a person tries it.
        let actor = Actor {
            by: Author::Agent,
            ..ctx.actor.clone()
        };
        let answer = tools::call(&ctx.engine, &actor, &name, arguments);
        let answer = answer.map_err(in_its_words)?;
        if output.is_json() {
            return output.data(&json!({ "tool": name, "output": answer }));
        }
        output.raw(&format!("{}\n", answer.trim_end()))
    }
}

fn parse(name: &str, text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|error| {
        let error = EngineError::BadArguments {
            tool: name.chars().take(80).collect(),
            problem: format!("not JSON: {error}"),
        };
        error.into()
    })
}

/// Renders a refusal as an agent would see it.
fn in_its_words(error: EngineError) -> Failure {
    let words = error.hint(Voice::Tool);
    let mut failure = Failure::from(error);
    if let Failure::Message {
        usage: false, hint, ..
    } = &mut failure
    {
        *hint = words;
    }
    failure
}

fn list(output: &mut Output) -> Result<(), Failure> {
    if output.is_json() {
        let tools = tools::ALL.iter().map(|tool| {
            json!({ "name": tool.name, "description": tool.description, "schema": (tool.schema)() })
        });
        return output.data(&tools.collect());
    }
    for tool in tools::ALL {
        output.line(format!(
            "{:<26} {}",
            tool.name,
            painted(DIM, tool.description)
        ))?;
    }
    Ok(())
}
