//! Counts that are remembered by the hash of the counted text.
//!
//! A context is counted entry by entry, and from one message to the next nearly all entries are the
//! same.

use flamestack_extract::tokens::{Seam, Tokenizer};
use xxhash_rust::xxh3::xxh3_128;

/// A store of counts.
///
/// Keys are hashes of the counted text. Losing an entry costs time and nothing else.
pub trait Counts {
    /// Returns a count that was stored before.
    fn get(&self, key: u128) -> Option<usize>;
    /// Stores a count.
    fn put(&self, key: u128, tokens: usize);
}

/// A tokenizer that counts each text once.
#[derive(Clone, Debug)]
pub struct Memo<T, C> {
    tokenizer: T,
    counts: C,
}

impl<T: Tokenizer, C: Counts> Memo<T, C> {
    /// Creates a tokenizer that remembers the counts of another one.
    pub fn new(tokenizer: T, counts: C) -> Self {
        Self { tokenizer, counts }
    }
}

impl<T: Tokenizer, C: Counts> Tokenizer for Memo<T, C> {
    fn name(&self) -> &'static str {
        self.tokenizer.name()
    }

    fn count(&self, text: &str) -> usize {
        if text.is_empty() {
            return 0;
        }
        // Different tokenizers may share one store.
        let name = xxh3_128(self.tokenizer.name().as_bytes());
        let key = xxh3_128(text.as_bytes()) ^ name;
        self.counts.get(key).unwrap_or_else(|| {
            let tokens = self.tokenizer.count(text);
            self.counts.put(key, tokens);
            tokens
        })
    }

    fn seam(&self) -> Seam {
        self.tokenizer.seam()
    }
}

impl<C: Counts + ?Sized> Counts for &C {
    fn get(&self, key: u128) -> Option<usize> {
        (**self).get(key)
    }

    fn put(&self, key: u128, tokens: usize) {
        (**self).put(key, tokens);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::collections::BTreeMap;

    use super::*;

    #[derive(Default)]
    struct Stored(RefCell<BTreeMap<u128, usize>>);

    impl Counts for Stored {
        fn get(&self, key: u128) -> Option<usize> {
            self.0.borrow().get(&key).copied()
        }

        fn put(&self, key: u128, tokens: usize) {
            self.0.borrow_mut().insert(key, tokens);
        }
    }

    #[derive(Default)]
    struct Slow(Cell<usize>);

    impl Tokenizer for Slow {
        fn name(&self) -> &'static str {
            "slow"
        }

        fn count(&self, text: &str) -> usize {
            self.0.set(self.0.get() + 1);
            text.len()
        }
    }

    #[test]
    fn nothing_is_counted_twice() {
        let (slow, stored) = (Slow::default(), Stored::default());
        for text in ["one", "two!", "one", "two!", ""] {
            let memo = Memo::new(&slow, &stored);
            assert_eq!(memo.count(text), text.len());
        }
        assert_eq!(slow.0.get(), 2);
    }
}
