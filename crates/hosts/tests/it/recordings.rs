//! Recordings of all hosts, read as entries. The files were made up for these tests.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use flamestack_core::transcript::{Entry, EntryKind, TodoStatus};
use flamestack_hosts::recordings::{ReadReport, RecordingFormat, TranscriptItem, find, read};
use serde_json::{Value, json};

/// A folder with files in it.
pub(crate) struct Files(tempfile::TempDir);

impl Files {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes lines of JSON.
    pub(crate) fn lines(&self, name: &str, lines: &[Value]) -> PathBuf {
        self.text(name, &joined(lines))
    }

    pub(crate) fn text(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(&path, text).unwrap();
        path
    }
}

fn joined(lines: &[Value]) -> String {
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    lines.join("\n") + "\n"
}

/// Reads all recordings below a path and renders them as lines.
fn render(path: &Path) -> (String, ReadReport) {
    let mut text = String::new();
    let mut report = ReadReport::default();
    for file in find(path).unwrap() {
        let read = read(&file, &mut |item, _| {
            text.push_str(&line(&item));
            text.push('\n');
            ControlFlow::Continue(())
        });
        report.add(read.unwrap());
    }
    (text, report)
}

fn line(item: &TranscriptItem) -> String {
    match item {
        TranscriptItem::Session(about) => {
            let parent = about.parent.as_ref().map(|it| format!(" below {it}"));
            format!("== {}{}", about.session, parent.unwrap_or_default())
        }
        TranscriptItem::Ended(session) => format!("== {session} ends"),
        TranscriptItem::Entry(entry) => {
            let agent = entry.agent.as_ref().map(|agent| format!("({agent}) "));
            let id = entry.id.clone().unwrap_or_default();
            format!("{id}: {}{}", agent.unwrap_or_default(), describe(entry))
        }
    }
}

fn describe(entry: &Entry) -> String {
    match &entry.kind {
        EntryKind::User { speaker, text } => format!("{speaker:?} {text:?}"),
        EntryKind::Assistant { text } => format!("says {text:?}"),
        EntryKind::Thinking { text } => format!("thinks {text:?}"),
        EntryKind::Call(call) => {
            format!("calls {:?} {:?} {:?}", call.kind, call.paths, call.command)
        }
        EntryKind::Answer(answer) => format!("answered {} {:?}", answer.ok, answer.exit_code),
        EntryKind::SubagentStarted { id, title, .. } => format!("subagent {id} {title:?}"),
        EntryKind::SubagentEnded { id, ok, text } => format!("subagent {id} ended {ok} {text:?}"),
        EntryKind::Compacted {
            automatic,
            summary,
            tokens_before,
        } => format!("compacted {automatic} {summary:?} {tokens_before:?}"),
        EntryKind::Todos(items) => {
            let items: Vec<String> = items
                .iter()
                .map(|item| {
                    let mark = match item.status {
                        TodoStatus::Pending => "○",
                        TodoStatus::Active => "▶",
                        TodoStatus::Done => "✓",
                        TodoStatus::Cancelled => "–",
                    };
                    format!("{mark} {}", item.text)
                })
                .collect();
            format!("todos {}", items.join(", "))
        }
        EntryKind::Changed { paths } => format!("changed {paths:?}"),
        EntryKind::Usage(usage) => format!(
            "cost {} + {} + {} → {} ({:?})",
            usage.input, usage.cache_read, usage.cache_write, usage.output, usage.micro_dollars
        ),
        other => format!("{other:?}"),
    }
}

const CLAUDE: &str = "0f8c2b1e-1111-4222-8333-444455556666";

