//! Time of a frame's summary, which should grow in proportion to its events.
//!
//! A session of edits, commands and answers of a few kilobytes each, as agents make them, with
//! 1,250, 2,500, 5,000 and 10,000 events. Briefs of 4,000 tokens and results of 300 take turns.

use anyhow::{Result, ensure};
use flamestack_bench::{Series, Setting, Table, print, ratio, say};
use flamestack_core::transcript::{Answer, Call, CallKind, Entry, EntryKind, Speaker};
use flamestack_extract::summary::{SummaryInput, brief, result};
use flamestack_extract::tokens::{Estimate, Tokenizer};

const SIZES: [usize; 4] = [1_250, 2_500, 5_000, 10_000];
const BRIEF: usize = 4_000;
const RESULT: usize = 300;
const WARM_UP: usize = 2;
/// Twice the events may cost this much more: memory is not as near.
const TARGET: f64 = 2.5;

fn main() -> Result<()> {
    let Some(setting) = Setting::of_process()? else {
        return Ok(());
    };
    let rounds = if setting.quick { 5 } else { 20 };
    say("making sessions …");
    let sessions: Vec<Vec<Entry>> = SIZES.into_iter().map(session).collect();
    let mut costs: Vec<[Series; 2]> = SIZES.iter().map(|_| Default::default()).collect();
    let input = SummaryInput::default();
    for round in 0..WARM_UP + rounds {
        for (entries, [briefs, results]) in sessions.iter().zip(&mut costs) {
            let text = briefs.time(|| brief(entries, &input, BRIEF, &Estimate));
            ensure!(Estimate.count(&text) <= BRIEF && text.len() > BRIEF);
            let text = results.time(|| result(entries, &input, RESULT, &Estimate));
            ensure!(Estimate.count(&text) <= RESULT && text.len() > RESULT);
            if round < WARM_UP {
                *briefs = Series::default();
                *results = Series::default();
            }
        }
    }
    report(&sessions, &costs);
    Ok(())
}

fn report(sessions: &[Vec<Entry>], costs: &[[Series; 2]]) {
    let mut table = Table::new(["events", "MB", "brief, ms", "twice", "result, ms", "twice"]);
    let mut before: Option<&[Series; 2]> = None;
    for (entries, series) in sessions.iter().zip(costs) {
        let [briefs, results] = series;
        let grown = |nth: usize, series: &Series| {
            let base = before.and_then(|before| before.get(nth));
            base.map_or(String::new(), |base| {
                ratio(series.wall(), base.wall(), Some(TARGET))
            })
        };
        #[expect(clippy::cast_precision_loss, reason = "megabytes")]
        let size = entries.iter().map(bytes).sum::<usize>() as f64 / 1e6;
        table.row([
            entries.len().to_string(),
            format!("{size:.1}"),
            format!("{:.1}", briefs.wall() / 1e3),
            grown(0, briefs),
            format!("{:.1}", results.wall() / 1e3),
            grown(1, results),
        ]);
        before = Some(series);
    }
    print(
        "Summaries, p50",
        &table,
        "A frame of 5,000 events is to be summarised within 50 ms.",
    );
}

fn bytes(entry: &Entry) -> usize {
    match &entry.kind {
        EntryKind::User { text, .. } | EntryKind::Assistant { text } => text.len(),
        EntryKind::Call(call) => call.arguments.len(),
        EntryKind::Answer(answer) => answer.text.len(),
        _ => 0,
    }
}

/// A session in which files are read, changed and tested in turns.
fn session(events: usize) -> Vec<Entry> {
    let mut entries = Vec::with_capacity(events);
    let mut numbers = 0x9e37_79b9_7f4a_7c15u64;
    let mut number = |below: u64| {
        numbers ^= numbers << 13;
        numbers ^= numbers >> 7;
        numbers ^= numbers << 17;
        numbers % below
    };
    while entries.len() < events {
        let turn = entries.len();
        let file = format!("src/area{}/part{}.rs", number(12), number(40));
        let lines = |count: u64, number: &mut dyn FnMut(u64) -> u64| {
            let mut text = String::new();
            for _ in 0..count {
                let (a, b, c) = (number(600), number(90), number(30));
                text.push_str(&format!(
                    "    let value_{a} = compute_{b}(state, &options.field_{c})?;\n"
                ));
            }
            text
        };
        let what = match turn % 40 {
            0 => EntryKind::User {
                speaker: Speaker::Person,
                text: format!("Make compute_{} in {file} faster, please.", number(90)),
            },
            n if n % 4 == 1 => EntryKind::Assistant {
                text: format!("Now I look at {file} and compute_{}.", number(90)),
            },
            n if n % 4 == 2 => EntryKind::Call(Call {
                id: turn.to_string(),
                tool: "Edit".to_owned(),
                kind: CallKind::Edit,
                arguments: format!(
                    "{{\"file_path\": \"{file}\", \"new_string\": \"{}\"}}",
                    lines(6, &mut number).replace('\n', "\\n")
                ),
                paths: vec![file],
                command: None,
            }),
            n if n % 4 == 3 => EntryKind::Answer(Answer {
                call: (turn - 1).to_string(),
                ok: number(5) > 0,
                exit_code: None,
                text: lines(20, &mut number),
            }),
            _ => EntryKind::Call(Call {
                id: turn.to_string(),
                tool: "Bash".to_owned(),
                kind: CallKind::Execute,
                arguments: format!("{{\"command\": \"cargo test -p area{}\"}}", number(12)),
                paths: Vec::new(),
                command: None,
            }),
        };
        entries.push(Entry {
            id: None,
            message: None,
            at: None,
            agent: None,
            kind: what,
        });
    }
    entries
}
