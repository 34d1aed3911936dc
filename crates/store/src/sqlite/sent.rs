//! What sessions were told, and by which model they are read.
//!
//! Texts stay in the journal; the projection only knows where.

use flamestack_core::Model;
use flamestack_core::context::{Delivery, Sending};
use flamestack_core::event::Recorded;
use flamestack_core::id::SessionRef;
use flamestack_core::text::Title;
use rusqlite::{Connection, params};

use super::view::SqliteView;
use super::{append, project};
use crate::error::StoreError;

/// How a header is marked in `sent`, and what else was told.
const HEADER: i64 = 2;
const UPDATE: i64 = 1;
const NOTHING: i64 = 0;

/// Folds in the model that a session talks to.
pub(super) fn project_model(
    connection: &Connection,
    recorded: &Recorded,
    model: &Model,
) -> Result<(), StoreError> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO models VALUES (?1, ?2, ?3)")?
        .execute(params![
            recorded.session.to_string(),
            model.name.as_str(),
            model.window.and_then(|tokens| i64::try_from(tokens).ok()),
        ])?;
    Ok(())
}

/// Folds in what a session was sent. A header takes the place of everything before.
pub(super) fn project_sending(
    connection: &Connection,
    recorded: &Recorded,
    sending: &Sending,
) -> Result<(), StoreError> {
    let session = recorded.session.to_string();
    let told = told(sending);
    if told == HEADER {
        connection
            .prepare_cached("DELETE FROM sent WHERE session = ?1")?
            .execute([&session])?;
    }
    connection
        .prepare_cached("INSERT INTO sent VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![session, recorded.seq.0, recorded.message, told])?;
    Ok(())
}

fn told(sending: &Sending) -> i64 {
    match sending.delivery {
        Delivery::Header(_) => HEADER,
        Delivery::Update(_) => UPDATE,
        Delivery::Nothing => NOTHING,
    }
}

/// Lets a delivery behind the last header count again, or no longer.
pub(super) fn count(
    connection: &Connection,
    recorded: &Recorded,
    sending: &Sending,
    counts: bool,
) -> Result<(), StoreError> {
    let session = recorded.session.to_string();
    if counts {
        connection
            .prepare_cached(
                "INSERT OR IGNORE INTO sent SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS
                     (SELECT 1 FROM sent WHERE session = ?1 AND seq > ?2 AND told = 2)",
            )?
            .execute(params![
                session,
                recorded.seq.0,
                recorded.message,
                told(sending)
            ])?;
    } else {
        connection
            .prepare_cached("DELETE FROM sent WHERE session = ?1 AND seq = ?2")?
            .execute(params![session, recorded.seq.0])?;
    }
    Ok(())
}

impl SqliteView<'_> {
    pub(super) fn model_of(&self, session: &SessionRef) -> Result<Option<Model>, StoreError> {
        let sql = "SELECT name, tokens FROM models WHERE session = ?1";
        self.one(sql, params![session.to_string()], |row| {
            Ok(Model {
                name: Title::recorded(row.get(0)?),
                window: row.get::<_, Option<i64>>(1)?.map(i64::unsigned_abs),
            })
        })
    }

    /// The deliveries of a session since its last header that a condition on `sent` allows.
    pub(super) fn deliveries(
        &self,
        condition: &str,
        params: &[&dyn rusqlite::ToSql],
    ) -> Result<Vec<Recorded>, StoreError> {
        let columns = append::COLUMNS;
        project::events(
            self.connection,
            &format!(
                "SELECT {columns} FROM sent s CROSS JOIN events e ON e.seq = s.seq
                 WHERE s.session = ?1 AND {condition}"
            ),
            params,
        )
    }
}
