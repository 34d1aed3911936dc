//! Spans of finished work.
//!
//! A tree of frames is a trace: a frame is `invoke_agent`, below its parent's span, and a model call is
//! `chat`, below the frame that it was charged to. Work outside of frames is a trace for each session.

use std::collections::BTreeSet;

use flamestack_core::subagent::SubagentRun;
use flamestack_core::transcript::Usage;
use flamestack_core::{FrameId, SessionRef, Status};
use flamestack_engine::views::work::{ChargedCall, Work, WorkPlace};
use flamestack_store::Reading;
use serde_json::{Value, json};

type Result<T> = std::result::Result<T, flamestack_engine::EngineError>;

/// Returns the spans of finished frames, ended subagents and model calls; with `content` their titles
/// and results too.
pub fn spans(reading: &dyn Reading, content: bool) -> Result<Vec<Value>> {
    FinishedSpans::default().next(reading, content)
}

/// Follows what is finished: each span is returned once.
#[derive(Debug, Default)]
pub struct FinishedSpans {
    work: Work,
    /// End of the newest span so far.
    until: i64,
    /// Ids of the spans with that end.
    newest: BTreeSet<String>,
}

impl FinishedSpans {
    /// Returns the spans that ended since the last time.
    pub fn next(&mut self, reading: &dyn Reading, content: bool) -> Result<Vec<Value>> {
        let since = self.until;
        let mut calls = Vec::new();
        self.work
            .catch_up_with_calls(reading, &mut |call| calls.push(call))?;
        let work = &self.work;
        let mut ended_frames = Vec::new();
        work.each_place(&mut |place, _| {
            if let (Some(begun), Some(ended)) = (place.begun, place.ended)
                && ended.0 >= since
            {
                let span = frame_span(work, place, (begun.0, ended.0), content);
                ended_frames.push((place.id, ended.0, span));
            }
        });
        if content {
            add_results(reading, &mut ended_frames)?;
        }
        let frames = ended_frames.into_iter().map(|(_, end, span)| (end, span));
        let mut spans: Vec<(i64, Value)> = frames.collect();
        for run in reading.runs(false)? {
            if let Some(ended) = run.ended.filter(|ended| ended.0 >= since) {
                spans.push((ended.0, session_span(work, &run, ended.0)));
            }
        }
        spans.extend(calls.iter().map(|call| (call.at, call_span(work, call))));
        Ok(self.unsent(spans))
    }

    /// Leaves out spans that were returned before, and records the newest.
    fn unsent(&mut self, mut spans: Vec<(i64, Value)>) -> Vec<Value> {
        spans.retain(|(end, span)| *end != self.until || !self.newest.contains(&span_id(span)));
        let until = spans
            .iter()
            .map(|(end, _)| *end)
            .max()
            .unwrap_or(self.until);
        if until > self.until {
            self.until = until;
            self.newest.clear();
        }
        let newest = spans.iter().filter(|(end, _)| *end == self.until);
        self.newest.extend(newest.map(|(_, span)| span_id(span)));
        spans.into_iter().map(|(_, span)| span).collect()
    }
}

fn span_id(span: &Value) -> String {
    let id = span.get("spanId").and_then(Value::as_str);
    id.unwrap_or_default().to_owned()
}

/// Adds the results of frames to their spans. Frames are read one by one: their texts are not part of the
/// view model.
fn add_results(reading: &dyn Reading, ended: &mut [(FrameId, i64, Value)]) -> Result<()> {
    for (frame, _, span) in ended {
        let frame = reading.whole_frame(frame)?;
        let results = frame.and_then(|frame| frame.compacted_results());
        if let (Some(results), Some(Value::Array(list))) = (results, span.get_mut("attributes")) {
            list.push(text("flamestack.frame.results", &results));
        }
    }
    Ok(())
}

fn session_span(work: &Work, run: &SubagentRun, ended: i64) -> Value {
    let session = &run.session;
    let mut attributes = vec![
        text("gen_ai.operation.name", "invoke_agent"),
        text("gen_ai.conversation.id", &session.to_string()),
        text("flamestack.session.state", run.state.as_str()),
    ];
    if let Some(kind) = &run.kind {
        attributes.push(text("gen_ai.agent.name", kind.as_str()));
    }
    span(
        &Trace::of_session(work, session),
        &id("session", &session.to_string()),
        "invoke_agent subagent",
        (run.started.0, ended),
        &attributes,
    )
}

/// The trace that a span belongs to, and its parent in it.
struct Trace {
    id: String,
    parent: Option<String>,
}

impl Trace {
    fn of_frame(work: &Work, frame: &FrameId) -> Self {
        let path = work.path(frame);
        let root = path
            .first()
            .map_or_else(|| frame.to_string(), |top| top.id.to_string());
        Self {
            id: trace("tree", &root),
            parent: None,
        }
    }

