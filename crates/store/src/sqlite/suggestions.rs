//! Suggestions of sessions and what became of them.

use std::collections::BTreeMap;

use flamestack_core::autonomy::{Heuristic, SuggestionState, Tally};
use flamestack_core::event::{Event, Recorded};
use flamestack_core::id::{Fingerprint, Seq, SessionRef};
use rusqlite::{Connection, params};

use super::journal;
use super::statements::{Statements as _, limit};
use super::view::SqliteView;
use crate::error::Result;
use crate::projections::SuggestionReading;

/// Applies an event about suggestions.
pub(super) fn project(connection: &Connection, recorded: &Recorded) -> Result<()> {
    let session = recorded.session.to_string();
    match &recorded.event {
        Event::SuggestionMade(made) => connection.write(
            "INSERT OR REPLACE INTO suggestions VALUES (?1, ?2, ?3, ?4, ?5, 1)",
            params![
                recorded.seq.0,
                session,
                made.heuristic.as_str(),
                made.key.0.cast_signed(),
                if made.is_automatic {
                    SuggestionState::Acted.as_str()
                } else {
                    SuggestionState::Pending.as_str()
                },
            ],
        ),
        Event::SuggestionAnswered { suggestion, state } => connection.write(
            "UPDATE suggestions SET state = ?2 WHERE seq = ?1",
            params![suggestion.0, state.as_str()],
        ),
        Event::SuggestionsSnoozed { until } => connection.write(
            "INSERT OR REPLACE INTO snoozed VALUES (?1, ?2)",
            params![session, until.cast_signed()],
        ),
        Event::SuggestionsReset => {
            connection.write("UPDATE suggestions SET counts = 0 WHERE counts = 1", [])
        }
        _ => Ok(()),
    }
}

impl SuggestionReading for SqliteView<'_> {
    fn suggestions(
        &self,
        session: Option<&SessionRef>,
        rows: usize,
    ) -> Result<Vec<(Recorded, SuggestionState)>> {
        let columns = |row: &rusqlite::Row<'_>| -> rusqlite::Result<(Seq, String)> {
            Ok((Seq(row.get(0)?), row.get(1)?))
        };
        let found = match session {
            Some(session) => self.connection.many(
                "SELECT seq, state FROM suggestions WHERE session = ?1 ORDER BY seq DESC LIMIT ?2",
                params![session.to_string(), limit(rows)],
                columns,
            ),
            None => self.connection.many(
                "SELECT seq, state FROM suggestions ORDER BY seq DESC LIMIT ?1",
                params![limit(rows)],
                columns,
            ),
        }?;
        let mut suggestions = Vec::with_capacity(found.len());
        for (seq, state) in found {
            let state = SuggestionState::from_name(&state);
            if let (Some(recorded), Some(state)) = (journal::event(self.connection, seq)?, state) {
                suggestions.push((recorded, state));
            }
        }
        Ok(suggestions)
    }

    fn is_suggested(&self, session: &SessionRef, key: Fingerprint) -> Result<bool> {
        let sql = "SELECT 1 FROM suggestions WHERE session = ?1 AND mark = ?2";
        self.connection
            .has(sql, params![session.to_string(), key.0.cast_signed()])
    }

    fn suggestion_tallies(&self) -> Result<BTreeMap<Heuristic, Tally>> {
        let sql =
            "SELECT heuristic, state, count(*) FROM suggestions WHERE counts = 1 GROUP BY 1, 2";
        let rows = self.connection.many(sql, [], |row| {
            let names: (String, String) = (row.get(0)?, row.get(1)?);
            Ok((names, row.get::<_, i64>(2)?.unsigned_abs()))
        })?;
        let mut tallies: BTreeMap<Heuristic, Tally> = BTreeMap::new();
        for ((heuristic, state), count) in rows {
            let known = (
                Heuristic::from_name(&heuristic),
                SuggestionState::from_name(&state),
            );
            if let (Some(heuristic), Some(state)) = known {
                tallies.entry(heuristic).or_default().add(state, count);
            }
        }
        Ok(tallies)
    }

    fn snoozed_until(&self, session: &SessionRef) -> Result<u64> {
        let sql = "SELECT until FROM snoozed WHERE session = ?1";
        let found = self
            .connection
            .one(sql, [session.to_string()], |row| row.get::<_, i64>(0))?;
        Ok(found.unwrap_or_default().unsigned_abs())
    }

    fn sessions_of_size(&self, tokens: u64) -> Result<(u64, u64)> {
        let sql = "SELECT coalesce(sum(size >= ?1), 0), count(*) FROM activity WHERE size > 0";
        let found =
            self.connection
                .one(sql, [i64::try_from(tokens).unwrap_or(i64::MAX)], |row| {
                    Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
                })?;
        let (reached, all) = found.unwrap_or_default();
        Ok((reached.unsigned_abs(), all.unsigned_abs()))
    }
}
