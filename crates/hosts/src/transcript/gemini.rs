//! Gemini CLI's chats: `~/.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl`: a header, then
//! messages, of which one that comes again is the same message grown, and patches of the header.

use std::path::Path;

use flamestack_core::SessionRef;
use flamestack_core::id::Timestamp;
use flamestack_core::transcript::{Answer, CallKind, Entry, Usage, Voice, What};
use serde_json::Value;

use super::json::{content, items, number, some, text, time};
use super::lines::Lines;
use super::{About, Item, ReadError, Report, Taker, tools};

/// The host's name.
pub const HOST: &str = "gemini";

/// Reads a session.
pub fn read(path: &Path, take: &mut Taker<'_>) -> Result<Report, ReadError> {
    let mut report = Report::default();
    let mut lines = Lines::open(path)?;
    let mut session: Option<SessionRef> = None;
    let mut directory = String::new();
    // A message may grow with the next line, so it is told when another one begins.
    let mut growing: Option<Value> = None;
    loop {
        let mut found = Vec::new();
        let line = lines.next(&mut report)?;
        let ended = line.is_none();
        if let Some(line) = line {
            let (number, value) = (line.number, line.value);
            if let Some(set) = value.get("$set") {
                titled(set, &mut found);
            } else if session.is_none() && value.get("sessionId").is_some() {
                let known = format!("{HOST}:{}", text(&value, "sessionId")).parse::<SessionRef>();
                match known {
                    Ok(known) => {
                        let directories = items(&value, "directories");
                        let first = directories.first().and_then(Value::as_str);
                        first.unwrap_or_default().clone_into(&mut directory);
                        found.push(Item::Session(About {
                            session: known.clone(),
                            parent: None,
                            directory: first.map(str::to_owned),
                        }));
                        session = Some(known);
                    }
                    Err(error) => {
                        report.problem(path, format!("line {number}"), error.to_string());
                    }
                }
                // Older versions hold the whole chat in one object.
                for message in items(&value, "messages") {
                    told(message, &directory, &mut found, &mut report);
                }
            } else if session.is_none() {
                report.problem(path, format!("line {number}"), "comes before the header");
            } else if text(&value, "id").is_empty() {
                report.problem(path, format!("line {number}"), "has no id");
            } else {
                let same = growing
                    .as_ref()
                    .is_some_and(|known| text(known, "id") == text(&value, "id"));
                let finished = growing.replace(value).filter(|_| !same);
                if let Some(message) = finished {
                    told(&message, &directory, &mut found, &mut report);
                }
            }
        } else if let Some(message) = growing.take() {
            told(&message, &directory, &mut found, &mut report);
        }
        if ended {
            found.extend(session.take().map(Item::Ended));
        }
        let position = lines.position;
        for item in found {
            if take(item, position).is_break() {
                return Ok(report);
            }
        }
        if ended {
            return Ok(report);
        }
    }
}

fn entry(id: String, message: &str, at: Option<Timestamp>, what: What) -> Item {
    Item::Entry(Box::new(Entry {
        id: Some(id),
        message: Some(message.to_owned()),
        at,
        agent: None,
        what,
    }))
}

fn titled(set: &Value, found: &mut Vec<Item>) {
    if let Some(title) = some(set, "summary").or_else(|| some(set, "title")) {
        let id = format!("title: {title}");
        found.push(entry(id, "", None, What::Titled { title }));
    }
}

