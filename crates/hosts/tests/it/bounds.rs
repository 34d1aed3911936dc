//! Threads, queues and memory of a sidecar have limits, whatever its host does.

use std::collections::BTreeMap;

use serde_json::json;

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
