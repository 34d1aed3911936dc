//! `flame session migrate`

use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::Args;
use flamestack_core::{Actor, SessionRef};
use flamestack_engine::brief::gather_workflows;
use flamestack_engine::hand_off::{HandOff, TakenOver};
use serde_json::json;

use crate::command_context::{CommandContext, home};
use crate::commands::editor;
use crate::complete;
use crate::failure::Failure;
use crate::output::Output;

/// Hand the work of a session to another session, worktree, machine or host
///
/// Prints the work as Markdown: its goal, what was cut off, and the brief of the session, without
/// secrets. `--to` hands it to a session of this project, which continues the frame. A file can be
/// given to anyone: `flame session migrate --from FILE` takes it over, in the same project or another.
/// Before that it can be edited freely; the first heading is the title of the work.
#[derive(Args)]
pub(super) struct Migrate {
    /// The session; without one the agent's session that was last at work here
    #[arg(add = complete::sessions(), conflicts_with = "from")]
    name: Option<String>,
    /// The session of this project that continues the work
    #[arg(long, value_name = "SESSION", add = complete::sessions(), conflicts_with = "from")]
    to: Option<String>,
    /// Write to a file
    #[arg(short, long, value_name = "FILE", conflicts_with = "from")]
    output: Option<PathBuf>,
    /// Edit the text in $VISUAL or $EDITOR first
    #[arg(long, conflicts_with = "from")]
    edit: bool,
    /// Take over the work in a file; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Maximum length of the brief in tokens (default: `brief.budget`)
    #[arg(short, long, value_name = "N")]
    budget: Option<usize>,
}

impl Migrate {
    /// Returns true if work is taken over, and not only described.
    pub(super) fn changes(&self) -> bool {
        self.from.is_some() || self.to.is_some()
    }

    pub(super) fn run(self, ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
        match &self.from {
            Some(file) => take_over(ctx, file, output),
            None => self.hand_off(ctx, output),
        }
    }

    fn hand_off(&self, ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
        let sessions = ctx.engine.sessions();
        let session = match &self.name {
            Some(name) => sessions.named(name)?,
            None => at_work(ctx)?,
        };
        let set = ctx.settings.number("brief.budget")?;
        let set = usize::try_from(set).unwrap_or(usize::MAX);
        let workflows = gather_workflows(&home()?, ctx.engine.project());
        let budget = self.budget.unwrap_or(set);
        let Some(mut work) = ctx.engine.hand_off(&session, &workflows, budget)? else {
            return Err(Failure::refused(
                format!("{session} works on nothing that could be handed off"),
                "`flame session list` shows the sessions and their frames",
            ));
        };
        if self.edit {
            work = edited(&work, ctx)?;
        }
        let text = work.to_markdown();
        if let Some(file) = &self.output {
            fs_err::write(file, &text)?;
        }
        let taken = match &self.to {
            Some(name) => {
                let actor = Actor {
                    session: sessions.named(name)?,
                    message: None,
                    ..ctx.actor.clone()
                };
                Some((actor.session.clone(), ctx.engine.take_over(&actor, &work)?))
            }
            None => None,
        };
        if output.is_json() {
            return output.data(&json!({
                "from": session.to_string(),
                "to": taken.as_ref().map(|(to, _)| to.to_string()),
                "frame": work.frame.map(|frame| frame.to_string()),
                "title": work.title,
                "text": text,
                "file": self.output.as_ref().map(|file| file.display().to_string()),
            }));
        }
        match (&taken, &self.output) {
            (Some((to, taken)), _) => output.line(sentence(taken, to))?,
            (None, Some(file)) => output.line(format!(
                "Wrote {}. `flame session migrate --from FILE` takes the work over.",
                file.display()
            ))?,
            (None, None) => output.raw(&text)?,
        }
        Ok(())
    }
}

fn at_work(ctx: &CommandContext) -> Result<SessionRef, Failure> {
    let own = &ctx.actor.session;
    if ctx.session_named {
        return Ok(own.clone());
    }
    let at_work = ctx.engine.session_at_work(own)?;
    Ok(at_work.unwrap_or_else(|| own.clone()))
}

fn take_over(ctx: &CommandContext, file: &Path, output: &mut Output) -> Result<(), Failure> {
    let mut text = String::new();
    if file.as_os_str() == "-" {
        std::io::stdin().read_to_string(&mut text)?;
    } else {
        text = fs_err::read_to_string(file)?;
    }
    let Some(work) = HandOff::parse(&text) else {
        return Err(Failure::refused(
            "that file holds no work to take over",
            "it needs a heading with the title of the work; `flame session migrate -o FILE` writes one",
        ));
    };
    let taken = ctx.engine.take_over(&ctx.actor, &work)?;
    if output.is_json() {
        return output.data(&json!({
            "session": ctx.actor.session.to_string(),
            "from": work.from.map(|from| from.to_string()),
            "frame": taken.frame.to_string(),
            "new": taken.is_new,
            "linked": taken.is_linked,
        }));
    }
    output.line(sentence(&taken, &ctx.actor.session))
}

fn sentence(taken: &TakenOver, session: &SessionRef) -> String {
    let verb = if taken.is_new {
        "begins"
    } else {
        "continues with"
    };
    let link = if taken.is_linked {
        " The sessions are linked."
    } else {
        ""
    };
    format!("{session} {verb} frame {}.{link}", taken.frame)
}

/// Lets the user edit a hand-off.
fn edited(work: &HandOff, ctx: &CommandContext) -> Result<HandOff, Failure> {
    let folder = crate::commands::temporary::folder()?;
    let file = folder.path().join("hand-off.md");
    fs_err::write(&file, work.to_markdown())?;
    editor::open(&file, "write to a file with `-o FILE` and edit that")?;
    let text = fs_err::read_to_string(&file)?;
    // A secret may have been typed or pasted.
    let text = ctx.engine.redactor().redact(&text).into_owned();
    HandOff::parse(&text).ok_or_else(|| {
        Failure::refused(
            "the edited text has no title, so nothing was handed off",
            "keep a heading at its beginning",
        )
    })
}
