//! A host's plugin on the other end of the pipe, one line at a time.

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write, pipe};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use flamestack_brief::workflow::Workflows;
use flamestack_core::{Actor, Author, SessionRef};
use flamestack_engine::clock::StoryClock;
use flamestack_engine::compaction::SummaryAuthor;
use flamestack_engine::folding::FoldPolicy;
use flamestack_engine::request::{GoalInput, ParentInput};
use flamestack_engine::tools::Profile;
use flamestack_engine::{Engine, Home, Project, Request};
use flamestack_hosts::sidecar::wire::{Isolation, Placement};
use flamestack_hosts::sidecar::{Sidecar, Upkeep, serve};
use serde_json::{Value, json};

/// A sidecar that serves us.
pub(crate) struct Served {
    to: Option<PipeWriter>,
    from: BufReader<PipeReader>,
    serving: Option<JoinHandle<()>>,
    asked: u64,
    pub(crate) dir: tempfile::TempDir,
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "literals, written where they are asked"
)]
impl Served {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut Sidecar)) -> Self {
        Self::started(1_700_000_000_000, change)
    }

    /// A sidecar whose clock starts at a time.
    pub(crate) fn at(time: i64) -> Self {
        Self::started(time, |_| {})
    }

    fn started(time: i64, change: impl FnOnce(&mut Sidecar)) -> Self {
        Self::started_in(tempfile::tempdir().unwrap(), time, change)
    }

    /// A sidecar that starts after this one has ended, in the same project.
    pub(crate) fn again(mut self) -> Self {
        drop(self.ended());
        let dir = std::mem::replace(&mut self.dir, tempfile::tempdir().unwrap());
        Self::started_in(dir, 1_700_000_100_000, |_| {})
    }

    fn started_in(dir: tempfile::TempDir, time: i64, change: impl FnOnce(&mut Sidecar)) -> Self {
        let home = Home {
            state: dir.path().join("state"),
            config: dir.path().join("config"),
        };
        let project = Project::at(dir.path(), &home).unwrap();
        let clock = Box::new(StoryClock::starting_at(time));
        let mut sidecar = Sidecar {
            engine: Engine::new(project, clock, Duration::from_secs(5)),
            worktree: Some("main".to_owned()),
            tools: Profile::Core,
            placement: Placement::Auto,
            fold: FoldPolicy::Explicit,
            isolation: Isolation::Inline,
            workflows: Workflows::built_in(),
            brief_budget: 2000,
            summaries: SummaryAuthor::Host,
            patience: Duration::from_mins(2),
            restore_budget: 1000,
            notices: Vec::new(),
            stopped: None,
            in_tool_call: false,
            upkeep: None,
            process: None,
        };
        change(&mut sidecar);
        let (input, to) = pipe().unwrap();
        let (from, output) = pipe().unwrap();
        let serving = thread::spawn(move || {
            serve(&sidecar, BufReader::new(input), output).unwrap();
        });
        let mut served = Self {
            to: Some(to),
            from: BufReader::new(from),
            serving: Some(serving),
            asked: 0,
            dir,
        };
        served.ask(
            "hello",
            json!({ "protocol": 2, "host": "opencode", "directory": "/" }),
        );
        served
    }

    pub(crate) fn send(&mut self, line: &str) {
        writeln!(self.to.as_mut().unwrap(), "{line}").unwrap();
    }

    pub(crate) fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let request =
            json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params });
        self.send(&request.to_string());
        let mut answer = self.hear();
        assert_eq!(answer["id"], self.asked, "{answer}");
        match answer.get_mut("result") {
            Some(result) => result.take(),
            None => answer["error"]["message"].take(),
        }
    }

    pub(crate) fn prompt(&mut self, session: &str, message: &str, text: &str) -> Value {
        self.ask(
            "prompt",
            json!({ "session": session, "message": said(message, text) }),
        )
    }

    /// Returns a plan without its name.
    pub(crate) fn prepare(&mut self, session: &str, known: usize, messages: &[Value]) -> Value {
        let mut plan = self.plan(session, known, messages, None);
        plan.as_object_mut().unwrap().remove("plan");
        plan
    }

    fn plan(
        &mut self,
        session: &str,
        known: usize,
        messages: &[Value],
        has: Option<&Value>,
    ) -> Value {
        self.ask(
            "prepare",
            json!({ "session": session, "known": known, "messages": messages, "has": has }),
        )
    }

    pub(crate) fn call(
        &mut self,
        session: &str,
        message: &str,
        tool: &str,
        arguments: Value,
    ) -> String {
        let params = json!({
            "session": session, "message": message, "name": tool, "arguments": arguments,
        });
        let called = self.ask("call", params);
        called["output"].as_str().unwrap().to_owned()
    }

    pub(crate) fn push(&mut self, session: &str, message: &str, title: &str) -> String {
        let goal = json!({ "title": title, "successCriteria": "done" });
        self.call(session, message, "stack_frame_push", goal)
    }

    pub(crate) fn pop(&mut self, session: &str, message: &str, results: &str) -> String {
        let results = json!({ "status": "completed", "results": results });
        self.call(session, message, "stack_frame_pop", results)
    }
}

