//! The heuristics of autonomy on work that was recorded in the real OpenCode: each speaks on one piece of work and is
//! silent on another that looks like it.
//!
//! `tests/fixtures/signals/README.md` says how the work was recorded.

use std::sync::LazyLock;

use flamestack_core::autonomy::Heuristic;
use flamestack_engine::autonomy::heuristics::{Assessment, Calibration, RULES};

use crate::signals::{Stream, streams};

static WORK: LazyLock<Vec<Stream>> = LazyLock::new(|| {
    streams(include_str!(
        "../fixtures/signals/work-opencode-1.18.33.jsonl"
    ))
});

/// Returns the rules that speak after a piece of work, with their evidence, by heuristic.
fn spoken(name: &str) -> Vec<(Heuristic, &'static str, String)> {
    let stream = WORK.iter().find(|stream| stream.name == name).unwrap();
    let (_host, engine) = Stream::played(&stream.lines);
    let session = format!("opencode:{}", stream.session).parse().unwrap();
    let signals = engine.autonomy().signals(&session).unwrap();
    let answers = Heuristic::ALL
        .map(|heuristic| Assessment::of(heuristic, &signals, &Calibration::default()));
    let answers = answers.into_iter().filter_map(|answer| {
        let (rule, proof) = (answer.rule?, answer.proof?);
        Some((answer.heuristic, RULES[rule].name, proof.line))
    });
    answers.collect()
}

/// Each heuristic: work on which it speaks with the rule that does, and similar work on which it is silent.
const TABLE: [(Heuristic, &str, &str, &str); 12] = [
    (
        Heuristic::FailureBoundary,
        "the same failure again",
        "error 4 times",
        "a failure that is fixed",
    ),
    (
        Heuristic::FailureBoundary,
        "steps without effect",
        "error twice",
        "a provider that is busy",
    ),
    (
        Heuristic::ContextSwitch,
        "another topic",
        "other words",
        "the same topic",
    ),
    (
        Heuristic::Complexity,
        "a list of tasks",
        "list of 3",
        "a short question",
    ),
    (
        Heuristic::Complexity,
        "an item of a plan is begun",
        "item of the plan begun",
        "a plan is done",
    ),
    (
        Heuristic::Duration,
        "a full window",
        "97% of the window",
        "a short question",
    ),
    (
        Heuristic::GoalCompletion,
        "a failure that is fixed",
        "check green",
        "an edit without a check",
    ),
    (
        Heuristic::GoalCompletion,
        "a plan is done",
        "to-do list done",
        "an item of a plan is begun",
    ),
    (
        Heuristic::Stagnation,
        "steps without effect",
        "12 steps without effect and an error again",
        "steps until an edit",
    ),
    (
        Heuristic::Stagnation,
        "steps without effect",
        "12 steps without effect and an error again",
        "steps that wait",
    ),
    (
        Heuristic::ContextOverflow,
        "a full window",
        "97% full",
        "a window with room",
    ),
    (
        Heuristic::ContextOverflow,
        "a full window",
        "97% full",
        "a short question",
    ),
];

#[test]
fn every_heuristic_speaks_and_stays_silent_on_recorded_work() {
    for (heuristic, speaks_on, rule, silent_on) in TABLE {
        let spoken_on = spoken(speaks_on);
        let found = spoken_on.iter().find(|(one, ..)| *one == heuristic);
        let found = found.map(|(_, rule, _)| *rule);
        assert_eq!(found, Some(rule), "{speaks_on}: {spoken_on:?}");
        let spoken_on = spoken(silent_on);
        let found = spoken_on.iter().find(|(one, ..)| *one == heuristic);
        assert_eq!(found, None, "{silent_on}");
    }
    for heuristic in Heuristic::ALL {
        assert!(TABLE.iter().any(|row| row.0 == heuristic), "{heuristic:?}");
    }
}
