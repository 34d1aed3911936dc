//! Continuation briefs: what a session needs to know after a compaction, a resume or a hand-off.
//!
//! [`compose`] is a pure function from [`Sources`] (the frame tree, the host's todo list, the texts of a
//! few files) to a [`Brief`]. Every session gets the generic sections; where a [`workflow`] is in
//! progress, its sections are added. Each line has its source. Reading files and asking git is up to the
//! caller; [`plan_reading`] says which of possibly thousands of work items are worth reading.
//!
//! ```text
//!  plan_reading ─▶ (caller reads files) ─▶ Sources ─▶ Facts ─▶ Choice ─▶ sections ─▶ Draft ─▶ render ─▶ Brief
//! ```
//!
//! A brief informs and grants nothing: it has no imperatives, the newest message of the user takes
//! precedence, and `approved` is said only of what was recorded as approved.

mod active;
mod anchors;
mod approvals;
mod choice;
mod claims;
pub mod compaction;
mod dates;
mod document;
mod draft;
mod facts;
mod fields;
mod mentions;
mod plain;
mod render;
mod sameness;
mod sections;
mod session_log;
mod signs;
mod sources;
mod stages;
mod tasks;
mod vocabulary;
mod words;
pub mod workflow;

use std::fmt;

use flamestack_core::FrameId;
use flamestack_core::compaction::Anchor;
use flamestack_extract::state::WorkState;
use flamestack_extract::tokens::Tokenizer;

pub use self::anchors::{list_verbatim, split_by_survival};
pub use self::choice::{ReadPlan, plan_reading};
pub use self::document::Document;
pub use self::mentions::{Candidate, Trust};
pub use self::sources::{Commit, Git, Mode, ReadStats, Sources, WorkItem};
pub use self::tasks::{Task, TaskList, TaskState};
use self::workflow::Workflow;

/// Composes a brief of at most `budget` tokens.
pub fn compose(
    workflows: &[Workflow],
    sources: &Sources,
    budget: usize,
    tokenizer: &dyn Tokenizer,
) -> Brief {
    let facts = facts::Facts::new(workflows, sources);
    let choice = choice::choose(&facts);
    let mut draft = draft::Draft::default();
    sections::write(&mut draft, &facts, &choice);
    let active = choice.active.as_ref();
    let anchors = anchors::anchors(&draft, active, sources);
    let state = sources.state.as_ref();
    let state_text = state.map(|state| state.render(budget / STATE_PART, tokenizer));
    let state_text = state_text.unwrap_or_default();
    let page = render::render(draft, &state_text, active.is_some(), budget, tokenizer);
    Brief {
        state: sources.state.clone(),
        sections: page.sections,
        text: page.text,
        tokens: page.tokens,
        budget,
        tokenizer: tokenizer.name(),
        workflow: active.map(active::Active::status),
        anchors,
        notes: sources.notes.clone(),
        read: sources.read,
    }
}

/// Maximum share of a brief for the state of the work: one part in this many.
const STATE_PART: usize = 4;

/// A continuation brief.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brief {
    /// The state of the work, where the session has a transcript.
    pub state: Option<WorkState>,
    /// Sections in order; those of a workflow only if one is in progress.
    pub sections: Vec<BriefSection>,
    /// The whole text.
    pub text: String,
    /// Number of tokens in the text.
    pub tokens: usize,
    /// Maximum number of tokens.
    pub budget: usize,
    /// Name of the tokenizer that counted them.
    pub tokenizer: &'static str,
    /// The workflow in progress.
    pub workflow: Option<WorkflowStatus>,
    /// Facts that must survive a compaction.
    pub anchors: Vec<Anchor>,
    /// Remarks about what could not be read.
    pub notes: Vec<String>,
    /// Amount of what was read.
    pub read: ReadStats,
}

impl Brief {
    /// Returns the section with a heading.
    pub fn section(&self, heading: Heading) -> Option<&BriefSection> {
        let mut sections = self.sections.iter();
        sections.find(|section| section.heading == heading)
    }

