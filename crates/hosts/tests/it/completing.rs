//! Frames that end with a summary, sessions whose compactions go round in a circle, and our own
//! summaries.

use std::time::Duration;

use flamestack_engine::compaction::SummaryAuthor;
use serde_json::{Value, json};

use crate::sidecar::{Served, answered, said};

const COMPLETION: &str = "## Objective\n- Fix the login\n\nSTATUS: completed, the test passes\n\
    SUMMARY: It was the cookie's path.\nARTIFACTS: src/cookie.rs\nDECISIONS:\n- Keep the name\n";

fn written(host: &mut Served, text: &str) -> Value {
    let params = json!({ "session": "s", "message": "sum", "text": text });
    host.ask("summarized", params)
}

fn pop_without_results(host: &mut Served) -> Value {
    let arguments = json!({ "status": "completed" });
    let params = json!({
        "session": "s", "message": "pop", "name": "stack_frame_pop", "arguments": arguments,
    });
    host.ask("call", params)
}

fn details(host: &mut Served, frame: &str) -> String {
    host.call("s", "x", "stack_frame_details", json!({ "frameID": frame }))
}

fn pushed(host: &mut Served) -> String {
    host.turn("s", 1, "Fix the login", "Looking.");
    let said = host.push("s", "push", "Find the loop");
    said.split_whitespace().next().unwrap().to_owned()
}

fn compacted(host: &mut Served, n: usize, automatic: bool) {
    let request = json!({ "kind": "message", "id": format!("req{n}"), "role": "user", "parts": [
        { "type": "compaction", "id": format!("req{n}p"), "auto": automatic },
    ] });
    host.observe("s", &json!([request]));
}

#[test]
fn a_pop_without_results_ends_with_the_summary() {
    let mut host = Served::new();
    let frame = pushed(&mut host);
    let called = pop_without_results(&mut host);
    assert_eq!(called["summarize"], true, "{called}");
    assert!(details(&mut host, &frame).contains("a summary, to end as completed"));
    let answer = host.ask("summarize", json!({ "session": "s" }));
    let instructions = answer["instructions"][0].as_str().unwrap();
    for asked in [
        "“Find the loop” ends as completed",
        "STATUS:",
        "SUMMARY:",
        "ARTIFACTS:",
        "DECISIONS:",
    ] {
        assert!(instructions.contains(asked), "{asked}: {instructions}");
    }
    written(&mut host, COMPLETION);
    let details = details(&mut host, &frame);
    for kept in [
        "status     completed",
        "It was the cookie's path.",
        "Status as claimed: completed, the test passes",
        "- src/cookie.rs",
        "- Keep the name",
    ] {
        assert!(details.contains(kept), "{kept}: {details}");
    }
    let info = host.call("s", "x", "stack_compaction_info", json!({}));
    assert!(info.contains("frame completion"), "{info}");
}

#[test]
fn what_was_given_comes_first() {
    let mut host = Served::new();
    let frame = pushed(&mut host);
    let arguments =
        json!({ "status": "completed", "results": "Mended by hand.", "summarize": true });
    host.call("s", "pop", "stack_frame_pop", arguments);
    written(&mut host, COMPLETION);
    let details = details(&mut host, &frame);
    let (given, claimed) = (
        details.find("Mended by hand.").unwrap(),
        details.find("It was the cookie's path.").unwrap(),
    );
    assert!(given < claimed, "{details}");
}

#[test]
fn a_summary_that_says_nothing_or_does_not_come_is_no_obstacle() {
    let mut host = Served::new();
    let frame = pushed(&mut host);
    pop_without_results(&mut host);
    let rewritten = written(&mut host, "(none)");
    assert!(
        rewritten["notice"]
            .as_str()
            .unwrap()
            .contains("has no content")
    );
    assert!(details(&mut host, &frame).contains("status     completed"));

    let mut host = Served::with(|sidecar| sidecar.patience = Duration::ZERO);
    let frame = pushed(&mut host);
    pop_without_results(&mut host);
    assert!(details(&mut host, &frame).contains("status     completed"));
}

#[test]
fn a_summary_that_was_made_without_an_event_is_found_with_the_messages() {
    let mut host = Served::new();
    let frame = pushed(&mut host);
    pop_without_results(&mut host);
    let mut old = answered("old", "An earlier summary.");
    old["summary"] = true.into();
    old["time"] = json!({ "created": 1 });
    host.prepare("s", 0, &[old.clone()]);
    assert!(details(&mut host, &frame).contains("status     in progress"));
    let mut summary = answered("sum", COMPLETION);
    summary["summary"] = true.into();
    summary["time"] = json!({ "created": 1_800_000_000_000_i64 });
    host.prepare("s", 0, &[old, summary]);
    let details = details(&mut host, &frame);
    assert!(details.contains("status     completed"), "{details}");
    assert!(details.contains("It was the cookie's path."), "{details}");
}

