//! Time and memory of answers: of commands, of a sidecar and of the page's server.

use std::fmt::{self, Write as _};
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Scale;
use super::stores::Filled;

/// Maximum memory of a process that answers a request, in kB.
const MEMORY_LIMIT: u64 = 200_000;
/// Maximum memory of a search, in kB, and its time at full size.
const SEARCH_MEMORY: u64 = 50_000;
pub(super) const SEARCH_TIME: Duration = Duration::from_millis(200);

/// Time and memory of an answer.
pub(super) struct Measured {
    case: String,
    kind: Kind,
    /// Time that the process computed.
    cpu: Duration,
    /// Time that passed, which on a busy machine is more.
    wall: Duration,
    /// Largest memory, in kB.
    memory: u64,
}

/// The limits that hold for an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Request,
    /// `flame search`, whose process does nothing else.
    Search,
    /// A command that a user starts to read or write the whole store: its time follows the store.
    WholeStore,
}

/// Everything that was measured.
#[derive(Default)]
pub(super) struct Report(pub(super) Vec<Measured>);

impl Report {
    /// Prints the largest figures.
    #[expect(clippy::print_stderr, reason = "the figures are the result")]
    pub(super) fn print(&self, title: &str) {
        let mut text = format!("{title}: {} pairs of store and request\n", self.0.len());
        let mut list = |title: &str, by: &dyn Fn(&Measured) -> u64, kind: Kind| {
            let _ = writeln!(text, "  {title}:");
            let wanted = |one: &&Measured| kind == one.kind;
            let mut cases: Vec<&Measured> = self.0.iter().filter(wanted).collect();
            cases.sort_by_key(|one| std::cmp::Reverse(by(one)));
            for one in cases.into_iter().take(6) {
                let _ = writeln!(text, "  {one}");
            }
        };
        let time = |one: &Measured| u64::try_from(one.cpu.as_millis()).unwrap();
        list("largest memory", &|one| one.memory, Kind::Request);
        list("largest time", &time, Kind::Request);
        list(
            "largest memory of the whole store",
            &|one| one.memory,
            Kind::WholeStore,
        );
        list("largest time of the whole store", &time, Kind::WholeStore);
        list(
            "largest memory of a search",
            &|one| one.memory,
            Kind::Search,
        );
        list("largest time of a search", &time, Kind::Search);
        eprintln!("{text}");
    }

    /// Fails if a figure is above its limit.
    pub(super) fn check(&self, scale: &Scale) {
        let is_over = |one: &&Measured| match one.kind {
            Kind::Request => one.memory > MEMORY_LIMIT || one.cpu > scale.time,
            Kind::Search => one.memory > SEARCH_MEMORY || one.cpu > scale.search,
            Kind::WholeStore => one.memory > MEMORY_LIMIT,
        };
        let over: Vec<String> = self
            .0
            .iter()
            .filter(is_over)
            .map(ToString::to_string)
            .collect();
        assert!(over.is_empty(), "over the limit:\n{}", over.join("\n"));
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (cpu, wall) = (self.cpu.as_millis(), self.wall.as_millis());
        let (memory, case) = (self.memory / 1000, &self.case);
        write!(f, "{cpu:>6} ms ({wall} ms passed) {memory:>5} MB  {case}")
    }
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

/// Waits until a process has computed nothing for a while.
fn wait_until_idle(pid: u32, quiet: Duration) {
    let mut computed = Duration::ZERO;
    while let Some(now) = cpu_time(pid)
        && now > computed
    {
        computed = now;
        std::thread::sleep(quiet);
    }
}

/// Resets the largest memory of a process so far.
fn forget_peak(pid: u32) {
    fs_err::write(format!("/proc/{pid}/clear_refs"), "5").unwrap();
}

/// Runs a command and measures it.
pub(super) fn command(filled: &Filled, store: &str, arguments: &[&str], report: &mut Report) {
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
    let kind = match arguments.first() {
        Some(&"search") => Kind::Search,
        Some(&("doctor" | "export" | "gc" | "backup" | "forget" | "rebuild")) => Kind::WholeStore,
        _ => Kind::Request,
    };
    report.0.push(Measured {
        case: format!("{store}: flame {}", shown.join(" ")),
        kind,
        cpu,
        wall: begun.elapsed(),
        memory,
    });
}

/// A sidecar on the other end of a pipe.
pub(super) struct Sidecar {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    asked: u64,
}

impl Sidecar {
    pub(super) fn new(filled: &Filled) -> Self {
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
    pub(super) fn measure(
        &mut self,
        case: String,
        method: &str,
        params: &Value,
        report: &mut Report,
    ) {
        let pid = self.child.id();
        // An earlier request may have left the index to be filled beside this one.
        wait_until_idle(pid, Duration::from_millis(30));
        forget_peak(pid);
        let before = cpu_time(pid).unwrap();
        let begun = Instant::now();
        self.ask(method, params);
        let wall = begun.elapsed();
        // Answered once the session is done with what it left for later.
        self.show(params["session"].as_str().unwrap_or("s"));
        report.0.push(Measured {
            case,
            kind: Kind::Request,
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

/// The server of the live page, with the cookie of a browser that has entered.
pub(super) struct Page {
    child: Child,
    address: String,
    cookie: String,
}

impl Page {
    pub(super) fn new(filled: &Filled) -> Self {
        let mut child = filled
            .project
            .command(&["ui", "--no-open"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let (_, rest) = line.trim().split_once("http://").unwrap();
        let (address, token) = rest.split_once("/#").unwrap();
        let mut page = Self {
            child,
            address: address.to_owned(),
            cookie: String::new(),
        };
        let entered = page.ask("POST", "/enter", &json!({ "token": token }).to_string());
        let cookie = entered.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("set-cookie")
                .then(|| value.split(';').next().unwrap())
        });
        cookie.unwrap().clone_into(&mut page.cookie);
        // The journal is read beside the first requests and would be counted as theirs.
        wait_until_idle(page.child.id(), Duration::from_secs(1));
        page
    }

    /// Sends a request and returns the whole answer.
    fn ask(&self, method: &str, path: &str, body: &str) -> String {
        let Self {
            address, cookie, ..
        } = self;
        let mut stream = TcpStream::connect(address).unwrap();
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\nCookie: {cookie}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        let mut answer = Vec::new();
        // A refused request may be cut off before it is read whole.
        stream.read_to_end(&mut answer).ok();
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Asks and measures.
    pub(super) fn measure(
        &self,
        store: &str,
        (method, path, body): (&str, &str, &str),
        report: &mut Report,
    ) {
        let pid = self.child.id();
        forget_peak(pid);
        let before = cpu_time(pid).unwrap();
        let begun = Instant::now();
        self.ask(method, path, body);
        let shown: String = path.chars().take(60).collect();
        report.0.push(Measured {
            case: format!("{store}: {method} {shown}"),
            kind: Kind::Request,
            cpu: cpu_time(pid).unwrap().saturating_sub(before),
            wall: begun.elapsed(),
            memory: status_field(pid, "VmHWM").unwrap(),
        });
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
