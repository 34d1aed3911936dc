//! The `flame` command: arguments in, words and exit codes out.
//!
//! Everything that is decided, kept or rendered is decided, kept and rendered by the crates below;
//! this one wires them and prints.

mod args;
mod commands;
mod diagnostics;
mod failure;
mod output;
mod workplace;

use std::process::ExitCode;

use clap::Parser;

use crate::args::Cli;
use crate::failure::Failure;
use crate::output::Output;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return misused(&error),
    };
    let mut output = Output::new(cli.json);
    let answer = commands::run(cli, &mut output).and_then(|()| output.flush());
    match answer {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => report(&mut output, &failure),
    }
}

/// A command line that cannot be understood, or that asks for help.
fn misused(error: &clap::Error) -> ExitCode {
    match Failure::misused(error) {
        Some(failure) if args::asks_for_json(std::env::args_os()) => {
            report(&mut Output::new(true), &failure)
        }
        _ => {
            // Nobody is left to tell if this fails; the exit code still tells.
            drop(error.print());
            ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
        }
    }
}

fn report(output: &mut Output, failure: &Failure) -> ExitCode {
    match failure {
        // Whoever read our output has heard enough.
        Failure::BrokenPipe => ExitCode::SUCCESS,
        Failure::Attention => ExitCode::from(1),
        Failure::Told {
            usage,
            message,
            hint,
        } => {
            output.complain(message, hint.as_deref());
            ExitCode::from(if *usage { 2 } else { 1 })
        }
    }
}
