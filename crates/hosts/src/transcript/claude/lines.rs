//! The lines of a transcript, one after the other.

use std::collections::BTreeMap;

use flamestack_core::id::Timestamp;
use flamestack_core::transcript::{Answer, CallKind, Entry, Usage, Voice, What};
use serde_json::Value;

use super::tasks::{Answered, Tasks};
use crate::transcript::json::{content, flag, items, number, some, text, time};
use crate::transcript::{Item, tools};

/// What has to be remembered from one line to the next.
#[derive(Default)]
pub(super) struct Talk {
    /// The subagent whose file this is.
    inside: Option<String>,
    directory: String,
    /// Calls that are not answered yet.
    calls: BTreeMap<String, Open>,
    /// The ids of subagents whose files say by which call they were begun.
    by_call: BTreeMap<String, String>,
    tasks: Tasks,
    /// What the current message cost so far: its lines repeat and raise it.
    cost: Option<Cost>,
    /// A boundary whose summary comes with the next line.
    boundary: Option<(String, bool, Option<u64>, Option<Timestamp>)>,
    /// In older versions, which subagent a line belongs to, by the line's id.
    asides: BTreeMap<String, String>,
    /// Prompts of subagents that were begun, for telling which lines are theirs.
    prompts: BTreeMap<String, String>,
}

/// A call that is not answered yet.
struct Open {
    tool: String,
    kind: CallKind,
    input: Value,
}

struct Cost {
    message: String,
    usage: Usage,
    agent: Option<String>,
    at: Option<Timestamp>,
    ended: bool,
}

impl Talk {
    pub(super) fn new(by_call: BTreeMap<String, String>) -> Self {
        Self {
            by_call,
            ..Self::default()
        }
    }

    pub(super) fn inside(agent: &str) -> Self {
        Self {
            inside: Some(agent.to_owned()),
            ..Self::default()
        }
    }

    /// The subagent that an item says has returned.
    pub(super) fn returning(&self, item: &Item) -> Option<String> {
        match item {
            Item::Entry(entry) => match &entry.what {
                What::SubagentEnded { id, .. } => Some(id.clone()),
                _ => None,
            },
            _ => None,
        }
    }

    /// Takes in a line; whether it was of a kind that tells of the conversation.
    pub(super) fn line(&mut self, value: &Value, number: u64, found: &mut Vec<Item>) -> bool {
        if self.directory.is_empty() {
            text(value, "cwd").clone_into(&mut self.directory);
        }
        match text(value, "type") {
            "user" => self.user(value, number, found),
            "assistant" => self.assistant(value, number, found),
            "system" if text(value, "subtype") == "compact_boundary" => {
                let about = value.get("compactMetadata").unwrap_or(&Value::Null);
                self.boundary = Some((
                    id_of(value, number),
                    text(about, "trigger") != "manual",
                    about.get("preTokens").and_then(Value::as_u64),
                    time(value, "timestamp"),
                ));
            }
            "summary" | "custom-title" | "ai-title" => {
                let title = ["customTitle", "aiTitle", "summary", "title"]
                    .iter()
                    .find_map(|key| some(value, key));
                if let Some(title) = title.filter(|_| self.inside.is_none()) {
                    let at = time(value, "timestamp");
                    let id = format!("title: {title}");
                    found.push(self.entry(&id, None, at, None, What::Titled { title }));
                }
            }
            _ => return false,
        }
        true
    }

    /// The file ends here.
    pub(super) fn end(&mut self, found: &mut Vec<Item>) {
        self.close_cost(found);
        self.close_boundary(None, found);
    }

    fn entry(
        &self,
        id: &str,
        message: Option<&str>,
        at: Option<Timestamp>,
        agent: Option<&String>,
        what: What,
    ) -> Item {
        Item::Entry(Box::new(Entry {
            id: Some(id.to_owned()),
            message: message.map(str::to_owned),
            at,
            agent: self.inside.as_ref().or(agent).cloned(),
            what,
        }))
    }

    /// The subagent that a line belongs to which stands among the session's own.
    fn aside(&mut self, value: &Value) -> Option<String> {
        if !flag(value, "isSidechain") || self.inside.is_some() {
            return None;
        }
        let uuid = text(value, "uuid").to_owned();
        let known = some(value, "agentId").or_else(|| {
            let parent = some(value, "parentUuid")?;
            self.asides.get(&parent).cloned()
        });
        // The first of its lines is what it was told to do.
        let agent = known.or_else(|| {
            let said = content(value.get("message")?.get("content")?);
            self.prompts.get(said.trim()).cloned()
        });
        let agent = agent.unwrap_or_else(|| format!("aside-{uuid}"));
        self.asides.insert(uuid, agent.clone());
        Some(agent)
    }

