//! Temporary folders, and an engine on a temporary store.

use std::path::PathBuf;
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

use flamestack_core::Author;
use flamestack_core::command::Actor;
use flamestack_engine::clock::StoryClock;
use flamestack_engine::context::Preferences;
use flamestack_engine::{Engine, EngineError, Home, Project};

use crate::failure::Failure;

/// The temporary folders of this process.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Creates a folder that is deleted when it is dropped, and also when the command is terminated by a
/// signal.
pub(super) fn folder() -> std::io::Result<tempfile::TempDir> {
    static HANDLER: Once = Once::new();
    HANDLER.call_once(|| {
        // Without a handler the folder is left over, which is not a reason to fail.
        drop(ctrlc::set_handler(terminated));
    });
    // A signal that arrives in between waits for the lock.
    let mut folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = tempfile::tempdir()?;
    folders.push(dir.path().to_owned());
    Ok(dir)
}

/// Deletes the temporary folders and ends the process, as the signal would have.
#[expect(clippy::exit, reason = "the signal asks for just that")]
fn terminated() {
    let folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    for folder in folders.iter() {
        // The command is still at work in it, and may create it again until it notices.
        for _ in 0..50 {
            drop(fs_err::remove_dir_all(folder));
            std::thread::sleep(Duration::from_millis(20));
            if !folder.exists() {
                break;
            }
        }
    }
    std::process::exit(143);
}

/// An engine whose store is deleted with it, and the session that acts in it.
pub(super) struct TemporaryEngine {
    pub(super) engine: Engine,
    pub(super) actor: Actor,
    pub(super) home: Home,
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
        let dir = folder()?;
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
                by: Author::User,
            },
            home,
            _dir: dir,
        })
    }
}
