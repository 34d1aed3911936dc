//! Errors about the command line: tips for words that other programs have, and plain words for numbers.

use std::error::Error as _;

use clap::CommandFactory as _;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::args::Cli;

/// Command that only other processes use.
const HIDDEN: &str = "run-server";

/// Returns an error with the tips that help.
pub(crate) fn worded(mut error: clap::Error) -> clap::Error {
    match error.kind() {
        ErrorKind::InvalidSubcommand => tip_for_command(&mut error),
        ErrorKind::ValueValidation => return with_number(error),
        _ => {}
    }
    error
}

fn tip_for_command(error: &mut clap::Error) {
    let word = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word)) => word.as_str(),
        _ => return,
    };
    let tip = match word {
        "resume" | "continue" => {
            "`flame session resume` lists sessions that were cut off; `flame run --resume` goes on with a run"
        }
        "redo" => "there is no redo: an undo cannot be undone",
        _ => return without_hidden(error),
    };
    error.remove(ContextKind::SuggestedSubcommand);
    suggest(error, tip);
}

/// Removes what is not for users from the similar commands.
fn without_hidden(error: &mut clap::Error) {
    let Some(ContextValue::Strings(mut similar)) = error.remove(ContextKind::SuggestedSubcommand)
    else {
        return;
    };
    similar.retain(|name| name != HIDDEN);
    if !similar.is_empty() {
        let similar = ContextValue::Strings(similar);
        error.insert(ContextKind::SuggestedSubcommand, similar);
    }
}

/// Replaces the standard library's reasons why a text is not a number.
fn with_number(error: clap::Error) -> clap::Error {
    let source = error.source().map(ToString::to_string);
    let tip = match source.as_deref() {
        Some("invalid digit found in string" | "cannot parse integer from empty string") => {
            "write a whole number"
        }
        Some("number too large to fit in target type") => "write a smaller number",
        _ => return error,
    };
    let mut worded = clap::Error::new(error.kind()).with_cmd(&Cli::command());
    for (kind, value) in error.context() {
        worded.insert(kind, value.clone());
    }
    suggest(&mut worded, tip);
    worded
}

fn suggest(error: &mut clap::Error, tip: &'static str) {
    let tip = ContextValue::StyledStrs(vec![StyledStr::from(tip)]);
    error.insert(ContextKind::Suggested, tip);
}
