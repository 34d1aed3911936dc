//! The state of a run, folded from its journal.

use std::collections::{BTreeMap, BTreeSet};

use flamestack_core::FrameId;

use crate::budget::Spending;
use crate::next::{LAST_MERGE, Verdict};
use crate::options::{FrameOptions, RunOptions};
use crate::prompt::PromptKind;
use crate::record::{ActionOutcome, RunAction, RunRecord, TurnReport};
use crate::report::RunEnding;

/// Longest time between two records during which the driver counts as at work, in milliseconds.
const LONGEST_GAP: i64 = 90_000;

/// A run as its journal describes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunState {
    /// Name of the run.
    pub run: String,
    /// Name of the host.
    pub host: String,
    /// The frame that is the goal.
    pub root: Option<FrameId>,
    /// Options.
    pub options: RunOptions,
    /// Options of single frames.
    pub setups: BTreeMap<FrameId, FrameOptions>,
    /// Frames that were dispatched.
    pub frames: BTreeMap<FrameId, FrameRun>,
    /// Number of the next step.
    pub next_step: u64,
    /// Calls whose outcome is not recorded, by step.
    pub open: BTreeMap<u64, (FrameId, u32, RunAction)>,
    /// Reason for which the whole run is parked, and the end of that.
    pub parked: Option<(String, Option<i64>)>,
    /// Warnings given, as frame and name of the limit.
    pub warned: BTreeSet<(FrameId, String)>,
    /// Ids of the user's messages that were accepted.
    pub heard: BTreeSet<String>,
    /// Time during which the run was driven, in milliseconds.
    pub wall_ms: u64,
    /// The ending, if the driver has stopped.
    pub ending: Option<RunEnding>,
    last_at: Option<i64>,
}

/// A frame of the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrameRun {
    /// Number of the current attempt, from 1.
    pub attempt: u32,
    /// Session of the current attempt.
    pub session: Option<String>,
    /// Sessions of earlier attempts.
    pub former: Vec<String>,
    /// True if the session has the frame's context.
    pub has_context: bool,
    /// The turn that is running or whose consequences are not applied.
    pub turn: Option<TurnRun>,
    /// Children whose outcome the session was sent, each with the number of its turns until then.
    pub delivered: BTreeMap<FrameId, u64>,
    /// Children that the session asked to start.
    pub asked_for: BTreeSet<FrameId>,
    /// Number of prompts to the current session.
    pub prompts: u32,
    /// Remarks about the last turn, for the next prompt.
    pub remarks: Vec<String>,
    /// Number of reminders since the last useful turn.
    pub reminders: u32,
    /// Verdict on the last turn.
    pub last: Option<Verdict>,
    /// Spending of all attempts.
    pub spent: Spending,
    /// Time during which the run had been driven when the frame's first call was made, in milliseconds.
    pub since: Option<u64>,
    /// Messages of the user that wait to be passed on: id and text.
    pub spoken: Vec<(String, String)>,
    /// Reason for which the subtree is parked.
    pub parked: Option<(String, Option<i64>)>,
    /// Folder and branch of its worktree.
    pub worktree: Option<(String, String)>,
    /// Outcome of the last merge of its worktree.
    pub merged: Option<ActionOutcome>,
    /// Number of merges that met conflicts.
    pub conflicts: u32,
}

impl FrameRun {
    /// Returns true if it has a worktree whose work is not merged.
    pub fn is_unmerged(&self) -> bool {
        self.worktree.is_some() && self.merged != Some(ActionOutcome::Made)
    }
}

/// A turn of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnRun {
    /// Number of the prompt's step.
    pub step: u64,
    /// Id of the prompt's message.
    pub message: String,
    /// Ids of its parts.
    pub parts: Vec<String>,
    /// Reason for the prompt.
    pub why: PromptKind,
    /// Children whose outcome it reports.
    pub children: Vec<FrameId>,
    /// Messages of the user that it carries.
    pub spoken: Vec<(String, String)>,
    /// Remarks about the turn before, which it carries.
    pub remarks: Vec<String>,
    /// True if the host was asked to stop it.
    pub stopped: bool,
    /// Its phase.
    pub phase: Phase,
}

