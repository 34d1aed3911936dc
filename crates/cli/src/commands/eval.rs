//! `flame eval`

use std::collections::BTreeMap;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use clap::Args;
use flamestack_core::summary::{self, Told};
use flamestack_core::tokens::Estimate;
use flamestack_core::transcript::Entry;
use flamestack_engine::resume::{BESIDE_SUMMARY_TOKENS, RESULT_TOKENS};
use flamestack_eval::compaction::Aftermath;
use flamestack_eval::cost::{Bill, Policy, replay};
use flamestack_eval::need::{Need, clip};
use flamestack_eval::pop::pops;
use flamestack_eval::report::{Mean, Means};
use flamestack_eval::{Cut, Recording};
use flamestack_hosts::transcript::ctrace::Trace;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output::{BOLD, DIM, Output, Progress, painted};

/// Measure on recorded sessions what compactions lost and what a brief would have kept
///
/// Recorded work shows what was needed next, so no model is asked. Shares are between 0 and 1:
/// FRR is the share of the names that were used next, FRR old that of names not met for a while,
/// N4R that of the wording; H is the harmonic mean of the last two.
#[derive(Args)]
pub(crate) struct Eval {
    /// Recordings, or folders of them
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// How long a brief may be, in tokens of four characters
    #[arg(short, long, value_name = "N", default_value_t = 4000)]
    budget: usize,
}

/// What was measured, for one session or for many.
#[derive(Clone, Default)]
struct Measured {
    sessions: usize,
    briefs: Mean,
    summaries: Mean,
    beside: Mean,
    pops: Mean,
    pop_count: usize,
    compactions: usize,
    calls_after: usize,
    found_again: usize,
    read_again: BTreeMap<String, usize>,
    bills: [Bill; Policy::ALL.len()],
}

impl Eval {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let files = files(&self.paths)?;
        let next = AtomicUsize::new(0);
        let done = AtomicUsize::new(0);
        let progress = Progress::new("measuring");
        let measured = Mutex::new(Vec::new());
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..workers.min(files.len()) {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        let Some(file) = files.get(number) else {
                            return;
                        };
                        let session = self.session(file);
                        measured
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .push((number, session));
                        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                        progress.at(done as u64, files.len() as u64);
                    }
                });
            }
        });
        drop(progress);
        let mut measured = measured
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        measured.sort_by_key(|(number, _)| *number);
        let mut all = Measured::default();
        let mut groups: BTreeMap<String, Measured> = BTreeMap::new();
        for (_, session) in measured {
            let (host, source, session) = session?;
            all.join(&session);
            for group in [host, source].into_iter().filter(|name| !name.is_empty()) {
                groups.entry(group).or_default().join(&session);
            }
        }
        if output.is_json() {
            let groups: BTreeMap<&String, Value> = groups
                .iter()
                .map(|(name, group)| (name, group.json()))
                .collect();
            return output.data(&json!({ "all": all.json(), "groups": groups }));
        }
        all.tell(self.budget, &groups, output)
    }

    fn session(&self, path: &Path) -> Result<(String, String, Measured), Failure> {
        let file = BufReader::new(fs_err::File::open(path)?);
        let trace = Trace::read(file, None)?;
        let entries: Vec<Entry> = trace.events.into_iter().map(|(_, entry)| entry).collect();
        let recording = Recording::new(&entries);
        let mut measured = Measured {
            sessions: 1,
            ..Measured::default()
        };
        for cut in recording.cuts() {
            let need = Need::after(&recording, &cut);
            let text = brief(&recording, &cut, self.budget, "");
            measured.briefs.add(&need.score(&text, &recording));
        }
        for cut in recording.real_cuts() {
            measured.compaction(&recording, &cut);
        }
        let pops = pops(&entries);
        for pop in &pops.all {
            let text = summary::result(&pop.entries, &Told::default(), RESULT_TOKENS, &Estimate);
            let score = pops.score(pop, clip(&text, RESULT_TOKENS));
            measured.pops.add(&score);
            measured.pop_count += 1;
        }
        if recording.is_long() {
            for (bill, policy) in measured.bills.iter_mut().zip(Policy::ALL) {
                *bill = replay(&recording, policy);
            }
        }
        Ok((trace.header.host, trace.header.source, measured))
    }
}

fn brief(recording: &Recording<'_>, cut: &Cut<'_>, budget: usize, already: &str) -> String {
    let told = Told {
        already,
        ..Told::default()
    };
    let text = summary::brief(recording.before(cut), &told, budget, &Estimate);
    clip(&text, budget).to_owned()
}

impl Measured {
    fn compaction(&mut self, recording: &Recording<'_>, cut: &Cut<'_>) {
        let summary = cut.summary.unwrap_or_default();
        let need = Need::after(recording, cut);
        self.summaries.add(&need.score(summary, recording));
        let added = brief(recording, cut, BESIDE_SUMMARY_TOKENS, summary);
        let both = format!("{summary}\n{added}");
        self.beside.add(&need.score(&both, recording));
        let after = Aftermath::of(recording, cut);
        self.compactions += 1;
        self.calls_after += after.calls;
        self.found_again += after.found_again;
        for path in after.read_again {
            *self.read_again.entry(path).or_default() += 1;
        }
    }

    fn join(&mut self, other: &Self) {
        self.sessions += other.sessions;
        self.briefs.join(&other.briefs);
        self.summaries.join(&other.summaries);
        self.beside.join(&other.beside);
        self.pops.join(&other.pops);
        self.pop_count += other.pop_count;
        self.compactions += other.compactions;
        self.calls_after += other.calls_after;
        self.found_again += other.found_again;
        for (path, count) in &other.read_again {
            *self.read_again.entry(path.clone()).or_default() += count;
        }
        for (bill, other) in self.bills.iter_mut().zip(&other.bills) {
            bill.add(other);
        }
    }

