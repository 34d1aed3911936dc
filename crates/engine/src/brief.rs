//! Gathers the material of a brief: frames, project files, git and workflow declarations.
//! `docs/architecture.md`, "Texts for a session that continues", compares this module with its relatives.
//!
//! `flamestack_brief`, which is pure, decides what a brief says; everything here is input.

mod files;
pub(crate) mod git;
mod session;
mod work_items;
mod workflows;

use std::iter::once;
use std::path::Path;
use std::time::Duration;

use flamestack_brief::workflow::{Workflow, Workflows};
use flamestack_brief::{Brief, Commit, Mode, Sources};
use flamestack_context::{Budget, Surroundings};
use flamestack_core::transcript::Todo;
use flamestack_core::{Frame, FrameId, SessionRef, Status};
use flamestack_store::{Reading, Slice};

use self::files::{Files, ReadLimit};
pub use self::workflows::gather_workflows;
use crate::Engine;
use crate::error::Result;

/// Default maximum length of a brief, in tokens.
pub const BUDGET: usize = 2_000;
/// Time limit for git.
const GIT_TIMEOUT: Duration = Duration::from_millis(1_500);
/// The newest entries of a log matter, and they are at either end.
const LOG_LIMIT: ReadLimit = ReadLimit {
    head: 192 * 1024,
    tail: 64 * 1024,
};
/// Maximum number of planned frames that are read.
const MAX_PLANNED: usize = 64;
/// Number of children below which finished frames are read, the last to end, and of finished frames that
/// are read below each.
const MAX_PARENTS: usize = 16;
const MAX_ENDED: usize = 16;
/// Number of recent tasks among which the one that a shell continues with, or finished last, is looked for.
const RECENT_ROOTS: usize = 4;

/// A request for a brief.
#[derive(Clone, Debug)]
pub struct BriefRequest {
    /// The session that continues; without one the brief has no frames.
    pub session: Option<SessionRef>,
    /// The host's todo list.
    pub todos: Vec<Todo>,
    /// Mode of the session.
    pub mode: Mode,
    /// Maximum length, in tokens.
    pub budget: usize,
}

impl Default for BriefRequest {
    fn default() -> Self {
        Self {
            session: None,
            todos: Vec::new(),
            mode: Mode::Ordinary,
            budget: BUDGET,
        }
    }
}

/// Difference between the repository as it was and as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drift {
    /// The commit that was checked out then.
    pub before: Option<String>,
    /// The commit that is checked out now.
    pub now: Option<String>,
    /// The newest commits since; none if git does not know the earlier one any more.
    pub commits: Option<Vec<Commit>>,
    /// Number of uncommitted files, if they were counted.
    pub dirty_total: Option<usize>,
}

impl Drift {
    /// Returns true if another commit is checked out.
    pub fn has_moved(&self) -> bool {
        self.before.is_some() && self.before != self.now
    }
}

impl Engine {
    /// Returns the full hash of the commit that a name means in the project's repository, or `None` if
    /// git knows no such commit, or this is not a repository.
    pub fn commit_named(&self, name: &str) -> Option<String> {
        git::commit(&self.project().root, name, GIT_TIMEOUT).ok()
    }

    /// Returns what changed in the repository since a recorded state; `None` if git does not answer.
    ///
    /// Uncommitted files are only counted if `with_files` is true: in a large repository git takes
    /// seconds to find them.
    pub(crate) fn drift_since(
        &self,
        root: &Path,
        head: Option<&str>,
        with_files: bool,
    ) -> Option<Drift> {
        let redactor = self.redactor();
        let uncommitted = with_files
            .then(|| git::read(root, &[], GIT_TIMEOUT, redactor))
            .transpose()
            .ok()?;
        let head_now = git::commit(root, "HEAD", GIT_TIMEOUT).ok();
        if head_now.is_none() && uncommitted.is_none() {
            return None;
        }
        let commits = match (head, head_now.as_deref()) {
            (Some(before), Some(now)) if before != now => {
                git::commits_since(root, before, GIT_TIMEOUT, redactor).ok()
            }
            _ => Some(Vec::new()),
        };
        Some(Drift {
            before: head.map(str::to_owned),
            now: head_now,
            commits,
            dirty_total: uncommitted.map(|git| git.changed_total),
        })
    }

    /// Composes the brief of a session for a compaction, a resume or a hand-off.
    pub fn brief(&self, request: &BriefRequest, workflows: &Workflows) -> Result<Brief> {
        let mut sources = self.brief_sources(request, workflows)?;
        if let Some(session) = &request.session {
            sources.state = self.summaries().state(session)?;
        }
        self.compose_brief(&sources, workflows, request.budget)
    }

    /// Reads the sources of a brief.
    pub(crate) fn brief_sources(
        &self,
        request: &BriefRequest,
        workflows: &Workflows,
    ) -> Result<Sources> {
        let sources = match &request.session {
            Some(session) => self.frames_of(session)?,
            None => Sources::default(),
        };
        let sources = Sources {
            mode: request.mode,
            todos: self.redacted_todos(&request.todos),
            ..sources
        };
        Ok(self.read_project(sources, workflows))
    }

    /// Returns the host's list without secrets. Anchors are cut from its items.
    fn redacted_todos(&self, todos: &[Todo]) -> Vec<Todo> {
        let clean = |todo: &Todo| Todo {
            text: self.redactor().redact(&todo.text).into_owned(),
            ..todo.clone()
        };
        todos.iter().map(clean).collect()
    }

    /// Composes a brief of at most `budget` tokens.
    pub(crate) fn compose_brief(
        &self,
        sources: &Sources,
        workflows: &Workflows,
        budget: usize,
    ) -> Result<Brief> {
        let budget = Budget::new(budget)?.total();
        let tokenizer = self.preferences().tokenizer();
        let declared = &workflows.declared;
        Ok(flamestack_brief::compose(
            declared,
            sources,
            budget,
            tokenizer.as_ref(),
        ))
    }

