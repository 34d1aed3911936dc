//! Stalls: work that repeats itself and gets nowhere.
//!
//! A [`StallWatch`] keeps short histories of fingerprints for one session. It only watches: a stall is
//! shown with its evidence, and nothing is ever stopped for it. The rules:
//!
//! | stall | when | what ends it |
//! |---|---|---|
//! | the same issues | a check finds the same issues as in its last two runs, with no better score, and so again in the next run | a pass, other issues, a better score |
//! | the same error | one error at one place three times in a row | another error, an edit |
//! | the same call | one call with one answer three times among the last ten calls | another call, once the history has moved on; an edit |
//!
//! A prompt of the user ends every stall. An edit makes the next call another attempt; only a check is
//! compared across edits, because it judges them, and that takes one run more. Callers leave out what
//! is not evidence: calls that wait for something, calls that the user refused, errors of the provider.

use std::collections::{BTreeMap, VecDeque};

use crate::id::Fingerprint;
use crate::names::enum_names;
use crate::text::Title;

/// Number of runs of a check that are kept.
const RUNS: usize = 5;
/// Number of equal runs, errors or calls that make a stall.
const REPEATS: usize = 3;
/// Number of runs in a row for which the same issues must have stayed.
const CONFIRMED: u32 = 2;
/// Number of calls among which equal ones are counted.
const CALLS: usize = 10;
/// Number of checks whose runs are kept; the one that ran longest ago is forgotten.
const CHECKS: usize = 16;

/// A stall, with its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Its kind.
    pub kind: StallKind,
    /// The check, error or call that repeats.
    pub what: Title,
    /// Number of repetitions so far.
    pub times: u32,
}

enum_names! {
    /// Kind of a stall.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum StallKind {
        /// A check finds the same issues.
        Issues = "same_issues",
        /// The same error occurs at the same place.
        Error = "same_error",
        /// The same call is made.
        Call = "same_call",
    }
}

impl Stall {
    /// Describes the stall in one line.
    pub fn sentence(&self) -> String {
        let (what, times) = (&self.what, self.times);
        match self.kind {
            StallKind::Issues => {
                format!("{what} found the same issues {times} times in a row, with no better score")
            }
            StallKind::Error => format!("the same error {times} times in a row: {what}"),
            StallKind::Call => {
                format!(
                    "the same call with the same answer {times} times, no edit in between: {what}"
                )
            }
        }
    }
}

/// A run of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckRun {
    /// Fingerprint of the set of issues; none if the check passed.
    pub issues: Option<Fingerprint>,
    /// A figure that grows with progress, such as the number of tests that passed.
    pub score: i64,
}

/// The histories of one session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StallWatch {
    checks: BTreeMap<String, CheckHistory>,
    /// The error that occurred last, and how often in a row.
    error: Option<(Fingerprint, Title, u32)>,
    calls: VecDeque<(Fingerprint, Title)>,
    /// Orders the checks by their last run.
    runs: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct CheckHistory {
    runs: VecDeque<CheckRun>,
    /// Number of runs in a row that found the same issues.
    same: u32,
    /// Number of runs in a row for which that looked like a stall.
    confirmed: u32,
    last: u64,
    name: Option<Title>,
}

impl StallWatch {
    /// Takes a prompt of the user: what comes now is wanted.
    pub fn prompted(&mut self) {
        *self = Self::default();
    }

    /// Takes an edit: the next call is another attempt.
    pub fn edited(&mut self) {
        self.error = None;
        self.calls.clear();
    }

    /// Takes the run of a check.
    pub fn checked(&mut self, check: &Title, run: CheckRun) {
        self.runs += 1;
        let last = self.runs;
        if !self.checks.contains_key(check.as_str()) && self.checks.len() >= CHECKS {
            let oldest = self.checks.iter().min_by_key(|(_, history)| history.last);
            if let Some(oldest) = oldest.map(|(name, _)| name.clone()) {
                self.checks.remove(&oldest);
            }
        }
        let history = self.checks.entry(check.as_str().to_owned()).or_default();
        history.last = last;
        history.name = Some(check.clone());
        history.take(run);
    }

    /// Takes an error. `key` identifies the error and its place.
    pub fn failed(&mut self, key: Fingerprint, what: Title) {
        let before = self.error.take();
        let times = before.filter(|(known, ..)| *known == key).map(|(.., n)| n);
        self.error = Some((key, what, times.unwrap_or_default().saturating_add(1)));
    }

    /// Takes a call with its answer. `key` identifies both.
    pub fn called(&mut self, key: Fingerprint, what: Title) {
        self.calls.push_back((key, what));
        if self.calls.len() > CALLS {
            self.calls.pop_front();
        }
    }

    /// Returns the stall, if there is one. Issues say more than an error, and an error more than a
    /// call.
    pub fn stall(&self) -> Option<Stall> {
        self.issues()
            .or_else(|| self.same_error())
            .or_else(|| self.same_call())
    }

    fn issues(&self) -> Option<Stall> {
        let stalled = self.checks.values().filter(|h| h.confirmed >= CONFIRMED);
        let newest = stalled.max_by_key(|history| history.last)?;
        Some(Stall {
            kind: StallKind::Issues,
            what: newest.name.clone()?,
            times: newest.same,
        })
    }

    fn same_error(&self) -> Option<Stall> {
        let (_, what, times) = self.error.as_ref()?;
        (usize::try_from(*times).is_ok_and(|times| times >= REPEATS)).then(|| Stall {
            kind: StallKind::Error,
            what: what.clone(),
            times: *times,
        })
    }

