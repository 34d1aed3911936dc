//! The neutral session format: one JSON object a line, a header first.

use flamestack_core::id::Timestamp;
use flamestack_core::transcript::{
    Answer, Call, CallKind, Entry, Todo, TodoStatus, Usage, Voice, What,
};
use serde_json::Value;

/// What the first line says about a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The session's id.
    pub id: String,
    /// The program it was held in.
    pub host: String,
    /// Who published it.
    pub source: String,
}

/// The first line.
fn header(line: &str) -> Option<Header> {
    let value: Value = serde_json::from_str(line).ok()?;
    (value.get("t")? == "session").then(|| Header {
        id: text(&value, "id"),
        host: text(&value, "host"),
        source: text(&value, "source"),
    })
}

fn text(value: &Value, key: &str) -> String {
    optional(value, key).unwrap_or_default()
}

fn optional(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_str).map(str::to_owned)
}

fn list(value: &Value, key: &str) -> Vec<String> {
    let list = value.get(key).and_then(Value::as_array);
    list.map(|list| {
        list.iter()
            .filter_map(|item| item.as_str().map(str::to_owned))
            .collect()
    })
    .unwrap_or_default()
}

/// What a line is.
enum Read {
    /// An event, as far as it has a meaning here.
    Event(u64, Option<Box<Entry>>),
    /// Nothing that can be read.
    Unreadable,
}

/// An event and its ordinal.
fn event(line: &str) -> Read {
    let Ok(value) = serde_json::from_str::<Value>(line) else {
        return Read::Unreadable;
    };
    let Some(ordinal) = value.get("i").and_then(Value::as_u64) else {
        return Read::Unreadable;
    };
    let entry = what(&value, line).map(|what| Entry {
        id: optional(&value, "id"),
        message: optional(&value, "mid"),
        at: value.get("ts").and_then(Value::as_i64).map(Timestamp),
        agent: optional(&value, "a").filter(|agent| agent != "main"),
        what,
    });
    Read::Event(ordinal, entry.map(Box::new))
}

/// The arguments of a call as they stand in the line: the order of their keys is the model's.
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

fn what(value: &Value, line: &str) -> Option<What> {
    let number = |key: &str| value.get(key).and_then(Value::as_u64).unwrap_or_default();
    Some(match value.get("t")?.as_str()? {
        "user" => What::User {
            voice: match value.get("kind").and_then(Value::as_str) {
                Some("prompt") => Voice::Person,
                Some("slash") => Voice::Slash,
                Some("shell") => Voice::Shell,
                _ => Voice::Host,
            },
            text: text(value, "text"),
        },
        "assistant" => What::Assistant {
            text: text(value, "text"),
        },
        "thinking" => What::Thinking {
            text: text(value, "text"),
        },
        "call" => What::Call(Call {
            id: text(value, "id"),
            tool: text(value, "name"),
            kind: kind(value.get("k").and_then(Value::as_str).unwrap_or_default()),
            arguments: arguments(line),
            paths: list(value, "paths"),
            command: optional(value, "cmd"),
        }),
        "result" => What::Answer(Answer {
            call: text(value, "id"),
            ok: value.get("ok").and_then(Value::as_bool).unwrap_or(true),
            exit_code: None,
            text: text(value, "text"),
        }),
        "context" => What::Attached {
            paths: list(value, "paths"),
            text: text(value, "text"),
        },
        "sub_start" => What::SubagentStarted {
            id: text(value, "id"),
            call: optional(value, "call"),
            kind: optional(value, "kind"),
            title: text(value, "title"),
            prompt: text(value, "prompt"),
        },
        "sub_stop" => What::SubagentEnded {
            id: text(value, "id"),
            ok: value.get("ok").and_then(Value::as_bool).unwrap_or(true),
            text: text(value, "text"),
        },
        "compact" => What::Compacted {
            automatic: value.get("trigger").and_then(Value::as_str) != Some("manual"),
            summary: optional(value, "summary"),
            tokens_before: value.get("pre_tokens").and_then(Value::as_u64),
        },
        "todo" => What::Todos(
            value
                .get("items")
                .and_then(Value::as_array)
                .map(|items| {
                    items
                        .iter()
                        .map(|item| Todo {
                            text: text(item, "text"),
                            status: match item.get("status").and_then(Value::as_str) {
                                Some("in_progress") => TodoStatus::Active,
                                Some("completed") => TodoStatus::Done,
                                Some("cancelled" | "deleted") => TodoStatus::Cancelled,
                                _ => TodoStatus::Pending,
                            },
                        })
                        .collect()
                })
                .unwrap_or_default(),
        ),
        "plan" => What::Plan {
            text: text(value, "text"),
        },
        "diff" => What::Changed {
            paths: list(value, "paths"),
        },
        "interrupt" => What::Interrupted {
            how: text(value, "how"),
        },
        "turn_end" => What::TurnEnded,
        "usage" => What::Usage(Usage {
            model: optional(value, "model"),
            input: number("in"),
            cache_read: number("cache_read"),
            cache_write: number("cache_write"),
            output: number("out"),
            reasoning: 0,
            micro_dollars: None,
        }),
        _ => return None,
    })
}

fn kind(word: &str) -> CallKind {
    match word {
        "read" => CallKind::Read,
        "search" => CallKind::Search,
        "edit" => CallKind::Edit,
        "write" => CallKind::Write,
        "exec" => CallKind::Execute,
        "task" => CallKind::Delegate,
        "todo" => CallKind::Todo,
        "web" => CallKind::Web,
        "ask" => CallKind::Ask,
        "plan" => CallKind::Plan,
        _ => CallKind::Other,
    }
}

/// A session, or its beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// What the first line says.
    pub header: Header,
    /// The events with their ordinals, in order.
    pub events: Vec<(u64, Entry)>,
    /// How many lines could not be read.
    pub unreadable: usize,
}

impl Trace {
    /// Reads the events before an ordinal, and nothing behind it; all of them if none is named.
    pub fn read(source: impl std::io::BufRead, before: Option<u64>) -> std::io::Result<Self> {
        let mut trace = Self::default();
        for line in source.lines() {
            let line = line?;
            if let Some(header) = header(&line) {
                trace.header = header;
                continue;
            }
            match event(&line) {
                Read::Event(ordinal, _) if before.is_some_and(|before| ordinal >= before) => break,
                Read::Event(ordinal, Some(entry)) => trace.events.push((ordinal, *entry)),
                Read::Event(_, None) => {}
                Read::Unreadable => trace.unreadable += 1,
            }
        }
        Ok(trace)
    }
}
