//! Token counts by the hash of the text.
//!
//! From one message to the next nearly all texts of a context are the same, so a count is computed
//! once. Only renderers read and add counts, all new ones together; writers never count. Losing the
//! file costs time and nothing else, so no failure here is an error of the caller.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior, params};

use crate::disposable::{DisposableDb, Format};
use crate::error::{Result, StoreError};

/// The file and its table. No caller waits for what only saves time.
const FORMAT: Format = Format {
    file: "counts.db",
    version: 1,
    schema: SCHEMA,
    busy_timeout: Duration::ZERO,
};
const SCHEMA: &str = "DROP TABLE IF EXISTS counts;
    CREATE TABLE counts (key BLOB PRIMARY KEY, tokens INTEGER NOT NULL) STRICT, WITHOUT ROWID;";
/// A file with more pages than this is emptied before it grows further.
const MOST_PAGES: i64 = 2_048;
/// Maximum number of counts that a process keeps in memory.
const MOST_CACHED: usize = 65_536;

/// The counts of one project.
pub struct TokenCounts {
    db: DisposableDb,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    file: File,
    cached: HashMap<u128, u64>,
    /// Counts that are not in the file yet.
    new: Vec<(u128, u64)>,
}

#[derive(Default)]
enum File {
    #[default]
    Closed,
    /// From the first question until [`TokenCounts::save`] it has a transaction: without one, each
    /// question would take a lock of its own, eight system calls for a number.
    Open(Connection),
    /// It does not exist or could not be read.
    Absent,
}

impl TokenCounts {
    /// Returns the counts in a store's directory. The file is opened when it is needed, and created
    /// when there is something to save.
    pub fn new(dir: &Path) -> Self {
        Self {
            db: DisposableDb::new(dir, FORMAT),
            state: Mutex::default(),
        }
    }

    /// Returns a count that was stored before.
    pub fn get(&self, key: u128) -> Option<u64> {
        let mut state = self.state();
        if let Some(tokens) = state.cached.get(&key) {
            return Some(*tokens);
        }
        if matches!(state.file, File::Closed) {
            state.file = self.opened();
        }
        let File::Open(connection) = &state.file else {
            return None;
        };
        match ask(connection, key) {
            Ok(Some(tokens)) => {
                state.keep(key, tokens);
                Some(tokens)
            }
            Ok(None) => None,
            Err(error) => {
                self.give_up(&mut state, &error);
                None
            }
        }
    }

    /// Stores a count in memory; [`Self::save`] writes it to the file.
    pub fn put(&self, key: u128, tokens: u64) {
        let mut state = self.state();
        state.keep(key, tokens);
        if state.new.len() < MOST_CACHED {
            state.new.push((key, tokens));
        }
    }

    /// Writes new counts to the file, unless another process is using it: then they are written the
    /// next time. Others can write afterwards.
    pub fn save(&self) {
        let mut state = self.state();
        if let File::Open(connection) = &state.file
            && let Err(error) = end(connection)
        {
            self.give_up(&mut state, &error);
        }
        if state.new.is_empty() {
            return;
        }
        let new = std::mem::take(&mut state.new);
        match self.add(&mut state, &new) {
            Ok(()) => {}
            Err(StoreError::Busy) => state.new = new,
            Err(error) => self.give_up(&mut state, &error),
        }
    }

