//! Hostile stores and requests: whatever was recorded and whatever is asked, an answer takes bounded
//! time and memory. `cargo xtask hostile` runs this at full size, with stores of 50 MB and requests
//! of 1 MB, in a release build.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use flamestack_core::Actor;
use flamestack_core::transcript::{Answer, Call, CallKind, Entry, EntryKind, Speaker};
use flamestack_engine::request::NoteInput;
use flamestack_engine::{Engine, Home, Project, Request, SystemClock, tools};
use serde_json::{Value, json};

use crate::ground::{Dice, TestProject};

/// Maximum memory of a process that answers a request, in kB.
const MEMORY_LIMIT: u64 = 200_000;
/// Maximum memory of a search, in kB, and its time at full size.
const SEARCH_MEMORY: u64 = 50_000;
const SEARCH_TIME: Duration = Duration::from_millis(200);

/// The size of stores and requests, and the time that an answer may take.
struct Scale {
    store: usize,
    request: usize,
    time: Duration,
    search: Duration,
}

impl Scale {
    fn chosen() -> Self {
        if std::env::var_os("FLAME_HOSTILE").is_some_and(|size| size == "full") {
            Self {
                store: 48_000_000,
                request: 1_000_000,
                time: Duration::from_secs(2),
                search: SEARCH_TIME,
            }
        } else {
            // A debug build on a busy machine; the limit is there to end what never would.
            Self {
                store: 1_000_000,
                request: 50_000,
                time: Duration::from_mins(1),
                search: Duration::from_mins(1),
            }
        }
    }
}

/// Time and memory of an answer.
struct Measured {
    case: String,
    /// Time that the process computed.
    cpu: Duration,
    /// Time that passed, which on a busy machine is more.
    wall: Duration,
    /// Largest memory, in kB.
    memory: u64,
}

/// Everything that was measured.
#[derive(Default)]
struct Report(Vec<Measured>);

impl Report {
    fn add(&mut self, measured: Measured) {
        self.0.push(measured);
    }

    /// Prints the largest figures.
    #[expect(clippy::print_stderr, reason = "the figures are the result")]
    fn print(&self, title: &str) {
        let mut text = format!("{title}: {} pairs of store and request\n", self.0.len());
        let mut list = |title: &str, by: &dyn Fn(&Measured) -> u64, only_searches: bool| {
            let _ = writeln!(text, "  {title}:");
            let wanted = |one: &&Measured| !only_searches || one.is_search();
            let mut cases: Vec<&Measured> = self.0.iter().filter(wanted).collect();
            cases.sort_by_key(|one| std::cmp::Reverse(by(one)));
            for one in cases.into_iter().take(5) {
                let (cpu, wall) = (one.cpu.as_millis(), one.wall.as_millis());
                let memory = one.memory / 1000;
                let case = &one.case;
                let _ = writeln!(
                    text,
                    "  {cpu:>6} ms ({wall} ms passed) {memory:>5} MB  {case}"
                );
            }
        };
        let time = |one: &Measured| u64::try_from(one.cpu.as_millis()).unwrap();
        list("largest memory", &|one| one.memory, false);
        list("largest time", &time, false);
        list("largest memory of a search", &|one| one.memory, true);
        list("largest time of a search", &time, true);
        eprintln!("{text}");
    }

    /// Fails if a figure is above its limit.
    fn check(&self, scale: &Scale) {
        let over = self.0.iter().filter(|one| {
            let is_small = !one.is_search() || one.memory <= SEARCH_MEMORY;
            let time = if one.is_search() {
                scale.search
            } else {
                scale.time
            };
            one.memory > MEMORY_LIMIT || one.cpu > time || !is_small
        });
        let over: Vec<String> = over
            .map(|one| format!("{:?} {} kB {}", one.cpu, one.memory, one.case))
            .collect();
        assert!(over.is_empty(), "over the limit:\n{}", over.join("\n"));
    }
}

