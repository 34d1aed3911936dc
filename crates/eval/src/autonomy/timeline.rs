//! Labels: what followed each moment of a session.

use std::collections::BTreeSet;
use std::ops::Range;

use flamestack_core::autonomy::Heuristic;
use flamestack_engine::autonomy::heuristics::{Sighting, StepSigns, normalise_error};

/// Steps after a moment within which a segment begins.
const SOON: usize = 10;
/// Steps after a moment within which a segment ends.
const AT_ONCE: usize = 4;
/// Steps that an error takes to be work of its own.
const DETOUR: usize = 6;
/// Model calls within which a compaction follows.
const CALLS: usize = 100;
/// Turns before a prompt whose files belong to the same topic.
const TOPIC: usize = 3;

/// A session as a list of sightings, with its turns.
pub(super) struct Timeline<'a> {
    sightings: &'a [Sighting],
    turns: Vec<TurnLabels>,
}

/// A turn of a session.
struct TurnLabels {
    range: Range<usize>,
    files: BTreeSet<u64>,
    edited: BTreeSet<u64>,
    has_effect: bool,
    is_interrupted: bool,
    /// True if it touches files, none of them touched in the turns before.
    is_switch: bool,
}

impl<'a> Timeline<'a> {
    pub(super) fn of(sightings: &'a [Sighting]) -> Self {
        let mut starts: Vec<usize> = (0..sightings.len())
            .filter(|at| matches!(sightings.get(*at), Some(Sighting::Prompt(_))))
            .collect();
        starts.push(sightings.len());
        let mut turns: Vec<TurnLabels> = Vec::new();
        for pair in starts.windows(2) {
            let &[start, end] = pair else { continue };
            let mut turn = TurnLabels::of(start..end, sightings);
            let before = turns.iter().rev().take(TOPIC);
            let known: BTreeSet<u64> = before.flat_map(|turn| turn.files.iter().copied()).collect();
            turn.is_switch =
                !known.is_empty() && !turn.files.is_empty() && known.is_disjoint(&turn.files);
            turns.push(turn);
        }
        Self { sightings, turns }
    }

    /// Returns the label that proves a heuristic right at a moment.
    pub(super) fn target(&self, heuristic: Heuristic, at: usize) -> Option<usize> {
        match heuristic {
            Heuristic::FailureBoundary => self.persists(at).or_else(|| self.begins(at)),
            Heuristic::ContextSwitch | Heuristic::Complexity => self.begins(at),
            Heuristic::Duration | Heuristic::ContextOverflow => self.compaction(at),
            Heuristic::GoalCompletion => self.ends(at),
            Heuristic::Stagnation => self.stays_stuck(at),
        }
    }

