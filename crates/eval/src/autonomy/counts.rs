//! Counts of advice: how often it was given, how often it was right, what it missed.

use std::collections::{BTreeMap, BTreeSet};

use flamestack_core::autonomy::{AdviceKind, Heuristic};

use super::BASELINES;

/// Counts of one row of the table.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// By the score of the same evidence before and its score now: how often it was given and how often
    /// it was right.
    scores: BTreeMap<(u8, u8), (u64, u64)>,
    /// The highest score of each piece of evidence in the session that is being counted.
    known: BTreeMap<u64, u8>,
    /// By score: labels that it met first at this score.
    hits: BTreeMap<u8, u64>,
    /// Moments, and those at which it would have been right.
    moments: (u64, u64),
    /// Labels that it could have met.
    labels: u64,
    /// Labels of the session that is being counted, each with the highest score that met it.
    met: BTreeMap<usize, u8>,
    all: BTreeSet<usize>,
}

/// Advice of one range of scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// Lowest score, in percent.
    pub from: u8,
    /// Highest score, in percent.
    pub to: u8,
    /// Sum of the scores, in percent.
    pub expected: u64,
    /// Pieces of advice.
    pub given: u64,
    /// Those that were right.
    pub right: u64,
}

impl Row {
    pub(super) fn moment(&mut self, target: Option<usize>) {
        self.moments.0 += 1;
        self.moments.1 += u64::from(target.is_some());
        self.all.extend(target);
    }

    /// Counts advice on evidence, unless the same evidence was at least as strong before.
    pub(super) fn answer(&mut self, key: u64, score: u8, target: Option<usize>) {
        let known = self.known.entry(key).or_default();
        if *known >= score {
            return;
        }
        let before = std::mem::replace(known, score);
        let (given, right) = self.scores.entry((before, score)).or_default();
        *given += 1;
        *right += u64::from(target.is_some());
        if let Some(target) = target {
            let best = self.met.entry(target).or_default();
            *best = score.max(*best);
        }
    }

    pub(super) fn end_session(&mut self) {
        self.known.clear();
        for (target, score) in std::mem::take(&mut self.met) {
            self.all.insert(target);
            *self.hits.entry(score).or_default() += 1;
        }
        self.labels += std::mem::take(&mut self.all).len() as u64;
    }

    /// Adds the counts of other sessions.
    pub fn join(&mut self, other: &Self) {
        for (score, (given, right)) in &other.scores {
            let sum = self.scores.entry(*score).or_default();
            sum.0 += given;
            sum.1 += right;
        }
        for (score, hits) in &other.hits {
            *self.hits.entry(*score).or_default() += hits;
        }
        self.moments.0 += other.moments.0;
        self.moments.1 += other.moments.1;
        self.labels += other.labels;
    }

    /// Returns the score at which it fires: the threshold, or its highest score if no evidence
    /// in these recordings reaches that.
    pub fn speaks_at(&self, threshold: u8) -> u8 {
        let highest = self.scores.keys().map(|(_, score)| *score).max();
        highest.map_or(threshold, |highest| highest.min(threshold))
    }

    /// Returns how often it spoke with at least this score, and how often it was right.
    pub fn fired(&self, least: u8) -> (u64, u64) {
        let crosses = |scores: &(u8, u8)| scores.0 < least && least <= scores.1;
        let found = self.scores.iter().filter(|(scores, _)| crosses(scores));
        found.fold((0, 0), |(given, right), (_, counts)| {
            (given + counts.0, right + counts.1)
        })
    }

    /// Returns the share of labels that were met with at least this score.
    pub fn recall(&self, least: u8) -> Option<f64> {
        let hits: u64 = self.hits.range(least..).map(|(_, hits)| hits).sum();
        share(hits, self.labels)
    }

    /// Returns the share of moments at which it would have been right.
    pub fn base_rate(&self) -> Option<f64> {
        share(self.moments.1, self.moments.0)
    }

    /// Returns the advice by ranges of ten scores.
    pub fn bins(&self) -> Vec<Bin> {
        let mut bins: Vec<Bin> = Vec::new();
        let mut by_score: Vec<_> = self.scores.iter().collect();
        by_score.sort_by_key(|((_, score), _)| *score);
        for ((_, score), (given, right)) in by_score {
            let from = score / 10 * 10;
            if bins.last().is_none_or(|last| last.from != from) {
                bins.push(Bin {
                    from,
                    to: (from + 9).min(100),
                    expected: 0,
                    given: 0,
                    right: 0,
                });
            }
            if let Some(bin) = bins.last_mut() {
                bin.given += given;
                bin.right += right;
                bin.expected += u64::from(*score) * given;
            }
        }
        bins
    }
}

/// Returns a share, unless the whole is zero.
pub(super) fn share(part: u64, whole: u64) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "counts of moments")]
    let share = part as f64 / whole as f64;
    (whole > 0).then_some(share)
}

/// Counts of all heuristics.
#[derive(Clone, Debug, Default)]
pub struct AdviceCounts {
    heuristics: [Row; Heuristic::ALL.len()],
    together: [Row; AdviceKind::ALL.len()],
    /// The baselines, in the order of [`super::BASELINE_NAMES`].
    pub baselines: [Row; BASELINES],
}

impl AdviceCounts {
    /// Returns the counts of each heuristic.
    pub fn heuristics(&self) -> impl Iterator<Item = (Heuristic, &Row)> {
        Heuristic::ALL.into_iter().zip(&self.heuristics)
    }

    /// Returns the counts of all heuristics of each kind together.
    pub fn together(&self) -> impl Iterator<Item = (AdviceKind, &Row)> {
        AdviceKind::ALL.into_iter().zip(&self.together)
    }

    pub(super) fn heuristic_mut(&mut self, heuristic: Heuristic) -> &mut Row {
        let [failure, switch, complex, long, done, stuck, full] = &mut self.heuristics;
        match heuristic {
            Heuristic::FailureBoundary => failure,
            Heuristic::ContextSwitch => switch,
            Heuristic::Complexity => complex,
            Heuristic::Duration => long,
            Heuristic::GoalCompletion => done,
            Heuristic::Stagnation => stuck,
            Heuristic::ContextOverflow => full,
        }
    }

    pub(super) fn together_mut(&mut self, kind: AdviceKind) -> &mut Row {
        let [push, pop] = &mut self.together;
        match kind {
            AdviceKind::Push => push,
            AdviceKind::Pop => pop,
        }
    }

    /// Adds the counts of other sessions.
    pub fn join(&mut self, other: &Self) {
        let ours = self.heuristics.iter_mut().chain(&mut self.together);
        let theirs = other.heuristics.iter().chain(&other.together);
        for (ours, theirs) in ours.zip(theirs) {
            ours.join(theirs);
        }
        for (ours, theirs) in self.baselines.iter_mut().zip(&other.baselines) {
            ours.join(theirs);
        }
    }
}

/// Counts on the recordings of one owner, with rules that were fitted to those of the others.
#[derive(Clone, Debug)]
pub struct HeldOut {
    /// The owner.
    pub owner: String,
    /// The counts.
    pub counts: AdviceCounts,
}
