//! Aftermath of compactions: facts that were lost and had to be looked up again.

use std::collections::BTreeSet;

use flamestack_core::transcript::{CallKind, EntryKind};

use crate::recording::{Cut, Recording};

/// Events after a compaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aftermath {
    /// Number of calls examined.
    pub calls: usize,
    /// Known names that the summary lost and tool results brought back.
    pub found_again: usize,
    /// Files that were read again.
    pub read_again: Vec<String>,
}

impl Aftermath {
    /// Examines the calls after a compaction.
    pub fn of(recording: &Recording<'_>, cut: &Cut<'_>) -> Self {
        let names_at = |at: usize| {
            let utterance = recording.utterance(at);
            utterance.and_then(|utterance| recording.names.get(utterance))
        };
        let known: BTreeSet<u32> = (0..cut.at)
            .filter_map(names_at)
            .flatten()
            .copied()
            .collect();
        let said = recording.interned.present(cut.summary.unwrap_or_default());
        let mut aftermath = Self::default();
        let mut again = BTreeSet::new();
        let mut read = BTreeSet::new();
        for at in cut.resume..cut.end {
            match recording.entry(at).map(|entry| &entry.kind) {
                Some(EntryKind::Call(call)) => {
                    aftermath.calls += 1;
                    if call.kind == CallKind::Read {
                        read.extend(
                            call.paths
                                .iter()
                                .filter(|path| recording.has_read(path, cut)),
                        );
                    }
                }
                Some(EntryKind::Answer(_)) => {
                    let names = names_at(at).into_iter().flatten();
                    let lost = |name: &&u32| {
                        known.contains(name)
                            && !said.known.contains(name)
                            && recording.interned.is_measured(**name)
                    };
                    again.extend(names.filter(lost).copied());
                }
                _ => {}
            }
        }
        aftermath.found_again = again.len();
        aftermath.read_again = read.into_iter().cloned().collect();
        aftermath
    }
}

impl Recording<'_> {
    /// Returns true if a file was read, written or changed before a cut.
    fn has_read(&self, path: &str, cut: &Cut<'_>) -> bool {
        (0..cut.at).any(|at| match self.entry(at).map(|entry| &entry.kind) {
            Some(EntryKind::Call(call)) => call.paths.iter().any(|known| known == path),
            _ => false,
        })
    }
}
