//! Requests as fronts receive them: frames by the names users and models type, texts unchecked.
//!
//! Resolving a request to a command checks every text and draws every id. The rules in
//! `flamestack_core` then accept or refuse the command.

use flamestack_core::command::{DEEPEST_PLAN, Place, PlanItem, Under};
use flamestack_core::event::{Edit, Goal, Results};
use flamestack_core::frame::LogEntry;
use flamestack_core::id::Timestamp;
use flamestack_core::text::TextProblem;
use flamestack_core::{
    Actor, Author, Command, Evidence, FrameId, Model, Note, Outcome, Refusal, SessionRef, Text,
    Title,
};
use flamestack_store::Reading;

use crate::clock::Clock;
use crate::error::{EngineError, Result};
use crate::names::resolve;

/// End of the text of a decision that approves something.
pub(crate) const APPROVED: &str = " is approved";

/// Names of texts in refusals.
const CRITERIA: &str = "the text of the success criteria";
const CRITERIA_COMPACTED: &str = "the compacted text of the success criteria";
const RESULTS: &str = "the text of the results";
const RESULTS_COMPACTED: &str = "the compacted text of the results";

/// A request to change the stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// See [`Command::Push`].
    Push {
        /// Parent of the frame.
        parent: ParentInput,
        /// Goal of the frame.
        goal: GoalInput,
    },
    /// See [`Command::Pop`].
    Pop {
        /// The frame, if not the active one.
        frame: Option<String>,
        /// Outcome of the frame.
        outcome: Outcome,
        /// Results of the frame.
        results: String,
        /// Dense form of the results.
        compacted: Option<String>,
    },
    /// See [`Command::AwaitSummary`].
    AwaitSummary {
        /// The frame, if not the active one.
        frame: Option<String>,
        /// Outcome of the frame once the summary is there; `None` if it stays open.
        outcome: Option<Outcome>,
        /// Results so far, if any were given.
        results: Option<String>,
        /// Dense form of the results.
        compacted: Option<String>,
        /// Instructions for the summary.
        note: Option<String>,
    },
    /// See [`Command::Plan`].
    Plan {
        /// Parent of the frames.
        parent: ParentInput,
        /// The planned frames, in order.
        items: Vec<PlanInput>,
    },
    /// See [`Command::Activate`].
    Activate(String),
    /// See [`Command::Block`].
    Block {
        /// The frame, if not the active one.
        frame: Option<String>,
        /// The object of the wait.
        reason: String,
    },
    /// See [`Command::Unblock`].
    Unblock(String),
    /// See [`Command::Edit`].
    Edit {
        /// The frame, if not the active one.
        frame: Option<String>,
        /// The texts to replace.
        edit: EditInput,
    },
    /// See [`Command::Note`].
    Note {
        /// The frame, if not the active one.
        frame: Option<String>,
        /// The note.
        note: NoteInput,
    },
    /// See [`Command::Log`]. The text must be in the store already.
    Log {
        /// The frame, if not the active one.
        frame: Option<String>,
        /// The text to refer to.
        entry: LogEntry,
        /// The note that the text is about.
        note: Option<NoteInput>,
    },
    /// See [`Command::Invalidate`].
    Invalidate {
        /// The frame, if not the active one.
        frame: Option<String>,
        /// The reason.
        reason: String,
    },
    /// See [`Command::Move`].
    Move {
        /// The frame.
        frame: String,
        /// Destination.
        to: MoveTarget,
    },
    /// See [`Command::Delete`].
    Delete(String),
    /// See [`Command::Bind`].
    Bind {
        /// The frame.
        frame: String,
        /// The session.
        session: SessionRef,
    },
    /// See [`Command::Unbind`].
    Unbind(SessionRef),
    /// See [`Command::UseModel`].
    UseModel {
        /// Name of the model, in the host's words.
        name: String,
        /// Number of prompt tokens it accepts, if the host reports it.
        window: Option<u64>,
    },
    /// See [`Command::Undo`].
    Undo,
}

/// Parent of new frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ParentInput {
    /// The session's active frame, or else its own.
    #[default]
    Active,
    /// A frame by name.
    Named(String),
    /// None: the frames become roots.
    Root,
}

/// Goal of a new frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GoalInput {
    /// Short name.
    pub title: String,
    /// Success criteria.
    pub criteria: Option<String>,
    /// Dense form of the criteria.
    pub criteria_compacted: Option<String>,
}

