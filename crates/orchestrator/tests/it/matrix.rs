//! The crash matrix: every point of the run of twelve frames, each victim.

use std::collections::BTreeMap;

use flamestack_orchestrator::sim::{Death, Moment, Victim};
use flamestack_orchestrator::{RunEnding, RunEvent};

use crate::scenario::simulation;

/// Figures of a column of the matrix.
#[derive(Default)]
struct Column {
    crashes: u32,
    prompts_twice: u32,
    lost: u32,
    executed_again: u32,
    other_trees: u32,
    continued: u32,
}

#[test]
fn twelve_frames_end_in_the_expected_tree() {
    let mut run = simulation();
    assert_eq!(run.run(&[]).unwrap(), RunEnding::Completed);
    let world = run.world.borrow();
    let frames = world.frames();
    let lines: Vec<String> = frames
        .iter()
        .map(|(title, (status, results))| format!("{title}: {status} {results}"))
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    API: completed the API answers
    Auth: completed tokens expire
    Build the shop: completed the shop is built
    Docs: completed The docs are written.
    Limits: completed limits hold
    New importer: completed New importer works
    Old importer: failed the format is unknown
    Read routes: completed Read routes works
    Routes: completed all routes answer
    Schema: completed Schema works
    Screenshots: invalidated 
    Write routes: completed Write routes works
    ");
    insta::assert_snapshot!(world.prompts().join("\n"), @r"
    API | Begin work on: API
    API | Continue with: API
    API | Continue with: API
    Auth | Begin work on: Auth
    Auth | Begin work on: Auth
    Build the shop | Begin work on: Build the shop
    Build the shop | Continue with: Build the shop
    Docs | Begin work on: Docs
    Limits | Begin work on: Limits
    Limits | `Limits` is no longer blocked. Check what it waited for, then continue.
    New importer | Begin work on: New importer
    Old importer | Begin work on: Old importer
    Old importer | Begin work on: Old importer
    Read routes | Begin work on: Read routes
    Routes | Begin work on: Routes
    Routes | Continue with: Routes
    Schema | Begin work on: Schema
    Write routes | Begin work on: Write routes
    ");
}

#[test]
fn crash_matrix_of_every_step() {
    let mut calm = simulation();
    calm.run(&[]).unwrap();
    let calm = calm.world.borrow();
    let points = calm.points.len() as u64;
    let mut columns: BTreeMap<(Victim, Moment), Column> = BTreeMap::new();
    for victim in [Victim::Driver, Victim::Server, Victim::Both] {
        for point in 1..=points {
            let mut run = simulation();
            let ending = run.run(&[Death { point, victim }]);
            let world = run.world.borrow();
            let (name, moment) = &calm.points[usize::try_from(point).unwrap() - 1];
            let place = || format!("{victim:?} died {moment:?} {name} (point {point})");
            assert_eq!(ending.unwrap(), RunEnding::Completed, "{}", place());
            let column = columns.entry((victim, *moment)).or_default();
            column.crashes += 1;
            if world.frames() != calm.frames() {
                column.other_trees += 1;
                eprintln!("{}: {:?}", place(), world.frames());
            }
            let results = |world: &flamestack_orchestrator::sim::World| {
                let frames = world.frames();
                frames.values().filter(|(_, text)| !text.is_empty()).count()
            };
            column.lost += u32::from(results(&world) < results(&calm));
            column.executed_again += world.repeated;
            let cut = |line: &&String| line.contains("interrupted by a crash");
            let (after, before) = (world.prompts(), calm.prompts());
            let continued = after.iter().filter(cut).count();
            column.continued += u32::try_from(continued).unwrap();
            let rest: Vec<&String> = after.iter().filter(|line| !cut(line)).collect();
            if rest != before.iter().collect::<Vec<_>>() {
                column.prompts_twice += 1;
                eprintln!("{}: {rest:#?}", place());
            }
            // Without a dead server no turn is started a second time.
            if victim == Victim::Driver {
                assert_eq!(continued, 0, "{}", place());
                assert!(world.started.values().all(|runs| *runs == 1), "{}", place());
            }
        }
    }
    let mut table = String::from(
        "victim | moment | crashes | prompts twice | results lost | executed again | other trees | continued\n",
    );
    for ((victim, moment), column) in &columns {
        table.push_str(&format!(
            "{victim:?} | {moment:?} | {} | {} | {} | {} | {} | {}\n",
            column.crashes,
            column.prompts_twice,
            column.lost,
            column.executed_again,
            column.other_trees,
            column.continued,
        ));
    }
    println!("{table}");
    for ((victim, moment), column) in &columns {
        let faults = [
            column.prompts_twice,
            column.lost,
            column.executed_again,
            column.other_trees,
        ];
        assert_eq!(faults, [0; 4], "{victim:?} {moment:?}\n{table}");
    }
    let crashes: u32 = columns.values().map(|column| column.crashes).sum();
    assert!(crashes > 900, "{crashes}");
}

#[test]
fn a_server_that_stays_away_parks_the_run() {
    let mut run = simulation();
    run.world.borrow_mut().stays_away = true;
    let death = Death {
        point: 60,
        victim: Victim::Server,
    };
    let ending = run.run(&[death]).unwrap();
    assert!(matches!(ending, RunEnding::Parked { .. }), "{ending:?}");
    let shown = run.world.borrow().shown.clone();
    assert!(
        shown
            .iter()
            .any(|one| matches!(one, RunEvent::Parked { frame: None, .. }))
    );
    run.world.borrow_mut().server_is_back();
    assert_eq!(run.once().unwrap(), RunEnding::Completed);
}
