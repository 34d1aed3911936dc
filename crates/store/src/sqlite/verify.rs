//! Folding the journal anew: to replace the projections, or to prove them right.

use std::path::Path;

use flamestack_core::id::Seq;
use rusqlite::{Connection, TransactionBehavior, params};

use super::open::{PROJECTIONS, attachable};
use super::{append, project};
use crate::error::StoreError;
use crate::store::{Finding, Rebuilt, Verified};

/// The projections and the columns that the journal determines.
const COMPARED: [(&str, &str); 21] = [
    (
        "frames",
        "id, parent, root, depth, rank, status, origin, title, criteria, criteria_compacted, \
         results, results_compacted, blocked_on, invalidation_reason, invalidated_at, span_session, \
         span_first, span_last, session, foreign_json, created_at, updated_at, changed, closed, \
         summary, awaiting",
    ),
    ("notes", "frame, seq, n, kind, text, why, code"),
    ("log_entries", "frame, seq, n, label, blob, bytes"),
    ("aliases", "alias, frame, n"),
    (
        "sessions",
        "key, id, worktree, own, active, turn_message, turn_before, reverted",
    ),
    (
        "conversations",
        "session, prompts, opening, said, interrupted, interruptions, compactions, calls, model, \
         input, cache_read, cache_write, output, reasoning, micro_dollars, size, \
         streak, streak_calls",
    ),
    ("compactions", "session, n, body"),
    (
        "runs",
        "session, parent, goal, kind, task, message, state, waiting_for, attempts, started, \
         active, ended, output",
    ),
    ("reopened", "seq"),
    ("seen", "mark"),
    ("witnessed", "batch"),
    ("subjects", "name, seq, role"),
    ("undone", "batch, by"),
    ("masked", "seq"),
    ("rewound", "seq"),
    ("imports", "source, foreign_json, seq"),
    ("dropped", "blob, bytes, seq"),
    (
        "totals",
        "scope, planned, in_progress, completed, failed, blocked, invalidated",
    ),
    ("descriptions", "session, body"),
    ("models", "session, name, tokens"),
    ("sent", "session, seq, message, told"),
];

/// How many damaged events a check lists before it stops.
const MOST_FINDINGS: usize = 20;

/// Replaces the projections in one transaction.
pub(super) fn rebuild(
    connection: &mut Connection,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Rebuilt, StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let rebuilt = refold(&transaction, progress)?;
    transaction.commit()?;
    Ok(rebuilt)
}

/// Drops the projections and folds the journal into new ones. Belongs into a transaction.
pub(super) fn refold(
    connection: &Connection,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Rebuilt, StoreError> {
    for (table, _) in COMPARED {
        connection.execute_batch(&format!("DROP TABLE IF EXISTS {table}"))?;
    }
    connection.execute_batch(PROJECTIONS)?;
    let events = fold_all(connection, progress, &mut |bad| Err(bad))?;
    let frames: i64 = connection.query_row("SELECT count(*) FROM frames", [], |row| row.get(0))?;
    Ok(Rebuilt {
        events,
        frames: frames.unsigned_abs(),
    })
}

/// Folds every event into the projections of a connection; `damaged` decides about bad ones.
fn fold_all(
    connection: &Connection,
    progress: &mut dyn FnMut(u64, u64),
    damaged: &mut dyn FnMut(StoreError) -> Result<(), StoreError>,
) -> Result<u64, StoreError> {
    let total = append::last_seq(connection)?.0.unsigned_abs();
    let columns = append::COLUMNS;
    let mut statement =
        connection.prepare(&format!("SELECT {columns} FROM events e ORDER BY e.seq"))?;
    let mut found = statement.query([])?;
    let mut folded = 0;
    while let Some(row) = found.next()? {
        match append::read(row) {
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

/// The engine's own quick look at a database.
pub(super) fn quick_check(connection: &Connection) -> bool {
    let answer = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    matches!(answer.as_deref(), Ok("ok"))
}

/// Checks the database, the events, and the projections against a fresh fold beside it.
pub(super) fn verify(
    connection: &Connection,
    path: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Verified, StoreError> {
    let mut verified = Verified::default();
    if connection.is_readonly("main")? {
        verified.findings.push(Finding::ReadOnly {
            path: path.to_owned(),
        });
    }
    {
        let mut check = connection.prepare("PRAGMA integrity_check(20)")?;
        let mut answers = check.query([])?;
        while let Some(row) = answers.next()? {
            let answer: String = row.get(0)?;
            if answer != "ok" {
                verified.findings.push(Finding::Damaged(answer));
            }
        }
    }
    find_gaps(connection, &mut verified)?;
    // The fold goes into a database of its own that vanishes with its connection. The journal is
    // only attached, so that neither the store nor its readers are disturbed.
    let beside = Connection::open("")?;
    beside.execute_batch(PROJECTIONS)?;
    let live = attachable(connection, path)?;
    beside.execute("ATTACH ?1 AS live", params![live])?;
    beside.execute_batch("BEGIN")?;
    let findings = &mut verified.findings;
    verified.events = fold_all(&beside, progress, &mut |bad| {
        if let StoreError::BadEvent { seq, problem } = bad
            && findings.len() < MOST_FINDINGS
        {
            findings.push(Finding::Altered { seq, problem });
        }
        Ok(())
    })?;
    for (table, columns) in COMPARED {
        let rows: i64 = beside.query_row(
            &format!(
                "SELECT (SELECT count(*) FROM (SELECT {columns} FROM main.{table}
                         EXCEPT SELECT {columns} FROM live.{table}))
                      + (SELECT count(*) FROM (SELECT {columns} FROM live.{table}
                         EXCEPT SELECT {columns} FROM main.{table}))"
            ),
            [],
            |row| row.get(0),
        )?;
        if rows > 0 {
            verified.findings.push(Finding::Disagrees {
                table: table.to_owned(),
                rows: rows.unsigned_abs(),
            });
        }
    }
    let frames: i64 = beside.query_row("SELECT count(*) FROM live.frames", [], |row| row.get(0))?;
    verified.frames = frames.unsigned_abs();
    Ok(verified)
}

/// Sequence numbers run from 1 without a break, since events are only ever added.
fn find_gaps(connection: &Connection, verified: &mut Verified) -> Result<(), StoreError> {
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
