//! Decides how a check ended, from its exit status where that is its own, otherwise from its output.

use std::borrow::Cow;
use std::sync::LazyLock;

use flamestack_core::text::without_escapes;

use super::checks::{CheckCommand, CheckKind};
use super::line_pattern::LinePattern;
use super::runs::{Run, RunState};
use crate::data::{OUTCOMES, section};
use crate::shell::{Operator, invocation};

/// Result of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CheckOutcome {
    /// It succeeded.
    Passed,
    /// It failed.
    Failed,
}

/// Result of a check, as far as that is certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Certain(CheckOutcome),
    /// There is no such command, script or folder, or nothing to check.
    NotRun,
    Unknown,
}

struct Decisive {
    section: &'static str,
    outcome: CheckOutcome,
    /// It decides wherever it is printed.
    strong: bool,
    pattern: LinePattern,
}

/// Sections of the data file, for all programs or for those named.
const SECTIONS: [(&str, &[&str]); 12] = [
    ("go", &["go"]),
    ("go-build", &["go"]),
    ("cargo", &["cargo"]),
    ("cargo-build", &["cargo"]),
    (
        "js",
        &["vitest", "jest", "playwright", "mocha", "node", "bun"],
    ),
    ("python", &["pytest", "unittest"]),
    ("ruff", &["ruff"]),
    (
        "types",
        &["tsc", "tsgo", "mypy", "ty", "pyright", "basedpyright"],
    ),
    (
        "eslint",
        &["eslint", "oxlint", "biome", "prettier", "oxfmt"],
    ),
    ("golangci", &["golangci-lint"]),
    ("dotnet", &["dotnet"]),
    ("any", &[]),
];

static DECISIVE: LazyLock<Vec<Decisive>> = LazyLock::new(|| {
    let mut all = Vec::new();
    for (name, _) in SECTIONS {
        for row in section(OUTCOMES, name) {
            let Some((outcome, pattern)) = row.split_once(' ') else {
                continue;
            };
            all.push(Decisive {
                section: name,
                outcome: if outcome == "pass" {
                    CheckOutcome::Passed
                } else {
                    CheckOutcome::Failed
                },
                strong: outcome == "FAIL",
                pattern: LinePattern::new(pattern),
            });
        }
    }
    all
});

/// Length of the beginning and of the end of an output that are read, in bytes.
const READ: usize = 24 * 1024;
/// A command that could not be run says so in a short output, in bytes.
const SHORT: usize = 600;
/// Programs that set up a command line, or print something of their own.
pub(super) const SETUP: [&str; 14] = [
    "cd", "export", "source", "set", "echo", "printf", "pwd", "mkdir", "sleep", "true", "pushd",
    "popd", "unset", "rm",
];
/// Programs that show only some lines of what they are given.
const FILTERS: [&str; 5] = ["grep", "rg", "egrep", "ag", "findstr"];

/// Returns the lines of an output that are read, without escapes of a terminal.
pub(super) fn lines(output: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let head = output
        .get(..output.floor_char_boundary(READ))
        .unwrap_or(output);
    let from = output.ceil_char_boundary(output.len().saturating_sub(READ).max(head.len()));
    let tail = output.get(from..).unwrap_or_default();
    let lines = head.lines().chain(tail.lines());
    lines.map(|line| without_escapes(line.trim_end_matches('\r')))
}

/// Returns how a check, the command with index `at` of a run, ended.
pub(super) fn verdict(run: &Run<'_>, at: usize, check: &CheckCommand) -> Verdict {
    use CheckOutcome::{Failed, Passed};
    if run.state != RunState::Done {
        return Verdict::Unknown;
    }
    let failed = run.exit.is_some_and(|exit| exit != 0);
    let is_last = at + 1 == run.commands.len();
    if run.passed_by_status(at) {
        return Verdict::Certain(Passed);
    }
    if failed && run.commands.len() == 1 {
        let missing = run.output.len() < SHORT && says_not_run(&run.output);
        return if missing {
            Verdict::NotRun
        } else {
            Verdict::Certain(Failed)
        };
    }
    let alone = run
        .checks
        .iter()
        .all(|(other, _)| *other == at || run.passed_by_status(*other));
    let decided = decided_by_output(run, check, alone);
    let says_passed = decided == Some(Passed);
    if alone && run.output.len() < SHORT && says_not_run(&run.output) && !says_passed {
        return Verdict::NotRun;
    }
    match decided {
        Some(Passed) if failed && is_last => return Verdict::Unknown,
        Some(outcome) => return Verdict::Certain(outcome),
        None => {}
    }
    let before = run.commands.get(..at).unwrap_or_default();
    let only_set_up = before.iter().all(|command| {
        let program = invocation(command).first().copied().unwrap_or("cd");
        SETUP.contains(&program) && matches!(command.then, Operator::And | Operator::Next)
    });
    if failed && is_last && only_set_up {
        return Verdict::Certain(Failed);
    }
    if alone && check.kind != CheckKind::Test && check.kind != CheckKind::Several {
        return unfiltered(run, at);
    }
    Verdict::Unknown
}

