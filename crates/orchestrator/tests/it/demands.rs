//! Demands of users of orchestrators: one test per demand, with its number in the name.

use std::rc::Rc;

use crate::sim::{Death, SimPrompt, SimReply, SimStack, Simulation, Victim};
use flamestack_core::{Command, Status};
use flamestack_orchestrator::{
    Ask, AskKind, FrameOptions, FrameSetup, FrontInput, InterruptedPolicy, Limits,
    PermissionPolicy, RunAction, RunEnding, RunEvent, RunOptions, RunRecord, RunState, Spending,
    Strategy, TurnFault, TurnFinish,
};

use crate::scenario::{pop, push, simulation};

fn run_of(goal: &str, script: impl Fn(&SimPrompt) -> SimReply + 'static) -> Simulation {
    Simulation::new(goal, Rc::new(script))
}

/// A goal with some planned frames, each of which completes.
fn planned(titles: &[&str]) -> Simulation {
    let mut run = run_of("Goal", |prompt| {
        SimReply::text(&format!("FRAME_COMPLETE: {} is done", prompt.title))
    });
    let root = run.root();
    for title in titles {
        run.plan(root, title);
    }
    run
}

fn prompted(run: &Simulation, title: &str) -> usize {
    let world = run.world.borrow();
    let start = format!("{title} | ");
    let all = world.prompts();
    all.iter().filter(|line| line.starts_with(&start)).count()
}

fn status(run: &Simulation, title: &str) -> String {
    let frames = run.world.borrow().frames();
    frames
        .get(title)
        .map_or_else(String::new, |(status, _)| status.clone())
}

#[test]
fn demand_01_no_finished_frame_runs_again_on_resume() {
    for titles in [&["a", "b", "c"][..], &["a"]] {
        let mut run = planned(titles);
        let points = {
            let mut calm = planned(titles);
            calm.run(&[]).unwrap();
            calm.world.borrow().points.len() as u64
        };
        let last = Death {
            point: points - 4,
            victim: Victim::Both,
        };
        assert_eq!(run.run(&[last]).unwrap(), RunEnding::Completed);
        for title in titles {
            assert_eq!(prompted(&run, title), 1);
            assert_eq!(
                run.world.borrow().frames()[*title].1,
                format!("{title} is done")
            );
        }
    }
}

#[test]
fn demand_02_a_provider_limit_stops_dispatching_and_parks_with_its_reset_time() {
    for fault in [TurnFault::Limit, TurnFault::Credentials] {
        let mut run = run_of("Goal", move |prompt| match prompt.title.as_str() {
            "b" if prompt.answered == 0 => SimReply::failed(TurnFinish::Failed {
                fault,
                message: "usage limit reached".to_owned(),
                until: Some(99),
            }),
            _ => SimReply::text("FRAME_COMPLETE: done"),
        });
        let root = run.root();
        for title in ["a", "b", "c", "d"] {
            run.plan(root, title);
        }
        let ending = run.run(&[]).unwrap();
        let parked = RunEnding::Parked {
            reason: "usage limit reached".to_owned(),
            until: Some(99),
        };
        assert_eq!(ending, parked);
        assert_eq!((prompted(&run, "c"), prompted(&run, "d")), (0, 0));
        // The parked frame continues where it was, and nothing before it is done again.
        assert_eq!(run.once().unwrap(), RunEnding::Completed);
        assert_eq!((prompted(&run, "a"), prompted(&run, "b")), (1, 2));
    }
}

#[test]
fn demand_03_a_run_with_a_frame_without_a_result_is_never_completed() {
    let mut run = run_of("Goal", |prompt| match prompt.title.as_str() {
        "a" => SimReply::text(""),
        "Goal" => pop("completed", "all done"),
        _ => pop("blocked", "no key"),
    });
    let root = run.root();
    run.plan(root, "a");
    // An empty answer is a failure, not a negative result; the parent decides about it.
    assert_eq!(run.run(&[]).unwrap(), RunEnding::Completed);
    assert_eq!(status(&run, "a"), "failed");
    let mut run = run_of("Goal", |prompt| match prompt.title.as_str() {
        "Goal" => SimReply::text("I have nothing to say about it."),
        _ => pop("blocked", "no key"),
    });
    let root = run.root();
    run.plan(root, "a");
    let ending = run.run(&[]).unwrap();
    assert!(
        matches!(&ending, RunEnding::Blocked { on } if on.len() == 2),
        "{ending:?}"
    );
    assert!(!ending.is_complete());
}

