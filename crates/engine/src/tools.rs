//! The tools that agents call: declared once, offered by every front.
//!
//! A tool is a type: its fields are the arguments, their comments the descriptions that a model
//! reads, and `ToolArgs` adds name, description and handler. The JSON schema is derived from the
//! type, so schema and handler cannot disagree.

mod autonomy;
mod context;
mod frames;
mod migration;
mod reading;
mod sessions;
mod state;
mod subagents;

use std::borrow::Cow;

use flamestack_core::text::{QUOTE_LIMIT, quoted, shortened};
use flamestack_core::{Actor, enum_names};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Engine;
use crate::error::{EngineError, Result};
use crate::hints::Voice;
use crate::json_problem::in_plain_words;
use crate::request::Request;
use crate::settings;
use crate::views::receipt;
use flamestack_core::text::for_model;

/// A tool.
pub struct Tool {
    /// Name of the tool.
    pub name: &'static str,
    /// Description for the model.
    pub description: &'static str,
    /// Arguments as JSON Schema without references, formats or unions: some hosts refuse those.
    pub schema: fn() -> Value,
    /// True if it changes nothing, so that a call whose caller is gone need not be made.
    pub only_reads: bool,
    run: fn(&Engine, &Actor, Value) -> Result<String>,
    escapes_records: bool,
}

/// The arguments of a tool, and what it does with them.
trait ToolArgs: DeserializeOwned + JsonSchema {
    const NAME: &'static str;
    const DESCRIPTION: &'static str;
    /// True if the answer is in a format in which texts from records are escaped already.
    const ESCAPES_RECORDS: bool = false;
    /// True if the tool changes nothing.
    const ONLY_READS: bool = false;

    /// Calls the tool and returns the answer for the model.
    fn call(self, engine: &Engine, actor: &Actor) -> Result<String>;

    /// An error about one of the arguments.
    fn bad_argument(name: &str, problem: &str) -> EngineError {
        EngineError::BadArguments {
            tool: Self::NAME.to_owned(),
            problem: format!("at `{name}`: {}", shortened(problem, 2 * QUOTE_LIMIT)),
        }
    }
}

impl Tool {
    const fn of<A: ToolArgs>() -> Self {
        Self {
            name: A::NAME,
            description: A::DESCRIPTION,
            schema: schema::<A>,
            only_reads: A::ONLY_READS,
            run: |engine, actor, arguments| parse::<A>(A::NAME, arguments)?.call(engine, actor),
            escapes_records: A::ESCAPES_RECORDS,
        }
    }
}

/// All tools, in the order in which they are listed.
pub const ALL: &[Tool] = &[
    Tool::of::<frames::PushArgs>(),
    Tool::of::<frames::PopArgs>(),
    Tool::of::<frames::PlanArgs>(),
    Tool::of::<frames::PlanChildrenArgs>(),
    Tool::of::<frames::ActivateArgs>(),
    Tool::of::<frames::InvalidateArgs>(),
    Tool::of::<frames::AddDecisionArgs>(),
    Tool::of::<frames::AddArtifactArgs>(),
    Tool::of::<reading::StatusArgs>(),
    Tool::of::<reading::TreeArgs>(),
    Tool::of::<reading::DetailsArgs>(),
    Tool::of::<reading::GetSummaryArgs>(),
    Tool::of::<state::GetStateArgs>(),
    Tool::of::<reading::RecallArgs>(),
    Tool::of::<reading::SearchArgs>(),
    Tool::of::<frames::SummarizeArgs>(),
    Tool::of::<context::CompactionInfoArgs>(),
    Tool::of::<context::ContextInfoArgs>(),
    Tool::of::<context::PreviewArgs>(),
    Tool::of::<context::ClearCacheArgs>(),
    Tool::of::<subagents::ListArgs>(),
    Tool::of::<subagents::CompleteArgs>(),
    Tool::of::<subagents::StatsArgs>(),
    Tool::of::<subagents::ConfigArgs>(),
    Tool::of::<sessions::StatusArgs>(),
    Tool::of::<sessions::CreateArgs>(),
    Tool::of::<sessions::LinkArgs>(),
    Tool::of::<migration::MigrateArgs>(),
    Tool::of::<autonomy::AutonomyArgs>(),
    Tool::of::<autonomy::ShouldPushArgs>(),
    Tool::of::<autonomy::ShouldPopArgs>(),
    Tool::of::<autonomy::AutoSuggestArgs>(),
    Tool::of::<autonomy::AutonomyStatsArgs>(),
];

enum_names! {
    /// The tools that a model is offered. Every tool can be called whatever the profile is.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Profile {
        /// The few that matter; their schemas are short enough to be sent with every request.
        #[default]
        Core = "core",
        /// All of them.
        Full = "full",
        /// None.
        Off = "off",
    }
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
    /// Returns the tools of the profile.
    pub fn tools(self) -> impl Iterator<Item = &'static Tool> {
        ALL.iter().filter(move |tool| match self {
            Self::Core => CORE.contains(&tool.name),
            Self::Full => true,
            Self::Off => false,
        })
    }
}

/// Returns the tool with a name.
pub fn named(name: &str) -> Result<&'static Tool> {
    ALL.iter()
        .find(|tool| tool.name == name)
        .ok_or_else(|| EngineError::UnknownTool {
            name: name.chars().take(80).collect(),
            nearest: nearest(name),
        })
}

