//! Deliveries to sessions, message by message, and their record.

use flamestack_core::delivery::{Delivery, HeaderReason};
use flamestack_core::id::Seq;
use flamestack_engine::context::{ContextOptions, ContextTarget};
use flamestack_engine::request::NoteInput;
use flamestack_engine::{Engine, Request};

use crate::ground::{Ground, actor, deliver, session};

const ME: &str = "opencode:me";
const OTHER: &str = "opencode:other";

fn decide_elsewhere(engine: &Engine, frame: &str, text: &str) {
    let request = Request::Note {
        frame: Some(frame.to_owned()),
        note: NoteInput::Decision(text.to_owned(), None),
    };
    engine.commands().execute(&actor(OTHER), &request).unwrap();
}

/// The frame that a session works on.
fn active(ground: &Ground) -> String {
    let known = ground.engine.session(&session(ME));
    known.unwrap().unwrap().active.unwrap().to_string()
}

fn last(engine: &Engine) -> Seq {
    engine.read(|reading| Ok(reading.position()?)).unwrap()
}

fn as_sent(engine: &Engine) -> String {
    engine
        .contexts()
        .sent(&session(ME))
        .unwrap()
        .unwrap()
        .text()
}

fn text(delivery: Delivery) -> String {
    match delivery {
        Delivery::Nothing => String::new(),
        Delivery::Update(text) | Delivery::Header(text) => text,
    }
}

#[test]
fn what_others_do_is_added_behind_what_was_sent() {
    let ground = Ground::new();
    ground.push(ME, "Ship the login");
    let root = active(&ground);
    let header = ground.deliver(ME, None, None);
    let context = ground
        .engine
        .contexts()
        .context(
            &ContextTarget::Session(session(ME)),
            &ContextOptions::default(),
        )
        .unwrap();
    assert_eq!(header, Delivery::Header(context.unwrap().text.clone()));
    // What a session does itself, it knows from its own calls.
    ground.push(ME, "Verify tokens");
    assert_eq!(ground.deliver(ME, None, None), Delivery::Nothing);
    // The work of another session follows as an update.
    decide_elsewhere(&ground.engine, &root, "RS256");
    let update = ground.deliver(ME, None, None);
    assert!(
        matches!(&update, Delivery::Update(text) if text.contains("RS256")),
        "{update:?}"
    );
    assert_eq!(ground.deliver(ME, None, None), Delivery::Nothing);
    assert_eq!(as_sent(&ground.engine), text(header) + &text(update));
    // An undo follows as another update.
    let before = as_sent(&ground.engine);
    let undo = Request::Undo;
    ground
        .engine
        .commands()
        .execute(&actor(OTHER), &undo)
        .unwrap();
    let undone = text(ground.deliver(ME, None, None));
    assert_eq!(as_sent(&ground.engine), before + &undone);
}

#[test]
fn another_process_goes_on_where_one_ended() {
    let ground = Ground::new();
    ground.push(ME, "Ship the login");
    let root = active(&ground);
    let header = text(ground.deliver(ME, Some("m1"), None));
    let elsewhere = ground.elsewhere();
    // The same message, asked about by a process that knows nothing.
    let again = deliver(&elsewhere, ME, Some("m1"), None);
    assert_eq!(again, Delivery::Header(header.clone()));
    assert_eq!(deliver(&elsewhere, ME, Some("m2"), None), Delivery::Nothing);
    decide_elsewhere(&ground.engine, &root, "RS256");
    let update = text(deliver(&elsewhere, ME, Some("m3"), None));
    assert_eq!(
        ground.deliver(ME, Some("m3"), None),
        Delivery::Update(update.clone())
    );
    let sent = ground
        .engine
        .contexts()
        .sent(&session(ME))
        .unwrap()
        .unwrap();
    assert_eq!(sent.header.message.as_deref(), Some("m1"));
    let messages: Vec<_> = sent.updates.iter().map(|update| &update.message).collect();
    assert_eq!(messages, [&Some("m3".to_owned())]);
    assert_eq!(sent.text(), header + &update);
}

#[test]
fn a_message_gets_the_same_bytes_however_often_it_is_asked_about() {
    let ground = Ground::new();
    ground.push(ME, "Ship the login");
    let root = active(&ground);
    ground.deliver(ME, Some("m1"), None);
    assert_eq!(ground.deliver(ME, Some("m2"), None), Delivery::Nothing);
    // A decision of another session in the middle of a turn goes with the next message.
    decide_elsewhere(&ground.engine, &root, "RS256");
    let position = last(&ground.engine);
    for _ in 0..3 {
        assert_eq!(ground.deliver(ME, Some("m2"), None), Delivery::Nothing);
    }
    assert_eq!(last(&ground.engine), position);
    let update = ground.deliver(ME, Some("m3"), None);
    assert!(matches!(update, Delivery::Update(_)));
    decide_elsewhere(&ground.engine, &root, "ES256");
    assert_eq!(ground.deliver(ME, Some("m3"), None), update);
    // Older ones too, until the next header.
    assert_eq!(ground.deliver(ME, Some("m2"), None), Delivery::Nothing);
}

