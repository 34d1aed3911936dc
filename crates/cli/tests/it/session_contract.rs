//! The keys that programs may rely on in `flame session list --json` and `flame session show --json`,
//! for a session that a host has served.
#![cfg(target_os = "linux")]

use serde_json::{Value, json};

use crate::ground::TestProject;
use crate::sidecar::{Host, request};

const SESSION: &str = "opencode:ses_1";

fn said(id: &str, text: &str) -> Value {
    json!({ "id": id, "role": "user", "parts": [{ "type": "text", "id": format!("{id}p"), "text": text }] })
}

/// A call in a message of the model, with the state that the host reports.
fn call(id: &str, tool: &str, input: &Value, state: &Value) -> Value {
    let mut all = state.clone();
    all["input"] = input.clone();
    json!({ "kind": "message", "id": id, "role": "assistant", "parts": [{
        "type": "tool", "id": format!("{id}p"), "callID": format!("call_{id}"), "tool": tool, "state": all,
    }] })
}

/// A message of the model that is complete, with its cost.
fn ended(id: &str, error: Option<&str>) -> Value {
    let mut message = json!({
        "kind": "message", "id": id, "role": "assistant", "parts": [], "finish": "stop",
        "modelID": "m", "providerID": "p", "cost": 0.5, "time": { "created": 1, "completed": 2 },
        "tokens": { "input": 900, "output": 20, "reasoning": 0, "cache": { "read": 100, "write": 0 } },
    });
    if let Some(name) = error {
        // A step that was cut off has no cost.
        message["tokens"] =
            json!({ "input": 0, "output": 0, "reasoning": 0, "cache": { "read": 0, "write": 0 } });
        message["cost"] = json!(0);
        message["error"] = json!({ "name": name, "data": { "message": "Aborted" } });
    }
    message
}

/// A host that serves one session.
struct Serving {
    host: Host,
    asked: usize,
}

impl Serving {
    fn ask(&mut self, method: &str, params: &Value) {
        self.asked += 1;
        self.host.send(&request(self.asked, method, params));
        self.host.hear();
    }

    fn observe(&mut self, events: &Value) {
        let params = json!({ "session": "ses_1", "events": events });
        let line = json!({ "jsonrpc": "2.0", "method": "observe", "params": params });
        self.host.send(&format!("{line}\n"));
        // An answer of the same session says that the events were taken.
        self.ask("show", &json!({ "session": "ses_1", "what": "status" }));
    }

    fn prompt(&mut self, id: &str, text: &str) {
        let message = said(id, text);
        let prompt = json!({ "session": "ses_1", "agent": "build", "message": message });
        self.ask("prompt", &prompt);
        self.ask(
            "prepare",
            &json!({ "session": "ses_1", "known": 0, "messages": [message], "model": { "name": "p/m" } }),
        );
    }
}

/// A session with a refused call, a compaction, a subagent, and a stop in a call.
fn served() -> TestProject {
    let project = TestProject::in_git();
    let host = Host::start(project.command(&["sidecar"]));
    let mut serving = Serving { host, asked: 0 };
    serving.observe(&json!([{
        "kind": "session", "title": "Shop", "agent": "build", "directory": project.root(),
        "hostVersion": "1.18.33", "language": "de", "governance": "ask", "phase": "design",
    }]));
    serving.prompt("msg_1", "Build the shop");
    let bash = json!({ "command": "rm -rf build" });
    let running = json!({ "status": "running", "time": { "start": 1 } });
    let refused = json!({
        "status": "error", "error": "The user rejected permission to use this specific tool call.",
    });
    serving.observe(&json!([
        call("msg_2", "bash", &bash, &running),
        { "kind": "waiting", "on": "permission bash rm" },
        { "kind": "waiting" },
        call("msg_2", "bash", &bash, &refused),
        ended("msg_3", None),
        { "kind": "idle" },
    ]));
    serving.ask("summarize", &json!({ "session": "ses_1" }));
    let summary =
        json!({ "session": "ses_1", "message": "msg_4", "text": "## Goal\nBuild the shop" });
    serving.ask("summarized", &summary);
    serving.observe(&json!([{ "kind": "compacted" }, { "kind": "idle" }]));
    serving.prompt("msg_5", "Build the till");
    let edit = json!({ "filePath": "src/till.rs", "oldString": "a", "newString": "b" });
    serving.observe(&json!([
        ended("msg_5a", None),
        call("msg_6", "edit", &edit, &running)
    ]));
    serving.prompt("msg_7", "And paint it");
    serving.observe(&json!([
        { "kind": "interrupted" },
        { "kind": "idle" },
        call("msg_6", "edit", &edit, &json!({ "status": "error", "error": "Tool execution aborted" })),
        ended("msg_6", Some("MessageAbortedError")),
        { "kind": "idle" },
    ]));
    project.ok(&["session", "create", "Below", "--parent", SESSION]);
    project.ok(&["session", "create", "Beside"]);
    let all = project.json(&["session", "list"]);
    let beside = all
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["title"] == "Beside");
    let beside = beside.unwrap()["session"].as_str().unwrap().to_owned();
    project.ok(&["session", "link", SESSION, &beside, "--as", "hand-off"]);
    project
}

