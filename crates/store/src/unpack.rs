//! Decompression of raw texts and of the index's chunks.

use std::cell::RefCell;
use std::io;

use zstd::bulk::Decompressor;

thread_local! {
    /// Kept, because making one takes longer than unpacking a short text with it.
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Unpacks a text of at most `capacity` bytes.
pub(crate) fn unpack(packed: &[u8], capacity: usize) -> io::Result<Vec<u8>> {
    DECOMPRESSOR.with_borrow_mut(|kept| {
        let decompressor = match kept {
            Some(decompressor) => decompressor,
            None => kept.insert(Decompressor::new()?),
        };
        decompressor.decompress(packed, capacity)
    })
}