/// A frame to plan, with those below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanInput {
    /// Goal of the frame.
    pub goal: GoalInput,
    /// Frames to plan below it.
    pub children: Vec<PlanInput>,
}

/// A note to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoteInput {
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
    /// The user's approval of something, recorded as a decision of the user.
    Approval(String, Option<String>),
    /// See [`Note::Directive`]. No tool creates these: only the user gives directives.
    Directive(String),
}

/// Texts of a frame to replace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EditInput {
    /// New title.
    pub title: Option<String>,
    /// New success criteria.
    pub criteria: Option<String>,
    /// New compacted form of the criteria.
    pub criteria_compacted: Option<String>,
    /// New results.
    pub results: Option<String>,
    /// New compacted form of the results.
    pub results_compacted: Option<String>,
}

/// Destination of a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MoveTarget {
    /// Last child of a frame.
    Under(String),
    /// Last of the roots.
    Root,
    /// Directly before a frame.
    Before(String),
    /// Directly after a frame.
    After(String),
}

impl Request {
    /// Returns true if the session may have another active frame afterwards.
    pub(crate) fn changes_focus(&self) -> bool {
        matches!(
            self,
            Self::Push { .. }
                | Self::Pop { .. }
                | Self::Activate(_)
                | Self::Block { .. }
                | Self::Invalidate { .. }
        )
    }

    /// Returns true if it begins work that may be opened below the session's active frame.
    pub(crate) fn begins_work(&self) -> bool {
        matches!(
            self,
            Self::Push { .. } | Self::Plan { .. } | Self::Activate(_)
        )
    }

    /// Resolves names, checks texts and draws ids.
    /// A wait for a summary that begins now ends at `until`.
    pub(crate) fn to_command(
        &self,
        reading: &dyn Reading,
        actor: &Actor,
        clock: &dyn Clock,
        until: Timestamp,
    ) -> Result<Command> {
        let named = |name: &String| resolve(reading, name);
        let optional_frame = |name: &Option<String>| name.as_ref().map(named).transpose();
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
                frame: optional_frame(frame)?,
                outcome: *outcome,
                results: results_from(results, compacted.as_ref())?,
            },
            Self::AwaitSummary {
                frame,
                outcome,
                results,
                compacted,
                note,
            } => Command::AwaitSummary {
                frame: optional_frame(frame)?,
                outcome: *outcome,
                given: match results {
                    None => None,
                    Some(results) => Some(results_from(results, compacted.as_ref())?),
                },
                note: optional("the note", note.as_ref())?,
                until,
            },
            Self::Plan { parent, items } => Command::Plan {
                under: under(reading, parent)?,
                items: items
                    .iter()
                    .map(|item| item.check(clock, DEEPEST_PLAN))
                    .collect::<Result<_, _>>()?,
            },
            Self::Activate(frame) => Command::Activate(named(frame)?),
            Self::Block { frame, reason } => Command::Block {
                frame: optional_frame(frame)?,
                reason: text("the reason", reason)?,
            },
            Self::Unblock(frame) => Command::Unblock(named(frame)?),
            Self::Edit { frame, edit } => Command::Edit {
                frame: optional_frame(frame)?,
                edit: edit.check()?,
            },
            Self::Note { frame, note } => Command::Note {
                frame: match (frame, note) {
                    (None, NoteInput::Directive(_)) => root_of_active(reading, actor)?,
                    _ => optional_frame(frame)?,
                },
                note: note.check()?,
            },
            Self::Log { frame, entry, note } => Command::Log {
                frame: optional_frame(frame)?,
                entry: entry.clone(),
                note: note.as_ref().map(NoteInput::check).transpose()?,
            },
            Self::Invalidate { frame, reason } => Command::Invalidate {
                frame: optional_frame(frame)?,
                reason: text("the reason", reason)?,
            },
            Self::Move { frame, to } => Command::Move {
                frame: named(frame)?,
                to: match to {
                    MoveTarget::Root => Place::Root,
                    MoveTarget::Under(parent) => Place::Under(named(parent)?),
                    MoveTarget::Before(sibling) => Place::Before(named(sibling)?),
                    MoveTarget::After(sibling) => Place::After(named(sibling)?),
                },
            },
            Self::Delete(frame) => Command::Delete(named(frame)?),
            Self::Bind { frame, session } => Command::Bind {
                frame: named(frame)?,
                session: session.clone(),
            },
            Self::Unbind(session) => Command::Unbind(session.clone()),
            Self::UseModel { name, window } => Command::UseModel(Model {
                name: short("the model's name", name)?,
                window: *window,
            }),
            Self::Undo => Command::Undo,
        })
    }
}

