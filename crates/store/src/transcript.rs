//! How the raw text of a session is written down: one entry a line, as JSON.
//!
//! Like the journal's, this format may only grow. A line that cannot be read is told as it stands:
//! redaction may have taken a part of it away.

use std::fmt::Write as _;

use flamestack_core::id::Timestamp;
use flamestack_core::text::condense;
use flamestack_core::transcript::{
    Answer, Call, CallKind, Entry, Todo, TodoStatus, Usage, Voice, What,
};
use serde::{Deserialize, Serialize};

use crate::redact::redact;

/// The label of such texts in a frame's log.
pub const LABEL: &str = "transcript";
/// How much of a tool's answer is told, in characters: its beginning, and its end.
const TOLD_FIRST: usize = 1200;
const TOLD_LAST: usize = 600;

#[derive(Serialize, Deserialize)]
struct Line {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(flatten)]
    what: WhatLine,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "t", rename_all = "snake_case")]
enum WhatLine {
    User {
        voice: String,
        text: String,
    },
    Assistant {
        text: String,
    },
    Thinking {
        text: String,
    },
    Call {
        call: String,
        tool: String,
        does: String,
        arguments: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        paths: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<String>,
    },
    Answer {
        call: String,
        ok: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        text: String,
    },
    Attached {
        paths: Vec<String>,
        text: String,
    },
    SubagentStarted {
        subagent: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<String>,
        title: String,
        prompt: String,
    },
    SubagentEnded {
        subagent: String,
        ok: bool,
        text: String,
    },
    Compacted {
        automatic: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens_before: Option<u64>,
    },
    Todos {
        items: Vec<TodoLine>,
    },
    Plan {
        text: String,
    },
    Changed {
        paths: Vec<String>,
    },
    Interrupted {
        how: String,
    },
    Waiting {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on: Option<String>,
    },
    TurnEnded,
    Titled {
        title: String,
    },
    Usage {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        input: u64,
        cache_read: u64,
        cache_write: u64,
        output: u64,
        reasoning: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        micro_dollars: Option<u64>,
    },
}

#[derive(Serialize, Deserialize)]
struct TodoLine {
    text: String,
    status: String,
}

const VOICES: [(Voice, &str); 4] = [
    (Voice::Person, "person"),
    (Voice::Slash, "slash"),
    (Voice::Shell, "shell"),
    (Voice::Host, "host"),
];

const KINDS: [(CallKind, &str); 12] = [
    (CallKind::Read, "read"),
    (CallKind::Search, "search"),
    (CallKind::Edit, "edit"),
    (CallKind::Write, "write"),
    (CallKind::Execute, "execute"),
    (CallKind::Delegate, "delegate"),
    (CallKind::Todo, "todo"),
    (CallKind::Web, "web"),
    (CallKind::Ask, "ask"),
    (CallKind::Plan, "plan"),
    (CallKind::Stack, "stack"),
    (CallKind::Other, "other"),
];

const STATUSES: [(TodoStatus, &str); 4] = [
    (TodoStatus::Pending, "pending"),
    (TodoStatus::Active, "active"),
    (TodoStatus::Done, "done"),
    (TodoStatus::Cancelled, "cancelled"),
];

