//! Cost of the signals of one event, as the history of a session and of its project grows.
//!
//! A session is read for 1,000 and for 100,000 events; then the next events are measured one by one. In
//! projects of 1,000 and 100,000 frames, the engine takes one event of a host and asks whether to
//! suggest anything; an event without a boundary is compared to one with a boundary. The sizes take
//! turns.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use flamestack_bench::{History, Series, Setting, Shape, Table, actor, print, ratio, say};
use flamestack_core::command::Actor;
use flamestack_core::transcript::{Answer, Call, CallKind, Entry, EntryKind, Speaker};
use flamestack_engine::autonomy::SignalReader;
use flamestack_engine::settings::Settings;
use flamestack_engine::subagents::Tracking;
use flamestack_engine::{Engine, Home, Project, SystemClock};

/// Largest accepted cost of an event's signals, in microseconds.
const AIM: f64 = 200.0;
/// Largest accepted ratio of the longest history to the shortest.
const TARGET: f64 = 2.0;
const WARM_UP: usize = 20;
const SIZES: [u64; 2] = [1_000, 100_000];

fn main() -> Result<()> {
    let Some(setting) = Setting::of_process()? else {
        return Ok(());
    };
    let rounds = if setting.quick { 200 } else { 1_000 };
    readers(rounds);
    projects(&setting, rounds)
}

/// Measures the reading of an event after sessions of two lengths.
fn readers(rounds: usize) {
    let mut all: Vec<(u64, SignalReader, Series)> = SIZES
        .map(|events| {
            say(&format!("reading a session of {events} events …"));
            let mut reader = SignalReader::default();
            for n in 0..events / 2 {
                for entry in step(n) {
                    reader.read(&entry);
                }
            }
            (events, reader, Series::default())
        })
        .into();
    for round in 0..WARM_UP + rounds {
        for (events, reader, cost) in &mut all {
            let [call, answer] = step(*events + round as u64);
            reader.read(&call);
            let measured = cost.time(|| reader.read(&answer));
            std::hint::black_box(measured);
            if round + 1 == WARM_UP {
                *cost = Series::default();
            }
        }
    }
    let rows = all.iter().map(|(events, _, cost)| (*events, cost));
    report(
        "Signals of one event",
        "events before",
        &rows.collect::<Vec<_>>(),
    );
}

/// Measures what the engine does for suggestions in projects of two sizes.
fn projects(setting: &Setting, rounds: usize) -> Result<()> {
    let scratch = setting.scratch()?;
    let mut all = Vec::new();
    for frames in SIZES {
        let engine = engine(setting, &scratch.path().join(frames.to_string()), frames)?;
        all.push((frames, engine, Series::default(), Series::default()));
    }
    let worker = actor("opencode:ses_bench")?;
    for (_, engine, ..) in &all {
        engine.ingest(&worker, &[said("Make the parser accept empty input", 0)])?;
    }
    for round in 0..WARM_UP + rounds {
        for (_, engine, plain, boundary) in &mut all {
            take(engine, &worker, round as u64)?;
            plain.time(|| engine.autonomy().consider(&worker))?;
            engine.ingest(&worker, &[ended(round as u64)])?;
            boundary.time(|| engine.autonomy().consider(&worker))?;
            if round + 1 == WARM_UP {
                (*plain, *boundary) = (Series::default(), Series::default());
            }
        }
    }
    let of = |place: fn(&(u64, Engine, Series, Series)) -> &Series| {
        all.iter()
            .map(|one| (one.0, place(one)))
            .collect::<Vec<_>>()
    };
    report("Event without a boundary", "frames", &of(|one| &one.2));
    report(
        "Event at a boundary: a suggestion is considered",
        "frames",
        &of(|one| &one.3),
    );
    Ok(())
}

fn report(title: &str, size: &str, rows: &[(u64, &Series)]) {
    let mut table = Table::new([size, "wall µs", "wall p90 µs", "CPU µs", "CPU ratio", "aim"]);
    let base = rows.first().map_or(1.0, |(_, cost)| cost.cpu());
    for (size, cost) in rows {
        let is_met = cost.wall_p90() <= AIM;
        table.row([
            size.to_string(),
            format!("{:.1}", cost.wall()),
            format!("{:.1}", cost.wall_p90()),
            format!("{:.1}", cost.cpu()),
            ratio(cost.cpu(), base, Some(TARGET)),
            format!("{} ≤ {AIM} µs", if is_met { "✓" } else { "✗" }),
        ]);
    }
    print(title, &table, "");
}

/// Makes an engine with all heuristics on, in a project of many frames.
fn engine(setting: &Setting, place: &Path, frames: u64) -> Result<Engine> {
    let home = Home {
        state: place.join("state"),
        config: place.join("config"),
    };
    let folder = place.join("project");
    fs_err::create_dir_all(&folder)?;
    let project = Project::at(&folder, &home)?;
    drop(History::copy_to(
        &project.dir,
        setting,
        Shape::Wide,
        frames,
    )?);
    let known = project.clone();
    let gather = move || {
        let named = |name: &str| (name == "STACK_ENABLED_HEURISTICS").then(|| "all".to_owned());
        Settings::gather(&home, &known, &named)
    };
    let engine = Engine::new(project, Box::new(SystemClock), Duration::from_secs(30));
    Ok(engine.with_subagents(Tracking::default(), Box::new(gather)))
}

fn take(engine: &Engine, worker: &Actor, n: u64) -> Result<()> {
    engine.ingest(worker, &step(n))?;
    Ok(())
}

fn entry(name: &str, kind: EntryKind) -> Entry {
    Entry {
        id: Some(name.to_owned()),
        message: Some(name.to_owned()),
        ..Entry::from(kind)
    }
}

fn said(text: &str, n: u64) -> Entry {
    let (speaker, text) = (Speaker::Person, text.to_owned());
    entry(&format!("said{n}"), EntryKind::User { speaker, text })
}

fn ended(n: u64) -> Entry {
    entry(&format!("ended{n}"), EntryKind::TurnEnded)
}

/// Makes a call and its answer: different files, every third one fails.
fn step(n: u64) -> [Entry; 2] {
    let id = format!("c{n}");
    let fails = n.is_multiple_of(3);
    let call = EntryKind::Call(Call {
        id: id.clone(),
        tool: "bash".to_owned(),
        kind: CallKind::Execute,
        arguments: "{}".to_owned(),
        paths: vec![format!("src/file{n}.rs")],
        command: Some(format!("cargo test --test t{n}")),
    });
    let line = format!("error[E{n}]: cannot find `name{n}` in this scope\n");
    let answer = EntryKind::Answer(Answer {
        call: id.clone(),
        ok: !fails,
        exit_code: Some(i32::from(fails)),
        text: line + &"x ".repeat(2_000),
    });
    [entry(&id, call), entry(&format!("a{n}"), answer)]
}
