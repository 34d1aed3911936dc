//! The same journal gives the same bytes, in any process and on any day.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use flamestack_engine::context::{ContextOptions, ContextTarget};

use crate::ground::{Ground, engine, session};

const ME: &str = "opencode:me";
/// Variable for a process that renders for this test: its folder, its time and its output file.
const WHERE: &str = "FLAME_TEST_RENDERS";
const DAY: i64 = 86_400_000;
const DAYS: i64 = 5;
const PROCESSES: i64 = 4;
const RENDERS: usize = 50;

/// Every text that a process makes of one position, with empty caches in between.
fn texts(dir: &Path, start: i64) -> BTreeSet<String> {
    let engine = engine(dir, start);
    let mut texts = BTreeSet::new();
    for _ in 0..RENDERS {
        engine.contexts().forget(None);
        let whose = ContextTarget::Session(session(ME));
        let context = engine
            .contexts()
            .context(&whose, &ContextOptions::default())
            .unwrap();
        texts.insert(context.unwrap().text.clone());
    }
    texts
}

/// The part of a process that renders.
fn render(task: &str) {
    let mut parts = task.splitn(3, '|');
    let start: i64 = parts.next().unwrap().parse().unwrap();
    let said = PathBuf::from(parts.next().unwrap());
    let dir = PathBuf::from(parts.next().unwrap());
    let texts: Vec<String> = texts(&dir, start).into_iter().collect();
    fs_err::write(said, texts.join("\0")).unwrap();
}

#[test]
fn a_thousand_renders_in_twenty_processes_over_a_week_are_one() {
    if let Ok(task) = std::env::var(WHERE) {
        return render(&task);
    }
    let mut ground = Ground::new();
    ground.push(ME, "Ship the shop");
    ground.say(ME, "Never touch the `legacy/` folder");
    let mut seen = BTreeSet::new();
    for day in 0..DAYS {
        ground.at(day * DAY);
        ground.push(ME, &format!("Part {day} of src/part_{day}.rs"));
        ground.pop(ME, &format!("Part {day} works, see src/part_{day}.rs"));
        let processes: Vec<_> = (0..PROCESSES)
            .map(|number| {
                // Each on another day, with another home, language and time zone.
                let start = (day + 2 * number) * DAY;
                let said = ground.dir().join(format!("said-{number}"));
                let task = format!("{start}|{}|{}", said.display(), ground.dir().display());
                let child = Command::new(std::env::current_exe().unwrap())
                    .args([
                        "--exact",
                        "stability::a_thousand_renders_in_twenty_processes_over_a_week_are_one",
                    ])
                    .env_clear()
                    .env(WHERE, task)
                    .env("HOME", format!("/nowhere/{number}"))
                    .env(
                        "LC_ALL",
                        ["C", "tr_TR.UTF-8", "de_DE.UTF-8"][usize::try_from(number).unwrap() % 3],
                    )
                    .env("TZ", format!("UTC{number}"))
                    .stdout(std::process::Stdio::null())
                    .spawn()
                    .unwrap();
                (child, said)
            })
            .collect();
        let here = texts(ground.dir(), day * DAY);
        assert_eq!(here.len(), 1);
        for (mut child, said) in processes {
            assert!(child.wait().unwrap().success());
            let said = fs_err::read_to_string(said).unwrap();
            assert_eq!(BTreeSet::from([said]), here);
        }
        seen.extend(here);
    }
    assert_eq!(seen.len(), usize::try_from(DAYS).unwrap());
}
