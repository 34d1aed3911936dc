//! Everything that is refused: with an exit code, a sentence, a way on, and nothing changed.

use insta::assert_snapshot;

use crate::ground::TestProject;

#[test]
fn the_life_of_a_frame_has_rules() {
    let project = TestProject::new();
    assert_snapshot!(project.refused(&["pop", "done"]), @"
    --- stderr
    error: shell:main works on no frame
    hint: name a frame, begin one with `flame push TITLE`, or turn to one with `flame activate ID`
    [exit 1]
    ");
    let root = project.push("Root");
    let [planned, other] = [0, 1].map(|n| project.plan(&["Index", "Rank"])[n].clone());
    assert_snapshot!(project.refused(&["pop", "done"]), @"
    --- stderr
    error: id-1 “Root” has 4 open children: id-2 “Index” (planned), id-3 “Rank” (planned), id-4 “Index” (planned), id-5 “Rank” (planned)
    hint: finish each with `flame pop --frame id-2 RESULTS` or give it up with `flame invalidate id-2 --reason WHY`
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["pop", "done", "--frame", &planned]), @"
    --- stderr
    error: id-2 “Index” is planned and was not begun
    hint: begin it with `flame activate id-2`, or give it up with `flame invalidate id-2 --reason WHY`
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["block", "x", "--frame", &planned]), @"
    --- stderr
    error: id-2 “Index” is planned and was not begun
    hint: begin it with `flame activate id-2`, or give it up with `flame invalidate id-2 --reason WHY`
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["push", "Below a plan", "--parent", &planned]), @"
    --- stderr
    error: id-2 “Index” is planned and was not begun
    hint: begin it with `flame activate id-2`, or give it up with `flame invalidate id-2 --reason WHY`
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["unblock", &planned]), @"
    --- stderr
    error: id-2 “Index” is planned, not blocked
    hint: turn to it with `flame activate id-2`
    [exit 1]
    ");

    project.ok(&["activate", &planned]);
    project.ok(&["block", "the bank"]);
    assert_snapshot!(project.refused(&["pop", "done", "--frame", &planned]), @"
    --- stderr
    error: id-2 “Index” is blocked (the bank)
    hint: when the wait is over: `flame unblock id-2`
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["pop", "so far", "--status", "blocked", "--frame", &planned]), @"
    --- stderr
    error: id-2 “Index” is blocked already (the bank)
    hint: when the wait is over: `flame unblock id-2`
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["block", "again", "--frame", &planned]), @"
    --- stderr
    error: id-2 “Index” is blocked already (the bank)
    hint: when the wait is over: `flame unblock id-2`
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["activate", &planned]), @"
    --- stderr
    error: id-2 “Index” is blocked (the bank)
    hint: when the wait is over: `flame unblock id-2`
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["push", "Below", "--parent", &planned]), @"
    --- stderr
    error: id-2 “Index” is blocked (the bank)
    hint: when the wait is over: `flame unblock id-2`
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["move", &planned, "--root"]), @"
    --- stderr
    error: id-2 “Index” is blocked: only planned frames can be moved
    hint: give it up with `flame invalidate id-2 --reason WHY`
    [exit 1]
    ");

    project.ok(&["unblock", &planned]);
    project.ok(&["pop", "Built", "--frame", &planned]);
    assert_snapshot!(project.refused(&["pop", "again", "--frame", &planned]), @"
    --- stderr
    error: id-2 “Index” is completed already
    hint: push a new frame to do it again
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["activate", &planned]), @"
    --- stderr
    error: id-2 “Index” is completed already
    hint: push a new frame to do it again
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["push", "Below", "--parent", &planned]), @"
    --- stderr
    error: id-2 “Index” is completed, so nothing can be added below it
    hint: name id-1 above it instead, which is in progress
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["plan", "Below", "--parent", &planned]), @"
    --- stderr
    error: id-2 “Index” is completed, so nothing can be added below it
    hint: name id-1 above it instead, which is in progress
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["invalidate", &planned, "--reason", "no"]), @"
    --- stderr
    error: id-2 “Index” is completed: its results stand
    hint: correct what it says with `flame edit id-2 --results TEXT`, or push a new frame to do it again
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["edit", &planned, "--title", "Other"]), @"
    --- stderr
    error: id-2 “Index” is completed: what it was meant to do stays as it was
    hint: push a new frame to do it again
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["move", &planned, "--root"]), @"
    --- stderr
    error: id-2 “Index” is completed: only planned frames can be moved
    hint: push a new frame to do it again
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["delete", &planned]), @"
    --- stderr
    error: id-2 “Index” is completed: only planned frames can be deleted
    hint: push a new frame to do it again
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["unblock", &planned]), @"
    --- stderr
    error: id-2 “Index” is completed, not blocked
    hint: push a new frame to do it again
    [exit 1]
    ");

    assert_snapshot!(project.refused(&["edit", &root, "--results", "Early"]), @"
    --- stderr
    error: id-1 “Root” is in progress and has no results to correct
    hint: results are given when it ends: `flame pop --frame id-1 RESULTS`
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["edit", &root]), @"
    --- stderr
    error: nothing to change was named
    hint: name what changes: `--title`, `--criteria`, `--criteria-compacted`, `--results` or `--results-compacted`
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["move", &root, "--under", &other]), @"
    --- stderr
    error: id-1 “Root” is in progress: only planned frames can be moved
    hint: give it up with `flame invalidate id-1 --reason WHY`
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["delete", &root]), @"
    --- stderr
    error: id-1 “Root” is in progress: only planned frames can be deleted
    hint: give it up with `flame invalidate id-1 --reason WHY`
    [exit 1]
    ");
    project.ok(&["invalidate", &other, "--reason", "no"]);
    assert_snapshot!(project.refused(&["invalidate", &other, "--reason", "no"]), @"
    --- stderr
    error: id-5 “Rank” is invalidated already
    hint: push a new frame to do it again
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["edit", &other, "--title", "Other"]), @"
    --- stderr
    error: id-5 “Rank” is invalidated already
    hint: push a new frame to do it again
    [exit 1]
    ");
    project.well();
}

