//! Tools, called exactly as an agent would call them.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::ground::{Output, TestProject};

/// Calls a tool.
fn call(project: &TestProject, name: &str, arguments: &Value) -> Output {
    project.flame(&["tool", name, &arguments.to_string()])
}

/// Calls a tool that is to succeed.
#[track_caller]
fn say(project: &TestProject, name: &str, arguments: &Value) -> Output {
    let output = call(project, name, arguments);
    assert_eq!(
        (output.code, output.stderr.as_str()),
        (Some(0), ""),
        "{name}: {output}"
    );
    output
}

/// An agent's project.
fn agents() -> TestProject {
    let mut project = TestProject::new();
    project.turn_to_session("opencode:ses_a");
    project
}

/// The seeds' names, and those of what was added, and which of their arguments are needed.
const CONTRACT: [(&str, &[&str], &[&str]); 33] = [
    (
        "stack_frame_push",
        &["title", "successCriteria"],
        &["successCriteriaCompacted"],
    ),
    (
        "stack_frame_pop",
        &["status"],
        &["frameID", "results", "resultsCompacted", "summarize"],
    ),
    (
        "stack_frame_plan",
        &["title", "successCriteria"],
        &["successCriteriaCompacted", "parentSessionID"],
    ),
    (
        "stack_frame_plan_children",
        &["children"],
        &["parentSessionID"],
    ),
    ("stack_frame_activate", &["sessionID"], &[]),
    ("stack_frame_invalidate", &["reason"], &["sessionID"]),
    ("stack_add_decision", &["decision"], &["reason"]),
    ("stack_add_artifact", &["artifact"], &[]),
    ("stack_status", &[], &[]),
    (
        "stack_tree",
        &[],
        &["showFull", "rootID", "showDetails", "status"],
    ),
    ("stack_frame_details", &["frameID"], &[]),
    ("stack_get_summary", &[], &["sessionID"]),
    ("stack_get_state", &[], &["from"]),
    ("stack_recall", &["query"], &["tokens"]),
    ("stack_search", &["query"], &["limit"]),
    ("stack_frame_summarize", &[], &["note"]),
    ("stack_compaction_info", &[], &[]),
    ("stack_context_info", &[], &[]),
    ("stack_context_preview", &[], &["maxLength"]),
    ("stack_cache_clear", &[], &["sessionID"]),
    ("stack_subagent_list", &[], &["filter"]),
    (
        "stack_subagent_complete",
        &[],
        &["sessionID", "status", "summary"],
    ),
    ("stack_stats", &[], &["reset", "showActive"]),
    (
        "stack_config",
        &[],
        &[
            "enabled",
            "minDuration",
            "minMessageCount",
            "autoCompleteOnIdle",
            "idleCompletionDelay",
            "addPattern",
            "removePattern",
            "injectParentContext",
            "propagateSummaries",
        ],
    ),
    ("stack_session_status", &[], &["sessionID"]),
    (
        "stack_session_create",
        &["purpose"],
        &["agent", "phase", "parentSessionId", "frameID", "sessionID"],
    ),
    (
        "stack_session_link",
        &["to", "kind"],
        &["sessionID", "remove"],
    ),
    (
        "stack_session_migrate",
        &[],
        &["sessionID", "targetSessionID"],
    ),
    (
        "stack_autonomy",
        &[],
        &[
            "level",
            "pushThreshold",
            "popThreshold",
            "suggestInContext",
            "enableHeuristic",
            "disableHeuristic",
            "reset",
        ],
    ),
    (
        "stack_should_push",
        &[],
        &[
            "potentialGoal",
            "recentMessages",
            "recentFileChanges",
            "errorCount",
            "tokenCount",
        ],
    ),
    (
        "stack_should_pop",
        &[],
        &[
            "successSignals",
            "failureSignals",
            "noProgressTurns",
            "tokenCount",
            "contextLimit",
        ],
    ),
    (
        "stack_auto_suggest",
        &[],
        &["enable", "clearPending", "showHistory"],
    ),
    ("stack_autonomy_stats", &[], &["reset"]),
];

