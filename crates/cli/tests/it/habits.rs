//! Habits at the command line: titles instead of ids, familiar words, checks, and the way back.

use insta::assert_snapshot;

use crate::ground::TestProject;

#[test]
fn a_frame_is_named_by_its_title() {
    let project = TestProject::new();
    project.push("Password login");
    project.plan(&["Store users", "Store links", "Login routes"]);
    // A whole title, in any case; the beginning of one; the id itself.
    project.ok(&["activate", "STORE USERS"]);
    project.ok(&["activate", "login"]);
    assert_snapshot!(project.flame(&["status"]), @"
    shell:main (you)
      → id-1  Password login
        → id-4  Login routes
      task 3 of 3 (0 done, 1 planned)
      next: id-3  Store links

    shop · 4 frames: 3 in progress, 1 planned
    ");
    assert_snapshot!(project.refused(&["show", "store"]), @"
    --- stderr
    error: `store` matches several frames: id-2 “Store users”, id-3 “Store links”
    hint: use the id, or more characters of it
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["show", "Lgoin routes"]), @"
    --- stderr
    error: there is no frame `Lgoin routes`
    hint: did you mean id-4 “Login routes”?
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["show", "nothing like it"]), @r#"
    --- stderr
    error: there is no frame `nothing like it`
    hint: `flame tree` shows the frames, `flame search "nothing like it"` looks for one
    [exit 1]
    "#);
    // Two letters name an id at most.
    project.refused(&["show", "lo"]);
}

#[test]
fn an_id_wins_over_a_title() {
    let project = TestProject::new();
    let first = project.push("First");
    project.ok(&["push", &first]);
    assert_eq!(project.json(&["show", &first])["title"], "First");
}

