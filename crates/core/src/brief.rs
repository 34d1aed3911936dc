//! The continuation brief: what a session that was compacted, resumed or handed on has to know.
//!
//! [`compose`] is a pure function from [`Sources`], which hold the frame tree, the host's todo list
//! and the texts of a few files, to a [`Brief`]. Two layers make it up: a generic one that every
//! session gets, and one for a [`Workflow`] where one is really going on. Each line knows where it
//! comes from. Reading files and asking git is done elsewhere; [`worth_reading`] tells which of many
//! pieces of work are.
//!
//! ```text
//!  worth_reading ──▶ files of a few units ──▶ Sources ──▶ choose unit and stage ──▶ layers ──▶ budget ──▶ Brief
//! ```
//!
//! A brief informs and grants nothing: it has no imperatives of its own, the newest message of the
//! user stands above it, and `approved` is said only of what was recorded as approved.

mod anchors;
mod approvals;
mod choice;
mod claims;
mod dates;
mod document;
mod draft;
mod findings;
mod generic;
mod hints;
mod layer;
mod mentions;
mod plain;
mod progress;
mod render;
mod session_log;
mod tasks;
mod words;

use std::fmt;

use crate::context::Surroundings;
use crate::id::FrameId;
use crate::tokens::Tokenizer;
use crate::transcript::Todo;
use crate::workflow::Workflow;

pub use anchors::{Anchor, AnchorKind, found_in};
pub use choice::{Worth, worth_reading};
pub use document::Document;
pub use mentions::{Lead, Strength};
pub use tasks::{Mark, Task, TaskList};

/// What a brief is made of.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The frames around the one that the session works on.
    pub around: Option<Surroundings>,
    /// Whether the host lets the session change anything.
    pub mode: Mode,
    /// The host's todo list.
    pub todos: Vec<Todo>,
    /// `SESSION.md`.
    pub session_log: Option<Document>,
    /// `AGENTS.md`.
    pub agents: Option<Document>,
    /// What git says.
    pub git: Option<Git>,
    /// The pieces of work whose files were read.
    pub units: Vec<Unit>,
    /// All that something speaks of, read or not.
    pub spoken_of: Vec<Lead>,
    /// What could not be read, in words.
    pub notes: Vec<String>,
    /// How much was read.
    pub read: Extent,
}

/// How much was read for a brief.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// How many files.
    pub files: usize,
    /// How many bytes of them.
    pub bytes: u64,
}

/// Whether a session may change anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// It may, as far as we know.
    #[default]
    Ordinary,
    /// It plans and reads only.
    ReadOnly,
}

/// What git says about a project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Git {
    /// The branch, if one is checked out.
    pub branch: Option<String>,
    /// Files with changes that are not committed.
    pub changed: Vec<String>,
    /// How many there are in all.
    pub changed_total: usize,
    /// Changed files below the folders of workflows, where git names only a folder above them.
    pub below: Vec<String>,
    /// The last commits, newest first.
    pub commits: Vec<Commit>,
}

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its short name.
    pub id: String,
    /// Its first line.
    pub subject: String,
    /// Files it changed.
    pub paths: Vec<String>,
}

/// A piece of work in a workflow, with the files of it that could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The name of its workflow.
    pub workflow: String,
    /// Its own name.
    pub name: String,
    /// Its files; those that are not there are missing.
    pub files: Vec<Document>,
}

impl Unit {
    fn file(&self, workflow: &Workflow, file: &str) -> Option<&Document> {
        let path = workflow.path(&self.name, file);
        self.files.iter().find(|document| document.path == path)
    }

    /// Whether its files say that it is over. Only those that a workflow's signs name are needed.
    pub fn is_over(&self, workflow: &Workflow) -> bool {
        choice::is_finished(workflow, self)
    }

    /// The file, if it says anything.
    fn content(&self, workflow: &Workflow, file: &str) -> Option<&Document> {
        self.file(workflow, file)
            .filter(|document| document.has_content())
    }
}

/// Where a line comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A frame.
    Frame(FrameId),
    /// An item of the host's todo list, by its place from 1.
    Todo(usize),
    /// A file, and the line where that is known.
    File {
        /// The path, relative to the project.
        path: String,
        /// The line, from 1.
        line: Option<usize>,
    },
    /// Git.
    Git,
    /// The declaration of a workflow.
    Workflow(String),
    /// The host.
    Host,
}

impl Source {
    pub(crate) fn file(document: &Document, line: Option<usize>) -> Self {
        Self::File {
            path: document.path.clone(),
            line,
        }
    }

    /// Which kind of source it is, in a word.
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

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Frame(id) => write!(f, "frame {id}"),
            Self::Todo(place) => write!(f, "todo {place}"),
            Self::File {
                path,
                line: Some(line),
            } => write!(f, "{path}:{line}"),
            Self::File { path, line: None } => f.write_str(path),
            Self::Git => f.write_str("git"),
            Self::Workflow(name) => write!(f, "workflow {name}"),
            Self::Host => f.write_str("host"),
        }
    }
}

/// A section of a brief, in the order in which they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Heading {
    /// What all of it is for.
    Objective,
    /// What is being done.
    CurrentStep,
    /// Where it stands.
    Status,
    /// What is done.
    Completed,
    /// What is not.
    Remaining,
    /// What was decided.
    Decisions,
    /// Files that matter.
    ActiveFiles,
    /// What is in the way.
    Blockers,
    /// What comes next.
    NextAction,
    /// Which workflow.
    WorkflowType,
    /// Which stage of it, verbatim.
    Stage,
    /// The files of the piece of work.
    SourceArtifacts,
    /// The file that the stage is about.
    CurrentArtifact,
    /// What is in them and what is missing.
    ArtifactStatus,
    /// What has to hold before the next stage.
    Gate,
    /// What was approved, and what is only inferred.
    Approved,
    /// What nobody has decided.
    Pending,
    /// What the stage builds on.
    Preconditions,
    /// What says that it is done.
    DoneCriteria,
}

