//! Rules: pieces of evidence, each with the probability that advice on it is right.
//!
//! Counts are from `flame eval autonomy` on recorded sessions: how often a rule held at a boundary,
//! and how often what followed confirmed it. Rules about what a caller or a host declares, and about
//! criteria, cannot be measured there; their probability follows from their definition.

use flamestack_core::autonomy::Heuristic;

use super::WorkSignals;
use super::signals::{Criteria, Declared, TodoSigns};

/// Evidence that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// The evidence for people.
    pub line: String,
    /// Identifies it: the same evidence is suggested once.
    pub key: u64,
}

/// Source of a rule's probability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Counted on recorded sessions.
    Measured {
        /// Cases that what followed confirmed.
        right: u32,
        /// All cases.
        cases: u32,
    },
    /// Given by the meaning of the rule, in percent.
    Defined(u8),
}

impl Basis {
    /// Returns the probability in percent, never 0 or 100: a rule that was right twice is not certain.
    pub fn percent(self) -> u8 {
        match self {
            Self::Measured { right, cases } => {
                let share = (u64::from(right) + 1) * 100 / (u64::from(cases) + 2);
                u8::try_from(share).unwrap_or(99).clamp(1, 99)
            }
            Self::Defined(percent) => percent.clamp(1, 99),
        }
    }
}

/// A piece of evidence.
#[derive(Debug)]
pub struct AdviceRule {
    /// Its name, which the tables of `flame eval autonomy` list.
    pub name: &'static str,
    /// The heuristic that it belongs to.
    pub heuristic: Heuristic,
    /// Source of its probability.
    pub basis: Basis,
    /// Returns the evidence if the rule holds.
    holds: fn(&WorkSignals) -> Option<Proof>,
}

impl AdviceRule {
    /// Returns the evidence if the rule holds.
    pub fn proof(&self, signals: &WorkSignals) -> Option<Proof> {
        (self.holds)(signals)
    }
}

/// Probabilities of all rules, in the order of [`RULES`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calibration(Vec<u8>);

impl Default for Calibration {
    /// Returns the probabilities that are built in.
    fn default() -> Self {
        Self(RULES.iter().map(|rule| rule.basis.percent()).collect())
    }
}

impl Calibration {
    /// Fits the rules to other counts: confirmed cases and all cases of each. Rules that follow from
    /// their definition, and those without any case, keep their probability.
    pub fn fitted(counts: &[(u32, u32)]) -> Self {
        let percents = RULES.iter().enumerate().map(|(n, rule)| {
            let basis = match (rule.basis, counts.get(n)) {
                (Basis::Measured { .. }, Some((right, cases))) if *cases > 0 => Basis::Measured {
                    right: *right,
                    cases: *cases,
                },
                (basis, _) => basis,
            };
            basis.percent()
        });
        Self(percents.collect())
    }

    /// Returns the probability of a rule by its place in [`RULES`], in percent.
    pub fn percent(&self, rule: usize) -> u8 {
        self.0.get(rule).copied().unwrap_or_default()
    }
}

const fn measured(right: u32, cases: u32) -> Basis {
    Basis::Measured { right, cases }
}

macro_rules! rules {
    ($($heuristic:ident $name:literal $basis:expr, $holds:expr;)+) => {
        /// All rules.
        pub const RULES: &[AdviceRule] = &[$(AdviceRule {
            name: $name,
            heuristic: Heuristic::$heuristic,
            basis: $basis,
            holds: $holds,
        }),+];
    };
}

