//! Stories of two conversations and a person at a terminal.

use std::fmt::Write as _;

use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;
use crate::Guidance;
use crate::fixtures::{O200k, directive, drawn, frame, prose, recorded, us};
use crate::grammar::{Grammar, read};
use flamestack_core::Author;
use flamestack_core::event::{Closing, Edit, Goal, Results};
use flamestack_core::frame::{Origin, Rank};
use flamestack_core::id::SessionRef;
use flamestack_core::note::Note;
use flamestack_core::session::ActivitySnapshot;
use flamestack_core::text::Title;
use flamestack_extract::tokens::Estimate;
use flamestack_testkit::Tree;

fn person() -> SessionRef {
    SessionRef::shell("main")
}

fn another() -> SessionRef {
    "codex:42".parse().unwrap()
}

/// A conversation and everything it was sent.
struct Conversation {
    tree: Tree,
    current: FrameId,
    sent: Option<Sent>,
    /// The header and all updates after it, exactly as sent.
    text: String,
    settings: ContextSettings,
}

impl Conversation {
    fn about(drawing: &str) -> Self {
        let (tree, current) = drawn(drawing);
        Self {
            tree,
            current,
            sent: None,
            text: String::new(),
            settings: ContextSettings {
                guidance: Guidance::Off,
                ..ContextSettings::default()
            },
        }
    }

    fn next_seq(&self) -> i64 {
        self.tree.journal().last().map_or(0, |last| last.seq.0) + 1
    }

    fn happens(&mut self, who: &SessionRef, event: Event) -> &mut Self {
        let seq = self.next_seq();
        if let Event::SessionFocused { session, to, .. } = &event
            && *session == us()
        {
            self.current = (*to).unwrap();
        }
        self.tree.apply(recorded(seq, who, event));
        self
    }

    fn around(&self) -> Surroundings {
        let mut around = crate::reference::in_tree(&self.tree, &self.current).unwrap();
        around.session = Some(us());
        around
    }

    fn hear(&mut self, after: Option<HeaderReason>) -> Delivery {
        let around = self.around();
        self.hear_of(&around, after)
    }

    fn hear_of(&mut self, around: &Surroundings, after: Option<HeaderReason>) -> Delivery {
        let heard = self.sent.as_ref().map_or(Seq(0), |sent| sent.position);
        let journal = self.tree.journal();
        let mut undone: Vec<Seq> = Vec::new();
        let mut wound: Vec<Seq> = Vec::new();
        for recorded in journal.iter().filter(|recorded| recorded.seq > heard) {
            match &recorded.event {
                Event::CommandUndone { batch } => undone.push(*batch),
                Event::SessionReverted { masked: seqs, .. }
                | Event::SessionRestored { unmasked: seqs, .. } => wound.extend(seqs),
                _ => {}
            }
        }
        let since: Vec<Recorded> = journal
            .iter()
            .filter(|it| it.seq > heard || undone.contains(&it.batch) || wound.contains(&it.seq))
            .cloned()
            .collect();
        let sent = self.sent.as_ref();
        let around_it = Some(around);
        let sending = deliver(sent, around_it, &since, after, &self.settings, &O200k);
        self.sent = Some(sending.sent_at(around.position));
        match &sending.delivery {
            Delivery::Nothing => {}
            Delivery::Update(text) => self.text.push_str(text),
            Delivery::Header(text) => self.text.clone_from(text),
        }
        sending.delivery
    }
}

fn id(title: &str) -> FrameId {
    frame(title).id
}

fn planned(title: &str, parent: &str) -> Event {
    Event::FrameOpened {
        frame: id(title),
        parent: Some(id(parent)),
        rank: Rank(99),
        planned: true,
        origin: Origin::Asked,
        goal: Goal {
            title: Title::new(title).unwrap(),
            criteria: None,
            criteria_compacted: None,
        },
    }
}

fn closed(title: &str, results: &str) -> Event {
    Event::FrameClosed {
        frame: id(title),
        outcome: Closing::Completed,
        results: Results {
            full: prose(results),
            compacted: None,
        },
        cascaded: Vec::new(),
    }
}

fn text_of(delivery: Delivery) -> String {
    match delivery {
        Delivery::Nothing => "nothing".to_owned(),
        Delivery::Update(text) => format!("update:\n{text}"),
        Delivery::Header(text) => format!("header:\n{text}"),
    }
}