#[test]
fn demand_04_budgets_are_checked_before_every_dispatch_per_subtree() {
    let mut run = planned(&["a", "b", "c", "d", "e", "f"]);
    run.options.limits = Limits {
        tokens: Some(450),
        ..Limits::default()
    };
    // Each turn costs 110 tokens: 80 % are reached after four, 100 % after five.
    let ending = run.run(&[]).unwrap();
    assert!(matches!(&ending, RunEnding::Parked { reason, .. } if reason.contains("tokens")));
    assert_eq!((prompted(&run, "e"), prompted(&run, "f")), (1, 0));
    let shown = run.world.borrow().shown.clone();
    let warnings = shown
        .iter()
        .filter(|one| matches!(one, RunEvent::Warning { .. }));
    assert_eq!(warnings.count(), 1);
    run.options.limits.tokens = Some(10_000);
    assert_eq!(run.once().unwrap(), RunEnding::Completed);
    assert_eq!(prompted(&run, "e"), 1);

    // A limit of one frame parks that frame and what is below it; the others continue.
    let mut run = run_of("Goal", |prompt| match prompt.title.as_str() {
        "dear" if prompt.answered == 0 => push(&["x", "y"]),
        _ => SimReply::text("FRAME_COMPLETE: done"),
    });
    let root = run.root();
    let dear = run.plan(root, "dear");
    run.plan(root, "cheap");
    run.set_up(FrameSetup {
        frame: dear,
        options: FrameOptions {
            limits: Limits {
                turns: Some(2),
                ..Limits::default()
            },
            ..FrameOptions::default()
        },
    });
    let ending = run.run(&[]).unwrap();
    assert!(matches!(ending, RunEnding::Parked { .. }), "{ending:?}");
    assert_eq!(
        (prompted(&run, "y"), status(&run, "cheap").as_str()),
        (0, "completed")
    );
}

#[test]
fn demand_04_time_is_limited_for_the_run_and_per_subtree() {
    let limit = |wall_ms: u64| Limits {
        wall_ms: Some(wall_ms),
        ..Limits::default()
    };
    let mut run = planned(&["a", "b", "c", "d", "e", "f"]);
    run.options.limits = limit(60_000);
    let ending = run.run(&[]).unwrap();
    assert!(matches!(&ending, RunEnding::Parked { reason, .. } if reason.contains(" s spent")));
    assert_eq!((prompted(&run, "a"), prompted(&run, "f")), (1, 0));

    // Time that others needed before does not count.
    let mut run = planned(&["a", "b", "c"]);
    let root = run.root();
    let slow = run.plan(root, "slow");
    for title in ["x", "y", "z"] {
        run.plan(slow, title);
    }
    run.plan(root, "cheap");
    run.set_up(FrameSetup {
        frame: slow,
        options: FrameOptions {
            limits: limit(30_000),
            ..FrameOptions::default()
        },
    });
    let ending = run.run(&[]).unwrap();
    assert!(
        matches!(&ending, RunEnding::Parked { reason, .. } if reason.contains("of 30 s spent"))
    );
    assert_eq!((prompted(&run, "x"), prompted(&run, "z")), (1, 0));
    assert_eq!(status(&run, "cheap"), "completed");
}

#[test]
fn demand_04_frames_and_levels_are_limited_and_the_session_hears_of_it() {
    let mut run = run_of("Goal", |prompt| match prompt.answered {
        0 if prompt.title == "Goal" => push(&["a", "b", "c"]),
        0 if prompt.title == "a" => push(&["deeper"]),
        _ => SimReply::text("FRAME_COMPLETE: done"),
    });
    run.options.limits = Limits {
        frames: Some(2),
        depth: Some(1),
        ..Limits::default()
    };
    assert_eq!(run.run(&[]).unwrap(), RunEnding::Completed);
    let world = run.world.borrow();
    assert_eq!(world.frames().len(), 3);
    let texts: Vec<String> = world.sessions[0].messages[2]
        .parts
        .values()
        .cloned()
        .collect();
    assert!(texts.join("\n").contains("`c` was not opened"), "{texts:?}");
}