fn name<T: PartialEq>(names: &[(T, &'static str)], value: &T) -> String {
    let found = names.iter().find(|(known, _)| known == value);
    found
        .map(|(_, name)| (*name).to_owned())
        .unwrap_or_default()
}

fn named<T: Copy>(names: &[(T, &'static str)], name: &str) -> Option<T> {
    let found = names.iter().find(|(_, known)| *known == name);
    found.map(|(value, _)| *value)
}

/// Writes an entry as a line, redacted, with its line break.
///
/// Each text is redacted before it becomes JSON: behind a backslash, a secret does not look like
/// one.
pub fn encode(entry: &Entry) -> String {
    let line = Line {
        id: entry.id.clone(),
        message: entry.message.clone(),
        at: entry.at.map(|Timestamp(at)| at),
        agent: entry.agent.clone(),
        what: what_line(&entry.what),
    };
    let mut json = serde_json::to_string(&line).unwrap_or_default();
    json.push('\n');
    json
}

fn safe(text: &str) -> String {
    redact(text).into_owned()
}

fn all_safe(texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| safe(text)).collect()
}

fn what_line(what: &What) -> WhatLine {
    match what {
        What::User { voice, text } => WhatLine::User {
            voice: name(&VOICES, voice),
            text: safe(text),
        },
        What::Assistant { text } => WhatLine::Assistant { text: safe(text) },
        What::Thinking { text } => WhatLine::Thinking { text: safe(text) },
        What::Call(call) => WhatLine::Call {
            call: call.id.clone(),
            tool: call.tool.clone(),
            does: name(&KINDS, &call.kind),
            arguments: safe_json(&call.arguments),
            paths: all_safe(&call.paths),
            command: call.command.as_deref().map(safe),
        },
        What::Answer(answer) => WhatLine::Answer {
            call: answer.call.clone(),
            ok: answer.ok,
            exit_code: answer.exit_code,
            text: safe(&answer.text),
        },
        What::Attached { paths, text } => WhatLine::Attached {
            paths: all_safe(paths),
            text: safe(text),
        },
        What::SubagentStarted {
            id,
            call,
            kind,
            title,
            prompt,
        } => WhatLine::SubagentStarted {
            subagent: id.clone(),
            call: call.clone(),
            kind: kind.clone(),
            title: safe(title),
            prompt: safe(prompt),
        },
        What::SubagentEnded { id, ok, text } => WhatLine::SubagentEnded {
            subagent: id.clone(),
            ok: *ok,
            text: safe(text),
        },
        What::Compacted {
            automatic,
            summary,
            tokens_before,
        } => WhatLine::Compacted {
            automatic: *automatic,
            summary: summary.as_deref().map(safe),
            tokens_before: *tokens_before,
        },
        What::Todos(items) => WhatLine::Todos {
            items: items
                .iter()
                .map(|item| TodoLine {
                    text: safe(&item.text),
                    status: name(&STATUSES, &item.status),
                })
                .collect(),
        },
        What::Plan { text } => WhatLine::Plan { text: safe(text) },
        What::Changed { paths } => WhatLine::Changed {
            paths: all_safe(paths),
        },
        What::Interrupted { how } => WhatLine::Interrupted { how: safe(how) },
        What::Waiting { on } => WhatLine::Waiting {
            on: on.as_deref().map(safe),
        },
        What::TurnEnded => WhatLine::TurnEnded,
        What::Titled { title } => WhatLine::Titled { title: safe(title) },
        What::Usage(usage) => WhatLine::Usage {
            model: usage.model.clone(),
            input: usage.input,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            output: usage.output,
            reasoning: usage.reasoning,
            micro_dollars: usage.micro_dollars,
        },
    }
}

/// The arguments of a call, each text in them redacted as the text that it is.
fn safe_json(arguments: &str) -> String {
    fn walk(value: &mut serde_json::Value, changed: &mut bool) {
        match value {
            serde_json::Value::String(text) => {
                if let std::borrow::Cow::Owned(redacted) = redact(text) {
                    *text = redacted;
                    *changed = true;
                }
            }
            serde_json::Value::Array(items) => {
                for item in items {
                    walk(item, changed);
                }
            }
            serde_json::Value::Object(fields) => {
                for field in fields.values_mut() {
                    walk(field, changed);
                }
            }
            _ => {}
        }
    }
    // Without an escape there is nothing that only the value would show.
    if arguments.contains('\\')
        && let Ok(mut value) = serde_json::from_str(arguments)
    {
        let mut changed = false;
        walk(&mut value, &mut changed);
        if changed {
            return safe(&value.to_string());
        }
    }
    safe(arguments)
}

/// Reads a line back.
pub fn decode(line: &str) -> Option<Entry> {
    let line: Line = serde_json::from_str(line).ok()?;
    Some(Entry {
        id: line.id,
        message: line.message,
        at: line.at.map(Timestamp),
        agent: line.agent,
        what: what(line.what)?,
    })
}

fn what(line: WhatLine) -> Option<What> {
    Some(match line {
        WhatLine::User { voice, text } => What::User {
            voice: named(&VOICES, &voice)?,
            text,
        },
        WhatLine::Assistant { text } => What::Assistant { text },
        WhatLine::Thinking { text } => What::Thinking { text },
        WhatLine::Call {
            call,
            tool,
            does,
            arguments,
            paths,
            command,
        } => What::Call(Call {
            id: call,
            tool,
            kind: named(&KINDS, &does).unwrap_or(CallKind::Other),
            arguments,
            paths,
            command,
        }),
        WhatLine::Answer {
            call,
            ok,
            exit_code,
            text,
        } => What::Answer(Answer {
            call,
            ok,
            exit_code,
            text,
        }),
        WhatLine::Attached { paths, text } => What::Attached { paths, text },
        WhatLine::SubagentStarted {
            subagent,
            call,
            kind,
            title,
            prompt,
        } => What::SubagentStarted {
            id: subagent,
            call,
            kind,
            title,
            prompt,
        },
        WhatLine::SubagentEnded { subagent, ok, text } => What::SubagentEnded {
            id: subagent,
            ok,
            text,
        },
        WhatLine::Compacted {
            automatic,
            summary,
            tokens_before,
        } => What::Compacted {
            automatic,
            summary,
            tokens_before,
        },
        WhatLine::Todos { items } => What::Todos(
            items
                .into_iter()
                .map(|item| Todo {
                    text: item.text,
                    status: named(&STATUSES, &item.status).unwrap_or(TodoStatus::Pending),
                })
                .collect(),
        ),
        WhatLine::Plan { text } => What::Plan { text },
        WhatLine::Changed { paths } => What::Changed { paths },
        WhatLine::Interrupted { how } => What::Interrupted { how },
        WhatLine::Waiting { on } => What::Waiting { on },
        WhatLine::TurnEnded => What::TurnEnded,
        WhatLine::Titled { title } => What::Titled { title },
        WhatLine::Usage {
            model,
            input,
            cache_read,
            cache_write,
            output,
            reasoning,
            micro_dollars,
        } => What::Usage(Usage {
            model,
            input,
            cache_read,
            cache_write,
            output,
            reasoning,
            micro_dollars,
        }),
    })
}

/// A transcript as Markdown, with long answers of tools cut in the middle.
pub fn markdown(transcript: &str) -> String {
    let mut text = String::with_capacity(transcript.len());
    for line in transcript.lines() {
        let Some(entry) = decode(line) else {
            text.push_str(line);
            text.push_str("\n\n");
            continue;
        };
        let heading = match &entry.agent {
            Some(agent) => format!(" (in {agent})"),
            None => String::new(),
        };
        tell(&mut text, &heading, &entry.what);
    }
    text
}

fn tell(text: &mut String, inside: &str, what: &What) {
    let mut part = |heading: &str, body: &str| {
        // Writing into a string cannot fail.
        let _ = write!(text, "### {heading}{inside}\n\n{}\n\n", body.trim_end());
    };
    match what {
        What::User { voice, text } => {
            let who = match voice {
                Voice::Person => "User",
                Voice::Slash => "User (command)",
                Voice::Shell => "User (shell)",
                Voice::Host => "Host",
            };
            part(who, &trimmed(text));
        }
        What::Assistant { text } => part("Assistant", text),
        What::Thinking { text } => part("Reasoning", &trimmed(text)),
        What::Call(call) => match &call.command {
            Some(command) => part(&call.tool, &fenced(command)),
            None => part(&call.tool, &fenced(&condense(&call.arguments, TOLD_FIRST))),
        },
        What::Answer(answer) => {
            let heading = match (answer.ok, answer.exit_code) {
                (_, Some(code)) => format!("Answer (exit {code})"),
                (true, None) => "Answer".to_owned(),
                (false, None) => "Answer (failed)".to_owned(),
            };
            part(&heading, &fenced(&trimmed(&answer.text)));
        }
        What::Attached { paths, text } => {
            part(&format!("Attached {}", paths.join(", ")), &trimmed(text));
        }
        What::SubagentStarted { title, prompt, .. } => {
            part(
                &format!("Subagent: {}", condense(title, 120)),
                &trimmed(prompt),
            );
        }
        What::SubagentEnded { ok, text, .. } => part(
            if *ok {
                "Subagent ended"
            } else {
                "Subagent failed"
            },
            &trimmed(text),
        ),
        What::Compacted { summary, .. } => {
            part(
                "Compacted",
                summary.as_deref().unwrap_or("(the summary cannot be read)"),
            );
        }
        What::Todos(items) => {
            let items: Vec<String> = items
                .iter()
                .map(|item| {
                    let mark = match item.status {
                        TodoStatus::Pending => " ",
                        TodoStatus::Active => ">",
                        TodoStatus::Done => "x",
                        TodoStatus::Cancelled => "-",
                    };
                    format!("- [{mark}] {}", condense(&item.text, 200))
                })
                .collect();
            part("To-do list", &items.join("\n"));
        }
        What::Plan { text } => part("Plan", text),
        What::Changed { paths } => part("Files changed", &paths.join("\n")),
        What::Interrupted { how } => part("Interrupted by the user", how),
        What::Titled { title } => part("Title", title),
        What::Waiting { on: Some(on) } => part("Waiting for the user", on),
        What::Waiting { on: None } | What::TurnEnded | What::Usage(_) => {}
    }
}

fn fenced(text: &str) -> String {
    // More backticks than the text has in a row.
    let longest = text
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}", text.trim_end())
}

fn trimmed(text: &str) -> String {
    let length = text.chars().count();
    if length <= TOLD_FIRST + TOLD_LAST {
        return text.to_owned();
    }
    let first: String = text.chars().take(TOLD_FIRST).collect();
    let last: String = text.chars().skip(length - TOLD_LAST).collect();
    let left_out = length - TOLD_FIRST - TOLD_LAST;
    format!("{first}\n… {left_out} characters left out …\n{last}")
}
