//! Where a command works: the project, its settings, its engine, and who asks.

use std::path::{Path, PathBuf};

use flamestack_core::command::Actor;
use flamestack_core::folding::Edge;
use flamestack_core::id::SessionRef;
use flamestack_engine::context::Preferences;
use flamestack_engine::settings::{Environment, Settings};
use flamestack_engine::subagents::{Gather, Tracking};
use flamestack_engine::{Engine, EngineError, Home, Project, SystemClock};
use flamestack_hosts::install::opencode;

use crate::diagnostics;
use crate::failure::Failure;

/// How settings are read: so that what is bad stops the command, or so that it does not count.
type ReadSettings = fn(&Home, &Project, Environment<'_>) -> Result<Settings, EngineError>;

/// Everything a command needs.
pub(crate) struct Workplace {
    pub(crate) settings: Settings,
    pub(crate) engine: Engine,
    /// Who asks: the session named, else this worktree's shell.
    pub(crate) actor: Actor,
    /// Whether a session was named.
    pub(crate) session_named: bool,
}

impl Workplace {
    pub(crate) fn open(dir: Option<&Path>, session: Option<&str>) -> Result<Self, Failure> {
        Self::with(Settings::gather, dir, session)
    }

    /// Opens it although settings may be bad: those do not count, and are among the problems.
    pub(crate) fn open_anyway(dir: Option<&Path>, session: Option<&str>) -> Result<Self, Failure> {
        Self::with(Settings::survey, dir, session)
    }

    fn with(
        read: ReadSettings,
        dir: Option<&Path>,
        session: Option<&str>,
    ) -> Result<Self, Failure> {
        let home = home()?;
        let project = project(dir, &home)?;
        let gathering = (home.clone(), project.clone());
        let gather: Gather = Box::new(move || {
            let (home, project) = &gathering;
            read(home, project, &|name| std::env::var(name).ok())
        });
        let settings = gather()?;
        diagnostics::begin(&project, &settings)?;
        let worktree = project.worktree.clone();
        let engine = Engine::new(project, Box::new(SystemClock), settings.busy_timeout()?)
            .with_contexts(Preferences::from_settings(&settings)?)
            .with_subagents(Tracking::from_settings(&settings)?, gather);
        let session_named = session.is_some();
        let session = match session {
            Some(name) => named_session(&engine, name)?,
            None => shell_session(&worktree),
        };
        let actor = Actor {
            session,
            worktree: Some(worktree),
            message: session_named.then(message).flatten(),
        };
        Ok(Self {
            settings,
            engine,
            actor,
            session_named,
        })
    }
}

/// The host's tool call that runs this command, if a host says so: what happens here belongs to the
/// message that holds the call.
fn message() -> Option<String> {
    let call = std::env::var("FLAME_CALL").ok()?;
    (!call.is_empty()).then(|| Edge::in_call(&call))
}

/// The user's directories; one variable can move all of it elsewhere.
pub(crate) fn home() -> Result<Home, Failure> {
    match moved_state() {
        // It would be another one in every folder, and lie in the middle of a repository.
        Some(dir) if dir.is_relative() => Err(Failure::refused(
            format!(
                "FLAME_STATE_DIR is `{}`, which is not an absolute path",
                dir.display()
            ),
            "write it from the root on: all state is in one place, wherever a command is run",
        )),
        Some(dir) if dir.exists() && !dir.is_dir() => Err(Failure::refused(
            format!(
                "FLAME_STATE_DIR is `{}`, which is not a folder",
                dir.display()
            ),
            "name a folder; it is made if it is not there",
        )),
        Some(dir) => {
            let config = Home::of_user().map_or_else(|_| dir.clone(), |home| home.config);
            Ok(Home { state: dir, config })
        }
        None => Ok(Home::of_user()?),
    }
}

/// The directory that all state was moved to, if it was.
fn moved_state() -> Option<PathBuf> {
    let dir = std::env::var_os("FLAME_STATE_DIR")?;
    (!dir.is_empty()).then(|| PathBuf::from(dir))
}

/// Where OpenCode looks, and where our part of it goes.
pub(crate) fn opencode(home: &Home) -> Result<opencode::Places, Failure> {
    let absolute = |dir: PathBuf| std::path::absolute(dir);
    let state = absolute(home.state.clone())?;
    let data = moved_state().map(absolute).transpose()?;
    Ok(opencode::Places::of_user(&state, data.as_deref())?)
}

/// The project of a directory, by default the one we are in.
pub(crate) fn project(dir: Option<&Path>, home: &Home) -> Result<Project, Failure> {
    let bad =
        |message: String| Failure::refused(message, "`-C DIR` names the directory of a project");
    match dir {
        Some(dir) if !dir.is_dir() => Err(bad(format!("there is no directory {}", dir.display()))),
        Some(dir) => Ok(Project::at(dir, home)?),
        None => match std::env::current_dir() {
            Ok(dir) => Ok(Project::at(&dir, home)?),
            Err(error) => Err(bad(format!(
                "the current directory cannot be used: {error}"
            ))),
        },
    }
}

/// The session of whoever sits at this worktree's terminal.
fn shell_session(worktree: &str) -> SessionRef {
    // A worktree's name may hold anything; a session's id may not.
    let name = |c: char| {
        if c.is_whitespace() || c.is_control() {
            '_'
        } else {
            c
        }
    };
    SessionRef::shell(&worktree.chars().map(name).take(200).collect::<String>())
}

/// A session by `host:id`, or by its bare id if it was seen before.
fn named_session(engine: &Engine, name: &str) -> Result<SessionRef, Failure> {
    let unknown = match name.parse() {
        Ok(session) => return Ok(session),
        Err(problem) => problem,
    };
    let known = engine.read(|reading| Ok(reading.sessions(false)?))?;
    let seen = known.into_iter().find(|session| session.key.id() == name);
    match seen {
        Some(session) => Ok(session.key),
        None => Err(EngineError::from(unknown).into()),
    }
}
