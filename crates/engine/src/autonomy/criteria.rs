//! Criteria of a frame that recorded evidence covers.

use std::collections::{BTreeMap, BTreeSet};

use crate::autonomy::heuristics::Criteria;
use flamestack_core::frame::Frame;
use flamestack_core::{Evidence, Note, Text};
use flamestack_extract::lex::terms;

/// Maximum number of criteria that are counted apart.
const MOST: usize = 50;

/// Counts the criteria of a frame and those that its evidence covers: the newest run of a command that
/// a criterion names succeeded, a test that it names passed, or a commit holds what it asks for.
pub fn criteria(frame: &Frame) -> Criteria {
    let Some(text) = frame.criteria.as_ref().map(Text::as_str) else {
        return Criteria::default();
    };
    let mut newest: BTreeMap<&str, bool> = BTreeMap::new();
    for note in &frame.notes {
        match note {
            Note::Evidence(Evidence::Command { command, exit_code }) => {
                newest.insert(command.as_str(), *exit_code == 0);
            }
            Note::Evidence(Evidence::Test { id, passed }) => {
                newest.insert(id.as_str(), *passed);
            }
            Note::Evidence(Evidence::Commit(commit)) => {
                newest.insert(commit.as_str(), true);
            }
            _ => {}
        }
    }
    let items: Vec<&str> = items(text).take(MOST).collect();
    let covered = items
        .iter()
        .filter(|item| is_covered(item, &newest))
        .count();
    Criteria {
        total: u32::try_from(items.len()).unwrap_or(u32::MAX),
        covered: u32::try_from(covered).unwrap_or(u32::MAX),
    }
}

/// Splits criteria at lines, semicolons and list marks.
fn items(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(['\n', ';']);
    parts
        .map(|part| part.trim().trim_start_matches(['-', '*', '•', ' ']))
        .filter(|part| !part.is_empty())
}

/// Returns true if positive evidence names what a criterion does, and no negative evidence does
/// the same.
fn is_covered(item: &str, evidence: &BTreeMap<&str, bool>) -> bool {
    let about: Vec<bool> = evidence
        .iter()
        .filter(|(name, _)| is_about(item, name))
        .map(|(_, ok)| *ok)
        .collect();
    !about.is_empty() && about.iter().all(|ok| *ok)
}

/// Returns true if a criterion names a piece of evidence: its whole text, or all of its terms.
fn is_about(item: &str, name: &str) -> bool {
    let (low_item, low_name) = (item.to_lowercase(), name.to_lowercase());
    if low_item.contains(&low_name) {
        return true;
    }
    let wanted: BTreeSet<String> = terms(item).into_iter().collect();
    let found: BTreeSet<String> = terms(name).into_iter().collect();
    let shared = wanted.intersection(&found).count();
    // Two words of a command, such as `cargo test`, or half of the criterion.
    shared >= 2 || (shared == 1 && wanted.len() <= 2)
}
