//! The state of the work in a session: what was asked, what was changed, what was last checked and
//! how that ended, what is failing, what was being done.
//!
//! Everything is read from the transcript; what is not certain is left out. A check counts with the
//! outcome that its exit status or its output shows, and not at all if neither does.
//!
//! - `prompts` finds the user's requests and directives;
//! - `runs`, `checks` and `outcomes` read command lines and how they ended, `line_pattern` lines of
//!   output;
//! - `doing` finds what was being done when the conversation was cut;
//! - `edits` and `files` follow changed files, `git` the repository;
//! - `steps` lists the last steps;
//! - `failed` finds approaches that did not work, `stalls` signs that the work repeats itself;
//! - `contradictions` compares a summary with the state;
//! - `render` writes the state.

mod checks;
mod contradictions;
mod doing;
mod edits;
mod failed;
mod files;
mod git;
mod line_pattern;
#[cfg(test)]
mod moment_tests;
mod outcomes;
mod prompts;
mod render;
mod runs;
mod stalls;
mod steps;
#[cfg(test)]
mod tests;

use flamestack_core::text::condense;
use flamestack_core::transcript::{Entry, EntryKind, Todo, TodoStatus};

pub use checks::CheckKind;
pub use failed::FailedApproach;
pub use files::{ChangedFile, FileChange};
pub use git::{GitState, SessionCommit};
pub use outcomes::CheckOutcome;
pub use prompts::Said;
pub(crate) use prompts::typed;
pub use stalls::watch_call;
pub use steps::{WorkStep, WorkStepKind};

use self::checks::CheckCommand;
use self::outcomes::{Verdict, first_failure, ran_nothing, verdict};
use self::runs::{Run, RunState};

/// The state of the work in a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkState {
    /// The newest request of the user.
    pub request: Option<Said>,
    /// The request before it, if it is too short to say what it is about.
    pub earlier: Option<Said>,
    /// The user's last message after it, if that only asks to go on.
    pub go_on: Option<Said>,
    /// The reply of the model that a short newest message answers, mostly its end.
    pub reply: Option<Said>,
    /// Standing directives, the newest last.
    pub directives: Vec<Said>,
    /// Changed files, the last change last.
    pub changed: Vec<ChangedFile>,
    /// The last check whose outcome is certain.
    pub check: Option<CheckResult>,
    /// Other commands that failed and did not succeed since, the newest last.
    pub errors: Vec<CheckResult>,
    /// The host's to-do list, unless it was abandoned.
    pub todos: Vec<Todo>,
    /// The last call with a known result.
    pub last_action: Option<Action>,
    /// The step that the model was about to take, in its words.
    pub intention: Option<Said>,
    /// The model's last words. If they are before the request, it answers them.
    pub last_words: Option<Said>,
    /// Index of the entry with which the user stopped the work, if nothing was done since.
    pub stopped: Option<usize>,
    /// The last steps that mattered, the newest last.
    pub steps: Vec<WorkStep>,
    /// Branch, last commit, uncommitted changes.
    pub git: GitState,
    /// Approaches that did not work, the newest last.
    pub failed: Vec<FailedApproach>,
    /// True if no check was run in the whole session.
    pub is_unchecked: bool,
    /// True if the model has called tools, and no file was changed, as far as is known.
    pub is_untouched: bool,
}

/// The result of a check, or of another command that can fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckResult {
    /// The commands, as they were typed; several if one line ran several checks.
    pub commands: Vec<String>,
    /// The kinds of check; none for a command that checks nothing, such as `git push`.
    pub kinds: Vec<CheckKind>,
    /// Its result.
    pub outcome: CheckOutcome,
    /// The line of its output that names the first failure.
    pub failure: Option<String>,
    /// Index of the entry that reported it.
    pub entry: usize,
    /// True if it passed although it ran no test: all were skipped, or there was none.
    pub ran_nothing: bool,
    /// Number of successful edits since.
    pub edits_since: usize,
}

/// A call of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// Kind of the call.
    pub kind: ActionKind,
    /// The command line or the file.
    pub object: String,
    /// Index of the entry of the call.
    pub entry: usize,
    /// Index of the entry of its answer.
    pub answered: usize,
}

