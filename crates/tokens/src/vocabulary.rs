//! The tokens of `o200k_base`, and byte pair encoding with them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use xxhash_rust::xxh3::xxh3_64;

/// A hash table of all tokens, written by `build.rs`.
static TABLE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/vocabulary.bin"));

/// Number of buckets, as in `build.rs`.
const BUCKETS: usize = 1 << 17;

/// The rank of what is not a token: it is merged last, which is never.
const NONE: u32 = u32::MAX;

/// Pieces up to this length are merged by looking for the best pair again and again, longer ones
/// with a heap: one piece may be megabytes of one letter.
const SHORT: usize = 64;

/// Counts tokens, with memory that is used again from piece to piece.
#[derive(Default)]
pub(crate) struct Counter {
    /// Start of each part of a short piece, and the rank of that part and the next one together.
    /// The last one is the end of the piece.
    parts: Vec<(usize, u32)>,
}

impl Counter {
    /// Returns the number of tokens of a piece.
    pub(crate) fn count(&mut self, piece: &[u8]) -> usize {
        match piece.len() {
            0 => 0,
            1 => 1,
            _ if rank(piece) != NONE => 1,
            2..=SHORT => self.count_short(piece),
            _ => Chain::new(piece).count(),
        }
    }

    fn count_short(&mut self, piece: &[u8]) -> usize {
        let pairs = piece.windows(2).map(rank).chain([NONE, NONE]);
        self.parts.clear();
        self.parts.extend((0..).zip(pairs));
        loop {
            let parts = self.parts.iter().map(|(_, rank)| *rank).enumerate();
            match parts.min_by_key(|(_, rank)| *rank) {
                Some((first, rank)) if rank != NONE => {
                    self.parts.remove(first + 1);
                    self.rank_again(piece, first);
                    if let Some(before) = first.checked_sub(1) {
                        self.rank_again(piece, before);
                    }
                }
                _ => return self.parts.len() - 1,
            }
        }
    }

    /// Ranks a part and the next one together.
    fn rank_again(&mut self, piece: &[u8], part: usize) {
        let end = self.parts.get(part + 2).map(|(end, _)| *end);
        if let Some((start, known)) = self.parts.get_mut(part) {
            let joined = end.and_then(|end| piece.get(*start..end));
            *known = joined.map_or(NONE, rank);
        }
    }
}

/// A long piece: its parts as a linked list by their first byte.
struct Chain<'a> {
    piece: &'a [u8],
    links: Vec<Link>,
    /// Rank and first byte of pairs; those that have changed since are passed over.
    pairs: BinaryHeap<Reverse<(u32, usize)>>,
}

#[derive(Clone, Copy)]
struct Link {
    previous: usize,
    next: usize,
    /// Rank of this part and the next one together.
    rank: u32,
}

impl<'a> Chain<'a> {
    fn new(piece: &'a [u8]) -> Self {
        let link = |at: usize| Link {
            previous: at.saturating_sub(1),
            next: at + 1,
            rank: NONE,
        };
        let mut chain = Self {
            piece,
            links: (0..=piece.len()).map(link).collect(),
            pairs: BinaryHeap::new(),
        };
        for at in 0..piece.len() {
            chain.rank_again(at);
        }
        chain
    }

    fn count(mut self) -> usize {
        let mut parts = self.piece.len();
        while let Some(Reverse((rank, at))) = self.pairs.pop() {
            if self.links.get(at).is_some_and(|link| link.rank == rank) && self.merge(at).is_some()
            {
                parts -= 1;
            }
        }
        parts
    }

    /// Joins a part with the next one.
    fn merge(&mut self, at: usize) -> Option<()> {
        let Link { previous, next, .. } = *self.links.get(at)?;
        let gone = self.links.get_mut(next)?;
        gone.rank = NONE;
        let after = gone.next;
        self.links.get_mut(after)?.previous = at;
        self.links.get_mut(at)?.next = after;
        self.rank_again(at);
        if at > 0 {
            self.rank_again(previous);
        }
        Some(())
    }

    fn rank_again(&mut self, at: usize) {
        let next = self.links.get(at).map(|link| link.next);
        let end = next.and_then(|next| Some(self.links.get(next)?.next));
        let joined = end.and_then(|end| self.piece.get(at..end));
        let rank = joined.map_or(NONE, rank);
        if let Some(link) = self.links.get_mut(at) {
            link.rank = rank;
        }
        if rank != NONE {
            self.pairs.push(Reverse((rank, at)));
        }
    }
}

/// Returns the rank of a token: the lower, the earlier it is merged.
fn rank(token: &[u8]) -> u32 {
    find(token).unwrap_or(NONE)
}

fn find(token: &[u8]) -> Option<u32> {
    let bucket = usize::try_from(xxh3_64(token) % BUCKETS as u64).unwrap_or_default();
    let end = |bucket: usize| {
        let bytes = TABLE.get(bucket * 4..)?.first_chunk::<4>()?;
        Some(u32::from_le_bytes(*bytes) as usize)
    };
    let start = bucket.checked_sub(1).map_or(Some(0), end)?;
    let entries = TABLE.get(BUCKETS * 4..)?;
    let mut entries = entries.get(start..end(bucket)?)?;
    while let [length, a, b, c, rest @ ..] = entries {
        let (candidate, after) = rest.split_at_checked(usize::from(*length))?;
        if candidate == token {
            return Some(u32::from_le_bytes([*a, *b, *c, 0]));
        }
        entries = after;
    }
    None
}
