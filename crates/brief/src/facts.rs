//! Everything a brief is made from, parsed once.

use flamestack_core::transcript::{Todo, TodoStatus};

use crate::Sources;
use crate::session_log::{Entry, SessionLog};
use crate::stages::StageNames;
use crate::workflow::Workflow;

/// The sources of a brief with what is derived from them.
pub(crate) struct Facts<'a> {
    pub(crate) workflows: &'a [Workflow],
    pub(crate) sources: &'a Sources,
    pub(crate) log: Option<SessionLog<'a>>,
    pub(crate) stage_names: StageNames<'a>,
}

impl<'a> Facts<'a> {
    pub(crate) fn new(workflows: &'a [Workflow], sources: &'a Sources) -> Self {
        Self {
            workflows,
            sources,
            log: sources.session_log.as_ref().map(SessionLog::parse),
            stage_names: StageNames::new(workflows),
        }
    }

    /// Returns true if the user's last prompt was answered: the model said something, and did nothing
    /// since.
    pub(crate) fn is_answered(&self) -> bool {
        let state = self.sources.state.as_ref();
        self.sources.is_answered && state.is_none_or(|state| !state.is_at_work())
    }

    /// Returns the newest entry of the log.
    pub(crate) fn newest_entry(&self) -> Option<&Entry<'a>> {
        self.log.as_ref()?.entries.first()
    }

    /// Returns true if frames, todos or the log say what the session is about.
    pub(crate) fn has_subject(&self) -> bool {
        let newest = self.newest_entry();
        let around = self.sources.around.as_ref();
        // Finished work says what the session was about.
        around.is_some_and(|around| around.current.status.is_open())
            || newest.is_some_and(|entry| entry.has_open_work() || entry.focus.is_some())
            || self.sources.todos.iter().any(is_open)
    }
}

/// Returns true if an item of the host's todo list is still to be done.
pub(crate) fn is_open(todo: &Todo) -> bool {
    matches!(todo.status, TodoStatus::Pending | TodoStatus::Active)
}