/// Kind of a call of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ActionKind {
    /// Ran a command.
    Ran,
    /// Changed a file.
    Edited,
    /// Read a file.
    Read,
    /// Was about to do one of these, and the user did not let it.
    Refused,
}

/// Number of calls after which a check says nothing about the present state.
const CHECK_AGE: u32 = 80;
/// Number of calls after which an error says nothing about the present state.
const ERROR_AGE: u32 = 60;
/// Number of errors that are kept, the newest ones.
const MAX_ERRORS: usize = 3;
/// Number of calls after which a to-do list with two newer requests is abandoned.
const TODO_AGE: usize = 60;
/// Maximum lengths of what is quoted, in characters; the entry has the rest.
const MAX_REQUEST: usize = 300;
/// A shorter request refers to the one before it, in characters.
const BRIEF_REQUEST: usize = 80;
const MAX_SAID: usize = 240;
const MAX_TODO: usize = 140;
const MAX_COMMAND: usize = 100;
const MAX_FAILURE: usize = 160;

impl WorkState {
    /// Reads the state of the work after the given entries of a session.
    pub fn read(entries: &[Entry]) -> Self {
        let own: Vec<Entry>;
        // Subagents have sessions of their own; only old recordings mix them in.
        let entries = if entries.iter().any(|entry| entry.agent.is_some()) {
            own = entries
                .iter()
                .map(|entry| match entry.agent {
                    // Kept as an empty entry, so that indexes stay what they are.
                    Some(_) => Entry::from(EntryKind::TurnEnded),
                    None => entry.clone(),
                })
                .collect();
            &own
        } else {
            entries
        };
        Self::of_all(entries)
    }

    /// Returns true if the model did something after its last words: they do not end the turn.
    pub fn is_at_work(&self) -> bool {
        let Some(words) = &self.last_words else {
            return true;
        };
        let action = self.last_action.as_ref();
        action.is_some_and(|action| action.entry > words.entry)
    }

    /// Returns true if a message of the user is quoted whole.
    pub fn quotes(&self, message: &str) -> bool {
        let quoted = [&self.request, &self.earlier, &self.go_on];
        let mut quoted = quoted.into_iter().flatten();
        quoted.any(|said| {
            let words = said.text.split_whitespace();
            words.eq(message.split_whitespace())
        })
    }

    /// Reads the state of finished work: every entry is a part of it, those of subagents included.
    pub fn of_all(entries: &[Entry]) -> Self {
        let is_call = |entry: &&Entry| matches!(entry.kind, EntryKind::Call(_));
        let calls = u32::try_from(entries.iter().filter(is_call).count()).unwrap_or(u32::MAX);
        let files = files::files(entries);
        let runs = runs::runs(entries, calls.saturating_sub(2 * CHECK_AGE));
        let edits_since =
            |entry: usize| files.edits.iter().filter(|edit| edit.entry > entry).count();
        let check = last_check(&runs, calls, &edits_since);
        let since = nth_last_call(entries, CHECK_AGE as usize);
        let (request, go_on) = prompts::request(entries);
        let short = |said: Said| said.map(|text| condense(text, MAX_SAID));
        let is_brief = |said: &&Said| said.text.chars().count() < BRIEF_REQUEST;
        let brief = request.as_ref().filter(is_brief);
        let earlier = brief.and_then(|brief| prompts::request_before(entries, brief.entry));
        let reply = go_on.as_ref().or(brief);
        let reply = reply.and_then(|answer| doing::reply_before(entries, answer.entry));
        Self {
            reply,
            earlier: earlier.map(|said| said.map(|text| prompts::gist(text, MAX_SAID))),
            request: request.map(|said| said.map(|text| prompts::gist(text, MAX_REQUEST))),
            go_on: go_on.map(short),
            directives: prompts::directives(entries)
                .into_iter()
                .map(short)
                .collect(),
            errors: open_errors(&runs, check.as_ref(), calls, &edits_since),
            check,
            todos: todos(entries),
            last_action: doing::last_action(entries),
            intention: doing::intention(entries),
            last_words: doing::last_words(entries),
            stopped: doing::stopped(entries),
            steps: steps::steps(entries, &files.edits, &runs),
            git: git::git(entries, &files.edits),
            failed: failed::failed_approaches(&files, &runs, since),
            is_unchecked: calls <= 2 * CHECK_AGE && runs.iter().all(|run| run.checks.is_empty()),
            is_untouched: calls > 0 && !files::may_have_changed(entries),
            changed: files.changed,
        }
    }
}

