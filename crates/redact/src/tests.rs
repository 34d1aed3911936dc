//! Tests of the redaction: what must go, what must stay, and laws over arbitrary text.
//! No literal here is a secret or looks like one to a scanner: all are put together when run.

mod corpus;
mod custom;
mod forms;
mod innocents;
mod laws;
mod secrets;

use std::borrow::Cow;

use super::redact;

/// Asserts that `text` comes back as it is.
#[track_caller]
fn unchanged(text: &str) {
    let clean = redact(text);
    assert!(
        matches!(clean, Cow::Borrowed(_)),
        "changed:\n  {text}\n  {clean}"
    );
}

/// Asserts that nothing of `secret` is left of `text`, and that a second look finds nothing.
#[track_caller]
fn gone(text: &str, secret: &str) -> String {
    assert!(text.contains(secret), "the test lost its secret: {text}");
    let clean = redact(text).into_owned();
    let left = secret
        .as_bytes()
        .windows(12.min(secret.len()))
        .find(|part| {
            clean
                .as_bytes()
                .windows(part.len())
                .any(|window| window == *part)
        });
    let left = left.map(String::from_utf8_lossy);
    assert!(
        left.is_none(),
        "left {left:?} of {secret}\n  in {text}\n  as {clean}"
    );
    assert_eq!(redact(&clean), clean, "a second look changed it again");
    clean
}

/// Reproducible randomness: the same secrets in every run.
struct Dice(u64);

impl Dice {
    const LOWER_HEX: &str = "0123456789abcdef";
    const UPPER_DIGIT: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    const WORD: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    const B64URL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    const B64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
    const DIGITS: &str = "0123456789";

    fn roll(&mut self) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) >> 33).unwrap()
    }

    /// `length` characters of `alphabet`.
    fn draw(&mut self, alphabet: &str, length: usize) -> String {
        let sides = alphabet.len();
        (0..length)
            .map(|_| char::from(alphabet.as_bytes()[self.roll() % sides]))
            .collect()
    }

    fn uuid(&mut self) -> String {
        [8, 4, 4, 4, 12]
            .map(|length| self.draw(Self::LOWER_HEX, length))
            .join("-")
    }
}
