//! Values out of JSON that may hold anything.

use flamestack_core::id::Timestamp;
use serde_json::Value;

/// A text field; empty if it is missing or no text.
pub(super) fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// A text field that is not empty.
pub(super) fn some(value: &Value, key: &str) -> Option<String> {
    let text = text(value, key);
    (!text.is_empty()).then(|| text.to_owned())
}

/// A number; 0 if it is missing or no number.
pub(super) fn number(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or_default()
}

/// A flag; false if it is missing or no flag.
pub(super) fn flag(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or_default()
}

/// The items of a list; none if it is missing or no list.
pub(super) fn items<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// The texts in a list.
pub(super) fn texts(value: &Value, key: &str) -> Vec<String> {
    let texts = items(value, key).iter().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

/// Text that stands as itself or as a list of parts with a `text` each.
pub(super) fn content(value: &Value) -> String {
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

/// A time in RFC 3339, as `2026-01-31T12:00:00.123Z`; only UTC, as all hosts write it.
pub(super) fn time(value: &Value, key: &str) -> Option<Timestamp> {
    let field = value.get(key)?;
    if let Some(milliseconds) = field.as_i64() {
        return Some(Timestamp(milliseconds));
    }
    let text = field.as_str()?;
    let part = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (part(0, 4)?, part(5, 7)?, part(8, 10)?);
    let (hour, minute, second) = (part(11, 13)?, part(14, 16)?, part(17, 19)?);
    let sane = (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60;
    if !sane {
        return None;
    }
    let millisecond = match text.get(19..20) {
        Some(".") => part(20, 23).unwrap_or_default(),
        _ => 0,
    };
    // Days since 1970 in the proleptic Gregorian calendar, counted from March.
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let of_era = shifted.rem_euclid(400);
    let from_march = (month + 9) % 12;
    let of_year = (153 * from_march + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second;
    Some(Timestamp(seconds * 1000 + millisecond))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn times_are_read_as_hosts_write_them() {
        let at = |text: &str| time(&json!({ "at": text }), "at").map(|Timestamp(at)| at);
        assert_eq!(at("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(at("2024-02-29T12:34:56.789Z"), Some(1_709_210_096_789));
        assert_eq!(at("2026-11-16T00:52:47.000Z"), Some(1_794_790_367_000));
        assert_eq!(at("yesterday"), None);
        assert_eq!(at("2026-13-16T00:52:47Z"), None);
        assert_eq!(time(&json!({ "at": 5 }), "at"), Some(Timestamp(5)));
    }
}
