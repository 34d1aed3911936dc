//! The crash matrix: every point of the run of twelve frames, each victim.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::rc::Rc;

use crate::sim::{Death, Moment, SimPrompt, SimReply, Simulation, Victim, World};
use flamestack_orchestrator::{FrontInput, InterruptedPolicy, RunEnding, RunEvent, RunRecord};

use crate::scenario::simulation;

const VICTIMS: [Victim; 3] = [Victim::Driver, Victim::Server, Victim::Both];
const MOMENTS: [Moment; 3] = [Moment::Before, Moment::During, Moment::After];

/// Deaths by step, victim and moment, and what must not come of them.
#[derive(Default)]
struct Matrix {
    deaths: BTreeMap<String, BTreeMap<(Victim, Moment), u32>>,
    prompts_twice: u32,
    lost: u32,
    executed_again: u32,
    other_trees: u32,
    continued: u32,
}

impl Matrix {
    fn count(&self, step: &str, victim: Victim, moment: Moment) -> u32 {
        let found = self
            .deaths
            .get(step)
            .and_then(|row| row.get(&(victim, moment)));
        found.copied().unwrap_or_default()
    }

    fn all(&self) -> u32 {
        self.deaths.values().flat_map(BTreeMap::values).sum()
    }
}

impl fmt::Display for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cells = || {
            VICTIMS
                .into_iter()
                .flat_map(|victim| MOMENTS.map(|moment| (victim, moment)))
        };
        write!(f, "| step |")?;
        for (victim, moment) in cells() {
            write!(
                f,
                " {} {} |",
                format!("{victim:?}").to_lowercase(),
                format!("{moment:?}").to_lowercase()
            )?;
        }
        writeln!(f, "\n|---|{}", "---:|".repeat(cells().count()))?;
        for step in self.deaths.keys() {
            write!(f, "| {step} |")?;
            for (victim, moment) in cells() {
                write!(f, " {} |", self.count(step, victim, moment))?;
            }
            writeln!(f)?;
        }
        writeln!(
            f,
            "\n{} deaths: {} prompts sent twice, {} results lost, {} frames executed again, {} other final trees; {} turns continued after unknown effects",
            self.all(),
            self.prompts_twice,
            self.lost,
            self.executed_again,
            self.other_trees,
            self.continued,
        )
    }
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
    let results = |world: &World| {
        let frames = world.frames();
        frames.values().filter(|(_, text)| !text.is_empty()).count()
    };
    let mut matrix = Matrix::default();
    for (point, (step, moment)) in (1..).zip(&calm.points) {
        for victim in VICTIMS {
            let mut run = simulation();
            let ending = run.run(&[Death { point, victim }]);
            let world = run.world.borrow();
            let place = || format!("{victim:?} died {moment:?} {step} (point {point})");
            assert_eq!(ending.unwrap(), RunEnding::Completed, "{}", place());
            let row = matrix.deaths.entry(step.clone()).or_default();
            *row.entry((victim, *moment)).or_default() += 1;
            if world.frames() != calm.frames() {
                matrix.other_trees += 1;
                eprintln!("{}: {:?}", place(), world.frames());
            }
            matrix.lost += u32::from(results(&world) < results(&calm));
            matrix.executed_again += world.repeated;
            let cut = |line: &&String| line.contains("interrupted by a crash");
            let (after, before) = (world.prompts(), calm.prompts());
            let continued = after.iter().filter(cut).count();
            matrix.continued += u32::try_from(continued).unwrap();
            let rest: Vec<&String> = after.iter().filter(|line| !cut(line)).collect();
            if rest != before.iter().collect::<Vec<_>>() {
                matrix.prompts_twice += 1;
                eprintln!("{}: {rest:#?}", place());
            }
            // Without a dead server no turn is started a second time.
            if victim == Victim::Driver {
                assert_eq!(continued, 0, "{}", place());
                assert!(world.started.values().all(|runs| *runs == 1), "{}", place());
            }
        }
    }
    println!("{matrix}");
    let faults = [
        matrix.prompts_twice,
        matrix.lost,
        matrix.executed_again,
        matrix.other_trees,
    ];
    assert_eq!(faults, [0; 4], "{matrix}");
    // Every line of the journal, by every victim, at every moment.
    for victim in VICTIMS {
        for moment in MOMENTS {
            let journal = matrix
                .deaths
                .keys()
                .filter(|step| step.starts_with("journal"));
            let deaths: u32 = journal.map(|step| matrix.count(step, victim, moment)).sum();
            let lines = calm.journal.len();
            assert_eq!(
                usize::try_from(deaths).unwrap(),
                lines,
                "{victim:?} {moment:?}"
            );
        }
    }
}

/// A run whose user says something to a running frame, stops everything, and goes on.
fn with_a_user(deaths: &[Death]) -> Simulation {
    let script = |prompt: &SimPrompt| SimReply {
        rounds: 6,
        ..SimReply::text(&format!("FRAME_COMPLETE: {} is done", prompt.title))
    };
    let mut run = Simulation::new("Goal", Rc::new(script));
    let root = run.root();
    run.plan(root, "a");
    run.plan(root, "b");
    let say = FrontInput::Say {
        frame: None,
        text: "Use port 8080.".to_owned(),
    };
    run.options.interrupted = InterruptedPolicy::Continue;
    {
        let mut world = run.world.borrow_mut();
        world.inputs.push_back((4, say));
        world.inputs.push_back((10, FrontInput::Stop));
        world.deaths_at(deaths);
    }
    while !run.once().is_ok_and(|ending| ending.is_complete()) {
        run.world.borrow_mut().dead = false;
    }
    run
}

#[test]
fn crash_matrix_of_a_run_with_a_user() {
    let calm = with_a_user(&[]);
    let calm = calm.world.borrow();
    let said = |world: &World| {
        let messages = world.sessions.iter().flat_map(|one| &one.messages);
        let texts = messages.flat_map(|one| one.parts.values());
        texts.filter(|text| text.contains("Use port 8080.")).count()
    };
    let names: BTreeSet<&str> = calm.points.iter().map(|(name, _)| name.as_str()).collect();
    for step in [
        "spoken",
        "intent, say",
        "outcome, say",
        "intent, stop",
        "outcome, stop",
        "ended",
        "resumed",
    ] {
        assert!(
            names.contains(format!("journal: {step}").as_str()),
            "{step}: {names:?}"
        );
    }
    assert_eq!(said(&calm), 1);
    for (point, (step, moment)) in (1..).zip(&calm.points) {
        for victim in VICTIMS {
            let run = with_a_user(&[Death { point, victim }]);
            let world = run.world.borrow();
            let place = format!("{victim:?} died {moment:?} {step} (point {point})");
            assert_eq!(world.frames(), calm.frames(), "{place}");
            assert_eq!(world.repeated, 0, "{place}");
            // A message that died with the driver before it was recorded is lost, as the user sees.
            let is_recorded = world
                .journal
                .iter()
                .any(|one| matches!(one, RunRecord::Spoken { .. }));
            assert_eq!(said(&world), usize::from(is_recorded), "{place}");
        }
    }
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
