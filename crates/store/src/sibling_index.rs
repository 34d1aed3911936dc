//! The sibling index: ranks a frame's many finished children by their relevance to a goal.
//!
//! A disposable database, used only if a frame has more finished children than a context considers
//! (256). Writers never touch it: the first reader brings it up to date with the children that
//! changed since. It depends on the journal alone, so every process on every machine ranks alike.
//!
//! ```text
//!  siblings  one row per parent: 29 bytes for each child (end, rank, id, names, status)
//!  postings  one row per term of a parent: the numbers of the children that contain it, and how often
//! ```
//!
//! Packed rows instead of one row per child and term: a parent of 4,096 children has some 100,000
//! terms, and the first context for that parent would insert them all.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use flamestack_core::frame::{Frame, Rank, Status};
use flamestack_core::id::{FRAME_ID_LEN, FrameId, Seq};
use flamestack_extract::relevance::{FrameTerms, Query, score};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use crate::disposable::{DisposableDb, Format};
use crate::error::{Result, StoreError};
use crate::projections::{EndedFrame, Reading};

/// The file and its tables. A context must not wait for an index: without it, it reads the frames.
const FORMAT: Format = Format {
    file: "relevance.db",
    version: 3,
    schema: "DROP TABLE IF EXISTS siblings;
        DROP TABLE IF EXISTS postings;
        CREATE TABLE siblings (
            parent TEXT PRIMARY KEY, upto INTEGER NOT NULL, members BLOB NOT NULL);
        CREATE TABLE postings (
            parent TEXT NOT NULL, term TEXT NOT NULL, members BLOB NOT NULL,
            PRIMARY KEY (parent, term));",
    busy_timeout: Duration::from_millis(100),
};
/// Number of frames read at a time while catching up.
const STEP: usize = 256;
/// Maximum number of children of each status that are ranked, the newest. Frames that ended
/// thousands of frames ago seldom matter, and a parent of half a million children must not cost more
/// than one of a few thousand.
const MOST: usize = 4_096;
/// The statuses of children that are ranked.
const STATUSES: [Status; 2] = [Status::Completed, Status::Failed];
/// Number of bytes of one child.
const MEMBER: usize = 29;

/// The sibling index of one project.
pub struct SiblingIndex {
    db: DisposableDb,
    connection: Mutex<Option<Connection>>,
}

/// A finished frame and its score.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scored {
    /// Its score.
    pub score: i64,
    /// The frame, and when it ended, which breaks ties.
    pub frame: EndedFrame,
}

impl SiblingIndex {
    /// Returns the index in a store's directory. Nothing is opened before it is needed.
    pub fn new(dir: &Path) -> Self {
        Self {
            db: DisposableDb::new(dir, FORMAT),
            connection: Mutex::new(None),
        }
    }

    /// Returns the children of `parent` that ended with `status` and score highest, best first, at
    /// most `limit`.
    pub fn best(
        &self,
        reading: &dyn Reading,
        parent: &FrameId,
        status: Status,
        query: &Query,
        limit: usize,
    ) -> Result<Vec<Scored>> {
        let mut slot = self.slot();
        let opened = match slot.take() {
            Some(connection) => Ok(connection),
            None => self.db.open(),
        };
        let answer = opened.and_then(|mut connection| {
            let scores = rank(&mut connection, reading, parent, status, query)?;
            let best = scores.map(|scores| best_of(scores, limit));
            Ok((connection, best.transpose()?))
        });
        let fallback = || {
            best_of(
                without_index(&self.db, reading, parent, status, query)?,
                limit,
            )
        };
        match answer {
            Ok((connection, Some(best))) => {
                *slot = Some(connection);
                Ok(best)
            }
            // Another process has brought the index past the snapshot being read.
            Ok((connection, None)) => {
                *slot = Some(connection);
                fallback()
            }
            Err(error) => {
                self.db.discard_if_damaged(&error)?;
                fallback()
            }
        }
    }

    /// Deletes the index. It is built again when it is needed.
    pub fn drop_all(&self) -> Result<()> {
        *self.slot() = None;
        self.db.delete()
    }

