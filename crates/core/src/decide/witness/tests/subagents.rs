//! Work that is handed over, and how it ends.

use super::Talk;
use crate::command::Command;
use crate::decide::witness::Watching;
use crate::frame::LogEntry;
use crate::id::{BlobId, SessionRef, Timestamp};
use crate::session::Description;
use crate::subagent::{Framing, State};
use crate::text::Title;
use crate::transcript::{Usage, What};

const SHORT: Framing = Framing {
    enabled: true,
    min_duration: 1000,
    min_messages: 3,
};

fn started(id: &str, title: &str, prompt: &str) -> What {
    What::SubagentStarted {
        id: id.to_owned(),
        call: None,
        kind: None,
        title: title.to_owned(),
        prompt: prompt.to_owned(),
    }
}

fn ended(id: &str, ok: bool, text: &str) -> What {
    What::SubagentEnded {
        id: id.to_owned(),
        ok,
        text: text.to_owned(),
    }
}

impl Talk {
    fn tracking(framing: Framing) -> Self {
        let mut talk = Self::live();
        talk.watching.frames(framing);
        talk
    }

    /// What follows happens in the session of a subagent.
    fn inside(&mut self, id: &str, parent: &str) -> (SessionRef, Watching) {
        let named = |id: &str| -> SessionRef { format!("opencode:{id}").parse().unwrap() };
        let mut watching = Watching::live(Some(named(parent)));
        watching.frames(self.watching.framing);
        let watching = std::mem::replace(&mut self.watching, watching);
        (std::mem::replace(&mut self.session, named(id)), watching)
    }

    /// And this in the one before again.
    fn back(&mut self, (session, watching): (SessionRef, Watching)) {
        self.session = session;
        self.watching = watching;
    }

    fn state(&self, id: &str) -> State {
        let session: SessionRef = format!("opencode:{id}").parse().unwrap();
        self.tree.runs()[&session].state
    }

    fn log(&mut self, text: &str) {
        let entry = LogEntry {
            label: Title::new("transcript").unwrap(),
            blob: BlobId::from_hex(&format!("{:064x}", text.len())).unwrap(),
            bytes: text.len() as u64,
        };
        self.command(&Command::Log { frame: None, entry });
    }
}

