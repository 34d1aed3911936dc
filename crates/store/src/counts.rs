//! How many tokens texts have, by the hash of the text.
//!
//! Loading a tokenizer's tables takes longer than everything else that a hook does, and from one
//! message to the next nearly all texts of a context are the same. Only who renders looks here and
//! adds what was missing, all of it at once; who writes never counts. Losing it costs time and
//! nothing else, so nothing that goes wrong here is an error of anybody who asks.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior, params};

use crate::error::StoreError;
use crate::sqlite::private_file;

/// The file's format; another one means that it is made anew.
const VERSION: i64 = 1;
/// A file of more pages than this is emptied before it grows on.
const MOST_PAGES: i64 = 2_048;
/// How many counts a process keeps in memory.
const MOST_KEPT: usize = 65_536;

/// The counts of one project.
pub struct TokenCounts {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    file: File,
    kept: HashMap<u128, u64>,
    /// What the file does not have yet.
    new: Vec<(u128, u64)>,
}

#[derive(Default)]
enum File {
    #[default]
    Closed,
    Open(Connection),
    /// It was not there, or could not be read.
    Absent,
}

impl TokenCounts {
    /// The counts in a store's directory. Nothing is opened before it is needed, and nothing is
    /// made before there is something to keep.
    pub fn new(dir: &Path) -> Self {
        Self {
            path: dir.join("counts.db"),
            state: Mutex::default(),
        }
    }

    /// A count that was kept before.
    pub fn get(&self, key: u128) -> Option<u64> {
        let mut state = self.state();
        if let Some(tokens) = state.kept.get(&key) {
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

    /// Keeps a count in memory; [`Self::save`] takes it to the file.
    pub fn put(&self, key: u128, tokens: u64) {
        let mut state = self.state();
        state.keep(key, tokens);
        if state.new.len() < MOST_KEPT {
            state.new.push((key, tokens));
        }
    }

    /// Takes what is new to the file, unless somebody else writes to it just now: then it comes
    /// along the next time.
    pub fn save(&self) {
        let mut state = self.state();
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

    /// Deletes the file. It is made anew when there is something to keep.
    pub fn drop_all(&self) -> Result<(), StoreError> {
        *self.state() = State::default();
        self.remove_files()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // What is kept is complete at any moment: a panic elsewhere cannot have spoiled it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn opened(&self) -> File {
        if !self.path.exists() {
            return File::Absent;
        }
        match self.open() {
            Ok(connection) => File::Open(connection),
            Err(error) => {
                tracing::debug!(path = %self.path.display(), "token counts not used: {error}");
                File::Absent
            }
        }
    }

    fn open(&self) -> Result<Connection, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        // Nobody waits for what only saves time.
        connection.busy_timeout(Duration::ZERO)?;
        connection.pragma_update(None, "synchronous", "OFF")?;
        Ok(connection)
    }

    fn add(&self, state: &mut State, new: &[(u128, u64)]) -> Result<(), StoreError> {
        if !matches!(state.file, File::Open(_)) {
            private_file(&self.path)?;
            state.file = File::Open(self.open()?);
        }
        let File::Open(connection) = &mut state.file else {
            return Ok(());
        };
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let pragma = |name: &str| transaction.pragma_query_value(None, name, |row| row.get(0));
        let version: i64 = pragma("user_version")?;
        let pages: i64 = pragma("page_count")?;
        if version != VERSION || pages > MOST_PAGES {
            transaction.execute_batch(&format!(
                "DROP TABLE IF EXISTS counts;
                 CREATE TABLE counts (key BLOB PRIMARY KEY, tokens INTEGER NOT NULL)
                     STRICT, WITHOUT ROWID;
                 PRAGMA user_version = {VERSION};"
            ))?;
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

    /// There is no file until there is something to keep; one that cannot be read is deleted.
    fn give_up(&self, state: &mut State, error: &StoreError) {
        if matches!(error, StoreError::Busy) {
            return;
        }
        tracing::debug!(path = %self.path.display(), "token counts not used: {error}");
        state.file = File::Absent;
        if matches!(error, StoreError::Unreadable { .. })
            && let Err(error) = self.remove_files()
        {
            tracing::debug!("token counts not deleted: {error}");
        }
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
}

impl State {
    fn keep(&mut self, key: u128, tokens: u64) {
        if self.kept.len() >= MOST_KEPT {
            self.kept.clear();
        }
        self.kept.insert(key, tokens);
    }
}

fn ask(connection: &Connection, key: u128) -> Result<Option<u64>, StoreError> {
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
