//! Recorded times as text, always in UTC: the same journal reads the same on any machine.

use flamestack_core::id::Timestamp;

fn formatted(at: Timestamp, format: &str) -> String {
    match jiff::Timestamp::from_millisecond(at.0) {
        Ok(time) => time.strftime(format).to_string(),
        // A clock beyond the year 9999; the number is all that can be said.
        Err(_) => at.0.to_string(),
    }
}

/// To the millisecond, as machines like it: `2026-11-15T10:30:00.000Z`.
pub fn stamp(at: Timestamp) -> String {
    formatted(at, "%Y-%m-%dT%H:%M:%S.%3fZ")
}

/// To the minute, as people like it: `2026-11-15 10:30`.
pub fn minute(at: Timestamp) -> String {
    formatted(at, "%Y-%m-%d %H:%M")
}

/// As part of a file name: `20261115-103000`.
pub fn file_name(at: Timestamp) -> String {
    formatted(at, "%Y%m%d-%H%M%S")
}
