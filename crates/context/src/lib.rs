//! Contexts: the part of the stack that a model is shown, within a budget.
//!
//! [`assemble()`] is a pure function from [`Surroundings`], [`ContextSettings`] and a tokenizer to a
//! [`Context`]; the same arguments give the same bytes. [`deliver`] decides which part of it to send
//! to a session, so that no text that a model has seen is ever rewritten. Reading frames from a
//! store, and putting text into a prompt, are done elsewhere.
//!
//! ```text
//!  Surroundings ─┬─ rank (relevance) ─┬─ drafts ─┬─ share the budget ─┬─ cut ─┬─ verify ─ Context
//!  Settings ─────┘                    │          │ parts, sections,   │       │ count the
//!  Tokenizer ─────────────────────────┘          │ entries, fields    │       │ final bytes
//! ```

mod assemble;
mod attempt;
mod budget;
mod calls;
mod delivery;
mod detail;
mod draft;
mod entries;
mod frontier;
mod guidance;
mod json;
mod section_draft;
mod surroundings;
pub mod xml;

#[cfg(test)]
mod fixtures;
#[cfg(test)]
#[path = "tests/grammar.rs"]
mod grammar;
#[cfg(test)]
mod laws;
#[cfg(test)]
#[path = "tests/reference.rs"]
mod reference;
#[cfg(test)]
mod shortage_tests;
#[cfg(test)]
mod snapshots;

pub use assemble::assemble;
pub use budget::{Budget, SMALLEST_TOTAL, TooSmall};
pub use delivery::deliver;
pub use detail::reasoned;
pub use frontier::{Failed, Frontier};
pub use guidance::{BRIEF_LIMIT, Guidance};
pub use surroundings::{
    CANDIDATES, DIRECTIVES, Group, LEVEL_PENALTY, LEVELS, PLANNED, SiblingPosition, Subagent,
    Surroundings,
};

use flamestack_core::enum_names;
use flamestack_core::id::Seq;
use xml::Element;

/// Settings of an assembly.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ContextSettings {
    /// Maximum length.
    pub budget: Budget,
    /// Amount of guidance about the stack itself.
    pub guidance: Guidance,
    /// Maximum number of ancestors; two are always shown.
    pub max_ancestors: Option<usize>,
    /// Maximum number of completed siblings.
    pub max_siblings: Option<usize>,
    /// Minimum score of siblings, and of siblings of ancestors.
    pub minimum_relevance: i64,
}

impl Default for ContextSettings {
    fn default() -> Self {
        Self {
            budget: Budget::default(),
            guidance: Guidance::default(),
            max_ancestors: None,
            max_siblings: None,
            minimum_relevance: 30,
        }
    }
}

/// An assembled context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// Sections, in the order in which they are shown.
    pub sections: Vec<Section<'static>>,
    /// The text as the model gets it; empty if there is nothing to show.
    pub text: String,
    /// Number of tokens of the text.
    pub tokens: usize,
    /// Budget of the context.
    pub budget: Budget,
    /// Name of the tokenizer.
    pub tokenizer: &'static str,
    /// Last event that is taken into account.
    pub position: Seq,
}

impl Context {
    /// Returns true if there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns the section of a kind.
    pub fn section(&self, kind: SectionKind) -> Option<&Section<'static>> {
        self.sections.iter().find(|section| section.kind == kind)
    }
}

/// A section of a context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section<'a> {
    /// Kind of the section.
    pub kind: SectionKind,
    /// Origin of its texts.
    pub provenance: Provenance,
    /// Number of tokens of its body.
    pub tokens: usize,
    /// Number of entries shown.
    pub shown: usize,
    /// Entries and parts that were left out.
    pub omitted: Vec<Omission>,
    /// Its part of the text.
    pub body: String,
    /// The elements that the body is written from.
    pub elements: Vec<Element<'a>>,
}

impl Section<'_> {
    fn into_owned(self) -> Section<'static> {
        Section {
            elements: self.elements.into_iter().map(Element::into_owned).collect(),
            ..self
        }
    }
}

/// Kind of a section, in the order in which sections are shown: what hardly ever changes comes
/// first, so that a prompt cache can reuse as much as possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SectionKind {
    /// Guidance about the stack itself.
    Guidance,
    /// The path from the root to the parent.
    Ancestors,
    /// Directives of the user.
    Directives,
    /// Finished siblings of ancestors.
    Uncles,
    /// Finished siblings.
    Siblings,
    /// Attempts that failed.
    FailedAttempts,
    /// Results of the children.
    Children,
    /// Planned children.
    Planned,
    /// The current frame.
    Current,
    /// Siblings and children that are in progress or blocked.
    Open,
    /// Running subagents.
    Subagents,
    /// Position of the frame among its siblings, and the next one.
    Position,
    /// Changes by other sessions; only in an update, never in a context.
    Update,
}

impl SectionKind {
    /// Returns the name in tables and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Guidance => "guidance",
            Self::Current => "current",
            kind => kind.tag(),
        }
    }

    /// Returns the name of its element.
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

enum_names! {
    /// Origin of a text. A context informs: text of a model or a tool is never an instruction.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Provenance {
        /// Flamestack.
        Stack = "stack",
        /// The user.
        User = "user",
        /// A model.
        Model = "model",
        /// A program.
        Tool = "tool",
    }
}

/// Something that was left out of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Omission {
    /// Description: `completed siblings`, `part of k3f9x2mq`.
    pub what: String,
    /// Number of things left out.
    pub count: usize,
    /// Reason.
    pub why: OmissionReason,
    /// The call that shows it.
    pub call: String,
}

enum_names! {
    /// Reason for leaving something out.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum OmissionReason {
        /// The budget is too small.
        Budget = "budget",
        /// A setting limits the number.
        Limit = "limit",
        /// It is not relevant enough.
        Relevance = "relevance",
        /// There are too many to rank them all.
        TooMany = "crowd",
    }
}
