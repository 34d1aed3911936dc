//! The driver: asks for the next move, makes it, and waits.
//!
//! One loop owns the state. Each move is an intent in the run's journal, a call, and an outcome in the
//! journal; whatever a crash leaves without an outcome is looked up before anything else happens.

mod moves;
mod observe;
mod settle;
mod user_input;
mod worktrees;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use flamestack_core::{Actor, Author, FrameId, SessionRef};
use flamestack_engine::Clock;

use crate::error::RunError;
use crate::host::{Ask, Host, HostError, Reply, SessionKey, SessionLocation, SessionWanted, Wake};
use crate::inbox::Inbox;
use crate::journal::RunJournal;
use crate::next::{NextMove, RunConditions, next, place};
use crate::options::RunOptions;
use crate::policy::PermissionPolicy;
use crate::record::{ActionOutcome, RunAction, RunRecord};
use crate::report::{RunActivity, RunEnding, RunEvent, RunSummary};
use crate::stack::{RunStack, RunTree};
use crate::state::RunState;
use crate::worktree::Worktrees;

/// Longest wait before the host's stored messages are looked at without any event.
const POLL: Duration = Duration::from_millis(1_500);
/// Longest wait while nothing runs but a provider's limit or the like.
const SHORT: Duration = Duration::from_millis(250);
/// Time between two records that the driver is alive, in milliseconds.
const ALIVE: i64 = 60_000;
/// Time that the user has to answer, in milliseconds.
const ANSWER_WITHIN: i64 = 10 * 60 * 1000;

/// The user's side of a run.
pub trait Front {
    /// Shows an event.
    fn event(&mut self, event: &RunEvent);
    /// Shows the state of the whole run. Called often; the front decides when to draw.
    fn progress(&mut self, summary: &dyn Fn() -> RunSummary);
    /// Shows an ask to the user. Returns false if no user can answer.
    fn ask(&mut self, ask: &Ask) -> bool;
    /// Asks whether to continue a frame whose turn was cut off after it had used tools.
    fn unknown_outcome(&mut self, title: &str) -> Choice;
    /// Returns what the user said since the last call.
    fn inputs(&mut self) -> Vec<FrontInput>;
}

/// Decision of the user about an unknown outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The session looks at what it did and continues.
    GoOn,
    /// The frame is blocked.
    Leave,
}

/// Input of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrontInput {
    /// Dispatch nothing more, wait for what runs, and stop.
    Pause,
    /// Stop immediately.
    Stop,
    /// A message to a frame; to the one that runs if none is named.
    Say {
        /// The frame, by id.
        frame: Option<String>,
        /// The message.
        text: String,
    },
    /// The answer to an ask.
    Answer {
        /// Id of the ask.
        ask: String,
        /// The answer.
        reply: Reply,
    },
}

/// Everything that a driver works with.
pub struct RunDriver<'d> {
    /// The agent server.
    pub host: &'d mut dyn Host,
    /// The frames.
    pub stack: &'d mut dyn RunStack,
    /// The run's journal.
    pub journal: &'d mut dyn RunJournal,
    /// The user.
    pub front: &'d mut dyn Front,
    /// Source of time.
    pub clock: &'d dyn Clock,
    /// The session and worktree of the user who started the run.
    pub actor: Actor,
    /// Policy for permissions.
    pub policy: PermissionPolicy,
    /// Messages of the user from other terminals.
    pub inbox: Option<Inbox>,
    /// Worktrees of the project; none outside of git.
    pub worktrees: Option<Worktrees>,
    /// State of the loop that needs no journal: it is found out again after a crash.
    pub memory: DriverMemory,
}

/// Request of the user to end a run early; a later one may only be stronger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Halt {
    /// None.
    #[default]
    No,
    /// Nothing more is dispatched.
    Pause,
    /// Everything is stopped.
    Stop,
}

/// State of a driver that needs no journal.
#[derive(Debug, Default)]
pub struct DriverMemory {
    state: RunState,
    halt: Halt,
    /// Sessions to look at; everything if the flag is set.
    dirty: BTreeSet<String>,
    all_dirty: bool,
    /// Time at which the host's provider is asked again, by frame.
    provider_waits: BTreeMap<FrameId, i64>,
    /// Progress of running turns: the figure, its last change, and the last report of quiet.
    progress: BTreeMap<FrameId, (u64, i64, i64)>,
    /// Running turns, for the user.
    activity: BTreeMap<FrameId, RunActivity>,
    /// Time since which a stored prompt is not answered, by step.
    unanswered: BTreeMap<u64, i64>,
    /// Asks that wait for the user, with their deadline.
    asked: BTreeMap<String, (Ask, i64)>,
    answered: BTreeSet<String>,
    /// True if the user knows that the project has changes which worktrees do not have.
    noted_changes: bool,
    last_record: i64,
    last_look: i64,
}