#[test]
fn familiar_words_work() {
    let project = TestProject::new();
    project.push("Login");
    project.plan(&["Routes", "Cookies", "Tests"]);
    project.ok(&["start", "routes"]);
    assert_snapshot!(project.flame(&["done", "three routes"]), @"
    id-2 “Routes” is completed (claimed)
    now at → id-1 “Login”
    next: id-3  Cookies
    ");
    assert_snapshot!(project.flame(&["next"]), @"id-3 “Cookies” is in progress");
    project.ok(&["rm", "tests"]);
    assert_snapshot!(project.flame(&["ls"]), @"
    → id-1  Login · 1/2 done
    ├─ ✓ id-2  Routes · claimed
    └─ → id-3  Cookies  ◀ you are here

    3 frames: 2 in progress, 1 completed
    → in progress  ○ planned  ! blocked  ✓ completed  ✗ failed  – invalidated
    claimed: completed without a recorded check, test or commit (`flame check` records one)
    ");
    project.ok(&["done", "signed"]);
    assert_snapshot!(project.refused(&["next"]), @"
    --- stderr
    error: nothing is planned below the active frame or next to it
    hint: plan something with `flame plan TITLE`, or finish the frame with `flame pop RESULTS`
    [exit 1]
    ");
}

#[test]
fn a_stray_tree_is_noticed_and_left_again() {
    let project = TestProject::new();
    assert_snapshot!(project.flame(&["push", "Login"]), @"id-1 “Login” is in progress, at the root of a new tree");
    assert_snapshot!(project.flame(&["push", "Hotfix", "--root"]), @"
    id-2 “Hotfix” is in progress, at the root of a new tree
    id-1 “Login” is still in progress; `flame activate -` returns to it
    ");
    assert_snapshot!(project.flame(&["pop", "fixed"]), @"
    id-2 “Hotfix” is completed (claimed)
    that was the root: the whole tree is finished
    no frame is active now
    id-1 “Login” is still in progress; `flame activate -` returns to it
    ");
    assert_snapshot!(project.flame(&["activate", "-"]), @"id-1 “Login” is the active frame now");
    project.push("Routes");
    project.ok(&["activate", "-"]);
    assert_eq!(project.json(&["show"])["title"], "Login");
    project.ok(&["activate", "-"]);
    assert_eq!(project.json(&["show"])["title"], "Routes");
}

#[test]
fn there_may_be_no_way_back() {
    let project = TestProject::new();
    project.push("Login");
    assert_snapshot!(project.refused(&["activate", "-"]), @"
    --- stderr
    error: no other frame in progress was active here before
    hint: `flame tree` shows the frames
    [exit 1]
    ");
}

#[test]
fn another_session_on_the_same_frame_is_named() {
    let project = TestProject::new();
    project.ok(&["push", "Login", "--session", "opencode:ses_1"]);
    assert_snapshot!(project.flame(&["activate", "login"]), @"
    id-1 “Login” is the active frame now
    careful: also active in opencode:ses_1
    ");
}

#[test]
fn a_check_runs_and_is_recorded() {
    let project = TestProject::new().with_env("PATH", "/usr/bin:/bin");
    project.push("Login");
    let script = "echo out; echo ghp_0123456789012345678901234567890123ab >&2; exit 3";
    let failed = project.flame(&["check", "sh", "-c", script]);
    assert_eq!((failed.code, failed.stdout.as_str()), (Some(3), "out\n"));
    let passed = project.flame(&["check", "--", "true"]);
    assert_eq!(passed.code, Some(0), "{passed}");
    assert!(
        passed
            .stderr
            .contains("has a check that passed: it exited 0"),
        "{passed}"
    );
    let shown = project.json(&["show"]);
    assert_eq!(shown["evidence"][0]["exitCode"], 3);
    assert_eq!(shown["evidence"][1]["command"], "true");
    let kept = project.ok(&["log", "login#1"]);
    assert!(
        kept.contains("out\n") && !kept.contains("ghp_0123"),
        "{kept}"
    );
    assert_snapshot!(project.flame(&["tree"]), @"
    → id-1  Login · 1 check passed · 1 check failed  ◀ you are here

    1 frame: 1 in progress
    → in progress  ○ planned  ! blocked  ✓ completed  ✗ failed  – invalidated
    ");
    // The shell runs a line.
    let line = project.flame(&["check", "echo one two | wc -w"]);
    assert_eq!(line.stdout.trim(), "2");
    let json = project.flame(&["--json", "check", "echo", "hello"]);
    let answer: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(
        (&answer["exitCode"], json.stderr.as_str()),
        (&0.into(), "hello\n")
    );
    let missing = project.flame(&["check", "no-such-program"]);
    assert_eq!(missing.code, Some(127), "{missing}");
}

#[test]
fn one_undo_takes_back_a_check_with_its_output() {
    let project = TestProject::new().with_env("PATH", "/usr/bin:/bin");
    project.push("Login");
    project.flame(&["check", "echo", "hello"]);
    let with_check = project.json(&["show"]);
    assert_eq!(with_check["evidence"].as_array().map(Vec::len), Some(1));
    project.ok(&["undo"]);
    let shown = project.json(&["show"]);
    assert_eq!(shown["evidence"], serde_json::json!([]));
    project.refused(&["log", "login#1"]);
}

#[test]
fn a_note_may_be_any_text() {
    let project = TestProject::new();
    project.push("Login");
    assert_snapshot!(project.flame(&["note", "Ask Ada about the keys"]), @"id-1 “Login” stores “note: Ask Ada about the keys” (22 bytes)");
    project.refused(&["note", ""]);
    project.ok(&["note", "decision", "argon2id"]);
    assert_eq!(project.ok(&["log", "login#1"]), "Ask Ada about the keys");
    assert!(project.ok(&["search", "Ada keys"]).contains("Login"));
    assert!(
        project
            .ok(&["show"])
            .contains("note: Ask Ada about the keys")
    );
}

#[test]
fn a_check_without_a_frame_runs_nothing() {
    let project = TestProject::new().with_env("PATH", "/usr/bin:/bin");
    let file = project.root().join("made");
    project.refused(&["check", "touch", &file.display().to_string()]);
    assert!(!file.exists());
}

#[test]
fn the_tree_is_a_markdown_list() {
    let project = TestProject::new();
    project.ok(&["push", "Login", "--criteria", "Users can log in"]);
    project.plan(&["Routes", "Cookies"]);
    project.ok(&["start", "routes"]);
    project.ok(&["done", "Three routes\nin src/routes.rs"]);
    assert_snapshot!(project.flame(&["tree", "--markdown"]), @"
    - [ ] **Login** `id-1` (in progress)
      Done when: Users can log in
      - [x] **Routes** `id-2` (claimed)
        Results: Three routes in src/routes.rs
      - [ ] **Cookies** `id-3`
    ");
}

#[test]
fn the_settings_file_is_found_and_edited() {
    let project = TestProject::new().with_env("PATH", "/usr/bin:/bin");
    assert_snapshot!(project.flame(&["config", "path"]), @"DIR/config/flamestack/config.toml");
    assert_snapshot!(project.flame(&["config", "path", "--project", "--json"]), @r#"
    {
      "exists": false,
      "file": "DIR/state/projects/shop-HASH/config.toml"
    }
    "#);
    let editor = project.dir().join("editor");
    fs_err::write(&editor, "#!/bin/sh\necho 'fold = \"auto\"' > \"$1\"\n").unwrap();
    let project = project.with_env("EDITOR", &format!("sh {}", editor.display()));
    project.ok(&["config", "edit"]);
    assert_eq!(project.ok(&["config", "get", "fold"]), "auto\n");
    assert_snapshot!(project.flame(&["config", "list", "fold"]), @"fold = auto  DIR/config/flamestack/config.toml");
    assert_snapshot!(project.flame(&["config", "unset", "tools"]), @"
    tools is not set in DIR/config/flamestack/config.toml
    tools = core  built in
    ");
    let project = project.with_env("EDITOR", "/no/such/editor");
    project.refused(&["config", "edit"]);
}

#[test]
fn a_shell_completes_what_exists() {
    let project = TestProject::new();
    let login = project.push("Password login");
    let completed = |words: &[&str]| {
        let mut command = project.command(&["--", "flame"]);
        command.args(words).env("COMPLETE", "fish");
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let frame = format!("{login}\t→ Password login\n");
    assert!(completed(&["show", ""]).starts_with(&frame));
    assert_eq!(completed(&["show", "--session", "sh"]), "shell:main\n");
    assert!(completed(&["config", "get", "fol"]).starts_with("fold\t"));
    assert!(completed(&["tool", "stack_rec"]).starts_with("stack_recall\t"));
    assert!(completed(&["pus"]).starts_with("push\t"));
    for shell in ["bash", "zsh", "fish"] {
        let script = project.ok(&["completions", shell]);
        assert!(script.contains("COMPLETE"), "{script}");
    }
}

#[test]
fn help_is_in_groups() {
    let project = TestProject::new();
    assert_snapshot!(project.flame(&["-h"]), @"
    A call stack for a coding agent's context

    Usage: flame [OPTIONS] <COMMAND>

    Everyday work:
      push         Open a new frame under the active one and switch to it
      pop          Finish the active frame with its results and return to its parent (also: done)
      plan         Plan frames for later, in order, below the active one
      activate     Switch to a frame, starting it if it is planned or blocked (also: start)
      next         Switch to the next planned frame: the first one below the active frame, or next to it
      note         Record a note in a frame: free text, a decision, a failed attempt, evidence …
      check        Run a command and record it as evidence: command line, exit code and output
      tree         Draw the tree of frames (also: ls)
      status       Show each session's path, position and next step
      show         Show everything about a frame, including its children's results
      undo         Undo this session's last command

    Change frames:
      edit, block, unblock, invalidate, move, delete, summarize
    Look at the work:
      ui, tui, graph
    Find again:
      search, recall, log
    What a model gets:
      context, brief, tool, autonomy, replay, eval
    Agent programs:
      run, init, bind, unbind, session, sidecar
    Settings and help:
      config, demo, completions, man, help
    The store:
      doctor, rebuild, gc, backup, forget, projects, import, export

    `flame --help` describes all of them, `flame COMMAND -h` one.

    Global options:
          --json               Print JSON
          --session <SESSION>  Act as this session (`host:id`) instead of this worktree's shell [env:
                               FLAME_SESSION]
      -C, --dir <DIR>          Act on the project in this directory
      -h, --help               Print help (see more with '--help')
      -V, --version            Print version
    ");
    let long = project.ok(&["--help"]);
    assert!(long.contains("\nThe store:\n  doctor "), "{long}");
    assert!(long.contains("Exit codes:"), "{long}");
}
