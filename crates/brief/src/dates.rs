//! Dates in headings, as people write them: to find the newest entry of a log.

use jiff::civil::{DateTime, Time};
use jiff::fmt::strtime::BrokenDownTime;

/// Formats in order. Where digits alone do not separate day from month, `3/11/2026` is in March and `3.11.2026` in
/// November, as is usual with these separators. `%bt` reads `Sept`.
const FORMATS: [&str; 13] = [
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%Y.%m.%d",
    "%B %d %Y",
    "%bt %d %Y",
    "%b %d %Y",
    "%d %B %Y",
    "%d %bt %Y",
    "%d %b %Y",
    "%d.%m.%Y",
    "%m/%d/%Y",
    "%d/%m/%Y",
    "%d-%m-%Y",
];

/// Returns the first date in a text, with the time after it if there is one, else midnight.
pub(crate) fn date_in(text: &str) -> Option<DateTime> {
    // Parsing tries every format at every word. A year has four digits, and hardly a line has those.
    let mut fours = text.as_bytes().windows(4);
    if !fours.any(|four| four.iter().all(u8::is_ascii_digit)) {
        return None;
    }
    let text = without_ordinals(text);
    let is_digit_or_letter = |c: char| c.is_ascii_alphanumeric();
    let mut before = ' ';
    text.char_indices().find_map(|(at, c)| {
        let begins_word = is_digit_or_letter(c) && !is_digit_or_letter(before);
        before = c;
        begins_word
            .then(|| date_at_start(text.get(at..)?))
            .flatten()
    })
}

fn date_at_start(text: &str) -> Option<DateTime> {
    FORMATS.into_iter().find_map(|format| {
        let (parsed, length) = BrokenDownTime::parse_prefix(format, text).ok()?;
        let date = parsed.to_date().ok()?;
        // A version such as `1.2.3` has the form of a date in the year 3.
        let is_plausible = (1970..2200).contains(&date.year());
        let time = time_at_start(text.get(length..)?).unwrap_or_default();
        is_plausible.then(|| date.to_datetime(time))
    })
}

fn time_at_start(text: &str) -> Option<Time> {
    let text = text.strip_prefix([' ', 'T'])?;
    let formats = ["%H:%M:%S", "%H:%M"].into_iter();
    let mut times = formats.filter_map(|format| BrokenDownTime::parse_prefix(format, text).ok());
    times.next()?.0.to_time().ok()
}

/// Turns `March 11th, 2026` into `March 11 2026`.
fn without_ordinals(text: &str) -> String {
    let words = text.split_whitespace().map(|word| {
        let word = word.trim_end_matches(',');
        let mut suffixes = ["st", "nd", "rd", "th"].into_iter();
        let number = suffixes.find_map(|suffix| word.strip_suffix(suffix));
        number
            .filter(|number| number.ends_with(|c: char| c.is_ascii_digit()))
            .unwrap_or(word)
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_written_in_many_ways() {
        let day = date_in("2026-03-11").unwrap();
        for same in [
            "Session of 2026/3/11 — login",
            "March 11, 2026",
            "11 Mar 2026:",
            "[2026.03.11]",
            "11.3.2026",
            "3/11/2026",
            "Mar 11th 2026",
            "13 things on 2026-03-11",
        ] {
            assert_eq!(date_in(same).as_ref(), Some(&day), "{same}");
        }
        assert_eq!(date_in("Sept 3, 2026"), date_in("2026-09-03"));
        for none in [
            "Session 12",
            "v1.2.3",
            "May 3",
            "2026",
            "1999-99-99",
            "10.0.0.1",
        ] {
            assert_eq!(date_in(none), None, "{none}");
        }
    }

    #[test]
    fn later_is_greater() {
        let ordered = [
            "2025-12-31",
            "2026-01-01",
            "2026-01-01 09:05",
            "2026-01-01T14:30",
            "2 January 2026",
        ];
        for pair in ordered.windows(2) {
            assert!(date_in(pair[0]) < date_in(pair[1]), "{pair:?}");
        }
    }
}