/// Returns the root of the frame that a session works on. What the user tells a session is meant for
/// all of its work and must not end with the step that happens to be active.
fn root_of_active(reading: &dyn Reading, actor: &Actor) -> Result<Option<FrameId>> {
    let session = reading.session(&actor.session)?;
    let Some(active) = session.and_then(|session| session.active) else {
        return Ok(None);
    };
    let top = reading.top(&active)?;
    Ok(Some(top.map_or(active, |(root, _)| root)))
}

fn under(reading: &dyn Reading, parent: &ParentInput) -> Result<Under> {
    Ok(match parent {
        ParentInput::Active => Under::Active,
        ParentInput::Root => Under::Root,
        ParentInput::Named(name) => Under::Frame(resolve(reading, name)?),
    })
}

impl GoalInput {
    /// A goal of which only the title is known.
    pub fn titled(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            ..Self::default()
        }
    }

    fn check(&self) -> Result<Goal> {
        let dense = self.criteria_compacted.as_ref();
        Ok(Goal {
            title: short("the title", &self.title)?,
            criteria: optional(CRITERIA, self.criteria.as_ref())?,
            criteria_compacted: optional(CRITERIA_COMPACTED, dense)?,
        })
    }
}

impl PlanInput {
    /// Checks a frame and those below it, at most `levels` deep.
    fn check(&self, clock: &dyn Clock, levels: usize) -> Result<PlanItem> {
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

impl NoteInput {
    fn check(&self) -> Result<Note> {
        let reason = |why: &Option<String>| optional("the reason", why.as_ref());
        Ok(match self {
            Self::Artifact(path) => Note::Artifact(text("the artifact", path)?),
            Self::Decision(decision, why) => Note::Decision {
                text: text("the decision", decision)?,
                why: reason(why)?,
                // The rules name the actor as the author.
                by: Author::Agent,
            },
            Self::Approval(what, why) => Note::Decision {
                text: text("the approval", &format!("{}{APPROVED}", what.trim()))?,
                why: reason(why)?,
                by: Author::User,
            },
            Self::FailedAttempt(attempt, why) => Note::FailedAttempt {
                text: text("the attempt", attempt)?,
                why: reason(why)?,
            },
            Self::Command(command, exit_code) => Note::Evidence(Evidence::Command {
                command: text("the command", command)?,
                exit_code: *exit_code,
            }),
            Self::Test(id, passed) => Note::Evidence(Evidence::Test {
                id: text("the test", id)?,
                passed: *passed,
            }),
            Self::Directive(directive) => Note::Directive(text("the directive", directive)?),
            Self::Commit(hash) => {
                let commit = text("the commit", hash)?;
                // Some hosts append the subject of the commit to the hash.
                let name = hash.split_whitespace().next().unwrap_or_default();
                let is_hash = (4..=64).contains(&name.len())
                    && name.bytes().all(|byte| byte.is_ascii_hexdigit());
                if !is_hash {
                    return Err(Refusal::NotACommit(hash.clone()).into());
                }
                Note::Evidence(Evidence::Commit(commit))
            }
        })
    }
}

impl EditInput {
    fn check(&self) -> Result<Edit> {
        let title = self.title.as_ref();
        Ok(Edit {
            title: title.map(|title| short("the title", title)).transpose()?,
            criteria: optional(CRITERIA, self.criteria.as_ref())?,
            criteria_compacted: optional(CRITERIA_COMPACTED, self.criteria_compacted.as_ref())?,
            results: optional(RESULTS, self.results.as_ref())?,
            results_compacted: optional(RESULTS_COMPACTED, self.results_compacted.as_ref())?,
        })
    }
}

fn results_from(results: &str, compacted: Option<&String>) -> Result<Results> {
    Ok(Results {
        full: text(RESULTS, results)?,
        compacted: optional(RESULTS_COMPACTED, compacted)?,
    })
}

fn short(field: &'static str, text: &str) -> Result<Title> {
    Title::new(text).map_err(|problem| bad_text(field, problem))
}

fn text(field: &'static str, value: &str) -> Result<Text> {
    Text::new(value).map_err(|problem| bad_text(field, problem))
}

fn bad_text(field: &'static str, problem: TextProblem) -> EngineError {
    Refusal::BadText { field, problem }.into()
}

fn optional(field: &'static str, value: Option<&String>) -> Result<Option<Text>> {
    value.map(|value| text(field, value)).transpose()
}
