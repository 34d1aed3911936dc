//! Laws over arbitrary text: nothing panics, nothing changes twice, nothing takes forever.

use std::borrow::Cow;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::innocents::innocents;
use super::{Dice, redact};
use crate::rule::RULES;
use crate::value::{is_masked, is_placeholder};
use crate::view::READ;

/// Pieces that rules are made of, so that arbitrary sequences of them come near to secrets.
fn pieces() -> Vec<String> {
    let mut dice = Dice(31);
    let mut pieces: Vec<String> = RULES
        .iter()
        .flat_map(|rule| rule.keywords.split('|'))
        .flat_map(|keyword| [keyword.to_owned(), keyword.to_uppercase()])
        .collect();
    for alphabet in [
        Dice::ALNUM,
        Dice::B64URL,
        Dice::B64,
        Dice::LOWER_HEX,
        Dice::UPPER_DIGIT,
    ] {
        pieces.extend([6, 16, 32, 60, 130].map(|length| dice.draw(alphabet, length)));
    }
    let rest = [
        " ",
        "\n",
        "\t",
        "=",
        ": ",
        ":",
        "\"",
        "'",
        "`",
        "\\",
        "\\n",
        "\\\"",
        "@",
        "/",
        ".",
        "..",
        ",",
        ";",
        "&",
        "?",
        "-",
        "--",
        "-----",
        "_",
        "<",
        ">",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "$",
        "${",
        "%3D",
        "*",
        "|",
        "!",
        "#",
        "：",
        "→",
        "é",
        "パス",
        "🎉",
        "\u{1b}[32m",
        "\u{1b}]8;;",
        "\u{1b}(B",
        "\u{7}",
        "\u{9b}31m",
        "\u{ad}",
        "\u{200b}",
        "\u{e0041}",
        "\"\"\"",
        ":-",
        ":?",
        "\r\n",
        "\0",
        "user",
        "Basic ",
        "Bearer ",
        "value",
        "name",
        "host",
        "curl ",
        "RSA PRIVATE KEY",
        "PRIVATE KEY-----\n",
        "-----END RSA PRIVATE KEY-----",
        "xxxx",
        "word",
        "hunter",
        "1",
        "42",
        "true",
        "process.env.X",
        "session=",
        "12345678",
        "AKIA",
        "[redacted:",
        "[redacted:token]",
        "[redacted:password]",
    ];
    pieces.extend(rest.map(str::to_owned));
    pieces
}

fn near_secrets() -> impl Strategy<Value = String> {
    vec(select(pieces()), 1..24).prop_map(|pieces| pieces.concat())
}

fn assert_settled(text: &str) -> Result<(), TestCaseError> {
    let once = redact(text).into_owned();
    let twice = redact(&once);
    prop_assert_eq!(&twice, &once);
    prop_assert!(matches!(twice, Cow::Borrowed(_)));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_settles_at_once(text in any::<String>()) {
        assert_settled(&text)?;
    }

    #[test]
    fn text_that_is_nearly_secret_settles_at_once(text in near_secrets()) {
        assert_settled(&text)?;
    }

    #[test]
    fn text_around_a_secret_stays(before in "[a-z ]{0,40}", after in "[a-z ]{0,40}", seed: u64) {
        let token = ["ghp", "_", &Dice(seed).draw(Dice::ALNUM, 36)].concat();
        let clean = redact(&format!("{before} {token} {after}")).into_owned();
        prop_assert_eq!(clean, format!("{before} [redacted:github-token] {after}"));
    }

    #[test]
    fn innocents_stay_among_arbitrary_words(
        before in "([a-z]{1,12} ){0,8}",
        innocent in select(innocents().collect::<Vec<_>>()),
        after in "( [a-z]{1,12}){0,8}",
    ) {
        // A full stop between them: `… token` and `: 4000` would be another text.
        let text = format!("{before}.\n{innocent}\n{after}");
        prop_assert!(matches!(redact(&text), Cow::Borrowed(_)), "{}", redact(&text));
    }

    #[test]
    fn keys_drawn_by_lot_are_seen(seed: u64, length in 20_usize..80) {
        let mut dice = Dice(seed);
        for alphabet in [Dice::ALNUM, Dice::B64URL, Dice::LOWER_HEX] {
            // Digits alone are a number.
            let secret = dice.draw(alphabet, length) + "e";
            // Nor is one that spells a placeholder by luck, such as `…xxxx…`.
            let dud = is_masked(secret.as_bytes()) || is_placeholder(secret.as_bytes());
            prop_assume!(!dud);
            let clean = redact(&format!("SERVICE_TOKEN={secret}\n")).into_owned();
            prop_assert!(!clean.contains(&secret), "{}", clean);
        }
    }
}

