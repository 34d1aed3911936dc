//! Signs of a stall in answered calls, for [`flamestack_core::stall`] to compare.
//!
//! Numbers and blanks are left out of errors and answers, so that times and line numbers make no
//! difference. Calls that wait, calls that were refused and Flamestack's own do not count as signs.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use flamestack_core::id::Fingerprint;
use flamestack_core::stall::{CheckRun, StallWatch};
use flamestack_core::text::condense;
use flamestack_core::transcript::{Answer, Call, CallKind};
use flamestack_core::{SessionRef, Title};

use super::outcomes::{CheckOutcome, Verdict, failure_lines, lines, verdict};
use super::runs::{CONTINUED, Run, RunState, command_lines, is_refusal};
use crate::failure::{error_line, normalised};
use crate::shell::{file_changes, invocation, unwrapped};

/// Maximum number of issues of a check that are compared.
const MOST_ISSUES: usize = 200;
/// Maximum length of the name of what repeats, in characters.
const NAME_LENGTH: usize = 120;
/// Length of the beginning of an answer that is compared, in bytes.
const COMPARED: usize = 4096;

static WAITS: LazyLock<Vec<(&str, Vec<&str>)>> = LazyLock::new(|| {
    let rows = include_str!("../../data/waits.txt").lines();
    let rows = rows.filter(|row| !row.starts_with('#'));
    let rows = rows.filter_map(|row| {
        let mut words = row.split_whitespace();
        Some((words.next()?, words.collect()))
    });
    rows.collect()
});

/// Feeds an answered call of a session into its histories.
pub fn watch_call(watch: &mut StallWatch, session: &SessionRef, call: &Call, answer: &Answer) {
    let is_own = matches!(
        call.kind,
        CallKind::Stack | CallKind::Todo | CallKind::Ask | CallKind::Plan | CallKind::Delegate
    );
    if is_own || is_refusal(&answer.text) || is_wait(call) {
        return;
    }
    let failed = !answer.ok || answer.exit_code.is_some_and(|code| code != 0);
    if !failed && has_edited(call, answer) {
        watch.edited();
    }
    if call.kind == CallKind::Execute {
        for line in command_lines(call) {
            watch_check(watch, session, &Run::of(line, answer));
        }
    }
    if failed && let Some((key, what)) = error(session, call, answer) {
        watch.failed(key, what);
    }
    if !matches!(call.kind, CallKind::Edit | CallKind::Write) || failed {
        let text = lead(&answer.text, COMPARED);
        let name = format!("{}\n{}\n{}", call.tool, call.arguments, normalised(text));
        let key = Fingerprint::of(session, "call", &name);
        let arguments = crate::arguments::text(&call.arguments);
        let what = call.command.as_deref().unwrap_or(&arguments);
        let what = what.replace('\n', " ");
        if let Some(what) = title(&format!("{} {what}", call.tool)) {
            watch.called(key, what);
        }
    }
}

fn watch_check(watch: &mut StallWatch, session: &SessionRef, run: &Run<'_>) {
    if run.checks.is_empty() || run.state != RunState::Done {
        return;
    }
    let verdicts = run
        .checks
        .iter()
        .map(|(at, check)| verdict(run, *at, check));
    let mut failed = false;
    for verdict in verdicts {
        match verdict {
            Verdict::Certain(outcome) => failed |= outcome == CheckOutcome::Failed,
            Verdict::NotRun | Verdict::Unknown => return,
        }
    }
    let names: Vec<&str> = run
        .checks
        .iter()
        .map(|(_, check)| check.name.as_str())
        .collect();
    let Some(name) = title(&names.join(", ")) else {
        return;
    };
    let passed = passed(&run.output);
    // Every line is compared with every pattern, so a check that passed is spared that.
    let issues = if failed || passed.is_none() {
        issues(&run.output)
    } else {
        Vec::new()
    };
    let count = i64::try_from(issues.len()).unwrap_or(i64::MAX);
    let key = Fingerprint::of(session, "issues", &issues.join("\n"));
    watch.checked(
        &name,
        CheckRun {
            issues: failed.then_some(key),
            score: passed.unwrap_or(-count),
        },
    );
}

/// Returns the different failures that an output names, in order.
fn issues(output: &str) -> Vec<String> {
    let lines = failure_lines(output).take(MOST_ISSUES);
    let issues: BTreeSet<String> = lines.map(|line| normalised(&line)).collect();
    issues.into_iter().collect()
}

/// Returns the number of tests that passed, if the output says so.
fn passed(output: &str) -> Option<i64> {
    let mut sum = None;
    for line in lines(output) {
        let words: Vec<&str> = line.split_whitespace().collect();
        for pair in words.windows(2) {
            if let [number, word] = pair
                && (word.starts_with("passed") || word.starts_with("passing"))
                && let Ok(number) = number
                    .trim_matches(|c: char| !c.is_ascii_digit())
                    .parse::<i64>()
            {
                sum = Some(number.saturating_add(sum.unwrap_or_default()));
            }
        }
    }
    sum
}

/// Returns true if a call changed files.
fn has_edited(call: &Call, answer: &Answer) -> bool {
    match call.kind {
        CallKind::Edit | CallKind::Write => true,
        CallKind::Execute => call
            .command
            .as_deref()
            .is_some_and(|command| !file_changes(command, &answer.text).made.is_empty()),
        _ => false,
    }
}

/// Returns the key and the name of an error: its words and its place.
fn error(session: &SessionRef, call: &Call, answer: &Answer) -> Option<(Fingerprint, Title)> {
    let words = error_line(&answer.text);
    let place = place(&answer.text)
        .or_else(|| call.paths.first().cloned())
        .or_else(|| call.command.clone())
        .unwrap_or_default();
    let name = format!("{}\n{}", normalised(&words), normalised(&place));
    let key = Fingerprint::of(session, "error", &name);
    let what = match words.is_empty() {
        true => place,
        false if words.contains(&place) => words,
        false => format!("{words} ({place})"),
    };
    Some((key, title(&what)?))
}

