//! Erasing text from a journal: the one place where recorded events are rewritten.

use std::path::Path;
use std::time::Duration;

use flamestack_core::Author;
use flamestack_core::event::{Event, Recorded};
use flamestack_core::id::{Seq, SessionRef, Timestamp};
use rusqlite::{Connection, TransactionBehavior, params};
use serde::Serializer as _;
use serde_json::Value;

use super::inspect::exclusive;
use super::open::{self, database};
use super::{OpenOptions, SqliteStore, journal, verify};
use crate::error::{Result, StoreError};
use crate::forget::{Forget, rename, renamed};
use crate::record;

/// Time to wait for commands that are just running.
const PATIENCE: Duration = Duration::from_secs(3);
/// Number of events that are read at a time.
const BATCH: usize = 100;

/// Rewrites the texts of an event and returns the number of places.
type EraseEvent<'a> = dyn FnMut(&mut Event) -> u64 + 'a;

/// The result of erasing text from a journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Erased {
    /// Number of places.
    pub(crate) places: u64,
    /// Number of events.
    pub(crate) events: u64,
}

/// A store that no other connection can open.
pub(crate) struct ExclusiveStore {
    connection: Option<Connection>,
}

/// Opens a store so that no other connection can use it. Fails as busy if one does.
pub(crate) fn exclusively(dir: &Path) -> Result<ExclusiveStore> {
    // Migrates a store of an earlier version first, and sees damage.
    let connection = match OpenOptions::default().open_existing(dir)? {
        None => None,
        Some(store) => {
            drop(store);
            Some(exclusive(&database(dir), PATIENCE)?)
        }
    };
    Ok(ExclusiveStore { connection })
}

/// Applies `erase` to copies of all events, and counts. Changes nothing.
pub(crate) fn surveyed(
    dir: &Path,
    erase: &mut EraseEvent<'_>,
    what: &Forget<'_>,
) -> Result<Erased> {
    match OpenOptions::default().open_existing(dir)? {
        None => Ok(Erased::default()),
        Some(store) => {
            let mut erased = Erased::default();
            changes(&store.connection, erase, what, &mut |_, places| {
                erased.places += places;
                erased.events += u64::from(places > 0);
                Ok(())
            })?;
            Ok(erased)
        }
    }
}

impl ExclusiveStore {
    /// Rewrites all events, leaves a tombstone if there was anything to erase, and folds the
    /// projections again: all at once.
    pub(crate) fn erase(
        &self,
        erase: &mut EraseEvent<'_>,
        what: &Forget<'_>,
        texts: u64,
        at: Timestamp,
        session: &SessionRef,
    ) -> Result<Erased> {
        let Some(connection) = &self.connection else {
            return Ok(Erased::default());
        };
        erase_in(connection, erase, what, &mut |connection, erased| {
            if erased.places == 0 && texts == 0 {
                return Ok(());
            }
            let seq = Seq(journal::last_seq(connection)?.0 + 1);
            let tombstone = Recorded {
                seq,
                batch: seq,
                at,
                session: session.clone(),
                message: None,
                by: Author::of(session),
                event: Event::TextForgotten {
                    places: erased.places,
                    texts,
                },
            };
            journal::insert(connection, &tombstone)
        })
    }

    /// Writes everything into the database file and closes it, without free pages and without a WAL.
    pub(crate) fn finish(self) -> Result<()> {
        let Some(connection) = self.connection else {
            return Ok(());
        };
        vacuum(&connection)?;
        connection.close().map_err(|(_, error)| error)?;
        Ok(())
    }
}

impl SqliteStore {
    /// Rewrites all events of a store that was set aside, without a tombstone.
    pub(crate) fn erase_quietly(
        &mut self,
        erase: &mut EraseEvent<'_>,
        what: &Forget<'_>,
    ) -> Result<Erased> {
        let erased = erase_in(&self.connection, erase, what, &mut |_, _| Ok(()))?;
        vacuum(&self.connection)?;
        Ok(erased)
    }
}

