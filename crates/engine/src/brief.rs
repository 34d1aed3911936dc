//! Briefs: the files that matter read, and handed with the frames to `flamestack_core::brief`.
//!
//! What a brief says is decided there. Here is which files are read: the session log, the
//! instructions for agents, and those of the few pieces of work that anything speaks of. Finished
//! work costs a name in a listing.

mod declarations;
mod files;
mod git;

use std::time::{Duration, SystemTime};

use flamestack_core::brief::{self, Brief, Document, Mode, Sources, Unit};
use flamestack_core::context::{Budget, Surroundings};
use flamestack_core::frame::Status;
use flamestack_core::id::{FrameId, SessionRef};
use flamestack_core::transcript::Todo;
use flamestack_core::workflow::{Place, Role, Workflow};
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
/// A list of five thousand tasks has half a megabyte.
const ARTIFACT: Limit = Limit {
    head: 1024 * 1024,
    tail: 64 * 1024,
};
/// How many pieces of work of a workflow are known by name.
const LISTED: usize = 20_000;
/// How many are read: those that are spoken of.
const READ: usize = 4;
/// How many are read where none is spoken of: those that were written last.
const LATEST: usize = 6;

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
            let places: Vec<&str> = workflows.declared.iter().map(parent).collect();
            match git::ask(root, &places, PATIENCE) {
                Ok(git) => sources.git = Some(git),
                Err(note) => files.notes.push(note),
            }
        }
        let mut known: Vec<(&Workflow, Vec<String>)> = Vec::new();
        for workflow in &workflows.declared {
            if workflow.requires.iter().all(|path| files.has(path)) {
                known.push((workflow, names(&mut files, workflow)));
            }
        }
        sources.units = chosen(&mut files, &known, &workflows.declared, &sources)
            .into_iter()
            .map(|(workflow, name)| {
                let artifacts = workflow.artifacts.iter();
                let paths = artifacts.map(|artifact| artifact.file.as_str());
                unit(workflow, name, paths, |path| files.read(path, ARTIFACT))
            })
            .collect();
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

/// The folder that holds a workflow's pieces of work.
fn parent(workflow: &Workflow) -> &str {
    match &workflow.place {
        Place::Below(parent) => parent,
        Place::Only(folder) | Place::Files { folder, .. } => folder,
    }
}

/// A piece of work with those of its files that can be read.
fn unit<'p>(
    workflow: &Workflow,
    name: &str,
    paths: impl Iterator<Item = &'p str>,
    read: impl FnMut(&str) -> Option<Document>,
) -> Unit {
    let paths: Vec<String> = paths.map(|path| workflow.path(name, path)).collect();
    Unit {
        workflow: workflow.name.clone(),
        name: name.to_owned(),
        files: paths.iter().map(String::as_str).filter_map(read).collect(),
    }
}

fn names(files: &mut Files, workflow: &Workflow) -> Vec<String> {
    match &workflow.place {
        Place::Only(_) => vec![workflow.name.clone()],
        Place::Below(parent) => {
            let mut names = files.folders(parent, LISTED);
            names.retain(|name| !workflow.skip.contains(name));
            names
        }
        Place::Files { folder, form } => {
            let path = format!("{folder}/{form}");
            let (parent, file) = path.rsplit_once('/').unwrap_or(("", &path));
            let (before, behind) = file.split_once("<name>").unwrap_or((file, ""));
            let mut names = files.files(parent, LISTED);
            names.retain_mut(|name| {
                let middle = name
                    .strip_prefix(before)
                    .and_then(|name| name.strip_suffix(behind))
                    .filter(|middle| !middle.is_empty())
                    .map(str::to_owned);
                middle.map(|middle| *name = middle).is_some()
            });
            names.retain(|name| !workflow.skip.contains(name));
            names
        }
    }
}

/// The task that is not over and changed last, among the last few that were begun.
fn latest_open_root(reading: &dyn Reading) -> Result<Option<FrameId>, EngineError> {
    let open = reading.rows(&Slice {
        open: Some(true),
        limit: Some(READ),
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

/// The pieces of work to read: those that anything speaks of and, where nothing does, of each
/// workflow those that are not over among the few that were written last.
fn chosen<'a>(
    files: &mut Files,
    known: &'a [(&'a Workflow, Vec<String>)],
    declared: &[Workflow],
    sources: &Sources,
) -> Vec<(&'a Workflow, &'a str)> {
    let all = || {
        known
            .iter()
            .flat_map(|(workflow, names)| names.iter().map(|name| (*workflow, name.as_str())))
    };
    let units = all().map(|(workflow, name)| (workflow.name.as_str(), name));
    let leads = brief::leads(declared, units, sources);
    let mut found: Vec<(&Workflow, &str)> = Vec::new();
    for lead in leads.iter().take(READ) {
        found.extend(
            all().find(|(workflow, name)| workflow.name == lead.workflow && *name == lead.name),
        );
    }
    if found.is_empty() {
        for (workflow, names) in known {
            let mut dated: Vec<_> = names
                .iter()
                .map(|name| (last_written(files, workflow, name), name.as_str()))
                .collect();
            let latest = dated.len().min(LATEST);
            if latest < dated.len() {
                dated.select_nth_unstable_by(latest, |one, other| other.cmp(one));
            }
            dated.truncate(latest);
            dated.sort_by(|one, other| other.cmp(one));
            let open = dated
                .into_iter()
                .filter(|(_, name)| !is_over(files, workflow, name));
            found.extend(open.map(|(_, name)| (*workflow, name)));
        }
    }
    // A folder that is always the same is there whether anything speaks of it or not.
    let only = known
        .iter()
        .filter(|(workflow, _)| matches!(workflow.place, Place::Only(_)));
    for (workflow, names) in only {
        let unit = names.first().map(|name| (*workflow, name.as_str()));
        found.extend(unit.filter(|unit| !found.contains(unit)));
    }
    found
}

/// Whether a piece of work is over, by the few files that can say so.
fn is_over(files: &mut Files, workflow: &Workflow, name: &str) -> bool {
    let mut telling: Vec<&str> = Vec::new();
    for sign in &workflow.finished_by {
        if !telling.contains(&sign.file.as_str()) {
            telling.push(&sign.file);
        }
    }
    let unit = unit(workflow, name, telling.into_iter(), |path| {
        files.glance(path, ARTIFACT)
    });
    unit.is_over(workflow)
}

/// When a piece of work was last written to: its list of tasks or its log are what changes, and
/// before there are any, its folder.
fn last_written(files: &Files, workflow: &Workflow, name: &str) -> Option<SystemTime> {
    let telling = workflow
        .artifacts
        .iter()
        .filter(|artifact| matches!(artifact.role, Role::Tasks | Role::Progress));
    telling
        .filter_map(|artifact| files.written(&workflow.path(name, &artifact.file)))
        .max()
        .or_else(|| files.written(&workflow.mark(name)))
}
