//! The neutral session format `ctrace`: one JSON object a line, a header first.

use std::collections::BTreeSet;
use std::path::Path;

use flamestack_core::SessionRef;
use flamestack_core::transcript::{Answer, Call, CallKind, Entry, Todo, Usage, Voice, What};
use serde_json::Value;

use super::json::{flag, items, number, some, text, texts, time};
use super::lines::Lines;
use super::{About, Item, ReadError, Report, Taker, tools};

/// What the first line says about a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The session's id.
    pub id: String,
    /// The program it was held in.
    pub host: String,
    /// Who published it.
    pub source: String,
    /// The session that it is part of.
    pub parent: Option<String>,
    /// The directory that it ran in.
    pub directory: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// The files that whoever recorded it saw change, by git.
    pub touched: Vec<String>,
}

/// The first line.
pub fn header(line: &str) -> Option<Header> {
    header_of(&serde_json::from_str(line).ok()?)
}

fn header_of(value: &Value) -> Option<Header> {
    (text(value, "t") == "session").then(|| Header {
        id: text(value, "id").to_owned(),
        host: text(value, "host").to_owned(),
        source: text(value, "source").to_owned(),
        parent: some(value, "parent"),
        directory: some(value, "cwd"),
        title: some(value, "title"),
        touched: texts(value, "files_touched"),
    })
}

/// An event and its ordinal.
pub fn entry(line: &str) -> Option<(u64, Entry)> {
    entry_of(&serde_json::from_str(line).ok()?, line)
}

fn entry_of(value: &Value, line: &str) -> Option<(u64, Entry)> {
    let ordinal = value.get("i")?.as_u64()?;
    let what = what(value, line)?;
    let id = match &what {
        What::Call(call) => call.id.clone(),
        What::Answer(answer) => answer.call.clone(),
        _ => format!("#{ordinal}"),
    };
    let agent = some(value, "a").filter(|agent| agent != "main");
    let entry = Entry {
        id: Some(id),
        message: some(value, "mid"),
        at: time(value, "ts"),
        agent: agent.map(|agent| subagent(&agent)),
        what,
    };
    Some((ordinal, entry))
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
    let said = |key: &str| text(value, key).to_owned();
    let ok = value.get("ok").and_then(Value::as_bool).unwrap_or(true);
    Some(match text(value, "t") {
        "user" => What::User {
            voice: match text(value, "kind") {
                "prompt" => Voice::Person,
                "slash" => Voice::Slash,
                "shell" => Voice::Shell,
                _ => Voice::Host,
            },
            text: said("text"),
        },
        "assistant" => What::Assistant { text: said("text") },
        "thinking" => What::Thinking { text: said("text") },
        "call" => What::Call(Call {
            id: said("id"),
            tool: said("name"),
            kind: kind(text(value, "k")),
            arguments: arguments(line),
            paths: texts(value, "paths"),
            command: some(value, "cmd"),
        }),
        "result" => What::Answer(Answer {
            call: said("id"),
            ok,
            exit_code: None,
            text: said("text"),
        }),
        "context" => What::Attached {
            paths: texts(value, "paths"),
            text: said("text"),
        },
        "sub_start" => What::SubagentStarted {
            id: subagent(text(value, "id")),
            call: some(value, "call"),
            kind: some(value, "kind"),
            title: said("title"),
            prompt: said("prompt"),
        },
        "sub_stop" => What::SubagentEnded {
            id: subagent(text(value, "id")),
            ok,
            text: said("text"),
        },
        "compact" => What::Compacted {
            automatic: text(value, "trigger") != "manual",
            summary: some(value, "summary").filter(|_| !flag(value, "opaque")),
            tokens_before: value.get("pre_tokens").and_then(Value::as_u64),
        },
        "todo" => What::Todos(
            items(value, "items")
                .iter()
                .map(|item| Todo {
                    text: text(item, "text").to_owned(),
                    status: tools::status(text(item, "status")),
                })
                .collect(),
        ),
        "plan" => What::Plan { text: said("text") },
        "diff" => What::Changed {
            paths: texts(value, "paths"),
        },
        "interrupt" => What::Interrupted { how: said("how") },
        "turn_end" => What::TurnEnded,
        "usage" => What::Usage(Usage {
            model: some(value, "model"),
            input: number(value, "in"),
            cache_read: number(value, "cache_read"),
            cache_write: number(value, "cache_write"),
            output: number(value, "out"),
            reasoning: 0,
            micro_dollars: None,
        }),
        _ => return None,
    })
}

