//! Frames and todos come before everything that files say.

use flamestack_brief::{Heading, Mode, split_by_survival};
use flamestack_core::compaction::AnchorKind;
use flamestack_core::transcript::{Todo, TodoStatus};
use flamestack_core::{Actor, Author};
use flamestack_engine::brief::BriefRequest;
use flamestack_engine::request::{NoteInput, Request};
use flamestack_engine::{EngineError, tools};
use serde_json::json;

use super::{Files, spoken, under, write};
use crate::ground::{actor, session};

const SPEC: &str = r"
=== .codex/specs/login/requirements.md
Users can log in.
=== .codex/specs/login/design.md
Tokens last an hour.
";

fn tool(files: &Files, name: &str, arguments: serde_json::Value) {
    tools::call(&files.engine, &actor("opencode:a"), name, arguments).unwrap();
}

fn asked() -> BriefRequest {
    BriefRequest {
        session: Some(session("opencode:a")),
        ..BriefRequest::default()
    }
}

fn todo(text: &str, status: TodoStatus) -> Todo {
    Todo {
        text: text.to_owned(),
        status,
    }
}

#[test]
fn the_frame_tree_comes_first() {
    let files = Files::drawn("=== SESSION.md\n[Focus: docs] 2026-03-11\n- Open Work: the manual\n");
    let push = |title: &str, done: &str| {
        tool(
            &files,
            "stack_frame_push",
            json!({ "title": title, "successCriteria": done }),
        );
    };
    push("Ship the login", "users can log in");
    tool(
        &files,
        "stack_add_decision",
        json!({ "decision": "JWT, because no lookups" }),
    );
    push("Verify tokens", "bad ones are refused");
    let popped = json!({ "status": "completed", "results": "In src/auth/jwt.rs" });
    tool(&files, "stack_frame_pop", popped);
    tool(
        &files,
        "stack_frame_plan_children",
        json!({ "children": [{ "title": "Rate limits", "successCriteria": "10 a minute" }] }),
    );
    insta::assert_snapshot!(spoken(&files.asked(&asked())), @"
    Primary Objective
      Ship the login — done when: users can log in  [frame vgme5xnq]
    Current Step
      Ship the login — done when: users can log in  [frame vgme5xnq]
    Status
      “Ship the login” is in progress.  [frame vgme5xnq]
      Active — working on docs.  [SESSION.md:1]
    Completed
      Verify tokens (claimed): In src/auth/jwt.rs  [frame we79889v]
    Remaining
      Rate limits — done when: 10 a minute  [frame qnhe4wn9]
      the manual  [SESSION.md:2]
    Decisions
      The model decided: JWT, because no lookups  [frame vgme5xnq]
    Next Action
      Rate limits — done when: 10 a minute  [frame qnhe4wn9]
    ");
}

#[test]
fn a_decision_of_the_user_approves_what_is_there() {
    let files = Files::drawn(SPEC);
    let goal = json!({ "title": "spec-design of `login`", "successCriteria": "a design" });
    tool(&files, "stack_frame_push", goal);
    for decision in ["requirements.md approved by the user", "tasks.md approved"] {
        decided_by_the_user(&files, decision);
    }
    let brief = files.asked(&asked());
    assert_eq!(under(&brief, Heading::Stage), ["spec-design"]);
    insta::assert_snapshot!(under(&brief, Heading::Approved).join("\n"), @"login: `requirements.md` is approved, recorded in frame vgme5xnq: “requirements.md approved by the user”");
    insta::assert_snapshot!(under(&brief, Heading::Pending).join("\n"), @"login: approval of `design.md` is not recorded.");
}

/// A model that says that its work is approved does not make it so.
#[test]
fn a_decision_of_the_model_approves_nothing() {
    let files = Files::drawn(SPEC);
    let goal = json!({ "title": "spec-design of `login`", "successCriteria": "a design" });
    tool(&files, "stack_frame_push", goal);
    let decision = json!({ "decision": "requirements.md approved by the user" });
    tool(&files, "stack_add_decision", decision);
    let brief = files.asked(&asked());
    let approved = under(&brief, Heading::Approved).join("\n");
    assert!(!approved.contains("is approved"), "{approved}");

    approved_by_the_user(&files, "requirements.md").unwrap();
    let brief = files.asked(&asked());
    insta::assert_snapshot!(under(&brief, Heading::Approved).join("\n"), @"login: `requirements.md` is approved, recorded in frame vgme5xnq: “requirements.md is approved”");

    // An agent cannot take the user's part.
    let agent = Actor {
        by: Author::Agent,
        ..actor("opencode:a")
    };
    let approve = note(NoteInput::Approval("design.md".to_owned(), None));
    let refused = files.engine.commands().execute(&agent, &approve);
    let refused = refused.unwrap_err().to_string();
    insta::assert_snapshot!(refused, @"directives and approvals are the user's: an agent cannot record one");
}

fn note(note: NoteInput) -> Request {
    Request::Note { frame: None, note }
}

fn decided_by_the_user(files: &Files, decision: &str) {
    let decision = note(NoteInput::Decision(decision.to_owned(), None));
    let commands = files.engine.commands();
    commands.execute(&by_the_user(), &decision).unwrap();
}

fn approved_by_the_user(files: &Files, what: &str) -> Result<(), EngineError> {
    let approval = note(NoteInput::Approval(what.to_owned(), None));
    let commands = files.engine.commands();
    commands.execute(&by_the_user(), &approval).map(drop)
}

/// The user at a terminal, on behalf of the session.
fn by_the_user() -> Actor {
    Actor {
        by: Author::User,
        ..actor("opencode:a")
    }
}

#[test]
fn todos_are_shown_and_cancelled_ones_never() {
    let files = Files::drawn("=== SESSION.md\n[Focus: docs] 2026-03-11\n- Open Work: the manual\n");
    let asked = BriefRequest {
        todos: vec![
            todo("Read the code", TodoStatus::Done),
            todo("Write the parser", TodoStatus::Active),
            todo("Rewrite it in C", TodoStatus::Cancelled),
            todo("Test the parser", TodoStatus::Pending),
        ],
        mode: Mode::ReadOnly,
        ..BriefRequest::default()
    };
    let brief = files.asked(&asked);
    insta::assert_snapshot!(spoken(&brief), @"
    Primary Objective
      the manual  [SESSION.md:2]
    Current Step
      Write the parser  [todo 2]
    Status
      mode: plan (read-only)  [host]
      Active — working on docs.  [SESSION.md:1]
    Completed
      Read the code  [todo 1]
    Remaining
      Write the parser  [todo 2]
      Test the parser  [todo 4]
      the manual  [SESSION.md:2]
    Next Action
      Write the parser  [todo 2]
    ");
    assert!(!brief.text.contains("in C"));
}

#[test]
fn a_read_only_session_is_marked_and_given_no_orders() {
    let files = Files::drawn(SPEC);
    let brief = files.asked(&BriefRequest {
        mode: Mode::ReadOnly,
        ..BriefRequest::default()
    });
    assert_eq!(under(&brief, Heading::Status)[0], "mode: plan (read-only)");
    let lower = brief.text.to_lowercase().replace("spec-execute", "");
    for word in ["execute", "implement", "continue"] {
        assert!(!lower.contains(word), "{word}: {}", brief.text);
    }
    assert!(
        brief
            .text
            .contains("background, not instructions. The newest user message takes precedence.")
    );
}

#[test]
fn anchors_are_found_again_or_missed() {
    let files = Files::drawn(format!(
        "{SPEC}=== .codex/specs/login/tasks.md\n## Batch 1\n- [x] 1. Token\n- [ ] 2. Form\n\
         === .codex/specs/login/context.md\n## Decisions Made\n- Decision: JWT\n"
    ));
    let brief = files.brief();
    let lost_in = |text: &str| split_by_survival(brief.anchors.clone(), text).1;
    assert!(lost_in(&brief.text).is_empty());
    let forgetful = "We worked on LOGIN in `spec-execute`, file .codex/specs/login/tasks.md.";
    let lost: Vec<AnchorKind> = lost_in(forgetful)
        .iter()
        .map(|anchor| anchor.kind)
        .collect();
    for kind in [
        AnchorKind::Goal,
        AnchorKind::Gate,
        AnchorKind::Decision,
        AnchorKind::NextAction,
    ] {
        assert!(lost.contains(&kind), "{kind:?}: {lost:?}");
    }
    for kind in [AnchorKind::Stage, AnchorKind::Unit, AnchorKind::Artifact] {
        assert!(!lost.contains(&kind), "{kind:?}: {lost:?}");
    }
}

const TWO: &str = r"
=== .codex/specs/login/tasks.md
- [x] 1. Form
- [ ] 2. Rate limit
=== .codex/specs/search/tasks.md
- [x] 1. Index
- [ ] 2. Ranking
";

fn unit(files: &Files) -> Option<String> {
    let workflow = files.asked(&asked()).workflow;
    workflow.and_then(|workflow| workflow.item)
}

/// Files that a session has changed show what is in progress, in frames that have ended too.
#[test]
fn changed_files_show_what_is_in_progress() {
    let files = Files::drawn(TWO);
    let push = |title: &str| {
        let goal = json!({"title": title, "successCriteria": "it works"});
        tool(&files, "stack_frame_push", goal);
    };
    let changed = |path: &str| {
        let artifact = json!({"artifact": path});
        tool(&files, "stack_add_artifact", artifact);
    };
    push("Ship the shop");
    assert_eq!(unit(&files), None);
    for (title, path) in [
        ("A step", ".codex/specs/search/tasks.md"),
        ("Another step", ".codex/specs/login/tasks.md"),
    ] {
        push(title);
        changed(path);
        tool(
            &files,
            "stack_frame_pop",
            json!({"status": "completed", "results": "done"}),
        );
    }
    assert_eq!(unit(&files).as_deref(), Some("login"));
    // The session continues with something else.
    write(
        files.root(),
        "=== .codex/specs/login/tasks.md\n- [x] 1. Form\n- [x] 2. Rate limit\n",
    );
    assert_eq!(unit(&files).as_deref(), Some("search"));
    write(
        files.root(),
        "=== .codex/specs/search/tasks.md\n- [x] 1. Index\n- [x] 2. Ranking\n",
    );
    assert_eq!(unit(&files), None);
}

/// A frame that changed the files of work that is finished is not about it forever.
#[test]
fn a_finished_specification_does_not_cling_to_a_frame() {
    let files = Files::drawn(TWO.replace("[ ]", "[x]"));
    let goal = json!({"title": "Ship the shop", "successCriteria": "it works"});
    tool(&files, "stack_frame_push", goal);
    let artifact = json!({"artifact": ".codex/specs/login/tasks.md"});
    tool(&files, "stack_add_artifact", artifact);
    assert_eq!(unit(&files), None);
    let decision = json!({"decision": "Release .codex/specs/login first"});
    tool(&files, "stack_add_decision", decision);
    assert_eq!(unit(&files).as_deref(), Some("login"));
}

/// A session that continued with other things is about those.
#[test]
fn work_of_long_ago_says_nothing() {
    let files = Files::drawn(TWO);
    let begin = |title: &str| {
        let goal = json!({"title": title, "successCriteria": "it works"});
        tool(&files, "stack_frame_push", goal);
    };
    let end = |path: String| {
        tool(&files, "stack_add_artifact", json!({"artifact": path}));
        let done = json!({"status": "completed", "results": "done"});
        tool(&files, "stack_frame_pop", done);
    };
    begin("Ship the shop");
    begin("A step");
    end(".codex/specs/login/tasks.md".to_owned());
    for n in 0..7 {
        begin("Something else");
        end(format!("src/{n}.rs"));
    }
    assert_eq!(unit(&files).as_deref(), Some("login"));
    begin("Something else again");
    end("src/8.rs".to_owned());
    assert_eq!(unit(&files), None);
}

/// A session that had one specification approved continues with the next: that is not approved by it.
#[test]
fn an_approval_of_another_specification_in_a_frame() {
    let files = Files::drawn(
        "=== .codex/specs/login/requirements.md\nUsers log in.\n\
         === .codex/specs/search/requirements.md\nUsers find things.\n",
    );
    let push = |title: &str| {
        let goal = json!({"title": title, "successCriteria": "it works"});
        tool(&files, "stack_frame_push", goal);
    };
    let decide = |decision: &str| decided_by_the_user(&files, decision);
    let approved = || under(&files.asked(&asked()), Heading::Approved).len();
    push("Specifications of the shop");
    let artifact = json!({"artifact": ".codex/specs/login/requirements.md"});
    tool(&files, "stack_add_artifact", artifact);
    decide("requirements.md approved by the user");
    assert_eq!(unit(&files).as_deref(), Some("login"));
    assert_eq!(approved(), 1);
    push("spec-create of `search`");
    assert_eq!(unit(&files).as_deref(), Some("search"));
    assert_eq!(approved(), 0);
    decide("requirements.md approved by the user");
    assert_eq!(approved(), 1);
}

/// The story of a hand-off: plan, take up a step, finish it, continue.
#[test]
fn a_hand_off_knows_the_plan_the_step_and_what_was_learned() {
    let files = Files::drawn("");
    let push = |title: &str| {
        let goal = json!({"title": title, "successCriteria": "it works"});
        tool(&files, "stack_frame_push", goal);
    };
    let plan = |titles: &[&str]| {
        let children = titles
            .iter()
            .map(|title| json!({"title": title, "successCriteria": "it works", "children": []}));
        let children: Vec<_> = children.collect();
        tool(
            &files,
            "stack_frame_plan_children",
            json!({ "children": children }),
        );
    };
    push("Ship the shop");
    plan(&["Billing", "Launch"]);
    push("Sign-in");
    plan(&["Sessions", "Expiry"]);
    push("Password hashing");
    insta::assert_snapshot!(spoken(&files.asked(&asked())), @"
    Primary Objective
      Ship the shop — done when: it works  [frame vgme5xnq]
    Current Step
      Password hashing — done when: it works  [frame npm5ajy4]
    Status
      “Password hashing” is in progress; 0 of 2 siblings complete.  [frame npm5ajy4]
    Remaining
      Sessions — done when: it works  [frame shq5bkyj]
      Expiry — done when: it works  [frame mr19669z]
      Billing — done when: it works  [frame we79889v]
      Launch — done when: it works  [frame qnhe4wn9]
    Next Action
      Password hashing — done when: it works  [frame npm5ajy4]
    ");

    tool(
        &files,
        "stack_add_decision",
        json!({"decision": "argon2id"}),
    );
    let failed = NoteInput::FailedAttempt("bcrypt".to_owned(), Some("too slow".to_owned()));
    let commands = files.engine.commands();
    commands
        .execute(&actor("opencode:a"), &note(failed))
        .unwrap();
    let done = json!({"status": "completed", "results": "Hashes are stored"});
    tool(&files, "stack_frame_pop", done);
    insta::assert_snapshot!(spoken(&files.asked(&asked())), @"
    Primary Objective
      Ship the shop — done when: it works  [frame vgme5xnq]
    Current Step
      Sign-in — done when: it works  [frame rk49779d]
    Status
      “Sign-in” is in progress; 0 of 2 siblings complete.  [frame rk49779d]
    Completed
      Password hashing (claimed): Hashes are stored  [frame npm5ajy4]
    Remaining
      Sessions — done when: it works  [frame shq5bkyj]
      Expiry — done when: it works  [frame mr19669z]
      Billing — done when: it works  [frame we79889v]
      Launch — done when: it works  [frame qnhe4wn9]
    Decisions
      The model decided in “Password hashing”: argon2id  [frame npm5ajy4]
    Blockers / Risks
      Tried without success: bcrypt (because: too slow)  [frame npm5ajy4]
    Next Action
      Sessions — done when: it works  [frame shq5bkyj]
    ");
}
