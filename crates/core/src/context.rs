//! What a model is shown of the stack: the frames around the current one, under a budget.
//!
//! [`assemble()`] is a pure function from [`Surroundings`], [`Settings`] and a tokenizer to a
//! [`Context`]; the same arguments give the same bytes. [`deliver`] decides what of it a
//! conversation is sent, so that nothing a model has seen is ever rewritten. Reading frames from
//! a store, and putting text into a prompt, are done elsewhere.
//!
//! ```text
//!  Surroundings ─┬─ rank (relevance) ─┬─ drafts ─┬─ share the budget ─┬─ cut ─┬─ verify ─ Context
//!  Settings ─────┘                    │          │ parts, sections,   │       │ count the
//!  Tokenizer ─────────────────────────┘          │ entries, fields    │       │ final bytes
//! ```

mod assemble;
mod attempt;
mod budget;
mod cache;
mod delivery;
mod draft;
mod entries;
mod frontier;
mod guidance;
mod json;
mod relevance;
mod roster;
mod surroundings;
mod telling;
mod terms;

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod grammar;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod shortage_tests;
#[cfg(test)]
mod snapshots;

pub use assemble::{assemble, assemble_json, pointer};
pub use budget::{Budget, SMALLEST_TOTAL, TooSmall};
pub use cache::{Cache, Counters, Key};
pub use delivery::{Delivery, Reason, Sending, Sent, deliver};
pub use frontier::{Failed, Frontier};
pub use guidance::{BRIEF_LIMIT, Guidance};
pub use relevance::{Comparison, Gist, Interest, Relevance, score};
pub use surroundings::{
    CANDIDATES, DIRECTIVES, Directive, Group, LEVELS, PLANNED, Place, Subagent, Surroundings,
};
pub use terms::terms;

use crate::id::{FrameId, Seq};

/// How a context is to be made.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Settings {
    /// How long it may be.
    pub budget: Budget,
    /// What is said about the stack itself.
    pub guidance: Guidance,
    /// How the reader gets at what was left out.
    pub calls: Calls,
    /// At most so many ancestors; two are always allowed.
    pub max_ancestors: Option<usize>,
    /// At most so many completed siblings.
    pub max_siblings: Option<usize>,
    /// Siblings and uncles that score less are left out.
    pub minimum_relevance: i64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            budget: Budget::default(),
            guidance: Guidance::default(),
            calls: Calls::default(),
            max_ancestors: None,
            max_siblings: None,
            minimum_relevance: 30,
        }
    }
}

/// How the reader gets at what was left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Calls {
    /// With the command line, which works wherever there is a shell.
    #[default]
    Shell,
    /// With tools, for clients that have nothing else.
    Tools,
}

impl Calls {
    /// The call that shows a frame and what is below it.
    pub fn details(self, frame: &FrameId) -> String {
        match self {
            Self::Shell => format!("flame show {frame}"),
            Self::Tools => format!("stack_frame_details frameID={frame}"),
        }
    }

    /// The call that shows all that is below a frame.
    pub fn below(self, frame: &FrameId) -> String {
        match self {
            Self::Shell => format!("flame tree {frame} --all"),
            Self::Tools => format!("stack_tree rootID={frame} showFull=true"),
        }
    }

    /// The call that lists everything that is left out of a frame's context.
    pub fn table(self, frame: &FrameId) -> String {
        match self {
            Self::Shell => format!("flame context -f {frame} --table"),
            Self::Tools => "stack_context_info".to_owned(),
        }
    }

    /// The call that shows the raw history of a frame.
    pub fn log(self, frame: &FrameId) -> String {
        match self {
            Self::Shell => format!("flame log {frame}"),
            Self::Tools => format!("stack_recall {frame}"),
        }
    }
}

/// What a model is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// The parts, in the order in which they are shown.
    pub sections: Vec<Section>,
    /// All of it, exactly as the model gets it; empty where there is nothing to tell.
    pub text: String,
    /// How many tokens the text has.
    pub tokens: usize,
    /// What it was allowed to have.
    pub budget: Budget,
    /// The tokenizer that counted.
    pub tokenizer: &'static str,
    /// The last event that is taken into account.
    pub position: Seq,
}

impl Context {
    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// A section, if it is there.
    pub fn section(&self, kind: SectionKind) -> Option<&Section> {
        self.sections.iter().find(|section| section.kind == kind)
    }
}

/// A part of a context that can be found, measured and removed again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// What it is about.
    pub kind: SectionKind,
    /// Whose words these are.
    pub provenance: Provenance,
    /// How many tokens its text has.
    pub tokens: usize,
    /// How many entries are shown.
    pub shown: usize,
    /// What was left out, and the call that shows it.
    pub omitted: Vec<Omission>,
    /// Its part of the text.
    pub body: String,
}

/// What a section is about, in the order in which sections are shown: what hardly ever changes
/// comes first, so that a prompt cache keeps as much as it can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SectionKind {
    /// What is said about the stack itself.
    Guidance,
    /// The path from the root to the parent.
    Ancestors,
    /// What the user said.
    Directives,
    /// Finished siblings of ancestors.
    Uncles,
    /// Finished siblings.
    Siblings,
    /// What was tried in vain.
    FailedAttempts,
    /// What the children came to.
    Children,
    /// The children that are to come.
    Planned,
    /// The frame that is worked on.
    Current,
    /// Frames that are in progress or blocked beside or below it.
    Open,
    /// Conversations under way.
    Subagents,
    /// Where the frame stands among its siblings, and which comes next.
    Position,
    /// What others changed since; never in a context, only in an update.
    Update,
}

impl SectionKind {
    /// The name in tables and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Guidance => "guidance",
            Self::Current => "current",
            kind => kind.tag(),
        }
    }

    /// The name of its element.
    fn tag(self) -> &'static str {
        match self {
            Self::Guidance => "stack-task-management",
            Self::Ancestors => "ancestors",
            Self::Directives => "user-directives",
            Self::Uncles => "uncles",
            Self::Siblings => "completed-siblings",
            Self::FailedAttempts => "failed-attempts",
            Self::Children => "children-results",
            Self::Planned => "planned-children",
            Self::Current => "current-frame",
            Self::Open => "open-frames",
            Self::Subagents => "subagents",
            Self::Position => "position",
            Self::Update => "stack-update",
        }
    }
}

/// Whose words something is. A brief informs: text of a model or a tool is never an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Provenance {
    /// Ours.
    Stack,
    /// A person's.
    User,
    /// A model's.
    Model,
    /// A program's.
    Tool,
}

impl Provenance {
    /// The name in the text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stack => "stack",
            Self::User => "user",
            Self::Model => "model",
            Self::Tool => "tool",
        }
    }
}

/// Something that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Omission {
    /// What it is, in words: `completed siblings`, `part of k3f9x2mq`.
    pub what: String,
    /// How many.
    pub count: usize,
    /// Why.
    pub why: Why,
    /// The call that shows it.
    pub call: String,
}

/// Why something was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// There was no room for it.
    Budget,
    /// A setting limits how many there are.
    Limit,
    /// It has too little to do with the goal.
    Relevance,
    /// There are so many that not all are looked at.
    Crowd,
}

impl Why {
    /// The reason in a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Budget => "budget",
            Self::Limit => "limit",
            Self::Relevance => "relevance",
            Self::Crowd => "crowd",
        }
    }
}
