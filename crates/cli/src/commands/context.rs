//! `flame context`

use std::io::IsTerminal;

use clap::{Args, ValueEnum};
use flamestack_core::context::{Context as Shown, Reason};
use flamestack_engine::context::{AsSent, Told, Wanted, Whose};
use flamestack_engine::views;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output::Output;
use crate::workplace::Workplace;

/// Print what the model is shown: byte for byte, or as a table of its sections
#[derive(Args)]
pub(crate) struct Context {
    /// The context of this frame instead of a session's
    #[arg(short, long, value_name = "FRAME")]
    frame: Option<String>,
    /// At most so many tokens (default: `context.budget.total`)
    #[arg(short, long, value_name = "N")]
    budget: Option<usize>,
    /// How the context is written
    #[arg(long, value_enum, default_value_t = Format::Xml, conflicts_with = "table")]
    format: Format,
    /// Print a table of sections instead: tokens, share of the budget, what was left out and why
    #[arg(short, long)]
    table: bool,
    /// Print what the session has really been sent instead: its header and every update behind it
    #[arg(long, conflicts_with_all = ["frame", "budget", "table"])]
    as_sent: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// As a model gets it
    Xml,
    /// For programs
    Json,
}

impl Context {
    pub(crate) fn run(self, place: &Workplace, output: &mut Output) -> Result<(), Failure> {
        if self.as_sent {
            return self.run_as_sent(place, output);
        }
        let whose = match &self.frame {
            Some(name) => Whose::Frame(place.engine.frame_named(name)?),
            None => Whose::Session(place.actor.session.clone()),
        };
        let wanted = Wanted {
            budget: self.budget,
            usable_window: None,
        };
        if output.is_json() || self.format == Format::Json {
            let told = place.engine.context_as_json(&whose, &wanted)?;
            return match told.filter(|(context, _)| !context.is_empty()) {
                Some((context, json)) if output.is_json() => {
                    output.data(&everything(&context, &json)?)
                }
                Some((_, json)) => output.line(json),
                None if output.is_json() => {
                    output.data(&json!({ "text": "", "tokens": 0, "sections": [] }))
                }
                None => nothing(output, &whose),
            };
        }
        let context = place.engine.context(&whose, &wanted)?;
        let Some(context) = context.filter(|context| !context.is_empty()) else {
            return nothing(output, &whose);
        };
        if self.table {
            output.text(&views::context::plain(&context))
        } else {
            output.raw(&context.text)
        }
    }

    fn run_as_sent(&self, place: &Workplace, output: &mut Output) -> Result<(), Failure> {
        let session = &place.actor.session;
        let sent = place.engine.sent(session)?;
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

fn in_full(sent: &AsSent) -> Value {
    let told = |told: &Told| {
        json!({
            "text": told.text,
            "message": told.message,
            "event": told.seq.0,
            "after": told.after.map(Reason::as_str),
        })
    };
    json!({
        "text": sent.text(),
        "header": told(&sent.header),
        "updates": sent.updates.iter().map(told).collect::<Vec<_>>(),
    })
}

/// Standard output stays empty, as the prompt would; a person is told why.
fn nothing(output: &mut Output, whose: &Whose) -> Result<(), Failure> {
    if !std::io::stderr().is_terminal() {
        return Ok(());
    }
    output.notice(&match whose {
        Whose::Session(session) => format!("there is nothing to tell {session}"),
        Whose::Frame(frame) => format!("there is nothing to tell about {frame}"),
    })
}

fn everything(context: &Shown, json: &str) -> Result<Value, Failure> {
    let mut value: Value = serde_json::from_str(json).map_err(std::io::Error::from)?;
    if let Value::Object(fields) = &mut value {
        fields.insert("text".to_owned(), json!(context.text));
    }
    Ok(value)
}
