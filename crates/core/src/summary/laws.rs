//! What holds for every summary, whatever was said.

use proptest::prelude::*;

use super::{Told, brief, result};
use crate::tokens::{Estimate, Tokenizer};
use crate::transcript::{Answer, Call, CallKind, Entry, Todo, TodoStatus, Voice, What};

fn entry(what: What) -> Entry {
    Entry {
        id: None,
        message: None,
        at: None,
        agent: None,
        what,
    }
}

fn prompt(text: &str) -> Entry {
    entry(What::User {
        voice: Voice::Person,
        text: text.to_owned(),
    })
}

fn said(text: &str) -> Entry {
    entry(What::Assistant {
        text: text.to_owned(),
    })
}

fn ran(id: &str, command: &str, ok: bool, answer: &str) -> [Entry; 2] {
    let call = Call {
        id: id.to_owned(),
        tool: "Bash".to_owned(),
        kind: CallKind::Execute,
        arguments: format!("{{\"command\": \"{command}\"}}"),
        paths: Vec::new(),
        command: Some(command.to_owned()),
    };
    let answer = Answer {
        call: id.to_owned(),
        ok,
        exit_code: None,
        text: answer.to_owned(),
    };
    [entry(What::Call(call)), entry(What::Answer(answer))]
}

fn session() -> Vec<Entry> {
    let mut entries = vec![prompt(
        "Make parse_token in src/token/parse.rs accept hexadecimal numbers. Never touch the lexer.",
    )];
    entries.push(said("I will read src/token/parse.rs first."));
    entries.extend(ran(
        "1",
        "cat src/token/parse.rs",
        true,
        "fn parse_token(input: &str) -> Token {\n    parse_number(input)\n}",
    ));
    entries.extend(ran(
        "2",
        "cargo test -p token parse_hexadecimal",
        false,
        "error[E0425]: cannot find function `parse_hexadecimal` in this scope",
    ));
    entries.push(entry(What::Todos(vec![
        Todo {
            text: "Write parse_hexadecimal".to_owned(),
            status: TodoStatus::Active,
        },
        Todo {
            text: "Read the parser".to_owned(),
            status: TodoStatus::Done,
        },
    ])));
    entries.push(said("parse_hexadecimal is missing; writing it now."));
    entries
}

#[test]
fn a_brief_tells_what_is_needed_to_go_on() {
    let told = Told {
        goal: Some("Hexadecimal numbers"),
        log: Some("k3v9x2ab"),
        ..Told::default()
    };
    insta::assert_snapshot!(brief(&session(), &told, 400, &Estimate), @"
    Goal: Hexadecimal numbers
    ## What the user said
    #1 Make parse_token in src/token/parse.rs accept hexadecimal numbers. Never touch the lexer.
    ## To do
    now: Write parse_hexadecimal
    done: Read the parser
    ## What happened (`flame recall k3v9x2ab#n` shows all of #n)
    #2 I will read src/token/parse.rs first.
    #3 ran: cat src/token/parse.rs
    #4 out: fn parse_token(input: &str) -> Token {
    parse_number(input)
    }
    #5 ran failed: cargo test -p token parse_hexadecimal
    #6 out: error[E0425]: cannot find function `parse_hexadecimal` in this scope
    #8 parse_hexadecimal is missing; writing it now.
    ");
}

