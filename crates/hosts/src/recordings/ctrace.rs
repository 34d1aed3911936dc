//! The neutral session format `ctrace`, for recordings of any program.
//!
//! A recording is a JSON Lines file. The first line is the header; every other line is an event with
//! an ordinal `i`, a kind `t` and an optional author `a` (`main` or a subagent):
//!
//! ```text
//! {"t":"session","host":"claude-code","id":"…","cwd":"/work","title":"…"}
//! {"i":0,"t":"user","kind":"prompt","text":"Fix the build"}
//! {"i":1,"t":"call","id":"c1","name":"Bash","k":"exec","cmd":"make","args":{…}}
//! {"i":2,"t":"result","id":"c1","ok":false,"text":"…"}
//! ```
//!
//! `entry_kind` lists the kinds of events. The corpus of the quality evaluation is in this format.

use std::collections::BTreeSet;
use std::path::Path;

use flamestack_core::transcript::{Answer, Call, CallKind, Entry, EntryKind, Speaker, Todo, Usage};
use serde_json::Value;

use super::json::{flag, flag_or_true, items, number, some, text, texts, time};
use super::lines::{Line, LineConverter, Output, read_lines};
use super::{ReadReport, RecordedSession, RecordingError, Sink, session_ref, tools};

/// The first line of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceHeader {
    /// The session's id.
    pub id: String,
    /// The program that ran it.
    pub host: String,
    /// The publisher of the recording.
    pub source: String,
    /// The session that started it.
    pub parent: Option<String>,
    /// The directory that it ran in.
    pub directory: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// Files that changed during the session, according to git.
    pub touched: Vec<String>,
}

/// Parses the first line.
fn header_of(value: &Value) -> Option<TraceHeader> {
    (text(value, "t") == "session").then(|| TraceHeader {
        id: text(value, "id").to_owned(),
        host: text(value, "host").to_owned(),
        source: text(value, "source").to_owned(),
        parent: some(value, "parent"),
        directory: some(value, "cwd"),
        title: some(value, "title"),
        touched: texts(value, "files_touched"),
    })
}

/// Parses an event. Returns it with its ordinal.
fn entry_of(value: &Value, line: &str) -> Option<(u64, Entry)> {
    let ordinal = value.get("i")?.as_u64()?;
    let kind = entry_kind(value, line)?;
    let id = match &kind {
        EntryKind::Call(call) => call.id.clone(),
        EntryKind::Answer(answer) => answer.call.clone(),
        _ => format!("#{ordinal}"),
    };
    let agent = some(value, "a").filter(|agent| agent != "main");
    let entry = Entry {
        id: Some(id),
        message: some(value, "mid"),
        at: time(value, "ts"),
        agent: agent.map(|agent| subagent(&agent)),
        kind,
    };
    Some((ordinal, entry))
}

/// The arguments of a call as text, because a parsed map would lose the order of the model's keys.
#[derive(serde::Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    args: Option<&'a serde_json::value::RawValue>,
}

fn arguments(line: &str) -> String {
    let arguments: Option<Arguments<'_>> = serde_json::from_str(line).ok();
    arguments
        .and_then(|found| found.args)
        .map(|raw| raw.get().to_owned())
        .unwrap_or_default()
}

fn entry_kind(value: &Value, line: &str) -> Option<EntryKind> {
    let string = |key: &str| text(value, key).to_owned();
    let ok = flag_or_true(value, "ok");
    Some(match text(value, "t") {
        "user" => EntryKind::User {
            speaker: match text(value, "kind") {
                "prompt" => Speaker::Person,
                "slash" => Speaker::Slash,
                "shell" => Speaker::Shell,
                _ => Speaker::Host,
            },
            text: string("text"),
        },
        "assistant" => EntryKind::Assistant {
            text: string("text"),
        },
        "thinking" => EntryKind::Thinking {
            text: string("text"),
        },
        "call" => EntryKind::Call(Call {
            id: string("id"),
            tool: string("name"),
            kind: call_kind(text(value, "k")),
            arguments: arguments(line),
            paths: texts(value, "paths"),
            command: some(value, "cmd"),
        }),
        "result" => EntryKind::Answer(Answer {
            call: string("id"),
            ok,
            exit_code: None,
            text: string("text"),
        }),
        "context" => EntryKind::Attached {
            paths: texts(value, "paths"),
            text: string("text"),
        },
        "sub_start" => EntryKind::SubagentStarted {
            id: subagent(text(value, "id")),
            call: some(value, "call"),
            kind: some(value, "kind"),
            title: string("title"),
            prompt: string("prompt"),
        },
        "sub_stop" => EntryKind::SubagentEnded {
            id: subagent(text(value, "id")),
            ok,
            text: string("text"),
        },
        "compact" => EntryKind::Compacted {
            automatic: text(value, "trigger") != "manual",
            summary: some(value, "summary").filter(|_| !flag(value, "opaque")),
            tokens_before: value.get("pre_tokens").and_then(Value::as_u64),
        },
        "todo" => EntryKind::Todos(
            items(value, "items")
                .iter()
                .map(|item| Todo {
                    text: text(item, "text").to_owned(),
                    status: tools::todo_status(text(item, "status")),
                })
                .collect(),
        ),
        "plan" => EntryKind::Plan {
            text: string("text"),
        },
        "diff" => EntryKind::Changed {
            paths: texts(value, "paths"),
        },
        "interrupt" => EntryKind::Interrupted { how: string("how") },
        "turn_end" => EntryKind::TurnEnded,
        "usage" => EntryKind::Usage(Usage {
            model: some(value, "model"),
            input: number(value, "in"),
            cache_read: number(value, "cache_read"),
            cache_write: number(value, "cache_write"),
            output: number(value, "out"),
            ..Usage::default()
        }),
        _ => return None,
    })
}

