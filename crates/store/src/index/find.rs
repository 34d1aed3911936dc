//! Finding the texts of a query in the index, within fixed limits.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension, params};

use super::chunk::{self, Chunk, DocId};
use super::passage::{Passage, best_passage, contains_all, fold};
use super::query::{SearchQuery, word_grams};
use super::{Hit, Searched};
use crate::error::Result;
use crate::sqlite::rows;

/// Maximum amount of text that a search compares with the words, in bytes. The limit counts work
/// and not time, so that the same search has the same answer on every machine.
const READ_LIMIT: usize = 4 * 1024 * 1024;
/// Maximum number of chunks that a search takes from the index for each word.
const CANDIDATES_LIMIT: usize = 20_000;
/// The least that a chunk counts for: reading a row takes time however short its text is.
const LEAST_READ: usize = 256;
/// Maximum number of results, since each has a passage in memory.
const MOST_HITS: usize = 1_000;
/// Number of texts that are ranked.
const RANKED: usize = 100;
/// Time after which a search ends on a machine that is much slower than usual.
const DEADLINE: Duration = Duration::from_secs(1);

/// Finds texts that contain every word of a query, best first. Stops early once `is_unwanted`.
pub(super) fn find(
    index: &Connection,
    query: &SearchQuery,
    limit: usize,
    is_unwanted: &dyn Fn() -> bool,
) -> Result<Searched> {
    let mut search = Search {
        index,
        query,
        wanted: limit.min(MOST_HITS).saturating_add(1).max(RANKED),
        room: READ_LIMIT,
        deadline: Instant::now() + DEADLINE,
        is_unwanted,
        is_cut_short: false,
        found: BTreeMap::new(),
    };
    search.in_one_chunk()?;
    search.across_chunks()?;
    search.ranked(limit)
}

struct Search<'s> {
    index: &'s Connection,
    query: &'s SearchQuery,
    wanted: usize,
    /// Number of bytes that may still be read.
    room: usize,
    deadline: Instant,
    is_unwanted: &'s dyn Fn() -> bool,
    is_cut_short: bool,
    /// The best passage of each document.
    found: BTreeMap<DocId, Found>,
}

struct Found {
    passage: Passage,
    /// Place of the passage's chunk in the document.
    chunk_start: u64,
}

