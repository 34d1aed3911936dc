//! Each heuristic on short recordings: one on which it speaks, and others that look alike on which it is
//! silent. The recordings have the shapes of real ones, in words of their own.

use flamestack_core::autonomy::Heuristic;
use flamestack_core::transcript::{
    Answer, Call, CallKind, Entry, EntryKind, Speaker, Todo, TodoStatus, Usage,
};
use flamestack_engine::autonomy::SignalReader;
use flamestack_engine::autonomy::heuristics::{Assessment, Calibration};

/// Reads a recording, one line per entry:
///
/// ```text
/// user TEXT · model TEXT · edit PATH · read PATH · end · compacted
/// run COMMAND => CODE TEXT · todo +done >active -open · tokens N
/// ```
fn recording(text: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (n, line) in text.lines().map(str::trim).enumerate() {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "" => {}
            "user" => entries.push(EntryKind::User {
                speaker: Speaker::Person,
                text: rest.replace("\\n", "\n"),
            }),
            "model" => entries.push(EntryKind::Assistant {
                text: rest.to_owned(),
            }),
            "edit" => entries.extend(step(n, CallKind::Edit, Some(rest), None, 0, "done")),
            "read" => entries.extend(step(n, CallKind::Read, Some(rest), None, 0, "fn main() {}")),
            "run" => {
                let (command, answer) = rest.split_once(" => ").unwrap();
                let (code, text) = answer.split_once(' ').unwrap_or((answer, ""));
                let code = code.parse().unwrap();
                entries.extend(step(n, CallKind::Execute, None, Some(command), code, text));
            }
            "todo" => entries.push(EntryKind::Todos(rest.split(',').map(item).collect())),
            "tokens" => entries.push(EntryKind::Usage(Usage {
                input: rest.parse().unwrap(),
                ..Usage::default()
            })),
            "end" => entries.push(EntryKind::TurnEnded),
            "compacted" => entries.push(EntryKind::Compacted {
                automatic: true,
                summary: None,
                tokens_before: None,
            }),
            other => panic!("{other}"),
        }
    }
    entries.into_iter().map(Entry::from).collect()
}

fn item(text: &str) -> Todo {
    let (mark, text) = text.trim().split_at(1);
    let status = match mark {
        "+" => TodoStatus::Done,
        ">" => TodoStatus::Active,
        _ => TodoStatus::Pending,
    };
    Todo {
        text: text.to_owned(),
        status,
    }
}

fn step(
    n: usize,
    kind: CallKind,
    path: Option<&str>,
    command: Option<&str>,
    code: i32,
    text: &str,
) -> [EntryKind; 2] {
    let call = Call {
        id: format!("c{n}"),
        tool: if command.is_some() { "bash" } else { "edit" }.to_owned(),
        kind,
        arguments: "{}".to_owned(),
        paths: path.map(str::to_owned).into_iter().collect(),
        command: command.map(str::to_owned),
    };
    let answer = Answer {
        call: call.id.clone(),
        ok: code == 0,
        exit_code: Some(code),
        text: text.to_owned(),
    };
    [EntryKind::Call(call), EntryKind::Answer(answer)]
}

/// A recording in a window of 200,000 tokens, and what a heuristic makes of it.
struct Case {
    heuristic: Heuristic,
    about: &'static str,
    speaks: bool,
    text: String,
}

fn case(heuristic: Heuristic, speaks: bool, about: &'static str, text: &str) -> Case {
    let text = text.to_owned();
    Case {
        heuristic,
        about,
        speaks,
        text,
    }
}

/// Repeats lines, each time with another number in them.
fn again(times: usize, line: &str) -> String {
    let lines = (0..times).map(|n| line.replace('#', &n.to_string()));
    lines.collect::<Vec<_>>().join("\n")
}

