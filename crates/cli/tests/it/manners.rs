//! Behaviour towards terminals, pipes, shells and scripts.

use std::process::{Command, Stdio};

use insta::assert_snapshot;
use serde_json::Value;

use crate::ground::TestProject;

/// A tree with some of everything.
fn busy() -> (TestProject, String) {
    let project = TestProject::new();
    let root = project.push("Search");
    let planned = project.plan(&["Index", "Rank", "Cache"]);
    project.ok(&["activate", &planned[0]]);
    project.ok(&["note", "decision", "trigrams", "--why", "any language"]);
    project.ok(&["note", "test", "finds_umlauts"]);
    project.ok(&["pop", "The index is built"]);
    project.ok(&["invalidate", &planned[2], "--reason", "fast enough"]);
    (project, root)
}

/// The named fields are there, at a place of a JSON value.
#[track_caller]
fn has(value: &Value, place: &str, fields: &[&str]) {
    let found = value
        .pointer(place)
        .unwrap_or_else(|| panic!("{place} in {value:#}"));
    for field in fields {
        assert!(found.get(field).is_some(), "{place}/{field} in {value:#}");
    }
}

#[test]
fn every_reading_command_speaks_json() {
    let (project, root) = busy();
    let totals = [
        "planned",
        "in_progress",
        "completed",
        "failed",
        "blocked",
        "invalidated",
    ];

    let status = project.json(&["status"]);
    has(
        &status,
        "",
        &["project", "worktree", "sessions", "totals", "setAside"],
    );
    has(&status, "/totals", &totals);
    has(
        &status,
        "/sessions/0",
        &[
            "session", "here", "path", "active", "position", "siblings", "children", "next",
        ],
    );
    has(&status, "/sessions/0/path/0", &["id", "status", "title"]);

    let tree = project.json(&["tree", "--all"]);
    has(&tree, "", &["lines", "totals"]);
    assert_eq!(tree["lines"].as_array().unwrap().len(), 4);
    has(
        &tree,
        "/lines/1",
        &[
            "id", "parent", "status", "title", "depth", "children", "activeIn", "proofs",
        ],
    );

    let show = project.json(&["show", &root]);
    has(
        &show,
        "",
        &[
            "id",
            "status",
            "title",
            "artifacts",
            "decisions",
            "failedAttempts",
            "evidence",
            "createdAt",
            "updatedAt",
            "path",
            "children",
            "childTotals",
            "activeIn",
            "logPath",
        ],
    );
    has(&show, "/children/0", &["id", "resultsCompacted"]);

    has(
        &project.json(&["search", "trigrams"]),
        "/hits/0",
        &["frame", "title", "field", "excerpt"],
    );
    has(
        &project.json(&["log", &root]),
        "",
        &["frame", "logPath", "markdown"],
    );
    has(&project.json(&["log"]), "/0", &["id", "status", "title"]);
    has(
        &project.json(&["log", &root, "--path"]),
        "",
        &["frame", "logPath"],
    );
    has(
        &project.json(&["doctor"]),
        "",
        &[
            "well",
            "state",
            "diagnostics",
            "events",
            "frames",
            "bytes",
            "problems",
            "setAside",
        ],
    );
    has(
        &project.json(&["config", "list"]),
        "/0",
        &["key", "value", "origin", "default"],
    );
    has(
        &project.json(&["config", "get", "gc.max_size"]),
        "",
        &["key", "value", "origin"],
    );
    has(
        &project.json(&["tool", "--list"]),
        "/0",
        &["name", "description", "schema"],
    );
    has(
        &project.json(&["tool", "stack_status"]),
        "",
        &["tool", "output"],
    );
    has(
        &project.json(&["gc", "--dry-run"]),
        "",
        &["limit", "before", "after", "overLimit"],
    );
    has(
        &project.json(&["rebuild"]),
        "",
        &["events", "frames", "recovered"],
    );
    has(
        &project.json(&["push", "Next", "--root"]),
        "",
        &["changed", "frames", "events", "remarks"],
    );

    project.ok(&["note", "log", "-", "--label", "empty"]);
    let raw = project.json(&["log", &format!("{}#1", active(&project))]);
    has(&raw, "", &["frame", "text"]);
}

