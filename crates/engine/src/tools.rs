//! The tools that agents call: declared once, offered by every front.
//!
//! A tool has a name, a description, a schema and a handler that answers in text. Arguments are
//! checked here, whoever brings them; a wrong one is named with its place.

mod compacting;
mod context;
mod frames;
mod planning;
mod reading;
mod recalling;
mod searching;
mod subagents;

use flamestack_core::command::Actor;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Engine;
use crate::error::EngineError;
use crate::request::Request;
use crate::settings;

/// A tool.
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// What it does, for a model.
    pub description: &'static str,
    /// What it takes, as JSON Schema without references, formats or unions: some hosts refuse
    /// those.
    pub schema: fn() -> Value,
    /// What it does.
    run: fn(&Engine, &Actor, Value) -> Result<String, EngineError>,
}

/// All tools there are, in the order in which they are listed.
pub const ALL: &[Tool] = &[
    frames::PUSH,
    frames::POP,
    planning::PLAN,
    planning::PLAN_CHILDREN,
    planning::ACTIVATE,
    planning::INVALIDATE,
    frames::ADD_DECISION,
    frames::ADD_ARTIFACT,
    reading::STATUS,
    reading::TREE,
    reading::DETAILS,
    reading::SUMMARY,
    reading::STATE,
    recalling::RECALL,
    searching::SEARCH,
    compacting::SUMMARIZE,
    compacting::INFO,
    context::INFO,
    context::PREVIEW_TOOL,
    context::CLEAR,
    subagents::LIST,
    subagents::COMPLETE,
    subagents::STATS,
    subagents::CONFIG,
];

/// Which tools a model is offered. Whichever it is, every tool can be called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// The few that matter; their schemas are short enough to be sent with every request.
    #[default]
    Core,
    /// All of them.
    Full,
    /// None.
    Off,
}

/// The tools of [`Profile::Core`].
const CORE: &[&str] = &[
    "stack_frame_push",
    "stack_frame_pop",
    "stack_frame_plan_children",
    "stack_frame_activate",
    "stack_frame_invalidate",
    "stack_add_decision",
    "stack_status",
    "stack_recall",
];

impl Profile {
    /// The profile that a setting's value stands for.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "core" => Some(Self::Core),
            "full" => Some(Self::Full),
            "off" => Some(Self::Off),
            _ => None,
        }
    }

    /// The tools on offer.
    pub fn tools(self) -> impl Iterator<Item = &'static Tool> {
        ALL.iter().filter(move |tool| match self {
            Self::Core => CORE.contains(&tool.name),
            Self::Full => true,
            Self::Off => false,
        })
    }
}

/// The tool of a name.
pub fn named(name: &str) -> Result<&'static Tool, EngineError> {
    ALL.iter()
        .find(|tool| tool.name == name)
        .ok_or_else(|| EngineError::UnknownTool {
            name: name.chars().take(80).collect(),
            nearest: settings::nearest(name, ALL.iter().map(|tool| tool.name)),
        })
}

/// Calls a tool as an agent would.
pub fn call(
    engine: &Engine,
    actor: &Actor,
    name: &str,
    arguments: Value,
) -> Result<String, EngineError> {
    (named(name)?.run)(engine, actor, arguments)
}

/// Arguments as a tool's own type, or what is wrong with them and where.
fn parse<T: DeserializeOwned>(tool: &str, arguments: Value) -> Result<T, EngineError> {
    // Some hosts send nothing at all where there is nothing to say.
    let arguments = match arguments {
        Value::Null => Value::Object(serde_json::Map::new()),
        Value::Object(_) => arguments,
        // Serde would take a list for the fields in their order, which no schema promises.
        _ => {
            return Err(EngineError::BadArguments {
                tool: tool.to_owned(),
                problem: "they are not a JSON object".to_owned(),
            });
        }
    };
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let place = error.path().to_string();
        let problem = match place.as_str() {
            "." => error.inner().to_string(),
            _ => format!("at `{place}`: {}", error.inner()),
        };
        EngineError::BadArguments {
            tool: tool.to_owned(),
            problem,
        }
    })
}

/// Grants a request and says what it came to.
fn granted(engine: &Engine, actor: &Actor, request: &Request) -> Result<String, EngineError> {
    let receipt = engine.execute(actor, request)?;
    let lines = engine.read(|reading| crate::views::receipt::lines(reading, actor, &receipt))?;
    Ok(lines.join("\n"))
}

#[cfg(test)]
mod tests;
