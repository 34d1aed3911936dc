//! Work that is handed over, and how it ends.

use super::TestSession;
use crate::ingest::Observer;
use flamestack_core::frame::LogEntry;
use flamestack_core::id::{BlobId, Timestamp};
use flamestack_core::session::Description;
use flamestack_core::subagent::{Framing, SubagentRun, SubagentState};
use flamestack_core::transcript::{EntryKind, Usage};
use flamestack_core::{Command, SessionRef, Title};

const SHORT: Framing = Framing {
    enabled: true,
    min_duration: 1000,
    min_messages: 3,
};

fn started(id: &str, title: &str, prompt: &str) -> EntryKind {
    EntryKind::SubagentStarted {
        id: id.to_owned(),
        call: None,
        kind: None,
        title: title.to_owned(),
        prompt: prompt.to_owned(),
    }
}

fn ended(id: &str, ok: bool, text: &str) -> EntryKind {
    EntryKind::SubagentEnded {
        id: id.to_owned(),
        ok,
        text: text.to_owned(),
    }
}

impl TestSession {
    fn tracking(framing: Framing) -> Self {
        let mut session = Self::live();
        session.observer.set_framing(framing);
        session
    }

    /// Continues in the session of a subagent.
    fn inside(&mut self, id: &str, parent: &str) -> (SessionRef, Observer) {
        let named = |id: &str| -> SessionRef { format!("opencode:{id}").parse().unwrap() };
        let mut observer = Observer::live(Some(named(parent)));
        observer.set_framing(self.observer.framing);
        let observer = std::mem::replace(&mut self.observer, observer);
        (std::mem::replace(&mut self.session, named(id)), observer)
    }

    /// Returns to the session before.
    fn back(&mut self, (session, observer): (SessionRef, Observer)) {
        self.session = session;
        self.observer = observer;
    }

    fn run(&self, session: &SessionRef) -> &SubagentRun {
        self.tree.sessions()[session].run.as_ref().unwrap()
    }

    fn state(&self, id: &str) -> SubagentState {
        let session: SessionRef = format!("opencode:{id}").parse().unwrap();
        self.run(&session).state
    }

    fn log(&mut self, text: &str) {
        let entry = LogEntry {
            label: Title::new("transcript").unwrap(),
            blob: BlobId::from_hex(&format!("{:064x}", text.len())).unwrap(),
            bytes: text.len() as u64,
        };
        self.command(&Command::Log {
            frame: None,
            entry,
            note: None,
        });
    }
}