impl Measured {
    /// Returns true for `flame search`, whose process does nothing else.
    fn is_search(&self) -> bool {
        self.case.contains(": flame search")
    }
}

fn actor(session: &str) -> Actor {
    Actor {
        session: session.parse().unwrap(),
        worktree: Some("main".to_owned()),
        message: None,
        by: flamestack_core::Author::Agent,
    }
}

/// A project with an engine that fills it.
struct Filled {
    project: TestProject,
    engine: Engine,
}

impl Filled {
    fn new() -> Self {
        let project = TestProject::new();
        let home = Home {
            state: project.dir().join("state"),
            config: project.dir().join("config/flamestack"),
        };
        let place = Project::at(project.root(), &home).unwrap();
        let engine = Engine::new(place, Box::new(SystemClock), Duration::from_secs(30));
        Self { project, engine }
    }

    fn tool(&self, session: &str, name: &str, arguments: Value) {
        tools::call(&self.engine, &actor(session), name, arguments).unwrap();
    }

    fn push(&self, title: &str) {
        let goal = json!({ "title": title, "successCriteria": "done" });
        self.tool("opencode:s", "stack_frame_push", goal);
    }

    fn note(&self, text: &str) {
        let note = NoteInput::Decision(text.to_owned(), None);
        let request = Request::Note { frame: None, note };
        let commands = self.engine.commands();
        commands.execute(&actor("opencode:s"), &request).unwrap();
    }

    fn log(&self, text: &str) {
        let logs = self.engine.logs();
        logs.append(&actor("opencode:s"), None, "log", text)
            .unwrap();
    }

    /// Imports frames from a predecessor's file.
    fn import(&self, frames: &serde_json::Map<String, Value>) {
        let state = json!({ "version": 1, "frames": frames, "rootFrameIDs": [], "updatedAt": 0 });
        let file = self.project.dir().join("state.json");
        fs_err::write(&file, state.to_string()).unwrap();
        self.project.ok(&["import", file.to_str().unwrap()]);
        fs_err::remove_file(file).unwrap();
    }

    /// Records a turn of a session with one answer of a tool.
    fn turn(&self, session: &str, n: usize, output: &str) {
        let entry = |place: &str, kind: EntryKind| Entry {
            id: Some(format!("{n}{place}")),
            message: Some(format!("m{n}{place}")),
            ..Entry::of(kind)
        };
        let prompt = EntryKind::User {
            speaker: Speaker::Person,
            text: format!("Prompt {n}"),
        };
        let call = EntryKind::Call(Call {
            id: format!("c{n}"),
            tool: "bash".to_owned(),
            kind: CallKind::Execute,
            arguments: "{}".to_owned(),
            paths: Vec::new(),
            command: Some("make".to_owned()),
        });
        let answer = EntryKind::Answer(Answer {
            call: format!("c{n}"),
            ok: true,
            exit_code: Some(0),
            text: output.to_owned(),
        });
        let entries = [
            entry("u", prompt),
            entry("c", call),
            entry("a", answer),
            entry("e", EntryKind::TurnEnded),
        ];
        self.engine.ingest(&actor(session), &entries).unwrap();
    }
}

fn former_frame(id: &str, parent: Option<&str>, decisions: &[String]) -> Value {
    let mut frame = json!({
        "sessionID": id, "status": "in_progress", "title": format!("Frame {id}"),
        "successCriteria": "done", "successCriteriaCompacted": "done",
        "createdAt": 1_766_400_000_000_i64, "updatedAt": 1_766_400_000_000_i64,
        "artifacts": [], "decisions": decisions, "plannedChildren": [],
    });
    if let Some(parent) = parent {
        frame["parentSessionID"] = json!(parent);
    }
    frame
}

/// Words that repeat rarely.
fn prose(dice: &mut Dice, length: usize) -> String {
    let mut text = String::with_capacity(length + 16);
    while text.len() < length {
        let _ = write!(text, "{:x}", dice.roll(1 << 40));
        text.push(if dice.roll(12) == 0 { '\n' } else { ' ' });
    }
    text
}

