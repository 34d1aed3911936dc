//! Runs that were left, as another command finds them. No server is started here.

use serde_json::{Value, json};

use crate::ground::TestProject;

/// A project with the journals of runs, each with a goal and the record of its end.
struct Left {
    project: TestProject,
    goals: Vec<String>,
}

impl Left {
    fn new(endings: &[Value]) -> Self {
        let project = TestProject::new();
        let mut goals = Vec::new();
        for (place, ending) in (1..).zip(endings) {
            let goal = project
                .opened(&["push", "--root", &format!("Goal {place}")])
                .remove(0);
            let runs = project.file("runs");
            fs_err::create_dir_all(&runs).unwrap();
            let name = format!("20260101-00000{place}-{goal}");
            let records = [
                json!({
                    "record": "begun", "at": 1, "run": name, "host": "opencode", "root": goal,
                    "options": { "limits": { "turns": if *ending == parked() { 1 } else { 9 } } }, "frames": [],
                }),
                json!({
                    "record": "intent", "at": 2, "step": 1, "frame": goal, "attempt": 1,
                    "act": { "act": "prompt", "message": "m", "parts": [], "why": "begin", "children": [], "spoken": [] },
                }),
                json!({ "record": "outcome", "at": 3, "step": 1, "done": { "done": "made" } }),
                json!({ "record": "ended", "at": 4, "ending": ending }),
            ];
            let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
            fs_err::write(runs.join(format!("{name}.jsonl")), lines).unwrap();
            goals.push(goal);
        }
        Self { project, goals }
    }
}

fn parked() -> Value {
    json!({ "ending": "parked", "reason": "budget: 1 of 1 turns spent", "until": null })
}

#[test]
fn a_run_at_its_limit_is_refused_before_a_server_starts() {
    let left = Left::new(&[parked()]);
    let refused = left.project.refused(&["run", "--resume"]);
    insta::assert_snapshot!(refused, @"
    --- stderr
    error: the run has reached its limit: 1 of 1 turns spent
    hint: `flame run --resume --max-turns N` goes on with a higher one
    [exit 1]
    ");
    // With a higher limit the run goes on: here there is no server to go on with.
    let higher = left
        .project
        .refused(&["run", "--resume", "--max-turns", "9"]);
    assert!(higher.stderr.contains("opencode"), "{higher}");
}

#[test]
fn status_names_runs_that_were_left_and_how_to_go_on() {
    let quota = json!({ "ending": "parked", "reason": "You exceeded your quota", "until": null });
    let left = Left::new(&[parked(), json!({ "ending": "completed" }), quota]);
    insta::assert_snapshot!(left.project.flame(&["status"]), @"
    shell:main (you)
      → id-3  Goal 3

    run “Goal 3” · parked: You exceeded your quota
      `flame run --resume` goes on
    run “Goal 1” · parked: budget: 1 of 1 turns spent
      `flame run --resume id-1 --max-turns N` goes on

    shop · 3 frames: 3 in progress
    ");
    let status = left.project.json(&["status"]);
    let resume: Vec<&str> = status["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["resume"].as_str().unwrap())
        .collect();
    let by_name = format!("flame run --resume {} --max-turns N", left.goals[0]);
    assert_eq!(resume, ["flame run --resume", by_name.as_str()]);
}

#[test]
fn a_damaged_journal_of_a_run_stops_only_that_run() {
    let left = Left::new(&[parked()]);
    let runs = left.project.file("runs");
    fs_err::write(runs.join("20260101-000009-damaged.jsonl"), "{}\n").unwrap();
    let status = left.project.flame(&["status"]);
    assert_eq!(status.code, Some(0), "{status}");
    assert!(status.stderr.contains("line 1 of "), "{status}");
}

#[test]
fn the_user_chooses_among_several_runs() {
    let left = Left::new(&[parked(), json!({ "ending": "paused" })]);
    let first = left.project.refused(&["run", "--resume", "Goal 1"]);
    assert!(first.stderr.contains("1 of 1 turns"), "{first}");
    let unknown = left.project.refused(&["run", "--resume", "Goal 3"]);
    insta::assert_snapshot!(unknown, @"
    --- stderr
    error: there is no unfinished run `Goal 3` in this project
    hint: `flame status` lists them
    [exit 1]
    ");
}

#[test]
fn a_message_to_a_run_without_a_driver_is_kept() {
    let left = Left::new(&[parked()]);
    let kept = left
        .project
        .flame(&["run", "--say", "Use port 8080", "--to", "Goal 1"]);
    insta::assert_snapshot!(kept, @"Kept for id-1: no process drives the run; it arrives after `flame run --resume`");
    let other = left
        .project
        .opened(&["push", "--root", "Something else"])
        .remove(0);
    let refused = left
        .project
        .refused(&["run", "--say", "hi", "--to", &other]);
    insta::assert_snapshot!(refused, @"
    --- stderr
    error: id-2 is not part of an unfinished run
    hint: `flame status` lists the runs
    [exit 1]
    ");
}
