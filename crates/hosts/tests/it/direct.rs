//! A shim that asks by the direct line.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;

use serde_json::{Value, json};

use crate::sidecar::{Served, said, work};

/// A shim's ends of the line.
struct Line {
    questions: File,
    answers: BufReader<File>,
}

impl Line {
    fn open(told: &Value) -> Self {
        let path = |name: &str| told["direct"][name].as_str().unwrap().to_owned();
        Self {
            questions: OpenOptions::new()
                .write(true)
                .open(path("questions"))
                .unwrap(),
            answers: BufReader::new(File::open(path("answers")).unwrap()),
        }
    }

    fn ask(&mut self, id: u64, method: &str, params: &Value) {
        let asked = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        writeln!(self.questions, "{asked}").unwrap();
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

fn hello(host: &mut Served) -> Value {
    host.ask(
        "hello",
        json!({ "protocol": 1, "host": "opencode", "directory": "/", "direct": true }),
    )
}

/// A host that asks by a direct line, and what it was told.
fn connected() -> (Served, Line, Value) {
    let mut host = Served::new();
    let told = hello(&mut host);
    let line = Line::open(&told);
    host.send(r#"{"jsonrpc":"2.0","method":"direct"}"#);
    (host, line, told)
}

fn prepare(session: &str) -> Value {
    json!({ "session": session, "known": 0, "messages": [said("1", "ログインを直してください")] })
}

#[test]
fn a_question_by_the_direct_line_is_answered_there_and_on_standard_output() {
    let (mut host, mut line, told) = connected();
    line.ask(71, "prepare", &prepare("s"));
    let heard = line.hear();
    assert_eq!(heard["id"], 71);
    assert_eq!(host.hear(), heard);
    // What nobody waits for comes by standard output alone.
    line.ask(72, "show", &json!({ "what": "tree" }));
    assert_eq!(host.hear()["id"], 72);
    line.ask(73, "prepare", &prepare("s"));
    assert_eq!(line.hear()["id"], 73);
    assert_eq!(host.hear()["id"], 73);
    let folder = Path::new(told["direct"]["answers"].as_str().unwrap()).parent();
    assert!(!folder.unwrap().exists(), "nobody needs the names any more");
}

#[test]
fn what_was_said_before_is_heard_before() {
    let mut host = Served::new();
    let told = hello(&mut host);
    let mut line = Line::open(&told);
    // Asked first, and read last.
    let mut list = vec![said("1", "Fix the login")];
    list.extend(["2", "3", "4"].map(work));
    let question = json!({ "session": "s", "known": 0, "messages": list });
    line.ask(8, "prepare", &question);
    host.prompt("s", "1", "Fix the login");
    host.push("s", "2", "Reproduce");
    host.pop("s", "4", "It is the cookie");
    host.send(r#"{"jsonrpc":"2.0","method":"direct"}"#);
    let heard = line.hear();
    assert_eq!(heard["id"], 8);
    assert_eq!(heard["result"]["drop"], json!(["3"]));
}

#[test]
fn a_shim_that_is_gone_ends_it_in_the_middle_of_a_line_too() {
    let (host, mut line, _) = connected();
    line.ask(5, "prepare", &prepare("s"));
    line.hear();
    line.questions
        .write_all(br#"{"jsonrpc":"2.0","id":6,"met"#)
        .unwrap();
    // Ends here, or hangs.
    drop(host);
    let mut rest = Vec::new();
    line.answers.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"");
}

#[test]
fn answers_that_nobody_listens_to_keep_nobody_waiting_and_spoil_no_others() {
    let (mut host, mut line, _) = connected();
    // More than a pipe holds.
    for id in 1..=6_000 {
        line.ask(id, "prepare", &prepare("s"));
        assert_eq!(host.hear()["id"], id);
    }
    let mut heard = vec![0; 100_000];
    line.answers.read_exact(&mut heard).unwrap();
    // There is room again, and what was cut off has ended.
    line.ask(6_001, "prepare", &prepare("s"));
    loop {
        let mut one = String::new();
        line.answers.read_line(&mut one).unwrap();
        match serde_json::from_str::<Value>(&one) {
            Ok(answer) if answer["id"] == 6_001 => return,
            Ok(answer) => assert!(answer["id"].as_u64().unwrap() <= 6_000),
            // The first one began in what was read before, and one was cut off.
            Err(_) => {}
        }
    }
}

#[test]
fn nobody_else_can_enter_the_folder() {
    use std::os::unix::fs::PermissionsExt as _;

    let mut host = Served::new();
    let told = hello(&mut host);
    let pipe = Path::new(told["direct"]["answers"].as_str().unwrap());
    let mode = |path: &Path| fs_err::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(pipe.parent().unwrap()), 0o700);
    assert_eq!(mode(pipe), 0o600);
}

#[test]
fn who_greets_twice_has_one_line() {
    let mut host = Served::new();
    let told = hello(&mut host);
    let mut line = Line::open(&told);
    assert_eq!(hello(&mut host)["direct"], told["direct"]);
    host.send(r#"{"jsonrpc":"2.0","method":"direct"}"#);
    line.ask(7, "prepare", &prepare("s"));
    assert_eq!(line.hear()["id"], 7);
}

#[test]
fn a_direct_line_that_was_never_laid_cannot_be_taken_up() {
    let mut host = Served::new();
    host.send(r#"{"jsonrpc":"2.0","method":"direct"}"#);
    let shown = host.ask("show", json!({ "what": "status" }));
    assert!(shown["text"].is_string(), "{shown}");
    // Nor is a second one laid beside one that is in use.
    let told = hello(&mut host);
    let mut line = Line::open(&told);
    host.send(r#"{"jsonrpc":"2.0","method":"direct"}"#);
    line.ask(
        9,
        "hello",
        &json!({ "protocol": 1, "host": "opencode", "directory": "/", "direct": true }),
    );
    let again = host.hear();
    assert_eq!(again["id"], 9);
    assert_eq!(again["result"].get("direct"), None);
}
