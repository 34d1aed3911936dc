//! `flame replay`, `flame eval` and `flame recall`: recorded work played again.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::ground::TestProject;

/// Returns a recording with a number of turns, one line each.
fn recording(turns: usize) -> Vec<String> {
    let mut lines = vec![
        json!({"t": "session", "v": 1, "id": "s1", "host": "claude-code", "source": "a/b"})
            .to_string(),
    ];
    let mut ordinal = 0;
    let mut event = |value: Value| {
        ordinal += 1;
        let mut value = value;
        value["i"] = json!(ordinal);
        lines.push(value.to_string());
    };
    for turn in 0..turns {
        let file = format!("src/area_{}/part_{}.rs", turn % 3, turn % 7);
        if turn % 20 == 0 {
            event(json!({"t": "user", "kind": "prompt",
                "text": format!("Make compute_{turn} in {file} faster and keep the old tests")}));
        }
        event(
            json!({"t": "assistant", "text": format!("Looking at compute_{turn} in {file} now")}),
        );
        event(
            json!({"t": "call", "id": format!("c{turn}"), "name": "Bash", "k": "exec",
            "args": {"command": format!("cargo test -p area_{} compute_{}", turn % 3, turn % 11)},
            "cmd": "cargo test"}),
        );
        event(
            json!({"t": "result", "id": format!("c{turn}"), "ok": turn % 5 != 0, "n": 9,
            "text": format!("test compute_{turn} in {file} took {turn} ms")}),
        );
    }
    lines
}

fn written(project: &TestProject, name: &str, lines: &[String]) -> PathBuf {
    let path = project.dir().join(name);
    fs_err::write(&path, lines.join("\n")).unwrap();
    path
}

#[test]
fn nothing_after_the_cut_matters() {
    let project = TestProject::new();
    let lines = recording(80);
    let whole = written(&project, "whole.jsonl", &lines);
    for cut in [30usize, 101, 200] {
        // The header is a line of its own, so that line `cut` holds the event before the cut.
        let begun = written(&project, "begun.jsonl", &lines[..cut]);
        for mode in ["brief", "context"] {
            let played = project.flame(&[
                "replay",
                whole.to_str().unwrap(),
                "--cut",
                &cut.to_string(),
                "--mode",
                mode,
                "--budget",
                "700",
            ]);
            assert_eq!(played.code, Some(0), "{}", played.stderr);
            assert!(!played.stdout.is_empty());
            assert!(played.stdout.chars().count() <= 700 * 4);
            let alone = project.flame(&[
                "replay",
                begun.to_str().unwrap(),
                "--mode",
                mode,
                "--budget",
                "700",
            ]);
            assert_eq!(played.stdout, alone.stdout, "{cut} {mode}");
        }
    }
}

#[test]
fn all_cuts_are_played_as_each_is_alone() {
    let project = TestProject::new();
    let trace = written(&project, "one.jsonl", &recording(80));
    let cuts = json!([
        {"file": "one.jsonl", "mode": "synthetic", "cut_i": 150, "budgets": [300, 900]},
        {"file": "one.jsonl", "mode": "synthetic", "cut_i": 60, "budgets": [300]},
    ]);
    let list = written(&project, "cuts.json", &[cuts.to_string()]);
    let out = project.dir().join("out.jsonl");
    let played = project.flame(&[
        "replay",
        trace.parent().unwrap().to_str().unwrap(),
        "--cuts",
        list.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
    ]);
    assert_eq!(played.code, Some(0), "{}", played.stderr);
    let lines = fs_err::read_to_string(&out).unwrap();
    let given: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(given.len(), 3);
    for one in given {
        let alone = project.flame(&[
            "replay",
            trace.to_str().unwrap(),
            "--cut",
            &one["cut_i"].to_string(),
            "--budget",
            &one["budget"].to_string(),
        ]);
        assert_eq!(alone.stdout, one["text"].as_str().unwrap());
    }
}

#[test]
fn what_is_no_recording_is_refused() {
    let project = TestProject::new();
    let empty = written(&project, "empty.jsonl", &["{}".to_owned()]);
    let refused = project.flame(&["replay", empty.to_str().unwrap()]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("no events"), "{}", refused.stderr);
    assert_eq!(project.flame(&["eval", "nowhere.jsonl"]).code, Some(1));
}

#[test]
fn recorded_work_is_measured() {
    let project = TestProject::new();
    let trace = written(&project, "one.jsonl", &recording(120));
    let report = project.flame(&["eval", trace.to_str().unwrap(), "--json"]);
    assert_eq!(report.code, Some(0), "{}", report.stderr);
    let report: Value = serde_json::from_str(&report.stdout).unwrap();
    assert_eq!(report["all"]["sessions"], 1);
    assert_eq!(report["all"]["briefs"]["cuts"], 3);
    assert!(report["all"]["briefs"]["n4r"].as_f64().unwrap() > 0.0);
    let fold = &report["all"]["cost"][2];
    assert_eq!(fold["policy"], "fold at pop");
    assert!(fold["stablePrefix"].as_f64().unwrap() > 0.5);
    let table = project.flame(&["eval", trace.to_str().unwrap()]);
    assert!(
        table.stdout.contains("brief of 4000 tokens"),
        "{}",
        table.stdout
    );
}

#[test]
fn what_left_the_prompt_is_recalled() {
    let project = TestProject::new();
    project.flame(&[
        "push",
        "Verify tokens",
        "--criteria",
        "expired tokens are refused",
    ]);
    project.flame(&["note", "decision", "Tokens are verified in src/auth/jwt.rs"]);
    let id = project.flame(&["status", "--json"]);
    let id: Value = serde_json::from_str(&id.stdout).unwrap();
    let by_word = project.flame(&["recall", "jwt.rs"]);
    assert!(by_word.stdout.contains("src/auth/"), "{}", by_word.stdout);
    assert_eq!(
        project.flame(&["recall", "xylophone"]).stdout,
        "Nothing found.\n"
    );
    let tiny = project.flame(&["recall", "jwt.rs", "--tokens", "5"]);
    assert!(tiny.stdout.len() < by_word.stdout.len());
    let through_tool = project.flame(&["tool", "stack_recall", "{\"query\": \"jwt.rs\"}"]);
    assert!(through_tool.stdout.contains("src/auth/"), "{id}");
}
