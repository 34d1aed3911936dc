//! The lines of a transcript.

use std::collections::BTreeMap;

use flamestack_core::id::Timestamp;
use flamestack_core::transcript::{Answer, CallKind, Entry, EntryKind, Speaker, Usage};
use serde_json::Value;

use super::tasks::{TaskAnswer, TaskList};
use crate::recordings::json::{content, field, flag, items, number, some, text, time};
use crate::recordings::{TranscriptItem, tools};

/// Converts lines to items, with the state that later lines depend on.
#[derive(Default)]
pub(super) struct LineReader {
    /// The items that were found and not delivered yet.
    pub(super) items: Vec<TranscriptItem>,
    /// The subagent whose file this is.
    subagent: Option<String>,
    directory: String,
    /// Unanswered calls.
    calls: BTreeMap<String, OpenCall>,
    /// Ids of subagents that have their own file, by the call that started them.
    by_call: BTreeMap<String, String>,
    tasks: TaskList,
    /// Usage of the current message. Its lines repeat and raise the numbers, so that it is
    /// delivered when the message is complete.
    usage: Option<MessageUsage>,
    /// A compaction whose summary is in the next line.
    compaction: Option<Compaction>,
    /// Subagents of lines in the session's file, by the line's id (older versions).
    sidechains: BTreeMap<String, String>,
    /// Running subagents by their prompt, which is the first line of a sidechain.
    prompts: BTreeMap<String, String>,
}

struct OpenCall {
    tool: String,
    kind: CallKind,
    input: Value,
}

struct MessageUsage {
    source: EntrySource,
    message: String,
    usage: Usage,
    /// True if the turn ended with this message.
    ends_turn: bool,
}

struct Compaction {
    id: String,
    automatic: bool,
    tokens_before: Option<u64>,
    at: Option<Timestamp>,
}

/// The fields that the entries of one line share.
#[derive(Clone, Default)]
struct EntrySource {
    message: Option<String>,
    at: Option<Timestamp>,
    agent: Option<String>,
}

impl LineReader {
    pub(super) fn new(by_call: BTreeMap<String, String>) -> Self {
        Self {
            by_call,
            ..Self::default()
        }
    }

    pub(super) fn for_subagent(agent: &str) -> Self {
        Self {
            subagent: Some(agent.to_owned()),
            ..Self::default()
        }
    }

    /// Reads a line. Returns false if its kind is not part of a session.
    pub(super) fn line(&mut self, line: &Value, number: u64) -> bool {
        if self.directory.is_empty() {
            text(line, "cwd").clone_into(&mut self.directory);
        }
        match text(line, "type") {
            "user" => self.user(line, number),
            "assistant" => self.assistant(line, number),
            "system" if text(line, "subtype") == "compact_boundary" => {
                let metadata = field(line, "compactMetadata");
                self.compaction = Some(Compaction {
                    id: line_id(line, number),
                    automatic: text(metadata, "trigger") != "manual",
                    tokens_before: metadata.get("preTokens").and_then(Value::as_u64),
                    at: time(line, "timestamp"),
                });
            }
            "summary" | "custom-title" | "ai-title" => {
                let title = ["customTitle", "aiTitle", "summary", "title"]
                    .iter()
                    .find_map(|key| some(line, key));
                if let Some(title) = title.filter(|_| self.subagent.is_none()) {
                    let source = EntrySource {
                        at: time(line, "timestamp"),
                        ..EntrySource::default()
                    };
                    let id = format!("title: {title}");
                    self.push(&id, &source, EntryKind::Titled { title });
                }
            }
            _ => return false,
        }
        true
    }

    /// Delivers what was held back until the end of the file.
    pub(super) fn end(&mut self) {
        self.flush_usage();
        self.flush_compaction(None);
    }

    fn push(&mut self, id: &str, source: &EntrySource, kind: EntryKind) {
        self.items.push(TranscriptItem::Entry(Box::new(Entry {
            id: Some(id.to_owned()),
            message: source.message.clone(),
            at: source.at,
            agent: self.subagent.as_ref().or(source.agent.as_ref()).cloned(),
            kind,
        })));
    }

    /// Returns the subagent of a line that is among the session's own lines.
    fn sidechain(&mut self, line: &Value) -> Option<String> {
        if !flag(line, "isSidechain") || self.subagent.is_some() {
            return None;
        }
        let uuid = text(line, "uuid").to_owned();
        let known = some(line, "agentId").or_else(|| {
            let parent = some(line, "parentUuid")?;
            self.sidechains.get(&parent).cloned()
        });
        let agent = known.or_else(|| {
            let prompt = content(line.get("message")?.get("content")?);
            self.prompts.get(prompt.trim()).cloned()
        });
        let agent = agent.unwrap_or_else(|| format!("aside-{uuid}"));
        self.sidechains.insert(uuid, agent.clone());
        Some(agent)
    }

