//! Whether bytes look drawn by lot rather than made of words.
//! What that means for a secret is for `value` and `token`.

use super::bytes::{ALNUM, LETTER, Set};

/// What people put into passwords and nobody into names.
pub(super) const SPECIAL: Set = Set::of(b"!@#$%^&*+=~?()[]{}|;");

/// Whether `value` looks drawn by lot.
pub(super) fn looks_random(value: &[u8]) -> bool {
    if value.len() < 12 || distinct(value) < 7 {
        return false;
    }
    let mut runs = value.split(|byte| !ALNUM.has(*byte));
    is_uuid(value) || changes_often(value) || runs.any(is_gibberish)
}

/// Letters, digits and cases change places too often for words. Of random base64 and hex nearly
/// every second neighbour changes; of `camelCaseNames` every fifth at most, as only the capital is
/// counted, and twice where no word follows it.
fn changes_often(value: &[u8]) -> bool {
    let classes = || value.iter().map(|byte| Class::of(*byte));
    let after_next = classes().skip(2).map(Some).chain([None]);
    let changes: usize = classes()
        .zip(classes().skip(1))
        .zip(after_next)
        .map(|((left, right), next)| match (left, right) {
            // What joins words says nothing, and `Word` is how words begin.
            (Class::Joint, _) | (_, Class::Joint) | (Class::Upper, Class::Lower) => 0,
            (Class::Lower, Class::Upper) => 1 + usize::from(next != Some(Class::Lower)),
            (left, right) => usize::from(left != right),
        })
        .sum();
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    let often = |share: usize| changes * share >= value.len();
    often(5) && digits >= 2 || often(4)
}

/// One long word that nobody can pronounce, with digits inside, or all of hex.
fn is_gibberish(run: &[u8]) -> bool {
    let digits = run.iter().filter(|byte| byte.is_ascii_digit()).count();
    let hex = run.iter().all(u8::is_ascii_hexdigit) && digits >= 4 && digits < run.len();
    if run.len() < 20 {
        return hex && run.len() >= 16;
    }
    let numbers = run
        .split(|byte| !byte.is_ascii_digit())
        .filter(|digits| !digits.is_empty());
    // `y` is a vowel here. Seven consonants do not meet in words, six do: "catchphrase".
    let mut consonants = run.split(|byte| !LETTER.has(*byte) || b"aeiouyAEIOUY".contains(byte));
    hex || numbers.count() >= 2 || consonants.any(|run| run.len() >= 7)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Lower,
    Upper,
    Digit,
    Special,
    Joint,
}

impl Class {
    fn of(byte: u8) -> Self {
        match byte {
            b'a'..=b'z' => Self::Lower,
            b'A'..=b'Z' => Self::Upper,
            b'0'..=b'9' => Self::Digit,
            byte if SPECIAL.has(byte) => Self::Special,
            _ => Self::Joint,
        }
    }
}

/// How many different bytes there are in `value`, counting ASCII only.
pub(super) fn distinct(value: &[u8]) -> u32 {
    let ascii = value.iter().filter(|byte| byte.is_ascii());
    ascii
        .fold(0_u128, |seen, byte| seen | 1 << *byte)
        .count_ones()
}

fn is_uuid(value: &[u8]) -> bool {
    let dashed = |(place, byte): (usize, &u8)| match place {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    value.len() == 36 && value.iter().enumerate().all(dashed)
}
