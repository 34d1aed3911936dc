//! Requests that are hostile in one way each.

use serde_json::{Value, json};

use super::Scale;
use super::stores::{odd_text, prose};
use crate::ground::Dice;

/// Texts that are asked for, up to the size of a request.
pub(super) fn questions(scale: &Scale) -> Vec<String> {
    let mut dice = Dice(11);
    vec![
        String::new(),
        "--- FAIL".to_owned(),
        "====".to_owned(),
        "a".repeat(200),
        "a".repeat(scale.request),
        "e".to_owned(),
        "0 1 2 3 4 5 6 7 8 9 a b c d e f".to_owned(),
        "aaa aaaa aaaaa aaaaaa aaaaaaa aaaaaaaa b".to_owned(),
        "piece Prompt Frame done Decision".to_owned(),
        "Decision about frame zzz".to_owned(),
        "\0".to_owned(),
        "a\0b".to_owned(),
        "\"(*) AND NOT NEAR".to_owned(),
        odd_text(&mut dice, 400),
        prose(&mut dice, 900)
            .split_whitespace()
            .take(30)
            .collect::<Vec<_>>()
            .join(" "),
        "( ".repeat(scale.request / 2),
    ]
}

/// Returns hostile arguments for every tool.
pub(super) fn tool_calls(
    frame: &str,
    long: &str,
    questions: &[String],
) -> Vec<(&'static str, Value)> {
    let mut calls: Vec<(&str, Value)> = Vec::new();
    for question in questions {
        calls.push(("stack_search", json!({ "query": question, "limit": 1e9 })));
        calls.push(("stack_recall", json!({ "query": question, "tokens": 1e9 })));
    }
    for piece in ["", "#1", "#3", "#999999", "#log1", "#log1@500000", "#log7"] {
        let query = format!("{frame}{piece}");
        calls.push(("stack_recall", json!({ "query": query, "tokens": 1e9 })));
    }
    let nested = (0..60).fold(
        json!([]),
        |below, _| json!([{ "title": "x", "successCriteria": "y", "children": below }]),
    );
    calls.extend([
        ("stack_status", json!({})),
        (
            "stack_tree",
            json!({ "showFull": true, "showDetails": true }),
        ),
        ("stack_tree", json!({ "rootID": frame, "showFull": true })),
        ("stack_tree", json!({ "rootID": long })),
        ("stack_frame_details", json!({ "frameID": frame })),
        ("stack_frame_details", json!({ "frameID": long })),
        ("stack_get_summary", json!({})),
        ("stack_get_summary", json!({ "sessionID": long })),
        ("stack_get_state", json!({})),
        ("stack_get_state", json!({ "from": 1_000 })),
        ("stack_context_info", json!({})),
        ("stack_context_preview", json!({ "maxLength": 1e9 })),
        ("stack_cache_clear", json!({})),
        ("stack_cache_clear", json!({ "sessionID": long })),
        ("stack_compaction_info", json!({})),
        ("stack_stats", json!({})),
        ("stack_subagent_list", json!({})),
        ("stack_subagent_complete", json!({ "sessionID": long })),
        ("stack_config", json!({ "removePattern": long })),
        ("stack_config", json!({ "addPattern": long })),
        ("stack_frame_summarize", json!({ "note": long })),
        ("stack_add_decision", json!({ "decision": long })),
        ("stack_add_artifact", json!({ "artifact": long })),
        (
            "stack_frame_push",
            json!({ "title": long, "successCriteria": long }),
        ),
        (
            "stack_frame_push",
            json!({ "title": "Next", "successCriteria": long }),
        ),
        (
            "stack_frame_plan",
            json!({ "title": "Later", "successCriteria": long }),
        ),
        ("stack_frame_plan_children", json!({ "children": nested })),
        ("stack_frame_plan_children", json!({ "children": long })),
        ("stack_frame_activate", json!({ "sessionID": long })),
        (
            "stack_frame_pop",
            json!({ "status": "completed", "results": long }),
        ),
        (
            "stack_frame_invalidate",
            json!({ "sessionID": long, "reason": long }),
        ),
        ("no_such_tool", json!({ "x": long })),
    ]);
    calls
}

