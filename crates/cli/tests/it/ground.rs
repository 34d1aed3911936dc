//! Ground to test on: a project of its own, with a home of its own, and nothing of this machine.
//!
//! Output is compared as people read it. Names that differ from run to run are given
//! stable ones on the way: ids in the order in which they appear, times, folders.

use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use serde_json::Value;

/// A project in a folder that vanishes with it.
pub(crate) struct TestProject {
    dir: tempfile::TempDir,
    /// The directory in which commands run.
    root: PathBuf,
    environment: Vec<(String, String)>,
    session: Option<String>,
    /// Ids that were shown so far, first one first.
    seen: Mutex<Vec<String>>,
}

/// The output and exit code of a command.
pub(crate) struct Output {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
    shown: String,
}

impl TestProject {
    /// A folder called `shop` that is not a repository.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("shop");
        fs_err::create_dir(&root).unwrap();
        Self {
            dir,
            root,
            environment: Vec::new(),
            session: None,
            seen: Mutex::default(),
        }
    }

    /// A git repository called `shop` with one commit.
    pub(crate) fn in_git() -> Self {
        let project = Self::new();
        project.git(&["init", "--quiet", "--initial-branch=main"]);
        fs_err::write(project.root.join("README.md"), "# Shop\n").unwrap();
        project.git(&["add", "."]);
        project.git(&["commit", "--quiet", "--message=Begin"]);
        project
    }

    /// The same project with a variable set.
    pub(crate) fn with_env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// From now on, commands run in this session.
    pub(crate) fn turn_to_session(&mut self, session: &str) {
        self.session = Some(session.to_owned());
    }

    /// From now on, commands run in this folder.
    pub(crate) fn turn_to_folder(&mut self, folder: &Path) {
        folder.clone_into(&mut self.root);
    }

    /// The folder that holds everything.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The directory in which commands run.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The state directory of the one project in it.
    pub(crate) fn state(&self) -> PathBuf {
        let projects = self.dir.path().join("state/projects");
        let mut found = fs_err::read_dir(&projects).unwrap();
        let only = found.next().expect("there is state").unwrap().path();
        assert!(found.next().is_none(), "there is one project only");
        only
    }

    /// A file of the state directory.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.state().join(name)
    }

    /// `flame` with arguments, ready to be run, in an environment that knows nothing else.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flame"));
        command
            .args(arguments)
            .current_dir(&self.root)
            .env_clear()
            .env("HOME", self.dir.path().join("home"))
            .env("TZ", "UTC")
            .env("XDG_CONFIG_HOME", self.dir.path().join("config"))
            .env("XDG_STATE_HOME", self.dir.path().join("xdg-state"))
            .env("FLAME_STATE_DIR", self.dir.path().join("state"));
        if let Some(session) = &self.session {
            command.env("FLAME_SESSION", session);
        }
        for (name, value) in &self.environment {
            command.env(name, value);
        }
        command
    }

    /// Runs a command.
    pub(crate) fn flame(&self, arguments: &[&str]) -> Output {
        self.flame_reading(arguments, b"")
    }

    /// Runs a command that reads standard input.
    pub(crate) fn flame_reading(&self, arguments: &[&str], input: &[u8]) -> Output {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let ended = std::thread::scope(|scope| {
            // A command that refuses early does not read to the end; that is its right.
            scope.spawn(move || drop(stdin.write_all(input)));
            child.wait_with_output().unwrap()
        });
        let stdout = String::from_utf8(ended.stdout).expect("standard output is text");
        let stderr = String::from_utf8(ended.stderr).expect("standard error is text");
        let mut shown = self.stable(&stdout);
        if !stderr.is_empty() {
            shown.push_str("--- stderr\n");
            shown.push_str(&self.stable(&stderr));
        }
        match ended.status.code() {
            Some(0) => {}
            Some(code) => shown.push_str(&format!("[exit {code}]\n")),
            None => shown.push_str("[killed]\n"),
        }
        Output {
            stdout,
            stderr,
            code: ended.status.code(),
            shown,
        }
    }

    /// Runs a command that succeeds without a word on standard error, and returns what it said.
    #[track_caller]
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        let output = self.flame(arguments);
        assert_eq!(
            (output.code, output.stderr.as_str()),
            (Some(0), ""),
            "{arguments:?}\n{output}"
        );
        output.stdout
    }

    /// Runs a command that succeeds and answers in JSON.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let mut all = arguments.to_vec();
        all.push("--json");
        serde_json::from_str(&self.ok(&all)).expect("--json prints JSON")
    }

    /// Runs a command that is refused: exit code 1, a hint, and the journal as it was.
    #[track_caller]
    pub(crate) fn refused(&self, arguments: &[&str]) -> Output {
        self.turned_away(1, arguments, b"")
    }

    /// Runs a command that is used wrongly: exit code 2, a hint, and the journal as it was.
    #[track_caller]
    pub(crate) fn misused(&self, arguments: &[&str]) -> Output {
        self.turned_away(2, arguments, b"")
    }

    /// Runs a command that must change nothing and end with an exit code.
    #[track_caller]
    pub(crate) fn turned_away(&self, code: i32, arguments: &[&str], input: &[u8]) -> Output {
        let before = self.journal();
        let output = self.flame_reading(arguments, input);
        assert_eq!(output.code, Some(code), "{output}");
        assert_eq!(output.stdout, "", "a refusal says nothing on stdout");
        assert!(output.stderr.starts_with("error: "), "{output}");
        assert!(
            ["hint: ", "Usage: ", "For more information"]
                .iter()
                .any(|way_on| output.stderr.contains(way_on)),
            "a refusal says what to do next: {output}"
        );
        assert_eq!(self.journal(), before, "a refusal changes nothing");
        output
    }

    /// Everything in the journal, as it is on disk; nothing where there is no store.
    pub(crate) fn journal(&self) -> Vec<(i64, i64, String, String)> {
        let projects = self.dir.path().join("state/projects");
        if !projects.exists() || !self.file("journal.db").exists() {
            return Vec::new();
        }
        let journal = rusqlite::Connection::open(self.file("journal.db")).unwrap();
        let mut events = journal
            .prepare("SELECT seq, batch, session, body FROM events ORDER BY seq")
            .unwrap();
        let rows = events.query_map([], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        });
        rows.unwrap().collect::<Result<_, _>>().unwrap()
    }

    /// Opens a frame and returns its id.
    #[track_caller]
    pub(crate) fn push(&self, title: &str) -> String {
        self.opened(&["push", title]).remove(0)
    }

    /// Plans frames below the active one and returns their ids.
    #[track_caller]
    pub(crate) fn plan(&self, titles: &[&str]) -> Vec<String> {
        self.opened(&[&["plan"], titles].concat())
    }

    /// The frames that a command touched, as it says itself.
    #[track_caller]
    pub(crate) fn opened(&self, arguments: &[&str]) -> Vec<String> {
        let answer = self.json(arguments);
        let frames = answer["frames"].as_array().unwrap().iter();
        frames.map(|id| id.as_str().unwrap().to_owned()).collect()
    }

    /// Asserts that `flame doctor` finds nothing wrong, and returns what it found.
    #[track_caller]
    pub(crate) fn well(&self) -> Value {
        let found = self.json(&["doctor"]);
        assert_eq!(found["well"], true, "{found:#}");
        found
    }

    /// Runs git in the project's folder.
    #[track_caller]
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"])
            .args(arguments)
            .current_dir(&self.root)
            .env("HOME", self.dir.path().join("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Text with stable names for what differs from run to run.
    pub(crate) fn stable(&self, text: &str) -> String {
        // A hundred thousand lines are not compared by eye.
        if text.len() > 50_000 {
            return text.to_owned();
        }
        let folder = fs_err::canonicalize(self.dir.path()).unwrap();
        let text = text.replace(&folder.display().to_string(), "DIR");
        let text = text.replace(&self.dir.path().display().to_string(), "DIR");
        let mut stable = String::new();
        for piece in pieces(&text) {
            match self.place_of(piece) {
                Some(place) => stable.push_str(&format!("id-{place}")),
                None if is_hash(piece) => stable.push_str("HASH"),
                None => stable.push_str(piece),
            }
        }
        without_sizes(&without_ages(&without_times(&stable)))
    }

    /// Returns the number of an id among those seen so far, from 1; `None` if it is not an id.
    fn place_of(&self, word: &str) -> Option<usize> {
        if word.len() != 8 {
            return None;
        }
        let mut seen = self.seen.lock().unwrap();
        if let Some(place) = seen.iter().position(|id| id == word) {
            return Some(place + 1);
        }
        if !self.has_frame(word) {
            return None;
        }
        seen.push(word.to_owned());
        Some(seen.len())
    }

    /// Returns true if the frame exists or existed: many words have eight letters.
    fn has_frame(&self, id: &str) -> bool {
        let ask = || -> Option<bool> {
            let projects = fs_err::read_dir(self.dir.path().join("state/projects")).ok()?;
            let store = projects.flatten().next()?.path().join("journal.db");
            let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE;
            let journal = rusqlite::Connection::open_with_flags(store, flags).ok()?;
            let known = "SELECT EXISTS (SELECT 1 FROM subjects WHERE name = ?1 AND role < 2)";
            journal.query_row(known, [id], |row| row.get(0)).ok()
        };
        id.bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
            && ask().unwrap_or(false)
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

/// A pseudo-random number generator that needs no crate: the same seed gives the same test.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// Splits text into words and separators.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let in_word = rest.chars().next()?.is_ascii_alphanumeric();
        let end = rest
            .find(|c: char| c.is_ascii_alphanumeric() != in_word)
            .unwrap_or(rest.len());
        let (piece, behind) = rest.split_at(end);
        rest = behind;
        Some(piece)
    })
}

