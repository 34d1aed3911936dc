//! `flame tui`

use std::io::IsTerminal as _;
use std::sync::Arc;

use clap::Args;
use flamestack_ui::terminal::{self, Palette, TerminalOptions};

use crate::command_context::CommandContext;
use crate::failure::Failure;
use crate::output::Output;

/// Look at the work in the terminal: tree, frames, contexts and a flame graph, live
///
/// Arrow keys and vim keys work; `?` shows them all. `flame tree`, `show`, `context` and `graph`
/// print the same without taking over the terminal.
#[derive(Args)]
pub(crate) struct Tui {
    /// React to the mouse; selecting text then needs Shift in most terminals
    #[arg(long)]
    mouse: bool,
}

impl Tui {
    pub(crate) fn run(self, ctx: CommandContext, output: &Output) -> Result<(), Failure> {
        if !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) || output.is_json()
        {
            return Err(Failure::refused(
                "this view needs a terminal",
                "`flame tree`, `flame status` and `flame show` print the same",
            ));
        }
        let has_colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let options = TerminalOptions {
            own: ctx.actor.session.clone(),
            palette: if has_colour {
                Palette::Colours
            } else {
                Palette::Plain
            },
            mouse: self.mouse,
        };
        Ok(terminal::run(Arc::new(ctx.engine), &options)?)
    }
}
