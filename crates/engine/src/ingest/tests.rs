//! Sessions, and the trees derived from them.

use std::fmt::Write as _;

use super::Observer;
use flamestack_core::Author;
use flamestack_core::command::Under;
use flamestack_core::decide::decide;
use flamestack_core::event::Goal;
use flamestack_core::id::{Seq, Timestamp};
use flamestack_core::transcript::{
    Answer, Call, CallKind, Entry, EntryKind, Speaker, Todo, TodoStatus, Usage,
};
use flamestack_core::{
    Actor, Command, Event, FrameId, Note, Outcome, Recorded, SessionRef, Status, Text, Title,
};
use flamestack_testkit::Tree;

struct TestSession {
    tree: Tree,
    observer: Observer,
    session: SessionRef,
    entries: u64,
    drawn: u64,
}

impl TestSession {
    fn live() -> Self {
        Self::of(Observer::live(None))
    }

    fn of(observer: Observer) -> Self {
        Self {
            tree: Tree::default(),
            observer,
            session: "opencode:ses_1".parse().unwrap(),
            entries: 0,
            drawn: 0,
        }
    }

    fn actor(&self) -> Actor {
        Actor {
            session: self.session.clone(),
            worktree: None,
            message: None,
            by: Author::Agent,
        }
    }

    fn entry(&mut self, kind: EntryKind) -> Entry {
        self.entries += 1;
        Entry {
            id: Some(format!("part{}", self.entries)),
            message: Some(format!("msg{}", self.entries)),
            at: None,
            agent: None,
            kind,
        }
    }

    fn saw(&mut self, kind: EntryKind) -> usize {
        let entry = self.entry(kind);
        self.show(&entry)
    }