/// Returns the tool that a name is like. All begin with the same letters, which say nothing.
fn nearest(name: &str) -> Option<String> {
    const PREFIX: &str = "stack_";
    let bare = |name: &'static str| name.strip_prefix(PREFIX).unwrap_or(name);
    let wanted = name.strip_prefix(PREFIX).unwrap_or(name);
    let near = settings::nearest(wanted, ALL.iter().map(|tool| bare(tool.name)))?;
    let tool = ALL.iter().find(|tool| bare(tool.name) == near)?;
    Some(tool.name.to_owned())
}

/// Calls a tool as an agent would. Texts from records cannot open or close a tag in the answer.
pub fn call(engine: &Engine, actor: &Actor, name: &str, arguments: Value) -> Result<String> {
    let tool = named(name)?;
    let settled = settled(engine, actor)?;
    let answer = (tool.run)(engine, actor, arguments)?;
    // The answers of this tool are read by programs.
    let is_for_programs = tool.name == <state::GetStateArgs as ToolArgs>::NAME;
    let answer = if is_for_programs {
        answer
    } else {
        settled + &answer
    };
    if tool.escapes_records {
        return Ok(answer);
    }
    match for_model(&answer) {
        Cow::Borrowed(_) => Ok(answer),
        Cow::Owned(safe) => Ok(safe),
    }
}

/// Ends waits for summaries that did not come, and returns what the session has to know of it.
fn settled(engine: &Engine, actor: &Actor) -> Result<String> {
    let receipts = engine.compactions().settle_overdue()?;
    let mut text = String::new();
    for receipt in &receipts {
        let of_session = receipt.events.first();
        if of_session.is_some_and(|event| event.session == actor.session) {
            let lines = engine.read(|reading| {
                receipt::lines(reading, engine.project(), actor, receipt, Voice::Tool)
            })?;
            text.push_str(&format!("no summary came: {}\n\n", lines.join("\n")));
        }
    }
    Ok(text)
}

/// Parses the arguments of a tool. An error names the argument.
fn parse<T: DeserializeOwned>(tool: &str, arguments: Value) -> Result<T> {
    // Some hosts send null where there are no arguments.
    let arguments = match arguments {
        Value::Null => Value::Object(serde_json::Map::new()),
        Value::Object(_) => arguments,
        // Serde would accept a list as the fields in their order, which no schema promises.
        _ => {
            return Err(EngineError::BadArguments {
                tool: tool.to_owned(),
                problem: "they are not a JSON object".to_owned(),
            });
        }
    };
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let path = error.path().to_string();
        let problem = in_plain_words(&error.inner().to_string());
        let problem = match path.as_str() {
            "." => problem,
            _ => format!("at `{}`: {problem}", quoted(&path)),
        };
        EngineError::BadArguments {
            tool: tool.to_owned(),
            problem: shortened(&problem, 2 * QUOTE_LIMIT).into_owned(),
        }
    })
}

// A whole number, which a model may also write as `1000.0` or `1e3`. (A doc comment would become a description.)
#[derive(Clone, Copy, Debug, JsonSchema)]
#[schemars(transparent)]
struct WholeNumber(u64);

impl WholeNumber {
    fn get(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl<'de> serde::Deserialize<'de> for WholeNumber {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        use serde::de::Error as _;
        const EXPECTED: &str = "a whole number, 0 or more";
        let value = Value::deserialize(from)?;
        let whole = value.as_u64().or_else(|| {
            let number = value.as_f64()?;
            // Larger ones are not exact, and no limit is that large.
            let is_whole = number.fract() == 0.0 && (0.0..=1e15).contains(&number);
            is_whole.then(|| format!("{number:.0}").parse().ok())?
        });
        whole.map(Self).ok_or_else(|| {
            let found = value.to_string();
            D::Error::custom(format!("{} is not {EXPECTED}", quoted(&found)))
        })
    }
}

/// Derives the schema of a tool's arguments.
fn schema<A: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<A>()
        .to_value();
    simplify(&mut schema);
    // Some hosts require `properties`, also of a tool without arguments.
    if let Value::Object(fields) = &mut schema {
        fields
            .entry("properties")
            .or_insert_with(|| Value::Object(serde_json::Map::new()));
    }
    schema
}

/// Reduces a schema to the keywords that every host understands.
fn simplify(schema: &mut Value) {
    let Value::Object(fields) = schema else {
        return;
    };
    for keyword in [
        "title",
        "format",
        "minimum",
        "maximum",
        "default",
        "additionalProperties",
    ] {
        fields.remove(keyword);
    }
    // An optional argument may be null, but hosts do not understand unions.
    if let Some(Value::Array(types)) = fields.get("type") {
        let some = types.iter().find(|one| *one != "null").cloned();
        fields.insert("type".to_owned(), some.unwrap_or_default());
    }
    if fields.get("type").is_some_and(|it| it == "integer") {
        fields.insert("type".to_owned(), "number".into());
    }
    if let Some(Value::Array(values)) = fields.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(simplify);
    }
    if let Some(items) = fields.get_mut("items") {
        simplify(items);
    }
}

/// Executes a request and returns its receipt as text.
fn executed(engine: &Engine, actor: &Actor, request: &Request) -> Result<String> {
    // No host makes a summary at a terminal.
    let receipt = if matches!(request, Request::AwaitSummary { .. }) && actor.session.is_shell() {
        engine.compactions().summarize_now(actor, request)?
    } else {
        engine.commands().execute(actor, request)?
    };
    let lines = engine
        .read(|reading| receipt::lines(reading, engine.project(), actor, &receipt, Voice::Tool))?;
    Ok(lines.join("\n"))
}

#[cfg(test)]
mod tests;
