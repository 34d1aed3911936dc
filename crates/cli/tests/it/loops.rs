//! Acknowledged writes of a real sidecar, while other processes replace, delete, collect, kill and
//! damage its store. `cargo xtask loops` runs each attack 200 times, in a release build.
#![cfg(target_os = "linux")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::{Value, json};

use crate::ground::{Dice, TestProject};
use crate::sidecar::{Host, request};

/// Rounds on one store, which only grows.
const ROUNDS_PER_STORE: usize = 10;
/// Acknowledged writes between two attacks.
const WRITES: usize = 3;

/// Returns the number of rounds.
fn rounds() -> usize {
    let rounds = std::env::var("FLAME_LOOPS").ok();
    rounds.map_or(ROUNDS_PER_STORE, |rounds| rounds.parse().unwrap())
}

/// Answers that the host got.
#[derive(Default)]
struct Answers {
    acknowledged: BTreeSet<String>,
    /// Writes that are gone, by the sidecar's own account.
    reported: BTreeSet<String>,
}

impl Answers {
    fn count(&self) -> usize {
        self.acknowledged.len() + self.reported.len()
    }
}

/// Opens a frame through a sidecar.
fn push(host: &mut Host, n: usize, title: &str) -> Value {
    let goal = json!({ "title": title, "successCriteria": "done" });
    let params =
        json!({ "session": format!("s{}", n % 3), "name": "stack_frame_push", "arguments": goal });
    host.send(&request(n, "call", &params));
    host.hear()
}

/// Stops a writer when the attacks end, also by a failed assertion: a scope waits for its threads.
struct StopWhenDropped<'s>(&'s AtomicBool);

impl Drop for StopWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Opens frames until it is stopped.
fn write_on(host: &mut Host, answers: &Mutex<Answers>, stop: &AtomicBool) {
    for n in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let title = format!("write {n}.");
        let answer = push(host, n, &title);
        let mut answers = answers.lock().unwrap();
        if answer["result"]["refused"] == false {
            answers.acknowledged.insert(title);
        } else if answer
            .to_string()
            .contains("was deleted while it was in use")
        {
            // Everything so far is gone, and this is the report.
            let gone = std::mem::take(&mut answers.acknowledged);
            answers.reported.extend(gone);
        }
    }
}

/// Waits until a few more writes are acknowledged.
fn after_writes(answers: &Mutex<Answers>) {
    let target = answers.lock().unwrap().count() + WRITES;
    while answers.lock().unwrap().count() < target {
        thread::yield_now();
    }
}

/// Returns the titles of the frames in a journal.
fn recorded(project: &TestProject) -> BTreeSet<String> {
    let titles = project.journal().into_iter().filter_map(|(_, _, _, body)| {
        let (_, rest) = body.split_once("\"write ")?;
        let (number, _) = rest.split_once('.')?;
        Some(format!("write {number}."))
    });
    titles.collect()
}

#[expect(clippy::print_stdout, reason = "the figures are the result")]
fn report(name: &str, acknowledged: usize, reported: usize, lost: usize) {
    let rounds = rounds();
    println!(
        "{name}: {rounds} rounds, {acknowledged} acknowledged, {reported} reported as lost, {lost} lost silently"
    );
    assert_eq!(lost, 0, "{name}");
}

/// Attacks a store again and again while a sidecar has it open, and counts what is missing.
fn attack(name: &str, attack: impl Fn(&TestProject)) {
    let (mut acknowledged, mut lost, mut reported) = (0, 0, 0);
    for _ in 0..rounds().div_ceil(ROUNDS_PER_STORE) {
        let project = TestProject::new();
        let answers = Mutex::new(Answers::default());
        let stop = AtomicBool::new(false);
        let mut host = Host::start(project.command(&["sidecar"]));
        thread::scope(|scope| {
            let _stop = StopWhenDropped(&stop);
            scope.spawn(|| write_on(&mut host, &answers, &stop));
            for _ in 0..ROUNDS_PER_STORE {
                after_writes(&answers);
                attack(&project);
            }
            after_writes(&answers);
        });
        drop(host);
        let answers = answers.into_inner().unwrap();
        let found = recorded(&project);
        acknowledged += answers.count();
        reported += answers.reported.len();
        lost += answers.acknowledged.difference(&found).count();
    }
    report(name, acknowledged, reported, lost);
}

#[test]
fn a_recovery_beside_a_sidecar() {
    attack("flame rebuild --recover", |project| {
        project.ok(&["rebuild", "--recover"]);
    });
}

#[test]
fn a_rebuild_beside_a_sidecar() {
    attack("flame rebuild", |project| {
        project.ok(&["rebuild"]);
    });
}

#[test]
fn a_folder_deleted_beside_a_sidecar() {
    attack("rm -r of the project's folder", |project| {
        let state = project.state();
        // The sidecar may be creating files in it.
        while state.exists() && fs_err::remove_dir_all(&state).is_err() {}
    });
}

#[test]
fn a_journal_deleted_beside_a_sidecar() {
    attack("rm of journal.db", |project| {
        for name in ["journal.db", "journal.db-wal", "journal.db-shm"] {
            fs_err::remove_file(project.state().join(name)).ok();
        }
    });
}

