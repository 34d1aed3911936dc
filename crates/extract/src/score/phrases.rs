//! The features of a phrase.

use super::{Features, PHRASE, features, flag, ln};
use crate::phrases::Phrase;
use crate::utterance::Source;

/// Returns the features of a phrase at the end of a session with the given number of calls.
pub fn phrase_features(phrase: &Phrase, calls: u32) -> Features<PHRASE> {
    let age = calls.saturating_sub(phrase.last);
    let model_age = phrase.last_by_model.map(|last| calls.saturating_sub(last));
    let model_within = |limit: u32| flag(model_age.is_some_and(|age| age <= limit));
    let is = |source: Source| flag(phrase.source == source);
    features! {
        always: 1.0,
        age: ln(age),
        age_by_model: model_age.map_or(0.0, ln),
        by_model: ln(u32::from(phrase.by_model)),
        outside: ln(u32::from(phrase.outside)),
        by_model_twice: flag(phrase.by_model >= 2),
        prompt: is(Source::Prompt),
        host_words: is(Source::HostWords),
        prose: is(Source::Text),
        plan: is(Source::Plan),
        command: is(Source::Command),
        edit: is(Source::Edit),
        call: is(Source::Call),
        output: is(Source::Output),
        failed_output: is(Source::FailedOutput),
        summary: is(Source::Summary),
        prompted: flag(phrase.prompted),
        this_turn: flag(phrase.this_turn),
        age_1: flag(age <= 1),
        age_3: flag(age <= 3),
        age_8: flag(age <= 8),
        age_20: flag(age <= 20),
        age_50: flag(age <= 50),
        model_age_3: model_within(3),
        model_age_10: model_within(10),
        model_age_30: model_within(30),
    }
}
