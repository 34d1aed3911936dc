//! Names of values: where a name begins and ends, and whether it names a secret.
//! What separates a name from its value is in `gap`.

use super::bytes::{ALNUM, DIGIT, LETTER, Set, UPPER, View};

/// The name around a telling word.
pub(super) struct Key<'t> {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The part of the name before the word.
    pub(super) before: &'t [u8],
}

/// Longer names are not names. It also bounds what a text of nothing but names can cost.
const LONGEST: usize = 64;

/// What names are made of.
const NAME: Set = ALNUM.and(Set::of(b"_-.$"));

impl<'t> Key<'t> {
    /// The name around the `word` at `at`, unless the rest of it changes the meaning.
    pub(super) fn around(view: View<'t>, at: usize, word: &str) -> Option<Self> {
        let start = view.run_back(at, NAME, LONGEST);
        let word_end = at + word.len();
        let end = view.run(word_end, NAME, LONGEST);
        if at - start == LONGEST || end - word_end == LONGEST {
            return None;
        }
        // A full stop or a dash at the end belongs to the sentence.
        let tail = view.slice(word_end..end).iter().rev();
        let end = end - tail.take_while(|byte| b".-".contains(byte)).count();
        let ends_word = match (view.at(word_end - 1), view.at(word_end)) {
            // `tokenizer`, `TOKENS`; only a capital begins the next word.
            (Some(last), Some(next)) if LETTER.has(last) && LETTER.has(next) => {
                last.is_ascii_lowercase() && next.is_ascii_uppercase()
            }
            _ => true,
        };
        let rest = view.slice(word_end..end);
        if !ends_word || !means_the_same(rest, view.slice(start..end)) {
            return None;
        }
        let before = match view.slice(start..at) {
            // "API key: …", as people and consoles write it.
            [] if view.back(at, 1) == Some(b' ') => {
                view.slice(view.run_back(at - 1, LETTER, LONGEST)..at - 1)
            }
            before => before,
        };
        Some(Self { start, end, before })
    }

    /// Whether the word is qualified by `name`, however the two are joined.
    pub(super) fn is_named(&self, name: &str) -> bool {
        let letters = self.before.iter().rev().filter(|byte| ALNUM.has(**byte));
        let mut letters = letters.map(u8::to_ascii_lowercase);
        name.bytes().rev().all(|byte| letters.next() == Some(byte))
    }

    /// Whether it is written as variables of the environment are.
    pub(super) fn is_env(&self, view: View<'_>) -> bool {
        let name = view.slice(self.start..self.end);
        name.iter()
            .all(|byte| UPPER.has(*byte) || DIGIT.has(*byte) || *byte == b'_')
    }
}

/// Whether `rest`, the part of a name after the telling word, leaves its meaning alone:
/// `SECRET_KEY_BASE` is a secret, `secret_name` and `token_count` are not.
fn means_the_same(rest: &[u8], name: &[u8]) -> bool {
    const NEUTRAL: &str = "\
        key base base64 b64 value secret access string text plain raw data prod production dev \
        development staging test live main default old new current previous primary secondary \
        confirm confirmation hex pem token password";
    /// In capitals an owner may follow, as in `API_KEY_OPENAI`; these are not owners.
    const CHANGING: &str = "\
        ID NAME URL URI PATH FILE TYPE HASH ARN COUNT LIMIT TTL EXPIRY EXPIRES LENGTH SIZE REF \
        VERSION HEADER PREFIX REGEX FIELD ALGORITHM ISSUER AUDIENCE ENDPOINT DIR PROVIDER \
        ROTATION POLICY BUDGET USAGE MAX MIN IN AT";
    let capitals = name
        .iter()
        .all(|byte| !byte.is_ascii_lowercase() && *byte != b'.');
    let mut words = rest
        .split(|byte| !ALNUM.has(*byte))
        .flat_map(|part| part.chunk_by(|_, next| !next.is_ascii_uppercase() || capitals))
        .filter(|word| !word.is_empty());
    words.all(|word| {
        word.iter().all(u8::is_ascii_digit)
            || NEUTRAL
                .split(' ')
                .any(|neutral| word.eq_ignore_ascii_case(neutral.as_bytes()))
            || capitals
                && !CHANGING
                    .split(' ')
                    .any(|changing| changing.as_bytes() == word)
    })
}
