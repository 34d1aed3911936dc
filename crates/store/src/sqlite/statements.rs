//! Cached statements in one call.

use rusqlite::{Connection, OptionalExtension as _, Params, Row};

use crate::error::Result;

/// Runs statements that stay prepared for the next time.
pub(super) trait Statements {
    /// Runs a statement that writes.
    fn write(&self, sql: &str, params: impl Params) -> Result<()>;
    /// Returns at most one row, read by `read`.
    fn one<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>>;
    /// Returns all rows, read by `read`.
    fn many<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>>;
    /// Returns true if there is a row.
    fn has(&self, sql: &str, params: impl Params) -> Result<bool> {
        Ok(self.one(sql, params, |_| Ok(()))?.is_some())
    }
}

impl Statements for Connection {
    fn write(&self, sql: &str, params: impl Params) -> Result<()> {
        self.prepare_cached(sql)?.execute(params)?;
        Ok(())
    }

    fn one<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        let mut statement = self.prepare_cached(sql)?;
        Ok(statement.query_row(params, read).optional()?)
    }

    fn many<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let mut statement = self.prepare_cached(sql)?;
        let rows = statement.query_map(params, read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

/// Returns a number of rows as SQLite takes it.
pub(super) fn limit(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}
