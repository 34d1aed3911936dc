//! Recorded sessions brought in with `flame import`.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::ground::TestProject;

fn session(id: &str, cwd: &str, lines: &[Value]) -> String {
    let head =
        json!({"t": "session", "v": 1, "id": id, "host": "codex", "source": "a/b", "cwd": cwd});
    let mut text = format!("{head}\n");
    for (i, line) in (1..).zip(lines) {
        let mut line = line.clone();
        line["i"] = json!(i);
        line["ts"] = json!(1_770_000_000_000_i64 + i * 1000);
        text.push_str(&format!("{line}\n"));
    }
    text
}

fn talk() -> Vec<Value> {
    vec![
        json!({"t": "user", "kind": "prompt", "text": "Fix the login"}),
        json!({"t": "todo", "items": [{"text": "Find it", "status": "in_progress"}, {"text": "Fix it", "status": "pending"}]}),
        json!({"t": "call", "id": "c1", "name": "apply_patch", "k": "edit", "args": "…", "paths": ["src/login.rs"]}),
        json!({"t": "result", "id": "c1", "ok": true, "text": "ok"}),
        json!({"t": "call", "id": "c2", "name": "exec_command", "k": "exec", "args": {"cmd": "cargo test"}, "cmd": "cargo test"}),
        json!({"t": "result", "id": "c2", "ok": true, "text": "Process exited with code 0"}),
        json!({"t": "usage", "in": 10, "cache_read": 90, "cache_write": 0, "out": 5}),
        json!({"t": "todo", "items": [{"text": "Find it", "status": "completed"}, {"text": "Fix it", "status": "completed"}]}),
        json!({"t": "assistant", "text": "The cookie had the wrong path."}),
        json!({"t": "turn_end"}),
    ]
}

#[test]
fn a_session_becomes_frames_once() {
    let project = TestProject::new();
    let file = project.root().join("session.jsonl");
    let mut lines = talk();
    fs_err::write(&file, session("s-1", "/elsewhere", &lines)).unwrap();
    assert_snapshot!(project.flame(&["import", "session.jsonl"]), @"Imported 1 session of ctrace from 1 file: 3 new frames and 18 new events.");
    assert_snapshot!(project.flame(&["tree", "--all"]), @"
    ✓ id-1  Fix the login · 2/2 done · 1 check passed
    ├─ ✓ id-2  Find it
    └─ ✓ id-3  Fix it

    3 frames: 3 completed
    → in progress  ○ planned  ! blocked  ✓ completed  ✗ failed  – invalidated
    ");
    assert_snapshot!(project.flame(&["import", "session.jsonl"]), @"
    Imported 0 sessions of ctrace from 1 file: 0 new frames and 0 new events.
    1 session was there already.
    ");
    // The session continued: only that is new.
    lines.push(json!({"t": "user", "kind": "prompt", "text": "And the logout"}));
    lines.push(json!({"t": "assistant", "text": "Done too."}));
    lines.push(json!({"t": "turn_end"}));
    fs_err::write(&file, session("s-1", "/elsewhere", &lines)).unwrap();
    assert_snapshot!(project.flame(&["import", "session.jsonl"]), @"Imported 1 session of ctrace from 1 file: 1 new frame and 10 new events.");
    assert_snapshot!(project.flame(&["tree", "--all"]), @"
    ✓ id-1  Fix the login · 2/2 done · 1 check passed
    ├─ ✓ id-2  Find it
    └─ ✓ id-3  Fix it
    ✓ id-4  And the logout · claimed

    4 frames: 4 completed
    → in progress  ○ planned  ! blocked  ✓ completed  ✗ failed  – invalidated
    claimed: completed without a recorded check, test or commit (`flame check` records one)
    ");
    assert_snapshot!(project.flame(&["log", "codex:s-1#1"]), @"
    ### User

    And the logout

    ### Assistant

    Done too.
    ");
    let found = project.json(&["search", "cookie"]);
    assert!(found["hits"][0]["frame"].is_string());
    project.well();
}

#[test]
fn a_folder_gives_the_sessions_of_this_project_and_names_what_it_cannot_read() {
    let project = TestProject::new();
    let here = project.root().canonicalize().unwrap();
    let dir = project.dir().join("recorded");
    fs_err::create_dir_all(dir.join("2026")).unwrap();
    let own = session("s-1", &here.to_string_lossy(), &talk());
    fs_err::write(
        dir.join("2026/a.jsonl"),
        format!("{own}{{\"i\": 99, \"t\": \"us"),
    )
    .unwrap();
    fs_err::write(
        dir.join("2026/b.jsonl"),
        session("s-2", "/home/ann/other", &talk()),
    )
    .unwrap();
    fs_err::write(dir.join("notes.jsonl"), "{}\n").unwrap();
    assert_snapshot!(project.flame(&["import", "../recorded"]), @"
    Imported 1 session of ctrace from 2 files: 3 new frames and 18 new events.
    1 session of other projects left out; `--all` takes them too.
    --- stderr
    note: ../recorded/2026/a.jsonl, line 12: is truncated
    ");
    let all = project.json(&["import", "../recorded", "--all"]);
    assert_eq!(
        (&all["sessions"], &all["otherProjects"], &all["bad"]),
        (&json!(2), &json!(0), &json!(1))
    );
    project.well();
}