fn active(project: &TestProject) -> String {
    project.json(&["show"])["id"].as_str().unwrap().to_owned()
}

#[test]
fn json_of_a_project_without_state_is_json_too() {
    let project = TestProject::new();
    for step in [
        vec!["status"],
        vec!["tree"],
        vec!["log"],
        vec!["search", "x"],
        vec!["doctor"],
        vec!["gc"],
        vec!["rebuild"],
    ] {
        project.json(&step);
    }
}

/// Runs a command on a terminal, as `script` makes one, and returns what appeared there.
fn on_a_terminal(project: &TestProject, line: &str, environment: &[(&str, &str)]) -> String {
    let flame = env!("CARGO_BIN_EXE_flame");
    let output = Command::new("script")
        .args([
            "--quiet",
            "--return",
            "--command",
            &format!("'{flame}' {line}"),
            "/dev/null",
        ])
        .current_dir(project.root())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("TERM", "xterm-256color")
        .env("FLAME_STATE_DIR", project.dir().join("state"))
        .env("HOME", project.dir().join("home"))
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn colour_is_for_terminals() {
    let (project, _) = busy();
    for line in ["tree", "status", "search trigrams", "log", "show nothing"] {
        let words: Vec<&str> = line.split(' ').collect();
        let piped = project.flame(&words);
        assert!(
            !piped.stdout.contains('\u{1b}') && !piped.stderr.contains('\u{1b}'),
            "{line}"
        );
        // A terminal of `script` is there on most machines; where it is not, the rest still counts.
        if Command::new("script").arg("--version").output().is_ok() {
            let shown = on_a_terminal(&project, line, &[]);
            assert!(shown.contains('\u{1b}'), "{line}: {shown:?}");
            let plain = on_a_terminal(&project, line, &[("NO_COLOR", "1")]);
            assert!(!plain.contains("\u{1b}["), "{line}: {plain:?}");
        }
    }
}

#[test]
fn nothing_is_said_by_colour_alone() {
    let (project, _) = busy();
    let tree = project.ok(&["tree", "--all"]);
    for sign in ["→ ", "✓ ", "○ ", "– "] {
        assert!(tree.contains(sign), "{tree}");
    }
    assert!(
        tree.contains("→ in progress  ○ planned  ! blocked  ✓ completed  ✗ failed  – invalidated"),
        "{tree}"
    );
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let project = TestProject::new();
    project.push("Root");
    // More than a pipe holds, so that the writer notices.
    let titles: String = (0..3000).map(|n| format!("- Frame number {n}\n")).collect();
    let planned = project.flame_reading(&["plan", "--from", "-"], titles.as_bytes());
    assert_eq!(planned.code, Some(0), "{planned}");
    for line in [
        &["tree", "--all"][..],
        &["tree", "--all", "--json"],
        &["tool", "stack_get_state"],
    ] {
        let mut child = project
            .command(line)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = [0; 1];
        let mut stdout = child.stdout.take().unwrap();
        std::io::Read::read_exact(&mut stdout, &mut first).unwrap();
        drop(stdout);
        let ended = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&ended.stderr), "", "{line:?}");
        assert!(ended.status.success(), "{line:?}: {}", ended.status);
    }
}

#[test]
fn completions_and_manual_pages_come_out() {
    let project = TestProject::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = project.ok(&["completions", shell]);
        for word in ["flame", "COMPLETE"] {
            assert!(script.contains(word), "{shell} asks {word}");
        }
    }
    let pages = project.dir().join("man");
    project.ok(&["man", &pages.display().to_string()]);
    for page in ["flame.1", "flame-push.1", "flame-note-decision.1"] {
        let text = fs_err::read_to_string(pages.join(page)).unwrap();
        assert!(text.contains(".SH NAME"), "{page}: {text}");
    }
    assert!(!project.dir().join("state").exists());
}

