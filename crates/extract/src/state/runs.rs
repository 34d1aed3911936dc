//! Runs of command lines: what was run, how it ended, and which checks it contains.
//!
//! Hosts report a long command in several answers: the first says that it is running, and a later
//! call, which names it by an id, brings the rest. These are one run here.

use std::borrow::Cow;
use std::collections::BTreeMap;

use flamestack_core::transcript::{Answer, Call, CallKind, Entry, EntryKind, Speaker};
use serde_json::Value;

use super::checks::{self, CheckCommand};
use crate::arguments;
use crate::shell::{Operator, SimpleCommand, unwrapped};

/// State of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunState {
    /// It has ended.
    Done,
    /// Its end was not reported.
    Running,
    /// Its output is mixed with that of other command lines.
    Mixed,
    /// The user or the host did not let it run.
    Refused,
}

/// A run of a command line.
#[derive(Clone, Debug)]
pub(super) struct Run<'a> {
    /// Index of the entry that reported its end, or its call.
    pub(super) entry: usize,
    /// Number of calls up to its end.
    pub(super) calls: u32,
    pub(super) line: Cow<'a, str>,
    pub(super) commands: Vec<SimpleCommand>,
    /// The commands that are checks, with their index.
    pub(super) checks: Vec<(usize, CheckCommand)>,
    pub(super) output: Cow<'a, str>,
    pub(super) exit: Option<i32>,
    pub(super) state: RunState,
}

impl<'a> Run<'a> {
    fn new(entry: usize, calls: u32, line: Cow<'a, str>) -> Self {
        let commands = unwrapped(&line);
        let indexed = commands.iter().enumerate();
        let checks = indexed.filter_map(|(at, command)| Some((at, checks::check(command)?)));
        Self {
            entry,
            calls,
            checks: checks.collect(),
            commands,
            line,
            output: Cow::Borrowed(""),
            exit: None,
            state: RunState::Running,
        }
    }

    /// Makes a run of a command line that one call ran and one answer reports.
    pub(super) fn of(line: Cow<'a, str>, answer: &'a Answer) -> Self {
        let text = answer.text.as_str();
        let mut run = Self::new(0, 0, line);
        run.output = Cow::Borrowed(text);
        run.exit = answer.exit_code.or((!answer.ok).then_some(1));
        run.state = match running_id(text) {
            Some(_) => RunState::Running,
            None if is_refusal(text) => RunState::Refused,
            None => RunState::Done,
        };
        run
    }

    /// Returns true if the status of the line, which is 0, is also that of one of its commands: only
    /// `&&` follows it, or pipes whose failure would count.
    pub(super) fn passed_by_status(&self, at: usize) -> bool {
        let last = self.commands.len().saturating_sub(1);
        let after = self.commands.get(at..last).unwrap_or_default();
        let all =
            |allowed: &[Operator]| after.iter().all(|command| allowed.contains(&command.then));
        let first_is_and = after
            .first()
            .is_some_and(|command| command.then == Operator::And);
        self.exit == Some(0)
            && (all(&[Operator::And])
                || ((first_is_and || self.line.contains("pipefail"))
                    && all(&[Operator::And, Operator::Pipe])))
    }
}

/// Beginnings of the answers to calls that did not run.
const REFUSALS: [&str; 10] = [
    "The user doesn't want to proceed",
    "[Request interrupted",
    "Permission for this tool use was",
    "Permission to use ",
    "<tool_use_error>",
    "The user rejected permission",
    "User rejected",
    "User aborted",
    "Tool execution aborted",
    "The operation was aborted",
];

/// Returns true if an answer says that its call did not run.
pub(super) fn is_refusal(text: &str) -> bool {
    let head = text.get(..text.floor_char_boundary(400)).unwrap_or(text);
    REFUSALS.iter().any(|refusal| head.starts_with(refusal))
        || head.contains("was rejected by the user")
}

/// Codex's tool that runs a script, which may start commands.
const SCRIPT: &str = "exec";
/// Marks after which an answer names the id of a command that is still running.
const RUNNING: [&str; 5] = [
    "Process running with session ID ",
    "Script running with cell ID ",
    "running in background with ID: ",
    "running in the background with ID: ",
    "in background (ID: ",
];
/// Names of the arguments by which a later call names it.
pub(super) const CONTINUED: [&str; 4] = ["session_id", "cell_id", "task_id", "bash_id"];

