//! `flame session`

mod migrate;
mod resume;

use clap::{Args, Subcommand, ValueEnum};
use flamestack_core::session::forest::CleanupAction;
use flamestack_core::session::link::LinkKind;
use flamestack_engine::sessions::process::SystemProcesses;
use flamestack_engine::sessions::{NewSession, json as session_json};
use flamestack_engine::views::{counted, sessions as view, sessions_svg};
use serde_json::{Value, json};

use crate::command_context::CommandContext;
use crate::complete;
use crate::failure::Failure;
use crate::output::Output;

/// Show the sessions of the project, make and link them, clean up
///
/// A session is one conversation in a host. Name it as `host:id`, by its bare id, by the beginning of one,
/// or by the frame that is bound to it.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Session {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Subcommand)]
enum Action {
    /// List the sessions, those of this worktree first (default)
    List {
        /// Include closed sessions
        #[arg(short, long)]
        all: bool,
    },
    /// Show one session: its states, its last interruption, its children and links
    Show {
        /// The session
        #[arg(add = complete::sessions())]
        name: String,
    },
    /// Draw the sessions as a tree
    Graph {
        /// Format of the graph
        #[arg(long, value_enum, default_value_t = GraphFormat::Tree)]
        format: GraphFormat,
        /// Include closed sessions
        #[arg(short, long)]
        all: bool,
    },
    /// Create a session with a purpose, for a host to pick up
    Create {
        /// Its purpose
        purpose: String,
        /// The agent that is to work in it
        #[arg(long)]
        agent: Option<String>,
        /// Phase of the work
        #[arg(long)]
        phase: Option<String>,
        /// Its parent; without one it is a session of the user
        #[arg(long, add = complete::sessions())]
        parent: Option<String>,
        /// The frame that it is to work on
        #[arg(long, add = complete::frames())]
        frame: Option<String>,
        /// The host's session, if the host has made it already
        #[arg(long, value_name = "SESSION")]
        host_session: Option<String>,
    },
    /// Link a session to another one
    Link {
        /// The session
        #[arg(add = complete::sessions())]
        name: String,
        /// The other one: its parent, its original, or the one that continues its work
        #[arg(add = complete::sessions(), required_unless_present = "detach")]
        to: Option<String>,
        /// Kind of the link
        #[arg(long = "as", value_enum, default_value_t = Kind::HandOff)]
        kind: Kind,
        /// Remove the link
        #[arg(long)]
        remove: bool,
        /// Leave the session without a parent
        #[arg(long, conflicts_with_all = ["to", "remove"])]
        detach: bool,
    },
    Resume(resume::Resume),
    Migrate(migrate::Migrate),
    /// Find turns whose process is gone; adopt or close orphaned subagents; close those that ended long ago, and
    /// terminals whose worktree was removed
    Gc {
        /// Print what would be done without doing it
        #[arg(short = 'n', long)]
        dry_run: bool,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum GraphFormat {
    Tree,
    Json,
    Svg,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    Parent,
    Fork,
    HandOff,
}

impl From<Kind> for LinkKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Parent => Self::Parent,
            Kind::Fork => Self::Fork,
            Kind::HandOff => Self::HandOff,
        }
    }
}

impl Session {
    /// Returns true for an action that records something.
    pub(crate) fn changes(&self) -> bool {
        match &self.action {
            Some(Action::Create { .. } | Action::Link { .. }) => true,
            Some(Action::Gc { dry_run }) => !dry_run,
            Some(Action::Migrate(migrate)) => migrate.changes(),
            None
            | Some(
                Action::List { .. }
                | Action::Show { .. }
                | Action::Graph { .. }
                | Action::Resume(_),
            ) => false,
        }
    }

    pub(crate) fn run(self, ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
        let action = self.action.unwrap_or(Action::List { all: false });
        if !matches!(action, Action::Gc { .. }) {
            record_lost_turns(ctx);
        }
        match action {
            Action::List { all } => list(ctx, all, output),
            Action::Show { name } => show(ctx, &name, output),
            Action::Graph { format, all } => graph(ctx, format, all, output),
            Action::Create {
                purpose,
                agent,
                phase,
                parent,
                frame,
                host_session,
            } => {
                let session = host_session.map(|name| name.parse()).transpose();
                let session = session.map_err(flamestack_engine::EngineError::from)?;
                let new = NewSession {
                    purpose,
                    agent,
                    phase,
                    parent,
                    frame,
                    session,
                };
                create(ctx, &new, output)
            }
            Action::Link {
                name,
                to,
                kind,
                remove,
                detach,
            } => {
                let kind = if detach { Kind::Parent } else { kind };
                link(ctx, &name, kind.into(), to.as_deref(), remove, output)
            }
            Action::Resume(resume) => resume.run(ctx, output),
            Action::Migrate(migrate) => migrate.run(ctx, output),
            Action::Gc { dry_run } => gc(ctx, dry_run, output),
        }
    }
}