#[expect(clippy::too_many_lines, reason = "one table, with a row for each case")]
fn pushes() -> Vec<Case> {
    use Heuristic::{Complexity, ContextSwitch, Duration, FailureBoundary};
    let missing = "run pnpm build => 1 /srv/job-#/web/src/app.ts:1#:7 - error TS2307: Cannot find module 'lodash-es'";
    let router = "user The router drops the query string when a route redirects\n\
                  model The redirect in router.ts rebuilds the url from its path, and the query string is lost there.\n\
                  read src/router.ts\nread src/redirect.ts\nread src/url.ts\nend";
    vec![
        case(
            FailureBoundary,
            true,
            "one error, whatever its paths and places",
            &again(3, missing),
        ),
        case(
            FailureBoundary,
            false,
            "other errors each time: progress",
            "\
            run cargo check => 101 error[E0432]: unresolved import `alpha`\n\
            run cargo check => 101 error[E0308]: mismatched types\n\
            run cargo check => 101 error[E0599]: no method named `sync` found",
        ),
        case(
            FailureBoundary,
            false,
            "the check is green by now",
            &format!(
                "{}\nedit web/package.json\nrun pnpm build => 0 built in 3s",
                again(3, missing)
            ),
        ),
        case(
            FailureBoundary,
            false,
            "the provider's trouble says nothing of the work",
            &again(
                5,
                "run curl api => 1 HTTP 429 Too Many Requests, retry in # s",
            ),
        ),
        case(
            FailureBoundary,
            false,
            "calls that the user rejected prove nothing",
            &again(
                4,
                "run rm -r dist => 1 The user doesn't want to proceed with this tool use",
            ),
        ),
        case(
            FailureBoundary,
            false,
            "a search that finds nothing is not a failure",
            &again(4, "run grep -rn retry src => 1 "),
        ),
        case(
            ContextSwitch,
            true,
            "a request about something else",
            &format!(
                "{router}\nuser Write a Terraform module for the staging database with nightly snapshots"
            ),
        ),
        case(
            ContextSwitch,
            true,
            "the same in German",
            &format!(
                "{router}\nuser Richte bitte einen nächtlichen Sicherungslauf für die Rechnungsdatenbank ein"
            ),
        ),
        case(
            ContextSwitch,
            true,
            "the same in Japanese",
            &format!(
                "{router}\nuser 請求書データベースの夜間バックアップを設定して、失敗時に通知してください"
            ),
        ),
        case(
            ContextSwitch,
            false,
            "the same subject",
            &format!(
                "{router}\nuser Does the redirect keep the query string of the url in router.ts now?"
            ),
        ),
        case(
            ContextSwitch,
            false,
            "a direct continuation",
            &format!("{router}\nuser go on"),
        ),
        case(
            ContextSwitch,
            false,
            "once tools run, it is too late",
            &format!(
                "{router}\nuser Write a Terraform module for the staging database\nread infra/main.tf"
            ),
        ),
        case(
            Complexity,
            true,
            "a list of parts",
            "user Please do all of these:\\n- parse the dates\\n- sort by customer\\n- sum up VAT\\n- write a CSV",
        ),
        case(
            Complexity,
            false,
            "one thing",
            "user Parse the dates of the invoices",
        ),
        case(
            Complexity,
            true,
            "an item of a plan begins, more are open",
            "user Rework the importer\ntodo >Read the header,-Map the columns,-Write rows",
        ),
        case(
            Complexity,
            false,
            "the last item of a plan begins",
            "user Rework the importer\ntodo +Read the header,+Map the columns,>Write rows",
        ),
        case(
            Duration,
            true,
            "most of the window is this work's",
            "user Rework the importer\ntokens 185000",
        ),
        case(
            Duration,
            false,
            "the beginning",
            "user Rework the importer\ntokens 31000",
        ),
        case(
            Duration,
            false,
            "a compaction made room",
            "user Rework the importer\ntokens 185000\ncompacted",
        ),
    ]
}

fn pops() -> Vec<Case> {
    use Heuristic::{ContextOverflow, GoalCompletion, Stagnation};
    let stuck = format!(
        "user Why does the worker hang?\n{}",
        again(14, "run cat log.# => 0 nothing new")
    );
    vec![
        case(
            GoalCompletion,
            true,
            "changed, checked, done",
            "user Fix the date parser\nedit src/date.py\nrun pytest -q => 0 14 passed\nend",
        ),
        case(
            GoalCompletion,
            false,
            "changed again after the check",
            "user Fix the date parser\nedit src/date.py\nrun pytest -q => 0 14 passed\nedit src/date.py\nend",
        ),
        case(
            GoalCompletion,
            false,
            "the check is red",
            "user Fix the date parser\nedit src/date.py\nrun pytest -q => 1 2 failed, 12 passed\nend",
        ),
        case(
            GoalCompletion,
            false,
            "nothing was changed",
            "user Does the date parser work?\nrun pytest -q => 0 14 passed\nend",
        ),
        case(
            GoalCompletion,
            true,
            "all items of the plan are done",
            "user Rework the importer\ntodo >Read,-Write\ntodo +Read,+Write\nend",
        ),
        case(
            GoalCompletion,
            true,
            "committed",
            "user Fix it\nedit a.rs\nrun git commit -am 'Fix it' => 0 [main 3f2c9d1] Fix it\\n 1 file changed\nend",
        ),
        case(
            GoalCompletion,
            false,
            "the turn goes on",
            "user Fix the date parser\nedit src/date.py\nrun pytest -q => 0 14 passed",
        ),
        case(Stagnation, true, "varied commands without effect", &stuck),
        case(
            Stagnation,
            false,
            "an edit is an effect",
            &format!("{stuck}\nedit src/worker.rs"),
        ),
        case(
            Stagnation,
            false,
            "the user spoke",
            &format!("{stuck}\nuser Look at the queue"),
        ),
        case(
            Stagnation,
            false,
            "waiting for something that goes on elsewhere",
            &format!(
                "user Deploy it\n{}",
                again(20, "run sleep 30 && gh run view # => 0 in progress")
            ),
        ),
        case(
            Stagnation,
            false,
            "few steps",
            "user Why?\nread a.rs\nread b.rs\nread c.rs",
        ),
        case(
            ContextOverflow,
            true,
            "hardly any room",
            "user Go on\ntokens 196000",
        ),
        case(ContextOverflow, false, "room", "user Go on\ntokens 90000"),
        case(
            ContextOverflow,
            false,
            "a compaction made room",
            "user Go on\ntokens 196000\ncompacted",
        ),
    ]
}

#[test]
fn every_heuristic_speaks_and_is_silent_on_recordings() {
    let cases: Vec<Case> = pushes().into_iter().chain(pops()).collect();
    for heuristic in Heuristic::ALL {
        for speaks in [true, false] {
            let is_tried = |case: &&Case| case.heuristic == heuristic && case.speaks == speaks;
            assert!(
                cases.iter().any(|case| is_tried(&case)),
                "{heuristic:?} {speaks}"
            );
        }
    }
    for case in &cases {
        let mut reader = SignalReader::default();
        for entry in recording(&case.text) {
            reader.read(&entry);
        }
        reader.signals.set_window(Some(200_000));
        let found = Assessment::of(case.heuristic, &reader.signals, &Calibration::default());
        assert_eq!(
            found.score > 0,
            case.speaks,
            "{:?}, {}: {found:?}",
            case.heuristic,
            case.about
        );
    }
}
