//! Threads, queues and memory of a sidecar have limits, whatever its host does.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::sidecar::Served;

fn status(id: usize, session: &str) -> String {
    let params = json!({ "session": session, "what": "status" });
    json!({ "jsonrpc": "2.0", "id": id, "method": "show", "params": params }).to_string()
}

#[test]
fn many_sessions_share_a_few_threads_and_keep_their_order() {
    const SESSIONS: usize = 1_000;
    let mut host = Served::new();
    host.push("s0", "1", "Begin");
    for id in 0..2 * SESSIONS {
        host.send(&status(id, &format!("s{}", id % SESSIONS)));
    }
    let mut last: BTreeMap<usize, usize> = BTreeMap::new();
    for _ in 0..2 * SESSIONS {
        let answer = host.hear();
        assert!(answer["result"]["text"].is_string(), "{answer}");
        let id = usize::try_from(answer["id"].as_u64().unwrap()).unwrap();
        let before = last.insert(id % SESSIONS, id);
        assert!(before.is_none_or(|before| before < id), "out of order");
    }
    #[cfg(target_os = "linux")]
    {
        let threads = fs_err::read_dir("/proc/self/task").unwrap().count();
        // Other tests may run in the same process.
        assert!(threads < 200, "{threads} threads");
    }
}

#[test]
fn a_session_with_too_many_requests_is_refused_and_others_are_served() {
    let mut host = Served::new();
    host.push("a", "1", "Begin");
    // A lock that keeps the first request of the session, and all after it, waiting.
    let projects = fs_err::read_dir(host.dir.path().join("state/projects")).unwrap();
    let project = projects.map(|entry| entry.unwrap().path()).next().unwrap();
    let lock = std::fs::File::create(project.join("hooks.lock")).unwrap();
    lock.lock().unwrap();
    let stats =
        json!({ "name": "event", "calls": 1, "failures": 0, "totalMs": 1.0, "slowestMs": 1.0 });
    let report = json!({ "session": "a", "events": [{ "kind": "hookStats", "hooks": [stats] }] });
    let slow = json!({ "jsonrpc": "2.0", "id": 0, "method": "observe", "params": report });
    host.send(&slow.to_string());
    for id in 1..=1_100 {
        host.send(&status(id, "a"));
    }
    let busy = host.hear();
    assert_eq!(busy["error"]["code"], -32001, "{busy}");
    host.send(&status(9_999, "b"));
    while host.hear()["id"] != 9_999 {}
    lock.unlock().unwrap();
    let mut answers = vec![Value::Null; 1_001];
    while answers.iter().any(Value::is_null) {
        let answer = host.hear();
        if answer.get("result").is_some() {
            let id = usize::try_from(answer["id"].as_u64().unwrap()).unwrap();
            answers[id] = answer;
        }
    }
}