/// A line of Claude Code.
#[expect(
    clippy::needless_pass_by_value,
    reason = "called with what json! makes"
)]
fn claude(uuid: &str, kind: &str, rest: Value) -> Value {
    let mut line = json!({
        "type": kind, "uuid": uuid, "parentUuid": null, "isSidechain": false,
        "sessionId": CLAUDE, "cwd": "/home/ann/shop", "version": "2.1.325",
        "timestamp": "2026-03-01T10:00:00.000Z",
    });
    let fields = line.as_object_mut().unwrap();
    fields.extend(rest.as_object().unwrap().clone());
    line
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "called with what json! makes"
)]
fn says(uuid: &str, mid: &str, block: Value, stop: Option<&str>) -> Value {
    let message = json!({
        "id": mid, "role": "assistant", "model": "m-1", "content": [block], "stop_reason": stop,
        "usage": {"input_tokens": 3, "cache_read_input_tokens": 20,
                  "cache_creation_input_tokens": 5, "output_tokens": 7},
    });
    claude(uuid, "assistant", json!({ "message": message }))
}

fn result(uuid: &str, call: &str, text: &str, is_error: bool) -> Value {
    let block =
        json!({"type": "tool_result", "tool_use_id": call, "content": text, "is_error": is_error});
    claude(
        uuid,
        "user",
        json!({"message": {"role": "user", "content": [block]}}),
    )
}

#[expect(clippy::too_many_lines, reason = "one line per line of the file")]
fn claude_session() -> Vec<Value> {
    let use_of = |id: &str, name: &str, input: Value| json!({"type": "tool_use", "id": id, "name": name, "input": input});
    vec![
        json!({"type": "file-history-snapshot", "messageId": "x"}),
        claude(
            "u1",
            "user",
            json!({"promptId": "p1", "message": {"role": "user", "content": "Fix the cart"}}),
        ),
        claude(
            "u2",
            "user",
            json!({"isMeta": true, "message": {"role": "user", "content": "<system-reminder>Be kind</system-reminder>"}}),
        ),
        says(
            "a1",
            "m1",
            json!({"type": "thinking", "thinking": "Hm."}),
            None,
        ),
        says(
            "a2",
            "m1",
            use_of(
                "t1",
                "Edit",
                json!({"file_path": "/home/ann/shop/src/cart.rs", "old_string": "a", "new_string": "b"}),
            ),
            Some("tool_use"),
        ),
        result("u3", "t1", "ok", false),
        says(
            "a3",
            "m2",
            use_of("t2", "Bash", json!({"command": "cargo test"})),
            Some("tool_use"),
        ),
        result("u4", "t2", "Exit code 101\nerror: failed", true),
        says(
            "a4",
            "m3",
            use_of(
                "t3",
                "TaskCreate",
                json!({"subject": "Sum", "description": "d"}),
            ),
            Some("tool_use"),
        ),
        result("u5", "t3", "Task #1 created successfully: Sum", false),
        says(
            "a5",
            "m4",
            use_of(
                "t4",
                "TaskUpdate",
                json!({"taskId": "1", "status": "in_progress"}),
            ),
            Some("tool_use"),
        ),
        result("u6", "t4", "Updated task #1", false),
        says(
            "a6",
            "m5",
            use_of(
                "t5",
                "Agent",
                json!({"description": "Look around", "prompt": "Look at all", "subagent_type": "Explore"}),
            ),
            Some("tool_use"),
        ),
        result("u7", "t5", "Nothing odd", false),
        says(
            "a7",
            "m6",
            json!({"type": "text", "text": "Done."}),
            Some("end_turn"),
        ),
        claude(
            "s1",
            "system",
            json!({"subtype": "compact_boundary", "compactMetadata": {"trigger": "auto", "preTokens": 150_000}}),
        ),
        claude(
            "u8",
            "user",
            json!({"isCompactSummary": true, "message": {"role": "user", "content": "We fixed the cart."}}),
        ),
        says(
            "a8",
            "m7",
            use_of(
                "t6",
                "Agent",
                json!({"description": "Wait", "prompt": "Wait", "run_in_background": true}),
            ),
            Some("tool_use"),
        ),
        result("u11", "t6", "Async agent launched successfully.", false),
        claude(
            "u12",
            "user",
            json!({"message": {"role": "user", "content": "<task-notification><task-id>af2</task-id><tool-use-id>t6</tool-use-id><status>completed</status><result>Waited</result></task-notification>"}}),
        ),
        claude(
            "u9",
            "user",
            json!({"message": {"role": "user", "content": "<command-name>/review</command-name><command-args>the cart</command-args>"}}),
        ),
        claude(
            "u10",
            "user",
            json!({"message": {"role": "user", "content": [{"type": "text", "text": "[Request interrupted by user]"}]}}),
        ),
        json!({"type": "custom-title", "customTitle": "The cart", "sessionId": CLAUDE}),
        json!({"type": "hologram", "sessionId": CLAUDE}),
    ]
}