#[test]
fn a_frame_is_never_its_own_ancestor() {
    let project = TestProject::new();
    let a = project.opened(&["plan", "A", "--root"]).remove(0);
    let b = project.opened(&["plan", "B", "--parent", &a]).remove(0);
    let c = project.opened(&["plan", "C", "--parent", &b]).remove(0);
    assert_snapshot!(project.refused(&["move", &a, "--under", &c]), @"
    --- stderr
    error: id-1 “A” cannot be moved to id-3 “C”, which is below it
    hint: choose a place outside of it
    [exit 1]
    ");
    for place in [
        ["--under", &a],
        ["--before", &a],
        ["--after", &a],
        ["--under", &b],
        ["--before", &c],
        ["--after", &b],
    ] {
        project.refused(&["move", &a, place[0], place[1]]);
    }
    let d = project.opened(&["plan", "D", "--root"]).remove(0);
    project.ok(&["invalidate", &d, "--reason", "no"]);
    assert_snapshot!(project.refused(&["move", &a, "--under", &d]), @"
    --- stderr
    error: id-4 “D” is invalidated, so nothing can be added below it
    hint: use `--root` to begin a new tree
    [exit 1]
    ");
    project.well();
}

#[test]
fn a_session_and_a_frame_are_bound_once() {
    let project = TestProject::new();
    let one = project.push("One");
    let two = project.opened(&["push", "Two", "--root"]).remove(0);
    project.ok(&["bind", &one, "opencode:ses_a"]);
    assert_snapshot!(project.refused(&["bind", &two, "opencode:ses_a"]), @"
    --- stderr
    error: opencode:ses_a is bound to id-1 “One” already
    hint: part them first: `flame unbind opencode:ses_a`
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["bind", &one, "opencode:ses_b"]), @"
    --- stderr
    error: id-1 “One” is bound to opencode:ses_a already
    hint: part them first: `flame unbind opencode:ses_a`
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["unbind", "opencode:ses_b"]), @"
    --- stderr
    error: opencode:ses_b is bound to no frame
    hint: `flame bind ID opencode:ses_b` binds it to a frame
    [exit 1]
    ");
    project.ok(&["pop", "done"]);
    assert_snapshot!(project.refused(&["bind", &two, "opencode:ses_c"]), @"
    --- stderr
    error: id-2 “Two” is completed already
    hint: push a new frame to do it again
    [exit 1]
    ");
    assert_snapshot!(project.misused(&["bind", &two, "ses_c"]), @"
    --- stderr
    error: `ses_c` names no host
    hint: write it as `host:id`, for example `opencode:ses_c`
    [exit 2]
    ");
}

#[test]
fn only_what_nobody_has_built_on_is_undone() {
    let project = TestProject::new();
    assert_snapshot!(project.refused(&["undo"]), @"
    --- stderr
    error: shell:main has nothing to undo
    hint: undo takes back only what this session did
    [exit 1]
    ");
    let root = project.push("Root");
    project.ok(&[
        "note",
        "decision",
        "x",
        "--frame",
        &root,
        "--session",
        "opencode:ses_a",
    ]);
    assert_snapshot!(project.refused(&["undo"]), @"
    --- stderr
    error: the last command of shell:main cannot be undone: opencode:ses_a has worked on the same frame since
    hint: change what is there now instead: `flame log ID` shows what happened
    [exit 1]
    ");
}

#[test]
fn texts_are_bounded_and_never_empty() {
    let project = TestProject::new();
    let root = project.push("Root");
    for blank in ["", "  \n\t "] {
        for line in [
            vec!["push", blank],
            vec!["push", "Title", "--criteria", blank],
            vec!["plan", "One", blank],
            vec!["pop", blank],
            vec!["pop", "done", "--compacted", blank],
            vec!["note", "decision", blank],
            vec!["note", "decision", "x", "--why", blank],
            vec!["note", "artifact", blank],
            vec!["note", "failed", blank],
            vec!["note", "command", blank],
            vec!["note", "test", blank],
            vec!["note", "commit", blank],
            vec!["block", blank],
            vec!["edit", "--title", blank],
            vec!["edit", "--criteria", blank],
            vec!["invalidate", &root, "--reason", blank],
        ] {
            let output = project.refused(&line);
            assert!(output.stderr.contains(" is empty"), "{line:?}: {output}");
        }
    }
    assert_snapshot!(project.refused(&["push", ""]), @"
    --- stderr
    error: the title is empty
    hint: say it in a few words
    [exit 1]
    ");
    assert_snapshot!(project.turned_away(1, &["note", "log", "-", "--label", " "], b"text"), @"
    --- stderr
    error: the label is empty
    hint: say it in a few words
    [exit 1]
    ");

    let ten_megabytes = "x".repeat(10_000_000);
    let arguments =
        serde_json::json!({ "title": ten_megabytes, "successCriteria": "x" }).to_string();
    let long_title =
        project.turned_away(1, &["tool", "stack_frame_push", "-"], arguments.as_bytes());
    assert_snapshot!(long_title, @"
    --- stderr
    error: the title has 10000000 characters and a title may have 500
    hint: put the detail into the success criteria
    [exit 1]
    ");
    let long_text = project.turned_away(1, &["pop", "-"], ten_megabytes.as_bytes());
    assert_snapshot!(long_text, @"
    --- stderr
    error: the text of the results has 10000000 bytes and may have 1048576
    hint: keep the long text in the frame's log: `flame note log FILE`
    [exit 1]
    ");
    let outline = format!("- {ten_megabytes}\n");
    let long_plan = project.turned_away(1, &["plan", "--from", "-"], outline.as_bytes());
    assert_snapshot!(long_plan, @"
    --- stderr
    error: the title has 10000000 characters and a title may have 500
    hint: put the detail into the success criteria
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["push", &"x".repeat(501)]), @"
    --- stderr
    error: the title has 501 characters and a title may have 500
    hint: put the detail into the success criteria
    [exit 1]
    ");
    project.ok(&["push", &"長".repeat(500)]);

    assert_snapshot!(project.turned_away(1, &["plan", "--from", "-"], b"\n\n"), @"
    --- stderr
    error: the plan names no frame
    hint: name at least one title
    [exit 1]
    ");
    assert_snapshot!(project.turned_away(2, &["plan", "--from", "-"], b"  - a\n- b\n"), @"
    --- stderr
    error: line 1 is indented below nothing
    hint: the first line of a plan is not indented
    [exit 2]
    ");
}

#[test]
fn nul_is_refused_wherever_it_gets_in() {
    let project = TestProject::new();
    project.push("Root");
    assert_snapshot!(project.turned_away(1, &["pop", "-"], b"do\0ne"), @"
    --- stderr
    error: the text of the results holds a NUL character (at byte 2)
    hint: remove it
    [exit 1]
    ");
    assert_snapshot!(project.turned_away(1, &["plan", "--from", "-"], b"- a\0b\n"), @"
    --- stderr
    error: the title holds a NUL character (at byte 1)
    hint: remove it
    [exit 1]
    ");
    for (tool, arguments) in [
        (
            "stack_frame_push",
            r#"{"title":"a\u0000","successCriteria":"b"}"#,
        ),
        (
            "stack_frame_push",
            r#"{"title":"a","successCriteria":"\u0000"}"#,
        ),
        (
            "stack_frame_pop",
            r#"{"status":"completed","results":"a\u0000b"}"#,
        ),
        ("stack_add_decision", r#"{"decision":"a\u0000"}"#),
        ("stack_add_artifact", r#"{"artifact":"a\u0000"}"#),
        ("stack_frame_invalidate", r#"{"reason":"a\u0000"}"#),
    ] {
        let output = project.refused(&["tool", tool, arguments]);
        assert!(output.stderr.contains("NUL"), "{tool}: {output}");
    }
    let unknown = project.refused(&["tool", "stack_frame_activate", r#"{"sessionID":"\u0000"}"#]);
    assert_snapshot!(unknown, @r"
    --- stderr
    error: there is no frame `\0`
    hint: stack_tree shows the frames there are
    [exit 1]
    ");
}

#[test]
fn raw_text_with_a_nul_is_kept_as_it_is() {
    let project = TestProject::new();
    let root = project.push("Root");
    let logged = project.flame_reading(&["note", "log", "-"], b"a\0b");
    assert_eq!(logged.code, Some(0), "{logged}");
    assert_eq!(project.ok(&["log", &format!("{root}#1")]), "ab");
    project.ok(&["search", "Root"]);
    project.well();
}

#[test]
fn what_is_not_utf_8_is_refused() {
    let project = TestProject::new();
    project.push("Root");
    for line in [
        vec!["pop", "-"],
        vec!["push", "Title", "--criteria", "-"],
        vec!["note", "decision", "-"],
        vec!["note", "log", "-"],
        vec!["plan", "--from", "-"],
        vec!["tool", "stack_tree", "-"],
    ] {
        let output = project.turned_away(1, &line, b"caf\xe9");
        assert!(
            output.stderr.contains("is not UTF-8 text (from byte 3)"),
            "{line:?}: {output}"
        );
    }
    let file = project.root().join("latin1.txt");
    fs_err::write(&file, b"caf\xe9").unwrap();
    assert_snapshot!(project.refused(&["note", "log", "latin1.txt"]), @"
    --- stderr
    error: latin1.txt is not UTF-8 text (from byte 3)
    hint: convert it to UTF-8 first
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["note", "log", "nowhere.txt"]), @"
    --- stderr
    error: failed to open file `nowhere.txt`: No such file or directory (os error 2)
    hint: check the path
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["plan", "--from", "nowhere.txt"]), @"
    --- stderr
    error: failed to open file `nowhere.txt`: No such file or directory (os error 2)
    hint: check the path
    [exit 1]
    ");
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_not_utf_8_is_refused() {
    use std::os::unix::ffi::OsStrExt;
    let project = TestProject::new();
    let mut command = project.command(&["push"]);
    let output = command
        .arg(std::ffi::OsStr::from_bytes(b"caf\xe9"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(!project.dir().join("state").exists());
}

#[test]
fn sessions_have_a_shape() {
    let project = TestProject::new();
    project.push("Root");
    assert_snapshot!(project.misused(&["status", "--session", "ses_none"]), @"
    --- stderr
    error: `ses_none` names no host
    hint: write it as `host:id`, for example `opencode:ses_none`
    [exit 2]
    ");
    assert_snapshot!(project.misused(&["push", "x", "--session", "Open Code:1"]), @"
    --- stderr
    error: `Open Code` is not a host name
    hint: a host's name has lower-case letters, digits and `-`: `opencode:ses_7f2a`
    [exit 2]
    ");
    assert_snapshot!(project.misused(&["push", "x", "--session", "opencode:"]), @"
    --- stderr
    error: a session id is 1 to 200 characters without blanks or control characters, unlike `opencode:`
    hint: write it as `host:id`, for example `opencode:ses_7f2a`
    [exit 2]
    ");
    assert_snapshot!(project.misused(&["push", "x", "--session", "opencode:a b"]), @"
    --- stderr
    error: a session id is 1 to 200 characters without blanks or control characters, unlike `opencode:a b`
    hint: write it as `host:id`, for example `opencode:ses_7f2a`
    [exit 2]
    ");
    assert_snapshot!(project.misused(&["push", "x", "--session", ""]), @"
    --- stderr
    error: `` names no host
    hint: write it as `host:id`, for example `opencode:ses_7f2a`
    [exit 2]
    ");
    let long = format!("opencode:{}", "x".repeat(100_000));
    assert!(
        project
            .misused(&["push", "x", "--session", &long])
            .stderr
            .len()
            < 1000
    );
}

#[test]
fn the_command_line_is_checked() {
    let project = TestProject::new();
    project.push("Root");
    for line in [
        vec!["psuh", "x"],
        vec!["push"],
        vec!["push", "a", "b"],
        vec!["push", "a", "--root", "--parent", "b"],
        vec!["pop"],
        vec!["pop", "x", "--status", "done"],
        vec!["move", "x"],
        vec!["move", "x", "--root", "--under", "y"],
        vec!["tree", "--depth", "0"],
        vec!["tree", "--depth", "-1"],
        vec!["tree", "--depth", "many"],
        vec!["note", "log"],
        vec!["plan"],
        vec!["invalidate"],
        vec!["search"],
        vec!["config", "get"],
        vec!["completions", "tcsh"],
    ] {
        project.misused(&line);
    }
    assert_eq!(project.flame(&["note"]).code, Some(2));
    assert_snapshot!(project.misused(&["plan", "a", "b", "--criteria", "c"]), @"
    --- stderr
    error: --criteria is for a single frame
    hint: use `--from FILE` to give each frame its criteria
    [exit 2]
    ");
    assert_snapshot!(project.refused(&["tree", "-C", "nowhere"]), @"
    --- stderr
    error: failed to canonicalize path `nowhere`: No such file or directory (os error 2)
    hint: check the path
    [exit 1]
    ");
}

#[test]
fn settings_are_checked_and_name_their_source() {
    let project = TestProject::new();
    project.push("Root");
    assert_snapshot!(project.misused(&["config", "get", "gc.max_sise"]), @"
    --- stderr
    error: there is no setting `gc.max_sise`
    hint: did you mean `gc.max_size`?
    [exit 2]
    ");
    assert_snapshot!(project.misused(&["config", "set", "colour", "red"]), @"
    --- stderr
    error: there is no setting `colour`
    hint: `flame config list` names them all
    [exit 2]
    ");
    assert_snapshot!(project.misused(&["config", "set", "gc.max_size", "lots"]), @"
    --- stderr
    error: the setting `gc.max_size` is `lots`, but must be a size such as `50 MB`
    hint: `flame config list gc.max_size` shows what it takes
    [exit 2]
    ");
    assert_snapshot!(project.misused(&["config", "set", "store.busy_timeout_ms", "NaN"]), @"
    --- stderr
    error: the setting `store.busy_timeout_ms` is `NaN`, but must be a whole number from 1 to 600000
    hint: `flame config list store.busy_timeout_ms` shows what it takes
    [exit 2]
    ");
    assert_snapshot!(project.misused(&["config", "list", "colour"]), @"
    --- stderr
    error: there is no setting `colour`
    hint: `flame config list` names them all
    [exit 2]
    ");
    assert_snapshot!(project.misused(&["gc", "--max-size", "-1"]), @"
    --- stderr
    error: unexpected argument '-1' found

    Usage: flame gc [OPTIONS]

    For more information, try '--help'.
    [exit 2]
    ");

    project.ok(&["config", "set", "gc.max_size", "10 MB"]);
    let origin = project.json(&["config", "get", "gc.max_size"])["origin"].clone();
    assert_snapshot!(project.stable(origin.as_str().unwrap()), @"DIR/config/flamestack/config.toml");

    let file = project.dir().join("config/flamestack/config.toml");
    fs_err::write(&file, "[gc]\nmax_size = \"lots\"\n").unwrap();
    assert_snapshot!(project.refused(&["status"]), @"
    --- stderr
    error: the setting `gc.max_size` is `lots`, but must be a size such as `50 MB` (from DIR/config/flamestack/config.toml)
    hint: `flame config list gc.max_size` shows what it takes
    [exit 1]
    ");
    // Settings can be mended by the command that changes them.
    project.ok(&["config", "set", "gc.max_size", "10 MB"]);
    fs_err::write(&file, "[gc]\nmaximum = 1\n").unwrap();
    assert_snapshot!(project.refused(&["push", "x"]), @"
    --- stderr
    error: there is no setting `gc.maximum` (from DIR/config/flamestack/config.toml)
    hint: did you mean `gc.max_size`?
    [exit 1]
    ");
    fs_err::write(&file, "[gc\n").unwrap();
    assert_snapshot!(project.refused(&["push", "x"]), @"
    --- stderr
    error: the settings in DIR/config/flamestack/config.toml cannot be read: TOML parse error at line 1, column 4
      |
    1 | [gc
      |    ^
    unclosed table, expected `]`

    hint: mend the file, or delete it to go back to the defaults
    [exit 1]
    ");
    fs_err::write(&file, b"\xff\xfe").unwrap();
    assert_snapshot!(project.refused(&["push", "x"]), @"
    --- stderr
    error: the settings in DIR/config/flamestack/config.toml cannot be read: it is not UTF-8 text
    hint: mend the file, or delete it to go back to the defaults
    [exit 1]
    ");
    fs_err::write(&file, "gc = 1\n").unwrap();
    assert_snapshot!(project.refused(&["push", "x"]), @"
    --- stderr
    error: there is no setting `gc` (from DIR/config/flamestack/config.toml)
    hint: `flame config list` names them all
    [exit 1]
    ");
    fs_err::remove_file(&file).unwrap();

    fs_err::write(
        project.root().join(".flamestack.toml"),
        "[store]\nbusy_timeout_ms = 0\n",
    )
    .unwrap();
    assert_snapshot!(project.refused(&["status"]), @"
    --- stderr
    error: the setting `store.busy_timeout_ms` is `0`, but must be a whole number from 1 to 600000 (from DIR/shop/.flamestack.toml)
    hint: `flame config list store.busy_timeout_ms` shows what it takes
    [exit 1]
    ");
    fs_err::remove_file(project.root().join(".flamestack.toml")).unwrap();

    let project = project.with_env("FLAME_STORE_BUSY_TIMEOUT_MS", "1e3");
    assert_snapshot!(project.refused(&["status"]), @"
    --- stderr
    error: the setting `store.busy_timeout_ms` is `1e3`, but must be a whole number from 1 to 600000 (from environment variable FLAME_STORE_BUSY_TIMEOUT_MS)
    hint: `flame config list store.busy_timeout_ms` shows what it takes
    [exit 1]
    ");
}
