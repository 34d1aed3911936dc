//! Lenient access to fields of JSON values.

use flamestack_core::id::Timestamp;
use serde_json::Value;

/// Returns a string field; empty if it is missing or not a string.
pub(crate) fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns a string field if it is not empty.
pub(crate) fn some(value: &Value, key: &str) -> Option<String> {
    let text = text(value, key);
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns a number field; 0 if it is missing or not a number.
pub(crate) fn number(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or_default()
}

/// Returns a boolean field; false if it is missing or not a boolean.
pub(crate) fn flag(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or_default()
}

/// Returns a boolean field; true if it is missing or not a boolean.
pub(crate) fn flag_or_true(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or(true)
}

/// Returns a field; null if it is missing.
pub(crate) fn field<'v>(value: &'v Value, key: &str) -> &'v Value {
    value.get(key).unwrap_or(&Value::Null)
}

/// Returns the items of an array field; empty if it is missing or not an array.
pub(crate) fn items<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Returns the strings in an array field.
pub(crate) fn texts(value: &Value, key: &str) -> Vec<String> {
    let texts = items(value, key).iter().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

/// Returns the text of a message: a string, or an array of parts with a `text` each.
pub(crate) fn content(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().map(|part| match part {
                Value::String(text) => text.as_str(),
                other => text(other, "text"),
            });
            let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
            texts.join("\n")
        }
        Value::Object(_) => text(value, "text").to_owned(),
        _ => String::new(),
    }
}

/// Parses a time: milliseconds, or RFC 3339 as in `2026-01-31T12:00:00.123Z`.
pub(crate) fn time(value: &Value, key: &str) -> Option<Timestamp> {
    let field = value.get(key)?;
    if let Some(milliseconds) = field.as_i64() {
        return Some(Timestamp(milliseconds));
    }
    let time: jiff::Timestamp = field.as_str()?.parse().ok()?;
    Some(Timestamp(time.as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn times_of_all_hosts_are_parsed() {
        let at = |text: &str| time(&json!({ "at": text }), "at").map(|Timestamp(at)| at);
        assert_eq!(at("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(at("2024-02-29T12:34:56.789Z"), Some(1_709_210_096_789));
        assert_eq!(at("2026-11-16T00:52:47.000Z"), Some(1_794_790_367_000));
        assert_eq!(at("yesterday"), None);
        assert_eq!(at("2026-13-16T00:52:47Z"), None);
        assert_eq!(time(&json!({ "at": 5 }), "at"), Some(Timestamp(5)));
    }
}
