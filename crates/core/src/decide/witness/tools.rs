//! What tools did: files that changed, commands that ran, attempts that fail again and again. Which
//! files a command changed is told by [`super::changes`].
//!
//! Of commands those are kept that say something about the work: tests, builds, linters, commits
//! and the like, and whatever else failed, except for looking around. The same command with the
//! same outcome is kept once until its outcome changes, and a frame with a hundred of them keeps
//! only those that fail.

use super::changes::{Changes, changes};
use super::words::prose;
use super::{Ruling, Scene};
use crate::Rejected;
use crate::id::Mark;
use crate::neighbourhood::Neighbourhood;
use crate::note::{Evidence, Note};
use crate::text::{Prose, condense};
use crate::transcript::{Answer, Call, CallKind};

/// How much of a command line is kept, in bytes.
const COMMAND_LENGTH: usize = 1000;
/// How many runs of commands a frame keeps before it keeps only failures.
const RUNS: u64 = 100;
/// How many a frame keeps at most.
const MOST_RUNS: u64 = 300;
/// How much of an error is kept, in characters.
const ERROR_LENGTH: usize = 300;

/// Programs whose outcome says something about the work, whatever they are told to do.
const TELLING: [&str; 57] = [
    "bazel",
    "behave",
    "biome",
    "black",
    "buck2",
    "bundle",
    "cargo-nextest",
    "clippy-driver",
    "cmake",
    "codespell",
    "composer",
    "ctest",
    "cypress",
    "deno",
    "detekt",
    "dotnet",
    "eslint",
    "flake8",
    "ginkgo",
    "golangci-lint",
    "gradle",
    "gradlew",
    "hatch",
    "invoke",
    "jest",
    "just",
    "ktlint",
    "make",
    "markdownlint",
    "meson",
    "mix",
    "mocha",
    "mvn",
    "mvnw",
    "mypy",
    "ninja",
    "nox",
    "nx",
    "phpstan",
    "phpunit",
    "playwright",
    "pre-commit",
    "prettier",
    "pylint",
    "pyright",
    "pytest",
    "rake",
    "rspec",
    "rubocop",
    "ruff",
    "sbt",
    "shellcheck",
    "stylelint",
    "tox",
    "tsc",
    "turbo",
    "vitest",
];

/// Programs of which it depends on what they are told to do.
const TOLD: [(&str, &[&str]); 18] = [
    ("bun", &["build", "install", "run", "test", "x"]),
    (
        "cargo",
        &[
            "bench", "build", "check", "clippy", "doc", "fmt", "install", "nextest", "publish",
            "run", "test", "xtask",
        ],
    ),
    ("docker", &["build", "compose", "push", "run"]),
    ("flutter", &["analyze", "build", "test"]),
    ("gh", &["pr", "release", "workflow"]),
    (
        "git",
        &[
            "am",
            "cherry-pick",
            "commit",
            "merge",
            "pull",
            "push",
            "rebase",
            "revert",
            "tag",
        ],
    ),
    (
        "go",
        &["build", "generate", "install", "mod", "run", "test", "vet"],
    ),
    ("helm", &["install", "lint", "upgrade"]),
    ("kubectl", &["apply", "rollout"]),
    (
        "npm",
        &["ci", "install", "publish", "run", "run-script", "t", "test"],
    ),
    (
        "npx",
        &[
            "eslint",
            "jest",
            "mocha",
            "playwright",
            "prettier",
            "tsc",
            "vitest",
        ],
    ),
    ("pip", &["install"]),
    (
        "pnpm",
        &[
            "build",
            "check",
            "exec",
            "install",
            "lint",
            "run",
            "test",
            "typecheck",
        ],
    ),
    ("poetry", &["build", "install", "run"]),
    ("swift", &["build", "test"]),
    ("terraform", &["apply", "plan", "validate"]),
    ("uv", &["pip", "run", "sync"]),
    (
        "yarn",
        &[
            "build",
            "check",
            "install",
            "lint",
            "run",
            "test",
            "typecheck",
        ],
    ),
];

/// Programs that look around. That they find nothing is no failure.
const LOOKING: [&str; 26] = [
    "[", "ag", "awk", "cat", "cd", "command", "diff", "echo", "fd", "file", "find", "grep", "head",
    "ls", "pgrep", "printf", "ps", "pwd", "readlink", "rg", "sed", "stat", "tail", "test", "wc",
    "which",
];