/// Collects the runs among the entries of a session, from a number of calls on, in the order of
/// their ends.
pub(super) fn runs(entries: &[Entry], since: u32) -> Vec<Run<'_>> {
    let mut collector = Collector::default();
    for (at, entry) in entries.iter().enumerate() {
        match &entry.kind {
            EntryKind::Call(call) => {
                collector.count += 1;
                if collector.count >= since {
                    collector.calls.insert(&call.id, call);
                }
            }
            EntryKind::Answer(answer) => collector.answer(at, answer),
            EntryKind::User {
                speaker: Speaker::Host,
                text,
            } => collector.notify(at, text),
            _ => {}
        }
    }
    let mut runs = collector.runs;
    runs.sort_by_key(|run| run.entry);
    runs
}

#[derive(Default)]
struct Collector<'a> {
    count: u32,
    calls: BTreeMap<&'a str, &'a Call>,
    /// Commands that are still running, by their ids.
    open: BTreeMap<String, usize>,
    runs: Vec<Run<'a>>,
}

impl<'a> Collector<'a> {
    fn answer(&mut self, at: usize, answer: &'a Answer) {
        let Some(call) = self.calls.remove(answer.call.as_str()) else {
            return;
        };
        let reported = Reported::of(call, answer);
        if let Some(number) = self.continued(call) {
            self.goes_on(number, at, reported);
            return;
        }
        let lines = command_lines(call);
        let mixed = lines.len() > 1;
        for line in lines {
            let mut run = Run::new(at, self.count, line);
            run.output.clone_from(&reported.output);
            run.exit = reported.exit;
            run.state = if is_refusal(&reported.output) {
                RunState::Refused
            } else if mixed {
                RunState::Mixed
            } else if let Some(id) = &reported.running {
                self.open.insert(id.clone(), self.runs.len());
                RunState::Running
            } else {
                RunState::Done
            };
            self.runs.push(run);
        }
    }

    /// Adds the report of a later call to a run.
    fn goes_on(&mut self, number: usize, at: usize, reported: Reported<'_>) {
        if let Some(id) = reported.running {
            self.open.insert(id, number);
        }
        let Some(run) = self.runs.get_mut(number) else {
            return;
        };
        run.output = format!("{}\n{}", run.output, reported.output).into();
        (run.entry, run.calls) = (at, self.count);
        if reported.ended.is_some() {
            (run.exit, run.state) = (reported.ended, RunState::Done);
        }
    }

    /// Returns the run that a call continues.
    fn continued(&self, call: &Call) -> Option<usize> {
        if self.open.is_empty() {
            return None;
        }
        if call.tool == SCRIPT {
            let script = arguments::text(&call.arguments);
            let (_, written) = script.split_once("write_stdin")?;
            let (_, id) = written.split_once("session_id")?;
            let id = id.trim_start_matches(['"', '\'', ' ', ':']);
            let end = id.find(|c: char| !c.is_ascii_digit()).unwrap_or(id.len());
            return self.open.get(id.get(..end)?).copied();
        }
        if call.command.is_some() {
            return None;
        }
        let arguments: Value = serde_json::from_str(&call.arguments).ok()?;
        let id = CONTINUED
            .iter()
            .find_map(|name| match arguments.get(name)? {
                Value::String(id) => Some(id.clone()),
                Value::Number(id) => Some(id.to_string()),
                _ => None,
            })?;
        self.open.get(&id).copied()
    }

    /// Takes the host's notice that a background task has ended.
    fn notify(&mut self, at: usize, text: &str) {
        if self.open.is_empty() || !text.contains("<task-notification") {
            return;
        }
        let id = text
            .split_once("<task-id>")
            .and_then(|(_, rest)| rest.split_once('<'));
        let run = id.and_then(|(id, _)| self.open.get(id));
        let exit = text
            .split_once("exit code ")
            .and_then(|(_, rest)| leading_number(rest));
        if let (Some(run), Some(exit)) = (run.and_then(|run| self.runs.get_mut(*run)), exit) {
            (run.entry, run.calls) = (at, self.count);
            (run.exit, run.state) = (Some(exit), RunState::Done);
        }
    }
}