impl Served {
    /// Returns what the store has of a session's conversation.
    fn transcript(&mut self, session: &str) -> String {
        let whole = json!({ "query": format!("opencode:{session}"), "tokens": 5000 });
        let recalled = self.call(session, "x", "stack_recall", whole);
        let (_, transcript) = recalled.split_once("## Transcript").unwrap();
        transcript.to_owned()
    }

    /// Ends the sidecar and returns an engine on its store, which then holds everything that was sent.
    pub(crate) fn ended(&mut self) -> Engine {
        self.to = None;
        if let Some(serving) = self.serving.take() {
            serving.join().unwrap();
        }
        let home = Home {
            state: self.dir.path().join("state"),
            config: self.dir.path().join("config"),
        };
        let project = Project::at(self.dir.path(), &home).unwrap();
        let clock = Box::new(StoryClock::starting_at(1_700_000_000_000));
        Engine::new(project, clock, Duration::from_secs(5))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.to = None;
        // The sidecar ends with its input; a test that hangs here has found that it does not.
        if let Some(serving) = self.serving.take() {
            serving.join().unwrap();
        }
    }
}

pub(crate) fn said(id: &str, text: &str) -> Value {
    json!({ "id": id, "role": "user", "parts": [{ "type": "text", "id": format!("{id}p"), "text": text }] })
}

pub(crate) fn work(id: &str) -> Value {
    json!({ "id": id, "role": "assistant", "parts": [{
        "type": "tool", "id": format!("{id}p"), "callID": format!("call_{id}"), "tool": "read",
        "state": { "status": "completed", "input": { "filePath": "a.rs" }, "output": "fn main() {}" },
    }] })
}

#[test]
fn a_popped_frame_leaves_the_prompt_and_stays_out_of_it() {
    let mut host = Served::new();
    let nothing = json!({ "drop": [], "strip": [], "insert": [] });
    assert_eq!(host.prompt("s", "1", "Fix the login"), json!({}));
    assert_eq!(host.prepare("s", 0, &[said("1", "Fix the login")]), nothing);
    host.push("s", "2", "Reproduce");
    assert_eq!(host.prepare("s", 1, &[work("2")]), nothing);
    assert_eq!(host.prepare("s", 2, &[work("3"), work("4")]), nothing);
    host.pop("s", "5", "It is the cookie");
    let folded = json!({ "drop": ["3", "4"], "strip": [], "insert": [] });
    assert_eq!(host.prepare("s", 4, &[work("5")]), folded);
    assert_eq!(host.prepare("s", 5, &[said("6", "And now?")]), folded);
}

