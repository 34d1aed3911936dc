//! Recall and false alarms of the redaction, on made-up secrets and innocent lines.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, ensure};
use flamestack_engine::Redactor;
use flamestack_testkit::secrets::{Dice, drawn_lines, leaks, real_lines};

/// Prints a table of each, and fails on a secret that is left or a line that is changed.
pub(crate) fn run(root: &Path) -> Result<()> {
    let redactor = Redactor::default();
    let mut families: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut left = 0;
    for leak in leaks(&mut Dice(1)) {
        let (gone, all) = families.entry(leak.family).or_default();
        *all += 1;
        match leak.left_in(&redactor.redact(&leak.text)) {
            Some(_) => {
                left += 1;
                println!("left: {}", leak.kind);
            }
            None => *gone += 1,
        }
    }
    println!("{:24} kinds  found", "family");
    for (family, (gone, all)) in &families {
        println!("{family:24} {all:5}  {gone:5}");
    }
    let all: usize = families.values().map(|(_, all)| all).sum();
    println!("{:24} {all:5}  {:5}", "all", all - left);
    let lines = [
        ("of this repository", real_lines(root)),
        ("drawn", drawn_lines(&mut Dice(42), 200)),
    ];
    let mut alarms = 0;
    println!("\n{:24} lines  false alarms", "innocent lines");
    for (name, lines) in &lines {
        let changed = lines
            .iter()
            .filter(|line| redactor.replacement(line).is_some());
        let changed = changed.inspect(|line| println!("changed: {line}")).count();
        println!("{name:24} {:5}  {changed:5}", lines.len());
        alarms += changed;
    }
    ensure!(
        left + alarms == 0,
        "{left} secrets left, {alarms} false alarms"
    );
    Ok(())
}
