//! Gemini CLI's chats: `~/.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl`.
//!
//! A chat is a header, messages, and patches of the header. A message is written again with the same
//! id when it grows.

use std::path::Path;

use flamestack_core::transcript::{Answer, CallKind, Entry, EntryKind, Speaker, Usage};
use serde_json::Value;

use super::json::{content, field, items, number, some, text, time};
use super::lines::{Line, LineConverter, Output, read_lines};
use super::{ReadReport, RecordedSession, RecordingError, Sink, session_ref, tools};

/// The host's name.
pub const HOST: &str = "gemini";

/// Reads a session.
pub fn read(path: &Path, sink: &mut Sink<'_>) -> Result<ReadReport, RecordingError> {
    read_lines(path, ChatReader::default(), sink)
}

#[derive(Default)]
struct ChatReader {
    output: Output,
    directory: String,
    /// The last message. The next line may repeat it with more content, so it is delivered when
    /// another message begins.
    pending: Option<Value>,
}

impl LineConverter for ChatReader {
    fn output(&mut self) -> &mut Output {
        &mut self.output
    }

    fn line(&mut self, line: Line<'_>) -> Result<(), String> {
        let value = line.value;
        if let Some(set) = value.get("$set") {
            self.titled(set);
        } else if self.output.session.is_none() && value.get("sessionId").is_some() {
            self.header(&value)?;
            // Older versions write the whole chat as one object.
            for message in items(&value, "messages") {
                self.message(message);
            }
        } else if self.output.session.is_none() {
            return Err("comes before the header".to_owned());
        } else if text(&value, "id").is_empty() {
            return Err("has no id".to_owned());
        } else {
            let id = text(&value, "id").to_owned();
            let before = self.pending.replace(value);
            if let Some(message) = before.filter(|before| text(before, "id") != id) {
                self.message(&message);
            }
        }
        Ok(())
    }

    fn end(&mut self) {
        if let Some(message) = self.pending.take() {
            self.message(&message);
        }
    }
}

impl ChatReader {
    fn header(&mut self, value: &Value) -> Result<(), String> {
        let session = session_ref(HOST, text(value, "sessionId"))?;
        let directory = items(value, "directories").first().and_then(Value::as_str);
        let directory = directory.map(str::to_owned);
        self.directory = directory.clone().unwrap_or_default();
        self.output.begin(RecordedSession {
            session,
            parent: None,
            directory,
        });
        Ok(())
    }

    /// Adds an entry of a message.
    fn push(&mut self, message: &Value, id: &str, kind: EntryKind) {
        self.output.push(Entry {
            id: Some(id.to_owned()),
            message: Some(text(message, "id").to_owned()),
            at: time(message, "timestamp"),
            agent: None,
            kind,
        });
    }

    fn titled(&mut self, set: &Value) {
        if let Some(title) = some(set, "summary").or_else(|| some(set, "title")) {
            let id = format!("title: {title}");
            self.push(&Value::Null, &id, EntryKind::Titled { title });
        }
    }

    fn message(&mut self, message: &Value) {
        let id = text(message, "id");
        let body = content(field(message, "content"));
        match text(message, "type") {
            "user" if body.trim().is_empty() => {}
            "user" => self.push(message, id, user(body)),
            "gemini" => self.model_message(message, body),
            "info" | "error" | "warning" if body.contains("Request cancelled") => {
                self.push(message, id, EntryKind::Interrupted { how: body });
            }
            "info" | "error" | "warning" => {}
            other => self.output.report.unknown(other),
        }
    }

    fn model_message(&mut self, message: &Value, body: String) {
        let id = text(message, "id");
        for (n, thought) in (0..).zip(items(message, "thoughts")) {
            let (subject, rest) = (text(thought, "subject"), text(thought, "description"));
            let text = format!("{subject}: {rest}");
            let thinking = EntryKind::Thinking { text };
            self.push(message, &format!("{id}.thought.{n}"), thinking);
        }
        let calls = items(message, "toolCalls");
        for call in calls {
            self.tool_call(message, call);
        }
        if !body.trim().is_empty() {
            self.push(message, id, EntryKind::Assistant { text: body });
        }
        if let Some(usage) = usage(message) {
            self.push(message, id, EntryKind::Usage(usage));
        }
        // Without a tool call, the turn is over.
        if calls.is_empty() {
            self.push(message, id, EntryKind::TurnEnded);
        }
    }

    fn tool_call(&mut self, message: &Value, call: &Value) {
        let (id, name) = (text(call, "id"), text(call, "name"));
        let input = field(call, "args");
        let tool_call = tools::call(id, name, input, input.to_string(), &self.directory);
        let kind = tool_call.kind;
        self.push(message, id, EntryKind::Call(tool_call));
        let ok = match text(call, "status") {
            "success" => true,
            "error" | "cancelled" => false,
            // It is still running, or never ran.
            _ => return,
        };
        let result = items(call, "result").iter().map(|part| {
            let response = part.pointer("/functionResponse/response");
            let output = response
                .and_then(|response| some(response, "output").or_else(|| some(response, "error")));
            output.unwrap_or_else(|| content(part))
        });
        let output = result.collect::<Vec<_>>().join("\n");
        if kind == CallKind::Todo
            && ok
            && let Some(todos) = tools::todos(input)
        {
            self.push(message, id, EntryKind::Todos(todos));
        }
        let exit_code = (kind == CallKind::Execute)
            .then(|| tools::exit_code(&output, ok))
            .flatten();
        let answer = Answer {
            call: id.to_owned(),
            ok,
            exit_code,
            text: output,
        };
        self.push(message, id, EntryKind::Answer(answer));
        if text(call, "status") == "cancelled" {
            let how = "a tool was cancelled".to_owned();
            self.push(message, id, EntryKind::Interrupted { how });
        }
    }
}

fn user(message: String) -> EntryKind {
    let start = message.trim_start();
    let speaker = if start.starts_with("<session_context>") || start.starts_with("<hook_context>") {
        Speaker::Host
    } else if start.starts_with('/') && !start.starts_with("//") {
        Speaker::Slash
    } else if start.starts_with('!') {
        Speaker::Shell
    } else {
        Speaker::Person
    };
    if let Some(summary) = start.strip_prefix("<state_snapshot>") {
        let summary = summary.trim().trim_end_matches("</state_snapshot>");
        return EntryKind::Compacted {
            automatic: true,
            summary: Some(summary.trim().to_owned()),
            tokens_before: None,
        };
    }
    EntryKind::User {
        speaker,
        text: message,
    }
}

fn usage(message: &Value) -> Option<Usage> {
    let tokens = message.get("tokens").filter(|tokens| tokens.is_object())?;
    let cached = number(tokens, "cached");
    Some(Usage {
        model: some(message, "model"),
        input: number(tokens, "input").saturating_sub(cached),
        cache_read: cached,
        output: number(tokens, "output") + number(tokens, "thoughts"),
        reasoning: number(tokens, "thoughts"),
        ..Usage::default()
    })
}
