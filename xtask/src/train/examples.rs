//! Labelled examples, and a logistic model fitted to them by Newton's method.

use flamestack_extract::score::Features;

/// Rounds of Newton's method; it converges long before.
const ROUNDS: usize = 12;
/// Strength of the pull of all weights towards 0.
const RIDGE: f64 = 1e-4;
/// Longest step of a weight in one round.
const MAX_STEP: f64 = 4.0;

/// Examples of names or phrases that were or were not needed.
#[derive(Clone, Debug, Default)]
pub(super) struct Examples {
    feature_names: &'static [&'static str],
    /// The values of all features of the first example, then those of the second, and so on.
    features: Vec<f32>,
    labels: Vec<Label>,
}

#[derive(Clone, Copy, Debug)]
struct Label {
    needed: bool,
    /// Number of examples that it counts for.
    weight: f32,
    /// Number of the owner.
    group: usize,
}

impl Examples {
    pub(super) fn add<const N: usize>(
        &mut self,
        features: &Features<N>,
        needed: bool,
        weight: f32,
        group: usize,
    ) {
        self.feature_names = features.names;
        self.features.extend_from_slice(&features.values);
        self.labels.push(Label {
            needed,
            weight,
            group,
        });
    }

    pub(super) fn join(&mut self, other: Self) {
        if !other.feature_names.is_empty() {
            self.feature_names = other.feature_names;
        }
        self.features.extend(other.features);
        self.labels.extend(other.labels);
    }

    /// Returns the names of the features.
    pub(super) fn feature_names(&self) -> &'static [&'static str] {
        self.feature_names
    }

    /// Returns the number of examples and the number of those that were needed.
    pub(super) fn size(&self) -> (usize, usize) {
        let needed = self.labels.iter().filter(|label| label.needed).count();
        (self.labels.len(), needed)
    }

    fn rows(&self) -> impl Iterator<Item = (&[f32], Label)> {
        let width = self.feature_names.len().max(1);
        let rows = self.features.chunks_exact(width);
        rows.zip(self.labels.iter().copied())
    }

    /// Fits weights, without the examples of one group if one is given.
    pub(super) fn fit(&self, without: Option<usize>) -> Vec<f32> {
        let mut weights = vec![0f64; self.feature_names.len()];
        for _ in 0..ROUNDS {
            let mut system = System::new(weights.len());
            let mut total = 0.0;
            for (row, label) in self.rows() {
                if without != Some(label.group) {
                    total += f64::from(label.weight);
                    system.add(row, &weights, label);
                }
            }
            let steps = system.step(&weights, RIDGE * total);
            for (weight, step) in weights.iter_mut().zip(steps) {
                *weight -= step.clamp(-MAX_STEP, MAX_STEP);
            }
        }
        #[expect(clippy::cast_possible_truncation, reason = "four digits are enough")]
        let rounded = |weight: f64| ((weight * 1e4).round() / 1e4) as f32;
        weights.into_iter().map(rounded).collect()
    }

    /// Returns the probability that a needed example scores above one that was not needed (AUC).
    pub(super) fn separation(&self, weights: &[f32], only: Option<usize>) -> f64 {
        let mut sums: Vec<(f32, Label)> = self
            .rows()
            .filter(|(_, label)| only.is_none_or(|group| label.group == group))
            .map(|(row, label)| (row.iter().zip(weights).map(|(a, b)| a * b).sum(), label))
            .collect();
        sums.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut below, mut above, mut needed) = (0.0, 0.0, 0.0);
        for (_, label) in sums {
            let weight = f64::from(label.weight);
            if label.needed {
                above += weight * below;
                needed += weight;
            } else {
                below += weight;
            }
        }
        above / (below * needed)
    }
}

/// The linear equations of one round: the curvature of the loss, and its slope.
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

    fn add(&mut self, features: &[f32], weights: &[f64], label: Label) {
        let products = features.iter().zip(weights);
        let sum: f64 = products.map(|(a, b)| f64::from(*a) * b).sum();
        let probability = 1.0 / (1.0 + (-sum).exp());
        let weight = f64::from(label.weight);
        let curvature = weight * (probability * (1.0 - probability)).max(1e-6);
        let error = weight * (probability - f64::from(u8::from(label.needed)));
        for ((row, slope), a) in self.rows.iter_mut().zip(&mut self.slope).zip(features) {
            if *a == 0.0 {
                continue;
            }
            let a = f64::from(*a);
            *slope += error * a;
            for (cell, b) in row.iter_mut().zip(features) {
                *cell += curvature * a * f64::from(*b);
            }
        }
    }

    /// Returns the step of each weight, by Gauss-Jordan elimination. The ridge makes the matrix
    /// positive definite, so no pivoting is needed.
    fn step(self, weights: &[f64], ridge: f64) -> Vec<f64> {
        let mut rows: Vec<Vec<f64>> = self.rows;
        for (nth, row) in rows.iter_mut().enumerate() {
            if let (Some(slope), Some(weight)) = (self.slope.get(nth), weights.get(nth)) {
                row.push(slope + ridge * weight);
            }
            if let Some(cell) = row.get_mut(nth) {
                *cell += ridge;
            }
        }
        let cell = |row: &[f64], at: usize| row.get(at).copied().unwrap_or(0.0);
        for column in 0..rows.len() {
            let pivot = rows.get(column).cloned().unwrap_or_default();
            for (number, row) in rows.iter_mut().enumerate() {
                let factor = cell(row, column) / cell(&pivot, column);
                if number != column && factor != 0.0 {
                    for (value, above) in row.iter_mut().zip(&pivot) {
                        *value -= factor * above;
                    }
                }
            }
        }
        let width = rows.len();
        let solved = rows.iter().enumerate();
        solved
            .map(|(nth, row)| cell(row, width) / cell(row, nth))
            .collect()
    }
}
