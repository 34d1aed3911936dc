//! Judges signals: how sure each heuristic is, and what all of them together say.

use flamestack_core::Outcome;
use flamestack_core::autonomy::{AdviceKind, Heuristic};

use super::{Calibration, Proof, RULES, WorkSignals};

/// A heuristic that is at least this sure corroborates a stronger one.
const CORROBORATES: u8 = 50;
/// Share of the doubt that is left which each corroborating heuristic takes away, in percent.
const TAKES_AWAY: u32 = 20;

/// The answer of one heuristic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assessment {
    /// The heuristic.
    pub heuristic: Heuristic,
    /// Probability that it is right, in percent; 0 if no evidence holds.
    pub score: u8,
    /// The strongest rule that holds, by its place in [`RULES`].
    pub rule: Option<usize>,
    /// Its evidence.
    pub proof: Option<Proof>,
}

impl Assessment {
    /// Assesses signals by the rules of one heuristic.
    pub fn of(heuristic: Heuristic, signals: &WorkSignals, calibration: &Calibration) -> Self {
        let mut best = Self {
            heuristic,
            score: 0,
            rule: None,
            proof: None,
        };
        for (number, rule) in RULES.iter().enumerate() {
            if rule.heuristic != heuristic {
                continue;
            }
            let score = calibration.percent(number);
            if score > best.score
                && let Some(proof) = rule.proof(signals)
            {
                (best.score, best.rule, best.proof) = (score, Some(number), Some(proof));
            }
        }
        best
    }
}

/// The answer of several heuristics together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The advice in question.
    pub kind: AdviceKind,
    /// Probability that it is right, in percent.
    pub score: u8,
    /// The answers of all heuristics of this kind, the strongest first.
    pub assessments: Vec<Assessment>,
    /// The status that a pop means, if there is evidence for one.
    pub outcome: Option<Outcome>,
}

impl Judgement {
    /// Returns the strongest heuristic, if there is any evidence.
    pub fn strongest(&self) -> Option<&Assessment> {
        self.assessments.first().filter(|first| first.score > 0)
    }
}

/// Judges signals by the heuristics of one kind that `uses` selects. The strongest evidence decides;
/// further heuristics that are rather sure take away some of the doubt.
pub fn judge(
    kind: AdviceKind,
    signals: &WorkSignals,
    calibration: &Calibration,
    uses: &dyn Fn(Heuristic) -> bool,
) -> Judgement {
    let of_kind = Heuristic::ALL
        .into_iter()
        .filter(|heuristic| heuristic.kind() == kind && uses(*heuristic));
    let mut assessments: Vec<Assessment> = of_kind
        .map(|heuristic| Assessment::of(heuristic, signals, calibration))
        .collect();
    assessments.sort_by_key(|assessment| std::cmp::Reverse(assessment.score));
    let score = combined(&assessments);
    let strongest = assessments.first().filter(|first| first.score > 0);
    let outcome = strongest.and_then(|first| outcome(first.heuristic, signals));
    Judgement {
        kind,
        score,
        assessments,
        outcome,
    }
}

fn combined(assessments: &[Assessment]) -> u8 {
    let Some((first, others)) = assessments.split_first() else {
        return 0;
    };
    let mut doubt = 100 - u32::from(first.score.min(100));
    if first.score == 0 {
        return 0;
    }
    for other in others {
        if other.score >= CORROBORATES {
            doubt = doubt * (100 - TAKES_AWAY) / 100;
        }
    }
    // Never certain.
    u8::try_from(100 - doubt.max(1)).unwrap_or(99)
}

/// Returns the status that a pop means.
fn outcome(heuristic: Heuristic, signals: &WorkSignals) -> Option<Outcome> {
    match heuristic {
        Heuristic::GoalCompletion => Some(Outcome::Completed),
        Heuristic::Stagnation => {
            let successes = signals.declared.successes;
            let failures = signals.declared.failures.max(signals.turn.failures);
            Some(if failures > successes {
                Outcome::Failed
            } else {
                Outcome::Blocked
            })
        }
        Heuristic::ContextOverflow => Some(if signals.is_verified() {
            Outcome::Completed
        } else {
            Outcome::Blocked
        }),
        Heuristic::FailureBoundary
        | Heuristic::ContextSwitch
        | Heuristic::Complexity
        | Heuristic::Duration => None,
    }
}
