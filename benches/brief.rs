//! Cost of a brief as finished specifications accumulate.
//!
//! A project with one specification under way and 0, 200 or 2,000 finished ones of 25 tasks each.
//! The session log names the one under way; or the host's todo list says that the session is about
//! something else; or nothing says anything, and it has to be found by when files were written; or git
//! is asked too, whose last commits touch it. The sizes take turns.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use flamestack_bench::{Series, Setting, Table, print, ratio, say};
use flamestack_brief::ReadStats;
use flamestack_brief::workflow::Workflows;
use flamestack_core::transcript::{Todo, TodoStatus};
use flamestack_engine::brief::BriefRequest;
use flamestack_engine::{Engine, Project, SystemClock};

/// Largest accepted ratio of a brief with 200 finished specifications (5,000 tasks) to one with none.
const TARGET: f64 = 2.0;
const TASKS: usize = 25;
const WARM_UP: usize = 5;
/// Number of finished specifications per commit.
const AT_ONCE: usize = 20;
/// Number of commits of the specification under way.
const LATELY: usize = 10;

/// The evidence for the specification under way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Log,
    /// Nothing: the session is about something else.
    Elsewhere,
    Files,
    Commits,
}

const WAYS: [Way; 4] = [Way::Log, Way::Elsewhere, Way::Files, Way::Commits];

impl Way {
    fn name(self) -> &'static str {
        match self {
            Self::Log => "named in the log",
            Self::Elsewhere => "not what the session is about",
            Self::Files => "found by its files",
            Self::Commits => "found by git's last commits",
        }
    }

    /// The request that the brief is made for.
    fn asked(self) -> BriefRequest {
        let other = Todo {
            text: "Upgrade the compiler".to_owned(),
            status: TodoStatus::Active,
        };
        BriefRequest {
            todos: Vec::from_iter((self == Self::Elsewhere).then_some(other)),
            ..BriefRequest::default()
        }
    }

    /// The specification that a brief is to be about.
    fn expected(self) -> Option<&'static str> {
        (self != Self::Elsewhere).then_some("under-way")
    }
}

struct Measured {
    finished: usize,
    engines: Vec<Engine>,
    costs: [Series; WAYS.len()],
    read: [ReadStats; WAYS.len()],
}

fn main() -> Result<()> {
    let Some(setting) = Setting::of_process()? else {
        return Ok(());
    };
    let rounds = if setting.quick { 50 } else { 200 };
    let scratch = setting.scratch()?;
    let workflows = Workflows::built_in();
    let mut all = Vec::new();
    for finished in [0, 200, 2_000] {
        say(&format!("writing {finished} finished specifications …"));
        all.push(Measured {
            finished,
            engines: WAYS
                .into_iter()
                .map(|way| project(scratch.path(), finished, way))
                .collect::<Result<_>>()?,
            costs: Default::default(),
            read: Default::default(),
        });
    }
    for round in 0..WARM_UP + rounds {
        for one in &mut all {
            let kept = one.costs.iter_mut().zip(&mut one.read);
            for ((way, engine), (series, read)) in WAYS.iter().zip(&one.engines).zip(kept) {
                let asked = way.asked();
                let brief = series.time(|| engine.brief(&asked, &workflows))?;
                *read = brief.read;
                let found = brief.workflow.and_then(|workflow| workflow.item);
                ensure!(
                    found.as_deref() == way.expected(),
                    "{}: the brief is about {found:?}",
                    way.name()
                );
            }
            if round + 1 == WARM_UP {
                one.costs = Default::default();
            }
        }
    }
    report(&all);
    Ok(())
}

