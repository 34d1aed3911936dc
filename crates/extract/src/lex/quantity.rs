//! Quantities: numbers with units, such as limits, sizes and times that were set or measured.
//!
//! A number alone means nothing later, so the words before it are part of it: `the timeout is
//! 250 ms`.

use std::sync::LazyLock;

use super::names::NameKind;
use super::{Run, lowercase};
use crate::data::{UNITS, WordSet, section};

/// Longest number, in bytes.
const MAX_NUMBER: usize = 12;
/// Length of the words before the number that are shown with it, in bytes.
const MAX_BEFORE: usize = 28;

static UNIT_WORDS: LazyLock<WordSet> = LazyLock::new(|| section(UNITS, "words").collect());
static UNIT_SYMBOLS: LazyLock<Vec<&str>> = LazyLock::new(|| section(UNITS, "symbols").collect());

/// Visits the quantity whose number is at the start of a run, if there is one.
pub(super) fn find<'a>(text: &'a str, run: &Run<'a>, visit: &mut impl FnMut(NameKind, &'a str)) {
    // In scripts without spaces a sentence may lead right up to the number.
    let number = run.text.trim_start_matches(|c: char| !c.is_ascii());
    let end = run.start + run.text.len();
    let start = end - number.len();
    let is_digit = |c: char| c.is_ascii_digit() || matches!(c, '.' | '_');
    let after = number.trim_start_matches(is_digit);
    let number = number.get(..number.len() - after.len()).unwrap_or_default();
    let is_number = number.starts_with(|c: char| c.is_ascii_digit())
        && number.ends_with(|c: char| c.is_ascii_digit())
        && number.len() <= MAX_NUMBER
        && number.matches('.').count() <= 1;
    if !is_number {
        return;
    }
    let mut at = start + number.len();
    if at == end && text.as_bytes().get(at) == Some(&b' ') {
        at += 1;
    }
    if let Some(length) = unit(text.get(at..).unwrap_or_default()) {
        let from = words_before(text, start);
        let quantity = text.get(from..at + length).unwrap_or_default();
        visit(NameKind::Quantity, quantity);
    }
}

/// Returns the length of the unit that a text begins with.
fn unit(text: &str) -> Option<usize> {
    let symbol = UNIT_SYMBOLS.iter().find(|unit| text.starts_with(**unit));
    if let Some(symbol) = symbol {
        return Some(symbol.len());
    }
    let letters = text.bytes().take_while(u8::is_ascii_alphabetic).count();
    let (word, after) = text.split_at_checked(letters)?;
    if after.starts_with(|c: char| c.is_ascii_digit() || c == '_')
        || !UNIT_WORDS.contains(lowercase(word).as_ref())
    {
        return None;
    }
    // `100 MB/s`, `20 requests/s`.
    let per_second = if after.starts_with("/s") { 2 } else { 0 };
    Some(letters + per_second)
}

/// Returns the start of the words before a number that belong to it.
fn words_before(text: &str, start: usize) -> usize {
    let mut from = start;
    let head = text.get(..start).unwrap_or_default();
    let floor = head.ceil_char_boundary(start.saturating_sub(MAX_BEFORE));
    let mut chars = head.char_indices().rev().peekable();
    while let Some((at, c)) = chars.next() {
        if at < floor
            || !(c.is_alphabetic() || matches!(c, ' ' | '_' | '-' | ':' | '=' | '≤' | '<'))
        {
            break;
        }
        let before = chars.peek().map(|(_, before)| *before);
        if c.is_alphabetic() && before.is_none_or(|c| !c.is_alphanumeric() && c != '_') {
            from = at;
        }
    }
    from
}

/// Returns the number with its unit, without the words before it.
pub(super) fn bare(quantity: &str) -> &str {
    let at = quantity.find(|c: char| c.is_ascii_digit()).unwrap_or(0);
    quantity.get(at..).unwrap_or(quantity)
}

#[cfg(test)]
mod tests {
    use super::super::names::names;
    use super::*;
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
    fn numbers_of_other_kinds_are_no_quantities() {
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
        fn a_quantity_is_found_in_any_sentence(before in "\\PC{0,60}", after in "\\PC{0,20}") {
            let text = format!("{before} (12 ms) {after}");
            let found = found(&text);
            prop_assert!(found.contains(&"12 ms"), "{found:?}");
            prop_assert!(found.iter().all(|quantity| quantity.len() <= MAX_BEFORE + MAX_NUMBER + 16));
        }
    }
}
