//! `flame run`, and its hidden parts that run as processes of their own.

mod front;
mod keyboard;
mod plan_file;
mod unfinished;
mod view;
mod words;

use std::ffi::OsString;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use flamestack_core::command::Under;
use flamestack_core::{Actor, Command, FrameId};
use flamestack_engine::settings::Settings;
use flamestack_hosts::install::program;
use flamestack_hosts::opencode::stored_entries;
use flamestack_orchestrator::opencode::{Login, OpenCodeHost, ServerPlan, guard};
use flamestack_orchestrator::{
    ContextPlacement, DriverMemory, EngineStack, FileJournal, HostError, Inbox, InterruptedPolicy,
    Limits, ModelName, PermissionPolicy, Redaction, RunDriver, RunEnding, RunError, RunEvent,
    RunOptions, RunPaths, RunRecord, Strategy, UserMessage, Worktrees, serve_tools,
};

use serde_json::Value;

use self::front::TerminalFront;
use self::plan_file::Plan;
pub(super) use self::unfinished::UnfinishedRuns;
use self::unfinished::{check_limits, chosen, run_of};
use super::utf8;
use crate::command_context::CommandContext;
use crate::complete;
use crate::failure::Failure;
use crate::output::Output;

/// Number of frames that run concurrently with `--strategy parallel`.
const JOBS: usize = 2;

/// Drive an agent through a tree of frames, one session per frame
///
/// Starts an OpenCode server of its own, or uses a running one. Each frame gets a session with the
/// frame's own context; its result goes back to the parent. Everything is journalled: after a crash or
/// Ctrl-C, `flame run --resume` continues without repeating finished work.
///
/// Press Ctrl-C once to stop after the running turns, twice to stop immediately. A line typed
/// meanwhile goes to the running frame, `FRAME: text` to another one.
///
/// The exit code is 0 only if every frame has its result, and 1 if the run is parked, blocked, paused or failed.
#[derive(Args)]
pub(crate) struct Run {
    /// The goal; without `--plan`, the agent makes the plan
    #[arg(required_unless_present_any = ["plan", "resume", "say"])]
    goal: Option<String>,
    /// Read the plan from a file: a list as for `flame plan --from`, or TOML or JSON
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Use this OpenCode server; its password is read from `OPENCODE_SERVER_PASSWORD`, the
    /// certificates of an `https` one from `SSL_CERT_FILE`
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// Order of the frames (default: `depth_first`)
    #[arg(long, value_enum)]
    strategy: Option<Order>,
    /// Maximum number of concurrent frames (default: 2 with `--strategy parallel`, which more than 1 implies)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=64))]
    jobs: Option<u64>,
    /// Give each frame a git worktree, merged when the frame is completed
    #[arg(long)]
    worktrees: bool,
    /// Park the run when it has used this number of tokens
    #[arg(long, value_name = "N")]
    max_tokens: Option<u64>,
    /// Park the run when it has cost this much, in US dollars
    #[arg(long, value_name = "USD", value_parser = dollars)]
    max_cost: Option<f64>,
    /// Park the run after this number of prompts
    #[arg(long, value_name = "N")]
    max_turns: Option<u64>,
    /// Maximum number of levels below the goal
    #[arg(long, value_name = "N")]
    max_depth: Option<u64>,
    /// Maximum number of frames below the goal
    #[arg(long, value_name = "N")]
    max_frames: Option<u64>,
    /// Park the run after this number of minutes of working time
    #[arg(long, value_name = "MINUTES")]
    max_minutes: Option<u64>,
    /// Policy for permission requests: `ask` you, `deny` all, or a file that lists what to allow, one
    /// `permission: pattern` per line, such as `bash: git *`
    #[arg(long, value_name = "ask|deny|FILE", default_value = "ask")]
    permissions: String,
    /// The model of all sessions, as `provider/model`
    #[arg(long, value_name = "P/M")]
    model: Option<ModelName>,
    /// The agent of all sessions
    #[arg(long, value_name = "A")]
    agent: Option<String>,
    /// Go on with a run that has not ended: the newest, or the one with this goal
    #[arg(
        long,
        value_name = "FRAME",
        num_args = 0..=1,
        default_missing_value = "",
        conflicts_with_all = ["goal", "plan"],
        add = complete::frames()
    )]
    resume: Option<String>,
    /// Send a message to a frame of a run that another terminal drives
    #[arg(long, value_name = "TEXT", requires = "to", conflicts_with_all = ["goal", "plan", "resume"])]
    say: Option<String>,
    /// The frame that `--say` is for
    #[arg(long, value_name = "FRAME", requires = "say", conflicts_with_all = ["goal", "plan", "resume"])]
    to: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Order {
    /// One at a time, each with everything below it
    DepthFirst,
    /// Independent frames concurrently
    Parallel,
    /// Only what the agent asks for
    Free,
}

fn dollars(text: &str) -> Result<f64, String> {
    let amount: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if amount.is_finite() && amount > 0.0 {
        Ok(amount)
    } else {
        Err("an amount above 0".to_owned())
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let hint = error.hint();
        Self::refused(error.to_string(), &hint)
    }
}

