//! Counts that are remembered by the content they were made of.
//!
//! Loading a vocabulary takes longer than everything else that a hook does. A context is counted
//! entry by entry, and from one message to the next nearly all entries are the same, so a process
//! that finds their counts remembered never loads one.

use flamestack_core::tokens::{Seam, Tokenizer};
use xxhash_rust::xxh3::xxh3_128;

/// Where counts are kept.
///
/// Keys are hashes of the counted text. Losing an entry costs time and nothing else.
pub trait Counts {
    /// A count that was kept before.
    fn get(&self, key: u128) -> Option<usize>;
    /// Keeps a count.
    fn put(&self, key: u128, tokens: usize);
}

/// A tokenizer that counts no text twice.
#[derive(Clone, Debug)]
pub struct Memo<T, C> {
    tokenizer: T,
    counts: C,
}

impl<T: Tokenizer, C: Counts> Memo<T, C> {
    /// Remembers the counts of a tokenizer.
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
        // Different tokenizers may share one place.
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
    struct Kept(RefCell<BTreeMap<u128, usize>>);

    impl Counts for Kept {
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
        let (slow, kept) = (Slow::default(), Kept::default());
        for text in ["one", "two!", "one", "two!", ""] {
            let memo = Memo::new(&slow, &kept);
            assert_eq!(memo.count(text), text.len());
        }
        assert_eq!(slow.0.get(), 2);
    }
}
