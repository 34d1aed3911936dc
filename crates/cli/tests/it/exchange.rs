//! Frames from other tools' files, and back into them.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::ground::TestProject;

/// A predecessor's state: a session at work, a finished child, a plan, and a frame of the older
/// shape.
fn predecessor() -> Value {
    let frame = |id: &str, parent: Option<&str>, status: &str, title: &str| {
        let mut frame = json!({
            "sessionID": id,
            "status": status,
            "title": title,
            "successCriteria": format!("{title} works"),
            "successCriteriaCompacted": "works",
            "createdAt": 1_766_400_000_000_i64,
            "updatedAt": 1_766_400_500_000_i64,
            "artifacts": [],
            "decisions": [],
            "plannedChildren": [],
        });
        if let Some(parent) = parent {
            frame["parentSessionID"] = json!(parent);
        }
        frame
    };
    let mut auth = frame("ses_auth", Some("ses_root"), "completed", "Auth");
    auth["results"] = json!("Bearer tokens in src/auth.rs");
    auth["resultsCompacted"] = json!("src/auth.rs");
    auth["artifacts"] = json!(["src/auth.rs"]);
    auth["decisions"] = json!(["HS256"]);
    let mut root = frame("ses_root", None, "in_progress", "Orders API");
    root["plannedChildren"] = json!(["plan-1766400000500-0-q1"]);
    json!({
        "version": 1,
        "frames": {
            "ses_root": root,
            "ses_auth": auth,
            "plan-1766400000500-0-q1": frame("plan-1766400000500-0-q1", Some("ses_root"), "planned", "Docs"),
            "ses_old": {
                "sessionID": "ses_old",
                "status": "completed",
                "goal": "Try Actix",
                "compactionSummary": "Axum is simpler",
                "createdAt": 1_766_300_000_000_i64,
                "updatedAt": 1_766_300_500_000_i64,
                "artifacts": [],
                "decisions": [],
            },
        },
        "activeFrameID": "ses_root",
        "rootFrameIDs": ["ses_root", "ses_old"],
        "updatedAt": 1_766_400_500_000_i64,
    })
}

/// A project beside a folder with a predecessor's files in it.
fn beside(folder: &str, state: &Value) -> TestProject {
    let project = TestProject::new();
    let dir = project.dir().join("old").join(folder);
    fs_err::create_dir_all(&dir).unwrap();
    fs_err::write(
        dir.join("state.json"),
        serde_json::to_vec_pretty(state).unwrap(),
    )
    .unwrap();
    project
}

