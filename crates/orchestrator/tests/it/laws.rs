//! Laws under any number of crashes at any points.

use std::sync::OnceLock;

use crate::sim::{Death, Victim};
use flamestack_orchestrator::RunEnding;
use proptest::prelude::*;

use crate::scenario::simulation;

/// Frames and prompts of a run without crashes.
fn calm() -> &'static (Vec<String>, Vec<String>, u64) {
    static CALM: OnceLock<(Vec<String>, Vec<String>, u64)> = OnceLock::new();
    CALM.get_or_init(|| {
        let mut run = simulation();
        drop(run.run(&[]));
        let world = run.world.borrow();
        let frames = world
            .frames()
            .iter()
            .map(|one| format!("{one:?}"))
            .collect();
        (frames, world.prompts(), world.points.len() as u64)
    })
}

fn deaths() -> impl Strategy<Value = Vec<Death>> {
    let victim = prop_oneof![
        Just(Victim::Driver),
        Just(Victim::Server),
        Just(Victim::Both)
    ];
    let gaps = prop::collection::vec((1..120_u64, victim), 0..12);
    gaps.prop_map(|gaps| {
        let mut point = 0;
        let place = |(gap, victim)| {
            point += gap;
            Death { point, victim }
        };
        gaps.into_iter().map(place).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn nothing_is_lost_or_done_twice_whatever_dies(deaths in deaths()) {
        let mut run = simulation();
        let ending = run.run(&deaths);
        prop_assert_eq!(ending.unwrap(), RunEnding::Completed);
        let world = run.world.borrow();
        let (frames, prompts, _) = calm();
        let found: Vec<String> = world.frames().iter().map(|one| format!("{one:?}")).collect();
        prop_assert_eq!(&found, frames);
        prop_assert_eq!(world.repeated, 0);
        let cut = |line: &&String| line.contains("interrupted by a crash");
        let rest: Vec<String> = world.prompts().iter().filter(|line| !cut(line)).cloned().collect();
        prop_assert_eq!(&rest, prompts);
        // A message and each of its parts are in a session once.
        for session in &world.sessions {
            let mut ids: Vec<&String> = session.messages.iter().map(|one| &one.id).collect();
            ids.sort();
            let all = ids.len();
            ids.dedup();
            prop_assert_eq!(ids.len(), all);
        }
    }
}