/// Records turns whose process is gone as interrupted, so that they are not shown as running. A host that was
/// killed together with its sidecar leaves no signal, and without this its session would run until the next start
/// of a sidecar. If the store cannot be written, sessions are shown as they were recorded.
pub(crate) fn record_lost_turns(ctx: &CommandContext) {
    if let Err(error) = ctx.engine.sessions().reconcile(&SystemProcesses) {
        tracing::info!("lost turns were not recorded: {error}");
    }
}

fn list(ctx: &CommandContext, all: bool, output: &mut Output) -> Result<(), Failure> {
    let rows = ctx.engine.sessions().list(all)?;
    if output.is_json() {
        return output.data(&session_json::list(&rows));
    }
    if rows.is_empty() {
        return output.line("No session of a host is recorded yet.");
    }
    let canvas = output.canvas();
    let mut elsewhere = false;
    for row in &rows {
        if !row.is_here && !elsewhere && rows.first().is_some_and(|first| first.is_here) {
            output.dim("in other worktrees:")?;
            elsewhere = true;
        }
        for line in view::lines(row, &canvas) {
            output.line(line)?;
        }
    }
    Ok(())
}

fn show(ctx: &CommandContext, name: &str, output: &mut Output) -> Result<(), Failure> {
    let sessions = ctx.engine.sessions();
    let details = sessions.show(&sessions.named(name)?)?;
    if output.is_json() {
        return output.data(&session_json::details(&details));
    }
    for line in view::details(&details, &output.canvas()) {
        output.line(line)?;
    }
    Ok(())
}

fn graph(
    ctx: &CommandContext,
    format: GraphFormat,
    all: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    let sessions = ctx.engine.sessions();
    let (rows, links) = (sessions.list(all)?, sessions.links()?);
    match format {
        GraphFormat::Svg => output.raw(&sessions_svg::draw(&rows, &links)),
        GraphFormat::Json => output.data(&session_json::graph(&rows, &links)),
        GraphFormat::Tree if output.is_json() => output.data(&session_json::graph(&rows, &links)),
        GraphFormat::Tree => {
            for line in view::tree(&rows, &links, &output.canvas()) {
                output.line(line)?;
            }
            Ok(())
        }
    }
}

fn create(ctx: &CommandContext, new: &NewSession, output: &mut Output) -> Result<(), Failure> {
    let made = ctx.engine.sessions().create(&ctx.actor, new)?;
    if output.is_json() {
        return output.data(&json!({ "session": made.to_string(), "state": "custom" }));
    }
    output.line(format!("Created {made}: {}", new.purpose.trim()))
}

fn link(
    ctx: &CommandContext,
    name: &str,
    kind: LinkKind,
    to: Option<&str>,
    removed: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    let sessions = ctx.engine.sessions();
    let receipt = sessions.link(&ctx.actor, name, kind, to, removed)?;
    let changed = !receipt.events.is_empty();
    if output.is_json() {
        return output.data(&json!({
            "session": sessions.named(name)?.to_string(),
            "kind": kind.as_str(),
            "to": to,
            "removed": removed,
            "changed": changed,
        }));
    }
    let kind = kind.as_str().replace('_', " ");
    output.line(match (changed, removed, to) {
        (false, ..) => "Nothing to change.".to_owned(),
        (true, true, Some(to)) => format!("Removed the link of {name} to {to} ({kind})."),
        (true, _, Some(to)) => format!("Linked {name} to {to} ({kind})."),
        (true, _, None) => format!("{name} has no parent now."),
    })
}

fn gc(ctx: &CommandContext, dry_run: bool, output: &mut Output) -> Result<(), Failure> {
    let sessions = ctx.engine.sessions();
    let lost = if dry_run {
        sessions.lost(&SystemProcesses)?
    } else {
        sessions.reconcile(&SystemProcesses)?
    };
    let steps = sessions.plan_cleanup()?;
    if !dry_run {
        sessions.apply_cleanup(&ctx.actor, &steps)?;
    }
    if output.is_json() {
        let steps: Vec<Value> = steps
            .iter()
            .map(|step| {
                let (action, parent) = match &step.action {
                    CleanupAction::Close => ("close", None),
                    CleanupAction::Adopt(parent) => {
                        ("adopt", parent.as_ref().map(ToString::to_string))
                    }
                };
                json!({
                    "session": step.session.to_string(),
                    "action": action,
                    "parent": parent,
                    "why": step.why,
                })
            })
            .collect();
        let lost: Vec<String> = lost.iter().map(ToString::to_string).collect();
        return output.data(&json!({ "dryRun": dry_run, "interrupted": lost, "steps": steps }));
    }
    for session in &lost {
        let verb = if dry_run { "would be" } else { "is" };
        output.line(format!("{session} {verb} interrupted: its process is gone"))?;
    }
    for step in &steps {
        output.line(view::care_line(step, dry_run))?;
    }
    if lost.is_empty() && steps.is_empty() {
        return output.line("Nothing to clean up.");
    }
    let total = (lost.len() + steps.len()) as u64;
    output.dim(counted(total, "session", "sessions"))
}