    fn of_session(work: &Work, session: &SessionRef) -> Self {
        match work.frame_of(session) {
            Some(frame) => Self {
                parent: Some(id("frame", frame.as_str())),
                ..Self::of_frame(work, &frame)
            },
            None => Self {
                id: trace("session", &session.to_string()),
                parent: None,
            },
        }
    }
}

fn frame_span(work: &Work, place: &WorkPlace, time: (i64, i64), content: bool) -> Value {
    let path = work.path(&place.id);
    let parent = path
        .iter()
        .rev()
        .nth(1)
        .map(|above| id("frame", above.id.as_str()));
    let mut attributes = vec![
        text("gen_ai.operation.name", "invoke_agent"),
        text("gen_ai.agent.id", place.id.as_str()),
        text("flamestack.frame.status", place.status.as_str()),
        text("flamestack.frame.origin", place.origin.as_str()),
        number("flamestack.frame.proofs", place.proofs),
        truth("flamestack.frame.claimed", place.standing().is_claimed),
        number(
            "gen_ai.usage.input_tokens",
            place.own.tokens() - place.own.output,
        ),
        number("gen_ai.usage.output_tokens", place.own.output),
        number("flamestack.total.tokens", place.total.tokens()),
        number("flamestack.saved.tokens", place.total.saved),
    ];
    if let Some(session) = &place.session {
        attributes.push(text("gen_ai.conversation.id", &session.to_string()));
    }
    if content {
        attributes.push(text("gen_ai.agent.name", &place.title));
    }
    let trace = Trace {
        parent,
        ..Trace::of_frame(work, &place.id)
    };
    let name = format!("invoke_agent {}", place.id);
    let mut span = span(
        &trace,
        &id("frame", place.id.as_str()),
        &name,
        time,
        &attributes,
    );
    if let (Status::Failed, Value::Object(fields)) = (place.status, &mut span) {
        fields.insert("status".to_owned(), json!({ "code": 2 }));
    }
    span
}

fn call_span(work: &Work, call: &ChargedCall) -> Value {
    let trace = match call.frame {
        Some(frame) => Trace {
            parent: Some(id("frame", frame.as_str())),
            ..Trace::of_frame(work, &frame)
        },
        None => Trace {
            id: trace("session", &call.session.to_string()),
            parent: None,
        },
    };
    let Usage {
        model,
        input,
        cache_read,
        cache_write,
        output,
        micro_dollars,
        ..
    } = &call.usage;
    let mut attributes = vec![
        text("gen_ai.operation.name", "chat"),
        text("gen_ai.conversation.id", &call.session.to_string()),
        number(
            "gen_ai.usage.input_tokens",
            input + cache_read + cache_write,
        ),
        number("gen_ai.usage.output_tokens", *output),
        number("gen_ai.usage.cache_read.input_tokens", *cache_read),
        number("gen_ai.usage.cache_creation.input_tokens", *cache_write),
    ];
    if let Some(model) = model {
        attributes.push(text("gen_ai.request.model", model));
    }
    if let Some(micro) = micro_dollars {
        attributes.push(number("flamestack.cost.micro_dollars", *micro));
    }
    let name = format!("chat {}", model.as_deref().unwrap_or("model"));
    // The journal has the end of a call; its begin is the session's event before it.
    let time = (call.begun, call.at);
    span(
        &trace,
        &id("call", &call.seq.to_string()),
        &name,
        time,
        &attributes,
    )
}

fn span(
    trace: &Trace,
    id: &str,
    name: &str,
    (from, to): (i64, i64),
    attributes: &[Value],
) -> Value {
    let nanoseconds = |at: i64| format!("{}", i128::from(at) * 1_000_000);
    let mut span = json!({
        "traceId": trace.id,
        "spanId": id,
        "name": name,
        "kind": 1,
        "startTimeUnixNano": nanoseconds(from),
        "endTimeUnixNano": nanoseconds(to.max(from)),
        "attributes": attributes,
    });
    if let (Some(parent), Value::Object(fields)) = (&trace.parent, &mut span) {
        fields.insert("parentSpanId".to_owned(), json!(parent));
    }
    span
}

pub(super) fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

/// 64-bit numbers are strings in OTLP's JSON.
fn number(key: &str, value: u64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

fn truth(key: &str, value: bool) -> Value {
    json!({ "key": key, "value": { "boolValue": value } })
}

/// Returns the id of a span: 8 bytes in hex.
fn id(kind: &str, name: &str) -> String {
    hash(kind, name).get(..16).unwrap_or_default().to_owned()
}

/// Returns the id of a trace: 16 bytes in hex.
fn trace(kind: &str, name: &str) -> String {
    hash(kind, name).get(..32).unwrap_or_default().to_owned()
}

fn hash(kind: &str, name: &str) -> String {
    let text = format!("flamestack {kind} {name}");
    blake3::hash(text.as_bytes()).to_hex().to_string()
}