/// Returns a subagent's id in its host.
fn subagent(name: &str) -> String {
    name.strip_prefix("sub:").unwrap_or(name).to_owned()
}

fn call_kind(name: &str) -> CallKind {
    match name {
        "exec" => CallKind::Execute,
        "task" => CallKind::Delegate,
        "execute" | "delegate" | "stack" => CallKind::Other,
        name => CallKind::from_name(name).unwrap_or(CallKind::Other),
    }
}

/// Reads a session.
pub fn read(path: &Path, sink: &mut Sink<'_>) -> Result<ReadReport, RecordingError> {
    read_lines(path, TraceReader::default(), sink)
}

#[derive(Default)]
struct TraceReader {
    output: Output,
    title: Option<String>,
    shell_calls: ShellCalls,
}

/// Unanswered calls of the shell, whose answers have an exit code.
#[derive(Default)]
struct ShellCalls(BTreeSet<String>);

impl ShellCalls {
    /// Adds the exit code to the answer of a shell call.
    fn complete(&mut self, entry: &mut Entry) {
        match &mut entry.kind {
            EntryKind::Call(call) if call.kind == CallKind::Execute => {
                self.0.insert(call.id.clone());
            }
            EntryKind::Answer(answer) if self.0.remove(&answer.call) => {
                answer.exit_code = tools::exit_code(&answer.text, answer.ok);
            }
            _ => {}
        }
    }
}

impl LineConverter for TraceReader {
    fn output(&mut self) -> &mut Output {
        &mut self.output
    }

    fn line(&mut self, line: Line<'_>) -> Result<(), String> {
        let read = match (&self.output.session, header_of(&line.value)) {
            (None, Some(header)) => self.header(header),
            (None, None) => Err("comes before the header"),
            (Some(_), Some(_)) => Err("is a second header"),
            (Some(_), None) => self.event(&line),
        };
        read.map_err(str::to_owned)
    }

    /// The title comes last, as hosts name a session when they know what it was about.
    fn end(&mut self) {
        if let Some(title) = self.title.take() {
            self.output.push(Entry {
                id: Some("header".to_owned()),
                ..Entry::from(EntryKind::Titled { title })
            });
        }
    }
}

impl TraceReader {
    fn header(&mut self, header: TraceHeader) -> Result<(), &'static str> {
        let session = session_ref(&header.host, &header.id).map_err(|_| "names no session")?;
        self.title = header.title;
        self.output.begin(RecordedSession {
            parent: header.parent.as_deref().and_then(|id| session.beside(id)),
            session,
            directory: header.directory,
        });
        Ok(())
    }

    fn event(&mut self, line: &Line<'_>) -> Result<(), &'static str> {
        let value = &line.value;
        let Some((_, mut entry)) = entry_of(value, line.text) else {
            if value.get("i").and_then(Value::as_u64).is_none() {
                return Err("has no ordinal");
            }
            // A cleared tool result (`prune`) changes nothing that is recorded.
            if text(value, "t") != "prune" {
                self.output.report.unknown(text(value, "t"));
            }
            return Ok(());
        };
        self.shell_calls.complete(&mut entry);
        self.output.push(entry);
        Ok(())
    }
}

/// A session, or the beginning of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The first line.
    pub header: TraceHeader,
    /// The events with their ordinals, in order.
    pub events: Vec<(u64, Entry)>,
}

impl Trace {
    /// Reads the events before the given ordinal, or all of them.
    pub fn read(source: impl std::io::BufRead, before: Option<u64>) -> std::io::Result<Self> {
        let mut trace = Self::default();
        let mut shell_calls = ShellCalls::default();
        for line in source.lines() {
            let line = line?;
            let Ok(value) = serde_json::from_str::<Value>(&line) else {
                continue;
            };
            if let Some(header) = header_of(&value) {
                trace.header = header;
                continue;
            }
            let ordinal = value.get("i").and_then(Value::as_u64);
            if ordinal.is_some_and(|at| before.is_some_and(|before| at >= before)) {
                break;
            }
            if let Some((ordinal, mut entry)) = entry_of(&value, &line) {
                shell_calls.complete(&mut entry);
                trace.events.push((ordinal, entry));
            }
        }
        Ok(trace)
    }
}
