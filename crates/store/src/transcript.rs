//! The stored format of a session's raw text: one entry per line, as JSON.
//!
//! Like the journal's, this format may only grow. A line that cannot be parsed, perhaps because
//! redaction removed a part of it, is shown verbatim.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt::Write as _;

use flamestack_core::id::Timestamp;
use flamestack_core::text::{Rewrite as _, condense};
use flamestack_core::transcript::{
    Answer, Call, CallKind, Entry, EntryKind, Speaker, Todo, TodoStatus, Usage,
};
use flamestack_redact::Redactor;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::record;
use crate::record::form::{
    self, Form, Stored, known, records, stored_as, stored_by, stored_by_name, tagged_record,
};

/// The label of such texts in a frame's log.
pub const LABEL: &str = "transcript";
/// Number of characters shown of the beginning and of the end of a tool result.
const SHOWN_FIRST: usize = 1200;
const SHOWN_LAST: usize = 600;

records! {
    EntryLine for Entry as "Entry" {
        id: Option<String> = default,
        message: Option<String> = default,
        at: Option<Timestamp> = default,
        agent: Option<String> = default,
        kind: EntryKind [flatten],
    }
    CallLine for Call as "Call" {
        id: String [rename = "call"],
        tool: String,
        kind: CallKind [rename = "does"],
        arguments: String,
        paths: Vec<String> = default,
        command: Option<String> = default,
    }
    AnswerLine for Answer as "Answer" {
        call: String,
        ok: bool,
        exit_code: Option<i32> = default,
        text: String,
    }
}

tagged_record! { KindLine as "EntryKind" by "t" {
    User { speaker: Speaker [rename = "voice"], text: String },
    Assistant { text: String },
    Thinking { text: String },
    Call(Call),
    Begun(Call),
    Answer(Answer),
    Attached { paths: Vec<String>, text: String },
    SubagentStarted {
        id: String [rename = "subagent"],
        call: Option<String> = default,
        kind: Option<String> = default,
        title: String,
        prompt: String
    },
    SubagentEnded { id: String [rename = "subagent"], ok: bool, text: String },
    Compacted {
        automatic: bool,
        summary: Option<String> = default,
        tokens_before: Option<u64> = default
    },
    Todos(Vec<Todo>),
    Plan { text: String },
    Changed { paths: Vec<String> },
    Interrupted { how: String },
    Failed { why: String },
    Waiting { on: Option<String> = default },
    TurnEnded,
    Titled { title: String },
    Usage(Usage),
} }

stored_by! {
    EntryKind: KindLine;
}

stored_by_name! {
    Speaker: "a speaker";
}

stored_as! {
    // A status that a later version added is that of an open item here.
    TodoStatus as String: |status| status.as_str(),
        |name| Ok(Self::from_name(&name).unwrap_or(Self::Pending));
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Todo")]
struct TodoLine {
    text: String,
    #[serde(with = "form")]
    status: TodoStatus,
}

/// A to-do list as the only field of its entry.
#[derive(Serialize, Deserialize)]
struct Todos<T> {
    items: Vec<T>,
}

impl Stored for Todo {
    fn store<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        TodoLine::serialize(self, serializer)
    }

    fn load<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        TodoLine::deserialize(deserializer)
    }

    fn store_all<S: Serializer>(items: &[Self], serializer: S) -> Result<S::Ok, S::Error> {
        let items = items.iter().map(Form).collect();
        Todos { items }.serialize(serializer)
    }

    fn load_all<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Self>, D::Error> {
        let Todos::<Form<Self>> { items } = Todos::deserialize(deserializer)?;
        Ok(items.into_iter().map(|Form(item)| item).collect())
    }
}

/// Returns a copy of an entry without secrets.
///
/// Each text is redacted before anything is cut from it and before it becomes JSON, as both hide
/// secrets. That includes the entry's id, which may repeat a text.
pub fn redacted(entry: &Entry, redactor: &Redactor) -> Entry {
    let mut entry = entry.clone();
    if let EntryKind::Call(call) | EntryKind::Begun(call) = &mut entry.kind
        // Without an escape the JSON text shows everything that the values show.
        && call.arguments.contains('\\')
        && let Ok(mut value) = serde_json::from_str(&call.arguments)
        && redact_strings(&mut value, redactor)
    {
        call.arguments = value.to_string();
    }
    entry.rewrite(&mut |text| redactor.replacement(text));
    entry
}

/// Redacts each string in a JSON value separately. Returns true if one held a secret.
pub fn redact_strings(value: &mut serde_json::Value, redactor: &Redactor) -> bool {
    let mut found = false;
    match value {
        serde_json::Value::String(text) => {
            if let Some(clean) = redactor.replacement(text) {
                *text = clean;
                found = true;
            }
        }
        serde_json::Value::Array(items) => {
            for item in items {
                found |= redact_strings(item, redactor);
            }
        }
        serde_json::Value::Object(fields) => {
            for field in fields.values_mut() {
                found |= redact_strings(field, redactor);
            }
        }
        _ => {}
    }
    found
}

