//! Dates in headings, as people write them: for telling which of two is later.

/// A day and what of a time follows it; later ones are greater.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Date {
    year: u32,
    month: u32,
    day: u32,
    time: Vec<u32>,
}

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// A word of a text: a number, a month, or something else.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Number(u32),
    Month(u32),
    Other,
}

/// The first date in a text: `2026-03-11 14:30`, `2026/3/11`, `March 11, 2026`, `11 Mar 2026`,
/// `11.3.2026`. Where only the sizes of numbers could tell day from month, `3/11/2026` is in
/// March and `3.11.2026` in November, as is usual with these signs.
pub(super) fn date_in(text: &str) -> Option<Date> {
    let words = words(text);
    (0..words.len()).find_map(|at| date_at(&words, at))
}

fn date_at(words: &[(Word, char)], at: usize) -> Option<Date> {
    let word = |offset: usize| words.get(at + offset).copied();
    let ((first, sign), (second, _), (third, _)) = (word(0)?, word(1)?, word(2)?);
    let number = |word: Word| match word {
        Word::Number(value) => Some(value),
        Word::Month(_) | Word::Other => None,
    };
    let year = |word: Word| number(word).filter(|year| (1970..2200).contains(year));
    let (year, month, day) = if let Some(year) = year(first) {
        (year, number(second)?, number(third)?)
    } else {
        let year = year(third)?;
        match (first, second) {
            (Word::Month(month), day) | (day, Word::Month(month)) => (year, month, number(day)?),
            _ if sign == '/' && number(first)? <= 12 => (year, number(first)?, number(second)?),
            _ if matches!(sign, '/' | '.' | '-') => (year, number(second)?, number(first)?),
            _ => return None,
        }
    };
    let is_one = (1..=12).contains(&month) && (1..=31).contains(&day);
    is_one.then(|| Date {
        year,
        month,
        day,
        time: time_behind(words.get(at + 2..).unwrap_or_default()),
    })
}

/// `14:30` behind a date.
fn time_behind(words: &[(Word, char)]) -> Vec<u32> {
    let Some((_, ' ' | 'T' | ',')) = words.first() else {
        return Vec::new();
    };
    let mut time = Vec::new();
    for (word, behind) in words.iter().skip(1) {
        let Word::Number(value) = word else {
            break;
        };
        time.push(*value);
        if *behind != ':' {
            break;
        }
    }
    // A single number is no time.
    if time.len() > 1 { time } else { Vec::new() }
}

/// The words of a text, each with the sign behind it.
fn words(text: &str) -> Vec<(Word, char)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_alphanumeric()) {
        rest = rest.get(start..).unwrap_or_default();
        let is_number = rest.starts_with(|c: char| c.is_ascii_digit());
        let end = rest
            .find(|c: char| !c.is_alphanumeric() || c.is_ascii_digit() != is_number)
            .unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        found.push((meaning(word), behind.chars().next().unwrap_or(' ')));
        // The letters of `11th` and the sign in `T14:30` are signs, not words.
        rest = match behind.get(..2) {
            Some("st" | "nd" | "rd" | "th") if is_number => behind.get(2..).unwrap_or_default(),
            _ if is_number && behind.starts_with('T') => behind.get(1..).unwrap_or_default(),
            _ => behind,
        };
    }
    found
}

fn meaning(word: &str) -> Word {
    if let Ok(value) = word.parse() {
        return Word::Number(value);
    }
    let lower = word.to_lowercase();
    let month = (1..).zip(MONTHS).find(|(_, month)| {
        lower.starts_with(month) && (lower.len() == month.len() || is_month(&lower))
    });
    month.map_or(Word::Other, |(number, _)| Word::Month(number))
}

fn is_month(word: &str) -> bool {
    [
        "january",
        "february",
        "march",
        "april",
        "june",
        "july",
        "august",
        "september",
        "sept",
        "october",
        "november",
        "december",
    ]
    .contains(&word)
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
