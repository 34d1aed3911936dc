//! `flame eval` on the recordings of each host: the same work in four formats.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::ground::TestProject;

/// A session in no host's format.
enum Said {
    User(String),
    Model(String),
    Ran {
        id: String,
        command: String,
        output: String,
    },
    Read {
        id: String,
        path: String,
        output: String,
    },
    Summary(String),
}

/// A session of 140 calls with a compaction after 80 of them.
fn session() -> Vec<Said> {
    let mut said = Vec::new();
    for turn in 0..140 {
        let file = format!("src/area_{}/part_{}.rs", turn % 3, turn % 7);
        if turn == 80 {
            let text = "The user wants compute_1 to be faster. ".repeat(12);
            said.push(Said::Summary(text));
        }
        if turn % 20 == 0 {
            let text = format!("Make compute_{turn} in {file} faster and keep the old tests");
            said.push(Said::User(text));
        }
        said.push(Said::Model(format!(
            "Looking at compute_{} in {file} with run_case_{turn} now",
            turn % 13
        )));
        let id = format!("c{turn}");
        said.push(if turn % 4 == 0 {
            Said::Read {
                id,
                path: file,
                output: format!("fn compute_{}() {{}}", turn % 13),
            }
        } else {
            Said::Ran {
                id,
                command: format!("cargo test -p area_{} compute_{}", turn % 3, turn % 11),
                output: format!("test compute_{turn} passed in run_case_{turn}"),
            }
        });
    }
    said
}

fn written(path: PathBuf, lines: &[Value]) -> PathBuf {
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    fs_err::create_dir_all(path.parent().unwrap()).unwrap();
    fs_err::write(&path, lines.join("\n") + "\n").unwrap();
    path
}

const AT: &str = "2026-01-01T00:00:00Z";

fn claude(dir: &Path) -> PathBuf {
    let mut lines = Vec::new();
    let mut line = |kind: &str, message: Value| {
        let number = lines.len();
        lines.push(json!({
            "type": kind, "uuid": format!("u{number}"), "parentUuid": null, "sessionId": "s1",
            "timestamp": AT, "cwd": "/home/ada/shop", "version": "2.1.0", "message": message,
            "isSidechain": false,
        }));
        lines.len()
    };
    let mut summaries = Vec::new();
    for said in session() {
        let model = |content: Value| json!({"role": "assistant", "content": [content]});
        let called = |id: &str, name: &str, input: Value| {
            model(json!({"type": "tool_use", "id": id, "name": name, "input": input}))
        };
        let answered = |id: &str, text: &str| {
            json!({"role": "user", "content":
                [{"type": "tool_result", "tool_use_id": id, "content": text}]})
        };
        match said {
            Said::User(text) => {
                line("user", json!({"role": "user", "content": text}));
            }
            Said::Model(text) => {
                line("assistant", model(json!({"type": "text", "text": text})));
            }
            Said::Ran {
                id,
                command,
                output,
            } => {
                line(
                    "assistant",
                    called(&id, "Bash", json!({"command": command})),
                );
                line("user", answered(&id, &output));
            }
            Said::Read { id, path, output } => {
                line("assistant", called(&id, "Read", json!({"file_path": path})));
                line("user", answered(&id, &output));
            }
            Said::Summary(text) => {
                summaries.push(line("user", json!({"role": "user", "content": text})));
            }
        }
    }
    for behind in summaries {
        lines[behind - 1]["isCompactSummary"] = json!(true);
        lines.insert(
            behind - 1,
            json!({
                "type": "system", "subtype": "compact_boundary", "uuid": "boundary",
                "parentUuid": null, "sessionId": "s1", "timestamp": AT,
                "compactMetadata": {"trigger": "auto", "preTokens": 150_000},
            }),
        );
    }
    written(dir.join("claude/project/s1.jsonl"), &lines)
}

fn codex(dir: &Path) -> PathBuf {
    let mut lines = vec![json!({
        "timestamp": AT, "type": "session_meta",
        "payload": {"id": "t1", "cwd": "/home/ada/shop", "cli_version": "1", "source": "cli"},
    })];
    for said in session() {
        let mut item = |payload: Value| {
            lines.push(json!({"timestamp": AT, "type": "response_item", "payload": payload}));
        };
        let (id, command, output) = match said {
            Said::User(text) => {
                item(json!({"type": "message", "role": "user",
                    "content": [{"type": "input_text", "text": text}]}));
                continue;
            }
            Said::Model(text) => {
                item(json!({"type": "message", "role": "assistant",
                    "content": [{"type": "output_text", "text": text}]}));
                continue;
            }
            Said::Summary(text) => {
                lines.push(json!({"timestamp": AT, "type": "compacted",
                    "payload": {"message": text, "replacement_history": []}}));
                continue;
            }
            Said::Ran {
                id,
                command,
                output,
            } => (id, command, output),
            Said::Read { id, path, output } => (id, format!("cat {path}"), output),
        };
        let arguments = json!({"cmd": command}).to_string();
        item(
            json!({"type": "function_call", "name": "exec_command", "arguments": arguments,
            "call_id": id}),
        );
        item(json!({"type": "function_call_output", "call_id": id, "output": output}));
    }
    written(
        dir.join("codex/rollout-2026-01-01T00-00-00-t1.jsonl"),
        &lines,
    )
}