#[test]
fn the_tools_are_the_seeds() {
    let project = TestProject::new();
    let listed = project.json(&["tool", "--list"]);
    let names: Vec<&str> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, CONTRACT.map(|(name, _, _)| name));
    for (name, needed, optional) in CONTRACT {
        let schema: Value = serde_json::from_str(&project.ok(&["tool", name, "--schema"])).unwrap();
        let mut arguments: Vec<&String> =
            schema["properties"].as_object().unwrap().keys().collect();
        arguments.sort();
        let mut expected = [needed, optional].concat();
        expected.sort_unstable();
        assert_eq!(arguments, expected, "{name}");
        let required = schema.get("required").cloned().unwrap_or_else(|| json!([]));
        assert_eq!(required, json!(needed), "{name}");
    }
}

#[test]
fn an_agent_works_through_a_plan() {
    let project = agents();
    assert_snapshot!(say(&project, "stack_status", &json!({})), @"
    no active frame

    no frames yet
    ");
    assert_snapshot!(say(&project, "stack_frame_push", &json!({
        "title": "Password login",
        "successCriteria": "Users can log in; tests pass",
        "successCriteriaCompacted": "login works",
    })), @"id-1 “Password login” is in progress, at the root of a new tree");
    assert_snapshot!(say(&project, "stack_frame_plan_children", &json!({ "children": [
        { "title": "Store users", "successCriteria": "hashes only" },
        { "title": "Routes", "successCriteria": "all answer", "successCriteriaCompacted": "routes",
          "children": [{ "title": "Cookies", "successCriteria": "signed" }] },
    ] })), @"
    ○ id-2  Store users
    ○ id-3  Routes
      ○ id-4  Cookies
    ");
    assert_snapshot!(say(&project, "stack_frame_plan", &json!({ "title": "Docs", "successCriteria": "written" })), @"○ id-5  Docs");
    let next = project.json(&["status"])["sessions"][0]["next"]["id"].clone();
    assert_snapshot!(say(&project, "stack_frame_activate", &json!({ "sessionID": next })), @"id-2 “Store users” is in progress");
    assert_snapshot!(say(&project, "stack_add_decision", &json!({ "decision": "argon2id: pure Rust" })), @"id-2 “Store users” has a new decision");
    assert_snapshot!(say(&project, "stack_add_artifact", &json!({ "artifact": "src/users.rs" })), @"id-2 “Store users” has a new artifact");
    assert_snapshot!(say(&project, "stack_add_artifact", &json!({ "artifact": "src/users.rs" })), @"that is recorded already");
    assert_snapshot!(say(&project, "stack_get_summary", &json!({})), @"
    Store users (in progress)

    no results yet
    ");
    assert_snapshot!(say(&project, "stack_frame_pop", &json!({
        "status": "completed",
        "results": "Users are stored.",
        "resultsCompacted": "stored",
    })), @"
    id-2 “Store users” is completed (claimed)
    results: Users are stored.
    now at → id-1 “Password login”
    next: id-3  Routes
    ");
    assert_snapshot!(say(&project, "stack_frame_details", &json!({ "frameID": next })), @"
    ✓ id-2  Store users
      status     completed (claimed): no check, test or commit is recorded
      path       id-1 Password login
      worked in  opencode:ses_a
      opened     TIME UTC
      ended      TIME UTC, after 0 s

    Done when
      hashes only

    Results
      Users are stored.

    Results, compacted
      stored

    Decisions
      - argon2id: pure Rust, decided by the model

    Artifacts
      - src/users.rs

    log: DIR/state/projects/shop-HASH/logs/id-2.md
    ");
    assert_snapshot!(say(&project, "stack_tree", &json!({ "showFull": true, "showDetails": true })), @"
    → id-1  Password login · 1/3 done  ◀ you are here
    │ done when: login works
    ├─ ✓ id-2  Store users · claimed
    │    done when: hashes only
    │    results: stored
    ├─ ○ id-3  Routes · 0/1 done
    │  │ done when: routes
    │  └─ ○ id-4  Cookies
    │       done when: signed
    └─ ○ id-5  Docs
         done when: written

    5 frames: 1 in progress, 3 planned, 1 completed
    → in progress  ○ planned  ! blocked  ✓ completed  ✗ failed  – invalidated
    claimed: completed without a recorded check, test or commit
    ");
    assert_snapshot!(say(&project, "stack_tree", &json!({ "rootID": next })), @"
    ✓ id-2  Store users · claimed

    in all, 5 frames: 1 in progress, 3 planned, 1 completed
    → in progress  ○ planned  ! blocked  ✓ completed  ✗ failed  – invalidated
    claimed: completed without a recorded check, test or commit
    ");
    assert_snapshot!(say(&project, "stack_get_summary", &json!({ "sessionID": next })), @"
    Store users (completed)

    Users are stored.
    ");
    assert_snapshot!(say(&project, "stack_frame_invalidate", &json!({ "reason": "bought instead" })), @"
    id-1 “Password login” is invalidated, and with it 3 planned frames below
    no frame is active now
    ");
    assert_snapshot!(say(&project, "stack_status", &json!(null)), @"
    no active frame

    5 frames: 1 completed, 4 invalidated
    ");
}

#[test]
fn the_state_has_the_seeds_shape() {
    let project = agents();
    let root = project.push("Root");
    let child = project.push("Child");
    fs_err::write(project.root().join("a.rs"), "").unwrap();
    project.ok(&["note", "artifact", "a.rs"]);
    project.ok(&["pop", "done"]);
    let output = say(&project, "stack_get_state", &json!({}));
    let state: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(state["version"], 1);
    assert_eq!(state["rootFrameIDs"], json!([root]));
    assert_eq!(state["activeFrameID"], *root);
    let frame = &state["frames"][&child];
    assert_eq!(frame["sessionID"], *child);
    assert_eq!(frame["parentSessionID"], *root);
    assert_eq!(frame["status"], "completed");
    assert_eq!(frame["artifacts"], json!(["a.rs"]));
    assert_eq!(frame["results"], "done");
    assert!(frame["createdAt"].as_i64().unwrap() > 1_700_000_000_000);
}

#[test]
fn a_refusal_speaks_to_the_agent() {
    let project = agents();
    let pop = json!({ "status": "completed", "results": "done" });
    assert_snapshot!(call(&project, "stack_frame_pop", &pop), @"
    --- stderr
    error: no frame is active in opencode:ses_a
    hint: name a frame, start one with stack_frame_push, or switch to one with stack_frame_activate
    [exit 1]
    ");
    project.push("Root");
    let planned = project.plan(&["Child"]);
    assert_snapshot!(call(&project, "stack_frame_pop", &pop), @"
    --- stderr
    error: id-1 “Root” has 1 open child: id-2 “Child” (planned)
    hint: start it with stack_frame_activate (id-2), or abandon it with stack_frame_invalidate (id-2)
    [exit 1]
    ");
    let pop = json!({ "status": "completed", "results": "done", "frameID": planned[0] });
    assert_snapshot!(call(&project, "stack_frame_pop", &pop), @"
    --- stderr
    error: id-2 “Child” is planned and was not started
    hint: start it with stack_frame_activate (id-2), or abandon it with stack_frame_invalidate (id-2)
    [exit 1]
    ");
    assert_snapshot!(call(&project, "stack_frame_details", &json!({ "frameID": "nothing" })), @"
    --- stderr
    error: there is no frame `nothing`
    hint: stack_tree shows the frames
    [exit 1]
    ");
}

#[test]
fn wrong_calls_are_explained() {
    let project = agents();
    project.push("Root");
    assert_snapshot!(project.misused(&["tool", "stack_frame_psuh", "{}"]), @"
    --- stderr
    error: there is no tool `stack_frame_psuh`
    hint: did you mean `stack_frame_push`?
    [exit 2]
    ");
    assert_snapshot!(project.misused(&["tool", "shell", "{}"]), @"
    --- stderr
    error: there is no tool `shell`
    hint: `flame tool --list` lists all tools
    [exit 2]
    ");
    assert_snapshot!(project.misused(&["tool", "stack_frame_push", r#"{"title":"a"}"#]), @"
    --- stderr
    error: invalid arguments for stack_frame_push: missing field `successCriteria`
    hint: `flame tool stack_frame_push --schema` shows its arguments
    [exit 2]
    ");
    assert_snapshot!(project.misused(&["tool", "stack_frame_push"]), @"
    --- stderr
    error: invalid arguments for stack_frame_push: missing field `title`
    hint: `flame tool stack_frame_push --schema` shows its arguments
    [exit 2]
    ");
    assert_snapshot!(project.misused(&["tool", "stack_status", r#"{"verbose":true}"#]), @"
    --- stderr
    error: invalid arguments for stack_status: at `verbose`: unknown field `verbose`, there are no fields
    hint: `flame tool stack_status --schema` shows its arguments
    [exit 2]
    ");
    assert_snapshot!(project.misused(&["tool", "stack_tree", r#"{"showFull":"yes"}"#]), @r#"
    --- stderr
    error: invalid arguments for stack_tree: at `showFull`: expected a boolean, not the text "yes"
    hint: `flame tool stack_tree --schema` shows its arguments
    [exit 2]
    "#);
    assert_snapshot!(project.misused(&["tool", "stack_tree", "[]"]), @"
    --- stderr
    error: invalid arguments for stack_tree: they are not a JSON object
    hint: `flame tool stack_tree --schema` shows its arguments
    [exit 2]
    ");
    assert_snapshot!(project.misused(&["tool", "stack_tree", "7"]), @"
    --- stderr
    error: invalid arguments for stack_tree: they are not a JSON object
    hint: `flame tool stack_tree --schema` shows its arguments
    [exit 2]
    ");
    assert_snapshot!(project.misused(&["tool", "stack_tree", "{"]), @"
    --- stderr
    error: invalid arguments for stack_tree: not JSON: EOF while parsing an object at line 1 column 1
    hint: `flame tool stack_tree --schema` shows its arguments
    [exit 2]
    ");
    assert_snapshot!(project.misused(&["tool", "stack_tree", "title: a"]), @"
    --- stderr
    error: invalid arguments for stack_tree: not JSON: expected ident at line 1 column 2
    hint: `flame tool stack_tree --schema` shows its arguments
    [exit 2]
    ");
    assert_snapshot!(project.misused(&["tool", "stack_frame_pop", r#"{"status":"done","results":"x"}"#]), @"
    --- stderr
    error: invalid arguments for stack_frame_pop: at `status`: unknown variant `done`, expected one of `completed`, `failed`, `blocked`
    hint: `flame tool stack_frame_pop --schema` shows its arguments
    [exit 2]
    ");
    let nested = json!({ "children": [
        { "title": "a", "successCriteria": "b" },
        { "title": "c", "successCriteria": "d", "children": [{ "title": 7, "successCriteria": "e" }] },
    ] });
    assert_snapshot!(project.misused(&["tool", "stack_frame_plan_children", &nested.to_string()]), @"
    --- stderr
    error: invalid arguments for stack_frame_plan_children: at `children[1].children[0].title`: expected a string, not the number `7`
    hint: `flame tool stack_frame_plan_children --schema` shows its arguments
    [exit 2]
    ");
    let twice = r#"{"title":"a","title":"b","successCriteria":"c"}"#;
    assert_snapshot!(call_text(&project, "stack_frame_push", twice), @"id-2 “b” is in progress, below id-1 “Root”");
}

fn call_text(project: &TestProject, name: &str, text: &str) -> Output {
    project.flame_reading(&["tool", name, "-"], text.as_bytes())
}

#[test]
fn deep_nesting_is_refused() {
    let project = agents();
    project.push("Root");
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let output = project.turned_away(2, &["tool", "stack_tree", "-"], deep.as_bytes());
    assert!(output.stderr.contains("recursion limit"), "{output}");
    let mut plan = String::new();
    for _ in 0..5_000 {
        plan.push_str(r#"{"title":"a","successCriteria":"b","children":["#);
    }
    let plan = format!(r#"{{"children":[{plan}{}]}}"#, "]}".repeat(5_000));
    let output = project.turned_away(
        2,
        &["tool", "stack_frame_plan_children", "-"],
        plan.as_bytes(),
    );
    assert!(output.stderr.contains("recursion limit"), "{output}");
}

#[test]
fn five_megabytes_of_arguments() {
    let project = agents();
    project.push("Root");
    // A text of that size is refused with the way out.
    let long = json!({ "decision": "x".repeat(5_000_000) }).to_string();
    let output = project.turned_away(1, &["tool", "stack_add_decision", "-"], long.as_bytes());
    assert_snapshot!(output, @"
    --- stderr
    error: the decision has 5000000 bytes and may have 1048576
    hint: say it shorter, and name the file that holds the rest
    [exit 1]
    ");
    // A plan of that size is a plan.
    let children: Vec<Value> = (0..5_000)
        .map(|n| json!({ "title": format!("Part {n}"), "successCriteria": "x".repeat(1_000) }))
        .collect();
    let plan = json!({ "children": children }).to_string();
    assert!(plan.len() > 5_000_000);
    let output = call_text(&project, "stack_frame_plan_children", &plan);
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(project.well()["frames"], 5_001);
}

#[test]
fn a_broken_surrogate_is_not_text() {
    let project = agents();
    project.push("Root");
    let output = project.turned_away(
        2,
        &["tool", "stack_add_decision", "-"],
        br#"{"decision":"\ud800"}"#,
    );
    assert!(output.stderr.contains("not JSON"), "{output}");
}

#[test]
fn how_subagents_are_tracked_is_shown_changed_and_kept() {
    let project = agents();
    let config = |arguments| say(&project, "stack_config", &arguments).stdout;
    assert_snapshot!(config(json!({})), @r"
    subagents.auto_complete = on  built in
    subagents.cleanup_after = 3600000  built in
    subagents.enabled = on  built in
    subagents.idle_delay = 5000  built in
    subagents.inject_parent_context = on  built in
    subagents.min_duration = 60000  built in
    subagents.min_messages = 3  built in
    subagents.patterns = @.*subagent,subagent,\[Task\]  built in
    subagents.propagate_summaries = on  built in
    ");
    let changed = config(json!({
        "enabled": false, "minDuration": 5, "minMessageCount": 1, "autoCompleteOnIdle": false,
        "idleCompletionDelay": 700, "addPattern": "helper$", "injectParentContext": false,
        "propagateSummaries": false,
    }));
    // The rest of each line names the file.
    let values: Vec<&str> = changed
        .lines()
        .filter_map(|line| line.split("  ").next())
        .collect();
    assert_snapshot!(values.join("\n"), @r"
    subagents.auto_complete = off
    subagents.cleanup_after = 3600000
    subagents.enabled = off
    subagents.idle_delay = 700
    subagents.inject_parent_context = off
    subagents.min_duration = 5
    subagents.min_messages = 1
    subagents.patterns = @.*subagent,subagent,\[Task\],helper$
    subagents.propagate_summaries = off
    ");
    assert_eq!(config(json!({})), changed, "it stays");
    let messages = project.ok(&["config", "get", "subagents.min_messages"]);
    assert_eq!(messages.trim(), "1");
    let fewer = config(json!({ "removePattern": "helper$" }));
    assert!(!fewer.contains("helper$"), "{fewer}");
}

#[test]
fn words_of_a_tool_are_not_words_of_the_command_line() {
    let project = TestProject::new();
    let refused = project.misused(&["autonomy", "--enable", "nope"]);
    assert!(!refused.stderr.contains("stack_autonomy"), "{refused}");
    assert!(refused.stderr.contains("--enable"), "{refused}");
    assert!(refused.stderr.contains("goal_completion"), "{refused}");
}

#[test]
fn only_a_tool_of_a_similar_name_is_suggested() {
    let project = TestProject::new();
    assert_snapshot!(project.misused(&["tool", "stack_nope"]), @"
    --- stderr
    error: there is no tool `stack_nope`
    hint: `flame tool --list` lists all tools
    [exit 2]
    ");
    for (name, meant) in [
        ("stack_stattus", "stack_status"),
        ("frame_push", "stack_frame_push"),
        ("stack_frame_pusch", "stack_frame_push"),
    ] {
        let refused = project.misused(&["tool", name]);
        let hint = format!("did you mean `{meant}`?");
        assert!(refused.stderr.contains(&hint), "{refused}");
    }
}

#[test]
fn a_pattern_is_one_line() {
    let project = TestProject::new();
    for pattern in ["a\0b", "a\nb", "a\tb"] {
        let arguments = json!({ "addPattern": pattern }).to_string();
        let refused = project.misused(&["tool", "stack_config", &arguments]);
        assert!(
            refused.stderr.contains("without control characters"),
            "{refused}"
        );
    }
    let patterns = project.ok(&["config", "get", "subagents.patterns"]);
    assert!(!patterns.contains("a\u{0}b"), "{patterns}");
}

#[test]
fn a_schema_has_no_words_for_programmers() {
    for tool in flamestack_engine::tools::ALL {
        let schema = (tool.schema)().to_string();
        assert!(
            !schema.contains("may also write"),
            "{}: {schema}",
            tool.name
        );
    }
}
