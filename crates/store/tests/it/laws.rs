//! Laws that hold for any sequence of commands.

use std::cell::Cell;

use flamestack_core::decide::Rejected;
use flamestack_core::event::Recorded;
use flamestack_core::frame::Status;
use flamestack_core::id::{FrameId, Seq, Timestamp};
use flamestack_core::{Tree, decide};
use flamestack_store::{OpenOptions, Reading, SqliteStore, Store};
use flamestack_testkit::{Wish, wishes};
use proptest::prelude::*;

fn journal(store: &SqliteStore) -> Vec<Recorded> {
    let mut events = Vec::new();
    store
        .read(&mut |reading| {
            events = reading.events_after(Seq(0), usize::MAX)?;
            Ok(())
        })
        .unwrap();
    events
}

/// What both sides say about every frame and session, in a form that can be compared.
fn assert_same(store: &SqliteStore, tree: &Tree) {
    store
        .read(&mut |reading: &dyn Reading| {
            for (id, frame) in tree.frames() {
                assert_eq!(reading.whole_frame(id)?.as_ref(), Some(frame));
                let mut children = Vec::new();
                for child in tree.children(Some(id)) {
                    children.push(child.id.clone());
                }
                let slice = flamestack_store::Slice {
                    parent: Some(id.clone()),
                    ..Default::default()
                };
                let listed: Vec<FrameId> = reading
                    .rows(&slice)?
                    .into_iter()
                    .map(|row| row.frame.id)
                    .collect();
                assert_eq!(listed, children);
            }
            let sessions = reading.sessions(false)?;
            assert_eq!(
                sessions,
                tree.sessions().values().cloned().collect::<Vec<_>>()
            );
            assert_eq!(reading.totals()?.all(), tree.frames().len() as u64);
            Ok(())
        })
        .unwrap();
}

/// What holds in every tree, whatever was asked.
fn assert_sound(tree: &Tree) {
    for frame in tree.frames().values() {
        let mut steps = 0;
        let mut above = frame.parent.as_ref();
        while let Some(id) = above {
            above = tree
                .frames()
                .get(id)
                .expect("no frame is an orphan")
                .parent
                .as_ref();
            steps += 1;
            assert!(steps <= tree.frames().len(), "{} is above itself", frame.id);
        }
        let parent = frame.parent.as_ref().map(|id| &tree.frames()[id]);
        if let Some(parent) = parent.filter(|_| frame.status.is_open()) {
            let finished = matches!(parent.status, Status::Completed | Status::Failed);
            assert!(!finished, "{} is open below {}", frame.id, parent.id);
        }
    }
    for session in tree.sessions().values() {
        if let Some(active) = &session.active {
            assert_eq!(
                tree.frames()[active].status,
                Status::InProgress,
                "{}",
                session.key
            );
        }
        if let Some(own) = &session.own {
            assert_eq!(tree.frames()[own].session.as_ref(), Some(&session.key));
        }
    }
}

/// Plays commands on the store and on the tree in memory, and compares their answers.
fn play(store: &mut SqliteStore, tree: &mut Tree, wishes: &[Wish]) {
    let mut known: Vec<FrameId> = Vec::new();
    let drawn = Cell::new(0_u64);
    for (step, wish) in (1..).zip(wishes) {
        let mut fresh = || {
            drawn.set(drawn.get() + 1);
            FrameId::from_entropy(drawn.get().wrapping_mul(0x9e37_79b9_7f4a_7c15))
        };
        let command = wish.command(&known, &mut fresh);
        let actor = wish.actor();
        let expected = decide(tree, &actor, &command);
        let answer = store.commit(Timestamp(step), &actor, &mut |reading| {
            decide(reading, &actor, &command)
        });
        match (expected, answer) {
            (Ok(decision), Ok(committed)) => {
                let facts: Vec<_> = committed.facts().cloned().collect();
                assert_eq!(facts, decision.events, "{command:?}");
                assert_eq!(committed.remarks, decision.remarks);
                for recorded in committed.events {
                    for frame in recorded.event.frames() {
                        if !known.contains(&frame) {
                            known.push(frame);
                        }
                    }
                    tree.apply(recorded);
                }
            }
            (Err(Rejected::Refused(expected)), Err(Rejected::Refused(answer))) => {
                assert_eq!(answer, expected);
            }
            (expected, answer) => panic!("{command:?}: {expected:?} but {answer:?}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Store and tree decide alike, and what the store projects step by step is what its journal
    /// folds to, in memory and by a rebuild.
    #[test]
    fn projections_are_the_fold_of_the_journal(wishes in wishes(60)) {
        let dir = tempfile::tempdir().unwrap();
        let mut store = OpenOptions::default().open(dir.path()).unwrap();
        let mut tree = Tree::default();
        play(&mut store, &mut tree, &wishes);
        assert_sound(&tree);
        assert_same(&store, &tree);
        assert_same(&store, &Tree::fold(journal(&store)));
        let verified = store.verify(&mut |_, _| ()).unwrap();
        prop_assert_eq!(verified.findings, vec![]);
        store.rebuild(&mut |_, _| ()).unwrap();
        assert_same(&store, &tree);
    }
}
