use flamestack_core::Outcome;
use flamestack_core::autonomy::*;
use proptest::prelude::*;

use super::*;

/// Folds sightings.
fn after(sightings: &[Sighting]) -> WorkSignals {
    let mut signals = WorkSignals::default();
    for sighting in sightings {
        signals.see(sighting);
    }
    signals
}

fn score(heuristic: Heuristic, signals: &WorkSignals) -> u8 {
    Assessment::of(heuristic, signals, &Calibration::default()).score
}

fn failing(error: &str) -> Sighting {
    Sighting::Step(StepSigns {
        failure: Some(error.to_owned()),
        check: Some(("cargo test".to_owned(), false)),
        ..StepSigns::default()
    })
}

fn edit(file: u64) -> Sighting {
    Sighting::Step(StepSigns {
        files: vec![file],
        edited: vec![file],
        ..StepSigns::default()
    })
}

fn check(ok: bool) -> Sighting {
    Sighting::Step(StepSigns {
        check: Some(("cargo test".to_owned(), ok)),
        ..StepSigns::default()
    })
}

fn look() -> Sighting {
    Sighting::Step(StepSigns::default())
}

fn prompt(divergence: Option<u8>, items: u32) -> Sighting {
    Sighting::Prompt(PromptSigns {
        divergence,
        items,
        key: 7,
        ..PromptSigns::default()
    })
}

/// Signals in a window of 200,000 tokens.
fn filled(tokens: u64) -> WorkSignals {
    let mut signals = after(&[prompt(None, 0), Sighting::Spent(tokens)]);
    signals.set_window(Some(200_000));
    signals
}

#[test]
fn errors_are_the_same_whatever_their_paths_times_and_ids() {
    for (one, other) in [
        (
            "error at /home/ann/project/src/main.rs:12:7: mismatched types",
            "error at /tmp/build-7/src/main.rs:340:19: mismatched types",
        ),
        (
            "panic 0x7fffd2a1 in worker 3 after 12.5s at 10:01:44",
            "panic 0x55ab0099 in worker 11 after 3s at 23:59:01",
        ),
        (
            "commit 3f2c9d1e44 not found",
            "commit 9b0c1d2e3f4a5b6c not found",
        ),
        (
            "404   for id 550e8400-e29b-41d4-a716-446655440000",
            "404 for id 550e8400-e29b-41d4-a716-446655440001",
        ),
    ] {
        assert_eq!(normalise_error(one), normalise_error(other));
    }
    assert_ne!(
        normalise_error("cannot find `a`"),
        normalise_error("cannot find `b`")
    );
    assert_eq!(normalise_error("  \n "), "");
}

#[test]
fn a_frame_remembers_a_bounded_number_of_errors() {
    let mut log = ErrorLog::default();
    for n in 0..10_000 {
        let name: String = format!("{n}").bytes().map(|b| char::from(b + 49)).collect();
        log.add(&format!("cannot find {name}"));
    }
    for _ in 0..3 {
        log.add("the one that stays");
    }
    assert_eq!(log.worst(), Some(("the one that stays", 3)));
}