    fn same_call(&self) -> Option<Stall> {
        let repeats = |key: &Fingerprint| self.calls.iter().filter(|(k, _)| k == key).count();
        let (key, what) = self
            .calls
            .iter()
            .rev()
            .find(|(key, _)| repeats(key) >= REPEATS)?;
        Some(Stall {
            kind: StallKind::Call,
            what: what.clone(),
            times: u32::try_from(repeats(key)).unwrap_or(u32::MAX),
        })
    }
}

impl CheckHistory {
    fn take(&mut self, run: CheckRun) {
        let before = self.runs.back().copied();
        let is_same = before.is_some_and(|before| before.issues == run.issues);
        self.same = match (run.issues, is_same) {
            (None, _) => 0,
            (Some(_), true) => self.same.saturating_add(1),
            (Some(_), false) => 1,
        };
        self.runs.push_back(run);
        if self.runs.len() > RUNS {
            self.runs.pop_front();
        }
        let is_better = before.is_some_and(|before| run.score > before.score);
        let is_stalled = usize::try_from(self.same).is_ok_and(|same| same >= REPEATS) && !is_better;
        self.confirmed = if is_stalled {
            self.confirmed.saturating_add(1)
        } else {
            0
        };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn name(text: &str) -> Title {
        Title::new(text).unwrap()
    }

    fn run(issues: u64, score: i64) -> CheckRun {
        CheckRun {
            issues: (issues > 0).then_some(Fingerprint(issues)),
            score,
        }
    }

    fn checks(runs: &[(u64, i64)]) -> StallWatch {
        let mut watch = StallWatch::default();
        for (issues, score) in runs {
            watch.checked(&name("cargo test"), run(*issues, *score));
            watch.edited();
        }
        watch
    }

    fn kind(watch: &StallWatch) -> Option<StallKind> {
        watch.stall().map(|stall| stall.kind)
    }

    #[test]
    fn the_same_issues_must_stay_for_two_checks_in_a_row() {
        assert_eq!(kind(&checks(&[(7, 1); 3])), None);
        let stall = checks(&[(7, 1); 4]).stall().unwrap();
        assert_eq!((stall.kind, stall.times), (StallKind::Issues, 4));
        assert_eq!(
            stall.sentence(),
            "cargo test found the same issues 4 times in a row, with no better score"
        );
    }

    #[test]
    fn a_better_score_other_issues_or_a_pass_is_progress() {
        assert_eq!(kind(&checks(&[(7, 1), (7, 1), (7, 1), (7, 2)])), None);
        assert_eq!(kind(&checks(&[(7, 1), (7, 1), (8, 1), (7, 1)])), None);
        assert_eq!(
            kind(&checks(&[(7, 1), (7, 1), (7, 1), (7, 1), (0, 9)])),
            None
        );
        // A worse score is not progress.
        let worse = checks(&[(7, 4), (7, 3), (7, 2), (7, 1)]);
        assert_eq!(kind(&worse), Some(StallKind::Issues));
    }

    #[test]
    fn one_error_three_times_in_a_row_is_a_stall_at_once() {
        let mut watch = StallWatch::default();
        let fail = |watch: &mut StallWatch, key| watch.failed(Fingerprint(key), name("no field"));
        fail(&mut watch, 1);
        fail(&mut watch, 1);
        fail(&mut watch, 2);
        assert_eq!(kind(&watch), None);
        fail(&mut watch, 2);
        fail(&mut watch, 2);
        assert_eq!(kind(&watch), Some(StallKind::Error));
        watch.edited();
        assert_eq!(kind(&watch), None);
    }

    #[test]
    fn calls_in_turns_are_found_and_distant_ones_are_not() {
        let mut watch = StallWatch::default();
        for key in [1, 2, 1, 2, 1] {
            watch.called(Fingerprint(key), name("read a.rs"));
        }
        assert_eq!(kind(&watch), Some(StallKind::Call));
        for key in 10..20 {
            watch.called(Fingerprint(key), name("other"));
        }
        assert_eq!(kind(&watch), None);
        let mut edited = StallWatch::default();
        for _ in 0..5 {
            edited.called(Fingerprint(1), name("cargo test"));
            edited.edited();
        }
        assert_eq!(kind(&edited), None);
    }

    #[test]
    fn the_user_ends_every_stall() {
        let mut watch = checks(&[(7, 1); 4]);
        watch.prompted();
        assert_eq!(watch, StallWatch::default());
    }

    #[test]
    fn only_the_newest_checks_are_kept() {
        let mut watch = StallWatch::default();
        for nth in 0..100 {
            watch.checked(&name(&format!("check {nth}")), run(1, 0));
        }
        assert_eq!(watch.checks.len(), CHECKS);
        assert!(watch.checks.contains_key("check 99"));
    }

    proptest! {
        /// Work whose outcome changes every time is never a stall, however it is interleaved.
        #[test]
        fn progress_is_no_stall(steps in proptest::collection::vec(0u8..4, 0..60)) {
            let mut watch = StallWatch::default();
            for (nth, step) in steps.into_iter().enumerate() {
                let key = Fingerprint(nth as u64);
                match step {
                    0 => watch.checked(&name("test"), CheckRun { issues: Some(key), score: 0 }),
                    1 => watch.failed(key, name("error")),
                    2 => watch.called(key, name("call")),
                    _ => watch.edited(),
                }
                prop_assert_eq!(watch.stall(), None);
            }
        }
    }
}
