//! Which of a frame's many finished children have most to do with a goal.
//!
//! A disposable index beside the journal, used only where a frame has more finished children than
//! a context looks at. Writers never touch it: whoever asks first brings it up to date, by the
//! children that changed since. It is a function of the journal and of nothing else, so every
//! process on every machine chooses the same frames.
//!
//! ```text
//!  kin       one row a parent: 29 bytes for each child (end, rank, id, names, status)
//!  postings  one row a term of a parent: the numbers of the children that hold it, and how often
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use flamestack_core::context::{Gist, Interest, score};
use flamestack_core::frame::{Frame, Rank, Status};
use flamestack_core::id::{FRAME_ID_LEN, FrameId, Seq};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use crate::error::StoreError;
use crate::record;
use crate::sqlite::private_file;
use crate::store::{Ended, Reading};

/// The index's format; another one means that it is made anew.
const VERSION: i64 = 2;
/// How many frames are read at once while catching up.
const STEP: usize = 256;
/// How many children of each status are ranked, the newest. What ended thousands of frames ago
/// seldom matters, and a parent of half a million must not cost more than one of some thousands.
const MOST: usize = 4_096;
/// How a child ends that is ranked.
const STATUSES: [Status; 2] = [Status::Completed, Status::Failed];
/// The bytes of one child.
const MEMBER: usize = 29;

/// The index of one project.
pub struct Kinship {
    path: PathBuf,
    connection: Mutex<Option<Connection>>,
}

/// A finished frame and what it scores.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scored {
    /// Its score.
    pub score: i64,
    /// The frame, and when it ended, which breaks ties.
    pub frame: Ended,
}

impl Kinship {
    /// The index in a store's directory. Nothing is opened or made before it is needed.
    pub fn new(dir: &Path) -> Self {
        Self {
            path: dir.join("relevance.db"),
            connection: Mutex::new(None),
        }
    }

    /// The children of `parent` that ended with `status` and score highest, best first, at most
    /// `limit`.
    pub fn best(
        &self,
        reading: &dyn Reading,
        parent: &FrameId,
        status: Status,
        interest: &Interest,
        limit: usize,
    ) -> Result<Vec<Scored>, StoreError> {
        let mut slot = self.slot();
        let kept = match slot.take() {
            Some(connection) => Ok(connection),
            None => self.open(),
        };
        let answer = kept.and_then(|mut connection| {
            let scores = ask(&mut connection, reading, parent, status, interest)?;
            let best = scores.map(|scores| best_of(scores, limit));
            Ok((connection, best.transpose()?))
        });
        let afresh = || best_of(afresh(reading, parent, status, interest)?, limit);
        match answer {
            Ok((connection, Some(best))) => {
                *slot = Some(connection);
                Ok(best)
            }
            // Somebody has brought it further than what we look at.
            Ok((connection, None)) => {
                *slot = Some(connection);
                afresh()
            }
            Err(error) => {
                tracing::warn!(path = %self.path.display(), "relevance index not used: {error}");
                self.forget(&error)?;
                afresh()
            }
        }
    }

    /// An index that cannot be read is no loss.
    fn forget(&self, error: &StoreError) -> Result<(), StoreError> {
        if matches!(error, StoreError::Unreadable { .. }) {
            self.remove_files()?;
        }
        Ok(())
    }

    /// Deletes the index. It is made anew when it is needed.
    pub fn drop_all(&self) -> Result<(), StoreError> {
        *self.slot() = None;
        self.remove_files()
    }

