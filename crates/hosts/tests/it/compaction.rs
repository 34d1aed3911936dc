//! A host that summarises, badly.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use flamestack_core::FrameId;
use flamestack_core::id::Timestamp;
use flamestack_engine::Engine;
use flamestack_engine::clock::{Clock, StoryClock};
use serde_json::{Value, json};

use crate::sidecar::{Served, answered, said};

/// The output of a summariser that forgets everything.
const FORGETFUL: &str = "## Objective\n- Something was done.";

fn written(host: &mut Served, text: &str) -> String {
    let params = json!({ "session": "s", "message": "sum", "text": text });
    let answer = host.ask("summarized", params);
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
fn the_instructions_of_a_summary_hold_what_is_recorded() {
    let mut host = session();
    let answer = host.ask("summarize", json!({ "session": "s" }));
    let instructions = answer["instructions"][0].as_str().unwrap();
    assert!(
        instructions.contains("Reproduce the redirect loop"),
        "{instructions}"
    );
    assert!(
        instructions.contains("Keep the cookie name"),
        "{instructions}"
    );
}

#[test]
fn there_are_no_instructions_if_nothing_is_recorded() {
    let mut host = Served::new();
    let answer = host.ask("summarize", json!({ "session": "s" }));
    assert_eq!(answer, json!({ "instructions": [] }));
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
fn the_output_of_a_folded_frame_is_not_restored() {
    let mut host = Served::new();
    host.turn("s", 1, "Count for me", "Counting.");
    host.push("s", "2a", "Count by a script");
    let numbers: Vec<String> = (1..=2000).map(|n| n.to_string()).collect();
    let ran = |id: &str, command: &str, output: &str| {
        json!({ "id": id, "role": "assistant", "parts": [{
            "type": "tool", "id": format!("{id}p"), "callID": id, "tool": "bash",
            "state": { "status": "completed", "input": { "command": command }, "output": output },
        }] })
    };
    let words = "the zebra crossing of the counting script";
    let folded = ran("3a", "./count", &format!("{words}\n{}", numbers.join("\n")));
    host.prepare("s", 2, &[folded]);
    host.pop("s", "4a", "Counted to 2000");
    let outside = ran("5a", "seq 1 2000", &numbers.join("\n"));
    host.prepare("s", 3, &[outside]);
    let text = written(&mut host, FORGETFUL);
    assert!(!text.contains("zebra"), "{text}");
    assert!(!text.contains("100 101 102"), "{text}");
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

/// A specification with one task done and two to do.
fn specification(root: &Path) {
    let spec = root.join(".codex/specs/login");
    fs_err::create_dir_all(&spec).unwrap();
    for (file, text) in [
        ("requirements.md", "# Requirements\nLogin works."),
        (
            "design.md",
            "# Design\nCookies.\n## Open Questions\n- How long is a session?",
        ),
        (
            "tasks.md",
            "- [x] 1. Write the test\n- [ ] 2. Mend the redirect\n",
        ),
    ] {
        fs_err::write(spec.join(file), text).unwrap();
    }
    let log = "# Session\n\n## Focus\n- spec-execute for login\n";
    fs_err::write(root.join("SESSION.md"), log).unwrap();
}

#[test]
fn a_workflow_is_in_the_instructions_and_restored() {
    let mut host = session();
    specification(host.dir.path());
    let text = written(&mut host, FORGETFUL);
    for kept in ["spec-execute", ".codex/specs/login", "Mend the redirect"] {
        assert!(text.contains(kept), "{kept:?} is lost:\n{text}");
    }
    let answer = host.ask("summarize", json!({ "session": "s" }));
    assert_ne!(answer["instructions"][0], Value::Null);
}

/// Neither the user nor a log names the specification, and there is no git: what the session changed
/// tells what it is about.
#[test]
fn a_workflow_is_known_by_the_files_that_a_session_changed() {
    let mut host = Served::new();
    specification(host.dir.path());
    fs_err::remove_file(host.dir.path().join("SESSION.md")).unwrap();
    let instructions = |host: &mut Served| {
        let answer = host.ask("summarize", json!({ "session": "s" }));
        let instructions = answer["instructions"][0].as_str();
        instructions.unwrap_or_default().to_owned()
    };
    host.turn("s", 1, "Go on with the next step", "Which one?");
    assert!(!instructions(&mut host).contains("Canonical Workflow Stage"));
    host.prompt("s", "2u", "The first one that is open");
    let edit = json!({
        "type": "tool", "id": "2p", "callID": "c2", "tool": "edit", "state": {
            "status": "completed", "output": "done",
            "input": { "filePath": ".codex/specs/login/tasks.md", "oldString": "[ ]", "newString": "[x]" },
        },
    });
    let mut message = answered("2a", "Done.");
    message["kind"] = "message".into();
    message["parts"].as_array_mut().unwrap().push(edit);
    host.observe("s", &json!([message, { "kind": "idle" }]));
    host.turn("s", 3, "And on", "Yes.");
    let instructions = instructions(&mut host);
    for kept in [
        "## Canonical Workflow Stage\n- spec-execute\n",
        "2 — Mend the redirect",
    ] {
        assert!(
            instructions.contains(kept),
            "{kept:?} is missing:\n{instructions}"
        );
    }
}

#[test]
fn long_words_of_the_user_do_not_push_the_stage_out() {
    let mut host = Served::new();
    specification(host.dir.path());
    for n in 1..=8 {
        let words = format!(
            "Wish {n}: {}",
            "and mind the many small things of old ".repeat(60)
        );
        host.turn("s", n, &words, "Noted.");
    }
    let text = written(&mut host, FORGETFUL);
    for kept in [
        "## Canonical Workflow Stage\n- spec-execute\n",
        "## Current Artifact\n- .codex/specs/login/tasks.md\n",
        "`.codex/scripts/harness.sh spec gate login 2`",
        "- How long is a session?\n",
        "2 — Mend the redirect — next in spec-execute of login.",
    ] {
        assert!(text.contains(kept), "{kept:?} is lost:\n{text}");
    }
}

/// A clock that the test moves.
struct Wound(Arc<AtomicI64>, StoryClock);

impl Clock for Wound {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }

    fn draw_id(&self) -> FrameId {
        self.1.draw_id()
    }
}

#[test]
fn a_resumed_session_is_sent_the_stage_of_the_workflow() {
    let time = Arc::new(AtomicI64::new(1_700_000_000_000));
    let clock = Wound(Arc::clone(&time), StoryClock::starting_at(0));
    let mut host = Served::with(|sidecar| {
        let project = sidecar.engine.project().clone();
        sidecar.engine = Engine::new(project, Box::new(clock), Duration::from_secs(5));
    });
    let hour = 60 * 60 * 1000;
    specification(host.dir.path());
    assert_eq!(host.prompt("s", "1", "Fix the login"), json!({}));
    // A session in the middle of its work is not resumed, however little it was sent.
    for n in 2..5 {
        time.fetch_add(hour / 2, Ordering::Relaxed);
        let answer = host.prompt("s", &n.to_string(), "And then?");
        assert!(!answer.to_string().contains("resume"), "{answer}");
    }
    time.fetch_add(9 * hour, Ordering::Relaxed);
    let answer = host.prompt("s", "9", "Good morning");
    let update = answer["append"].as_str().unwrap();
    assert!(
        update.starts_with("<stack-update after=\"resume\">\n"),
        "{update}"
    );
    assert!(
        update.contains("## Canonical Workflow Stage\n- spec-execute\n"),
        "{update}"
    );
    assert!(update.contains("2 — Mend the redirect"), "{update}");
    assert!(update.contains("How long is a session?"), "{update}");
    // Once is enough, and a summary is not made of it.
    assert_eq!(host.prompt("s", "10", "Go on"), json!({}));
    let mut message = said("9", "Good morning");
    let part = json!({ "type": "text", "id": "9a", "text": update, "synthetic": true });
    message["parts"].as_array_mut().unwrap().push(part);
    let prepared = host.ask(
        "prepare",
        json!({ "session": "s", "known": 0, "messages": [message], "compacting": true }),
    );
    assert_eq!(prepared["strip"], json!(["9a"]));
}

#[test]
fn a_resumed_session_without_a_workflow_is_sent_no_stage() {
    let time = Arc::new(AtomicI64::new(1_700_000_000_000));
    let clock = Wound(Arc::clone(&time), StoryClock::starting_at(0));
    let mut host = Served::with(|sidecar| {
        let project = sidecar.engine.project().clone();
        sidecar.engine = Engine::new(project, Box::new(clock), Duration::from_secs(5));
    });
    host.prompt("s", "1", "Fix the login");
    time.fetch_add(9 * 60 * 60 * 1000, Ordering::Relaxed);
    assert_eq!(host.prompt("s", "2", "Good morning"), json!({}));
}
