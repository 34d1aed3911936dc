//! Tools that tell what a model is shown, and forget what was made of it.

use flamestack_core::command::Actor;
use flamestack_core::id::SessionRef;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Tool, parse};
use crate::Engine;
use crate::context::{Wanted, Whose};
use crate::error::EngineError;
use crate::names::resolve;
use crate::views::{context as view, counted};

/// How much of a context a preview shows, in characters, where nobody says how much.
const PREVIEW: usize = 2000;

pub(super) const INFO: Tool = Tool {
    name: "stack_context_info",
    description: "What this session's context is made of: tokens by section, what was left out and why.",
    schema: || json!({ "type": "object", "properties": {} }),
    run: |engine, actor, arguments| {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Nothing {}
        let Nothing {} = parse(INFO.name, arguments)?;
        let context = engine.context(&Whose::Session(actor.session.clone()), &Wanted::default())?;
        let mut text = match context.filter(|context| !context.is_empty()) {
            Some(context) => view::plain(&context),
            None => "there is nothing to tell this session\n".to_owned(),
        };
        if let Some(fill) = engine.fill(&actor.session)? {
            text.push_str(&format!("prompt: {}\n", fill.plain()));
            if fill.is_large() {
                text.push_str(
                    "popping a finished frame makes room at no cost; after that, the end of a \
                     frame is the place to compact\n",
                );
            }
        }
        let counters = engine.context_counters();
        text.push_str(&format!(
            "{} kept, {}, {}\n",
            counters.entries,
            counted(counters.hits, "hit", "hits"),
            counted(counters.misses, "miss", "misses"),
        ));
        Ok(text)
    },
};

pub(super) const PREVIEW_TOOL: Tool = Tool {
    name: "stack_context_preview",
    description: "The beginning of this session's context, as the model gets it.",
    schema: || {
        json!({
            "type": "object",
            "properties": {
                "maxLength": { "type": "number", "description": "Characters (default 2000)" }
            }
        })
    },
    run: preview,
};

fn preview(engine: &Engine, actor: &Actor, arguments: Value) -> Result<String, EngineError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Arguments {
        max_length: Option<f64>,
    }
    let Arguments { max_length } = parse(PREVIEW_TOOL.name, arguments)?;
    let most = match max_length {
        None => PREVIEW,
        Some(most) => characters(most)?,
    };
    let context = engine.context(&Whose::Session(actor.session.clone()), &Wanted::default())?;
    let Some(context) = context.filter(|context| !context.is_empty()) else {
        return Ok("there is nothing to tell this session\n".to_owned());
    };
    let end = context.text.char_indices().nth(most).map(|(at, _)| at);
    let Some((shown, rest)) = end.and_then(|end| context.text.split_at_checked(end)) else {
        return Ok(context.text.clone());
    };
    let more = counted(
        rest.chars().count() as u64,
        "more character",
        "more characters",
    );
    Ok(format!("{shown}\n… {more}\n"))
}

/// A number of characters from what JSON calls a number.
fn characters(number: f64) -> Result<usize, EngineError> {
    if (0.0..=1e15).contains(&number) {
        // In range, so nothing but a fraction is lost.
        return Ok(format!("{number:.0}").parse().unwrap_or(PREVIEW));
    }
    Err(EngineError::BadArguments {
        tool: PREVIEW_TOOL.name.to_owned(),
        problem: format!("at `maxLength`: {number} is no number of characters"),
    })
}

pub(super) const CLEAR: Tool = Tool {
    name: "stack_cache_clear",
    description: "Forget kept contexts, of one session or all. They are made again when asked for.",
    schema: || {
        json!({
            "type": "object",
            "properties": {
                "sessionID": { "type": "string", "description": "Only this session's" }
            }
        })
    },
    run: |engine, _, arguments| {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Arguments {
            #[serde(rename = "sessionID")]
            session: Option<String>,
        }
        let Arguments { session } = parse(CLEAR.name, arguments)?;
        let gone = match session {
            None => engine.forget_contexts(None),
            Some(name) => sessions(engine, &name)?
                .iter()
                .map(|session| engine.forget_contexts(Some(session)))
                .sum(),
        };
        let gone = counted(gone as u64, "context", "contexts");
        Ok(format!(
            "forgot {gone} (they are made again when asked for)\n"
        ))
    },
};

/// The sessions that a name stands for: one by its id, or those that work on a frame.
fn sessions(engine: &Engine, name: &str) -> Result<Vec<SessionRef>, EngineError> {
    if let Ok(session) = name.parse() {
        return Ok(vec![session]);
    }
    engine.read(|reading| {
        let known = reading.sessions(false)?;
        let named: Vec<SessionRef> = known
            .into_iter()
            .map(|known| known.key)
            .filter(|key| key.id() == name)
            .collect();
        if !named.is_empty() {
            return Ok(named);
        }
        let frame = resolve(reading, name)?;
        let own = reading.frame(&frame)?.and_then(|head| head.session);
        let mut sessions = reading.focused_on(&frame)?;
        sessions.extend(own);
        sessions.sort();
        sessions.dedup();
        Ok(sessions)
    })
}
