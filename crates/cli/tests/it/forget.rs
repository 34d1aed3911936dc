//! Taking out of everything again what was recorded by mistake.

use std::path::Path;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::ground::TestProject;

/// A word that no rule of redaction knows.
const WORD: &str = "Blaubeermarmelade-77";

/// Every file below a folder that holds a text: in its bytes, or in raw text that it keeps compressed.
fn holding(dir: &Path, text: &str) -> Vec<String> {
    let holds = |bytes: &[u8]| {
        bytes
            .windows(text.len())
            .any(|part| part == text.as_bytes())
    };
    let mut found = Vec::new();
    for entry in fs_err::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path, text));
            continue;
        }
        let name = path.display().to_string();
        if holds(&fs_err::read(&path).unwrap()) {
            found.push(name.clone());
        }
        if path.file_name().is_some_and(|name| name == "blobs.db") {
            let blobs = rusqlite::Connection::open(&path).unwrap();
            let mut rows = blobs.prepare("SELECT bytes, data FROM blobs").unwrap();
            let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
            let rows: Vec<(u32, Vec<u8>)> = rows.unwrap().map(Result::unwrap).collect();
            for (bytes, data) in rows {
                if holds(&zstd::bulk::decompress(&data, bytes as usize).unwrap()) {
                    found.push(format!("{name}, compressed"));
                }
            }
        }
    }
    found
}

