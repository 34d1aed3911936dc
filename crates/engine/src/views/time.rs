//! Recorded times as text.
//!
//! Texts for models, files and programs are in UTC: the same journal gives the same text on every
//! machine. Only what a user reads at a terminal is in the user's zone.

use flamestack_core::id::Timestamp;
use jiff::Zoned;

use super::counted;

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

/// Formats a time to the minute: `2026-11-15 10:30 UTC`.
pub fn minute(at: Timestamp) -> String {
    formatted(at, "%Y-%m-%d %H:%M UTC")
}

/// Formats a time as part of a file name: `20261115-103000`.
pub fn file_name(at: Timestamp) -> String {
    formatted(at, "%Y%m%d-%H%M%S")
}

/// Formats a time to the minute in the zone of `now`: `2026-11-15 11:30 CET`.
pub fn local(at: Timestamp, now: &Zoned) -> String {
    match jiff::Timestamp::from_millisecond(at.0) {
        Ok(time) => {
            let time = time.to_zoned(now.time_zone().clone());
            time.strftime("%Y-%m-%d %H:%M %Z").to_string()
        }
        Err(_) => at.0.to_string(),
    }
}

/// Formats the distance of a time from now in its largest unit: `3 hours ago`.
pub fn ago(at: Timestamp, now: &Zoned) -> String {
    const UNITS: [(u64, &str, &str); 5] = [
        (365 * 86_400, "year", "years"),
        (30 * 86_400, "month", "months"),
        (86_400, "day", "days"),
        (3_600, "hour", "hours"),
        (60, "minute", "minutes"),
    ];
    let elapsed = now.timestamp().as_millisecond().saturating_sub(at.0) / 1000;
    let Ok(seconds) = u64::try_from(elapsed) else {
        // Clocks of several machines differ.
        return "in the future".to_owned();
    };
    let unit = UNITS.into_iter().find(|(size, ..)| seconds >= *size);
    match unit {
        Some((size, one, many)) => format!("{} ago", counted(seconds / size, one, many)),
        None => "just now".to_owned(),
    }
}

/// Formats a number of milliseconds in its two largest units: `2 h 5 min`.
pub fn duration(milliseconds: i64) -> String {
    let seconds = u64::try_from(milliseconds / 1000).unwrap_or(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    let two = |large: u64, name: &str, small: u64, unit: &str| match small {
        0 => format!("{large} {name}"),
        small => format!("{large} {name} {small} {unit}"),
    };
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => two(minutes, "min", seconds % 60, "s"),
        (0, _, _) => two(hours, "h", minutes % 60, "min"),
        _ => two(
            days,
            if days == 1 { "day" } else { "days" },
            hours % 24,
            "h",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now(zone: &str) -> Zoned {
        let zone = jiff::tz::TimeZone::posix(zone).unwrap();
        jiff::Timestamp::from_second(1_700_000_000)
            .unwrap()
            .to_zoned(zone)
    }

    #[test]
    fn times_are_in_the_readers_zone() {
        let at = Timestamp(1_700_000_000_000 - 7_200_000);
        assert_eq!(minute(at), "2023-11-14 20:13 UTC");
        assert_eq!(local(at, &now("EST5")), "2023-11-14 15:13 EST");
        assert_eq!(local(at, &now("CET-1")), "2023-11-14 21:13 CET");
    }

    #[test]
    fn durations_have_at_most_two_units() {
        let all = [
            -1,
            0,
            45_000,
            60_000,
            125_000,
            7_500_000,
            90_000_000,
            200_000_000,
        ]
        .map(duration);
        assert_eq!(
            all.join(", "),
            "0 s, 0 s, 45 s, 1 min, 2 min 5 s, 2 h 5 min, 1 day 1 h, 2 days 7 h"
        );
    }

    #[test]
    fn ages_are_in_their_largest_unit() {
        let ago = |seconds: i64| {
            let at = Timestamp((1_700_000_000 - seconds) * 1000);
            ago(at, &now("EST5"))
        };
        let all = [-5, 0, 59, 60, 7_200, 90_000, 86_400 * 45, 86_400 * 800].map(ago);
        assert_eq!(
            all.join(", "),
            "in the future, just now, just now, 1 minute ago, 2 hours ago, 1 day ago, 1 month ago, 2 years ago"
        );
    }
}
