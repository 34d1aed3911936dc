//! Briefs: the files that matter read, and handed with the frames to `flamestack_core::brief`.
//!
//! What a brief says is decided there. Here is what is read: the session log, the instructions for
//! agents, what git says, and the files of a few pieces of work.

mod declarations;
mod files;
mod git;
mod pieces;

use std::time::Duration;

use flamestack_core::brief::{self, Brief, Mode, Sources};
use flamestack_core::context::{Budget, Surroundings};
use flamestack_core::frame::Status;
use flamestack_core::id::{FrameId, SessionRef};
use flamestack_core::transcript::Todo;
use flamestack_core::workflow::Workflow;
use flamestack_store::{Reading, Slice};

pub use self::declarations::{Problem, Workflows, folders};
use self::files::{Files, Limit};
use crate::Engine;
use crate::error::EngineError;

/// How many tokens a brief has at most, unless something else is wanted.
pub const BUDGET: usize = 2_000;
/// How long git is waited for.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// Of a log the newest entries matter, and they are at either end.
const LOG: Limit = Limit {
    head: 192 * 1024,
    tail: 64 * 1024,
};
/// How many of the tasks that were begun last are looked at for the one that goes on.
const RECENT: usize = 4;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The session that goes on; without one, no frames are told.
    pub session: Option<SessionRef>,
    /// The host's todo list.
    pub todos: Vec<Todo>,
    /// Whether the host lets the session change anything.
    pub mode: Mode,
    /// How many tokens there may be.
    pub budget: usize,
}

impl Default for Asked {
    fn default() -> Self {
        Self {
            session: None,
            todos: Vec::new(),
            mode: Mode::Ordinary,
            budget: BUDGET,
        }
    }
}

impl Engine {
    /// What a session has to know to go on after a compaction, a resume or a hand-off.
    pub fn brief(&self, asked: &Asked, workflows: &Workflows) -> Result<Brief, EngineError> {
        let sources = self.brief_sources(asked, workflows)?;
        self.composed(&sources, workflows, asked.budget)
    }

    /// What a brief is made of.
    pub(crate) fn brief_sources(
        &self,
        asked: &Asked,
        workflows: &Workflows,
    ) -> Result<Sources, EngineError> {
        let around = match &asked.session {
            Some(session) => self.around_session(session)?,
            None => None,
        };
        let sources = Sources {
            around,
            mode: asked.mode,
            todos: asked.todos.clone(),
            ..Sources::default()
        };
        Ok(self.read_project(sources, workflows))
    }

    /// A brief of at most so many tokens.
    pub(crate) fn composed(
        &self,
        sources: &Sources,
        workflows: &Workflows,
        budget: usize,
    ) -> Result<Brief, EngineError> {
        let budget = Budget::new(budget)?.total();
        let tokenizer = self.context_preferences().tokenizer();
        Ok(brief::compose(
            &workflows.declared,
            sources,
            budget,
            tokenizer.as_ref(),
        ))
    }

    fn around_session(&self, session: &SessionRef) -> Result<Option<Surroundings>, EngineError> {
        self.read(|reading| {
            let known = reading.session(session)?;
            let stands_at = known.and_then(|known| known.active.or(known.own));
            // Whoever waits for something stands nowhere, and still has to know what for. A host's
            // session has a frame of its own.
            let frame = match stands_at {
                None if session.is_shell() => latest_open_root(reading)?,
                known => known,
            };
            let Some(frame) = frame else {
                return Ok(None);
            };
            self.told_around(reading, &frame, Some(session)).map(Some)
        })
    }

    /// Adds what the project's files and git say.
    fn read_project(&self, mut sources: Sources, workflows: &Workflows) -> Sources {
        let root = &self.project().root;
        let mut files = Files::below(root);
        sources.session_log = files.read("SESSION.md", LOG);
        sources.agents = files.read("AGENTS.md", LOG);
        if files.has(".git") {
            let places: Vec<&str> = workflows.declared.iter().map(Workflow::home).collect();
            match git::ask(root, &places, PATIENCE) {
                Ok(git) => sources.git = Some(git),
                Err(note) => files.notes.push(note),
            }
        }
        pieces::read(&mut files, workflows, &mut sources);
        let problems = workflows
            .problems
            .iter()
            .map(|problem| format!("A workflow declaration is left out. {problem}."));
        files.notes.extend(problems);
        sources.notes = files.notes;
        sources.read = files.read;
        sources
    }
}

/// The task that is not over and changed last, among the last few that were begun.
fn latest_open_root(reading: &dyn Reading) -> Result<Option<FrameId>, EngineError> {
    let open = reading.rows(&Slice {
        open: Some(true),
        limit: Some(RECENT),
        last: true,
        ..Slice::default()
    })?;
    let begun = open
        .into_iter()
        .map(|row| row.frame)
        .filter(|frame| frame.status != Status::Planned);
    Ok(begun
        .max_by_key(|frame| frame.changed)
        .map(|frame| frame.id))
}