#[test]
fn what_is_folded_is_one_recall_away() {
    let mut host = Served::new();
    host.prompt("s", "1", "Fix the login");
    let pushed = host.push("s", "2", "Find the fault");
    let frame = pushed.split_whitespace().next().unwrap().to_owned();
    host.prepare("s", 0, &[said("1", "Fix the login"), work("2"), work("3")]);
    host.pop("s", "4", "It is the cookie");
    let mut recall = |arguments: Value| host.call("s", "5", "stack_recall", arguments);
    let whole = recall(json!({ "query": frame }));
    assert!(whole.contains("Results: It is the cookie"), "{whole}");
    assert!(whole.contains("fn main() {}"), "{whole}");
    let short = recall(json!({ "query": frame, "tokens": 60 }));
    assert!(short.contains("Results: It is the cookie"), "{short}");
    assert!(short.ends_with("for entry n]\n"), "{short}");
    assert!(short.len() < whole.len());
}

#[test]
fn a_plan_that_the_shim_holds_does_not_cross_again() {
    let mut host = Served::new();
    host.push("s", "1", "Look");
    let first = host.plan("s", 0, &[work("1")], None);
    let second = host.plan("s", 1, &[work("2")], Some(&first["plan"]));
    assert_eq!(second["same"], true);
    host.pop("s", "3", "Seen");
    let third = host.plan("s", 2, &[work("3")], Some(&first["plan"]));
    assert_eq!(
        (&third["same"], &third["drop"]),
        (&Value::Null, &json!(["2"]))
    );
}

#[test]
fn a_sidecar_that_knows_nothing_yet_asks_for_everything() {
    let mut host = Served::new();
    assert_eq!(host.prepare("s", 3, &[work("4")])["resync"], true);
    assert_eq!(
        host.prepare("s", 0, &[said("1", "Hi")])["resync"],
        Value::Null
    );
}

#[test]
fn conversations_have_their_own_frames() {
    let mut host = Served::new();
    host.push("one", "1", "Left");
    host.push("two", "1", "Right");
    let status = |host: &mut Served, session: &str| {
        host.ask("show", json!({ "session": session, "what": "status" }))["text"].to_string()
    };
    let left = status(&mut host, "one");
    assert!(left.contains("Left"), "{left}");
    let right = status(&mut host, "two");
    assert!(right.contains("Right"), "{right}");
}

#[test]
fn what_is_ours_is_stripped_before_a_summary_and_nothing_is_added() {
    let mut host = Served::new();
    let ours = json!({ "id": "1", "role": "user", "parts": [
        { "type": "text", "id": "p1", "text": "Fix it" },
        { "type": "text", "id": "p2", "text": "<stack-update>…</stack-update>", "synthetic": true },
    ] });
    let summary = host.ask(
        "prepare",
        json!({ "session": "s", "known": 0, "messages": [ours], "compacting": true }),
    );
    assert_eq!(
        summary,
        json!({ "drop": [], "strip": ["p2"], "insert": [] })
    );
}

#[test]
fn a_header_stays_and_news_comes_behind_the_users_words() {
    let mut host = Served::new();
    let pushed = host.push("s", "1", "Login");
    let id = pushed.split_whitespace().next().unwrap();
    host.prompt("s", "2", "Go on");
    let header = host.prepare("s", 0, &[said("2", "Go on")])["system"].clone();
    assert!(header.as_str().unwrap().contains("Login"), "{header}");

    host.push("other", "1", "Elsewhere");
    assert_eq!(
        host.prompt("s", "3", "And now?"),
        json!({}),
        "another tree is not news"
    );
    let plan = json!({ "parentSessionID": id, "children": [
        { "title": "Check the cookie", "successCriteria": "done" },
    ] });
    host.call("other", "2", "stack_frame_plan_children", plan);
    let news = host.prompt("s", "4", "What else?")["append"].clone();
    assert!(
        news.as_str().unwrap().contains("Check the cookie"),
        "{news}"
    );
    assert_eq!(
        host.prompt("s", "4", "What else?")["append"],
        news,
        "asked again"
    );
    assert_eq!(host.prompt("s", "5", "Fine"), json!({}));
    assert_eq!(host.prepare("s", 1, &[work("6")])["system"], header);
}

