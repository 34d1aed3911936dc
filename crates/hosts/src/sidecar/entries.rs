//! Messages of a host as the neutral entries that the engine takes.

use flamestack_core::compaction::without_restored;
use flamestack_core::id::Timestamp;
use flamestack_core::transcript::{self, Answer, Entry, Todo, Voice, What};

use super::conversation::is_ours;
use super::wire::{CallState, Message, Part, Role, TodoItem, Usage};
use crate::transcript::tools;

/// What a message says, as far as it is final. A call that still runs is told without its answer.
pub(super) fn of_message(message: &Message) -> Vec<Entry> {
    let mut entries = Vec::new();
    for part in &message.parts {
        entries.extend(of_part(message, part));
    }
    if let Some(usage) = &message.usage {
        entries.push(entry(message, &message.id, What::Usage(cost(usage))));
    }
    if message.error.as_deref() == Some("aborted") {
        let how = "stopped by the user".to_owned();
        entries.push(entry(message, &message.id, What::Interrupted { how }));
    }
    entries
}

fn of_part(message: &Message, part: &Part) -> Vec<Entry> {
    let one = |id: &str, what| vec![entry(message, id, what)];
    match part {
        // What Flamestack or the host put there is nobody's word.
        Part::Text { text, .. } if is_ours(text) || text.trim().is_empty() => Vec::new(),
        Part::Text {
            id,
            text,
            synthetic,
        } => {
            let text = text.clone();
            let what = match message.role {
                Role::Assistant => What::Assistant {
                    text: without_restored(&text),
                },
                Role::User => What::User {
                    voice: match synthetic {
                        true => Voice::Host,
                        false => Voice::Person,
                    },
                    text,
                },
            };
            one(id, what)
        }
        Part::Thinking { id, text } => one(id, What::Thinking { text: text.clone() }),
        Part::Changed { id, paths } => one(
            id,
            What::Changed {
                paths: paths.clone(),
            },
        ),
        // A summary is told when it has taken the place of what it sums up.
        Part::Compaction { .. } => Vec::new(),
        Part::Call { .. } => of_call(message, part),
    }
}

fn of_call(message: &Message, part: &Part) -> Vec<Entry> {
    let Part::Call {
        id,
        call,
        tool,
        state,
        input,
        output,
        exit_code,
        changed,
        session,
        began,
        ended,
    } = part
    else {
        return Vec::new();
    };
    let text = |name: &str| {
        let value = input.get(name).and_then(serde_json::Value::as_str);
        value.unwrap_or_default().to_owned()
    };
    let mut entries = vec![entry(
        message,
        id,
        What::Call(tools::call(call, tool, input, input.to_string(), "")),
    )];
    // The part names it, not the child: the same child may be given more to do later.
    let moment = |at: Option<i64>, what| Entry {
        at: at.or(message.at).map(Timestamp),
        ..entry(message, id, what)
    };
    if let Some(child) = session {
        let kind = [text("subagent_type"), text("agent")];
        entries.push(moment(
            *began,
            What::SubagentStarted {
                id: child.clone(),
                call: Some(call.clone()),
                kind: kind.into_iter().find(|kind| !kind.is_empty()),
                title: text("description"),
                prompt: text("prompt"),
            },
        ));
    }
    if *state == CallState::Running {
        return entries;
    }
    let ok = *state == CallState::Completed;
    let answered = output.clone().unwrap_or_default();
    if let Some(child) = session {
        let text = answered.clone();
        let id = child.clone();
        entries.push(moment(*ended, What::SubagentEnded { id, ok, text }));
    }
    entries.push(entry(
        message,
        id,
        What::Answer(Answer {
            call: call.clone(),
            ok,
            exit_code: *exit_code,
            text: answered,
        }),
    ));
    if !changed.is_empty() {
        let paths = changed.clone();
        entries.push(entry(message, id, What::Changed { paths }));
    }
    entries
}

fn entry(message: &Message, id: &str, what: What) -> Entry {
    Entry {
        id: Some(id.to_owned()),
        message: Some(message.id.clone()),
        at: message.at.map(Timestamp),
        agent: None,
        what,
    }
}

fn cost(usage: &Usage) -> transcript::Usage {
    transcript::Usage {
        model: None,
        input: usage.input,
        cache_read: usage.cache_read,
        cache_write: usage.cache_write,
        output: usage.output,
        reasoning: usage.reasoning,
        micro_dollars: micro(usage.cost),
    }
}

/// Dollars in millionths; a host's nonsense is no cost.
fn micro(dollars: f64) -> Option<u64> {
    let micro = (dollars * 1e6).round();
    let sane = micro.is_finite() && (0.0..1e15).contains(&micro);
    // Within these bounds nothing is cut off.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked just above"
    )]
    sane.then_some(micro as u64)
}

/// What a message cost, and nothing else of it.
pub(super) fn cost_of(message: &Message) -> Option<Entry> {
    let usage = message.usage.as_ref()?;
    Some(entry(message, &message.id, What::Usage(cost(usage))))
}

/// Whether a request to the model has calls to subagents, and those among them that have no answer:
/// no host asks its model while such a call runs, so they were cut off with the host.
pub(super) fn came_back(messages: &[Message]) -> Option<Vec<Entry>> {
    let mut parts = messages.iter().flat_map(|message| &message.parts);
    parts
        .any(|part| {
            matches!(
                part,
                Part::Call {
                    session: Some(_),
                    ..
                }
            )
        })
        .then(|| cut_off(messages))
}

fn cut_off(messages: &[Message]) -> Vec<Entry> {
    let mut entries = Vec::new();
    for message in messages {
        for part in &message.parts {
            let Part::Call {
                id,
                state: CallState::Running,
                session: Some(child),
                ..
            } = part
            else {
                continue;
            };
            let how = "cut off with the host".to_owned();
            entries.push(Entry {
                agent: Some(child.clone()),
                ..entry(message, id, What::Interrupted { how })
            });
            let ended = What::SubagentEnded {
                id: child.clone(),
                ok: false,
                text: "Cut off: the host ended while it ran.".to_owned(),
            };
            entries.push(entry(message, id, ended));
        }
    }
    entries
}

/// The to-do list as it is from now on.
pub(super) fn of_todos(items: &[TodoItem]) -> Entry {
    let todos = items.iter().map(|item| Todo {
        text: item.text.clone(),
        status: tools::status(&item.status),
    });
    plain(What::Todos(todos.collect()))
}

/// Something that belongs to no message.
pub(super) fn plain(what: What) -> Entry {
    Entry {
        id: None,
        message: None,
        at: None,
        agent: None,
        what,
    }
}
