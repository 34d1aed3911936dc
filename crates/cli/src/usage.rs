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
            "write a whole number".to_owned()
        }
        Some("number too large to fit in target type") => "write a smaller number".to_owned(),
        Some(reason) => match allowed(reason) {
            Some(allowed) => allowed,
            None => return error,
        },
        None => return error,
    };
    let mut worded = clap::Error::new(error.kind()).with_cmd(&Cli::command());
    for (kind, value) in error.context() {
        worded.insert(kind, value.clone());
    }
    suggest(&mut worded, &tip);
    worded
}

/// Returns the numbers that are allowed, of a reason such as `0 is not in 1..=4294967295`.
fn allowed(reason: &str) -> Option<String> {
    let (_, range) = reason.split_once(" is not in ")?;
    let (least, most) = range.split_once("..=")?;
    let is_unlimited = [u64::from(u32::MAX), u64::MAX]
        .iter()
        .any(|limit| limit.to_string() == most);
    Some(if is_unlimited {
        format!("it must be at least {least}")
    } else {
        format!("it must be from {least} to {most}")
    })
}

fn suggest(error: &mut clap::Error, tip: &str) {
    let tip = ContextValue::StyledStrs(vec![StyledStr::from(tip.to_owned())]);
    error.insert(ContextKind::Suggested, tip);
}
