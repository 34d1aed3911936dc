//! Token counts as models see them.
//!
//! Some hosts start a process for each event, so the vocabulary is compiled into the program, ready to
//! use: see `build.rs`. Nothing is loaded or built at run time.

mod memo;
mod pieces;
mod vocabulary;

pub use memo::{Counts, Memo};

use flamestack_extract::tokens::{Estimate, Seam, Tokenizer};

/// The vocabulary of the GPT models since 4o.
///
/// The best offline measure for other vendors too: none of theirs is public.
#[derive(Clone, Copy, Debug, Default)]
pub struct O200k;

impl Tokenizer for O200k {
    fn name(&self) -> &'static str {
        "o200k"
    }

    fn count(&self, text: &str) -> usize {
        let mut counter = vocabulary::Counter::default();
        let pieces = pieces::pieces(text);
        pieces.map(|piece| counter.count(piece.as_bytes())).sum()
    }

    fn seam(&self) -> Seam {
        // Its splitting pattern ends a piece after `>` and a line break unless a slash or another
        // line break follows; pieces are encoded one by one.
        Seam::Exact
    }
}

/// Returns the tokenizer that a setting names.
pub fn by_name(name: &str) -> Option<Box<dyn Tokenizer + Send + Sync>> {
    match name {
        "o200k" => Some(Box::new(O200k)),
        "estimate" => Some(Box::new(Estimate)),
        _ => None,
    }
}