#[test]
fn bad_lines_are_answered_and_survived() {
    let mut host = Served::new();
    for (line, code) in [
        ("garbage", -32700),
        ("[1,2]", -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"nonsense"}"#, -32601),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"prepare","params":{"session":5}}"#,
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"call","params":{"session":"a b","name":"x"}}"#,
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"hello","params":{"protocol":9,"host":"x","directory":"/"}}"#,
            -32000,
        ),
    ] {
        host.send(line);
        let answer = host.hear();
        assert_eq!(answer["error"]["code"], code, "{line} gave {answer}");
    }
    let refused = host.call(
        "s",
        "1",
        "stack_frame_pop",
        json!({ "status": "maybe", "results": "" }),
    );
    assert!(
        refused.contains("unknown variant `maybe`, expected one of"),
        "{refused}"
    );
    assert!(host.push("s", "1", "Still here").contains("is in progress"));
}

#[test]
fn one_conversation_does_not_wait_for_another() {
    let mut host = Served::new();
    host.push("b", "1", "Somewhere");
    // A lock guards the statistics of the hooks: as long as the test holds it, a session that reports some waits.
    let projects = fs_err::read_dir(host.dir.path().join("state/projects")).unwrap();
    let [project] = &projects
        .map(|entry| entry.unwrap().path())
        .collect::<Vec<_>>()[..]
    else {
        panic!("one project");
    };
    let lock = std::fs::File::create(project.join("hooks.lock")).unwrap();
    lock.lock().unwrap();
    let figures =
        json!({ "name": "event", "calls": 1, "failures": 0, "totalMs": 1.0, "slowestMs": 1.0 });
    let report = json!({ "session": "a", "events": [{ "kind": "hookStats", "hooks": [figures] }] });
    host.send(
        &json!({ "jsonrpc": "2.0", "id": "slow", "method": "observe", "params": report })
            .to_string(),
    );
    let status = host.ask("show", json!({ "session": "b", "what": "status" }));
    assert!(status["text"].as_str().unwrap().contains("Somewhere"));
    lock.unlock().unwrap();
    assert_eq!(host.hear()["id"], "slow");
}

#[test]
fn placements_that_say_everything_say_it_where_they_should() {
    for (placement, place) in [(Placement::System, "system"), (Placement::Message, "tail")] {
        let mut host = Served::with(|sidecar| sidecar.placement = placement);
        assert_eq!(host.prepare("s", 0, &[said("1", "Hi")])[place], Value::Null);
        host.push("s", "2", "Login");
        let prepared = host.prepare("s", 1, &[work("2")]);
        assert!(
            prepared[place].as_str().unwrap().contains("Login"),
            "{prepared}"
        );
    }
}

#[test]
fn nothing_is_folded_where_that_is_not_wanted() {
    let mut host = Served::with(|sidecar| sidecar.fold = FoldPolicy::Off);
    host.push("s", "1", "Look");
    host.pop("s", "3", "Seen");
    let prepared = host.prepare("s", 0, &[work("1"), work("2"), work("3")]);
    assert_eq!(prepared["drop"], json!([]));
}

pub(crate) fn answered(id: &str, text: &str) -> Value {
    json!({ "id": id, "role": "assistant", "parts": [{ "type": "text", "id": format!("{id}t"), "text": text }] })
}

impl Served {
    pub(crate) fn observe(&mut self, session: &str, events: &Value) {
        let params = json!({ "session": session, "events": events });
        self.ask("observe", params);
    }

