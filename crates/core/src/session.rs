//! Everything recorded about a session: its frames, its activity, what its host says of it, and its
//! run if it is a subagent.
//!
//! - [`state`]: states, signals and the table of transitions;
//! - [`life`]: the state of a session, folded from the journal;
//! - [`status`]: the state at a time;
//! - [`checkpoint`]: interruptions and calls with an unknown outcome;
//! - [`link`]: links between sessions, and sessions made by a command;
//! - [`forest`]: the tree of sessions, its levels and its orphans.

pub mod checkpoint;
pub mod forest;
pub mod life;
pub mod link;
pub mod state;
pub mod status;

use crate::compaction::CompactionLoop;
use crate::event::{Event, Recorded};
use crate::id::{FrameId, Seq, SessionRef};
use crate::stall::Stall;
use crate::subagent::SubagentRun;
use crate::text::{Text, Title};
use crate::transcript::Usage;

/// A session of a host, with everything recorded about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its name.
    pub key: SessionRef,
    /// The worktree that it was first seen in, where it is known.
    pub worktree: Option<String>,
    /// The frame that it is bound to.
    pub own: Option<FrameId>,
    /// Its active frame. There is no active frame outside of a session.
    pub active: Option<FrameId>,
    /// Its last change of focus, where its host names its messages.
    pub turn: Option<Turn>,
    /// The revert that its host can still restore.
    pub reverted: Option<Seq>,
    /// Its activity.
    pub activity: Activity,
    /// Its host's description of it.
    pub description: Description,
    /// The model that it uses, where its host names it.
    pub model: Option<Model>,
    /// Its run, if it is a subagent.
    pub run: Option<SubagentRun>,
}

/// A message in which a session changed its active frame.
///
/// Several tool calls in one message all start from the frame that was active before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The host's message.
    pub message: String,
    /// The active frame before it.
    pub before: Option<FrameId>,
}

impl Session {
    /// Returns a session of which only the name is known.
    pub fn new(key: SessionRef) -> Self {
        Self {
            key,
            worktree: None,
            own: None,
            active: None,
            turn: None,
            reverted: None,
            activity: Activity::default(),
            description: Description::default(),
            model: None,
            run: None,
        }
    }

    /// Returns the frame that the session works on: its active one, else the one bound to it.
    pub fn frame(&self) -> Option<FrameId> {
        self.active.or(self.own)
    }

    /// Returns the number of tokens that a prompt may have, where the host reports it.
    pub fn window(&self) -> Option<u64> {
        self.model.as_ref().and_then(|model| model.window)
    }

    /// Returns true if another session started this one.
    pub fn is_started_by_another(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.parent.is_some())
    }
}

/// The model that a session uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// The host's name for it.
    pub name: Title,
    /// Size of its window in tokens, where the host says so.
    pub window: Option<u64>,
}

/// A host's description of a session; absent fields are unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// Working directory.
    pub directory: Option<Text>,
    /// Version of the host.
    pub host_version: Option<Text>,
    /// Name of the agent.
    pub agent: Option<Text>,
    /// The session that started it.
    pub parent: Option<SessionRef>,
    /// The session that it was forked from.
    pub copy_of: Option<SessionRef>,
    /// Changes to files, as reported by the host.
    pub diff: Option<DiffTotals>,
    /// Language of the conversation.
    pub language: Option<Text>,
    /// The host's mode of permissions, such as `plan` or `acceptEdits`.
    pub governance: Option<Text>,
    /// Phase of the work.
    pub phase: Option<Text>,
}

/// Numbers of changed lines and files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiffTotals {
    /// Lines added.
    pub added: u64,
    /// Lines deleted.
    pub deleted: u64,
    /// Files changed.
    pub files: u64,
}

impl Description {
    /// Merges a newer description into this one.
    pub fn and(self, newer: Self) -> Self {
        Self {
            directory: newer.directory.or(self.directory),
            host_version: newer.host_version.or(self.host_version),
            agent: newer.agent.or(self.agent),
            parent: newer.parent.or(self.parent),
            copy_of: newer.copy_of.or(self.copy_of),
            diff: newer.diff.or(self.diff),
            language: newer.language.or(self.language),
            governance: newer.governance.or(self.governance),
            phase: newer.phase.or(self.phase),
        }
    }
}

/// Activity counters of a session, and the state that its next turn needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Number of prompts of the user.
    pub prompts: u64,
    /// The host's message of the first prompt.
    pub opening: Option<String>,
    /// The model's last words in the turn that ended last; none after the next prompt.
    pub said: Option<Text>,
    /// True from an interruption by the user until the next prompt.
    pub interrupted: bool,
    /// Number of interruptions by the user.
    pub interruptions: u64,
    /// Number of compactions.
    pub compactions: u64,
    /// Number of model calls with known cost.
    pub calls: u64,
    /// Sum of their costs; the model is that of the last call.
    pub spent: Usage,
    /// Tokens of the last call, prompt and answer.
    pub size: u64,
    /// Compactions in a row.
    pub compaction_loop: CompactionLoop,
    /// Attempts to continue after an interruption, none of which has ended a turn yet.
    pub resumes: u64,
    /// True from the start of an attempt of Flamestack's own until its prompt arrives.
    pub is_resuming: bool,
    /// The way in which its work repeats itself, until the next prompt.
    pub stall: Option<Stall>,
}

/// The part of [`Activity`] that comes from messages and changes with a revert.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActivitySnapshot {
    /// Number of prompts of the user.
    pub prompts: u64,
    /// The host's message of the first prompt.
    pub opening: Option<String>,
    /// The model's last words in the turn that ended last.
    pub said: Option<Text>,
    /// True from an interruption by the user until the next prompt.
    pub interrupted: bool,
    /// Number of interruptions by the user.
    pub interruptions: u64,
}

