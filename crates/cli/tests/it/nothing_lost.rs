//! Acknowledged writes survive many concurrent writers and killed writers.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use flamestack_core::Author;
use flamestack_core::SessionRef;
use flamestack_core::command::Actor;
use flamestack_engine::request::{GoalInput, NoteInput, ParentInput, PlanInput};
use flamestack_engine::{Engine, Home, Project, Request, SystemClock};

use crate::ground::{Dice, TestProject};

/// Everything that was written, as texts in the journal.
fn written(project: &TestProject) -> Vec<String> {
    let journal = project.journal().into_iter();
    journal.map(|(_, _, _, body)| body).collect()
}

/// The events of a batch follow its first one without a gap, and none is alone: what one
/// command does is there as a whole.
fn assert_whole_batches(project: &TestProject) {
    let mut expected = 0;
    let mut batch = 0;
    for (seq, of, _, _) in project.journal() {
        expected += 1;
        assert_eq!(seq, expected, "no gap");
        assert!(
            of == seq || of == batch,
            "event {seq} is of the batch before it"
        );
        batch = of;
    }
}

/// The `n`th of a writer's commands: a push, a note or a plan, each with a text of its own.
fn mutation(writer: usize, n: usize) -> (String, Vec<String>) {
    let text = format!("writer {writer} step {n}.");
    let line: &[&str] = match n % 3 {
        0 => &["push", &text, "--root"],
        1 => &["note", "decision", &text],
        _ => &["plan", &text],
    };
    let line = line.iter().map(|&word| word.to_owned()).collect();
    (text, line)
}

