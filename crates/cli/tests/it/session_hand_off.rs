//! `flame session migrate`: work that goes on elsewhere, with a text that the user may edit.

use serde_json::json;

use crate::ground::TestProject;

const FROM: &str = "opencode:ses_a";
const TO: &str = "opencode:ses_b";

/// A project with two sessions, the first of which works on something, and an editor.
fn project(editor: &str) -> TestProject {
    let mut project = TestProject::new().with_env("PATH", "/usr/bin:/bin");
    project.turn_to_session(TO);
    project.ok(&["push", "Other work"]);
    project.turn_to_session(FROM);
    project.ok(&["push", "Parse tokens", "--criteria", "cargo test passes"]);
    project.turn_to_session("shell:main");
    // A folder with a blank, as the shell of git takes it.
    let folder = project.dir().join("my tools");
    fs_err::create_dir(&folder).unwrap();
    fs_err::write(folder.join("editor"), format!("#!/bin/sh\n{editor}\n")).unwrap();
    project
}

fn edited(project: TestProject, name: &str) -> TestProject {
    let script = project.dir().join("my tools/editor");
    project.with_env(name, &format!("sh '{}' --wait", script.display()))
}

#[cfg(unix)]
#[test]
fn an_edited_hand_off_is_what_the_other_session_gets() {
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let script = format!(
        "test \"$1\" = --wait || exit 3\n\
         sed -i -e 's/^# .*/# Parse all tokens/' -e 's/^Done when: .*/Done when: the fuzzer finds nothing/' \"$2\"\n\
         echo 'Begin with src/lex.rs, key {secret}' >> \"$2\""
    );
    // Of two, `VISUAL` is the one that counts.
    let project = edited(project(&script), "VISUAL").with_env("EDITOR", "false");
    let handed = project.json(&["session", "migrate", FROM, "--edit", "--to", TO]);
    assert_eq!((&handed["from"], &handed["to"]), (&json!(FROM), &json!(TO)));
    let text = handed["text"].as_str().unwrap();
    assert!(text.contains("\n# Parse all tokens\n"), "{text}");
    assert!(!text.contains(secret), "{text}");
    let frame = project.json(&["show", handed["frame"].as_str().unwrap()]);
    assert_eq!(frame["title"], "Parse all tokens");
    let criteria = frame["successCriteria"].as_str().unwrap();
    assert!(
        criteria.starts_with("the fuzzer finds nothing\n"),
        "{criteria}"
    );
    assert!(
        criteria.contains("handed off by opencode:ses_a"),
        "{criteria}"
    );
    assert!(
        criteria.contains("Begin with src/lex.rs, key "),
        "{criteria}"
    );
    assert!(!criteria.contains(secret), "{criteria}");
    let shown = project.json(&["session", "show", TO]);
    assert_eq!(shown["frame"], handed["frame"]);
    assert_eq!(
        shown["links"],
        json!([{ "session": FROM, "kind": "hand_off", "to": TO }])
    );
}

#[cfg(unix)]
#[test]
fn a_hand_off_that_is_left_as_it_is_changes_no_text() {
    let project = edited(project("true"), "EDITOR");
    let frame = project.json(&["session", "migrate", FROM])["frame"].clone();
    let show = || project.json(&["show", frame.as_str().unwrap()]);
    let before = show();
    project.ok(&["session", "migrate", FROM, "--edit", "--to", TO]);
    let after = show();
    for key in ["title", "successCriteria", "id"] {
        assert_eq!(after[key], before[key], "{key}");
    }
    // A file that a teammate wrote more into is one that was edited, too.
    let file = project.dir().join("work.md");
    let path = file.to_str().unwrap();
    project.ok(&["session", "migrate", FROM, "-o", path]);
    let text = fs_err::read_to_string(&file).unwrap() + "\nThe lexer is done.\n";
    fs_err::write(&file, text).unwrap();
    let taken = project.json(&["session", "migrate", "--from", path, "--session", TO]);
    assert_eq!(
        (&taken["new"], &taken["frame"]),
        (&json!(false), &before["id"])
    );
    let criteria = show()["successCriteria"].to_string();
    assert!(criteria.contains("The lexer is done."), "{criteria}");
}

#[cfg(unix)]
#[test]
fn without_an_editor_nothing_is_handed_off() {
    let migrate = ["session", "migrate", FROM, "--edit", "--to", TO];
    let refusal = |project: &TestProject| project.refused(&migrate).stderr;
    let none = refusal(&project("true"));
    assert!(
        none.contains("no editor is set, and there is no terminal"),
        "{none}"
    );
    assert!(
        none.contains("set $EDITOR, or write to a file with `-o FILE`"),
        "{none}"
    );
    let missing = refusal(&project("true").with_env("EDITOR", "/no/such/editor"));
    assert!(
        missing.contains("the editor `/no/such/editor` was not found"),
        "{missing}"
    );
    let failing = refusal(&edited(project("exit 1"), "EDITOR"));
    assert!(failing.contains("failed (exit status: 1)"), "{failing}");
    let emptied = refusal(&edited(project(": > \"$2\""), "EDITOR"));
    assert!(
        emptied.contains("the edited text has no title"),
        "{emptied}"
    );
    let by_agent = edited(project("true"), "EDITOR").with_env("FLAME_CALL", "call_1");
    let by_agent = refusal(&by_agent);
    assert!(
        by_agent.contains("an agent's tool call has no editor"),
        "{by_agent}"
    );
}