#[test]
fn after_a_compaction_or_a_resume_there_is_a_new_header_once() {
    let ground = Ground::new();
    ground.push(ME, "Ship the login");
    ground.deliver(ME, Some("m1"), None);
    let second = Some(HeaderReason::Compaction { count: 2 });
    let header = text(ground.deliver(ME, None, second));
    assert!(header.contains("compactions=\"2\""), "{header}");
    ground.push(ME, "Verify tokens");
    for message in [None, Some("m2")] {
        let again = ground.deliver(ME, message, second);
        assert_eq!(again, Delivery::Header(header.clone()));
    }
    assert_eq!(ground.deliver(ME, Some("m2"), None), Delivery::Nothing);
    assert_eq!(as_sent(&ground.engine), header);
    let resumed = text(ground.deliver(ME, Some("m3"), Some(HeaderReason::Resume)));
    assert!(resumed.contains("Verify tokens"), "{resumed}");
    // The steps of the same turn.
    for after in [None, Some(HeaderReason::Resume)] {
        let again = ground.deliver(ME, Some("m3"), after);
        assert_eq!(again, Delivery::Header(resumed.clone()));
    }
    assert_eq!(as_sent(&ground.engine), resumed);
}

#[test]
fn a_header_of_nothing_is_frozen_too() {
    let ground = Ground::new();
    let nothing = Delivery::Header(String::new());
    // No store, no message, nothing to remember.
    assert_eq!(ground.deliver(ME, None, None), nothing);
    assert_eq!(ground.engine.contexts().sent(&session(ME)).unwrap(), None);
    assert_eq!(ground.deliver(ME, Some("m0"), None), nothing);
    assert_eq!(as_sent(&ground.engine), "");
    ground.push(OTHER, "Another session's work");
    assert_eq!(ground.deliver(ME, Some("m1"), None), Delivery::Nothing);
    ground.push(ME, "Ship the login");
    assert_eq!(ground.deliver(ME, Some("m2"), None), Delivery::Nothing);
    decide_elsewhere(&ground.engine, &active(&ground), "RS256");
    let update = ground.deliver(ME, Some("m3"), None);
    assert!(matches!(update, Delivery::Update(_)));
}

#[test]
fn what_is_sent_is_what_the_context_says_to_the_byte() {
    // Ids of hosts look random, and stand in attributes; that makes no secrets of them.
    for me in [
        "opencode:ses_5f2a8e0c4ffeX9kq2LmN0pQrSt",
        "claude-code:0f8fad5b-d9cb-469f-a165-70867728950e",
        "codex:0199a213-81c0-7800-8aa1-bbab2a035a53",
    ] {
        let ground = Ground::new();
        ground.push(me, "Rotate the API key of <billing>");
        ground.say(me, "The password is in the vault & stays there");
        ground.push(me, "Read token=… from ~/.config/shop/token.json");
        let context = ground
            .engine
            .contexts()
            .context(
                &ContextTarget::Session(session(me)),
                &ContextOptions::default(),
            )
            .unwrap()
            .unwrap();
        let header = ground.deliver(me, Some("msg_a0ead7f2e001KQ0n5nE1tL9s3X"), None);
        assert_eq!(header, Delivery::Header(context.text.clone()));
    }
}

#[test]
fn undo_looks_past_what_was_sent_and_which_model_answers() {
    let ground = Ground::new();
    ground.push(ME, "Ship the login");
    let root = active(&ground);
    ground.push(ME, "Verify tokens");
    ground.deliver(ME, Some("m1"), None);
    ground.model(ME, "large", Some(200_000));
    let undo = Request::Undo;
    ground.engine.commands().execute(&actor(ME), &undo).unwrap();
    assert_eq!(active(&ground), root);
    // What it did itself it knows; what was sent stays sent.
    assert_eq!(ground.deliver(ME, Some("m2"), None), Delivery::Nothing);
    assert!(as_sent(&ground.engine).contains("Verify tokens"));
}

#[test]
fn a_long_silence_is_noted_once() {
    let ground = Ground::new();
    ground.push(ME, "Ship the login");
    ground.deliver(ME, None, None);
    for n in 0..250 {
        ground.push(OTHER, &format!("Far away {n}"));
        ground.pop(OTHER, "done");
    }
    let before = last(&ground.engine);
    assert_eq!(ground.deliver(ME, None, None), Delivery::Nothing);
    assert_eq!(last(&ground.engine), Seq(before.0 + 1));
    assert_eq!(ground.deliver(ME, None, None), Delivery::Nothing);
    assert_eq!(last(&ground.engine), Seq(before.0 + 1));
}