#[test]
fn a_collection_beside_a_sidecar() {
    let (mut written, mut lost) = (0, 0);
    for _ in 0..rounds().div_ceil(ROUNDS_PER_STORE) {
        let project = TestProject::new();
        let stop = AtomicBool::new(false);
        // Enough room: only what no frame refers to may go. Set before there is a host, because the
        // commands of this process count as an agent's from then on.
        project.ok(&["config", "set", "gc.max_size", "10 GB"]);
        let mut host = Host::start(project.command(&["sidecar"]));
        let texts = thread::scope(|scope| {
            let stopping = StopWhenDropped(&stop);
            let writing = scope.spawn(|| {
                let mut texts = 0;
                while !stop.load(Ordering::Relaxed) {
                    record_output(&mut host, texts);
                    texts += 1;
                }
                texts
            });
            for _ in 0..ROUNDS_PER_STORE {
                project.ok(&["gc"]);
            }
            drop(stopping);
            writing.join().unwrap()
        });
        drop(host);
        written += texts;
        let kept: String = project.ok(&["export", "exported"]) + &exported_texts(&project);
        lost += (0..texts).filter(|n| !kept.contains(&output(*n))).count();
    }
    report("flame gc", written, 0, lost);
}

/// The output of a tool that a sidecar records.
fn output(n: usize) -> String {
    let mut dice = Dice(u64::try_from(n).unwrap() + 1);
    let noise: String = (0..50)
        .map(|_| format!("{:x} ", dice.roll(1 << 40)))
        .collect();
    format!("output {n}: {noise}")
}

/// Records one turn: a prompt and a call with its output. Answered once it is in the store.
fn record_output(host: &mut Host, n: usize) {
    let id = |kind: &str| format!("{kind}{n:06}");
    let prompt = json!({ "id": id("u"), "role": "user", "parts": [
        { "type": "text", "id": id("t"), "text": format!("Prompt {n}") } ] });
    let call = json!({ "id": id("v"), "role": "assistant", "parts": [
        { "type": "tool", "id": id("p"), "callID": id("c"), "tool": "bash",
          "state": { "status": "completed", "input": { "command": "make" }, "output": output(n) } } ] });
    let session = format!("turn{n}");
    for (method, params) in [
        ("prompt", json!({ "session": session, "message": prompt })),
        (
            "prepare",
            json!({ "session": session, "known": 0, "messages": [prompt, call] }),
        ),
        (
            "observe",
            json!({ "session": session, "events": [{ "kind": "idle" }] }),
        ),
        ("show", json!({ "session": session, "what": "status" })),
    ] {
        host.send(&request(n, method, &params));
        host.hear();
    }
}

/// Returns all raw texts of an export.
fn exported_texts(project: &TestProject) -> String {
    let raw = project.root().join("exported/.opencode/stack/raw");
    let files = fs_err::read_dir(raw).map(Iterator::flatten);
    files
        .into_iter()
        .flatten()
        .filter_map(|file| fs_err::read_to_string(file.path()).ok())
        .collect()
}

#[test]
fn a_damaged_log_after_a_kill() {
    damaged_log(
        "one bit of the write-ahead log after kill -9",
        |log, dice| {
            let place = usize::try_from(dice.roll(log.len() as u64)).unwrap();
            log[place] ^= 1 << dice.roll(8);
        },
    );
}

#[test]
fn a_log_cut_short_after_a_kill() {
    damaged_log("write-ahead log cut short after kill -9", |log, dice| {
        log.truncate(usize::try_from(dice.roll(log.len() as u64)).unwrap());
    });
}

/// Kills a sidecar after some writes, damages its write-ahead log, and counts what is missing after
/// a recovery.
fn damaged_log(name: &str, damage: impl Fn(&mut Vec<u8>, &mut Dice)) {
    let (mut acknowledged, mut lost, mut reported) = (0, 0, 0);
    let mut dice = Dice(5);
    for _ in 0..rounds() {
        let project = TestProject::new();
        project.push("Root");
        let mut host = Host::start(project.command(&["sidecar"]));
        let mut titles = BTreeSet::new();
        for n in 0..20 {
            let title = format!("write {n}.");
            let answer = push(&mut host, n, &title);
            assert_eq!(answer["result"]["refused"], false, "{answer}");
            titles.insert(title);
        }
        host.child.kill().unwrap();
        host.child.wait().unwrap();
        drop(host);
        let log = project.file("journal.db-wal");
        let mut bytes = fs_err::read(&log).unwrap();
        damage(&mut bytes, &mut dice);
        fs_err::write(&log, bytes).unwrap();
        // The first command sets the store aside if it meets the damage; recovery reads past it.
        let first = project.flame(&["tree"]);
        let rebuilt = project.flame(&["rebuild"]);
        let missing = titles.difference(&recorded(&project)).count();
        acknowledged += titles.len();
        let is_reported = first.code != Some(0) || rebuilt.code != Some(0);
        if is_reported {
            reported += missing;
        } else {
            lost += missing;
        }
    }
    report(name, acknowledged, reported, lost);
}

#[test]
fn first_commands_at_once() {
    let (mut acknowledged, mut lost) = (0, 0);
    for round in 0..rounds() {
        let project = TestProject::new();
        let sidecar = round % 2 == 0;
        let titles: BTreeMap<String, bool> = thread::scope(|scope| {
            let writers: Vec<_> = (0..6)
                .map(|n| {
                    let project = &project;
                    scope.spawn(move || {
                        let title = format!("write {n}.");
                        if sidecar && n < 2 {
                            let mut host = Host::start(project.command(&["sidecar"]));
                            let answer = push(&mut host, n, &title);
                            return (title, answer["result"]["refused"] == false);
                        }
                        let output = project.flame(&["push", "--root", &title]);
                        (title, output.code == Some(0))
                    })
                })
                .collect();
            writers.into_iter().map(|it| it.join().unwrap()).collect()
        });
        let found = recorded(&project);
        assert!(titles.values().all(|done| *done), "{titles:?}");
        acknowledged += titles.len();
        lost += titles
            .keys()
            .filter(|title| !found.contains(*title))
            .count();
    }
    report(
        "first commands of six processes at once",
        acknowledged,
        0,
        lost,
    );
}
