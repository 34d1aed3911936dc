//! Texts in the index: cut into overlapping chunks of a bounded size, each compressed.

use std::ops::Range;

use rusqlite::{Connection, OptionalExtension, params};

use super::query::WORD_LIMIT;
use crate::error::{Result, StoreError};
use crate::unpack::unpack;

/// Length of a chunk, in bytes.
pub(super) const CHUNK: usize = 8 * 1024;
/// Length of the text that a chunk shares with the one after it, in bytes: enough for any word, so
/// that none is lost at a seam.
const OVERLAP: usize = 4 * WORD_LIMIT + 4;
/// Number of bits of a chunk's id that number the chunks of a document.
const NUMBER_BITS: u32 = 20;
/// Number of bits of a chunk's id below its class.
const CLASS_BITS: u32 = 60;
/// Compression level: as fast as possible.
const LEVEL: i32 = 1;

/// The kind of a document; higher ones are listed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    Log = 1,
    Field = 2,
    Title = 3,
}

/// Id of a document: its class and its number. Later documents have higher numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DocId(i64);

impl DocId {
    pub(super) fn new(class: Class, number: i64) -> Self {
        Self((class as i64) << (CLASS_BITS - NUMBER_BITS) | number)
    }

    /// Returns the document of a chunk.
    pub(super) fn of_chunk(chunk: i64) -> Self {
        Self(chunk >> NUMBER_BITS)
    }

    /// Returns the number of the document, which is the key of its row.
    pub(super) fn number(self) -> i64 {
        self.0 & ((1 << (CLASS_BITS - NUMBER_BITS)) - 1)
    }

    /// Returns a number that orders documents by class.
    pub(super) fn class(self) -> i64 {
        self.0 >> (CLASS_BITS - NUMBER_BITS)
    }

    /// Returns the ids that its chunks may have.
    pub(super) fn chunks(self) -> Range<i64> {
        self.0 << NUMBER_BITS..(self.0 + 1) << NUMBER_BITS
    }
}

/// Returns the chunk of a text that begins at `start`.
pub(super) fn chunk_at(text: &str, start: usize) -> &str {
    let end = text.floor_char_boundary(start + CHUNK);
    text.get(start..end).unwrap_or_default()
}

/// Returns the place where the chunk after one begins; `None` if that one is the last.
pub(super) fn next_chunk(text: &str, start: usize, length: usize) -> Option<usize> {
    let end = start + length;
    (end < text.len()).then(|| text.ceil_char_boundary(end - OVERLAP))
}

/// Writes and compresses chunks.
pub(super) struct ChunkWriter {
    compressor: zstd::bulk::Compressor<'static>,
}

impl ChunkWriter {
    pub(super) fn new() -> Result<Self> {
        let mut compressor = zstd::bulk::Compressor::new(LEVEL)?;
        // A flipped bit must not reach an excerpt.
        compressor.include_checksum(true)?;
        Ok(Self { compressor })
    }

    /// Adds a chunk, which begins at `start` of its document.
    pub(super) fn add(
        &mut self,
        index: &Connection,
        doc: DocId,
        number: i64,
        start: usize,
        chunk: &str,
    ) -> Result<()> {
        let id = doc.chunks().start + number;
        // The tokenizer of FTS5 stops at a NUL.
        let chunk = if chunk.contains('\0') {
            std::borrow::Cow::Owned(chunk.replace('\0', " "))
        } else {
            std::borrow::Cow::Borrowed(chunk)
        };
        index
            .prepare_cached("INSERT INTO grams (rowid, text) VALUES (?1, ?2)")?
            .execute(params![id, chunk])?;
        let data = self.compressor.compress(chunk.as_bytes())?;
        index
            .prepare_cached("INSERT INTO chunks VALUES (?1, ?2, ?3)")?
            .execute(params![id, i64::try_from(start).unwrap_or(i64::MAX), data])?;
        Ok(())
    }
}

/// A chunk as it is stored.
pub(super) struct Chunk {
    /// Its place in the document.
    pub(super) start: u64,
    /// Its text.
    pub(super) text: String,
}

/// Reads a chunk by its id.
pub(super) fn read(index: &Connection, id: i64) -> Result<Option<Chunk>> {
    let found: Option<(i64, Vec<u8>)> = index
        .prepare_cached("SELECT start, data FROM chunks WHERE id = ?1")?
        .query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    found
        .map(|(start, data)| unpacked(start, &data))
        .transpose()
}

/// Unpacks a chunk.
pub(super) fn unpacked(start: i64, data: &[u8]) -> Result<Chunk> {
    let damaged = |problem: String| StoreError::BadRow(problem);
    let text = unpack(data, CHUNK)
        .map_err(|error| damaged(format!("a chunk of the index does not unpack: {error}")))?;
    let text = String::from_utf8(text)
        .map_err(|error| damaged(format!("a chunk of the index is not text: {error}")))?;
    Ok(Chunk {
        start: start.unsigned_abs(),
        text,
    })
}
