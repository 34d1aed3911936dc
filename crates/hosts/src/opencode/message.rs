//! A message of OpenCode and its parts, as JSON has them.
//!
//! A field that is missing or has another type than expected counts as absent: a newer OpenCode
//! must not make a whole request fail.

use flamestack_core::transcript::{CallKind, Usage};
use serde::{Deserialize, Deserializer, de};
use serde_json::{Map, Value};

use crate::recordings::json::{flag, number, some, text, texts};
use crate::recordings::tools;

/// The name of the error that a message has if the user stopped it.
const ABORTED: &str = "MessageAbortedError";

/// A message with its parts.
#[derive(Clone, Debug)]
pub struct HostMessage {
    pub(crate) id: String,
    pub(crate) role: HostRole,
    /// Time of its creation, in milliseconds since 1970.
    pub(crate) at: Option<i64>,
    pub(crate) parts: Vec<HostPart>,
    /// True for the summary that a compaction made.
    pub(crate) is_summary: bool,
    /// Present once the message is complete.
    pub(crate) usage: Option<Usage>,
    pub(crate) error: Option<HostError>,
    /// The model's reason to stop, such as `stop` or `tool-calls`.
    pub(crate) finish: String,
}

/// The author of a message.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum HostRole {
    /// The user's side.
    User,
    /// The model's side.
    Assistant,
}

/// The reason why a message is incomplete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HostError {
    /// The user stopped it.
    Aborted,
    /// The provider or the host failed.
    Failed(String),
}

/// A part of a message.
#[derive(Clone, Debug)]
pub(crate) enum HostPart {
    Text {
        id: String,
        text: String,
        /// True if the host or a plugin wrote it.
        is_synthetic: bool,
    },
    Reasoning {
        id: String,
        text: String,
    },
    Call(Box<HostCall>),
    /// Files that the host itself saw change.
    Patch {
        id: String,
        paths: Vec<String>,
    },
    /// A file that the user attached.
    File {
        id: String,
        path: String,
    },
    /// A request to replace what came before by a summary.
    Compaction {
        automatic: bool,
    },
    /// A part without content of its own, such as the beginning of a step.
    Empty,
}

/// A tool call with its answer, once there is one.
#[derive(Clone, Debug)]
pub(crate) struct HostCall {
    pub(crate) id: String,
    /// The model's name of the call.
    pub(crate) call: String,
    pub(crate) tool: String,
    pub(crate) state: CallState,
    pub(crate) input: Value,
    /// The tool's answer, or the error's text.
    pub(crate) output: String,
    pub(crate) exit_code: Option<i32>,
    /// Files that the tool changed, by its own account.
    pub(crate) changed: Vec<String>,
    /// The session of the subagent that it started.
    pub(crate) child: Option<String>,
    pub(crate) began: Option<i64>,
    pub(crate) ended: Option<i64>,
}

/// The progress of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallState {
    Running,
    Completed,
    Error,
}

impl<'de> Deserialize<'de> for HostMessage {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut fields = Map::deserialize(from)?;
        let id = take_text(&mut fields, "id");
        let Some(Value::Array(parts)) = fields.remove("parts") else {
            return Err(de::Error::missing_field("parts"));
        };
        let parts = parts.into_iter().filter_map(|part| {
            let id = some(&part, "id").unwrap_or_default();
            HostPart::read(id, part)
        });
        let parts = parts.collect();
        let message = Self::read(id, &Value::Object(fields), parts);
        message.ok_or_else(|| de::Error::custom("a message needs an `id` and a `role`"))
    }
}

impl HostMessage {
    /// Reads OpenCode's description of a message, which has no parts.
    pub(crate) fn read(id: String, info: &Value, parts: Vec<HostPart>) -> Option<Self> {
        let role = match text(info, "role") {
            "user" => HostRole::User,
            "assistant" => HostRole::Assistant,
            _ => return None,
        };
        let finish = text(info, "finish").to_owned();
        let is_complete = !finish.is_empty() || info.pointer("/time/completed").is_some();
        let error = info.get("error").filter(|error| error.is_object());
        Some(Self {
            at: info.pointer("/time/created").and_then(Value::as_i64),
            is_summary: flag(info, "summary"),
            usage: is_complete.then(|| usage(info)).flatten(),
            error: error.map(HostError::read),
            id: (!id.is_empty()).then_some(id)?,
            role,
            parts,
            finish,
        })
    }

    pub(crate) fn is_from_model(&self) -> bool {
        self.role == HostRole::Assistant
    }

    /// Returns the words of the user in it.
    pub(crate) fn words(&self) -> String {
        let words = self.parts.iter().filter_map(|part| match part {
            HostPart::Text {
                text,
                is_synthetic: false,
                ..
            } => Some(text.as_str()),
            _ => None,
        });
        words.collect::<Vec<_>>().join("\n")
    }