/// The report of a call on a command.
struct Reported<'a> {
    output: Cow<'a, str>,
    /// The status of a command that this call started.
    exit: Option<i32>,
    /// The status of a command that an earlier call started.
    ended: Option<i32>,
    /// The id of the command, if it is still running.
    running: Option<String>,
}

impl<'a> Reported<'a> {
    fn of(call: &Call, answer: &'a Answer) -> Self {
        let text = answer.text.as_str();
        if let Some(packed) = packed(text) {
            return packed;
        }
        let running = running_id(text);
        let own = answer.exit_code.or((!answer.ok).then_some(1));
        // A script that completes says nothing about the commands that it started.
        let own = own.filter(|exit| call.tool != SCRIPT || *exit != 0);
        // Tools that report on a task succeed themselves, however the task ended.
        let is_shell = call.kind == CallKind::Execute && call.tool != SCRIPT;
        let ended = answer.exit_code.filter(|_| running.is_none() && is_shell);
        Self {
            output: Cow::Borrowed(text),
            exit: own,
            ended: stated_exit(text).or(ended),
            running: running.map(str::to_owned),
        }
    }
}

/// Returns the report in an answer to a script of Codex: an object with the output, and with the status of
/// a command that has ended or the id of one that is still running.
fn packed<'a>(text: &str) -> Option<Reported<'a>> {
    let object = text.get(text.find("{\"chunk_id\"")?..)?;
    let mut objects = serde_json::Deserializer::from_str(object).into_iter::<Value>();
    let object = objects.next()?.ok()?;
    let exit = object.get("exit_code").and_then(Value::as_i64);
    let exit = exit.and_then(|exit| i32::try_from(exit).ok());
    let id = object.get("session_id").filter(|_| exit.is_none());
    let output = object.get("output").and_then(Value::as_str);
    Some(Reported {
        output: output.unwrap_or_default().to_owned().into(),
        exit,
        ended: exit,
        running: id.map(Value::to_string),
    })
}

/// Returns the id of a command that is still running, if an answer names one.
pub(super) fn running_id(text: &str) -> Option<&str> {
    let head = text.get(..text.floor_char_boundary(600)).unwrap_or(text);
    let rest = RUNNING
        .iter()
        .find_map(|mark| Some(head.split_once(mark)?.1))?;
    let end = rest
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(rest.len());
    rest.get(..end).filter(|id| !id.is_empty())
}

/// Returns the exit code that an answer states in words.
fn stated_exit(text: &str) -> Option<i32> {
    const MARKS: [&str; 4] = [
        "exited with code ",
        "<exit_code>",
        "\"exit_code\":",
        "exit code ",
    ];
    let rest = MARKS
        .iter()
        .find_map(|mark| Some(text.split_once(mark)?.1))?;
    leading_number(rest)
}

fn leading_number(text: &str) -> Option<i32> {
    let text = text.trim_start();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '-')
        .unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}

/// Returns the command lines that a call runs. A script of Codex may run several.
pub(super) fn command_lines(call: &Call) -> Vec<Cow<'_, str>> {
    if call.tool == SCRIPT {
        let script = arguments::text(&call.arguments);
        let lines: Vec<_> = scripted(&script).into_iter().map(Cow::Owned).collect();
        if !lines.is_empty() {
            return lines;
        }
    }
    if call.kind != CallKind::Execute {
        return Vec::new();
    }
    call.command
        .as_deref()
        .map(Cow::Borrowed)
        .into_iter()
        .collect()
}

/// Returns the string literals of the properties `cmd` of a script.
fn scripted(script: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in script.match_indices("cmd") {
        let rest = script.get(at + 3..).unwrap_or_default();
        let rest = rest.trim_start_matches(['"', '\'', ' ']);
        let Some(rest) = rest.strip_prefix(':').map(str::trim_start) else {
            continue;
        };
        let Some(quote) = rest
            .chars()
            .next()
            .filter(|c| matches!(c, '"' | '\'' | '`'))
        else {
            continue;
        };
        let mut line = String::new();
        let mut chars = rest.chars().skip(1);
        while let Some(c) = chars.next().filter(|c| *c != quote) {
            line.push(match c {
                '\\' => match chars.next() {
                    Some('n') => '\n',
                    Some('t') => '\t',
                    Some(c) => c,
                    None => break,
                },
                c => c,
            });
        }
        found.push(line);
    }
    found
}