fn gemini(dir: &Path) -> PathBuf {
    let mut lines =
        vec![json!({"sessionId": "g1", "projectHash": "p", "startTime": AT, "kind": "main"})];
    for said in session() {
        let id = format!("m{}", lines.len());
        let called = |call: &str, name: &str, args: Value, output: &str| {
            json!({"id": id, "timestamp": AT, "type": "gemini", "content": "", "toolCalls": [{
                "id": call, "name": name, "args": args, "status": "success",
                "result": [{"functionResponse": {"response": {"output": output}}}]}]})
        };
        lines.push(match said {
            Said::User(text) => json!({"id": id, "timestamp": AT, "type": "user", "content": text}),
            Said::Model(text) => {
                json!({"id": id, "timestamp": AT, "type": "gemini", "content": text})
            }
            Said::Summary(text) => json!({"id": id, "timestamp": AT, "type": "user",
                "content": format!("<state_snapshot>{text}</state_snapshot>")}),
            Said::Ran {
                id,
                command,
                output,
            } => called(
                &id,
                "run_shell_command",
                json!({"command": command}),
                &output,
            ),
            Said::Read { id, path, output } => {
                called(&id, "read_file", json!({"file_path": path}), &output)
            }
        });
    }
    written(dir.join("gemini/chats/session-2026-01-01-g1.jsonl"), &lines)
}

fn opencode(dir: &Path) -> PathBuf {
    let path = dir.join("opencode/opencode.db");
    fs_err::create_dir_all(path.parent().unwrap()).unwrap();
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch(
        "CREATE TABLE session(id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, directory TEXT,
             title TEXT, version TEXT, time_created INT, time_updated INT);
         CREATE TABLE message(id TEXT PRIMARY KEY, session_id TEXT, time_created INT,
             time_updated INT, data TEXT);
         CREATE TABLE part(id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INT,
             time_updated INT, data TEXT);
         INSERT INTO session VALUES('ses_1', 'p', NULL, '/home/ada/shop', 'Speed', '1', 0, 0);",
    )
    .unwrap();
    let mut number = 0;
    let mut message = |info: Value, part: Value| {
        number += 1;
        let mut info = info;
        info["time"] = json!({"created": number, "completed": number});
        let id = format!("msg_{number:05}");
        db.execute(
            "INSERT INTO message VALUES(?1, 'ses_1', ?2, ?2, ?3)",
            (&id, number, info.to_string()),
        )
        .unwrap();
        db.execute(
            "INSERT INTO part VALUES(?1, ?2, 'ses_1', ?3, ?3, ?4)",
            (format!("prt_{number:05}"), &id, number, part.to_string()),
        )
        .unwrap();
    };
    let user = || json!({"role": "user"});
    let model = || json!({"role": "assistant"});
    for said in session() {
        let called = |id: &str, tool: &str, input: Value, output: &str| {
            json!({"type": "tool", "callID": id, "tool": tool, "state": {
                "status": "completed", "input": input, "output": output}})
        };
        match said {
            Said::User(text) => message(user(), json!({"type": "text", "text": text})),
            Said::Model(text) => message(model(), json!({"type": "text", "text": text})),
            Said::Summary(text) => {
                message(user(), json!({"type": "compaction", "auto": true}));
                let info = json!({"role": "assistant", "summary": true});
                message(info, json!({"type": "text", "text": text}));
            }
            Said::Ran {
                id,
                command,
                output,
            } => message(
                model(),
                called(&id, "bash", json!({"command": command}), &output),
            ),
            Said::Read { id, path, output } => {
                message(
                    model(),
                    called(&id, "read", json!({"filePath": path}), &output),
                );
            }
        }
    }
    path
}