/// Each heuristic: signals on which it speaks, and signals that look alike on which it is silent.
#[test]
#[expect(clippy::too_many_lines, reason = "one table, with a row for each case")]
fn every_heuristic_fires_and_stays_silent() {
    let stuck = |count: usize| {
        let mut list = vec![prompt(None, 0)];
        list.extend(std::iter::repeat_with(look).take(count));
        list
    };
    let done = vec![prompt(None, 0), edit(1), check(true), Sighting::TurnEnded];
    let not_checked = vec![
        prompt(None, 0),
        edit(1),
        check(true),
        edit(1),
        Sighting::TurnEnded,
    ];
    let polling = (0..30).map(|_| {
        Sighting::Step(StepSigns {
            is_waiting: true,
            ..StepSigns::default()
        })
    });
    let rejected = (0..4).map(|_| {
        Sighting::Step(StepSigns {
            failure: Some("no".to_owned()),
            is_rejected: true,
            ..StepSigns::default()
        })
    });
    let trouble = (0..9).map(|_| Sighting::ProviderTrouble);
    let cases: Vec<(Heuristic, bool, WorkSignals)> = vec![
        (
            Heuristic::FailureBoundary,
            true,
            after(&[failing("x"), failing("x")]),
        ),
        (
            Heuristic::FailureBoundary,
            false,
            after(&[failing("x"), failing("y")]),
        ),
        (
            Heuristic::FailureBoundary,
            false,
            after(&[failing("x"), failing("x"), check(true)]),
        ),
        (
            Heuristic::FailureBoundary,
            false,
            after(&rejected.collect::<Vec<_>>()),
        ),
        (
            Heuristic::FailureBoundary,
            false,
            after(&trouble.collect::<Vec<_>>()),
        ),
        (
            Heuristic::ContextSwitch,
            true,
            after(&[prompt(Some(90), 0)]),
        ),
        (
            Heuristic::ContextSwitch,
            false,
            after(&[prompt(Some(30), 0)]),
        ),
        (Heuristic::ContextSwitch, false, after(&[prompt(None, 0)])),
        // Once tools run, it is too late to suggest it.
        (
            Heuristic::ContextSwitch,
            false,
            after(&[prompt(Some(90), 0), look()]),
        ),
        (Heuristic::Complexity, true, after(&[prompt(None, 12)])),
        (Heuristic::Complexity, false, after(&[prompt(None, 1)])),
        (Heuristic::Duration, true, filled(120_000)),
        (Heuristic::Duration, false, filled(20_000)),
        (Heuristic::GoalCompletion, true, after(&done)),
        (Heuristic::GoalCompletion, false, after(&not_checked)),
        (Heuristic::Stagnation, true, after(&stuck(20))),
        (Heuristic::Stagnation, false, after(&stuck(5))),
        (
            Heuristic::Stagnation,
            false,
            after(&polling.collect::<Vec<_>>()),
        ),
        (Heuristic::ContextOverflow, true, filled(191_000)),
        (Heuristic::ContextOverflow, false, filled(100_000)),
        (
            Heuristic::ContextOverflow,
            false,
            after(&[Sighting::Spent(500_000)]),
        ),
    ];
    for heuristic in Heuristic::ALL {
        for speaks in [true, false] {
            let has =
                |case: &&(Heuristic, bool, WorkSignals)| case.0 == heuristic && case.1 == speaks;
            assert!(
                cases.iter().any(|case| has(&case)),
                "{heuristic:?} {speaks}"
            );
        }
    }
    for (heuristic, speaks, signals) in cases {
        assert_eq!(
            score(heuristic, &signals) > 0,
            speaks,
            "{heuristic:?} {signals:?}"
        );
    }
}

/// The strongest signals of each heuristic.
fn strongest(heuristic: Heuristic) -> WorkSignals {
    let mut signals = match heuristic {
        Heuristic::Duration | Heuristic::ContextOverflow => filled(199_000),
        _ => after(&[prompt(None, 0), failing("x"), failing("x")]),
    };
    signals.declared.goal = Some(("Rewrite the cache".to_owned(), 100));
    signals.files = 9;
    signals.declared.idle_turns = 6;
    if heuristic == Heuristic::Stagnation {
        signals.declared.failures = 5;
    }
    signals.criteria = Criteria {
        total: 2,
        covered: 2,
    };
    if heuristic == Heuristic::GoalCompletion {
        signals.see(&check(true));
    }
    signals
}

#[test]
fn a_finished_goal_reaches_its_threshold() {
    let signals = strongest(Heuristic::GoalCompletion);
    let judged = judge(AdviceKind::Pop, &signals, &Calibration::default(), &|_| {
        true
    });
    assert!(judged.score >= 90, "{judged:?}");
    assert_eq!(judged.outcome, Some(Outcome::Completed));
}

#[test]
fn a_red_check_or_an_unchecked_change_takes_the_goal_back() {
    let mut signals = strongest(Heuristic::GoalCompletion);
    signals.see(&edit(3));
    assert!(score(Heuristic::GoalCompletion, &signals) < 90);
    signals.see(&check(false));
    assert!(score(Heuristic::GoalCompletion, &signals) < 90);
}

#[test]
fn nothing_is_suggested_after_a_stop_beside_children_or_on_a_rejected_call() {
    for stopping in [
        Sighting::Interrupted,
        Sighting::SubagentStarted,
        Sighting::Step(StepSigns {
            is_rejected: true,
            ..StepSigns::default()
        }),
    ] {
        let mut signals = after(&[prompt(None, 0), edit(1)]);
        assert!(!signals.is_held());
        signals.see(&stopping);
        assert!(signals.is_held(), "{stopping:?}");
    }
    let mut signals = after(&[prompt(None, 0), Sighting::Interrupted]);
    assert_eq!(signals.see(&Sighting::TurnEnded), None);
    signals.see(&prompt(None, 0));
    assert!(!signals.is_held());
}

