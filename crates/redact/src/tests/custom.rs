//! Rules of users.

use proptest::prelude::*;

use super::Dice;
use crate::{BadRule, Redactor};

fn redactor(rules: &[(&str, &str)], exceptions: &[&str]) -> Redactor {
    Redactor::new(rules.iter().copied(), exceptions.iter().copied()).unwrap()
}

#[test]
fn what_a_rule_matches_is_replaced_by_its_name() {
    let redactor = redactor(
        &[("acme-key", r"\bacme_[0-9a-f]{8}\b"), ("custom", "Ω+")],
        &[],
    );
    let clean = redactor.redact("use acme_0123abcd, not acme_012, and ΩΩ\nacme_0123abcd");
    assert_eq!(
        clean,
        "use [redacted:acme-key], not acme_012, and [redacted:custom]\n[redacted:acme-key]"
    );
    // The built-in rules apply as well.
    let token = ["ghp", "_", &Dice(5).draw(Dice::ALNUM, 36)].concat();
    assert_eq!(redactor.redact(&token), "[redacted:github-token]");
}

#[test]
fn an_exception_keeps_what_it_matches_as_a_whole() {
    let token = ["ghp", "_", &Dice(6).draw(Dice::ALNUM, 36)].concat();
    let other = ["ghp", "_", &Dice(7).draw(Dice::ALNUM, 36)].concat();
    let redactor = redactor(&[], &[&token, "ghp"]);
    let text = format!("{token} {other}");
    assert_eq!(
        redactor.redact(&text),
        format!("{token} [redacted:github-token]")
    );
}

#[test]
fn a_rule_that_cannot_be_applied_is_refused() {
    let refused = |name, pattern: &str| Redactor::new([(name, pattern)], []).unwrap_err();
    assert!(matches!(refused("Acme", "x"), BadRule::Name(_)));
    assert!(matches!(refused("", "x"), BadRule::Name(_)));
    assert!(matches!(refused("a", "("), BadRule::Syntax { .. }));
    assert!(matches!(refused("a", "x*"), BadRule::Empty(_)));
    assert!(matches!(refused("a", r"(\w{300}){300}"), BadRule::Size(_)));
    assert!(matches!(refused("a", &"x".repeat(1001)), BadRule::Size(_)));
    let many = vec![("a", "x"); 101];
    assert!(matches!(Redactor::new(many, []), Err(BadRule::Many(101))));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rules_settle_at_once(
        pattern in prop::sample::select(vec!["a", "^a", "a$", r"\ba", "[ab]+", "redacted", r"\[.*", "(?s).b.", "]"]),
        text in "[ab \\[\\]:=\n]{0,30}|[ab]{0,9}\\[redacted:token\\][ab]{0,9}",
    ) {
        let redactor = redactor(&[("x", pattern)], &[]);
        let once = redactor.redact(&text).into_owned();
        prop_assert_eq!(redactor.redact(&once), &*once);
    }
}