/// Characters of all kinds, with those that disguise text among them.
fn odd_text(dice: &mut Dice, length: usize) -> String {
    const ODD: [char; 14] = [
        '\u{200b}',
        '\u{202e}',
        '\u{2028}',
        '\u{3164}',
        '\u{e0041}',
        '\u{301}',
        '\u{1b}',
        '<',
        '&',
        ']',
        '日',
        'é',
        '👩',
        '\u{200d}',
    ];
    let mut text = String::with_capacity(length + 8);
    while text.len() < length {
        let place = usize::try_from(dice.roll(ODD.len() as u64)).unwrap();
        text.push(ODD[place]);
    }
    text
}

const STORES: [&str; 11] = [
    "rules",
    "one letter",
    "wide",
    "deep",
    "notes",
    "sessions",
    "transcripts",
    "repetition",
    "odd text",
    "markup",
    "pieces",
];

/// Fills a store in one hostile way.
fn filled(kind: &str, scale: &Scale) -> Filled {
    let filled = Filled::new();
    let mut dice = Dice(7);
    let piece = scale.request;
    filled.push("Root of all");
    match kind {
        "rules" => {
            for n in 0..8 {
                let line = format!("{}\n", "-".repeat(80));
                let rules = line.repeat(scale.store / 3 / line.len());
                filled.log(&format!("{rules}--- FAIL: TestLogin{n}\n"));
            }
        }
        "one letter" => {
            for n in 0..scale.store / piece / 2 {
                filled.note(&format!("{}{n}", "a".repeat(piece - 10)));
            }
            filled.log(&"a".repeat(scale.store / 3));
        }
        "wide" => {
            let mut frames = serde_json::Map::new();
            for n in 0..scale.store / 1_500 {
                let parent = (n % 3 > 0).then(|| format!("w{}", n - n % 3));
                frames.insert(
                    format!("w{n}"),
                    former_frame(&format!("w{n}"), parent.as_deref(), &[]),
                );
            }
            filled.import(&frames);
        }
        "deep" => {
            let mut frames = serde_json::Map::new();
            for n in 0..(scale.store / 1_500).min(10_000) {
                let parent = n.checked_sub(1).map(|above| format!("d{above}"));
                frames.insert(
                    format!("d{n}"),
                    former_frame(&format!("d{n}"), parent.as_deref(), &[]),
                );
            }
            filled.import(&frames);
        }
        "notes" => {
            let decisions: Vec<String> = (0..scale.store / 400)
                .map(|n| format!("Decision {n} about it"))
                .collect();
            let mut frames = serde_json::Map::new();
            frames.insert("n".to_owned(), former_frame("n", None, &decisions));
            filled.import(&frames);
            let activate = json!({ "sessionID": "n" });
            filled.tool("opencode:s", "stack_frame_activate", activate);
        }
        "sessions" => {
            for n in 0..scale.store / 40_000 {
                filled.turn(&format!("opencode:s{n}"), n, "done");
            }
        }
        "transcripts" => {
            for n in 0..scale.store / piece * 3 / 2 {
                filled.turn("opencode:s", n, &prose(&mut dice, piece));
            }
        }
        "repetition" => {
            for n in 0..scale.store / piece * 2 {
                let line = format!("===== {n} {} =====\n", dice.roll(9));
                filled.turn("opencode:s", n, &line.repeat(piece / line.len()));
            }
        }
        "odd text" => {
            for _ in 0..scale.store / piece / 4 {
                filled.note(&odd_text(&mut dice, piece / 2));
                filled.log(&odd_text(&mut dice, piece));
            }
        }
        "markup" => {
            for n in 0..scale.store / piece / 3 {
                let markup = format!("</stack-context><system-reminder>{n}]]>&\"'\n");
                filled.push(&markup);
                filled.note(&markup.repeat(piece / markup.len()));
                let results = markup.repeat(piece / 2 / markup.len());
                let results = json!({ "status": "completed", "results": results });
                filled.tool("opencode:s", "stack_frame_pop", results);
            }
        }
        _ => {
            for n in 0..(scale.store / 10_000).min(1_500) {
                filled.log(&format!("piece {n} {}", prose(&mut dice, 2_000)));
            }
        }
    }
    filled
}

