//! Runs that did not reach their end: which one the user means, and how to go on with it.

use flamestack_core::FrameId;
use flamestack_engine::Engine;
use flamestack_engine::views::one_line;
use flamestack_orchestrator::{
    RunEnding, RunError, RunOptions, RunPaths, UnfinishedRun, limit_reached,
};
use serde_json::{Value, json};

use super::words;
use crate::failure::Failure;
use crate::output::{BOLD, Output, painted};

/// Longest title in a list of runs, in columns.
const TITLE: usize = 60;

/// Returns the run to resume: the newest one, or the one with this name or with this frame.
pub(super) fn chosen(
    engine: &Engine,
    paths: &RunPaths,
    name: Option<&str>,
) -> Result<UnfinishedRun, Failure> {
    let mut runs = paths.unfinished()?.into_iter();
    let Some(name) = name else {
        return Ok(runs.next().ok_or(RunError::NothingToResume)?);
    };
    let goal = goal_of(engine, name);
    runs.find(|run| run.name == name || (goal.is_some() && run.state.root == goal))
        .ok_or_else(|| {
            Failure::refused(
                format!("there is no unfinished run `{name}` in this project"),
                "`flame status` lists them",
            )
        })
}

/// Returns the run of a frame that the user speaks to.
pub(super) fn run_of(
    engine: &Engine,
    paths: &RunPaths,
    frame: FrameId,
) -> Result<UnfinishedRun, Failure> {
    let runs = paths.unfinished()?;
    if runs.is_empty() {
        return Err(RunError::NothingToResume.into());
    }
    let goal = goal_of(engine, &frame.to_string());
    let found = runs.into_iter().find(|run| run.state.root == goal);
    found.ok_or_else(|| {
        Failure::refused(
            format!("{frame} is not part of an unfinished run"),
            "`flame status` lists the runs",
        )
    })
}

/// Returns the frame at the top of the one that a name stands for: the goal, if a run has it.
fn goal_of(engine: &Engine, name: &str) -> Option<FrameId> {
    let frame = engine.frame_named(name).ok()?;
    let top = engine.read(|reading| Ok(reading.top(&frame)?)).ok()?;
    top.map(|(goal, _)| goal)
}

/// Refuses to resume a run that would park immediately, before a server is started for it.
pub(super) fn check_limits(
    engine: &Engine,
    run: &UnfinishedRun,
    options: RunOptions,
) -> Result<(), Failure> {
    let mut state = run.state.clone();
    state.options = options;
    let Some(limit) = limit_reached(&state) else {
        return Ok(());
    };
    // The end of a turn, or of a goal that the user closed, is still to be recorded.
    let is_parked = matches!(state.ending, Some(RunEnding::Parked { .. }));
    let is_open = match state.root {
        Some(root) => engine.read(|reading| Ok(reading.row(&root)?))?,
        None => None,
    };
    if !is_parked || !is_open.is_some_and(|row| row.frame.status.is_open()) {
        return Ok(());
    }
    Err(Failure::refused(
        format!("the run has reached its limit: {}", limit.sentence()),
        &format!(
            "`flame run --resume {}` goes on with a higher one",
            limit.option()
        ),
    ))
}

/// The unfinished runs of a project, for the user.
pub(crate) struct UnfinishedRuns(Vec<(UnfinishedRun, String)>);

impl UnfinishedRuns {
    /// Finds them, with the titles of their goals. A damaged journal is only noted: `flame run` stops
    /// at it.
    pub(crate) fn find(engine: &Engine, output: &mut Output) -> Result<Self, Failure> {
        let paths = RunPaths::of(&engine.project().dir);
        let mut all = Vec::new();
        let runs = match paths.unfinished() {
            Ok(runs) => runs,
            Err(error) => {
                output.notice(&format!("{error}; {}", error.hint()))?;
                Vec::new()
            }
        };
        for run in runs {
            let row = match run.state.root {
                Some(root) => engine.read(|reading| Ok(reading.row(&root)?))?,
                None => None,
            };
            // A goal that is gone has nothing to go on with.
            if let Some(row) = row {
                all.push((run, one_line(row.frame.title.as_str(), TITLE)));
            }
        }
        Ok(Self(all))
    }

    /// Prints each with its state and the command that goes on.
    pub(crate) fn print(&self, output: &mut Output) -> Result<(), Failure> {
        for (place, (run, title)) in self.0.iter().enumerate() {
            let heading = painted(BOLD, format!("run “{title}”"));
            output.line(format!("{heading} · {}", state(run)))?;
            if !run.is_driven {
                output.dim(format!("  `{}` goes on", again(run, place > 0)))?;
            }
        }
        if !self.0.is_empty() {
            output.line("")?;
        }
        Ok(())
    }

    /// Returns them as JSON.
    pub(crate) fn value(&self) -> Value {
        let one = |(place, (run, title)): (usize, &(UnfinishedRun, String))| {
            json!({
                "run": run.name,
                "frame": run.state.root.map(|root| root.to_string()),
                "title": title,
                "driven": run.is_driven,
                "ending": run.state.ending.as_ref().map(RunEnding::as_str),
                "state": state(run),
                "resume": (!run.is_driven).then(|| again(run, place > 0)),
            })
        };
        self.0.iter().enumerate().map(one).collect()
    }
}

fn state(run: &UnfinishedRun) -> String {
    match &run.state.ending {
        _ if run.is_driven => "running".to_owned(),
        None => "cut off".to_owned(),
        Some(ending) => {
            let text = words::closing(ending);
            let mut letters = text.chars();
            let first = letters
                .next()
                .map(|letter| letter.to_lowercase().to_string());
            first.unwrap_or_default() + letters.as_str()
        }
    }
}

/// Returns the command that goes on with a run.
pub(super) fn again(run: &UnfinishedRun, by_name: bool) -> String {
    let mut command = "flame run --resume".to_owned();
    if let Some(root) = run.state.root.filter(|_| by_name) {
        command.push_str(&format!(" {root}"));
    }
    if let Some(limit) = limit_reached(&run.state) {
        command.push_str(&format!(" {}", limit.option()));
    }
    command
}