/// Writes an entry as a line, with its line break. The caller has redacted it.
pub fn encode(entry: &Entry) -> String {
    // Strings and numbers always serialise.
    record::encode(entry).unwrap_or_default() + "\n"
}

/// Parses a line.
pub fn decode(line: &str) -> Option<Entry> {
    record::decode(line).ok()
}

/// Renders a transcript as Markdown, with long texts cut in the middle.
pub fn markdown(transcript: &str) -> String {
    rendered(transcript, Length::Cut)
}

/// Renders a transcript as Markdown without leaving anything out.
pub fn whole_markdown(transcript: &str) -> String {
    rendered(transcript, Length::Whole)
}

/// The length of the texts in a rendered transcript.
#[derive(Clone, Copy)]
enum Length {
    /// Long texts are cut in the middle.
    Cut,
    Whole,
}

impl Length {
    fn shown(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Cut => trimmed(text),
            Self::Whole => text.into(),
        }
    }
}

fn rendered(transcript: &str, length: Length) -> String {
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
        render(&mut text, &heading, &entry.kind, length);
    }
    text
}

fn render(text: &mut String, inside: &str, what: &EntryKind, length: Length) {
    let mut part = |heading: &str, body: &str| {
        // Writing into a string cannot fail.
        let _ = write!(text, "### {heading}{inside}\n\n{}\n\n", body.trim_end());
    };
    match what {
        EntryKind::User { speaker, text } => {
            let who = match speaker {
                Speaker::Person => "User",
                Speaker::Slash => "User (command)",
                Speaker::Shell => "User (shell)",
                Speaker::Host => "Host",
            };
            part(who, &length.shown(text));
        }
        EntryKind::Assistant { text } => part("Assistant", text),
        EntryKind::Thinking { text } => part("Reasoning", &length.shown(text)),
        EntryKind::Call(call) | EntryKind::Begun(call) => match &call.command {
            Some(command) => part(&call.tool, &fenced(command)),
            None => part(
                &call.tool,
                &fenced(&match length {
                    Length::Cut => condense(&call.arguments, SHOWN_FIRST),
                    Length::Whole => call.arguments.clone(),
                }),
            ),
        },
        EntryKind::Answer(answer) => {
            let heading = match (answer.ok, answer.exit_code) {
                (_, Some(code)) => format!("Answer (exit {code})"),
                (true, None) => "Answer".to_owned(),
                (false, None) => "Answer (failed)".to_owned(),
            };
            part(&heading, &fenced(&length.shown(&answer.text)));
        }
        EntryKind::Attached { paths, text } => {
            part(
                &format!("Attached {}", paths.join(", ")),
                &length.shown(text),
            );
        }
        EntryKind::SubagentStarted { title, prompt, .. } => {
            part(
                &format!("Subagent: {}", condense(title, 120)),
                &length.shown(prompt),
            );
        }
        EntryKind::SubagentEnded { ok, text, .. } => part(
            if *ok {
                "Subagent ended"
            } else {
                "Subagent failed"
            },
            &length.shown(text),
        ),
        EntryKind::Compacted { summary, .. } => {
            part(
                "Compacted",
                summary.as_deref().unwrap_or("(the summary cannot be read)"),
            );
        }
        EntryKind::Todos(items) => part("To-do list", &check_list(items)),
        EntryKind::Plan { text } => part("Plan", text),
        EntryKind::Changed { paths } => part("Files changed", &paths.join("\n")),
        EntryKind::Interrupted { how } => part("Interrupted by the user", how),
        EntryKind::Failed { why } => part("Ended by an error", why),
        EntryKind::Titled { title } => part("Title", title),
        EntryKind::Waiting { on: Some(on) } => part("Waiting for the user", on),
        EntryKind::Waiting { on: None } | EntryKind::TurnEnded | EntryKind::Usage(_) => {}
    }
}

fn check_list(items: &[Todo]) -> String {
    let line = |item: &Todo| {
        let mark = match item.status {
            TodoStatus::Pending => " ",
            TodoStatus::Active => ">",
            TodoStatus::Done => "x",
            TodoStatus::Cancelled => "-",
        };
        format!("- [{mark}] {}", condense(&item.text, 200))
    };
    items.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn fenced(text: &str) -> String {
    // A fence longer than any run of backticks in the text.
    let runs = text.as_bytes().split(|byte| *byte != b'`');
    let longest = runs.map(<[u8]>::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}", text.trim_end())
}

fn trimmed(text: &str) -> Cow<'_, str> {
    let length = text.chars().count();
    if length <= SHOWN_FIRST + SHOWN_LAST {
        return text.into();
    }
    let left_out = length - SHOWN_FIRST - SHOWN_LAST;
    let places = || text.char_indices().map(|(at, _)| at);
    let first = places().nth(SHOWN_FIRST).and_then(|end| text.get(..end));
    let last = places().nth_back(SHOWN_LAST - 1);
    let last = last.and_then(|start| text.get(start..));
    let (first, last) = (first.unwrap_or_default(), last.unwrap_or_default());
    format!("{first}\n… {left_out} characters left out …\n{last}").into()
}
