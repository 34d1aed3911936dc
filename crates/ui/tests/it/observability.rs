//! Spans for observability tools, taken by a collector of the test's own.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpListener;

use flamestack_ui::otlp::{Destination, spans};
use serde_json::Value;

use crate::ground::{Ground, SESSION};

fn all(ground: &Ground, content: bool) -> Vec<Value> {
    ground
        .engine
        .read(|reading| spans(reading, content))
        .unwrap()
}

fn attribute<'s>(span: &'s Value, key: &str) -> Option<&'s Value> {
    let attributes = span["attributes"].as_array().unwrap();
    let found = attributes.iter().find(|it| it["key"] == key)?;
    found["value"].as_object()?.values().next()
}

#[test]
fn finished_frames_and_calls_are_spans() {
    let ground = Ground::with_story();
    let spans = all(&ground, false);
    let named = |name: &str| {
        let operation = |span: &&Value| attribute(span, "gen_ai.operation.name").unwrap() == name;
        spans.iter().filter(operation).collect::<Vec<_>>()
    };
    let frames = named("invoke_agent");
    let statuses: BTreeSet<&str> = frames
        .iter()
        .map(|it| {
            attribute(it, "flamestack.frame.status")
                .unwrap()
                .as_str()
                .unwrap()
        })
        .collect();
    assert_eq!(frames.len(), 3, "open frames are not finished: {frames:?}");
    assert_eq!(
        statuses,
        BTreeSet::from(["completed", "failed", "invalidated"])
    );
    let calls = named("chat");
    assert_eq!(calls.len(), 9);
    let input: u64 = calls
        .iter()
        .map(|it| attribute(it, "gen_ai.usage.input_tokens").unwrap())
        .map(|value| value.as_str().unwrap().parse::<u64>().unwrap())
        .sum();
    let total = ground.work().total();
    assert_eq!(input, total.tokens() - total.output);
    for span in &spans {
        assert_eq!(span["traceId"].as_str().unwrap().len(), 32);
        assert_eq!(span["spanId"].as_str().unwrap().len(), 16);
        assert!(span["startTimeUnixNano"].is_string());
    }
}

#[test]
fn exporting_twice_gives_the_same_spans() {
    let ground = Ground::with_story();
    assert_eq!(all(&ground, true), all(&ground, true));
    let spans = all(&ground, false);
    let ids = spans.iter().map(|it| it["spanId"].as_str().unwrap());
    assert_eq!(ids.collect::<BTreeSet<_>>().len(), spans.len());
}

#[test]
fn texts_leave_the_machine_only_on_request() {
    let ground = Ground::with_story();
    let without = serde_json::to_string(&all(&ground, false)).unwrap();
    for text in ["Cart", "The cart works", "Build the shop", "too slow"] {
        assert!(!without.contains(text), "{text}");
    }
    let with = serde_json::to_string(&all(&ground, true)).unwrap();
    assert!(with.contains("Cart") && with.contains("The cart works"));
}

/// Takes one request and answers with a status.
fn collector(status: &'static str) -> (String, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = Vec::new();
        let mut part = vec![0_u8; 65_536];
        loop {
            let read = stream.read(&mut part).unwrap();
            bytes.extend_from_slice(&part[..read]);
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let Some((head, body)) = text.split_once("\r\n\r\n") else {
                continue;
            };
            let head = head.to_lowercase();
            let (_, length) = head.split_once("content-length: ").unwrap();
            let length: usize = length.lines().next().unwrap().trim().parse().unwrap();
            if body.len() >= length {
                let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 2\r\n\r\n{{}}");
                stream.write_all(answer.as_bytes()).unwrap();
                return text;
            }
        }
    });
    (address, thread)
}

fn destination(address: &str) -> Destination {
    let address = address.to_owned();
    let variable = move |name: &str| match name {
        "OTEL_EXPORTER_OTLP_ENDPOINT" => Some(address.clone()),
        "OTEL_EXPORTER_OTLP_HEADERS" => Some("authorization=Bearer%20key".to_owned()),
        _ => None,
    };
    Destination::from_environment(&variable).unwrap()
}

#[test]
fn a_collector_gets_them() {
    let ground = Ground::with_story();
    let spans = all(&ground, false);
    let (address, thread) = collector("200 OK");
    assert_eq!(destination(&address).send(&spans).unwrap(), spans.len());
    let request = thread.join().unwrap();
    assert!(request.starts_with("POST /v1/traces HTTP/1.1"), "{request}");
    assert!(request.contains("Bearer key"));
    let (_, body) = request.split_once("\r\n\r\n").unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    let sent = &body["resourceSpans"][0]["scopeSpans"][0]["spans"];
    assert_eq!(sent.as_array().unwrap(), &spans);
}

#[test]
fn a_collector_that_refuses_is_named() {
    let ground = Ground::new();
    ground.prompt(SESSION, "Go.");
    ground.call(SESSION, 500);
    let (address, thread) = collector("401 Unauthorized");
    let refused = destination(&address).send(&all(&ground, false));
    let said = refused.unwrap_err().to_string();
    assert!(said.contains(&address) && said.contains("401"), "{said}");
    thread.join().unwrap();
}