#[test]
fn a_header_is_sent_once_and_then_frozen() {
    let mut talk = Conversation::about("* Shop\n  criteria = Orders can be placed");
    assert_snapshot!(text_of(talk.hear(None)), @r#"
    header:
    <stack-context session="opencode:ses_us">
    <current-frame id="f0jtny0g" status="in_progress">
    <title>Shop</title>
    <success-criteria>Orders can be placed</success-criteria>
    </current-frame>
    </stack-context>
    "#);
    // What we do ourselves our own tools tell us.
    talk.happens(&us(), planned("Cart", "Shop"));
    assert_eq!(talk.hear(None), Delivery::Nothing);
}

#[test]
fn an_empty_header_is_frozen_too() {
    let mut talk = Conversation::about("* Shop");
    assert_eq!(talk.hear(None), Delivery::Header(String::new()));
    talk.happens(&us(), planned("Cart", "Shop"));
    assert_eq!(talk.hear(None), Delivery::Nothing);
    talk.happens(&person(), planned("Checkout", "Shop"));
    assert_snapshot!(text_of(talk.hear(None)), @r#"
    update:
    <stack-update from="stack" count="1">
    <frame id="nfzbykrx" status="planned" by="user">
    <title>Checkout</title>
    </frame>
    </stack-update>
    "#);
}

#[test]
fn a_session_without_a_frame_gets_an_empty_header_and_that_is_frozen_too() {
    let mut talk = Conversation::about("doing Shop\n  * Cart");
    let hear = |sent: Option<&Sent>, around: Option<&Surroundings>, since: &[Recorded]| {
        deliver(
            sent,
            around,
            since,
            None,
            &ContextSettings::default(),
            &O200k,
        )
    };
    let nothing = hear(None, None, &[]);
    assert_eq!(nothing.delivery, Delivery::Header(String::new()));
    assert_eq!((nothing.frame.as_ref(), nothing.known.len()), (None, 0));
    let position = Seq(talk.next_seq() - 1);
    let sent = nothing.sent_at(position);
    assert_eq!(hear(Some(&sent), None, &[]).delivery, Delivery::Nothing);
    // It begins to work unprompted: it knows so from its own call.
    let around = talk.around();
    let sending = hear(Some(&sent), Some(&around), &[]);
    assert_eq!(sending.delivery, Delivery::Nothing);
    assert_eq!(sending.frame, Some(id("Cart")));
    // Another session switches it to a frame.
    let turn = Event::SessionFocused {
        session: us(),
        from: None,
        to: Some(id("Cart")),
    };
    talk.happens(&person(), turn);
    let news = talk.tree.journal().last().cloned();
    let sending = hear(Some(&sent), Some(&talk.around()), news.as_slice());
    let sent = text_of(sending.delivery);
    assert!(sent.contains("<title>Cart</title>"), "{sent}");
}

#[test]
fn what_others_do_comes_as_an_update() {
    let drawing = "
        doing Shop
          doing Database
          * Checkout
            planned Refunds
        ";
    let mut talk = Conversation::about(drawing);
    talk.hear(None);
    talk.happens(&another(), closed("Database", "Schema in db/schema.sql"))
        .happens(
            &person(),
            Event::FrameInvalidated {
                frame: id("Refunds"),
                reason: prose("Not in this release"),
                cascaded: Vec::new(),
            },
        )
        .happens(
            &person(),
            Event::FrameEdited {
                frame: id("Checkout"),
                edit: Edit {
                    criteria: Some(prose("Cards only")),
                    ..Edit::default()
                },
            },
        )
        .happens(
            &person(),
            Event::Noted {
                frame: id("Shop"),
                note: Note::Artifact(prose("a file says nothing new")),
            },
        );
    assert_snapshot!(text_of(talk.hear(None)), @r#"
    update:
    <stack-update from="stack" count="3">
    <frame id="gnhe05ek" status="completed" claimed="true" log="flame log gnhe05ek" by="codex:42">
    <title>Database</title>
    <results>Schema in db/schema.sql</results>
    </frame>
    <frame id="wnc1ac8v" status="invalidated" by="user">Not in this release</frame>
    <frame id="nfzbykrx" status="in_progress" by="user">
    <title>Checkout</title>
    <success-criteria>Cards only</success-criteria>
    </frame>
    </stack-update>
    "#);
    assert_eq!(talk.hear(None), Delivery::Nothing);
}

#[test]
fn changes_elsewhere_are_not_sent() {
    let mut talk = Conversation::about("doing Shop\n  * Cart\ndoing Blog\n  doing Post");
    talk.hear(None);
    talk.happens(&another(), closed("Post", "published"))
        .happens(&another(), planned("Images", "Blog"));
    assert_eq!(talk.hear(None), Delivery::Nothing);
}

#[test]
fn a_switch_to_another_frame_is_sent_only_if_another_session_did_it() {
    let turn = || Event::SessionFocused {
        session: us(),
        from: Some(id("Cart")),
        to: Some(id("Pay")),
    };
    let mut talk = Conversation::about("doing Shop\n  * Cart\n  doing Pay");
    talk.hear(None);
    talk.happens(&us(), turn());
    assert_eq!(talk.hear(None), Delivery::Nothing);
    let mut talk = Conversation::about("doing Shop\n  * Cart\n  doing Pay");
    talk.hear(None);
    talk.happens(&person(), turn());
    assert_snapshot!(text_of(talk.hear(None)), @r#"
    update:
    <stack-update from="stack" count="1">
    <current-frame id="ka8mea1e" status="in_progress" by="user">
    <title>Pay</title>
    </current-frame>
    </stack-update>
    "#);
}

#[test]
fn an_undone_change_is_sent_as_it_is_now() {
    let mut talk = Conversation::about("doing Shop\n  doing Database\n  * Cart");
    talk.happens(&another(), closed("Database", "done"))
        .happens(&another(), planned("Images", "Shop"));
    talk.hear(None);
    let (first, second) = (Seq(talk.next_seq() - 2), Seq(talk.next_seq() - 1));
    talk.happens(&person(), Event::CommandUndone { batch: second })
        .happens(&person(), Event::CommandUndone { batch: first });
    assert_snapshot!(text_of(talk.hear(None)), @r#"
    update:
    <stack-update from="stack" count="2">
    <frame id="xyaw579v" status="undone" by="user"/>
    <frame id="gnhe05ek" status="in_progress" by="user">
    <title>Database</title>
    </frame>
    </stack-update>
    "#);
}

#[test]
fn what_was_done_and_taken_back_between_two_messages_never_was() {
    let mut talk = Conversation::about("doing Shop\n  doing Database\n  * Cart");
    talk.hear(None);
    let batch = Seq(talk.next_seq());
    talk.happens(&another(), closed("Database", "done"))
        .happens(&another(), Event::CommandUndone { batch });
    assert_eq!(talk.hear(None), Delivery::Nothing);
}

#[test]
fn a_change_that_another_session_reverted_is_sent_as_it_is_now() {
    let mut talk = Conversation::about("doing Shop\n  doing Database\n  * Cart");
    let done = Seq(talk.next_seq());
    talk.happens(&another(), closed("Database", "done"));
    talk.hear(None);
    let reverted = Seq(talk.next_seq());
    let wound_back = |masked| Event::SessionReverted {
        session: another(),
        to: "m".to_owned(),
        masked,
        active_before: None,
        activity_before: ActivitySnapshot::default(),
        activity_after: ActivitySnapshot::default(),
    };
    talk.happens(&another(), wound_back(vec![done]));
    assert_snapshot!(text_of(talk.hear(None)), @r#"
    update:
    <stack-update from="stack" count="1">
    <frame id="gnhe05ek" status="in_progress" by="codex:42">
    <title>Database</title>
    </frame>
    </stack-update>
    "#);
    let forward = Event::SessionRestored {
        session: another(),
        reverted,
        unmasked: vec![done],
        activity_after: ActivitySnapshot::default(),
    };
    talk.happens(&another(), forward.clone());
    assert_snapshot!(text_of(talk.hear(None)), @r#"
    update:
    <stack-update from="stack" count="1">
    <frame id="gnhe05ek" status="completed" claimed="true" log="flame log gnhe05ek" by="codex:42">
    <title>Database</title>
    <results>done</results>
    </frame>
    </stack-update>
    "#);
    talk.happens(&another(), wound_back(vec![done]))
        .happens(&another(), forward);
    assert_eq!(talk.hear(None), Delivery::Nothing);
}

#[test]
fn how_another_conversation_goes_about_its_work_is_no_news() {
    let mut talk = Conversation::about("doing Shop\n  * Cart");
    talk.hear(None);
    for (title, origin) in [
        ("Fix it", Origin::Prompt),
        ("Write tests", Origin::Todo),
        ("So far", Origin::Compaction),
    ] {
        let Event::FrameOpened {
            frame,
            parent,
            rank,
            planned,
            goal,
            ..
        } = planned(title, "Shop")
        else {
            unreachable!("a plan opens a frame");
        };
        talk.happens(
            &another(),
            Event::FrameOpened {
                frame,
                parent,
                rank,
                planned,
                origin,
                goal,
            },
        );
    }
    assert_eq!(talk.hear(None), Delivery::Nothing);
    talk.happens(&another(), closed("Write tests", "written"));
    assert_eq!(talk.hear(None), Delivery::Nothing);
    // What a person does to such a frame is.
    talk.happens(&person(), closed("Fix it", "not any more"));
    assert_snapshot!(text_of(talk.hear(None)), @r#"
    update:
    <stack-update from="stack" count="1">
    <frame id="qem3jvkr" status="completed" log="flame log qem3jvkr" by="user">
    <title>Fix it</title>
    <results>not any more</results>
    </frame>
    </stack-update>
    "#);
}

/// The user acts for the session from a terminal: its model did not see that.
#[test]
fn what_the_user_does_for_the_session_from_a_terminal_is_news() {
    let mut conversation = Conversation::about("* Prices\n  criteria = They are right");
    conversation.hear(None);
    let frame = conversation.current;
    let note = |text: &str| Note::Decision {
        text: prose(text),
        why: None,
        by: Author::User,
    };
    let by_the_user = |conversation: &mut Conversation, event: Event| {
        let seq = conversation.next_seq();
        let event = Recorded {
            by: Author::User,
            ..recorded(seq, &us(), event)
        };
        conversation.tree.apply(event);
    };
    for note in [
        Note::Directive(prose("Prices are kept in cents")),
        note("No discounts"),
    ] {
        by_the_user(&mut conversation, Event::Noted { frame, note });
    }
    let planned = Event::FrameOpened {
        frame: FrameId::from_entropy(77),
        parent: Some(frame),
        rank: Rank::default(),
        planned: true,
        origin: Origin::Asked,
        goal: Goal {
            title: flamestack_core::Title::new("Taxes").unwrap(),
            criteria: None,
            criteria_compacted: None,
        },
    };
    by_the_user(&mut conversation, planned);
    let Delivery::Update(update) = conversation.hear(None) else {
        panic!("no update")
    };
    insta::assert_snapshot!(update, @r#"
    <stack-update from="stack" count="3">
    <directive from="user">Prices are kept in cents</directive>
    <frame id="h8neqg29" status="in_progress" by="user">
    <title>Prices</title>
    <success-criteria>They are right</success-criteria>
    <decisions by="user">No discounts</decisions>
    </frame>
    <frame id="ndaaaaaa" status="planned" by="user">
    <title>Taxes</title>
    </frame>
    </stack-update>
    "#);
    assert_eq!(conversation.hear(None), Delivery::Nothing);
}

#[test]
fn directives_given_elsewhere_are_sent_and_those_given_here_are_known() {
    let mut talk = Conversation::about("doing Shop\n  * Cart");
    talk.hear(None);
    let seq = talk.next_seq();
    let mut around = talk.around();
    around.directives.push(directive("said here", seq));
    assert_eq!(talk.hear_of(&around, None), Delivery::Nothing);
    let mut elsewhere = directive("Use <TypeScript>", seq + 1);
    elsewhere.session = another();
    around.directives.push(elsewhere);
    assert_snapshot!(text_of(talk.hear_of(&around, None)), @r#"
    update:
    <stack-update from="stack" count="1">
    <directive from="user">Use &lt;TypeScript></directive>
    </stack-update>
    "#);
}

#[test]
fn after_a_compaction_everything_is_sent_again() {
    let mut talk = Conversation::about("* Shop\n  file = a.rs");
    assert_eq!(talk.hear(None), Delivery::Header(String::new()));
    let mut around = talk.around();
    around.directives.push(directive("Never force-push", 1));
    let sent = talk.hear_of(&around, Some(HeaderReason::Compaction { count: 2 }));
    assert_snapshot!(text_of(sent), @r#"
    header:
    <stack-context session="opencode:ses_us" after="compaction" compactions="2" log="flame log f0jtny0g">
    <user-directives from="user" count="1">
    <directive>Never force-push</directive>
    </user-directives>
    <current-frame id="f0jtny0g" status="in_progress">
    <title>Shop</title>
    <artifacts>a.rs</artifacts>
    </current-frame>
    </stack-context>
    "#);
    let sent = text_of(talk.hear(Some(HeaderReason::Resume)));
    assert!(sent.contains("after=\"resume\""), "{sent}");
}

#[test]
fn a_flood_of_changes_is_cut_to_its_share() {
    let mut drawing = String::from("* Shop\n");
    for n in 0..300 {
        writeln!(drawing, "  doing Part {n}").unwrap();
    }
    let mut talk = Conversation::about(&drawing);
    talk.hear(None);
    for n in 0..300 {
        talk.happens(
            &another(),
            closed(&format!("Part {n}"), &"very long ".repeat(200)),
        );
    }
    let Delivery::Update(text) = talk.hear(None) else {
        panic!("no update");
    };
    assert!(O200k.count(&text) <= 1_000);
    let (_, update) = &read(&text)[0];
    let number = |name: &str| update[name].parse::<usize>().unwrap();
    assert_eq!(number("count") + number("omitted"), 300);
    // The newest matter most.
    assert!(text.contains("<title>Part 299</title>"));
}

/// Something that one of three parties does to one of a few frames.
fn action() -> impl Strategy<Value = (u8, u8, u8)> {
    (0u8..3, 0u8..9, 0u8..8)
}

const TITLES: [&str; 8] = ["Shop", "Cart", "Pay", "Ship", "Mail", "Logo", "Tax", "Log"];

fn event(what: u8, which: u8) -> Event {
    let title = TITLES[usize::from(which)];
    let frame = id(title);
    match what {
        0 => closed(title, "done"),
        1 => Event::FrameStarted { frame },
        2 => Event::FrameBlocked {
            frame,
            reason: prose("rain"),
            results: None,
        },
        3 => Event::FrameInvalidated {
            frame,
            reason: prose("no"),
            cascaded: Vec::new(),
        },
        4 if which > 2 => Event::FrameDeleted {
            frame,
            with: Vec::new(),
        },
        5 => Event::Noted {
            frame,
            note: Note::Decision {
                text: prose("yes"),
                why: None,
                by: Author::Agent,
            },
        },
        6 if which > 0 => planned(title, TITLES[usize::from(which) / 3]),
        7 if which < 3 => Event::SessionFocused {
            session: us(),
            from: None,
            to: Some(frame),
        },
        _ => Event::FrameUnblocked {
            frame,
            planned: false,
        },
    }
}

proptest! {
    #[test]
    fn what_was_sent_is_never_rewritten(
        story in prop::collection::vec(prop::collection::vec(action(), 0..6), 1..12),
    ) {
        let mut talk = Conversation::about(
            "doing Shop\n  * Cart\n  doing Pay\n    planned Tax\n  planned Ship",
        );
        let mut before = String::new();
        for (turn, actions) in story.iter().enumerate() {
            let mut by_others = false;
            for (who, what, which) in actions {
                let who = [us(), another(), person()][usize::from(*who)].clone();
                by_others |= who != us();
                talk.happens(&who, event(*what, *which));
            }
            let sent = talk.hear(None);
            let after = talk.text.clone();
            prop_assert!(after.starts_with(&before));
            match sent {
                Delivery::Nothing => prop_assert_eq!(&after, &before),
                Delivery::Update(update) => {
                    prop_assert!(turn > 0 && by_others);
                    Grammar::documented().check(&update);
                    prop_assert_eq!(&after, &(before + &update));
                }
                Delivery::Header(header) => {
                    prop_assert_eq!(turn, 0);
                    prop_assert_eq!(&after, &header);
                }
            }
            before = after;
        }
    }

    #[test]
    fn the_same_story_leads_to_the_same_deliveries(actions in prop::collection::vec(action(), 0..20)) {
        let tell = || {
            let mut talk = Conversation::about("doing Shop\n  * Cart\n  doing Pay");
            talk.hear(None);
            for (who, what, which) in &actions {
                let who = [us(), another(), person()][usize::from(*who)].clone();
                talk.happens(&who, event(*what, *which));
            }
            talk.hear(None)
        };
        prop_assert_eq!(tell(), tell());
    }
}

#[test]
fn a_budget_too_small_for_an_update_still_says_that_there_is_one() {
    let mut talk = Conversation::about("doing Shop\n  * Cart");
    talk.settings.budget = crate::Budget::new(256).unwrap();
    talk.hear(None);
    let long = "x".repeat(400);
    talk.happens(&another(), planned(&long, "Shop"));
    // It became a planned sibling, the next one.
    let Delivery::Update(text) = talk.hear(None) else {
        panic!("no update");
    };
    assert!(O200k.count(&text) <= 64, "{text}");
    assert!(Estimate.count(&text) > 0);
}
