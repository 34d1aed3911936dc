//! One file a command: its arguments, whose doc comments are its help, and what it does.

pub(crate) mod activate;
pub(crate) mod bind;
pub(crate) mod block;
pub(crate) mod brief;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod context;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod edit;
pub(crate) mod eval;
pub(crate) mod export;
pub(crate) mod gc;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod invalidate;
pub(crate) mod log;
pub(crate) mod note;
pub(crate) mod plan;
pub(crate) mod pop;
pub(crate) mod push;
pub(crate) mod rebuild;
pub(crate) mod recall;
mod recordings;
pub(crate) mod relocate;
pub(crate) mod replay;
pub(crate) mod search;
pub(crate) mod show;
pub(crate) mod sidecar;
pub(crate) mod status;
pub(crate) mod summarize;
pub(crate) mod tool;
pub(crate) mod tree;
pub(crate) mod undo;

use std::io::Read;
use std::path::Path;

use flamestack_core::FrameId;
use flamestack_engine::{Receipt, Request, views};
use serde_json::{Value, json};

use crate::args::{Cli, Command};
use crate::failure::Failure;
use crate::output::Output;
use crate::workplace::Workplace;

/// Does what the command line says.
pub(crate) fn run(cli: Cli, output: &mut Output) -> Result<(), Failure> {
    let open = || Workplace::open(cli.dir.as_deref(), cli.session.as_deref());
    // Whoever works on after a store was set aside should know that there is something to recover.
    let place = |output: &mut Output| -> Result<Workplace, Failure> {
        let place = open()?;
        for waiting in place.engine.set_aside_stores()? {
            output.notice(&set_aside(&waiting))?;
        }
        Ok(place)
    };
    match cli.command {
        Command::Push(command) => command.run(&place(output)?, output),
        Command::Pop(command) => command.run(&place(output)?, output),
        Command::Summarize(command) => command.run(&place(output)?, output),
        Command::Plan(command) => command.run(&place(output)?, output),
        Command::Activate(command) => command.run(&place(output)?, output),
        Command::Note(command) => command.run(&place(output)?, output),
        Command::Edit(command) => command.run(&place(output)?, output),
        Command::Block(command) => command.run(&place(output)?, output),
        Command::Unblock(command) => command.run(&place(output)?, output),
        Command::Invalidate(command) => command.run(&place(output)?, output),
        Command::Move(command) => command.run(&place(output)?, output),
        Command::Delete(command) => command.run(&place(output)?, output),
        Command::Bind(command) => command.run(&place(output)?, output),
        Command::Unbind(command) => command.run(&place(output)?, output),
        Command::Undo(command) => command.run(&place(output)?, output),
        Command::Status(command) => command.run(&open()?, output),
        Command::Tree(command) => command.run(&place(output)?, output),
        Command::Show(command) => command.run(&place(output)?, output),
        Command::Context(command) => command.run(&place(output)?, output),
        Command::Brief(command) => command.run(&place(output)?, output),
        Command::Search(command) => command.run(&place(output)?, output),
        Command::Recall(command) => command.run(&place(output)?, output),
        Command::Replay(command) => command.run(output),
        Command::Eval(command) => command.run(output),
        Command::Log(command) => command.run(&place(output)?, output),
        Command::Import(command) => command.run(&place(output)?, output),
        Command::Export(command) => command.run(&place(output)?, output),
        Command::Tool(command) => command.run(&place(output)?, output),
        Command::Config(command) => command.run(cli.dir.as_deref(), output),
        Command::Init(command) => command.run(cli.dir.as_deref(), output),
        Command::Doctor(command) => {
            let place = Workplace::open_anyway(cli.dir.as_deref(), cli.session.as_deref())?;
            command.run(&place, output)
        }
        Command::Rebuild(command) => command.run(&open()?, output),
        Command::Gc(command) => command.run(&place(output)?, output),
        Command::Sidecar(command) => command.run(open()?),
        Command::Demo(command) => command.run(output),
        Command::Completions(command) => command.run(output),
        Command::Man(command) => command.run(output),
    }
}

/// Says that a store waits to be recovered.
fn set_aside(waiting: &Path) -> String {
    format!(
        "an unreadable store waits in {}: `flame rebuild` recovers what can be read of it",
        waiting.display()
    )
}

/// Grants a request and tells what it came to.
fn grant(place: &Workplace, output: &mut Output, request: &Request) -> Result<Receipt, Failure> {
    let receipt = place.engine.execute(&place.actor, request)?;
    tell(place, output, &receipt)?;
    Ok(receipt)
}

/// Tells what a granted request came to.
fn tell(place: &Workplace, output: &mut Output, receipt: &Receipt) -> Result<(), Failure> {
    if output.is_json() {
        let session = place
            .engine
            .read(|reading| Ok(reading.session(&place.actor.session)?))?;
        let active = session.and_then(|session| session.active);
        return output.data(&receipt_json(receipt, active.as_ref()));
    }
    let lines = place
        .engine
        .read(|reading| views::receipt::lines(reading, &place.actor, receipt))?;
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
        "remarks": receipt.remarks.iter().map(views::receipt::said).collect::<Vec<_>>(),
    })
}

/// A text argument, or standard input where the argument is `-`.
fn text_or_stdin(text: &str) -> Result<String, Failure> {
    if text != "-" {
        return Ok(text.to_owned());
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes)?;
    utf8("standard input", bytes)
}

/// Says so where a path that was named leads nowhere.
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

/// Bytes as text, or a complaint that says where they stop being text.
fn utf8(what: &str, bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|error| Failure::Told {
        usage: false,
        message: format!(
            "{what} is not UTF-8 text (from byte {})",
            error.utf8_error().valid_up_to()
        ),
        hint: Some("convert it to UTF-8 first".to_owned()),
    })
}