#[test]
fn help_and_version_are_there() {
    let project = TestProject::new();
    assert!(project.ok(&["--version"]).starts_with("flame 0."));
    let help = project.ok(&["--help"]);
    for command in ["push", "pop", "tree", "doctor", "config", "tool"] {
        assert!(
            help.contains(&format!("\n  {command} ")),
            "{command} in {help}"
        );
        project.ok(&[command, "--help"]);
    }
}

#[test]
fn text_cannot_drive_the_terminal() {
    let project = TestProject::new();
    let frame = project.push("Red \u{1b}[31malert\u{7}");
    project.ok(&["edit", "--criteria", "line\n\u{1b}]0;title\u{7}end"]);
    project.ok(&["note", "decision", "\u{1b}[2J wiped", "--why", "\u{9b}2J"]);
    project.flame(&["note", "artifact", "src/\u{1b}[1m.rs"]);
    project.ok(&["note", "failed", "a\rb\u{8}c"]);
    project.ok(&["note", "command", "printf '\u{1b}c'", "--exit-code", "0"]);
    let logged = project.flame_reading(
        &["note", "log", "-", "--label", "raw \u{1b}[0m"],
        b"\x1b[1mbold\x1b[0m\n",
    );
    assert_eq!(logged.code, Some(0), "{logged}");
    project.ok(&["block", "\u{1b}[5m blink"]);
    for line in [
        vec!["tree", "--details"],
        vec!["show", &frame],
        vec!["log", &frame],
        vec!["search", "wiped"],
        vec!["status"],
        vec!["unblock", &frame],
        vec!["pop", "\u{1b}[0m over", "--frame", &frame],
    ] {
        let said = project.ok(&line);
        let driving = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
        assert!(!said.contains(driving), "{line:?}: {said:?}");
    }
}

#[test]
fn text_cannot_disguise_itself() {
    let project = TestProject::new();
    let title = "Run \u{202e}hs.llatsni\u{2069} as ro\u{200b}ot\u{feff}\u{e0041}\u{3164}";
    let frame = project.push(title);
    project.ok(&["note", "decision", title, "--why", title]);
    project.flame(&["note", "artifact", title]);
    project.ok(&["edit", "--criteria", title]);
    let raw = |c: char| "\u{202e}\u{2069}\u{200b}\u{feff}\u{e0041}\u{3164}".contains(c);
    for line in [
        vec!["tree", "--details"],
        vec!["show", &frame],
        vec!["log", &frame],
        vec!["search", "llatsni"],
        vec!["recall", &frame],
        vec!["recall", "llatsni"],
        vec!["status"],
        vec!["context", "--table"],
        vec!["brief"],
        vec!["tree", "--json"],
        vec!["block", title],
        vec!["unblock", &frame],
        vec!["pop", title, "--frame", &frame],
        vec!["log"],
    ] {
        let said = project.ok(&line);
        assert!(!said.contains(raw), "{line:?}: {said:?}");
    }
    let refused = project.refused(&["activate", &frame]);
    assert!(!refused.stderr.contains(raw), "{refused}");
    let tree = project.flame(&["tree", "--all"]).to_string();
    assert_snapshot!(tree.lines().next().unwrap_or_default(), @"✓ id-1  Run <U+202E>hs.llatsni<U+2069> as root · claimed");
    // The recorded text is unchanged for scripts; a model reads what a user reads.
    assert_eq!(project.json(&["show", &frame])["title"], title);
    assert!(!project.ok(&["context", "--frame", &frame]).contains(raw));
}

#[test]
fn letters_of_every_script_are_shown() {
    let project = TestProject::new();
    for title in [
        "שלום עולם",
        "مرحبا بالعالم",
        "می\u{200c}خواهم",
        "👩\u{200d}👩\u{200d}👧 家族",
    ] {
        project.ok(&["push", title, "--root"]);
        assert!(project.ok(&["tree"]).contains(title), "{title}");
        assert!(project.ok(&["status"]).contains(title), "{title}");
    }
}

