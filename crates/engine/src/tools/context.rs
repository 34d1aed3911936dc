//! Tools about contexts and compactions.

use std::sync::Arc;

use flamestack_context::Context;
use flamestack_core::{Actor, SessionRef};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{ToolArgs, WholeNumber};
use crate::Engine;
use crate::context::{ContextOptions, ContextTarget};
use crate::error::Result;
use crate::hints::Voice;
use crate::names::resolve;
use crate::views::{Canvas, compactions, context as view, counted};

/// Default length of a preview, in characters.
const PREVIEW: usize = 2000;
/// The answer where a session has no context.
const EMPTY: &str = "this session has no context\n";

fn context(engine: &Engine, actor: &Actor) -> Result<Option<Arc<Context>>> {
    let target = ContextTarget::Session(actor.session.clone());
    let context = engine
        .contexts()
        .context(&target, &ContextOptions::default())?;
    Ok(context.filter(|context| !context.is_empty()))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ContextInfoArgs {}

impl ToolArgs for ContextInfoArgs {
    const NAME: &'static str = "stack_context_info";
    const ONLY_READS: bool = true;
    const DESCRIPTION: &'static str =
        "What this session's context is made of: tokens by section, what was left out and why.";

    fn call(self, engine: &Engine, actor: &Actor) -> Result<String> {
        let context = context(engine, actor)?;
        let mut text = context.map_or_else(|| EMPTY.to_owned(), |context| view::plain(&context));
        if let Some(fill) = engine.compactions().fill(&actor.session)? {
            text.push_str(&format!("prompt: {}\n", fill.plain()));
            if fill.is_large() {
                text.push_str(
                    "popping a finished frame makes room at no cost; after that, the end of a \
                     frame is the place to compact\n",
                );
            }
        }
        let counters = engine.contexts().counters();
        text.push_str(&format!(
            "{} cached, {}, {}\n",
            counters.entries,
            counted(counters.hits, "hit", "hits"),
            counted(counters.misses, "miss", "misses"),
        ));
        Ok(text)
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct PreviewArgs {
    /// Characters (default 2000)
    max_length: Option<WholeNumber>,
}

impl ToolArgs for PreviewArgs {
    const NAME: &'static str = "stack_context_preview";
    const ONLY_READS: bool = true;
    const DESCRIPTION: &'static str =
        "The beginning of this session's context, as the model gets it.";
    const ESCAPES_RECORDS: bool = true;

    fn call(self, engine: &Engine, actor: &Actor) -> Result<String> {
        let length = self.max_length.map_or(PREVIEW, WholeNumber::get);
        let Some(context) = context(engine, actor)? else {
            return Ok(EMPTY.to_owned());
        };
        let end = context.text.char_indices().nth(length).map(|(at, _)| at);
        let Some((shown, rest)) = end.and_then(|end| context.text.split_at_checked(end)) else {
            return Ok(context.text.clone());
        };
        let rest = rest.chars().count() as u64;
        let more = counted(rest, "more character", "more characters");
        Ok(format!("{shown}\n… {more}\n"))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ClearCacheArgs {
    /// Only this session's
    #[serde(rename = "sessionID")]
    session: Option<String>,
}

impl ToolArgs for ClearCacheArgs {
    const NAME: &'static str = "stack_cache_clear";
    const DESCRIPTION: &'static str =
        "Drop cached contexts, of one session or all. They are rebuilt on demand.";

    fn call(self, engine: &Engine, _: &Actor) -> Result<String> {
        let contexts = engine.contexts();
        let dropped = match self.session {
            None => contexts.forget(None),
            Some(name) => sessions(engine, &name)?
                .iter()
                .map(|session| contexts.forget(Some(session)))
                .sum(),
        };
        let dropped = counted(dropped as u64, "context", "contexts");
        Ok(format!("dropped {dropped} (rebuilt on demand)\n"))
    }
}

/// Returns the sessions with a name: one by its id, or those that work on a frame.
fn sessions(engine: &Engine, name: &str) -> Result<Vec<SessionRef>> {
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

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CompactionInfoArgs {}

impl ToolArgs for CompactionInfoArgs {
    const NAME: &'static str = "stack_compaction_info";
    const ONLY_READS: bool = true;
    const DESCRIPTION: &'static str = "This session's compactions: sizes before and after, what survived, what was lost, what \
         waits for a summary.";

    fn call(self, engine: &Engine, actor: &Actor) -> Result<String> {
        let history = engine.read(|reading| Ok(compactions::gather(reading, &actor.session)?))?;
        Ok(compactions::plain(&Canvas::plain(Voice::Tool), &history))
    }
}
