//! Codex's rollouts: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl`.
//!
//! Codex names neither messages nor their parts, so a line's place in the file is its name. What is
//! said twice in a rollout, as an event and as an item for the model, is read once, as the item.

use std::collections::BTreeMap;
use std::path::Path;

use flamestack_core::SessionRef;
use flamestack_core::id::Timestamp;
use flamestack_core::transcript::{Answer, CallKind, Entry, Usage, Voice, What};
use serde_json::Value;

use super::json::{content, number, some, text, time};
use super::lines::Lines;
use super::{About, Item, ReadError, Report, Taker, tools};

/// The host's name.
pub const HOST: &str = "codex";

/// Events that say nothing that the items for the model do not say, or nothing about the work.
const CHATTER: [&str; 14] = [
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
pub fn read(path: &Path, take: &mut Taker<'_>) -> Result<Report, ReadError> {
    let mut report = Report::default();
    let mut lines = Lines::open(path)?;
    let mut talk = Talk::default();
    while let Some(line) = lines.next(&mut report)? {
        let (number, value) = (line.number, &line.value);
        let payload = value.get("payload").unwrap_or(&Value::Null);
        let ordinal = value.get("ordinal").and_then(Value::as_u64);
        talk.line = ordinal.unwrap_or(number);
        talk.at = time(value, "timestamp");
        let mut found = Vec::new();
        match text(value, "type") {
            "session_meta" => match talk.meta(payload) {
                Ok(Some(about)) => found.push(Item::Session(about)),
                // A fork repeats what it was forked from.
                Ok(None) => {}
                Err(problem) => report.problem(path, format!("line {number}"), problem),
            },
            _ if talk.session.is_none() => {
                report.problem(
                    path,
                    format!("line {number}"),
                    "comes before the session's own",
                );
            }
            "turn_context" => {
                talk.model = some(payload, "model").or(talk.model.take());
                if let Some(directory) = some(payload, "cwd") {
                    talk.directory = directory;
                }
            }
            "response_item" => {
                if !talk.item(payload, &mut found) {
                    report.unknown(&format!("response_item {}", text(payload, "type")));
                }
            }
            "event_msg" => {
                if !talk.event(payload, &mut found) && !CHATTER.contains(&text(payload, "type")) {
                    report.unknown(&format!("event_msg {}", text(payload, "type")));
                }
            }
            "compacted" => {
                let summary = some(payload, "message");
                let what = What::Compacted {
                    automatic: true,
                    summary,
                    tokens_before: None,
                };
                talk.tell(what, &mut found);
            }
            "world_state" | "token_usage_record" | "ghost_snapshot" | "session_state" => {}
            "" => report.problem(path, format!("line {number}"), "has no type"),
            other => report.unknown(other),
        }
        let position = lines.position;
        for item in found {
            if take(item, position).is_break() {
                return Ok(report);
            }
        }
    }
    if let Some(session) = talk.session {
        let _ = take(Item::Ended(session), lines.position);
    }
    Ok(report)
}

#[derive(Default)]
struct Talk {
    session: Option<SessionRef>,
    directory: String,
    model: Option<String>,
    line: u64,
    at: Option<Timestamp>,
    /// Calls that are not answered yet.
    calls: BTreeMap<String, (CallKind, String, Value)>,
    /// How many entries this line has come to.
    told: (u64, u64),
}

impl Talk {
    fn meta(&mut self, payload: &Value) -> Result<Option<About>, String> {
        if self.session.is_some() {
            return Ok(None);
        }
        let id = text(payload, "id");
        let session = format!("{HOST}:{id}").parse::<SessionRef>();
        let session = session.map_err(|error| error.to_string())?;
        text(payload, "cwd").clone_into(&mut self.directory);
        let spawned = payload.pointer("/source/subagent/thread_spawn/parent_thread_id");
        let parent = some(payload, "parent_thread_id")
            .or_else(|| spawned.and_then(Value::as_str).map(str::to_owned))
            .and_then(|id| session.beside(&id))
            .filter(|parent| *parent != session);
        self.session = Some(session.clone());
        Ok(Some(About {
            session,
            parent,
            directory: some(payload, "cwd"),
        }))
    }

    fn tell(&mut self, what: What, found: &mut Vec<Item>) {
        if self.told.0 != self.line {
            self.told = (self.line, 0);
        }
        let id = match self.told.1 {
            0 => format!("#{}", self.line),
            n => format!("#{}.{n}", self.line),
        };
        self.told.1 += 1;
        found.push(Item::Entry(Box::new(Entry {
            message: Some(format!("#{}", self.line)),
            id: Some(id),
            at: self.at,
            agent: None,
            what,
        })));
    }

    /// An item for the model; whether it is of a kind that we know.
    fn item(&mut self, item: &Value, found: &mut Vec<Item>) -> bool {
        match text(item, "type") {
            "message" => {
                let said = content(item.get("content").unwrap_or(&Value::Null));
                match text(item, "role") {
                    _ if said.trim().is_empty() => {}
                    "assistant" => self.tell(What::Assistant { text: said }, found),
                    "user" => self.user(said, found),
                    _ => {}
                }
            }
            "reasoning" => {
                let said = content(item.get("summary").unwrap_or(&Value::Null));
                if !said.is_empty() {
                    self.tell(What::Thinking { text: said }, found);
                }
            }
            "function_call" => {
                let arguments = text(item, "arguments");
                let input = serde_json::from_str(arguments).unwrap_or(Value::Null);
                self.call(item, input, arguments.to_owned(), found);
            }
            "custom_tool_call" => {
                let input = item.get("input").cloned().unwrap_or(Value::Null);
                let arguments = input.to_string();
                self.call(item, input, arguments, found);
            }
            "local_shell_call" => {
                let input = item.get("action").cloned().unwrap_or(Value::Null);
                let arguments = input.to_string();
                self.call(item, input, arguments, found);
            }
            "function_call_output" | "custom_tool_call_output" => self.answer(item, found),
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

    fn user(&mut self, said: String, found: &mut Vec<Item>) {
        if let Some((id, ok, text)) = notification(&said) {
            self.tell(What::SubagentEnded { id, ok, text }, found);
            return;
        }
        let start = said.trim_start();
        // What Codex itself puts in begins with a tag or with the name of a file of instructions.
        let injected = start.starts_with('<') && start.contains("</")
            || start.starts_with("# AGENTS.md instructions")
            || start.starts_with("Warning: ");
        let voice = if injected { Voice::Host } else { Voice::Person };
        self.tell(What::User { voice, text: said }, found);
    }

    fn call(&mut self, item: &Value, input: Value, arguments: String, found: &mut Vec<Item>) {
        let tool = match text(item, "name") {
            "" => "local_shell",
            name => name,
        };
        let id = some(item, "call_id").unwrap_or_else(|| text(item, "id").to_owned());
        let call = tools::call(&id, tool, &input, arguments, &self.directory);
        let (kind, tool) = (call.kind, call.tool.clone());
        self.tell(What::Call(call), found);
        if kind == CallKind::Todo
            && let Some(todos) = tools::todos(&input)
        {
            self.tell(What::Todos(todos), found);
        }
        self.calls.insert(id, (kind, tool, input));
    }

    fn answer(&mut self, item: &Value, found: &mut Vec<Item>) {
        let id = text(item, "call_id").to_owned();
        let output = item.get("output").unwrap_or(&Value::Null);
        let mut said = content(output);
        let mut ok = output
            .get("success")
            .and_then(Value::as_bool)
            .unwrap_or(true);
        if said.is_empty() {
            said = content(output.get("content").unwrap_or(&Value::Null));
        }
        // Older versions wrap what was printed into JSON.
        let wrapped: Option<Value> = said
            .starts_with('{')
            .then(|| serde_json::from_str(&said).ok())
            .flatten();
        let mut exit_code = None;
        if let Some(wrapped) = &wrapped
            && let Some(code) = wrapped
                .pointer("/metadata/exit_code")
                .and_then(Value::as_i64)
        {
            exit_code = i32::try_from(code).ok();
            text(wrapped, "output").clone_into(&mut said);
        }
        let (kind, tool, input) =
            self.calls
                .remove(&id)
                .unwrap_or((CallKind::Other, String::new(), Value::Null));
        if kind == CallKind::Execute && exit_code.is_none() {
            exit_code = tools::exit_code(&said, ok);
        }
        ok &= exit_code.is_none_or(|code| code == 0) && !said.starts_with("execution error");
        self.delegation(&tool, &input, &said, found);
        self.tell(
            What::Answer(Answer {
                call: id,
                ok,
                exit_code,
                text: said,
            }),
            found,
        );
    }

    /// What the tools for subagents say of them.
    fn delegation(&mut self, tool: &str, input: &Value, said: &str, found: &mut Vec<Item>) {
        let Ok(answer) = serde_json::from_str::<Value>(said) else {
            return;
        };
        match tool {
            "spawn_agent" => {
                let id = some(&answer, "agent_id").or_else(|| some(&answer, "agent_path"));
                let Some(id) = id else { return };
                let prompt = text(input, "message").to_owned();
                self.tell(
                    What::SubagentStarted {
                        id,
                        call: None,
                        kind: some(input, "agent_type"),
                        title: text(input, "task_name").to_owned(),
                        prompt,
                    },
                    found,
                );
            }
            "wait" | "wait_agent" => {
                let statuses = answer.get("status").and_then(Value::as_object);
                for (id, status) in statuses.into_iter().flatten() {
                    if let Some((ok, text)) = final_status(status) {
                        let id = id.clone();
                        self.tell(What::SubagentEnded { id, ok, text }, found);
                    }
                }
            }
            _ => {}
        }
    }

    /// Something that happened; whether it is of a kind that we know.
    fn event(&mut self, event: &Value, found: &mut Vec<Item>) -> bool {
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
                    cache_write: 0,
                    output: number(last, "output_tokens"),
                    reasoning: number(last, "reasoning_output_tokens"),
                    micro_dollars: None,
                };
                self.tell(What::Usage(usage), found);
            }
            "task_complete" | "turn_complete" => self.tell(What::TurnEnded, found),
            "turn_aborted" => {
                let how = some(event, "reason").unwrap_or_else(|| "aborted".to_owned());
                self.tell(What::Interrupted { how }, found);
            }
            "patch_apply_end" => {
                let changes = event.get("changes").and_then(Value::as_object);
                let succeeded = event
                    .get("success")
                    .and_then(Value::as_bool)
                    .unwrap_or(true);
                let mut paths = Vec::new();
                for (path, change) in changes.into_iter().flatten() {
                    paths.push(tools::inside(path, &self.directory));
                    let moved = change.pointer("/update/move_path").and_then(Value::as_str);
                    paths.extend(moved.map(|path| tools::inside(path, &self.directory)));
                }
                if succeeded && !paths.is_empty() {
                    self.tell(What::Changed { paths }, found);
                }
            }
            "plan_update" => {
                if let Some(todos) = tools::todos(event) {
                    self.tell(What::Todos(todos), found);
                }
            }
            _ => return false,
        }
        true
    }
}

