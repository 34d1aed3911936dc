//! The life of frames by commands and tools: blocked work resumed, begun work moved, summaries
//! without a conversation, and waits that end.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::ground::{Output, TestProject};

fn tool(project: &TestProject, name: &str, arguments: &Value) -> Output {
    project.flame(&["tool", name, &arguments.to_string()])
}

/// Returns the id of the active frame.
fn active(project: &TestProject) -> String {
    let shown = project.json(&["show"]);
    shown["id"].as_str().unwrap().to_owned()
}

fn agents() -> TestProject {
    let mut project = TestProject::new();
    project.turn_to_session("opencode:ses_a");
    project
}

#[test]
fn a_model_takes_blocked_work_up_again_by_tools() {
    let project = agents();
    project.ok(&["push", "Login"]);
    project.ok(&["push", "Mail"]);
    let mail = active(&project);
    let blocked = json!({ "status": "blocked", "results": "SMTP keys are missing" });
    tool(&project, "stack_frame_pop", &blocked);
    assert_snapshot!(tool(&project, "stack_frame_activate", &json!({ "sessionID": mail })), @"
    id-2 “Mail” is in progress again
    it was blocked: SMTP keys are missing
    ");
    tool(&project, "stack_frame_pop", &blocked);
    let done = json!({ "frameID": mail, "status": "completed", "results": "Sent" });
    assert_snapshot!(tool(&project, "stack_frame_pop", &done), @"
    id-2 “Mail” is completed (claimed)
    results: Sent
    it was blocked: SMTP keys are missing
    now at → id-1 “Login”
    ");
    let again = json!({ "frameID": mail, "status": "blocked", "results": "again" });
    assert_snapshot!(tool(&project, "stack_frame_pop", &again), @"
    --- stderr
    error: id-2 “Mail” is completed already
    hint: call stack_frame_push to do it again
    [exit 1]
    ");
    let log = project.ok(&["log", &mail]);
    assert_eq!(log.matches("unblocked").count(), 2, "{log}");
}

#[test]
fn planned_work_is_blocked_and_begun_work_is_moved() {
    let project = TestProject::new();
    project.ok(&["push", "Shop"]);
    project.ok(&["plan", "Payment"]);
    let tree = project.json(&["tree"]);
    let payment = tree["lines"][1]["id"].as_str().unwrap();
    assert_snapshot!(project.flame(&["block", "contract", "--frame", payment]), @"
    id-2 “Payment” is blocked: contract
    now at → id-1 “Shop”
    ");
    assert_snapshot!(project.flame(&["unblock", payment]), @"
    id-2 “Payment” is planned again
    `flame activate id-2` switches to it
    it was blocked: contract
    ");
    project.ok(&["push", "Wrong"]);
    let wrong = active(&project);
    project.ok(&["push", "Cart"]);
    let cart = active(&project);
    project.ok(&[
        "push",
        "Right",
        "--parent",
        tree["lines"][0]["id"].as_str().unwrap(),
    ]);
    let right = active(&project);
    assert_snapshot!(project.flame(&["move", &cart, "--under", &right]), @"id-4 “Cart” is now below id-5 “Right”");
    assert_snapshot!(project.flame(&["move", &right, "--under", &cart]), @"
    --- stderr
    error: id-5 “Right” cannot be moved below id-4 “Cart”, which is below it
    hint: choose a place outside of it
    [exit 1]
    ");
    assert_snapshot!(project.flame(&["move", &right, "--under", payment]), @"
    --- stderr
    error: id-2 “Payment” is planned and was not started
    hint: start it with `flame activate id-2`, or abandon it with `flame invalidate id-2 --reason WHY`
    [exit 1]
    ");
    project.ok(&["pop", "--frame", &wrong, "nothing here"]);
    assert_snapshot!(project.flame(&["move", &wrong, "--root"]), @"
    --- stderr
    error: id-3 “Wrong” is completed: only open work can be moved
    hint: plan new work in the other place instead
    [exit 1]
    ");
    assert_snapshot!(project.flame(&["tree", "--status", "in_progress"]), @"
    → id-1  Shop · 1/3 done
    └─ → id-5  Right · 0/1 done  ◀ you are here
       └─ → id-4  Cart

    5 frames: 3 in progress, 1 planned, 1 completed
    → in progress  ○ planned  ! blocked  ✓ completed  ✗ failed  – invalidated
    ");
}

#[test]
fn a_frame_without_a_conversation_is_summarised_from_its_record() {
    let project = TestProject::new();
    project.ok(&["push", "Hashing"]);
    assert_snapshot!(project.flame(&["summarize"]), @"nothing is recorded in id-1 “Hashing” to summarize");
    project.ok(&["note", "decision", "argon2", "--why", "pure Rust"]);
    project.ok(&["note", "failed", "bcrypt", "--why", "needs C"]);
    project.ok(&["note", "test", "hash::round_trip"]);
    let log = project.root().join("build.log");
    fs_err::write(&log, "Compiling\n\nerror[E0432]: unresolved import\n").unwrap();
    project.ok(&["note", "log", "build.log"]);
    project.ok(&["push", "Salt"]);
    project.ok(&["pop", "16 bytes from the system"]);
    assert_snapshot!(project.flame(&["summarize"]), @"id-1 “Hashing” has a summary");
    assert_snapshot!(project.json(&["show"])["summary"].as_str().unwrap(), @"
    Decided: argon2 (because pure Rust)
    Did not work: bcrypt (because needs C)
    Evidence: test hash::round_trip passed
    Salt (completed): 16 bytes from the system
    End of build.log: Compiling / error[E0432]: unresolved import
    ");
    assert_snapshot!(project.flame(&["pop", "--summarize"]), @"
    id-1 “Hashing” has a summary
    id-1 “Hashing” is completed
    that was the root: the whole tree is finished
    no frame is active now
    ");
    project.ok(&["push", "Empty"]);
    assert_snapshot!(tool(&project, "stack_frame_pop", &json!({ "status": "completed" })), @"
    nothing is recorded in id-3 “Empty” to summarize
    id-3 “Empty” is completed (claimed)
    that was the root: the whole tree is finished
    no frame is active now
    ");
    let tree = project.json(&["tree", "--all"]);
    assert_snapshot!(tree["lines"][2]["resultsCompacted"].as_str().unwrap(), @"Closed without results.");
}

#[test]
fn one_undo_takes_back_a_summary() {
    let project = TestProject::new();
    project.push("Shop");
    let cart = project.push("Cart");
    project.ok(&["note", "decision", "cents"]);
    let status = || project.json(&["show", &cart])["status"].clone();
    project.ok(&["pop", "--summarize"]);
    assert_eq!(status(), "completed");
    project.ok(&["undo"]);
    assert_eq!(status(), "in_progress");
    // Nothing is left that would close it again.
    project.ok(&["push", "Below"]);
    assert_eq!(status(), "in_progress");
    project.ok(&["undo"]);
    project.ok(&["summarize"]);
    project.ok(&["undo"]);
    assert_eq!(project.json(&["show", &cart])["summary"], json!(null));
    project.ok(&["undo"]);
    assert_eq!(project.json(&["show", &cart])["decisions"], json!([]));
}

#[test]
fn a_frame_that_was_closed_after_its_wait_stays_open_once_that_is_undone() {
    let mut project = TestProject::new().with_env("FLAME_COMPACTION_COMPLETION_TIMEOUT_MS", "0");
    project.turn_to_session("opencode:ses_a");
    let goal = json!({ "title": "Root", "successCriteria": "x" });
    tool(&project, "stack_frame_push", &goal);
    tool(
        &project,
        "stack_frame_pop",
        &json!({ "status": "completed" }),
    );
    // Ends the wait, and says so.
    project.flame(&["status"]);
    let status = || project.json(&["tree", "--all"])["lines"][0]["status"].clone();
    assert_eq!(status(), "completed");
    project.ok(&["undo"]);
    assert_eq!(status(), "in_progress");
    project.ok(&["note", "decision", "cents"]);
    assert_eq!(status(), "in_progress");
}

#[test]
fn a_wait_for_a_summary_ends_with_the_next_command_after_its_deadline() {
    let mut project = TestProject::new().with_env("FLAME_COMPACTION_COMPLETION_TIMEOUT_MS", "0");
    project.turn_to_session("opencode:ses_a");
    tool(
        &project,
        "stack_frame_push",
        &json!({ "title": "Root", "successCriteria": "x" }),
    );
    tool(
        &project,
        "stack_frame_push",
        &json!({ "title": "Work", "successCriteria": "x" }),
    );
    tool(
        &project,
        "stack_add_decision",
        &json!({ "decision": "cents", "reason": "no rounding" }),
    );
    let waiting = tool(
        &project,
        "stack_frame_pop",
        &json!({ "status": "completed" }),
    );
    assert_snapshot!(waiting, @"id-2 “Work” ends as completed once a summary of it is there");
    assert_snapshot!(tool(&project, "stack_frame_plan", &json!({ "title": "Next", "successCriteria": "x" })), @"
    ○ id-3  Next
    --- stderr
    note: no summary arrived for opencode:ses_a: id-2 “Work” has a summary; id-2 “Work” is completed (claimed); now at → id-1 “Root”
    ");
    assert_eq!(
        project.ok(&["status"]),
        project.ok(&["status"]),
        "it settled once"
    );

    tool(&project, "stack_frame_summarize", &json!({}));
    let mut other = project;
    other.turn_to_session("shell:main");
    assert_snapshot!(other.flame(&["tree"]), @"
    → id-1  Root · 1/2 done  ◀ opencode:ses_a
    ├─ ✓ id-2  Work · claimed
    └─ ○ id-3  Next

    3 frames: 1 in progress, 1 planned, 1 completed
    → in progress  ○ planned  ! blocked  ✓ completed  ✗ failed  – invalidated
    claimed: completed without a recorded check, test or commit (`flame check` records one)
    --- stderr
    note: no summary arrived for opencode:ses_a: id-1 “Root” has a summary
    ");
    other.ok(&["tree"]);
}

#[test]
fn work_that_begins_meanwhile_does_not_keep_a_popped_frame_open() {
    let project = agents();
    project.ok(&["push", "Root"]);
    project.ok(&["push", "Work"]);
    project.ok(&["note", "decision", "cents"]);
    tool(
        &project,
        "stack_frame_pop",
        &json!({ "status": "completed" }),
    );
    assert_snapshot!(tool(&project, "stack_frame_push", &json!({ "title": "Next", "successCriteria": "x" })), @"
    id-2 “Work” has a summary
    id-2 “Work” is completed (claimed)
    id-3 “Next” is in progress, below id-1 “Root”
    ");
    assert_snapshot!(project.flame(&["tree"]), @"
    → id-1  Root · 1/2 done
    ├─ ✓ id-2  Work · claimed
    └─ → id-3  Next  ◀ you are here

    3 frames: 2 in progress, 1 completed
    → in progress  ○ planned  ! blocked  ✓ completed  ✗ failed  – invalidated
    claimed: completed without a recorded check, test or commit (`flame check` records one)
    ");
}

#[test]
fn a_decision_has_a_reason_and_a_tree_a_status() {
    let project = agents();
    project.ok(&["push", "Root"]);
    let why = tool(
        &project,
        "stack_add_decision",
        &json!({ "decision": "argon2", "why": "pure Rust" }),
    );
    assert_eq!(why.code, Some(0), "{why}");
    let shown = project.json(&["show"]);
    assert_eq!(
        shown["decisions"],
        json!([{ "text": "argon2", "why": "pure Rust", "by": "model" }])
    );
    project.ok(&["plan", "Later", "Never"]);
    project.ok(&["push", "Now"]);
    assert_snapshot!(tool(&project, "stack_tree", &json!({ "status": "planned" })), @"
    → id-1  Root · 0/3 done
    ├─ ○ id-2  Later
    └─ ○ id-3  Never

    4 frames: 2 in progress, 2 planned
    → in progress  ○ planned  ! blocked  ✓ completed  ✗ failed  – invalidated
    ");
    assert_snapshot!(tool(&project, "stack_status", &json!({})), @"
      task 3 of 3 (0 done, 2 planned)
      next: id-2  Later

    4 frames: 2 in progress, 2 planned

    → id-1  Root · 0/3 done
    ├─ ○ id-2  Later
    ├─ ○ id-3  Never
    └─ → id-4  Now  ◀ you are here
    ");
    let refused = project.misused(&["tree", "--status", "done"]);
    assert!(refused.stderr.contains("in_progress"), "{refused}");
}

#[test]
fn a_frame_says_how_long_it_took() {
    let project = TestProject::new();
    project.ok(&["plan", "--root", "Later"]);
    let later = project.json(&["tree"])["lines"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let planned = project.json(&["show", &later]);
    assert_eq!(planned.get("durationMs"), None, "it was not started");
    project.ok(&["activate", &later]);
    let open = project.json(&["show", &later]);
    assert!(
        open["startedAt"].is_i64() && open.get("endedAt").is_none(),
        "{open}"
    );
    project.ok(&["pop", "done"]);
    let done = project.json(&["show", &later]);
    let took = done["endedAt"].as_i64().unwrap() - done["startedAt"].as_i64().unwrap();
    assert_eq!(done["durationMs"].as_i64(), Some(took));
    let text = project.ok(&["show", &later]);
    assert!(
        text.lines()
            .any(|line| line.contains("ended") && line.contains("after ")),
        "{text}"
    );
}

#[test]
fn undo_and_delete_name_what_they_took_back() {
    let project = TestProject::new();
    project.ok(&["push", "Root"]);
    let root = active(&project);
    project.ok(&["push", "Child"]);
    project.ok(&["activate", &root]);
    assert_snapshot!(project.flame(&["undo"]), @"
    undone: the switch to id-1 “Root”
    now at → id-2 “Child”
    ");
    project.ok(&["plan", "Later"]);
    let tree = project.json(&["tree"]);
    let later = tree["lines"][2]["id"].as_str().unwrap();
    assert_snapshot!(project.flame(&["delete", later]), @"id-3 “Later” is deleted");
    assert_snapshot!(project.flame(&["undo"]), @"
    undone: id-3 “Later” deleted
    now at → id-2 “Child”
    next: id-3  Later
    ");
    project.ok(&[
        "pop",
        "--frame",
        tree["lines"][1]["id"].as_str().unwrap(),
        "--status",
        "failed",
        "no",
    ]);
    assert_snapshot!(project.flame(&["delete", tree["lines"][1]["id"].as_str().unwrap()]), @"
    --- stderr
    error: id-2 “Child” is failed: only planned frames can be deleted
    hint: finished work stays as a record of what was done
    [exit 1]
    ");
}

#[test]
fn commits_are_resolved_and_missing_files_are_doubted() {
    let project = TestProject::in_git();
    project.ok(&["push", "Root"]);
    project.git(&["tag", "v1"]);
    let head = project.json(&["note", "commit", "HEAD"]);
    assert_eq!(head["changed"], true);
    project.ok(&["note", "commit", "v1"]);
    let shown = project.json(&["show"]);
    let commit = shown["evidence"][0]["commit"].as_str().unwrap();
    assert!(commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()));
    assert_eq!(
        shown["evidence"].as_array().unwrap().len(),
        1,
        "the same commit once"
    );
    let unknown = "deadbeef".repeat(5);
    assert_snapshot!(project.refused(&["note", "commit", &unknown]), @"
    --- stderr
    error: git knows no commit deadbeefdeadbeefdeadbeefdeadbeefdeadbeef in this repository
    hint: name one that it knows, such as HEAD; `flame note TEXT` keeps a text that is no evidence
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["note", "commit", "no-such-branch"]), @"
    --- stderr
    error: “no-such-branch” is not a commit
    hint: give its hash, or in a repository HEAD, a branch or a tag
    [exit 1]
    ");
    // It is no evidence: without any, the work is only claimed to be done.
    project.ok(&["push", "Unproven"]);
    project.refused(&["note", "commit", &unknown]);
    let popped = project.ok(&["pop", "done"]);
    assert!(popped.contains("completed (claimed)"), "{popped}");
    project.ok(&["note", "artifact", "README.md", "https://example.org/a"]);
    assert_snapshot!(project.flame(&["note", "artifact", "REDME.md"]), @"
    id-1 “Root” has a new artifact
    --- stderr
    note: there is no file REDME.md (yet)
    ");
}

#[test]
fn a_plan_says_what_it_left_out() {
    let project = TestProject::new();
    let plan = "- [x] Old\n  - Part\n- [ ] New\n";
    assert_snapshot!(project.flame_reading(&["plan", "--from", "-"], plan.as_bytes()), @"
    ○ id-1  New
    --- stderr
    note: left out 1 line that is ticked off (`- [x]`), and 1 line below
    ");
    let plan = "- [x] Parent\n  - [ ] Open child\n- [ ] Other\n";
    assert_snapshot!(project.flame_reading(&["plan", "--from", "-"], plan.as_bytes()), @"
    ○ id-2  Open child
    ○ id-3  Other
    --- stderr
    note: left out 1 line that is ticked off (`- [x]`)
    ");
    let plan = "- [x] Old\n- [X] Older\n";
    assert_snapshot!(project.flame_reading(&["plan", "--from", "-"], plan.as_bytes()), @"
    --- stderr
    error: every line of the plan is ticked off (`- [x]`)
    hint: nothing is left to plan; `- [ ]` is a line that is still to be done
    [exit 1]
    ");
}
