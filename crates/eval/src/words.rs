//! Words and phrases as the measure takes them: letters, digits and `_` of ASCII.

use std::collections::BTreeSet;

/// Words that say nothing.
const EMPTY_WORDS: [&str; 46] = [
    "the", "and", "but", "for", "with", "from", "was", "are", "were", "been", "have", "has", "had",
    "does", "did", "will", "would", "could", "should", "may", "might", "must", "shall", "can",
    "need", "this", "that", "these", "those", "its", "you", "she", "they", "a", "an", "or", "in",
    "on", "at", "to", "of", "by", "as", "is", "be", "it",
];

fn words(text: &str) -> impl Iterator<Item = &[u8]> {
    text.as_bytes()
        .split(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_'))
        .filter(|word| !word.is_empty())
}

/// The hashes of all sequences of four words.
pub(crate) fn phrases(text: &str) -> Vec<u64> {
    let mut four = [0u64; 4];
    let mut hashes = Vec::new();
    for (nth, word) in words(text).enumerate() {
        let [_, a, b, c] = four;
        four = [a, b, c, hash(word)];
        if nth >= 3 {
            hashes.push(four.iter().fold(0, |sum: u64, word| {
                (sum.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            }));
        }
    }
    hashes
}

fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The words of a text that mean something.
pub(crate) fn keywords(text: &str) -> BTreeSet<String> {
    text.to_lowercase()
        .split(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit()))
        .filter(|word| word.len() > 2 && !EMPTY_WORDS.contains(word))
        .map(str::to_owned)
        .collect()
}
