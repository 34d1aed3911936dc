//! Cost of assembling a context.
//!
//! Inside histories of three sizes, in neighbourhoods from ten frames to ten thousand, beside the
//! least that any such text costs (counting its tokens and escaping its bytes), from the cache, and
//! in memory. The cache of contexts is emptied before every context that is to be made; everything
//! else is as in a process that has served before.

mod places;

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use flamestack_bench::{History, Series, Setting, Shape, Table, print, ratio, say};
use flamestack_context::assemble;
use flamestack_context::xml::escape;
use flamestack_core::id::FrameId;
use flamestack_engine::context::{ContextOptions, ContextTarget, Preferences, surroundings};
use flamestack_engine::{Engine, SystemClock};
use flamestack_extract::tokens::Tokenizer as _;
use flamestack_store::SiblingIndex;
use flamestack_tokens::O200k;

use crate::places::{Crowd, Place, project};

/// Largest accepted ratio of the largest history to the smallest.
const FLAT: f64 = 2.0;
/// Largest accepted ratio of an ordinary context to the floor.
const FLOOR: f64 = 3.0;
/// Largest accepted time of a context among ten thousand, and of one from the cache, in microseconds.
const CROWDED: f64 = 10_000.0;
const CACHED: f64 = 100.0;
/// Memory beyond the tokenizer's tables, in megabytes.
const MEMORY: f64 = 50.0;
const WARM_UP: usize = 10;

fn main() -> Result<()> {
    if let Some(task) = std::env::var_os("FLAME_BENCH_MEMORY") {
        return remember(&task.to_string_lossy());
    }
    let Some(setting) = Setting::of_process()? else {
        return Ok(());
    };
    let rounds = if setting.quick { 60 } else { 200 };
    growing_history(&setting, rounds)?;
    growing_crowd(&setting, rounds)?;
    beside_the_floor(&setting, rounds)?;
    memory(&setting)
}

/// A process that serves one frame of a project.
struct Served {
    name: String,
    engine: Engine,
    frame: FrameId,
    made: Series,
    kept: Series,
}

impl Served {
    fn new(name: String, engine: Engine, frame: FrameId) -> Self {
        Self {
            name,
            engine,
            frame,
            made: Series::default(),
            kept: Series::default(),
        }
    }

    fn text(&self) -> Result<String> {
        let whose = ContextTarget::Frame(self.frame);
        let context = self
            .engine
            .contexts()
            .context(&whose, &ContextOptions::default())?;
        Ok(context.context("no such frame")?.text.clone())
    }

    fn round(&mut self) -> Result<()> {
        let whose = ContextTarget::Frame(self.frame);
        self.engine.contexts().forget(None);
        let wanted = ContextOptions::default();
        let made = self
            .made
            .time(|| self.engine.contexts().context(&whose, &wanted))?;
        let kept = self
            .kept
            .time(|| self.engine.contexts().context(&whose, &wanted))?;
        ensure!(made.is_some() && made == kept, "not the same context again");
        Ok(())
    }
}

/// All of them in turns, so that whatever else the machine does hits all of them.
fn measure(all: &mut [Served], rounds: usize) -> Result<()> {
    for round in 0..WARM_UP + rounds {
        for one in &mut *all {
            one.round()?;
            if round + 1 == WARM_UP {
                (one.made, one.kept) = Default::default();
            }
        }
    }
    Ok(())
}

fn engine(dir: &std::path::Path) -> Engine {
    let timeout = std::time::Duration::from_secs(30);
    Engine::new(project(dir), Box::new(SystemClock), timeout).with_contexts(Preferences::default())
}

