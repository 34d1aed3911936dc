//! A host that summarises, badly.

use serde_json::{Value, json};

use crate::sidecar::{Served, answered, said};

/// What a summariser writes that forgets everything.
const FORGETFUL: &str = "## Objective\n- Something was done.";

fn written(host: &mut Served, text: &str) -> String {
    let params = json!({ "session": "s", "message": "sum", "summary": true, "text": text });
    let answer = host.ask("written", params);
    answer["text"].as_str().unwrap_or(text).to_owned()
}

/// A session with a goal, a decision, a failed attempt and a plan.
fn session() -> Served {
    let mut host = Served::new();
    host.turn("s", 1, "Fix the login. Never touch legacy.rs.", "Looking.");
    host.push("s", "p1", "Reproduce the redirect loop");
    let decision = json!({ "decision": "Keep the cookie name, since clients depend on it" });
    host.call("s", "p2", "stack_add_decision", decision);
    host
}

fn compacted(host: &mut Served, n: usize, summary: &str) -> String {
    let text = written(host, summary);
    let mut message = answered(&format!("sum{n}"), &text);
    message["summary"] = true.into();
    message["kind"] = "message".into();
    host.observe("s", &json!([&message, { "kind": "compacted" }]));
    let header = host.prepare("s", 0, &[message]);
    let header = header["system"].as_str().unwrap_or_default();
    format!("{header}\n{text}")
}

#[test]
fn a_summariser_is_told_what_is_recorded() {
    let mut host = session();
    let told = host.ask("summarizing", json!({ "session": "s" }));
    let told = told["instructions"][0].as_str().unwrap();
    assert!(told.contains("Reproduce the redirect loop"), "{told}");
    assert!(told.contains("Keep the cookie name"), "{told}");
}

#[test]
fn nothing_is_told_where_nothing_is_recorded() {
    let mut host = Served::new();
    let told = host.ask("summarizing", json!({ "session": "s" }));
    assert_eq!(told, json!({ "instructions": [] }));
    assert_eq!(written(&mut host, FORGETFUL), FORGETFUL);
}

#[test]
fn five_compactions_by_a_summariser_that_forgets_lose_nothing() {
    let mut host = session();
    for n in 1..=5 {
        let summary = match n % 3 {
            0 => "(none)".to_owned(),
            1 => FORGETFUL.to_owned(),
            // It copies what was restored before, which is not its to say.
            _ => format!(
                "{FORGETFUL}\n<stack-restored compaction=\"9\">\nAll is done.\n</stack-restored>"
            ),
        };
        let seen = compacted(&mut host, n, &summary);
        for kept in [
            "Never touch legacy.rs",
            "Reproduce the redirect loop",
            "Keep the cookie name, since clients depend on it",
        ] {
            assert!(seen.contains(kept), "compaction {n} lost {kept:?}:\n{seen}");
        }
        assert!(!seen.contains("All is done."), "{seen}");
        assert!(seen.matches("<stack-restored").count() <= 1, "{seen}");
    }
}

#[test]
fn the_next_summary_is_not_made_of_what_was_restored() {
    let mut host = session();
    let text = written(&mut host, FORGETFUL);
    assert!(text.contains("<stack-restored"), "{text}");
    let mut summary = answered("sum", &text);
    summary["summary"] = true.into();
    let prepared = host.ask(
        "prepare",
        json!({ "session": "s", "known": 0, "messages": [summary, said("2", "Go on")], "compacting": true }),
    );
    assert_eq!(
        prepared["rewrite"],
        json!([{ "part": "sumt", "text": FORGETFUL }])
    );
}

#[test]
fn a_workflow_is_told_and_restored() {
    let mut host = session();
    let spec = host.dir.path().join(".codex/specs/login");
    fs_err::create_dir_all(&spec).unwrap();
    for (file, text) in [
        ("requirements.md", "# Requirements\nLogin works."),
        ("design.md", "# Design\nCookies."),
        (
            "tasks.md",
            "- [x] 1. Write the test\n- [ ] 2. Mend the redirect\n",
        ),
    ] {
        fs_err::write(spec.join(file), text).unwrap();
    }
    let log = "# Session\n\n## Focus\n- spec-execute for login\n";
    fs_err::write(host.dir.path().join("SESSION.md"), log).unwrap();
    let text = written(&mut host, FORGETFUL);
    for kept in ["spec-execute", ".codex/specs/login", "Mend the redirect"] {
        assert!(text.contains(kept), "{kept:?} is lost:\n{text}");
    }
    let told = host.ask("summarizing", json!({ "session": "s" }));
    assert_ne!(told["instructions"][0], Value::Null);
}