/// Creates a project with one specification under way and many finished ones.
fn project(scratch: &Path, finished: usize, way: Way) -> Result<Engine> {
    let folder = scratch.join(format!("{finished}-{}", way.name().replace(' ', "-")));
    let root = folder.join("project");
    fs_err::create_dir_all(&root)?;
    let has_git = way == Way::Commits;
    if has_git {
        git(&root, &["init", "-q"])?;
    }
    for n in 0..finished {
        write(&root, &format!("spec-{n:04}"), TASKS)?;
        if has_git && (n + 1) % AT_ONCE == 0 {
            commit(&root, "What is finished")?;
        }
    }
    for done in TASKS / 2 - LATELY..=TASKS / 2 {
        write(&root, "under-way", done)?;
        if has_git {
            commit(&root, "What is under way")?;
        }
    }
    if has_git {
        // As it is in a repository with a history.
        git(&root, &["gc", "-q"])?;
    }
    if way == Way::Log {
        let log = "[Focus: execution] 2026-03-10\n- Continue `/spec-execute next under-way`.\n";
        fs_err::write(root.join("SESSION.md"), log)?;
    }
    // Not looked for: the folder lies inside our own repository.
    let project = Project {
        identity: root.clone(),
        worktree: "main".to_owned(),
        dir: folder.join("state"),
        root,
        found: flamestack_engine::project::Found::Here,
    };
    Ok(Engine::new(
        project,
        Box::new(SystemClock),
        Duration::from_secs(5),
    ))
}

fn commit(root: &Path, subject: &str) -> Result<()> {
    git(root, &["add", "-A"])?;
    let who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
    let what = ["commit", "-q", "--allow-empty", "-m", subject];
    git(root, &[&who[..], &what[..]].concat())
}

fn git(root: &Path, arguments: &[&str]) -> Result<()> {
    let mut git = Command::new("git");
    git.arg("-C").arg(root).args(arguments);
    ensure!(git.status()?.success(), "git {arguments:?} failed");
    Ok(())
}

fn write(root: &Path, name: &str, done: usize) -> Result<()> {
    let folder = root.join(".codex/specs").join(name);
    fs_err::create_dir_all(&folder)?;
    fs_err::write(
        folder.join("requirements.md"),
        "# Requirements\nUsers can log in.\n",
    )?;
    fs_err::write(folder.join("design.md"), "# Design\nTokens last an hour.\n")?;
    let mut tasks = String::from("# Tasks\n");
    for n in 1..=TASKS {
        let mark = if n <= done { 'x' } else { ' ' };
        tasks.push_str(&format!("- [{mark}] {n}. Step number {n} of {name}\n"));
    }
    Ok(fs_err::write(folder.join("tasks.md"), tasks)?)
}

fn report(all: &[Measured]) {
    let [none, some, many] = all else {
        return;
    };
    let heading = |one: &Measured| format!("{} finished", one.finished);
    let mut table = Table::new([
        "p50 in µs",
        "",
        &heading(none),
        &heading(some),
        &heading(many),
        "200 / 0",
        "2,000 / 0",
        "µs for each",
    ]);
    for (place, way) in WAYS.into_iter().enumerate() {
        let name = way.name();
        let of = |one: &Measured, figure: fn(&Series) -> f64| {
            one.costs.get(place).map_or(f64::NAN, figure)
        };
        for (what, figure) in [
            ("wall", Series::wall as fn(&Series) -> f64),
            ("CPU", Series::cpu),
        ] {
            table.row([
                name.to_owned(),
                what.to_owned(),
                format!("{:.0}", of(none, figure)),
                format!("{:.0}", of(some, figure)),
                format!("{:.0}", of(many, figure)),
                ratio(of(some, figure), of(none, figure), Some(TARGET)),
                ratio(of(many, figure), of(none, figure), None),
                each(of(many, figure) - of(none, figure), many.finished),
            ]);
        }
        let read = |one: &Measured| {
            let read = one.read.get(place).copied().unwrap_or_default();
            format!("{} / {}", read.files, read.bytes)
        };
        table.row([
            name.to_owned(),
            "files / bytes".to_owned(),
            read(none),
            read(some),
            read(many),
            String::new(),
            String::new(),
            String::new(),
        ]);
    }
    print("Brief: finished specifications of 25 tasks", &table, "");
}

/// Formats the average cost of one.
fn each(all: f64, count: usize) -> String {
    #[expect(clippy::cast_precision_loss, reason = "some thousands")]
    let count = count.max(1) as f64;
    format!("{:.2}", all / count)
}