impl From<HostError> for Failure {
    fn from(error: HostError) -> Self {
        RunError::from(error).into()
    }
}

impl Run {
    pub(crate) fn run(self, ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
        let paths = RunPaths::of(&ctx.engine.project().dir);
        if let Some(text) = &self.say {
            return self.say(ctx, &paths, text, output);
        }
        let policy = self.policy()?;
        let options = self.options(&ctx.settings)?;
        if self.resume.is_some() {
            let run = chosen(&ctx.engine, &paths, self.resumed())?;
            check_limits(&ctx.engine, &run, self.changed(&run.state.options))?;
            return self.drive(ctx, &paths, &run.name, policy, &Begin::Resume, output);
        }
        let plan = Plan::read(self.goal.as_deref(), self.plan.as_deref())?;
        let (root, item, frames) = plan.draw(ctx.engine.clock())?;
        let now = jiff::Timestamp::now();
        let run = format!("{}-{root}", now.strftime("%Y%m%d-%H%M%S"));
        let begun = RunRecord::Begun {
            at: ctx.engine.clock().now().0,
            run: run.clone(),
            host: "opencode".to_owned(),
            root,
            options,
            frames,
        };
        let plan = Command::Plan {
            under: Under::Root,
            items: vec![item],
        };
        let first = Begin::New(Box::new((plan, begun)));
        self.drive(ctx, &paths, &run, policy, &first, output)
    }

    fn say(
        &self,
        ctx: &CommandContext,
        paths: &RunPaths,
        text: &str,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let name = self.to.as_deref().unwrap_or_default();
        let frame: FrameId = ctx.engine.frame_named(name)?;
        let run = run_of(&ctx.engine, paths, frame)?;
        let at = ctx.engine.clock().now().0;
        Inbox::new(&paths.inbox(&run.name)).put(&UserMessage {
            id: format!("s{at}-{}", std::process::id()),
            frame: frame.to_string(),
            text: ctx.engine.redactor().redact(text).into_owned(),
        })?;
        output.line(if run.is_driven {
            format!("Sent to {frame}: it arrives at its next step")
        } else {
            format!(
                "Kept for {frame}: no process drives the run; it arrives after `flame run --resume`"
            )
        })
    }

    /// Returns the name of the run to resume, if the user gave one.
    fn resumed(&self) -> Option<&str> {
        self.resume.as_deref().filter(|name| !name.is_empty())
    }

    fn policy(&self) -> Result<PermissionPolicy, Failure> {
        match self.permissions.as_str() {
            "ask" => Ok(PermissionPolicy::Ask),
            "deny" => Ok(PermissionPolicy::Deny),
            file => {
                let path = Path::new(file);
                super::existing(path)?;
                let text = utf8(file, fs_err::read(path)?)?;
                PermissionPolicy::parse(&text)
                    .map_err(|error| Failure::refused(format!("{file}: {error}"), "fix that line"))
            }
        }
    }

    fn limits(&self) -> Limits {
        Limits {
            tokens: self.max_tokens,
            cost: self.max_cost,
            turns: self.max_turns,
            depth: self.max_depth,
            frames: self.max_frames,
            wall_ms: self
                .max_minutes
                .map(|minutes| minutes.saturating_mul(60_000)),
        }
    }

    fn options(&self, settings: &Settings) -> Result<RunOptions, Failure> {
        let count = |key: &str| -> Result<u32, Failure> {
            Ok(u32::try_from(settings.number(key)?).unwrap_or(u32::MAX))
        };
        let placed = match settings.get("run.context")?.text.as_str() {
            "system" => ContextPlacement::System,
            _ => ContextPlacement::Message,
        };
        let interrupted = match settings.get("run.interrupted")?.text.as_str() {
            "stop" => InterruptedPolicy::Stop,
            "continue" => InterruptedPolicy::Continue,
            _ => InterruptedPolicy::Ask,
        };
        Ok(self.changed(&RunOptions {
            retries: count("run.retries")?,
            reminders: count("run.reminders")?,
            placed,
            interrupted,
            ..RunOptions::default()
        }))
    }

    /// Applies the options of the command line to others.
    fn changed(&self, options: &RunOptions) -> RunOptions {
        let strategy = match self.strategy {
            None if self.jobs.is_some_and(|jobs| jobs > 1) => Strategy::Parallel,
            None => options.strategy,
            Some(Order::DepthFirst) => Strategy::DepthFirst,
            Some(Order::Parallel) => Strategy::Parallel,
            Some(Order::Free) => Strategy::Free,
        };
        let jobs = self.jobs.and_then(|jobs| usize::try_from(jobs).ok());
        let usual = if strategy == Strategy::Parallel {
            options.jobs.max(JOBS)
        } else {
            options.jobs
        };
        RunOptions {
            strategy,
            jobs: jobs.unwrap_or(usual),
            limits: options.limits.replaced_by(&self.limits()),
            worktrees: options.worktrees || self.worktrees,
            model: self.model.clone().or_else(|| options.model.clone()),
            agent: self.agent.clone().or_else(|| options.agent.clone()),
            ..options.clone()
        }
    }