impl<N: Neighbourhood + ?Sized> Scene<'_, '_, N> {
    pub(super) fn answered(&mut self, call: &Call, answer: &Answer) -> Ruling<(), N> {
        let failed = !answer.ok || answer.exit_code.is_some_and(|code| code != 0);
        match call.kind {
            CallKind::Edit | CallKind::Write if answer.ok => self.produced(&call.paths)?,
            CallKind::Execute => {
                if let Some(command) = &call.command {
                    if !failed {
                        self.changed(command, &answer.text)?;
                    }
                    self.ran(command, answer)?;
                }
            }
            _ => {}
        }
        if failed && call.kind != CallKind::Stack {
            self.failed(call, answer)?;
        }
        Ok(())
    }

    /// Files that were made or changed.
    pub(super) fn produced(&mut self, paths: &[String]) -> Ruling<(), N> {
        if paths.is_empty() {
            return Ok(());
        }
        let here = self.here()?.id;
        for path in paths.iter().filter_map(|path| prose(path, usize::MAX)) {
            self.note(&here, Note::Artifact(path))?;
        }
        for mark in self.changing() {
            if !self.is_known(mark)? {
                self.noticed.push(mark);
            }
        }
        Ok(())
    }

    /// By what it is known that this session changes files, or one that this is part of.
    fn changing(&self) -> impl Iterator<Item = Mark> + use<N> {
        let sessions = [Some(self.session()), self.parent.clone()];
        let sessions = sessions.into_iter().flatten();
        sessions.map(|session| Mark::of(&session, "changes files", ""))
    }

    fn is_known(&self, mark: Mark) -> Ruling<bool, N> {
        let tree = self.ground.tree;
        Ok(self.told.contains(&mark) || tree.is_seen(mark).map_err(Rejected::Unreadable)?)
    }

    /// Files that a command changed, and those that git says differ if this session changes files.
    fn changed(&mut self, command: &str, output: &str) -> Ruling<(), N> {
        let Changes { made, differing } = changes(command, output);
        self.produced(&made)?;
        let mut ours = !made.is_empty();
        for mark in self.changing() {
            ours |= self.is_known(mark)?;
        }
        if ours {
            self.produced(&differing)?;
        }
        Ok(())
    }

    fn ran(&mut self, command: &str, answer: &Answer) -> Ruling<(), N> {
        if makes_commits(command) && answer.ok {
            for commit in commits(&answer.text) {
                let here = self.here()?.id;
                self.note(&here, Note::Evidence(Evidence::Commit(commit)))?;
            }
        }
        let Some(exit_code) = answer.exit_code else {
            return Ok(());
        };
        let kept = match weight(command) {
            Weight::Telling => true,
            Weight::Ordinary => exit_code != 0,
            Weight::Looking => false,
        };
        let Some(command) = prose(command, COMMAND_LENGTH).filter(|_| kept) else {
            return Ok(());
        };
        let here = self.here()?.id;
        let runs = self.ground.tree.command_runs(&here, &command);
        let (last, runs) = runs.map_err(Rejected::Unreadable)?;
        let room = if exit_code == 0 { RUNS } else { MOST_RUNS };
        if last != Some(exit_code) && runs < room {
            self.note(
                &here,
                Note::Evidence(Evidence::Command { command, exit_code }),
            )?;
        }
        Ok(())
    }

