//! Made-up secrets of all kinds and innocent lines: all of the former go, none of the latter.
//! `cargo xtask redaction` prints both.

use std::collections::BTreeSet;
use std::path::Path;

use flamestack_testkit::secrets::{Dice, drawn_lines, leaks, real_lines};

use super::redact;

#[test]
fn made_up_secrets_of_every_kind_are_gone() {
    let mut missed = Vec::new();
    for seed in 0..5 {
        let leaks = leaks(&mut Dice(seed));
        let kinds: BTreeSet<_> = leaks.iter().map(|leak| &leak.kind).collect();
        assert!(kinds.len() >= 400, "{} kinds", kinds.len());
        for leak in &leaks {
            let clean = redact(&leak.text);
            if let Some(part) = leak.left_in(&clean) {
                missed.push(format!("{}: {part} of {} in {clean}", leak.kind, leak.text));
            }
            assert_eq!(redact(&clean), clean, "of {}", leak.text);
        }
    }
    missed.sort();
    assert!(
        missed.is_empty(),
        "{} left:\n{}",
        missed.len(),
        missed.join("\n")
    );
}

#[test]
fn innocent_lines_stay() {
    let mut lines = real_lines(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    assert!(lines.len() >= 2000, "{}", lines.len());
    lines.extend(drawn_lines(&mut Dice(42), 200));
    let changed = lines.iter().filter(|line| redact(line) != line.as_str());
    let changed: Vec<_> = changed.map(|line| (line, redact(line))).collect();
    assert!(
        changed.is_empty(),
        "{} changed: {changed:#?}",
        changed.len()
    );
}