    fn slot(&self) -> MutexGuard<'_, Option<Connection>> {
        // A panic elsewhere cannot have left it half-written: it writes in transactions.
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the best few, best first. Only these get an id: thousands are ranked for a few hundred.
fn best_of(mut scores: Vec<(i64, EndKey)>, limit: usize) -> Result<Vec<Scored>> {
    if scores.len() > limit {
        scores.select_nth_unstable_by(limit, |one, other| other.cmp(one));
        scores.truncate(limit);
    }
    scores.sort_unstable_by(|one, other| other.cmp(one));
    let named = scores.into_iter().map(|(score, end)| {
        Ok(Scored {
            score,
            frame: end.named()?,
        })
    });
    named.collect()
}

/// Scores the children without the file, by reading every one of them.
fn without_index(
    db: &DisposableDb,
    reading: &dyn Reading,
    parent: &FrameId,
    status: Status,
    query: &Query,
) -> Result<Vec<(i64, EndKey)>> {
    let mut connection = db.in_memory()?;
    let scores = rank(&mut connection, reading, parent, status, query)?;
    Ok(scores.unwrap_or_default())
}

/// Brings the index up to date and scores the children. Returns `None` if the index is ahead of the
/// snapshot being read.
fn rank(
    connection: &mut Connection,
    reading: &dyn Reading,
    parent: &FrameId,
    status: Status,
    query: &Query,
) -> Result<Option<Vec<(i64, EndKey)>>> {
    let now = reading.position()?;
    let mut siblings = Siblings::load(connection, parent)?;
    if siblings.upto > now {
        return Ok(None);
    }
    if !siblings.is_current(reading, parent)? {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        siblings = Siblings::load(&transaction, parent)?;
        if siblings.upto > now {
            return Ok(None);
        }
        siblings.catch_up(&transaction, reading, parent, now)?;
        transaction.commit()?;
    }
    siblings.scores(connection, parent, status, query).map(Some)
}

/// A frame that ended, with its id as stored in the file. Ordered as [`EndedFrame`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct EndKey {
    at: i64,
    rank: i64,
    id: [u8; FRAME_ID_LEN],
}

impl EndKey {
    fn of(frame: &Frame) -> Result<Self> {
        Ok(Self {
            at: frame.closed.unwrap_or(frame.changed).0,
            rank: frame.rank.0,
            id: frame
                .id
                .as_str()
                .as_bytes()
                .try_into()
                .map_err(|_| damaged())?,
        })
    }

    fn named(self) -> Result<EndedFrame> {
        let id = std::str::from_utf8(&self.id).map_err(|_| damaged())?;
        Ok(EndedFrame {
            at: Seq(self.at),
            rank: Rank(self.rank),
            id: id.parse().map_err(|_| damaged())?,
        })
    }
}

fn damaged() -> StoreError {
    StoreError::BadRow("the relevance index is damaged".to_owned())
}

/// A child of a parent.
#[derive(Clone, Copy, Debug)]
struct Member {
    end: EndKey,
    names: u32,
    /// `None` if it was removed, or indexed again under another number.
    status: Option<Status>,
}

/// The indexed children of one parent, by number.
struct Siblings {
    upto: Seq,
    members: Vec<Member>,
}

