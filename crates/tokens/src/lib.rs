//! Token counts as models see them.
//!
//! Kept apart from the core because loading a vocabulary takes 50 to 110 ms: nobody who does not
//! render a context should pay for it, so nothing is loaded before the first count.

mod memo;

pub use memo::{Counts, Memo};

use flamestack_core::tokens::{Estimate, Seam, Tokenizer};

/// The vocabulary of the GPT models since 4o.
///
/// The best offline measure for other vendors too: none of theirs is public, see
/// [`flamestack_core::tokens::Scaled`].
#[derive(Clone, Copy, Debug, Default)]
pub struct O200k;

impl Tokenizer for O200k {
    fn name(&self) -> &'static str {
        "o200k"
    }

    fn count(&self, text: &str) -> usize {
        match tiktoken::get_encoding("o200k_base") {
            Some(encoding) => encoding.count(text),
            None => Estimate.count(text),
        }
    }

    fn seam(&self) -> Seam {
        // Its splitting pattern ends a piece behind `>` and a line break whatever comes next but
        // a slash or another line break; pieces are encoded one by one.
        Seam::Exact
    }
}

/// The tokenizer that a setting names.
pub fn by_name(name: &str) -> Option<Box<dyn Tokenizer + Send + Sync>> {
    match name {
        "o200k" => Some(Box::new(O200k)),
        "estimate" => Some(Box::new(Estimate)),
        _ => None,
    }
}
