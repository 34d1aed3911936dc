//! Work that repeats itself, as a session shows it.

use flamestack_core::stall::StallKind;

use super::*;

impl TestSession {
    fn stall(&self) -> Option<(StallKind, u32)> {
        let session = self.tree.sessions().get(&self.session)?;
        let stall = session.activity.stall.as_ref()?;
        Some((stall.kind, stall.times))
    }

    fn changed(&mut self, path: &str) {
        let call = Call {
            id: format!("edit{}", self.entries),
            tool: "edit".to_owned(),
            kind: CallKind::Edit,
            arguments: "{}".to_owned(),
            paths: vec![path.to_owned()],
            command: None,
        };
        self.ran(call, true, None, "done");
    }
}

const BROKEN: &str = "error[E0609]: no field `x`\n --> src/a.rs:7:3";

#[test]
fn one_error_three_times_is_recorded_until_the_user_speaks() {
    let mut session = TestSession::live();
    session.user("Fix the build");
    session.shell("cargo build", 101, BROKEN);
    session.shell("cargo build -v", 101, BROKEN);
    assert_eq!(session.stall(), None);
    session.shell("cargo build -q", 101, BROKEN);
    assert_eq!(session.stall(), Some((StallKind::Error, 3)));
    session.saw(EntryKind::TurnEnded);
    assert_eq!(session.stall(), Some((StallKind::Error, 3)));
    session.user("Look at src/b.rs instead");
    assert_eq!(session.stall(), None);
}

#[test]
fn an_edit_in_between_is_another_attempt() {
    let mut session = TestSession::live();
    session.user("Fix the build");
    for _ in 0..3 {
        session.shell("make it", 2, BROKEN);
        session.changed("src/a.rs");
    }
    assert_eq!(session.stall(), None);
}

#[test]
fn errors_of_the_provider_are_no_evidence() {
    let mut session = TestSession::live();
    session.user("Fix the build");
    for _ in 0..5 {
        let why = "529 overloaded".to_owned();
        session.saw(EntryKind::Failed { why });
    }
    assert_eq!(session.stall(), None);
}

#[test]
fn entries_that_come_again_repeat_nothing() {
    let mut session = TestSession::live();
    session.user("Fix the build");
    let call = Call {
        id: "c".to_owned(),
        tool: "bash".to_owned(),
        kind: CallKind::Execute,
        arguments: "{}".to_owned(),
        paths: vec![],
        command: Some("make it".to_owned()),
    };
    let answer = Answer {
        call: "c".to_owned(),
        ok: true,
        exit_code: Some(2),
        text: BROKEN.to_owned(),
    };
    let asked = session.entry(EntryKind::Call(call));
    let answered = session.entry(EntryKind::Answer(answer));
    for _ in 0..6 {
        session.show(&asked);
        session.show(&answered);
    }
    assert_eq!(session.stall(), None);
}

#[test]
fn a_new_observer_goes_on_from_the_history_that_the_host_sends_again() {
    let mut session = TestSession::live();
    session.user("Fix the build");
    let mut history = Vec::new();
    for nth in 0..2 {
        let call = Call {
            id: format!("c{nth}"),
            tool: "bash".to_owned(),
            kind: CallKind::Execute,
            arguments: "{}".to_owned(),
            paths: vec![],
            command: Some("make it".to_owned()),
        };
        let answer = Answer {
            call: format!("c{nth}"),
            ok: true,
            exit_code: Some(2),
            text: BROKEN.to_owned(),
        };
        history.push(session.entry(EntryKind::Call(call)));
        history.push(session.entry(EntryKind::Answer(answer)));
    }
    for entry in &history {
        session.show(entry);
    }
    session.observer = Observer::live(None);
    for entry in &history {
        session.show(entry);
    }
    session.shell("make it", 2, BROKEN);
    assert_eq!(session.stall(), Some((StallKind::Error, 3)));
}
