//! Very wide and very deep trees.

use serde_json::json;

use crate::ground::TestProject;

/// A tree of `count` planned frames, each below the one before it, from a predecessor's file.
fn deep(count: usize) -> TestProject {
    let project = TestProject::new();
    let mut frames = serde_json::Map::new();
    for n in 0..count {
        let mut frame = json!({
            "sessionID": format!("plan-{n}"),
            "status": "planned",
            "title": format!("Level {n}."),
            "successCriteria": "done",
            "successCriteriaCompacted": "done",
            "createdAt": 1_766_400_000_000_i64,
            "updatedAt": 1_766_400_000_000_i64,
            "artifacts": [],
            "decisions": [],
            "plannedChildren": [],
        });
        if n > 0 {
            frame["parentSessionID"] = json!(format!("plan-{}", n - 1));
        }
        frames.insert(format!("plan-{n}"), frame);
    }
    let state =
        json!({ "version": 1, "frames": frames, "rootFrameIDs": ["plan-0"], "updatedAt": 0 });
    fs_err::write(project.root().join("state.json"), state.to_string()).unwrap();
    assert_eq!(project.json(&["import", "."])["imported"], count);
    project
}

#[test]
fn a_tree_ten_thousand_levels_deep() {
    let project = deep(10_000);
    let all = project.ok(&["tree", "--all"]);
    assert_eq!(all.lines().count(), 10_003);
    assert!(
        all.lines().all(|line| line.chars().count() < 140),
        "indentation ends somewhere"
    );
    assert!(all.contains("(9999) ○ "), "the level is written instead");
    assert_eq!(project.ok(&["tree"]).lines().count(), 10_003);
    assert_eq!(project.ok(&["tree", "--depth", "2"]).lines().count(), 5);
    assert_eq!(project.ok(&["tree", "plan-9990"]).lines().count(), 13);
    assert!(
        project
            .ok(&["status"])
            .contains("10,000 frames: 10,000 planned")
    );
    assert!(project.ok(&["show", "plan-9999"]).contains("Level 9998."));
    assert!(project.ok(&["show", "plan-0"]).contains("Level 1."));
    assert!(project.ok(&["log", "plan-5000"]).contains("# Level 5000."));
    assert_eq!(
        project.json(&["search", "--wait", "Level 7777."])["hits"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(project.json(&["tool", "stack_tree"])["tool"], "stack_tree");
    let state = project.ok(&["tool", "stack_get_state"]);
    assert!(state.contains("Level 0."), "{state}");
    assert!(state.len() < 40_000, "{}", state.len());
    let last = project.ok(&["tool", "stack_get_state", r#"{"from": 9999.0}"#]);
    assert!(
        last.contains("\"Level ") && !last.contains("omitted"),
        "{last}"
    );

    // Nothing can be put below itself, however far below.
    project.refused(&["move", "plan-0", "--under", "plan-9999"]);
    // Beginning the last one begins all above it, and does not list them all.
    let begun = project.ok(&["activate", "plan-9999"]);
    assert!(begun.lines().count() < 30, "{begun}");
    let standing = project.json(&["status"]);
    assert_eq!(standing["sessions"][0]["pathCut"], true);
    assert!(project.ok(&["status"]).lines().count() < 50);
    project.ok(&["undo"]);
    assert_eq!(project.json(&["status"])["totals"]["planned"], 10_000);

    project.ok(&["export", "../out"]);
    let deleted = project.ok(&["delete", "plan-5000"]);
    assert!(deleted.contains("with 4,999 frames below it"), "{deleted}");
    let given_up = project.ok(&["invalidate", "plan-0", "--reason", "too deep"]);
    assert!(given_up.contains("4,999 planned frames"), "{given_up}");
    assert_eq!(project.json(&["status"])["totals"]["invalidated"], 5_000);
    project.well();
}

#[test]
fn a_tree_of_a_hundred_thousand_frames() {
    let project = TestProject::new();
    let root = project.push("Root");
    let mut outline = String::new();
    for n in 0..1_000 {
        outline.push_str(&format!("- Part {n}.\n"));
        for k in 0..99 {
            outline.push_str(&format!("  - Piece {n}.{k}.\n"));
        }
    }
    let planned = project.flame_reading(&["plan", "--from", "-"], outline.as_bytes());
    assert_eq!(planned.code, Some(0), "{planned}");
    assert!(planned.stdout.lines().count() < 30, "{planned}");
    assert!(planned.stdout.contains("… and 99,980 more"), "{planned}");

    assert!(
        project
            .ok(&["status"])
            .contains("100,001 frames: 1 in progress, 100,000 planned")
    );
    assert_eq!(project.ok(&["tree", "--all"]).lines().count(), 100_004);
    assert!(project.ok(&["tree"]).lines().count() < 2_000);
    assert!(project.ok(&["tree", "--depth", "2"]).lines().count() < 40);
    let shown = project.ok(&["show"]);
    assert!(
        shown.contains(&format!(
            "… 980 later planned frames (flame tree {root} --all)"
        )),
        "{shown}"
    );
    assert!(project.ok(&["log", &root]).lines().count() < 300);
    let note = project.ok(&["note", "decision", "still quick"]);
    assert!(note.contains("has a new decision"), "{note}");
    let refused = project.refused(&["pop", "done"]);
    assert!(
        refused.stderr.contains("has 1000 open children") && refused.stderr.len() < 1_000,
        "{refused}"
    );
    let given_up = project.ok(&["invalidate", "--reason", "too wide"]);
    assert!(given_up.contains("100,000 planned frames"), "{given_up}");
    assert_eq!(project.json(&["status"])["totals"]["invalidated"], 100_001);
}

#[test]
fn a_plan_has_a_hundred_levels_at_most() {
    let project = TestProject::new();
    let outline = |levels: usize| {
        let line = |n: usize| format!("{}- Level {n}\n", " ".repeat(n));
        (0..levels).map(line).collect::<String>()
    };
    let planned = project.flame_reading(&["plan", "--from", "-"], outline(100).as_bytes());
    assert_eq!(planned.code, Some(0), "{planned}");
    let refused = project.turned_away(1, &["plan", "--from", "-"], outline(3_000).as_bytes());
    insta::assert_snapshot!(refused, @"
    --- stderr
    error: the plan has more than 100 levels
    hint: plan the deeper levels afterwards, below its deepest frame
    [exit 1]
    ");
}