#[test]
fn a_predecessors_stack_is_brought_in() {
    let project = beside(".opencode/stack", &predecessor());
    assert_snapshot!(project.flame(&["import", "../old"]), @"Imported 4 frames from ../old/.opencode/stack/state.json.");
    assert_snapshot!(project.flame(&["tree", "--all"]), @"
    → id-1  Orders API · 1/2 done  ◀ opencode:ses_root (AGO)
    ├─ ○ id-2  Docs
    └─ ✓ id-3  Auth · claimed
    ✓ id-4  Try Actix · claimed

    4 frames: 1 in progress, 1 planned, 2 completed
    → in progress  ○ planned  ! blocked  ✓ completed  ✗ failed  – invalidated
    claimed: completed without a recorded check, test or commit (`flame check` records one)
    ");
    assert_snapshot!(project.flame(&["show", "ses_auth"]), @"
    ✓ id-3  Auth
      status     completed (claimed): no check, test or commit is recorded
      path       id-1 Orders API
      bound to   opencode:ses_auth
      also       ses_auth
      opened     TIME UTC (AGO)
      ended      TIME UTC (AGO)

    Done when
      Auth works

    Results
      Bearer tokens in src/auth.rs

    Results, compacted
      src/auth.rs

    Decisions
      - HS256, decided by the model

    Artifacts
      - src/auth.rs

    Log
      DIR/state/projects/shop-HASH/logs/id-3.md
    ");
    // Former ids are names, whole or in part, in every command.
    let docs = project.json(&["show", "plan-1766400000500-0-q1"])["id"].clone();
    assert_eq!(project.json(&["show", "plan-17"])["id"], docs);
    project.ok(&[
        "activate",
        "plan-1766400000500-0-q1",
        "--session",
        "opencode:ses_root",
    ]);
    assert_eq!(
        project.json(&["show", "opencode:ses_root"])["title"],
        "Orders API"
    );
    assert_eq!(
        project.json(&["status", "--session", "ses_root"])["sessions"][0]["active"],
        docs
    );
    let old = project.json(&["show", "ses_old"]);
    assert_eq!(
        (&old["title"], &old["results"]),
        (&json!("Try Actix"), &json!("Axum is simpler"))
    );
    project.well();
    // A second time brings nothing in twice.
    assert_snapshot!(project.flame(&["import", "../old"]), @"
    Imported 0 frames from ../old/.opencode/stack/state.json.
    4 frames were here already and left alone.
    ");
    assert_eq!(project.well()["frames"], 4);
}

#[test]
fn other_folders_are_read_too() {
    for folder in [".opencode/flame", ".flame"] {
        let project = beside(folder, &predecessor());
        assert_eq!(
            project.json(&["import", "../old"])["imported"],
            4,
            "{folder}"
        );
    }
}

#[test]
fn export_and_import_are_a_round_trip() {
    let project = beside(".opencode/stack", &predecessor());
    project.ok(&["import", "../old"]);
    project.push("Own work");
    project.ok(&["note", "decision", "trigrams", "--why", "any language"]);
    project.ok(&["note", "failed", "bcrypt"]);
    project.ok(&["note", "command", "cargo test", "--exit-code", "1"]);
    let planned = project.plan(&["Blocked part", "Given up"]);
    project.ok(&["activate", &planned[0]]);
    project.ok(&["block", "the bank"]);
    project.ok(&["invalidate", &planned[1], "--reason", "no"]);
    assert_snapshot!(project.flame(&["export", "../out"]), @"Exported 7 frames and 2 logs to ../out/.opencode/stack.");
    assert_snapshot!(project.refused(&["export", "../out"]), @"
    --- stderr
    error: ../out/.opencode/stack/state.json exists already
    hint: use `--force` to replace it, or name another directory
    [exit 1]
    ");
    project.ok(&["export", "../out", "--force"]);

    let state = project.dir().join("out/.opencode/stack/state.json");
    let state: Value = serde_json::from_slice(&fs_err::read(state).unwrap()).unwrap();
    assert_eq!(
        state["frames"]["ses_auth"]["results"],
        "Bearer tokens in src/auth.rs"
    );

    let other = TestProject::new();
    let from = project.dir().join("out").display().to_string();
    assert_eq!(other.json(&["import", &from])["imported"], 7);
    other.well();
    // Everything is there under its own id, and the two write the same files.
    for id in &planned {
        let strip = |mut frame: Value| {
            // The times of the work are in the journal, which an export does not have.
            for key in ["logPath", "startedAt", "endedAt", "durationMs"] {
                frame.as_object_mut().unwrap().remove(key);
            }
            frame
        };
        assert_eq!(
            strip(project.json(&["show", id])),
            strip(other.json(&["show", id]))
        );
    }
    other.ok(&["export", "../out"]);
    let both = [&project, &other].map(|project| {
        let dir = project.dir().join("out/.opencode/stack");
        let mut files: Vec<(String, Vec<u8>)> = fs_err::read_dir(dir.join("frames"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| {
                (
                    path.file_name().unwrap().to_string_lossy().into_owned(),
                    fs_err::read(&path).unwrap(),
                )
            })
            .collect();
        files.sort();
        files
    });
    assert_eq!(both[0].len(), 7);
    assert!(both[0] == both[1]);
}

#[test]
fn files_that_cannot_be_read_are_refused() {
    let project = beside(".opencode/stack", &predecessor());
    project.push("Root");
    assert_snapshot!(project.refused(&["import", "../nowhere"]), @"
    --- stderr
    error: there is no file or folder ../nowhere
    hint: check the path
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["import", "."]), @"
    --- stderr
    error: there is nothing to import in .: no recorded session, and no stack in .opencode/stack, .opencode/flame, .flame or the folder itself
    hint: name a recording, a folder of them such as ~/.claude/projects, or the folder that holds a `state.json`
    [exit 1]
    ");
    let state = project.dir().join("old/.opencode/stack/state.json");
    for bad in [
        "",
        "{",
        "[]",
        "null",
        r#"{"version":1,"frames":[]}"#,
        r#"{"version":1,"frames":{"a":{"sessionID":"a","parentSessionID":"b","status":"planned","title":"x"},"b":{"sessionID":"b","parentSessionID":"a","status":"planned","title":"y"}}}"#,
        r#"{"version":1,"frames":{"a":{"sessionID":"a","status":"lost","title":"x"}}}"#,
    ] {
        fs_err::write(&state, bad).unwrap();
        project.refused(&["import", "../old"]);
    }
    fs_err::write(&state, b"\xff\xfe{}").unwrap();
    project.refused(&["import", "../old"]);
    fs_err::write(&state, "[".repeat(100_000)).unwrap();
    project.refused(&["import", "../old"]);
    // Everything is still there, and nothing else.
    assert_eq!(project.well()["frames"], 1);
}

#[test]
fn a_damaged_state_file_leaves_the_frame_files() {
    let project = beside(".opencode/stack", &predecessor());
    let dir = project.dir().join("old/.opencode/stack");
    let frames = predecessor()["frames"].clone();
    fs_err::create_dir(dir.join("frames")).unwrap();
    for (id, frame) in frames.as_object().unwrap() {
        fs_err::write(dir.join(format!("frames/{id}.json")), frame.to_string()).unwrap();
    }
    fs_err::write(dir.join("state.json"), "{\"version\":1,").unwrap();
    assert_snapshot!(project.refused(&["import", "../old"]), @"
    --- stderr
    error: ../old/.opencode/stack/state.json: the file ends in the middle of its JSON, at line 1, column 13
    hint: there are 4 frame files next to it: `--frames-only` imports them; or restore an earlier copy of the file
    [exit 1]
    ");
    assert_eq!(
        project.json(&["import", "../old", "--frames-only"])["imported"],
        4
    );
    project.well();
}

#[test]
fn imported_work_ended_when_its_file_says() {
    let state = json!({
        "frames": {
            "frame-1": {
                "id": "frame-1", "sessionId": "ses_1", "parentId": null, "children": [],
                "status": "completed", "goal": "Sign in", "createdAt": 1_700_000_000_000_i64,
                "completedAt": 1_700_003_600_000_i64, "artifacts": [], "logPath": "",
                "compaction": { "summary": "Magic links", "artifacts": [], "decisions": [] },
            },
        },
        "sessionToFrame": { "ses_1": "frame-1" }, "currentFrameId": "", "rootFrameId": "frame-1",
    });
    let project = beside(".flame", &state);
    project.ok(&["import", "../old"]);
    let shown = project.ok(&["show", "frame-1"]);
    assert!(shown.contains("2023-11-14 23:13 UTC"), "{shown}");
    let ended = shown.lines().find(|line| line.trim().starts_with("ended"));
    assert!(ended.unwrap().contains("2023-11-14 23:13"), "{shown}");
}
