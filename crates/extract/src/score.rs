//! Scores: weighted sums of named features.
//!
//! A `Model` is a table of weights below `data/`. Each list of features is written once, here or
//! in a submodule, and has the order of its weights: names ([`name_features`]), phrases
//! ([`phrase_features`]) and finished frames ([`crate::relevance`]). The weights of names and
//! phrases are fitted by `cargo xtask train`; those of frames are chosen by hand.

mod names;
mod phrases;

use std::sync::LazyLock;

use crate::data::{self, section};
pub use names::name_features;
pub use phrases::phrase_features;

/// The values of a thing's features, with their names.
#[derive(Clone, Copy, Debug)]
pub struct Features<const N: usize> {
    /// Names of the features.
    pub names: &'static [&'static str; N],
    /// Values of the features.
    pub values: [f32; N],
}

/// Writes down [`Features`]: a name and a value each.
macro_rules! features {
    ($($name:ident: $value:expr),+ $(,)?) => {
        $crate::score::Features {
            names: &[$(stringify!($name)),+],
            values: [$($value),+],
        }
    };
}
pub(crate) use features;

/// Number of features of a name.
pub(crate) const NAME: usize = 43;
/// Number of features of a phrase.
const PHRASE: usize = 26;

/// The probability that a name is needed again in its session.
pub(crate) static NAMES: LazyLock<Model<NAME>> =
    LazyLock::new(|| Model::parse(data::WEIGHTS, "names"));
/// The probability that a parent needs a name from a finished frame.
pub(crate) static RESULTS: LazyLock<Model<NAME>> =
    LazyLock::new(|| Model::parse(data::WEIGHTS, "results"));
/// The probability that a phrase is needed again in its session.
pub(crate) static PHRASES: LazyLock<Model<PHRASE>> =
    LazyLock::new(|| Model::parse(data::WEIGHTS, "phrases"));

/// The weights of a list of features.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Model<const N: usize> {
    weights: [f32; N],
}

impl<const N: usize> Model<N> {
    /// Reads a section of `name = weight` lines. A test checks names and order of the files.
    pub(crate) fn parse(file: &'static str, name: &str) -> Self {
        let mut weights = [0.0; N];
        for (weight, line) in weights.iter_mut().zip(section(file, name)) {
            let (_, value) = line.split_once(" = ").unwrap_or_default();
            *weight = value.parse().unwrap_or(0.0);
        }
        Self { weights }
    }

    /// Returns the weighted sum.
    pub(crate) fn sum(&self, features: &Features<N>) -> f32 {
        // Independent sums let the compiler use vector instructions, in the same order everywhere.
        let mut sums = [0.0; 4];
        let (values, last_values) = features.values.as_chunks::<4>();
        let (weights, last_weights) = self.weights.as_chunks::<4>();
        for (values, weights) in values.iter().zip(weights) {
            for ((sum, value), weight) in sums.iter_mut().zip(values).zip(weights) {
                *sum += value * weight;
            }
        }
        let rest = last_values.iter().zip(last_weights);
        sums.iter().sum::<f32>() + rest.map(|(value, weight)| value * weight).sum::<f32>()
    }

    /// Returns the weighted sum through the logistic function: between 0 and 1.
    pub(crate) fn probability(&self, features: &Features<N>) -> f32 {
        1.0 / (1.0 + (-self.sum(features)).exp())
    }
}

/// Returns the logarithm of a count and one: the second time says more than the hundredth.
fn ln(count: u32) -> f32 {
    /// A session has as many phrases as words, and most of their counts are small.
    static SMALL: LazyLock<[f32; 1024]> = LazyLock::new(|| {
        std::array::from_fn(|count| ln_1p(u32::try_from(count).unwrap_or_default()))
    });
    let small = SMALL.get(count as usize);
    small.copied().unwrap_or_else(|| ln_1p(count))
}

fn ln_1p(count: u32) -> f32 {
    #[expect(clippy::cast_possible_truncation, reason = "small and rounded anyway")]
    let logarithm = f64::from(count).ln_1p() as f32;
    logarithm
}

fn flag(is: bool) -> f32 {
    f32::from(u8::from(is))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::NameTable;
    use crate::phrases::Phrase;
    use crate::utterance::Source;

    fn weight_names(file: &'static str, name: &str) -> Vec<&'static str> {
        let lines = section(file, name).map(|line| line.split_once(" = ").unwrap());
        lines
            .inspect(|(_, weight)| assert!(weight.parse::<f32>().is_ok(), "{weight}"))
            .map(|(name, _)| name)
            .collect()
    }

    #[test]
    fn weights_are_those_of_the_features() {
        let text = "see src/lib.rs";
        let utterances = [crate::utterance::Utterance::of_text(Source::Text, text)];
        let table = NameTable::collect(&utterances, &[]);
        let names = name_features(&table.all[0], &table).names;
        assert_eq!(weight_names(data::WEIGHTS, "names"), names);
        assert_eq!(weight_names(data::WEIGHTS, "results"), names);
        let phrase = Phrase::new(Source::Text);
        let names = phrase_features(&phrase, 1).names;
        assert_eq!(weight_names(data::WEIGHTS, "phrases"), names);
        let names = crate::relevance::features(0, 0, flamestack_core::frame::Status::Failed).names;
        assert_eq!(weight_names(data::RELEVANCE, "relevance"), names);
    }

    #[test]
    fn a_probability_is_the_logistic_of_the_weighted_sum() {
        let model = Model {
            weights: [1.0, -2.0, 0.5, 4.0, 1.0, 0.25],
        };
        let features = features! { a: 1.0, b: 2.0, c: 4.0, d: 0.0, e: -1.0, f: 8.0 };
        assert!((model.sum(&features) - 0.0).abs() < 1e-6);
        assert!((model.probability(&features) - 0.5).abs() < 1e-6);
        assert!((ln(2_000) - 2_001f32.ln()).abs() < 1e-5 && ln(0) == 0.0);
    }
}
