//! Contexts of sessions.

use std::cell::Cell;

use flamestack_context::{
    ContextSettings, SectionKind, SiblingPosition, Subagent, Surroundings, assemble,
};
use flamestack_core::id::Timestamp;
use flamestack_core::{FrameId, Status, decide};
use flamestack_engine::context::{ContextOptions, ContextTarget, surroundings};
use flamestack_extract::tokens::{Estimate, Tokenizer};
use flamestack_store::{OpenOptions, SqliteStore, Store};
use flamestack_testkit::{ArbitraryCommand, Tree, arbitrary_commands};
use flamestack_tokens::O200k;
use proptest::prelude::*;
use serde_json::json;

use crate::ground::{Ground, session};

#[path = "../../../context/src/tests/reference.rs"]
mod reference;

const ME: &str = "opencode:me";

fn shown(ground: &Ground, whose: &ContextTarget) -> String {
    let context = ground
        .engine
        .contexts()
        .context(whose, &ContextOptions::default())
        .unwrap();
    context.map_or_else(String::new, |context| context.text.clone())
}

fn mine() -> ContextTarget {
    ContextTarget::Session(session(ME))
}

#[test]
fn a_session_is_shown_its_path_its_results_and_what_the_user_said() {
    let ground = Ground::new();
    ground.push(ME, "Ship the login");
    ground.say(ME, "hands off the billing tables");
    ground.push(ME, "Verify tokens");
    ground.pop(ME, "Tokens are verified in src/auth/jwt.rs");
    ground.push(ME, "Write the docs");
    let text = shown(&ground, &mine());
    for part in [
        "Ship the login",
        "src/auth/jwt.rs",
        "<directive>hands off the billing tables</directive>",
        "<title>Write the docs</title>",
        "session=\"opencode:me\"",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}

#[test]
fn a_session_without_a_frame_has_no_context() {
    let ground = Ground::new();
    assert_eq!(shown(&ground, &mine()), "");
    ground.push("opencode:other", "Another session's work");
    assert_eq!(shown(&ground, &mine()), "");
}

#[test]
fn what_the_user_said_above_is_said_below() {
    let ground = Ground::new();
    ground.push("shell:main", "Ship the login");
    ground.say("shell:main", "hands off the <billing> tables");
    ground.push("shell:main", "Verify tokens");
    let text = shown(&ground, &ContextTarget::Session(session("shell:main")));
    let said = "<directive>hands off the &lt;billing> tables</directive>";
    assert!(text.contains(said), "{text}");
}

#[test]
fn a_context_is_served_from_memory_until_a_process_writes() {
    let ground = Ground::new();
    ground.push(ME, "Ship the login");
    let first = shown(&ground, &mine());
    for _ in 0..3 {
        assert_eq!(shown(&ground, &mine()), first);
    }
    let counters = ground.engine.contexts().counters();
    assert_eq!((counters.hits, counters.misses), (3, 1));
    // This process writes.
    ground.push(ME, "Verify tokens");
    assert_ne!(shown(&ground, &mine()), first);
    // Another process writes.
    let elsewhere = ground.elsewhere();
    let before = shown(&ground, &mine());
    let request = flamestack_engine::Request::Note {
        frame: None,
        note: flamestack_engine::request::NoteInput::Decision("RS256".to_owned(), None),
    };
    elsewhere
        .commands()
        .execute(&crate::ground::actor(ME), &request)
        .unwrap();
    let after = shown(&ground, &mine());
    assert_ne!(after, before);
    assert!(after.contains("RS256"));
    // And both processes show the same.
    let there = elsewhere
        .contexts()
        .context(&mine(), &ContextOptions::default())
        .unwrap();
    assert_eq!(there.unwrap().text, after);
}

#[test]
fn a_budget_is_kept_by_the_real_tokenizer() {
    let ground = Ground::new();
    ground.push(ME, "Ship the login");
    for n in 0..40 {
        ground.push(ME, &format!("Part {n} of src/auth/part_{n}.rs"));
        ground.pop(ME, &format!("Part {n} works. ").repeat(60));
    }
    ground.push(ME, "The last part");
    for total in [256, 300, 512, 1_000, 4_000, 32_000] {
        let wanted = ContextOptions {
            budget: Some(total),
            ..ContextOptions::default()
        };
        let context = ground
            .engine
            .contexts()
            .context(&mine(), &wanted)
            .unwrap()
            .unwrap();
        assert!(O200k.count(&context.text) <= total, "{total}");
        assert_eq!(O200k.count(&context.text), context.tokens);
    }
    let refused = ground.engine.contexts().context(
        &mine(),
        &ContextOptions {
            budget: Some(255),
            ..ContextOptions::default()
        },
    );
    assert!(refused.is_err());
}

#[test]
fn tools_tell_about_the_context_and_forget_it() {
    let ground = Ground::new();
    let nothing = ground.tool(ME, "stack_context_info", json!({}));
    assert!(nothing.contains("no context"), "{nothing}");
    ground.push(ME, "Ship the login");
    let text = shown(&ground, &mine());
    let info = ground.tool(ME, "stack_context_info", json!({}));
    assert!(info.contains("tokens by o200k"), "{info}");
    assert!(info.contains("1 cached, 1 hit, 1 miss"), "{info}");
    let preview = ground.tool(ME, "stack_context_preview", json!({ "maxLength": 40 }));
    let beginning: String = text.chars().take(40).collect();
    assert!(preview.starts_with(&beginning), "{preview}");
    assert!(preview.contains("more characters"), "{preview}");
    let whole = ground.tool(ME, "stack_context_preview", json!({}));
    assert_eq!(whole, text);
    let other = json!({ "sessionID": "opencode:other" });
    let none = ground.tool(ME, "stack_cache_clear", other);
    assert!(none.contains("0 contexts"), "{none}");
    let one = ground.tool(ME, "stack_cache_clear", json!({ "sessionID": "me" }));
    assert!(one.contains("1 context "), "{one}");
    assert_eq!(ground.engine.contexts().counters().entries, 0);
}

#[test]
fn a_small_window_gets_a_small_context() {
    let ground = Ground::new();
    ground.push(ME, "Ship the login");
    let wanted = ContextOptions {
        usable_window: Some(32_000),
        ..ContextOptions::default()
    };
    let context = ground
        .engine
        .contexts()
        .context(&mine(), &wanted)
        .unwrap()
        .unwrap();
    assert_eq!(context.budget.total(), 640);
}

#[test]
fn the_window_of_the_recorded_model_counts() {
    let ground = Ground::new();
    ground.push(ME, "Ship the login");
    let total = || {
        let context = ground
            .engine
            .contexts()
            .context(&mine(), &ContextOptions::default())
            .unwrap();
        context.unwrap().budget.total()
    };
    assert_eq!(total(), 4_000);
    ground.model(ME, "tiny", Some(32_000));
    assert_eq!(total(), 640);
    // What another session talks to, or what was wanted, is another matter.
    ground.model("opencode:other", "large", Some(1_000_000));
    assert_eq!(total(), 640);
    let wanted = ContextOptions {
        usable_window: Some(64_000),
        ..ContextOptions::default()
    };
    let context = ground
        .engine
        .contexts()
        .context(&mine(), &wanted)
        .unwrap()
        .unwrap();
    assert_eq!(context.budget.total(), 1_280);
    // The same model again is not news.
    let again = ground.model(ME, "tiny", Some(32_000));
    assert!(again.events.is_empty());
    ground.model(ME, "unknown", None);
    assert_eq!(total(), 4_000);
}

#[test]
fn the_root_is_there_however_deep_the_work_is() {
    let ground = Ground::new();
    ground.push(ME, "The mission");
    for level in 1..=80 {
        ground.push(ME, &format!("Level {level}"));
    }
    let context = ground
        .engine
        .contexts()
        .context(&mine(), &ContextOptions::default());
    let context = context.unwrap().unwrap();
    let text = &context.text;
    assert!(text.contains("<title>The mission</title>"), "{text}");
    assert!(text.contains("<title>Level 79</title>"), "{text}");
    let mut ancestors = context.sections.iter();
    let ancestors = ancestors.find(|section| section.kind == SectionKind::Ancestors);
    let ancestors = ancestors.unwrap();
    let omitted: usize = ancestors.omitted.iter().map(|some| some.count).sum();
    assert_eq!(ancestors.shown + omitted, 80);
}

/// Plays commands on a store and on a tree in memory.
fn play(store: &mut SqliteStore, tree: &mut Tree, commands: &[ArbitraryCommand]) {
    let mut known: Vec<FrameId> = Vec::new();
    let drawn = Cell::new(0_u64);
    for (step, arbitrary) in (1..).zip(commands) {
        let mut fresh = || {
            drawn.set(drawn.get() + 1);
            FrameId::from_entropy(drawn.get().wrapping_mul(0x9e37_79b9_7f4a_7c15))
        };
        let command = arbitrary.command(&known, &mut fresh);
        let actor = arbitrary.actor();
        let committed = store.commit(Timestamp(step), &actor, &mut |reading| {
            decide(reading, &actor, &command)
        });
        for recorded in committed.into_iter().flat_map(|done| done.events) {
            for frame in recorded.event.frames() {
                if !known.contains(&frame) {
                    known.push(frame);
                }
            }
            tree.apply(recorded);
        }
    }
}

/// Gathers the surroundings of a frame from a tree in memory, with the subagents below it.
fn in_memory(tree: &Tree, frame: &FrameId) -> Surroundings {
    let mut around = reference::in_tree(tree, frame).unwrap();
    let begun = tree.children(Some(frame));
    let begun = begun.filter(|it| matches!(it.status, Status::InProgress | Status::Blocked));
    for child in begun {
        if let Some(session) = &child.session {
            let run = tree.runs().find(|run| run.session == *session);
            if run.is_some_and(|run| !run.state.is_in_flight()) {
                continue;
            }
            around.subagents.push(Subagent {
                session: session.clone(),
                title: child.title.clone(),
                frame: Some(child.id),
                seen: child.changed,
                state_and_start: run.map(|run| (run.state, run.started)),
            });
        }
    }
    around
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// The answers of the store's indexes make the same context as the whole tree.
    #[test]
    fn store_and_tree_make_the_same_context(commands in arbitrary_commands(80), total in 256usize..2_000) {
        let dir = tempfile::tempdir().unwrap();
        let mut store = OpenOptions::default().open(dir.path()).unwrap();
        let mut tree = Tree::default();
        play(&mut store, &mut tree, &commands);
        let settings = ContextSettings {
            budget: flamestack_context::Budget::new(total).unwrap(),
            ..ContextSettings::default()
        };
        for frame in tree.frames().keys() {
            let mut stored = None;
            store
                .read(&mut |reading| {
                    stored = surroundings(reading, frame, None, None).ok();
                    Ok(())
                })
                .unwrap();
            let stored = assemble(&stored.unwrap(), &settings, &Estimate);
            let expected = assemble(&in_memory(&tree, frame), &settings, &Estimate);
            prop_assert_eq!(stored.text, expected.text);
            prop_assert_eq!(stored.sections, expected.sections);
        }
    }
}
