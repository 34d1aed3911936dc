//! Signals of sessions as the real OpenCode sent them, played to a sidecar in other orders, doubled and
//! with gaps.
//!
//! `tests/fixtures/signals/README.md` says how they were recorded.

use std::sync::LazyLock;

use flamestack_core::session::state::SessionState;
use flamestack_engine::Engine;
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::sidecar::{Served, said};

/// The signals of one session.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Stream {
    pub(crate) name: String,
    pub(crate) session: String,
    /// State in which the session stays.
    state: String,
    /// All of its states.
    states: Vec<String>,
    pub(crate) lines: Vec<Line>,
}

/// A line of the protocol.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Line {
    method: String,
    params: Value,
}

static STREAMS: LazyLock<Vec<Stream>> =
    LazyLock::new(|| streams(include_str!("../fixtures/signals/opencode-1.18.33.jsonl")));

/// Parses recorded streams.
pub(crate) fn streams(text: &str) -> Vec<Stream> {
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

impl Line {
    fn is_event(&self) -> bool {
        self.method == "observe"
    }

    /// Returns one line for each event.
    fn events(&self) -> Vec<Self> {
        let Some(events) = self.params.get("events").and_then(Value::as_array) else {
            return vec![self.clone()];
        };
        let session = &self.params["session"];
        let line = |event: &Value| Self {
            method: self.method.clone(),
            params: json!({ "session": session, "events": [event] }),
        };
        events.iter().map(line).collect()
    }
}

impl Stream {
    /// Returns the lines, one event in each.
    fn flat(&self) -> Vec<Line> {
        self.lines.iter().flat_map(Line::events).collect()
    }

    /// Returns the place after the last request of the host: what follows are events that may come in any
    /// order. A summary is complete before it replaces anything, so that its message is not among them.
    fn last_request(lines: &[Line]) -> usize {
        let is_summary =
            |line: &Line| line.params.pointer("/events/0/summary") == Some(&json!(true));
        let last = lines
            .iter()
            .rposition(|line| !line.is_event() || is_summary(line));
        last.map_or(0, |place| place + 1)
    }

    /// Plays lines to a sidecar, and returns an engine on its store, which ends with the host.
    pub(crate) fn played(lines: &[Line]) -> (Served, Engine) {
        // The sidecar hears of what happened, never of what is to come.
        let mut host = Served::at(1_900_000_000_000);
        for line in lines {
            if line.is_event() {
                let notice =
                    json!({ "jsonrpc": "2.0", "method": line.method, "params": line.params });
                host.send(&notice.to_string());
            } else {
                host.ask(&line.method, line.params.clone());
            }
        }
        let engine = host.ended();
        (host, engine)
    }

    /// Plays lines, and returns the states of the session.
    fn play(&self, lines: &[Line]) -> Vec<String> {
        let (_host, engine) = Self::played(lines);
        let session = format!("opencode:{}", self.session).parse().unwrap();
        let shown = engine.sessions().show(&session).unwrap();
        assert_eq!(
            shown.history.last().map(|change| change.to),
            Some(shown.row.life.state)
        );
        let states = shown.history.iter().map(|change| change.to);
        states.map(|state| state.as_str().to_owned()).collect()
    }

    /// Returns the lines of another turn, from its prompt to its end.
    fn another_turn(&self) -> Vec<Line> {
        let line = |method: &str, more: Value| {
            let mut params = json!({ "session": self.session });
            for (key, value) in more.as_object().unwrap() {
                params[key] = value.clone();
            }
            let method = method.to_owned();
            Line { method, params }
        };
        let message = said("msg_zzzz", "And another thing");
        vec![
            line("prompt", json!({ "message": message })),
            line("prepare", json!({ "known": 0, "messages": [message] })),
            line("observe", json!({ "events": [{ "kind": "idle" }] })),
        ]
    }
}

#[test]
fn the_recorded_streams_lead_to_the_recorded_states() {
    let names: Vec<&str> = STREAMS.iter().map(|stream| stream.name.as_str()).collect();
    assert!(names.len() >= 11, "{names:?}");
    for stream in STREAMS.iter() {
        assert_eq!(stream.play(&stream.lines), stream.states, "{}", stream.name);
        assert_eq!(stream.states.last(), Some(&stream.state));
    }
    for state in ["between_turn", "interrupted", "failed", "compacted"] {
        let ends = STREAMS.iter().any(|stream| stream.state == state);
        assert!(ends, "no stream ends as {state}");
    }
}

#[test]
fn a_call_after_the_end_of_a_turn_is_a_new_one_unless_it_comes_late() {
    let stream = STREAMS.iter().find(|one| one.name == "a turn with a call");
    let stream = stream.unwrap();
    let running = |created: i64| Line {
        method: "observe".to_owned(),
        params: json!({ "session": stream.session, "events": [{
            "kind": "message", "id": "msg_zz", "role": "assistant", "time": { "created": created },
            "parts": [{
                "type": "tool", "id": "prt_zz", "callID": "call_zz", "tool": "bash",
                "state": { "status": "running", "input": { "command": "make" } },
            }],
        }] }),
    };
    let after = |line: Line| {
        let mut lines = stream.lines.clone();
        lines.push(line);
        stream.play(&lines).pop().unwrap()
    };
    assert_eq!(after(running(1_794_000_000_000)), "between_turn");
    // The prompt of this turn was lost.
    assert_eq!(after(running(1_999_000_000_000)), "executing");
}

#[test]
fn every_signal_may_come_twice() {
    for stream in STREAMS.iter() {
        let lines = stream.flat();
        let doubled = lines.iter().flat_map(|line| {
            let times = if line.is_event() { 2 } else { 1 };
            std::iter::repeat_n(line.clone(), times)
        });
        let doubled: Vec<Line> = doubled.collect();
        assert_eq!(stream.play(&doubled), stream.states, "{}", stream.name);
    }
}

/// A stream, and for each of the events at its end a number of copies and keys that order them.
fn shuffled() -> impl Strategy<Value = (usize, Vec<Line>)> {
    (0..STREAMS.len(), any::<[u8; 24]>()).prop_flat_map(|(which, copies)| {
        let lines = STREAMS[which].flat();
        let end = Stream::last_request(&lines);
        let tail = lines[end..].iter().zip(copies.into_iter().cycle());
        let tail = tail.flat_map(|(line, copies)| {
            std::iter::repeat_n(line.clone(), 1 + usize::from(copies % 3 == 0))
        });
        (Just(which), Just(tail.collect::<Vec<_>>()).prop_shuffle())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_end_of_a_turn_may_be_reported_in_any_order((which, tail) in shuffled()) {
        let stream = &STREAMS[which];
        let mut lines = stream.flat();
        lines.truncate(Stream::last_request(&lines));
        lines.extend(tail);
        let states = stream.play(&lines);
        prop_assert_eq!(states.last(), Some(&stream.state), "{}: {:?}", stream.name, states);
    }

    #[test]
    fn signals_that_are_lost_are_made_up_for_by_the_next_turn(
        which in 0..STREAMS.len(),
        kept in any::<[bool; 64]>(),
    ) {
        let stream = &STREAMS[which];
        let mut kept = kept.into_iter().cycle();
        let mut lines = stream.flat();
        lines.retain(|line| !line.is_event() || kept.next() == Some(true));
        lines.extend(stream.another_turn());
        let states = stream.play(&lines);
        let between = SessionState::BetweenTurn.as_str();
        prop_assert_eq!(states.last().map(String::as_str), Some(between), "{}: {:?}", stream.name, states);
    }
}