rules! {
    FailureBoundary "error twice" measured(7, 21), |s| repeated(s, 2);
    FailureBoundary "error 3 times" measured(2, 3), |s| repeated(s, 3);
    FailureBoundary "error 4 times" measured(2, 2), |s| repeated(s, 4);
    FailureBoundary "many failures" measured(12, 34), many_failures;
    FailureBoundary "error with a goal of its own" Basis::Defined(90), declared_failure;
    ContextSwitch "other words" measured(30, 149), |s| diverging(s, 60);
    ContextSwitch "other words, hardly any known" measured(4, 27), |s| diverging(s, 85);
    ContextSwitch "other files" measured(2, 12), other_files;
    ContextSwitch "other words after a commit" measured(4, 25), after_commit;
    ContextSwitch "goal of its own" Basis::Defined(75), |s| declared_goal(s, 50);
    ContextSwitch "unrelated goal of its own" Basis::Defined(90), |s| declared_goal(s, 80);
    Complexity "list of 3" measured(35, 97), |s| listed(s, 3);
    Complexity "list of 10" measured(22, 44), |s| listed(s, 10);
    Complexity "40 steps" measured(129, 456), |s| busy(s, 40, 0);
    Complexity "40 steps in 10 files" measured(105, 312), |s| busy(s, 40, 10);
    Complexity "item of the plan begun" measured(98, 149), item_begun;
    Complexity "goal of its own in long work" Basis::Defined(90), declared_part;
    Duration "quarter of the window" measured(55, 187), |s| long(s, 25);
    Duration "half of the window" measured(69, 143), |s| long(s, 50);
    Duration "80% of the window" measured(74, 96), |s| long(s, 80);
    Duration "90% of the window" measured(61, 68), |s| long(s, 90);
    Duration "97% of the window" measured(45, 48), |s| long(s, 97);
    GoalCompletion "check green" measured(139, 418), green;
    GoalCompletion "committed" measured(64, 153), committed;
    GoalCompletion "only committed" measured(0, 3), only_committed;
    GoalCompletion "to-do list done" measured(15, 72), list_done;
    GoalCompletion "signs of success" Basis::Defined(80), declared_success;
    GoalCompletion "criteria met" Basis::Defined(95), criteria_met;
    GoalCompletion "host says so" Basis::Defined(97), ended_by_host;
    Stagnation "12 steps without effect" measured(29, 70), |s| idle(s, 12, 0);
    Stagnation "20 steps without effect" measured(12, 36), |s| idle(s, 20, 0);
    Stagnation "40 steps without effect" measured(4, 11), |s| idle(s, 40, 0);
    Stagnation "12 steps without effect and an error again" measured(5, 9), |s| idle(s, 12, 2);
    Stagnation "turns without progress" Basis::Defined(75), declared_idle;
    Stagnation "turns without progress and failures" Basis::Defined(90), declared_stuck;
    ContextOverflow "70% full" measured(76, 106), |s| full(s, 70);
    ContextOverflow "80% full" measured(74, 96), |s| full(s, 80);
    ContextOverflow "85% full" measured(68, 80), |s| full(s, 85);
    ContextOverflow "90% full" measured(61, 68), |s| full(s, 90);
    ContextOverflow "97% full" measured(45, 48), |s| full(s, 97);
}

fn proof(line: String, key: &[&str]) -> Proof {
    Proof {
        line,
        key: fingerprint(key),
    }
}

/// Returns a fingerprint of texts (FNV-1a), the same on every machine and in every version.
pub fn fingerprint(parts: &[&str]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in parts.iter().flat_map(|part| part.bytes().chain([0])) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash
}

fn repeated(signals: &WorkSignals, times: u32) -> Option<Proof> {
    let (error, count) = signals.errors.worst()?;
    let line = format!("the same error {count} times: {error}");
    (count >= times).then(|| proof(line, &["error", &super::normalise_error(error)]))
}

fn many_failures(signals: &WorkSignals) -> Option<Proof> {
    let failures = signals.turn.failures;
    let line = format!("{failures} calls failed in this turn");
    let key = signals.prompt.key.to_string();
    (failures >= 5).then(|| proof(line, &["failures", &key]))
}

fn declared_failure(signals: &WorkSignals) -> Option<Proof> {
    let (goal, _) = signals.declared.goal.as_ref()?;
    let failures = signals.turn.failures.max(signals.declared.failures);
    let line = format!("{failures} errors, and a goal of its own: {goal}");
    (failures >= 2).then(|| proof(line, &["goal", goal]))
}

fn diverging(signals: &WorkSignals, percent: u8) -> Option<Proof> {
    let divergence = signals.prompt.divergence?;
    let line = format!("{divergence}% of the words of the newest message are new to this work");
    let key = signals.prompt.key.to_string();
    (divergence >= percent && signals.turn.steps == 0).then(|| proof(line, &["switch", &key]))
}

fn other_files(signals: &WorkSignals) -> Option<Proof> {
    let signs = signals.prompt;
    let line = "the newest message names files, none of which this work has touched".to_owned();
    let key = signs.key.to_string();
    let other = signs.names_other_files && signs.divergence.is_some_and(|percent| percent >= 60);
    (other && signals.turn.steps == 0 && signals.files >= 3).then(|| proof(line, &["switch", &key]))
}

fn after_commit(signals: &WorkSignals) -> Option<Proof> {
    let is_committed = signals.commits > 0 && !signals.has_uncommitted;
    let found = diverging(signals, 60).filter(|_| is_committed)?;
    let line = format!("everything is committed, and {}", found.line);
    Some(Proof { line, ..found })
}

fn declared_goal(signals: &WorkSignals, percent: u8) -> Option<Proof> {
    let (goal, divergence) = signals.declared.goal.as_ref()?;
    let line = format!(
        "a goal that shares {}% of its words: {goal}",
        100 - divergence.min(&100)
    );
    (*divergence >= percent).then(|| proof(line, &["goal", goal]))
}

fn listed(signals: &WorkSignals, items: u32) -> Option<Proof> {
    let found = signals.prompt.items;
    let line = format!("the newest message lists {found} items");
    let key = signals.prompt.key.to_string();
    (found >= items && signals.turn.steps == 0).then(|| proof(line, &["list", &key]))
}

fn busy(signals: &WorkSignals, steps: u32, files: u32) -> Option<Proof> {
    let line = format!(
        "{} steps in {} files and {} folders",
        signals.steps, signals.files, signals.folders
    );
    // Another suggestion is due after as many steps again.
    let key = (signals.steps / steps.max(1)).to_string();
    (signals.steps >= steps && signals.files >= files).then(|| proof(line, &["steps", &key]))
}