impl RunDriver<'_> {
    /// Begins a run: the frame of its goal must exist.
    pub fn begin(&mut self, begun: &RunRecord) -> Result<RunEnding, RunError> {
        self.record(begun)?;
        let run = self.memory.state.run.clone();
        self.front.event(&RunEvent::Started {
            run,
            resumed: false,
        });
        self.drive()
    }

    /// Resumes a run.
    pub fn resume(
        &mut self,
        change: impl FnOnce(&RunOptions) -> RunOptions,
    ) -> Result<RunEnding, RunError> {
        let records = self.journal.read()?;
        self.memory.state = RunState::fold(&records);
        if self.memory.state.root.is_none() {
            return Err(RunError::NothingToResume);
        }
        let options = change(&self.memory.state.options);
        let at = self.now();
        self.record(&RunRecord::Resumed { at, options })?;
        let run = self.memory.state.run.clone();
        self.front.event(&RunEvent::Started { run, resumed: true });
        self.memory.all_dirty = true;
        self.drive()
    }

    /// Returns the state of the run.
    pub fn summary(&self) -> Result<RunSummary, RunError> {
        let mut summary = RunSummary::new(&self.memory.state, &self.tree()?);
        summary.check_evidence(|frame| self.stack.standing(frame))?;
        Ok(summary)
    }

    fn drive(&mut self) -> Result<RunEnding, RunError> {
        loop {
            self.read_user_input()?;
            if self.memory.halt == Halt::Stop {
                return self.stop_now();
            }
            self.look()?;
            let tree = self.tree()?;
            let (memory, stack) = (&self.memory, &self.stack);
            self.front.progress(&|| {
                let summary = RunSummary::new(&memory.state, &tree);
                let mut summary = summary.with_activity(&memory.activity);
                // The view is drawn again; the end of the run reports a store that cannot be read.
                drop(summary.check_evidence(|frame| stack.standing(frame)));
                summary
            });
            match next(&self.memory.state, &tree, self.conditions()) {
                NextMove::Wait => self.wait()?,
                NextMove::Finish(ending) => {
                    let at = self.now();
                    self.record(&RunRecord::Ended {
                        at,
                        ending: ending.clone(),
                    })?;
                    self.front.event(&RunEvent::Ended(ending.clone()));
                    return Ok(ending);
                }
                NextMove::Settle(step) => {
                    let settled = self.settle(step, &tree);
                    self.survive(settled)?;
                }
                other => {
                    let made = self.make(other, &tree);
                    self.survive(made)?;
                }
            }
        }
    }

    /// Continues after a call whose outcome is unknown: the server is brought back, or the run parked.
    fn survive(&mut self, made: Result<(), RunError>) -> Result<(), RunError> {
        let error = match made {
            Err(RunError::Host(error)) if error.is_unknown() => error,
            other => return other,
        };
        self.front
            .event(&RunEvent::Note(format!("{error}; looking again")));
        self.memory.all_dirty = true;
        match self.host.revive() {
            Ok(()) => Ok(()),
            Err(lost) if lost.is_unknown() => {
                let reason = lost.to_string();
                self.park(None, &reason, None)?;
                // What runs cannot be waited for.
                self.memory.halt = Halt::Stop;
                Ok(())
            }
            Err(lost) => Err(lost.into()),
        }
    }

    fn conditions(&self) -> RunConditions {
        let now = self.now();
        let since = (now - self.memory.last_record).max(0);
        RunConditions {
            waits_for_provider: self
                .memory
                .provider_waits
                .values()
                .any(|until| *until > now),
            paused: self.memory.halt != Halt::No,
            wall_ms: self.memory.state.wall_ms + since.unsigned_abs(),
        }
    }

    /// Waits for news of the host.
    fn wait(&mut self) -> Result<(), RunError> {
        let at_most = if self.memory.asked.is_empty() {
            POLL
        } else {
            SHORT
        };
        match self.host.wait(at_most) {
            Wake::News(sessions) => self.memory.dirty.extend(sessions),
            Wake::Everything => self.memory.all_dirty = true,
            Wake::Quiet => {}
        }
        let now = self.now();
        if now - self.memory.last_look >= i64::try_from(POLL.as_millis()).unwrap_or_default() {
            self.memory.all_dirty = true;
        }
        if now - self.memory.last_record >= ALIVE {
            self.record(&RunRecord::Alive { at: now })?;
        }
        Ok(())
    }

    /// Stops everything that runs, for the user or because the server is gone.
    fn stop_now(&mut self) -> Result<RunEnding, RunError> {
        let running: Vec<FrameId> = self
            .memory
            .state
            .running()
            .map(|(frame, ..)| *frame)
            .collect();
        let tree = self.tree()?;
        for frame in running {
            if let Err(error) = self.make(NextMove::Stop(frame), &tree) {
                tracing::warn!("{frame} was not stopped: {error}");
            }
        }
        let ending = match self.memory.state.parked.clone() {
            Some((reason, until)) => RunEnding::Parked { reason, until },
            None => RunEnding::Paused,
        };
        let at = self.now();
        self.record(&RunRecord::Ended {
            at,
            ending: ending.clone(),
        })?;
        self.front.event(&RunEvent::Ended(ending.clone()));
        Ok(ending)
    }

    fn park(
        &mut self,
        frame: Option<FrameId>,
        reason: &str,
        until: Option<i64>,
    ) -> Result<(), RunError> {
        let at = self.now();
        self.record(&RunRecord::Parked {
            at,
            frame,
            reason: reason.to_owned(),
            until,
        })?;
        self.front.event(&RunEvent::Parked {
            frame,
            reason: reason.to_owned(),
            until,
        });
        Ok(())
    }

    fn record(&mut self, record: &RunRecord) -> Result<(), RunError> {
        self.journal.append(record)?;
        self.memory.last_record = record.at();
        self.memory.state.apply(record);
        Ok(())
    }

    fn intend(&mut self, frame: FrameId, act: RunAction) -> Result<u64, RunError> {
        let state = &self.memory.state;
        let step = state.next_step;
        let attempt = state.frame(&frame).map_or(1, |run| run.attempt.max(1));
        let at = self.now();
        self.record(&RunRecord::Intent {
            step,
            at,
            frame,
            attempt,
            act,
        })?;
        Ok(step)
    }

    fn conclude(&mut self, step: u64, done: ActionOutcome) -> Result<(), RunError> {
        let at = self.now();
        self.record(&RunRecord::Outcome { step, at, done })
    }

    fn now(&self) -> i64 {
        self.clock.now().0
    }

    fn tree(&self) -> Result<RunTree, RunError> {
        let heads = match &self.memory.state.root {
            Some(root) => self.stack.heads(root)?,
            None => Vec::new(),
        };
        Ok(RunTree::new(heads))
    }

    /// Returns the folder that a frame is worked on in: its worktree, or that of a frame above it.
    fn directory(&self, tree: &RunTree, frame: &FrameId) -> Option<PathBuf> {
        let place = place(&self.memory.state, tree, frame)?;
        let run = self.memory.state.frame(&place)?;
        let (folder, _) = run.worktree.as_ref()?;
        Some(PathBuf::from(folder))
    }

    fn location(&self, tree: &RunTree, frame: &FrameId) -> Result<SessionLocation, RunError> {
        let run = self.memory.state.frame(frame);
        let session = run.and_then(|run| run.session.clone());
        let session = session.ok_or_else(|| HostError::NoSession {
            session: frame.to_string(),
        })?;
        Ok(SessionLocation {
            session,
            directory: self.directory(tree, frame),
        })
    }

    fn wanted(&self, tree: &RunTree, frame: &FrameId) -> SessionWanted {
        let state = &self.memory.state;
        let head = tree.get(frame);
        SessionWanted {
            key: SessionKey {
                run: state.run.clone(),
                frame: frame.to_string(),
                attempt: state.frame(frame).map_or(1, |run| run.attempt.max(1)),
            },
            title: head.map_or_else(String::new, |head| head.title.as_str().to_owned()),
            directory: self.directory(tree, frame),
            without_tools: state.setup(frame).without_tools,
        }
    }

    /// Returns the actor of a driven session.
    fn session_actor(&self, session: &str) -> Actor {
        let name = format!("{}:{session}", self.host.name());
        let known: Option<SessionRef> = name.parse().ok();
        Actor {
            session: known.unwrap_or_else(|| self.actor.session.clone()),
            worktree: self.actor.worktree.clone(),
            message: None,
            by: Author::Agent,
        }
    }
}
