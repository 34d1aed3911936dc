//! Recall of changed files: how well they are derived without the host's own report.

use std::collections::{BTreeSet, VecDeque};

use flamestack_core::Author;
use flamestack_core::command::Actor;
use flamestack_core::event::Event;
use flamestack_core::id::{FrameId, SessionRef, Timestamp};
use flamestack_core::note::Note;
use flamestack_core::transcript::{Entry, EntryKind};
use flamestack_engine::ingest::Observer;
use flamestack_extract::lex::path_key;
use flamestack_store::{SqliteStore, Step, Store as _};

/// Minimum number of changed files for a meaningful figure.
const FEWEST: usize = 2;

/// Number of changed files that were recognised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileRecall {
    /// Files that changed and were recognised.
    pub right: usize,
    /// Files that changed.
    pub changed: usize,
    /// Files that were taken for changed.
    pub taken: usize,
}

impl FileRecall {
    /// Adds the counts of another session.
    pub fn add(&mut self, other: Self) {
        self.right += other.right;
        self.changed += other.changed;
        self.taken += other.taken;
    }
}

/// Recall by the source that reported the changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accounts {
    /// Changes reported by the host.
    pub host: Option<FileRecall>,
    /// Changes seen in git by the recorder.
    pub recorder: Option<FileRecall>,
}

/// Measures how many of the files that changed in a session are derived from its transcript.
/// `touched` are the files that the recorder saw change.
pub fn artifacts(entries: &[Entry], touched: &[String]) -> Accounts {
    let by_host = entries.iter().flat_map(|entry| match &entry.kind {
        EntryKind::Changed { paths } => paths.as_slice(),
        _ => &[],
    });
    let by_host = keys(by_host);
    let by_recorder = keys(touched);
    if by_host.len() < FEWEST && by_recorder.len() < FEWEST {
        return Accounts::default();
    }
    let taken = derived(entries);
    let found = |changed: &BTreeSet<&str>| {
        (changed.len() >= FEWEST).then(|| FileRecall {
            right: changed.iter().filter(|path| taken.contains(**path)).count(),
            changed: changed.len(),
            taken: taken.len(),
        })
    };
    Accounts {
        host: found(&by_host),
        recorder: found(&by_recorder),
    }
}

fn keys<'a>(paths: impl IntoIterator<Item = &'a String>) -> BTreeSet<&'a str> {
    let keys = paths.into_iter().map(|path| path_key(path));
    keys.filter(|key| !key.is_empty()).collect()
}

/// Derives the artifacts of a session without the host's reports of changed files: as an import does,
/// into a store in memory.
fn derived(entries: &[Entry]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let (Ok(session), Ok(mut store)) = ("eval:session".parse::<SessionRef>(), SqliteStore::empty())
    else {
        return found;
    };
    let actor = Actor {
        session,
        worktree: None,
        message: None,
        by: Author::Agent,
    };
    let mut observer = Observer::past();
    let mut drawn = 0u64;
    let mut draw = || {
        drawn += 1;
        FrameId::from_entropy(drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    };
    let mut rest = entries
        .iter()
        .filter(|entry| !matches!(entry.kind, EntryKind::Changed { .. }));
    let mut steps = VecDeque::new();
    // A store in memory is always readable.
    let recorded = store.commit_steps(&mut |tree| {
        while steps.is_empty() {
            let Some(entry) = rest.next() else {
                return Ok(None);
            };
            for observation in observer.observe(tree, &actor, entry, &mut draw)? {
                steps.push_back((observation.actor, observation.decision.events));
            }
            if let Some(known) = observer.finish_batch(&actor.session) {
                steps.push_back((actor.clone(), vec![known]));
            }
        }
        Ok(steps.pop_front().map(|(actor, events)| Step {
            at: Timestamp::default(),
            actor,
            events,
        }))
    });
    for recorded in recorded.unwrap_or_default() {
        if let Event::Noted {
            note: Note::Artifact(path),
            ..
        } = &recorded.event
        {
            found.insert(path_key(path.as_str()).to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use flamestack_core::transcript::{Answer, Call, CallKind, Speaker};

    use super::*;

    fn edited(path: &str) -> [Entry; 2] {
        let call = Call {
            id: format!("call {path}"),
            tool: "edit".to_owned(),
            kind: CallKind::Edit,
            arguments: format!("{{\"filePath\":\"{path}\"}}"),
            paths: vec![path.to_owned()],
            command: None,
        };
        let answer = Answer {
            call: call.id.clone(),
            ok: true,
            exit_code: None,
            text: "ok".to_owned(),
        };
        [EntryKind::Call(call), EntryKind::Answer(answer)].map(Entry::from)
    }

    #[test]
    fn changed_files_are_derived_without_the_hosts_report() {
        let asked = Entry::from(EntryKind::User {
            speaker: Speaker::Person,
            text: "Rename it everywhere".to_owned(),
        });
        let reported = Entry::from(EntryKind::Changed {
            paths: ["src/a.rs", "src/b.rs", "Cargo.lock"]
                .map(str::to_owned)
                .into(),
        });
        let edits = [edited("src/a.rs"), edited("src/b.rs")].concat();
        let entries = [vec![asked], edits, vec![reported]].concat();
        let found = artifacts(&entries, &[]);
        let by_host = FileRecall {
            right: 2,
            changed: 3,
            taken: 2,
        };
        assert_eq!(found.host, Some(by_host));
        assert_eq!(found.recorder, None);
    }
}
