//! Sessions, worktrees, and the user at the terminal.

use std::path::Path;

use insta::assert_snapshot;

use crate::ground::TestProject;

#[test]
fn two_sessions_never_see_each_others_active_frame() {
    let project = TestProject::new();
    let [a, b] = ["opencode:ses_a", "opencode:ses_b"];
    let one = project
        .opened(&["push", "Frontend", "--session", a])
        .remove(0);
    let two = project
        .opened(&["push", "Backend", "--session", b])
        .remove(0);
    let active = |session: &str| {
        project.json(&["status", "--session", session])["sessions"][0]["active"].clone()
    };
    assert_eq!(
        (active(a), active(b)),
        (one.as_str().into(), two.as_str().into())
    );
    // A command without a frame applies to the session's own active frame.
    project.ok(&["note", "decision", "Svelte", "--session", a]);
    project.ok(&["note", "decision", "Axum", "--session", b]);
    project.ok(&["plan", "Buttons", "--session", a]);
    assert_eq!(
        project.json(&["show", &one])["decisions"][0]["text"],
        "Svelte"
    );
    assert_eq!(
        project.json(&["show", &two])["decisions"][0]["text"],
        "Axum"
    );
    assert_eq!(project.json(&["show", &two])["childTotals"]["planned"], 0);
    // A pop of one does not move the other, and a third one has no active frame at all.
    project.ok(&["pop", "Runs on port 80", "--session", b]);
    assert_eq!(active(a), *one);
    assert_snapshot!(project.refused(&["pop", "done", "--session", "opencode:ses_c"]), @"
    --- stderr
    error: no frame is active in opencode:ses_c
    hint: name a frame, start one with `flame push TITLE`, or switch to one with `flame activate ID`
    [exit 1]
    ");
    // A person who looks sees both.
    project.opened(&["push", "Database", "--session", b]);
    assert_snapshot!(project.flame(&["status"]), @"
    opencode:ses_a
      → id-1  Frontend
      1 child, 0 of 1 done
      next: id-3  Buttons

    opencode:ses_b
      → id-4  Database

    shop · 4 frames: 2 in progress, 1 planned, 1 completed
    ");
    assert_snapshot!(project.flame(&["tree"]), @"
    → id-1  Frontend · 0/1 done  ◀ opencode:ses_a
    └─ ○ id-3  Buttons
    ✓ id-2  Backend · claimed
    → id-4  Database  ◀ opencode:ses_b

    4 frames: 2 in progress, 1 planned, 1 completed
    → in progress  ○ planned  ! blocked  ✓ completed  ✗ failed  – invalidated
    claimed: completed without a recorded check, test or commit (`flame check` records one)
    ");
}

#[test]
fn without_a_session_it_is_the_shell_of_the_worktree() {
    let project = TestProject::new();
    project.push("Tidy up");
    let standing = project.json(&["status"]);
    assert_eq!(standing["sessions"][0]["session"], "shell:main");
    // The same by name, by variable, and from a folder inside.
    assert_eq!(
        project.json(&["status", "--session", "shell:main"])["sessions"][0]["here"],
        true
    );
    let mut by_variable = project;
    by_variable.turn_to_session("shell:main");
    assert_eq!(by_variable.json(&["show"])["title"], "Tidy up");
}

#[test]
fn worktrees_share_the_store_but_not_the_shell() {
    let mut project = TestProject::in_git();
    let here = project.push("Main work");
    let linked = project.dir().join("shop-fix");
    project.git(&["worktree", "add", "--quiet", "../shop-fix", "-b", "fix"]);
    fs_err::create_dir(linked.join("src")).unwrap();
    project.turn_to_folder(&linked.join("src"));
    // Nothing is active here, yet everything is visible.
    assert_snapshot!(project.refused(&["pop", "done"]), @"
    --- stderr
    error: no frame is active in this worktree
    hint: name a frame, start one with `flame push TITLE`, or switch to one with `flame activate ID`
    [exit 1]
    ");
    assert_eq!(project.json(&["show", &here])["title"], "Main work");
    project.push("Fix the build");
    assert_snapshot!(project.flame(&["status"]), @"
    shell:shop-fix (you)
      → id-2  Fix the build

    shell:main (worktree main)
      → id-1  Main work

    shop · 2 frames: 2 in progress
    ");
    assert_snapshot!(project.flame(&["tree"]), @"
    → id-1  Main work  ◀ shell:main
    → id-2  Fix the build  ◀ you are here

    2 frames: 2 in progress
    → in progress  ○ planned  ! blocked  ✓ completed  ✗ failed  – invalidated
    ");
    // `-C` looks from elsewhere.
    let main = project.dir().join("shop").display().to_string();
    assert_eq!(project.json(&["show", "-C", &main])["id"], *here);
    project.turn_to_folder(&project.dir().join("shop"));
    assert_eq!(project.json(&["show"])["id"], *here);
    project.state();
}

#[test]
fn worktrees_share_the_tree_of_sessions_and_show_their_own_first() {
    let mut project = TestProject::in_git();
    let main = project.root().to_owned();
    let fix = project.dir().join("shop-fix");
    project.git(&["worktree", "add", "--quiet", "../shop-fix", "-b", "fix"]);
    for (folder, session, title) in [
        (&fix, "opencode:ses_fix", "Fix the build"),
        (&main, "opencode:ses_main", "Main work"),
        (&fix, "opencode:ses_more", "Fix the tests"),
        (&main, "opencode:ses_last", "More work"),
    ] {
        project.turn_to_folder(folder);
        project.turn_to_session(session);
        project.ok(&["push", title]);
    }
    let mut listed = |folder: &Path| -> Vec<(String, bool)> {
        project.turn_to_folder(folder);
        let rows = project.json(&["session", "list"]);
        let rows = rows.as_array().unwrap().iter();
        rows.map(|row| {
            let here = row["here"].as_bool().unwrap();
            (row["session"].as_str().unwrap().to_owned(), here)
        })
        .collect()
    };
    let own = |ids: [&str; 4]| {
        let [a, b, c, d] = ids.map(|id| format!("opencode:ses_{id}"));
        vec![(a, true), (b, true), (c, false), (d, false)]
    };
    assert_eq!(listed(&main), own(["last", "main", "more", "fix"]));
    assert_eq!(listed(&fix), own(["more", "fix", "last", "main"]));
    let text = project.ok(&["session", "list"]);
    let (before, after) = text.split_once("in other worktrees:").unwrap();
    assert!(
        before.contains("ses_fix") && !before.contains("ses_main"),
        "{text}"
    );
    assert!(after.contains("ses_main"), "{text}");
    project.state();
}

#[test]
fn the_repository_never_notices() {
    let project = TestProject::in_git();
    let clean = |step: &str| {
        assert_eq!(
            project.git(&["status", "--porcelain", "--ignored"]),
            "",
            "after {step}"
        );
    };
    let root = project.push("Search");
    clean("push");
    let planned = project.plan(&["Index", "Rank", "Cache"]);
    clean("plan");
    for step in [
        vec!["activate", &planned[0]],
        vec!["note", "decision", "trigrams"],
        vec!["edit", "--criteria", "fast"],
        vec!["block", "disk space"],
        vec!["unblock", &planned[0]],
        vec!["pop", "done", "--frame", &planned[0]],
        vec!["move", &planned[1], "--after", &planned[2]],
        vec!["delete", &planned[1]],
        vec!["invalidate", &planned[2], "--reason", "no"],
        vec!["bind", &root, "opencode:ses_a"],
        vec!["unbind", "opencode:ses_a"],
        vec!["undo"],
        vec!["show", &root],
        vec!["tree", "--all"],
        vec!["status"],
        vec!["search", "trigrams"],
        vec!["log", &root],
        vec!["log"],
        vec!["tool", "stack_status"],
        vec!["config", "set", "gc.max_size", "1 MB", "--project"],
        vec!["config", "list"],
        vec!["doctor"],
        vec!["rebuild"],
        vec!["gc", "--max-size", "1 GB"],
        vec!["demo"],
        vec!["export", "../elsewhere"],
        vec!["import", "../elsewhere"],
    ] {
        let output = project.flame(&step);
        assert_eq!(output.code, Some(0), "{step:?}\n{output}");
        clean(&step.join(" "));
    }
}

#[test]
fn a_look_at_a_project_without_state_makes_none() {
    let project = TestProject::new();
    for step in [
        vec!["status"],
        vec!["tree"],
        vec!["log"],
        vec!["search", "anything"],
        vec!["doctor"],
        vec!["gc"],
        vec!["config", "list"],
        vec!["tool", "stack_tree"],
        vec!["tool", "--list"],
        vec!["rebuild"],
    ] {
        let output = project.flame(&step);
        assert_eq!(output.code, Some(0), "{step:?}\n{output}");
        assert!(!project.dir().join("state").exists(), "{step:?}");
    }
    // Nor does what is refused there.
    for step in [
        vec!["pop", "done"],
        vec!["undo"],
        vec!["note", "decision", "x"],
        vec!["note", "log", "-"],
        vec!["activate", "abc"],
        vec!["push", ""],
        vec!["plan", "Step", "--parent", "abc"],
        vec!["unbind", "opencode:ses_a"],
        vec![
            "tool",
            "stack_frame_pop",
            r#"{"status":"completed","results":"x"}"#,
        ],
    ] {
        project.refused(&step);
        assert!(!project.dir().join("state").exists(), "{step:?}");
    }
}

/// A line of the sidecar's protocol.
#[expect(
    clippy::needless_pass_by_value,
    reason = "literals, written where they are said"
)]
fn said(id: u64, method: &str, params: serde_json::Value) -> String {
    serde_json::json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
        .to_string()
}

#[test]
fn what_a_host_says_of_a_session_is_shown() {
    let project = TestProject::new();
    let prompt = serde_json::json!({ "id": "m1", "role": "user", "time": { "created": 1 }, "parts": [
        { "type": "text", "id": "p1", "text": "Fix the login" },
    ] });
    let answer = serde_json::json!({ "kind": "message", "id": "m2", "role": "assistant",
        "time": { "created": 2, "completed": 3 },
        "parts": [{ "type": "text", "id": "p2", "text": "Fixed." }],
        "tokens": { "input": 1200, "cache": { "read": 30000, "write": 400 }, "output": 56, "reasoning": 12 },
        "cost": 0.0123,
    });
    let hello = serde_json::json!({ "protocol": 2, "host": "opencode", "directory": "." });
    let lines = [
        said(1, "hello", hello),
        said(
            2,
            "observe",
            serde_json::json!({ "session": "ses_1", "events": [
                { "kind": "session", "directory": "/home/ada/shop", "agent": "build",
                  "hostVersion": "1.18.33", "diff": [3, 1, 2] },
            ] }),
        ),
        said(
            3,
            "prompt",
            serde_json::json!({ "session": "ses_1", "message": prompt }),
        ),
        said(
            4,
            "prepare",
            serde_json::json!({ "session": "ses_1", "known": 0, "messages": [prompt],
                "model": { "name": "acme/mock-1", "limit": { "context": 200_000, "output": 8_000 } } }),
        ),
        said(
            5,
            "observe",
            serde_json::json!({ "session": "ses_1", "events": [answer, { "kind": "idle" }] }),
        ),
    ];
    project.flame_reading(&["sidecar"], format!("{}\n", lines.join("\n")).as_bytes());

    let status = project.json(&["status", "--session", "opencode:ses_1"]);
    assert_snapshot!(format!("{:#}", status["sessions"][0]["host"]), @r#"
    {
      "agent": "build",
      "calls": 1,
      "compactions": 0,
      "copyOf": null,
      "diff": {
        "added": 3,
        "deleted": 1,
        "files": 2
      },
      "directory": "/home/ada/shop",
      "interruptions": 0,
      "model": "acme/mock-1",
      "name": "opencode",
      "partOf": null,
      "prompts": 1,
      "spent": {
        "cacheRead": 30000,
        "cacheWrite": 400,
        "input": 1200,
        "microDollars": 12300,
        "output": 56,
        "reasoning": 12
      },
      "version": "1.18.33",
      "window": 192000
    }
    "#);
    let own = status["sessions"][0]["active"].as_str().unwrap().to_owned();
    assert_eq!(
        project.json(&["show", &own])["host"],
        status["sessions"][0]["host"]
    );
    assert_snapshot!(project.flame(&["status", "--session", "opencode:ses_1"]), @"
    opencode:ses_1 (you)
      → id-1  Fix the login
      opencode, 1.18.33, agent build · acme/mock-1, window 192,000 tokens · 1 call: 1,600 in, 30,000 cached, 56 out (12 reasoning), $0.0123 · 2 files, +3 −1

    shop · 1 frame: 1 in progress
    ");
}

#[test]
fn a_sidecar_writes_answers_and_nothing_else_whatever_it_reads() {
    let project = TestProject::new();
    let hello = said(
        1,
        "hello",
        serde_json::json!({ "protocol": 2, "host": "opencode", "directory": "/" }),
    );
    let status = serde_json::json!({ "session": "s", "what": "status" });
    let mut input = format!("{hello}\n\0\u{1b}[31mrubbish\n\n").into_bytes();
    // Too long a line, what is not text, and half a line where the host died.
    input.extend(vec![b'['; 65 * 1024 * 1024]);
    input.extend(b"\n\xff\xfe\n");
    input.extend(said(2, "show", status).as_bytes());
    input.extend(b"\n{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"sho");
    let output = project.flame_reading(&["sidecar"], &input);
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    let answers: Vec<serde_json::Value> = output
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut shown: Vec<String> = answers
        .iter()
        .map(|answer| format!("{} {}", answer["id"], answer["error"]["code"]))
        .collect();
    shown.sort();
    assert_snapshot!(shown.join("\n"), @"
    1 null
    2 null
    null -32600
    null -32700
    null -32700
    ");
}

#[test]
fn work_in_a_removed_worktree_is_marked_and_cleaned_up() {
    let mut project = TestProject::in_git();
    let main = project.root().to_owned();
    project.git(&["worktree", "add", "--quiet", "../shop-fix", "-b", "fix"]);
    project.turn_to_folder(&main.with_file_name("shop-fix"));
    project.push("Fix it");
    project.turn_to_folder(&main);
    let status = project.ok(&["status"]);
    assert!(!status.contains("gone"), "{status}");
    assert_snapshot!(project.flame(&["session", "gc"]), @"Nothing to clean up.");
    project.git(&["worktree", "remove", "../shop-fix"]);
    assert_snapshot!(project.flame(&["status"]), @"
    shell:shop-fix (worktree shop-fix, which is gone)
      → id-1  Fix it

    `flame session gc` cleans up after worktrees that are gone; their frames stay

    shop · 1 frame: 1 in progress
    ");
    assert_eq!(
        project.json(&["status"])["sessions"][0]["worktreeGone"],
        true
    );
    assert_snapshot!(project.flame(&["activate", "fix"]), @"id-1 “Fix it” is the active frame now");
    assert_snapshot!(project.flame(&["session", "gc", "--dry-run"]), @"
    shell:shop-fix would be closed: its worktree is gone
    1 session
    ");
    assert_snapshot!(project.flame(&["session", "gc"]), @"
    shell:shop-fix closed: its worktree is gone
    1 session
    ");
    assert_snapshot!(project.flame(&["session", "gc"]), @"Nothing to clean up.");
    // The work itself is still open.
    let status = project.ok(&["status"]);
    assert!(
        status.contains("Fix it") && !status.contains("shop-fix"),
        "{status}"
    );
    project.well();
}
