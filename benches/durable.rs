//! Cost of a durable mutation, compared with the least that durability costs.
//!
//! The least is a bare SQLite transaction that adds one row of the same size with the same
//! durability on the same disk. Everything takes turns in one run.

use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;

use anyhow::{Result, anyhow};
use flamestack_bench::{Series, Setting, Table, WORKER, actor, finished, print, ratio, titled};
use flamestack_core::Author;
use flamestack_core::command::{Actor, Command, Under};
use flamestack_core::decide;
use flamestack_core::frame::Outcome;
use flamestack_core::note::Note;
use flamestack_core::text::Text;
use flamestack_engine::{Clock as _, SystemClock};
use flamestack_store::{OpenOptions, SqliteStore, Store as _};
use rusqlite::Connection;

/// Largest accepted ratio of a mutation to a bare transaction.
const TARGET: f64 = 2.0;
/// Enough for both write-ahead logs to have reached the length at which they are used over again:
/// until then every sync also waits for the file to grow.
const WARM_UP: usize = 400;

/// The measurements that are compared.
#[derive(Default)]
struct Costs {
    sync: Series,
    bare: Series,
    push: Series,
    note: Series,
    pop: Series,
}

fn main() -> Result<()> {
    let Some(setting) = Setting::of_process()? else {
        return Ok(());
    };
    let rounds = if setting.quick { 200 } else { 1_000 };
    let disk = setting.scratch()?;
    let costs = measure(disk.path(), rounds)?;
    report("Durable mutation, on disk", &costs, Some(TARGET));
    // Waiting for the disk hides what the processor does. Memory needs no waiting.
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        let memory = tempfile::tempdir_in(memory)?;
        let costs = measure(memory.path(), rounds)?;
        report(
            "The same in memory, where syncing is free (no target)",
            &costs,
            None,
        );
    }
    Ok(())
}

fn measure(dir: &Path, rounds: usize) -> Result<Costs> {
    let mut file = fs_err::File::create(dir.join("sync"))?;
    let bare = bare(&dir.join("bare.db"))?;
    let mut store = OpenOptions::default().open(&dir.join("store"))?;
    let actor = actor(WORKER)?;
    commit(&mut store, &actor, &push(true)?)?;
    let mut costs = Costs::default();
    for round in 0..WARM_UP + rounds {
        costs.sync.time(|| sync(&mut file))?;
        let body = body(round);
        for command in [push(false)?, note(round)?, pop()?] {
            // Turn by turn, so that none always runs just after the same other.
            costs.bare.time(|| insert(&bare, &body))?;
            let series = match command {
                Command::Push { .. } => &mut costs.push,
                Command::Note { .. } => &mut costs.note,
                _ => &mut costs.pop,
            };
            series.time(|| commit(&mut store, &actor, &command))?;
        }
        if round + 1 == WARM_UP {
            costs = Costs::default();
        }
    }
    Ok(costs)
}

/// A database with the same durability as the store's.
fn bare(path: &Path) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.execute_batch(
        "CREATE TABLE rows (n INTEGER PRIMARY KEY, at INTEGER, session TEXT, body TEXT)",
    )?;
    Ok(connection)
}

/// The least that durability costs: a page of bytes, and waiting until it is on disk.
fn sync(file: &mut fs_err::File) -> Result<()> {
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&[b'x'; 4096])?;
    Ok(file.sync_data()?)
}

/// A body as long as that of the event of a push.
fn body(round: usize) -> String {
    format!("{round:0>330}")
}

fn insert(connection: &Connection, body: &str) -> Result<()> {
    connection
        .prepare_cached("INSERT INTO rows (at, session, body) VALUES (?1, ?2, ?3)")?
        .execute((SystemClock.now().0, "bench:worker", body))?;
    Ok(())
}

fn push(root: bool) -> Result<Command> {
    Ok(Command::Push {
        id: SystemClock.draw_id(),
        under: if root { Under::Root } else { Under::Active },
        goal: titled("Add the refresh endpoint")?,
    })
}

fn note(round: usize) -> Result<Command> {
    Ok(Command::Note {
        frame: None,
        note: Note::Decision {
            text: Text::new(&format!("Tokens last an hour, see round {round}"))?,
            why: Some(Text::new("refreshing is cheap")?),
            by: Author::default(),
        },
    })
}

fn pop() -> Result<Command> {
    Ok(Command::Pop {
        frame: None,
        outcome: Outcome::Completed,
        results: finished()?,
    })
}

fn commit(store: &mut SqliteStore, actor: &Actor, command: &Command) -> Result<()> {
    store
        .commit(SystemClock.now(), actor, &mut |reading| {
            decide(reading, actor, command)
        })
        .map_err(|rejected| anyhow!("{rejected}"))?;
    Ok(())
}

fn report(heading: &str, costs: &Costs, target: Option<f64>) {
    let mut table = Table::new([
        "",
        "wall p50 µs",
        "wall p90 µs",
        "CPU p50 µs",
        "CPU mean µs",
        "wall / bare",
        "CPU / bare",
    ]);
    for (name, series, target) in [
        ("write 4 KB and sync, no SQLite", &costs.sync, None),
        ("bare one-row transaction", &costs.bare, None),
        ("push", &costs.push, target),
        ("note", &costs.note, target),
        ("pop", &costs.pop, target),
    ] {
        table.row([
            name.to_owned(),
            format!("{:.0}", series.wall()),
            format!("{:.0}", series.wall_p90()),
            format!("{:.0}", series.cpu()),
            format!("{:.0}", series.cpu_mean()),
            ratio(series.wall(), costs.bare.wall(), target),
            ratio(series.cpu_mean(), costs.bare.cpu_mean(), None),
        ]);
    }
    print(heading, &table, "");
}
