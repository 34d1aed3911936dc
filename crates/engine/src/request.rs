//! A wish as the fronts hear it: frames by the names people type, texts as they came.
//!
//! Turning a request into a command checks every text and draws every id; whether the command can
//! be granted is core's to say.

use flamestack_core::Model;
use flamestack_core::command::{Command, DEEPEST_PLAN, Place, PlanItem, Under};
use flamestack_core::event::{Edit, Goal, Results};
use flamestack_core::frame::{LogEntry, Outcome};
use flamestack_core::id::{FrameId, SessionRef};
use flamestack_core::note::{Evidence, Note};
use flamestack_core::refusal::Refusal;
use flamestack_core::text::{Prose, TextProblem, Title};
use flamestack_store::Reading;

use crate::clock::Clock;
use crate::error::EngineError;
use crate::names::resolve;

/// What somebody asks for. Frames are named as people and models name them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// See [`Command::Push`].
    Push {
        /// Where the frame belongs.
        parent: Parent,
        /// What it is about.
        goal: Wanted,
    },
    /// See [`Command::Pop`].
    Pop {
        /// Which frame, if not the active one.
        frame: Option<String>,
        /// How it ends.
        outcome: Outcome,
        /// What came out of it.
        results: String,
        /// The same in dense form.
        compacted: Option<String>,
    },
    /// See [`Command::AwaitSummary`].
    AwaitSummary {
        /// Which frame, if not the active one.
        frame: Option<String>,
        /// How it ends then, if it does.
        outcome: Option<Outcome>,
        /// What came out of it, as far as that was said.
        results: Option<String>,
        /// The same in dense form.
        compacted: Option<String>,
        /// Why a summary is wanted.
        note: Option<String>,
    },
    /// See [`Command::Plan`].
    Plan {
        /// Where the frames belong.
        parent: Parent,
        /// The plan.
        items: Vec<Planned>,
    },
    /// See [`Command::Activate`].
    Activate(String),
    /// See [`Command::Block`].
    Block {
        /// Which frame, if not the active one.
        frame: Option<String>,
        /// What it waits for.
        reason: String,
    },
    /// See [`Command::Unblock`].
    Unblock(String),
    /// See [`Command::Edit`].
    Edit {
        /// Which frame, if not the active one.
        frame: Option<String>,
        /// What changes.
        edit: Correction,
    },
    /// See [`Command::Note`].
    Note {
        /// Which frame, if not the active one.
        frame: Option<String>,
        /// What was learned.
        note: Learned,
    },
    /// See [`Command::Log`]. The text is in the store already.
    Log {
        /// Which frame, if not the active one.
        frame: Option<String>,
        /// Which text.
        entry: LogEntry,
    },
    /// See [`Command::Invalidate`].
    Invalidate {
        /// Which frame, if not the active one.
        frame: Option<String>,
        /// Why.
        reason: String,
    },
    /// See [`Command::Move`].
    Move {
        /// Which frame.
        frame: String,
        /// Where to.
        to: Destination,
    },
    /// See [`Command::Delete`].
    Delete(String),
    /// See [`Command::Bind`].
    Bind {
        /// Which frame.
        frame: String,
        /// Which session.
        session: SessionRef,
    },
    /// See [`Command::Unbind`].
    Unbind(SessionRef),
    /// See [`Command::UseModel`].
    UseModel {
        /// What the host calls it.
        name: String,
        /// How many tokens of a prompt it can take, where the host says so.
        window: Option<u64>,
    },
    /// See [`Command::Undo`].
    Undo,
    /// A command that needs no names resolved.
    Ready(Command),
}

/// Where new frames belong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Parent {
    /// Below the session's active frame, or else its own.
    #[default]
    Active,
    /// Below a named frame.
    Named(String),
    /// Below none.
    Root,
}

/// What a frame is to be about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// A short name.
    pub title: String,
    /// What defines "done".
    pub criteria: Option<String>,
    /// The same in dense form.
    pub criteria_compacted: Option<String>,
}

/// A frame to be planned, and those below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Planned {
    /// What it is about.
    pub goal: Wanted,
    /// What is planned below it.
    pub children: Vec<Planned>,
}

