//! `flame sidecar`

use std::io::{self, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use clap::Args;
use flamestack_engine::brief::gather_workflows;
use flamestack_engine::compaction::SummaryAuthor;
use flamestack_engine::folding::FoldPolicy;
use flamestack_engine::project::Found;
use flamestack_engine::sessions::process::SystemProcesses;
use flamestack_engine::settings::Settings;
use flamestack_engine::tools::Profile;
use flamestack_hosts::sidecar::wire::{Isolation, Placement};
use flamestack_hosts::sidecar::{self, Sidecar as Serving, Upkeep};

use super::arrival;
use crate::caller;
use crate::command_context::{CommandContext, home};
use crate::failure::Failure;

/// Serve a host's plugin over standard input and output
///
/// Speaks JSON-RPC 2.0, one object per line, until the input ends. Plugins start it; it is not
/// useful by hand.
#[derive(Args)]
pub(crate) struct Sidecar {}

impl Sidecar {
    pub(crate) fn run(self, ctx: CommandContext) -> Result<(), Failure> {
        let word = |key| -> Result<String, Failure> { Ok(ctx.settings.get(key)?.text.clone()) };
        let exporter = exporter(&word("export.otlp")?, &ctx.engine.project().root);
        let number = |key| -> Result<usize, Failure> {
            let number = ctx.settings.number(key)?;
            Ok(usize::try_from(number).unwrap_or(usize::MAX))
        };
        let serving = Serving {
            tools: Profile::from_name(&word("tools")?).unwrap_or_default(),
            placement: match word("inject.placement")?.as_str() {
                "system" => Placement::System,
                "message" => Placement::Message,
                _ => Placement::Auto,
            },
            fold: FoldPolicy::from_name(&word("fold")?).unwrap_or_default(),
            isolation: match word("frames.isolation")?.as_str() {
                "session" => Isolation::Session,
                _ => Isolation::Inline,
            },
            workflows: gather_workflows(&home()?, ctx.engine.project()),
            brief_budget: number("brief.budget")?,
            restore_budget: number("compaction.restore_budget")?,
            summaries: match word("compaction.mode")?.as_str() {
                "own" => SummaryAuthor::Own(number("compaction.own_budget")?),
                _ => SummaryAuthor::Host,
            },
            patience: Duration::from_millis(
                ctx.settings.number("compaction.completion_timeout_ms")?,
            ),
            notices: notices(&ctx),
            stopped: stopped(&ctx.settings),
            in_tool_call: caller::is_in_tool_call(),
            upkeep: upkeep(&ctx)?,
            process: SystemProcesses.parent(),
            worktree: ctx.actor.worktree,
            engine: ctx.engine,
        };
        leave_terminal();
        let input = BufReader::new(io::stdin());
        sidecar::serve(&serving, input, io::stdout())?;
        // Its input ends with this process: it sends the rest on its own, and nothing waits for it.
        drop(exporter);
        Ok(())
    }
}

/// Leaves the terminal of the host. Ctrl-C at a terminal reaches every process of its foreground group: the
/// sidecar died with the host and could not record that the turn was cut off, so that the session counted as
/// running. The end of the input ends a sidecar. The first process of a pipeline has its own group already and
/// stays in it.
fn leave_terminal() {
    #[cfg(unix)]
    if let Err(error) = rustix::process::setsid() {
        tracing::debug!("the sidecar stays in its process group: {error}");
    }
}

/// Starts the process that sends what finishes to a collector, if the user wants that. Without it, or when it
/// fails, nothing else changes.
fn exporter(wanted: &str, root: &Path) -> Option<Child> {
    let content: &[&str] = match wanted {
        "on" => &[],
        "content" => &["--content"],
        _ => return None,
    };
    let started = std::env::current_exe().and_then(|flame| {
        Command::new(flame)
            .args(["export", "--otlp", "--follow"])
            .args(content)
            .current_dir(root)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
    });
    if let Err(error) = &started {
        tracing::info!("nothing is exported: {error}");
    }
    started.ok()
}

/// Returns what the user should know: that the frames at this path are another project's, and the settings that
/// are ignored. A bad value must not end the sidecar silently.
fn notices(ctx: &CommandContext) -> Vec<String> {
    if let Some(reason) = stopped(&ctx.settings) {
        return vec![reason];
    }
    let project = ctx.engine.project();
    let is_another = matches!(project.found, Found::InPlaceOf { .. });
    let arrival = is_another.then(|| arrival(project)).flatten();
    let problems = ctx.settings.problems().iter();
    let ignored = problems.filter(|problem| !problem.harmless).map(|problem| {
        format!(
            "{}; the default is used. {}",
            problem.problem, problem.remedy
        )
    });
    arrival.into_iter().chain(ignored).collect()
}

/// Returns the reason why nothing may be recorded, if there is one.
fn stopped(settings: &Settings) -> Option<String> {
    let problem = settings.unsafe_to_record()?;
    Some(format!(
        "nothing is recorded while redaction rules may be missing: {}. {}",
        problem.problem, problem.remedy
    ))
}

/// Time without requests before a clean-up begins.
const QUIET: Duration = Duration::from_mins(1);

/// Returns the time and the aim of clean-ups, unless they are turned off.
fn upkeep(ctx: &CommandContext) -> Result<Option<Upkeep>, Failure> {
    let hours = ctx.settings.number("gc.interval_hours")?;
    // Without the user's own limit nothing is deleted automatically.
    let is_safe = ctx.settings.unsafe_to_delete().is_none();
    Ok((hours > 0 && is_safe).then_some(Upkeep {
        quiet: QUIET,
        interval: Duration::from_secs(hours.saturating_mul(3600)),
        limit: ctx.settings.size("gc.max_size")?,
        max_age_days: ctx.settings.number("gc.max_age_days")?,
    }))
}