/// A message in which Codex tells a session that a subagent has ended.
fn notification(said: &str) -> Option<(String, bool, String)> {
    let inside = said.trim().strip_prefix("<subagent_notification>")?;
    let inside = inside.strip_suffix("</subagent_notification>")?;
    let value: Value = serde_json::from_str(inside.trim()).ok()?;
    let id = some(&value, "agent_id").or_else(|| some(&value, "agent_path"))?;
    let (ok, text) = final_status(value.get("status")?)?;
    Some((id, ok, text))
}

/// How a subagent ended, if it did.
fn final_status(status: &Value) -> Option<(bool, String)> {
    for (key, ok) in [("completed", true), ("errored", false), ("failed", false)] {
        if let Some(said) = status.get(key) {
            return Some((ok, content(said)));
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
    fn the_end_of_a_subagent_is_known_from_any_of_its_words() {
        assert_eq!(
            final_status(&json!({"completed": "found it"})),
            Some((true, "found it".to_owned()))
        );
        assert_eq!(final_status(&json!("running")), None);
        let told = "<subagent_notification>\n{\"agent_id\":\"t1\",\"status\":{\"errored\":\"no\"}}\n</subagent_notification>";
        assert_eq!(
            notification(told),
            Some(("t1".to_owned(), false, "no".to_owned()))
        );
    }
}
