//! Codex's rollouts: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl`.
//!
//! Codex gives no ids to messages or their parts, so the line number is used. A rollout contains many
//! things twice, as an event and as an item for the model; only the item is read.

use std::collections::BTreeMap;
use std::path::Path;

use flamestack_core::id::Timestamp;
use flamestack_core::transcript::{Answer, CallKind, Entry, EntryKind, Speaker, Usage};
use serde_json::Value;

use super::json::{content, field, flag_or_true, number, some, text, time};
use super::lines::{Line, LineConverter, Output, read_lines};
use super::{ReadReport, RecordedSession, RecordingError, Sink, session_ref, tools};

/// The host's name.
pub const HOST: &str = "codex";

/// Kinds of events that repeat items for the model, or are not about the work.
const HOST_NOISE: [&str; 14] = [
    "agent_message",
    "agent_reasoning",
    "context_compacted",
    "entered_review_mode",
    "exec_command_end",
    "exited_review_mode",
    "item_completed",
    "mcp_tool_call_end",
    "task_started",
    "thread_name_updated",
    "thread_rolled_back",
    "user_message",
    "view_image_tool_call",
    "web_search_end",
];

/// Reads a session.
pub fn read(path: &Path, sink: &mut Sink<'_>) -> Result<ReadReport, RecordingError> {
    read_lines(path, RolloutReader::default(), sink)
}

#[derive(Default)]
struct RolloutReader {
    output: Output,
    directory: String,
    model: Option<String>,
    line: u64,
    at: Option<Timestamp>,
    /// Unanswered calls.
    calls: BTreeMap<String, OpenCall>,
    /// Number of entries of the current line so far.
    entries: u64,
}

struct OpenCall {
    kind: CallKind,
    tool: String,
    input: Value,
}

impl LineConverter for RolloutReader {
    fn output(&mut self) -> &mut Output {
        &mut self.output
    }

    fn line(&mut self, line: Line<'_>) -> Result<(), String> {
        let value = &line.value;
        let payload = field(value, "payload");
        let ordinal = value.get("ordinal").and_then(Value::as_u64);
        let number = ordinal.unwrap_or(line.number);
        if number != self.line {
            (self.line, self.entries) = (number, 0);
        }
        self.at = time(value, "timestamp");
        let (kind, payload_kind) = (text(value, "type"), text(payload, "type"));
        match kind {
            "session_meta" => self.meta(payload)?,
            _ if self.output.session.is_none() => {
                return Err("comes before the session's metadata".to_owned());
            }
            "turn_context" => {
                self.model = some(payload, "model").or(self.model.take());
                if let Some(directory) = some(payload, "cwd") {
                    self.directory = directory;
                }
            }
            "response_item" | "event_msg" => {
                let is_known = match kind {
                    "response_item" => self.item(payload),
                    _ => self.event(payload) || HOST_NOISE.contains(&payload_kind),
                };
                if !is_known {
                    let kind = format!("{kind} {payload_kind}");
                    self.output.report.unknown(&kind);
                }
            }
            "compacted" => self.push(EntryKind::Compacted {
                automatic: true,
                summary: some(payload, "message"),
                tokens_before: None,
            }),
            "world_state" | "token_usage_record" | "ghost_snapshot" | "session_state" => {}
            "" => return Err("has no type".to_owned()),
            other => self.output.report.unknown(other),
        }
        Ok(())
    }
}

impl RolloutReader {
    /// Reads the metadata of the session. Later ones are ignored: a fork repeats the lines of the
    /// session that it was forked from.
    fn meta(&mut self, payload: &Value) -> Result<(), String> {
        if self.output.session.is_some() {
            return Ok(());
        }
        let session = session_ref(HOST, text(payload, "id"))?;
        text(payload, "cwd").clone_into(&mut self.directory);
        let spawned = payload.pointer("/source/subagent/thread_spawn/parent_thread_id");
        let parent = some(payload, "parent_thread_id")
            .or_else(|| spawned.and_then(Value::as_str).map(str::to_owned))
            .and_then(|id| session.beside(&id))
            .filter(|parent| *parent != session);
        self.output.begin(RecordedSession {
            session,
            parent,
            directory: some(payload, "cwd"),
        });
        Ok(())
    }

