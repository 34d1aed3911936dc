//! Precision of advice to open or close frames, measured on recorded sessions.
//!
//! Recordings are labelled by segment: subagents that start and stop, items of to-do lists that begin
//! and end, and turns that touch none of the files before them. Advice is right if such a label, or a
//! compaction where it is about the window, follows soon after. Only moments count at which a
//! suggestion would be made, and the same evidence counts once in a session, as it is suggested once.

mod counts;
mod predecessor;
mod timeline;

pub use counts::{AdviceCounts, Bin, HeldOut, Row};

use std::collections::{BTreeMap, BTreeSet};

use flamestack_core::autonomy::{AdviceKind, Heuristic};
use flamestack_core::transcript::{Entry, EntryKind};
use flamestack_engine::autonomy::SignalReader;
use flamestack_engine::autonomy::heuristics::{
    Assessment, Calibration, RULES, Sighting, WorkSignals, judge,
};

use self::timeline::Timeline;

/// Number of steps between two guesses of the clock that everything is compared with.
const CLOCK: u32 = 8;
/// Number of baselines: the predecessor's formulas and the clock, for both kinds of advice.
const BASELINES: usize = 4;

/// A moment of a session at which advice could be given.
struct Moment {
    signals: WorkSignals,
    /// For each heuristic, the label that proves it right; none if nothing did.
    targets: [Option<usize>; Heuristic::ALL.len()],
}

/// The moments of one session.
pub struct Moments {
    all: Vec<Moment>,
    /// For each baseline, its guesses with their labels.
    baselines: [Vec<Option<usize>>; BASELINES],
}

/// Names of the baselines, each with its kind.
pub const BASELINE_NAMES: [(&str, AdviceKind); BASELINES] = [
    ("predecessor's formulas", AdviceKind::Push),
    ("predecessor's formulas", AdviceKind::Pop),
    ("every 8 calls", AdviceKind::Push),
    ("every 8 calls", AdviceKind::Pop),
];

/// Sizes of prompts at which a model's sessions were compacted, learnt from one session after the
/// other: recordings do not have the size of the window.
#[derive(Clone, Debug, Default)]
pub struct Windows(BTreeMap<String, Vec<u64>>);

impl Windows {
    /// Returns the window of a session as far as earlier sessions show it, and learns from this one.
    /// A session whose prompts are larger had another window, which is not known.
    pub fn learn(&mut self, entries: &[Entry]) -> Option<u64> {
        let own = entries.iter().filter(|entry| entry.agent.is_none());
        let (mut size, mut largest, mut model) = (0, 0, String::new());
        let mut compacted = Vec::new();
        for entry in own {
            match &entry.kind {
                EntryKind::Usage(usage) => {
                    size = usage.prompt().saturating_add(usage.output);
                    largest = size.max(largest);
                    if let Some(name) = &usage.model {
                        model.clone_from(name);
                    }
                }
                EntryKind::Compacted { automatic, .. } => {
                    compacted.extend(Some(size).filter(|size| *automatic && *size > 0));
                    size = 0;
                }
                _ => {}
            }
        }
        let known = self.0.entry(model).or_default();
        known.sort_unstable();
        let earlier = known.get(known.len() / 2).copied();
        let window = earlier.or(compacted.first().copied().filter(|_| compacted.len() > 1));
        known.extend(compacted);
        window.filter(|window| largest <= window.saturating_mul(27) / 25)
    }
}

