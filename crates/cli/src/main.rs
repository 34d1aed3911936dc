//! The `flame` command: arguments in, text and exit codes out.
//!
//! This crate parses, wires and prints. Deciding, storing and rendering happen in the crates below.

mod args;
mod caller;
mod command_context;
mod commands;
mod complete;
mod diagnostics;
mod failure;
mod help;
mod local_time;
mod output;
mod parallel;
mod usage;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches as _};
use clap_complete::CompleteEnv;

use crate::args::Cli;
use crate::failure::Failure;
use crate::output::Output;

/// Length of an error about the command line that is printed as it is, in bytes.
const ERROR_LIMIT: usize = 4_000;

fn main() -> ExitCode {
    // A shell that completes a word sets `COMPLETE`; this answers it and ends.
    CompleteEnv::with_factory(help::command).complete();
    let words = Cli::command().try_get_matches();
    // The help in groups builds every subcommand, so it is made only where it is shown.
    let words = words.or_else(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            help::command().try_get_matches()
        }
        _ => Err(error),
    });
    let cli = match words.and_then(|words| Cli::from_arg_matches(&words)) {
        Ok(cli) => cli,
        Err(error) => return misused(&usage::worded(error)),
    };
    let mut output = Output::new(cli.json);
    let answer = commands::run(cli, &mut output).and_then(|()| output.flush());
    match answer {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => report(&mut output, &failure),
    }
}

/// Handles an invalid command line, or one that asks for help.
fn misused(error: &clap::Error) -> ExitCode {
    match Failure::misused(error) {
        Some(failure) if args::asks_for_json(std::env::args_os()) => {
            report(&mut Output::new(true), &failure)
        }
        // An error repeats the argument, however long that is.
        Some(failure) if error.render().to_string().len() > ERROR_LIMIT => {
            report(&mut Output::new(false), &failure)
        }
        _ => {
            // If printing fails too, the exit code still says it.
            drop(error.print());
            ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
        }
    }
}

fn report(output: &mut Output, failure: &Failure) -> ExitCode {
    match failure {
        // The reader, such as `head`, has seen enough.
        Failure::BrokenPipe => ExitCode::SUCCESS,
        Failure::Exit(code) => ExitCode::from(*code),
        Failure::Attention => ExitCode::from(1),
        Failure::Message {
            usage,
            message,
            hint,
        } => {
            output.print_error(message, hint.as_deref());
            ExitCode::from(if *usage { 2 } else { 1 })
        }
    }
}
