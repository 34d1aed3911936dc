//! `flame demo`

use std::time::Instant;

use clap::Args;
use flamestack_core::Outcome;
use flamestack_core::command::Actor;
use flamestack_core::id::SessionRef;
use flamestack_engine::clock::StoryClock;
use flamestack_engine::request::{Learned, Parent, Planned, Request, Wanted};
use flamestack_engine::views::tree::TreeOptions;
use flamestack_engine::views::{self, tree};
use flamestack_engine::{Engine, Home, Project};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output::{BOLD, DIM, Output, painted};

/// Play a small piece of work in a throw-away store and show what comes of it
#[derive(Args)]
pub(crate) struct Demo {}

/// The moment at which the story begins: 2026-01-05 09:00 UTC.
const MORNING: i64 = 1_767_603_600_000;

impl Demo {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let dir = tempfile::tempdir()?;
        let home = Home {
            state: dir.path().join("state"),
            config: dir.path().join("config"),
        };
        let folder = dir.path().join("shop");
        fs_err::create_dir_all(&folder)?;
        let project = Project::at(&folder, &home)?;
        let clock = Box::new(StoryClock::starting_at(MORNING));
        let engine = Engine::new(project, clock, std::time::Duration::from_secs(5));
        let session: SessionRef = "demo:ses_1"
            .parse()
            .map_err(flamestack_engine::EngineError::BadSession)?;
        let actor = Actor {
            session,
            worktree: Some("main".to_owned()),
            message: None,
        };
        Story {
            engine,
            actor,
            output,
            steps: Vec::new(),
        }
        .play()
    }
}

struct Story<'o> {
    engine: Engine,
    actor: Actor,
    output: &'o mut Output,
    /// What was done, for machines.
    steps: Vec<Value>,
}

impl Story<'_> {
    fn play(&mut self) -> Result<(), Failure> {
        self.scene(
            "An agent is asked for password login. It opens a frame and plans three steps.",
        )?;
        self.step(
            "push",
            &push(
                "Password login",
                "Users can sign up, log in and log out; tests pass",
            ),
        )?;
        let plan = ["Store users", "Login routes", "Rate limiting"].map(|title| Planned {
            goal: Wanted::titled(title),
            children: Vec::new(),
        });
        self.step(
            "plan",
            &Request::Plan {
                parent: Parent::Active,
                items: plan.to_vec(),
            },
        )?;

        self.scene("It works through the first step. One idea fails, and that is kept too.")?;
        let users = self.planned(0)?;
        self.step("activate", &Request::Activate(users))?;
        self.step(
            "note",
            &note(Learned::FailedAttempt(
                "bcrypt".to_owned(),
                Some("the build image has no C compiler".to_owned()),
            )),
        )?;
        self.step(
            "note",
            &note(Learned::Decision(
                "argon2id for password hashes".to_owned(),
                Some("pure Rust, memory-hard".to_owned()),
            )),
        )?;
        self.step("note", &note(Learned::Artifact("src/users.rs".to_owned())))?;
        self.step(
            "note",
            &note(Learned::Command("cargo test users".to_owned(), 0)),
        )?;
        self.step(
            "pop",
            &pop("Users are stored with argon2id hashes in src/users.rs; 7 tests pass."),
        )?;

        self.scene("The second step needs a piece of its own.")?;
        let routes = self.planned(0)?;
        self.step("activate", &Request::Activate(routes))?;
        self.step(
            "push",
            &push(
                "Session cookies",
                "Cookies are signed, http-only and expire",
            ),
        )?;
        self.step(
            "pop",
            &pop("Signed cookies in src/session.rs, 24 h, SameSite=Lax."),
        )?;

        self.scene("The third step turns out to be somebody else's: it is given up.")?;
        let limiting = self.planned(0)?;
        let reason = "the gateway limits already".to_owned();
        self.step(
            "invalidate",
            &Request::Invalidate {
                frame: Some(limiting),
                reason,
            },
        )?;

        self.look_back()
    }

    /// What is left when the work is done.
    fn look_back(&mut self) -> Result<(), Failure> {
        self.scene(
            "Where things stand now: the path, the results of what is finished, what is next.",
        )?;
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
            tree::Line::Frame(line) if line.row.frame.title.as_str() == "Store users" => {
                Some(line.row.frame.id.clone())
            }
            _ => None,
        });
        let log = match finished {
            Some(id) => self.engine.frame_log(&id)?.0,
            None => String::new(),
        };
        if self.output.is_json() {
            let steps = std::mem::take(&mut self.steps);
            let told = json!({ "steps": steps, "tree": drawn, "log": log });
            return self.output.data(&told);
        }
        self.output.text(&drawn)?;
        self.scene("The log of the first step, which is no longer in anybody's prompt:")?;
        self.output.text(&log)?;
        self.scene("All of it happened in a throw-away store, which is gone now.")?;
        self.output.line(painted(
            DIM,
            "Begin your own: `flame push \"What you are working on\"`.",
        ))
    }

    fn scene(&mut self, text: &str) -> Result<(), Failure> {
        if self.output.is_json() {
            return Ok(());
        }
        self.output.line(format!("\n{}", painted(BOLD, text)))
    }

    /// Does one step, and says what it came to and what it cost.
    fn step(&mut self, verb: &str, request: &Request) -> Result<(), Failure> {
        let begun = Instant::now();
        let receipt = self.engine.execute(&self.actor, request)?;
        let took = begun.elapsed();
        let lines = self
            .engine
            .read(|reading| views::receipt::lines(reading, &self.actor, &receipt))?;
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

    /// The id of a planned frame, by its place among those that are left.
    fn planned(&self, place: usize) -> Result<String, Failure> {
        let rows = self.engine.read(|reading| {
            let roots = reading.rows(&flamestack_store::Slice::default())?;
            let parent = roots.first().map(|row| row.frame.id.clone());
            let slice = flamestack_store::Slice {
                parent,
                open: Some(true),
                ..Default::default()
            };
            Ok(reading.rows(&slice)?)
        })?;
        let planned = rows
            .iter()
            .filter(|row| row.frame.status == flamestack_core::Status::Planned);
        Ok(planned
            .map(|row| row.frame.id.to_string())
            .nth(place)
            .unwrap_or_default())
    }
}

fn push(title: &str, criteria: &str) -> Request {
    let goal = Wanted {
        criteria: Some(criteria.to_owned()),
        ..Wanted::titled(title)
    };
    Request::Push {
        parent: Parent::Active,
        goal,
    }
}

fn pop(results: &str) -> Request {
    Request::Pop {
        frame: None,
        outcome: Outcome::Completed,
        results: results.to_owned(),
        compacted: None,
    }
}

fn note(note: Learned) -> Request {
    Request::Note { frame: None, note }
}