/// Texts that are asked for, up to the size of a request.
fn questions(scale: &Scale) -> Vec<String> {
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

/// Reads a field of a process's status, in kB.
fn status_field(pid: u32, field: &str) -> Option<u64> {
    let status = fs_err::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim_start_matches(':')
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}

/// Returns the time that a process has computed.
fn cpu_time(pid: u32) -> Option<Duration> {
    let stat = fs_err::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    // A hundredth of a second each, on every Linux.
    Some(Duration::from_millis((user + system) * 10))
}

/// Runs a command and measures it.
fn command(filled: &Filled, store: &str, arguments: &[&str], report: &mut Report) {
    let begun = Instant::now();
    let mut child = filled
        .project
        .command(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (mut memory, mut cpu) = (0, Duration::ZERO);
    while child.try_wait().unwrap().is_none() {
        memory = status_field(child.id(), "VmHWM").unwrap_or(memory);
        cpu = cpu_time(child.id()).unwrap_or(cpu);
        std::thread::sleep(Duration::from_millis(1));
    }
    let shown: Vec<String> = arguments
        .iter()
        .map(|argument| argument.chars().take(40).collect())
        .collect();
    report.add(Measured {
        case: format!("{store}: flame {}", shown.join(" ")),
        cpu,
        wall: begun.elapsed(),
        memory,
    });
}

/// A sidecar on the other end of a pipe.
struct Sidecar {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    asked: u64,
}

impl Sidecar {
    fn new(filled: &Filled) -> Self {
        let mut child = filled
            .project
            .command(&["sidecar"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut sidecar = Self {
            child,
            to,
            from: BufReader::new(from),
            asked: 0,
        };
        let hello = json!({ "protocol": 2, "host": "opencode", "directory": "/" });
        sidecar.ask("hello", &hello);
        // The tokenizer is loaded beside the first requests and would be counted as theirs.
        sidecar.show("s");
        std::thread::sleep(Duration::from_millis(300));
        sidecar
    }

    fn ask(&mut self, method: &str, params: &Value) {
        self.asked += 1;
        let request =
            json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params });
        writeln!(self.to, "{request}").unwrap();
        let mut answer = String::new();
        self.from.read_line(&mut answer).unwrap();
        assert!(!answer.is_empty(), "the sidecar is gone after {method}");
    }

    fn show(&mut self, session: &str) {
        self.ask("show", &json!({ "session": session, "what": "status" }));
    }

    /// Asks and measures, with everything that is done after the answer.
    fn measure(&mut self, case: String, method: &str, params: &Value, report: &mut Report) {
        let pid = self.child.id();
        // Resets the largest memory so far.
        let reset = fs_err::write(format!("/proc/{pid}/clear_refs"), "5");
        reset.unwrap();
        let before = cpu_time(pid).unwrap();
        let begun = Instant::now();
        self.ask(method, params);
        let wall = begun.elapsed();
        // Answered once the session is done with what it left for later.
        self.show(params["session"].as_str().unwrap_or("s"));
        report.add(Measured {
            case,
            cpu: cpu_time(pid).unwrap().saturating_sub(before),
            wall,
            memory: status_field(pid, "VmHWM").unwrap(),
        });
    }
}

impl Drop for Sidecar {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Returns hostile arguments for every tool.
fn tool_calls(frame: &str, long: &str, questions: &[String]) -> Vec<(&'static str, Value)> {
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

/// Returns hostile parameters for the other methods of the protocol.
fn requests(long: &str) -> Vec<(&'static str, Value)> {
    let said = |id: &str, text: &str| json!({ "id": id, "role": "user", "parts": [{ "type": "text", "id": format!("{id}p"), "text": text }] });
    let work = |id: &str, output: &str| {
        json!({ "id": id, "role": "assistant", "parts": [{
            "type": "tool", "id": format!("{id}p"), "callID": format!("call_{id}"), "tool": "bash",
            "state": { "status": "completed", "input": { "command": "make" }, "output": output },
        }] })
    };
    let many: Vec<Value> = (0..long.len() / 200)
        .map(|n| said(&format!("many{n}"), "Go on"))
        .collect();
    vec![
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
    ]
}

fn on_disk(dir: &Path) -> u64 {
    ["journal.db", "blobs.db"]
        .iter()
        .filter_map(|name| fs_err::metadata(dir.join(name)).ok())
        .map(|file| file.len())
        .sum()
}

#[test]
fn every_answer_is_bounded() {
    let scale = Scale::chosen();
    let mut report = Report::default();
    let mut dice = Dice(3);
    let longs = [
        "a".repeat(scale.request),
        prose(&mut dice, scale.request),
        "-----BEGIN key=value\n".repeat(scale.request / 21),
        odd_text(&mut dice, scale.request),
    ];
    let questions = questions(&scale);
    let only = std::env::var("FLAME_HOSTILE_STORE").ok();
    for (n, store) in STORES.into_iter().enumerate() {
        if only.as_deref().is_some_and(|only| only != store) {
            continue;
        }
        let mut of_store = Report::default();
        let begun = Instant::now();
        let filled = filled(store, &scale);
        let dir = filled.engine.project().dir.clone();
        let size = on_disk(&dir);
        let session = filled
            .engine
            .session(&"opencode:s".parse().unwrap())
            .unwrap();
        let frame = session.unwrap().frame().unwrap().to_string();
        eprintln!("{store}: {size} bytes, made in {:?}", begun.elapsed());
        for arguments in [
            vec!["status"],
            vec!["tree"],
            vec!["tree", "--all"],
            vec!["show", &frame],
            vec!["show", &frame, "--json"],
            vec!["log", &frame],
            vec!["log"],
            vec!["context", "--session", "opencode:s"],
            vec!["context", "--frame", &frame, "--budget", "100000"],
            vec!["brief", "--session", "opencode:s"],
            vec!["recall", &frame],
            vec!["recall", &frame, "--tokens", "1000000"],
            vec!["search", "--limit", "100000", "a"],
            vec!["config", "list"],
        ] {
            command(&filled, store, &arguments, &mut of_store);
        }
        for piece in ["#1", "#2", "#log1"] {
            let name = format!("{frame}{piece}");
            command(&filled, store, &["log", &name], &mut of_store);
            command(
                &filled,
                store,
                &["recall", &name, "--tokens", "1000000"],
                &mut of_store,
            );
        }
        // A word on the command line has at most 128 kB.
        for question in questions
            .iter()
            .filter(|it| it.len() < 100_000 && !it.contains('\0'))
        {
            command(&filled, store, &["search", "--", question], &mut of_store);
            command(&filled, store, &["recall", "--", question], &mut of_store);
        }
        let long = &longs[n % longs.len()];
        let mut sidecar = Sidecar::new(&filled);
        for (tool, arguments) in tool_calls(&frame, long, &questions) {
            let shown: String = arguments.to_string().chars().take(60).collect();
            let params = json!({ "session": "s", "name": tool, "arguments": arguments });
            sidecar.measure(
                format!("{store}: {tool} {shown}"),
                "call",
                &params,
                &mut of_store,
            );
        }
        for (n, (method, params)) in requests(long).into_iter().enumerate() {
            sidecar.measure(
                format!("{store}: {method} ({n})"),
                method,
                &params,
                &mut of_store,
            );
        }
        of_store.print(store);
        report.0.append(&mut of_store.0);
    }
    report.print("all");
    report.check(&scale);
}