    fn user(&mut self, line: &Value, number: u64) {
        self.flush_usage();
        let id = line_id(line, number);
        let source = EntrySource {
            message: Some(id.clone()),
            at: time(line, "timestamp"),
            agent: self.sidechain(line),
        };
        let body = line.pointer("/message/content").unwrap_or(&Value::Null);
        if flag(line, "isCompactSummary") {
            self.flush_compaction(Some(content(body)));
            return;
        }
        self.flush_compaction(None);
        let mut texts = Vec::new();
        if let Value::String(text) = body {
            texts.push(text.as_str());
        }
        for block in body.as_array().into_iter().flatten() {
            match text(block, "type") {
                "text" => texts.push(text(block, "text")),
                "tool_result" => self.answer(block, line.get("toolUseResult"), &source),
                _ => {}
            }
        }
        let text = texts.join("\n");
        if !text.trim().is_empty() {
            self.user_text(line, id, source, text);
        }
    }

    fn user_text(&mut self, line: &Value, id: String, source: EntrySource, text: String) {
        if let Some((agent, ended)) = self.notification(&text) {
            self.push(&agent, &source, ended);
        }
        if let Some(how) = interruption(&text) {
            self.push(&id, &source, EntryKind::Interrupted { how });
            return;
        }
        let (speaker, text) = if is_from_host(line) {
            (Speaker::Host, text)
        } else {
            speaker(&text)
        };
        // A prompt has an id that live hooks report too.
        let id = match speaker {
            Speaker::Host => id,
            _ => some(line, "promptId").unwrap_or(id),
        };
        let source = EntrySource {
            message: some(line, "uuid"),
            ..source
        };
        self.push(&id, &source, EntryKind::User { speaker, text });
    }

    fn answer(&mut self, block: &Value, result: Option<&Value>, source: &EntrySource) {
        let id = text(block, "tool_use_id");
        let ok = !flag(block, "is_error");
        let output = content(field(block, "content"));
        let call = self.calls.remove(id);
        let kind = call.as_ref().map_or(CallKind::Other, |call| call.kind);
        let in_background = call
            .as_ref()
            .is_some_and(|call| flag(&call.input, "run_in_background"));
        let exit_code = (kind == CallKind::Execute && !in_background)
            .then(|| tools::exit_code(&output, ok))
            .flatten();
        if kind == CallKind::Delegate && !is_launched(result, &output) {
            let agent = self.agent_of_call(id);
            self.prompts.retain(|_, known| *known != agent);
            let ended = EntryKind::SubagentEnded {
                id: agent.clone(),
                ok,
                text: output.clone(),
            };
            self.push(&agent, source, ended);
        }
        if let Some(call) = call.filter(|_| ok) {
            let answer = TaskAnswer {
                result,
                text: &output,
            };
            if let Some(todos) = self.tasks.update(&call.tool, &call.input, &answer) {
                self.push(id, source, EntryKind::Todos(todos));
            }
        }
        let rejected = !ok && output.contains("doesn't want to proceed");
        let answer = EntryKind::Answer(Answer {
            call: id.to_owned(),
            ok,
            exit_code,
            text: output,
        });
        self.push(id, source, answer);
        if rejected {
            let how = "a tool was rejected".to_owned();
            self.push(id, source, EntryKind::Interrupted { how });
        }
    }

    /// Reads the host's message that a background subagent has ended.
    fn notification(&self, message: &str) -> Option<(String, EntryKind)> {
        if !message.trim_start().starts_with("<task-notification>") {
            return None;
        }
        let ok = match between(message, "status")? {
            "completed" => true,
            "failed" | "killed" | "stopped" => false,
            _ => return None,
        };
        let by_call = between(message, "tool-use-id").map(|call| self.agent_of_call(call));
        let id = by_call.or_else(|| between(message, "task-id").map(str::to_owned))?;
        let text = between(message, "result").or_else(|| between(message, "summary"));
        let text = text.unwrap_or_default().to_owned();
        Some((id.clone(), EntryKind::SubagentEnded { id, ok, text }))
    }

    /// Returns the id of the subagent that a call started.
    fn agent_of_call(&self, call: &str) -> String {
        let known = self.by_call.get(call);
        known.cloned().unwrap_or_else(|| call.to_owned())
    }