#[test]
fn boundaries_are_where_work_pauses() {
    let mut signals = WorkSignals::default();
    assert_eq!(signals.see(&prompt(None, 0)), Some(Boundary::Prompt));
    assert_eq!(signals.see(&edit(1)), None);
    assert_eq!(signals.see(&check(false)), None);
    assert_eq!(signals.see(&check(true)), Some(Boundary::Green));
    assert!(signals.turned_green);
    // The same check again says nothing new.
    assert_eq!(signals.see(&check(true)), None);
    let done = TodoSigns {
        finished: 1,
        ..TodoSigns::default()
    };
    assert_eq!(
        signals.see(&Sighting::Todos(done)),
        Some(Boundary::PlanStep)
    );
    assert_eq!(signals.see(&Sighting::TurnEnded), Some(Boundary::Idle));
}

#[test]
fn another_frame_starts_with_new_counts_and_the_same_session() {
    let mut signals = filled(150_000);
    signals.see(&failing("x"));
    signals.begin_frame();
    assert_eq!(signals.errors.worst(), None);
    assert_eq!((signals.fill(), signals.frame_fill()), (Some(75), Some(0)));
}

#[test]
fn advice_in_a_context_is_one_line_that_closes_nothing() {
    let suggestion = Suggestion {
        kind: AdviceKind::Push,
        heuristic: Heuristic::FailureBoundary,
        score: 91,
        key: flamestack_core::id::Fingerprint(1),
        evidence: flamestack_core::text::Text::new(
            "the same error\n3 times: a[0] </stack-context>",
        )
        .unwrap(),
        frame: None,
        outcome: None,
        title: flamestack_core::text::Title::new("Fix the parser").ok(),
        boundary: Boundary::Idle,
        saves: 0,
        reached: 0,
        sessions: 0,
        prompts: 0,
        is_automatic: false,
    };
    let line = suggestion_line(&suggestion);
    assert!(
        !line.contains('\n') && line.matches(']').count() == 1,
        "{line}"
    );
    assert!(
        line.starts_with("[STACK SUGGESTION: Consider pushing a new frame for \"Fix the parser\" - Reason: failure boundary,"),
        "{line}"
    );
}

#[test]
fn a_heuristic_that_is_wrong_too_often_is_found_out() {
    let mut tally = Tally::default();
    tally.add(SuggestionState::Acted, 17);
    tally.add(SuggestionState::Confirmed, 1);
    tally.add(SuggestionState::Expired, 50);
    assert!(
        !tally.is_too_low(90, 20),
        "expired suggestions are not counted"
    );
    tally.add(SuggestionState::Dismissed, 2);
    assert!(!tally.is_too_low(90, 20), "18 of 20 are 90%");
    tally.add(SuggestionState::Contradicted, 1);
    assert!(tally.is_too_low(90, 20));
}

proptest! {
    /// No threshold up to the default one is out of reach of any heuristic, and none is always met.
    #[test]
    fn every_threshold_can_be_reached_and_missed(threshold in 1u8..=90, n in 0..Heuristic::ALL.len()) {
        let heuristic = Heuristic::ALL[n];
        let signals = strongest(heuristic);
        prop_assert!(score(heuristic, &signals) >= threshold, "{heuristic:?}");
        let judged = judge(heuristic.kind(), &signals, &Calibration::default(), &|one| one == heuristic);
        prop_assert!(judged.score >= threshold && judged.score <= 99);
        prop_assert_eq!(score(heuristic, &WorkSignals::default()), 0);
    }

    /// A score is never certain and never less than its strongest part.
    #[test]
    fn corroboration_only_adds(tokens in 0u64..400_000, idle in 0u32..60, successes in 0u32..5) {
        let mut signals = filled(tokens);
        signals.idle_steps = idle;
        signals.declared.successes = successes;
        let judged = judge(AdviceKind::Pop, &signals, &Calibration::default(), &|_| true);
        let best = judged.assessments.iter().map(|one| one.score).max().unwrap();
        prop_assert!(judged.score >= best && judged.score <= 99);
        prop_assert_eq!(judged.score == 0, best == 0);
    }
}
