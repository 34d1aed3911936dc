//! `flame show`

use clap::Args;
use flamestack_core::Refusal;
use flamestack_engine::json;
use flamestack_engine::{EngineError, views};
use serde_json::{Value, json};

use crate::command_context::CommandContext;
use crate::failure::Failure;
use crate::output::Output;

/// Show everything about a frame, including its children's results
#[derive(Args)]
pub(crate) struct Show {
    /// The frame (default: the active one)
    frame: Option<String>,
}

impl Show {
    pub(crate) fn run(self, ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
        let id = match &self.frame {
            Some(name) => ctx.engine.frame_named(name)?,
            None => active(ctx)?,
        };
        let details = ctx
            .engine
            .read(|reading| views::details::gather(reading, &id))?;
        let (_, log) = ctx.engine.logs().render(&id)?;
        if output.is_json() {
            let mut value = json::frame(&details.frame);
            if let Value::Object(fields) = &mut value {
                fields.insert(
                    "path".to_owned(),
                    details.path.iter().map(json::head).collect(),
                );
                fields.insert(
                    "children".to_owned(),
                    details.children.iter().map(json::row).collect(),
                );
                fields.insert("childTotals".to_owned(), json::totals(&details.totals));
                if let Some(bound) = &details.bound {
                    let host = views::hosted::Hosted(&bound.session).value();
                    fields.insert("host".to_owned(), host);
                    if !bound.is_empty() {
                        let history = views::compactions::json(bound);
                        fields.insert("compactions".to_owned(), history);
                    }
                }
                fields.insert("activeIn".to_owned(), json!(details.sessions));
                fields.insert("logPath".to_owned(), json!(log.display().to_string()));
            }
            return output.data(&value);
        }
        output.text(&views::details::plain(&details))?;
        output.line(format!("\nLog\n  {}", log.display()))
    }
}

/// Returns the session's active frame.
fn active(ctx: &CommandContext) -> Result<flamestack_core::FrameId, Failure> {
    let session = &ctx.actor.session;
    let known = ctx.engine.session(session)?;
    let active = known.and_then(|known| known.frame());
    active.ok_or_else(|| {
        EngineError::from(Refusal::NoActiveFrame {
            session: session.clone(),
        })
        .into()
    })
}