impl Activity {
    /// Returns the part that comes from messages.
    pub fn snapshot(&self) -> ActivitySnapshot {
        ActivitySnapshot {
            prompts: self.prompts,
            opening: self.opening.clone(),
            said: self.said.clone(),
            interrupted: self.interrupted,
            interruptions: self.interruptions,
        }
    }

    /// Returns the session whose activity an event changes.
    pub fn concerned(event: &Event) -> Option<&SessionRef> {
        match event {
            Event::SessionPrompted { session, .. }
            | Event::TurnEnded { session, .. }
            | Event::SessionInterrupted { session, .. }
            | Event::SessionCompacted { session, .. }
            | Event::SessionSpent { session, .. }
            | Event::ResumeBegun { session }
            | Event::SessionStalled { session, .. }
            | Event::SessionReverted { session, .. }
            | Event::SessionRestored { session, .. } => Some(session),
            _ => None,
        }
    }

    /// Returns true if the model ended its turn with words, and the user has said nothing since.
    pub fn is_answered(&self) -> bool {
        let said = self.said.as_ref();
        !self.interrupted && said.is_some_and(|said| !is_error(said))
    }

    /// Applies an event of this session.
    pub fn apply(&mut self, recorded: &Recorded) {
        match &recorded.event {
            Event::SessionPrompted { .. } => {
                if self.prompts == 0 {
                    self.opening.clone_from(&recorded.message);
                }
                self.prompts = self.prompts.saturating_add(1);
                // A prompt of Flamestack's own was counted before it was sent.
                if self.interrupted && !self.is_resuming {
                    self.resumes = self.resumes.saturating_add(1);
                }
                self.is_resuming = false;
                self.said = None;
                self.interrupted = false;
                self.stall = None;
            }
            Event::TurnEnded { said, .. } => {
                if said.is_some() {
                    self.said.clone_from(said);
                }
                // An attempt that ends in an error has not continued.
                if !said.as_ref().is_some_and(is_error) {
                    self.resumes = 0;
                }
                self.interrupted = false;
                if said.is_some() {
                    self.compaction_loop.turned();
                }
            }
            Event::SessionInterrupted { .. } => {
                self.interruptions = self.interruptions.saturating_add(1);
                self.interrupted = true;
            }
            Event::SessionCompacted { automatic, .. } => {
                self.compactions = self.compactions.saturating_add(1);
                self.compaction_loop.compacted(*automatic);
            }
            Event::SessionSpent { usage, .. } => {
                self.calls = self.calls.saturating_add(1);
                self.spent.add(usage);
                let size = usage.prompt().saturating_add(usage.output);
                // A step that was cut off reports no cost, and the prompt is as long as it was.
                if size > 0 {
                    self.size = size;
                }
                self.compaction_loop.called();
            }
            Event::ResumeBegun { .. } => {
                self.resumes = self.resumes.saturating_add(1);
                self.is_resuming = true;
            }
            Event::SessionStalled { stall, .. } => self.stall.clone_from(stall),
            Event::SessionReverted { activity_after, .. }
            | Event::SessionRestored { activity_after, .. } => {
                // Their evidence may be among what was taken back.
                self.stall = None;
                self.resumes = 0;
                self.is_resuming = false;
                let seen = activity_after.clone();
                self.prompts = seen.prompts;
                self.opening = seen.opening;
                self.said = seen.said;
                self.interrupted = seen.interrupted;
                self.interruptions = seen.interruptions;
            }
            _ => {}
        }
    }
}

/// Returns true if these last words say that an error ended the turn.
fn is_error(said: &Text) -> bool {
    said.as_str().starts_with(life::ENDED_BY_ERROR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::author::Author;
    use crate::id::Timestamp;
    use crate::session::checkpoint::InterruptionCause;

    fn after(events: Vec<Event>) -> Activity {
        let mut activity = Activity::default();
        for (seq, event) in (1..).zip(events) {
            activity.apply(&Recorded {
                seq: Seq(seq),
                batch: Seq(seq),
                at: Timestamp(seq),
                session: session(),
                message: None,
                by: Author::Agent,
                event,
            });
        }
        activity
    }

    fn session() -> SessionRef {
        "opencode:s".parse().unwrap()
    }

    fn prompted() -> Event {
        Event::SessionPrompted {
            session: session(),
            queued: None,
        }
    }

    fn crashed() -> Event {
        Event::SessionInterrupted {
            session: session(),
            how: None,
            cause: InterruptionCause::Crash,
        }
    }

    fn turned(said: &str) -> Event {
        Event::TurnEnded {
            session: session(),
            said: Text::new(said).ok(),
        }
    }

    fn begun() -> Event {
        Event::ResumeBegun { session: session() }
    }

    #[test]
    fn an_attempt_counts_when_it_begins_and_is_cleared_when_it_ends() {
        let died_twice = vec![
            prompted(),
            crashed(),
            begun(),
            prompted(),
            crashed(),
            begun(),
        ];
        assert_eq!(after(died_twice.clone()).resumes, 2);
        let mut failed = died_twice.clone();
        failed.extend([prompted(), turned("Ended by an error: overloaded")]);
        assert_eq!(after(failed).resumes, 2);
        let mut finished = died_twice;
        finished.extend([prompted(), turned("Done")]);
        assert_eq!(after(finished).resumes, 0);
    }

    #[test]
    fn a_prompt_of_the_user_after_an_interruption_is_an_attempt_too() {
        assert_eq!(after(vec![prompted(), crashed(), prompted()]).resumes, 1);
        assert_eq!(
            after(vec![prompted(), turned("Done"), prompted()]).resumes,
            0
        );
    }
}
