//! `flame doctor`

mod hosts;

use std::path::Path;

use clap::Args;
use flamestack_core::refusal::Voice;
use flamestack_engine::EngineError;
use flamestack_engine::maintain::Examined;
use flamestack_engine::settings::{self, Settings};
use flamestack_engine::views::{counted, grouped, printable};
use flamestack_store::Finding;
use serde_json::json;

use crate::failure::Failure;
use crate::output::{BOLD, DIM, Output, Progress, painted};
use crate::workplace::Workplace;

/// Check the store and the agent programs, and say what is wrong
///
/// Folds the journal beside the store and proves that the projections agree with it. Where the
/// plugin is installed, takes a turn with a real sidecar and tells how the hooks fare.
/// Changes nothing, except that a store that cannot be read is set aside, whole. What is wrong in
/// one place keeps nothing else from being checked. Exits with 1 when something needs attention.
#[derive(Args)]
pub(crate) struct Doctor {}

impl Doctor {
    pub(crate) fn run(self, place: &Workplace, output: &mut Output) -> Result<(), Failure> {
        let project = place.engine.project();
        let examined = {
            let progress = Progress::new("checking");
            place
                .engine
                .examine(&mut |done, total| progress.at(done, total))
        };
        let verified = &examined.verified;
        let mut problems = in_settings(&place.settings);
        problems.extend(in_store(&examined));
        let opencode = hosts::OpenCode::examine(place)?;
        problems.extend(opencode.problems());
        let well = problems.is_empty();
        let sizes = flamestack_store::sizes(&project.dir)?;
        if output.is_json() {
            output.data(&json!({
                "well": well,
                "project": project.name(),
                "identity": project.identity.display().to_string(),
                "worktree": project.worktree,
                "state": project.dir.display().to_string(),
                "diagnostics": project.diagnostics_file().display().to_string(),
                "events": verified.events,
                "frames": verified.frames,
                "bytes": { "journal": sizes.journal, "blobs": sizes.blobs, "index": sizes.index, "logs": sizes.logs },
                "settings": place.settings.problems().iter().map(|problem| problem.problem.clone()).collect::<Vec<_>>(),
                "hosts": [opencode.json()],
                "problems": problems.iter().map(|trouble| json!({ "problem": trouble.problem, "remedy": trouble.remedy })).collect::<Vec<_>>(),
                "setAside": examined.set_aside.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
            }))?;
        } else {
            let mut fact = |name: &str, value: String| {
                // A folder may be called anything.
                let value = printable(&value);
                output.line(format!("{} {value}", painted(DIM, format!("{name:<12}"))))
            };
            fact(
                "project",
                format!("{} ({})", project.name(), project.identity.display()),
            )?;
            fact("worktree", project.worktree.clone())?;
            fact("state", project.dir.display().to_string())?;
            fact(
                "diagnostics",
                project.diagnostics_file().display().to_string(),
            )?;
            fact(
                "journal",
                format!(
                    "{}, {}",
                    counted(verified.events, "event", "events"),
                    counted(verified.frames, "frame", "frames")
                ),
            )?;
            fact(
                "size",
                format!(
                    "{} kB (limit {})",
                    grouped(sizes.total() / 1000),
                    place.settings.get("gc.max_size")?.text
                ),
            )?;
            for (name, value) in opencode.facts() {
                fact(name, value)?;
            }
            output.line("")?;
            if problems.is_empty() {
                output.line("All is well: journal and projections agree.")?;
            }
            for Trouble { problem, remedy } in &problems {
                let problem = problem.trim_end().replace('\n', "\n  ");
                output.line(format!("{} {problem}", painted(BOLD, "!")))?;
                output.line(format!("  {remedy}"))?;
            }
            // Nothing is broken by it, so it needs no attention.
            let harmless = |problem: &&settings::Problem| problem.harmless;
            for unknown in place.settings.problems().iter().filter(harmless) {
                output.line(format!("{} {}", painted(DIM, "note:"), unknown.problem))?;
                output.line(format!("  {}", unknown.remedy))?;
            }
            for note in opencode.notes() {
                output.line(format!("{} {note}", painted(DIM, "note:")))?;
            }
        }
        if well {
            Ok(())
        } else {
            Err(Failure::Attention)
        }
    }
}

/// Something that needs attention, and what helps.
struct Trouble {
    problem: String,
    remedy: String,
}

impl Trouble {
    fn new(problem: String, remedy: impl Into<String>) -> Self {
        Self {
            problem,
            remedy: remedy.into(),
        }
    }
}

/// Settings that stop every other command.
fn in_settings(settings: &Settings) -> Vec<Trouble> {
    let bad = settings.problems().iter().filter(|bad| !bad.harmless);
    bad.map(|bad| Trouble::new(bad.problem.clone(), &bad.remedy))
        .collect()
}

/// What is wrong with the store.
fn in_store(examined: &Examined) -> Vec<Trouble> {
    let findings = &examined.verified.findings;
    // Projections are folded anew from a journal that is whole; otherwise that comes first.
    let whole = |finding: &Finding| {
        matches!(
            finding,
            Finding::Disagrees { .. } | Finding::ReadOnly { .. }
        )
    };
    let mending = if findings.iter().all(whole) {
        "`flame rebuild` folds the projections anew"
    } else {
        "`flame rebuild --recover` keeps everything that can be read"
    };
    let mut troubles = Vec::new();
    for error in &examined.stopped {
        let remedy = error.hint(Voice::Cli).unwrap_or_default();
        troubles.push(Trouble::new(error.to_string(), remedy));
    }
    for finding in findings {
        let remedy = match finding {
            Finding::ReadOnly { .. } => {
                "check who owns the file and its directory, and whether they can be written"
            }
            _ => mending,
        };
        troubles.push(Trouble::new(finding.to_string(), remedy));
    }
    for path in &examined.exposed {
        let problem = format!("{} can be read by others", path.display());
        troubles.push(Trouble::new(problem, "`chmod go-rwx` closes it"));
    }
    for hash in &examined.lost_texts {
        let problem = format!("the raw text {hash} is missing or damaged");
        troubles.push(Trouble::new(problem, "everything else is there"));
    }
    let just_now = |place: &Path| {
        let stopped = examined.stopped.iter();
        stopped.into_iter().any(
            |error| matches!(error, EngineError::SetAside { place: here, .. } if here == place),
        )
    };
    for path in examined.set_aside.iter().filter(|path| !just_now(path)) {
        let problem = format!("a store that could not be read waits in {}", path.display());
        let remedy = "`flame rebuild` recovers what can be read of it";
        troubles.push(Trouble::new(problem, remedy));
    }
    for (path, recovered) in &examined.recovered_in_part {
        let what = match (recovered.events, recovered.lost) {
            (0, _) => "no event".to_owned(),
            (events, 0) => format!("only the first {}", counted(events, "event", "events")),
            (events, lost) => {
                let all = counted(events.saturating_add(lost), "event", "events");
                format!("not all of {all} ({} missing)", grouped(lost))
            }
        };
        let problem = format!("{what} came back from the store in {}", path.display());
        let remedy = "nothing more can be read of it; this is said until that folder is deleted";
        troubles.push(Trouble::new(problem, remedy));
    }
    troubles
}