#[test]
fn three_compactions_without_work_between_add_nothing_and_name_the_floor() {
    let mut host = Served::new();
    pushed(&mut host);
    let model = json!({ "name": "mock/mock-1", "limit": { "context": 16_000, "output": 8_000 } });
    let all =
        json!({ "session": "s", "known": 0, "messages": [said("1", "Go on")], "model": model });
    host.ask("prepare", all.clone());
    for n in 1..=4 {
        compacted(&mut host, n, true);
        let answer = host.ask("summarize", json!({ "session": "s" }));
        let rewritten = written(&mut host, "## Objective\n- Something.");
        host.observe("s", &json!([{ "kind": "compacted" }]));
        let prepared = host.ask("prepare", all.clone());
        let looping = n >= 3;
        assert_eq!(
            answer["instructions"].as_array().unwrap().is_empty(),
            looping,
            "{n}"
        );
        assert_eq!(rewritten["text"].is_null(), looping, "{n}: {rewritten}");
        assert_eq!(prepared["system"].is_null(), looping, "{n}: {prepared}");
        if looping {
            let notice = rewritten["notice"].as_str().unwrap();
            assert!(notice.contains("of 8,000 usable tokens"), "{notice}");
        }
        let mut step = answered(&format!("step{n}"), "…");
        step["kind"] = "message".into();
        step["finish"] = "stop".into();
        step["tokens"] = json!({ "input": 7000, "output": 100 });
        host.observe("s", &json!([step]));
    }
    let info = host.call("s", "x", "stack_compaction_info", json!({}));
    assert!(info.contains("→ 7,000 tokens"), "{info}");
    assert!(
        info.contains("nothing is added until a turn succeeds"),
        "{info}"
    );
    let fill = host.call("s", "x", "stack_context_info", json!({}));
    assert!(
        fill.contains("7,100 of 8,000 usable tokens used (88 %)"),
        "{fill}"
    );
    host.turn("s", 9, "Go on", "Done.");
    let prepared = host.ask("prepare", all);
    assert!(
        prepared["system"]
            .as_str()
            .unwrap()
            .contains("Find the loop"),
        "{prepared}"
    );
}

#[test]
fn our_own_summary_stands_alone() {
    let mut host = Served::with(|sidecar| sidecar.summaries = SummaryAuthor::Own(4000));
    pushed(&mut host);
    let decision = json!({ "decision": "Keep the cookie name, since clients depend on it" });
    host.call("s", "d", "stack_add_decision", decision);
    for n in 1..=5 {
        host.ask("summarize", json!({ "session": "s" }));
        let rewritten = written(&mut host, "Whatever a model said.");
        let text = rewritten["text"].as_str().unwrap();
        for kept in [
            "Find the loop",
            "Keep the cookie name, since clients depend on it",
        ] {
            assert!(text.contains(kept), "{n} {kept}: {text}");
        }
        assert!(!text.contains("Whatever"), "{text}");
        assert!(text.contains(&format!("compaction=\"{n}\"")), "{text}");
        host.observe("s", &json!([{ "kind": "compacted" }]));
    }
}

#[test]
fn a_frame_that_goes_on_has_the_summary_as_a_checkpoint() {
    let mut host = Served::new();
    let frame = pushed(&mut host);
    let params = json!({
        "session": "s", "message": "c", "name": "stack_frame_summarize",
        "arguments": { "note": "before lunch" },
    });
    assert_eq!(host.ask("call", params)["summarize"], true);
    let answer = host.ask("summarize", json!({ "session": "s" }));
    assert!(
        answer["instructions"][0]
            .as_str()
            .unwrap()
            .contains("before lunch")
    );
    written(&mut host, "## Objective\n- Half of it is done.");
    let summary = host.call("s", "x", "stack_get_summary", json!({ "sessionID": frame }));
    assert!(summary.contains("Half of it is done."), "{summary}");
    assert!(details(&mut host, &frame).contains("status     in progress"));
}

#[test]
fn what_a_summary_lost_is_put_back_word_for_word() {
    let mut host = Served::new();
    let long = format!(
        "Never touch {} without asking",
        "the old vault and its keys ".repeat(20)
    );
    host.turn("s", 1, &format!("Fix the login. {long}"), "Looking.");
    host.push("s", "push", "Find the loop");
    compacted(&mut host, 1, true);
    host.ask("summarize", json!({ "session": "s" }));
    let rewritten = written(&mut host, "## Objective\n- Something.");
    host.observe("s", &json!([{ "kind": "compacted" }]));
    let prepared = host.prepare("s", 0, &[said("2", "Go on")]);
    let seen = format!("{}{}", prepared["system"], rewritten["text"]);
    assert!(seen.contains(long.trim()), "{seen}");
}
