//! OpenCode's messages as the neutral entries that the engine takes.

use flamestack_brief::compaction::without_restored;
use flamestack_core::id::Timestamp;
use flamestack_core::session::life::{CUT_OFF, STOPPED};
use flamestack_core::transcript::{Answer, CallKind, Entry, EntryKind, Speaker};

use super::is_own;
use super::message::{CallState, HostCall, HostError, HostMessage, HostPart, HostRole};
use crate::opencode::commands;
use crate::recordings::tools;

/// Description of the error of a provider that said nothing and charged nothing.
pub(crate) const EMPTY_ANSWER: &str = "the provider's answer was empty";

/// The origin of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source<'a> {
    /// A running host, which reports to-do lists, compactions and ends of turns as events.
    Live {
        /// True if an agent's tool call started the host: its prompts are the agent's words.
        in_tool_call: bool,
    },
    /// OpenCode's database, which has nothing but the messages.
    Recorded {
        /// The directory that the session ran in.
        directory: &'a str,
        /// True for the session of a subagent: its prompts are its parent's words.
        is_subagent: bool,
    },
}

impl Source<'_> {
    fn path(&self, path: &str) -> String {
        match self {
            Self::Live { .. } => path.to_owned(),
            Self::Recorded { directory, .. } => tools::inside(path, directory),
        }
    }
}

/// Converts a message, except for calls that have no answer yet: those have none here either.
pub(crate) fn entries(message: &HostMessage, source: Source<'_>) -> Vec<Entry> {
    let mut entries = Vec::new();
    for part in &message.parts {
        part_entries(message, part, source, &mut entries);
    }
    entries.extend(usage_entry(message));
    let recorded = matches!(source, Source::Recorded { .. });
    match &message.error {
        _ if message.is_summary => {}
        Some(HostError::Aborted) => {
            let how = STOPPED.to_owned();
            entries.push(entry(message, &message.id, EntryKind::Interrupted { how }));
        }
        Some(HostError::Failed(why)) => {
            let why = why.clone();
            entries.push(entry(message, &message.id, EntryKind::Failed { why }));
        }
        // A turn without a word and without a cost is an error of the provider, not an end. A running host
        // asks again, and reports the end of the turn by itself.
        _ if recorded && message.is_empty_answer() => {
            let why = EMPTY_ANSWER.to_owned();
            entries.push(entry(message, &message.id, EntryKind::Failed { why }));
        }
        _ if recorded && message.is_from_model() && message.finish == "stop" => {
            entries.push(entry(message, &message.id, EntryKind::TurnEnded));
        }
        _ => {}
    }
    entries
}

/// Converts the cost of a message and nothing else of it.
fn usage_entry(message: &HostMessage) -> Option<Entry> {
    let usage = message.usage.clone().filter(|_| message.is_from_model())?;
    Some(entry(message, &message.id, EntryKind::Usage(usage)))
}

fn part_entries(
    message: &HostMessage,
    part: &HostPart,
    source: Source<'_>,
    entries: &mut Vec<Entry>,
) {
    let (id, kind) = match part {
        HostPart::Text { text, .. } if is_own(text) || text.trim().is_empty() => return,
        HostPart::Text {
            id,
            text,
            is_synthetic,
        } => match text_kind(message, text, *is_synthetic, source) {
            Some(kind) => (id, kind),
            None => return,
        },
        HostPart::Reasoning { id, text } => (id, EntryKind::Thinking { text: text.clone() }),
        HostPart::Patch { id, paths } => {
            let paths = paths.iter().map(|path| source.path(path)).collect();
            (id, EntryKind::Changed { paths })
        }
        HostPart::File { id, path } if !path.is_empty() => {
            let paths = vec![source.path(path)];
            let text = String::new();
            (id, EntryKind::Attached { paths, text })
        }
        HostPart::Call(call) => return call_entries(message, call, source, entries),
        HostPart::File { .. } | HostPart::Compaction { .. } | HostPart::Empty => return,
    };
    entries.push(entry(message, id, kind));
}

fn text_kind(
    message: &HostMessage,
    text: &str,
    is_synthetic: bool,
    source: Source<'_>,
) -> Option<EntryKind> {
    let is_host = match source {
        Source::Live { in_tool_call } => is_synthetic || in_tool_call,
        Source::Recorded { is_subagent, .. } => is_synthetic || is_subagent,
    };
    Some(match (message.role, message.is_summary, source) {
        (HostRole::User, ..) if is_host => EntryKind::User {
            speaker: Speaker::Host,
            text: text.to_owned(),
        },
        (HostRole::User, ..) => match commands::typed(text) {
            Some(command) => EntryKind::User {
                speaker: Speaker::Slash,
                text: command,
            },
            None => EntryKind::User {
                speaker: Speaker::Person,
                text: text.to_owned(),
            },
        },
        (HostRole::Assistant, false, _) => EntryKind::Assistant {
            text: without_restored(text),
        },
        (HostRole::Assistant, true, Source::Recorded { .. }) => EntryKind::Compacted {
            automatic: true,
            summary: Some(without_restored(text)),
            tokens_before: None,
        },
        // An event reports the summary when it has replaced what it sums up.
        (HostRole::Assistant, true, Source::Live { .. }) => return None,
    })
}

