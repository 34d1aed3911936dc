//! Search and recall: bounded whatever was recorded and asked for, and nothing is out of reach.

use flamestack_core::transcript::{Answer, Call, CallKind, Entry, EntryKind, Speaker};
use flamestack_engine::recall::{Patience, SearchResults};
use flamestack_engine::{EngineError, Request};
use serde_json::json;

use crate::ground::{Ground, actor};

const ME: &str = "opencode:me";

impl Ground {
    fn log(&self, text: &str) {
        let logs = self.engine.logs();
        logs.append(&actor(ME), None, "cargo test", text, None)
            .unwrap();
    }

    fn search(&self, query: &str) -> SearchResults {
        let recall = self.engine.recall();
        recall
            .search(query, 10, Patience::Request, &mut |_, _| ())
            .unwrap()
    }

    fn fields(&self, query: &str) -> Vec<String> {
        let found = self.search(query);
        assert_eq!(found.partial(), None);
        found.hits().map(|(hit, _)| hit.field.clone()).collect()
    }

    fn recall(&self, query: &str, tokens: usize) -> String {
        let recall = self.engine.recall();
        let found = recall.recall(query, tokens, Patience::Request, &mut |_, _| ());
        found.unwrap().unwrap()
    }

    fn active(&self) -> String {
        let session = self.engine.session(&ME.parse().unwrap());
        session.unwrap().unwrap().active.unwrap().to_string()
    }
}

#[test]
fn text_that_repeats_itself_is_searched_like_any_other() {
    let ground = Ground::new();
    ground.push(ME, "Run the tests");
    let rules = format!("{}\n", "-".repeat(80)).repeat(800);
    ground.log(&format!("{rules}--- FAIL: TestLogin\n"));
    ground.log(&"a".repeat(200_000));
    let found = ground.search("--- FAIL");
    assert_eq!(found.partial(), None);
    let [hit] = &found.searched.hits[..] else {
        panic!("{found:?}");
    };
    assert!(
        hit.excerpt.ends_with("[---] [FAIL]: TestLogin\n"),
        "{hit:?}"
    );
    assert_eq!(ground.fields(&"a".repeat(200)), ["log"]);
    assert!(ground.fields(&format!("{}b", "a".repeat(199))).is_empty());
}

