//! The commands: their arguments, whose doc comments are their help, and the code that runs them.
//!
//! The commands that change frames are in [`change`]; each of the others has a file of its own.

pub(crate) mod brief;
pub(crate) mod change;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod context;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod eval;
pub(crate) mod export;
pub(crate) mod gc;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod log;
mod note;
mod plan;
pub(crate) mod rebuild;
pub(crate) mod recall;
mod recordings;
pub(crate) mod replay;
pub(crate) mod search;
pub(crate) mod show;
pub(crate) mod sidecar;
pub(crate) mod status;
mod temporary;
pub(crate) mod tool;
pub(crate) mod tree;

use std::io::Read;
use std::path::Path;
use std::time::Duration;

use flamestack_core::FrameId;
use flamestack_engine::{Receipt, Request, views};
use serde_json::{Value, json};

use crate::args::{Cli, Command};
use crate::command_context::CommandContext;
use crate::failure::Failure;
use crate::output::Output;

/// Runs the command that was given on the command line.
pub(crate) fn run(cli: Cli, output: &mut Output) -> Result<(), Failure> {
    let open = || CommandContext::open(cli.dir.as_deref(), cli.session.as_deref());
    // A user who works on after a store was set aside should know that it can be recovered.
    let checked = |output: &mut Output| -> Result<CommandContext, Failure> {
        let ctx = open()?;
        for waiting in ctx.engine.maintenance().set_aside_stores()? {
            output.notice(&set_aside(&waiting))?;
        }
        Ok(ctx)
    };
    match cli.command {
        Command::Change(command) => command.run(&checked(output)?, output),
        Command::Status(command) => command.run(&open()?, output),
        Command::Tree(command) => command.run(&checked(output)?, output),
        Command::Show(command) => command.run(&checked(output)?, output),
        Command::Context(command) => command.run(&checked(output)?, output),
        Command::Brief(command) => command.run(&checked(output)?, output),
        Command::Search(command) => command.run(&checked(output)?, output),
        Command::Recall(command) => command.run(&checked(output)?, output),
        Command::Replay(command) => command.run(output),
        Command::Eval(command) => command.run(output),
        Command::Log(command) => command.run(&checked(output)?, output),
        Command::Import(command) => command.run(&checked(output)?, output),
        Command::Export(command) => command.run(&checked(output)?, output),
        Command::Tool(command) => command.run(&checked(output)?, output),
        Command::Config(command) => command.run(cli.dir.as_deref(), output),
        Command::Init(command) => command.run(cli.dir.as_deref(), output),
        Command::Doctor(command) => {
            let ctx = CommandContext::open_anyway(cli.dir.as_deref(), cli.session.as_deref())?;
            command.run(&ctx, output)
        }
        Command::Rebuild(command) => command.run(&open()?, output),
        Command::Gc(command) => command.run(&checked(output)?, output),
        Command::Sidecar(command) => command.run(open()?),
        Command::Demo(command) => command.run(output),
        Command::Completions(command) => command.run(output),
        Command::Man(command) => command.run(output),
    }
}

/// Returns the note about a store that waits to be recovered.
fn set_aside(waiting: &Path) -> String {
    format!(
        "an unreadable store is in {}: `flame rebuild` recovers what can be read of it",
        waiting.display()
    )
}

/// Executes a request and prints its receipt.
fn execute(ctx: &CommandContext, output: &mut Output, request: &Request) -> Result<(), Failure> {
    let receipt = ctx.engine.commands().execute(&ctx.actor, request)?;
    if !matches!(request, Request::AwaitSummary { .. }) {
        return print_receipt(ctx, output, &receipt);
    }
    // No host makes a summary at a terminal, so the wait ends at once.
    let compactions = ctx.engine.compactions();
    for receipt in compactions.give_up_waiting(&ctx.actor, Duration::ZERO)? {
        print_receipt(ctx, output, &receipt)?;
    }
    Ok(())
}

/// Prints what an executed request changed.
fn print_receipt(
    ctx: &CommandContext,
    output: &mut Output,
    receipt: &Receipt,
) -> Result<(), Failure> {
    if output.is_json() {
        let session = ctx.engine.session(&ctx.actor.session)?;
        let active = session.and_then(|session| session.active);
        return output.data(&receipt_json(receipt, active.as_ref()));
    }
    let lines = ctx
        .engine
        .read(|reading| views::receipt::lines(reading, &ctx.actor, receipt))?;
    for line in lines {
        output.line(line)?;
    }
    Ok(())
}

fn receipt_json(receipt: &Receipt, active: Option<&FrameId>) -> Value {
    let mut frames: Vec<String> = Vec::new();
    for frame in receipt
        .events
        .iter()
        .flat_map(|recorded| recorded.event.frames())
    {
        let frame = frame.to_string();
        if !frames.contains(&frame) {
            frames.push(frame);
        }
    }
    json!({
        "changed": !receipt.events.is_empty(),
        "frames": frames,
        "active": active.map(FrameId::as_str),
        "events": receipt.events.iter().map(|recorded| {
            json!({ "seq": recorded.seq.0, "what": views::story::line(recorded) })
        }).collect::<Vec<_>>(),
        "remarks": receipt.remarks.iter().map(views::receipt::remark).collect::<Vec<_>>(),
    })
}

/// Returns a text argument, or standard input if the argument is `-`.
fn text_or_stdin(text: &str) -> Result<String, Failure> {
    if text != "-" {
        return Ok(text.to_owned());
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes)?;
    utf8("standard input", bytes)
}

/// Fails if `path` does not exist.
fn existing(path: &Path) -> Result<(), Failure> {
    match fs_err::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(Failure::refused(
            format!("there is no file or folder {}", path.display()),
            "check the path",
        )),
        Err(error) => Err(error.into()),
        Ok(_) => Ok(()),
    }
}

/// Decodes UTF-8, or fails with the offset of the first bad byte.
fn utf8(what: &str, bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        Failure::refused(
            format!("{what} is not UTF-8 text (from byte {valid})"),
            "convert it to UTF-8 first",
        )
    })
}
