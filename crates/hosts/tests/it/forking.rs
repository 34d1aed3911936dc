//! A host that makes a conversation as a copy of another one.

use serde_json::{Value, json};

use crate::sidecar::{Served, said, work};

/// A message with the moment at which it began.
fn at(mut message: Value, moment: i64) -> Value {
    message["time"] = json!({ "created": moment });
    message
}

/// A conversation with a finished frame in messages 2 to 4 and an open one from 5 on.
fn worked(host: &mut Served) -> Vec<Value> {
    host.prompt("s", "1", "Fix the login");
    let mut all = vec![at(said("1", "Fix the login"), 1)];
    host.prepare("s", 0, &all);
    host.push("s", "2", "Reproduce");
    let some = [at(work("2"), 2), at(work("3"), 3)];
    host.prepare("s", 1, &some);
    all.extend(some);
    host.pop("s", "4", "The login cookie is missing");
    host.push("s", "5", "Mend the login cookie");
    let rest = [at(work("4"), 4), at(work("5"), 5), at(work("6"), 6)];
    assert_eq!(host.prepare("s", 3, &rest)["drop"], json!(["3"]));
    all.extend(rest);
    host.observe("s", &json!([{ "kind": "idle" }]));
    all
}

/// The same messages under other names.
fn copied(messages: &[Value]) -> Vec<Value> {
    let copy = |message: &Value| {
        let mut copy = message.clone();
        copy["id"] = json!(format!("c{}", message["id"].as_str().unwrap()));
        copy["parts"][0]["id"] = json!(format!("c{}", message["parts"][0]["id"]));
        copy
    };
    messages.iter().map(copy).collect()
}

/// The host says what the conversation is, and of what.
fn copy(host: &mut Served, of: &[Value]) {
    let known = |message: &Value| json!({ "id": message["id"], "role": message["role"], "at": message["time"]["created"] });
    let messages: Vec<Value> = of.iter().map(known).collect();
    host.observe(
        "c",
        &json!([{ "kind": "session", "title": "Login (fork #1)", "copyOf": "s" }]),
    );
    host.observe(
        "c",
        &json!([{ "kind": "copied", "from": "s", "messages": messages }]),
    );
}

#[test]
fn a_copy_goes_on_with_what_was_open_and_folds_what_was_folded() {
    let mut host = Served::new();
    let all = worked(&mut host);
    let before = host.tree("s");
    copy(&mut host, &all);
    let mut messages = copied(&all);
    let events: Vec<Value> = messages
        .iter()
        .map(|message| {
            let mut event = message.clone();
            event["kind"] = json!("message");
            event
        })
        .collect();
    host.observe("c", &json!(events));
    assert_eq!(host.tree("s"), before, "nothing happens until it begins");

    assert_eq!(host.prompt("c", "c7", "Another way"), json!({}));
    messages.push(at(said("c7", "Another way"), 50));
    let prepared = host.prepare("c", 0, &messages);
    assert_eq!(prepared["drop"], json!(["c3"]));
    let header = prepared["system"].as_str().unwrap();
    assert!(header.contains("Mend the login cookie"), "{header}");
    assert!(header.contains("The login cookie is missing"), "{header}");
    host.pop("c", "c8", "Mended otherwise");
    let prepared = host.prepare("c", 7, &[at(work("c8"), 51)]);
    assert_eq!(prepared["drop"], json!(["c3", "c6"]));
    host.observe("c", &json!([{ "kind": "idle" }]));
    insta::assert_snapshot!(host.tree("s"), @"
    → vgme5xnq  Fix the login · 1/2 done
    ├─ ✓ we79889v  Reproduce · claimed
    └─ → qnhe4wn9  Mend the login cookie  ◀ you are here
    → rk49779d  Login (fork #1) · 2/2 done  ◀ opencode:c
    ├─ ✓ mr19669z  Reproduce · claimed
    └─ ✓ shq5bkyj  Mend the login cookie · claimed
    ");
}

#[test]
fn a_copy_whose_original_is_described_too_late_begins_by_itself() {
    let mut host = Served::new();
    let all = worked(&mut host);
    host.observe("c", &json!([{ "kind": "session", "copyOf": "s" }]));
    let mut messages = copied(&all);
    host.prompt("c", "c7", "Another way");
    messages.push(at(said("c7", "Another way"), 50));
    assert_eq!(host.prepare("c", 0, &messages)["drop"], json!([]));
    copy(&mut host, &all);
    host.observe("c", &json!([{ "kind": "idle" }]));
    let tree = host.tree("c");
    assert!(tree.contains("Another way"), "{tree}");
}