    /// Returns true if the provider ended the answer without a word and without a cost.
    pub(crate) fn is_empty_answer(&self) -> bool {
        let is_free = |usage: &Usage| usage.prompt() == 0 && usage.output == 0;
        let says = |part: &HostPart| match part {
            HostPart::Text { text, .. } => !text.trim().is_empty(),
            HostPart::Call(_) => true,
            _ => false,
        };
        self.is_from_model()
            && self.finish == "unknown"
            && self.usage.as_ref().is_some_and(is_free)
            && !self.parts.iter().any(says)
    }
}

impl HostError {
    fn read(error: &Value) -> Self {
        let name = text(error, "name");
        if name == ABORTED {
            return Self::Aborted;
        }
        let said = error.pointer("/data/message").and_then(Value::as_str);
        Self::Failed(match said.filter(|said| !said.is_empty()) {
            Some(said) => format!("{name}: {said}"),
            None => name.to_owned(),
        })
    }
}

impl HostPart {
    /// Reads a part; `None` for one of an unknown type.
    pub(crate) fn read(id: String, part: Value) -> Option<Self> {
        let Value::Object(mut fields) = part else {
            return None;
        };
        let kind = take_text(&mut fields, "type");
        Some(match kind.as_str() {
            "text" if fields.get("ignored") == Some(&Value::Bool(true)) => Self::Empty,
            "text" => Self::Text {
                id,
                text: take_text(&mut fields, "text"),
                is_synthetic: fields.get("synthetic") == Some(&Value::Bool(true)),
            },
            "reasoning" => Self::Reasoning {
                id,
                text: take_text(&mut fields, "text"),
            },
            "tool" => Self::Call(Box::new(HostCall::read(id, fields))),
            "patch" => Self::Patch {
                id,
                paths: texts(&Value::Object(fields), "files"),
            },
            "file" => {
                let part = Value::Object(fields);
                let path = part.pointer("/source/path").and_then(Value::as_str);
                let path = path.unwrap_or_else(|| text(&part, "filename")).to_owned();
                Self::File { id, path }
            }
            "compaction" => Self::Compaction {
                automatic: fields.get("auto") == Some(&Value::Bool(true)),
            },
            "step-start" | "step-finish" | "snapshot" | "agent" | "subtask" | "retry" => {
                Self::Empty
            }
            _ => return None,
        })
    }
}

impl HostCall {
    fn read(id: String, mut part: Map<String, Value>) -> Self {
        let tool = take_text(&mut part, "tool");
        let call = take_text(&mut part, "callID");
        let mut state = match part.remove("state") {
            Some(Value::Object(state)) => state,
            _ => Map::new(),
        };
        let input = state.remove("input").unwrap_or_default();
        let metadata = state.remove("metadata").unwrap_or_default();
        let time = state.remove("time").unwrap_or_default();
        let (progress, mut output) = match take_text(&mut state, "status").as_str() {
            "completed" => (CallState::Completed, take_text(&mut state, "output")),
            "error" => (CallState::Error, take_text(&mut state, "error")),
            _ => (CallState::Running, String::new()),
        };
        let delegates = tools::kind(&tool) == CallKind::Delegate;
        if delegates && let Some(result) = task_result(&output) {
            output = result.to_owned();
        }
        let exit = metadata.get("exit").and_then(Value::as_i64);
        Self {
            changed: match progress {
                CallState::Completed => changed_files(&tool, &input, &metadata),
                CallState::Running | CallState::Error => Vec::new(),
            },
            exit_code: exit.and_then(|code| i32::try_from(code).ok()),
            child: some(&metadata, "sessionId").filter(|_| delegates),
            began: time.get("start").and_then(Value::as_i64),
            ended: time.get("end").and_then(Value::as_i64),
            state: progress,
            id,
            call,
            tool,
            input,
            output,
        }
    }
}

/// Returns a subagent's answer without the tags that OpenCode wraps around it.
fn task_result(output: &str) -> Option<&str> {
    let (_, rest) = output.split_once("<task_result>")?;
    let (result, _) = rest.split_once("</task_result>")?;
    let result = result.strip_prefix('\n').unwrap_or(result);
    Some(result.strip_suffix('\n').unwrap_or(result))
}

/// Returns the files that a tool changed, by its own account.
fn changed_files(tool: &str, input: &Value, metadata: &Value) -> Vec<String> {
    if let Some(files) = metadata.get("files").and_then(Value::as_array) {
        let path = |file| {
            let names = ["movePath", "filePath", "relativePath"];
            names.iter().find_map(|name| some(file, name))
        };
        return files.iter().filter_map(path).collect();
    }
    match tool {
        "write" | "edit" => some(input, "filePath").into_iter().collect(),
        _ => Vec::new(),
    }
}

