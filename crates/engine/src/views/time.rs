//! Recorded times as text, in UTC: the same journal gives the same text on every machine.

use flamestack_core::id::Timestamp;

fn formatted(at: Timestamp, format: &str) -> String {
    match jiff::Timestamp::from_millisecond(at.0) {
        Ok(time) => time.strftime(format).to_string(),
        // Beyond the year 9999 only the number can be shown.
        Err(_) => at.0.to_string(),
    }
}

/// Formats a time to the millisecond, for programs: `2026-11-15T10:30:00.000Z`.
pub fn stamp(at: Timestamp) -> String {
    formatted(at, "%Y-%m-%dT%H:%M:%S.%3fZ")
}

/// Formats a time to the minute, for users: `2026-11-15 10:30`.
pub fn minute(at: Timestamp) -> String {
    formatted(at, "%Y-%m-%d %H:%M")
}

/// Formats a time as part of a file name: `20261115-103000`.
pub fn file_name(at: Timestamp) -> String {
    formatted(at, "%Y%m%d-%H%M%S")
}
