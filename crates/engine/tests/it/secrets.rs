//! Secrets of every kind, through every channel: no part of one is kept.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;

use flamestack_core::id::{BlobId, Seq};
use flamestack_core::transcript::{
    Answer, Call, CallKind, Entry, EntryKind, Speaker, Todo, TodoStatus,
};
use flamestack_engine::recall::Patience;
use flamestack_engine::{Engine, IngestMode, IngestOptions};
use flamestack_testkit::secrets::{Dice, Leak, leaks};
use serde_json::json;

use crate::ground::{Ground, actor};

/// Number of bytes of a secret that are too many.
const PART: usize = 10;

/// Everything that the engine keeps, as text: the journal, raw text, the index and every other file.
fn everything(engine: &Engine) -> String {
    let recall = engine.recall();
    recall
        .search("the id", 5, Patience::Unlimited, &mut |_, _| ())
        .unwrap();
    let mut all = String::new();
    let events = engine.read(|reading| Ok(reading.events_after(Seq(0), usize::MAX)?));
    for recorded in events.unwrap() {
        writeln!(all, "{:?}", recorded.event).unwrap();
    }
    let blobs = engine.blobs();
    for name in blobs.stored_sizes().unwrap().into_keys() {
        let id = BlobId::from_hex(&name).unwrap();
        all.push_str(&blobs.get(&id).unwrap().unwrap());
    }
    for file in fs_err::read_dir(&engine.project().dir).unwrap() {
        let path = file.unwrap().path();
        if path.is_file() {
            all.push_str(&String::from_utf8_lossy(&fs_err::read(path).unwrap()));
        }
    }
    all
}

/// Returns the kinds of which a part is in `all`.
fn kept<'l>(leaks: &'l [Leak], all: &str) -> BTreeSet<&'l str> {
    let mut parts: HashMap<&[u8], &str> = HashMap::new();
    for leak in leaks {
        for secret in &leak.secrets {
            let windows = secret.as_bytes().windows(PART);
            parts.extend(windows.map(|part| (part, leak.kind.as_str())));
        }
    }
    let windows = all.as_bytes().windows(PART);
    windows
        .filter_map(|part| parts.get(part).copied())
        .collect()
}

/// Makes the entry that carries a text through a channel; the number keeps entries apart.
type Carry = fn(String, usize) -> EntryKind;

/// The channels of a transcript.
fn channels() -> Vec<(&'static str, Carry)> {
    vec![
        ("prompt", |text, _| EntryKind::User {
            speaker: Speaker::Person,
            text,
        }),
        ("model's words", |text, _| EntryKind::Assistant { text }),
        ("reasoning", |text, _| EntryKind::Thinking { text }),
        ("session title", |title, _| EntryKind::Titled { title }),
        ("plan", |text, _| EntryKind::Plan { text }),
        ("subagent", |text, number| EntryKind::SubagentStarted {
            id: format!("s{number}"),
            call: None,
            kind: Some("explore".to_owned()),
            title: text.clone(),
            prompt: text,
        }),
        ("subagent's words", |text, number| {
            EntryKind::SubagentEnded {
                id: format!("s{number}"),
                ok: true,
                text,
            }
        }),
        ("to-do", |text, _| {
            EntryKind::Todos(vec![Todo {
                text,
                status: TodoStatus::Pending,
            }])
        }),
        ("attachment", |text, _| EntryKind::Attached {
            paths: Vec::new(),
            text,
        }),
        ("host's summary", |text, _| EntryKind::Compacted {
            automatic: true,
            summary: Some(text),
            tokens_before: None,
        }),
        ("interruption", |how, _| EntryKind::Interrupted { how }),
        ("error", |why, _| EntryKind::Failed { why }),
        ("wait", |on, _| EntryKind::Waiting { on: Some(on) }),
        ("tool input", |text, number| {
            EntryKind::Call(Call {
                id: format!("c{number}"),
                tool: "bash".to_owned(),
                kind: CallKind::Execute,
                arguments: json!({ "command": text }).to_string(),
                paths: Vec::new(),
                command: Some(text),
            })
        }),
        ("tool output", |text, number| {
            EntryKind::Answer(Answer {
                call: format!("c{number}"),
                ok: number % 2 == 0,
                exit_code: Some(i32::from(number % 2 == 1)),
                text,
            })
        }),
    ]
}

#[test]
fn no_part_of_a_secret_of_any_kind_is_kept_from_any_channel() {
    let leaks = leaks(&mut Dice(7));
    let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (place, (channel, kind)) in channels().into_iter().enumerate() {
        let ground = Ground::new();
        let past = IngestOptions {
            mode: IngestMode::Past,
            ..IngestOptions::default()
        };
        let mut entries = Vec::new();
        // Each channel gets a third of them, and each kind goes through five channels.
        let mine = leaks
            .iter()
            .enumerate()
            .filter(|(number, _)| number % 3 == place % 3);
        for (number, leak) in mine {
            // At the beginning, or where a title would be cut in its middle.
            let before = "see the notes of Tuesday, then ".repeat(number % 2 * 2);
            let text = format!("{before}{}", leak.text);
            if channel == "tool output" {
                let call = channels()
                    .into_iter()
                    .find(|(name, _)| *name == "tool input");
                entries.push(Entry::from(call.unwrap().1("make".to_owned(), number)));
            }
            entries.push(Entry {
                id: Some(format!("title: {text}")).filter(|_| number % 2 == 0),
                ..Entry::from(kind(text, number))
            });
            entries.push(Entry::from(EntryKind::TurnEnded));
        }
        for some in entries.chunks(1000) {
            ground
                .engine
                .ingest_with(&actor("oc:s"), &past, some)
                .unwrap();
        }
        ground.engine.settle(&actor("oc:s")).unwrap();
        found.insert(channel, kept(&leaks, &everything(&ground.engine)));
    }
    found.insert("commands and tools", by_hand(&leaks));
    for (channel, kinds) in &found {
        println!(
            "{channel:20} {:4} of {:4} kept out",
            leaks.len() - kinds.len(),
            leaks.len()
        );
    }
    found.retain(|_, kinds| !kinds.is_empty());
    assert!(found.is_empty(), "{found:#?}");
}

/// Records every secret as title, criteria, note, results and log of a frame.
fn by_hand(leaks: &[Leak]) -> BTreeSet<&str> {
    let ground = Ground::new();
    for leak in leaks.iter().step_by(3) {
        let text = &leak.text;
        let title: String = text.chars().take(400).collect();
        ground.tool(
            "oc:s",
            "stack_frame_push",
            json!({ "title": "Use it", "successCriteria": text, "successCriteriaCompacted": text }),
        );
        ground.tool("oc:s", "stack_add_decision", json!({ "decision": text }));
        if title == *text {
            ground.tool(
                "oc:s",
                "stack_frame_push",
                json!({ "title": text, "successCriteria": "x" }),
            );
            ground.tool(
                "oc:s",
                "stack_frame_pop",
                json!({ "status": "completed", "results": "x" }),
            );
        }
        ground.say("oc:s", text);
        let logs = ground.engine.logs();
        logs.append(&actor("oc:s"), None, "output", text, None)
            .unwrap();
        ground.tool(
            "oc:s",
            "stack_frame_pop",
            json!({ "status": "completed", "results": text, "resultsCompacted": text }),
        );
    }
    kept(leaks, &everything(&ground.engine))
}
