//! Subagents, as a host's plugin reports them.

use flamestack_engine::settings::Patterns;
use flamestack_engine::subagents::Tracking;
use flamestack_hosts::sidecar::wire::Isolation;
use serde_json::{Value, json};

use crate::sidecar::{Served, said, work};

fn task(message: &str, prompt: &str, child: &str, state: &str, output: &str) -> Value {
    json!({ "id": message, "role": "assistant", "parts": [{
        "type": "tool", "id": format!("{message}p"), "callID": format!("call_{message}"), "tool": "task",
        "state": {
            "status": state, "output": output, "error": output, "metadata": { "sessionId": child },
            "input": { "description": prompt, "prompt": prompt, "subagent_type": "general" },
        },
    }] })
}

fn cost(message: &str, dollars: f64) -> Value {
    json!({ "kind": "message", "id": message, "role": "assistant", "parts": [],
        "time": { "created": 1, "completed": 2 }, "tokens": { "input": 100, "output": 7 }, "cost": dollars })
}

fn as_event(message: Value) -> Value {
    let mut happening = message;
    happening["kind"] = json!("message");
    happening
}

impl Served {
    fn happens(&mut self, session: &str, events: &[Value]) {
        let params = json!({ "session": session, "events": events });
        assert_eq!(self.ask("observe", params), Value::Null);
        self.recorded(session);
    }

    /// Waits until the events of a session are recorded. They are handled in order, so all that came
    /// before this request are recorded once it is answered.
    fn recorded(&mut self, session: &str) {
        self.ask("show", json!({ "session": session, "what": "status" }));
    }

    fn begin(&mut self, session: &str, child: &str, message: &str, prompt: &str) {
        self.happens(
            child,
            &[json!({ "kind": "session", "parent": session, "title": prompt })],
        );
        self.happens(
            session,
            &[as_event(task(message, prompt, child, "running", ""))],
        );
        self.prompt(child, &format!("{child}1"), prompt);
        self.recorded(child);
    }

    fn list(&mut self, session: &str) -> String {
        self.call(session, "m", "stack_subagent_list", json!({}))
    }
}