#[test]
fn a_subagent_that_is_recorded_before_its_parent_moves_below_it() {
    let mut session = TestSession::live();
    let before = session.inside("ses_2", "ses_1");
    session.user("Build the cart");
    session.back(before);
    session.user("Build the shop");
    session.saw(started("ses_2", "Build the cart", "It holds ten items"));
    insta::assert_snapshot!(session.tree(), @"
    ▶ Build the shop [session] ←
      directive: Build the shop
      ▶ Build the cart [subagent]
    ");
}

#[test]
fn a_resumed_subagent_continues_in_its_frame_with_its_new_instructions() {
    let mut session = TestSession::live();
    session.user("Why is it slow?");
    session.saw(started("ses_2", "Look", "Look at the queries"));
    session.saw(ended("ses_2", true, "An index is missing"));
    session.saw(started("ses_2", "Go on", "Add the index"));
    assert_eq!(session.state("ses_2"), SubagentState::Running);
    session.saw(ended("ses_2", true, "Added"));
    insta::assert_snapshot!(session.tree(), @"
    ▶ Why is it slow? [session] ←
      directive: Why is it slow?
      ✓ Look [subagent]
        = Added
    ");
    let run = session.run(&"opencode:ses_2".parse().unwrap());
    assert_eq!((run.attempts, run.state), (2, SubagentState::Done));
    let frame = session
        .tree
        .frames()
        .values()
        .find(|frame| frame.title.as_str() == "Look");
    assert_eq!(
        frame.unwrap().criteria.as_ref().unwrap().as_str(),
        "Add the index"
    );
}

#[test]
fn nothing_is_reopened_below_finished_work() {
    let mut session = TestSession::live();
    session.user("Why is it slow?");
    session.push("Measure");
    session.saw(started("ses_2", "Look", "Look at the queries"));
    session.saw(ended("ses_2", true, "An index is missing"));
    session.pop("The database");
    session.saw(started("ses_2", "Go on", "Add the index"));
    insta::assert_snapshot!(session.tree(), @"
    ▶ Why is it slow? [session] ←
      directive: Why is it slow?
      ✓ Measure [asked]
        = The database
        ✓ Look [subagent]
          = An index is missing
      ▶ Go on [subagent]
    ");
}

#[test]
fn a_parents_words_to_a_resumed_subagent_are_no_directive() {
    let mut session = TestSession::live();
    session.user("Why is it slow?");
    session.saw(started("ses_2", "Look", "Look at the queries"));
    let parent = session.inside("ses_2", "ses_1");
    session.turn("Look at the queries", "An index is missing");
    session.back(parent);
    session.saw(ended("ses_2", true, "An index is missing"));
    // The host may report the child's next prompt before the parent's call is seen, or after.
    let parent = session.inside("ses_2", "ses_1");
    session.user("Add the index");
    session.back(parent);
    session.saw(started("ses_2", "Go on", "Add the index"));
    insta::assert_snapshot!(session.tree(), @"
    ▶ Why is it slow? [session] ←
      directive: Why is it slow?
      ▶ Look [subagent]
        = An index is missing
    ");
}

#[test]
fn a_subagent_without_a_goal_is_named_by_its_title() {
    let mut session = TestSession::live();
    session.user("Why is it slow?");
    let parent = session.inside("ses_2", "ses_1");
    session.saw(EntryKind::Titled {
        title: "Ask the archive".to_owned(),
    });
    session.user("What is slow?");
    session.back(parent);
    insta::assert_snapshot!(session.tree(), @"
    ▶ Why is it slow? [session] ←
      directive: Why is it slow?
      ▶ Ask the archive [subagent]
    ");
}

#[test]
fn a_subagent_that_ends_its_own_frame_works_on_nothing() {
    let mut session = TestSession::live();
    session.user("Why is it slow?");
    session.push("Measure");
    session.saw(started("ses_2", "Look", "Look at the queries"));
    let parent = session.inside("ses_2", "ses_1");
    session.user("Look at the queries");
    // A frame of its own below ends: it is back at what it was started for.
    session.push("The slowest one");
    session.pop("Without an index");
    session.pop("An index is missing");
    // What is above is not its to work on, let alone to end.
    let child = "opencode:ses_2".parse().unwrap();
    assert_eq!(session.tree.sessions()[&child].active, None);
    session.back(parent);
    insta::assert_snapshot!(session.tree(), @"
    ▶ Why is it slow? [session]
      directive: Why is it slow?
      ▶ Measure [asked] ←
        ✓ Look [subagent]
          = An index is missing
          ✓ The slowest one [asked]
            = Without an index
    ");
}

#[test]
fn a_run_that_is_too_short_is_logged_where_it_was_started() {
    let mut session = TestSession::tracking(SHORT);
    session.user("Why is it slow?");
    session.saw(started("ses_2", "Ask", "What is slow?"));
    let parent = session.inside("ses_2", "ses_1");
    session.turn("What is slow?", "The query");
    session.log("What is slow? The query");
    session.back(parent);
    session.saw(ended("ses_2", true, "The query"));
    insta::assert_snapshot!(session.tree(), @"
    ▶ Why is it slow? [session] ←
      directive: Why is it slow?
    ");
    let [only] = &session.tree.frames().values().collect::<Vec<_>>()[..] else {
        panic!("{}", session.tree());
    };
    assert_eq!(only.log.len(), 1);
    let child = "opencode:ses_2".parse().unwrap();
    let run = session.run(&child);
    assert_eq!(run.output.as_ref().unwrap().as_str(), "The query");
    assert_eq!(run.state, SubagentState::Done);
    assert_eq!(session.tree.sessions()[&child].active, None);
    // What is still to come of it belongs there too, and opens nothing.
    let parent = session.inside("ses_2", "ses_1");
    session.saw(EntryKind::Changed {
        paths: vec!["notes.md".to_owned()],
    });
    session.back(parent);
    insta::assert_snapshot!(session.tree(), @"
    ▶ Why is it slow? [session] ←
      directive: Why is it slow?
      artifact: notes.md
    ");
}

#[test]
fn a_short_run_that_failed_has_its_frame() {
    let mut session = TestSession::tracking(SHORT);
    session.user("Why is it slow?");
    session.saw(started("ses_2", "Ask", "What is slow?"));
    session.saw(ended("ses_2", false, "no credit"));
    insta::assert_snapshot!(session.tree(), @"
    ▶ Why is it slow? [session] ←
      directive: Why is it slow?
      ✗ Ask [subagent]
        = no credit
    ");
}

#[test]
fn messages_time_or_notes_make_a_run_worth_its_frame() {
    let kept = |work: &dyn Fn(&mut TestSession)| {
        let mut session = TestSession::tracking(SHORT);
        session.user("Why is it slow?");
        session.saw(started("ses_2", "Ask", "What is slow?"));
        let parent = session.inside("ses_2", "ses_1");
        session.user("What is slow?");
        work(&mut session);
        session.back(parent);
        session.saw(ended("ses_2", true, "The query"));
        session.tree.frames().len() > 1
    };
    assert!(!kept(&|_| {}));
    assert!(kept(&|session| {
        session.saw(EntryKind::Usage(Usage::default()));
        session.saw(EntryKind::Usage(Usage::default()));
    }));
    assert!(kept(&|session| {
        session.saw(EntryKind::Changed {
            paths: vec!["notes.md".to_owned()],
        });
    }));
    assert!(kept(&|session| session.push("Measure")));
    let mut session = TestSession::tracking(SHORT);
    session.user("Why is it slow?");
    session.saw(started("ses_2", "Ask", "What is slow?"));
    let mut late = session.entry(ended("ses_2", true, "The query"));
    late.at = Some(Timestamp(5000));
    session.show(&late);
    assert_eq!(session.tree.frames().len(), 2);
}

#[test]
fn an_untracked_subagent_works_in_its_parents_frame() {
    let mut session = TestSession::tracking(Framing {
        enabled: false,
        ..Framing::ALL
    });
    session.user("Why is it slow?");
    session.saw(started("ses_2", "Look", "Look at the queries"));
    let parent = session.inside("ses_2", "ses_1");
    session.command(&Command::Describe(Box::new(Description {
        parent: "opencode:ses_1".parse().ok(),
        ..Description::default()
    })));
    session.user("Look at the queries");
    session.saw(EntryKind::Changed {
        paths: vec!["notes.md".to_owned()],
    });
    session.push("Measure");
    session.back(parent);
    insta::assert_snapshot!(session.tree(), @"
    ▶ Why is it slow? [session] ←
      directive: Why is it slow?
      artifact: notes.md
      ▶ Measure [asked]
    ");
}

#[test]
fn a_stop_goes_down_the_tree() {
    let mut session = TestSession::live();
    session.user("Why is it slow?");
    session.saw(started("ses_2", "Look", "Look"));
    let parent = session.inside("ses_2", "ses_1");
    session.saw(started("ses_3", "Look closer", "Look closer"));
    session.saw(started("ses_4", "Done before", "Look there"));
    session.saw(ended("ses_4", true, "Nothing there"));
    session.back(parent);
    session.saw(EntryKind::Interrupted {
        how: "escape".to_owned(),
    });
    session.saw(ended("ses_2", false, "Task cancelled"));
    let states = ["ses_2", "ses_3", "ses_4"].map(|id| session.state(id));
    assert_eq!(
        states,
        [
            SubagentState::Aborted,
            SubagentState::Aborted,
            SubagentState::Done
        ]
    );
    insta::assert_snapshot!(session.tree(), @"
    ▶ Why is it slow? [session] ←
      directive: Why is it slow?
      ✗ Look [subagent]
        = Task cancelled
        – Look closer [subagent]
          = Parent frame failed: Task cancelled
        ✓ Done before [subagent]
          = Nothing there
    ");
}

#[test]
fn every_session_that_was_seen_waits() {
    let waits = || EntryKind::Waiting {
        on: Some("bash".to_owned()),
    };
    let mut session = TestSession::live();
    assert_eq!(session.saw(waits()), 0);
    session.user("Why is it slow?");
    assert_eq!(session.saw(waits()), 1);
    session.saw(started("ses_2", "Look", "Look"));
    let parent = session.inside("ses_2", "ses_1");
    session.user("Look");
    session.saw(waits());
    assert_eq!(session.state("ses_2"), SubagentState::Waiting);
    session.saw(EntryKind::Waiting { on: None });
    assert_eq!(session.state("ses_2"), SubagentState::Running);
    session.back(parent);
}

#[test]
fn a_session_without_a_known_parent_can_be_a_subagent() {
    let mut session = TestSession::live();
    session.turn("Look at the queries", "An index is missing");
    session.saw(started("ses_1", "Look (@explore subagent)", ""));
    session.saw(EntryKind::TurnEnded);
    assert_eq!(session.state("ses_1"), SubagentState::Idle);
    session.saw(ended("ses_1", true, "An index is missing"));
    assert_eq!(session.state("ses_1"), SubagentState::Done);
    insta::assert_snapshot!(session.tree(), @"
    ✓ Look at the queries [session]
      = An index is missing
      directive: Look at the queries
    ");
}

#[test]
fn a_subagent_is_named_after_its_goal_in_either_order() {
    let mut session = TestSession::live();
    session.user("Why is it slow?");
    let parent = session.inside("ses_2", "ses_1");
    session.user("Look at every query and say which is slow");
    session.back(parent);
    session.saw(started(
        "ses_2",
        "Look at the queries",
        "Look at every query",
    ));
    let parent = session.inside("ses_2", "ses_1");
    session.saw(EntryKind::Titled {
        title: "Look at the queries (@explore subagent)".to_owned(),
    });
    session.back(parent);
    insta::assert_snapshot!(session.tree(), @"
    ▶ Why is it slow? [session] ←
      directive: Why is it slow?
      ▶ Look at the queries [subagent]
    ");
}

#[test]
fn the_subagents_of_one_that_failed_end_with_it() {
    let mut session = TestSession::live();
    session.user("Why is it slow?");
    session.saw(started("ses_2", "Look", "Look at the queries"));
    let outer = session.inside("ses_2", "ses_1");
    session.saw(started("ses_3", "Read", "Read the log"));
    session.back(outer);
    session.saw(ended("ses_2", false, "out of quota"));
    assert_eq!(session.state("ses_2"), SubagentState::Failed);
    assert_eq!(session.state("ses_3"), SubagentState::Aborted);
}

#[test]
fn a_refused_subagent_that_its_host_calls_completed_has_failed() {
    let mut session = TestSession::live();
    session.user("Why is it slow?");
    session.saw(started("ses_2", "Look", "Look at the queries"));
    let outer = session.inside("ses_2", "ses_1");
    session.user("Look at the queries");
    session.saw(EntryKind::Failed {
        why: "the provider refused".to_owned(),
    });
    session.back(outer);
    session.saw(ended("ses_2", true, ""));
    assert_eq!(session.state("ses_2"), SubagentState::Failed);
    insta::assert_snapshot!(session.tree(), @"
    ▶ Why is it slow? [session] ←
      directive: Why is it slow?
      ✗ Look [subagent]
        = Ended by an error: the provider refused
    ");
}

#[test]
fn a_child_has_its_frame_from_its_creation_on() {
    let mut session = TestSession::live();
    session.user("Why is it slow?");
    let outer = session.inside("ses_2", "ses_1");
    session.saw(EntryKind::Titled {
        title: "Look around".to_owned(),
    });
    session.back(outer);
    insta::assert_snapshot!(session.tree(), @"
    ▶ Why is it slow? [session] ←
      directive: Why is it slow?
      ▶ Look around [subagent]
    ");
}