#[test]
fn demand_05_without_a_setting_one_frame_runs_at_a_time() {
    assert_eq!(RunOptions::default().jobs, 1);
    let most_at_once = |options: RunOptions| {
        let mut run = planned(&["a", "b", "c", "d"]);
        run.options = options;
        run.run(&[]).unwrap();
        let journal = run.world.borrow().journal.clone();
        let states = (1..=journal.len()).map(|end| RunState::fold(&journal[..end]));
        states.map(|state| state.running().count()).max().unwrap()
    };
    assert_eq!(most_at_once(RunOptions::default()), 1);
    let parallel = RunOptions {
        strategy: Strategy::Parallel,
        jobs: 3,
        ..RunOptions::default()
    };
    assert_eq!(most_at_once(parallel), 3);
}

#[test]
fn demand_06_a_quiet_agent_is_never_stopped_and_a_late_result_is_accepted() {
    let mut run = run_of("Goal", |_| SimReply {
        // More than an hour of the simulated clock.
        rounds: 900,
        ..SimReply::text("FRAME_COMPLETE: late")
    });
    assert_eq!(run.run(&[]).unwrap(), RunEnding::Completed);
    let world = run.world.borrow();
    assert_eq!(world.frames()["Goal"].1, "late");
    let stops = |one: &RunRecord| {
        matches!(
            one,
            RunRecord::Intent {
                act: RunAction::Stop,
                ..
            }
        )
    };
    assert!(!world.journal.iter().any(stops));
    assert_eq!(world.started.values().sum::<u32>(), 1);
}

#[test]
fn demand_07_what_was_running_is_reattached_or_marked_interrupted_and_never_run_twice() {
    let points = {
        let mut calm = planned(&["a"]);
        calm.run(&[]).unwrap();
        calm.world.borrow().points.len() as u64
    };
    for point in 1..points {
        let mut run = planned(&["a"]);
        let death = Death {
            point,
            victim: Victim::Driver,
        };
        assert_eq!(run.run(&[death]).unwrap(), RunEnding::Completed, "{point}");
        assert!(run.world.borrow().started.values().all(|times| *times == 1));
    }
    // A turn that had used tools when the server died is not run again unasked.
    let script = |_: &SimPrompt| SimReply {
        uses_tools: true,
        rounds: 6,
        ..SimReply::text("FRAME_COMPLETE: done")
    };
    for (interrupted, has_user, completes) in [
        (InterruptedPolicy::Ask, false, false),
        (InterruptedPolicy::Ask, true, true),
        (InterruptedPolicy::Stop, true, false),
        (InterruptedPolicy::Continue, false, true),
    ] {
        let mut run = run_of("Goal", script);
        run.options.interrupted = interrupted;
        run.world.borrow_mut().has_user = has_user;
        let mut calm = run_of("Goal", script);
        calm.run(&[]).unwrap();
        let names = calm.world.borrow().points.clone();
        let waits = names
            .iter()
            .enumerate()
            .filter(|(_, (name, _))| name == "wait");
        let point = waits.map(|(place, _)| place as u64).nth(3).unwrap();
        let death = Death {
            point,
            victim: Victim::Server,
        };
        let ending = run.run(&[death]).unwrap();
        assert_eq!(
            ending.is_complete(),
            completes,
            "{interrupted:?} {ending:?}"
        );
        if !completes {
            assert!(matches!(&ending, RunEnding::Blocked { on } if on[0].contains("interrupted")));
        }
    }
}

#[test]
fn demand_08_completion_is_seen_from_the_host_not_from_a_command_of_the_model() {
    // A model that never calls a tool and never says a signal.
    let mut run = run_of("Goal", |prompt| {
        SimReply::text(&format!("{} is finished.", prompt.title))
    });
    let root = run.root();
    run.plan(root, "a");
    assert_eq!(run.run(&[]).unwrap(), RunEnding::Completed);
    assert_eq!(run.world.borrow().frames()["a"].1, "a is finished.");
    // With reminders it is asked first.
    let mut run = run_of("Goal", |_| SimReply::text("Finished."));
    run.options.reminders = 1;
    assert_eq!(run.run(&[]).unwrap(), RunEnding::Completed);
    assert_eq!(prompted(&run, "Goal"), 2);
}