    fn push(&mut self, kind: EntryKind) {
        let message = format!("#{}", self.line);
        let id = match self.entries {
            0 => message.clone(),
            n => format!("{message}.{n}"),
        };
        self.entries += 1;
        self.output.push(Entry {
            message: Some(message),
            id: Some(id),
            at: self.at,
            agent: None,
            kind,
        });
    }

    /// Reads an item for the model. Returns false if its kind is unknown.
    fn item(&mut self, item: &Value) -> bool {
        match text(item, "type") {
            "message" => {
                let message = content(field(item, "content"));
                match text(item, "role") {
                    _ if message.trim().is_empty() => {}
                    "assistant" => self.push(EntryKind::Assistant { text: message }),
                    "user" => self.user(message),
                    _ => {}
                }
            }
            "reasoning" => {
                let message = content(field(item, "summary"));
                if !message.is_empty() {
                    self.push(EntryKind::Thinking { text: message });
                }
            }
            "function_call" => {
                let arguments = text(item, "arguments");
                let input = serde_json::from_str(arguments).unwrap_or(Value::Null);
                self.call(item, input, arguments.to_owned());
            }
            kind @ ("custom_tool_call" | "local_shell_call") => {
                let is_custom = kind == "custom_tool_call";
                let input = field(item, if is_custom { "input" } else { "action" });
                self.call(item, input.clone(), input.to_string());
            }
            "function_call_output" | "custom_tool_call_output" => self.answer(item),
            "web_search_call"
            | "tool_search_call"
            | "tool_search_output"
            | "ghost_snapshot"
            | "compaction"
            | "compaction_trigger"
            | "image_generation_call"
            | "other" => {}
            _ => return false,
        }
        true
    }

    fn user(&mut self, message: String) {
        if let Some((id, ok, text)) = notification(&message) {
            self.push(EntryKind::SubagentEnded { id, ok, text });
            return;
        }
        let start = message.trim_start();
        // Codex's own messages begin with a tag or with the name of an instructions file.
        let injected = start.starts_with('<') && start.contains("</")
            || start.starts_with("# AGENTS.md instructions")
            || start.starts_with("Warning: ");
        let speaker = if injected {
            Speaker::Host
        } else {
            Speaker::Person
        };
        self.push(EntryKind::User {
            speaker,
            text: message,
        });
    }

    fn call(&mut self, item: &Value, input: Value, arguments: String) {
        let tool = match text(item, "name") {
            "" => "local_shell",
            name => name,
        };
        let id = some(item, "call_id").unwrap_or_else(|| text(item, "id").to_owned());
        let call = tools::call(&id, tool, &input, arguments, &self.directory);
        let (kind, tool) = (call.kind, call.tool.clone());
        self.push(EntryKind::Call(call));
        if kind == CallKind::Todo
            && let Some(todos) = tools::todos(&input)
        {
            self.push(EntryKind::Todos(todos));
        }
        self.calls.insert(id, OpenCall { kind, tool, input });
    }

    fn answer(&mut self, item: &Value) {
        let id = text(item, "call_id").to_owned();
        let output = field(item, "output");
        let mut output_text = content(output);
        let mut ok = flag_or_true(output, "success");
        if output_text.is_empty() {
            output_text = content(field(output, "content"));
        }
        // Older versions wrap the output in JSON.
        let wrapped: Value = serde_json::from_str(&output_text).unwrap_or_default();
        let code = wrapped.pointer("/metadata/exit_code");
        let code = code.and_then(Value::as_i64);
        if code.is_some() {
            text(&wrapped, "output").clone_into(&mut output_text);
        }
        let mut exit_code = code.and_then(|code| i32::try_from(code).ok());
        let call = self.calls.remove(&id);
        let kind = call.as_ref().map(|call| call.kind);
        if kind == Some(CallKind::Execute) && exit_code.is_none() {
            exit_code = tools::exit_code(&output_text, ok);
        }
        ok &= exit_code.is_none_or(|code| code == 0) && !output_text.starts_with("execution error");
        if let Some(call) = call {
            self.delegation(&call, &output_text);
        }
        self.push(EntryKind::Answer(Answer {
            call: id,
            ok,
            exit_code,
            text: output_text,
        }));
    }

