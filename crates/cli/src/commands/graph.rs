//! `flame graph`

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use flamestack_engine::views::size;
use flamestack_engine::views::work::{Measure, Work, WorkScope};
use flamestack_ui::picture::{Order, Picture};
use serde_json::json;

use crate::command_context::CommandContext;
use crate::complete;
use crate::failure::Failure;
use crate::output::Output;

/// Draw a flame graph of the work: where tokens, money and time went
///
/// Draws the whole project, or with --frame a frame and what is below it, or with --session what one
/// session did. The same journal gives the same file. Time is working time: pauses and the time in
/// which a session waits for you do not count. With --by saved, the width of a frame is the number of
/// tokens that later calls did not have to send because its messages were folded.
#[derive(Args)]
pub(crate) struct Graph {
    /// Only this frame and what is below it
    #[arg(short, long, value_name = "FRAME", add = complete::frames())]
    frame: Option<String>,
    /// Quantity shown as the width of a box
    #[arg(long, value_enum, value_name = "AMOUNT", default_value_t = By::Tokens)]
    by: By,
    /// Draw a chart in the order of time instead, with a lane for each session
    #[arg(long)]
    chart: bool,
    /// File format
    #[arg(long, value_enum, default_value_t = Format::Svg)]
    format: Format,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    /// Tokens of all model calls
    Tokens,
    /// Money
    Cost,
    /// Working time
    Time,
    /// Prompts and model calls
    Messages,
    /// Tokens saved by folding
    Saved,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A drawing that zooms and searches, for a browser
    Svg,
    /// For <https://www.speedscope.app>, one profile for each session
    Speedscope,
    /// Folded stacks, for inferno and flamegraph.pl
    Folded,
    /// A trace in time, for Perfetto and Chrome
    Trace,
}

impl Graph {
    pub(crate) fn run(self, ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
        if self.output.is_none() && self.format == Format::Svg && output.is_terminal() {
            return Err(Failure::refused(
                "a drawing is for a browser, not for a terminal",
                "`flame graph -o work.svg` writes it to a file, `flame tui` draws in the terminal",
            ));
        }
        if self.chart && self.format == Format::Folded {
            return Err(Failure::refused(
                "folded stacks have no time in them",
                "leave --chart out, or use `--format speedscope` or `trace`",
            ));
        }
        if self.chart && !matches!(self.by, By::Tokens | By::Time) {
            return Err(Failure::refused(
                "a chart is drawn in time",
                "leave --by out, or leave --chart out",
            ));
        }
        let text = self.draw(ctx, output)?;
        let Some(file) = &self.output else {
            // The other formats are JSON already.
            if output.is_json() && matches!(self.format, Format::Svg | Format::Folded) {
                return output.data(&json!({ "bytes": text.len(), "text": text }));
            }
            return output.raw(&text);
        };
        fs_err::write(file, &text)?;
        if output.is_json() {
            return output.data(&json!({ "file": file, "bytes": text.len() }));
        }
        let file = file.display();
        output.line(format!("{file}: {}", size(text.len() as u64)))
    }

    fn draw(&self, ctx: &CommandContext, output: &mut Output) -> Result<String, Failure> {
        let engine = &ctx.engine;
        let scope = match &self.frame {
            Some(name) => WorkScope::Frame(engine.frame_named(name)?),
            None if ctx.session_named => {
                let session = &ctx.actor.session;
                if engine.session(session)?.is_none() {
                    return Err(Failure::refused(
                        format!("there is no session {session}"),
                        "`flame session list` lists sessions",
                    ));
                }
                WorkScope::Session(session.clone())
            }
            None => WorkScope::Project,
        };
        let work = engine.read(Work::read)?;
        let title = match &scope {
            WorkScope::Frame(frame) => work.place(frame).map(|place| place.title.clone()),
            WorkScope::Session(session) => Some(session.to_string()),
            WorkScope::Project => Some(engine.project().name()),
        };
        let by = |measure: Measure| work.graph(&scope, measure, None).total;
        let measure = self.by.measure();
        if !self.chart && by(measure) == 0 {
            let time = if measure != Measure::Time && by(Measure::Time) > 0 {
                "; `--by time` shows the working time"
            } else {
                ""
            };
            let by = measure.as_str();
            output.notice(&format!("there is nothing to show by {by} yet{time}"))?;
        }
        let picture = Picture {
            measure,
            order: if self.chart {
                Order::InTime
            } else {
                Order::Merged
            },
            title: title.unwrap_or_default(),
            scope,
        };
        Ok(match self.format {
            Format::Svg => picture.svg(&work),
            Format::Speedscope => picture.speedscope(&work),
            Format::Folded => picture.folded(&work),
            Format::Trace => picture.trace(&work),
        })
    }
}

impl By {
    fn measure(self) -> Measure {
        match self {
            Self::Tokens => Measure::Tokens,
            Self::Cost => Measure::Cost,
            Self::Time => Measure::Time,
            Self::Messages => Measure::Messages,
            Self::Saved => Measure::Saved,
        }
    }
}