fn item_begun(signals: &WorkSignals) -> Option<Proof> {
    let TodoSigns {
        begun, done, open, ..
    } = signals.todos;
    let line = format!("an item of the to-do list was begun ({done} done, {open} open)");
    let key = format!("{done}/{open}");
    (begun > 0 && open > 1).then(|| proof(line, &["item", &key]))
}

fn declared_part(signals: &WorkSignals) -> Option<Proof> {
    let (goal, _) = signals.declared.goal.as_ref()?;
    let is_long = signals.messages > 20 || signals.files > 5 || signals.steps > 40;
    let line = format!(
        "{} messages, {} steps and {} files, and a goal of its own: {goal}",
        signals.messages, signals.steps, signals.files
    );
    is_long.then(|| proof(line, &["goal", goal]))
}

fn long(signals: &WorkSignals, percent: u64) -> Option<Proof> {
    let fill = signals.frame_fill()?;
    let line = format!("this work takes {fill}% of the window");
    let key = signals.compactions.to_string();
    (fill >= percent).then(|| proof(line, &["long", &key]))
}

fn green(signals: &WorkSignals) -> Option<Proof> {
    let check = signals.last_check.as_ref().filter(|check| check.ok)?;
    let line = format!("`{}` succeeds, and nothing changed since", check.name);
    let key = format!("{} {}", signals.artifacts, signals.steps);
    let is_done = signals.turn.is_ended && signals.artifacts > 0 && !signals.has_unchecked;
    is_done.then(|| proof(line, &["green", &key]))
}

fn committed(signals: &WorkSignals) -> Option<Proof> {
    let line = format!("{} commits, and nothing changed since", signals.commits);
    let key = signals.commits.to_string();
    let is_done = signals.turn.is_ended && signals.turn.commits > 0 && !signals.has_uncommitted;
    is_done.then(|| proof(line, &["committed", &key]))
}

fn only_committed(signals: &WorkSignals) -> Option<Proof> {
    let found = committed(signals).filter(|_| signals.turn.edits == 0)?;
    let line = "the last turn only committed".to_owned();
    Some(Proof { line, ..found })
}

fn list_done(signals: &WorkSignals) -> Option<Proof> {
    let TodoSigns { open, done, .. } = signals.todos;
    let line = format!("all {done} items of the to-do list are done");
    (open == 0 && done > 0 && signals.turn.is_ended)
        .then(|| proof(line, &["list done", &done.to_string()]))
}

fn declared_success(signals: &WorkSignals) -> Option<Proof> {
    let count = signals.declared.successes;
    let line = format!(
        "{count} signs of success, {} files changed",
        signals.artifacts
    );
    let speaks = count >= 3 || (count >= 1 && signals.is_verified());
    (speaks && signals.declared.failures == 0)
        .then(|| proof(line, &["success", &count.to_string()]))
}

fn criteria_met(signals: &WorkSignals) -> Option<Proof> {
    let Criteria { total, covered } = signals.criteria;
    let line = format!("recorded evidence covers all criteria ({covered} of {total})");
    let is_red = signals.last_check.as_ref().is_some_and(|check| !check.ok);
    (total > 0 && covered >= total && !is_red && !signals.has_unchecked)
        .then(|| proof(line, &["criteria", &total.to_string()]))
}

fn ended_by_host(signals: &WorkSignals) -> Option<Proof> {
    let line = "the host reports the end of this work".to_owned();
    signals.declared.is_ended.then(|| proof(line, &["ended"]))
}

fn idle(signals: &WorkSignals, steps: u32, repeats: u32) -> Option<Proof> {
    let count = signals.idle_steps;
    let again = signals.errors.worst().map_or(0, |(_, count)| count);
    let line = match signals.errors.worst() {
        Some((error, again)) if again >= 2 => {
            format!("{count} steps without effect, and the same error {again} times: {error}")
        }
        _ => format!("{count} steps without effect"),
    };
    let key = signals.prompt.key.to_string();
    (count >= steps && again >= repeats).then(|| proof(line, &["idle", &key]))
}

fn declared_idle(signals: &WorkSignals) -> Option<Proof> {
    let turns = signals.declared.idle_turns;
    let line = format!("{turns} turns without progress");
    (turns > 3).then(|| proof(line, &["idle turns", &turns.to_string()]))
}

fn declared_stuck(signals: &WorkSignals) -> Option<Proof> {
    let Declared {
        idle_turns,
        failures,
        successes,
        ..
    } = signals.declared;
    let line = format!("{idle_turns} turns without progress and {failures} failures");
    let is_stuck = failures > successes.saturating_add(1) && (idle_turns > 1 || failures > 3);
    is_stuck.then(|| proof(line, &["stuck", &failures.to_string()]))
}

fn full(signals: &WorkSignals, percent: u64) -> Option<Proof> {
    let fill = signals.fill()?;
    let line = format!(
        "the prompt takes {fill}% of the window ({} of {} tokens)",
        signals.tokens.unwrap_or_default(),
        signals.window.unwrap_or_default()
    );
    let key = signals.compactions.to_string();
    (fill >= percent).then(|| proof(line, &["full", &key]))
}