    /// Returns true if there is more than git alone would say.
    pub fn says_more_than_git(&self) -> bool {
        let mut lines = self.sections.iter().flat_map(|section| &section.lines);
        self.state.is_some() || lines.any(|line| line.source != LineSource::Git)
    }
}

/// Status of a workflow in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowStatus {
    /// Name of the workflow.
    pub workflow: String,
    /// Name of the work item, once it has one.
    pub item: Option<String>,
    /// Name of the stage, verbatim.
    pub stage: String,
    /// Evidence for the stage, in words.
    pub known_by: String,
    /// Name of the stage after it.
    pub follows: Option<String>,
    /// Stage to work on next: the current one or, if its file is written, the one after it.
    pub ahead: String,
    /// Open tasks, most likely one first.
    pub to_do: Vec<Task>,
    /// Number of finished tasks.
    pub done: usize,
}

/// A section of a brief.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BriefSection {
    /// Subject of the section.
    pub heading: Heading,
    /// Lines; empty if nothing is recorded.
    pub lines: Vec<BriefLine>,
    /// Number of lines left out.
    pub omitted: usize,
}

/// A line of a brief.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BriefLine {
    /// Text without the bullet.
    pub text: String,
    /// Source of the text.
    pub source: LineSource,
    pub(crate) rank: draft::Rank,
}

flamestack_core::enum_names! {
    /// Heading of a section, in the order in which sections are shown.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Heading {
        /// Goal of the session.
        Objective = "Primary Objective",
        /// Work at hand.
        CurrentStep = "Current Step",
        /// State of the work.
        Status = "Status",
        /// Finished work.
        Completed = "Completed",
        /// Open work.
        Remaining = "Remaining",
        /// Decisions and directives.
        Decisions = "Decisions",
        /// Files in use.
        ActiveFiles = "Active Files",
        /// Obstacles.
        Blockers = "Blockers / Risks",
        /// Next step.
        NextAction = "Next Action",
        /// Name of the workflow.
        WorkflowType = "Workflow Type",
        /// Name of the stage, verbatim.
        Stage = "Canonical Workflow Stage",
        /// Files of the work item.
        SourceArtifacts = "Source Artifacts",
        /// File that the stage is about.
        CurrentArtifact = "Current Artifact",
        /// Content and gaps of the files.
        ArtifactStatus = "Artifact Status",
        /// Condition of the next stage.
        Gate = "Transition Gate",
        /// Approvals, recorded or inferred.
        Approved = "Approved Decisions",
        /// Open decisions.
        Pending = "Pending Decisions / Open Questions",
        /// Conditions that the stage builds on.
        Preconditions = "Dependencies / Preconditions",
        /// Criteria of completion.
        DoneCriteria = "Verification / Done Criteria",
    }
}

impl Heading {
    /// Returns true if the section is shown only where a workflow is in progress.
    pub fn is_of_workflow(self) -> bool {
        self >= Self::WorkflowType
    }
}

/// Source of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineSource {
    /// A frame.
    Frame(FrameId),
    /// An item of the host's todo list, by its place from 1.
    Todo(usize),
    /// A file.
    File {
        /// Path relative to the project.
        path: String,
        /// Line number from 1, if known.
        line: Option<usize>,
    },
    /// Git.
    Git,
    /// The declaration of a workflow.
    Workflow(String),
    /// The host.
    Host,
}

impl LineSource {
    /// Returns the kind of source in a word.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Frame(_) => "frame",
            Self::Todo(_) => "todo",
            Self::File { .. } => "file",
            Self::Git => "git",
            Self::Workflow(_) => "workflow",
            Self::Host => "host",
        }
    }
}

impl fmt::Display for LineSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Frame(id) => write!(f, "frame {id}"),
            Self::Todo(place) => write!(f, "todo {place}"),
            Self::File { path, line: None } => f.write_str(path),
            Self::File {
                path,
                line: Some(line),
            } => write!(f, "{path}:{line}"),
            Self::Workflow(name) => write!(f, "workflow {name}"),
            Self::Git | Self::Host => f.write_str(self.kind()),
        }
    }
}
