//! OpenCode's database: sessions, messages and their parts, as rows of JSON.
//!
//! The entries have the ids that a live session gives them, because both are read by
//! [`crate::opencode`].

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;

use flamestack_core::transcript::{Entry, EntryKind};
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use super::json::text;
use super::{
    ReadReport, RecordedSession, RecordingError, Sink, TranscriptItem, deliver, session_ref,
};
use crate::opencode::entries::{Source, entries};
use crate::opencode::message::{HostMessage, HostPart};

/// The host's name.
pub const HOST: &str = "opencode";
/// Maximum depth of sessions below each other. OpenCode itself allows one level, plugins any.
const DEEPEST: usize = 16;

/// Reads all sessions of a database, each with its subagents where they were begun.
pub fn read(path: &Path, take: &mut Sink<'_>) -> Result<ReadReport, RecordingError> {
    let bad = |error: rusqlite::Error| RecordingError::Database {
        path: path.to_owned(),
        problem: error.to_string(),
    };
    let connection = open(path).map_err(bad)?;
    let mut database = Database {
        connection: &connection,
        path,
        report: ReadReport::default(),
        read: BTreeSet::new(),
        position: 0,
        total: fs_err::metadata(path)?.len(),
        messages: 1,
    };
    database.messages = connection
        .query_row("SELECT count(*) FROM message", [], |row| {
            row.get::<_, i64>(0)
        })
        .map_err(bad)?
        .unsigned_abs()
        .max(1);
    let sessions = database.sessions().map_err(bad)?;
    // Children are read where their parents begin them; what is left has no parent here.
    let is_child = |row: &&Row| {
        let parent = row.parent.as_ref();
        parent.is_some_and(|parent| sessions.iter().any(|known| known.id == *parent))
    };
    let (children, roots): (Vec<&Row>, Vec<&Row>) = sessions.iter().partition(is_child);
    for session in roots.into_iter().chain(children) {
        if database.read.contains(&session.id) {
            continue;
        }
        let read = database.session(&sessions, session, DEEPEST, take);
        if read.map_err(bad)?.is_break() {
            break;
        }
    }
    Ok(database.report)
}

/// Returns true if a file is a database of OpenCode.
pub(super) fn is_one(path: &Path) -> bool {
    let known = |connection: Connection| {
        connection
            .prepare("SELECT id, parent_id, directory, title FROM session LIMIT 1")
            .is_ok()
            && connection
                .prepare("SELECT id, session_id, data FROM message LIMIT 1")
                .is_ok()
    };
    open(path).is_ok_and(known)
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    // Read only: the database is the host's.
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    Ok(connection)
}

struct Row {
    id: String,
    parent: Option<String>,
    directory: Option<String>,
    title: Option<String>,
}

struct Database<'c> {
    connection: &'c Connection,
    path: &'c Path,
    report: ReadReport,
    read: BTreeSet<String>,
    position: u64,
    total: u64,
    messages: u64,
}

impl Database<'_> {
    fn sessions(&self) -> rusqlite::Result<Vec<Row>> {
        let mut statement = self
            .connection
            .prepare("SELECT id, parent_id, directory, title FROM session ORDER BY id DESC")?;
        // OpenCode's session ids fall with time, so the oldest comes first.
        let rows = statement.query_map([], |row| {
            Ok(Row {
                id: row.get(0)?,
                parent: row.get(1)?,
                directory: row.get(2)?,
                title: row.get(3)?,
            })
        })?;
        rows.collect()
    }

    fn session(
        &mut self,
        sessions: &[Row],
        row: &Row,
        levels: usize,
        take: &mut Sink<'_>,
    ) -> rusqlite::Result<ControlFlow<()>> {
        self.read.insert(row.id.clone());
        let Ok(session) = session_ref(HOST, &row.id) else {
            self.report
                .problem(self.path, "a session".to_owned(), "has no usable id");
            return Ok(ControlFlow::Continue(()));
        };
        let about = RecordedSession {
            parent: row.parent.as_deref().and_then(|id| session.beside(id)),
            directory: row.directory.clone(),
            session: session.clone(),
        };
        if take(TranscriptItem::Session(about.clone()), self.position).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        let mut messages = self
            .connection
            .prepare("SELECT id, data FROM message WHERE session_id = ?1 ORDER BY id")?;
        let mut found = messages.query([&row.id])?;
        while let Some(message) = found.next()? {
            let (id, data): (String, String) = (message.get(0)?, message.get(1)?);
            self.report.lines += 1;
            self.position += self.total / self.messages;
            let Some(info) = self.object("message", &id, &data) else {
                continue;
            };
            let parts = self.parts(&id)?;
            let Some(message) = HostMessage::read(id, &info, parts) else {
                continue;
            };
            let source = Source::Recorded {
                directory: row.directory.as_deref().unwrap_or_default(),
                is_subagent: row.parent.is_some(),
            };
            for entry in entries(&message, source) {
                let child = match &entry.kind {
                    EntryKind::SubagentEnded { id, .. } => Some(id.clone()),
                    _ => None,
                };
                let child = child.filter(|child| levels > 0 && !self.read.contains(child));
                let child = child.and_then(|id| sessions.iter().find(|row| row.id == id));
                if let Some(child) = child {
                    let inside = self.session(sessions, child, levels - 1, take)?;
                    if inside.is_break()
                        || take(TranscriptItem::Session(about.clone()), self.position).is_break()
                    {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                if take(TranscriptItem::Entry(Box::new(entry)), self.position).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        let named = row
            .title
            .clone()
            .filter(|title| !title.starts_with("New session"));
        let named = named.map(|title| {
            TranscriptItem::Entry(Box::new(Entry {
                id: Some(format!("title: {title}")),
                ..Entry::from(EntryKind::Titled { title })
            }))
        });
        let end = named.into_iter().chain([TranscriptItem::Ended(session)]);
        Ok(deliver(end, self.position, take))
    }

    fn parts(&mut self, message: &str) -> rusqlite::Result<Vec<HostPart>> {
        let mut parts = self
            .connection
            .prepare_cached("SELECT id, data FROM part WHERE message_id = ?1 ORDER BY id")?;
        let mut rows = parts.query([message])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let (id, data): (String, String) = (row.get(0)?, row.get(1)?);
            let Some(part) = self.object("part", &id, &data) else {
                continue;
            };
            let kind = text(&part, "type").to_owned();
            match HostPart::read(id, part) {
                Some(part) => found.push(part),
                None => self.report.unknown(&format!("part {kind}")),
            }
        }
        Ok(found)
    }

    fn object(&mut self, what: &str, id: &str, data: &str) -> Option<Value> {
        let parsed = match serde_json::from_str::<Value>(data) {
            Ok(value) if value.is_object() => Ok(value),
            Ok(_) => Err("is not a JSON object".to_owned()),
            Err(error) => Err(format!("is not JSON: {error}")),
        };
        let place = || format!("{what} {id}");
        let problem = |problem| self.report.problem(self.path, place(), problem);
        parsed.map_err(problem).ok()
    }
}
