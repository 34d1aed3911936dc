//! Deliveries to sessions, and the models that read them.
//!
//! Texts stay in the journal; the projection only has their positions.

use flamestack_core::Model;
use flamestack_core::delivery::{Delivery, Sending};
use flamestack_core::event::Recorded;
use flamestack_core::id::SessionRef;
use flamestack_core::text::Title;
use rusqlite::{Connection, params};

use super::journal;
use super::statements::Statements as _;
use super::view::SqliteView;
use crate::error::Result;

/// Values of the column `content` in `sent`.
const HEADER: i64 = 2;
const UPDATE: i64 = 1;
const NOTHING: i64 = 0;

/// Applies a change of a session's model.
pub(super) fn project_model(
    connection: &Connection,
    recorded: &Recorded,
    model: &Model,
) -> Result<()> {
    connection.write(
        "INSERT OR REPLACE INTO models VALUES (?1, ?2, ?3)",
        params![
            recorded.session.to_string(),
            model.name.as_str(),
            model.window.and_then(|tokens| i64::try_from(tokens).ok()),
        ],
    )
}

/// Applies a delivery. A header replaces everything before it.
pub(super) fn project_sending(
    connection: &Connection,
    recorded: &Recorded,
    sending: &Sending,
) -> Result<()> {
    let session = recorded.session.to_string();
    let content = content(sending);
    if content == HEADER {
        connection.write("DELETE FROM sent WHERE session = ?1", [&session])?;
    }
    connection.write(
        "INSERT INTO sent VALUES (?1, ?2, ?3, ?4)",
        params![session, recorded.seq.0, recorded.message, content],
    )
}

fn content(sending: &Sending) -> i64 {
    match sending.delivery {
        Delivery::Header(_) => HEADER,
        Delivery::Update(_) => UPDATE,
        Delivery::Nothing => NOTHING,
    }
}

/// Masks or unmasks a delivery after the last header.
pub(super) fn count(
    connection: &Connection,
    recorded: &Recorded,
    sending: &Sending,
    counts: bool,
) -> Result<()> {
    let session = recorded.session.to_string();
    if counts {
        connection.write(
            "INSERT OR IGNORE INTO sent SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS
                     (SELECT 1 FROM sent WHERE session = ?1 AND seq > ?2 AND content = 2)",
            params![session, recorded.seq.0, recorded.message, content(sending)],
        )?;
    } else {
        connection.write(
            "DELETE FROM sent WHERE session = ?1 AND seq = ?2",
            params![session, recorded.seq.0],
        )?;
    }
    Ok(())
}

impl SqliteView<'_> {
    pub(super) fn model_of(&self, session: &SessionRef) -> Result<Option<Model>> {
        let sql = "SELECT name, tokens FROM models WHERE session = ?1";
        self.connection
            .one(sql, params![session.to_string()], |row| {
                Ok(Model {
                    name: Title::recorded(row.get(0)?),
                    window: row.get::<_, Option<i64>>(1)?.map(i64::unsigned_abs),
                })
            })
    }

    /// Returns the deliveries of a session since its last header that match a condition on `sent`.
    pub(super) fn deliveries(
        &self,
        condition: &str,
        params: &[&dyn rusqlite::ToSql],
    ) -> Result<Vec<Recorded>> {
        let from = "FROM sent s CROSS JOIN events e ON e.seq = s.seq WHERE s.session = ?1";
        journal::select(self.connection, &format!("{from} AND {condition}"), params)
    }
}
