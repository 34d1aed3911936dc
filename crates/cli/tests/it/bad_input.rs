//! Bad input: texts, bytes, names and flags that cannot be accepted.

use insta::assert_snapshot;

use crate::ground::TestProject;

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
            vec!["note", "command", blank, "--exit-code", "0"],
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
    error: the title is 10000000 characters long; the limit for a title is 500
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
    error: the title is 10000000 characters long; the limit for a title is 500
    hint: put the detail into the success criteria
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["push", &"x".repeat(501)]), @"
    --- stderr
    error: the title is 501 characters long; the limit for a title is 500
    hint: put the detail into the success criteria
    [exit 1]
    ");
    project.ok(&["push", &"長".repeat(500)]);

    assert_snapshot!(project.turned_away(1, &["plan", "--from", "-"], b"\n\n"), @"
    --- stderr
    error: the plan names no frame
    hint: give at least one title
    [exit 1]
    ");
    assert_snapshot!(project.turned_away(1, &["plan", "--from", "-"], b"  - a\n- b\n"), @"
    --- stderr
    error: line 1 is indented below nothing
    hint: the first line of a plan is not indented
    [exit 1]
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
    hint: stack_tree shows the frames
    [exit 1]
    ");
}

#[test]
fn raw_text_is_kept_as_it_came() {
    let project = TestProject::new();
    let root = project.push("Root");
    for (n, text) in [&b"a\0b\x1b[1m"[..], b"caf\xe9", b""]
        .into_iter()
        .enumerate()
    {
        let logged = project.flame_reading(&["note", "log", "-"], text);
        assert_eq!(logged.code, Some(0), "{logged}");
        let altered = String::from_utf8(text.to_vec()).is_err();
        assert_eq!(!logged.stderr.is_empty(), altered, "{logged}");
        let kept = project.ok(&["log", &format!("{root}#{}", n + 1)]);
        // Stray bytes are not a reason to lose the rest.
        assert_eq!(kept, String::from_utf8_lossy(text));
    }
    assert_snapshot!(project.flame_reading(&["note", "log", "-"], b"\xff\xd8\xff\xe0 JFIF"), @"
    id-1 “Root” stores “standard input” (17 bytes)
    --- stderr
    note: 4 bytes are not UTF-8 text and kept as �; a file that is not text is better named as an artifact
    ");
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
    assert_snapshot!(project.refused(&["plan", "--from", "latin1.txt"]), @"
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
    error: there is no directory nowhere
    hint: `-C DIR` names the directory of a project
    [exit 1]
    ");
}

#[test]
fn what_is_not_there_is_called_by_its_name() {
    let project = TestProject::new();
    let root = project.push("Root");
    let planned = project.plan(&["Index"]).remove(0);
    let empty = project.root().join("empty.jsonl");
    fs_err::write(empty, "\n").unwrap();
    let at = |text: &str| format!("{root}{text}");
    let refused: String = [
        &["import", "nowhere"][..],
        &["eval", "nowhere"],
        &["replay", "nowhere"],
        &["replay", "."],
        &["replay", "empty.jsonl"],
        &["tree", "-C", "nowhere"],
        &["move", &planned, "--before", &planned],
        &["activate", ""],
        &["log", &at("#99")],
        &["recall", &at("#3")],
        &["recall", ""],
        &["search", " "],
    ]
    .into_iter()
    .map(|line| format!("$ flame {}\n{}", line.join(" "), project.refused(line)))
    .collect();
    assert_snapshot!(project.stable(&refused), @"
    $ flame import nowhere
    --- stderr
    error: there is no file or folder nowhere
    hint: check the path
    [exit 1]
    $ flame eval nowhere
    --- stderr
    error: there is no file or folder nowhere
    hint: check the path
    [exit 1]
    $ flame replay nowhere
    --- stderr
    error: there is no file or folder nowhere
    hint: check the path
    [exit 1]
    $ flame replay .
    --- stderr
    error: . is a folder, but `replay` plays one recorded session
    hint: name a file in it, or play all of them with `--cuts FILE --out FILE`; `flame eval` measures a whole folder
    [exit 1]
    $ flame replay empty.jsonl
    --- stderr
    error: empty.jsonl contains no events of a recorded session
    hint: it takes what Claude Code, Codex, Gemini CLI or OpenCode record, or the neutral format: one JSON object a line, a header first
    [exit 1]
    $ flame tree -C nowhere
    --- stderr
    error: there is no directory nowhere
    hint: `-C DIR` names the directory of a project
    [exit 1]
    $ flame move id-2 --before id-2
    --- stderr
    error: id-2 “Index” cannot be put before or after itself
    hint: choose another frame
    [exit 1]
    $ flame activate 
    --- stderr
    error: the name of the frame is empty
    hint: `flame tree` shows the frames
    [exit 1]
    $ flame log id-1#99
    --- stderr
    error: there is no id-1#99: id-1 has 0 raw texts
    hint: `flame log id-1` lists its raw texts
    [exit 1]
    $ flame recall id-1#3
    --- stderr
    error: there is no id-1#3: no session of id-1 is recorded
    hint: `flame recall id-1` summarizes the frame, `flame log id-1` shows it in full
    [exit 1]
    $ flame recall 
    --- stderr
    error: the query has no word to look for
    hint: give at least one word, or a frame
    [exit 1]
    $ flame search  
    --- stderr
    error: the query has no word to look for
    hint: give at least one word, or a frame
    [exit 1]
    ");
    let misused: String = [
        &["gc", "--max-size", "bogus"][..],
        &["log", &at("#x")],
        &["brief", "--budget", "100"],
        &["context", "--budget", "100"],
        &["recall", "x", "--tokens", "many"],
    ]
    .into_iter()
    .map(|line| format!("$ flame {}\n{}", line.join(" "), project.misused(line)))
    .collect();
    assert_snapshot!(project.stable(&misused), @"
    $ flame gc --max-size bogus
    --- stderr
    error: invalid value 'bogus' for '--max-size <SIZE>': a size is a whole number with a unit, such as `50 MB`

    For more information, try '--help'.
    [exit 2]
    $ flame log id-1#x
    --- stderr
    error: `x` is not the number of a raw text
    hint: `flame log id-1` lists what it has: id-1#1 is the first
    [exit 2]
    $ flame brief --budget 100
    --- stderr
    error: a budget of 100 tokens is too small; the minimum is 256
    hint: omit the budget to use the one in the settings
    [exit 2]
    $ flame context --budget 100
    --- stderr
    error: a budget of 100 tokens is too small; the minimum is 256
    hint: omit the budget to use the one in the settings
    [exit 2]
    $ flame recall x --tokens many
    --- stderr
    error: invalid value 'many' for '--tokens <N>'

      tip: write a whole number

    For more information, try '--help'.
    [exit 2]
    ");
}

#[test]
fn state_is_in_one_place() {
    let project = TestProject::new();
    let file = project.root().join("notes.txt");
    fs_err::write(&file, "").unwrap();
    let project = project.with_env("FLAME_STATE_DIR", "state");
    assert_snapshot!(project.flame(&["push", "Root"]), @"
    --- stderr
    error: FLAME_STATE_DIR is `state`, which is not an absolute path
    hint: use an absolute path, so that every command finds the same state
    [exit 1]
    ");
    let project = project.with_env("FLAME_STATE_DIR", &file.display().to_string());
    assert_snapshot!(project.flame(&["push", "Root"]), @"
    --- stderr
    error: FLAME_STATE_DIR is `DIR/shop/notes.txt`, which is not a folder
    hint: name a folder; it is created if it does not exist
    [exit 1]
    ");
}

#[test]
fn a_query_has_limits() {
    let project = TestProject::new();
    project.push("Root");
    let words: Vec<String> = (0..40).map(|n| format!("w{n}")).collect();
    assert_snapshot!(project.flame(&["search", &words.join(" ")]), @"
    --- stderr
    error: the query has 40 different words; 32 are allowed
    hint: look for a few words that the text contains
    [exit 1]
    ");
    project.turned_away(1, &["search", &"a".repeat(100_000)], b"");
    project.turned_away(1, &["recall", &"a".repeat(100_000)], b"");
    assert!(
        project
            .ok(&["search", &"root ".repeat(100)])
            .contains("Root")
    );
}

#[cfg(unix)]
#[test]
fn a_pipe_or_a_huge_file_is_not_imported() {
    let project = TestProject::new();
    let pipe = project.root().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    assert_snapshot!(project.flame(&["import", "pipe"]), @"
    --- stderr
    error: pipe is neither a file nor a folder
    hint: name a file or a folder
    [exit 1]
    ");
    project.refused(&["replay", "pipe"]);
    project.refused(&["backup", "--restore", "pipe"]);
    // A folder is searched for frames in regular files.
    fs_err::rename(&pipe, project.root().join("state.json")).unwrap();
    project.refused(&["import", "."]);
    fs_err::remove_file(project.root().join("state.json")).unwrap();
    let sparse = fs_err::File::create(project.root().join("state.json")).unwrap();
    sparse.set_len(5 << 30).unwrap();
    let refused = project.refused(&["import", "."]);
    assert!(
        refused.stderr.contains("has more than 1073741824 bytes"),
        "{refused}"
    );
    // Nor is one read whole that has nothing in it.
    sparse.set_len(1 << 30).unwrap();
    let refused = project.refused(&["import", "."]);
    assert!(refused.stderr.contains("this is not JSON"), "{refused}");
}

#[test]
fn an_error_quotes_a_part_of_a_long_argument() {
    let project = TestProject::new();
    project.push("Root");
    let long = "x".repeat(100_000);
    for arguments in [
        vec!["show", &long],
        vec!["tree", "--depth", &long],
        vec![long.as_str()],
        vec!["config", "set", "gc.max_size", &long],
        vec!["tool", "stack_tree", &long],
        vec!["--session", &long, "status"],
        vec!["import", &long],
    ] {
        let output = project.flame(&arguments);
        assert_ne!(output.code, Some(0), "{output}");
        assert!(output.stderr.len() < 5_000, "{}", output.stderr.len());
    }
}

#[test]
fn a_title_can_be_piped() {
    let project = TestProject::new();
    let pushed = project.flame_reading(&["push", "-"], b"Password\nlogin\n");
    assert_snapshot!(pushed, @"id-1 “Password login” is in progress, at the root of a new tree");
    project.turned_away(1, &["push", "-"], b"\n");
}

#[test]
fn a_number_out_of_range_says_the_range() {
    let project = TestProject::new();
    let refused = project.misused(&["tree", "--depth", "0"]);
    assert!(
        refused.stderr.contains("it must be at least 1"),
        "{refused}"
    );
    assert!(!refused.stderr.contains("4294967295"), "{refused}");
    let refused = project.misused(&["run", "x", "--jobs", "65"]);
    assert!(
        refused.stderr.contains("it must be from 1 to 64"),
        "{refused}"
    );
}