#[test]
fn eight_processes_write_a_hundred_times_each_at_once() {
    let project = TestProject::new();
    let acknowledged: Vec<String> = std::thread::scope(|scope| {
        let writer = |writer: usize| {
            let project = &project;
            move || {
                let session = format!("opencode:ses_{}", writer % 4);
                let one = |n| {
                    let (text, line) = mutation(writer, n);
                    let mut command = project.command(&[]);
                    command.args(line).env("FLAME_SESSION", &session);
                    let output = command.output().unwrap();
                    let said = String::from_utf8_lossy(&output.stderr);
                    assert!(output.status.success(), "{text}: {said}");
                    text
                };
                (0..100).map(one).collect::<Vec<_>>()
            }
        };
        let threads: Vec<_> = (0..8).map(|n| scope.spawn(writer(n))).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(acknowledged.len(), 800);
    let written = written(&project);
    for text in &acknowledged {
        let times = written
            .iter()
            .filter(|body| body.contains(text.as_str()))
            .count();
        assert_eq!(times, 1, "{text}");
    }
    assert_whole_batches(&project);
    project.well();
}

#[test]
fn fifty_calls_of_one_process_at_once() {
    let project = TestProject::new();
    let home = Home {
        state: project.dir().join("state"),
        config: project.dir().join("config"),
    };
    let here = Project::at(project.root(), &home).unwrap();
    let engine = Engine::new(here, Box::new(SystemClock), Duration::from_secs(30));
    let actor = Actor {
        session: SessionRef::shell("main"),
        worktree: Some("main".to_owned()),
        message: None,
        by: Author::User,
    };
    let push = Request::Push {
        parent: ParentInput::Root,
        goal: GoalInput::titled("Root"),
    };
    engine.commands().execute(&actor, &push).unwrap();
    std::thread::scope(|scope| {
        for n in 0..50 {
            let (engine, actor) = (&engine, &actor);
            scope.spawn(move || {
                let note = NoteInput::Decision(format!("decision {n}."), None);
                let note = Request::Note { frame: None, note };
                engine.commands().execute(actor, &note).unwrap();
                let item = PlanInput {
                    goal: GoalInput::titled(&format!("plan {n}.")),
                    children: Vec::new(),
                };
                let plan = Request::Plan {
                    parent: ParentInput::Active,
                    items: vec![item],
                };
                engine.commands().execute(actor, &plan).unwrap();
            });
        }
    });
    let root = project.json(&["show"]);
    let decisions: BTreeSet<&str> = root["decisions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|decision| decision["text"].as_str().unwrap())
        .collect();
    assert_eq!(decisions.len(), 50);
    assert_eq!(root["childTotals"]["planned"], 50);
    assert_whole_batches(&project);
    project.well();
}

/// Set in a copy of this test binary that is to write until it is killed.
const ORDERS: &str = "FLAME_TEST_WRITER";

/// Not a test of its own: what the writer of the next test does. It says each number once the
/// engine has acknowledged its command.
#[test]
fn a_writer_that_waits_to_be_killed() {
    let Some(orders) = std::env::var_os(ORDERS) else {
        return;
    };
    let orders = orders.into_string().unwrap();
    let mut orders = orders.split('\n');
    let home = Home {
        state: orders.next().unwrap().into(),
        config: "nowhere".into(),
    };
    let here = Project::at(orders.next().unwrap().as_ref(), &home).unwrap();
    let round = orders.next().unwrap();
    let engine = Engine::new(here, Box::new(SystemClock), Duration::from_secs(30));
    let actor = Actor {
        session: format!("test:round-{round}").parse().unwrap(),
        worktree: None,
        message: None,
        by: Author::Agent,
    };
    let mut acknowledged = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/stdout")
        .unwrap();
    for n in 0.. {
        let items = (0..5).map(|k| PlanInput {
            goal: GoalInput::titled(&format!("round {round} write {n} part {k}.")),
            children: Vec::new(),
        });
        let plan = Request::Plan {
            parent: ParentInput::Root,
            items: items.collect(),
        };
        engine.commands().execute(&actor, &plan).unwrap();
        std::io::Write::write_all(&mut acknowledged, format!("done {n}\n").as_bytes()).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn two_hundred_writers_are_killed() {
    let project = TestProject::new();
    project.push("Root");
    let mut dice = Dice(0x5eed);
    let mut acknowledged: Vec<(u64, u64)> = Vec::new();
    for round in 0..200 {
        let orders = format!(
            "{}\n{}\n{round}",
            project.dir().join("state").display(),
            project.root().display()
        );
        let mut writer = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "nothing_lost::a_writer_that_waits_to_be_killed",
                "--nocapture",
                "--quiet",
            ])
            .env(ORDERS, orders)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let said = BufReader::new(writer.stdout.take().unwrap());
        let mut numbers = said.lines().map_while(Result::ok).filter_map(|line| {
            line.strip_prefix("done ")
                .and_then(|number| number.parse::<u64>().ok())
        });
        // From its first acknowledgement on it writes without a pause; every other one is killed
        // somewhere in its beginning.
        if round % 2 == 0 {
            acknowledged.extend(numbers.next().map(|n| (round, n)));
        }
        std::thread::sleep(Duration::from_micros(dice.roll(8_000)));
        writer.kill().unwrap();
        acknowledged.extend(numbers.map(|n| (round, n)));
        writer.wait().unwrap();
        if round % 10 == 0 {
            project.ok(&["note", "decision", &format!("after round {round}.")]);
        } else {
            project.ok(&["status"]);
        }
    }
    assert!(acknowledged.len() >= 100, "every other writer did write");
    let written = written(&project);
    let mut parts = std::collections::BTreeMap::new();
    for body in &written {
        if let Some((_, rest)) = body.split_once("\"round ") {
            let (write, _) = rest.split_once(" part ").unwrap();
            *parts.entry(write.to_owned()).or_insert(0) += 1;
        }
    }
    for (round, n) in acknowledged {
        assert_eq!(
            parts.get(&format!("{round} write {n}")),
            Some(&5),
            "round {round}, write {n}"
        );
    }
    // Unacknowledged ones are there as a whole or not at all.
    assert!(parts.values().all(|count| *count == 5), "{parts:?}");
    assert_whole_batches(&project);
    project.well();
}

#[cfg(unix)]
#[test]
fn commands_are_killed_too() {
    let project = TestProject::new();
    project.push("Root");
    let mut dice = Dice(0xace);
    let mut acknowledged = Vec::new();
    for round in 0..100 {
        let text = format!("round {round}.");
        let mut writer = project
            .command(&["note", "decision", &text])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(dice.roll(8_000)));
        writer.kill().unwrap();
        if writer.wait().unwrap().success() {
            acknowledged.push(text);
        }
    }
    let written = written(&project);
    for text in acknowledged {
        assert!(written.iter().any(|body| body.contains(&text)), "{text}");
    }
    project.well();
}