fn growing_history(setting: &Setting, rounds: usize) -> Result<()> {
    let sizes = if setting.quick {
        [1_000, 10_000, 100_000]
    } else {
        [1_000, 100_000, 1_000_000]
    };
    for shape in Shape::ALL {
        let scratch = setting.scratch()?;
        let mut all = Vec::new();
        for frames in sizes {
            let mut history = History::open(setting, scratch.path(), shape, frames)?;
            let same = Place::ordinary(&mut history)?;
            let inside = Place::inside(&mut history)?;
            let dir = history.store.path().parent().map(ToOwned::to_owned);
            drop(history);
            let dir = dir.context("a store is in a directory")?;
            let name = format!("{frames} frames");
            all.push(Served::new(name.clone(), engine(&dir), same.focus));
            all.push(Served::new(name, engine(&dir), inside.focus));
        }
        say(&format!("measuring contexts in {} …", shape.name()));
        measure(&mut all, rounds)?;
        let [small, small_in, middle, middle_in, large, large_in] = all.as_slice() else {
            continue;
        };
        let mut table = Table::new([
            "p50 in µs",
            "",
            &small.name,
            &middle.name,
            &large.name,
            "largest / smallest",
        ]);
        let (same, inside) = ([small, middle, large], [small_in, middle_in, large_in]);
        for (name, of, [small, middle, large]) in [
            ("make a context", made as fn(&Served) -> &Series, same),
            ("from the cache", kept, same),
            ("make one inside the history", made, inside),
        ] {
            for (what, figure) in [
                ("wall", Series::wall as fn(&Series) -> f64),
                ("CPU", Series::cpu),
            ] {
                let cost = |one: &Served| figure(of(one));
                table.row([
                    name.to_owned(),
                    what.to_owned(),
                    format!("{:.1}", cost(small)),
                    format!("{:.1}", cost(middle)),
                    format!("{:.1}", cost(large)),
                    ratio(cost(large), cost(small), Some(FLAT)),
                ]);
            }
        }
        let title = format!("Contexts in a history: {}", shape.name());
        print(&title, &table, "");
    }
    Ok(())
}

fn made(one: &Served) -> &Series {
    &one.made
}

fn kept(one: &Served) -> &Series {
    &one.kept
}

fn growing_crowd(setting: &Setting, rounds: usize) -> Result<()> {
    let scratch = setting.scratch()?;
    let mut all = Vec::new();
    for crowd in Crowd::ALL {
        for size in [10, 100, 1_000, 10_000] {
            let dir = scratch.path().join(format!("{}-{size}", crowd.name()));
            let place = crowd.built(&dir, size)?;
            let name = format!("{size} {}", crowd.name());
            all.push(Served::new(name, engine(&dir), place.focus));
        }
    }
    say("measuring contexts in crowds …");
    measure(&mut all, rounds)?;
    let mut table = Table::new([
        "",
        "made, wall p50 µs",
        "p90",
        "CPU p50 µs",
        "from the cache, wall p50 µs",
        "p90",
        "tokenizer µs",
        "within the aims",
    ]);
    for one in &all {
        let text = one.text()?;
        let mut counting = Series::default();
        for _ in 0..rounds {
            counting.time(|| O200k.count(&text));
        }
        let within = one.made.wall() <= CROWDED && one.kept.wall() <= CACHED;
        table.row([
            one.name.clone(),
            format!("{:.0}", one.made.wall()),
            format!("{:.0}", one.made.wall_p90()),
            format!("{:.0}", one.made.cpu()),
            format!("{:.1}", one.kept.wall()),
            format!("{:.1}", one.kept.wall_p90()),
            format!("{:.0}", counting.wall()),
            if within { "✓" } else { "✗" }.to_owned(),
        ]);
    }
    let note =
        "Tokenizer: counting the finished text once. Aims: 10 ms made, 0.1 ms from the cache.";
    print("Contexts in a crowd", &table, note);
    Ok(())
}

