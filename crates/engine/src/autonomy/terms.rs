//! The words that a piece of work knows, and the share of a text that is new to it.

use std::collections::BTreeSet;

use crate::autonomy::heuristics::fingerprint;
use flamestack_extract::lex::terms;

/// Length of a text of the model whose words count as known, in bytes.
pub(crate) const READ_OF_MODEL: usize = 1_500;
/// Length of a prompt that is compared, in bytes.
pub(crate) const READ_OF_PROMPT: usize = 4_000;
/// Maximum number of terms that are known.
const KNOWN: usize = 4_000;
/// A text with fewer terms is a direct continuation.
const FEWEST: usize = 4;

/// Fingerprints of terms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KnownTerms(BTreeSet<u64>);

impl KnownTerms {
    /// Learns the terms of a text's beginning.
    pub(crate) fn learn(&mut self, text: &str, limit: usize) {
        if self.0.len() >= KNOWN {
            return;
        }
        for term in terms(beginning(text, limit)) {
            if self.0.len() >= KNOWN {
                return;
            }
            self.0.insert(fingerprint(&[&term]));
        }
    }

    /// Returns the share of the terms of a text that are not known, in percent; none if the text is too
    /// short to compare, or nothing is known.
    pub(crate) fn divergence(&self, text: &str) -> Option<u8> {
        let terms = terms(beginning(text, READ_OF_PROMPT));
        if terms.len() < FEWEST || self.0.is_empty() {
            return None;
        }
        let is_known = |term: &&String| self.0.contains(&fingerprint(&[term]));
        let unknown = terms.len() - terms.iter().filter(is_known).count();
        u8::try_from(unknown * 100 / terms.len()).ok()
    }

    /// Returns the number of known terms.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Forgets all terms.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// Returns the beginning of a text, cut at a character.
pub(crate) fn beginning(text: &str, limit: usize) -> &str {
    text.get(..text.floor_char_boundary(limit)).unwrap_or(text)
}
