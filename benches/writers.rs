//! Latency of one, eight and sixteen processes that write to one store concurrently.
//!
//! A fair share of `n` writers is `n` times the median of one writer alone: each waits for one command
//! of every other. The table shows how far the slowest commands are from that.

use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use flamestack_bench::{Setting, Table, WORKER, actor, print, titled};
use flamestack_core::command::{Command, Under};
use flamestack_core::decide;
use flamestack_engine::{Clock as _, SystemClock};
use flamestack_store::{OpenOptions, Store as _};

/// Largest accepted ratio of the slowest command to a fair share.
const TARGET: f64 = 5.0;
/// Variables that name the store and the time of a writer.
const STORE: &str = "FLAME_BENCH_STORE";
const MILLIS: &str = "FLAME_BENCH_MILLIS";

fn main() -> Result<()> {
    if let (Ok(store), Ok(millis)) = (std::env::var(STORE), std::env::var(MILLIS)) {
        return write(Path::new(&store), Duration::from_millis(millis.parse()?));
    }
    let Some(setting) = Setting::of_process()? else {
        return Ok(());
    };
    let time = Duration::from_secs(if setting.quick { 3 } else { 12 });
    let disk = setting.scratch()?;
    let mut table = Table::new([
        "writers",
        "commands",
        "p50 ms",
        "p99 ms",
        "max ms",
        "fewest",
        "most",
        "p99 / share",
        "max / share",
    ]);
    let mut alone = 0.0;
    for writers in [1_u32, 8, 16] {
        let dir = disk.path().join(format!("store-{writers}"));
        drop(OpenOptions::default().open(&dir)?);
        let counts = run(&dir, writers, time)?;
        let mut all: Vec<f64> = counts.iter().flatten().copied().collect();
        all.sort_by(f64::total_cmp);
        let p50 = quantile(&all, 0.5);
        if writers == 1 {
            alone = quantile(&all, 0.5);
        }
        // The mean, with all pauses of the disk and of other programs in it.
        let share = f64::max(
            alone * f64::from(writers),
            time.as_secs_f64() * 1e3 * f64::from(writers) / as_float(all.len()),
        );
        let by_writer = |pick: fn(usize, usize) -> usize, start| {
            counts.iter().map(Vec::len).fold(start, pick).to_string()
        };
        let within = |value: f64| {
            let ratio = value / share;
            format!("{ratio:.2}× {}", if ratio <= TARGET { "✓" } else { "✗" })
        };
        table.row([
            writers.to_string(),
            all.len().to_string(),
            format!("{p50:.2}"),
            format!("{:.2}", quantile(&all, 0.99)),
            format!("{:.2}", quantile(&all, 1.0)),
            by_writer(usize::min, usize::MAX),
            by_writer(usize::max, 0),
            within(quantile(&all, 0.99)),
            within(quantile(&all, 1.0)),
        ]);
    }
    let seconds = time.as_secs();
    print(
        &format!("Writers of one store, {seconds} s each"),
        &table,
        "share: the time in which every writer is served once.",
    );
    Ok(())
}

/// Starts writers and returns the times of the commands of each, in milliseconds.
fn run(store: &Path, writers: u32, time: Duration) -> Result<Vec<Vec<f64>>> {
    let children: Vec<_> = (0..writers)
        .map(|_| {
            Process::new(std::env::current_exe()?)
                .env(STORE, store)
                .env(MILLIS, time.as_millis().to_string())
                .stdout(Stdio::piped())
                .spawn()
        })
        .collect::<Result<_, _>>()?;
    let mut all = Vec::new();
    for child in children {
        let output = child.wait_with_output()?;
        if !output.status.success() {
            bail!("a writer failed");
        }
        let text = String::from_utf8(output.stdout)?;
        let times = text.lines().map(str::parse).collect::<Result<_, _>>();
        all.push(times.context("a writer prints times")?);
    }
    Ok(all)
}

/// Writes until the time is over and prints how long each command took.
#[expect(
    clippy::print_stdout,
    reason = "the times are read by the process that started this one"
)]
fn write(store: &Path, time: Duration) -> Result<()> {
    let mut store = OpenOptions::default().open(store)?;
    let actor = actor(WORKER)?;
    let begun = Instant::now();
    let mut times = Vec::new();
    while begun.elapsed() < time {
        let push = Command::Push {
            id: SystemClock.draw_id(),
            under: Under::Root,
            goal: titled("Add the refresh endpoint")?,
        };
        let command = Instant::now();
        store
            .commit(SystemClock.now(), &actor, &mut |reading| {
                decide(reading, &actor, &push)
            })
            .map_err(|rejected| anyhow!("{rejected}"))?;
        times.push(command.elapsed().as_secs_f64() * 1e3);
    }
    for time in times {
        println!("{time}");
    }
    Ok(())
}

fn quantile(sorted: &[f64], part: f64) -> f64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place among some thousand commands"
    )]
    let place = (part * as_float(sorted.len().saturating_sub(1))).round() as usize;
    sorted.get(place).copied().unwrap_or(f64::NAN)
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53 commands")]
fn as_float(count: usize) -> f64 {
    count as f64
}
