//! Acknowledged writes under attack: stores that are replaced, set aside or deleted while another
//! process has them open, and raw text that is written while another process collects garbage.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use flamestack_core::event::Event;
use flamestack_core::id::Seq;
use flamestack_core::{Actor, Author, FrameId, SessionRef};
use flamestack_engine::request::{GoalInput, ParentInput};
use flamestack_engine::{Engine, EngineError, Home, Project, Request, SystemClock};
use flamestack_store::{Orphans, Retention};

/// Deletes only what no frame refers to.
const EVERYTHING: Retention = Retention {
    bytes: u64::MAX,
    since: None,
};
/// Rounds of every attack.
const ROUNDS: usize = 200;
/// Rounds on one store, which only grows.
const ROUNDS_PER_STORE: usize = 10;
/// Acknowledged writes between two attacks.
const WRITES: usize = 3;

/// An engine of its own, as another process has it.
fn engine(dir: &Path) -> Engine {
    let root = dir.join("shop");
    fs_err::create_dir_all(&root).unwrap();
    let home = Home {
        state: dir.join("state"),
        config: dir.join("config"),
    };
    let project = Project::at(&root, &home).unwrap();
    Engine::new(project, Box::new(SystemClock), Duration::from_mins(1))
}

fn actor() -> Actor {
    Actor {
        session: SessionRef::shell("main"),
        worktree: Some("main".to_owned()),
        message: None,
        by: Author::User,
    }
}

/// Answers that the writer got.
#[derive(Default)]
struct Answers {
    acknowledged: BTreeSet<String>,
    /// Writes that may have been lost, by the writer's own account.
    reported: BTreeSet<String>,
    reports: usize,
}

/// Opens frames until it is stopped, like a sidecar that keeps its store open.
fn write_on(engine: &Engine, answers: &Mutex<Answers>, stop: &AtomicBool) {
    for n in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let title = format!("write {n}");
        let pushed = engine.commands().execute(
            &actor(),
            &Request::Push {
                parent: ParentInput::Root,
                goal: GoalInput::titled(&title),
            },
        );
        let mut answers = answers.lock().unwrap();
        match pushed {
            Ok(_) => {
                answers.acknowledged.insert(title);
            }
            Err(EngineError::StoreGone(_)) => {
                // Everything so far is gone, and this is the report.
                let gone = std::mem::take(&mut answers.acknowledged);
                answers.reported.extend(gone);
                answers.reports += 1;
            }
            // Nothing was acknowledged.
            Err(EngineError::SetAside { .. } | EngineError::Store(_)) => answers.reports += 1,
            Err(other) => panic!("{other}"),
        }
    }
}

/// Waits until a few more writes are acknowledged.
fn after_writes(answers: &Mutex<Answers>) {
    let count = || {
        let answers = answers.lock().unwrap();
        answers.acknowledged.len() + answers.reported.len()
    };
    let target = count() + WRITES;
    while count() < target {
        thread::yield_now();
    }
}

/// The titles of all frames in the journal.
fn recorded(engine: &Engine) -> BTreeSet<String> {
    let events = engine.read(|reading| Ok(reading.events_after(Seq(0), 1_000_000)?));
    let titles = events.unwrap().into_iter().filter_map(|it| match it.event {
        Event::FrameOpened { goal, .. } => Some(goal.title.to_string()),
        _ => None,
    });
    titles.collect()
}

/// Attacks a store again and again while a writer has it open, and counts what is missing.
fn attack(name: &str, attack: impl Fn(&Engine) + Sync) {
    let mut acknowledged = 0;
    let mut lost = 0;
    let mut reported = 0;
    for _ in 0..ROUNDS / ROUNDS_PER_STORE {
        let dir = tempfile::tempdir().unwrap();
        let answers = Mutex::new(Answers::default());
        let stop = AtomicBool::new(false);
        let (writer, shell) = (engine(dir.path()), engine(dir.path()));
        thread::scope(|scope| {
            scope.spawn(|| write_on(&writer, &answers, &stop));
            for _ in 0..ROUNDS_PER_STORE {
                after_writes(&answers);
                attack(&shell);
            }
            after_writes(&answers);
            stop.store(true, Ordering::Relaxed);
        });
        drop(writer);
        let shell = engine(dir.path());
        let maintenance = shell.maintenance();
        for place in maintenance.set_aside_stores().unwrap() {
            let back = maintenance.recover(&place, &mut |_, _| ()).unwrap();
            assert!(back.is_whole(), "{name}: {back:?}");
        }
        let answers = answers.into_inner().unwrap();
        let found = recorded(&shell);
        acknowledged += answers.acknowledged.len() + answers.reported.len();
        reported += answers.reported.len();
        lost += answers.acknowledged.difference(&found).count();
        let examined = maintenance.examine(&mut |_, _| ());
        assert!(
            examined.verified.findings.is_empty(),
            "{name}: {examined:?}"
        );
        assert!(examined.stopped.is_empty(), "{name}: {examined:?}");
        // What was deleted by hand is still reported by `flame doctor`, unless it was deleted as well.
        if !answers.reported.is_empty() && shell.project().dir.join("set-aside").exists() {
            assert!(
                !examined.recovered_in_part.is_empty(),
                "{name}: {examined:?}"
            );
        }
    }
    println!(
        "{name}: {ROUNDS} rounds, {acknowledged} acknowledged, {reported} reported as deleted, {lost} lost"
    );
    assert_eq!(lost, 0, "{name}");
}

#[test]
fn writes_survive_a_recovery_beside_them() {
    attack("rebuild --recover", |shell| {
        let maintenance = shell.maintenance();
        if let Some(place) = maintenance.set_aside().unwrap() {
            let back = maintenance.recover(&place, &mut |_, _| ()).unwrap();
            assert!(back.is_whole(), "{back:?}");
        }
        maintenance.rebuild(&mut |_, _| ()).unwrap();
    });
}

