//! The state of a turn, from the messages that OpenCode has stored.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use super::wire::{WireFault, WireMessage, WirePart};
use crate::budget::Spending;
use crate::host::{EndedTurn, ToolUse, TurnFault, TurnFinish, TurnView};

/// State of a session, from `/session/status`, where only sessions at work are listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Nothing is running.
    Idle,
    /// A turn is running.
    Busy,
    /// The server waits before it asks the provider again.
    Retry {
        /// The provider's message.
        message: String,
        /// Time of the next try, in milliseconds.
        next: i64,
    },
}

/// Reads the state of the turn that a message started.
pub(super) fn view(
    messages: &[WireMessage],
    message: &str,
    work: &Work,
    directory: &Path,
) -> TurnView {
    let Some(place) = messages.iter().position(|one| one.info.id == message) else {
        return TurnView::Missing;
    };
    let turn = messages.get(place + 1..).unwrap_or_default();
    let idle = *work == Work::Idle;
    let last = turn.last();
    // Its end is what is stored: the status may say "busy" for seconds after it, or forever.
    if let Some(last) = last
        && let Some(finish) = finish(last, idle)
    {
        return TurnView::Ended(Box::new(end(turn, last, finish, directory)));
    }
    match (work, last) {
        (Work::Retry { message, next }, _) => TurnView::Waiting {
            message: message.clone(),
            until: *next,
        },
        (Work::Busy, _) => TurnView::Running {
            progress: progress(turn),
            doing: last.and_then(doing),
            spent: spending(turn),
        },
        (Work::Idle, Some(last)) if last.info.role == "assistant" => TurnView::Cut {
            // A step that was stored whole has no unknown effects: the next one can begin.
            used_tools: last.info.time.completed.is_none()
                && last.parts.iter().any(|part| part.kind == "tool"),
            spent: spending(turn),
        },
        (Work::Idle, _) => TurnView::Unanswered,
    }
}

/// Returns the end of a turn whose last message is this one, or `None` if it is still running.
fn finish(last: &WireMessage, idle: bool) -> Option<TurnFinish> {
    let info = &last.info;
    let is_summary = info.summary.as_ref().and_then(Value::as_bool) == Some(true);
    if info.role != "assistant" || is_summary {
        return None;
    }
    if let Some(error) = &info.error {
        // A server that is at work may still recover, as it does when a prompt was too long.
        return idle.then(|| fault(error));
    }
    info.time.completed?;
    match info.finish.as_deref()? {
        "tool-calls" | "unknown" => None,
        "length" => Some(TurnFinish::Length),
        "content-filter" => Some(failed(TurnFault::Other, "the provider's filter", None)),
        _ => Some(TurnFinish::Stop),
    }
}

fn failed(fault: TurnFault, message: &str, until: Option<i64>) -> TurnFinish {
    TurnFinish::Failed {
        fault,
        message: message.to_owned(),
        until,
    }
}

/// Words of providers about limits that waiting or paying lifts.
const LIMITS: [&str; 8] = [
    "rate limit",
    "usage limit",
    "quota",
    "too many requests",
    "insufficient",
    "credit",
    "billing",
    "limit reached",
];

/// Reads the error of a message.
fn fault(error: &WireFault) -> TurnFinish {
    let data = &error.data;
    let message = data.get("message").and_then(Value::as_str);
    let message = message.unwrap_or(&error.name);
    let status = data.get("statusCode").and_then(Value::as_u64);
    let body = data.get("responseBody").and_then(Value::as_str);
    let said = format!("{message} {}", body.unwrap_or_default()).to_lowercase();
    match (error.name.as_str(), status) {
        ("MessageAbortedError", _) => TurnFinish::Stopped,
        ("MessageOutputLengthError", _) => TurnFinish::Length,
        ("ProviderAuthError", _) | ("APIError", Some(401 | 403)) => {
            failed(TurnFault::Credentials, message, None)
        }
        ("APIError", Some(402 | 429)) => failed(TurnFault::Limit, message, reset(data)),
        ("APIError", _) if LIMITS.iter().any(|word| said.contains(word)) => {
            failed(TurnFault::Limit, message, reset(data))
        }
        (name, _) => failed(TurnFault::Other, &format!("{name}: {message}"), None),
    }
}