    fn drive(
        &self,
        ctx: &CommandContext,
        paths: &RunPaths,
        run: &str,
        policy: PermissionPolicy,
        first: &Begin,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let project = ctx.engine.project();
        let directory = project.root.clone();
        let worktrees = Worktrees::new(&directory, &paths.worktrees(run));
        if self.worktrees && worktrees.is_none() {
            return Err(Failure::refused(
                "--worktrees needs a git repository with at least one commit",
                "commit first, or leave it out",
            ));
        }
        // Before anything is recorded: a server that cannot be had must leave nothing.
        let mut host = self.host(&directory)?;
        let redactor = ctx.engine.redactor();
        let redaction: Redaction<'_> = Box::new(|text| redactor.redact(text).into_owned());
        let mut journal = FileJournal::open(&paths.journal(run), run, redaction)?;
        let place = directory.display().to_string();
        let read = |messages: &[Value]| stored_entries(messages, &place);
        let mut stack = EngineStack::new(&ctx.engine, &read);
        let mut front = TerminalFront::new(output)?;
        front.show(&RunEvent::Server {
            url: host.url().to_owned(),
        });
        if let Begin::New(begun) = first {
            ctx.engine.commands().run(&ctx.actor, &begun.0)?;
        }
        let mut driver = RunDriver {
            host: &mut host,
            stack: &mut stack,
            journal: &mut journal,
            front: &mut front,
            clock: ctx.engine.clock(),
            actor: Actor {
                message: None,
                ..ctx.actor.clone()
            },
            policy,
            inbox: Some(Inbox::new(&paths.inbox(run))),
            worktrees,
            memory: DriverMemory::default(),
        };
        let ended = match first {
            Begin::New(begun) => driver.begin(&begun.1),
            Begin::Resume => driver.resume(|options| self.changed(options)),
        };
        let summary = driver.summary();
        // The server ends before the summary is printed: nothing runs unseen.
        drop(host);
        let ending = ended?;
        front.summary(&summary?, &ending, self.resumed().is_some())?;
        finish(&ending)
    }

    fn host(&self, directory: &Path) -> Result<OpenCodeHost, Failure> {
        let variable = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
        if let Some(url) = &self.server {
            let password = variable("OPENCODE_SERVER_PASSWORD");
            let user = variable("OPENCODE_SERVER_USERNAME");
            let mut login = Login::parse(url, password, user)?;
            if let Some(file) = variable("SSL_CERT_FILE").filter(|_| url.starts_with("https")) {
                login = login.trusting(&fs_err::read(file)?)?;
            }
            return Ok(OpenCodeHost::connect(login, directory)?);
        }
        let search = std::env::var_os("PATH").unwrap_or_default();
        let named = variable("FLAME_OPENCODE").map(PathBuf::from);
        let program = named.or_else(|| program::find("opencode", &search));
        let program = program.ok_or_else(|| HostError::NotStarted {
            reason: "there is no `opencode` in PATH".to_owned(),
        })?;
        let own = std::env::current_exe()?;
        let words = |action: &str| vec![OsString::from("run-server"), OsString::from(action)];
        let mut guard = vec![own.clone().into_os_string()];
        guard.extend(words("guard"));
        guard.push("--".into());
        let tools = [
            own.display().to_string(),
            "run-server".into(),
            "tools".into(),
        ];
        Ok(OpenCodeHost::start(ServerPlan {
            program,
            guard,
            tools: tools.to_vec(),
            directory: directory.to_owned(),
        })?)
    }
}

/// Beginning of a run.
enum Begin {
    /// A new one: the frames of its plan, and the first record.
    New(Box<(Command, RunRecord)>),
    /// One that was left.
    Resume,
}

/// Returns the exit code: 0 only if every frame has its result.
fn finish(ending: &RunEnding) -> Result<(), Failure> {
    if ending.is_complete() {
        Ok(())
    } else {
        Err(Failure::Attention)
    }
}

/// Parts of `flame run` that run as processes of their own
#[derive(Args)]
pub(crate) struct RunServer {
    #[command(subcommand)]
    action: RunServerAction,
}

#[derive(Subcommand)]
enum RunServerAction {
    /// Run a program until it ends or standard input does, and end everything that it started
    Guard {
        /// The program and its arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// Serve the tools of driven sessions over standard input and output
    Tools,
}

impl RunServer {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.action {
            RunServerAction::Guard { words } => {
                let own = std::env::current_exe()?.into_os_string();
                let own = [own, "run-server".into(), "guard".into(), "--".into()];
                match guard::guard(&own, &words) {
                    0 => Ok(()),
                    code => Err(Failure::Exit(code)),
                }
            }
            RunServerAction::Tools => {
                let input = BufReader::new(std::io::stdin());
                Ok(serve_tools(input, std::io::stdout())?)
            }
        }
    }
}
