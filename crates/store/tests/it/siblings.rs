//! Parents with more finished children than are ranked.

use flamestack_core::decide::Decided;
use flamestack_core::event::{Closing, Event};
use flamestack_core::frame::{Origin, Rank, Status};
use flamestack_core::id::{FrameId, Timestamp};
use flamestack_extract::relevance::Query;
use flamestack_store::{OpenOptions, Scored, SiblingIndex, SqliteStore, Store};
use flamestack_testkit::{goal, results, shell};

const RANKED: usize = 4_096;

fn id(n: u64) -> FrameId {
    FrameId::from_entropy((n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// A parent, number 0, and finished children of it.
fn finish(store: &mut SqliteStore, numbers: std::ops::Range<u64>) {
    let mut events = Vec::new();
    for n in numbers {
        events.push(Event::FrameOpened {
            frame: id(n),
            parent: (n > 0).then(|| id(0)),
            rank: Rank(i64::try_from(n).unwrap()),
            planned: false,
            origin: Origin::Asked,
            goal: goal("Part"),
        });
        if n > 0 {
            events.push(Event::FrameClosed {
                frame: id(n),
                outcome: Closing::Completed,
                results: results("done"),
                cascaded: Vec::new(),
            });
        }
    }
    let mut events = Some(events);
    store
        .commit(Timestamp(1), &shell("main"), &mut |_| {
            Ok(Decided {
                events: events.take().unwrap_or_default(),
                remarks: Vec::new(),
            })
        })
        .unwrap();
}

fn best(store: &SqliteStore, index: &SiblingIndex) -> Vec<Scored> {
    let mut best = Vec::new();
    store
        .read(&mut |reading| {
            let parent = reading.whole_frame(&id(0))?.unwrap();
            let interest = Query::of(&parent);
            best = index.best(reading, &id(0), Status::Completed, &interest, usize::MAX)?;
            Ok(())
        })
        .unwrap();
    best
}

#[test]
fn the_newest_are_ranked_however_they_came() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = OpenOptions::default().open(dir.path()).unwrap();
    let most = RANKED as u64;
    let kept = SiblingIndex::new(dir.path());
    for numbers in [0..most, most..most + 2, most + 2..most + 40] {
        let last = numbers.end - 1;
        finish(&mut store, numbers);
        let brought_along = best(&store, &kept);
        let elsewhere = tempfile::tempdir().unwrap();
        let at_once = best(&store, &SiblingIndex::new(elsewhere.path()));
        assert_eq!(brought_along, at_once);
        let expected = usize::try_from(last).unwrap().min(RANKED);
        assert_eq!(brought_along.len(), expected);
        let oldest = last.saturating_sub(most);
        let is_there = |n: u64| brought_along.iter().any(|scored| scored.frame.id == id(n));
        assert!(is_there(last) && is_there(oldest + 1));
        assert!(!is_there(oldest));
    }
}
