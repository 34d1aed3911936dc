//! `flame context`

use std::io::IsTerminal;

use clap::{Args, ValueEnum};
use flamestack_core::delivery::HeaderReason;
use flamestack_engine::context::{ContextOptions, ContextTarget, SentContext, SentText};
use flamestack_engine::views;
use serde_json::{Value, json};

use crate::command_context::CommandContext;
use crate::complete;
use crate::failure::Failure;
use crate::output::Output;

/// Print what the model is shown, byte for byte or as a table of sections
#[derive(Args)]
pub(crate) struct Context {
    /// The context of this frame instead of a session's
    #[arg(short, long, value_name = "FRAME", add = complete::frames())]
    frame: Option<String>,
    /// Maximum number of tokens (default: `context.budget.total`)
    #[arg(short, long, value_name = "N")]
    budget: Option<usize>,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Xml, conflicts_with = "table")]
    format: Format,
    /// Print a table of sections instead: tokens, share of the budget, what was left out and why
    #[arg(short, long)]
    table: bool,
    /// Print what the session was really sent instead: its header and every update after it
    #[arg(long, conflicts_with_all = ["frame", "budget", "table"])]
    as_sent: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// As the model gets it
    Xml,
    /// For programs
    Json,
}

impl Context {
    pub(crate) fn run(self, ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
        if self.as_sent {
            return self.run_as_sent(ctx, output);
        }
        let target = match &self.frame {
            Some(name) => ContextTarget::Frame(ctx.engine.frame_named(name)?),
            None => ContextTarget::Session(ctx.actor.session.clone()),
        };
        let options = ContextOptions {
            budget: self.budget,
            usable_window: None,
        };
        let context = ctx.engine.contexts().context_once(&target, &options)?;
        let Some(context) = context.filter(|context| !context.is_empty()) else {
            if output.is_json() {
                return output.data(&json!({ "text": "", "tokens": 0, "sections": [] }));
            }
            return nothing(output, &target);
        };
        if output.is_json() {
            let mut value = context.to_json();
            if let Value::Object(fields) = &mut value {
                fields.insert("text".to_owned(), json!(context.text));
            }
            output.data(&value)
        } else if self.format == Format::Json {
            output.line(context.to_json().to_string())
        } else if self.table {
            output.text(&views::context::plain(&context))
        } else {
            output.raw(&context.text)
        }
    }

    fn run_as_sent(&self, ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
        let session = &ctx.actor.session;
        let sent = ctx.engine.contexts().sent(session)?;
        if output.is_json() || self.format == Format::Json {
            return output.data(&sent.as_ref().map_or(Value::Null, in_full));
        }
        match sent {
            Some(sent) => output.raw(&sent.text()),
            None if std::io::stderr().is_terminal() => {
                output.notice(&format!("{session} has not been sent anything"))
            }
            None => Ok(()),
        }
    }
}

fn in_full(sent: &SentContext) -> Value {
    let text = |sent: &SentText| {
        json!({
            "text": sent.text,
            "message": sent.message,
            "event": sent.seq.0,
            "after": sent.after.map(HeaderReason::as_str),
        })
    };
    json!({
        "text": sent.text(),
        "header": text(&sent.header),
        "updates": sent.updates.iter().map(text).collect::<Vec<_>>(),
    })
}

/// Leaves standard output empty, as the prompt would be, and prints the reason as a note.
fn nothing(output: &mut Output, target: &ContextTarget) -> Result<(), Failure> {
    if !std::io::stderr().is_terminal() {
        return Ok(());
    }
    output.notice(&match target {
        ContextTarget::Session(session) => format!("there is nothing to show to {session}"),
        ContextTarget::Frame(frame) => format!("there is nothing to show about {frame}"),
    })
}
