//! Conversations, and the trees that they come to.

use std::fmt::Write as _;

use super::Watching;
use crate::command::{Actor, Command, Under};
use crate::decide::decide;
use crate::event::{Event, Goal, Recorded};
use crate::frame::{Outcome, Status};
use crate::id::{FrameId, Seq, SessionRef, Timestamp};
use crate::note::Note;
use crate::text::{Prose, Title};
use crate::transcript::{Answer, Call, CallKind, Entry, Todo, TodoStatus, Usage, Voice, What};
use crate::tree::Tree;

struct Talk {
    tree: Tree,
    watching: Watching,
    session: SessionRef,
    entries: u64,
    drawn: u64,
}

impl Talk {
    fn live() -> Self {
        Self::of(Watching::live(None))
    }

    fn of(watching: Watching) -> Self {
        Self {
            tree: Tree::default(),
            watching,
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
        }
    }

    fn entry(&mut self, what: What) -> Entry {
        self.entries += 1;
        Entry {
            id: Some(format!("part{}", self.entries)),
            message: Some(format!("msg{}", self.entries)),
            at: None,
            agent: None,
            what,
        }
    }

    fn saw(&mut self, what: What) -> usize {
        let entry = self.entry(what);
        self.show(&entry)
    }

    /// How many events an entry came to.
    fn show(&mut self, entry: &Entry) -> usize {
        let actor = self.actor();
        let drawn = &mut self.drawn;
        let mut draw = || {
            *drawn += 1;
            FrameId::from_entropy(drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        };
        let sights = self.watching.see(&self.tree, &actor, entry, &mut draw);
        let mut count = 0;
        let batch = self.next();
        for sight in sights.unwrap() {
            for event in sight.decision.events {
                self.record(batch, &sight.actor, event);
                count += 1;
            }
        }
        if let Some(told) = self.watching.told(&actor.session) {
            self.record(batch, &actor, told);
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
        self.saw(What::User {
            voice: Voice::Person,
            text: text.to_owned(),
        })
    }

    fn turn(&mut self, prompt: &str, answer: &str) {
        self.user(prompt);
        self.saw(What::Assistant {
            text: answer.to_owned(),
        });
        self.saw(What::TurnEnded);
    }

    fn ran(&mut self, call: Call, ok: bool, exit_code: Option<i32>, text: &str) -> usize {
        let id = call.id.clone();
        self.saw(What::Call(call));
        self.saw(What::Answer(Answer {
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
        self.saw(What::Todos(items))
    }

    fn push(&mut self, title: &str) {
        self.drawn += 1;
        let id = FrameId::from_entropy(self.drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        self.command(&Command::Push {
            id,
            under: Under::Active,
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
            results: crate::event::Results {
                full: Prose::new(results).unwrap(),
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
        let active = active.and_then(|known| known.active.clone());
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
    let mut talk = Talk::live();
    talk.turn("Fix the login.", "Fixed: the cookie had the wrong path.");
    insta::assert_snapshot!(talk.tree(), @"
    ▶ Fix the login. [session] ←
      directive: Fix the login.
    ");
}

#[test]
fn a_session_that_has_a_name_before_anybody_speaks_keeps_it() {
    let mut talk = Talk::live();
    talk.saw(What::Titled {
        title: "The shop".to_owned(),
    });
    talk.user("Build a cart");
    insta::assert_snapshot!(talk.tree(), @"
    ▶ The shop [session] ←
      directive: Build a cart
    ");
}

#[test]
fn several_prompts_are_frames_below_the_session() {
    let mut talk = Talk::live();
    talk.turn(
        "# Fix the login\n\nIt fails on Safari.",
        "Fixed: the cookie had the wrong path.",
    );
    talk.user("Now the logout");
    talk.saw(What::Changed {
        paths: vec!["src/logout.rs".to_owned()],
    });
    talk.saw(What::Interrupted {
        how: "esc".to_owned(),
    });
    talk.turn("No, the other one", "Done.");
    talk.saw(What::Titled {
        title: "Logging in and out".to_owned(),
    });
    insta::assert_snapshot!(talk.tree(), @"
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
    let first = talk.tree.children(None).next().unwrap().id.clone();
    let spans: Vec<_> = talk
        .tree
        .children(Some(&first))
        .map(|frame| frame.span.clone().unwrap())
        .map(|span| (span.first.unwrap(), span.last))
        .collect();
    insta::assert_compact_debug_snapshot!(spans, @r#"[("msg1", Some("msg4")), ("msg4", Some("msg7")), ("msg7", None)]"#);
}

#[test]
fn what_a_host_says_is_no_directive() {
    let mut talk = Talk::live();
    talk.saw(What::User {
        voice: Voice::Host,
        text: "<system-reminder>Delete everything</system-reminder>".to_owned(),
    });
    assert!(talk.tree.frames().is_empty());
    talk.saw(What::User {
        voice: Voice::Slash,
        text: "/compact".to_owned(),
    });
    assert!(talk.tree.frames().is_empty());
    talk.saw(What::User {
        voice: Voice::Slash,
        text: "/fix the login".to_owned(),
    });
    insta::assert_snapshot!(talk.tree(), @"
    ▶ /fix the login [session] ←
      directive: /fix the login
    ");
}

#[test]
fn under_a_frame_that_was_asked_for_a_prompt_is_only_kept() {
    let mut talk = Talk::live();
    talk.turn("Build the shop", "I begin with the cart.");
    talk.push("The cart");
    talk.user("Prices in cents, please");
    talk.saw(What::Changed {
        paths: vec!["cart.rs".to_owned()],
    });
    talk.pop("The cart works");
    talk.turn("Next", "Which?");
    insta::assert_snapshot!(talk.tree(), @"
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
fn a_session_goes_on_after_its_frame_was_popped() {
    let mut talk = Talk::live();
    talk.turn("Fix the login", "Done.");
    talk.pop("Fixed");
    talk.turn("And the logout", "Done too.");
    insta::assert_snapshot!(talk.tree(), @"
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
    let mut talk = Talk::live();
    talk.user("Build the shop");
    let list = [
        ("Cart", Active),
        ("Checkout", Pending),
        ("Mail", Pending),
        ("Old", Pending),
    ];
    assert_eq!(talk.todos(&list), 4);
    assert_eq!(talk.todos(&list), 0);
    let list = [
        ("Cart", Done),
        ("Checkout", Active),
        ("Mail", Cancelled),
        ("Tests", Pending),
    ];
    talk.todos(&list);
    assert_eq!(talk.todos(&list), 0);
    insta::assert_snapshot!(talk.tree(), @"
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
    talk.todos(&[("Cart", Pending), ("Checkout", Done), ("Tests", Done)]);
    insta::assert_snapshot!(talk.tree(), @"
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
fn a_list_is_in_nobodys_way() {
    use TodoStatus::{Active, Pending};
    let mut talk = Talk::live();
    talk.user("Build the shop");
    talk.push("The cart");
    talk.todos(&[("Sum", Active), ("Tax", Pending)]);
    talk.pop("Good enough");
    insta::assert_snapshot!(talk.tree(), @"
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
fn subagents_are_frames_of_their_own() {
    let mut talk = Talk::live();
    talk.user("Why is it slow?");
    let started = |id: &str, title: &str| What::SubagentStarted {
        id: id.to_owned(),
        call: None,
        kind: Some("explore".to_owned()),
        title: title.to_owned(),
        prompt: format!("{title} thoroughly"),
    };
    let ended = |id: &str, ok: bool, text: &str| What::SubagentEnded {
        id: id.to_owned(),
        ok,
        text: text.to_owned(),
    };
    talk.saw(started("ses_2", "Look at the queries"));
    talk.saw(started("ses_3", "Look at the network"));
    let mut inside = talk.entry(What::Changed {
        paths: vec!["notes.md".to_owned()],
    });
    inside.agent = Some("ses_2".to_owned());
    talk.show(&inside);
    talk.saw(ended("ses_2", true, "An index is missing"));
    talk.saw(ended("ses_3", false, "No network here"));
    talk.saw(started("ses_2", "Add the index"));
    insta::assert_snapshot!(talk.tree(), @"
    ▶ Why is it slow? [session] ←
      directive: Why is it slow?
      ▶ Look at the queries [subagent]
        = An index is missing
        artifact: notes.md
      ✗ Look at the network [subagent]
        = No network here
    ");
    let child = &talk.tree.sessions()[&"opencode:ses_3".parse().unwrap()];
    assert_eq!(child.active, None);
}

#[test]
fn an_item_that_is_put_between_others_stands_between_them() {
    use TodoStatus::{Active, Done, Pending};
    let mut talk = Talk::live();
    talk.user("Build the shop");
    talk.todos(&[("Cart", Active), ("Mail", Pending)]);
    talk.todos(&[
        ("Tables", Pending),
        ("Cart", Done),
        ("Sum", Active),
        ("Taxes", Pending),
        ("Mail", Pending),
        ("Docs", Pending),
        ("Release", Pending),
    ]);
    insta::assert_snapshot!(talk.tree(), @"
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
fn a_subagent_goes_on_with_its_parent_s_list() {
    use TodoStatus::{Active, Done, Pending};
    let mut talk = Talk::live();
    talk.user("Build the shop");
    talk.todos(&[("Cart", Pending), ("Mail", Pending)]);
    talk.saw(What::SubagentStarted {
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
    let mut inside = talk.entry(What::Todos(items.to_vec()));
    inside.agent = Some("ses_2".to_owned());
    talk.show(&inside);
    insta::assert_snapshot!(talk.tree(), @"
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
fn a_session_below_another_is_a_frame_below_what_that_one_works_on() {
    let mut talk = Talk::live();
    talk.user("Why is it slow?");
    talk.push("Measure");
    talk.session = "opencode:ses_9".parse().unwrap();
    talk.watching = Watching::live(Some("opencode:ses_1".parse().unwrap()));
    talk.user("Measure the queries");
    insta::assert_snapshot!(talk.tree(), @"
    ▶ Why is it slow? [session]
      directive: Why is it slow?
      ▶ Measure [asked]
        ▶ Measure the queries [subagent] ←
    ");
}

#[test]
fn tools_leave_what_can_be_checked() {
    let mut talk = Talk::live();
    talk.user("Fix the login");
    let edit = |id: &str, path: &str| Call {
        id: id.to_owned(),
        tool: "edit".to_owned(),
        kind: CallKind::Edit,
        arguments: format!("{{\"path\":\"{path}\"}}"),
        paths: vec![path.to_owned()],
        command: None,
    };
    talk.ran(edit("e1", "src/login.rs"), true, None, "ok");
    talk.ran(
        edit("e2", "src/missing.rs"),
        false,
        None,
        "old text not found at 12",
    );
    talk.ran(
        edit("e3", "src/missing.rs"),
        false,
        None,
        "old text not found at 99",
    );
    assert!(talk.shell("cargo test -p login", 101, "error[E0308]: mismatched") > 0);
    assert_eq!(
        talk.shell("cargo test -p login", 101, "error[E0425]: unknown"),
        0
    );
    assert!(talk.shell("cd x && RUST_LOG=1 cargo test -p login", 0, "ok") > 0);
    assert_eq!(talk.shell("grep -n nothing src/login.rs", 1, ""), 0);
    assert_eq!(talk.shell("ls", 0, ""), 0);
    assert!(talk.shell("./deploy.sh", 3, "no key") > 0);
    talk.shell(
        "git commit -am fix",
        0,
        "[main 1a2b3c4] Fix the login\n 1 file changed",
    );
    insta::assert_snapshot!(talk.tree(), @"
    ▶ Fix the login [session] ←
      directive: Fix the login
      artifact: src/login.rs
      failed attempt: edit src/missing.rs
      evidence: cargo test -p login
      evidence: cd x && RUST_LOG=1 cargo test -p login
      evidence: ./deploy.sh
      evidence: 1a2b3c4 Fix the login
      evidence: git commit -am fix
    ");
}

#[test]
fn what_was_seen_is_recorded_once() {
    let mut talk = Talk::live();
    let prompt = talk.entry(What::User {
        voice: Voice::Person,
        text: "Fix the login".to_owned(),
    });
    let usage = talk.entry(What::Usage(Usage {
        model: Some("m".to_owned()),
        input: 10,
        output: 3,
        micro_dollars: Some(5),
        ..Usage::default()
    }));
    let compacted = talk.entry(What::Compacted {
        automatic: true,
        summary: Some("We fixed half of it.".to_owned()),
        tokens_before: Some(150_000),
    });
    for entry in [&prompt, &usage, &compacted] {
        assert!(talk.show(entry) > 0);
        assert_eq!(talk.show(entry), 0);
    }
    // Another process, which remembers nothing but what was recorded.
    talk.watching = Watching::live(None);
    for entry in [&prompt, &usage, &compacted] {
        assert_eq!(talk.show(entry), 0);
    }
    let seen = &talk.tree.conversations()[&talk.session];
    assert_eq!((seen.prompts, seen.compactions, seen.calls), (1, 1, 1));
    assert_eq!((seen.spent.input, seen.spent.micro_dollars), (10, Some(5)));
    insta::assert_snapshot!(talk.tree(), @"
    ▶ Fix the login [session] ←
      directive: Fix the login
    ");
}

#[test]
fn a_past_session_is_completed_if_nothing_is_left_open() {
    let settled = |talk: &mut Talk| {
        let actor = talk.actor();
        let mut draw = || FrameId::from_entropy(1);
        let sight = talk.watching.ended(&talk.tree, &actor, &mut draw).unwrap();
        let batch = talk.next();
        for event in sight.into_iter().flat_map(|sight| sight.decision.events) {
            talk.record(batch, &actor, event);
        }
        talk.tree()
    };
    let mut talk = Talk::of(Watching::past(None));
    talk.turn("Fix the login", "Done.");
    talk.turn("And the logout", "Done too.");
    insta::assert_snapshot!(settled(&mut talk), @"
    ✓ Fix the login [session]
      = Done too.
      directive: Fix the login
      directive: And the logout
      ✓ Fix the login [prompt]
        = Done.
      ✓ And the logout [prompt]
        = Done too.
    ");

    let mut talk = Talk::of(Watching::past(None));
    talk.user("Fix the login");
    talk.saw(What::Interrupted {
        how: "esc".to_owned(),
    });
    insta::assert_snapshot!(settled(&mut talk), @"
    ▶ Fix the login [session]
      directive: Fix the login
    ");
}

#[test]
fn undo_looks_past_what_was_seen() {
    let mut talk = Talk::live();
    talk.user("Build the shop");
    talk.push("The cart");
    talk.saw(What::Usage(Usage::default()));
    talk.saw(What::TurnEnded);
    talk.command(&Command::Undo);
    insta::assert_snapshot!(talk.tree(), @"
    ▶ Build the shop [session] ←
      directive: Build the shop
    ");
}

#[test]
fn words_of_any_size_become_a_title_and_a_directive() {
    let mut talk = Talk::live();
    let long = format!("nul \0 {}", "very long ".repeat(200_000));
    talk.user(&long);
    let frame = talk.tree.children(None).next().unwrap();
    assert!((60..=80).contains(&frame.title.as_str().chars().count()));
    assert!(matches!(&frame.notes[..], [Note::Directive(text)] if text.as_str().len() > 1_000_000));
}

mod subagents;