fn keys(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

#[test]
fn every_key_of_a_session_is_there_and_has_its_value() {
    let project = served();
    let listed = project.json(&["session", "list"]);
    let rows = listed.as_array().unwrap();
    for row in rows {
        for key in [
            "session", "host", "state", "since", "why", "level", "parent", "frame",
        ] {
            assert!(row.get(key).is_some(), "{key}: {row}");
        }
        for key in ["session", "host", "state", "since", "why"] {
            assert!(
                row[key].as_str().is_some_and(|text| !text.is_empty()),
                "{key}: {row}"
            );
        }
        assert!(row["level"].is_u64(), "{row}");
    }
    let row = rows.iter().find(|row| row["session"] == SESSION).unwrap();
    assert_eq!(
        (&row["host"], &row["state"]),
        (&json!("opencode"), &json!("interrupted"))
    );
    assert!(row["frame"].is_string() && row["parent"].is_null(), "{row}");
    let below = rows.iter().find(|row| row["parent"] == SESSION).unwrap();
    assert_eq!(below["level"], 2);

    let shown = project.json(&["session", "show", SESSION]);
    for (key, value) in row.as_object().unwrap() {
        assert_eq!(&shown[key], value, "{key}");
    }
    assert_eq!(shown["previousState"], "executing");
    let history = shown["stateHistory"].as_array().unwrap();
    for pair in history.windows(2) {
        assert_eq!(pair[0]["to"], pair[1]["from"]);
    }
    for change in history {
        assert_eq!(keys(change), ["at", "cause", "event", "from", "to", "why"]);
        assert!(
            change["at"].is_string() && change["cause"].is_string(),
            "{change}"
        );
    }
    let states: Vec<&str> = history
        .iter()
        .map(|one| one["to"].as_str().unwrap())
        .collect();
    assert_eq!(
        states,
        [
            "beginning",
            "executing",
            "waiting_user",
            "executing",
            "between_turn",
            "compacting",
            "compacted",
            "executing",
            "interrupted",
        ]
    );
    let kept = &shown["checkpoint"];
    for key in ["frame", "lastMessage", "inFlight", "files", "git"] {
        assert!(!kept[key].is_null(), "{key}: {kept}");
    }
    assert_eq!(
        (&kept["frame"], &kept["cause"]),
        (&shown["frame"], &json!("abort"))
    );
    assert_eq!(kept["files"], json!(["src/till.rs"]));
    assert_eq!(kept["inFlight"][0]["tool"], "edit");
    assert_eq!(kept["inFlight"][0]["outcome"], "unknown: verify first");
    assert_eq!(kept["queued"][0]["text"], "And paint it");
    assert_eq!(kept["git"]["head"].as_str().map(str::len), Some(40));
    assert_eq!(
        keys(&shown["children"][0]),
        ["agent", "createdAt", "session", "since", "state"]
    );
    assert_eq!(keys(&shown["links"][0]), ["kind", "session", "to"]);
    assert_eq!(shown["links"][0]["kind"], "hand_off");
}

/// Everything that the seed's metadata and trackers hold of a session.
#[test]
fn a_session_keeps_what_its_host_said_of_it() {
    let shown = served().json(&["session", "show", SESSION]);
    let facts = ["role", "language", "phase", "governance", "model"].map(|key| shown[key].clone());
    assert_eq!(
        facts,
        ["build", "de", "design", "ask", "p/m"].map(|text| json!(text))
    );
    assert_eq!(shown["contextSize"], 1_020);
    for key in [
        "createdAt",
        "lastActive",
        "promptedAt",
        "idleAt",
        "compactedAt",
    ] {
        assert!(shown[key].is_string(), "{key}: {}", shown[key]);
    }
    assert!(shown.get("resumedAt").is_some(), "null until it is resumed");
    let metrics = &shown["metrics"];
    assert_eq!(
        metrics,
        &json!({
            "firstTool": "bash", "prompts": 3, "turns": 1, "failures": 0, "interruptions": 1,
            "modelCalls": metrics["modelCalls"], "toolCalls": 2, "failedCalls": 0, "refusedCalls": 1,
            "delegations": 0, "tokensIn": metrics["tokensIn"], "tokensOut": metrics["tokensOut"],
            "microDollars": metrics["microDollars"],
        })
    );
    for key in ["modelCalls", "tokensIn", "tokensOut", "microDollars"] {
        assert!(
            metrics[key].as_u64().is_some_and(|number| number > 0),
            "{key}: {metrics}"
        );
    }
    let history = shown["compactionHistory"].as_array().unwrap();
    assert_eq!(history.len(), 1);
    let first = &history[0];
    assert_eq!(first["n"], 1);
    for key in [
        "timestamp",
        "contextSizeBefore",
        "anchorsSurvived",
        "anchorsLost",
    ] {
        assert!(!first[key].is_null(), "{key}: {first}");
    }
    assert!(first.get("contextSizeAfter").is_some(), "{first}");
    let survived = first["anchorsSurvived"].as_array().unwrap();
    assert!(
        survived.iter().any(|anchor| anchor == "Build the shop"),
        "{first}"
    );
}
