//! The identity of a store: a random id that its journal gets when it is created.
//!
//! The id tells a journal from any other, wherever its folder is moved. The mark beside the journal
//! and the raw texts note it, so that the journal of another project, or a missing one, is noticed.

use std::fmt;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension};
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::sqlite::OpenOptions;

/// Name of the id in the journal's table `meta`.
const NAME: &str = "store";

/// The id of a store: 32 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StoreId(String);

impl StoreId {
    /// Draws a new id.
    pub(crate) fn draw() -> Result<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
        Ok(Self(format!("{:032x}", u128::from_be_bytes(bytes))))
    }

    /// The id of a store of an earlier version, which had none.
    pub(crate) fn unknown() -> Self {
        Self("0".repeat(32))
    }

    /// Parses an id; `None` if the text is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let is_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        (text.len() == 32 && text.bytes().all(is_hex)).then(|| Self(text.to_owned()))
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads the id from a journal. A store of an earlier version that could not be written since
    /// has none.
    pub(crate) fn of(connection: &Connection) -> Result<Option<Self>> {
        let text: Option<String> = connection
            .query_row("SELECT value FROM meta WHERE name = ?1", [NAME], |row| {
                row.get(0)
            })
            .optional()?;
        Ok(text.as_deref().and_then(Self::parse))
    }

    /// Gives a journal an id, unless it has one.
    pub(crate) fn assign(connection: &Connection) -> Result<()> {
        if Self::of(connection)?.is_none() {
            connection.execute(
                "INSERT OR REPLACE INTO meta VALUES (?1, ?2)",
                [NAME, Self::draw()?.as_str()],
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<StoreId> for String {
    fn from(id: StoreId) -> Self {
        id.0
    }
}

impl TryFrom<String> for StoreId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        Self::parse(&text).ok_or("the id of a store is 32 hexadecimal digits")
    }
}

/// Returns the id of the store in a project's folder; `None` if there is no store.
pub fn store_id(dir: &Path) -> Result<Option<StoreId>> {
    let store = OpenOptions::default().open_existing(dir)?;
    Ok(store.and_then(|store| store.id().cloned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_keeps_the_id_that_it_was_created_with() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(store_id(dir.path()).unwrap(), None);
        let created = OpenOptions::default().open(dir.path()).unwrap();
        let id = created.id().cloned();
        assert!(id.is_some());
        drop(created);
        assert_eq!(store_id(dir.path()).unwrap(), id);
        let elsewhere = tempfile::tempdir().unwrap();
        OpenOptions::default().open(elsewhere.path()).unwrap();
        assert_ne!(store_id(elsewhere.path()).unwrap(), id);
    }

    #[test]
    fn a_store_of_an_earlier_version_gets_an_id() {
        let dir = tempfile::tempdir().unwrap();
        drop(OpenOptions::default().open(dir.path()).unwrap());
        let journal = Connection::open(dir.path().join("journal.db")).unwrap();
        journal
            .execute("DELETE FROM meta WHERE name = 'store'", [])
            .unwrap();
        drop(journal);
        fs_err::remove_file(dir.path().join("journal.mark")).unwrap();
        let given = store_id(dir.path()).unwrap();
        assert!(given.is_some());
        assert_eq!(store_id(dir.path()).unwrap(), given);
    }
}