    /// Returns the segment that begins after a moment: in the turn of a prompt, or soon after.
    pub(super) fn begins(&self, at: usize) -> Option<usize> {
        let is_prompt = matches!(self.sightings.get(at), Some(Sighting::Prompt(_)));
        if is_prompt && self.turn(at).is_some_and(|turn| turn.is_switch) {
            return Some(at);
        }
        let mut steps = 0;
        for (place, sighting) in self.after(at) {
            match sighting {
                Sighting::SubagentStarted => return Some(place),
                Sighting::Todos(todos) if todos.begun > 0 => return Some(place),
                Sighting::Prompt(_) if is_prompt => return None,
                Sighting::Prompt(_) if self.turn(place).is_some_and(|turn| turn.is_switch) => {
                    return Some(place);
                }
                Sighting::Step(_) if !is_prompt => {
                    steps += 1;
                    if steps >= SOON {
                        return None;
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Returns the end of a segment at a moment: an item done or a turn ended immediately, or, after a
    /// turn, work that the next two turns do not resume.
    pub(super) fn ends(&self, at: usize) -> Option<usize> {
        if matches!(self.sightings.get(at), Some(Sighting::TurnEnded)) {
            return self.is_over(at).then_some(at);
        }
        let mut steps = 0;
        for (place, sighting) in self.after(at) {
            match sighting {
                Sighting::Todos(todos) if todos.finished > 0 => return Some(place),
                Sighting::TurnEnded | Sighting::SubagentEnded => return Some(place),
                Sighting::Prompt(_) | Sighting::Interrupted => return None,
                Sighting::Step(step) => {
                    steps += 1;
                    if steps >= AT_ONCE || !step.edited.is_empty() {
                        return None;
                    }
                }
                _ => {}
            }
        }
        None
    }

    fn is_over(&self, at: usize) -> bool {
        let Some(number) = self.turns.iter().position(|turn| turn.range.contains(&at)) else {
            return false;
        };
        let (before, later) = self.turns.split_at(number + 1);
        let edited: BTreeSet<u64> = before
            .iter()
            .rev()
            .take(TOPIC)
            .flat_map(|turn| turn.edited.iter().copied())
            .collect();
        let is_interrupted = before.last().is_some_and(|turn| turn.is_interrupted);
        let mut next = later.iter().take(2);
        !is_interrupted && !edited.is_empty() && next.all(|turn| turn.edited.is_disjoint(&edited))
    }

    /// Returns the moment if an error of its turn comes again, or its check stays red for long.
    fn persists(&self, at: usize) -> Option<usize> {
        let turn = self.turn(at)?;
        let errors: BTreeSet<String> = self
            .steps(turn.range.start..at + 1)
            .filter_map(|step| step.failure.as_deref().map(normalise_error))
            .collect();
        let last = self
            .steps(turn.range.start..at + 1)
            .filter_map(|step| step.check.as_ref())
            .next_back();
        let is_red = last.is_some_and(|(_, ok)| !ok);
        if errors.is_empty() {
            return None;
        }
        let mut steps = 0;
        for step in self.steps(at + 1..self.sightings.len()) {
            steps += 1;
            let error = step.failure.as_deref().map(normalise_error);
            if error.is_some_and(|error| errors.contains(&error)) {
                return Some(at);
            }
            if step.check.as_ref().is_some_and(|(_, ok)| *ok) {
                return None;
            }
            if steps >= DETOUR {
                return is_red.then_some(at);
            }
        }
        None
    }

    fn compaction(&self, at: usize) -> Option<usize> {
        let mut calls = 0;
        for (place, sighting) in self.after(at) {
            match sighting {
                Sighting::Compacted => return Some(place),
                Sighting::Spent(_) => {
                    calls += 1;
                    if calls >= CALLS {
                        return None;
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Returns the moment if the next turn has no effect either, goes elsewhere, or is stopped.
    fn stays_stuck(&self, at: usize) -> Option<usize> {
        let next = self.turns.iter().find(|turn| turn.range.start > at)?;
        let stuck = !next.has_effect || next.is_switch || next.is_interrupted;
        stuck.then_some(at)
    }

    fn turn(&self, at: usize) -> Option<&TurnLabels> {
        self.turns.iter().find(|turn| turn.range.contains(&at))
    }

    fn after(&self, at: usize) -> impl Iterator<Item = (usize, &'a Sighting)> {
        self.sightings.iter().enumerate().skip(at + 1)
    }

    fn steps(&self, range: Range<usize>) -> impl DoubleEndedIterator<Item = &'a StepSigns> {
        let slice = self.sightings.get(range).unwrap_or_default();
        slice.iter().filter_map(|sighting| match sighting {
            Sighting::Step(step) => Some(step),
            _ => None,
        })
    }
}

impl TurnLabels {
    fn of(range: Range<usize>, sightings: &[Sighting]) -> Self {
        let mut turn = Self {
            range: range.clone(),
            files: BTreeSet::new(),
            edited: BTreeSet::new(),
            has_effect: false,
            is_interrupted: false,
            is_switch: false,
        };
        for sighting in sightings.get(range).unwrap_or_default() {
            match sighting {
                Sighting::Step(step) => {
                    turn.files.extend(step.files.iter().chain(&step.edited));
                    turn.edited.extend(&step.edited);
                    let is_green = step.check.as_ref().is_some_and(|(_, ok)| *ok);
                    turn.has_effect |= is_green || step.committed || !step.edited.is_empty();
                }
                Sighting::Todos(todos) => turn.has_effect |= todos.finished > 0,
                Sighting::Interrupted => turn.is_interrupted = true,
                _ => {}
            }
        }
        turn
    }
}