/// What was learned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Learned {
    /// See [`Note::Artifact`].
    Artifact(String),
    /// See [`Note::Decision`].
    Decision(String, Option<String>),
    /// See [`Note::FailedAttempt`].
    FailedAttempt(String, Option<String>),
    /// See [`Evidence::Command`].
    Command(String, i32),
    /// See [`Evidence::Test`].
    Test(String, bool),
    /// See [`Evidence::Commit`].
    Commit(String),
    /// See [`Note::Directive`]. No tool asks for this: only a person gives directives.
    Directive(String),
}

/// What is to be corrected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Correction {
    /// The new title.
    pub title: Option<String>,
    /// The new criteria.
    pub criteria: Option<String>,
    /// Their dense form.
    pub criteria_compacted: Option<String>,
    /// The new results.
    pub results: Option<String>,
    /// Their dense form.
    pub results_compacted: Option<String>,
}

/// Where a frame is to be moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Below a frame, last.
    Under(String),
    /// Among the roots, last.
    Root,
    /// Just before a frame.
    Before(String),
    /// Just after a frame.
    After(String),
}

impl Request {
    /// Whether the session may work on another frame afterwards.
    pub(crate) fn turns(&self) -> bool {
        matches!(
            self,
            Self::Push { .. }
                | Self::Pop { .. }
                | Self::Activate(_)
                | Self::Block { .. }
                | Self::Invalidate { .. }
        )
    }

    /// The command that is asked for.
    pub(crate) fn to_command(
        &self,
        reading: &dyn Reading,
        clock: &dyn Clock,
    ) -> Result<Command, EngineError> {
        let named = |name: &String| resolve(reading, name);
        let maybe = |name: &Option<String>| name.as_ref().map(named).transpose();
        Ok(match self {
            Self::Push { parent, goal } => Command::Push {
                id: clock.draw_id(),
                under: under(reading, parent)?,
                goal: goal.check()?,
            },
            Self::Pop {
                frame,
                outcome,
                results,
                compacted,
            } => Command::Pop {
                frame: maybe(frame)?,
                outcome: *outcome,
                results: outcome_of(results, compacted.as_ref())?,
            },
            Self::AwaitSummary {
                frame,
                outcome,
                results,
                compacted,
                note,
            } => Command::AwaitSummary {
                frame: maybe(frame)?,
                outcome: *outcome,
                given: match results {
                    None => None,
                    Some(results) => Some(outcome_of(results, compacted.as_ref())?),
                },
                note: optional("the note", note.as_ref())?,
            },
            Self::Plan { parent, items } => Command::Plan {
                under: under(reading, parent)?,
                items: items
                    .iter()
                    .map(|item| item.check(clock, DEEPEST_PLAN))
                    .collect::<Result<_, _>>()?,
            },
            Self::Activate(frame) => Command::Activate {
                frame: named(frame)?,
            },
            Self::Block { frame, reason } => Command::Block {
                frame: maybe(frame)?,
                reason: prose("the reason", reason)?,
            },
            Self::Unblock(frame) => Command::Unblock {
                frame: named(frame)?,
            },
            Self::Edit { frame, edit } => Command::Edit {
                frame: maybe(frame)?,
                edit: edit.check()?,
            },
            Self::Note { frame, note } => Command::Note {
                frame: maybe(frame)?,
                note: note.check()?,
            },
            Self::Log { frame, entry } => Command::Log {
                frame: maybe(frame)?,
                entry: entry.clone(),
            },
            Self::Invalidate { frame, reason } => Command::Invalidate {
                frame: maybe(frame)?,
                reason: prose("the reason", reason)?,
            },
            Self::Move { frame, to } => Command::Move {
                frame: named(frame)?,
                to: match to {
                    Destination::Root => Place::Root,
                    Destination::Under(parent) => Place::Under(named(parent)?),
                    Destination::Before(sibling) => Place::Before(named(sibling)?),
                    Destination::After(sibling) => Place::After(named(sibling)?),
                },
            },
            Self::Delete(frame) => Command::Delete {
                frame: named(frame)?,
            },
            Self::Bind { frame, session } => Command::Bind {
                frame: named(frame)?,
                session: session.clone(),
            },
            Self::Unbind(session) => Command::Unbind {
                session: session.clone(),
            },
            Self::UseModel { name, window } => Command::UseModel(Model {
                name: short("the model's name", name)?,
                window: *window,
            }),
            Self::Undo => Command::Undo,
            Self::Ready(command) => command.clone(),
        })
    }
}

