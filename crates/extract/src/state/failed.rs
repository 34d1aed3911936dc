//! Approaches that failed: edits that were taken back, and checks that failed alike again.

use std::collections::BTreeMap;

use flamestack_core::text::condense;

use super::files::Files;
use super::outcomes::{CheckOutcome, Verdict, first_failure, verdict};
use super::runs::Run;

/// An approach that did not work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FailedApproach {
    /// The changes of a file were taken back.
    Reverted {
        /// The file.
        path: String,
        /// Index of the entry that took them back.
        entry: usize,
    },
    /// A check failed in the same way after an edit.
    Repeated {
        /// The command.
        command: String,
        /// The line that names the failure.
        failure: String,
        /// Index of the entry of the last failure.
        entry: usize,
        /// True if the command passed since.
        passed_since: bool,
    },
}

impl FailedApproach {
    /// Returns the index of the entry that shows the failure.
    pub fn entry(&self) -> usize {
        match self {
            Self::Reverted { entry, .. } | Self::Repeated { entry, .. } => *entry,
        }
    }
}

/// Number of approaches that are kept, the newest ones.
const MAX_FAILED: usize = 3;
/// Replacements that are shorter may be alike by chance, in bytes.
const MIN_REPLACED: usize = 24;
/// Number of the newest edits that are compared with each other.
const MAX_EDITS: usize = 200;

/// Returns the approaches that failed from an entry on, the newest last.
pub(super) fn failed_approaches(
    files: &Files,
    runs: &[Run<'_>],
    since: usize,
) -> Vec<FailedApproach> {
    let mut failed: BTreeMap<String, FailedApproach> = BTreeMap::new();
    for (path, entry) in reverted(files)
        .into_iter()
        .chain(files.restored.iter().cloned())
    {
        let key = format!("file {path}");
        failed.insert(key, FailedApproach::Reverted { path, entry });
    }
    let mut seen: BTreeMap<(String, String), usize> = BTreeMap::new();
    for run in runs {
        for (at, check) in &run.checks {
            match verdict(run, *at, check) {
                Verdict::Certain(CheckOutcome::Failed) => {}
                Verdict::Certain(CheckOutcome::Passed) => {
                    settle(&mut failed, &check.name);
                    continue;
                }
                Verdict::NotRun | Verdict::Unknown => continue,
            }
            let Some(failure) = first_failure(&run.output) else {
                continue;
            };
            let key = (check.name.clone(), without_numbers(&failure));
            let before = seen.insert(key.clone(), run.entry);
            let edited = |from: usize| {
                let between =
                    |edit: &super::files::Edit| edit.entry > from && edit.entry < run.entry;
                files.edits.iter().any(between)
            };
            if before.is_some_and(edited) {
                let repeated = FailedApproach::Repeated {
                    command: check.name.clone(),
                    failure: condense(&failure, super::MAX_FAILURE),
                    entry: run.entry,
                    passed_since: false,
                };
                failed.insert(format!("check {} {}", key.0, key.1), repeated);
            }
        }
    }
    let mut failed: Vec<FailedApproach> = failed.into_values().collect();
    failed.retain(|approach| approach.entry() >= since);
    failed.sort_by_key(FailedApproach::entry);
    let excess = failed.len().saturating_sub(MAX_FAILED);
    failed.split_off(excess)
}

/// Notes that a command passed after its failures.
fn settle(failed: &mut BTreeMap<String, FailedApproach>, passed: &str) {
    for approach in failed.values_mut() {
        if let FailedApproach::Repeated {
            command,
            passed_since,
            ..
        } = approach
            && command == passed
        {
            *passed_since = true;
        }
    }
}

/// Returns files in which a later edit put the old text back, with the entry of that edit.
fn reverted(files: &Files) -> Vec<(String, usize)> {
    let from = files.edits.len().saturating_sub(MAX_EDITS);
    let edits = files.edits.get(from..).unwrap_or_default();
    let mut found = Vec::new();
    for (at, later) in edits.iter().enumerate() {
        let new = &later.replacement;
        let puts_back = |edit: &&super::files::Edit| {
            let old = &edit.replacement;
            old.path == new.path
                && old.new.trim() == new.old.trim()
                && old.old.trim() == new.new.trim()
                && old.old.trim() != old.new.trim()
                && old.old.len() + old.new.len() >= MIN_REPLACED
        };
        if edits.iter().take(at).any(|edit| puts_back(&edit)) {
            found.push((new.path.clone(), later.entry));
        }
    }
    found
}

/// Returns a line without its numbers, which differ from run to run.
fn without_numbers(line: &str) -> String {
    line.chars().filter(|c| !c.is_ascii_digit()).collect()
}