fn vacuum(connection: &Connection) -> Result<()> {
    open::leave_as_it_is(connection, false)?;
    connection.pragma_update_and_check(None, "secure_delete", true, |_| Ok(()))?;
    connection.execute_batch("VACUUM")?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(())
}

/// Rewrites all events and folds the projections again in one transaction. `end` adds to the journal
/// before that.
fn erase_in(
    connection: &Connection,
    erase: &mut EraseEvent<'_>,
    what: &Forget<'_>,
    end: &mut dyn FnMut(&Connection, &Erased) -> Result<()>,
) -> Result<Erased> {
    connection.pragma_update_and_check(None, "secure_delete", true, |_| Ok(()))?;
    let transaction =
        rusqlite::Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let mut erased = Erased::default();
    changes(&transaction, erase, what, &mut |entry, places| {
        erased.places += places;
        erased.events += u64::from(places > 0);
        transaction.execute("DELETE FROM events WHERE seq = ?1", params![entry.seq.0])?;
        journal::insert(&transaction, entry)
    })?;
    end(&transaction, &erased)?;
    verify::refold(&transaction, &mut |_, _| ())?;
    transaction.commit()?;
    Ok(erased)
}

/// Visits the events that change, in their new form.
fn changes(
    connection: &Connection,
    erase: &mut EraseEvent<'_>,
    what: &Forget<'_>,
    changed: &mut dyn FnMut(&Recorded, u64) -> Result<()>,
) -> Result<()> {
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(std::io::Error::other)?;
    let mut after = 0;
    loop {
        let limit = super::statements::limit(BATCH);
        let batch = journal::select(
            connection,
            "FROM events e WHERE e.seq > ?1 ORDER BY e.seq LIMIT ?2",
            params![after, limit],
        )?;
        let Some(last) = batch.last() else {
            return Ok(());
        };
        after = last.seq.0;
        for entry in batch {
            let mut new = entry.clone();
            let mut places = erase(&mut new.event);
            places += rename_in(&mut new, what, &key)?;
            if new != entry {
                changed(&new, places)?;
            }
        }
    }
}

/// Rewrites the names of an event that hold the text.
fn rename_in(entry: &mut Recorded, what: &Forget<'_>, key: &[u8; 32]) -> Result<u64> {
    let seq = entry.seq.0;
    let part_of = |problem: String| StoreError::PartOfEvent { seq, problem };
    let mut places = 0;
    if let Some((session, found)) = renamed(what, key, &entry.session.to_string()) {
        let session: Result<SessionRef, _> = session.parse();
        entry.session = session.map_err(|error| part_of(error.to_string()))?;
        places += found;
    }
    if let Some((message, found)) = entry
        .message
        .as_deref()
        .and_then(|it| renamed(what, key, it))
    {
        entry.message = Some(message);
        places += found;
    }
    let body = record::encode(&entry.event).map_err(|error| part_of(error.to_string()))?;
    if (what.text)(&body).is_some() {
        let mut value: Value =
            serde_json::from_str(&body).map_err(|error| part_of(error.to_string()))?;
        let found = rename(what, key, &mut value);
        if found > 0 {
            entry.event = with_kind_first(value)
                .map_err(|error| error.to_string())
                .and_then(|body| record::decode(&body))
                .map_err(part_of)?;
            places += found;
        }
    }
    Ok(places)
}

/// Writes the fields of an event with its kind first, where the reader of events expects it.
fn with_kind_first(mut event: Value) -> Result<String, serde_json::Error> {
    let fields = event
        .as_object_mut()
        .map(std::mem::take)
        .unwrap_or_default();
    let (kind, rest): (Vec<_>, Vec<_>) = fields.into_iter().partition(|(key, _)| key == "kind");
    let mut json = serde_json::Serializer::new(Vec::new());
    json.collect_map(kind.into_iter().chain(rest))?;
    Ok(String::from_utf8_lossy(&json.into_inner()).into_owned())
}