fn under(reading: &dyn Reading, parent: &Parent) -> Result<Under, EngineError> {
    Ok(match parent {
        Parent::Active => Under::Active,
        Parent::Root => Under::Root,
        Parent::Named(name) => Under::Frame(resolve(reading, name)?),
    })
}

impl Wanted {
    /// A goal of which only the title is known.
    pub fn titled(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            ..Self::default()
        }
    }

    fn check(&self) -> Result<Goal, EngineError> {
        Ok(Goal {
            title: title(&self.title)?,
            criteria: optional("the text of the success criteria", self.criteria.as_ref())?,
            criteria_compacted: optional(
                "the compacted text of the success criteria",
                self.criteria_compacted.as_ref(),
            )?,
        })
    }
}

impl Planned {
    /// Checks a frame and those below it, as far as `levels` go.
    fn check(&self, clock: &dyn Clock, levels: usize) -> Result<PlanItem, EngineError> {
        let levels = levels.checked_sub(1).ok_or(Refusal::PlanTooDeep)?;
        let children = self
            .children
            .iter()
            .map(|child| child.check(clock, levels))
            .collect::<Result<_, _>>()?;
        Ok(PlanItem {
            id: clock.draw_id(),
            goal: self.goal.check()?,
            children,
        })
    }
}

impl Learned {
    fn check(&self) -> Result<Note, EngineError> {
        let reason = |why: &Option<String>| optional("the reason", why.as_ref());
        Ok(match self {
            Self::Artifact(path) => Note::Artifact(prose("the artifact", path)?),
            Self::Decision(text, why) => Note::Decision {
                text: prose("the decision", text)?,
                why: reason(why)?,
            },
            Self::FailedAttempt(text, why) => Note::FailedAttempt {
                text: prose("the attempt", text)?,
                why: reason(why)?,
            },
            Self::Command(command, exit_code) => Note::Evidence(Evidence::Command {
                command: prose("the command", command)?,
                exit_code: *exit_code,
            }),
            Self::Test(id, passed) => Note::Evidence(Evidence::Test {
                id: prose("the test", id)?,
                passed: *passed,
            }),
            Self::Directive(text) => Note::Directive(prose("the directive", text)?),
            Self::Commit(hash) => {
                let commit = prose("the commit", hash)?;
                // Hosts say the subject behind it.
                let name = hash.split_whitespace().next().unwrap_or_default();
                let is_hash = (4..=64).contains(&name.len())
                    && name.bytes().all(|byte| byte.is_ascii_hexdigit());
                if !is_hash {
                    return Err(Refusal::NotACommit { text: hash.clone() }.into());
                }
                Note::Evidence(Evidence::Commit(commit))
            }
        })
    }
}

impl Correction {
    fn check(&self) -> Result<Edit, EngineError> {
        Ok(Edit {
            title: self.title.as_deref().map(title).transpose()?,
            criteria: optional("the text of the success criteria", self.criteria.as_ref())?,
            criteria_compacted: optional(
                "the compacted text of the success criteria",
                self.criteria_compacted.as_ref(),
            )?,
            results: optional("the text of the results", self.results.as_ref())?,
            results_compacted: optional(
                "the compacted text of the results",
                self.results_compacted.as_ref(),
            )?,
        })
    }
}

fn outcome_of(results: &str, compacted: Option<&String>) -> Result<Results, EngineError> {
    Ok(Results {
        full: prose("the text of the results", results)?,
        compacted: optional("the compacted text of the results", compacted)?,
    })
}

fn title(text: &str) -> Result<Title, EngineError> {
    short("the title", text)
}

fn short(field: &'static str, text: &str) -> Result<Title, EngineError> {
    Title::new(text).map_err(|problem| bad_text(field, problem))
}

fn prose(field: &'static str, text: &str) -> Result<Prose, EngineError> {
    Prose::new(text).map_err(|problem| bad_text(field, problem))
}

fn bad_text(field: &'static str, problem: TextProblem) -> EngineError {
    Refusal::BadText { field, problem }.into()
}

fn optional(field: &'static str, text: Option<&String>) -> Result<Option<Prose>, EngineError> {
    text.map(|text| prose(field, text)).transpose()
}

/// The frame that a receipt is about, for fronts that want to go on with it.
pub(crate) fn opened(command: &Command) -> Option<&FrameId> {
    match command {
        Command::Push { id, .. } => Some(id),
        _ => None,
    }
}