    /// Reads the output of the tools for subagents.
    fn delegation(&mut self, call: &OpenCall, output: &str) {
        let Ok(answer) = serde_json::from_str::<Value>(output) else {
            return;
        };
        let input = &call.input;
        match call.tool.as_str() {
            "spawn_agent" => {
                let Some(id) = agent_id(&answer) else { return };
                self.push(EntryKind::SubagentStarted {
                    id,
                    call: None,
                    kind: some(input, "agent_type"),
                    title: text(input, "task_name").to_owned(),
                    prompt: text(input, "message").to_owned(),
                });
            }
            "wait" | "wait_agent" => {
                let statuses = answer.get("status").and_then(Value::as_object);
                for (id, status) in statuses.into_iter().flatten() {
                    if let Some((ok, text)) = final_status(status) {
                        let id = id.clone();
                        self.push(EntryKind::SubagentEnded { id, ok, text });
                    }
                }
            }
            _ => {}
        }
    }

    /// Reads an event. Returns false if its kind is unknown.
    fn event(&mut self, event: &Value) -> bool {
        match text(event, "type") {
            "token_count" => {
                let Some(last) = event.pointer("/info/last_token_usage") else {
                    return true;
                };
                let cached = number(last, "cached_input_tokens");
                let usage = Usage {
                    model: self.model.clone(),
                    input: number(last, "input_tokens").saturating_sub(cached),
                    cache_read: cached,
                    output: number(last, "output_tokens"),
                    reasoning: number(last, "reasoning_output_tokens"),
                    ..Usage::default()
                };
                self.push(EntryKind::Usage(usage));
            }
            "task_complete" | "turn_complete" => self.push(EntryKind::TurnEnded),
            "turn_aborted" => {
                let how = some(event, "reason").unwrap_or_else(|| "aborted".to_owned());
                self.push(EntryKind::Interrupted { how });
            }
            "patch_apply_end" => {
                let changes = event.get("changes").and_then(Value::as_object);
                let mut paths = Vec::new();
                for (path, change) in changes.into_iter().flatten() {
                    paths.push(tools::inside(path, &self.directory));
                    let moved = change.pointer("/update/move_path").and_then(Value::as_str);
                    paths.extend(moved.map(|path| tools::inside(path, &self.directory)));
                }
                if flag_or_true(event, "success") && !paths.is_empty() {
                    self.push(EntryKind::Changed { paths });
                }
            }
            "plan_update" => {
                if let Some(todos) = tools::todos(event) {
                    self.push(EntryKind::Todos(todos));
                }
            }
            _ => return false,
        }
        true
    }
}

/// Parses Codex's message that a subagent has ended.
fn notification(message: &str) -> Option<(String, bool, String)> {
    let inside = message.trim().strip_prefix("<subagent_notification>")?;
    let inside = inside.strip_suffix("</subagent_notification>")?;
    let value: Value = serde_json::from_str(inside.trim()).ok()?;
    let (ok, text) = final_status(value.get("status")?)?;
    Some((agent_id(&value)?, ok, text))
}

fn agent_id(value: &Value) -> Option<String> {
    some(value, "agent_id").or_else(|| some(value, "agent_path"))
}

/// Returns the outcome of a subagent, if it has ended.
fn final_status(status: &Value) -> Option<(bool, String)> {
    for (key, ok) in [("completed", true), ("errored", false), ("failed", false)] {
        if let Some(text) = status.get(key) {
            return Some((ok, content(text)));
        }
    }
    match status.as_str()? {
        "completed" => Some((true, String::new())),
        "errored" | "shutdown" | "not_found" => Some((false, String::new())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_end_of_a_subagent_is_detected() {
        assert_eq!(
            final_status(&json!({"completed": "found it"})),
            Some((true, "found it".to_owned()))
        );
        assert_eq!(final_status(&json!("running")), None);
        let message = "<subagent_notification>\n{\"agent_id\":\"t1\",\"status\":{\"errored\":\"no\"}}\n</subagent_notification>";
        assert_eq!(
            notification(message),
            Some(("t1".to_owned(), false, "no".to_owned()))
        );
    }
}