impl Siblings {
    fn load(connection: &Connection, parent: &FrameId) -> Result<Self> {
        let row = connection
            .prepare_cached("SELECT upto, members FROM siblings WHERE parent = ?1")?
            .query_row([parent.as_str()], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?))
            })
            .optional()?;
        let (upto, bytes) = row.unwrap_or((-1, Vec::new()));
        let members = bytes.chunks(MEMBER).map(Member::decode);
        Ok(Self {
            upto: Seq(upto),
            members: members.collect::<Result<_, _>>()?,
        })
    }

    /// Returns true if every finished child is indexed in its current state.
    fn is_current(&self, reading: &dyn Reading, parent: &FrameId) -> Result<bool> {
        Ok(self.upto.0 >= 0
            && !reading.undone_since(self.upto)?
            && reading.ended_since(parent, self.upto)?.is_empty()
            && self.is_complete(reading, parent)?)
    }

    /// Returns true if the number of children is right. Every new child was added, so equal counts
    /// mean that none was removed.
    fn is_complete(&self, reading: &dyn Reading, parent: &FrameId) -> Result<bool> {
        let totals = reading.child_totals(Some(parent))?;
        Ok(STATUSES.into_iter().all(|status| {
            let here = self.members.iter();
            let here = here.filter(|member| member.status == Some(status)).count() as u64;
            here == totals.of(status).min(MOST as u64)
        }))
    }

    fn catch_up(
        &mut self,
        index: &Transaction<'_>,
        reading: &dyn Reading,
        parent: &FrameId,
        now: Seq,
    ) -> Result<()> {
        let gone = self.members.iter().filter(|member| member.status.is_none());
        // An undo restores an earlier state without marking the frame as changed.
        let undone = self.upto.0 >= 0 && reading.undone_since(self.upto)?;
        if self.upto.0 < 0 || undone || gone.count() > self.members.len() / 2 {
            return self.rebuild(index, reading, parent, now);
        }
        let mut places: BTreeMap<[u8; FRAME_ID_LEN], usize> = BTreeMap::new();
        for (place, member) in self.members.iter().enumerate() {
            if member.status.is_some() {
                places.insert(member.end.id, place);
            }
        }
        let mut postings: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for ids in reading.ended_since(parent, self.upto)?.chunks(STEP) {
            for frame in reading.frames_with_notes(ids)? {
                self.drop_member(places.get(&EndKey::of(&frame)?.id).copied());
                self.add(&frame, &mut postings)?;
            }
        }
        for status in STATUSES {
            self.keep_newest(status);
        }
        if !self.is_complete(reading, parent)? {
            return self.rebuild(index, reading, parent, now);
        }
        self.upto = now;
        self.save(index, parent, postings)
    }

    /// Replaces the indexed children by the newest ones.
    fn rebuild(
        &mut self,
        index: &Transaction<'_>,
        reading: &dyn Reading,
        parent: &FrameId,
        now: Seq,
    ) -> Result<()> {
        index.execute("DELETE FROM postings WHERE parent = ?1", [parent.as_str()])?;
        self.members.clear();
        let mut postings: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for status in STATUSES {
            let newest = reading.ended(parent, status, MOST)?;
            let newest: Vec<FrameId> = newest.into_iter().map(|ended| ended.id).collect();
            for ids in newest.chunks(STEP) {
                for frame in reading.frames_with_notes(ids)? {
                    self.add(&frame, &mut postings)?;
                }
            }
        }
        self.upto = now;
        self.save(index, parent, postings)
    }

    /// Drops all but the newest children with a status.
    fn keep_newest(&mut self, status: Status) {
        let mut ends: Vec<(EndKey, usize)> = Vec::new();
        for (place, member) in self.members.iter().enumerate() {
            if member.status == Some(status) {
                ends.push((member.end, place));
            }
        }
        let too_many = ends.len().saturating_sub(MOST);
        if too_many > 0 {
            ends.sort();
            for (_, place) in ends.into_iter().take(too_many) {
                self.drop_member(Some(place));
            }
        }
    }

    fn drop_member(&mut self, place: Option<usize>) {
        if let Some(member) = place.and_then(|place| self.members.get_mut(place)) {
            member.status = None;
        }
    }

    fn add(&mut self, frame: &Frame, postings: &mut BTreeMap<String, Vec<u8>>) -> Result<()> {
        let frame_terms = FrameTerms::of(frame);
        let number = u32::try_from(self.members.len()).unwrap_or(u32::MAX);
        for (term, fields) in frame_terms.terms {
            let list = postings.entry(term).or_default();
            list.extend(number.to_le_bytes());
            list.push(fields);
        }
        self.members.push(Member {
            end: EndKey::of(frame)?,
            names: u32::try_from(frame_terms.names).unwrap_or(u32::MAX),
            status: Some(frame.status),
        });
        Ok(())
    }

    fn save(
        &self,
        index: &Transaction<'_>,
        parent: &FrameId,
        postings: BTreeMap<String, Vec<u8>>,
    ) -> Result<()> {
        let mut add = index.prepare_cached(
            "INSERT INTO postings VALUES (?1, ?2, ?3)
             ON CONFLICT (parent, term) DO UPDATE SET members = CAST(members || ?3 AS BLOB)",
        )?;
        for (term, list) in postings {
            add.execute(params![parent.as_str(), term, list])?;
        }
        let members: Vec<u8> = self.members.iter().flat_map(Member::encode).collect();
        index
            .prepare_cached("INSERT OR REPLACE INTO siblings VALUES (?1, ?2, ?3)")?
            .execute(params![parent.as_str(), self.upto.0, members])?;
        Ok(())
    }

    fn scores(
        self,
        connection: &Connection,
        parent: &FrameId,
        wanted: Status,
        query: &Query,
    ) -> Result<Vec<(i64, EndKey)>> {
        let mut matches = vec![0_usize; self.members.len()];
        let mut list = connection
            .prepare_cached("SELECT members FROM postings WHERE parent = ?1 AND term = ?2")?;
        for term in query.terms() {
            let found: Option<Vec<u8>> = list
                .query_row(params![parent.as_str(), term], |row| row.get(0))
                .optional()?;
            for posting in found.unwrap_or_default().chunks_exact(5) {
                if let [a, b, c, d, fields] = *posting
                    && let Ok(number) = usize::try_from(u32::from_le_bytes([a, b, c, d]))
                    && let Some(matches) = matches.get_mut(number)
                {
                    *matches += usize::from(fields);
                }
            }
        }
        let members = self.members.into_iter().zip(matches);
        let wanted = members.filter(|(member, _)| member.status == Some(wanted));
        let scored = wanted.filter_map(|(member, matches)| {
            let names = usize::try_from(member.names).unwrap_or(usize::MAX);
            Some((score(names, matches, member.status?), member.end))
        });
        Ok(scored.collect())
    }
}

impl Member {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(MEMBER);
        bytes.extend(self.end.at.to_le_bytes());
        bytes.extend(self.end.rank.to_le_bytes());
        bytes.extend(self.names.to_le_bytes());
        bytes.push(match self.status {
            None => 0,
            Some(Status::Completed) => 1,
            Some(_) => 2,
        });
        bytes.extend(self.end.id);
        bytes
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let (at, rest) = bytes.split_first_chunk::<8>().ok_or_else(damaged)?;
        let (rank, rest) = rest.split_first_chunk::<8>().ok_or_else(damaged)?;
        let (names, rest) = rest.split_first_chunk::<4>().ok_or_else(damaged)?;
        let (status, id) = rest.split_first().ok_or_else(damaged)?;
        Ok(Self {
            end: EndKey {
                at: i64::from_le_bytes(*at),
                rank: i64::from_le_bytes(*rank),
                id: id.try_into().map_err(|_| damaged())?,
            },
            names: u32::from_le_bytes(*names),
            status: match status {
                0 => None,
                1 => Some(Status::Completed),
                _ => Some(Status::Failed),
            },
        })
    }
}