/// Texts that open something without ever closing it, again and again: what reads them must not look for
/// the end each time.
const UNENDED: [&str; 12] = [
    "<",
    "<a",
    "<system-reminder>",
    "<<E\n",
    "$(",
    "`",
    "[",
    "\u{1b}[",
    "```\n",
    "-----BEGIN PRIVATE KEY-----\n",
    "a && ",
    "error: x\n",
];

/// Returns messages with an unended text, as words of the user, a command and its output.
fn unended(length: usize) -> Vec<(&'static str, Value)> {
    let mut requests = Vec::new();
    for (n, token) in UNENDED.iter().enumerate() {
        let text = token.repeat(length / token.len());
        let (said, ran, made) = (format!("u{n}"), format!("r{n}"), format!("o{n}"));
        for (id, message) in [
            (&said, user_message(&said, &text)),
            (&ran, call_message(&ran, &text, "done")),
            (&made, call_message(&made, "make test", &text)),
        ] {
            let next = user_message(&format!("{id}next"), "Now the next part");
            let messages = json!([user_message(&format!("{id}first"), "Begin"), message, next]);
            requests.push((
                "prepare",
                json!({ "session": id, "known": 0, "messages": messages }),
            ));
        }
    }
    requests
}

fn user_message(id: &str, text: &str) -> Value {
    json!({ "id": id, "role": "user", "parts": [{ "type": "text", "id": format!("{id}p"), "text": text }] })
}

fn call_message(id: &str, command: &str, output: &str) -> Value {
    json!({ "id": id, "role": "assistant", "parts": [{
        "type": "tool", "id": format!("{id}p"), "callID": format!("call_{id}"), "tool": "bash",
        "state": { "status": "completed", "input": { "command": command }, "output": output },
    }] })
}

/// Returns hostile parameters for the other methods of the protocol.
pub(super) fn requests(long: &str) -> Vec<(&'static str, Value)> {
    let (said, work) = (user_message, |id: &str, output: &str| {
        call_message(id, "make", output)
    });
    let many: Vec<Value> = (0..long.len() / 200)
        .map(|n| said(&format!("many{n}"), "Go on"))
        .collect();
    let different: Vec<Value> = (0..long.len() / 200)
        .map(|n| {
            said(
                &format!("part{n}"),
                &format!("Fix part {n} of the parser in src/p{n}.rs"),
            )
        })
        .collect();
    let mut requests = vec![
        (
            "prompt",
            json!({ "session": "s", "message": said("h1", long) }),
        ),
        (
            "prompt",
            json!({ "session": "fresh", "message": said("h2", "Fix it") }),
        ),
        (
            "prepare",
            json!({ "session": "s", "known": 0, "messages": [said("h1", long)] }),
        ),
        (
            "prepare",
            json!({ "session": "s", "known": 1, "messages": [work("h3", long)] }),
        ),
        (
            "prepare",
            json!({ "session": "s", "known": 999_999, "messages": [] }),
        ),
        (
            "prepare",
            json!({ "session": "many", "known": 0, "messages": many }),
        ),
        (
            "prepare",
            json!({ "session": "parts", "known": 0, "messages": different }),
        ),
        (
            "prepare",
            json!({ "session": "s", "known": 0, "messages": different }),
        ),
        (
            "prepare",
            json!({ "session": "s", "known": 0, "messages": [said("h1", long)], "compacting": true }),
        ),
        (
            "observe",
            json!({ "session": "s", "events": [{ "kind": "idle" }] }),
        ),
        (
            "observe",
            json!({ "session": "s", "events": [{ "kind": "todos", "items": [{ "text": long, "status": "pending" }] }] }),
        ),
        ("summarize", json!({ "session": "s" })),
        ("summarized", json!({ "session": "s", "text": long })),
        ("delegate", json!({ "session": "s", "prompt": long })),
        ("show", json!({ "session": "s", "what": "tree" })),
        ("show", json!({ "session": long, "what": "tree" })),
        ("nothing", json!({ "session": "s", "x": long })),
    ];
    requests.extend(unended(long.len()));
    requests
}