    fn user(&mut self, value: &Value, line: u64, found: &mut Vec<Item>) {
        self.close_cost(found);
        let agent = self.aside(value);
        let at = time(value, "timestamp");
        let id = id_of(value, line);
        let message = value.get("message").unwrap_or(&Value::Null);
        let body = message.get("content").unwrap_or(&Value::Null);
        if flag(value, "isCompactSummary") {
            self.close_boundary(Some(content(body)), found);
            return;
        }
        self.close_boundary(None, found);
        let mut said = Vec::new();
        match body {
            Value::String(text) => said.push(text.clone()),
            Value::Array(blocks) => {
                for block in blocks {
                    match text(block, "type") {
                        "text" => said.push(text(block, "text").to_owned()),
                        "tool_result" => {
                            let result = value.get("toolUseResult");
                            self.answer(block, result, &id, at, agent.as_ref(), found);
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        let said = said.join("\n");
        if said.trim().is_empty() {
            return;
        }
        if let Some((id, ok, text)) = self.notification(&said) {
            let what = What::SubagentEnded {
                id: id.clone(),
                ok,
                text,
            };
            found.push(self.entry(&id, Some(&id_of(value, line)), at, agent.as_ref(), what));
        }
        if let Some(how) = interruption(&said) {
            let what = What::Interrupted { how };
            found.push(self.entry(&id, Some(&id), at, agent.as_ref(), what));
            return;
        }
        let by_host = flag(value, "isMeta")
            || flag(value, "isVisibleInTranscriptOnly")
            || value
                .get("origin")
                .is_some_and(|origin| text(origin, "kind") == "task-notification");
        let (voice, said) = if by_host {
            (Voice::Host, said)
        } else {
            voice(&said)
        };
        // The prompt has a name of its own, which live hooks give too.
        let id = match voice {
            Voice::Host => id,
            _ => some(value, "promptId").unwrap_or(id),
        };
        let uuid = some(value, "uuid");
        let what = What::User { voice, text: said };
        found.push(self.entry(&id, uuid.as_deref(), at, agent.as_ref(), what));
    }

    fn answer(
        &mut self,
        block: &Value,
        result: Option<&Value>,
        line: &str,
        at: Option<Timestamp>,
        agent: Option<&String>,
        found: &mut Vec<Item>,
    ) {
        let id = text(block, "tool_use_id");
        let ok = !flag(block, "is_error");
        let said = content(block.get("content").unwrap_or(&Value::Null));
        let open = self.calls.remove(id);
        let kind = open.as_ref().map_or(CallKind::Other, |open| open.kind);
        let in_background = open
            .as_ref()
            .is_some_and(|open| flag(&open.input, "run_in_background"));
        let exit_code = (kind == CallKind::Execute && !in_background)
            .then(|| tools::exit_code(&said, ok))
            .flatten();
        if kind == CallKind::Delegate && !is_launched(result, &said) {
            let subagent = self.subagent(id);
            self.prompts.retain(|_, known| *known != subagent);
            let what = What::SubagentEnded {
                id: subagent.clone(),
                ok,
                text: said.clone(),
            };
            found.push(self.entry(&subagent, Some(line), at, agent, what));
        }
        if let Some(open) = open.filter(|_| ok) {
            let answered = Answered {
                result,
                text: &said,
            };
            if let Some(todos) = self.tasks.after(&open.tool, &open.input, &answered) {
                found.push(self.entry(id, Some(line), at, agent, What::Todos(todos)));
            }
        }
        let rejected = !ok && said.contains("doesn't want to proceed");
        let answer = What::Answer(Answer {
            call: id.to_owned(),
            ok,
            exit_code,
            text: said,
        });
        found.push(self.entry(id, Some(line), at, agent, answer));
        if rejected {
            let how = "a tool was rejected".to_owned();
            found.push(self.entry(id, Some(line), at, agent, What::Interrupted { how }));
        }
    }

    /// A subagent that went on beside the conversation has ended.
    fn notification(&self, said: &str) -> Option<(String, bool, String)> {
        if !said.trim_start().starts_with("<task-notification>") {
            return None;
        }
        let ok = match between(said, "status")? {
            "completed" => true,
            "failed" | "killed" | "stopped" => false,
            _ => return None,
        };
        let by_call = between(said, "tool-use-id").map(|call| self.subagent(call));
        let id = by_call.or_else(|| between(said, "task-id").map(str::to_owned))?;
        let text = between(said, "result").or_else(|| between(said, "summary"));
        Some((id, ok, text.unwrap_or_default().to_owned()))
    }

    /// The id of the subagent that a call began.
    fn subagent(&self, call: &str) -> String {
        let known = self.by_call.get(call);
        known.cloned().unwrap_or_else(|| call.to_owned())
    }

    fn assistant(&mut self, value: &Value, line: u64, found: &mut Vec<Item>) {
        let agent = self.aside(value);
        let at = time(value, "timestamp");
        let message = value.get("message").unwrap_or(&Value::Null);
        let mid = some(message, "id").unwrap_or_else(|| id_of(value, line));
        if self.cost.as_ref().is_some_and(|cost| cost.message != mid) {
            self.close_cost(found);
        }
        self.close_boundary(None, found);
        if flag(value, "isApiErrorMessage") {
            return;
        }
        let uuid = id_of(value, line);
        for (n, block) in (0..).zip(items(message, "content")) {
            let id = if n == 0 {
                uuid.clone()
            } else {
                format!("{uuid}.{n}")
            };
            let said = |key: &str| text(block, key).to_owned();
            match text(block, "type") {
                "text" => {
                    let what = What::Assistant { text: said("text") };
                    found.push(self.entry(&id, Some(&mid), at, agent.as_ref(), what));
                }
                "thinking" => {
                    let what = What::Thinking {
                        text: said("thinking"),
                    };
                    found.push(self.entry(&id, Some(&mid), at, agent.as_ref(), what));
                }
                "tool_use" => self.call(block, &mid, at, agent.as_ref(), found),
                _ => {}
            }
        }
        if let Some(usage) = message.get("usage") {
            self.cost = Some(Cost {
                usage: Usage {
                    model: some(message, "model"),
                    input: number(usage, "input_tokens"),
                    cache_read: number(usage, "cache_read_input_tokens"),
                    cache_write: number(usage, "cache_creation_input_tokens"),
                    output: number(usage, "output_tokens"),
                    reasoning: 0,
                    micro_dollars: None,
                },
                message: mid,
                agent,
                at,
                ended: text(message, "stop_reason") == "end_turn",
            });
        }
    }

    fn call(
        &mut self,
        block: &Value,
        mid: &str,
        at: Option<Timestamp>,
        agent: Option<&String>,
        found: &mut Vec<Item>,
    ) {
        let (id, tool) = (text(block, "id"), text(block, "name"));
        let input = block.get("input").unwrap_or(&Value::Null);
        let call = tools::call(id, tool, input, input.to_string(), &self.directory);
        let kind = call.kind;
        found.push(self.entry(id, Some(mid), at, agent, What::Call(call)));
        if kind == CallKind::Plan && !text(input, "plan").is_empty() {
            let what = What::Plan {
                text: text(input, "plan").to_owned(),
            };
            found.push(self.entry(id, Some(mid), at, agent, what));
        }
        if kind == CallKind::Delegate {
            let subagent = self.subagent(id);
            let prompt = text(input, "prompt");
            self.prompts
                .insert(prompt.trim().to_owned(), subagent.clone());
            let what = What::SubagentStarted {
                id: subagent.clone(),
                call: Some(id.to_owned()),
                kind: some(input, "subagent_type"),
                title: text(input, "description").to_owned(),
                prompt: prompt.to_owned(),
            };
            found.push(self.entry(&subagent, Some(mid), at, agent, what));
        }
        let open = Open {
            tool: tool.to_owned(),
            kind,
            input: input.clone(),
        };
        self.calls.insert(id.to_owned(), open);
    }

    fn close_cost(&mut self, found: &mut Vec<Item>) {
        let Some(cost) = self.cost.take() else {
            return;
        };
        let (id, agent) = (&cost.message, cost.agent.as_ref());
        found.push(self.entry(
            id,
            Some(id),
            cost.at,
            agent,
            What::Usage(cost.usage.clone()),
        ));
        if cost.ended {
            found.push(self.entry(id, Some(id), cost.at, agent, What::TurnEnded));
        }
    }

    fn close_boundary(&mut self, summary: Option<String>, found: &mut Vec<Item>) {
        let Some((id, automatic, tokens_before, at)) = self.boundary.take() else {
            return;
        };
        let what = What::Compacted {
            automatic,
            summary,
            tokens_before,
        };
        found.push(self.entry(&id, Some(&id), at, None, what));
    }
}

fn id_of(value: &Value, line: u64) -> String {
    some(value, "uuid").unwrap_or_else(|| format!("line {line}"))
}

/// Whether a subagent was only launched, and goes on beside the conversation.
fn is_launched(result: Option<&Value>, said: &str) -> bool {
    let status = result.map_or("", |result| text(result, "status"));
    status == "async_launched" || said.starts_with("Async agent launched")
}

fn interruption(said: &str) -> Option<String> {
    let said = said.trim();
    let marked = said.strip_prefix('[')?.strip_suffix(']')?;
    marked
        .starts_with("Request interrupted by user")
        .then(|| marked.to_owned())
}

/// Who really speaks: hosts put their own words, and those of commands, into the user's mouth.
fn voice(said: &str) -> (Voice, String) {
    let said = said.trim();
    if let Some(command) = between(said, "command-name") {
        let command = command.trim_start_matches('/');
        let arguments = between(said, "command-args").unwrap_or_default();
        let line = format!("/{command} {arguments}");
        return (Voice::Slash, line.trim().to_owned());
    }
    if let Some(line) = between(said, "bash-input") {
        return (Voice::Shell, line.to_owned());
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
    if injected.iter().any(|start| said.starts_with(start)) {
        return (Voice::Host, said.to_owned());
    }
    (Voice::Person, said.to_owned())
}

fn between<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{tag}>"))?;
    let (inside, _) = rest.split_once(&format!("</{tag}>"))?;
    Some(inside.trim())
}
