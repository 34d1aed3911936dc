//! Folding the whole journal, to replace the projections or to verify them.

use std::path::Path;

use flamestack_core::event::{Event, Recorded};
use flamestack_core::id::{Seq, Timestamp};
use rusqlite::{Connection, TransactionBehavior, params};

use super::open::{PROJECTIONS, attachable};
use super::{journal, project};
use crate::error::{Result, StoreError, is_full};
use crate::store::{Finding, Rebuilt, Verified};

/// Maximum number of damaged events that a check lists.
const MOST_FINDINGS: usize = 20;

/// Replaces the projections in one transaction.
pub(super) fn rebuild(
    connection: &mut Connection,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Rebuilt> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let rebuilt = refold(&transaction, progress)?;
    transaction.commit()?;
    Ok(rebuilt)
}

/// Drops the projections and folds the journal into new ones. Must run inside a transaction.
pub(super) fn refold(
    connection: &Connection,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Rebuilt> {
    for table in projections(connection)? {
        connection.execute_batch(&format!("DROP TABLE \"{table}\""))?;
    }
    connection.execute_batch(PROJECTIONS)?;
    let events = fold_all(connection, progress, &mut |bad| Err(bad))?;
    let frames: i64 = connection.query_row("SELECT count(*) FROM frames", [], |row| row.get(0))?;
    Ok(Rebuilt {
        events,
        frames: frames.unsigned_abs(),
    })
}

/// Returns the names of the projections: all tables except those of the journal.
fn projections(connection: &Connection) -> Result<Vec<String>> {
    let mut tables = connection.prepare(
        "SELECT name FROM main.sqlite_schema
         WHERE type = 'table' AND name NOT IN ('events', 'meta')",
    )?;
    let names = tables.query_map([], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}

/// Folds every event into the projections of a connection; `damaged` decides about bad ones.
fn fold_all(
    connection: &Connection,
    progress: &mut dyn FnMut(u64, u64),
    damaged: &mut dyn FnMut(StoreError) -> Result<()>,
) -> Result<u64> {
    let total = journal::last_seq(connection)?.0.unsigned_abs();
    let columns = journal::COLUMNS;
    let mut statement =
        connection.prepare(&format!("SELECT {columns} FROM events e ORDER BY e.seq"))?;
    let mut found = statement.query([])?;
    let mut folded = 0;
    while let Some(row) = found.next()? {
        match journal::read(row) {
            Ok(recorded) => project::project(connection, &recorded)?,
            Err(bad @ StoreError::BadEvent { .. }) => damaged(bad)?,
            Err(other) => return Err(other),
        }
        folded += 1;
        if folded % 1000 == 0 || folded == total {
            progress(folded, total);
        }
    }
    Ok(folded)
}

/// Runs SQLite's quick check.
pub(super) fn quick_check(connection: &Connection) -> bool {
    let answer = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    matches!(answer.as_deref(), Ok("ok"))
}

/// Checks the database, the events, and the projections against a fresh fold.
pub(super) fn verify(
    connection: &Connection,
    path: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Verified> {
    let mut verified = Verified::default();
    // On a full disk it is opened for reading too; that is another finding.
    if connection.is_readonly("main")? && !is_full(path) {
        verified.findings.push(Finding::ReadOnly {
            path: path.to_owned(),
        });
    }
    check_database(connection, &mut verified)?;
    find_gaps(connection, &mut verified)?;
    // The fold goes into a temporary database, to which the journal is attached, so that neither
    // the store nor its readers are disturbed.
    let beside = Connection::open("")?;
    beside.execute_batch(PROJECTIONS)?;
    let live = attachable(connection, path)?;
    beside.execute("ATTACH ?1 AS live", params![live])?;
    beside.execute_batch("BEGIN")?;
    let findings = &mut verified.findings;
    verified.forgotten = tombstones(connection);
    verified.events = fold_all(&beside, progress, &mut |bad| {
        if let StoreError::BadEvent { seq, problem } = bad
            && findings.len() < MOST_FINDINGS
        {
            findings.push(Finding::Altered { seq, problem });
        }
        Ok(())
    })?;
    compare(&beside, &mut verified)?;
    let frames: i64 = beside.query_row("SELECT count(*) FROM live.frames", [], |row| row.get(0))?;
    verified.frames = frames.unsigned_abs();
    Ok(verified)
}

/// Returns the times at which text was forgotten, with the number of places.
fn tombstones(connection: &Connection) -> Vec<(Timestamp, u64)> {
    let from = "FROM events e WHERE e.body LIKE '{\"kind\":\"text_forgotten\"%' ORDER BY e.seq";
    // An altered event is reported by the fold.
    let found = journal::select(connection, from, params![]).unwrap_or_default();
    let places = |entry: Recorded| match entry.event {
        Event::TextForgotten { places, .. } => Some((entry.at, places)),
        _ => None,
    };
    found.into_iter().filter_map(places).collect()
}

/// Runs SQLite's own check of a database.
fn check_database(connection: &Connection, verified: &mut Verified) -> Result<()> {
    let mut check = connection.prepare("PRAGMA integrity_check(20)")?;
    let mut answers = check.query([])?;
    while let Some(row) = answers.next()? {
        let answer: String = row.get(0)?;
        if answer != "ok" {
            verified.findings.push(Finding::Damaged(answer));
        }
    }
    Ok(())
}

/// Compares freshly folded projections with those of the attached store.
fn compare(folded: &Connection, verified: &mut Verified) -> Result<()> {
    for table in projections(folded)? {
        let rows: i64 = folded.query_row(
            &format!(
                "SELECT (SELECT count(*) FROM (SELECT * FROM main.{table}
                         EXCEPT SELECT * FROM live.{table}))
                      + (SELECT count(*) FROM (SELECT * FROM live.{table}
                         EXCEPT SELECT * FROM main.{table}))"
            ),
            [],
            |row| row.get(0),
        )?;
        if rows > 0 {
            verified.findings.push(Finding::Disagrees {
                table,
                rows: rows.unsigned_abs(),
            });
        }
    }
    Ok(())
}

/// Finds gaps in the sequence numbers, which run from 1 since events are only ever appended.
fn find_gaps(connection: &Connection, verified: &mut Verified) -> Result<()> {
    let mut statement = connection.prepare("SELECT seq FROM events ORDER BY seq")?;
    let mut found = statement.query([])?;
    let mut expected = 1_i64;
    while let Some(row) = found.next()? {
        let Seq(seq) = Seq(row.get(0)?);
        if seq != expected && verified.findings.len() < MOST_FINDINGS {
            verified.findings.push(Finding::Gap {
                after: expected - 1,
                missing: seq - expected,
            });
        }
        expected = seq + 1;
    }
    Ok(())
}
