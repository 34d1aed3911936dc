//! How likely a name is needed again: a sum of weighted features, through a logistic function.

use super::known::{Known, Names};
use super::name::NameKind;

/// How many features a name has.
pub const FEATURES: usize = 43;

/// What the features are called, in the order of [`features`].
pub const FEATURE_NAMES: [&str; FEATURES] = [
    "always",
    "age",
    "age_by_model",
    "never_by_model",
    "by_model",
    "outside",
    "files",
    "edited",
    "read",
    "prompted",
    "last_prompt",
    "todo",
    "failed",
    "this_turn",
    "span",
    "length",
    "path",
    "identifier",
    "address",
    "reference",
    "error_code",
    "version",
    "quantity",
    "commands",
    "prose",
    "edits",
    "summarised",
    "age_2",
    "age_8",
    "age_25",
    "age_80",
    "last_words",
    "crowd",
    "place",
    "echo",
    "echo_newest",
    "home",
    "home_age",
    "home_edited",
    "home_by_model",
    "once",
    "short_path",
    "prose_only",
];

/// The features of a name after so many calls.
pub fn features(known: &Known<'_>, names: &Names<'_>) -> [f32; FEATURES] {
    let met = &known.met;
    let calls = names.calls;
    let home = known.home.and_then(|home| names.all.get(home as usize));
    let home_met = home.map(|home| &home.met);
    let ln = logarithm;
    let flag = |is: bool| if is { 1.0 } else { 0.0 };
    let age = calls.saturating_sub(met.last);
    let kind = |kind: NameKind| flag(known.kind == kind);
    [
        1.0,
        ln(age),
        met.last_by_model
            .map_or(0.0, |last| ln(calls.saturating_sub(last))),
        flag(met.last_by_model.is_none()),
        ln(met.by_model),
        ln(met.outside),
        ln(met.files),
        flag(met.edits > 0),
        flag(met.read),
        flag(met.prompted),
        flag(met.in_last_prompt),
        flag(met.in_todo),
        flag(met.failed),
        flag(met.this_turn),
        ln(met.last.saturating_sub(met.first)),
        logarithm(u32::try_from(known.key.len().saturating_sub(1)).unwrap_or(u32::MAX)),
        kind(NameKind::Path),
        kind(NameKind::Identifier),
        kind(NameKind::Address),
        kind(NameKind::Reference),
        kind(NameKind::ErrorCode),
        kind(NameKind::Version),
        kind(NameKind::Quantity),
        ln(met.commands),
        ln(met.prose),
        ln(met.edits),
        flag(met.summarised),
        flag(age <= 2),
        flag(age <= 8),
        flag(age <= 25),
        flag(age <= 80),
        flag(met.last_words),
        ln(met.crowd),
        ln(met.place),
        met.echo,
        met.echo_newest,
        flag(home.is_some()),
        home_met.map_or(0.0, |met| ln(calls.saturating_sub(met.last))),
        flag(home_met.is_some_and(|met| met.edits > 0)),
        home_met.map_or(0.0, |met| ln(met.by_model)),
        flag(met.by_model + met.outside <= 1),
        flag(known.kind == NameKind::Path && !known.key.contains('/')),
        flag(met.prose > 0 && met.prose == met.by_model),
    ]
}

/// The logarithm of a count and one: the second time says more than the hundredth.
pub(crate) fn logarithm(count: u32) -> f32 {
    #[expect(clippy::cast_possible_truncation, reason = "small and rounded anyway")]
    let logarithm = f64::from(count).ln_1p() as f32;
    logarithm
}

/// The weighted sum through the logistic function: between 0 and 1.
pub fn probability(features: &[f32], weights: &[f32]) -> f32 {
    let sum: f32 = features.iter().zip(weights).map(|(a, b)| a * b).sum();
    1.0 / (1.0 + (-sum).exp())
}