/// Returns the time at which a provider can be asked again: seconds from now, or a time.
fn reset(data: &Value) -> Option<i64> {
    let headers = data.get("responseHeaders")?;
    let after = headers.get("retry-after").and_then(Value::as_str);
    if let Some(seconds) = after.and_then(|text| text.trim().parse::<i64>().ok()) {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = i64::try_from(now.ok()?.as_millis()).ok()?;
        return now.checked_add(seconds.checked_mul(1000)?);
    }
    let names = ["anthropic-ratelimit-unified-reset", "x-ratelimit-reset"];
    let reset = names.iter().find_map(|name| headers.get(name)?.as_str());
    let reset: i64 = reset?.trim().parse().ok()?;
    reset.checked_mul(1000)
}

fn end(
    turn: &[WireMessage],
    last: &WireMessage,
    finish: TurnFinish,
    directory: &Path,
) -> EndedTurn {
    let texts = last.parts.iter().filter(|part| {
        // Text of plugins and tools does not count.
        part.kind == "text" && !part.synthetic && !part.ignored
    });
    let texts: Vec<&str> = texts.filter_map(|part| part.text.as_deref()).collect();
    let tools = || {
        let answers = turn.iter().filter(|one| one.info.role == "assistant");
        answers.flat_map(|one| &one.parts)
    };
    let calls = tools()
        .filter(|part| part.kind == "tool")
        .filter_map(|part| {
            let state = part.state.as_ref()?;
            Some(ToolUse {
                name: part.tool.clone()?,
                input: state.input.clone(),
                succeeded: state.status == "completed",
            })
        });
    EndedTurn {
        finish,
        text: texts.join("\n"),
        calls: calls.collect(),
        spent: spending(turn),
        artifacts: artifacts(tools(), directory),
    }
}

/// Returns the files that a turn changed: from the snapshots of its steps, else from its tools.
fn artifacts<'a>(parts: impl Iterator<Item = &'a WirePart>, directory: &Path) -> Vec<String> {
    let mut found = BTreeSet::new();
    let mut add = |path: &str| {
        let relative = Path::new(path).strip_prefix(directory);
        let path = relative.map_or_else(|_| path.to_owned(), |path| path.display().to_string());
        found.insert(path);
    };
    for part in parts {
        if let Some(files) = part.files.as_ref().and_then(Value::as_array) {
            for file in files {
                let path = file.as_str().or_else(|| file.get("file")?.as_str());
                path.into_iter().for_each(&mut add);
            }
        }
        let wrote = matches!(part.tool.as_deref(), Some("write" | "edit"));
        if let Some(state) = part.state.as_ref().filter(|_| wrote)
            && state.status == "completed"
            && let Some(path) = state.input.get("filePath").and_then(Value::as_str)
        {
            add(path);
        }
    }
    found.into_iter().collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "token counts of a provider are whole and not negative"
)]
fn spending(turn: &[WireMessage]) -> Spending {
    let mut all = Spending::default();
    for message in turn.iter().filter(|one| one.info.role == "assistant") {
        let tokens = message.info.tokens.clone().unwrap_or_default();
        all.add(&Spending {
            input: tokens.input as u64,
            output: (tokens.output + tokens.reasoning) as u64,
            cache_read: tokens.cache.read as u64,
            cache_write: tokens.cache.write as u64,
            cost: message.info.cost.unwrap_or_default(),
            turns: 0,
            requests: 1,
        });
    }
    all
}

/// Returns a figure that grows with everything that a session does.
fn progress(turn: &[WireMessage]) -> u64 {
    let parts = turn.iter().flat_map(|one| &one.parts);
    let size = |part: &WirePart| {
        let text = part.text.as_ref().map_or(0, String::len);
        let state = part.state.as_ref().map_or(0, |state| state.status.len());
        1 + text + state
    };
    parts.map(|part| size(part) as u64).sum()
}

