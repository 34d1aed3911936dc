//! Cost of importing recorded sessions as they grow.
//!
//! Two files of the neutral format, one ten times the other, each imported by a process of its own;
//! then the larger one once more, which must change nothing.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Result, ensure};
use flamestack_bench::{Cost, Series, Setting, Table, print, ratio, say};
use wait4::Wait4 as _;

/// Events of the larger file: about 60 MB.
const EVENTS: u64 = 100_000;
/// Largest accepted ratio of the larger import's memory to the smaller one's.
const MEMORY_TARGET: f64 = 1.5;
/// Largest accepted ratio of their times.
const TIME_TARGET: f64 = 12.0;

fn main() -> Result<()> {
    let Some(setting) = Setting::of_process()? else {
        return Ok(());
    };
    let flame = setting.flame()?;
    let events = if setting.quick { EVENTS / 10 } else { EVENTS };
    let dir = setting.scratch()?;
    let mut table = Table::new([
        "import",
        "size",
        "wall",
        "CPU",
        "peak memory",
        "against the first",
    ]);
    let small = file(dir.path(), "small", events / 10)?;
    let large = file(dir.path(), "large", events)?;
    let mut first: Option<Cost> = None;
    let rounds = [
        ("a tenth of the events", &small, "one"),
        ("all of them", &large, "two"),
        ("all of them once more", &large, "two"),
    ];
    for (what, file, state) in rounds {
        say(what);
        let cost = import(&flame, dir.path(), file, state)?;
        let size = fs_err::metadata(file)?.len();
        let mut series = Series::default();
        series.add(cost);
        let mut base = Series::default();
        base.add(first.unwrap_or(cost));
        let against = format!(
            "time {}, memory {}",
            ratio(series.cpu(), base.cpu(), Some(TIME_TARGET)),
            ratio(series.memory(), base.memory(), Some(MEMORY_TARGET)),
        );
        table.row([
            what.to_owned(),
            format!("{:.1} MB", mega(size)),
            format!("{:.2} s", cost.wall.as_secs_f64()),
            format!("{:.2} s", cost.cpu.as_secs_f64()),
            format!("{:.0} MB", mega(cost.memory)),
            against,
        ]);
        first.get_or_insert(cost);
    }
    let remark = format!("{events} events in the larger file.");
    print("Importing recorded sessions", &table, &remark);
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn mega(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// Runs `flame import` and returns its cost.
fn import(flame: &Path, dir: &Path, file: &Path, state: &str) -> Result<Cost> {
    let project = dir.join("project");
    fs_err::create_dir_all(project.join(".git"))?;
    let begun = Instant::now();
    let child = Command::new(flame)
        .arg("import")
        .arg(file)
        .current_dir(project)
        .env_clear()
        .env("HOME", dir)
        .env("FLAME_STATE_DIR", dir.join(state))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let used = child.wait4()?;
    ensure!(used.status.success(), "the import failed");
    Ok(Cost {
        wall: begun.elapsed(),
        cpu: used.rusage.utime + used.rusage.stime,
        memory: used.rusage.maxrss,
    })
}

/// A session as sessions are: prompts, calls, answers of all sizes, costs.
fn file(dir: &Path, name: &str, events: u64) -> Result<PathBuf> {
    let path = dir.join(format!("{name}.jsonl"));
    let mut text = String::from(
        "{\"t\":\"session\",\"v\":1,\"id\":\"bench\",\"host\":\"codex\",\"source\":\"bench\"}\n",
    );
    let mut out = fs_err::File::create(&path)?;
    for i in 1..=events {
        line(&mut text, i)?;
        if text.len() > 1 << 20 || i == events {
            std::io::Write::write_all(&mut out, text.as_bytes())?;
            text.clear();
        }
    }
    Ok(path)
}

fn line(text: &mut String, i: u64) -> Result<()> {
    let turn = i / 40;
    let words = |n: u64| -> String {
        let pick = [
            "error",
            "frame",
            "src/lib.rs",
            "the",
            "test",
            "value",
            "of",
            "cursor",
            "=>",
        ];
        let place = |k: u64| usize::try_from(k.wrapping_mul(i ^ 0x1eef) % 9).unwrap_or_default();
        let words = (0..n).map(|k| pick.get(place(k)).copied().unwrap_or("word"));
        words.collect::<Vec<_>>().join(" ")
    };
    let body = match i % 40 {
        1 => format!(
            "\"t\":\"user\",\"kind\":\"prompt\",\"text\":\"Do {turn}: {}\"",
            words(30)
        ),
        39 => "\"t\":\"turn_end\"".to_owned(),
        38 => format!("\"t\":\"assistant\",\"text\":\"{}\"", words(80)),
        k if k % 3 == 2 => format!(
            "\"t\":\"call\",\"id\":\"c{i}\",\"name\":\"edit\",\"k\":\"{}\",\"args\":{{\"old\":\"{}\"}},\"paths\":[\"src/file{}.rs\"],\"cmd\":\"cargo test case_{}\"",
            if k % 2 == 0 { "edit" } else { "exec" },
            words(40),
            i % 97,
            i % 53
        ),
        k if k % 3 == 0 => format!(
            "\"t\":\"result\",\"id\":\"c{}\",\"ok\":true,\"text\":\"{}\"",
            i - 1,
            words(if k % 9 == 0 { 700 } else { 160 })
        ),
        _ => "\"t\":\"usage\",\"in\":10,\"cache_read\":9000,\"cache_write\":200,\"out\":90"
            .to_owned(),
    };
    writeln!(
        text,
        "{{\"i\":{i},\"ts\":{},{body}}}",
        1_770_000_000_000 + i * 500
    )?;
    Ok(())
}