/// A line of the sidecar's protocol.
fn line(id: u64, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

/// Records the word in every way in: by a user, by a tool, by a host, from a file. Returns a frame.
fn record_everywhere(project: &TestProject) -> String {
    let said = format!("it is \"{WORD}\"\nas <everyone> knows");
    let frame = project
        .opened(&["push", &format!("Open with {WORD}"), "--criteria", &said])
        .remove(0);
    project.ok(&["note", "decision", &said, "--why", &said]);
    project.ok(&["note", "failed", &said]);
    project.ok(&["note", "directive", &said]);
    // It warns that there is no such file.
    project.flame(&["note", "artifact", &format!("src/{WORD}.rs")]);
    project.ok(&[
        "note",
        "command",
        &format!("login {WORD}"),
        "--exit-code",
        "0",
    ]);
    let logged = format!("{}\n{said}\n", "much text around it\n".repeat(200));
    let logged = project.flame_reading(&["note", "log", "-", "--label", WORD], logged.as_bytes());
    assert_eq!(logged.code, Some(0), "{logged}");
    // Former versions, and what was undone or deleted, are in the journal too.
    project.ok(&["edit", "--title", "Open the door"]);
    project.ok(&["note", "decision", &format!("undone {WORD}")]);
    project.ok(&["undo"]);
    let [planned] = &project.plan(&[&format!("Plan {WORD}")])[..] else {
        panic!("one frame");
    };
    project.ok(&["delete", planned]);
    let decision = json!({ "decision": format!("by tool: {said}") }).to_string();
    project.ok(&["tool", "stack_add_decision", &decision]);
    // A host: a prompt, a tool call with its output, and names that hold the word.
    let prompt = json!({ "id": format!("msg_{WORD}"), "role": "user", "time": { "created": 1 }, "parts": [
        { "type": "text", "id": "p1", "text": format!("Log in with {WORD}") },
    ] });
    let answer = json!({ "kind": "message", "id": "m2", "role": "assistant",
        "time": { "created": 2, "completed": 3 },
        "parts": [
            { "type": "text", "id": "p2", "text": format!("I use {WORD} now.") },
            { "type": "tool", "id": "p3", "callID": "c1", "tool": "bash", "state": {
                "status": "completed", "input": { "command": format!("echo '{WORD}' > \"x\"") },
                "output": said, "time": { "start": 2, "end": 3 } } },
        ],
    });
    let session = format!("ses_{WORD}");
    let lines = [
        line(
            1,
            "hello",
            &json!({ "protocol": 2, "host": "opencode", "directory": "." }),
        ),
        line(
            2,
            "prompt",
            &json!({ "session": session, "message": prompt }),
        ),
        line(
            3,
            "prepare",
            &json!({ "session": session, "known": 0, "messages": [prompt],
            "model": { "name": "acme/mock-1", "limit": { "context": 200_000, "output": 8_000 } } }),
        ),
        line(
            4,
            "observe",
            &json!({ "session": session, "events": [answer, { "kind": "idle" }] }),
        ),
    ];
    project.flame_reading(&["sidecar"], format!("{}\n", lines.join("\n")).as_bytes());
    // A file of another tool.
    let state = json!({
        "version": 1,
        "frames": { "ses_a": {
            "sessionID": "ses_a", "status": "completed", "title": format!("Use {WORD}"),
            "successCriteria": said, "results": said,
            "createdAt": 1_766_400_000_000_i64, "updatedAt": 1_766_400_000_000_i64,
            "artifacts": [], "decisions": [], "plannedChildren": [],
            "somethingElse": { "word": said },
        } },
        "alsoElse": said,
        "rootFrameIDs": ["ses_a"],
        "updatedAt": 0,
    });
    fs_err::write(project.dir().join("state.json"), state.to_string()).unwrap();
    project.ok(&["import", "../state.json"]);
    // Everything that is derived from it.
    project.ok(&["search", "everyone"]);
    project.ok(&["log", &frame]);
    project.ok(&["context"]);
    project.ok(&["pop", &said, "--compacted", &said]);
    frame
}

#[test]
fn a_text_is_in_no_file_after_it_is_forgotten() {
    let project = TestProject::in_git();
    let frame = record_everywhere(&project);
    let state = project.state();
    // A copy that was set aside, and a line of diagnostics.
    fs_err::create_dir_all(state.join("set-aside/20260101-000000")).unwrap();
    fs_err::copy(
        state.join("journal.db"),
        state.join("set-aside/20260101-000000/journal.db"),
    )
    .unwrap();
    fs_err::write(state.join("set-aside/20260101-000000/recovered"), "").unwrap();
    // And what a process left that died while it copied that store.
    let leftover = state.join("set-aside/20260101-000000/cleaning-1");
    fs_err::create_dir(&leftover).unwrap();
    fs_err::copy(state.join("journal.db"), leftover.join("journal.db")).unwrap();
    let closed = std::process::Command::new("chmod")
        .args(["-R", "go-rwx"])
        .arg(&state)
        .status();
    assert!(closed.unwrap().success());
    let mut diagnostics =
        fs_err::read_to_string(project.file("diagnostics.log")).unwrap_or_default();
    diagnostics.push_str(&format!("[stack] failed at {WORD}\n"));
    fs_err::write(project.file("diagnostics.log"), diagnostics).unwrap();
    let before = holding(&state, WORD);
    for file in [
        "journal.db",
        "blobs.db, compressed",
        "index.db",
        "diagnostics.log",
        ".md",
    ] {
        assert!(
            before.iter().any(|name| name.ends_with(file)),
            "{file}: {before:?}"
        );
    }
    let events = project.journal().len();

    // A survey changes nothing and does not repeat the word.
    let survey = project.json(&["forget", WORD, "--dry-run"]);
    assert!(survey["places"].as_u64().unwrap() > 20, "{survey}");
    assert!(survey["texts"].as_u64().unwrap() >= 2, "{survey}");
    assert!(!survey.to_string().contains(WORD));
    assert_eq!(holding(&state, WORD), before);
    project.refused(&["forget", WORD]);

    let forgotten = project.json(&["forget", WORD, "--yes"]);
    assert_eq!(forgotten["left"], json!([]), "{forgotten:#}");
    assert_eq!(forgotten["places"], survey["places"]);
    assert_eq!(holding(&state, WORD), Vec::<String>::new());

    // The rest is there, in order, and is verified.
    let journal = project.journal();
    assert_eq!(journal.len(), events + 1);
    let tombstone: Value = serde_json::from_str(&journal.last().unwrap().3).unwrap();
    assert_eq!(tombstone["kind"], "text_forgotten");
    assert_eq!(tombstone["places"], forgotten["places"]);
    let doctor = project.well();
    assert_eq!(
        doctor["forgotten"][0]["places"], forgotten["places"],
        "{doctor:#}"
    );
    let shown = project.ok(&["show", &frame]);
    assert!(
        shown.contains("[forgotten]") && shown.contains("as <everyone> knows"),
        "{shown}"
    );
    let log = project.ok(&["log", &format!("{frame}#1")]);
    assert!(
        log.contains("much text around it") && log.contains("[forgotten]"),
        "{log}"
    );
    assert!(project.ok(&["search", "everyone"]).contains("[forgotten]"));
    project.ok(&["push", "Work continues"]);
    assert_eq!(holding(&state, WORD), Vec::<String>::new());
    assert_snapshot!(project.flame(&["forget", WORD, "--yes"]), @"Nothing to forget.");
    project.well();
}

#[test]
fn what_matches_an_expression_is_forgotten_and_the_rest_stays() {
    let project = TestProject::new();
    project.push("Use corp_0123456789abcdef and corp_fedcba9876543210");
    project.flame_reading(
        &["note", "log", "-"],
        b"token \"corp_0123456789abcdef\" here\n",
    );
    project.ok(&["note", "decision", "corp_short stays"]);
    assert_snapshot!(project.flame(&["forget", "--regex", "corp_[0-9a-f]{16}", "--yes"]), @"Erased 2 places in 1 event, 1 raw text and 2 places in other files.");
    let state = project.state();
    for gone in ["corp_0123456789abcdef", "corp_fedcba9876543210"] {
        assert_eq!(holding(&state, gone), Vec::<String>::new());
    }
    assert!(project.ok(&["show"]).contains("corp_short stays"));
    project.well();
}

#[test]
fn a_frame_is_forgotten_with_everything_below_it() {
    let project = TestProject::new();
    project.push("Root of it all");
    let frame = project.push("Ask about the merger with Initech");
    project.ok(&["note", "decision", "offer them eleven million dollars"]);
    project.flame_reading(&["note", "log", "-"], b"minutes of the secret meeting\n");
    let below = project.push("Write the contract for Initech's owners");
    project.ok(&["pop", "the contract is in the safe"]);
    project.ok(&["pop", "they accepted the eleven million"]);
    project.ok(&[
        "note",
        "decision",
        "as before: they accepted the eleven million",
    ]);
    project.ok(&["context"]);
    project.ok(&["search", "merger"]);
    project.ok(&["forget", &frame, "--yes"]);
    let state = project.state();
    for gone in [
        "merger with Initech",
        "offer them eleven",
        "minutes of the secret",
        "contract",
        "accepted the eleven million",
    ] {
        assert_eq!(holding(&state, gone), Vec::<String>::new(), "{gone}");
    }
    let tree = project.ok(&["tree", "--all"]);
    assert!(
        tree.contains("Root of it all") && tree.contains("[forgotten]"),
        "{tree}"
    );
    assert!(project.ok(&["show", &below]).contains("[forgotten]"));
    assert!(project.ok(&["show"]).contains("as before: [forgotten]"));
    project.well();
}

#[test]
fn what_cannot_be_forgotten_is_refused() {
    let project = TestProject::new();
    let frame = project.push("Root");
    assert_snapshot!(project.refused(&["forget", "abc", "--yes"]), @"
    --- stderr
    error: a text to forget has at least 4 characters
    hint: use a more specific text; `--dry-run` shows the number of places
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["forget", "--regex", ".*", "--yes"]), @"
    --- stderr
    error: the pattern also matches an empty text or `[forgotten]`, the replacement of what is forgotten
    hint: use a more specific text; `--dry-run` shows the number of places
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["forget", "--regex", "(", "--yes"]), @"
    --- stderr
    error: this is not a regular expression: unclosed group
    hint: use a more specific text; `--dry-run` shows the number of places
    [exit 1]
    ");
    // The id of a frame is part of the journal's structure.
    let refused = project.refused(&["forget", "--text", &frame, "--yes"]);
    assert!(
        refused.stderr.contains("is part of the structure of event"),
        "{refused}"
    );
    // A program that works on the store would write the text again.
    let open = rusqlite::Connection::open(project.file("journal.db")).unwrap();
    let count = "SELECT count(*) FROM events";
    open.query_row(count, [], |row| row.get::<_, i64>(0))
        .unwrap();
    assert_snapshot!(project.refused(&["forget", "Root", "--yes"]), @"
    --- stderr
    error: another process has the store in DIR/state/projects/shop-HASH open
    hint: close the agent programs that work on this project, such as OpenCode, and try again
    [exit 1]
    ");
    drop(open);
    // The user's own settings are the user's to change.
    project.ok(&[
        "config",
        "set",
        "subagents.patterns",
        "Rootless",
        "--project",
    ]);
    let found = project.flame(&["forget", "Rootless", "--yes"]);
    assert_eq!(found.code, Some(1), "{found}");
    assert!(found.stdout.contains("config.toml holds it too"), "{found}");
    project.well();
}

#[test]
fn a_text_is_read_from_standard_input() {
    let project = TestProject::new();
    project.push(&format!("Say {WORD}"));
    let output = project.flame_reading(&["forget", "-", "--yes"], format!("{WORD}\n").as_bytes());
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(holding(&project.state(), WORD), Vec::<String>::new());
}
