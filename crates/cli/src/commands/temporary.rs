//! An engine on a temporary store.

use std::time::Duration;

use flamestack_core::command::Actor;
use flamestack_engine::clock::StoryClock;
use flamestack_engine::context::Preferences;
use flamestack_engine::{Engine, EngineError, Home, Project};

use crate::failure::Failure;

/// An engine whose store is deleted with it, and the session that acts in it.
pub(super) struct TemporaryEngine {
    pub(super) engine: Engine,
    pub(super) actor: Actor,
    _dir: tempfile::TempDir,
}

impl TemporaryEngine {
    /// Creates the engine for a project called `name`, with a clock that starts at `start`.
    pub(super) fn new(
        name: &str,
        session: &str,
        start: i64,
        preferences: Preferences,
    ) -> Result<Self, Failure> {
        let dir = tempfile::tempdir()?;
        let home = Home {
            state: dir.path().join("state"),
            config: dir.path().join("config"),
        };
        let folder = dir.path().join(name);
        fs_err::create_dir_all(&folder)?;
        let project = Project::at(&folder, &home)?;
        let clock = Box::new(StoryClock::starting_at(start));
        Ok(Self {
            engine: Engine::new(project, clock, Duration::from_secs(30)).with_contexts(preferences),
            actor: Actor {
                session: session.parse().map_err(EngineError::BadSession)?,
                worktree: None,
                message: None,
            },
            _dir: dir,
        })
    }
}