/// Returns hostile requests to the page's server: method, path and body.
pub(super) fn page_requests(frame: &str, long: &str) -> Vec<(&'static str, String, String)> {
    let get = |path: String| ("GET", path, String::new());
    let post = |path: &str, body: Value| ("POST", path.to_owned(), body.to_string());
    let short: String = long
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .take(4_000)
        .collect();
    let ids: Vec<&str> = std::iter::repeat_n(frame, long.len() / 12).collect();
    vec![
        post("/api/tree", json!({ "open": [], "closed": [], "more": {} })),
        post(
            "/api/tree",
            json!({ "open": ids, "closed": ids, "more": { frame: usize::MAX } }),
        ),
        post(
            "/api/tree",
            json!({ "open": [frame], "closed": [], "more": { "": 1_000_000, frame: 1_000_000 } }),
        ),
        post("/api/tree", json!({ "open": long })),
        get(format!("/api/frame?id={frame}")),
        get(format!("/api/frame?id={short}")),
        get(format!("/api/context?frame={frame}")),
        get("/api/context?session=opencode:s".to_owned()),
        get("/api/sessions".to_owned()),
        get("/api/graph".to_owned()),
        get("/api/graph?by=time".to_owned()),
        get(format!("/api/graph?by=messages&frame={frame}")),
        get("/api/chart".to_owned()),
        get("/api/chart?session=opencode:s".to_owned()),
        get("/api/picture".to_owned()),
        get("/api/picture?order=time".to_owned()),
        get("/api/search?q=e".to_owned()),
        get("/api/search?q=----".to_owned()),
        get("/api/search?q=piece+done+Decision".to_owned()),
        get(format!("/api/search?q={short}")),
        get("/api/brief?session=opencode:s".to_owned()),
        post("/api/act", json!({ "x": long })),
    ]
}

/// Returns commands that read, and those for the whole store.
pub(super) fn commands(frame: &str) -> Vec<Vec<&str>> {
    vec![
        vec!["status"],
        vec!["tree"],
        vec!["tree", "--all"],
        vec!["show", frame],
        vec!["show", frame, "--json"],
        vec!["log", frame],
        vec!["log"],
        vec!["context", "--session", "opencode:s"],
        vec!["context", "--frame", frame, "--budget", "100000"],
        vec!["brief", "--session", "opencode:s"],
        vec!["recall", frame],
        vec!["recall", frame, "--tokens", "1000000"],
        vec!["search", "--limit", "100000", "a"],
        vec!["config", "list"],
        vec!["status", "--json"],
        vec!["tree", "--all", "--json"],
        vec!["context", "--session", "opencode:s", "--table"],
        vec!["brief", "--session", "opencode:s", "--json"],
        vec!["autonomy"],
        vec!["session", "list", "--all"],
        vec!["session", "list", "--all", "--json"],
        vec!["session", "show", "opencode:s"],
        vec!["session", "graph", "--all"],
        vec!["session", "graph", "--all", "--format", "svg"],
        vec!["session", "gc", "--dry-run"],
        vec!["session", "resume", "opencode:s"],
        vec!["graph", "-o", "graph.svg"],
        vec!["graph", "--chart", "-o", "chart.svg"],
        vec!["graph", "--by", "time", "--format", "folded"],
        vec!["graph", "--format", "speedscope"],
        vec!["graph", "--format", "trace"],
        vec!["projects"],
        vec!["doctor"],
        vec!["export", "exported"],
        vec!["gc", "--dry-run"],
        vec!["backup", "backup.flame"],
        vec!["forget", "--dry-run", "no such text"],
        vec!["rebuild"],
    ]
}