#[test]
fn a_resumed_subagent_goes_on_in_its_frame_with_what_it_is_told_now() {
    let mut talk = Talk::live();
    talk.user("Why is it slow?");
    talk.saw(started("ses_2", "Look", "Look at the queries"));
    talk.saw(ended("ses_2", true, "An index is missing"));
    talk.saw(started("ses_2", "Go on", "Add the index"));
    assert_eq!(talk.state("ses_2"), State::Running);
    talk.saw(ended("ses_2", true, "Added"));
    insta::assert_snapshot!(talk.tree(), @"
    ▶ Why is it slow? [session] ←
      directive: Why is it slow?
      ✓ Look [subagent]
        = Added
    ");
    let run = &talk.tree.runs()[&"opencode:ses_2".parse().unwrap()];
    assert_eq!((run.attempts, run.state), (2, State::Done));
    let frame = talk
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
fn nothing_is_reopened_below_what_is_over() {
    let mut talk = Talk::live();
    talk.user("Why is it slow?");
    talk.push("Measure");
    talk.saw(started("ses_2", "Look", "Look at the queries"));
    talk.saw(ended("ses_2", true, "An index is missing"));
    talk.pop("The database");
    talk.saw(started("ses_2", "Go on", "Add the index"));
    insta::assert_snapshot!(talk.tree(), @"
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
    let mut talk = Talk::live();
    talk.user("Why is it slow?");
    talk.saw(started("ses_2", "Look", "Look at the queries"));
    let parent = talk.inside("ses_2", "ses_1");
    talk.turn("Look at the queries", "An index is missing");
    talk.back(parent);
    talk.saw(ended("ses_2", true, "An index is missing"));
    // The host may speak of the child's next prompt before the parent's call is seen, or after.
    let parent = talk.inside("ses_2", "ses_1");
    talk.user("Add the index");
    talk.back(parent);
    talk.saw(started("ses_2", "Go on", "Add the index"));
    insta::assert_snapshot!(talk.tree(), @"
    ▶ Why is it slow? [session] ←
      directive: Why is it slow?
      ▶ Look [subagent]
        = An index is missing
    ");
}

#[test]
fn a_subagent_of_which_only_a_title_is_known_is_called_by_it() {
    let mut talk = Talk::live();
    talk.user("Why is it slow?");
    let parent = talk.inside("ses_2", "ses_1");
    talk.saw(What::Titled {
        title: "Ask the archive".to_owned(),
    });
    talk.user("What is slow?");
    talk.back(parent);
    insta::assert_snapshot!(talk.tree(), @"
    ▶ Why is it slow? [session] ←
      directive: Why is it slow?
      ▶ Ask the archive [subagent]
    ");
}

#[test]
fn a_subagent_that_ends_its_own_frame_works_on_nothing() {
    let mut talk = Talk::live();
    talk.user("Why is it slow?");
    talk.push("Measure");
    talk.saw(started("ses_2", "Look", "Look at the queries"));
    let parent = talk.inside("ses_2", "ses_1");
    talk.user("Look at the queries");
    // A frame of its own below ends: it is back at what it was started for.
    talk.push("The slowest one");
    talk.pop("Without an index");
    talk.pop("An index is missing");
    // What is above is not its to work on, let alone to end.
    let child = "opencode:ses_2".parse().unwrap();
    assert_eq!(talk.tree.sessions()[&child].active, None);
    talk.back(parent);
    insta::assert_snapshot!(talk.tree(), @"
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
    let mut talk = Talk::tracking(SHORT);
    talk.user("Why is it slow?");
    talk.saw(started("ses_2", "Ask", "What is slow?"));
    let parent = talk.inside("ses_2", "ses_1");
    talk.turn("What is slow?", "The query");
    talk.log("What is slow? The query");
    talk.back(parent);
    talk.saw(ended("ses_2", true, "The query"));
    insta::assert_snapshot!(talk.tree(), @"
    ▶ Why is it slow? [session] ←
      directive: Why is it slow?
    ");
    let [only] = &talk.tree.frames().values().collect::<Vec<_>>()[..] else {
        panic!("{}", talk.tree());
    };
    assert_eq!(only.log.len(), 1);
    let child = "opencode:ses_2".parse().unwrap();
    let run = &talk.tree.runs()[&child];
    assert_eq!(run.output.as_ref().unwrap().as_str(), "The query");
    assert_eq!(run.state, State::Done);
    assert_eq!(talk.tree.sessions()[&child].active, None);
    // What is still to come of it belongs there too, and opens nothing.
    let parent = talk.inside("ses_2", "ses_1");
    talk.saw(What::Changed {
        paths: vec!["notes.md".to_owned()],
    });
    talk.back(parent);
    insta::assert_snapshot!(talk.tree(), @"
    ▶ Why is it slow? [session] ←
      directive: Why is it slow?
      artifact: notes.md
    ");
}

#[test]
fn messages_time_or_something_to_show_make_a_run_worth_its_frame() {
    let kept = |work: &dyn Fn(&mut Talk)| {
        let mut talk = Talk::tracking(SHORT);
        talk.user("Why is it slow?");
        talk.saw(started("ses_2", "Ask", "What is slow?"));
        let parent = talk.inside("ses_2", "ses_1");
        talk.user("What is slow?");
        work(&mut talk);
        talk.back(parent);
        talk.saw(ended("ses_2", true, "The query"));
        talk.tree.frames().len() > 1
    };
    assert!(!kept(&|_| {}));
    assert!(kept(&|talk| {
        talk.saw(What::Usage(Usage::default()));
        talk.saw(What::Usage(Usage::default()));
    }));
    assert!(kept(&|talk| {
        talk.saw(What::Changed {
            paths: vec!["notes.md".to_owned()],
        });
    }));
    assert!(kept(&|talk| talk.push("Measure")));
    let mut talk = Talk::tracking(SHORT);
    talk.user("Why is it slow?");
    talk.saw(started("ses_2", "Ask", "What is slow?"));
    let mut late = talk.entry(ended("ses_2", true, "The query"));
    late.at = Some(Timestamp(5000));
    talk.show(&late);
    assert_eq!(talk.tree.frames().len(), 2);
}

#[test]
fn who_is_not_tracked_works_in_the_frame_of_who_started_it() {
    let mut talk = Talk::tracking(Framing {
        enabled: false,
        ..Framing::ALL
    });
    talk.user("Why is it slow?");
    talk.saw(started("ses_2", "Look", "Look at the queries"));
    let parent = talk.inside("ses_2", "ses_1");
    talk.command(&Command::Describe(Box::new(Description {
        parent: "opencode:ses_1".parse().ok(),
        ..Description::default()
    })));
    talk.user("Look at the queries");
    talk.saw(What::Changed {
        paths: vec!["notes.md".to_owned()],
    });
    talk.push("Measure");
    talk.back(parent);
    insta::assert_snapshot!(talk.tree(), @"
    ▶ Why is it slow? [session] ←
      directive: Why is it slow?
      artifact: notes.md
      ▶ Measure [asked]
    ");
}

#[test]
fn a_stop_goes_down_the_tree() {
    let mut talk = Talk::live();
    talk.user("Why is it slow?");
    talk.saw(started("ses_2", "Look", "Look"));
    let parent = talk.inside("ses_2", "ses_1");
    talk.saw(started("ses_3", "Look closer", "Look closer"));
    talk.saw(started("ses_4", "Done before", "Look there"));
    talk.saw(ended("ses_4", true, "Nothing there"));
    talk.back(parent);
    talk.saw(What::Interrupted {
        how: "escape".to_owned(),
    });
    talk.saw(ended("ses_2", false, "Task cancelled"));
    let states = ["ses_2", "ses_3", "ses_4"].map(|id| talk.state(id));
    assert_eq!(states, [State::Aborted, State::Aborted, State::Done]);
    insta::assert_snapshot!(talk.tree(), @"
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
fn only_subagents_are_said_to_wait() {
    let mut talk = Talk::live();
    talk.user("Why is it slow?");
    let waits = || What::Waiting {
        on: Some("bash".to_owned()),
    };
    assert_eq!(talk.saw(waits()), 0);
    talk.saw(started("ses_2", "Look", "Look"));
    let parent = talk.inside("ses_2", "ses_1");
    talk.user("Look");
    talk.saw(waits());
    assert_eq!(talk.state("ses_2"), State::Waiting);
    talk.saw(What::Waiting { on: None });
    assert_eq!(talk.state("ses_2"), State::Running);
    talk.back(parent);
}

#[test]
fn a_session_that_nobody_is_known_to_have_started_is_a_subagent_by_its_own_account() {
    let mut talk = Talk::live();
    talk.turn("Look at the queries", "An index is missing");
    talk.saw(started("ses_1", "Look (@explore subagent)", ""));
    talk.saw(What::TurnEnded);
    assert_eq!(talk.state("ses_1"), State::Idle);
    talk.saw(ended("ses_1", true, "An index is missing"));
    assert_eq!(talk.state("ses_1"), State::Done);
    insta::assert_snapshot!(talk.tree(), @"
    ✓ Look at the queries [session]
      = An index is missing
      directive: Look at the queries
    ");
}

#[test]
fn a_subagent_is_named_after_what_it_is_for_whoever_speaks_first() {
    let mut talk = Talk::live();
    talk.user("Why is it slow?");
    let parent = talk.inside("ses_2", "ses_1");
    talk.user("Look at every query and say which is slow");
    talk.back(parent);
    talk.saw(started(
        "ses_2",
        "Look at the queries",
        "Look at every query",
    ));
    let parent = talk.inside("ses_2", "ses_1");
    talk.saw(What::Titled {
        title: "Look at the queries (@explore subagent)".to_owned(),
    });
    talk.back(parent);
    insta::assert_snapshot!(talk.tree(), @"
    ▶ Why is it slow? [session] ←
      directive: Why is it slow?
      ▶ Look at the queries [subagent]
    ");
}