    /// Reads the frames of a session.
    fn frames_of(&self, session: &SessionRef) -> Result<Sources> {
        self.read(|reading| {
            let known = reading.session(session)?;
            let said = known
                .as_ref()
                .and_then(|known| known.activity.said.as_ref());
            let is_answered = said.is_some();
            let own = known.and_then(|known| known.frame());
            // A shell whose work is blocked has no active frame, and its user still has to know what it
            // waits for. A host's session always has its own frame.
            let frame = match own {
                None if session.is_shell() => latest_open_root(reading)?,
                known => known,
            };
            let frame = match frame {
                // Its results can still be handed off.
                None => latest_finished_root(reading, session)?,
                known => known,
            };
            let Some(frame) = frame else {
                return Ok(Sources::default());
            };
            let around = self
                .contexts()
                .surroundings(reading, &frame, Some(session))?;
            Ok(Sources {
                planned: planned_on_path(reading, &around)?,
                finished_below: finished_below(reading, &around)?,
                around: Some(around),
                is_answered,
                ..Sources::default()
            })
        })
    }

    /// Adds project files and git.
    fn read_project(&self, mut sources: Sources, workflows: &Workflows) -> Sources {
        let root = &self.project().root;
        let mut files = Files::below(root, self.redactor().clone());
        sources.session_log = files.read("SESSION.md", LOG_LIMIT);
        sources.agents = files.read("AGENTS.md", LOG_LIMIT);
        if files.exists(".git") {
            let homes: Vec<&str> = workflows.declared.iter().map(Workflow::home).collect();
            match git::read(root, &homes, GIT_TIMEOUT, self.redactor()) {
                Ok(git) => sources.git = Some(git),
                Err(note) => files.notes.push(note),
            }
        }
        work_items::read(&mut files, workflows, &mut sources);
        let problems = workflows.problems.iter();
        let problems =
            problems.map(|error| format!("A workflow declaration is left out. {error}."));
        files.notes.extend(problems);
        sources.notes = files.notes;
        sources.read = files.stats;
        sources
    }
}

/// Returns the frames that are planned below the frames of a path, nearest first, each followed by those
/// planned below it.
fn planned_on_path(reading: &dyn Reading, around: &Surroundings) -> Result<Vec<Frame>> {
    let below = |parent: &FrameId| -> Result<_> {
        let below = reading.children_with_status(parent, Status::Planned, MAX_PLANNED)?;
        Ok(below.into_iter().rev())
    };
    let mut planned = Vec::new();
    for above in once(&around.current).chain(&around.ancestors) {
        // The next one is on top.
        let mut open: Vec<Frame> = below(&above.id)?.collect();
        while let Some(frame) = open.pop()
            && planned.len() < MAX_PLANNED
        {
            open.extend(below(&frame.id)?);
            planned.push(frame);
        }
    }
    Ok(planned)
}

/// Returns the frames that ended below the children of the current one: those that ended last, whatever
/// their depth.
fn finished_below(reading: &dyn Reading, around: &Surroundings) -> Result<Vec<Frame>> {
    let current = around.current.id;
    let ended = around.children.frames.iter();
    let open = around.open.frames.iter();
    let open = open.filter(|frame| frame.parent == Some(current));
    let mut children: Vec<&Frame> = ended.chain(open).collect();
    children.sort_by_key(|frame| (frame.closed.is_none(), frame.closed, frame.id));
    let newest = children.len().saturating_sub(MAX_PARENTS);
    let mut parents: Vec<FrameId> = children.iter().skip(newest).map(|it| it.id).collect();
    let mut found = Vec::new();
    let mut read = 0;
    while let Some(parent) = parents.pop()
        && read < 2 * MAX_PARENTS
    {
        read += 1;
        for status in [Status::Completed, Status::Failed] {
            let below = reading.ended_with_notes(&parent, status, MAX_ENDED)?;
            parents.extend(below.iter().rev().map(|frame| frame.id));
            found.extend(below);
        }
    }
    Ok(found)
}

/// Returns the most recently changed of the last few tasks that were begun and are open.
fn latest_open_root(reading: &dyn Reading) -> Result<Option<FrameId>> {
    let open = reading.rows(&Slice {
        open: Some(true),
        limit: Some(RECENT_ROOTS),
        last: true,
        ..Slice::default()
    })?;
    let frames = open.into_iter().map(|row| row.frame);
    let begun = frames.filter(|frame| frame.status != Status::Planned);
    let latest = begun.max_by_key(|frame| frame.changed);
    Ok(latest.map(|frame| frame.id))
}

/// Returns the task that a session finished last. A shell is the user's, so that work of every session counts, and
/// imported work.
fn latest_finished_root(reading: &dyn Reading, session: &SessionRef) -> Result<Option<FrameId>> {
    let mut roots = Vec::new();
    if let Some(frame) = reading.visited(session)?.first()
        && let Some((root, _)) = reading.top(frame)?
    {
        roots.extend(reading.bare_frame(&root)?);
    }
    if session.is_shell() {
        let ended = reading.rows(&Slice {
            open: Some(false),
            limit: Some(RECENT_ROOTS),
            last: true,
            ..Slice::default()
        })?;
        roots.extend(ended.into_iter().map(|row| row.frame));
    }
    let is_finished = |frame: &Frame| matches!(frame.status, Status::Completed | Status::Failed);
    let finished = roots.into_iter().filter(is_finished);
    let latest = finished.max_by_key(|frame| (frame.closed, frame.changed));
    Ok(latest.map(|frame| frame.id))
}
