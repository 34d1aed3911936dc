//! The input of a brief.

use flamestack_context::Surroundings;
use flamestack_core::Frame;
use flamestack_core::transcript::Todo;
use flamestack_extract::state::WorkState;

use crate::document::Document;
use crate::mentions::Candidate;
use crate::signs::is_present;
use crate::workflow::Workflow;

/// Everything that a brief is composed from.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The frames around the one that the session works on.
    pub around: Option<Surroundings>,
    /// The planned frames of the whole path, nearest first, each followed by those below it.
    pub planned: Vec<Frame>,
    /// Finished frames below the children of the current one, with the decisions made in them.
    pub finished_below: Vec<Frame>,
    /// True if the model said something since the user's last prompt.
    pub is_answered: bool,
    /// Mode of the session.
    pub mode: Mode,
    /// The host's todo list.
    pub todos: Vec<Todo>,
    /// The state of the work, where the session has a transcript.
    pub state: Option<WorkState>,
    /// `SESSION.md`.
    pub session_log: Option<Document>,
    /// `AGENTS.md`.
    pub agents: Option<Document>,
    /// State of the git worktree.
    pub git: Option<Git>,
    /// Work items whose files were read.
    pub items: Vec<WorkItem>,
    /// Work items that something mentions, read or not.
    pub candidates: Vec<Candidate>,
    /// Remarks about what could not be read.
    pub notes: Vec<String>,
    /// Amount of what was read.
    pub read: ReadStats,
}

/// Amount of what was read for a brief.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadStats {
    /// Number of files.
    pub files: usize,
    /// Number of bytes in them.
    pub bytes: u64,
}

/// Mode of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The host says nothing against changes.
    #[default]
    Ordinary,
    /// The session plans and reads only.
    ReadOnly,
}

/// State of a git worktree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Git {
    /// Branch that is checked out.
    pub branch: Option<String>,
    /// Files with uncommitted changes, the first of them.
    pub changed: Vec<String>,
    /// Number of files with uncommitted changes.
    pub changed_total: usize,
    /// Changed files in the folders of workflows that `changed` names only by a folder above them.
    pub below: Vec<String>,
    /// Last commits, newest first.
    pub commits: Vec<Commit>,
}

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Abbreviated hash.
    pub id: String,
    /// First line of the message.
    pub subject: String,
    /// Changed files.
    pub paths: Vec<String>,
}

/// An item of work in a workflow, such as one spec or one bug, with the files that could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkItem {
    /// Name of its workflow.
    pub workflow: String,
    /// Name of the item.
    pub name: String,
    /// Its files.
    pub files: Vec<Document>,
}

impl WorkItem {
    /// Returns true if its files say that it is finished. Only those that the workflow's signs name are
    /// needed.
    pub fn is_finished(&self, workflow: &Workflow) -> bool {
        let mut signs = workflow.finished_by.iter();
        signs.any(|sign| is_present(workflow, self, sign))
    }

    pub(crate) fn file(&self, workflow: &Workflow, file: &str) -> Option<&Document> {
        let path = workflow.path(&self.name, file);
        self.files.iter().find(|document| document.path == path)
    }

    /// Returns a file that has content.
    pub(crate) fn content(&self, workflow: &Workflow, file: &str) -> Option<&Document> {
        let file = self.file(workflow, file);
        file.filter(|document| document.has_content())
    }
}