#[test]
fn what_a_subagent_costs_is_its_parents_too() {
    let mut host = Served::new();
    host.prompt("s", "1", "Build the shop");
    host.begin("s", "c", "2", "Build the cart");
    host.begin("c", "d", "c2", "Sum it up");
    for (session, messages) in [("s", 1), ("c", 2), ("d", 3)] {
        for n in 0..messages {
            host.happens(session, &[cost(&format!("{session}-{n}"), 0.25)]);
        }
    }
    // A message that is reported twice is counted once.
    host.happens("d", &[cost("d-0", 0.25)]);
    // Sessions are served side by side, so the order in which they draw ids is not fixed.
    let listed = host.list("s");
    let lines = listed
        .lines()
        .map(|line| line.split(" · frame ").next().unwrap_or(line));
    let without_frames = lines.collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(without_frames, @r"
    opencode:c  running  Build the cart
      general · started 2023-11-14 22:13 UTC · last seen 2023-11-14 22:13 UTC · 3 messages · 500 in, 35 out, $1.250000
      opencode:d  running  Sum it up
        general · started 2023-11-14 22:13 UTC · last seen 2023-11-14 22:13 UTC · 4 messages · 300 in, 21 out, $0.750000
    in all: 600 in, 42 out, $1.500000
    ");
}

#[test]
fn what_came_back_is_recorded_before_the_parent_goes_on() {
    let mut host = Served::new();
    host.prompt("s", "1", "Build the shop");
    host.begin("s", "c", "2", "Build the cart");
    host.happens("c", &[json!({ "kind": "idle" })]);
    assert!(host.list("s").contains("idle"));
    // No event reports it; the parent's next request does.
    let done = task(
        "2",
        "Build the cart",
        "c",
        "completed",
        "It holds ten items",
    );
    host.prepare("s", 0, &[said("1", "Build the shop"), done]);
    let listed = host.list("s");
    assert!(listed.contains("done"), "{listed}");
    let details = host.call(
        "s",
        "3",
        "stack_frame_details",
        json!({ "frameID": "opencode:c" }),
    );
    assert!(details.contains("It holds ten items"), "{details}");
}

#[test]
fn a_call_without_an_answer_in_a_request_was_cut_off() {
    let mut host = Served::new();
    host.prompt("s", "1", "Build the shop");
    host.begin("s", "c", "2", "Build the cart");
    let running = task("2", "Build the cart", "c", "running", "");
    let compacting =
        json!({ "session": "s", "known": 0, "messages": [running], "compacting": true });
    host.ask("prepare", compacting);
    assert!(host.list("s").contains("running"));
    host.prepare("s", 0, &[running]);
    assert!(host.list("s").contains("aborted"));
}

#[test]
fn who_waits_and_who_is_deleted() {
    let mut host = Served::new();
    host.prompt("s", "1", "Build the shop");
    host.begin("s", "c", "2", "Build the cart");
    host.happens(
        "c",
        &[json!({ "kind": "waiting", "on": "permission bash rm" })],
    );
    insta::assert_snapshot!(host.list("s").lines().next().unwrap(), @"opencode:c  waiting for the user  Build the cart (waits for permission bash rm)");
    host.happens("c", &[json!({ "kind": "waiting" })]);
    assert!(host.list("s").contains("running"));
    host.happens("c", &[json!({ "kind": "deleted" })]);
    assert!(host.list("s").contains("aborted"));
}

#[test]
fn the_same_task_is_already_running_unless_it_is_meant() {
    let mut host = Served::new();
    host.prompt("s", "1", "Build the shop");
    host.begin("s", "c", "2", "Build the cart");
    let mut asked = |message: &str, prompt: &str| {
        let asked =
            json!({ "session": "s", "message": message, "agent": "general", "prompt": prompt });
        host.ask("delegate", asked)["running"].clone()
    };
    let running = asked("3", "Build the cart ");
    insta::assert_snapshot!(running.as_str().unwrap().lines().next().unwrap(), @"already running: opencode:c  running  Build the cart");
    assert_eq!(asked("2", "Build the cart"), Value::Null);
    assert_eq!(asked("3", "Build the till"), Value::Null);
    let done = task("2", "Build the cart", "c", "completed", "Built");
    host.happens("s", &[as_event(done)]);
    let again =
        json!({ "session": "s", "message": "4", "agent": "general", "prompt": "Build the cart" });
    assert_eq!(host.ask("delegate", again)["running"], Value::Null);
}

#[test]
fn a_delegation_that_is_too_deep_is_named_with_its_agents() {
    let mut host = Served::new();
    host.prompt("s", "1", "Build the shop");
    let mut parent = "s".to_owned();
    for nth in 1..=3 {
        let child = format!("c{nth}");
        host.begin(
            &parent,
            &child,
            &format!("{parent}2"),
            &format!("Part {nth}"),
        );
        let asked = json!({ "session": parent, "agent": "general", "prompt": "Another part" });
        assert_eq!(host.ask("delegate", asked), json!({}), "{parent}");
        parent = child;
    }
    let asked = json!({ "session": "c3", "agent": "general", "prompt": "Another part" });
    let notice = host.ask("delegate", asked.clone())["notice"].clone();
    insta::assert_snapshot!(notice.as_str().unwrap(), @"Agents delegate 4 deep: opencode:s > general > general > general > general. The limit is 3 (`delegation.max_depth`); `delegation.at_limit = deny` refuses it.");
    // A limit that the user gave the host counts while Flamestack has none of the user's.
    let mut wider = asked;
    wider["limit"] = json!(9);
    assert_eq!(host.ask("delegate", wider), json!({}));
}

#[test]
fn a_host_without_ids_has_its_subagents_known_by_their_titles() {
    let tracking = Tracking {
        patterns: Patterns::new("subagent"),
        complete_after: Some(0),
        listed_for: i64::MAX,
        ..Tracking::default()
    };
    let mut host = Served::with(|sidecar| sidecar.engine.set_tracking(tracking));
    host.ask(
        "hello",
        json!({ "protocol": 2, "host": "opencode", "directory": "/", "withoutParents": true }),
    );
    host.prompt("root", "1", "Build the shop");
    host.prompt("c", "c1", "Build the cart");
    host.happens(
        "c",
        &[json!({ "kind": "session", "title": "Cart (@general subagent)" })],
    );
    host.prepare("c", 0, &[said("c1", "Build the cart"), work("c2")]);
    host.happens("c", &[json!({ "kind": "idle" })]);
    let listed = host.call("c", "c3", "stack_stats", json!({ "showActive": true }));
    // Each look at the clock takes a second, and a thread that finds lost turns may look once.
    let listed = listed.replace("10 s", "9 s");
    insta::assert_snapshot!(listed, @"
    1 subagent
      1 done
      1 completed automatically, after idling (100%)
      9 s each on average, 9 s at most
    1 with a frame (100%), 0 only logged
    100% of those that ended are done
    spent: 0 in, 0 out
    ");
    // The host does not say whose subagent it is, so every session sees it.
    let root = host.call("root", "2", "stack_subagent_list", json!({}));
    assert!(root.contains("Cart (@general subagent)"), "{root}");
}

/// A conversation that works on a frame of a plan in a conversation of its own.
fn delegated() -> (Served, String) {
    let mut host = Served::with(|sidecar| sidecar.isolation = Isolation::Session);
    host.prompt("s", "1", "Build the shop");
    host.push("s", "2", "Shop");
    let children =
        json!({ "children": [{ "title": "Cart", "successCriteria": "It holds items" }] });
    let planned = host.call("s", "3", "stack_frame_plan_children", children);
    let frame = planned.split_whitespace().nth(1).unwrap().to_owned();
    let call = json!({
        "session": "s", "message": "4", "name": "stack_frame_activate",
        "arguments": { "sessionID": frame },
    });
    let delegate = host.ask("call", call)["delegate"].take();
    assert_eq!(delegate["prompt"], "Cart\n\nDone means: It holds items");
    let made = json!({ "kind": "session", "parent": "s", "title": "Cart", "frame": frame });
    host.happens("c", &[made]);
    host.prompt("c", "c1", "Cart\n\nDone means: It holds items");
    host.recorded("c");
    (host, frame)
}

#[test]
fn what_a_conversation_made_for_a_frame_came_to() {
    let ends = [
        json!({ "ok": true, "text": "It holds ten items" }),
        json!({ "ok": true, "text": " " }),
        json!({ "ok": false, "text": "APIError: no credit" }),
        json!({ "ok": false, "text": "" }),
        json!({ "ok": false, "text": "", "stopped": true }),
    ];
    let mut output = String::new();
    for end in ends {
        let (mut host, frame) = delegated();
        let mut returned = json!({ "session": "s", "frame": frame, "child": "c" });
        returned
            .as_object_mut()
            .unwrap()
            .extend(end.as_object().unwrap().clone());
        let called = host.ask("childEnded", returned);
        output.push_str(called["output"].as_str().unwrap());
        output.push_str("\n\n");
    }
    insta::assert_snapshot!(output, @"
    qnhe4wn9 “Cart” is completed (claimed)
    It holds ten items

    qnhe4wn9 “Cart” is completed (claimed)
    It ended without a word.

    qnhe4wn9 “Cart” has failed
    APIError: no credit

    qnhe4wn9 “Cart” has failed
    It failed without a word.

    qnhe4wn9 “Cart” is still in progress
    The user stopped it.
    stack_frame_activate continues it here.
    ");
}

#[test]
fn what_a_parent_tells_a_conversation_made_for_a_frame_is_no_users_word() {
    let (mut host, _) = delegated();
    let output = host.call("c", "c2", "stack_context_preview", json!({}));
    assert!(
        output.contains("<directive>Build the shop</directive>"),
        "{output}"
    );
    assert!(!output.contains("<directive>Cart"), "{output}");
    host.pop("c", "c3", "It holds ten items");
    let again = host.pop("c", "c4", "And the shop is built");
    insta::assert_snapshot!(again, @"
    no frame is active in opencode:c
    name a frame, start one with stack_frame_push, or switch to one with stack_frame_activate
    ");
}

#[test]
fn a_subagent_says_itself_what_it_came_to_and_the_parent_has_it() {
    let mut host = Served::new();
    host.prompt("s", "1", "Build the shop");
    host.begin("s", "c", "2", "Build the cart");
    let ended = json!({ "summary": "It holds ten items" });
    let output = host.call("c", "c2", "stack_subagent_complete", ended);
    assert!(
        output.starts_with("opencode:c  done  Build the cart"),
        "{output}"
    );
    let parent = host.call("s", "3", "stack_context_preview", json!({}));
    assert!(parent.contains("It holds ten items"), "{parent}");
    let again = host.call("c", "c3", "stack_subagent_complete", json!({}));
    insta::assert_snapshot!(again, @"opencode:c has ended already: it is done");
}

#[test]
fn a_parent_ends_its_subagents_by_name_or_by_frame() {
    let mut host = Served::new();
    host.prompt("s", "1", "Build the shop");
    for (message, child) in [("2", "c"), ("3", "d"), ("4", "e")] {
        host.begin("s", child, message, &format!("Build {child}"));
    }
    let mut end = |arguments: Value| {
        let output = host.call("s", "5", "stack_subagent_complete", arguments);
        output.lines().next().unwrap_or_default().to_owned()
    };
    let failed = json!({ "sessionID": "c", "status": "failed", "summary": "No such shelf" });
    insta::assert_snapshot!(end(failed), @"opencode:c  failed  Build c");
    let blocked =
        json!({ "sessionID": "opencode:d", "status": "blocked", "summary": "Needs a key" });
    insta::assert_snapshot!(end(blocked), @"opencode:d  running  Build d");
    insta::assert_snapshot!(end(json!({ "sessionID": "unknown" })), @"there is no frame `unknown`");
    insta::assert_snapshot!(end(json!({ "sessionID": "s" })), @"opencode:s is not a subagent");
    insta::assert_snapshot!(end(json!({ "sessionID": "e", "status": "gone" })), @"invalid arguments for stack_subagent_complete: at `status`: unknown variant `gone`, expected one of `completed`, `failed`, `blocked`");
    let tree = host.tree("s");
    insta::assert_snapshot!(tree, @"
    → vgme5xnq  Build the shop · 0/3 done  ◀ you are here
    ├─ ✗ we79889v  Build c
    ├─ ! qnhe4wn9  Build d · blocked: Needs a key
    └─ → rk49779d  Build e  ◀ opencode:e
    ");
}

#[test]
fn what_is_asked_of_the_tracking_must_make_sense() {
    let mut host = Served::new();
    let config = host.call("s", "1", "stack_config", json!({ "minMessageCount": 1.5 }));
    assert!(config.contains("1.5 is not a whole number"), "{config}");
    let bad = host.call("s", "1", "stack_config", json!({ "addPattern": "(" }));
    assert!(bad.contains("`(` is not a regular expression"), "{bad}");
    let unknown = host.call("s", "1", "stack_config", json!({ "removePattern": "(" }));
    assert!(unknown.contains("there is no pattern `(`"), "{unknown}");
}
