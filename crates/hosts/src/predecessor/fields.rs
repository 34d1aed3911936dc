//! Fields of a frame's JSON object, taken out with a type or with a clear complaint.
//!
//! `null` counts as missing everywhere, as it does for the predecessors.

use flamestack_core::Prose;
use flamestack_core::id::Timestamp;
use flamestack_core::text::TextProblem;
use serde_json::{Map, Value};

use super::error::{FrameProblem, WrongType};

/// A frame as its file has it.
pub(super) type Object = Map<String, Value>;

/// The value of a field that is there and not `null`.
pub(super) fn value<'a>(object: &'a Object, field: &str) -> Option<&'a Value> {
    object.get(field).filter(|value| !value.is_null())
}

/// A text, if there is one.
pub(super) fn text<'a>(object: &'a Object, field: &str) -> Result<Option<&'a str>, WrongType> {
    value(object, field)
        .map(|value| {
            value
                .as_str()
                .ok_or_else(|| wrong_type(field, "a text", value))
        })
        .transpose()
}

/// A text as prose; a blank one counts as none.
pub(super) fn prose(object: &Object, field: &str) -> Result<Option<Prose>, FrameProblem> {
    match text(object, field)? {
        Some(text) => as_prose(text, field),
        None => Ok(None),
    }
}

/// Checks a text; a blank one counts as none.
pub(super) fn as_prose(text: &str, field: &str) -> Result<Option<Prose>, FrameProblem> {
    match Prose::new(text) {
        Ok(prose) => Ok(Some(prose)),
        Err(TextProblem::Empty) => Ok(None),
        Err(problem) => Err(FrameProblem::Text {
            field: field.to_owned(),
            problem,
        }),
    }
}

/// A list of texts; a missing one is empty.
pub(super) fn texts<'a>(object: &'a Object, field: &str) -> Result<Vec<&'a str>, WrongType> {
    let Some(value) = value(object, field) else {
        return Ok(Vec::new());
    };
    let items = value
        .as_array()
        .ok_or_else(|| wrong_type(field, "a list of texts", value))?;
    items
        .iter()
        .enumerate()
        .map(|(place, item)| {
            item.as_str()
                .ok_or_else(|| wrong_type(&format!("{field}[{place}]"), "a text", item))
        })
        .collect()
}

/// A list of texts as prose, without the blank ones.
pub(super) fn proses(object: &Object, field: &str) -> Result<Vec<Prose>, FrameProblem> {
    let mut proses = Vec::new();
    for (place, text) in texts(object, field)?.into_iter().enumerate() {
        proses.extend(as_prose(text, &format!("{field}[{place}]"))?);
    }
    Ok(proses)
}

/// A point in time in milliseconds, if there is one.
pub(super) fn time(object: &Object, field: &str) -> Result<Option<Timestamp>, WrongType> {
    value(object, field)
        .map(|value| as_time(value).ok_or_else(|| wrong_type(field, "a time in ms", value)))
        .transpose()
}

/// A number of milliseconds; JavaScript may have written it with a fraction.
pub(super) fn as_time(value: &Value) -> Option<Timestamp> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "`as` saturates, and beyond that there is no time that could be meant"
    )]
    let whole = |ms: f64| ms.round() as i64;
    value
        .as_i64()
        .or_else(|| value.as_f64().map(whole))
        .map(Timestamp)
}

fn wrong_type(field: &str, expected: &'static str, found: &Value) -> WrongType {
    WrongType {
        field: field.to_owned(),
        expected,
        found: kind(found),
    }
}

/// What a JSON value is, in words.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