/// Returns the file of the first place in a text, such as `src/a.rs` of `src/a.rs:12:3`.
fn place(text: &str) -> Option<String> {
    let text = lead(text, COMPARED);
    let words = text.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | '"' | '\''));
    let mut places = words.filter_map(|word| {
        let (path, rest) = word.split_once(':')?;
        let is_place = rest.starts_with(|c: char| c.is_ascii_digit())
            && path.contains('.')
            && path.contains(|c: char| c.is_alphabetic());
        is_place.then(|| path.to_owned())
    });
    places.next()
}

/// Returns true if a call waits for something, or asks for the state of something that is still running.
fn is_wait(call: &Call) -> bool {
    if call.kind == CallKind::Web {
        return true;
    }
    let Some(command) = &call.command else {
        let arguments: Option<serde_json::Value> = serde_json::from_str(&call.arguments).ok();
        return arguments
            .is_some_and(|given| CONTINUED.iter().any(|name| given.get(name).is_some()));
    };
    unwrapped(command).iter().any(|command| {
        let words = invocation(command);
        let Some((program, arguments)) = words.split_first() else {
            return false;
        };
        let row = WAITS.iter().find(|(waits, _)| waits == program);
        row.is_some_and(|(_, verbs)| {
            verbs.is_empty() || arguments.iter().any(|word| verbs.contains(word))
        })
    })
}

fn lead(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

fn title(text: &str) -> Option<Title> {
    Title::new(&condense(text.trim(), NAME_LENGTH)).ok()
}

#[cfg(test)]
mod tests {
    use flamestack_core::stall::StallKind;

    use super::*;

    fn session() -> SessionRef {
        "opencode:s".parse().unwrap()
    }

    fn run(watch: &mut StallWatch, command: &str, exit: i32, output: &str) {
        let call = Call {
            id: "c".to_owned(),
            tool: "bash".to_owned(),
            kind: CallKind::Execute,
            arguments: format!("{{\"command\":{command:?}}}"),
            paths: Vec::new(),
            command: Some(command.to_owned()),
        };
        let answer = Answer {
            call: "c".to_owned(),
            ok: true,
            exit_code: Some(exit),
            text: output.to_owned(),
        };
        watch_call(watch, &session(), &call, &answer);
    }

    fn edit(watch: &mut StallWatch) {
        let call = Call {
            id: "e".to_owned(),
            tool: "edit".to_owned(),
            kind: CallKind::Edit,
            arguments: "{}".to_owned(),
            paths: vec!["src/a.rs".to_owned()],
            command: None,
        };
        let answer = Answer {
            call: "e".to_owned(),
            ok: true,
            exit_code: None,
            text: "done".to_owned(),
        };
        watch_call(watch, &session(), &call, &answer);
    }

    const FAILING: &str = "test parse::one ... FAILED\ntest result: FAILED. 7 passed; 1 failed";

    fn kind(watch: &StallWatch) -> Option<StallKind> {
        watch.stall().map(|stall| stall.kind)
    }

    #[test]
    fn edits_that_change_nothing_are_found_by_the_fourth_check() {
        let mut watch = StallWatch::default();
        for nth in 0..4 {
            assert_eq!(kind(&watch), None, "after {nth}");
            run(&mut watch, "cargo test", 101, FAILING);
            edit(&mut watch);
        }
        let stall = watch.stall().unwrap();
        assert_eq!(
            (stall.kind, stall.what.as_str()),
            (StallKind::Issues, "cargo test")
        );
        run(
            &mut watch,
            "cargo test",
            101,
            &FAILING.replace("7 passed", "9 passed"),
        );
        assert_eq!(kind(&watch), None);
    }

    #[test]
    fn line_numbers_and_times_make_no_other_error() {
        let mut watch = StallWatch::default();
        for nth in 0..3 {
            let output = format!("src/a.rs:{nth}:7: error: no field `x` ({nth}.2s)");
            run(&mut watch, &format!("rustc a.rs -O{nth}"), 1, &output);
        }
        assert_eq!(kind(&watch), Some(StallKind::Error));
    }

    #[test]
    fn waiting_is_no_stall() {
        let mut watch = StallWatch::default();
        for _ in 0..9 {
            run(&mut watch, "sleep 5; cat out.log", 0, "pending");
            run(&mut watch, "gh pr checks 12", 8, "build pending");
            run(&mut watch, "env X=1 kubectl get pods", 0, "Pending");
        }
        assert_eq!(watch, StallWatch::default());
    }

    #[test]
    fn what_the_user_refused_is_no_evidence() {
        let mut watch = StallWatch::default();
        for refusal in [
            "The user rejected permission to use this specific tool call.",
            "The user doesn't want to proceed with this tool use.",
            "Tool execution aborted",
        ] {
            for _ in 0..4 {
                run(&mut watch, "rm -rf build", 1, refusal);
            }
        }
        assert_eq!(watch, StallWatch::default());
    }

    #[test]
    fn the_same_call_is_a_stall_unless_its_answer_changes() {
        let mut watch = StallWatch::default();
        for _ in 0..3 {
            run(&mut watch, "cat a.txt", 0, "hello");
        }
        assert_eq!(watch.stall().unwrap().what.as_str(), "bash cat a.txt");
        let mut watch = StallWatch::default();
        for word in ["one", "two", "three", "four"] {
            run(&mut watch, "cat a.txt", 0, word);
        }
        assert_eq!(kind(&watch), None);
    }
}