impl Heading {
    /// All of them, in order.
    pub const ALL: [Self; 19] = [
        Self::Objective,
        Self::CurrentStep,
        Self::Status,
        Self::Completed,
        Self::Remaining,
        Self::Decisions,
        Self::ActiveFiles,
        Self::Blockers,
        Self::NextAction,
        Self::WorkflowType,
        Self::Stage,
        Self::SourceArtifacts,
        Self::CurrentArtifact,
        Self::ArtifactStatus,
        Self::Gate,
        Self::Approved,
        Self::Pending,
        Self::Preconditions,
        Self::DoneCriteria,
    ];

    /// The heading as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Objective => "Primary Objective",
            Self::CurrentStep => "Current Step",
            Self::Status => "Status",
            Self::Completed => "Completed",
            Self::Remaining => "Remaining",
            Self::Decisions => "Decisions",
            Self::ActiveFiles => "Active Files",
            Self::Blockers => "Blockers / Risks",
            Self::NextAction => "Next Action",
            Self::WorkflowType => "Workflow Type",
            Self::Stage => "Canonical Workflow Stage",
            Self::SourceArtifacts => "Source Artifacts",
            Self::CurrentArtifact => "Current Artifact",
            Self::ArtifactStatus => "Artifact Status",
            Self::Gate => "Transition Gate",
            Self::Approved => "Approved Decisions",
            Self::Pending => "Pending Decisions / Open Questions",
            Self::Preconditions => "Dependencies / Preconditions",
            Self::DoneCriteria => "Verification / Done Criteria",
        }
    }

    /// Whether it is there only where a workflow is going on.
    pub fn is_of_workflow(self) -> bool {
        self >= Self::WorkflowType
    }
}

/// A line of a brief.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What it says, without the bullet.
    pub text: String,
    /// Where that comes from.
    pub source: Source,
}

/// A section of a brief.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// What it is about.
    pub heading: Heading,
    /// What it says; nothing, if nothing is recorded.
    pub lines: Vec<Line>,
    /// How many more there are.
    pub omitted: usize,
}

/// Where a workflow stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The workflow.
    pub workflow: String,
    /// The piece of work, once it has a name.
    pub unit: Option<String>,
    /// The stage, verbatim.
    pub stage: String,
    /// What says so.
    pub known_by: String,
    /// The stage that follows.
    pub follows: Option<String>,
    /// What is to be done next: the stage that the work is in or, where its file is written, the
    /// one that follows.
    pub ahead: String,
    /// The tasks that are not done, most likely one first.
    pub to_do: Vec<Task>,
    /// How many tasks are done.
    pub done: usize,
}

/// What a session has to know to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brief {
    /// The sections in order; those of a workflow only where one is going on.
    pub sections: Vec<Section>,
    /// All of it, as it is shown.
    pub text: String,
    /// How many tokens the text has.
    pub tokens: usize,
    /// How many it was allowed to have.
    pub budget: usize,
    /// What counted them.
    pub tokenizer: &'static str,
    /// The workflow that is going on.
    pub standing: Option<Standing>,
    /// What must survive a compaction.
    pub anchors: Vec<Anchor>,
    /// What could not be read.
    pub notes: Vec<String>,
    /// How much was read.
    pub read: Extent,
}

impl Brief {
    /// The section with a heading, if it is there.
    pub fn section(&self, heading: Heading) -> Option<&Section> {
        self.sections
            .iter()
            .find(|section| section.heading == heading)
    }

    /// Whether it says anything that git alone would not.
    pub fn has_something_to_tell(&self) -> bool {
        self.sections
            .iter()
            .flat_map(|section| &section.lines)
            .any(|line| line.source != Source::Git)
    }
}

/// Makes a brief of at most `budget` tokens.
pub fn compose(
    workflows: &[Workflow],
    sources: &Sources,
    budget: usize,
    tokenizer: &dyn Tokenizer,
) -> Brief {
    let log = sources
        .session_log
        .as_ref()
        .map(session_log::SessionLog::parse);
    let choice = choice::choose(workflows, sources, log.as_ref());
    let mut draft = draft::Draft::default();
    generic::from_host(&mut draft, sources);
    generic::from_frames(&mut draft, sources);
    generic::from_todos(&mut draft, sources);
    let standing = choice
        .active
        .as_ref()
        .map(|active| layer::add(&mut draft, active, sources, log.as_ref()));
    for (text, source) in &choice.remarks {
        draft.add(Heading::Status, draft::Rank::Useful, text, source.clone());
    }
    if let (Some(log), Some(document)) = (&log, &sources.session_log) {
        generic::from_log(&mut draft, log, document, standing.is_some());
    }
    generic::from_current_frame(&mut draft, sources);
    generic::from_git(&mut draft, sources);
    let has_workflow = standing.is_some();
    let anchors = anchors::of(&draft, choice.active.as_ref(), sources.around.as_ref());
    let rendered = render::render(&draft, has_workflow, budget, tokenizer);
    Brief {
        sections: rendered.sections,
        text: rendered.text,
        tokens: rendered.tokens,
        budget,
        tokenizer: tokenizer.name(),
        standing,
        anchors,
        notes: sources.notes.clone(),
        read: sources.read,
    }
}
