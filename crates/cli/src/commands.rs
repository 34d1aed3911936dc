//! The commands: their arguments, whose doc comments are their help, and the code that runs them.
//!
//! The commands that change frames are in [`change`]; each of the others has a file of its own.

pub(crate) mod autonomy;
pub(crate) mod backup;
pub(crate) mod brief;
pub(crate) mod change;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod context;
pub(crate) mod demo;
pub(crate) mod doctor;
mod editor;
pub(crate) mod eval;
pub(crate) mod export;
pub(crate) mod forget;
pub(crate) mod gc;
pub(crate) mod graph;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod log;
mod note;
mod plan;
pub(crate) mod projects;
pub(crate) mod rebuild;
pub(crate) mod recall;
mod recordings;
pub(crate) mod replay;
pub(crate) mod run;
pub(crate) mod search;
pub(crate) mod session;
pub(crate) mod show;
pub(crate) mod sidecar;
pub(crate) mod status;
mod temporary;
pub(crate) mod tool;
pub(crate) mod tree;
pub(crate) mod tui;
pub(crate) mod ui;

use std::io::{IsTerminal, Read};
use std::path::Path;

use flamestack_core::{Actor, Author, Event, FrameId};
use flamestack_engine::hints::Voice;
use flamestack_engine::project::Found;
use flamestack_engine::{Project, Receipt, Request, views};
use serde_json::{Value, json};

use crate::args::{Cli, Command};
use crate::caller;
use crate::command_context::CommandContext;
use crate::failure::Failure;
use crate::output::Output;

/// Runs the command that was given on the command line.
pub(crate) fn run(cli: Cli, output: &mut Output) -> Result<(), Failure> {
    let (dir, session) = (cli.dir.as_deref(), cli.session.as_deref());
    let open = |output: &mut Output| open(dir, session, output);
    // A user who works on after a store was set aside should know that it can be recovered.
    let reading = |output: &mut Output| -> Result<CommandContext, Failure> {
        let ctx = open(output)?;
        for waiting in ctx.engine.maintenance().set_aside_stores()? {
            output.notice(&set_aside(&waiting))?;
        }
        if ctx.settings.unsafe_to_record().is_none() {
            settle_overdue(&ctx, output)?;
        }
        Ok(ctx)
    };
    let writing = |output: &mut Output| -> Result<CommandContext, Failure> {
        let ctx = reading(output)?;
        may_record(&ctx).map(|()| ctx)
    };
    may_run(&cli.command)?;
    match cli.command {
        Command::Change(command) => command.run(&writing(output)?, output),
        Command::Check(command) => command.run(&writing(output)?, output),
        Command::Status(command) => command.run(&reading(output)?, output),
        Command::Tree(command) => command.run(&reading(output)?, output),
        Command::Show(command) => command.run(&reading(output)?, output),
        Command::Graph(command) => command.run(&reading(output)?, output),
        Command::Tui(command) => command.run(reading(output)?, output),
        Command::Ui(command) => command.run(reading(output)?, output),
        Command::Context(command) => command.run(&reading(output)?, output),
        Command::Brief(command) => command.run(&reading(output)?, output),
        Command::Search(command) => command.run(&reading(output)?, output),
        Command::Recall(command) => command.run(&reading(output)?, output),
        Command::Session(command) if command.changes() => command.run(&writing(output)?, output),
        Command::Session(command) => command.run(&reading(output)?, output),
        Command::Replay(command) => command.run(output),
        Command::Eval(command) => command.run(output),
        Command::Log(command) => command.run(&reading(output)?, output),
        Command::Import(command) => command.run(&writing(output)?, output),
        Command::Export(command) => command.run(&reading(output)?, output),
        Command::Tool(command) => command.run(&writing(output)?, output),
        Command::Autonomy(command) => command.run(&writing(output)?, output),
        Command::Config(command) => command.run(dir, output),
        Command::Init(command) => command.run(dir, output),
        Command::Doctor(command) => {
            let ctx = CommandContext::open(dir, session)?;
            command.run(&ctx, output)
        }
        Command::Rebuild(command) => command.run(&open(output)?, output),
        Command::Backup(command) => command.run(&open(output)?, output),
        Command::Forget(command) => command.run(&writing(output)?, output),
        Command::Gc(command) => command.run(&reading(output)?, output),
        Command::Projects(command) => command.run(dir, output),
        // A host shows what a sidecar prints to its user.
        Command::Sidecar(command) => command.run(CommandContext::open(dir, session)?),
        Command::Run(command) => command.run(&writing(output)?, output),
        Command::RunServer(command) => command.run(),
        Command::Demo(command) => command.run(output),
        Command::Completions(command) => command.run(output),
        Command::Man(command) => command.run(output),
    }
}

/// Opens the project of a command and prints what the user should know about it first.
fn open(
    dir: Option<&Path>,
    session: Option<&str>,
    output: &mut Output,
) -> Result<CommandContext, Failure> {
    let ctx = CommandContext::open(dir, session)?;
    if let Some(note) = arrival(ctx.engine.project()) {
        output.notice(&note)?;
    }
    for problem in ctx.settings.problems() {
        // A command that needs it stops, and says so.
        let is_used = problem
            .key
            .as_deref()
            .is_some_and(|key| !key.starts_with("gc.") && !key.starts_with("redact."));
        if !problem.harmless && is_used {
            output.notice(&format!("{}; the default is used", problem.problem))?;
        } else if !problem.harmless {
            output.notice(&problem.problem)?;
        }
    }
    Ok(ctx)
}

