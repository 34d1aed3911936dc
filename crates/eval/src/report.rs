//! Means over many cuts.

use crate::need::Score;

/// Sums of scores, and how many there were of each.
#[derive(Clone, Debug, Default)]
pub struct Mean {
    sums: [(f64, usize); 5],
}

/// The means of scores.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Means {
    /// As in [`Score`]; 0 where nothing was measured.
    pub names: f64,
    /// As in [`Score`].
    pub old_names: f64,
    /// As in [`Score`].
    pub phrases: f64,
    /// As in [`Score`].
    pub prompts: f64,
    /// As in [`Score`].
    pub precision: f64,
    /// How many cuts were measured.
    pub cuts: usize,
}

impl Means {
    /// The harmonic mean of old names and phrases: neither a list of names nor the end of a
    /// transcript does well by it.
    pub fn harmonic(&self) -> f64 {
        let sum = self.old_names + self.phrases;
        if sum > 0.0 {
            2.0 * self.old_names * self.phrases / sum
        } else {
            0.0
        }
    }
}

impl Mean {
    /// Adds a score.
    pub fn add(&mut self, score: &Score) {
        let parts = [
            score.names,
            score.old_names,
            score.phrases,
            score.prompts,
            score.precision,
        ];
        for (sum, part) in self.sums.iter_mut().zip(parts) {
            if let Some(part) = part {
                sum.0 += part;
                sum.1 += 1;
            }
        }
    }

    /// Adds the scores of another.
    pub fn join(&mut self, other: &Self) {
        for (sum, other) in self.sums.iter_mut().zip(other.sums) {
            sum.0 += other.0;
            sum.1 += other.1;
        }
    }

    /// The means so far.
    pub fn means(&self) -> Means {
        let mean = |(sum, count): (f64, usize)| {
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let count = count.max(1) as f64;
            sum / count
        };
        let [names, old_names, phrases, prompts, precision] = self.sums;
        Means {
            cuts: names.1.max(phrases.1),
            names: mean(names),
            old_names: mean(old_names),
            phrases: mean(phrases),
            prompts: mean(prompts),
            precision: mean(precision),
        }
    }
}