#[test]
fn claude_code_with_a_subagent_and_a_compaction() {
    let files = Files::new();
    files.lines(&format!("{CLAUDE}.jsonl"), &claude_session());
    let inner = vec![
        claude(
            "b1",
            "user",
            json!({"isSidechain": true, "agentId": "af1", "message": {"role": "user", "content": "Look at all"}}),
        ),
        says(
            "b2",
            "m9",
            json!({"type": "text", "text": "Looking."}),
            Some("end_turn"),
        ),
    ];
    files.lines(&format!("{CLAUDE}/subagents/agent-af1.jsonl"), &inner);
    let meta = json!({"agentType": "Explore", "toolUseId": "t5"}).to_string();
    files.text(&format!("{CLAUDE}/subagents/agent-af1.meta.json"), &meta);
    let (text, report) = render(files.path());
    insta::assert_snapshot!(text, @r#"
    == claude-code:0f8c2b1e-1111-4222-8333-444455556666
    p1: Person "Fix the cart"
    u2: Host "<system-reminder>Be kind</system-reminder>"
    a1: thinks "Hm."
    t1: calls Edit ["src/cart.rs"] None
    m1: cost 3 + 20 + 5 → 7 (None)
    t1: answered true None
    t2: calls Execute [] Some("cargo test")
    m2: cost 3 + 20 + 5 → 7 (None)
    t2: answered false Some(101)
    t3: calls Todo [] None
    m3: cost 3 + 20 + 5 → 7 (None)
    t3: todos ○ Sum
    t3: answered true None
    t4: calls Todo [] None
    m4: cost 3 + 20 + 5 → 7 (None)
    t4: todos ▶ Sum
    t4: answered true None
    t5: calls Delegate [] None
    af1: subagent af1 "Look around"
    m5: cost 3 + 20 + 5 → 7 (None)
    b1: (af1) Person "Look at all"
    b2: (af1) says "Looking."
    m9: (af1) cost 3 + 20 + 5 → 7 (None)
    m9: (af1) TurnEnded
    af1: subagent af1 ended true "Nothing odd"
    t5: answered true None
    a7: says "Done."
    m6: cost 3 + 20 + 5 → 7 (None)
    m6: TurnEnded
    s1: compacted true Some("We fixed the cart.") Some(150000)
    t6: calls Delegate [] None
    t6: subagent t6 "Wait"
    m7: cost 3 + 20 + 5 → 7 (None)
    t6: answered true None
    t6: subagent t6 ended true "Waited"
    u12: Host "<task-notification><task-id>af2</task-id><tool-use-id>t6</tool-use-id><status>completed</status><result>Waited</result></task-notification>"
    u9: Slash "/review the cart"
    u10: Interrupted { how: "Request interrupted by user" }
    title: The cart: Titled { title: "The cart" }
    == claude-code:0f8c2b1e-1111-4222-8333-444455556666 ends
    "#);
    insta::assert_compact_debug_snapshot!((report.bad, report.unknown), @r#"(0, {"hologram": 1})"#);
}

#[test]
fn claude_code_with_the_lines_of_a_subagent_in_the_same_file() {
    let files = Files::new();
    let aside = |uuid: &str, parent: Value, kind: &str, content: Value| {
        claude(
            uuid,
            kind,
            json!({"isSidechain": true, "parentUuid": parent, "message": {"id": uuid, "role": kind, "content": content}}),
        )
    };
    let task = json!({"type": "tool_use", "id": "t1", "name": "Task", "input": {"description": "Look", "prompt": "Look at all"}});
    files.lines(
        "old.jsonl",
        &[
            claude(
                "u1",
                "user",
                json!({"message": {"role": "user", "content": "Fix"}}),
            ),
            says("a1", "m1", task, Some("tool_use")),
            aside("b1", Value::Null, "user", json!("Look at all")),
            aside(
                "b2",
                json!("b1"),
                "assistant",
                json!([{"type": "text", "text": "Looking."}]),
            ),
            // A parent that is missing, and two that are each other's.
            aside(
                "b3",
                json!("gone"),
                "assistant",
                json!([{"type": "text", "text": "Lost."}]),
            ),
            aside(
                "b4",
                json!("b5"),
                "assistant",
                json!([{"type": "text", "text": "Round"}]),
            ),
            aside(
                "b5",
                json!("b4"),
                "assistant",
                json!([{"type": "text", "text": "and round."}]),
            ),
            result("u2", "t1", "Nothing odd", false),
        ],
    );
    let (text, report) = render(files.path());
    assert_eq!(report.bad, 0);
    insta::assert_snapshot!(text, @r#"
    == claude-code:0f8c2b1e-1111-4222-8333-444455556666
    u1: Person "Fix"
    t1: calls Delegate [] None
    t1: subagent t1 "Look"
    m1: cost 3 + 20 + 5 → 7 (None)
    b1: (t1) Person "Look at all"
    b2: (t1) says "Looking."
    b3: (aside-b3) says "Lost."
    b4: (aside-b4) says "Round"
    b5: (aside-b4) says "and round."
    t1: subagent t1 ended true "Nothing odd"
    t1: answered true None
    == claude-code:0f8c2b1e-1111-4222-8333-444455556666 ends
    "#);
}

#[test]
fn codex() {
    let files = Files::new();
    let line = |n: u64, kind: &str, payload: Value| json!({"timestamp": format!("2026-03-01T10:00:{n:02}.000Z"), "type": kind, "payload": payload});
    let item = |n: u64, payload: Value| line(n, "response_item", payload);
    let event = |n: u64, payload: Value| line(n, "event_msg", payload);
    let patch =
        "*** Begin Patch\n*** Update File: /home/ann/shop/src/cart.rs\n@@\n-a\n+b\n*** End Patch";
    let script = format!("const p = {}; await apply_patch(p)", json!(patch));
    let plan = json!({"plan": [{"step": "Sum", "status": "completed"}, {"step": "Tax", "status": "in_progress"}]});
    files.lines(
        "rollout-1.jsonl",
        &[
            line(1, "session_meta", json!({"id": "th-1", "cwd": "/home/ann/shop", "cli_version": "0.166.0"})),
            line(2, "turn_context", json!({"cwd": "/home/ann/shop", "model": "m-6"})),
            item(3, json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<environment_context>\n</environment_context>"}]})),
            item(4, json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Fix the cart"}]})),
            event(5, json!({"type": "user_message", "message": "Fix the cart"})),
            item(6, json!({"type": "custom_tool_call", "name": "apply_patch", "call_id": "c1", "input": patch})),
            event(7, json!({"type": "patch_apply_end", "call_id": "c1", "success": true, "changes": {"/home/ann/shop/src/cart.rs": {"update": {}}}})),
            item(8, json!({"type": "custom_tool_call_output", "call_id": "c1", "output": "Success"})),
            item(9, json!({"type": "custom_tool_call", "name": "exec", "call_id": "c2", "input": script})),
            item(10, json!({"type": "custom_tool_call_output", "call_id": "c2", "output": "Script completed"})),
            item(11, json!({"type": "function_call", "name": "exec_command", "arguments": "{\"cmd\":\"cargo test\"}", "call_id": "c3"})),
            item(12, json!({"type": "function_call_output", "call_id": "c3", "output": "Wall time: 1\nProcess exited with code 101\nOutput:\nerror"})),
            item(13, json!({"type": "function_call", "name": "update_plan", "arguments": plan.to_string(), "call_id": "c4"})),
            item(14, json!({"type": "function_call", "name": "spawn_agent", "arguments": "{\"message\":\"Look\"}", "call_id": "c5"})),
            item(15, json!({"type": "function_call_output", "call_id": "c5", "output": "{\"agent_id\":\"th-2\"}"})),
            item(16, json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<subagent_notification>\n{\"agent_id\":\"th-2\",\"status\":{\"completed\":\"Seen\"}}\n</subagent_notification>"}]})),
            event(17, json!({"type": "token_count", "info": {"last_token_usage": {"input_tokens": 30, "cached_input_tokens": 20, "output_tokens": 7, "reasoning_output_tokens": 2}}})),
            item(18, json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]})),
            event(19, json!({"type": "task_complete", "last_agent_message": "Done."})),
            line(20, "compacted", json!({"message": "We fixed the cart."})),
            event(21, json!({"type": "turn_aborted", "reason": "interrupted"})),
            event(22, json!({"type": "teleported"})),
        ],
    );
    let child = json!({"id": "th-2", "cwd": "/home/ann/shop", "source": {"subagent": {"thread_spawn": {"parent_thread_id": "th-1"}}}});
    files.lines("rollout-2.jsonl", &[line(1, "session_meta", child)]);
    let (text, report) = render(files.path());
    insta::assert_snapshot!(text, @r#"
    == codex:th-1
    #3: Host "<environment_context>\n</environment_context>"
    #4: Person "Fix the cart"
    #6: calls Edit ["src/cart.rs"] None
    #7: changed ["src/cart.rs"]
    #8: answered true None
    #9: calls Edit ["src/cart.rs"] None
    #10: answered true None
    #11: calls Execute [] Some("cargo test")
    #12: answered false Some(101)
    #13: calls Todo [] None
    #13.1: todos ✓ Sum, ▶ Tax
    #14: calls Delegate [] None
    #15: subagent th-2 ""
    #15.1: answered true None
    #16: subagent th-2 ended true "Seen"
    #17: cost 10 + 20 + 0 → 7 (None)
    #18: says "Done."
    #19: TurnEnded
    #20: compacted true Some("We fixed the cart.") None
    #21: Interrupted { how: "interrupted" }
    == codex:th-1 ends
    == codex:th-2 below codex:th-1
    == codex:th-2 ends
    "#);
    insta::assert_compact_debug_snapshot!((report.bad, report.unknown), @r#"(0, {"event_msg teleported": 1})"#);
}

#[test]
fn gemini() {
    let files = Files::new();
    let shell = json!({"id": "c1", "name": "run_shell_command", "args": {"command": "npm test"}, "status": "error",
        "result": [{"functionResponse": {"response": {"output": "Output: no\nExit Code: 1"}}}]});
    let write = json!({"id": "c2", "name": "write_file", "args": {"file_path": "a.js", "content": "x"}, "status": "success",
        "result": [{"functionResponse": {"response": {"output": "Written"}}}]});
    let at = "2026-03-01T10:00:00.000Z";
    files.lines(
        "session-1.jsonl",
        &[
            json!({"sessionId": "g-1", "projectHash": "h", "startTime": at, "kind": "main"}),
            json!({"id": "1", "timestamp": at, "type": "user", "content": [{"text": "Fix the cart"}]}),
            json!({"id": "2", "timestamp": at, "type": "gemini", "content": "", "toolCalls": [shell]}),
            // The same message, grown.
            json!({"id": "2", "timestamp": at, "type": "gemini", "content": "", "toolCalls": [shell, write], "model": "g",
                "tokens": {"input": 30, "output": 7, "cached": 20, "thoughts": 1}}),
            json!({"$set": {"summary": "The cart"}}),
            json!({"id": "3", "timestamp": at, "type": "gemini", "content": "Done."}),
            json!({"id": "4", "timestamp": at, "type": "info", "content": "Request cancelled."}),
            json!({"id": "5", "timestamp": at, "type": "prophecy", "content": "?"}),
        ],
    );
    let (text, report) = render(files.path());
    insta::assert_snapshot!(text, @r#"
    == gemini:g-1
    1: Person "Fix the cart"
    title: The cart: Titled { title: "The cart" }
    c1: calls Execute [] Some("npm test")
    c1: answered false Some(1)
    c2: calls Write ["a.js"] None
    c2: answered true None
    2: cost 10 + 20 + 0 → 8 (None)
    3: says "Done."
    3: TurnEnded
    4: Interrupted { how: "Request cancelled." }
    == gemini:g-1 ends
    "#);
    insta::assert_compact_debug_snapshot!((report.bad, report.unknown), @r#"(0, {"prophecy": 1})"#);
}

/// A database with OpenCode's schema.
#[expect(clippy::too_many_lines, reason = "one line per line of the file")]
pub(crate) fn opencode(files: &Files) -> PathBuf {
    let path = files.path().join("opencode.db");
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch(
        "CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, directory TEXT, title TEXT);
         CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, data TEXT);
         CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);",
    )
    .unwrap();
    let session = |id: &str, parent: Option<&str>, title: &str| {
        db.execute(
            "INSERT INTO session VALUES (?1, 'p', ?2, '/home/ann/shop', ?3)",
            rusqlite::params![id, parent, title],
        )
        .unwrap();
    };
    let message = |id: &str, session: &str, data: &str| {
        db.execute(
            "INSERT INTO message VALUES (?1, ?2, ?3)",
            [id, session, data],
        )
        .unwrap();
    };
    let part = |id: &str, message: &str, data: Value| {
        let data = data.to_string();
        db.execute(
            "INSERT INTO part VALUES (?1, ?2, '', ?3)",
            [id, message, &data],
        )
        .unwrap();
    };
    let tool = |call: &str, name: &str, state: Value| json!({"type": "tool", "callID": call, "tool": name, "state": state});
    session("ses_2", None, "The cart");
    session("ses_1", Some("ses_2"), "Look (@explore subagent)");
    message(
        "msg_1",
        "ses_2",
        &json!({"role": "user", "time": {"created": 1}}).to_string(),
    );
    part(
        "prt_1",
        "msg_1",
        json!({"type": "text", "text": "Fix the cart"}),
    );
    part(
        "prt_2",
        "msg_1",
        json!({"type": "text", "text": "Called the Read tool", "synthetic": true}),
    );
    let answer = json!({"role": "assistant", "time": {"created": 2}, "modelID": "m-1", "finish": "stop", "cost": 0.0125,
        "tokens": {"input": 3, "output": 7, "reasoning": 1, "cache": {"read": 20, "write": 5}}});
    message("msg_2", "ses_2", &answer.to_string());
    let added = "*** Begin Patch\n*** Add File: /home/ann/shop/src/cart.rs\n+x\n*** End Patch";
    part(
        "prt_3",
        "msg_2",
        tool(
            "c1",
            "apply_patch",
            json!({"status": "completed", "input": {"patchText": added}, "output": "ok",
        "metadata": {"files": [{"filePath": "/home/ann/shop/src/cart.rs", "type": "add"}]}}),
        ),
    );
    part(
        "prt_4",
        "msg_2",
        tool(
            "c2",
            "bash",
            json!({"status": "completed", "input": {"command": "cargo test"}, "output": "no", "metadata": {"exit": 101}}),
        ),
    );
    part(
        "prt_5",
        "msg_2",
        tool(
            "c3",
            "task",
            json!({"status": "completed", "input": {"description": "Look", "prompt": "Look at all", "subagent_type": "explore"},
        "output": "Nothing odd", "metadata": {"sessionId": "ses_1"}}),
        ),
    );
    part(
        "prt_6",
        "msg_2",
        json!({"type": "patch", "hash": "h", "files": ["/home/ann/shop/made-by-bash.txt"]}),
    );
    part("prt_7", "msg_2", json!({"type": "text", "text": "Done."}));
    part("prt_8", "msg_2", json!({"type": "hologram"}));
    message(
        "msg_3",
        "ses_2",
        &json!({"role": "assistant", "summary": true, "time": {"created": 3}}).to_string(),
    );
    part(
        "prt_9",
        "msg_3",
        json!({"type": "text", "text": "We fixed the cart."}),
    );
    message(
        "msg_4",
        "ses_2",
        &json!({"role": "assistant", "error": {"name": "MessageAbortedError"}}).to_string(),
    );
    message("msg_5", "ses_2", "{ broken");
    message("msg_6", "ses_1", &json!({"role": "user"}).to_string());
    part(
        "prt_10",
        "msg_6",
        json!({"type": "text", "text": "Look at all"}),
    );
    path
}

#[test]
fn opencode_database() {
    let files = Files::new();
    let path = opencode(&files);
    let before = fs_err::read(&path).unwrap();
    let (text, report) = render(files.path());
    insta::assert_snapshot!(text, @r#"
    == opencode:ses_2
    prt_1: Person "Fix the cart"
    prt_2: Host "Called the Read tool"
    prt_3: calls Edit ["src/cart.rs"] None
    prt_3: answered true None
    prt_3: changed ["src/cart.rs"]
    prt_4: calls Execute [] Some("cargo test")
    prt_4: answered true Some(101)
    prt_5: calls Delegate [] None
    prt_5: subagent ses_1 "Look"
    == opencode:ses_1 below opencode:ses_2
    prt_10: Host "Look at all"
    title: Look (@explore subagent): Titled { title: "Look (@explore subagent)" }
    == opencode:ses_1 ends
    == opencode:ses_2
    prt_5: subagent ses_1 ended true "Nothing odd"
    prt_5: answered true None
    prt_6: changed ["made-by-bash.txt"]
    prt_7: says "Done."
    msg_2: cost 3 + 20 + 5 → 7 (Some(12500))
    msg_2: TurnEnded
    prt_9: compacted true Some("We fixed the cart.") None
    msg_4: Interrupted { how: "stopped by the user" }
    title: The cart: Titled { title: "The cart" }
    == opencode:ses_2 ends
    "#);
    insta::assert_compact_debug_snapshot!((report.bad, report.unknown), @r#"(1, {"part hologram": 1})"#);
    assert_eq!(report.problems[0].position, "message msg_5");
    assert_eq!(fs_err::read(&path).unwrap(), before);
}

/// A line of ctrace.
pub(crate) fn ctrace(lines: &[Value]) -> String {
    let head = json!({"t": "session", "v": 1, "id": "s-1", "host": "claude-code", "source": "a/b", "cwd": "/home/ann/shop", "title": "The cart"});
    let mut text = format!("{head}\n");
    for (i, line) in (1..).zip(lines) {
        let mut line = line.clone();
        line["i"] = json!(i);
        text.push_str(&format!("{line}\n"));
    }
    text
}

#[test]
fn ctrace_lines() {
    let files = Files::new();
    let text = ctrace(&[
        json!({"t": "user", "ts": 5, "text": "Fix the cart", "kind": "prompt"}),
        json!({"t": "call", "id": "c1", "mid": "m1", "name": "Bash", "k": "exec", "args": {"z": 1, "a": 2}, "cmd": "cargo test"}),
        json!({"t": "result", "id": "c1", "ok": false, "text": "Exit code 2\nno"}),
        json!({"t": "sub_start", "id": "sub:x", "title": "Look", "prompt": "Look at all"}),
        json!({"t": "assistant", "a": "sub:x", "text": "Looking."}),
        json!({"t": "sub_stop", "id": "sub:x", "ok": true, "text": "Nothing odd"}),
        json!({"t": "todo", "items": [{"id": "1", "text": "Sum", "status": "in_progress"}]}),
        json!({"t": "diff", "paths": ["src/cart.rs"]}),
        json!({"t": "prune", "ids": []}),
        json!({"t": "turn_end"}),
    ]);
    files.text("t.jsonl", &text);
    let (text, report) = render(files.path());
    insta::assert_snapshot!(text, @r#"
    == claude-code:s-1
    #1: Person "Fix the cart"
    c1: calls Execute [] Some("cargo test")
    c1: answered false Some(2)
    #4: subagent x "Look"
    #5: (x) says "Looking."
    #6: subagent x ended true "Nothing odd"
    #7: todos ▶ Sum
    #8: changed ["src/cart.rs"]
    #10: TurnEnded
    header: Titled { title: "The cart" }
    == claude-code:s-1 ends
    "#);
    assert_eq!(report.bad, 0);
}

#[test]
fn valid_lines_of_damaged_files_are_read() {
    let files = Files::new();
    let good = ctrace(&[json!({"t": "user", "text": "Fix the cart", "kind": "prompt"})]);
    let long = format!(
        "{{\"i\":2,\"t\":\"user\",\"text\":\"{}\"}}\n",
        "x".repeat(50 << 20)
    );
    let mut bytes = good.into_bytes();
    bytes.extend_from_slice(long.as_bytes());
    bytes.extend_from_slice(b"[1, 2]\n\n\"text\"\nnot json\n\xff\xfe\n");
    bytes.extend_from_slice(b"{\"i\":\"three\",\"t\":\"user\",\"text\":5}\n");
    bytes.extend_from_slice(b"{\"i\":4,\"t\":\"assistant\",\"text\":[1]}\n{\"i\":5,\"t\":\"todo\",\"items\":\"none\"}\n");
    bytes.extend_from_slice(b"{\"i\":6,\"t\":\"dream\"}\n{\"i\":7,\"t\":\"user\",\"te");
    fs_err::write(files.path().join("t.jsonl"), bytes).unwrap();
    let (text, report) = render(files.path());
    insta::assert_snapshot!(text, @r#"
    == claude-code:s-1
    #1: Person "Fix the cart"
    #4: says ""
    #5: todos 
    header: Titled { title: "The cart" }
    == claude-code:s-1 ends
    "#);
    let problems: Vec<String> = report
        .problems
        .iter()
        .map(|problem| format!("{}: {}", problem.position, problem.message))
        .collect();
    insta::assert_snapshot!(problems.join("\n"), @"
    line 3: has 52428829 bytes, more than the limit of 33554432
    line 4: is not a JSON object
    line 6: is not a JSON object
    line 7: is not JSON: expected ident at line 1 column 2
    line 8: is not UTF-8: invalid utf-8 sequence of 1 bytes from index 0
    line 9: has no ordinal
    line 13: is truncated
    ");
    insta::assert_compact_debug_snapshot!((report.bad, report.unknown), @r#"(7, {"dream": 1})"#);
}

#[test]
fn messages_of_claude_code_with_wrong_types_are_reported() {
    let files = Files::new();
    let lines = [
        claude(
            "a",
            "user",
            json!({"message": {"role": "user", "content": "Fix the cart"}}),
        ),
        claude(
            "b",
            "user",
            json!({"message": {"role": "user", "content": 42}}),
        ),
        claude("c", "assistant", json!({"message": "a string"})),
        claude(
            "d",
            "user",
            json!({"message": {"role": "user", "content": "And the shop"}}),
        ),
    ];
    fs_err::write(files.path().join("s-1.jsonl"), joined(&lines)).unwrap();
    let (text, report) = render(files.path());
    assert!(text.contains("Fix the cart") && text.contains("And the shop"));
    let positions: Vec<&str> = report
        .problems
        .iter()
        .map(|it| it.position.as_str())
        .collect();
    assert_eq!(positions, ["line 2", "line 3"], "{:?}", report.problems);
}

#[test]
fn other_files_are_ignored() {
    let files = Files::new();
    files.text("notes.jsonl", "{\"a\":1}\n");
    files.text("opencode.db", "no database at all");
    files.text("empty.jsonl", "");
    assert_eq!(find(files.path()).unwrap(), vec![]);
    files.text("t.jsonl", &ctrace(&[]));
    let found = find(files.path()).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].format, RecordingFormat::Ctrace);
}

proptest::proptest! {
    /// Reading any file ends and does not panic.
    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..400), cut in 0usize..4000) {
        let files = Files::new();
        let mut text = joined(&claude_session()).into_bytes();
        let cut = cut.min(text.len());
        text.splice(cut..cut, bytes.iter().copied());
        fs_err::write(files.path().join("a.jsonl"), &text).unwrap();
        fs_err::write(files.path().join("b.jsonl"), &bytes).unwrap();
        render(files.path());
    }
}
