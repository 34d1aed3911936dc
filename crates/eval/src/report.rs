//! Means over many cuts. A cut is a place in a recording at which its history is replaced by a text.

use crate::need::Score;

/// Sums of scores, and how many there were of each.
#[derive(Clone, Debug, Default)]
pub struct Mean {
    sums: [(f64, usize); 5],
}

/// The means of scores; nothing, where there was nothing to measure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Means {
    /// As in [`Score`].
    pub names: Option<f64>,
    /// As in [`Score`].
    pub old_names: Option<f64>,
    /// As in [`Score`].
    pub phrases: Option<f64>,
    /// As in [`Score`].
    pub prompts: Option<f64>,
    /// As in [`Score`].
    pub precision: Option<f64>,
    /// Number of cuts measured.
    pub cuts: usize,
}

impl Means {
    /// The harmonic mean of old names and phrases: neither a list of names nor the end of a
    /// transcript does well by it.
    pub fn harmonic(&self) -> Option<f64> {
        let (names, phrases) = (self.old_names?, self.phrases?);
        let sum = names + phrases;
        Some(if sum > 0.0 {
            2.0 * names * phrases / sum
        } else {
            0.0
        })
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
            let divisor = count as f64;
            (count > 0).then(|| sum / divisor)
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
