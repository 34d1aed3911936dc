//! Backups of a project's store, and stores restored from them.

use std::path::{Path, PathBuf};

use flamestack_store::{Backup, Recovered, StoreError};

use crate::error::{EngineError, Result};
use crate::maintenance::Maintenance;

impl Maintenance<'_> {
    /// Writes the store and its raw texts to a new file, consistent while others write.
    pub fn backup(&self, file: &Path) -> Result<Backup> {
        let dir = &self.engine.project().dir;
        let made = flamestack_store::backup(dir, file)?;
        made.ok_or_else(|| EngineError::NoStore(dir.clone()))
    }

    /// Replaces the store and its raw texts by a backup, and returns the place where the present
    /// ones are set aside. Refused while another process has the store open.
    pub fn restore(&self, file: &Path) -> Result<(Backup, Option<PathBuf>)> {
        let workspace = &self.engine.workspace;
        let dir = &workspace.project.dir;
        workspace.close();
        let name = crate::views::time::file_name(workspace.clock.now());
        let restored = flamestack_store::restore(dir, file, &name);
        let (backup, aside) = restored.map_err(|error| match error {
            StoreError::Busy => EngineError::InUse(dir.clone()),
            other => other.into(),
        })?;
        workspace.drop_indexes()?;
        if let Some(place) = &aside {
            // It is whole, so there is nothing to recover from it.
            let whole = Recovered {
                events: 1,
                ..Recovered::default()
            };
            whole.note(place)?;
        }
        Ok((backup, aside))
    }
}
