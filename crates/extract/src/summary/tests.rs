//! Snapshots of summaries, and laws that hold for all of them.

use std::cell::Cell;

use proptest::prelude::*;

use super::{SummaryInput, brief, result};
use crate::tokens::{Estimate, Tokenizer};
use flamestack_core::Text;
use flamestack_core::note::Note;
use flamestack_core::transcript::{
    Answer, Call, CallKind, Entry, EntryKind, Speaker, Todo, TodoStatus,
};

fn entry(kind: EntryKind) -> Entry {
    Entry {
        id: None,
        message: None,
        at: None,
        agent: None,
        kind,
    }
}

fn prompt(text: &str) -> Entry {
    entry(EntryKind::User {
        speaker: Speaker::Person,
        text: text.to_owned(),
    })
}

fn said(text: &str) -> Entry {
    entry(EntryKind::Assistant {
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
    [
        entry(EntryKind::Call(call)),
        entry(EntryKind::Answer(answer)),
    ]
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
    entries.push(entry(EntryKind::Todos(vec![
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
fn a_brief_has_everything_needed_to_continue() {
    let input = SummaryInput {
        goal: Some("Hexadecimal numbers"),
        log: Some("k3v9x2ab"),
        ..SummaryInput::default()
    };
    insta::assert_snapshot!(brief(&session(), &input, 400, &Estimate), @r"
    Request (#1): Make parse_token in src/token/parse.rs accept hexadecimal numbers. Never touch the lexer.
    Directives of the user, in earlier messages too:
    - Never touch the lexer. (#1)
    Last check (#6): `cargo test -p token parse_hexadecimal` failed, first failure: error[E0425]: cannot find function `parse_hexadecimal` in this scope
    To do:
    - now: Write parse_hexadecimal
    - done: Read the parser
    Last action (#5): ran `cargo test -p token parse_hexadecimal`
    Model's last words (#8, nothing was done since): parse_hexadecimal is missing; writing it now.
    Goal: Hexadecimal numbers
    ## Last steps
    #6 ran `cargo test -p token parse_hexadecimal`, failed: error[E0425]: cannot find function `parse_hexadecimal` in this scope
    ## What happened (`flame recall k3v9x2ab#n` shows all of #n)
    #2 I will read src/token/parse.rs first.
    #3 ran: cat src/token/parse.rs
    #4 out: fn parse_token(input: &str) -> Token { parse_number(input) }
    ## Files and names in play
    - parse_number
    ");
}

#[test]
fn the_result_of_a_subagent_has_the_state_in_which_it_left_the_work() {
    let mut entries = session();
    for entry in &mut entries {
        entry.agent = Some("a1".to_owned());
    }
    let note = Note::FailedAttempt {
        text: Text::new("cargo test -p token parse_hexadecimal").unwrap(),
        why: None,
    };
    let input = SummaryInput {
        notes: &[note],
        ..SummaryInput::default()
    };
    let text = result(&entries, &input, 300, &Estimate);
    assert!(
        text.starts_with("parse_hexadecimal is missing; writing it now.\n"),
        "{text}"
    );
    assert!(
        text.contains("\nLast check: `cargo test -p token parse_hexadecimal` failed"),
        "{text}"
    );
    assert!(!text.contains("Did not work"), "the check says it: {text}");
}

#[test]
fn a_passage_begins_with_its_first_sign() {
    let mut entries = session();
    let output = "[main 4be01c2] token: accept hexadecimal numbers everywhere";
    entries.extend(ran("3", "git commit", true, output));
    let text = brief(&entries, &SummaryInput::default(), 600, &Estimate);
    assert!(text.contains(output), "{text}");
}

#[test]
fn a_result_is_the_last_words_and_the_names() {
    insta::assert_snapshot!(result(&session(), &SummaryInput::default(), 60, &Estimate), @r"
    parse_hexadecimal is missing; writing it now.
    ## Names
    - token/parse.rs
    - parse_token, E0425, parse_number
    ");
}

#[test]
fn text_that_the_reader_has_is_not_repeated() {
    let entries = session();
    let already = "parse_hexadecimal is missing; writing it now.";
    let input = SummaryInput {
        already,
        ..SummaryInput::default()
    };
    assert!(brief(&entries, &SummaryInput::default(), 400, &Estimate).contains(already));
    assert!(!brief(&entries, &input, 400, &Estimate).contains(already));
}

/// Counts tokens, and the bytes that it looked at.
#[derive(Default)]
struct Metered(Cell<usize>);

impl Tokenizer for Metered {
    fn name(&self) -> &'static str {
        "metered"
    }

    fn count(&self, text: &str) -> usize {
        self.0.set(self.0.get() + text.len());
        Estimate.count(text)
    }
}

#[test]
fn the_work_does_not_grow_with_the_length_of_an_entry() {
    for part in ["x", "日本語", "👨‍👩‍👧‍👦", "a_b/c.rs ", "\0\u{1b}[31m", "\n"] {
        let counted = [250_000, 500_000].map(|bytes| {
            let huge = part.repeat(bytes / part.len());
            let mut entries = vec![prompt(&huge), said(&huge)];
            entries.extend(ran("1", "ls", true, &huge));
            let metered = Metered::default();
            let text = brief(&entries, &SummaryInput::default(), 500, &metered);
            assert!(Estimate.count(&text) <= 500);
            assert!(!text.contains(['\0', '\u{1b}']));
            let text = result(&entries, &SummaryInput::default(), 300, &metered);
            assert!(Estimate.count(&text) <= 300);
            metered.0.get()
        });
        assert!(counted[1] <= counted[0] + 64, "{part:?}: {counted:?}");
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
            entry(EntryKind::Call(Call {
                id: id.to_string(),
                tool: "tool".to_owned(),
                kind,
                arguments,
                paths: vec![path],
                command: None,
            }))
        }),
        (text(), any::<bool>(), 0u8..5).prop_map(|(text, ok, id)| {
            entry(EntryKind::Answer(Answer {
                call: id.to_string(),
                ok,
                exit_code: None,
                text,
            }))
        }),
        text().prop_map(|text| entry(EntryKind::Compacted {
            automatic: true,
            summary: Some(text),
            tokens_before: None,
        })),
        text().prop_map(|text| entry(EntryKind::Todos(vec![Todo {
            text,
            status: TodoStatus::Pending,
        }]))),
    ]
}

/// The worst kind of tokenizer: the counts of parts say nothing about the whole.
struct Uneven;

impl Tokenizer for Uneven {
    fn name(&self) -> &'static str {
        "uneven"
    }

    fn count(&self, text: &str) -> usize {
        text.len() / 3 + usize::from(text.len() % 7 == 3) * 4
    }
}

#[test]
fn a_last_passage_before_wide_signs_is_shown() {
    let text = "one two three four ✅✅✅✅✅";
    let shown = brief(&[said(text)], &SummaryInput::default(), 200, &Estimate);
    assert!(shown.contains("one two three four"), "{shown}");
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
        let input = SummaryInput { goal: goal.as_deref(), already: &already, ..SummaryInput::default() };
        for tokenizer in [&Estimate as &dyn Tokenizer, &Uneven] {
            let text = brief(&entries, &input, limit, tokenizer);
            prop_assert!(tokenizer.count(&text) <= limit.max(4), "{} > {limit}", tokenizer.count(&text));
            let text = result(&entries, &input, limit, tokenizer);
            prop_assert!(tokenizer.count(&text) <= limit.max(4));
        }
    }

    #[test]
    fn equal_sessions_have_equal_briefs(entries in prop::collection::vec(any_entry(), 0..30)) {
        let first = brief(&entries, &SummaryInput::default(), 700, &Estimate);
        prop_assert_eq!(first, brief(&entries.clone(), &SummaryInput::default(), 700, &Estimate));
    }

    #[test]
    fn passages_are_word_for_word(words in prop::collection::vec("[a-z]{3,9}", 100..200)) {
        let text = words.join(" ");
        let shown = brief(&[said(&text)], &SummaryInput::default(), 300, &Estimate);
        let (_, body) = shown.split_once("#1 ").unwrap();
        for passage in body.lines().flat_map(|line| line.split(" … ")) {
            prop_assert!(text.contains(passage.trim()), "{passage:?}");
        }
    }
}