impl Moments {
    /// Finds the moments of a session. `window` is the size of the model's window, where it is known.
    pub fn of(entries: &[Entry], window: Option<u64>) -> Self {
        let mut reader = SignalReader::default();
        let sightings: Vec<Sighting> = entries
            .iter()
            .filter_map(|entry| reader.sighting(entry))
            .collect();
        let timeline = Timeline::of(&sightings);
        let mut signals = WorkSignals::default();
        signals.set_window(window);
        let mut all = Vec::new();
        let mut baselines: [Vec<Option<usize>>; BASELINES] = Default::default();
        let mut steps = 0u32;
        for (at, sighting) in sightings.iter().enumerate() {
            let boundary = signals.see(sighting);
            if matches!(sighting, Sighting::Step(_)) {
                steps += 1;
                if steps.is_multiple_of(CLOCK) {
                    let [_, _, push, pop] = &mut baselines;
                    push.push(timeline.begins(at));
                    pop.push(timeline.ends(at));
                }
            }
            if boundary.is_none() || signals.is_held() {
                continue;
            }
            let [push, pop, _, _] = &mut baselines;
            if predecessor::push(&signals) {
                push.push(timeline.begins(at));
            }
            if predecessor::pop(&signals) {
                pop.push(timeline.ends(at));
            }
            all.push(Moment {
                targets: Heuristic::ALL.map(|heuristic| timeline.target(heuristic, at)),
                signals: signals.clone(),
            });
        }
        Self { all, baselines }
    }

    /// Counts for each rule how often it held, once for the same evidence, and how often it was right.
    pub fn rule_counts(&self) -> Vec<(u32, u32)> {
        let mut counts = vec![(0, 0); RULES.len()];
        let mut met = BTreeSet::new();
        for moment in &self.all {
            for (number, rule) in RULES.iter().enumerate() {
                let Some(proof) = rule.proof(&moment.signals) else {
                    continue;
                };
                if !met.insert((number, proof.key)) {
                    continue;
                }
                let is_right = moment.target(rule.heuristic).is_some();
                if let Some((right, cases)) = counts.get_mut(number) {
                    *cases += 1;
                    *right += u32::from(is_right);
                }
            }
        }
        counts
    }

    /// Counts what each heuristic says of these moments, and all of one kind together.
    pub fn count(
        &self,
        calibration: &Calibration,
        uses: &dyn Fn(Heuristic) -> bool,
    ) -> AdviceCounts {
        let mut counts = AdviceCounts::default();
        for heuristic in Heuristic::ALL {
            let row = counts.heuristic_mut(heuristic);
            for moment in &self.all {
                let found = Assessment::of(heuristic, &moment.signals, calibration);
                let target = moment.target(heuristic);
                row.moment(target);
                if let Some(proof) = found.proof {
                    row.answer(proof.key, found.score, target);
                }
            }
            row.end_session();
        }
        for kind in AdviceKind::ALL {
            let row = counts.together_mut(kind);
            for moment in &self.all {
                let found = judge(kind, &moment.signals, calibration, uses);
                let strongest = found.strongest();
                let target = strongest.and_then(|first| moment.target(first.heuristic));
                row.moment(target);
                let key = strongest.and_then(|first| first.proof.as_ref().map(|proof| proof.key));
                if let Some(key) = key {
                    row.answer(key, found.score, target);
                }
            }
            row.end_session();
        }
        for (row, guesses) in counts.baselines.iter_mut().zip(&self.baselines) {
            for (key, target) in (0..).zip(guesses) {
                row.answer(key, 100, *target);
            }
            row.end_session();
        }
        self.base_rates(&mut counts);
        counts
    }

    /// Gives the baselines the labels of all moments.
    fn base_rates(&self, counts: &mut AdviceCounts) {
        for (row, (_, kind)) in counts.baselines.iter_mut().zip(BASELINE_NAMES) {
            let heuristic = match kind {
                AdviceKind::Push => Heuristic::Complexity,
                AdviceKind::Pop => Heuristic::GoalCompletion,
            };
            for moment in &self.all {
                row.moment(moment.target(heuristic));
            }
            row.end_session();
        }
    }
}

impl Moment {
    fn target(&self, heuristic: Heuristic) -> Option<usize> {
        let place = Heuristic::ALL.iter().position(|one| *one == heuristic)?;
        self.targets.get(place).copied().flatten()
    }
}
