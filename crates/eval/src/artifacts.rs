//! Recall of changed files: how well they are derived without the host's own report.

use std::collections::BTreeSet;

use flamestack_core::Author;
use flamestack_core::command::Actor;
use flamestack_core::event::{Event, Recorded};
use flamestack_core::id::{FrameId, Seq, SessionRef, Timestamp};
use flamestack_core::note::Note;
use flamestack_core::transcript::{Entry, EntryKind};
use flamestack_core::tree::Tree;
use flamestack_engine::ingest::Observer;
use flamestack_extract::lex::path_key;

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

/// Derives the artifacts of a session without the host's reports of changed files.
fn derived(entries: &[Entry]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let Ok(session) = "eval:session".parse::<SessionRef>() else {
        return found;
    };
    let actor = Actor {
        session,
        worktree: None,
        message: None,
        by: Author::Agent,
    };
    let mut tree = Tree::default();
    let mut observer = Observer::past();
    let mut drawn = 0u64;
    let mut draw = || {
        drawn += 1;
        FrameId::from_entropy(drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    };
    let kept = entries
        .iter()
        .filter(|entry| !matches!(entry.kind, EntryKind::Changed { .. }));
    for entry in kept {
        // A tree in memory is always readable.
        let observations = observer.observe(&tree, &actor, entry, &mut draw);
        let known = observer.finish_batch(&actor.session);
        let known = known.map(|event| (actor.clone(), event));
        let seen = observations
            .unwrap_or_default()
            .into_iter()
            .flat_map(|observation| {
                let actor = observation.actor;
                let events = observation.decision.events.into_iter();
                events.map(move |event| (actor.clone(), event))
            });
        for (actor, event) in seen.chain(known) {
            if let Event::Noted {
                note: Note::Artifact(path),
                ..
            } = &event
            {
                found.insert(path_key(path.as_str()).to_owned());
            }
            let seq = Seq(i64::try_from(tree.journal().len()).unwrap_or(i64::MAX));
            tree.apply(Recorded {
                seq: Seq(seq.0 + 1),
                batch: seq,
                at: Timestamp(seq.0),
                session: actor.session,
                message: actor.message,
                by: actor.by,
                event,
            });
        }
    }
    found
}