impl Search<'_> {
    /// Returns true if the search has to end, and records that.
    fn is_over(&mut self) -> bool {
        let is_over = self.room == 0 || (self.is_unwanted)() || Instant::now() > self.deadline;
        self.is_cut_short |= is_over;
        is_over
    }

    fn is_enough(&self) -> bool {
        self.found.len() >= self.wanted
    }

    /// Finds documents that contain all words within one chunk.
    fn in_one_chunk(&mut self) -> Result<()> {
        if let Some(grams) = self.query.all_grams() {
            let mut statement = self.index.prepare_cached(
                "SELECT rowid FROM grams WHERE grams MATCH ?1 ORDER BY rowid DESC",
            )?;
            let mut candidates = statement.query([grams])?;
            while let Some(row) = candidates.next()? {
                if self.is_enough() || self.is_over() {
                    break;
                }
                let id = row.get(0)?;
                if let Some(chunk) = chunk::read(self.index, id)? {
                    self.consider(id, &chunk);
                }
            }
            return Ok(());
        }
        // Words of one or two characters are in no group of three: newest texts first.
        let mut statement = self
            .index
            .prepare_cached("SELECT id, start, data FROM chunks ORDER BY id DESC")?;
        let mut chunks = statement.query([])?;
        while let Some(row) = chunks.next()? {
            if self.is_enough() || self.is_over() {
                break;
            }
            let data: Vec<u8> = row.get(2)?;
            let chunk = chunk::unpacked(row.get(1)?, &data)?;
            self.consider(row.get(0)?, &chunk);
        }
        Ok(())
    }

    /// Keeps a chunk if it contains all words.
    fn consider(&mut self, id: i64, chunk: &Chunk) {
        let folded = self.fold(chunk);
        if contains_all(&folded, self.query.words()) {
            self.keep(DocId::of_chunk(id), chunk, &folded);
        }
    }

    fn fold(&mut self, chunk: &Chunk) -> String {
        self.room = self.room.saturating_sub(chunk.text.len().max(LEAST_READ));
        fold(&chunk.text)
    }

    fn keep(&mut self, doc: DocId, chunk: &Chunk, folded: &str) {
        let Some(passage) = best_passage(&chunk.text, folded, self.query.words()) else {
            return;
        };
        let known = self.found.get(&doc);
        if known.is_none_or(|known| known.passage.words < passage.words) {
            let chunk_start = chunk.start;
            self.found.insert(
                doc,
                Found {
                    passage,
                    chunk_start,
                },
            );
        }
    }

    /// Finds documents whose words are in different chunks.
    fn across_chunks(&mut self) -> Result<()> {
        if self.query.words().len() < 2 || self.is_enough() || self.is_over() {
            return Ok(());
        }
        let mut candidates: Option<BTreeSet<DocId>> = None;
        for word in self.query.words() {
            let Some(grams) = word_grams(word) else {
                continue;
            };
            let docs = self.docs_with(&grams)?;
            candidates = Some(match candidates {
                Some(others) => others.intersection(&docs).copied().collect(),
                None => docs,
            });
            if self.is_over() {
                return Ok(());
            }
        }
        for doc in candidates.unwrap_or_default().into_iter().rev() {
            if self.is_enough() || self.is_over() {
                break;
            }
            if !self.found.contains_key(&doc) {
                self.look_through(doc)?;
            }
        }
        Ok(())
    }

    /// Returns the documents of several chunks that may contain a word.
    fn docs_with(&mut self, grams: &str) -> Result<BTreeSet<DocId>> {
        let mut statement = self
            .index
            .prepare_cached("SELECT rowid FROM grams WHERE grams MATCH ?1 ORDER BY rowid DESC")?;
        let mut rows = statement.query([grams])?;
        let mut docs = BTreeSet::new();
        let mut taken = 0;
        while let Some(row) = rows.next()? {
            taken += 1;
            if taken > CANDIDATES_LIMIT {
                self.is_cut_short = true;
                break;
            }
            docs.insert(DocId::of_chunk(row.get(0)?));
        }
        Ok(docs)
    }

    /// Reads the chunks of a document and keeps it if they contain all words together.
    fn look_through(&mut self, doc: DocId) -> Result<()> {
        let mut statement = self.index.prepare_cached(
            "SELECT id, start, data FROM chunks WHERE id >= ?1 AND id < ?2 ORDER BY id",
        )?;
        let ids = doc.chunks();
        let mut chunks = statement.query([ids.start, ids.end])?;
        let mut missing: Vec<&str> = self.query.words().iter().map(String::as_str).collect();
        let mut best: Option<(Passage, u64)> = None;
        while let Some(row) = chunks.next()? {
            if self.is_over() {
                return Ok(());
            }
            let data: Vec<u8> = row.get(2)?;
            let chunk = chunk::unpacked(row.get(1)?, &data)?;
            let folded = self.fold(&chunk);
            let before = missing.len();
            missing.retain(|word| !folded.contains(word));
            if missing.len() < before
                && let Some(passage) = best_passage(&chunk.text, &folded, self.query.words())
                && best
                    .as_ref()
                    .is_none_or(|(known, _)| known.words < passage.words)
            {
                best = Some((passage, chunk.start));
            }
            if missing.is_empty() {
                break;
            }
        }
        if missing.is_empty()
            && let Some((passage, chunk_start)) = best
        {
            self.found.insert(
                doc,
                Found {
                    passage,
                    chunk_start,
                },
            );
        }
        Ok(())
    }

    /// Returns the best documents: titles before other fields before logs, then those with the words
    /// close to each other, then the newest.
    fn ranked(mut self, limit: usize) -> Result<Searched> {
        let mut found: Vec<_> = std::mem::take(&mut self.found).into_iter().collect();
        found.sort_by_key(|(doc, found)| {
            let passage = &found.passage;
            std::cmp::Reverse((doc.class(), passage.words, passage.whole_words, *doc))
        });
        self.is_cut_short |= limit > MOST_HITS && found.len() > MOST_HITS;
        let more = limit <= MOST_HITS && found.len() > limit;
        let mut hits = Vec::new();
        for (
            doc,
            Found {
                passage,
                chunk_start,
            },
        ) in found.into_iter().take(limit.min(MOST_HITS))
        {
            let hit = self
                .index
                .prepare_cached("SELECT frame, field, piece FROM docs WHERE id = ?1")?
                .query_row(params![doc.number()], |row| {
                    Ok((rows::id(row, 0), row.get(1)?, row.get::<_, Option<u32>>(2)?))
                })
                .optional()?;
            let Some((frame, field, piece)) = hit else {
                continue;
            };
            hits.push(Hit {
                frame: frame?,
                field,
                piece,
                position: chunk_start + passage.start as u64,
                excerpt: passage.excerpt,
                passage: passage.text,
            });
        }
        Ok(Searched {
            hits,
            more,
            is_cut_short: self.is_cut_short,
        })
    }
}
