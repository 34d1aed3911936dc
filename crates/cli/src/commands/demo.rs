//! `flame demo`

use std::time::Instant;

use clap::{Args, Parser as _};
use flamestack_core::command::Actor;
use flamestack_engine::context::Preferences;
use flamestack_engine::views::tree::TreeOptions;
use flamestack_engine::views::{self, tree};
use flamestack_engine::{Engine, EngineError, Request};
use serde_json::{Value, json};

use super::temporary::TemporaryEngine;
use crate::args::{Cli, Command};
use crate::failure::Failure;
use crate::output::{BOLD, DIM, Output, painted};

/// Play a small piece of work in a throw-away store and show the result
#[derive(Args)]
pub(crate) struct Demo {}

/// Start time of the story: 2026-01-05 09:00 UTC.
const MORNING: i64 = 1_767_603_600_000;

/// Stands for the first planned frame that is left.
const NEXT: &str = "NEXT";

/// The story: scenes after `#`, each followed by its commands as a user would type them, with ` | `
/// between the words.
const STORY: &str = include_str!("demo.txt");

impl Demo {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let preferences = Preferences::default();
        let mut stage = TemporaryEngine::new("shop", "demo:ses_1", MORNING, preferences)?;
        stage.actor.worktree = Some("main".to_owned());
        Story {
            engine: &stage.engine,
            actor: &stage.actor,
            output,
            steps: Vec::new(),
        }
        .play()
    }
}

struct Story<'o> {
    engine: &'o Engine,
    actor: &'o Actor,
    output: &'o mut Output,
    /// The steps taken, for `--json`.
    steps: Vec<Value>,
}

impl Story<'_> {
    fn play(&mut self) -> Result<(), Failure> {
        for line in STORY.lines().filter(|line| !line.is_empty()) {
            match line.strip_prefix("# ") {
                Some(scene) => self.scene(scene)?,
                None => self.command(line)?,
            }
        }
        self.look_back()
    }

    /// Runs a command of the story, parsed as the command line would be.
    fn command(&mut self, line: &str) -> Result<(), Failure> {
        let next = self.next_planned()?;
        let mut words: Vec<&str> = line.split(" | ").collect();
        let verb = words.first().copied().unwrap_or_default();
        for word in words.iter_mut().filter(|word| **word == NEXT) {
            *word = &next;
        }
        let parsed = Cli::try_parse_from(["flame"].into_iter().chain(words));
        let Ok(Command::Change(change)) = parsed.map(|cli| cli.command) else {
            return Err(EngineError::Internal("the demo has an invalid command").into());
        };
        for request in change.requests()? {
            self.step(verb, &request)?;
        }
        Ok(())
    }

    /// Shows the tree, the context and the log once the work is done.
    fn look_back(&mut self) -> Result<(), Failure> {
        self.scene("The state of the work now: the path, the results so far, and what is next.")?;
        let view = self.engine.read(|reading| {
            tree::gather(
                reading,
                &TreeOptions {
                    all: true,
                    ..TreeOptions::default()
                },
            )
        })?;
        let here = self.actor.session.to_string();
        let drawn = tree::plain(&view, Some(&here), true);
        let finished = view.lines.iter().find_map(|line| match line {
            tree::TreeLine::Frame(line) if line.row.frame.title.as_str() == "Store users" => {
                Some(line.row.frame.id)
            }
            _ => None,
        });
        let log = match finished {
            Some(id) => self.engine.logs().render(&id)?.0,
            None => String::new(),
        };
        if self.output.is_json() {
            let steps = std::mem::take(&mut self.steps);
            let story = json!({ "steps": steps, "tree": drawn, "log": log });
            return self.output.data(&story);
        }
        self.output.text(&drawn)?;
        self.scene("The log of the first step, which no longer takes up any prompt:")?;
        self.output.text(&log)?;
        self.scene("All of it happened in a throw-away store, which is gone now.")?;
        self.output
            .dim("Start your own: `flame push \"What you are working on\"`.")
    }

    fn scene(&mut self, text: &str) -> Result<(), Failure> {
        if self.output.is_json() {
            return Ok(());
        }
        self.output.line(format!("\n{}", painted(BOLD, text)))
    }

    /// Executes one step, and prints its receipt and its cost.
    fn step(&mut self, verb: &str, request: &Request) -> Result<(), Failure> {
        let begun = Instant::now();
        let receipt = self.engine.commands().execute(self.actor, request)?;
        let took = begun.elapsed();
        let lines = self
            .engine
            .read(|reading| views::receipt::lines(reading, self.actor, &receipt))?;
        let milliseconds = took.as_secs_f64() * 1000.0;
        if self.output.is_json() {
            self.steps.push(json!({
                "command": verb,
                "milliseconds": milliseconds,
                "events": receipt.events.len(),
                "said": lines,
            }));
            return Ok(());
        }
        let cost = format!(
            "{milliseconds:.2} ms, {}",
            views::counted(receipt.events.len() as u64, "event", "events")
        );
        for (place, line) in lines.iter().enumerate() {
            let verb = if place == 0 { verb } else { "" };
            let cost = if place == 0 {
                painted(DIM, format!("  ({cost})"))
            } else {
                String::new()
            };
            self.output.line(format!("  {verb:<10} {line}{cost}"))?;
        }
        Ok(())
    }

    /// Returns the id of the first planned frame below the root.
    fn next_planned(&self) -> Result<String, Failure> {
        let next = self.engine.read(|reading| {
            let roots = reading.rows(&flamestack_store::Slice::default())?;
            let Some(root) = roots.first() else {
                return Ok(None);
            };
            Ok(reading.next_planned(&root.frame.id, None)?)
        })?;
        Ok(next.map(|head| head.id.to_string()).unwrap_or_default())
    }
}
