//! A real sidecar keeps its threads and its memory within limits, whatever the host does.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::ground::TestProject;

/// Maximum number of threads: workers and those for upkeep.
const MAX_THREADS: u64 = 40;
/// Maximum memory, in kB: what waits is limited to 64 MB.
const MAX_MEMORY: u64 = 150_000;

pub(crate) struct Host {
    pub(crate) child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Host {
    pub(crate) fn start(mut sidecar: Command) -> Self {
        let mut child = sidecar
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (to, from) = (child.stdin.take(), child.stdout.take().unwrap());
        let from = BufReader::new(from);
        let mut host = Self { child, to, from };
        let hello = json!({ "protocol": 2, "host": "opencode", "directory": "/" });
        host.send(&request(0, "hello", &hello));
        host.hear();
        host
    }

    pub(crate) fn send(&mut self, line: &str) {
        let to = self.to.as_mut().unwrap();
        to.write_all(line.as_bytes()).unwrap();
    }

    pub(crate) fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        serde_json::from_str(&line).expect("the sidecar answers")
    }

    fn status(&self, field: &str) -> u64 {
        let status = fs_err::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        let number = line.unwrap().split_whitespace().next();
        number.unwrap().parse().unwrap()
    }

    /// Asserts that threads and memory have stayed within their limits.
    fn check(&self) {
        let (threads, memory) = (self.status("Threads:"), self.status("VmHWM:"));
        assert!(threads <= MAX_THREADS, "{threads} threads");
        assert!(memory <= MAX_MEMORY, "{memory} kB");
    }

    fn end(mut self) {
        self.to = None;
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

pub(crate) fn request(id: usize, method: &str, params: &Value) -> String {
    let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    format!("{request}\n")
}

fn status(id: usize, session: &str) -> String {
    request(id, "show", &json!({ "session": session, "what": "status" }))
}

#[test]
fn ten_thousand_sessions_share_a_few_threads() {
    const SESSIONS: usize = 10_000;
    let project = TestProject::new();
    project.push("Root");
    let mut host = Host::start(project.command(&["sidecar"]));
    for first in (0..SESSIONS).step_by(500) {
        for n in first..first + 500 {
            host.send(&status(n, &format!("s{n}")));
        }
        host.check();
        for _ in 0..500 {
            let answer = host.hear();
            assert!(answer["result"]["text"].is_string(), "{answer}");
        }
    }
    host.check();
    host.end();
}

#[test]
fn a_host_that_does_not_read_costs_bounded_memory() {
    const REQUESTS: usize = 30_000;
    let project = TestProject::new();
    project.push("Root");
    let mut host = Host::start(project.command(&["sidecar"]));
    let mut to = host.to.take().unwrap();
    let sending = std::thread::spawn(move || {
        for n in 0..REQUESTS {
            let line = status(n, &format!("s{}", n % 50));
            to.write_all(line.as_bytes()).unwrap();
        }
        to
    });
    // Answers fill the pipe, then the queues, and then the sidecar reads no more.
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(2) && !sending.is_finished() {
        std::thread::sleep(Duration::from_millis(50));
        host.check();
    }
    let mut answered = vec![false; REQUESTS];
    for _ in 0..REQUESTS {
        let answer = host.hear();
        assert!(answer.get("result").is_some() || answer["error"]["code"] == -32001);
        let id = usize::try_from(answer["id"].as_u64().unwrap()).unwrap();
        assert!(!std::mem::replace(&mut answered[id], true), "answered once");
    }
    host.check();
    host.to = Some(sending.join().unwrap());
    host.end();
}

#[test]
fn a_process_limit_costs_threads_and_no_answer() {
    // No limit applies to root, so another user runs it, with a program that it may read.
    const OTHER_USER: u32 = 54_321;
    let project = TestProject::new();
    let id = Command::new("id").arg("-u").output().unwrap().stdout;
    let is_root = id.trim_ascii() == b"0";
    let program = project.dir().join("flame");
    fs_err::copy(env!("CARGO_BIN_EXE_flame"), &program).unwrap();
    for limit in [1, 3] {
        let plain = project.command(&["sidecar"]);
        let mut limited = Command::new("prlimit");
        limited
            .arg(format!("--nproc={limit}"))
            .env_clear()
            .arg(&program)
            .args(plain.get_args())
            .current_dir(project.root());
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => limited.env(name, value),
                None => limited.env_remove(name),
            };
        }
        if is_root {
            use std::os::unix::process::CommandExt as _;
            give(project.dir(), OTHER_USER);
            limited.uid(OTHER_USER).gid(OTHER_USER);
        }
        let mut host = Host::start(limited);
        for n in 0..100 {
            let goal = json!({ "title": format!("Frame {n}"), "successCriteria": "done" });
            let session = format!("{limit}s{n}");
            let params =
                json!({ "session": session, "name": "stack_frame_push", "arguments": goal });
            host.send(&request(n, "call", &params));
        }
        for _ in 0..100 {
            let answer = host.hear();
            assert!(answer.get("result").is_some(), "{answer}");
        }
        assert!(host.status("Threads:") <= limit.max(1), "the limit holds");
        host.end();
    }
}

/// Makes a user the owner of a folder and everything in it.
fn give(path: &Path, user: u32) {
    std::os::unix::fs::lchown(path, Some(user), Some(user)).unwrap();
    if path.is_dir() && !path.is_symlink() {
        for entry in fs_err::read_dir(path).unwrap() {
            give(&entry.unwrap().path(), user);
        }
    }
}
