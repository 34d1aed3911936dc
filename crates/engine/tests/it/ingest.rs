//! Ingest through the engine: facts and raw text of a session, each recorded once.

use flamestack_core::transcript::{Answer, Call, CallKind, Entry, EntryKind, Speaker};
use flamestack_core::{Event, Recorded};
use flamestack_engine::context::{ContextOptions, ContextTarget, Preferences};
use flamestack_engine::{Engine, IngestMode, IngestOptions};
use flamestack_store::{Reading, Slice};

use crate::ground::{Ground, actor};

fn entry(id: &str, kind: EntryKind) -> Entry {
    Entry {
        id: Some(id.to_owned()),
        message: Some(format!("msg_{id}")),
        at: None,
        agent: None,
        kind,
    }
}

fn user(id: &str, text: &str) -> Entry {
    let text = text.to_owned();
    entry(
        id,
        EntryKind::User {
            speaker: Speaker::Person,
            text,
        },
    )
}

fn assistant(id: &str, text: &str) -> Entry {
    let text = text.to_owned();
    entry(id, EntryKind::Assistant { text })
}

fn call(id: &str, path: &str) -> [Entry; 2] {
    [
        entry(
            id,
            EntryKind::Call(Call {
                id: id.to_owned(),
                tool: "write".to_owned(),
                kind: CallKind::Write,
                arguments: "{}".to_owned(),
                paths: vec![path.to_owned()],
                command: None,
            }),
        ),
        entry(
            id,
            EntryKind::Answer(Answer {
                call: id.to_owned(),
                ok: true,
                exit_code: None,
                text: "The password is hunter2, token ghp_aaaabbbbccccddddeeeeffff000011112222"
                    .to_owned(),
            }),
        ),
    ]
}

fn talk(root: &std::path::Path) -> Vec<Entry> {
    let mut entries = vec![user("p1", "Fix the login")];
    entries.extend(call("c1", &root.join("src/login.rs").to_string_lossy()));
    entries.push(assistant("a1", "The cookie had the wrong path."));
    entries.push(entry("t1", EntryKind::TurnEnded));
    entries.push(user("p2", "And the logout"));
    entries.extend(call("c2", "src/logout.rs"));
    entries.push(assistant("a2", "Done too."));
    entries.push(entry("t2", EntryKind::TurnEnded));
    entries
}

fn events(engine: &Engine) -> usize {
    engine
        .read(|reading| Ok(reading.events_after(flamestack_core::id::Seq(0), usize::MAX)?))
        .unwrap()
        .len()
}

/// A host may send thousands of messages at once; writers of other sessions do not wait for all of them.
#[test]
fn a_long_list_of_messages_is_recorded_in_parts() {
    let ground = Ground::new();
    let engine = &ground.engine;
    let who = actor("opencode:ses_1");
    let prompts = 1_000;
    let entries: Vec<Entry> = (0..prompts)
        .map(|n| user(&format!("p{n}"), &format!("Fix part {n} of the parser")))
        .collect();
    let recorded = engine.ingest(&who, &entries).unwrap();
    let mut prompted = std::collections::BTreeMap::<_, usize>::new();
    for entry in &recorded {
        let is_prompt = matches!(entry.event, Event::SessionPrompted { .. });
        *prompted.entry(entry.batch).or_default() += usize::from(is_prompt);
    }
    assert_eq!(prompted.values().sum::<usize>(), prompts);
    assert!(prompted.values().all(|count| *count <= 400), "{prompted:?}");

    let once = events(engine);
    engine.ingest(&who, &entries).unwrap();
    assert_eq!(events(engine), once);
    assert!(engine.maintenance().examine(&mut |_, _| ()).is_healthy());
    // Nothing followed these prompts: their titles say everything.
    let is_edit = |entry: &&Recorded| matches!(entry.event, Event::FrameEdited { .. });
    assert_eq!(recorded.iter().filter(is_edit).count(), 0);
}