    pub(crate) fn tree(&mut self, session: &str) -> String {
        let shown = self.ask("show", json!({ "session": session, "what": "tree" }));
        let text = shown["text"].as_str().unwrap();
        let lines = text.lines().take_while(|line| !line.is_empty());
        lines.collect::<Vec<_>>().join("\n")
    }

    /// A turn in which the model only talks.
    pub(crate) fn turn(&mut self, session: &str, n: usize, prompt: &str, answer: &str) -> Value {
        let (asked, said_by_model) = (format!("{n}u"), format!("{n}a"));
        self.prompt(session, &asked, prompt);
        let known = (n - 1) * 2;
        let plan = self.prepare(session, known, &[said(&asked, prompt)]);
        self.prepare(session, known + 1, &[answered(&said_by_model, answer)]);
        let message = answered(&said_by_model, answer);
        let mut event = json!({ "kind": "message" });
        event
            .as_object_mut()
            .unwrap()
            .extend(message.as_object().unwrap().clone());
        self.observe(session, &json!([event, { "kind": "idle" }]));
        plan
    }
}

#[test]
fn a_model_that_never_calls_us_still_has_a_tree() {
    let mut host = Served::new();
    host.turn("s", 1, "Fix the login", "The cookie was missing.");
    host.turn("s", 2, "Now the logout", "It redirects now.");
    host.observe(
        "s",
        &json!([{ "kind": "todos", "items": [
            { "text": "Write tests", "status": "pending" },
            { "text": "Ship it", "status": "in_progress" },
        ] }]),
    );
    host.turn("s", 3, "And the docs", "Written.");
    insta::assert_snapshot!(host.tree("s"), @"
    → vgme5xnq  Fix the login · 2/5 done  ◀ you are here
    ├─ ✓ we79889v  Fix the login
    ├─ ✓ qnhe4wn9  Now the logout
    ├─ ○ rk49779d  Write tests
    ├─ → shq5bkyj  Ship it
    └─ → mr19669z  And the docs · answered
    ");
}

#[test]
fn a_pushed_frame_takes_the_place_of_its_prompts_empty_frame() {
    let mut host = Served::new();
    host.turn("s", 1, "Fix the login", "The cookie was missing.");
    host.prompt("s", "2u", "Build the shop");
    host.prepare("s", 2, &[said("2u", "Build the shop")]);
    let answer = host.push("s", "2a", "Build the shop");
    assert!(!answer.contains("deleted"), "{answer}");
    insta::assert_snapshot!(host.tree("s"), @"
    → vgme5xnq  Fix the login · 1/2 done
    ├─ ✓ we79889v  Fix the login
    └─ → rk49779d  Build the shop  ◀ you are here
    ");
    host.pop("s", "2b", "It has a till.");
    host.observe("s", &json!([{ "kind": "idle" }]));
    // The user's words are kept, and the next prompt has a frame again.
    host.turn("s", 3, "And the docs", "Written.");
    let tree = host.tree("s");
    let shops = tree.lines().filter(|line| line.contains("Build the shop"));
    assert_eq!(shops.count(), 1, "{tree}");
    assert!(tree.contains("And the docs · answered"), "{tree}");
    let transcript = host.transcript("s");
    assert_eq!(
        transcript.matches("Build the shop").count(),
        1,
        "{transcript}"
    );
}

#[test]
fn a_prompts_frame_with_work_in_it_stays_beside_a_pushed_frame() {
    let mut host = Served::new();
    host.turn("s", 1, "Fix the login", "The cookie was missing.");
    host.prompt("s", "2u", "Build the shop");
    let written = json!({ "id": "2a", "role": "assistant", "parts": [{
        "type": "tool", "id": "2ap", "callID": "c", "tool": "write",
        "state": { "status": "completed", "input": { "filePath": "shop.rs" }, "output": "ok" },
    }] });
    host.prepare("s", 2, &[said("2u", "Build the shop"), written]);
    host.push("s", "2b", "Test the shop");
    let tree = host.tree("s");
    assert!(tree.contains("Build the shop"), "{tree}");
}

#[test]
fn what_was_only_seen_is_folded_when_the_user_speaks_again() {
    let mut host = Served::with(|sidecar| sidecar.fold = FoldPolicy::Auto);
    host.turn("s", 1, "Fix the login", "The cookie was missing.");
    host.turn("s", 2, "Now the logout", "It redirects now.");
    let plan = host.turn("s", 3, "And the docs", "Written.");
    insta::assert_snapshot!(serde_json::to_string_pretty(&plan).unwrap(), @r#"
    {
      "drop": [
        "1a",
        "2a"
      ],
      "insert": [
        {
          "before": "2u",
          "id": "flame_we79889v",
          "text": "<frame-results id=\"we79889v\" title=\"Fix the login\" status=\"completed\">The cookie was missing.</frame-results>\n"
        },
        {
          "before": "3u",
          "id": "flame_qnhe4wn9",
          "text": "<frame-results id=\"qnhe4wn9\" title=\"Now the logout\" status=\"completed\">It redirects now.</frame-results>\n"
        }
      ],
      "strip": []
    }
    "#);
}

#[test]
fn a_turn_that_the_user_stops_has_failed_and_the_stop_counts_once() {
    let idle = json!({ "kind": "idle" });
    let stop = json!({ "kind": "interrupted" });
    let mut aborted = answered("2a", "I think");
    aborted["kind"] = json!("message");
    aborted["error"] = json!({ "name": "MessageAbortedError" });
    // OpenCode's order, and others.
    for reports in [
        json!([stop, idle, aborted, idle]),
        json!([aborted, stop, idle]),
        json!([aborted, idle, idle]),
        json!([stop, idle, idle]),
        json!([stop, idle]),
    ] {
        let mut host = Served::new();
        host.turn("s", 1, "Fix the login", "Fixed.");
        host.prompt("s", "2u", "Now the logout");
        host.observe("s", &reports);
        host.prompt("s", "3u", "And the docs");
        let tree = host.tree("s");
        let stopped = tree.lines().find(|line| line.contains("Now the logout"));
        assert!(stopped.unwrap().contains('✗'), "{reports}:\n{tree}");
        let frame = json!({ "frameID": "opencode:s" });
        let details = host.call("s", "x", "stack_frame_details", frame);
        assert!(details.contains("1 time\n"), "{reports}: {details}");
    }
}

#[test]
fn a_turn_that_an_error_ends_has_failed_and_was_not_stopped() {
    let idle = json!({ "kind": "idle" });
    let mut refused = answered("2a", "I think");
    refused["kind"] = json!("message");
    refused["error"] = json!({ "name": "APIError", "data": { "message": "no credit" } });
    // OpenCode's order, and others.
    for reports in [
        json!([refused, idle]),
        json!([idle, refused, idle]),
        json!([idle, refused]),
        json!([{ "kind": "failed", "why": "APIError: no credit", "message": "2a" }, idle, refused, idle]),
        json!([refused, { "kind": "failed", "why": "APIError: no credit", "message": "2a" }, idle]),
        json!([{ "kind": "failed", "why": "APIError: no credit" }, idle]),
    ] {
        let mut host = Served::new();
        host.turn("s", 1, "Fix the login", "Fixed.");
        host.prompt("s", "2u", "Now the logout");
        host.observe("s", &reports);
        host.prompt("s", "3u", "And the docs");
        let tree = host.tree("s");
        let failed = tree.lines().find(|line| line.contains("Now the logout"));
        let failed = failed.unwrap();
        assert!(failed.contains('✗'), "{reports}:\n{tree}");
        let id = failed.split_whitespace().find(|word| word.len() == 8);
        let frame = json!({ "frameID": id.unwrap() });
        let details = host.call("s", "x", "stack_frame_details", frame);
        let results = "Ended by an error: APIError: no credit";
        assert!(details.contains(results), "{reports}: {details}");
        let recalled = host.call("s", "x", "stack_recall", json!({ "query": "opencode:s" }));
        let errors = recalled.matches("### Ended by an error").count();
        assert_eq!(errors, 1, "{reports}: {recalled}");
    }
}

#[test]
fn what_a_killed_process_did_not_record_comes_before_the_next_prompt() {
    let mut host = Served::new();
    host.turn("s", 1, "Fix the login", "Fixed.");
    host.prompt("s", "2u", "Now the logout");
    host.prepare("s", 2, &[said("2u", "Now the logout")]);
    let mut host = host.again();
    host.prompt("s", "3u", "And the docs");
    assert_eq!(host.prepare("s", 4, &[])["resync"], true);
    let test = json!({ "id": "2a", "role": "assistant", "parts": [{
        "type": "tool", "id": "2ap", "callID": "c", "tool": "bash",
        "state": { "status": "completed", "input": { "command": "cargo test logout" }, "output": "ok",
            "metadata": { "exit": 0 } },
    }] });
    let messages = [
        said("1u", "Fix the login"),
        answered("1a", "Fixed."),
        said("2u", "Now the logout"),
        test,
        said("3u", "And the docs"),
    ];
    host.prepare("s", 0, &messages);
    host.observe("s", &json!([{ "kind": "idle" }]));
    let transcript = host.transcript("s");
    let place = |words: &str| {
        transcript
            .find(words)
            .unwrap_or_else(|| panic!("{words}: {transcript}"))
    };
    assert!(
        place("Now the logout") < place("cargo test logout"),
        "{transcript}"
    );
    assert!(
        place("cargo test logout") < place("And the docs"),
        "{transcript}"
    );
    // The evidence belongs to the prompt that it was gathered for.
    let tree = host.tree("s");
    let cut_off = tree
        .lines()
        .find(|line| line.contains("Now the logout"))
        .unwrap();
    let id = cut_off
        .split_whitespace()
        .find(|word| word.len() == 8)
        .unwrap();
    let details = host.call("s", "x", "stack_frame_details", json!({ "frameID": id }));
    assert!(details.contains("cargo test logout"), "{details}");
}

#[test]
fn a_prompt_without_a_request_is_recorded_when_the_host_ends() {
    let mut host = Served::new();
    host.turn("s", 1, "Fix the login", "Fixed.");
    let mut host = host.again();
    host.prompt("s", "2u", "Now the logout");
    let engine = host.ended();
    let session = engine
        .session(&"opencode:s".parse().unwrap())
        .unwrap()
        .unwrap();
    assert_eq!(session.activity.prompts, 2);
}

#[test]
fn an_idle_sidecar_cleans_up_by_itself() {
    let mut dir = std::path::PathBuf::new();
    let mut served = Served::with(|sidecar| {
        sidecar.upkeep = Some(Upkeep {
            quiet: Duration::from_millis(1),
            interval: Duration::from_hours(24),
            limit: u64::MAX,
            max_age_days: 0,
        });
        dir.clone_from(&sidecar.engine.project().dir);
        let actor = Actor {
            session: SessionRef::shell("main"),
            worktree: None,
            message: None,
            by: Author::User,
        };
        let push = Request::Push {
            parent: ParentInput::Root,
            goal: GoalInput::titled("Root"),
        };
        sidecar.engine.commands().execute(&actor, &push).unwrap();
        // A process that died has left it.
        let logs = sidecar.engine.logs();
        let hold = logs.hold().unwrap();
        logs.keep_text(&hold, "orphaned").unwrap();
    });
    let blobs = flamestack_store::Blobs::new(&dir);
    while !blobs.stored_sizes().unwrap().is_empty() || !dir.join("collected").exists() {
        thread::yield_now();
    }
    // It still answers, and ends when its input does.
    served.ask(
        "hello",
        json!({ "protocol": 2, "host": "opencode", "directory": "/" }),
    );
}
