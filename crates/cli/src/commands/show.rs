//! `flame show`

use clap::Args;
use flamestack_engine::json;
use flamestack_engine::views;
use serde_json::{Value, json};

use crate::command_context::CommandContext;
use crate::complete;
use crate::failure::Failure;
use crate::output::{BOLD, Output, painted};

/// Show everything about a frame, including its children's results
#[derive(Args)]
pub(crate) struct Show {
    /// The frame (default: the active one)
    #[arg(add = complete::frames())]
    frame: Option<String>,
}

impl Show {
    pub(crate) fn run(self, ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
        let id = match &self.frame {
            Some(name) => ctx.engine.frame_named(name)?,
            None => ctx.active_frame()?,
        };
        let details = ctx
            .engine
            .read(|reading| views::details::gather(reading, &id))?;
        let (_, log) = ctx.engine.logs().render(&id, None)?;
        if output.is_json() {
            let mut value = json::frame(&details.frame);
            if let Value::Object(fields) = &mut value {
                let texts = fields.get_mut("log").and_then(Value::as_array_mut);
                for (shown, entry) in texts.into_iter().flatten().zip(&details.frame.log) {
                    if let (Value::Object(shown), true) =
                        (shown, details.dropped.contains(&entry.blob))
                    {
                        shown.insert("dropped".to_owned(), json!(true));
                    }
                }
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
                if details.notes_left_out > 0 {
                    fields.insert("notesLeftOut".to_owned(), json!(details.notes_left_out));
                }
                if let Some(started) = details.started {
                    fields.insert("startedAt".to_owned(), json!(started.0));
                }
                if let Some(ended) = details.ended {
                    fields.insert("endedAt".to_owned(), json!(ended.0));
                    if let Some(started) = details.started {
                        let took = ended.0.saturating_sub(started.0);
                        fields.insert("durationMs".to_owned(), json!(took));
                    }
                }
                fields.insert("logPath".to_owned(), json!(log.display().to_string()));
            }
            return output.data(&value);
        }
        let canvas = output.canvas();
        output.text(&views::details::render(&canvas, &details))?;
        output.line("")?;
        output.line(painted(BOLD, "Log"))?;
        output.line(format!("  {}", log.display()))
    }
}