    fn slot(&self) -> MutexGuard<'_, Option<Connection>> {
        // A panic elsewhere cannot have left it half-written: it writes in transactions.
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn remove_files(&self) -> Result<(), StoreError> {
        for suffix in ["", "-journal"] {
            let mut path = self.path.clone().into_os_string();
            path.push(suffix);
            match fs_err::remove_file(PathBuf::from(path)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error.into());
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn open(&self) -> Result<Connection, StoreError> {
        private_file(&self.path)?;
        let connection = Connection::open(&self.path)?;
        // A context must not wait for an index: without it, it is made the long way.
        connection.busy_timeout(Duration::from_millis(100))?;
        // Losing the last moments of an index that can be made again costs nothing.
        connection.pragma_update(None, "synchronous", "OFF")?;
        prepare(&connection)?;
        Ok(connection)
    }
}

fn prepare(connection: &Connection) -> Result<(), StoreError> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if version != VERSION {
        connection.execute_batch(&format!(
            "BEGIN IMMEDIATE;
             DROP TABLE IF EXISTS kin;
             DROP TABLE IF EXISTS postings;
             CREATE TABLE kin (parent TEXT PRIMARY KEY, upto INTEGER NOT NULL, members BLOB NOT NULL);
             CREATE TABLE postings (
                 parent TEXT NOT NULL, term TEXT NOT NULL, members BLOB NOT NULL,
                 PRIMARY KEY (parent, term));
             PRAGMA user_version = {VERSION};
             COMMIT;"
        ))?;
    }
    Ok(())
}

/// The best few, best first. Only they get names: thousands are ranked for a few hundred.
fn best_of(mut scores: Vec<(i64, End)>, limit: usize) -> Result<Vec<Scored>, StoreError> {
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

/// The same without the file, by reading every child.
fn afresh(
    reading: &dyn Reading,
    parent: &FrameId,
    status: Status,
    interest: &Interest,
) -> Result<Vec<(i64, End)>, StoreError> {
    let mut connection = Connection::open_in_memory()?;
    prepare(&connection)?;
    let scores = ask(&mut connection, reading, parent, status, interest)?;
    Ok(scores.unwrap_or_default())
}

/// Brings the index up to date and scores the children; nothing, if the index is ahead of what is
/// looked at.
fn ask(
    connection: &mut Connection,
    reading: &dyn Reading,
    parent: &FrameId,
    status: Status,
    interest: &Interest,
) -> Result<Option<Vec<(i64, End)>>, StoreError> {
    let now = reading.position()?;
    let mut kin = Kin::load(connection, parent)?;
    if kin.upto > now {
        return Ok(None);
    }
    if !kin.is_current(reading, parent)? {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        kin = Kin::load(&transaction, parent)?;
        if kin.upto > now {
            return Ok(None);
        }
        kin.catch_up(&transaction, reading, parent, now)?;
        transaction.commit()?;
    }
    kin.scores(connection, parent, status, interest).map(Some)
}

/// A frame that ended, with its id as it stands in the file. In the order of [`Ended`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct End {
    at: i64,
    rank: i64,
    id: [u8; FRAME_ID_LEN],
}

impl End {
    fn of(frame: &Frame) -> Result<Self, StoreError> {
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

    fn named(self) -> Result<Ended, StoreError> {
        let id = std::str::from_utf8(&self.id).map_err(|_| damaged())?;
        Ok(Ended {
            at: Seq(self.at),
            rank: Rank(self.rank),
            id: record::frame_id(id).map_err(|_| damaged())?,
        })
    }
}

fn damaged() -> StoreError {
    StoreError::BadRow {
        problem: "the relevance index is damaged".to_owned(),
    }
}

/// One child.
#[derive(Clone, Copy, Debug)]
struct Member {
    end: End,
    names: u32,
    /// None for one that has gone, or was indexed again under another number.
    status: Option<Status>,
}

/// The children of one parent, by number.
struct Kin {
    upto: Seq,
    members: Vec<Member>,
}

impl Kin {
    fn load(connection: &Connection, parent: &FrameId) -> Result<Self, StoreError> {
        let row = connection
            .prepare_cached("SELECT upto, members FROM kin WHERE parent = ?1")?
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

    /// Whether every finished child is here as it is now.
    fn is_current(&self, reading: &dyn Reading, parent: &FrameId) -> Result<bool, StoreError> {
        Ok(self.upto.0 >= 0
            && !reading.undone_since(self.upto)?
            && reading.ended_since(parent, self.upto)?.is_empty()
            && self.is_complete(reading, parent)?)
    }

    /// Whether there are as many as there should be. All that came are here, so if none is too
    /// many, none has gone.
    fn is_complete(&self, reading: &dyn Reading, parent: &FrameId) -> Result<bool, StoreError> {
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
    ) -> Result<(), StoreError> {
        let gone = self.members.iter().filter(|member| member.status.is_none());
        // What was taken back is as it was before, and says so nowhere.
        let undone = self.upto.0 >= 0 && reading.undone_since(self.upto)?;
        if self.upto.0 < 0 || undone || gone.count() > self.members.len() / 2 {
            return self.begin_anew(index, reading, parent, now);
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
                self.drop_member(places.get(&End::of(&frame)?.id).copied());
                self.add(&frame, &mut postings)?;
            }
        }
        for status in STATUSES {
            self.keep_newest(status);
        }
        if !self.is_complete(reading, parent)? {
            return self.begin_anew(index, reading, parent, now);
        }
        self.upto = now;
        self.save(index, parent, postings)
    }

