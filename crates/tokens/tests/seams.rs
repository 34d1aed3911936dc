//! Properties that make it sound to count a context line by line.

use flamestack_extract::tokens::{Estimate, Tokenizer};
use flamestack_tokens::{O200k, by_name};
use proptest::prelude::*;

fn line() -> impl Strategy<Value = String> {
    let text = prop_oneof![
        any::<String>(),
        "[a-zA-Z<>/\" \n\r'0-9]{0,40}",
        "[日本語のテキスト。、\n ]{0,30}",
    ];
    let start = prop_oneof![Just("<"), Just(" <"), Just("</"), Just(" </")];
    (start, text).prop_map(|(start, text)| format!("{start}a>{text}</a>\n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn lines_of_xml_add_up(lines in prop::collection::vec(line(), 1..8)) {
        let whole = O200k.count(&lines.concat());
        let parts: usize = lines.iter().map(|line| O200k.count(line)).sum();
        prop_assert_eq!(whole, parts);
    }

    #[test]
    fn an_estimate_of_parts_is_never_below_that_of_the_whole(
        lines in prop::collection::vec(line(), 1..8),
    ) {
        let whole = Estimate.count(&lines.concat());
        let parts: usize = lines.iter().map(|line| Estimate.count(line)).sum();
        prop_assert!(whole <= parts);
    }
}

#[test]
fn known_counts() {
    assert_eq!(O200k.count(""), 0);
    assert_eq!(O200k.count("hello world"), 2);
    assert_eq!(O200k.count("The quick brown fox."), 5);
    let names: Vec<_> = ["o200k", "estimate"]
        .into_iter()
        .filter_map(by_name)
        .map(|tokenizer| tokenizer.name())
        .collect();
    assert_eq!(names, ["o200k", "estimate"]);
    assert!(by_name("gpt").is_none());
}

/// The reason why a rendered context is not indented.
#[test]
fn a_blank_before_a_tag_costs_a_token() {
    let line = |indent: &str| O200k.count(&format!("<a>\n{indent}<title>x</title>\n"));
    assert_eq!(line(" "), line("") + 1);
    assert_eq!(line("  "), line("") + 2);
}