#[test]
fn an_invalid_command_line_is_reported_in_json_too() {
    let project = TestProject::new();
    assert_snapshot!(project.flame(&["--json", "push"]), @r#"
    --- stderr
    {"error":"the following required arguments were not provided: <TITLE>","hint":"Usage: flame push <TITLE> · For more information, try '--help'."}
    [exit 2]
    "#);
    assert_snapshot!(project.flame(&["tree", "--bogus", "--json"]), @r#"
    --- stderr
    {"error":"unexpected argument '--bogus' found","hint":"tip: to pass '--bogus' as a value, use '-- --bogus' · Usage: flame tree [OPTIONS] [FRAME] · For more information, try '--help'."}
    [exit 2]
    "#);
    assert_snapshot!(project.flame(&["psuh", "--json"]), @r#"
    --- stderr
    {"error":"unrecognized subcommand 'psuh'","hint":"tip: a similar subcommand exists: 'push' · Usage: flame [OPTIONS] <COMMAND> · For more information, try '--help'."}
    [exit 2]
    "#);
    assert_snapshot!(project.flame(&["tree", "--depth", "none", "--json"]), @r#"
    --- stderr
    {"error":"invalid value 'none' for '--depth <N>'","hint":"tip: write a whole number · For more information, try '--help'."}
    [exit 2]
    "#);
    assert_snapshot!(project.flame(&["note", "--json"]), @r#"
    --- stderr
    {"error":"the following required arguments were not provided: <TEXT>","hint":"Usage: flame note [OPTIONS] <TEXT> or flame note [OPTIONS] <COMMAND> · For more information, try '--help'."}
    [exit 2]
    "#);
    // Asking for help is not an error.
    let help = project.flame(&["push", "--help", "--json"]);
    assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""));
}

#[test]
fn everything_that_answers_answers_in_json() {
    let project = TestProject::new();
    let demo = project.json(&["demo"]);
    has(&demo, "", &["steps", "tree", "log"]);
    has(
        &demo,
        "/steps/0",
        &["command", "milliseconds", "events", "said"],
    );
    let pages = project.dir().join("man").display().to_string();
    assert_eq!(project.json(&["man", &pages])["dir"], pages);
    has(
        &project.json(&["completions", "fish"]),
        "",
        &["shell", "script"],
    );
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error() {
    let (project, _) = busy();
    for line in [
        &["tree"][..],
        &["tree", "--json"],
        &["context"],
        &["tool", "stack_status"],
    ] {
        let full = fs_err::OpenOptions::new().write(true).open("/dev/full");
        let output = project
            .command(line)
            .stdout(full.unwrap().into_parts().0)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{line:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            said.contains("the output could not be written: No space left"),
            "{said}"
        );
    }
}

#[test]
fn what_is_recalled_is_what_was_written() {
    let (project, root) = busy();
    project.ok(&[
        "note",
        "decision",
        "Items [draft] are trigrams",
        "--frame",
        &root,
    ]);
    let found = project.ok(&["search", "trigrams draft"]);
    assert!(found.contains("Items [[draft]] are [trigrams]"), "{found}");
    let recalled = project.ok(&["recall", "trigrams draft"]);
    assert!(
        recalled.contains("Items [draft] are trigrams"),
        "{recalled}"
    );
}

#[test]
fn part_of_a_tree_says_that_it_is_one() {
    let (project, root) = busy();
    let index = project.json(&["show", &root])["children"][0]["id"].clone();
    let index = index.as_str().unwrap();
    assert_snapshot!(project.flame(&["tree", index]), @"
    ✓ id-2  Index · 1 check passed

    in all, 4 frames: 1 in progress, 1 planned, 1 completed, 1 invalidated
    → in progress  ○ planned  ! blocked  ✓ completed  ✗ failed  – invalidated
    ");
    let empty = TestProject::new();
    assert_snapshot!(empty.flame(&["tree"]), @"
    no frames yet
    `flame push TITLE` starts one.
    ");
    project.ok(&["block", "the bank"]);
    project.ok(&["unblock", &root]);
    assert_snapshot!(project.flame(&["status"]), @"
    Nothing is in progress here.
    `flame activate ID` switches to one that is in progress, `flame push TITLE` starts another.

    shop · 4 frames: 1 in progress, 1 planned, 1 completed, 1 invalidated
    ");
}
