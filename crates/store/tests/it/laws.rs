//! Laws that hold for any sequence of commands.

use std::cell::Cell;
use std::collections::BTreeMap;

use flamestack_core::command::Actor;
use flamestack_core::decide::DecideError;
use flamestack_core::delivery::Delivery;
use flamestack_core::event::{Event, Recorded};
use flamestack_core::frame::Status;
use flamestack_core::id::{FrameId, Seq, SessionRef, Timestamp};
use flamestack_core::subagent::Framing;
use flamestack_core::transcript::Entry;
use flamestack_core::{TreeQuery, decide};
use flamestack_engine::ingest::Observer;
use flamestack_extract::relevance::Query;
use flamestack_store::{
    EndedFrame, OpenOptions, Reading, Scored, SiblingIndex, SqliteStore, Step, Store,
};
use flamestack_testkit::{ArbitraryCommand, Tree, arbitrary_commands, rewinding};
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

/// Compares everything that the store and the tree say about every frame and session.
fn assert_same(store: &SqliteStore, tree: &Tree) {
    store
        .read(&mut |reading: &dyn Reading| {
            for (id, frame) in tree.frames() {
                assert_eq!(reading.whole_frame(id)?.as_ref(), Some(frame));
                let mut children = Vec::new();
                for child in tree.children(Some(id)) {
                    children.push(child.id);
                }
                let slice = flamestack_store::Slice {
                    parent: Some(*id),
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
            for session in tree.sessions().keys() {
                assert_eq!(reading.sent(session)?, sent(tree, session));
            }
            assert_eq!(reading.totals()?.all(), tree.frames().len() as u64);
            let runs: BTreeMap<_, _> = reading
                .runs(false)?
                .into_iter()
                .map(|run| (run.session.clone(), run))
                .collect();
            assert!(runs.values().eq(tree.runs()));
            let in_flight = reading.runs(true)?;
            assert!(in_flight.iter().all(|run| run.state.is_in_flight()));
            let alive = tree.runs().filter(|run| run.state.is_in_flight());
            assert_eq!(in_flight.len(), alive.count());
            for session in tree.sessions().keys() {
                let started = TreeQuery::runs_of(tree, session).unwrap();
                assert_eq!(reading.runs_of(session)?, started);
            }
            for id in tree.frames().keys() {
                let text = TreeQuery::only_text(tree, id).unwrap();
                assert_eq!(reading.only_text(id)?, text);
            }
            for session in tree.sessions().keys() {
                let known = tree.compactions().get(session).cloned();
                let seen = reading.compactions(session, usize::MAX)?;
                assert_eq!(seen, known.unwrap_or_default());
                let known = TreeQuery::awaiting(tree, session).unwrap();
                assert_eq!(reading.awaiting(session)?, known);
            }
            let lives: Vec<_> = tree.lives().values().cloned().collect();
            assert_eq!(reading.lives(false)?, lives);
            let busy = lives.iter().filter(|life| life.state.is_busy()).cloned();
            assert_eq!(reading.lives(true)?, busy.collect::<Vec<_>>());
            for life in &lives {
                let session = &life.session;
                let history = tree.transitions(session);
                assert_eq!(reading.transitions(session, usize::MAX)?, history);
                let interruptions = tree.interruptions(session);
                assert_eq!(reading.interruptions(session, usize::MAX)?, interruptions);
                let links = TreeQuery::links(tree, session).unwrap();
                assert_eq!(reading.links(session)?, links);
            }
            Ok(())
        })
        .unwrap();
}

/// Returns the last header that a session was sent and the updates after it.
fn sent(tree: &Tree, session: &SessionRef) -> Vec<Recorded> {
    let mut sent = Vec::new();
    for recorded in tree.journal() {
        if let Event::ContextSent(sending) = &recorded.event
            && recorded.session == *session
            && tree.counts(recorded)
        {
            match sending.delivery {
                Delivery::Nothing => {}
                Delivery::Update(_) => sent.push(recorded.clone()),
                Delivery::Header(_) => sent = vec![recorded.clone()],
            }
        }
    }
    sent
}

/// Asserts what holds in every tree, whatever was asked.
fn assert_sound(tree: &Tree) {
    for frame in tree.frames().values() {
        let mut steps = 0;
        let mut above = frame.parent.as_ref();
        while let Some(id) = above {
            above = tree
                .frames()
                .get(id)
                .unwrap_or_else(|| panic!("{} is an orphan", frame.id))
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
fn play(store: &mut SqliteStore, tree: &mut Tree, commands: &[ArbitraryCommand]) {
    play_on(store, tree, &mut Vec::new(), commands);
}

/// The same, after what was played before.
fn play_on(
    store: &mut SqliteStore,
    tree: &mut Tree,
    known: &mut Vec<FrameId>,
    commands: &[ArbitraryCommand],
) {
    let drawn = Cell::new(1000 * tree.journal().len() as u64);
    let mut observers: BTreeMap<SessionRef, Observer> = BTreeMap::new();
    for (step, arbitrary) in (1..).zip(commands) {
        let mut fresh = || {
            drawn.set(drawn.get() + 1);
            FrameId::from_entropy(drawn.get().wrapping_mul(0x9e37_79b9_7f4a_7c15))
        };
        let actor = arbitrary.actor();
        if let Some(entries) = arbitrary.seen() {
            let observer = observers.entry(actor.session.clone());
            let observer = observer.or_insert_with(|| {
                let mut observer = Observer::live(None);
                // In one session of the three, short runs are only logged.
                if actor.message.is_some() {
                    observer.set_framing(Framing {
                        enabled: true,
                        min_duration: 10,
                        min_messages: 2,
                    });
                }
                observer
            });
            ingest(store, tree, observer, &actor, &entries, &mut fresh);
            continue;
        }
        let command = arbitrary.command(known, &mut fresh);
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
            (Err(DecideError::Refused(expected)), Err(DecideError::Refused(answer))) => {
                assert_eq!(answer, expected);
            }
            (expected, answer) => panic!("{command:?}: {expected:?} but {answer:?}"),
        }
    }
}

/// Ingests entries into the store and into the tree, and compares the derived events.
fn ingest(
    store: &mut SqliteStore,
    tree: &mut Tree,
    observer: &mut Observer,
    actor: &Actor,
    entries: &[Entry],
    fresh: &mut dyn FnMut() -> FrameId,
) {
    let mut left: Vec<&Entry> = entries.iter().rev().collect();
    let mut waiting: Vec<Step> = Vec::new();
    let mut done = false;
    let recorded = store.commit_steps(&mut |reading| {
        loop {
            if !waiting.is_empty() {
                return Ok(Some(waiting.remove(0)));
            }
            let Some(entry) = left.pop() else {
                let known = observer.finish_batch(&actor.session).filter(|_| !done);
                done = true;
                return Ok(known.map(|event| Step {
                    at: Timestamp(1),
                    actor: actor.clone(),
                    events: vec![event],
                }));
            };
            let mut ids: Vec<FrameId> = Vec::new();
            let mut beside = observer.clone();
            let observations = observer.observe(reading, actor, entry, &mut || {
                ids.push(fresh());
                *ids.last().unwrap()
            })?;
            let mut drawn = ids.into_iter();
            let in_memory = beside.observe(tree, actor, entry, &mut || drawn.next().unwrap());
            assert_eq!(in_memory.unwrap(), observations, "{entry:?}");
            assert_eq!(beside, *observer);
            waiting.extend(observations.into_iter().map(|observation| Step {
                at: Timestamp(1),
                actor: observation.actor,
                events: observation.decision.events,
            }));
        }
    });
    for entry in recorded.unwrap() {
        tree.apply(entry);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// An index that was brought along step by step scores as one that is made at once, and as
    /// the frames themselves do.
    #[test]
    fn siblings_are_scored_as_if_they_were_read(commands in arbitrary_commands(60), step in 1usize..20) {
        let dir = tempfile::tempdir().unwrap();
        let mut store = OpenOptions::default().open(dir.path()).unwrap();
        let mut tree = Tree::default();
        let mut known = Vec::new();
        let kept = SiblingIndex::new(dir.path());
        for some in commands.chunks(step) {
            play_on(&mut store, &mut tree, &mut known, some);
            for parent in tree.frames().values() {
                let interest = Query::of(parent);
                for status in [Status::Completed, Status::Failed] {
                    let mut expected: Vec<Scored> = tree
                        .children(Some(&parent.id))
                        .filter(|child| child.status == status)
                        .map(|child| Scored {
                            score: interest.comparison().with(child).score,
                            frame: EndedFrame {
                                at: child.closed.unwrap_or(child.changed),
                                rank: child.rank,
                                id: child.id,
                            },
                        })
                        .collect();
                    expected.sort_by(|one, other| other.cmp(one));
                    store
                        .read(&mut |reading| {
                            let best = kept.best(reading, &parent.id, status, &interest, 100)?;
                            assert_eq!(best, expected);
                            let ended = reading.ended(&parent.id, status, 100)?;
                            let mut by_end = expected.clone();
                            by_end.sort_by(|one, other| other.frame.cmp(&one.frame));
                            let by_end: Vec<EndedFrame> = by_end.into_iter().map(|it| it.frame).collect();
                            assert_eq!(ended, by_end);
                            Ok(())
                        })
                        .unwrap();
                }
            }
        }
    }

    /// The same where sessions are reverted and restored, and no session is left on a frame that no
    /// longer counts.
    #[test]
    fn what_is_wound_back_is_the_fold_of_what_counts(commands in rewinding(60)) {
        let dir = tempfile::tempdir().unwrap();
        let mut store = OpenOptions::default().open(dir.path()).unwrap();
        let mut tree = Tree::default();
        let mut known = Vec::new();
        for some in commands.chunks(7) {
            play_on(&mut store, &mut tree, &mut known, some);
            assert_sound(&tree);
            assert_same(&store, &tree);
        }
        assert_same(&store, &Tree::fold(journal(&store)));
        let verified = store.verify(&mut |_, _| ()).unwrap();
        prop_assert_eq!(verified.findings, vec![]);
        store.rebuild(&mut |_, _| ()).unwrap();
        assert_same(&store, &tree);
    }

    /// Store and tree decide alike, and what the store projects step by step is what its journal
    /// folds to, in memory and by a rebuild.
    #[test]
    fn projections_are_the_fold_of_the_journal(commands in arbitrary_commands(60)) {
        let dir = tempfile::tempdir().unwrap();
        let mut store = OpenOptions::default().open(dir.path()).unwrap();
        let mut tree = Tree::default();
        play(&mut store, &mut tree, &commands);
        assert_sound(&tree);
        assert_same(&store, &tree);
        assert_same(&store, &Tree::fold(journal(&store)));
        let verified = store.verify(&mut |_, _| ()).unwrap();
        prop_assert_eq!(verified.findings, vec![]);
        store.rebuild(&mut |_, _| ()).unwrap();
        assert_same(&store, &tree);
    }
}