fn call_entries(
    message: &HostMessage,
    call: &HostCall,
    source: Source<'_>,
    entries: &mut Vec<Entry>,
) {
    let input = &call.input;
    let directory = match source {
        Source::Live { .. } => "",
        Source::Recorded { directory, .. } => directory,
    };
    let made = tools::call(&call.call, &call.tool, input, input.to_string(), directory);
    entries.push(entry(message, &call.id, EntryKind::Call(made)));
    // Named after the part and not after the child, which may be given more to do later.
    let moment = |at: Option<i64>, kind| Entry {
        at: at.or(message.at).map(Timestamp),
        ..entry(message, &call.id, kind)
    };
    let text = |name: &str| {
        let value = input.get(name).and_then(serde_json::Value::as_str);
        value.unwrap_or_default().to_owned()
    };
    if let Some(child) = &call.child {
        let kind = [text("subagent_type"), text("agent")];
        let started = EntryKind::SubagentStarted {
            id: child.clone(),
            call: Some(call.call.clone()),
            kind: kind.into_iter().find(|kind| !kind.is_empty()),
            title: text("description"),
            prompt: text("prompt"),
        };
        entries.push(moment(call.began, started));
    }
    if call.state == CallState::Running {
        return;
    }
    let ok = call.state == CallState::Completed;
    if let Some(child) = &call.child {
        let ended = EntryKind::SubagentEnded {
            id: child.clone(),
            ok,
            text: call.output.clone(),
        };
        entries.push(moment(call.ended, ended));
    }
    if matches!(source, Source::Recorded { .. })
        && ok
        && tools::kind(&call.tool) == CallKind::Todo
        && let Some(todos) = tools::todos(input)
    {
        entries.push(entry(message, &call.id, EntryKind::Todos(todos)));
    }
    let answer = Answer {
        call: call.call.clone(),
        ok,
        exit_code: call.exit_code,
        text: call.output.clone(),
    };
    entries.push(entry(message, &call.id, EntryKind::Answer(answer)));
    // Of a recorded call, the answer says which file it wrote. Saying it again would record it once more
    // in stores that imported the session before.
    let is_known =
        matches!(source, Source::Recorded { .. }) && matches!(call.tool.as_str(), "write" | "edit");
    if !call.changed.is_empty() && !is_known {
        let paths = call.changed.iter().map(|path| source.path(path)).collect();
        entries.push(entry(message, &call.id, EntryKind::Changed { paths }));
    }
}

fn entry(message: &HostMessage, id: &str, kind: EntryKind) -> Entry {
    Entry {
        id: Some(id.to_owned()),
        message: Some(message.id.clone()),
        at: message.at.map(Timestamp),
        agent: None,
        kind,
    }
}

/// Returns the calls of a message that run. Only an event reports those: in a request to the model, a
/// call that runs was cut off long ago.
pub(crate) fn running_calls(message: &HostMessage) -> Vec<Entry> {
    let calls = calls(std::slice::from_ref(message));
    let running =
        calls.filter(|(_, call)| call.state == CallState::Running && !call.call.is_empty());
    running
        .map(|(_, call)| {
            let input = &call.input;
            let made = tools::call(&call.call, &call.tool, input, input.to_string(), "");
            Entry {
                at: call.began.or(message.at).map(Timestamp),
                ..entry(message, &call.id, EntryKind::Begun(made))
            }
        })
        .collect()
}

/// Returns true if any of the messages calls a subagent.
pub(crate) fn has_subagents(messages: &[HostMessage]) -> bool {
    calls(messages).any(|(_, call)| call.child.is_some())
}

/// Returns the ends of the subagents whose calls have no answer in a request to the model: no host
/// asks its model while such a call runs, so they were cut off when the host ended.
pub(crate) fn cut_off_subagents(messages: &[HostMessage]) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (message, call) in calls(messages) {
        let (CallState::Running, Some(child)) = (call.state, &call.child) else {
            continue;
        };
        let how = CUT_OFF.to_owned();
        entries.push(Entry {
            agent: Some(child.clone()),
            ..entry(message, &call.id, EntryKind::Interrupted { how })
        });
        let ended = EntryKind::SubagentEnded {
            id: child.clone(),
            ok: false,
            text: "Cut off: the host ended while it ran.".to_owned(),
        };
        entries.push(entry(message, &call.id, ended));
    }
    entries
}

fn calls(messages: &[HostMessage]) -> impl Iterator<Item = (&HostMessage, &HostCall)> {
    messages.iter().flat_map(|message| {
        message.parts.iter().filter_map(move |part| match part {
            HostPart::Call(call) => Some((message, call.as_ref())),
            _ => None,
        })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Builds before this one recorded a written file with the answer alone.
    #[test]
    fn a_recorded_call_names_the_file_that_it_wrote_once() {
        let message: HostMessage = serde_json::from_value(json!({
            "id": "msg_1", "role": "assistant",
            "parts": [{
                "id": "prt_1", "type": "tool", "callID": "c", "tool": "write",
                "state": { "status": "completed", "input": { "filePath": "/p/a.rs" }, "output": "ok" },
            }],
        }))
        .unwrap();
        let changes = |source| {
            let entries = entries(&message, source);
            let is_change = |entry: &&Entry| matches!(entry.kind, EntryKind::Changed { .. });
            entries.iter().filter(is_change).count()
        };
        let recorded = Source::Recorded {
            directory: "/p",
            is_subagent: false,
        };
        let live = Source::Live {
            in_tool_call: false,
        };
        assert_eq!((changes(live), changes(recorded)), (1, 0));
    }
}
