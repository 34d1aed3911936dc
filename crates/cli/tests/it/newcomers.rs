//! First steps: words and mistakes of people who do not know the commands yet.

use insta::assert_snapshot;

use crate::ground::TestProject;

#[test]
fn words_of_other_programs_work_or_lead_on() {
    let project = TestProject::new();
    project.ok(&["new", "Shop"]);
    project.ok(&["add", "Cart"]);
    project.ok(&["close", "It holds things"]);
    project.ok(&["plan", "Vouchers"]);
    project.ok(&["cancel", "Vouchers", "--reason", "Not wanted"]);
    let listed = project.ok(&["list"]);
    assert!(listed.contains("Cart"), "{listed}");
    assert_snapshot!(project.misused(&["resume"]), @"
    --- stderr
    error: unrecognized subcommand 'resume'

      tip: `flame session resume` lists sessions that were cut off; `flame run --resume` goes on with a run

    Usage: flame [OPTIONS] <COMMAND>

    For more information, try '--help'.
    [exit 2]
    ");
    assert_snapshot!(project.misused(&["redo"]), @"
    --- stderr
    error: unrecognized subcommand 'redo'

      tip: there is no redo: an undo cannot be undone

    Usage: flame [OPTIONS] <COMMAND>

    For more information, try '--help'.
    [exit 2]
    ");
    let typo = project.misused(&["run-serve"]);
    assert!(!typo.stderr.contains("run-server"), "{typo}");
}

#[test]
fn a_number_that_is_none_is_refused_in_plain_words() {
    let project = TestProject::new();
    assert_snapshot!(project.misused(&["tree", "-d", "x"]), @"
    --- stderr
    error: invalid value 'x' for '--depth <N>'

      tip: write a whole number

    For more information, try '--help'.
    [exit 2]
    ");
    let large = project.misused(&["tree", "-d", "99999999999999999999999"]);
    assert!(large.stderr.contains("write a smaller number"), "{large}");
}

#[test]
fn usage_lines_show_what_can_be_typed() {
    let project = TestProject::new();
    project.push("Shop");
    let usage = |arguments: &[&str]| {
        let help = project.ok(arguments);
        let lines = help.lines().skip_while(|line| !line.starts_with("Usage:"));
        let lines: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
        lines.join("\n")
    };
    assert_snapshot!(usage(&["note", "--help"]), @"
    Usage: flame note [OPTIONS] <TEXT>
           flame note [OPTIONS] <COMMAND>
    ");
    assert_snapshot!(usage(&["export", "--help"]), @"
    Usage: flame export [--force] <DIR>
           flame export --otlp [OPTIONS]
    ");
}

#[test]
fn a_graph_without_tokens_says_what_there_is() {
    let project = TestProject::new();
    project.push("Shop");
    let folded = project.flame(&["graph", "--format", "folded"]);
    assert!(
        folded
            .stderr
            .contains("there is nothing to show by tokens yet"),
        "{folded}"
    );
    let graph = project.flame(&["graph", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&graph.stdout).unwrap();
    assert!(value["text"].as_str().unwrap().contains("<svg"), "{graph}");
}

#[test]
fn an_approval_is_called_one() {
    let project = TestProject::new();
    project.push("Shop");
    assert_snapshot!(project.flame(&["note", "approval", "tasks.md"]), @"id-1 “Shop”: tasks.md is approved");
}

#[test]
fn raw_text_has_one_name_everywhere() {
    let project = TestProject::new();
    let frame = project.push("Shop");
    project.ok(&["note", "Ask Ada about the keys"]);
    for number in ["1", "log1"] {
        let text = project.ok(&["log", &format!("{frame}#{number}")]);
        assert_eq!(text.trim(), "Ask Ada about the keys");
    }
}

#[test]
fn a_dry_run_and_its_erasure_agree() {
    let project = TestProject::new();
    project.push("Shop");
    project.ok(&["note", "the key is hunter2secret"]);
    project.ok(&["pop", "Used hunter2secret"]);
    let counts = |arguments: &[&str]| {
        let said = project.ok(arguments);
        said.split_once("rase")
            .map(|(_, rest)| rest.replace("d ", " "))
            .unwrap()
    };
    let before = counts(&["forget", "-n", "hunter2secret"]);
    assert_eq!(counts(&["forget", "-y", "hunter2secret"]), before);
}

#[cfg(unix)]
#[test]
fn an_interrupted_check_says_that_nothing_was_recorded() {
    let project = TestProject::new();
    let frame = project.push("Shop");
    let output = project.flame(&["check", "kill -INT $PPID; kill -INT $$"]);
    assert_eq!(output.code, Some(130), "{output}");
    assert_snapshot!(output, @"
    --- stderr
    note: interrupted: nothing was recorded
    [exit 130]
    ");
    let shown = project.json(&["show", &frame]);
    assert_eq!(shown["evidence"], serde_json::json!([]), "{shown:#}");
}

#[test]
fn a_folder_that_becomes_a_repository_was_not_moved() {
    let project = TestProject::new();
    project.push("Shop");
    project.git(&["init", "--quiet"]);
    let output = project.flame(&["tree"]);
    assert!(output.stdout.contains("Shop"), "{output}");
    assert_snapshot!(output.stderr, @"note: this folder is a git repository now; its frames were kept");
}

#[test]
fn a_commit_without_git_is_named_by_its_hash() {
    let project = TestProject::new();
    project.push("Shop");
    let project = project.with_env("PATH", "/nowhere");
    assert_snapshot!(project.refused(&["note", "commit", "HEAD"]), @"
    --- stderr
    error: git is not in PATH, so “HEAD” cannot be looked up
    hint: give the hash of the commit
    [exit 1]
    ");
}

#[test]
fn what_was_given_up_is_no_task() {
    let project = TestProject::new();
    project.push("Shop");
    project.plan(&["Cart", "Vouchers", "Orders"]);
    project.ok(&["invalidate", "Cart", "--reason", "Not wanted"]);
    project.ok(&["activate", "Vouchers"]);
    let status = project.ok(&["status"]);
    assert!(status.contains("task 1 of 2"), "{status}");
    let context = project.ok(&["context"]);
    assert!(context.contains("Task 1 of 2"), "{context}");
}
