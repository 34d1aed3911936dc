//! How much a value looks like a secret, judged from its characters alone.
//! What its key says, and how much is needed there, is for `assign` and `header`.

use super::bytes::{DIGIT, LETTER, Set};
use super::dud::{is_expression, is_masked, is_path, is_placeholder, is_reference, is_template};
use super::random::{SPECIAL, looks_random};

/// How much a value looks like a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strength {
    /// A placeholder, a reference, a path, a type, an expression, a sentence.
    None,
    /// Digits and nothing else: a count as often as a PIN.
    Digits,
    /// Words, perhaps with dashes between them.
    Words,
    /// Letters with a digit or a special character, as people make passwords.
    Mixed,
    /// Drawn by lot, as machines make keys.
    Random,
}

/// How a value stands in its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// Between quotes: a literal.
    Quoted,
    /// Bare where only literals stand, such as an env file.
    Literal,
    /// Bare where an expression of a programming language may stand.
    Bare,
}

/// Values no longer than this are judged whole, longer ones by their beginning.
pub(super) const WINDOW: usize = 128;

/// Shorter values are not worth the false alarms.
const SHORTEST: usize = 6;

/// Judges `value`.
pub(super) fn strength(value: &[u8], written: Written) -> Strength {
    // `=` and `:` are the rest of an operator. Blanks, and everything from U+0800 up, CJK foremost,
    // make a sentence or a label.
    let foreign = |byte: &u8| matches!(byte, 0..=b' ' | 0x7f | 0xe0..);
    if value.len() < SHORTEST || matches!(value, [b'=' | b':', ..]) || value.iter().any(foreign) {
        return Strength::None;
    }
    if is_template(value) || is_masked(value) || is_reference(value) {
        return Strength::None;
    }
    let expression = match written {
        Written::Quoted => false,
        Written::Literal => value.contains(&b'('),
        Written::Bare => is_expression(value),
    };
    if expression || is_path(value) {
        return Strength::None;
    }
    if looks_random(value) {
        return Strength::Random;
    }
    if is_placeholder(value) {
        return Strength::None;
    }
    let any = |value: &[u8], set: Set| value.iter().any(|byte| set.has(*byte));
    let letters = any(value, LETTER) || !value.is_ascii();
    match (
        letters,
        any(value, DIGIT),
        any(without_punctuation(value), SPECIAL),
    ) {
        (true, true, _) | (true, _, true) | (_, true, true) => Strength::Mixed,
        (true, false, false) => Strength::Words,
        (false, true, false) if value.iter().all(u8::is_ascii_digit) => Strength::Digits,
        (false, ..) => Strength::None,
    }
}

/// Words joined by dashes, dots, underscores or capitals, each with two digits at most: a name.
pub(super) fn is_slug(value: &[u8]) -> bool {
    let joined = value.split(|byte| b"-_.:/".contains(byte));
    let capital = |left: &u8, right: &u8| left.is_ascii_uppercase() || !right.is_ascii_uppercase();
    joined.flat_map(|part| part.chunk_by(capital)).all(|part| {
        let word = part
            .iter()
            .take_while(|byte| byte.is_ascii_alphabetic())
            .count();
        let tail = part.get(word..).unwrap_or_default();
        let short = tail.len() <= if word == 0 { 4 } else { 2 };
        short && tail.iter().all(u8::is_ascii_digit)
    })
}

/// A label such as `Forgot?` has its mark at the end.
fn without_punctuation(value: &[u8]) -> &[u8] {
    let marks = value
        .iter()
        .rev()
        .take_while(|byte| b"?!*:.".contains(byte))
        .count();
    value.get(..value.len() - marks).unwrap_or_default()
}