/// Refuses to delete recorded text, or to change the settings that guard it, in an agent's tool call.
fn may_run(command: &Command) -> Result<(), Failure> {
    let is_the_users = match command {
        Command::Forget(command) => command.erases(),
        Command::Gc(command) => command.has_limits(),
        Command::Backup(command) => command.restores(),
        Command::Projects(command) => command.deletes(),
        Command::Config(command) => command.changes_the_users(),
        _ => false,
    };
    if is_the_users && caller::author() == Author::Agent {
        return Err(only_the_user(
            "an agent can neither delete what is recorded nor change such settings",
        ));
    }
    Ok(())
}

/// Returns the refusal of a command that an agent may not run.
fn only_the_user(why: &str) -> Failure {
    Failure::refused(
        format!("only the user may run this: {why}"),
        "ask the user to run it in a terminal",
    )
}

/// Refuses to record anything while a redaction rule is missing.
fn may_record(ctx: &CommandContext) -> Result<(), Failure> {
    match ctx.settings.unsafe_to_record() {
        None => Ok(()),
        Some(problem) => Err(Failure::refused(
            "nothing is recorded while redaction rules may be missing: secrets could be stored",
            &problem.remedy,
        )),
    }
}

/// Returns the note about a project whose frames are not where they were, or were elsewhere.
pub(super) fn arrival(project: &Project) -> Option<String> {
    match &project.found {
        Found::Here => None,
        Found::Moved { from } if *from == project.root => {
            let now = if project.is_repository() {
                "a git repository now"
            } else {
                "no longer a git repository"
            };
            Some(format!("this folder is {now}; its frames were kept"))
        }
        Found::Moved { from } => Some(format!(
            "this project was moved from {}; its frames were kept",
            from.display()
        )),
        // Said until the project has frames of its own.
        Found::CopyOf { .. } | Found::InPlaceOf { .. }
            if project.dir.join("journal.db").exists() =>
        {
            None
        }
        Found::CopyOf { original } => Some(format!(
            "this is a copy of {0} and has its own frames: `flame -C {0} export DIR` and `flame import DIR` copy those of the original",
            original.display()
        )),
        Found::InPlaceOf { path, state } => Some(format!(
            "the frames of {} belong to what was there before, and are kept; this project starts without frames: `flame projects relink {state}` continues with the others",
            path.display()
        )),
        Found::Perhaps { gone } => Some(format!(
            "{0} is gone and its frames are kept: if it was moved here, `flame projects relink {0}`",
            gone.display()
        )),
    }
}

/// Asks a question on the terminal. Anything but yes, or no terminal to ask on, refuses.
fn ask(question: &str, hint: &str, output: &mut Output) -> Result<(), Failure> {
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        return Err(Failure::refused("this needs your consent", hint));
    }
    output.question(question)?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => {
            output.line("Nothing was changed.")?;
            Err(Failure::Attention)
        }
    }
}

/// Ends waits for summaries that did not come, and says so.
fn settle_overdue(ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
    let receipts = ctx.engine.compactions().settle_overdue()?;
    for receipt in receipts.iter().filter(|receipt| !receipt.events.is_empty()) {
        let actor = Actor {
            session: receipt
                .events
                .first()
                .map_or_else(|| ctx.actor.session.clone(), |event| event.session.clone()),
            ..ctx.actor.clone()
        };
        let lines = ctx.engine.read(|reading| {
            views::receipt::lines(reading, ctx.engine.project(), &actor, receipt, Voice::Cli)
        })?;
        let session = &actor.session;
        output.notice(&format!(
            "no summary arrived for {session}: {}",
            lines.join("; ")
        ))?;
    }
    Ok(())
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
    let receipt = if matches!(request, Request::AwaitSummary { .. }) {
        let compactions = ctx.engine.compactions();
        compactions.summarize_now(&ctx.actor, request)?
    } else {
        ctx.engine.commands().execute(&ctx.actor, request)?
    };
    print_receipt(ctx, output, &receipt)
}

/// Prints what an executed request changed.
fn print_receipt(
    ctx: &CommandContext,
    output: &mut Output,
    receipt: &Receipt,
) -> Result<(), Failure> {
    if output.is_json() {
        let (active, events) = ctx.engine.read_back(|reading| {
            let session = reading.session(&ctx.actor.session)?;
            let mut events = Vec::new();
            for recorded in receipt.settled.iter().chain(&receipt.events) {
                let standing = match &recorded.event {
                    Event::FrameClosed { frame, .. } => views::receipt::standing(reading, frame)?,
                    _ => None,
                };
                let what = views::story::line_in(recorded, standing);
                events.push(json!({ "seq": recorded.seq.0, "what": what }));
            }
            Ok((session.and_then(|session| session.active), events))
        })?;
        return output.data(&receipt_json(receipt, active.as_ref(), &events));
    }
    let lines = ctx.engine.read_back(|reading| {
        views::receipt::lines(
            reading,
            ctx.engine.project(),
            &ctx.actor,
            receipt,
            Voice::Cli,
        )
    })?;
    for line in lines {
        output.line(line)?;
    }
    Ok(())
}

fn receipt_json(receipt: &Receipt, active: Option<&FrameId>, events: &[Value]) -> Value {
    let mut frames: Vec<String> = Vec::new();
    let recorded = receipt.settled.iter().chain(&receipt.events);
    for frame in recorded.flat_map(|recorded| recorded.event.frames()) {
        let frame = frame.to_string();
        if !frames.contains(&frame) {
            frames.push(frame);
        }
    }
    json!({
        "changed": !events.is_empty(),
        "frames": frames,
        "active": active.map(FrameId::as_str),
        "events": events,
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
