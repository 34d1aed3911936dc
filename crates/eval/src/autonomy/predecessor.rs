//! The predecessor's formulas, which ours are compared with.

use flamestack_engine::autonomy::heuristics::WorkSignals;

/// Scores of at least this much are suggestions.
const PUSH: u64 = 70;
const POP: u64 = 80;

/// Returns true if the mean of the predecessor's push heuristics reaches its threshold. The newest
/// message stands for the new goal.
pub(super) fn push(signals: &WorkSignals) -> bool {
    let files = u64::from(signals.files);
    let messages = u64::from(signals.messages + signals.steps);
    let tokens = signals.tokens.unwrap_or_default();
    let has_goal = signals.prompt.divergence.is_some();
    let failure = (15 * u64::from(signals.turn.failures)).min(50) + if has_goal { 30 } else { 0 };
    let switch = u64::from(signals.prompt.divergence.unwrap_or_default()) * 60 / 100
        + steps(files, &[(4, 20), (2, 10)]);
    let complexity =
        steps(messages, &[(21, 40), (11, 25), (6, 10)]) + steps(files, &[(6, 30), (3, 15)]);
    let duration = steps(
        tokens,
        &[(50_001, 70), (30_001, 50), (15_001, 30), (5_001, 15)],
    );
    (failure + switch + complexity + duration) / 4 >= PUSH
}

/// Returns true if the mean of the predecessor's pop heuristics reaches its threshold.
pub(super) fn pop(signals: &WorkSignals) -> bool {
    let successes = u64::from(signals.is_verified());
    let completion = (20 * successes).min(60) + (10 * u64::from(signals.artifacts)).min(30);
    let idle = u64::from(signals.idle_steps);
    let stagnation = steps(idle, &[(6, 70), (4, 40), (2, 20)])
        + steps(u64::from(signals.turn.failures), &[(4, 40), (2, 20)]);
    // Its window is always 100,000 tokens.
    let fill = signals.tokens.unwrap_or_default() / 1_000;
    let overflow = steps(fill, &[(91, 90), (81, 70), (71, 50), (51, 20)]);
    (completion + stagnation + overflow) / 3 >= POP
}

/// Returns the points of the first step that a number reaches.
fn steps(number: u64, steps: &[(u64, u64)]) -> u64 {
    let reached = steps.iter().find(|(least, _)| number >= *least);
    reached.map_or(0, |(_, points)| *points)
}
