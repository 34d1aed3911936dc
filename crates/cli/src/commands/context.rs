//! `flame context`

use std::io::IsTerminal;

use clap::{Args, ValueEnum};
use flamestack_core::context::Context as Told;
use flamestack_engine::context::{Wanted, Whose};
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
        let whose = match &self.frame {
            Some(name) => Whose::Frame(place.engine.frame_named(name)?),
            None => Whose::Session(place.actor.session.clone()),
        };
        let wanted = Wanted {
            budget: self.budget,
            usable_window: None,
        };
        let context = place.engine.context(&whose, &wanted)?;
        if output.is_json() {
            return output.data(&everything(context.as_deref()));
        }
        let Some(context) = context.filter(|context| !context.is_empty()) else {
            return nothing(output, &whose);
        };
        match (self.table, self.format) {
            (true, _) => output.text(&views::context::plain(&context)),
            (false, Format::Xml) => output.text(&context.text),
            (false, Format::Json) => output.line(context.to_json()),
        }
    }
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

fn everything(context: Option<&Told>) -> Value {
    let Some(context) = context else {
        return json!({ "text": "", "tokens": 0, "sections": [] });
    };
    let mut value: Value = serde_json::from_str(&context.to_json()).unwrap_or_default();
    if let Value::Object(fields) = &mut value {
        fields.insert("text".to_owned(), json!(context.text));
    }
    value
}
