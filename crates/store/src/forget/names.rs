//! Text in names: ids of sessions and messages, and other fields that are not prose.
//!
//! Equal names must stay equal and different ones different, so each gets a new name that depends on
//! all of the old one. The dependence is keyed with random bytes that are never stored: a guess at the
//! old name cannot be checked.

use serde_json::Value;

use super::{FORGOTTEN, Forget};

/// Rewrites the strings of a JSON document that still hold the text, and returns the number of
/// places.
pub(crate) fn rename(what: &Forget<'_>, key: &[u8; 32], value: &mut Value) -> u64 {
    match value {
        Value::String(name) => match renamed(what, key, name) {
            Some((new, places)) => {
                *name = new;
                places
            }
            None => 0,
        },
        Value::Array(values) => values.iter_mut().map(|it| rename(what, key, it)).sum(),
        Value::Object(fields) => fields.values_mut().map(|it| rename(what, key, it)).sum(),
        _ => 0,
    }
}

/// Returns the new form of a name that holds the text.
pub(crate) fn renamed(what: &Forget<'_>, key: &[u8; 32], name: &str) -> Option<(String, u64)> {
    let (erased, places) = (what.text)(name)?;
    let hash = blake3::keyed_hash(key, name.as_bytes()).to_hex();
    let hash: String = hash.chars().take(8).collect();
    Some((
        erased.replace(FORGOTTEN, &format!("forgotten-{hash}")),
        places,
    ))
}
