//! Measurements of recorded sessions, of one or summed over many.

use std::collections::BTreeMap;

use flamestack_engine::summaries::{BESIDE_SUMMARY_TOKENS, RESULT_TOKENS};
use flamestack_eval::artifacts::{FileRecall, artifacts};
use flamestack_eval::compaction::Aftermath;
use flamestack_eval::cost::{Bill, Policy, replay};
use flamestack_eval::held_out::Marks;
use flamestack_eval::interruption::{Interruptions, Resumes};
use flamestack_eval::need::{Need, clip};
use flamestack_eval::pop::pops;
use flamestack_eval::report::{Mean, Means};
use flamestack_eval::siblings::rankings;
use flamestack_eval::{Cut, Recording};
use flamestack_extract::summary::{self, SummaryInput};
use flamestack_extract::tokens::Estimate;
use serde_json::{Value, json};

use crate::commands::recordings::Session;

/// The measurements.
#[derive(Clone, Default)]
pub(super) struct Measured {
    pub(super) sessions: usize,
    pub(super) calls: usize,
    pub(super) briefs: Mean,
    pub(super) summaries: Mean,
    pub(super) beside: Mean,
    pub(super) pops: Mean,
    pub(super) pop_count: usize,
    pub(super) compactions: usize,
    pub(super) calls_after: usize,
    pub(super) found_again: usize,
    pub(super) read_again: BTreeMap<String, usize>,
    pub(super) rankings: (f64, usize),
    /// Changed files, according to the host and according to the recorder.
    pub(super) changed: [FileRecall; 2],
    pub(super) interruptions: Interruptions,
    pub(super) bills: [Bill; Policy::ALL.len()],
}

impl Measured {
    /// Measures a session with briefs of at most `budget` tokens.
    pub(super) fn of(session: &Session, budget: usize) -> Self {
        let entries = &session.entries;
        let recording = Recording::new(entries);
        let mut measured = Self {
            sessions: 1,
            calls: recording.call_count(),
            interruptions: Interruptions::of(entries),
            ..Self::default()
        };
        for cut in recording.cuts() {
            let need = Need::after(&recording, &cut);
            let text = brief(&recording, &cut, budget, "");
            measured.briefs.add(&need.score(&text, &recording));
        }
        for cut in recording.real_cuts() {
            measured.compaction(&recording, &cut);
        }
        let pops = pops(entries);
        for pop in &pops.all {
            let text = summary::result(
                &pop.entries,
                &SummaryInput::default(),
                RESULT_TOKENS,
                &Estimate,
            );
            let score = pops.score(pop, clip(&text, RESULT_TOKENS));
            measured.pops.add(&score);
            measured.pop_count += 1;
        }
        let rankings = rankings(&recording);
        measured.rankings = (rankings.iter().sum(), rankings.len());
        let accounts = artifacts(entries, &session.touched);
        measured.changed = [accounts.host, accounts.recorder].map(Option::unwrap_or_default);
        if recording.is_long() {
            for (bill, policy) in measured.bills.iter_mut().zip(Policy::ALL) {
                *bill = replay(&recording, policy);
            }
        }
        measured
    }

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

    /// Adds the measurements of another session.
    pub(super) fn join(&mut self, other: &Self) {
        self.sessions += other.sessions;
        self.calls += other.calls;
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
        self.interruptions.add(other.interruptions);
        self.rankings.0 += other.rankings.0;
        self.rankings.1 += other.rankings.1;
        for (found, other) in self.changed.iter_mut().zip(other.changed) {
            found.add(other);
        }
        for (bill, other) in self.bills.iter_mut().zip(&other.bills) {
            bill.add(other);
        }
    }

    /// Returns the quality of the ranking of finished frames, if there was anything to rank.
    pub(super) fn ranking(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let count = self.rankings.1 as f64;
        (self.rankings.1 > 0).then(|| self.rankings.0 / count)
    }

    /// Returns the bills, each with its cost relative to a host that compacts.
    pub(super) fn costs(&self) -> impl Iterator<Item = (Policy, &Bill, f64)> {
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

    /// Returns the measurements as JSON; `null` for what could not be measured.
    pub(super) fn json(&self) -> Value {
        let costs: Vec<Value> = self
            .costs()
            .map(|(policy, bill, ratio)| {
                json!({
                    "policy": policy.as_str(),
                    "calls": bill.calls,
                    "promptTokens": bill.prompt,
                    "cachedTokens": bill.cached,
                    "longestPrompt": bill.longest,
                    "stablePrefix": bill.stable_prefix(),
                    "relativeCost": ratio,
                })
            })
            .collect();
        let [host, recorder] = self.changed.map(|found| {
            json!({
                "changed": found.changed,
                "known": found.right,
                "recall": share(found.right, found.changed),
                "precision": share(found.right, found.taken),
            })
        });
        json!({
            "sessions": self.sessions,
            "toolCalls": self.calls,
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
            "siblings": { "count": self.rankings.1, "ndcg5": self.ranking() },
            "changedFiles": { "byHost": host, "byRecorder": recorder },
            "interruptions": interruptions(&self.interruptions),
            "cost": costs,
        })
    }
}

fn brief(recording: &Recording<'_>, cut: &Cut<'_>, budget: usize, already: &str) -> String {
    let input = SummaryInput {
        already,
        has_summary: summary::is_summary(already),
        ..SummaryInput::default()
    };
    let text = summary::brief(recording.before(cut), &input, budget, &Estimate);
    clip(&text, budget).to_owned()
}

fn interruptions(counts: &Interruptions) -> Value {
    let resumes = |resumes: &Resumes| {
        json!({
            "count": resumes.count,
            "working": resumes.working,
            "share": share(resumes.working, resumes.count),
        })
    };
    json!({
        "turns": counts.turns,
        "marked": counts.marked,
        "inferred": counts.inferred,
        "right": counts.right,
        "precision": share(counts.right, counts.inferred),
        "recall": share(counts.right, counts.marked),
        "unfinishedRecordings": counts.unfinished,
        "resumesAfterInterruption": resumes(&counts.after_stop),
        "resumesAfterPause": resumes(&counts.after_pause),
    })
}

/// Renders interruptions that were inferred with each owner held out.
pub(super) fn held_out((marks, times): &(Marks, Vec<i64>)) -> Value {
    json!({
        "marked": marks.marked,
        "inferred": marks.inferred,
        "right": marks.right,
        "precision": share(marks.right, marks.inferred),
        "recall": share(marks.right, marks.marked),
        "chosenMs": times,
    })
}

/// Returns a share, unless the whole is zero.
pub(super) fn share(part: usize, whole: usize) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let share = part as f64 / whole as f64;
    (whole > 0).then_some(share)
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
