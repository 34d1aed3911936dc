//! `flame doctor`

mod hosts;

use clap::Args;
use flamestack_engine::maintain::Examined;
use flamestack_engine::views::{counted, grouped};
use flamestack_store::Finding;
use serde_json::json;

use crate::failure::Failure;
use crate::output::{BOLD, DIM, Output, Progress, painted};
use crate::workplace::Workplace;

/// Check the store and the agent programs, and say what is wrong
///
/// Folds the journal beside the store and proves that the projections agree with it. Where the
/// plugin is installed, takes a turn with a real sidecar and tells how the hooks fare.
/// Changes nothing, except that a store that cannot be read is set aside, whole. Exits with 1 when
/// something needs attention.
#[derive(Args)]
pub(crate) struct Doctor {}

impl Doctor {
    pub(crate) fn run(self, place: &Workplace, output: &mut Output) -> Result<(), Failure> {
        let project = place.engine.project();
        let examined = {
            let progress = Progress::new("checking");
            place
                .engine
                .examine(&mut |done, total| progress.at(done, total))?
        };
        let verified = &examined.verified;
        let mut problems = in_store(&examined);
        let opencode = hosts::OpenCode::examine(place)?;
        let in_hosts = opencode.problems();
        let well = examined.is_well() && in_hosts.is_empty();
        problems.extend(in_hosts);
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
                "problems": problems.iter().map(|(problem, remedy)| json!({ "problem": problem, "remedy": remedy })).collect::<Vec<_>>(),
                "setAside": examined.set_aside.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
            }))?;
        } else {
            let mut fact = |name: &str, value: String| {
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
            for (problem, remedy) in &problems {
                output.line(format!("{} {problem}", painted(BOLD, "!")))?;
                output.line(format!("  {remedy}"))?;
            }
            // Nothing is broken by it, so it is no problem of the store.
            for unknown in place.settings.problems() {
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

/// What is wrong with the store, and what helps.
fn in_store(examined: &Examined) -> Vec<(String, &'static str)> {
    let verified = &examined.verified;
    // Projections are folded anew from a journal that is whole; otherwise that comes first.
    let whole = |finding: &Finding| matches!(finding, Finding::Disagrees { .. });
    let remedy = if verified.findings.iter().all(whole) {
        "`flame rebuild` folds the projections anew"
    } else {
        "`flame rebuild --recover` keeps everything that can be read"
    };
    let mut problems: Vec<(String, &'static str)> = verified
        .findings
        .iter()
        .map(|finding| (finding.to_string(), remedy))
        .collect();
    problems.extend(examined.exposed.iter().map(|path| {
        (
            format!("{} can be read by others", path.display()),
            "`chmod go-rwx` closes it",
        )
    }));
    problems.extend(examined.lost_texts.iter().map(|hash| {
        (
            format!("the raw text {hash} is missing or damaged"),
            "everything else is there",
        )
    }));
    problems.extend(examined.set_aside.iter().map(|path| {
        let problem = format!("a store that could not be read waits in {}", path.display());
        (problem, "`flame rebuild` recovers what can be read of it")
    }));
    problems
}
