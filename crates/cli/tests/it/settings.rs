//! Settings: each value is checked, and a bad one names where it came from.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::ground::TestProject;

/// Returns the note of a command that continues with a default.
fn noted(project: &TestProject) -> String {
    let output = project.flame(&["status"]);
    assert_eq!(output.code, Some(0), "{output}");
    project.stable(output.stderr.trim_end())
}

#[test]
fn a_bad_value_ends_neither_the_sidecar_nor_a_command_that_reads() {
    let project = TestProject::new();
    project.push("Root");
    let project = project.with_env("STACK_TOKEN_BUDGET_TOTAL", "abc");
    let hello = json!({
        "jsonrpc": "2.0", "id": 1, "method": "hello",
        "params": { "protocol": 2, "host": "opencode", "directory": "/" },
    });
    let output = project.flame_reading(&["sidecar"], format!("{hello}\n").as_bytes());
    assert_eq!(output.code, Some(0), "{output}");
    let welcome: Value = serde_json::from_str(output.stdout.trim()).unwrap();
    assert_snapshot!(welcome["result"]["notices"][0].as_str().unwrap(), @"the setting `context.budget.total` cannot be `abc`; use a whole number from 256 to 1000000 (from environment variable STACK_TOKEN_BUDGET_TOTAL); the default is used. `flame config list --long context.budget.total` shows the valid values");
    assert_snapshot!(project.flame(&["tree"]), @"
    → id-1  Root  ◀ you are here

    1 frame: 1 in progress
    → in progress  ○ planned  ! blocked  ✓ completed  ✗ failed  – invalidated
    --- stderr
    note: the setting `context.budget.total` cannot be `abc`; use a whole number from 256 to 1000000 (from environment variable STACK_TOKEN_BUDGET_TOTAL); the default is used
    ");
    // Neither recording nor a limit depends on it.
    for command in [
        &["push", "Child"][..],
        &["tool", "stack_status"],
        &["status"],
        &["gc"],
    ] {
        let output = project.flame(command);
        assert_eq!(output.code, Some(0), "{output}");
        assert!(output.stderr.contains("the default is used"), "{output}");
    }
}

#[test]
fn nothing_is_recorded_without_the_users_redaction_rules() {
    let project = TestProject::new();
    project.push("Root");
    let file = project.dir().join("config/flamestack/config.toml");
    fs_err::create_dir_all(file.parent().unwrap()).unwrap();
    fs_err::write(&file, "[redact.rules]\nacme = 'acme_('\n").unwrap();
    let journal = project.journal();
    for command in [
        &["note", "decision", "acme_1234"][..],
        &["tool", "stack_add_decision", r#"{"decision":"acme_1234"}"#],
    ] {
        let output = project.flame(command);
        assert_eq!(output.code, Some(1), "{output}");
        assert!(
            output.stderr.contains("error: nothing is recorded"),
            "{output}"
        );
    }
    let lines = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "hello",
            "params": { "protocol": 2, "host": "opencode", "directory": "/" } }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "call",
            "params": { "session": "s", "name": "stack_add_decision", "arguments": { "decision": "acme_1" } } }),
    ];
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let output = project.flame_reading(&["sidecar"], input.as_bytes());
    let answers: Vec<Value> = output
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let notice = answers[0]["result"]["notices"][0].as_str().unwrap();
    assert!(notice.starts_with("nothing is recorded"), "{notice}");
    assert_eq!(answers[0]["result"]["tools"], json!([]));
    assert_eq!(answers[1]["error"]["message"], notice);
    // Reading continues, and says what is wrong.
    let output = project.flame(&["tree"]);
    assert!(output.stdout.contains("Root"), "{output}");
    assert!(output.stderr.contains("redact.rules"), "{output}");
    assert_eq!(project.journal(), journal);
}

