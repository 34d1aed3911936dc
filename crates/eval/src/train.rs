//! Fitting the weights of names and phrases: logistic models, the same in every run.

use std::collections::BTreeSet;

use flamestack_core::anchor::known::Names;
use flamestack_core::anchor::moment::{moments, of_thread};
use flamestack_core::anchor::worth;
use flamestack_core::summary::{newest_todos, phrase};
use flamestack_core::transcript::Entry;

use crate::need::Need;
use crate::pop::pops;
use crate::recording::Recording;
use crate::words;

/// Of the phrases that were not needed, one in so many is an example and stands for all.
const SAMPLED: u32 = 32;
/// Rounds of Newton's method; it has long come to rest by then.
const ROUNDS: usize = 12;
/// How strongly weights are drawn to 0.
const RIDGE: f64 = 1e-4;

/// Examples of things that were or were not needed.
#[derive(Clone, Debug, Default)]
pub struct Examples {
    width: usize,
    features: Vec<f32>,
    /// Whether it was needed, how much it counts, and whose it is.
    labels: Vec<(bool, f32, usize)>,
}

/// The examples of one session, or of many.
#[derive(Clone, Debug, Default)]
pub struct Lesson {
    /// Names, in the conversation itself.
    pub names: Examples,
    /// Phrases, in the conversation itself.
    pub phrases: Examples,
    /// Names, for the parent of a finished subagent.
    pub results: Examples,
}

impl Lesson {
    /// What a session teaches. `group` says whose it is.
    pub fn of(entries: &[Entry], group: usize) -> Self {
        let mut lesson = Self::default();
        let recording = Recording::new(entries);
        for cut in recording.cuts() {
            let need = Need::after(&recording, &cut);
            let history = recording.before(&cut);
            lesson.add_names(&recording, &need, history, group);
            lesson.add_phrases(&need, history, group);
        }
        let pops = pops(entries);
        for pop in &pops.all {
            let moments = of_thread(pop.entries.iter().enumerate());
            let names = Names::gather(&moments, &[]);
            for known in names.all.iter().filter(|known| known.same_as.is_none()) {
                let number = pops.interned.find(known.kind, known.key);
                if number.is_some_and(|number| pop.known.contains(&number)) {
                    continue;
                }
                let needed = number.is_some_and(|number| pop.need.has(number));
                let features = worth::features(known, &names);
                lesson.results.add(&features, needed, 1.0, group);
            }
        }
        lesson
    }

    fn add_names(
        &mut self,
        recording: &Recording<'_>,
        need: &Need,
        history: &[Entry],
        group: usize,
    ) {
        let moments = moments(history);
        let todos = newest_todos(history);
        let todos: Vec<&str> = todos.iter().map(|todo| todo.text.as_str()).collect();
        let names = Names::gather(&moments, &todos);
        for known in names.all.iter().filter(|known| known.same_as.is_none()) {
            let number = recording.interned.find(known.kind, known.key);
            let needed = number.is_some_and(|number| need.has(number));
            let features = worth::features(known, &names);
            self.names.add(&features, needed, 1.0, group);
        }
    }

    fn add_phrases(&mut self, need: &Need, history: &[Entry], group: usize) {
        let moments = moments(history);
        let phrases = phrase::Phrases::gather(&moments, "");
        let mut needed = BTreeSet::new();
        for (moment, places) in moments.iter().zip(&phrases.words) {
            let text = phrase::looked_at(moment);
            let measured = words::phrases(text);
            // The measure knows ASCII only; with other scripts the words do not line up.
            if !text.is_ascii() {
                continue;
            }
            for (place, hash) in places.iter().zip(measured) {
                if let Some(phrase) = place.phrase.filter(|_| need.phrases.contains(&hash)) {
                    needed.insert(phrase);
                }
            }
        }
        for (number, known) in (0u32..).zip(&phrases.all) {
            let features = phrase::features(known, phrases.calls);
            if needed.contains(&number) {
                self.phrases.add(&features, true, 1.0, group);
            } else if number.wrapping_mul(0x9e37_79b1) >> 27 == 0 {
                #[expect(clippy::cast_precision_loss, reason = "a small number")]
                self.phrases.add(&features, false, SAMPLED as f32, group);
            }
        }
    }

    /// Adds the examples of another session.
    pub fn join(&mut self, other: Self) {
        for (ours, theirs) in [
            (&mut self.names, other.names),
            (&mut self.phrases, other.phrases),
            (&mut self.results, other.results),
        ] {
            ours.width = ours.width.max(theirs.width);
            ours.features.extend(theirs.features);
            ours.labels.extend(theirs.labels);
        }
    }
}

impl Examples {
    fn add(&mut self, features: &[f32], needed: bool, weight: f32, group: usize) {
        self.width = features.len();
        self.features.extend_from_slice(features);
        self.labels.push((needed, weight, group));
    }