    /// Returns the number of events that an entry led to.
    fn show(&mut self, entry: &Entry) -> usize {
        let actor = self.actor();
        let drawn = &mut self.drawn;
        let mut draw = || {
            *drawn += 1;
            FrameId::from_entropy(drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        };
        let observations = self.observer.observe(&self.tree, &actor, entry, &mut draw);
        let mut count = 0;
        let batch = self.next();
        for observation in observations.unwrap() {
            for event in observation.decision.events {
                self.record(batch, &observation.actor, event);
                count += 1;
            }
        }
        if let Some(known) = self.observer.finish_batch(&actor.session) {
            self.record(batch, &actor, known);
        }
        count
    }

    fn next(&self) -> Seq {
        Seq(i64::try_from(self.tree.journal().len()).unwrap() + 1)
    }

    fn record(&mut self, batch: Seq, actor: &Actor, event: Event) {
        let seq = self.next();
        self.tree.apply(Recorded {
            seq,
            batch,
            at: Timestamp(seq.0),
            session: actor.session.clone(),
            message: actor.message.clone(),
            by: actor.by,
            event,
        });
    }

    fn command(&mut self, command: &Command) {
        let actor = self.actor();
        let decision = decide(&self.tree, &actor, command).unwrap();
        let batch = self.next();
        for event in decision.events {
            self.record(batch, &actor, event);
        }
    }

    fn user(&mut self, text: &str) -> usize {
        self.saw(EntryKind::User {
            speaker: Speaker::Person,
            text: text.to_owned(),
        })
    }

    fn turn(&mut self, prompt: &str, answer: &str) {
        self.user(prompt);
        self.saw(EntryKind::Assistant {
            text: answer.to_owned(),
        });
        self.saw(EntryKind::TurnEnded);
    }

    fn ran(&mut self, call: Call, ok: bool, exit_code: Option<i32>, text: &str) -> usize {
        let id = call.id.clone();
        self.saw(EntryKind::Call(call));
        self.saw(EntryKind::Answer(Answer {
            call: id,
            ok,
            exit_code,
            text: text.to_owned(),
        }))
    }

    fn shell(&mut self, command: &str, exit_code: i32, text: &str) -> usize {
        let call = Call {
            id: format!("call{}", self.entries),
            tool: "bash".to_owned(),
            kind: CallKind::Execute,
            arguments: format!("{{\"command\":\"{command}\"}}"),
            paths: vec![],
            command: Some(command.to_owned()),
        };
        self.ran(call, true, Some(exit_code), text)
    }

    fn todos(&mut self, items: &[(&str, TodoStatus)]) -> usize {
        let items = items.iter().map(|(text, status)| Todo {
            text: (*text).to_owned(),
            status: *status,
        });
        let items = items.collect();
        self.saw(EntryKind::Todos(items))
    }

    fn push(&mut self, title: &str) {
        self.push_under(Under::Active, title);
    }

    fn push_under(&mut self, under: Under, title: &str) {
        self.drawn += 1;
        let id = FrameId::from_entropy(self.drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        self.command(&Command::Push {
            id,
            under,
            goal: Goal {
                title: Title::new(title).unwrap(),
                criteria: None,
                criteria_compacted: None,
            },
        });
    }

    fn pop(&mut self, results: &str) {
        self.command(&Command::Pop {
            frame: None,
            outcome: Outcome::Completed,
            results: flamestack_core::event::Results {
                full: Text::new(results).unwrap(),
                compacted: None,
            },
        });
    }

    /// The tree, and in it the frame that the session works on.
    fn tree(&self) -> String {
        let mut text = String::new();
        self.branch(None, 0, &mut text);
        text
    }

    fn branch(&self, parent: Option<&FrameId>, depth: usize, text: &mut String) {
        let active = self.tree.sessions().get(&self.session);
        let active = active.and_then(|known| known.active);
        for frame in self.tree.children(parent) {
            let icon = match frame.status {
                Status::Planned => "○",
                Status::InProgress => "▶",
                Status::Completed => "✓",
                Status::Failed => "✗",
                Status::Blocked => "‖",
                Status::Invalidated => "–",
            };
            let here = if active.as_ref() == Some(&frame.id) {
                " ←"
            } else {
                ""
            };
            let indent = "  ".repeat(depth);
            let origin = frame.origin.as_str();
            writeln!(text, "{indent}{icon} {} [{origin}]{here}", frame.title).unwrap();
            if let Some(results) = &frame.results {
                writeln!(text, "{indent}  = {results}").unwrap();
            }
            if let Some(invalidation) = &frame.invalidation {
                writeln!(text, "{indent}  = {}", invalidation.reason).unwrap();
            }
            for note in &frame.notes {
                let kind = note.kind().label();
                writeln!(text, "{indent}  {kind}: {}", note.text()).unwrap();
            }
            self.branch(Some(&frame.id), depth + 1, text);
        }
    }
}

#[test]
fn one_prompt_is_one_frame() {
    let mut session = TestSession::live();
    session.turn("Fix the login.", "Fixed: the cookie had the wrong path.");
    insta::assert_snapshot!(session.tree(), @"
    ▶ Fix the login. [session] ←
      directive: Fix the login.
    ");
}

#[test]
fn a_session_named_before_its_first_prompt_keeps_the_name() {
    let mut session = TestSession::live();
    session.saw(EntryKind::Titled {
        title: "The shop".to_owned(),
    });
    session.user("Build a cart");
    insta::assert_snapshot!(session.tree(), @"
    ▶ The shop [session] ←
      directive: Build a cart
    ");
}

#[test]
fn several_prompts_are_frames_below_the_session() {
    let mut session = TestSession::live();
    session.turn(
        "# Fix the login\n\nIt fails on Safari.",
        "Fixed: the cookie had the wrong path.",
    );
    session.user("Now the logout");
    session.saw(EntryKind::Changed {
        paths: vec!["src/logout.rs".to_owned()],
    });
    session.saw(EntryKind::Interrupted {
        how: "esc".to_owned(),
    });
    session.turn("No, the other one", "Done.");
    session.saw(EntryKind::Titled {
        title: "Logging in and out".to_owned(),
    });
    insta::assert_snapshot!(session.tree(), @"
    ▶ Logging in and out [session] ←
      directive: # Fix the login

    It fails on Safari.
      directive: Now the logout
      directive: No, the other one
      ✓ Fix the login It fails on Safari. [prompt]
        = Fixed: the cookie had the wrong path.
      ✗ Now the logout [prompt]
        = Interrupted by the user.
        artifact: src/logout.rs
      ▶ No, the other one [prompt]
    ");
    let first = session.tree.children(None).next().unwrap().id;
    let spans: Vec<_> = session
        .tree
        .children(Some(&first))
        .map(|frame| frame.span.clone().unwrap())
        .map(|span| (span.first.unwrap(), span.last))
        .collect();
    insta::assert_compact_debug_snapshot!(spans, @r#"[("msg1", Some("msg4")), ("msg4", Some("msg7")), ("msg7", None)]"#);
}

#[test]
fn text_of_the_host_is_no_directive() {
    let mut session = TestSession::live();
    session.saw(EntryKind::User {
        speaker: Speaker::Host,
        text: "<system-reminder>Delete everything</system-reminder>".to_owned(),
    });
    assert!(session.tree.frames().is_empty());
    session.saw(EntryKind::User {
        speaker: Speaker::Slash,
        text: "/compact".to_owned(),
    });
    assert!(session.tree.frames().is_empty());
    session.saw(EntryKind::User {
        speaker: Speaker::Slash,
        text: "/fix the login".to_owned(),
    });
    insta::assert_snapshot!(session.tree(), @"
    ▶ /fix the login [session] ←
      directive: /fix the login
    ");
}

#[test]
fn a_prompt_under_a_pushed_frame_opens_none() {
    let mut session = TestSession::live();
    session.turn("Build the shop", "I begin with the cart.");
    session.push("The cart");
    session.user("Prices in cents, please");
    session.saw(EntryKind::Changed {
        paths: vec!["cart.rs".to_owned()],
    });
    session.pop("The cart works");
    session.turn("Next", "Which?");
    insta::assert_snapshot!(session.tree(), @"
    ▶ Build the shop [session] ←
      directive: Build the shop
      directive: Next
      ✓ The cart [asked]
        = The cart works
        directive: Prices in cents, please
        artifact: cart.rs
      ▶ Next [prompt]
    ");
}

#[test]
fn a_session_continues_after_its_frame_was_popped() {
    let mut session = TestSession::live();
    session.turn("Fix the login", "Done.");
    session.pop("Fixed");
    session.turn("And the logout", "Done too.");
    insta::assert_snapshot!(session.tree(), @"
    ✓ Fix the login [session]
      = Fixed
      directive: Fix the login
    ▶ And the logout [session] ←
      directive: And the logout
    ");
}

#[test]
fn a_list_is_mirrored_by_the_text_of_its_items() {
    use TodoStatus::{Active, Cancelled, Done, Pending};
    let mut session = TestSession::live();
    session.user("Build the shop");
    let list = [
        ("Cart", Active),
        ("Checkout", Pending),
        ("Mail", Pending),
        ("Old", Pending),
    ];
    assert_eq!(session.todos(&list), 4);
    assert_eq!(session.todos(&list), 0);
    let list = [
        ("Cart", Done),
        ("Checkout", Active),
        ("Mail", Cancelled),
        ("Tests", Pending),
    ];
    session.todos(&list);
    assert_eq!(session.todos(&list), 0);
    insta::assert_snapshot!(session.tree(), @"
    ▶ Build the shop [session] ←
      directive: Build the shop
      ✓ Cart [todo]
        = Ticked off on the to-do list.
      ▶ Checkout [todo]
      – Mail [todo]
        = Cancelled on the to-do list.
      – Old [todo]
        = No longer on the to-do list.
      ○ Tests [todo]
    ");
    // What is back on the list after it was done is to be done again.
    session.todos(&[("Cart", Pending), ("Checkout", Done), ("Tests", Done)]);
    insta::assert_snapshot!(session.tree(), @"
    ▶ Build the shop [session] ←
      directive: Build the shop
      ✓ Cart [todo]
        = Ticked off on the to-do list.
      ○ Cart [todo]
      ✓ Checkout [todo]
        = Ticked off on the to-do list.
      – Mail [todo]
        = Cancelled on the to-do list.
      – Old [todo]
        = No longer on the to-do list.
      ✓ Tests [todo]
        = Ticked off on the to-do list.
    ");
}

#[test]
fn a_mirrored_list_does_not_prevent_a_pop() {
    use TodoStatus::{Active, Pending};
    let mut session = TestSession::live();
    session.user("Build the shop");
    session.push("The cart");
    session.todos(&[("Sum", Active), ("Tax", Pending)]);
    session.pop("Good enough");
    insta::assert_snapshot!(session.tree(), @"
    ▶ Build the shop [session] ←
      directive: Build the shop
      ✓ The cart [asked]
        = Good enough
        – Sum [todo]
          = Parent frame completed: Good enough
        – Tax [todo]
          = Parent frame completed: Good enough
    ");
}

#[test]
fn subagents_have_their_own_frames() {
    let mut session = TestSession::live();
    session.user("Why is it slow?");
    let started = |id: &str, title: &str| EntryKind::SubagentStarted {
        id: id.to_owned(),
        call: None,
        kind: Some("explore".to_owned()),
        title: title.to_owned(),
        prompt: format!("{title} thoroughly"),
    };
    let ended = |id: &str, ok: bool, text: &str| EntryKind::SubagentEnded {
        id: id.to_owned(),
        ok,
        text: text.to_owned(),
    };
    session.saw(started("ses_2", "Look at the queries"));
    session.saw(started("ses_3", "Look at the network"));
    let mut inside = session.entry(EntryKind::Changed {
        paths: vec!["notes.md".to_owned()],
    });
    inside.agent = Some("ses_2".to_owned());
    session.show(&inside);
    session.saw(ended("ses_2", true, "An index is missing"));
    session.saw(ended("ses_3", false, "No network here"));
    session.saw(started("ses_2", "Add the index"));
    insta::assert_snapshot!(session.tree(), @"
    ▶ Why is it slow? [session] ←
      directive: Why is it slow?
      ▶ Look at the queries [subagent]
        = An index is missing
        artifact: notes.md
      ✗ Look at the network [subagent]
        = No network here
    ");
    let child = &session.tree.sessions()[&"opencode:ses_3".parse().unwrap()];
    assert_eq!(child.active, None);
}

#[test]
fn an_item_inserted_between_others_keeps_its_place() {
    use TodoStatus::{Active, Done, Pending};
    let mut session = TestSession::live();
    session.user("Build the shop");
    session.todos(&[("Cart", Active), ("Mail", Pending)]);
    session.todos(&[
        ("Tables", Pending),
        ("Cart", Done),
        ("Sum", Active),
        ("Taxes", Pending),
        ("Mail", Pending),
        ("Docs", Pending),
        ("Release", Pending),
    ]);
    insta::assert_snapshot!(session.tree(), @"
    ▶ Build the shop [session] ←
      directive: Build the shop
      ○ Tables [todo]
      ✓ Cart [todo]
        = Ticked off on the to-do list.
      ▶ Sum [todo]
      ○ Taxes [todo]
      ○ Mail [todo]
      ○ Docs [todo]
      ○ Release [todo]
    ");
}

#[test]
fn a_subagent_shares_its_parents_list() {
    use TodoStatus::{Active, Done, Pending};
    let mut session = TestSession::live();
    session.user("Build the shop");
    session.todos(&[("Cart", Pending), ("Mail", Pending)]);
    session.saw(EntryKind::SubagentStarted {
        id: "ses_2".to_owned(),
        call: None,
        kind: None,
        title: "The cart".to_owned(),
        prompt: String::new(),
    });
    let items = [("Cart", Done), ("Sum", Active)];
    let items = items.map(|(text, status)| Todo {
        text: text.to_owned(),
        status,
    });
    let mut inside = session.entry(EntryKind::Todos(items.to_vec()));
    inside.agent = Some("ses_2".to_owned());
    session.show(&inside);
    insta::assert_snapshot!(session.tree(), @"
    ▶ Build the shop [session] ←
      directive: Build the shop
      ✓ Cart [todo]
        = Ticked off on the to-do list.
      ○ Mail [todo]
      ▶ The cart [subagent]
        ▶ Sum [todo]
    ");
}

#[test]
fn a_child_session_is_a_frame_below_its_parents_active_frame() {
    let mut session = TestSession::live();
    session.user("Why is it slow?");
    session.push("Measure");
    session.session = "opencode:ses_9".parse().unwrap();
    session.observer = Observer::live(Some("opencode:ses_1".parse().unwrap()));
    session.user("Measure the queries");
    insta::assert_snapshot!(session.tree(), @"
    ▶ Why is it slow? [session]
      directive: Why is it slow?
      ▶ Measure [asked]
        ▶ Measure the queries [subagent] ←
    ");
}

#[test]
fn tools_leave_evidence() {
    let mut session = TestSession::live();
    session.user("Fix the login");
    let edit = |id: &str, path: &str| Call {
        id: id.to_owned(),
        tool: "edit".to_owned(),
        kind: CallKind::Edit,
        arguments: format!("{{\"path\":\"{path}\"}}"),
        paths: vec![path.to_owned()],
        command: None,
    };
    session.ran(edit("e1", "src/login.rs"), true, None, "ok");
    session.ran(
        edit("e2", "src/missing.rs"),
        false,
        None,
        "old text not found at 12",
    );
    session.ran(
        edit("e3", "src/missing.rs"),
        false,
        None,
        "old text not found at 99",
    );
    assert!(session.shell("cargo test -p login", 101, "error[E0308]: mismatched") > 0);
    assert_eq!(
        session.shell("cargo test -p login", 101, "error[E0425]: unknown"),
        0
    );
    assert!(session.shell("cd x && RUST_LOG=1 cargo test -p login", 0, "ok") > 0);
    assert_eq!(session.shell("grep -n nothing src/login.rs", 1, ""), 0);
    assert_eq!(session.shell("ls", 0, ""), 0);
    assert!(session.shell("./deploy.sh", 3, "no key") > 0);
    session.shell(
        "git commit -am fix",
        0,
        "[main 1a2b3c4] Fix the login\n 1 file changed",
    );
    session.shell("git commit -qam 'Fix the logout'", 0, "");
    insta::assert_snapshot!(session.tree(), @"
    ▶ Fix the login [session] ←
      directive: Fix the login
      artifact: src/login.rs
      failed attempt: edit src/missing.rs
      evidence: cargo test -p login
      evidence: cd x && RUST_LOG=1 cargo test -p login
      evidence: ./deploy.sh
      evidence: 1a2b3c4 Fix the login
      evidence: git commit -am fix
      evidence: Fix the logout
      evidence: git commit -qam 'Fix the logout'
    ");
}

#[test]
fn a_frame_below_a_prompts_frame_does_not_replace_it() {
    let mut session = TestSession::live();
    session.user("Fix the login");
    session.user("Build the shop");
    let frames = session.tree.frames().values();
    let prompt = frames
        .clone()
        .find(|frame| frame.title.as_str() == "Build the shop");
    let prompt = prompt.unwrap().id;
    session.push_under(Under::Frame(prompt), "Cart");
    let cart = session
        .tree
        .frames()
        .values()
        .find(|it| it.title.as_str() == "Cart");
    assert_eq!(cart.unwrap().parent, Some(prompt));
    assert!(session.tree.frames().contains_key(&prompt));
}

#[test]
fn entries_are_recorded_once() {
    let mut session = TestSession::live();
    let prompt = session.entry(EntryKind::User {
        speaker: Speaker::Person,
        text: "Fix the login".to_owned(),
    });
    let usage = session.entry(EntryKind::Usage(Usage {
        model: Some("m".to_owned()),
        input: 10,
        output: 3,
        micro_dollars: Some(5),
        ..Usage::default()
    }));
    let compacted = session.entry(EntryKind::Compacted {
        automatic: true,
        summary: Some("We fixed half of it.".to_owned()),
        tokens_before: Some(150_000),
    });
    for entry in [&prompt, &usage, &compacted] {
        assert!(session.show(entry) > 0);
        assert_eq!(session.show(entry), 0);
    }
    // Another process, which remembers nothing but what was recorded.
    session.observer = Observer::live(None);
    for entry in [&prompt, &usage, &compacted] {
        assert_eq!(session.show(entry), 0);
    }
    let seen = &session.tree.sessions()[&session.session].activity;
    assert_eq!((seen.prompts, seen.compactions, seen.calls), (1, 1, 1));
    assert_eq!((seen.spent.input, seen.spent.micro_dollars), (10, Some(5)));
    insta::assert_snapshot!(session.tree(), @"
    ▶ Fix the login [session] ←
      directive: Fix the login
    ");
}

#[test]
fn a_past_session_is_completed_if_nothing_is_left_open() {
    let settled = |session: &mut TestSession| {
        let actor = session.actor();
        let mut draw = || FrameId::from_entropy(1);
        let observation = session
            .observer
            .finish(&session.tree, &actor, &mut draw)
            .unwrap();
        let batch = session.next();
        for event in observation
            .into_iter()
            .flat_map(|observation| observation.decision.events)
        {
            session.record(batch, &actor, event);
        }
        session.tree()
    };
    let mut session = TestSession::of(Observer::past());
    session.turn("Fix the login", "Done.");
    session.turn("And the logout", "Done too.");
    insta::assert_snapshot!(settled(&mut session), @"
    ✓ Fix the login [session]
      = Done too.
      directive: Fix the login
      directive: And the logout
      ✓ Fix the login [prompt]
        = Done.
      ✓ And the logout [prompt]
        = Done too.
    ");

    // The record breaks off after a call.
    let mut session = TestSession::of(Observer::past());
    session.user("Fix the login");
    session.saw(EntryKind::Assistant {
        text: "I'll look at the cookie.".to_owned(),
    });
    session.shell("git log", 0, "");
    insta::assert_snapshot!(settled(&mut session), @"
    ▶ Fix the login [session]
      directive: Fix the login
    ");

    let mut session = TestSession::of(Observer::past());
    session.user("Fix the login");
    session.saw(EntryKind::Interrupted {
        how: "esc".to_owned(),
    });
    insta::assert_snapshot!(settled(&mut session), @"
    ▶ Fix the login [session]
      directive: Fix the login
    ");
}

#[test]
fn undo_skips_observations() {
    let mut session = TestSession::live();
    session.user("Build the shop");
    session.push("The cart");
    session.saw(EntryKind::Usage(Usage::default()));
    session.saw(EntryKind::TurnEnded);
    session.command(&Command::Undo);
    insta::assert_snapshot!(session.tree(), @"
    ▶ Build the shop [session] ←
      directive: Build the shop
    ");
}

#[test]
fn words_of_any_size_become_a_title_and_a_directive() {
    let mut session = TestSession::live();
    let long = format!("nul \0 {}", "very long ".repeat(200_000));
    session.user(&long);
    let frame = session.tree.children(None).next().unwrap();
    assert!((60..=80).contains(&frame.title.as_str().chars().count()));
    assert!(matches!(&frame.notes[..], [Note::Directive(text)] if text.as_str().len() > 1_000_000));
}

mod stalls;
mod subagents;
mod topics;

#[test]
fn the_noise_of_a_host_is_neither_a_goal_nor_said() {
    let mut session = TestSession::live();
    for noise in [
        "<command-name>/clear</command-name>\n<command-message>clear</command-message>",
        "<local-command-stdout></local-command-stdout>",
        "Caveat: The messages below were generated by the user while running local commands.",
    ] {
        session.user(noise);
    }
    assert_eq!(session.tree(), "");
    session.user("<system-reminder>Be brief</system-reminder>\nFix the login");
    insta::assert_snapshot!(session.tree(), @"
    ▶ Fix the login [session] ←
      directive: Fix the login
    ");
}

#[test]
fn an_own_command_is_no_work_and_its_argument_is_said() {
    let mut session = TestSession::live();
    let typed = |session: &mut TestSession, text: &str| {
        session.saw(EntryKind::User {
            speaker: Speaker::Slash,
            text: text.to_owned(),
        });
    };
    typed(&mut session, "/flame:pop");
    assert_eq!(session.tree(), "");
    typed(&mut session, "/flame:push the cart");
    session.turn("Now the sum", "It adds up.");
    typed(&mut session, "/flame:plan store, then ship");
    session.turn("And the tax", "Taxed.");
    session.user("What is left?");
    insta::assert_snapshot!(session.tree(), @"
    ▶ the cart [session] ←
      directive: the cart
      directive: Now the sum
      directive: store, then ship
      directive: And the tax
      directive: What is left?
      ✓ Now the sum [prompt]
        = It adds up.
      ✓ And the tax [prompt]
        = Taxed.
      ▶ What is left? [prompt]
    ");
}

/// The host names the session; the words of the first prompt are in the title of its frame.
#[test]
fn the_first_prompt_is_named_after_its_words() {
    let mut session = TestSession::live();
    session.turn("Write an exporter for invoices", "Written.");
    let title = "Invoice exporter".to_owned();
    session.saw(EntryKind::Titled { title });
    session.turn("Now test it", "Tested.");
    insta::assert_snapshot!(session.tree(), @"
    ▶ Invoice exporter [session] ←
      directive: Write an exporter for invoices
      directive: Now test it
      ✓ Write an exporter for invoices [prompt]
        = Written.
      ▶ Now test it [prompt]
    ");
}

#[test]
fn an_empty_answer_is_none() {
    let mut session = TestSession::live();
    session.turn("One", "Done.");
    session.turn("Two", "");
    session.user("Three");
    session.shell("make", 0, "ok");
    session.saw(EntryKind::TurnEnded);
    // Sent before the answer to the one before it.
    session.user("Four");
    session.turn("Five", "Both done.");
    session.user("Six");
    insta::assert_snapshot!(session.tree(), @"
    ▶ One [session] ←
      directive: One
      directive: Two
      directive: Three
      directive: Four
      directive: Five
      directive: Six
      ✓ One [prompt]
        = Done.
      ✗ Two [prompt]
        = Ended without an answer.
      ✓ Three [prompt]
        = Ended without a word.
        evidence: make
      ✓ Four [prompt]
        = Ended without a word.
      ✓ Five [prompt]
        = Both done.
      ▶ Six [prompt]
    ");
}