fn fill(pattern: &str, size: usize) -> String {
    pattern.repeat(size.div_ceil(pattern.len()))
}

#[test]
fn ten_megabytes_of_one_thing_stay() {
    for pattern in ["a", "sk-"] {
        let text = fill(pattern, 10 << 20);
        assert_eq!(redact(&text), text);
    }
}

/// Asserts that four times the text takes four times the work, whatever the speed of the machine.
#[track_caller]
fn assert_linear(pattern: &str) {
    let read = |size: usize| {
        let text = fill(pattern, size);
        READ.set(0);
        redact(&text);
        READ.get()
    };
    // Large enough that no window reaches from the beginning to the end.
    let (once, four) = (read(8 << 10), read(32 << 10));
    assert!(
        four <= 5 * once.max(8 << 10),
        "{once} bytes were read of 8 KB, {four} of 32 KB of {pattern:?}"
    );
}

#[test]
fn every_keyword_repeated_is_read_in_proportion() {
    let glue = ["", "=", ": ", "=\"", "=example.", ":a=", "-", "\\n"];
    for rule in &RULES {
        // The keywords of a rule share its pattern.
        let keyword = rule.keywords.split('|').next().unwrap();
        for glue in glue {
            assert_linear(&[keyword, glue].concat());
        }
    }
}

#[test]
fn beginnings_without_an_end_are_read_in_proportion() {
    let label = "PRIVATE KEY";
    let line = Dice(33).draw(Dice::B64, 64);
    let token = Dice(34).draw(Dice::ALNUM, 40);
    let patterns = [
        format!("-----BEGIN {label}-----\n"),
        format!("-----BEGIN {label}-----\nProc-Type: 4\n"),
        format!("-----BEGIN {label}-----\n{line}\n"),
        format!("BEGIN {label}----- MIIEpAIBAAKCAQEA "),
        format!("{line}\n"),
        format!("password=\"{token}{token}{token}{token}"),
        format!("Authorization=Bearer {token}="),
        format!("ghp_{token} "),
        format!("ghp_{token}-"),
        format!("a\u{200b}ghp_{token}"),
        format!("a\u{1b}]8;;ghp_{token}"),
        format!("a\u{ad}\u{1b}[31mghp_{token}"),
        format!("eyJ{token}\n"),
        format!("eyJ{token}\n{token}.\n"),
        format!("eyJ{token}.{token}\n"),
        "\u{9d}\u{1b}]".to_owned(),
        "a\u{1b}[0".to_owned(),
        "a\u{200b}".to_owned(),
        "${TOKEN:-".to_owned(),
        "echo a1b2 | ".to_owned(),
        "root:a1b2@/a".to_owned(),
        "grant a to b identified by c ".to_owned(),
        "://a:b".to_owned(),
        "://a:b@".to_owned(),
        "eyJaaaaaaaaaa.".to_owned(),
        "eyJaaaaaaaaaa-".to_owned(),
        "eyJaaaaaaaaaa ".to_owned(),
        "cookie: a=b; ".to_owned(),
        "Cookie: a=b;c=".to_owned(),
        "password=example.".to_owned(),
        "password='".to_owned(),
        "token: \\\"".to_owned(),
        "tokentoken".to_owned(),
        "token-".to_owned(),
        "curl -u a:".to_owned(),
        "12345678:AA".to_owned(),
        "Bearer a".to_owned(),
        "sk-ant-sk-ant-".to_owned(),
        "machine a login b password ".to_owned(),
    ];
    for pattern in &patterns {
        assert_linear(pattern);
    }
}
