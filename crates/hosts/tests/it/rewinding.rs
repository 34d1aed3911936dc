//! A host that takes messages back, brings them back, continues without them, or deletes it all.

use serde_json::json;

use crate::sidecar::{Served, said, work};

fn back(host: &mut Served, message: &str) {
    host.observe("s", &json!([{ "kind": "reverted", "message": message }]));
}

fn forward(host: &mut Served) {
    host.observe("s", &json!([{ "kind": "reverted" }]));
}

#[test]
fn a_turn_that_is_taken_back_was_never_asked_for() {
    let mut host = Served::new();
    host.turn("s", 1, "Fix the login", "The cookie was missing.");
    host.turn("s", 2, "Now the logout", "It redirects now.");
    host.turn("s", 3, "And the docs", "Written.");
    let all = host.tree("s");
    back(&mut host, "3u");
    insta::assert_snapshot!(host.tree("s"), @"
    → vgme5xnq  Fix the login · 1/2 done  ◀ you are here
    ├─ ✓ we79889v  Fix the login
    └─ → qnhe4wn9  Now the logout · answered
    ");
    back(&mut host, "2u");
    insta::assert_snapshot!(host.tree("s"), @"→ vgme5xnq  Fix the login · answered  ◀ you are here");
    forward(&mut host);
    assert_eq!(host.tree("s"), all);

    back(&mut host, "2u");
    host.observe("s", &json!([{ "kind": "removed", "message": "2u" }]));
    // A host that has taken the messages out has nothing to bring back.
    forward(&mut host);
    host.prompt("s", "4u", "The password first");
    host.prepare("s", 2, &[said("4u", "The password first")]);
    forward(&mut host);
    insta::assert_snapshot!(host.tree("s"), @"
    → vgme5xnq  Fix the login · 1/2 done  ◀ you are here
    ├─ ✓ shq5bkyj  Fix the login
    └─ → mr19669z  The password first
    ");
}

#[test]
fn folded_messages_are_restored_and_updates_are_sent_again() {
    let mut host = Served::new();
    let pushed = host.push("s", "1", "Login");
    let id = pushed.split_whitespace().next().unwrap().to_owned();
    host.prompt("s", "2u", "Look around");
    host.prepare("s", 0, &[work("1"), said("2u", "Look around")]);
    host.push("s", "2", "Reproduce");
    host.prepare("s", 2, &[work("2"), work("3")]);
    let plan = json!({ "parentSessionID": id, "children": [
        { "title": "Check the cookie", "successCriteria": "done" },
    ] });
    host.call("other", "9", "stack_frame_plan_children", plan);
    let news = host.prompt("s", "4u", "And then?")["append"].clone();
    assert!(news.as_str().unwrap().contains("Check the cookie"));
    host.pop("s", "5", "Seen");
    let rest = [said("4u", "And then?"), work("5")];
    assert_eq!(host.prepare("s", 4, &rest)["drop"], json!(["3"]));

    back(&mut host, "4u");
    assert_eq!(host.prompt("s", "6u", "Instead")["append"], news);
    let plan = host.prepare("s", 4, &[said("6u", "Instead")]);
    assert_eq!(plan["drop"], json!([]));
}

#[test]
fn a_deleted_conversation_leaves_nothing_to_do_and_loses_nothing() {
    let mut host = Served::new();
    host.turn("s", 1, "Fix the login", "The cookie was missing.");
    host.push("s", "2a", "Write a test");
    host.turn("s", 2, "Go on", "Half of it is there.");
    host.observe("s", &json!([{ "kind": "deleted" }]));
    insta::assert_snapshot!(host.tree("s"), @"
    – vgme5xnq  Fix the login
    └─ – we79889v  Write a test
    ");
    let found = host.call("t", "1", "stack_search", json!({ "query": "cookie" }));
    assert!(found.contains("vgme5xnq"), "{found}");
}