/// The hash in the name of a state directory, or of raw text.
fn is_hash(word: &str) -> bool {
    let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    (word.len() == 12 || word.len() == 64) && word.bytes().all(hex)
}

/// Text with `(AGO)` for the age of a time.
fn without_ages(text: &str) -> String {
    let mut stable = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(" (") {
        stable.push_str(before);
        rest = after;
        match after.split_once(')') {
            Some((inside, behind)) if inside == "just now" || inside.ends_with(" ago") => {
                stable.push_str(" (AGO)");
                rest = behind;
                // How long something took depends on the machine.
                if let Some(took) = behind.strip_prefix(", after ") {
                    stable.push_str(", after TIME");
                    rest = took.trim_start_matches(|c| c != '\n');
                }
            }
            _ => stable.push_str(" ("),
        }
    }
    stable + rest
}

/// Text with `N kB` for every size: it depends on the engine's pages, which are not ours. Whole
/// megabytes are limits, and stay.
fn without_sizes(text: &str) -> String {
    without_unit(&without_unit(text, " kB", |_| true), " MB", |size| {
        size.contains('.')
    })
}

fn without_unit(text: &str, unit: &str, is_measured: fn(&str) -> bool) -> String {
    let mut parts = text.split(unit).peekable();
    let mut stable = String::new();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            stable.push_str(part);
            break;
        }
        let is_digit = |c: char| c.is_ascii_digit() || c == ',' || c == '.';
        let bare = part.trim_end_matches(is_digit);
        let (bare, size) = part.split_at(bare.len());
        let size = if is_measured(size) { "N" } else { size };
        stable.push_str(&format!("{bare}{size}{unit}"));
    }
    stable
}

/// Text with `TIME` for every time of the day, to the minute or in a file name.
fn without_times(text: &str) -> String {
    let shapes = ["0000-00-00 00:00", "00000000-000000"];
    let fits = |text: &str, shape: &str| {
        let alike = |(a, b): (u8, u8)| {
            if b == b'0' {
                a.is_ascii_digit()
            } else {
                a == b
            }
        };
        text.len() >= shape.len() && text.bytes().zip(shape.bytes()).all(alike)
    };
    let mut stable = String::new();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        if let Some(shape) = shapes.into_iter().find(|shape| fits(rest, shape)) {
            stable.push_str("TIME");
            rest = &rest[shape.len()..];
        } else {
            stable.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    stable
}
