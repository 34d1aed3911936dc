//! Numbers with units: limits, sizes and times that somebody set or measured.
//!
//! A number alone says nothing later, so the words before it are part of what is shown:
//! `the timeout is 250 ms`.

use super::name::NameKind;

/// Units that are written right behind a number or after a blank. Sorted, without case.
const UNITS: [&str; 53] = [
    "bytes",
    "connections",
    "cores",
    "day",
    "days",
    "db",
    "eur",
    "fps",
    "gb",
    "ghz",
    "gib",
    "h",
    "hour",
    "hours",
    "hz",
    "k",
    "kb",
    "khz",
    "kib",
    "km",
    "m",
    "mb",
    "mhz",
    "mib",
    "min",
    "mins",
    "minutes",
    "mm",
    "months",
    "ms",
    "ns",
    "percent",
    "px",
    "qps",
    "rem",
    "requests",
    "retries",
    "rpm",
    "rps",
    "s",
    "sec",
    "seconds",
    "tb",
    "threads",
    "tib",
    "times",
    "tokens",
    "tps",
    "us",
    "usd",
    "weeks",
    "workers",
    "years",
];
/// Units of scripts that need no blank.
const WIDE_UNITS: [&str; 14] = [
    "µs",
    "μs",
    "秒",
    "分",
    "時間",
    "小时",
    "毫秒",
    "ミリ秒",
    "天",
    "日",
    "個",
    "件",
    "円",
    "元",
];
/// No number is longer.
const LONGEST_NUMBER: usize = 12;
/// So many bytes of the words before it are shown.
const BEFORE: usize = 28;
/// No unit is longer.
const LONGEST_UNIT: usize = 12;

/// Finds a quantity whose number begins a run of letters, digits and signs, which lies from `start`
/// to `end`.
pub(super) fn find<'a>(
    text: &'a str,
    start: usize,
    end: usize,
    visit: &mut impl FnMut(NameKind, &'a str),
) {
    let bytes = text.as_bytes();
    let run = bytes.get(start..end).unwrap_or_default();
    // In scripts without blanks a sentence may lead right up to the number.
    let wide = run.iter().take_while(|byte| !byte.is_ascii()).count();
    let start = start + wide;
    let run = run.get(wide..).unwrap_or_default();
    let digits = run
        .iter()
        .take_while(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'_'))
        .count();
    let number = run.get(..digits).unwrap_or_default();
    let is_number = number.first().is_some_and(u8::is_ascii_digit)
        && number.last().is_some_and(u8::is_ascii_digit)
        && digits <= LONGEST_NUMBER
        && number.split(|byte| *byte == b'.').count() <= 2;
    if !is_number {
        return;
    }
    let mut at = start + digits;
    if at == end && bytes.get(at) == Some(&b' ') {
        at += 1;
    }
    let rest = text.get(at..).unwrap_or_default();
    let Some(length) = unit(rest) else {
        return;
    };
    let from = words_before(text, start);
    visit(
        NameKind::Quantity,
        text.get(from..at + length).unwrap_or_default(),
    );
}

/// How long the unit is that a text begins with.
fn unit(text: &str) -> Option<usize> {
    if text.starts_with('%') {
        return Some(1);
    }
    if let Some(wide) = WIDE_UNITS.iter().find(|unit| text.starts_with(**unit)) {
        return Some(wide.len());
    }
    let length = text
        .bytes()
        .take_while(u8::is_ascii_alphabetic)
        .take(LONGEST_UNIT + 1)
        .count();
    let behind = text.as_bytes().get(length);
    if behind.is_some_and(|byte| byte.is_ascii_digit() || *byte == b'_') {
        return None;
    }
    let word = text.get(..length)?.to_ascii_lowercase();
    UNITS.binary_search(&word.as_str()).ok()?;
    // `100 MB/s`, `20 requests/s`.
    let per = text
        .get(length..)
        .is_some_and(|rest| rest.starts_with("/s"));
    Some(length + if per { 2 } else { 0 })
}

/// Where the words begin that stand before a number on its line, as far as they belong to it.
fn words_before(text: &str, start: usize) -> usize {
    let mut from = start;
    let head = text.get(..start).unwrap_or_default();
    let floor = head.ceil_char_boundary(start.saturating_sub(BEFORE));
    for (at, c) in head.char_indices().rev() {
        if at < floor
            || !(c.is_alphabetic() || matches!(c, ' ' | '_' | '-' | ':' | '=' | '≤' | '<'))
        {
            break;
        }
        let before = head.get(..at).and_then(|head| head.chars().next_back());
        let begins_word =
            c.is_alphabetic() && before.is_none_or(|c| !c.is_alphanumeric() && c != '_');
        if begins_word {
            from = at;
        }
    }
    from
}

/// The number with its unit, without the words before it.
pub(super) fn bare(quantity: &str) -> &str {
    let at = quantity.find(|c: char| c.is_ascii_digit()).unwrap_or(0);
    quantity.get(at..).unwrap_or(quantity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anchor::scan::names;
    use proptest::prelude::*;

    fn found(text: &str) -> Vec<&str> {
        let mut all = Vec::new();
        names(text, &mut |kind, name| {
            if kind == NameKind::Quantity {
                all.push(name);
            }
        });
        all
    }

    #[test]
    fn numbers_with_units_are_found_with_the_words_before_them() {
        assert!(UNITS.is_sorted());
        assert_eq!(
            found("The timeout is 250 ms, at most 1.5GB; retry 3 times (80% of 16k tokens)."),
            [
                "The timeout is 250 ms",
                "at most 1.5GB",
                "retry 3 times",
                "80%",
                "of 16k",
            ]
        );
        assert_eq!(found("制限は30秒です"), ["制限は30秒"]);
        assert_eq!(bare("The timeout is 250 ms"), "250 ms");
    }

    #[test]
    fn numbers_of_other_kinds_are_none() {
        for text in [
            "12 apples",
            "v1.2.3",
            "line 12",
            "0x12ms",
            "1.2.3 s",
            "12ms_x",
            "a12 ms",
        ] {
            assert_eq!(found(text), Vec::<&str>::new(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_number_is_looked_at(before in any::<String>(), after in any::<String>()) {
            names(&format!("{before}12{after}"), &mut |_, _| {});
            names(&format!("{before} 12 ms{after}"), &mut |_, _| {});
        }
    }
}