#[test]
fn a_session_is_recorded_once_however_it_is_cut() {
    let ground = Ground::new();
    let engine = &ground.engine;
    let who = actor("opencode:ses_1");
    let entries = talk(&engine.project().root);
    for entry in &entries {
        engine.ingest(&who, std::slice::from_ref(entry)).unwrap();
    }
    let once = events(engine);
    engine.ingest(&who, &entries).unwrap();
    engine.settle(&who).unwrap();
    let past = IngestOptions {
        mode: IngestMode::Past,
        ..IngestOptions::default()
    };
    engine.ingest_with(&who, &past, &entries).unwrap();
    assert_eq!(events(engine), once);
    assert!(engine.maintenance().examine(&mut |_, _| ()).is_healthy());

    let (own, children) = engine
        .read(|reading: &dyn Reading| {
            let roots = reading.rows(&Slice::default())?;
            let own = roots[0].frame.id;
            let below = reading.rows(&Slice {
                parent: Some(own),
                ..Slice::default()
            })?;
            Ok((own, below))
        })
        .unwrap();
    let titles: Vec<String> = children
        .iter()
        .map(|row| format!("{} {}", row.frame.status, row.frame.title))
        .collect();
    assert_eq!(
        titles,
        ["completed Fix the login", "in progress And the logout"]
    );
    // The first turn's text is kept with the session, the second's with its prompt.
    let first = engine.logs().raw_text(&own, 1).unwrap();
    insta::assert_snapshot!(first, @"
    ### User

    Fix the login

    ### write

    ```
    {}
    ```

    ### Answer

    ```
    The password is hunter2, token [redacted:github-token]
    ```

    ### Assistant

    The cookie had the wrong path.
    ");
    let second = engine.logs().raw_text(&children[1].frame.id, 1).unwrap();
    assert!(second.contains("Done too."), "{second}");
    let found = engine
        .recall()
        .search(
            "cookie wrong path",
            5,
            flamestack_engine::recall::Patience::Request,
            &mut |_, _| (),
        )
        .unwrap();
    assert!(!found.searched.hits.is_empty());
    let frame = engine
        .read(|reading| Ok(reading.whole_frame(&own)?))
        .unwrap()
        .unwrap();
    let artifacts: Vec<_> = frame
        .notes
        .iter()
        .map(|note| note.text().as_str())
        .collect();
    assert_eq!(
        artifacts,
        ["Fix the login", "src/login.rs", "And the logout"]
    );
}

#[test]
fn text_before_a_push_stays_with_the_frame_before_it() {
    let ground = Ground::new();
    let engine = &ground.engine;
    let who = actor("opencode:ses_1");
    engine
        .ingest(&who, &[user("p1", "Build the shop")])
        .unwrap();
    let push = flamestack_engine::Request::Push {
        parent: flamestack_engine::ParentInput::Active,
        goal: flamestack_engine::request::GoalInput::titled("The cart"),
    };
    let pushed = engine.commands().execute(&who, &push).unwrap();
    let cart = *pushed.opened().unwrap();
    engine
        .ingest(&who, &[assistant("a1", "The cart is empty.")])
        .unwrap();
    engine
        .ingest(&who, &[entry("t1", EntryKind::TurnEnded)])
        .unwrap();
    assert!(
        engine
            .logs()
            .raw_text(&cart, 1)
            .unwrap()
            .contains("The cart is empty.")
    );
    let own = engine.frame_named("opencode:ses_1").unwrap();
    assert!(
        engine
            .logs()
            .raw_text(&own, 1)
            .unwrap()
            .contains("Build the shop")
    );
}

fn frame_named(engine: &Engine, title: &str) -> flamestack_core::Frame {
    let found = engine.read(|reading: &dyn Reading| {
        let mut open: Vec<_> = reading.rows(&Slice::default())?;
        while let Some(row) = open.pop() {
            if row.frame.title.as_str() == title {
                return Ok(reading.whole_frame(&row.frame.id)?);
            }
            open.extend(reading.rows(&Slice {
                parent: Some(row.frame.id),
                ..Slice::default()
            })?);
        }
        Ok(None)
    });
    found.unwrap().unwrap()
}

fn inside(agent: &str, mut entries: Vec<Entry>) -> Vec<Entry> {
    for entry in &mut entries {
        entry.agent = Some(agent.to_owned());
    }
    entries
}

/// A subagent that changes a file and returns some words.
fn delegated(id: &str, words: &str) -> Vec<Entry> {
    let mut entries = vec![entry(
        &format!("start_{id}"),
        EntryKind::SubagentStarted {
            id: id.to_owned(),
            call: None,
            kind: None,
            title: format!("Task {id}"),
            prompt: "Find out why the cookie is lost".to_owned(),
        },
    )];
    entries.extend(inside(
        id,
        call(&format!("c_{id}"), "src/cookie_jar.rs").into(),
    ));
    entries.push(entry(
        &format!("end_{id}"),
        EntryKind::SubagentEnded {
            id: id.to_owned(),
            ok: true,
            text: words.to_owned(),
        },
    ));
    entries
}

#[test]
fn a_frame_without_last_words_is_summarised_from_its_log() {
    let ground = Ground::new();
    let engine = &ground.engine;
    let who = actor("opencode:ses_1");
    engine.ingest(&who, &[user("p1", "Fix the login")]).unwrap();
    engine.ingest(&who, &delegated("one", "")).unwrap();
    let wordless = frame_named(engine, "Task one");
    insta::assert_snapshot!(wordless.results.unwrap().as_str(), @r"
    Ended without a word.
    Files changed: src/cookie_jar.rs
    ");
    assert!(engine.maintenance().examine(&mut |_, _| ()).is_healthy());
}

#[test]
fn long_results_have_a_dense_form_that_knows_the_names() {
    let ground = Ground::new();
    let engine = &ground.engine;
    let who = actor("opencode:ses_1");
    engine.ingest(&who, &[user("p1", "Fix the login")]).unwrap();
    let long = format!(
        "The cookie was lost. {}",
        "And so on and so forth. ".repeat(100)
    );
    engine.ingest(&who, &delegated("two", &long)).unwrap();
    let frame = frame_named(engine, "Task two");
    assert_eq!(frame.results.as_ref().unwrap().as_str(), long.trim());
    let dense = frame.results_compacted.unwrap();
    assert!(dense.as_str().starts_with("The cookie was lost."));
    assert!(dense.as_str().contains("src/cookie_jar.rs"), "{dense}");
    assert!(dense.as_str().len() <= 4 * flamestack_engine::summaries::DENSE_TOKENS);
    // Short results are dense enough.
    engine
        .ingest(&who, &delegated("three", "It works."))
        .unwrap();
    assert_eq!(frame_named(engine, "Task three").results_compacted, None);
}

#[test]
fn long_results_of_a_pop_have_one_too_and_undo_reverts_both() {
    let ground = Ground::new();
    let engine = &ground.engine;
    let who = actor("opencode:ses_1");
    ground.push("opencode:ses_1", "Cookies");
    engine
        .ingest(&who, &call("c1", "src/cookie_jar.rs"))
        .unwrap();
    ground.pop("opencode:ses_1", &"The cookie was lost. ".repeat(100));
    let dense = frame_named(engine, "Cookies").results_compacted.unwrap();
    assert!(dense.as_str().contains("src/cookie_jar.rs"), "{dense}");
    engine
        .commands()
        .execute(&who, &flamestack_engine::Request::Undo)
        .unwrap();
    assert_eq!(frame_named(engine, "Cookies").results_compacted, None);
}

#[test]
fn settings_control_what_parents_and_subagents_see_of_each_other() {
    let ground = Ground::new();
    let who = actor("opencode:ses_1");
    let began = [user("p1", "Fix the login")];
    ground.engine.ingest(&who, &began).unwrap();
    let delegated = delegated("one", "The jar was full.");
    ground.engine.ingest(&who, &delegated).unwrap();
    let shown = |preferences: Preferences, title: &str| {
        let engine = ground.elsewhere().with_contexts(preferences);
        let whose = ContextTarget::Frame(frame_named(&engine, title).id);
        let context = engine
            .contexts()
            .context(&whose, &ContextOptions::default())
            .unwrap();
        context.map_or_else(String::new, |context| context.text.clone())
    };
    let usual = Preferences::default();
    assert!(shown(usual.clone(), "Fix the login").contains("The jar was full."));
    assert!(shown(usual.clone(), "Task one").contains("<ancestors"));
    let results_kept_back = Preferences {
        subagents_results: false,
        ..usual.clone()
    };
    let parent = shown(results_kept_back, "Fix the login");
    assert!(!parent.contains("The jar was full."), "{parent}");
    let parents_kept_back = Preferences {
        parents_for_subagents: false,
        ..usual
    };
    let child = shown(parents_kept_back, "Task one");
    assert!(!child.contains("<ancestors"), "{child}");
    assert!(child.contains("Task one"), "{child}");
}