fn beside_the_floor(setting: &Setting, rounds: usize) -> Result<()> {
    let scratch = setting.scratch()?;
    let dir = scratch.path().join("ordinary");
    let place = Crowd::Siblings.built(&dir, 20)?;
    let served = Served::new("ordinary".to_owned(), engine(&dir), place.focus);
    let text = served.text()?;
    let siblings = SiblingIndex::new(&dir);
    let settings = Preferences::default().assembly;
    let frame = served.frame;
    let around = || {
        served
            .engine
            .read(|reading| surroundings(reading, &frame, None, Some(&siblings)))
    };
    let mut series: [Series; 6] = Default::default();
    say("measuring an ordinary context against its floor …");
    for round in 0..WARM_UP + rounds * 5 {
        if round == WARM_UP {
            series = Default::default();
        }
        let [floor, counting, making, reading, assembling, remembered] = &mut series;
        floor.time(|| {
            let mut out = String::with_capacity(text.len() * 2);
            escape(&mut out, &text);
            (O200k.count(&text), out)
        });
        counting.time(|| O200k.count(&text));
        let made = making.time(|| around().map(|read| assemble(&read, &settings, &O200k)))?;
        ensure!(made.text == text, "not the same context");
        let read = reading.time(around)?;
        assembling.time(|| assemble(&read, &settings, &O200k));
        let whose = ContextTarget::Frame(frame);
        served.engine.contexts().forget(None);
        remembered.time(|| {
            served
                .engine
                .contexts()
                .context(&whose, &ContextOptions::default())
        })?;
    }
    let [floor, ..] = &series;
    let mut table = Table::new([
        "",
        "wall p50 µs",
        "p90",
        "CPU p50 µs",
        "wall / floor",
        "CPU / floor",
    ]);
    for (series, (name, aim)) in series.iter().zip([
        ("the floor: count and escape the same bytes", None),
        ("of it: count the tokens", None),
        ("read and assemble, every count made anew", Some(FLOOR)),
        ("of it: read", None),
        ("of it: assemble", Some(FLOOR)),
        (
            "read and assemble, as a process does that has served before",
            Some(FLOOR),
        ),
    ]) {
        table.row([
            name.to_owned(),
            format!("{:.0}", series.wall()),
            format!("{:.0}", series.wall_p90()),
            format!("{:.0}", series.cpu()),
            ratio(series.wall(), floor.wall(), aim),
            ratio(series.cpu(), floor.cpu(), aim),
        ]);
    }
    let note = format!("{} bytes, {} tokens.", text.len(), O200k.count(&text));
    print(
        "An ordinary context (5 ancestors, 20 siblings)",
        &table,
        &note,
    );
    Ok(())
}

/// Starts this program again: once with a tokenizer and nothing else, once serving a project.
fn memory(setting: &Setting) -> Result<()> {
    let frames: u64 = if setting.quick { 100_000 } else { 1_000_000 };
    let mut table = Table::new([
        "resident memory, MB",
        "tokenizer only, now",
        "serving, now",
        "at most",
        "beyond the tokenizer, at most",
    ]);
    let scratch = setting.scratch()?;
    let said = scratch.path().join("said");
    let run = |what: &str| -> Result<Vec<f64>> {
        let output = Command::new(std::env::current_exe()?)
            .env("FLAME_BENCH_MEMORY", format!("{}|{what}", said.display()))
            .output()?;
        ensure!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let words = fs_err::read_to_string(&said)?;
        let numbers = words.split_whitespace().map(|word| Ok(word.parse()?));
        numbers.collect()
    };
    for shape in Shape::ALL {
        let mut history = History::open(setting, scratch.path(), shape, frames)?;
        let place = Place::inside(&mut history)?;
        let dir = history.store.path().parent().map(ToOwned::to_owned);
        let dir = dir.context("a store is in a directory")?;
        drop(history);
        let alone = run("")?;
        let serving = run(&format!("{} {}", place.focus, dir.display()))?;
        let ([bare, _], [now, peak]) = (alone.as_slice(), serving.as_slice()) else {
            continue;
        };
        // Loading the tables has a peak of its own, which counts against us here.
        let beyond = peak - bare;
        table.row([
            format!("{frames} frames, {}", shape.name()),
            format!("{bare:.1}"),
            format!("{now:.1}"),
            format!("{peak:.1}"),
            format!("{beyond:.1} {}", if beyond <= MEMORY { "✓" } else { "✗" }),
        ]);
    }
    print("Memory of a process that serves a project", &table, "");
    Ok(())
}

/// Does what such a process does: makes the contexts of a frame and of all above it, time and again,
/// and says how much memory it has and has had.
fn remember(task: &str) -> Result<()> {
    let (said, what) = task.split_once('|').context("nowhere to say it")?;
    O200k.count("The tables are loaded with the first count.");
    if let Some((frame, dir)) = what.split_once(' ') {
        let engine = engine(std::path::Path::new(dir));
        let frame: FrameId = frame.parse()?;
        for _ in 0..50 {
            let mut next = Some(frame);
            for _ in 0..8 {
                let Some(frame) = next.take() else { break };
                engine
                    .contexts()
                    .context(&ContextTarget::Frame(frame), &ContextOptions::default())?;
                next = engine
                    .read(|reading| Ok(reading.frame(&frame)?.and_then(|head| head.parent)))?;
            }
            engine.contexts().forget(None);
        }
    }
    let (now, peak) = places::memory()?;
    fs_err::write(said, format!("{now} {peak}"))?;
    Ok(())
}