fn told(message: &Value, directory: &str, found: &mut Vec<Item>, report: &mut Report) {
    let id = text(message, "id");
    let at = time(message, "timestamp");
    let said = content(message.get("content").unwrap_or(&Value::Null));
    match text(message, "type") {
        "user" => {
            if !said.trim().is_empty() {
                let what = user(said);
                found.push(entry(id.to_owned(), id, at, what));
            }
        }
        "gemini" => {
            for (n, thought) in (0..).zip(items(message, "thoughts")) {
                let text = format!(
                    "{}: {}",
                    text(thought, "subject"),
                    text(thought, "description")
                );
                let what = What::Thinking { text };
                found.push(entry(format!("{id}.thought.{n}"), id, at, what));
            }
            for call in items(message, "toolCalls") {
                tool(call, directory, id, at, found);
            }
            if !said.trim().is_empty() {
                found.push(entry(id.to_owned(), id, at, What::Assistant { text: said }));
            }
            usage(message, id, at, found);
            // The model has spoken and asked for no tool: the turn is over.
            if items(message, "toolCalls").is_empty() {
                found.push(entry(id.to_owned(), id, at, What::TurnEnded));
            }
        }
        "info" | "error" | "warning" if said.contains("Request cancelled") => {
            let what = What::Interrupted { how: said };
            found.push(entry(id.to_owned(), id, at, what));
        }
        "info" | "error" | "warning" => {}
        other => report.unknown(other),
    }
}

fn user(said: String) -> What {
    let start = said.trim_start();
    let voice = if start.starts_with("<session_context>") || start.starts_with("<hook_context>") {
        Voice::Host
    } else if start.starts_with('/') && !start.starts_with("//") {
        Voice::Slash
    } else if start.starts_with('!') {
        Voice::Shell
    } else {
        Voice::Person
    };
    if let Some(summary) = start.strip_prefix("<state_snapshot>") {
        let summary = summary.trim().trim_end_matches("</state_snapshot>");
        return What::Compacted {
            automatic: true,
            summary: Some(summary.trim().to_owned()),
            tokens_before: None,
        };
    }
    What::User { voice, text: said }
}

fn usage(message: &Value, id: &str, at: Option<Timestamp>, found: &mut Vec<Item>) {
    let Some(tokens) = message.get("tokens").filter(|tokens| tokens.is_object()) else {
        return;
    };
    let cached = number(tokens, "cached");
    let what = What::Usage(Usage {
        model: some(message, "model"),
        input: number(tokens, "input").saturating_sub(cached),
        cache_read: cached,
        cache_write: 0,
        output: number(tokens, "output") + number(tokens, "thoughts"),
        reasoning: number(tokens, "thoughts"),
        micro_dollars: None,
    });
    found.push(entry(id.to_owned(), id, at, what));
}

fn tool(
    call: &Value,
    directory: &str,
    message: &str,
    at: Option<Timestamp>,
    found: &mut Vec<Item>,
) {
    let (id, name) = (text(call, "id").to_owned(), text(call, "name"));
    let input = call.get("args").unwrap_or(&Value::Null);
    let made = tools::call(&id, name, input, input.to_string(), directory);
    let kind = made.kind;
    found.push(entry(id.clone(), message, at, What::Call(made)));
    let ok = match text(call, "status") {
        "success" => true,
        "error" | "cancelled" => false,
        // It still runs, or was never run.
        _ => return,
    };
    let result = items(call, "result").iter().map(|part| {
        let response = part.pointer("/functionResponse/response");
        let output = response
            .and_then(|response| some(response, "output").or_else(|| some(response, "error")));
        output.unwrap_or_else(|| content(part))
    });
    let said = result.collect::<Vec<_>>().join("\n");
    if kind == CallKind::Todo
        && ok
        && let Some(todos) = tools::todos(input)
    {
        found.push(entry(id.clone(), message, at, What::Todos(todos)));
    }
    let exit_code = (kind == CallKind::Execute)
        .then(|| tools::exit_code(&said, ok))
        .flatten();
    let what = What::Answer(Answer {
        call: id.clone(),
        ok,
        exit_code,
        text: said,
    });
    found.push(entry(id.clone(), message, at, what));
    if text(call, "status") == "cancelled" {
        let how = "a tool was cancelled".to_owned();
        found.push(entry(id, message, at, What::Interrupted { how }));
    }
}