    fn assistant(&mut self, line: &Value, line_number: u64) {
        let agent = self.sidechain(line);
        let message = field(line, "message");
        let line_id = line_id(line, line_number);
        let message_id = some(message, "id").unwrap_or_else(|| line_id.clone());
        let pending = self.usage.as_ref();
        if pending.is_some_and(|usage| usage.message != message_id) {
            self.flush_usage();
        }
        self.flush_compaction(None);
        if flag(line, "isApiErrorMessage") {
            return;
        }
        let source = EntrySource {
            message: Some(message_id.clone()),
            at: time(line, "timestamp"),
            agent,
        };
        for (n, block) in (0..).zip(items(message, "content")) {
            let id = match n {
                0 => line_id.clone(),
                n => format!("{line_id}.{n}"),
            };
            match text(block, "type") {
                "text" => {
                    let text = text(block, "text").to_owned();
                    self.push(&id, &source, EntryKind::Assistant { text });
                }
                "thinking" => {
                    let text = text(block, "thinking").to_owned();
                    self.push(&id, &source, EntryKind::Thinking { text });
                }
                "tool_use" => self.call(block, &source),
                _ => {}
            }
        }
        if let Some(usage) = message.get("usage") {
            self.usage = Some(MessageUsage {
                usage: Usage {
                    model: some(message, "model"),
                    input: number(usage, "input_tokens"),
                    cache_read: number(usage, "cache_read_input_tokens"),
                    cache_write: number(usage, "cache_creation_input_tokens"),
                    output: number(usage, "output_tokens"),
                    ..Usage::default()
                },
                message: message_id,
                source,
                ends_turn: text(message, "stop_reason") == "end_turn",
            });
        }
    }

    fn call(&mut self, block: &Value, source: &EntrySource) {
        let (id, tool) = (text(block, "id"), text(block, "name"));
        let input = field(block, "input");
        let call = tools::call(id, tool, input, input.to_string(), &self.directory);
        let kind = call.kind;
        self.push(id, source, EntryKind::Call(call));
        if kind == CallKind::Plan
            && let Some(text) = some(input, "plan")
        {
            self.push(id, source, EntryKind::Plan { text });
        }
        if kind == CallKind::Delegate {
            let agent = self.agent_of_call(id);
            let prompt = text(input, "prompt");
            self.prompts.insert(prompt.trim().to_owned(), agent.clone());
            let started = EntryKind::SubagentStarted {
                id: agent.clone(),
                call: Some(id.to_owned()),
                kind: some(input, "subagent_type"),
                title: text(input, "description").to_owned(),
                prompt: prompt.to_owned(),
            };
            self.push(&agent, source, started);
        }
        let open = OpenCall {
            tool: tool.to_owned(),
            kind,
            input: input.clone(),
        };
        self.calls.insert(id.to_owned(), open);
    }

    fn flush_usage(&mut self) {
        let Some(pending) = self.usage.take() else {
            return;
        };
        let (id, source) = (&pending.message, &pending.source);
        self.push(id, source, EntryKind::Usage(pending.usage));
        if pending.ends_turn {
            self.push(id, source, EntryKind::TurnEnded);
        }
    }

    fn flush_compaction(&mut self, summary: Option<String>) {
        let Some(compaction) = self.compaction.take() else {
            return;
        };
        let source = EntrySource {
            message: Some(compaction.id.clone()),
            at: compaction.at,
            agent: None,
        };
        let kind = EntryKind::Compacted {
            automatic: compaction.automatic,
            summary,
            tokens_before: compaction.tokens_before,
        };
        self.push(&compaction.id, &source, kind);
    }
}

fn line_id(line: &Value, number: u64) -> String {
    some(line, "uuid").unwrap_or_else(|| format!("line {number}"))
}

/// Returns true if the host wrote a line in the user's name.
fn is_from_host(line: &Value) -> bool {
    let origin = line.get("origin");
    flag(line, "isMeta")
        || flag(line, "isVisibleInTranscriptOnly")
        || origin.is_some_and(|origin| text(origin, "kind") == "task-notification")
}

/// Returns true if a call only launched a subagent, which then runs in the background.
fn is_launched(result: Option<&Value>, output: &str) -> bool {
    let status = result.map_or("", |result| text(result, "status"));
    status == "async_launched" || output.starts_with("Async agent launched")
}

fn interruption(text: &str) -> Option<String> {
    let marked = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    marked
        .starts_with("Request interrupted by user")
        .then(|| marked.to_owned())
}

/// Returns the real author of a user message: the host also writes its own text, and that of
/// commands, in the user's name.
fn speaker(text: &str) -> (Speaker, String) {
    let text = text.trim();
    if let Some(command) = between(text, "command-name") {
        let command = command.trim_start_matches('/');
        let arguments = between(text, "command-args").unwrap_or_default();
        let line = format!("/{command} {arguments}");
        return (Speaker::Slash, line.trim().to_owned());
    }
    if let Some(line) = between(text, "bash-input") {
        return (Speaker::Shell, line.to_owned());
    }
    let injected = [
        "<local-command-",
        "<bash-stdout>",
        "<bash-stderr>",
        "<system-reminder>",
        "<task-notification>",
        "<user-memory-input>",
        "<ide_",
        "<teammate-message",
        "Caveat: The messages below were generated by the user while running local commands",
        "This session is being continued from a previous conversation",
    ];
    if injected.iter().any(|start| text.starts_with(start)) {
        return (Speaker::Host, text.to_owned());
    }
    (Speaker::Person, text.to_owned())
}

fn between<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{tag}>"))?;
    let (inside, _) = rest.split_once(&format!("</{tag}>"))?;
    Some(inside.trim())
}