#[test]
fn writes_survive_a_store_that_is_set_aside() {
    attack("set aside", |shell| {
        // Any process that meets damage moves the store away.
        shell.maintenance().set_aside().unwrap();
    });
}

#[test]
fn writes_to_a_deleted_store_are_not_acknowledged() {
    attack("rm -r", |shell| {
        // The writer may be creating files in it.
        while fs_err::remove_dir_all(&shell.project().dir).is_err() {}
    });
}

#[test]
fn writes_to_a_deleted_journal_are_not_acknowledged() {
    attack("rm journal.db", |shell| {
        for name in ["journal.db", "journal.db-wal", "journal.db-shm"] {
            fs_err::remove_file(shell.project().dir.join(name)).ok();
        }
    });
}

/// Stores a text in a frame of its own and ends the frame. Returns the frame.
fn log_text(engine: &Engine, text: &str) -> Result<FrameId, EngineError> {
    let actor = actor();
    let commands = engine.commands();
    let pushed = commands.execute(
        &actor,
        &Request::Push {
            parent: ParentInput::Root,
            goal: GoalInput::titled("Log"),
        },
    )?;
    let frame = *pushed.opened().unwrap();
    engine
        .logs()
        .append(&actor, Some(frame.as_str()), "log", text, None)?;
    Ok(frame)
}

/// Text that does not compress away.
fn noise(seed: u64) -> String {
    let mut state = seed * 7_919 + 1;
    let letter = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b'a' + u8::try_from(state % 26).unwrap())
    };
    (0..2_000).map(letter).collect()
}

#[test]
fn text_is_not_collected_while_it_is_being_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let (writer, collector) = (engine(dir.path()), engine(dir.path()));
    log_text(&writer, "the first").unwrap();
    let stop = AtomicBool::new(false);
    let mut rounds = 0;
    let texts = thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let mut texts = Vec::new();
            for n in 0.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let text = noise(n);
                texts.push((log_text(&writer, &text).unwrap(), text));
            }
            texts
        });
        while rounds < ROUNDS {
            let all = Duration::from_mins(1);
            // Enough room: only what no frame refers to may go.
            collector
                .maintenance()
                .collect(&actor(), &EVERYTHING, Orphans::Careful, all, &|| true)
                .unwrap();
            rounds += 1;
        }
        stop.store(true, Ordering::Relaxed);
        writing.join().unwrap()
    });
    let lost = texts.iter().filter(|(frame, text)| {
        let raw = writer.logs().raw_text(frame, 1);
        raw.ok().as_deref() != Some(text.as_str())
    });
    let (lost, stored) = (lost.count(), texts.len());
    println!("gc beside writers: {rounds} rounds, {stored} texts, {lost} lost");
    assert_eq!(lost, 0);
    assert!(stored > 0);
    assert!(collector.maintenance().examine(&mut |_, _| ()).is_healthy());
}

#[test]
fn text_of_a_journal_that_was_set_aside_is_kept() {
    let mut lost = 0;
    let mut dir = tempfile::tempdir().unwrap();
    let mut texts = 0;
    for round in 0..ROUNDS {
        if round % ROUNDS_PER_STORE == 0 {
            dir = tempfile::tempdir().unwrap();
            texts = 0;
        }
        texts += 1;
        let shell = engine(dir.path());
        let text = noise(round as u64);
        let frame = log_text(&shell, &text).unwrap();
        let maintenance = shell.maintenance();
        let place = maintenance.set_aside().unwrap().unwrap();
        let goal = GoalInput::titled("In the next journal");
        let parent = ParentInput::Root;
        let push = Request::Push { parent, goal };
        shell.commands().execute(&actor(), &push).unwrap();
        let collect = || {
            let all = Duration::from_mins(1);
            let orphans = [Orphans::Careful, Orphans::All][round % 2];
            let plan = maintenance.collect(&actor(), &EVERYTHING, orphans, all, &|| true);
            plan.unwrap().kept
        };
        assert_eq!(collect(), texts);
        maintenance.recover(&place, &mut |_, _| ()).unwrap();
        assert_eq!(collect(), 0);
        let raw = shell.logs().raw_text(&frame, 1);
        lost += usize::from(raw.ok().as_deref() != Some(text.as_str()));
    }
    println!("gc before a recovery: {ROUNDS} rounds, {ROUNDS} texts, {lost} lost");
    assert_eq!(lost, 0);
}

#[test]
fn text_of_a_missing_journal_is_kept_until_the_user_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let shell = engine(dir.path());
    log_text(&shell, "needed").unwrap();
    let journal = shell.project().dir.join("journal.db");
    drop(shell);
    fs_err::remove_file(journal).unwrap();
    let shell = engine(dir.path());
    let maintenance = shell.maintenance();
    let examined = maintenance.examine(&mut |_, _| ());
    assert!(examined.missing_journal.is_some_and(|events| events > 0));
    let collect = |orphans| {
        let plan = maintenance.collect(&actor(), &EVERYTHING, orphans, Duration::ZERO, &|| true);
        let plan = plan.unwrap();
        (plan.kept, plan.orphans.len())
    };
    assert_eq!(collect(Orphans::Careful), (1, 0));
    log_text(&shell, "of the next journal").unwrap();
    assert_eq!(collect(Orphans::Careful), (1, 0));
    assert_eq!(maintenance.examine(&mut |_, _| ()).abandoned_texts, 1);
    assert_eq!(collect(Orphans::All), (0, 1));
    assert_eq!(collect(Orphans::Careful), (0, 0));
    assert_eq!(maintenance.examine(&mut |_, _| ()).abandoned_texts, 0);
}