#[test]
fn a_result_is_the_last_words_and_the_names() {
    insta::assert_snapshot!(result(&session(), &Told::default(), 60, &Estimate), @"
    parse_hexadecimal is missing; writing it now.
    ## Names
    token/parse.rs
    parse_token, E0425, parse_number
    ");
}

#[test]
fn what_the_reader_has_is_not_said_again() {
    let entries = session();
    let already = "parse_hexadecimal is missing; writing it now.";
    let told = Told {
        already,
        ..Told::default()
    };
    assert!(brief(&entries, &Told::default(), 400, &Estimate).contains(already));
    assert!(!brief(&entries, &told, 400, &Estimate).contains(already));
}

#[test]
fn ten_megabytes_of_anything_are_taken() {
    for piece in ["x", "日本語", "👨‍👩‍👧‍👦", "a_b/c.rs ", "\0\u{1b}[31m", "\n"]
    {
        let huge = piece.repeat(10_000_000 / piece.len());
        let mut entries = vec![prompt(&huge), said(&huge)];
        entries.extend(ran("1", "ls", true, &huge));
        let text = brief(&entries, &Told::default(), 500, &Estimate);
        assert!(Estimate.count(&text) <= 500);
        assert!(!text.contains(['\0', '\u{1b}']));
        assert!(Estimate.count(&result(&entries, &Told::default(), 300, &Estimate)) <= 300);
    }
}

fn any_entry() -> impl Strategy<Value = Entry> {
    let text = || {
        prop_oneof![
            any::<String>(),
            "[a-z_/. \\n#A-Z0-9-]{0,300}",
            "(src/[a-z]{1,9}/[a-z]{1,9}\\.rs |[a-z]{1,6}_[a-z]{1,9} |#[0-9]{2,4} |日本語 ){0,40}",
        ]
    };
    let kinds = prop_oneof![
        Just(CallKind::Execute),
        Just(CallKind::Edit),
        Just(CallKind::Read),
        Just(CallKind::Todo)
    ];
    prop_oneof![
        text().prop_map(|text| prompt(&text)),
        text().prop_map(|text| said(&text)),
        (text(), kinds, 0u8..5, text()).prop_map(|(arguments, kind, id, path)| {
            entry(What::Call(Call {
                id: id.to_string(),
                tool: "tool".to_owned(),
                kind,
                arguments,
                paths: vec![path],
                command: None,
            }))
        }),
        (text(), any::<bool>(), 0u8..5).prop_map(|(text, ok, id)| {
            entry(What::Answer(Answer {
                call: id.to_string(),
                ok,
                exit_code: None,
                text,
            }))
        }),
        text().prop_map(|text| entry(What::Compacted {
            automatic: true,
            summary: Some(text),
            tokens_before: None,
        })),
        text().prop_map(|text| entry(What::Todos(vec![Todo {
            text,
            status: TodoStatus::Pending,
        }]))),
    ]
}

/// The worst a tokenizer can do: parts say nothing about the whole.
struct Uneven;

impl Tokenizer for Uneven {
    fn name(&self) -> &'static str {
        "uneven"
    }

    fn count(&self, text: &str) -> usize {
        text.len() / 3 + usize::from(text.len() % 7 == 3) * 4
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_summary_is_over_its_budget(
        entries in prop::collection::vec(any_entry(), 0..40),
        limit in 0usize..3000,
        goal in any::<Option<String>>(),
        already in any::<String>(),
    ) {
        let told = Told { goal: goal.as_deref(), already: &already, ..Told::default() };
        for tokenizer in [&Estimate as &dyn Tokenizer, &Uneven] {
            let text = brief(&entries, &told, limit, tokenizer);
            prop_assert!(tokenizer.count(&text) <= limit.max(4), "{} > {limit}", tokenizer.count(&text));
            let text = result(&entries, &told, limit, tokenizer);
            prop_assert!(tokenizer.count(&text) <= limit.max(4));
        }
    }

    #[test]
    fn the_same_gives_the_same(entries in prop::collection::vec(any_entry(), 0..30)) {
        let first = brief(&entries, &Told::default(), 700, &Estimate);
        prop_assert_eq!(first, brief(&entries.clone(), &Told::default(), 700, &Estimate));
    }

    #[test]
    fn passages_are_taken_over_word_for_word(words in prop::collection::vec("[a-z]{3,9}", 30..200)) {
        let text = words.join(" ");
        let shown = brief(&[said(&text)], &Told::default(), 120, &Estimate);
        let (_, body) = shown.split_once("#1 ").unwrap();
        for passage in body.lines() {
            let passage = passage.trim_start_matches("… ");
            prop_assert!(text.contains(passage.trim()), "{passage:?}");
        }
    }
}
