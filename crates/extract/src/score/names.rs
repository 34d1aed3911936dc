//! The features of a name.

use super::{Features, NAME, features, flag, ln};
use crate::lex::NameKind;
use crate::names::{Name, NameTable};

/// Returns the features of a name at the end of a session.
pub fn name_features(name: &Name<'_>, table: &NameTable<'_>) -> Features<NAME> {
    let stats = &name.stats;
    let owner = table.owner(name).map(|owner| &owner.stats);
    let since = |call: u32| table.calls.saturating_sub(call);
    let age = since(stats.last);
    let is = |kind: NameKind| flag(name.kind == kind);
    features! {
        always: 1.0,
        age: ln(age),
        age_by_model: stats.last_by_model.map_or(0.0, |last| ln(since(last))),
        never_by_model: flag(stats.last_by_model.is_none()),
        by_model: ln(stats.by_model),
        outside: ln(stats.outside),
        files: ln(stats.files),
        edited: flag(stats.edits > 0),
        read: flag(stats.read),
        prompted: flag(stats.prompted),
        last_prompt: flag(stats.in_last_prompt),
        todo: flag(stats.in_todo),
        failed: flag(stats.failed),
        this_turn: flag(stats.this_turn),
        span: ln(stats.last.saturating_sub(stats.first)),
        length: ln(u32::try_from(name.key.len().saturating_sub(1)).unwrap_or(u32::MAX)),
        path: is(NameKind::Path),
        identifier: is(NameKind::Identifier),
        address: is(NameKind::Address),
        reference: is(NameKind::Reference),
        error_code: is(NameKind::ErrorCode),
        version: is(NameKind::Version),
        quantity: is(NameKind::Quantity),
        commands: ln(stats.commands),
        prose: ln(stats.prose),
        edits: ln(stats.edits),
        in_summary: flag(stats.in_summary),
        age_2: flag(age <= 2),
        age_8: flag(age <= 8),
        age_25: flag(age <= 25),
        age_80: flag(age <= 80),
        last_words: flag(stats.in_last_words),
        density: ln(stats.density),
        position: ln(stats.position),
        prompt_overlap: stats.prompt_overlap,
        newest_overlap: stats.newest_overlap,
        owned: flag(owner.is_some()),
        owner_age: owner.map_or(0.0, |owner| ln(since(owner.last))),
        owner_edited: flag(owner.is_some_and(|owner| owner.edits > 0)),
        owner_by_model: owner.map_or(0.0, |owner| ln(owner.by_model)),
        once: flag(stats.by_model + stats.outside <= 1),
        short_path: flag(name.kind == NameKind::Path && !name.key.contains('/')),
        prose_only: flag(stats.prose > 0 && stats.prose == stats.by_model),
    }
}