fn doing(last: &WireMessage) -> Option<String> {
    let part = last.parts.last()?;
    let state = part.state.as_ref();
    let running = state.is_some_and(|state| state.status != "completed");
    part.tool.clone().filter(|_| running)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn messages(value: Value) -> Vec<WireMessage> {
        serde_json::from_value(value).unwrap()
    }

    fn user(id: &str) -> Value {
        json!({"info": {"id": id, "role": "user"}, "parts": [{"type": "text", "text": "go"}]})
    }

    #[expect(clippy::needless_pass_by_value, reason = "literals of the tests")]
    fn answer(id: &str, more: Value, parts: Value) -> Value {
        let mut info = json!({"id": id, "role": "assistant", "time": {"created": 1, "completed": 2},
            "finish": "stop", "cost": 0.5, "tokens": {"input": 10, "output": 2, "reasoning": 1,
            "cache": {"read": 5, "write": 0}}});
        for (name, value) in more.as_object().unwrap() {
            info[name] = value.clone();
        }
        json!({"info": info, "parts": parts})
    }

    fn look(value: Value, work: &Work) -> TurnView {
        view(&messages(value), "m1", work, Path::new("/p"))
    }

    #[test]
    fn a_turn_is_over_when_its_last_message_is_stored_whole() {
        let text = json!([{"type": "text", "text": "Done."},
            {"type": "text", "text": "injected", "synthetic": true}]);
        let stored = json!([
            user("m1"),
            answer(
                "m2",
                json!({"finish": "tool-calls"}),
                json!([{"type": "tool", "tool": "write", "state": {"status": "completed",
            "input": {"filePath": "/p/a b.txt"}}}])
            ),
            answer("m3", json!({}), text)
        ]);
        // A server that says "busy" forever is not believed.
        for work in [Work::Idle, Work::Busy] {
            let TurnView::Ended(end) = look(stored.clone(), &work) else {
                panic!("{work:?}");
            };
            assert_eq!(
                (end.text.as_str(), &end.finish),
                ("Done.", &TurnFinish::Stop)
            );
            assert_eq!(end.artifacts, ["a b.txt"]);
            assert_eq!((end.spent.tokens(), end.spent.requests), (36, 2));
        }
    }

    #[test]
    fn a_turn_goes_on_waits_or_is_cut_off() {
        let open = json!({"time": {"created": 1}, "finish": null});
        let tool = json!([{"type": "tool", "tool": "bash", "state": {"status": "running"}}]);
        let cut = |used_tools, view| matches!(view, TurnView::Cut { used_tools: used, .. } if used == used_tools);
        assert_eq!(look(json!([]), &Work::Idle), TurnView::Missing);
        assert_eq!(look(json!([user("m1")]), &Work::Idle), TurnView::Unanswered);
        let partial = json!([user("m1"), answer("m2", open.clone(), json!([]))]);
        assert!(cut(false, look(partial.clone(), &Work::Idle)));
        assert!(matches!(
            look(partial, &Work::Busy),
            TurnView::Running { .. }
        ));
        let partial = json!([user("m1"), answer("m2", open, tool)]);
        assert!(cut(true, look(partial, &Work::Idle)));
        // Between two steps everything is known.
        let step = json!([
            user("m1"),
            answer("m2", json!({"finish": "tool-calls"}), json!([]))
        ]);
        assert!(cut(false, look(step, &Work::Idle)));
        // A summary is not an answer.
        let summary = json!([
            user("m1"),
            answer("m2", json!({"summary": true}), json!([]))
        ]);
        assert!(matches!(
            look(summary, &Work::Busy),
            TurnView::Running { .. }
        ));
        let retry = Work::Retry {
            message: "429".to_owned(),
            next: 7,
        };
        assert!(matches!(
            look(json!([user("m1")]), &retry),
            TurnView::Waiting { until: 7, .. }
        ));
    }

    #[test]
    fn errors_have_kinds() {
        let read = |error: Value| {
            let stored = json!([user("m1"), answer("m2", json!({"error": error}), json!([]))]);
            match look(stored, &Work::Idle) {
                TurnView::Ended(end) => end.finish,
                other => panic!("{other:?}"),
            }
        };
        let api = |status: u64, message: &str| {
            json!({"name": "APIError", "data": {"message": message, "statusCode": status,
                "isRetryable": false, "responseHeaders": {"x-ratelimit-reset": "50"}}})
        };
        assert_eq!(
            read(json!({"name": "MessageAbortedError"})),
            TurnFinish::Stopped
        );
        assert_eq!(
            read(json!({"name": "MessageOutputLengthError"})),
            TurnFinish::Length
        );
        let kind = |finish| match finish {
            TurnFinish::Failed { fault, until, .. } => (fault, until),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            kind(read(api(429, "slow"))),
            (TurnFault::Limit, Some(50_000))
        );
        let quota = "You exceeded your current quota";
        assert_eq!(kind(read(api(400, quota))).0, TurnFault::Limit);
        assert_eq!(kind(read(api(401, "key"))).0, TurnFault::Credentials);
        assert_eq!(kind(read(api(400, "bad"))).0, TurnFault::Other);
        let auth = json!({"name": "ProviderAuthError", "data": {"message": "no key"}});
        assert_eq!(kind(read(auth)).0, TurnFault::Credentials);
    }
}