    /// A tool failed. Once is an accident; the same failure of the same call again is an attempt
    /// that does not work.
    fn failed(&mut self, call: &Call, answer: &Answer) -> Ruling<(), N> {
        let attempt = call.command.as_deref().unwrap_or(&call.arguments);
        if call.kind == CallKind::Execute && weight(attempt) == Weight::Looking {
            return Ok(());
        }
        let error = error_line(&answer.text);
        let name = format!("{}\n{}\n{}", call.tool, same(attempt), same(&error));
        let mark = Mark::of(&self.session(), "failure", &name);
        if !self.is_known(mark)? {
            self.noticed.push(mark);
            return Ok(());
        }
        let text = match (&call.command, call.paths.is_empty()) {
            (Some(command), _) => format!("`{}`", condense(command, COMMAND_LENGTH)),
            (None, false) => format!("{} {}", call.tool, call.paths.join(", ")),
            (None, true) => format!("{} {}", call.tool, condense(attempt, ERROR_LENGTH)),
        };
        if let Some(text) = prose(&text, COMMAND_LENGTH) {
            let here = self.here()?.id;
            let why = prose(&condense(&error, ERROR_LENGTH), usize::MAX);
            self.note(&here, Note::FailedAttempt { text, why })?;
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    Telling,
    Ordinary,
    Looking,
}

/// How much the outcome of a command line says about the work: the weightiest of its parts.
fn weight(line: &str) -> Weight {
    let mut found = None;
    for part in parts(line) {
        let mut words = words(part).peekable();
        let Some(program) = words.next() else {
            continue;
        };
        let program = program.rsplit('/').next().unwrap_or(program);
        let program = program.strip_suffix(".exe").unwrap_or(program);
        let told = TOLD.iter().find(|(name, _)| *name == program);
        let here = if TELLING.binary_search(&program).is_ok() {
            Weight::Telling
        } else if let Some((_, verbs)) = told {
            let verb = words.find(|word| !word.starts_with(['-', '+']));
            match verb {
                Some(verb) if verbs.contains(&verb) => Weight::Telling,
                _ => Weight::Ordinary,
            }
        } else if matches!(
            program,
            "python" | "python3" | "node" | "bash" | "sh" | "ruby"
        ) {
            let tells = words.any(|word| {
                TELLING.binary_search(&word).is_ok() || matches!(word, "unittest" | "--test")
            });
            if tells {
                Weight::Telling
            } else {
                Weight::Ordinary
            }
        } else if LOOKING.binary_search(&program).is_ok() {
            Weight::Looking
        } else {
            Weight::Ordinary
        };
        if here == Weight::Telling {
            return here;
        }
        if found != Some(Weight::Ordinary) {
            found = Some(here);
        }
    }
    found.unwrap_or(Weight::Looking)
}

/// The commands of a command line, roughly: quotes are not looked at, since a wrong guess only
/// keeps a command more or less.
fn parts(line: &str) -> impl Iterator<Item = &str> {
    line.split(['\n', ';', '|', '&'])
        .filter(|part| !part.trim().is_empty())
}

/// The words of a command, without what is set for it and what only runs it.
fn words(part: &str) -> impl Iterator<Item = &str> {
    let is_setting = |word: &&str| {
        word.split_once('=')
            .is_some_and(|(name, _)| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'))
    };
    part.trim_start_matches(['(', '{', '!', ' '])
        .split_whitespace()
        .skip_while(move |word| {
            is_setting(word)
                || matches!(
                    *word,
                    "sudo" | "env" | "time" | "nice" | "exec" | "timeout" | "xvfb-run"
                )
                || word.bytes().all(|b| b.is_ascii_digit() || b == b's')
        })
}

fn makes_commits(line: &str) -> bool {
    line.contains("git")
        && ["commit", "cherry-pick", "revert", "merge"]
            .iter()
            .any(|verb| line.contains(verb))
}

/// The commits that git says it made: `[branch hash] subject`.
fn commits(output: &str) -> impl Iterator<Item = Prose> {
    output.lines().filter_map(|line| {
        let (inside, subject) = line.strip_prefix('[')?.split_once(']')?;
        let hash = inside.rsplit(' ').next()?;
        let is_hash = (7..=64).contains(&hash.len())
            && inside.contains(' ')
            && hash
                .bytes()
                .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if !is_hash {
            return None;
        }
        prose(
            &format!("{hash} {}", condense(subject.trim(), 120)),
            usize::MAX,
        )
    })
}

/// The line of an error that says what it was: the first that speaks of one, else the first.
fn error_line(text: &str) -> String {
    let speaks = |line: &&str| {
        let line = line.to_ascii_lowercase();
        [
            "error",
            "failed",
            "fatal",
            "exception",
            "panicked",
            "not found",
            "denied",
        ]
        .iter()
        .any(|word| line.contains(word))
    };
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines().take(2000).find(speaks).or_else(|| lines().next());
    condense(line.unwrap_or_default(), ERROR_LENGTH)
}

/// A text in which what changes from run to run is the same: numbers and blanks.
fn same(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(4096));
    let mut last = ' ';
    for c in text.chars().take(4096) {
        let c = if c.is_ascii_digit() {
            '0'
        } else if c.is_whitespace() {
            ' '
        } else {
            c
        };
        if !(c == last && matches!(c, ' ' | '0')) {
            out.push(c);
        }
        last = c;
    }
    out
}
