//! Which files changed: what is known of them without the host's own account of it.

use std::collections::BTreeSet;

use flamestack_core::anchor::name::path_key;
use flamestack_core::command::Actor;
use flamestack_core::decide::Watching;
use flamestack_core::event::{Event, Recorded};
use flamestack_core::id::{FrameId, Seq, SessionRef, Timestamp};
use flamestack_core::note::Note;
use flamestack_core::transcript::{Entry, What};
use flamestack_core::tree::Tree;

/// With fewer files an account says nothing.
const FEWEST: usize = 2;

/// How many of the files that changed were known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Files that changed and were known.
    pub right: usize,
    /// Files that changed.
    pub changed: usize,
    /// Files that were taken for changed.
    pub taken: usize,
}

impl Found {
    /// Adds what was found elsewhere.
    pub fn add(&mut self, other: Self) {
        self.right += other.right;
        self.changed += other.changed;
        self.taken += other.taken;
    }
}

/// Whose account it is that a file changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accounts {
    /// The host's.
    pub host: Option<Found>,
    /// The recorder's, by git.
    pub recorder: Option<Found>,
}

/// How many of the files that changed in a session are found in what it said and did. `touched` are
/// the files that whoever recorded it saw change.
pub fn artifacts(entries: &[Entry], touched: &[String]) -> Accounts {
    let by_host = entries.iter().flat_map(|entry| match &entry.what {
        What::Changed { paths } => paths.as_slice(),
        _ => &[],
    });
    let by_host = keys(by_host);
    let by_recorder = keys(touched);
    if by_host.len() < FEWEST && by_recorder.len() < FEWEST {
        return Accounts::default();
    }
    let taken = derived(entries);
    let found = |changed: &BTreeSet<&str>| {
        (changed.len() >= FEWEST).then(|| Found {
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

/// The artifacts that a session's record comes to, without what the host says of changed files.
fn derived(entries: &[Entry]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let Ok(session) = "eval:session".parse::<SessionRef>() else {
        return found;
    };
    let actor = Actor {
        session,
        worktree: None,
        message: None,
    };
    let mut tree = Tree::default();
    let mut watching = Watching::past(None);
    let mut drawn = 0u64;
    let mut draw = || {
        drawn += 1;
        FrameId::from_entropy(drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    };
    let kept = entries
        .iter()
        .filter(|entry| !matches!(entry.what, What::Changed { .. }));
    for entry in kept {
        // A tree in memory is always readable.
        let sights = watching.see(&tree, &actor, entry, &mut draw);
        let told = watching.told(&actor.session);
        let told = told.map(|event| (actor.clone(), event));
        let seen = sights.unwrap_or_default().into_iter().flat_map(|sight| {
            let actor = sight.actor;
            let events = sight.decision.events.into_iter();
            events.map(move |event| (actor.clone(), event))
        });
        for (actor, event) in seen.chain(told) {
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
                event,
            });
        }
    }
    found
}
