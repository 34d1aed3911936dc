//! Briefs of conversations: what came of earlier prompts and of the work below them.

use flamestack_brief::Heading;
use flamestack_core::transcript::{Entry, EntryKind, Speaker, Todo, TodoStatus};
use flamestack_engine::brief::BriefRequest;
use flamestack_engine::tools;
use serde_json::json;

use super::{Files, spoken, under};
use crate::ground::{actor, session};

fn tool(files: &Files, name: &str, arguments: serde_json::Value) {
    tools::call(&files.engine, &actor("opencode:a"), name, arguments).unwrap();
}

fn push(files: &Files, title: &str) {
    let goal = json!({ "title": title, "successCriteria": "it works" });
    tool(files, "stack_frame_push", goal);
}

fn pop(files: &Files, results: &str) {
    let popped = json!({ "status": "completed", "results": results });
    tool(files, "stack_frame_pop", popped);
}

fn asked() -> BriefRequest {
    BriefRequest {
        session: Some(session("opencode:a")),
        ..BriefRequest::default()
    }
}

fn entry(id: &str, kind: EntryKind) -> Entry {
    Entry {
        id: Some(id.to_owned()),
        message: Some(format!("msg_{id}")),
        at: None,
        agent: None,
        kind,
    }
}

fn prompt(id: &str, text: &str) -> Entry {
    let (speaker, text) = (Speaker::Person, text.to_owned());
    entry(id, EntryKind::User { speaker, text })
}

fn reply(id: &str, text: &str) -> [Entry; 2] {
    let text = text.to_owned();
    [
        entry(id, EntryKind::Assistant { text }),
        entry(&format!("{id}-end"), EntryKind::TurnEnded),
    ]
}

fn heard(files: &Files, entries: &[Entry]) {
    files.engine.ingest(&actor("opencode:a"), entries).unwrap();
}

#[test]
fn decisions_far_below_are_known_above() {
    let files = Files::drawn("");
    push(&files, "Ship the login");
    push(&files, "Store sessions");
    push(&files, "Choose a store");
    push(&files, "Compare tables");
    let why = json!({ "decision": "SQLite, because there is one process" });
    tool(&files, "stack_add_decision", why);
    pop(&files, "SQLite wins.");
    let cache = json!({ "decision": "No cache, because reads are rare" });
    tool(&files, "stack_add_decision", cache);
    pop(&files, "A table of sessions.");
    pop(&files, "Sessions are stored.");
    let brief = files.asked(&asked());
    insta::assert_snapshot!(under(&brief, Heading::Decisions).join("\n"), @"
    The model decided in “Compare tables”: SQLite, because there is one process
    The model decided in “Choose a store”: No cache, because reads are rare
    ");
}

#[test]
fn a_task_in_other_words_remains_once() {
    let tasks = "=== .codex/specs/login/requirements.md\nUsers can log in.\n\
        === .codex/specs/login/design.md\nTokens.\n\
        === .codex/specs/login/tasks.md\n- [x] 1. Token type\n- [ ] 2. Login form\n\
        - [ ] 3. Migrate the remaining callers of validateSession()\n- [ ] 4. Logout form\n";
    let files = Files::drawn(tasks);
    push(&files, "spec-execute of `login`");
    let item = |text: &str| Todo {
        text: text.to_owned(),
        status: TodoStatus::Pending,
    };
    let brief = files.asked(&BriefRequest {
        todos: vec![
            item("Build the login form"),
            item("Migrate callers of validateSession"),
            item("Write the release notes"),
        ],
        ..asked()
    });
    insta::assert_snapshot!(under(&brief, Heading::Remaining).join("\n"), @"
    Build the login form
    Migrate callers of validateSession
    Write the release notes
    4 — Logout form
    ");
}

/// A session is named after its first prompt. Once that is answered, it is not the goal any more.
#[test]
fn an_answered_first_prompt_is_not_the_objective() {
    let files = Files::drawn("");
    heard(&files, &[prompt("p1", "Fix the login")]);
    let brief = files.asked(&asked());
    assert_eq!(under(&brief, Heading::Objective), ["Fix the login"]);

    heard(&files, &reply("a1", "The cookie had the wrong path."));
    let brief = files.asked(&asked());
    assert_eq!(under(&brief, Heading::Remaining), Vec::<String>::new());

    heard(&files, &[prompt("p2", "And now write the manual")]);
    insta::assert_snapshot!(spoken(&files.asked(&asked())), @"
    Primary Objective
      And now write the manual  [frame qnhe4wn9]
    Current Step
      And now write the manual  [frame qnhe4wn9]
    Status
      The conversation that began with “Fix the login” is in progress.  [frame vgme5xnq]
    Completed
      Fix the login: The cookie had the wrong path.  [frame we79889v]
    Next Action
      And now write the manual  [frame qnhe4wn9]
    ");

    heard(&files, &reply("a2", "It has three pages."));
    let brief = files.asked(&asked());
    for heading in [
        Heading::Objective,
        Heading::CurrentStep,
        Heading::NextAction,
    ] {
        assert_eq!(
            under(&brief, heading),
            ["And now write the manual (answered)"]
        );
    }
    assert_eq!(under(&brief, Heading::Remaining), Vec::<String>::new());
}