    /// Deletes the file. It is created again when there is something to save.
    pub fn drop_all(&self) -> Result<()> {
        *self.state() = State::default();
        self.db.delete()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is consistent at any moment, so a panic elsewhere cannot have spoiled it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn opened(&self) -> File {
        if !self.db.path().exists() {
            return File::Absent;
        }
        match self.db.open() {
            Ok(connection) => File::Open(connection),
            Err(error) => {
                tracing::debug!("token counts not used: {error}");
                File::Absent
            }
        }
    }

    fn add(&self, state: &mut State, new: &[(u128, u64)]) -> Result<()> {
        if !matches!(state.file, File::Open(_)) {
            state.file = File::Open(self.db.open()?);
        }
        let File::Open(connection) = &mut state.file else {
            return Ok(());
        };
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let pages: i64 = transaction.pragma_query_value(None, "page_count", |row| row.get(0))?;
        if pages > MOST_PAGES {
            transaction.execute_batch(SCHEMA)?;
        }
        {
            let mut insert =
                transaction.prepare_cached("INSERT OR IGNORE INTO counts VALUES (?1, ?2)")?;
            for (key, tokens) in new {
                insert.execute(params![key.to_le_bytes(), tokens.cast_signed()])?;
            }
        }
        transaction.commit()?;
        Ok(())
    }

    /// Stops using the file until there is something to save, and deletes it if it is damaged.
    fn give_up(&self, state: &mut State, error: &StoreError) {
        if matches!(error, StoreError::Busy) {
            return;
        }
        state.file = File::Absent;
        if let Err(error) = self.db.discard_if_damaged(error) {
            tracing::debug!("token counts not deleted: {error}");
        }
    }
}

impl State {
    fn keep(&mut self, key: u128, tokens: u64) {
        if self.cached.len() >= MOST_CACHED {
            self.cached.clear();
        }
        self.cached.insert(key, tokens);
    }
}

/// Ends the transaction of the questions, if there is one.
fn end(connection: &Connection) -> Result<()> {
    if !connection.is_autocommit() {
        connection.execute_batch("COMMIT")?;
    }
    Ok(())
}

fn ask(connection: &Connection, key: u128) -> Result<Option<u64>> {
    if connection.is_autocommit() {
        connection.execute_batch("BEGIN")?;
    }
    let mut statement = connection.prepare_cached("SELECT tokens FROM counts WHERE key = ?1")?;
    let mut found = statement.query([key.to_le_bytes()])?;
    match found.next()? {
        Some(row) => Ok(Some(row.get::<_, i64>(0)?.unsigned_abs())),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(dir: &Path, key: u128) -> Option<u64> {
        TokenCounts::new(dir).get(key)
    }

    #[test]
    fn counts_outlive_the_process_that_made_them() {
        let dir = tempfile::tempdir().unwrap();
        let counts = TokenCounts::new(dir.path());
        assert_eq!(counts.get(7), None);
        counts.save();
        assert!(!dir.path().join("counts.db").exists(), "nothing to keep");
        counts.put(7, 70);
        counts.put(u128::MAX, 0);
        assert_eq!(counts.get(7), Some(70));
        assert_eq!(kept(dir.path(), 7), None, "not before it is saved");
        counts.save();
        assert_eq!(kept(dir.path(), 7), Some(70));
        assert_eq!(kept(dir.path(), u128::MAX), Some(0));
        assert_eq!(kept(dir.path(), 8), None);
        counts.drop_all().unwrap();
        assert_eq!(kept(dir.path(), 7), None);
    }

    #[test]
    fn a_locked_file_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let counts = TokenCounts::new(dir.path());
        counts.put(1, 10);
        counts.save();
        let other = Connection::open(dir.path().join("counts.db")).unwrap();
        other.execute_batch("BEGIN EXCLUSIVE").unwrap();
        counts.put(2, 20);
        counts.save();
        assert_eq!((counts.get(1), counts.get(2)), (Some(10), Some(20)));
        other.execute_batch("ROLLBACK").unwrap();
        counts.save();
        assert_eq!(kept(dir.path(), 2), Some(20));
    }

    #[test]
    fn the_questions_of_one_text_share_a_lock_that_saving_releases() {
        let dir = tempfile::tempdir().unwrap();
        let counts = TokenCounts::new(dir.path());
        counts.put(1, 10);
        counts.save();
        let counts = TokenCounts::new(dir.path());
        assert_eq!(counts.get(1), Some(10));
        let other = Connection::open(dir.path().join("counts.db")).unwrap();
        other.busy_timeout(Duration::ZERO).unwrap();
        let write = || other.execute_batch("BEGIN EXCLUSIVE; ROLLBACK");
        assert!(write().is_err(), "one lock for all questions");
        counts.save();
        write().unwrap();
    }

    #[test]
    fn a_damaged_file_is_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("counts.db");
        fs_err::write(&file, vec![7; 8_192]).unwrap();
        assert_eq!(kept(dir.path(), 1), None);
        let counts = TokenCounts::new(dir.path());
        counts.put(1, 10);
        counts.save();
        counts.put(2, 20);
        counts.save();
        assert_eq!(kept(dir.path(), 2), Some(20));
    }

    #[test]
    fn where_nothing_can_be_written_nothing_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let counts = TokenCounts::new(&dir.path().join("not there"));
        counts.put(1, 10);
        counts.save();
        assert_eq!(counts.get(1), Some(10));
    }
}
