//! The time in the user's time zone.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// Returns the current time in the user's time zone.
pub(crate) fn now() -> Zoned {
    Timestamp::now().to_zoned(zone())
}

/// Returns the user's time zone. Its rules are read from the file that the system links to: looking them
/// up by name, as [`TimeZone::system`] does, lists every folder of the database, in 120 system calls.
fn zone() -> TimeZone {
    let is_named = std::env::var_os("TZ").is_some();
    let rules = (!is_named).then(|| std::fs::read("/etc/localtime").ok());
    let zone = rules.flatten().map(|rules| TimeZone::tzif("local", &rules));
    zone.and_then(Result::ok).unwrap_or_else(TimeZone::system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zone_is_that_of_the_system() {
        let system = TimeZone::system();
        for second in (0..2_000_000_000).step_by(5_000_000) {
            let time = Timestamp::from_second(second).unwrap();
            assert_eq!(zone().to_offset(time), system.to_offset(time), "{time}");
        }
    }
}
