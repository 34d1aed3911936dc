//! Stories of sessions, and the state that is read from them.

use flamestack_core::transcript::{
    Answer, Call, CallKind, Entry, EntryKind, Speaker, Todo, TodoStatus,
};
use proptest::prelude::*;

use super::*;
use crate::tokens::{Estimate, Tokenizer};

/// A session, built call by call.
#[derive(Default)]
pub(super) struct Story(pub(super) Vec<Entry>);

impl Story {
    pub(super) fn asks(self, text: &str) -> Self {
        let speaker = Speaker::Person;
        let text = text.to_owned();
        self.with(EntryKind::User { speaker, text })
    }

    pub(super) fn says(self, text: &str) -> Self {
        let text = text.to_owned();
        self.with(EntryKind::Assistant { text })
    }

    pub(super) fn runs(self, line: &str, exit_code: i32, output: &str) -> Self {
        self.call(
            CallKind::Execute,
            &[],
            "{}",
            Some(line),
            Some(exit_code),
            output,
        )
    }

    pub(super) fn edits(self, path: &str, old: &str, new: &str) -> Self {
        let arguments = serde_json::json!({ "old_string": old, "new_string": new }).to_string();
        self.call(CallKind::Edit, &[path], &arguments, None, None, "done")
    }

    pub(super) fn reads(self, path: &str) -> Self {
        self.call(CallKind::Read, &[path], "{}", None, None, "text")
    }

    pub(super) fn call(
        self,
        kind: CallKind,
        paths: &[&str],
        arguments: &str,
        command: Option<&str>,
        exit_code: Option<i32>,
        output: &str,
    ) -> Self {
        let call = Call {
            id: self.0.len().to_string(),
            tool: "tool".to_owned(),
            kind,
            arguments: arguments.to_owned(),
            paths: paths.iter().map(|path| (*path).to_owned()).collect(),
            command: command.map(str::to_owned),
        };
        self.answered(call, exit_code, output)
    }

    pub(super) fn tool(self, tool: &str, kind: CallKind, arguments: &str, output: &str) -> Self {
        let call = Call {
            id: self.0.len().to_string(),
            tool: tool.to_owned(),
            kind,
            arguments: arguments.to_owned(),
            paths: Vec::new(),
            command: None,
        };
        self.answered(call, Some(0), output)
    }

    fn answered(self, call: Call, exit_code: Option<i32>, output: &str) -> Self {
        let answer = Answer {
            call: call.id.clone(),
            ok: exit_code.unwrap_or(0) == 0,
            exit_code,
            text: output.to_owned(),
        };
        self.with(EntryKind::Call(call))
            .with(EntryKind::Answer(answer))
    }

    pub(super) fn with(mut self, kind: EntryKind) -> Self {
        self.0.push(Entry::from(kind));
        self
    }

    pub(super) fn state(&self) -> WorkState {
        WorkState::read(&self.0)
    }

    pub(super) fn shown(&self) -> String {
        self.state().render(1000, &Estimate)
    }
}