    /// Reads the newest children, and nothing of what was here before counts.
    fn begin_anew(
        &mut self,
        index: &Transaction<'_>,
        reading: &dyn Reading,
        parent: &FrameId,
        now: Seq,
    ) -> Result<(), StoreError> {
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

    /// Lets go of all but the newest with a status.
    fn keep_newest(&mut self, status: Status) {
        let mut ends: Vec<(End, usize)> = Vec::new();
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

    fn add(
        &mut self,
        frame: &Frame,
        postings: &mut BTreeMap<String, Vec<u8>>,
    ) -> Result<(), StoreError> {
        let gist = Gist::of(frame);
        let number = u32::try_from(self.members.len()).unwrap_or(u32::MAX);
        for (term, fields) in gist.terms {
            let list = postings.entry(term).or_default();
            list.extend(number.to_le_bytes());
            list.push(fields);
        }
        self.members.push(Member {
            end: End::of(frame)?,
            names: u32::try_from(gist.names).unwrap_or(u32::MAX),
            status: Some(frame.status),
        });
        Ok(())
    }

    fn save(
        &self,
        index: &Transaction<'_>,
        parent: &FrameId,
        postings: BTreeMap<String, Vec<u8>>,
    ) -> Result<(), StoreError> {
        let mut add = index.prepare_cached(
            "INSERT INTO postings VALUES (?1, ?2, ?3)
             ON CONFLICT (parent, term) DO UPDATE SET members = CAST(members || ?3 AS BLOB)",
        )?;
        for (term, list) in postings {
            add.execute(params![parent.as_str(), term, list])?;
        }
        let members: Vec<u8> = self.members.iter().flat_map(Member::encode).collect();
        index
            .prepare_cached("INSERT OR REPLACE INTO kin VALUES (?1, ?2, ?3)")?
            .execute(params![parent.as_str(), self.upto.0, members])?;
        Ok(())
    }

    fn scores(
        self,
        connection: &Connection,
        parent: &FrameId,
        wanted: Status,
        interest: &Interest,
    ) -> Result<Vec<(i64, End)>, StoreError> {
        let mut matches = vec![0_usize; self.members.len()];
        let mut list = connection
            .prepare_cached("SELECT members FROM postings WHERE parent = ?1 AND term = ?2")?;
        for term in interest.terms() {
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

    fn decode(bytes: &[u8]) -> Result<Self, StoreError> {
        let (at, rest) = bytes.split_first_chunk::<8>().ok_or_else(damaged)?;
        let (rank, rest) = rest.split_first_chunk::<8>().ok_or_else(damaged)?;
        let (names, rest) = rest.split_first_chunk::<4>().ok_or_else(damaged)?;
        let (status, id) = rest.split_first().ok_or_else(damaged)?;
        Ok(Self {
            end: End {
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