    /// The bills, and what each costs relative to a host that compacts.
    fn costs(&self) -> impl Iterator<Item = (Policy, &Bill, f64)> {
        let base = Policy::ALL
            .iter()
            .zip(&self.bills)
            .find(|(policy, _)| **policy == Policy::Compact)
            .map_or(0, |(_, bill)| bill.cost());
        Policy::ALL
            .into_iter()
            .zip(&self.bills)
            .map(move |(policy, bill)| {
                #[expect(clippy::cast_precision_loss, reason = "a ratio")]
                let ratio = bill.cost() as f64 / base.max(1) as f64;
                (policy, bill, ratio)
            })
    }

    fn json(&self) -> Value {
        let costs: Vec<Value> = self
            .costs()
            .map(|(policy, bill, ratio)| {
                json!({
                    "policy": policy.label(),
                    "calls": bill.calls,
                    "promptTokens": bill.prompt,
                    "cachedTokens": bill.cached,
                    "longestPrompt": bill.longest,
                    "stablePrefix": bill.stable_prefix(),
                    "relativeCost": ratio,
                })
            })
            .collect();
        json!({
            "sessions": self.sessions,
            "briefs": shares(&self.briefs.means()),
            "hostSummaries": shares(&self.summaries.means()),
            "hostSummariesAndBriefs": shares(&self.beside.means()),
            "pops": { "count": self.pop_count, "frr": self.pops.means().names },
            "compactions": {
                "count": self.compactions,
                "callsAfter": self.calls_after,
                "namesFoundAgain": self.found_again,
                "filesReadAgain": self.read_again,
            },
            "cost": costs,
        })
    }

    fn tell(
        &self,
        budget: usize,
        groups: &BTreeMap<String, Self>,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let title = |text: &str| painted(BOLD, text);
        output.line(format!("{} sessions", self.sessions))?;
        output.line(format!(
            "\n{:38} {:>5} {:>5} {:>7} {:>5} {:>5} {:>10}",
            title("what the next 40 calls needed"),
            "cuts",
            "FRR",
            "FRR old",
            "N4R",
            "H",
            "directives"
        ))?;
        let brief = format!("brief of {budget} tokens");
        output.line(row(&brief, &self.briefs.means()))?;
        for (name, group) in groups {
            let means = group.briefs.means();
            if means.cuts > 0 && groups.len() > 2 {
                output.line(painted(DIM, row(&format!("  {name}"), &means)))?;
            }
        }
        if self.compactions > 0 {
            output.line(row("host's summaries", &self.summaries.means()))?;
            let both = format!("  and a brief of {BESIDE_SUMMARY_TOKENS} beside them");
            output.line(row(&both, &self.beside.means()))?;
            output.line(format!(
                "\n{}\n{} compactions; in the {} calls after them, {} names that were known came \
                 back from tools, and {} files were read again",
                title("what compactions lost"),
                self.compactions,
                self.calls_after,
                self.found_again,
                self.read_again.len()
            ))?;
            let mut most: Vec<_> = self.read_again.iter().collect();
            most.sort_by_key(|(path, count)| (std::cmp::Reverse(**count), *path));
            for (path, count) in most.into_iter().take(10) {
                output.line(format!("  {count:3}  {path}"))?;
            }
        }
        if self.pop_count > 0 {
            output.line(format!(
                "\n{}\nof what parents used of {} finished subagents, {RESULT_TOKENS} tokens would \
                 have kept {:.2}",
                title("what subagents returned"),
                self.pop_count,
                self.pops.means().names
            ))?;
        }
        if self.bills.iter().any(|bill| bill.calls > 0) {
            output.line(format!(
                "\n{:32} {:>14} {:>7} {:>13} {:>5}",
                title("what prompts cost"),
                "tokens",
                "cached",
                "longest",
                "cost"
            ))?;
            for (policy, bill, ratio) in self.costs() {
                output.line(format!(
                    "{:24} {:>14} {:>7.3} {:>13} {:>5.2}",
                    policy.label(),
                    bill.prompt,
                    bill.stable_prefix(),
                    bill.longest,
                    ratio
                ))?;
            }
        }
        Ok(())
    }
}

fn row(name: &str, means: &Means) -> String {
    format!(
        "{name:30} {:>5} {:>5.2} {:>7.2} {:>5.2} {:>5.2} {:>10.2}",
        means.cuts,
        means.names,
        means.old_names,
        means.phrases,
        means.harmonic(),
        means.prompts
    )
}

fn shares(means: &Means) -> Value {
    json!({
        "cuts": means.cuts,
        "frr": means.names,
        "frrOld": means.old_names,
        "n4r": means.phrases,
        "h": means.harmonic(),
        "directives": means.prompts,
        "precision": means.precision,
    })
}

/// The recordings that paths name, in order.
fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let mut inside = Vec::new();
            for entry in fs_err::read_dir(path)? {
                let path = entry?.path();
                if path
                    .extension()
                    .is_some_and(|extension| extension == "jsonl")
                {
                    inside.push(path);
                }
            }
            inside.sort();
            files.extend(inside);
        } else {
            files.push(path.clone());
        }
    }
    if files.is_empty() {
        return Err(Failure::usage(
            "there are no recordings there",
            "name files or folders with recorded sessions (.jsonl)",
        ));
    }
    Ok(files)
}