/// Judges a build, lint or type check by output that has none of the known lines: an error means
/// failure, silence success, unless a filter may have removed the errors.
fn unfiltered(run: &Run<'_>, at: usize) -> Verdict {
    let after = run.commands.get(at + 1..).unwrap_or_default();
    let is_filter = |program: &&str| FILTERS.contains(program);
    if after
        .iter()
        .any(|command| invocation(command).first().is_some_and(is_filter))
    {
        return Verdict::Unknown;
    }
    if failure_line(&run.output, &["errors"]).is_some() {
        return Verdict::Certain(CheckOutcome::Failed);
    }
    let chained = run
        .commands
        .iter()
        .rev()
        .skip(1)
        .all(|command| matches!(command.then, Operator::And | Operator::Pipe));
    let silent = lines(&run.output).all(|line| line.trim().is_empty() || is_of_host(&line));
    let ok = run.exit.is_none_or(|exit| exit == 0);
    if silent && ok && chained {
        Verdict::Certain(CheckOutcome::Passed)
    } else {
        Verdict::Unknown
    }
}

/// Returns true for a line that a host adds to the output of its shell.
fn is_of_host(line: &str) -> bool {
    const BEGINNINGS: [&str; 9] = [
        "Script ",
        "Wall time",
        "Output:",
        "(no output)",
        "(Bash completed",
        "Shell cwd was reset",
        "Chunk ID",
        "Process exited",
        "Original token",
    ];
    BEGINNINGS
        .iter()
        .any(|beginning| line.starts_with(beginning))
}

/// Returns the outcome that the known lines of an output decide. If other checks of the same line
/// wrote into it, only the lines of this check's own program count.
fn decided_by_output(run: &Run<'_>, check: &CheckCommand, alone: bool) -> Option<CheckOutcome> {
    let program = check.name.split(' ').next().unwrap_or_default();
    let of_program = |name: &str| {
        let row = SECTIONS.iter().find(|(section, _)| *section == name);
        row.is_some_and(|(_, programs)| programs.contains(&program))
    };
    let applies = |name: &str| match name {
        "go-build" => alone && matches!(check.name.as_str(), "go build" | "go vet"),
        "cargo-build" => alone && check.kind != CheckKind::Test,
        name => alone || of_program(name),
    };
    let mut last = None;
    for line in lines(&run.output) {
        // Task runners write the name of the task before each line.
        let line = without_task(&line);
        let found = DECISIVE
            .iter()
            .find(|decisive| applies(decisive.section) && decisive.pattern.matches(line));
        match found {
            Some(decisive) if decisive.strong => return Some(CheckOutcome::Failed),
            Some(decisive) => last = Some(decisive.outcome),
            None => {}
        }
    }
    last
}

fn without_task(line: &str) -> &str {
    // Gemini CLI writes this before the first line.
    let line = line.strip_prefix("Output: ").unwrap_or(line);
    let inside = line
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("] "));
    match inside {
        Some((task, rest)) if !task.contains(char::is_whitespace) => rest,
        _ => line,
    }
}

fn says_not_run(output: &str) -> bool {
    let patterns = || section(OUTCOMES, "not-run").map(LinePattern::new);
    lines(output).any(|line| patterns().any(|pattern| pattern.matches(&line)))
}

/// Returns the first line of an output that names a failing test or, if there is none, an error.
pub(super) fn first_failure(output: &str) -> Option<String> {
    failure_line(output, &["tests"]).or_else(|| failure_line(output, &["errors"]))
}

/// Returns the lines of an output that name failing tests or errors.
pub(super) fn failure_lines(output: &str) -> impl Iterator<Item = String> {
    let patterns: Vec<LinePattern> = ["tests", "errors"]
        .iter()
        .flat_map(|name| section(OUTCOMES, name))
        .map(LinePattern::new)
        .collect();
    lines(output).filter_map(move |line| {
        let line = without_task(line.trim());
        let names = patterns.iter().any(|pattern| pattern.matches(line));
        names.then(|| line.to_owned())
    })
}

fn failure_line(output: &str, sections: &[&str]) -> Option<String> {
    let patterns: Vec<LinePattern> = sections
        .iter()
        .flat_map(|name| section(OUTCOMES, name))
        .map(LinePattern::new)
        .collect();
    let mut all = lines(output);
    let found = all.find(|line| {
        let line = without_task(line);
        patterns.iter().any(|pattern| pattern.matches(line))
    });
    found.map(|line| without_task(line.trim()).to_owned())
}
/// Returns true if the output of tests shows that all were skipped, or that there was none.
pub(super) fn ran_nothing(output: &str) -> bool {
    let lines = || output.lines().map(str::trim);
    // TAP, then the totals of pytest, cargo and go.
    let mut results = lines().filter(|line| line.starts_with("ok ")).peekable();
    let is_tap = lines().any(|line| line.starts_with("1.."));
    let all_skipped = is_tap && results.peek().is_some() && results.all(|it| it.contains("# skip"));
    let mut totals = lines()
        .filter(|line| line.starts_with("test result: "))
        .peekable();
    let no_total = totals.peek().is_some() && totals.all(|it| it.contains(" 0 passed"));
    let says = |words: &str| lines().any(|line| line.contains(words));
    let pytest = says(" skipped in ") && !says(" passed");
    let none = says("no tests ran") || (says("[no tests to run]") && !lines().any(ran_some));
    all_skipped || no_total || pytest || none
}

/// Returns true for the line of a Go package whose tests ran.
fn ran_some(line: &str) -> bool {
    line.starts_with("ok ") && !line.contains("[no tests to run]")
}