#[test]
fn a_failed_build_in_the_middle_of_the_work() {
    let todos = [
        ("Typed ids in the JSON structs", TodoStatus::Done),
        ("Fix compile errors", TodoStatus::Active),
        ("Run the tests", TodoStatus::Pending),
    ];
    let todos = todos.map(|(text, status)| Todo {
        text: text.to_owned(),
        status,
    });
    let story = Story::default()
        .asks("Use typed ids instead of panicking. Don't change the local folder tree.")
        .says("There are two options.")
        .asks("yes, option 2")
        .runs(
            "git checkout -b typed-ids",
            0,
            "Switched to a new branch 'typed-ids'\n",
        )
        .with(EntryKind::Todos(todos.to_vec()))
        .edits(
            "strategy/common.go",
            "func Load() {\n a\n}",
            "func Load() {\n b\n}",
        )
        .runs(
            "go build ./... 2>&1 | head -20",
            0,
            "# cli/strategy\nstrategy/condensation.go:74:3: undefined: id\n",
        )
        .reads("strategy/hooks.go")
        .edits("strategy/hooks.go", "x", "func Hook() {}")
        .says("That is one. Now I'll fix rewind.go and session.go.");
    insta::assert_snapshot!(story.shown(), @r"
    Request (#1): Use typed ids instead of panicking. Don't change the local folder tree.
    User's last words (#3): yes, option 2
    Reply that it answers (#2): There are two options.
    Directives of the user, in earlier messages too:
    - Use typed ids instead of panicking. (#1)
    - Don't change the local folder tree. (#1)
    Last check (#10): `go build ./...` failed, first failure: strategy/condensation.go:74:3: undefined: id (1 edit since, not run again)
    To do:
    - now: Fix compile errors
    - next: Run the tests
    - done: Typed ids in the JSON structs
    Last action (#13): edited strategy/hooks.go
    About to (#15): Now I'll fix rewind.go and session.go.
    Git: on branch typed-ids; there are uncommitted changes
    Files changed, newest first:
    - strategy/hooks.go (Hook) #14
    - strategy/common.go (Load) #8
    ");
}

#[test]
fn nothing_is_said_about_what_is_not_known() {
    assert_eq!(Story::default().shown(), "");
    let piped = Story::default().runs("npm test | tail -3", 0, "done\n");
    assert_eq!(
        piped.state().check,
        None,
        "the status is tail's, and no line decides"
    );
    let unanswered = Call {
        id: "1".to_owned(),
        tool: "bash".to_owned(),
        kind: CallKind::Execute,
        arguments: "{}".to_owned(),
        paths: Vec::new(),
        command: Some("cargo test".to_owned()),
    };
    let running = Story::default().with(EntryKind::Call(unanswered));
    assert_eq!(running.state().check, None);
    assert_eq!(running.state().last_action, None);
}

#[test]
fn the_last_check_counts_with_its_own_outcome() {
    let outcome = |line: &str, exit: i32, output: &str| {
        let state = Story::default().runs(line, exit, output).state();
        state.check.map(|check| check.outcome)
    };
    let (passed, failed) = (Some(CheckOutcome::Passed), Some(CheckOutcome::Failed));
    for (line, exit, output, expected) in [
        ("cargo test", 0, "", passed),
        ("cargo test", 101, "test result: FAILED. 1 passed", failed),
        ("cd web && npm test && echo ok", 0, "ok", passed),
        (
            "npm test; echo done",
            0,
            "Tests:  1 failed, 2 passed\ndone",
            failed,
        ),
        ("npm test | tail", 0, "Tests  3 passed (3)", passed),
        (
            "pytest -q | tail -1",
            0,
            "2 failed, 3 passed in 0.31s",
            failed,
        ),
        (
            "go vet ./... || true",
            0,
            "a.go:3:1: unreachable code",
            failed,
        ),
        ("tsc --noEmit | head", 0, "", passed),
        ("tsc --noEmit | grep error", 0, "", None),
        (
            "npx missing-tool && npm test",
            127,
            "sh: npm: command not found",
            None,
        ),
        (
            "cargo fmt --check && cargo test",
            1,
            "Diff in src/a.rs:3:",
            failed,
        ),
    ] {
        assert_eq!(outcome(line, exit, output), expected, "{line}");
    }
}

#[test]
fn a_long_command_ends_when_a_later_call_reports_it() {
    let story = Story::default()
        .runs("cargo test", 0, "Process running with session ID 7\n")
        .call(
            CallKind::Execute,
            &[],
            r#"{"session_id":7}"#,
            None,
            Some(101),
            "Process exited with code 101\ntest laws::one ... FAILED",
        );
    let check = story.state().check.expect("a check");
    assert_eq!(check.outcome, CheckOutcome::Failed);
    assert_eq!(check.failure.as_deref(), Some("test laws::one ... FAILED"));
}

#[test]
fn a_file_that_was_restored_is_no_longer_changed() {
    let story = Story::default()
        .edits("a.rs", "fn one() { 1 }", "fn one() { 2 } // and more")
        .edits("b.rs", "x", "y")
        .runs("git checkout -- a.rs", 0, "");
    insta::assert_snapshot!(story.shown(), @r"
    No test, build or lint was run so far.
    Last action (#5): ran `git checkout -- a.rs`
    Undone, or failed again:
    - the changes of a.rs were reverted (#6)
    Files changed, newest first:
    - b.rs #4
    ");
}

#[test]
fn the_same_failure_after_an_edit_is_a_failed_approach() {
    let failure = "--- FAIL: TestLogin (0.01s)";
    let story = Story::default()
        .runs("go test ./...", 1, failure)
        .edits("login.go", "a", "b")
        .runs("go test ./...", 1, failure);
    insta::assert_snapshot!(story.shown(), @r"
    Last check (#6): `go test ./...` failed, first failure: --- FAIL: TestLogin (0.01s)
    Last action (#5): ran `go test ./...`
    Git: there are uncommitted changes
    Undone, or failed again:
    - `go test` failed again with the same failure after an edit: --- FAIL: TestLogin (0.01s) (#6)
    Files changed, newest first:
    - login.go #4
    ");
    let without_edit =
        Story::default()
            .runs("go test ./...", 1, failure)
            .runs("go test ./...", 1, failure);
    assert_eq!(without_edit.state().failed, []);
}

#[test]
fn an_error_stays_open_until_its_command_succeeds() {
    let pushed = "fatal: could not read from remote repository";
    let story = Story::default()
        .runs("git push", 128, pushed)
        .runs("cargo test", 0, "");
    insta::assert_snapshot!(story.shown(), @r"
    Last check (#4): `cargo test` passed
    Still failing:
    - `git push` failed, first failure: fatal: could not read from remote repository (#2)
    Last action (#3): ran `cargo test`
    ");
    let settled = story.runs("git push", 0, "");
    assert_eq!(settled.state().errors, []);
}

#[test]
fn a_summary_that_claims_the_opposite_is_named() {
    let failed = Story::default()
        .runs("cargo test", 101, "test a ... FAILED")
        .state();
    let summary = "We renamed the parser. All tests pass now.\nTests should pass before merging.";
    insta::assert_snapshot!(failed.contradictions(summary).join("\n"), @"The summary says “All tests pass now.”, but `cargo test` failed when it last ran (#2).");
    assert_eq!(
        failed.contradictions("Two tests still fail."),
        Vec::<String>::new()
    );
    assert_eq!(
        failed.contradictions("The tests do not pass."),
        Vec::<String>::new()
    );
    let passed = Story::default().runs("cargo test", 0, "").state();
    assert_eq!(
        passed.contradictions("All tests pass."),
        Vec::<String>::new()
    );
    assert_eq!(passed.contradictions("The tests are failing.").len(), 1);
}

#[test]
fn a_result_says_how_the_work_was_left() {
    let story = Story::default()
        .edits("a.rs", "x", "y")
        .runs("cargo test", 0, "")
        .runs(
            "git commit -qm 'a: rename'",
            0,
            "[main 1234567] a: rename\n",
        );
    insta::assert_snapshot!(story.state().render_result(100, &Estimate), @r"
    Files changed: a.rs
    Last check: `cargo test` passed
    Commit: 1234567 “a: rename”
    ");
}

proptest! {
    /// Whatever a session contains, its state is read without a panic, and fits.
    #[test]
    fn any_session_has_a_state(
        texts in proptest::collection::vec(".{0,80}", 0..12),
        lines in proptest::collection::vec("[a-z &|;>'\"$()\n-]{0,40}", 0..6),
        limit in 0_usize..200,
    ) {
        let mut story = Story::default();
        for text in &texts {
            story = story.asks(text).says(text).edits(text, text, "fn a() {}");
        }
        for (line, text) in lines.iter().zip(&texts) {
            story = story.runs(line, 1, text).runs(&format!("git {line}"), 0, text);
        }
        let shown = story.state().render(limit, &Estimate);
        prop_assert!(Estimate.count(&shown) <= limit);
    }
}