fn usage(info: &Value) -> Option<Usage> {
    let tokens = info.get("tokens").filter(|tokens| tokens.is_object())?;
    let cache = tokens.get("cache").unwrap_or(&Value::Null);
    let cost = info.get("cost").and_then(Value::as_f64);
    Some(Usage {
        model: some(info, "modelID"),
        input: number(tokens, "input"),
        cache_read: number(cache, "read"),
        cache_write: number(cache, "write"),
        output: number(tokens, "output"),
        reasoning: number(tokens, "reasoning"),
        micro_dollars: cost.and_then(micro_dollars),
    })
}

/// Converts dollars to millionths; an impossible amount counts as unknown.
fn micro_dollars(dollars: f64) -> Option<u64> {
    let micro = (dollars * 1e6).round();
    let is_sane = (0.0..1e15).contains(&micro);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked just above"
    )]
    is_sane.then_some(micro as u64)
}

/// Takes a text out of an object without copying it; empty if it is missing or not a text.
fn take_text(fields: &mut Map<String, Value>, key: &str) -> String {
    match fields.remove(key) {
        Some(Value::String(text)) => text,
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(tool: &str, state: &Value) -> HostCall {
        let part = json!({ "type": "tool", "callID": "call_1", "tool": tool, "state": state });
        match HostPart::read("prt_1".to_owned(), part) {
            Some(HostPart::Call(call)) => *call,
            part => panic!("{part:?}"),
        }
    }

    fn message(value: Value) -> HostMessage {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn tools_say_which_files_they_changed() {
        let changed = |tool: &str, input: Value, metadata: Value| {
            let state = json!({ "status": "completed", "input": input, "output": "ok", "metadata": metadata });
            call(tool, &state).changed
        };
        let at = |path: &str| json!({ "filePath": path });
        assert_eq!(changed("write", at("/p/a"), json!({})), ["/p/a"]);
        assert_eq!(changed("edit", at("/p/b"), json!({})), ["/p/b"]);
        let files = json!({ "files": [
            { "filePath": "/p/c", "type": "update" },
            { "filePath": "/p/d", "movePath": "/p/e", "type": "move" },
        ] });
        let patch = changed("apply_patch", json!({ "patchText": "" }), files);
        assert_eq!(patch, ["/p/c", "/p/e"]);
        assert!(changed("read", at("/p/f"), json!({})).is_empty());
    }

    #[test]
    fn calls_have_an_exit_code_an_error_or_a_subagent() {
        let bash = json!({ "status": "completed", "input": {}, "metadata": { "exit": 2 } });
        assert_eq!(call("bash", &bash).exit_code, Some(2));
        let failed = call(
            "read",
            &json!({ "status": "error", "error": "File not found" }),
        );
        assert_eq!(
            (failed.state, failed.output.as_str()),
            (CallState::Error, "File not found")
        );
        let running = json!({ "status": "running", "metadata": { "sessionId": "ses_2" } });
        let running = call("task", &running);
        assert_eq!(
            (running.state, running.child.as_deref()),
            (CallState::Running, Some("ses_2"))
        );
        let output = "<task id=\"ses_2\">\n<task_result>\nAll done\n</task_result>\n</task>";
        let done = call("task", &json!({ "status": "completed", "output": output }));
        assert_eq!(done.output, "All done");
    }

    #[test]
    fn parts_without_content_and_unknown_ones_are_kept_apart() {
        let read = |part: Value| HostPart::read("p".to_owned(), part);
        let ignored = json!({ "type": "text", "text": "seen, not sent", "ignored": true });
        assert!(matches!(read(ignored), Some(HostPart::Empty)));
        assert!(matches!(
            read(json!({ "type": "step-start" })),
            Some(HostPart::Empty)
        ));
        assert!(read(json!({ "type": "brand-new" })).is_none());
        assert!(read(json!(7)).is_none());
    }

    #[test]
    fn an_interrupted_message_says_so_and_a_failed_one_says_why() {
        let error = |name: &str, text: &str| {
            let error = json!({ "name": name, "data": { "message": text } });
            message(json!({ "id": "m", "role": "assistant", "error": error, "parts": [] })).error
        };
        assert_eq!(
            error("MessageAbortedError", "Aborted"),
            Some(HostError::Aborted)
        );
        let refused = HostError::Failed("APIError: too long".to_owned());
        assert_eq!(error("APIError", "too long"), Some(refused));
    }

    #[test]
    fn fields_of_another_type_are_absent_and_a_message_needs_its_id() {
        let odd = json!({ "id": "m", "role": "user", "time": 7, "summary": "yes", "tokens": [],
            "parts": [{ "type": "text", "id": 5, "text": { "deep": true } }, { "type": "tool" }] });
        let odd = message(odd);
        assert_eq!((odd.at, odd.is_summary, odd.parts.len()), (None, false, 2));
        for bad in [
            json!({ "role": "user", "parts": [] }),
            json!({ "id": "m", "role": "system", "parts": [] }),
            json!({ "id": "m", "role": "user" }),
        ] {
            assert!(serde_json::from_value::<HostMessage>(bad).is_err());
        }
    }
}