#[test]
fn a_query_that_is_too_large_is_refused() {
    let ground = Ground::new();
    ground.push(ME, "Root");
    let refused = |query: &str| {
        let arguments = json!({ "query": query });
        let called =
            flamestack_engine::tools::call(&ground.engine, &actor(ME), "stack_search", arguments);
        called.unwrap_err().to_string()
    };
    let words: Vec<String> = (0..33).map(|n| format!("word{n}")).collect();
    let words = words.join(" ");
    let refusals = [&"a".repeat(1_000_000), &"a".repeat(201), &words, "\0 \0"].map(refused);
    insta::assert_snapshot!(refusals.join("\n"), @"
    the query has 1000000 characters; 1000 are allowed
    the query has a word of 201 characters; 200 are allowed
    the query has 33 different words; 32 are allowed
    the query has no word to look for
    ");
}

#[test]
fn a_nul_in_a_query_or_a_text_does_no_harm() {
    let ground = Ground::new();
    ground.push(ME, "Root");
    ground.log("before\0after the end");
    assert_eq!(ground.fields("after"), ["log"]);
    let index = ground.engine.project().dir.join("index.db");
    let indexed = fs_err::read(&index).unwrap();
    assert_eq!(ground.fields("end\0before"), ["log"]);
    assert_eq!(fs_err::read(&index).unwrap(), indexed);
}

#[test]
fn the_middle_of_long_output_is_found_and_recalled() {
    let ground = Ground::new();
    let output: Vec<String> = (1..=3_000).map(|n| format!("BULK-1-{n}\n")).collect();
    let entries = [
        Entry::from(EntryKind::User {
            speaker: Speaker::Person,
            text: "Count".to_owned(),
        }),
        Entry::from(EntryKind::Call(Call {
            id: "c1".to_owned(),
            tool: "bash".to_owned(),
            kind: CallKind::Execute,
            arguments: "{}".to_owned(),
            paths: Vec::new(),
            command: Some("seq".to_owned()),
        })),
        Entry::from(EntryKind::Answer(Answer {
            call: "c1".to_owned(),
            ok: true,
            exit_code: Some(0),
            text: output.concat(),
        })),
        Entry::from(EntryKind::TurnEnded),
    ];
    let engine = &ground.engine;
    engine.ingest(&actor(ME), &entries).unwrap();
    engine.keep_pending(&actor(ME)).unwrap();
    let found = ground.search("BULK-1-2000");
    let [hit] = &found.searched.hits[..] else {
        panic!("{found:?}");
    };
    let passages = ground.recall("BULK-1-2000", 1_500);
    let name = format!("{}#log1@{}", hit.frame, hit.position);
    assert!(passages.contains(&name), "{passages}");
    assert!(ground.recall(&name, 200).contains("BULK-1-2000\n"));
    assert!(
        engine
            .logs()
            .raw_text(&hit.frame, 1)
            .unwrap()
            .contains("BULK-1-1500\n")
    );

    // The entry comes in parts, and together they are the whole of it.
    let mut name = format!("{}#3", hit.frame);
    let mut lines = Vec::new();
    let mut parts = 0;
    loop {
        let page = ground.recall(&name, 2_000);
        assert!(page.len() < 10_000);
        parts += 1;
        let Some((text, end)) = page.rsplit_once("\n[bytes ") else {
            lines.push(page);
            break;
        };
        lines.push(text.to_owned());
        let (_, next) = end.split_once("the next part is ").unwrap();
        next.trim_end_matches("]\n").clone_into(&mut name);
    }
    let text = lines.concat();
    let numbers: Vec<&str> = text.lines().filter(|line| line.contains("BULK")).collect();
    assert_eq!(numbers.len(), 3_000, "{parts} parts");
    assert!(parts > 5);
    let beyond = ground.recall(&format!("{}#3@9999999", hit.frame), 100);
    assert!(beyond.contains("ends before 9999999"), "{beyond}");
}

#[test]
fn words_far_apart_are_found_in_one_text_and_not_in_two() {
    let ground = Ground::new();
    ground.push(ME, "Root");
    let between = "nothing to see here\n".repeat(2_000);
    ground.log(&format!("quartz\n{between}feldspar\n"));
    ground.log("quartz alone");
    ground.log("feldspar alone");
    assert_eq!(ground.fields("feldspar QUARTZ"), ["log"]);
    assert_eq!(
        ground.search("feldspar QUARTZ").searched.hits[0].piece,
        Some(1)
    );
    assert!(ground.fields("quartz mica").is_empty());
    // A word of two letters is compared with the texts themselves.
    assert_eq!(ground.fields("quartz al"), ["log"]);
    assert_eq!(ground.fields("Ro"), ["title", "criteria"]);
}

#[test]
fn what_changes_is_indexed_again_and_the_rest_is_left_alone() {
    let ground = Ground::new();
    ground.push(ME, "Granite");
    ground.tool(ME, "stack_add_decision", json!({ "decision": "basalt" }));
    ground.tool(ME, "stack_add_decision", json!({ "decision": "basalt" }));
    ground.log(&"schist\n".repeat(100));
    for _ in 0..3 {
        assert_eq!(ground.fields("basalt"), ["decision"]);
        assert_eq!(ground.fields("schist"), ["log"]);
        ground.tool(ME, "stack_add_decision", json!({ "decision": "gneiss" }));
    }
    let execute = |request: &Request| ground.engine.commands().execute(&actor(ME), request);
    for _ in 0..3 {
        execute(&Request::Undo).unwrap();
    }
    assert!(ground.fields("gneiss").is_empty());
    assert_eq!(ground.fields("granite"), ["title", "criteria"]);
}

#[test]
fn a_large_store_is_indexed_in_steps_and_each_answer_says_so() {
    let ground = Ground::new();
    ground.push(ME, "Root");
    for n in 0..4 {
        let lines = (0..12_000).map(|line| format!("piece-{n} line {line} of it\n"));
        ground.log(&lines.collect::<String>());
    }
    ground.tool(
        ME,
        "stack_add_decision",
        json!({ "decision": "the newest note" }),
    );
    let first = ground.search("piece-0");
    let partial = first.partial().unwrap();
    assert!(partial.ends_with("search again for the rest."), "{partial}");
    let mut searches = 1;
    while ground.search("newest note").partial().is_some() {
        searches += 1;
        assert!(searches < 20);
    }
    assert_eq!(ground.fields("piece-3 11999"), ["log"]);
    assert_eq!(ground.fields("newest note"), ["decision"]);
    // A fresh index is whole at once if the caller waits.
    fs_err::remove_file(ground.engine.project().dir.join("index.db")).unwrap();
    let recall = ground.engine.recall();
    let all = recall.search("newest note", 10, Patience::Unlimited, &mut |_, _| ());
    assert_eq!(all.unwrap().partial(), None);
}

#[test]
fn a_search_ends_with_its_caller() {
    let ground = Ground::new();
    ground.push(ME, "Root");
    let recall = ground.engine.recall();
    recall.stop();
    let search = recall.search("root", 10, Patience::Request, &mut |_, _| ());
    assert!(matches!(search, Err(EngineError::Cancelled)), "{search:?}");
    recall.keep_indexed();
}

#[test]
fn reading_waits_for_no_writer() {
    let ground = Ground::new();
    ground.push(ME, "Root");
    let id = ground.active();
    let writer = rusqlite::Connection::open(ground.engine.project().dir.join("journal.db"));
    let writer = writer.unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    // A reader inside of a read has a connection of its own.
    let inner = ground.engine.read(|_| ground.engine.frame_named(&id));
    assert_eq!(inner.unwrap().to_string(), id);
    assert!(ground.recall("Root", 100).contains("Root"));
}