/// Phase of a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum Phase {
    /// The prompt is about to be sent, or may have been.
    Intended,
    /// The prompt is stored by the host.
    Sent,
    /// The turn ended; its consequences may not be applied.
    Ended(Box<TurnReport>),
}

impl RunState {
    /// Folds a journal.
    pub fn fold<'r>(records: impl IntoIterator<Item = &'r RunRecord>) -> Self {
        let mut state = Self {
            next_step: 1,
            ..Self::default()
        };
        for record in records {
            state.apply(record);
        }
        state
    }

    /// Folds one more record.
    pub fn apply(&mut self, record: &RunRecord) {
        self.count_time(record);
        match record {
            RunRecord::Begun {
                run,
                host,
                root,
                options,
                frames,
                ..
            } => {
                self.run.clone_from(run);
                self.host.clone_from(host);
                self.root = Some(*root);
                self.options = options.clone();
                let setups = frames.iter().map(|one| (one.frame, one.options.clone()));
                self.setups = setups.collect();
            }
            RunRecord::Resumed { options, .. } => {
                self.options = options.clone();
                self.parked = None;
                self.ending = None;
                for frame in self.frames.values_mut() {
                    frame.parked = None;
                    // The user may have merged or cleaned up meanwhile.
                    let is_left = frame.conflicts > LAST_MERGE;
                    frame.conflicts = frame.conflicts.min(LAST_MERGE);
                    frame
                        .merged
                        .take_if(|done| is_left || matches!(done, ActionOutcome::Failed { .. }));
                }
            }
            RunRecord::Intent {
                step,
                frame,
                attempt,
                act,
                ..
            } => self.intend(*step, *frame, *attempt, act),
            RunRecord::Outcome { step, done, .. } => self.conclude(*step, done),
            RunRecord::TurnEnded { step, report, .. } => {
                if let Some(run) = self.with_turn(*step) {
                    run.spent.add(&report.spent);
                    if let Some(turn) = &mut run.turn {
                        turn.phase = Phase::Ended(report.clone());
                    }
                }
            }
            RunRecord::Applied { step, verdict, .. } => self.rule(*step, verdict),
            RunRecord::Spoken {
                id, frame, text, ..
            } => {
                if self.heard.insert(id.clone()) {
                    let run = self.frames.entry(*frame).or_default();
                    run.spoken.push((id.clone(), text.clone()));
                }
            }
            RunRecord::Parked {
                frame,
                reason,
                until,
                ..
            } => {
                let parked = Some((reason.clone(), *until));
                match frame {
                    None => self.parked = parked,
                    Some(frame) => self.frames.entry(*frame).or_default().parked = parked,
                }
            }
            RunRecord::Warned { frame, limit, .. } => {
                self.warned.insert((*frame, limit.clone()));
            }
            RunRecord::Alive { .. } => {}
            RunRecord::Ended { ending, .. } => self.ending = Some(ending.clone()),
        }
    }

    fn count_time(&mut self, record: &RunRecord) {
        let at = record.at();
        if let Some(last) = self.last_at {
            let gap = (at - last).clamp(0, LONGEST_GAP);
            let resumed = matches!(record, RunRecord::Resumed { .. });
            if !resumed {
                self.wall_ms = self.wall_ms.saturating_add(gap.unsigned_abs());
            }
        }
        self.last_at = Some(at);
    }

    fn intend(&mut self, step: u64, frame: FrameId, attempt: u32, act: &RunAction) {
        self.next_step = self.next_step.max(step + 1);
        self.open.insert(step, (frame, attempt, act.clone()));
        let wall = self.wall_ms;
        let run = self.frames.entry(frame).or_default();
        run.since.get_or_insert(wall);
        run.attempt = run.attempt.max(attempt);
        if let RunAction::Prompt {
            message,
            parts,
            why,
            children,
            spoken,
        } = act
        {
            let (carried, waiting) = std::mem::take(&mut run.spoken)
                .into_iter()
                .partition(|(id, _)| spoken.contains(id));
            run.spoken = waiting;
            run.turn = Some(TurnRun {
                step,
                message: message.clone(),
                parts: parts.clone(),
                why: *why,
                children: children.clone(),
                spoken: carried,
                stopped: false,
                remarks: std::mem::take(&mut run.remarks),
                phase: Phase::Intended,
            });
        }
    }

    fn conclude(&mut self, step: u64, done: &ActionOutcome) {
        let Some((frame, _, act)) = self.open.remove(&step) else {
            return;
        };
        let turns: BTreeMap<FrameId, u64> = self
            .frames
            .iter()
            .map(|(frame, run)| (*frame, run.spent.turns))
            .collect();
        let run = self.frames.entry(frame).or_default();
        match (&act, done) {
            (RunAction::Session, ActionOutcome::Session { id }) => run.session = Some(id.clone()),
            (RunAction::Context { .. }, ActionOutcome::Made) => run.has_context = true,
            (RunAction::Prompt { children, .. }, ActionOutcome::Made) => {
                run.prompts += 1;
                run.spent.turns += 1;
                for child in children {
                    let turns = turns.get(child).copied().unwrap_or_default();
                    run.delivered.insert(*child, turns);
                    run.asked_for.remove(child);
                }
                if let Some(turn) = &mut run.turn
                    && turn.step == step
                {
                    turn.phase = Phase::Sent;
                }
            }
            // The frame was given up before its prompt was stored.
            (RunAction::Prompt { .. }, _) => {
                run.turn = None;
                run.last = Some(Verdict::Stopped);
            }
            (RunAction::Stop, _) => {
                if let Some(turn) = &mut run.turn {
                    turn.stopped = true;
                }
            }
            (RunAction::Say { spoken, .. }, _) => run.spoken.retain(|(id, _)| id != spoken),
            (RunAction::Worktree { folder, branch }, ActionOutcome::Made) => {
                run.worktree = Some((folder.clone(), branch.clone()));
            }
            (RunAction::Merge, done) => {
                run.conflicts += u32::from(matches!(done, ActionOutcome::Conflicts { .. }));
                run.merged = Some(done.clone());
            }
            _ => {}
        }
    }

    fn rule(&mut self, step: u64, verdict: &Verdict) {
        let Some(run) = self.with_turn(step) else {
            return;
        };
        run.turn = None;
        run.last = Some(verdict.clone());
        match verdict {
            Verdict::Retry { .. } => {
                run.attempt += 1;
                run.former.extend(run.session.take());
                run.has_context = false;
                run.prompts = 0;
                run.reminders = 0;
                run.delivered.clear();
            }
            Verdict::Again { remarks, .. } => {
                run.reminders += 1;
                run.remarks.clone_from(remarks);
            }
            Verdict::Waits { started, remarks } => {
                run.reminders = 0;
                run.asked_for.extend(started.iter().copied());
                run.remarks.clone_from(remarks);
            }
            Verdict::Limited { reason, until } => {
                self.parked = Some((reason.clone(), *until));
            }
            _ => run.reminders = 0,
        }
    }

    fn with_turn(&mut self, step: u64) -> Option<&mut FrameRun> {
        self.frames
            .values_mut()
            .find(|run| run.turn.as_ref().is_some_and(|turn| turn.step == step))
    }

    /// Returns a frame's part of the run.
    pub fn frame(&self, frame: &FrameId) -> Option<&FrameRun> {
        self.frames.get(frame)
    }

    /// Returns the options of a frame.
    pub fn setup(&self, frame: &FrameId) -> FrameOptions {
        self.setups.get(frame).cloned().unwrap_or_default()
    }

    /// Returns true if a call of this kind is open for a frame.
    pub fn is_open(&self, frame: &FrameId, kind: fn(&RunAction) -> bool) -> bool {
        self.open
            .values()
            .any(|(of, _, act)| of == frame && kind(act))
    }

    /// Returns the prompts that are stored by the host and whose turns have not ended.
    pub fn running(&self) -> impl Iterator<Item = (&FrameId, &FrameRun, &TurnRun)> {
        self.frames.iter().filter_map(|(frame, run)| {
            let turn = run.turn.as_ref()?;
            (turn.phase == Phase::Sent).then_some((frame, run, turn))
        })
    }
}
