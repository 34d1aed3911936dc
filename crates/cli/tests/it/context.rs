//! Contexts as `flame context` prints them.

use std::time::Duration;

use flamestack_core::Author;
use flamestack_core::command::Actor;
use flamestack_core::delivery::{Delivery, HeaderReason};
use flamestack_engine::context::ContextOptions;
use flamestack_engine::{Engine, Home, Project, SystemClock};

use crate::ground::TestProject;

/// A project with a root, a finished child, a plan and something the user said.
fn shop() -> TestProject {
    let project = TestProject::new();
    project.flame(&["push", "Ship the login", "--criteria", "users can log in"]);
    project.flame(&["note", "directive", "hands off the billing tables"]);
    project.flame(&["push", "Verify tokens"]);
    project.flame(&["note", "failed", "HS256", "--why", "the key leaks"]);
    project.flame(&["pop", "Tokens are verified in src/auth/jwt.rs"]);
    project.flame(&["plan", "Write the docs", "Announce it"]);
    project.flame(&["push", "Rate limits", "--criteria", "10 a minute"]);
    project
}

#[test]
fn twenty_processes_print_the_same_bytes() {
    let project = shop();
    let first = project.flame(&["context"]);
    assert_eq!(first.code, Some(0));
    assert!(first.stdout.starts_with("<stack-context session=\"shell:"));
    assert!(first.stdout.ends_with("</stack-context>\n"));
    for part in [
        "<directive>hands off the billing tables</directive>",
        "Tokens are verified in src/auth/jwt.rs",
        "<title>Rate limits</title>",
        "10 a minute",
    ] {
        assert!(first.stdout.contains(part), "{part}: {}", first.stdout);
    }
    for _ in 0..19 {
        assert_eq!(project.flame(&["context"]).stdout, first.stdout);
    }
}

#[test]
fn a_budget_that_is_too_small_is_refused() {
    let project = shop();
    let refused = project.flame(&["context", "--budget", "255"]);
    assert_eq!(refused.code, Some(2));
    assert_eq!(refused.stdout, "");
    assert!(
        refused.stderr.contains("the minimum is 256"),
        "{}",
        refused.stderr
    );
    assert!(refused.stderr.contains("hint"), "{}", refused.stderr);
    assert_eq!(project.flame(&["context", "--budget", "256"]).code, Some(0));
}

#[test]
fn an_empty_context_prints_nothing() {
    let project = TestProject::new();
    let nothing = project.flame(&["context"]);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (Some(0), ""));
    assert_eq!(nothing.stderr, "");
    project.flame(&["push", "A root without anything"]);
    let nothing = project.flame(&["context", "--table"]);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (Some(0), ""));
}

#[test]
fn the_table_and_json_add_up() {
    let project = shop();
    let table = project.flame(&["context", "--table"]);
    assert!(
        table.stdout.contains("completed-siblings"),
        "{}",
        table.stdout
    );
    assert!(
        table.stdout.contains("of 4,000 tokens by o200k"),
        "{}",
        table.stdout
    );
    let json: serde_json::Value =
        serde_json::from_str(&project.flame(&["context", "--json"]).stdout).unwrap();
    assert_eq!(json["text"], project.flame(&["context"]).stdout);
    assert!(json["tokens"].as_u64().unwrap() <= 4000);
    let format = project.flame(&["context", "--format", "json"]);
    let format: serde_json::Value = serde_json::from_str(&format.stdout).unwrap();
    assert_eq!(format["tokens"], json["tokens"]);
    assert_eq!(format["sections"], json["sections"]);
}

#[test]
fn settings_reach_the_context() {
    let project = shop()
        .with_env("STACK_TOKEN_BUDGET_TOTAL", "300")
        .with_env("FLAME_CONTEXT_GUIDANCE", "off")
        .with_env("FLAME_CONTEXT_TOKENIZER", "estimate");
    let json: serde_json::Value =
        serde_json::from_str(&project.flame(&["context", "--json"]).stdout).unwrap();
    assert_eq!(json["budget"]["total"], 300);
    assert_eq!(json["tokenizer"], "estimate");
    assert!(
        !json["text"]
            .as_str()
            .unwrap()
            .contains("stack-task-management")
    );
    let bad = shop().with_env("FLAME_CONTEXT_MAX_ANCESTORS", "1");
    let ignored = bad.flame(&["context"]);
    assert_eq!(ignored.code, Some(0));
    assert!(
        ignored.stderr.contains("FLAME_CONTEXT_MAX_ANCESTORS"),
        "{}",
        ignored.stderr
    );
}

/// Returns what a host's session is sent with a message.
fn deliver(project: &TestProject, message: &str, after: Option<HeaderReason>) -> Delivery {
    let home = Home {
        state: project.dir().join("state"),
        config: project.dir().join("config"),
    };
    let place = Project::at(project.root(), &home).unwrap();
    let engine = Engine::new(place, Box::new(SystemClock), Duration::from_secs(5));
    let actor = Actor {
        session: "opencode:ses_1".parse().unwrap(),
        worktree: None,
        message: Some(message.to_owned()),
        by: Author::Agent,
    };
    engine
        .contexts()
        .deliver(&actor, after, &ContextOptions::default())
        .unwrap()
}

#[test]
fn what_was_sent_is_printed_as_it_was_sent() {
    let project = shop();
    let as_sent = |rest: &[&str]| {
        let arguments = ["context", "--as-sent", "--session", "opencode:ses_1"];
        project.flame(&[&arguments, rest].concat())
    };
    let nothing = as_sent(&[]);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (Some(0), ""));
    assert_eq!(as_sent(&["--json"]).stdout, "null\n");
    project.flame(&["push", "Docs", "--session", "opencode:ses_1"]);
    project.flame(&[
        "note",
        "decision",
        "In <English>",
        "--session",
        "opencode:ses_1",
    ]);
    let Delivery::Header(header) = deliver(&project, "m1", None) else {
        panic!("no header");
    };
    assert!(header.contains("In &lt;English>"), "{header}");
    assert_eq!(as_sent(&[]).stdout, header);
    let json: serde_json::Value = serde_json::from_str(&as_sent(&["--json"]).stdout).unwrap();
    let id = header
        .split("id=\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    // A person takes part; what the model would be shown changes, what it was sent does not.
    project.flame(&["note", "directive", "No jokes", "--frame", id]);
    assert_eq!(as_sent(&[]).stdout, header);
    let Delivery::Update(update) = deliver(&project, "m2", None) else {
        panic!("no update");
    };
    assert!(update.contains("No jokes"), "{update}");
    assert_eq!(as_sent(&[]).stdout, format!("{header}{update}"));
    assert_eq!(json["header"]["message"], "m1");
    assert_eq!(json["updates"], serde_json::json!([]));
    let count = 1;
    deliver(&project, "m3", Some(HeaderReason::Compaction { count }));
    let json: serde_json::Value = serde_json::from_str(&as_sent(&["--json"]).stdout).unwrap();
    assert_eq!(json["header"]["after"], "compaction");
    assert_eq!(json["text"], json["header"]["text"]);
    // All of it is in the journal: it survives a rebuild, and the doctor agrees.
    let before = as_sent(&[]).stdout;
    project.flame(&["rebuild"]);
    assert_eq!(as_sent(&[]).stdout, before);
    assert_eq!(project.flame(&["doctor"]).code, Some(0));
    let both = project.flame(&["context", "--as-sent", "--table"]);
    assert_eq!(both.code, Some(2));
}