#[test]
fn every_host_s_recordings_answer_the_same_questions() {
    let project = TestProject::new();
    let dir = project.dir();
    for (host, file) in [
        ("claude-code", claude(dir)),
        ("codex", codex(dir)),
        ("gemini", gemini(dir)),
        ("opencode", opencode(dir)),
    ] {
        let report = project.flame(&["eval", file.to_str().unwrap(), "--json"]);
        assert_eq!(report.code, Some(0), "{}", report.stderr);
        let report: Value = serde_json::from_str(&report.stdout).unwrap();
        let all = &report["all"];
        assert_eq!(report["bad"], 0, "{host}: {report:#}");
        assert_eq!(all["sessions"], 1, "{host}");
        assert_eq!(all["toolCalls"], 140, "{host}");
        assert_eq!(all["briefs"]["cuts"], 3, "{host}: {all:#}");
        let share = |name: &str| all["briefs"][name].as_f64().unwrap();
        assert!(share("frr") > 0.8 && share("n4r") > 0.3, "{host}: {all:#}");
        assert_eq!(all["compactions"]["count"], 1, "{host}: {all:#}");
        assert_eq!(all["compactions"]["callsAfter"], 40, "{host}");
        let summary = all["hostSummaries"]["frr"].as_f64().unwrap();
        let both = all["hostSummariesAndBriefs"]["frr"].as_f64().unwrap();
        assert!(both > summary, "{host}: {all:#}");
        assert_eq!(all["cost"][1]["relativeCost"], 1.0, "{host}");
        // A shell does not say which files it reads.
        let again = all["compactions"]["filesReadAgain"].as_object().unwrap();
        assert_eq!(again.is_empty(), host == "codex", "{host}: {again:?}");
        assert!(report["groups"].get(host).is_some(), "{host}: {report:#}");

        let played = project.ok(&["replay", file.to_str().unwrap()]);
        let begun = project.ok(&["replay", file.to_str().unwrap(), "--cut", "3"]);
        assert!(
            played.len() > begun.len() && !begun.is_empty(),
            "{host}: {begun}"
        );
    }
}

#[test]
fn a_folder_of_everything_is_one_table() {
    let project = TestProject::new();
    let dir = project.dir().join("all");
    for write in [claude, codex, gemini, opencode] {
        write(&dir);
    }
    fs_err::write(dir.join("notes.jsonl"), "{\"no\": \"session\"}\n").unwrap();
    let table = project.flame(&["eval", dir.to_str().unwrap()]);
    assert_eq!(table.code, Some(0), "{}", table.stderr);
    insta::assert_snapshot!(table.stdout, @"
    4 sessions with 560 tool calls

    What did compactions lose?
    4 compactions. Of the names that the next 160 calls used, the host's summaries had 3%; of those not met for a while –; of the wording 0%.
    36 names known before came back from tools, and 9 files were read again:
        3×  src/area_0/part_0.rs
        3×  src/area_0/part_3.rs
        3×  src/area_0/part_5.rs
        3×  src/area_1/part_0.rs
        3×  src/area_1/part_2.rs
        3×  src/area_1/part_4.rs
        3×  src/area_2/part_1.rs
        3×  src/area_2/part_4.rs
        3×  src/area_2/part_6.rs

    What would Flamestack have kept?
    of what the next 40 calls used      cuts  names old ones  words      H  prompts
    brief of 4000 tokens                  12   1.00        –   1.00      –     1.00
      /home/ada/shop                       9   1.00        –   1.00      –     1.00
      claude-code                          3   1.00        –   1.00      –     1.00
      codex                                3   1.00        –   1.00      –     1.00
      gemini                               3   1.00        –   1.00      –     1.00
      opencode                             3   1.00        –   1.00      –     1.00
    host's summaries                       4   0.03        –   0.00      –     0.22
      with a brief of 1000 added           4   1.00        –   0.57      –     1.00
    Finished prompts are ranked for 12 later ones at nDCG@5 0.78 (1 is best).

    Which turns were interrupted, and did the next one work?
    inferred, against marks     turns  marked  inferred  precision  recall  resumes   working    share
    all                             4       0         0          –       –        0         0        –
    With each owner held out: precision –, recall – (prompts delivered within 1000, 1000 ms).
    4 recordings end inside a turn.

    What would folding have cost or saved?
    all prompts together                     tokens  cached      longest      cost
    append only, no limit                 8,588,074   99.1%       18,733      100%
    append only, host compacts            8,588,074   99.1%       18,733      100%
    fold at pop                           8,588,074   99.1%       18,733      100%
    fold at pop, late                     8,588,074   99.1%       18,733      100%
    track = prompts, fold = auto          7,045,354   99.0%       13,161       84%
    track = auto, fold = auto             8,588,074   99.1%       18,733      100%
    Folding finished prompts saves 0% of what prompts cost where the host compacts.
    ");
    let none = project.flame(&["eval", dir.join("notes.jsonl").to_str().unwrap()]);
    assert_eq!(none.code, Some(1));
    insta::assert_snapshot!(none.stderr, @"
    error: there are no recorded sessions there
    hint: name files or folders of Claude Code, Codex, OpenCode or Gemini CLI, such as ~/.claude/projects
    ");
}
