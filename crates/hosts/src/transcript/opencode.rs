//! OpenCode's database: sessions, messages and their parts, as rows of JSON.
//!
//! Ids are the ones that a live host gives for the same things: a part's own for what was said and
//! done, a message's for what it cost, a child session's for a subagent.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;

use flamestack_core::SessionRef;
use flamestack_core::id::Timestamp;
use flamestack_core::transcript::{Answer, CallKind, Entry, Usage, Voice, What};
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use super::json::{flag, number, some, text, texts};
use super::{About, Item, ReadError, Report, Taker, tools};

/// The host's name.
pub const HOST: &str = "opencode";
/// How deep sessions may lie in each other. OpenCode itself allows one level, plugins any.
const DEEPEST: usize = 16;

/// Reads all sessions of a database, each with its subagents where they were begun.
pub fn read(path: &Path, take: &mut Taker<'_>) -> Result<Report, ReadError> {
    let bad = |error: rusqlite::Error| ReadError::Database {
        path: path.to_owned(),
        problem: error.to_string(),
    };
    let connection = open(path).map_err(bad)?;
    let mut database = Database {
        connection: &connection,
        path,
        report: Report::default(),
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
    for pass in [true, false] {
        for session in &sessions {
            let is_child = session
                .parent
                .as_ref()
                .is_some_and(|parent| sessions.iter().any(|known| known.id == *parent));
            if pass && is_child || database.read.contains(&session.id) {
                continue;
            }
            if database
                .session(&sessions, session, DEEPEST, take)
                .map_err(bad)?
                .is_break()
            {
                return Ok(database.report);
            }
        }
    }
    Ok(database.report)
}

/// Whether a file is a database of OpenCode's.
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
    // Never a byte into somebody else's database.
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
    report: Report,
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
        take: &mut Taker<'_>,
    ) -> rusqlite::Result<ControlFlow<()>> {
        self.read.insert(row.id.clone());
        let Ok(session) = format!("{HOST}:{}", row.id).parse::<SessionRef>() else {
            self.report
                .problem(self.path, "a session".to_owned(), "has no usable id");
            return Ok(ControlFlow::Continue(()));
        };
        let about = About {
            parent: row.parent.as_deref().and_then(|id| session.beside(id)),
            directory: row.directory.clone(),
            session: session.clone(),
        };
        if take(Item::Session(about.clone()), self.position).is_break() {
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
            let mut talk = Message {
                id: &id,
                info: &info,
                directory: row.directory.as_deref().unwrap_or_default(),
                inner: row.parent.is_some(),
                found: Vec::new(),
            };
            self.parts(&mut talk)?;
            talk.end();
            for item in talk.found {
                let child = match &item {
                    Item::Entry(entry) => match &entry.what {
                        What::SubagentEnded { id, .. } => Some(id.clone()),
                        _ => None,
                    },
                    _ => None,
                };
                let child = child.filter(|child| levels > 0 && !self.read.contains(child));
                let child = child.and_then(|id| sessions.iter().find(|row| row.id == id));
                if let Some(child) = child {
                    let inside = self.session(sessions, child, levels - 1, take)?;
                    if inside.is_break()
                        || take(Item::Session(about.clone()), self.position).is_break()
                    {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                if take(item, self.position).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        let named = row
            .title
            .clone()
            .filter(|title| !title.starts_with("New session"));
        let named = named.map(|title| {
            Item::Entry(Box::new(Entry {
                id: Some(format!("title: {title}")),
                message: None,
                at: None,
                agent: None,
                what: What::Titled { title },
            }))
        });
        for item in named.into_iter().chain([Item::Ended(session)]) {
            if take(item, self.position).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn parts(&mut self, message: &mut Message<'_>) -> rusqlite::Result<()> {
        let mut parts = self
            .connection
            .prepare_cached("SELECT id, data FROM part WHERE message_id = ?1 ORDER BY id")?;
        let mut rows = parts.query([message.id])?;
        while let Some(row) = rows.next()? {
            let (id, data): (String, String) = (row.get(0)?, row.get(1)?);
            if let Some(part) = self.object("part", &id, &data)
                && !message.part(&id, &part)
            {
                self.report
                    .unknown(&format!("part {}", text(&part, "type")));
            }
        }
        Ok(())
    }

    fn object(&mut self, what: &str, id: &str, data: &str) -> Option<Value> {
        match serde_json::from_str::<Value>(data) {
            Ok(value) if value.is_object() => Some(value),
            Ok(_) => {
                let place = format!("{what} {id}");
                self.report
                    .problem(self.path, place, "is not a JSON object");
                None
            }
            Err(error) => {
                let place = format!("{what} {id}");
                self.report
                    .problem(self.path, place, format!("is not JSON: {error}"));
                None
            }
        }
    }
}

/// One message while its parts are read.
struct Message<'m> {
    id: &'m str,
    info: &'m Value,
    directory: &'m str,
    /// Whether it stands in the session of a subagent.
    inner: bool,
    found: Vec<Item>,
}

impl Message<'_> {
    fn tell(&mut self, id: &str, what: What) {
        let at = self.info.pointer("/time/created").and_then(Value::as_i64);
        self.found.push(Item::Entry(Box::new(Entry {
            id: Some(id.to_owned()),
            message: Some(self.id.to_owned()),
            at: at.map(Timestamp),
            agent: None,
            what,
        })));
    }

    fn part(&mut self, id: &str, part: &Value) -> bool {
        let said = || text(part, "text").to_owned();
        match text(part, "type") {
            "text" => {
                let is_user = text(self.info, "role") == "user";
                if text(part, "text").trim().is_empty() || flag(part, "ignored") {
                    return true;
                }
                let what = match (is_user, flag(self.info, "summary")) {
                    (true, _) => What::User {
                        voice: if flag(part, "synthetic") || self.inner {
                            Voice::Host
                        } else {
                            Voice::Person
                        },
                        text: said(),
                    },
                    (false, true) => What::Compacted {
                        automatic: true,
                        summary: Some(said()),
                        tokens_before: None,
                    },
                    (false, false) => What::Assistant { text: said() },
                };
                self.tell(id, what);
            }
            "reasoning" => self.tell(id, What::Thinking { text: said() }),
            "tool" => self.tool(id, part),
            "patch" => {
                let files = texts(part, "files");
                let paths = files.iter().map(|path| tools::inside(path, self.directory));
                let paths = paths.collect();
                self.tell(id, What::Changed { paths });
            }
            "file" => {
                let path = part.pointer("/source/path").and_then(Value::as_str);
                let path = path.unwrap_or_else(|| text(part, "filename"));
                if !path.is_empty() {
                    let paths = vec![tools::inside(path, self.directory)];
                    let text = String::new();
                    self.tell(id, What::Attached { paths, text });
                }
            }
            "step-start" | "step-finish" | "snapshot" | "compaction" | "agent" | "subtask"
            | "retry" => {}
            _ => return false,
        }
        true
    }

    fn tool(&mut self, id: &str, part: &Value) {
        let state = part.get("state").unwrap_or(&Value::Null);
        let input = state.get("input").unwrap_or(&Value::Null);
        let (call, tool) = (text(part, "callID"), text(part, "tool"));
        let made = tools::call(call, tool, input, input.to_string(), self.directory);
        let kind = made.kind;
        self.tell(id, What::Call(made));
        let metadata = state.get("metadata").unwrap_or(&Value::Null);
        let child = some(metadata, "sessionId").filter(|_| kind == CallKind::Delegate);
        if let Some(child) = &child {
            let started = What::SubagentStarted {
                id: child.clone(),
                call: Some(call.to_owned()),
                kind: some(input, "subagent_type"),
                title: text(input, "description").to_owned(),
                prompt: text(input, "prompt").to_owned(),
            };
            self.tell(child, started);
        }
        let (ok, said) = match text(state, "status") {
            "completed" => (true, text(state, "output").to_owned()),
            "error" => (false, text(state, "error").to_owned()),
            // It was still running when the program ended.
            _ => return,
        };
        if let Some(child) = child {
            let text = said.clone();
            self.tell(
                &child.clone(),
                What::SubagentEnded {
                    id: child,
                    ok,
                    text,
                },
            );
        }
        if kind == CallKind::Todo
            && ok
            && let Some(todos) = tools::todos(input)
        {
            self.tell(id, What::Todos(todos));
        }
        let exit = metadata.get("exit").and_then(Value::as_i64);
        let exit_code = exit.and_then(|code| i32::try_from(code).ok());
        let answer = Answer {
            call: call.to_owned(),
            ok,
            exit_code,
            text: said,
        };
        self.tell(id, What::Answer(answer));
        let files = metadata.get("files").and_then(Value::as_array);
        let changed = files.into_iter().flatten().filter_map(|file| {
            let path = some(file, "filePath").or_else(|| some(file, "relativePath"))?;
            Some(tools::inside(&path, self.directory))
        });
        let paths: Vec<String> = changed.collect();
        if !paths.is_empty() {
            self.tell(id, What::Changed { paths });
        }
    }

    /// What the message says as a whole.
    fn end(&mut self) {
        if text(self.info, "role") != "assistant" {
            return;
        }
        if let Some(tokens) = self.info.get("tokens") {
            let cache = tokens.get("cache").unwrap_or(&Value::Null);
            let usage = Usage {
                model: some(self.info, "modelID"),
                input: number(tokens, "input"),
                cache_read: number(cache, "read"),
                cache_write: number(cache, "write"),
                output: number(tokens, "output"),
                reasoning: number(tokens, "reasoning"),
                micro_dollars: self
                    .info
                    .get("cost")
                    .and_then(Value::as_f64)
                    .and_then(micro),
            };
            self.tell(self.id, What::Usage(usage));
        }
        let error = self
            .info
            .get("error")
            .map_or("", |error| text(error, "name"));
        if error == "MessageAbortedError" {
            let how = "aborted".to_owned();
            self.tell(self.id, What::Interrupted { how });
        } else if text(self.info, "finish") == "stop" && !flag(self.info, "summary") {
            self.tell(self.id, What::TurnEnded);
        }
    }
}

/// Dollars in millionths; nonsense is no cost.
fn micro(dollars: f64) -> Option<u64> {
    let micro = (dollars * 1e6).round();
    let sane = (0.0..1e15).contains(&micro);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked just above"
    )]
    sane.then_some(micro as u64)
}