fn asking() -> Simulation {
    run_of("Goal", |_| SimReply {
        ask: Some(Ask {
            id: "per".to_owned(),
            session: String::new(),
            kind: AskKind::Permission {
                permission: "bash".to_owned(),
                patterns: vec!["git push".to_owned()],
            },
        }),
        ..SimReply::text("FRAME_COMPLETE: done")
    })
}

#[test]
fn demand_09_permissions_are_answered_by_policy_or_the_user_and_never_wait_unseen() {
    let answer = |policy: PermissionPolicy, has_user: bool| {
        let mut run = asking();
        run.policy = policy;
        run.world.borrow_mut().has_user = has_user;
        assert_eq!(run.run(&[]).unwrap(), RunEnding::Completed);
        let replies = run.world.borrow().replies.clone();
        assert_eq!(replies.len(), 1);
        replies[0].split_once(' ').unwrap().1.to_owned()
    };
    // Headless without a policy: denied immediately, never allowed.
    assert!(answer(PermissionPolicy::Ask, false).starts_with("Reject"));
    assert!(answer(PermissionPolicy::Deny, true).starts_with("Reject"));
    assert_eq!(answer(PermissionPolicy::Ask, true), "Once");
    let policy = |text: &str| PermissionPolicy::parse(text).unwrap();
    assert_eq!(answer(policy("bash: git *"), false), "Once");
    assert!(answer(policy("bash: git status"), false).starts_with("Reject"));
}

#[test]
fn demand_10_giving_up_a_frame_stops_its_subtree_and_nothing_else() {
    let mut run = run_of("Goal", |prompt| match prompt.title.as_str() {
        "a" if prompt.answered == 0 => push(&["x", "y"]),
        "x" | "y" => SimReply {
            rounds: 60,
            ..SimReply::text("FRAME_COMPLETE: too late")
        },
        "b" => SimReply {
            rounds: 40,
            ..SimReply::text("FRAME_COMPLETE: b is done")
        },
        _ => SimReply::text("FRAME_COMPLETE: done"),
    });
    run.options = RunOptions {
        strategy: Strategy::Parallel,
        jobs: 4,
        ..RunOptions::default()
    };
    let root = run.root();
    let a = run.plan(root, "a");
    run.plan(root, "b");
    // The user gives up `a` while both frames below it run.
    let world = Rc::clone(&run.world);
    let both_run = move || {
        let world = world.borrow();
        let shown = world.shown.iter();
        shown.filter(|one| matches!(one, RunEvent::Prompted { title, .. } if title == "x" || title == "y")).count() == 2
    };
    let mut ended = None;
    for _ in 0..100 {
        let point = run.world.borrow().points.len() as u64 + 40;
        let death = Death {
            point,
            victim: Victim::Driver,
        };
        run.world.borrow_mut().deaths_at(&[death]);
        drop(run.once());
        if std::mem::take(&mut run.world.borrow_mut().dead) && both_run() {
            let mut stack = SimStack::new(&run.world);
            let reason = flamestack_core::Text::new("not needed").unwrap();
            let command = Command::Invalidate {
                frame: Some(a),
                reason,
            };
            stack.change(&crate::sim::user(), &command).unwrap();
            ended = Some(run.once());
            break;
        }
    }
    assert_eq!(ended.unwrap().unwrap(), RunEnding::Completed);
    for title in ["a", "x", "y"] {
        assert_eq!(status(&run, title), Status::Invalidated.as_str(), "{title}");
    }
    assert_eq!(run.world.borrow().frames()["b"].1, "b is done");
    let journal = run.world.borrow().journal.clone();
    let stops = journal.iter().filter(|one| {
        matches!(
            one,
            RunRecord::Intent {
                act: RunAction::Stop,
                ..
            }
        )
    });
    assert_eq!(stops.count(), 2);
}