/// A subagent's id in its host.
fn subagent(name: &str) -> String {
    name.strip_prefix("sub:").unwrap_or(name).to_owned()
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

/// Reads a session.
pub fn read(path: &Path, take: &mut Taker<'_>) -> Result<Report, ReadError> {
    let mut report = Report::default();
    let mut lines = Lines::open(path)?;
    let mut session: Option<SessionRef> = None;
    let mut title = None;
    // Calls of the shell that are not answered yet: only their answers have an exit code.
    let mut shells: BTreeSet<String> = BTreeSet::new();
    while let Some(line) = lines.next(&mut report)? {
        let (number, value) = (line.number, &line.value);
        let mut found = Vec::new();
        match (&session, header_of(value)) {
            (None, Some(header)) => {
                let known = format!("{}:{}", header.host, header.id).parse::<SessionRef>();
                let Ok(known) = known else {
                    report.problem(path, format!("line {number}"), "names no session");
                    return Ok(report);
                };
                let parent = header.parent.as_deref().and_then(|id| known.beside(id));
                found.push(Item::Session(About {
                    session: known.clone(),
                    parent,
                    directory: header.directory,
                }));
                title = header.title;
                session = Some(known);
            }
            (None, None) => {
                report.problem(path, format!("line {number}"), "comes before the header");
            }
            (Some(_), Some(_)) => {
                report.problem(path, format!("line {number}"), "is a second header");
            }
            (Some(_), None) => match entry_of(value, line.text) {
                Some((_, mut entry)) => {
                    match &mut entry.what {
                        What::Call(call) if call.kind == CallKind::Execute => {
                            shells.insert(call.id.clone());
                        }
                        What::Answer(answer) if shells.remove(&answer.call) => {
                            answer.exit_code = tools::exit_code(&answer.text, answer.ok);
                        }
                        _ => {}
                    }
                    found.push(Item::Entry(Box::new(entry)));
                }
                None if value.get("i").and_then(Value::as_u64).is_none() => {
                    report.problem(path, format!("line {number}"), "has no ordinal");
                }
                // A cleared tool result changes nothing that we keep.
                None if text(value, "t") == "prune" => {}
                None => report.unknown(text(value, "t")),
            },
        }
        let position = lines.position;
        for item in found {
            if take(item, position).is_break() {
                return Ok(report);
            }
        }
    }
    // A host names a session once it knows what it was about.
    let named = title.map(|title| {
        Item::Entry(Box::new(Entry {
            id: Some("header".to_owned()),
            message: None,
            at: None,
            agent: None,
            what: What::Titled { title },
        }))
    });
    for item in named.into_iter().chain(session.map(Item::Ended)) {
        if take(item, lines.position).is_break() {
            break;
        }
    }
    Ok(report)
}

/// A session, or its beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// What the first line says.
    pub header: Header,
    /// The events with their ordinals, in order.
    pub events: Vec<(u64, Entry)>,
}

impl Trace {
    /// Reads the events before an ordinal, and nothing behind it; all of them if none is named.
    pub fn read(source: impl std::io::BufRead, before: Option<u64>) -> std::io::Result<Self> {
        let mut trace = Self::default();
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
            trace.events.extend(entry_of(&value, &line));
        }
        Ok(trace)
    }
}