/// Returns the index of the entry with the n-th last call.
fn nth_last_call(entries: &[Entry], n: usize) -> usize {
    let calls = entries.iter().enumerate().rev();
    let mut calls = calls.filter(|(_, entry)| matches!(entry.kind, EntryKind::Call(_)));
    calls.nth(n).map_or(0, |(at, _)| at)
}

/// Returns the newest check, if its outcome is certain.
fn last_check(
    runs: &[Run<'_>],
    calls: u32,
    edits_since: &dyn Fn(usize) -> usize,
) -> Option<CheckResult> {
    for run in runs.iter().rev() {
        if run.checks.is_empty() || run.state == RunState::Refused {
            continue;
        }
        if calls - run.calls > CHECK_AGE {
            return None;
        }
        let mut verdicts: Vec<(usize, &CheckCommand, Verdict)> = Vec::new();
        for (at, check) in &run.checks {
            match verdict(run, *at, check) {
                Verdict::NotRun => {}
                verdict => verdicts.push((*at, check, verdict)),
            }
        }
        if verdicts.is_empty() && run.state == RunState::Done {
            continue;
        }
        let failed = |(_, _, verdict): &&(usize, &CheckCommand, Verdict)| {
            *verdict == Verdict::Certain(CheckOutcome::Failed)
        };
        let has_failed = verdicts.iter().any(|it| failed(&it));
        let is_unknown = verdicts.iter().any(|(_, _, it)| *it == Verdict::Unknown);
        if run.state != RunState::Done || (!has_failed && is_unknown) {
            return None;
        }
        let picked = || verdicts.iter().filter(|it| !has_failed || failed(it));
        let commands = picked().map(|(at, check, _)| shown(run, *at, &check.name));
        return Some(CheckResult {
            commands: commands.collect(),
            kinds: picked().map(|(_, check, _)| check.kind).collect(),
            outcome: if has_failed {
                CheckOutcome::Failed
            } else {
                CheckOutcome::Passed
            },
            failure: shown_failure(run).filter(|_| has_failed),
            ran_nothing: !has_failed && ran_nothing(&run.output),
            entry: run.entry,
            edits_since: edits_since(run.entry),
        });
    }
    None
}

/// Returns a command as it was typed, or its name if that is not a part of it.
fn shown(run: &Run<'_>, at: usize, name: &str) -> String {
    let words = run
        .commands
        .get(at)
        .map(|command| command.words.join(" ").replace('\0', "$"));
    let words = condense(&words.unwrap_or_default(), MAX_COMMAND);
    if words.contains(name) {
        words
    } else {
        name.to_owned()
    }
}

fn shown_failure(run: &Run<'_>) -> Option<String> {
    first_failure(&run.output).map(|line| condense(&line, MAX_FAILURE))
}

/// A command that can fail: its name, the family of commands that settle it, how it ended.
struct Attempt<'r, 'e> {
    name: String,
    family: Family,
    outcome: Option<CheckOutcome>,
    at: usize,
    run: &'r Run<'e>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Check(CheckKind),
    Action,
}

/// Returns failed commands that were neither run again nor settled by a success of their family.
fn open_errors(
    runs: &[Run<'_>],
    last: Option<&CheckResult>,
    calls: u32,
    edits_since: &dyn Fn(usize) -> usize,
) -> Vec<CheckResult> {
    let attempts: Vec<Attempt<'_, '_>> = runs.iter().flat_map(attempts).collect();
    let mut errors: Vec<CheckResult> = Vec::new();
    for (n, attempt) in attempts.iter().enumerate() {
        let run = attempt.run;
        let is_last = last.is_some_and(|last| last.entry == run.entry);
        if attempt.outcome != Some(CheckOutcome::Failed) || calls - run.calls > ERROR_AGE || is_last
        {
            continue;
        }
        let later = attempts
            .iter()
            .skip(n + 1)
            .filter(|later| later.run.entry != run.entry);
        let mut later = later;
        if later.any(|later| settles(later, attempt)) {
            continue;
        }
        let Some(failure) = shown_failure(run) else {
            continue;
        };
        let is_known = errors
            .iter()
            .any(|error| error.failure.as_ref() == Some(&failure));
        if !is_known && last.and_then(|last| last.failure.as_ref()) != Some(&failure) {
            errors.push(CheckResult {
                commands: vec![shown(run, attempt.at, &attempt.name)],
                kinds: match attempt.family {
                    Family::Check(kind) => vec![kind],
                    Family::Action => Vec::new(),
                },
                outcome: CheckOutcome::Failed,
                failure: Some(failure),
                ran_nothing: false,
                entry: run.entry,
                edits_since: edits_since(run.entry),
            });
        }
    }
    let excess = errors.len().saturating_sub(MAX_ERRORS);
    errors.split_off(excess)
}

/// Returns true if a later attempt settles an earlier one. Any check that passes also settles a
/// failed build.
fn settles(later: &Attempt<'_, '_>, earlier: &Attempt<'_, '_>) -> bool {
    if later.name == earlier.name {
        return true;
    }
    let is_check = matches!(later.family, Family::Check(_));
    let of_build = matches!(
        earlier.family,
        Family::Check(CheckKind::Build | CheckKind::Types)
    );
    let same = later.family == earlier.family && is_check;
    later.outcome == Some(CheckOutcome::Passed) && (same || (of_build && is_check))
}

fn attempts<'r, 'e>(run: &'r Run<'e>) -> Vec<Attempt<'r, 'e>> {
    let mut found = Vec::new();
    for (at, check) in &run.checks {
        let outcome = match verdict(run, *at, check) {
            Verdict::Certain(outcome) => Some(outcome),
            Verdict::NotRun | Verdict::Unknown => None,
        };
        found.push(Attempt {
            name: check.name.clone(),
            family: Family::Check(check.kind),
            outcome,
            at: *at,
            run,
        });
    }
    for (at, command) in run.commands.iter().enumerate() {
        let Some(name) = checks::action(command) else {
            continue;
        };
        let alone = run.state == RunState::Done && run.commands.len() == 1;
        let outcome = match run.exit {
            Some(0) if run.passed_by_status(at) => Some(CheckOutcome::Passed),
            Some(exit) if alone && exit != 0 => Some(CheckOutcome::Failed),
            _ => None,
        };
        found.push(Attempt {
            name,
            family: Family::Action,
            outcome,
            at,
            run,
        });
    }
    found
}

/// Returns the host's to-do list, unless all of it is done and a new request came, or newer requests
/// and much work came after it.
fn todos(entries: &[Entry]) -> Vec<Todo> {
    let newest = entries
        .iter()
        .enumerate()
        .rev()
        .find_map(|(at, entry)| match &entry.kind {
            EntryKind::Todos(todos) if !todos.is_empty() => Some((at, todos)),
            _ => None,
        });
    let Some((at, todos)) = newest else {
        return Vec::new();
    };
    let newer = prompts::requests_after(entries, at);
    let after = entries.iter().skip(at);
    let calls = after
        .filter(|entry| matches!(entry.kind, EntryKind::Call(_)))
        .count();
    let is_done = todos
        .iter()
        .all(|todo| matches!(todo.status, TodoStatus::Done | TodoStatus::Cancelled));
    if (is_done && newer > 0) || (newer >= 2 && calls > TODO_AGE) {
        return Vec::new();
    }
    let short = |todo: &Todo| Todo {
        text: condense(&todo.text, MAX_TODO),
        status: todo.status,
    };
    todos.iter().map(short).collect()
}