#[test]
fn demand_11_a_failure_says_what_happened_what_it_cost_and_what_can_be_done() {
    let mut run = run_of("Goal", |prompt| match prompt.title.as_str() {
        "a" => pop("failed", "the format is unknown"),
        _ => pop("completed", "done without it"),
    });
    let root = run.root();
    run.plan(root, "a");
    assert_eq!(run.run(&[]).unwrap(), RunEnding::Completed);
    let world = run.world.borrow();
    let root_session = world
        .sessions
        .iter()
        .find(|one| one.title == "Goal")
        .unwrap();
    let prompt = &root_session.messages.last().unwrap().parts;
    let text: Vec<&String> = prompt.values().collect();
    let first = text[0].replace(world.frame_id("a").as_str(), "ID");
    insta::assert_snapshot!(first, @r"
    ## Child frame failed: a (ID)

    the format is unknown
    ");
    let state = RunState::fold(&world.journal);
    let spent: Spending = state
        .frames
        .values()
        .fold(Spending::default(), |mut all, frame| {
            all.add(&frame.spent);
            all
        });
    // Two attempts and the goal's own turn.
    assert_eq!((spent.turns, spent.tokens()), (3, 330));
    // The second attempt knows why the first failed.
    let second = world
        .sessions
        .iter()
        .find(|one| one.title == "a" && one.key.2 == 2)
        .unwrap();
    let text: Vec<&String> = second.messages.last().unwrap().parts.values().collect();
    assert!(text[0].contains("This is attempt 2. Attempt 1 did not work: the format is unknown"));
}

#[test]
fn demand_12_a_running_frame_hears_the_user_at_its_next_step() {
    let mut run = run_of("Goal", |_| SimReply {
        rounds: 12,
        ..SimReply::text("FRAME_COMPLETE: done")
    });
    let say = FrontInput::Say {
        frame: None,
        text: "Use port 8080.".to_owned(),
    };
    // After the prompt was sent.
    run.world.borrow_mut().inputs.push_back((4, say));
    assert_eq!(run.run(&[]).unwrap(), RunEnding::Completed);
    let world = run.world.borrow();
    let texts: Vec<&String> = world.sessions[0]
        .messages
        .iter()
        .flat_map(|one| one.parts.values())
        .collect();
    assert_eq!(texts.last().unwrap().as_str(), "Use port 8080.");
}

#[test]
fn a_pause_waits_for_what_runs_and_can_be_resumed() {
    let mut run = simulation();
    run.world
        .borrow_mut()
        .inputs
        .push_back((10, FrontInput::Pause));
    assert_eq!(run.run(&[]).unwrap(), RunEnding::Paused);
    assert_eq!(run.once().unwrap(), RunEnding::Completed);
    let mut calm = simulation();
    calm.run(&[]).unwrap();
    assert_eq!(run.world.borrow().frames(), calm.world.borrow().frames());
}

#[test]
fn a_stop_ends_at_once_and_the_stopped_frame_goes_on_later() {
    let mut run = simulation();
    run.world
        .borrow_mut()
        .inputs
        .push_back((10, FrontInput::Stop));
    assert_eq!(run.run(&[]).unwrap(), RunEnding::Paused);
    assert_eq!(run.once().unwrap(), RunEnding::Completed);
    let mut calm = simulation();
    calm.run(&[]).unwrap();
    assert_eq!(run.world.borrow().frames(), calm.world.borrow().frames());
}

#[test]
fn free_starts_only_what_the_parent_asks_for() {
    let mut run = run_of("Goal", |prompt| {
        match (prompt.title.as_str(), prompt.answered) {
            ("Goal", 0) => crate::scenario::calls(vec![crate::scenario::call(
                "frame_activate",
                serde_json::json!({"frameID": "b"}),
            )]),
            ("Goal", 1) => crate::scenario::calls(vec![
                crate::scenario::call(
                    "frame_invalidate",
                    serde_json::json!({"frameID": "a", "reason": "not needed"}),
                ),
                crate::scenario::call(
                    "frame_pop",
                    serde_json::json!({"status": "completed", "results": "b is enough"}),
                ),
            ]),
            _ => SimReply::text("FRAME_COMPLETE: done"),
        }
    });
    run.options.strategy = Strategy::Free;
    let root = run.root();
    run.plan(root, "a");
    run.plan(root, "b");
    assert_eq!(run.run(&[]).unwrap(), RunEnding::Completed);
    assert_eq!(
        (status(&run, "a").as_str(), status(&run, "b").as_str()),
        ("invalidated", "completed")
    );
}
