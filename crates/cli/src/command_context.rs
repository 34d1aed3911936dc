//! The context of a command: the project, its settings, its engine and the acting session.

use std::path::{Path, PathBuf};

use flamestack_core::command::Actor;
use flamestack_core::id::SessionRef;
use flamestack_core::{FrameId, Refusal};
use flamestack_engine::context::Preferences;
use flamestack_engine::settings::Settings;
use flamestack_engine::subagents::{Gather, Tracking};
use flamestack_engine::{Engine, EngineError, Home, Project, SystemClock};
use flamestack_hosts::install::opencode;

use crate::caller;
use crate::diagnostics;
use crate::failure::Failure;

/// Everything a command needs.
pub(crate) struct CommandContext {
    pub(crate) settings: Settings,
    pub(crate) engine: Engine,
    /// The acting session: the one given by `--session`, else this worktree's shell.
    pub(crate) actor: Actor,
    /// True if `--session` was given.
    pub(crate) session_named: bool,
}

impl CommandContext {
    /// Opens a project. Settings that are bad are skipped and reported among the problems.
    pub(crate) fn open(dir: Option<&Path>, session: Option<&str>) -> Result<Self, Failure> {
        let home = home()?;
        let project = project(dir, &home)?;
        home.check_owner(&project)?;
        let gathering = (home.clone(), project.clone());
        let gather: Gather = Box::new(move || {
            let (home, project) = &gathering;
            Settings::survey(home, project, &|name| std::env::var(name).ok())
        });
        let settings = gather()?;
        diagnostics::begin(&project, &settings)?;
        let worktree = project.worktree.clone();
        let engine = Engine::new(project, Box::new(SystemClock), settings.busy_timeout()?)
            .with_contexts(Preferences::from_settings(&settings)?)
            .with_redactor(settings.redactor()?)
            .with_subagents(Tracking::from_settings(&settings)?, gather);
        let session_named = session.is_some();
        let session = match session {
            Some(name) => named_session(&engine, name)?,
            None => shell_session(&worktree),
        };
        let actor = Actor {
            session,
            worktree: Some(worktree),
            message: caller::call().filter(|_| session_named),
            by: caller::author(),
        };
        Ok(Self {
            settings,
            engine,
            actor,
            session_named,
        })
    }
}

impl CommandContext {
    /// Returns the session's active frame.
    pub(crate) fn active_frame(&self) -> Result<FrameId, Failure> {
        let session = &self.actor.session;
        let known = self.engine.session(session)?;
        let active = known.and_then(|known| known.frame());
        active.ok_or_else(|| EngineError::from(Refusal::NoActiveFrame(session.clone())).into())
    }
}

/// Returns the user's directories; `FLAME_STATE_DIR` moves the state elsewhere.
pub(crate) fn home() -> Result<Home, Failure> {
    let bad = |dir: &Path, problem: &str, hint: &str| {
        let dir = dir.display();
        let message = format!("FLAME_STATE_DIR is `{dir}`, which is not {problem}");
        Err(Failure::refused(message, hint))
    };
    match moved_state() {
        // It would be a different directory in every folder, in the middle of a repository.
        Some(dir) if dir.is_relative() => {
            let hint = "use an absolute path, so that every command finds the same state";
            bad(&dir, "an absolute path", hint)
        }
        Some(dir) if dir.exists() && !dir.is_dir() => {
            let hint = "name a folder; it is created if it does not exist";
            bad(&dir, "a folder", hint)
        }
        Some(dir) => {
            let config = Home::of_user().map_or_else(|_| dir.clone(), |home| home.config);
            Ok(Home { state: dir, config })
        }
        None => Ok(Home::of_user()?),
    }
}

/// Returns the value of `FLAME_STATE_DIR`, if it is set.
fn moved_state() -> Option<PathBuf> {
    let dir = std::env::var_os("FLAME_STATE_DIR")?;
    (!dir.is_empty()).then(|| PathBuf::from(dir))
}

/// Returns the directories where OpenCode looks and where the plugin goes.
pub(crate) fn opencode(home: &Home) -> Result<opencode::InstallPaths, Failure> {
    let absolute = |dir: PathBuf| std::path::absolute(dir);
    let state = absolute(home.state.clone())?;
    let data = moved_state().map(absolute).transpose()?;
    Ok(opencode::InstallPaths::of_user(&state, data.as_deref())?)
}

/// Returns the project of a directory, by default the current one.
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

/// Returns the session of the user at this worktree's terminal.
fn shell_session(worktree: &str) -> SessionRef {
    // A worktree's name may contain anything; a session id may not.
    let name = |c: char| {
        if c.is_whitespace() || c.is_control() {
            '_'
        } else {
            c
        }
    };
    SessionRef::shell(&worktree.chars().map(name).take(200).collect::<String>())
}

/// Resolves a session by `host:id`, or by its bare id if it is known.
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