#[test]
fn nothing_is_deleted_without_the_users_limit() {
    let project = TestProject::new();
    project.push("Root");
    let project = project.with_env("FLAME_GC_MAX_SIZE", "lots");
    let output = project.flame(&["gc"]);
    assert_eq!(output.code, Some(1), "{output}");
    assert!(
        output.stderr.contains("error: nothing is deleted"),
        "{output}"
    );
    let output = project.flame(&["gc", "--max-size", "50 MB"]);
    assert_eq!(output.code, Some(0), "{output}");
    // Recording needs no limit.
    assert_eq!(project.flame(&["push", "Child"]).code, Some(0));
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
    hint: `flame config list` lists all settings
    [exit 2]
    ");
    assert_snapshot!(project.misused(&["config", "set", "gc.max_size", "lots"]), @"
    --- stderr
    error: the setting `gc.max_size` cannot be `lots`; use a size such as `50 MB`
    hint: `flame config list --long gc.max_size` shows the valid values
    [exit 2]
    ");
    assert_snapshot!(project.misused(&["config", "set", "store.busy_timeout_ms", "NaN"]), @"
    --- stderr
    error: the setting `store.busy_timeout_ms` cannot be `NaN`; use a whole number from 1 to 600000
    hint: `flame config list --long store.busy_timeout_ms` shows the valid values
    [exit 2]
    ");
    assert_snapshot!(project.misused(&["config", "list", "colour"]), @"
    --- stderr
    error: there is no setting `colour`
    hint: `flame config list` lists all settings
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
    assert_snapshot!(noted(&project), @"note: the setting `gc.max_size` cannot be `lots`; use a size such as `50 MB` (from DIR/config/flamestack/config.toml)");
    // Settings can be mended by the command that changes them.
    project.ok(&["config", "set", "gc.max_size", "10 MB"]);
    fs_err::write(&file, "[gc\n").unwrap();
    assert_snapshot!(project.flame(&["push", "x"]), @"
    --- stderr
    note: cannot read the settings in DIR/config/flamestack/config.toml: TOML parse error at line 1, column 4
      |
    1 | [gc
      |    ^
    unclosed table, expected `]`

    error: nothing is recorded while redaction rules may be missing: secrets could be stored
    hint: fix the file or its permissions, or delete it to return to the defaults
    [exit 1]
    ");
    fs_err::write(&file, b"\xff\xfe").unwrap();
    assert_snapshot!(project.flame(&["push", "x"]), @"
    --- stderr
    note: cannot read the settings in DIR/config/flamestack/config.toml: it is not UTF-8 text
    error: nothing is recorded while redaction rules may be missing: secrets could be stored
    hint: fix the file or its permissions, or delete it to return to the defaults
    [exit 1]
    ");
    fs_err::remove_file(&file).unwrap();

    fs_err::write(
        project.root().join(".flamestack.toml"),
        "[context]\nwindow_share = 0\n",
    )
    .unwrap();
    assert_snapshot!(noted(&project), @"note: the setting `context.window_share` cannot be `0`; use a whole number from 1 to 1000 (from DIR/shop/.flamestack.toml); the default is used");
    fs_err::remove_file(project.root().join(".flamestack.toml")).unwrap();

    let project = project.with_env("FLAME_STORE_BUSY_TIMEOUT_MS", "1e3");
    assert_snapshot!(noted(&project), @"note: the setting `store.busy_timeout_ms` cannot be `1e3`; use a whole number from 1 to 600000 (from environment variable FLAME_STORE_BUSY_TIMEOUT_MS); the default is used");
}

#[test]
fn one_bad_entry_can_be_seen_and_mended() {
    let project = TestProject::new();
    project.push("Root");
    let team = project.root().join(".flamestack.toml");
    fs_err::write(
        &team,
        "[brief]\nbudget = \"lots\"\nmaximum = 1\n[context]\nwindow_share = 100\n",
    )
    .unwrap();
    assert_snapshot!(noted(&project), @"note: the setting `brief.budget` cannot be `lots`; use a whole number from 256 to 1000000 (from DIR/shop/.flamestack.toml); the default is used");
    assert_snapshot!(project.flame(&["config", "list", "brief.budget"]), @"
    brief.budget = 2000
    --- stderr
    note: ignored: the setting `brief.budget` cannot be `lots`; use a whole number from 256 to 1000000 (from DIR/shop/.flamestack.toml)
    ");
    assert_snapshot!(project.flame(&["config", "get", "context.window_share"]), @"100");
    // An unknown key stops nothing, but is reported.
    fs_err::write(&team, "[gc]\nmaximum = 1\n").unwrap();
    project.ok(&["status"]);
    assert_snapshot!(project.flame(&["config", "list", "gc"]), @"
    gc.interval_hours = 24
    gc.max_age_days = 0
    gc.max_size = 50 MB
    --- stderr
    note: ignored: there is no setting `gc.maximum` (from DIR/shop/.flamestack.toml)
    ");
    let note = project.flame(&["doctor"]).stdout;
    let note = note.split_once("note:").unwrap().1;
    assert_snapshot!(project.stable(note), @"
    there is no setting `gc.maximum` (from DIR/shop/.flamestack.toml)
     did you mean `gc.max_size`?
    ");
}

#[test]
fn a_value_is_taken_back_out() {
    let project = TestProject::new();
    project.ok(&["config", "set", "gc.max_size", "10 MB"]);
    project.ok(&["config", "set", "gc.max_size", "20 MB", "--project"]);
    assert_snapshot!(project.flame(&["config", "unset", "gc.max_size", "--project"]), @"
    gc.max_size is no longer set in DIR/state/projects/shop-HASH/config.toml
    gc.max_size = 10 MB  DIR/config/flamestack/config.toml
    ");
    assert_snapshot!(project.flame(&["config", "unset", "gc.max_size", "--project"]), @"
    gc.max_size is not set in DIR/state/projects/shop-HASH/config.toml
    gc.max_size = 10 MB  DIR/config/flamestack/config.toml
    ");
    assert_snapshot!(project.flame(&["config", "unset", "gc.max_size"]), @"
    gc.max_size is no longer set in DIR/config/flamestack/config.toml
    gc.max_size = 50 MB  built in
    ");
    assert_snapshot!(project.misused(&["config", "unset", "gc.maximum"]), @"
    --- stderr
    error: there is no setting `gc.maximum`
    hint: did you mean `gc.max_size`?
    [exit 2]
    ");
}

#[test]
fn a_check_goes_on_past_bad_settings() {
    let project = TestProject::new();
    project.push("Root");
    let team = project.root().join(".flamestack.toml");
    fs_err::write(&team, "[gc\n").unwrap();
    assert_snapshot!(project.flame(&["doctor"]), @"
    project      shop (DIR/shop)
    worktree     main
    state        DIR/state/projects/shop-HASH
    diagnostics  DIR/state/projects/shop-HASH/diagnostics.log
    journal      3 events, 1 frame
    size         N kB (limit 50 MB)
    opencode     not found on the search path, plugin not installed (`flame init`)

    ! cannot read the settings in DIR/shop/.flamestack.toml: TOML parse error at line 1, column 4
        |
      1 | [gc
        |    ^
      unclosed table, expected `]`
      fix the file or its permissions, or delete it to return to the defaults
    [exit 1]
    ");
    fs_err::write(&team, "brief.budget = 'lots'\ncolour = 'red'\n").unwrap();
    assert_snapshot!(project.flame(&["doctor"]), @"
    project      shop (DIR/shop)
    worktree     main
    state        DIR/state/projects/shop-HASH
    diagnostics  DIR/state/projects/shop-HASH/diagnostics.log
    journal      3 events, 1 frame
    size         N kB (limit 50 MB)
    opencode     not found on the search path, plugin not installed (`flame init`)

    ! the setting `brief.budget` cannot be `lots`; use a whole number from 256 to 1000000 (from DIR/shop/.flamestack.toml)
      `flame config list --long brief.budget` shows the valid values
    note: there is no setting `colour` (from DIR/shop/.flamestack.toml)
      `flame config list` lists all settings
    [exit 1]
    ");
    assert_eq!(project.flame(&["doctor", "--json"]).code, Some(1));
    assert!(noted(&project).ends_with("the default is used"));
}

#[test]
fn an_ignored_value_is_reported_by_config_get() {
    let project = TestProject::new().with_env("FLAME_GC_MAX_SIZE", "lots");
    assert_snapshot!(project.flame(&["config", "get", "gc.max_size"]), @"
    50 MB
    --- stderr
    note: ignored: the setting `gc.max_size` cannot be `lots`; use a size such as `50 MB` (from environment variable FLAME_GC_MAX_SIZE)
    ");
    let answer = project.json(&["config", "get", "gc.max_size"]);
    assert_eq!(
        answer["problems"].as_array().map(Vec::len),
        Some(1),
        "{answer}"
    );
    assert_eq!(project.ok(&["config", "get", "tools"]), "core\n");
}

#[test]
fn an_empty_variable_is_not_set() {
    let project = TestProject::new()
        .with_env("STACK_TOKEN_BUDGET_TOTAL", "")
        .with_env("FLAME_CONTEXT_BUDGET_TOTAL", "");
    let output = project.flame(&["push", "Shop"]);
    assert_eq!(
        (output.code, output.stderr.as_str()),
        (Some(0), ""),
        "{output}"
    );
    // An empty variable does not hide the former name of another.
    let project = project.with_env("STACK_TOKEN_BUDGET_TOTAL", "5000");
    assert_eq!(
        project.ok(&["config", "get", "context.budget.total"]),
        "5000\n"
    );
}
