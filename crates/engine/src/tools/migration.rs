//! The tool that hands work to another session.

use flamestack_brief::workflow::Workflows;
use flamestack_core::Actor;
use schemars::JsonSchema;
use serde::Deserialize;

use super::ToolArgs;
use crate::Engine;
use crate::brief::BUDGET;
use crate::error::Result;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MigrateArgs {
    /// The session whose work is handed off; this one by default
    #[serde(rename = "sessionID")]
    session: Option<String>,
    /// The session that continues it; without one the text alone is returned
    #[serde(rename = "targetSessionID")]
    target: Option<String>,
}

impl ToolArgs for MigrateArgs {
    const NAME: &'static str = "stack_session_migrate";
    const DESCRIPTION: &'static str =
        "Hand the work of a session to another one: a brief without secrets, and the link.";

    fn call(self, engine: &Engine, actor: &Actor) -> Result<String> {
        let sessions = engine.sessions();
        let session = match &self.session {
            Some(name) => sessions.named(name)?,
            None => actor.session.clone(),
        };
        let target = self.target.as_deref();
        let target = target.map(|name| sessions.named(name)).transpose()?;
        let Some(work) = engine.hand_off(&session, &Workflows::default(), BUDGET)? else {
            return Ok(format!(
                "{session} works on nothing: there is nothing to hand over"
            ));
        };
        let text = work.to_markdown();
        let Some(target) = target else {
            return Ok(text);
        };
        let acting = Actor {
            session: target.clone(),
            message: None,
            ..actor.clone()
        };
        let taken = engine.take_over(&acting, &work)?;
        Ok(format!("{target} continues with {}\n\n{text}", taken.frame))
    }
}