    /// How many there are, and how many of them were needed.
    pub fn size(&self) -> (usize, usize) {
        let needed = self.labels.iter().filter(|label| label.0).count();
        (self.labels.len(), needed)
    }

    fn rows(&self) -> impl Iterator<Item = (&[f32], (bool, f32, usize))> {
        self.features
            .chunks_exact(self.width.max(1))
            .zip(self.labels.iter().copied())
    }

    /// Fits weights, without the examples of one group if one is named.
    pub fn fit(&self, without: Option<usize>) -> Vec<f32> {
        let width = self.width;
        let mut weights = vec![0f64; width];
        for _ in 0..ROUNDS {
            let mut system = System::new(width);
            let mut total = 0.0;
            for (row, (needed, weight, group)) in self.rows() {
                if without == Some(group) {
                    continue;
                }
                let weight = f64::from(weight);
                total += weight;
                system.add(row, &weights, if needed { 1.0 } else { 0.0 }, weight);
            }
            let steps = system.step(&weights, RIDGE * total);
            for (weight, step) in weights.iter_mut().zip(steps) {
                *weight -= step.clamp(-4.0, 4.0);
            }
        }
        #[expect(clippy::cast_possible_truncation, reason = "four digits are enough")]
        let rounded = |weight: f64| ((weight * 1e4).round() / 1e4) as f32;
        weights.into_iter().map(rounded).collect()
    }

    /// How often something that was needed is above something that was not.
    pub fn separation(&self, weights: &[f32], only: Option<usize>) -> f64 {
        let mut sums: Vec<(f32, bool, f64)> = self
            .rows()
            .filter(|(_, label)| only.is_none_or(|group| label.2 == group))
            .map(|(row, (needed, weight, _))| {
                let sum = row.iter().zip(weights).map(|(a, b)| a * b).sum();
                (sum, needed, f64::from(weight))
            })
            .collect();
        sums.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut below, mut above, mut needed_sum) = (0.0, 0.0, 0.0);
        for (_, needed, weight) in sums {
            if needed {
                above += weight * below;
                needed_sum += weight;
            } else {
                below += weight;
            }
        }
        above / (below * needed_sum)
    }
}

/// The linear equations of one round.
struct System {
    rows: Vec<Vec<f64>>,
    slope: Vec<f64>,
}

impl System {
    fn new(width: usize) -> Self {
        Self {
            rows: vec![vec![0.0; width]; width],
            slope: vec![0.0; width],
        }
    }

    fn add(&mut self, features: &[f32], weights: &[f64], label: f64, weight: f64) {
        let sum: f64 = features
            .iter()
            .zip(weights)
            .map(|(a, b)| f64::from(*a) * b)
            .sum();
        let chance = 1.0 / (1.0 + (-sum).exp());
        let bend = weight * (chance * (1.0 - chance)).max(1e-6);
        let error = weight * (chance - label);
        for ((row, slope), a) in self.rows.iter_mut().zip(&mut self.slope).zip(features) {
            if *a == 0.0 {
                continue;
            }
            let a = f64::from(*a);
            *slope += error * a;
            for (cell, b) in row.iter_mut().zip(features) {
                *cell += bend * a * f64::from(*b);
            }
        }
    }

    /// Solves the equations by elimination.
    fn step(mut self, weights: &[f64], ridge: f64) -> Vec<f64> {
        let width = self.slope.len();
        for (nth, ((row, slope), weight)) in (self.rows.iter_mut().zip(&mut self.slope))
            .zip(weights)
            .enumerate()
        {
            *slope += ridge * weight;
            if let Some(cell) = row.get_mut(nth) {
                *cell += ridge;
            }
        }
        let mut rows: Vec<Vec<f64>> = self
            .rows
            .into_iter()
            .zip(self.slope)
            .map(|(mut row, slope)| {
                row.push(slope);
                row
            })
            .collect();
        let cell = |row: &[f64], at: usize| row.get(at).copied().unwrap_or(0.0);
        for column in 0..width {
            let best = (column..width).max_by(|a, b| {
                let size = |row: usize| rows.get(row).map_or(0.0, |row| cell(row, column).abs());
                size(*a).total_cmp(&size(*b))
            });
            rows.swap(column, best.unwrap_or(column));
            let Some(pivot) = rows.get(column).cloned() else {
                continue;
            };
            let scale = cell(&pivot, column);
            if scale.abs() < 1e-12 {
                continue;
            }
            for (number, row) in rows.iter_mut().enumerate() {
                let factor = cell(row, column) / scale;
                if number != column && factor != 0.0 {
                    for (value, above) in row.iter_mut().zip(&pivot) {
                        *value -= factor * above;
                    }
                }
            }
        }
        rows.iter()
            .enumerate()
            .map(|(nth, row)| {
                let scale = cell(row, nth);
                if scale.abs() < 1e-12 {
                    0.0
                } else {
                    cell(row, width) / scale
                }
            })
            .collect()
    }
}
