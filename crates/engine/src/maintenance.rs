//! Maintenance of a store: checking, rebuilding, recovering and shrinking it.

use std::path::{Path, PathBuf};

use flamestack_core::id::BlobId;
use flamestack_core::{Actor, Command};
use flamestack_store::{Collected, Rebuilt, Recovered, Verified, collect};

use crate::Engine;
use crate::error::{EngineError, Result};
use crate::workspace::{if_exists, write_private};

/// File that marks a set-aside store as recovered and holds the numbers of the recovery.
pub(crate) const RECOVERED: &str = "recovered";

/// Findings of an examination.
#[derive(Debug, Default)]
pub struct Examined {
    /// Findings about journal and projections.
    pub verified: Verified,
    /// Errors that kept a part from being examined.
    pub stopped: Vec<EngineError>,
    /// Files that other users can read.
    pub exposed: Vec<PathBuf>,
    /// Raw texts that the journal refers to and that are missing or damaged.
    pub lost_texts: Vec<String>,
    /// Stores that were set aside and not recovered yet.
    pub set_aside: Vec<PathBuf>,
    /// Stores of which only a part could be recovered.
    pub recovered_in_part: Vec<(PathBuf, Recovered)>,
}

impl Examined {
    /// Returns true if nothing needs attention.
    pub fn is_well(&self) -> bool {
        self.verified.findings.is_empty()
            && self.stopped.is_empty()
            && self.exposed.is_empty()
            && self.lost_texts.is_empty()
            && self.set_aside.is_empty()
            && self.recovered_in_part.is_empty()
    }
}

/// Checks, repairs and shrinks the store.
#[derive(Clone, Copy)]
pub struct Maintenance<'e> {
    pub(crate) engine: &'e Engine,
}

impl Maintenance<'_> {
    /// Checks journal, projections, raw texts and permissions without changing anything. A part
    /// that cannot be examined is reported and does not keep the others from being examined.
    pub fn examine(&self, progress: &mut dyn FnMut(u64, u64)) -> Examined {
        let mut examined = Examined::default();
        let workspace = &self.engine.workspace;
        // Examining a project that has no store yet must not create one.
        let verified = if workspace.has_store() {
            workspace.with_store(|store| Ok(store.verify(progress)?))
        } else {
            Ok(Verified::default())
        };
        let mut stopped = Vec::new();
        let mut noted = |error: EngineError| stopped.push(error);
        examined.verified = verified.map_err(&mut noted).unwrap_or_default();
        // The list of texts comes from the journal.
        if examined.verified.events > 0 {
            examined.lost_texts = self.lost_texts().map_err(&mut noted).unwrap_or_default();
        }
        examined.exposed = exposed(&self.engine.project().dir)
            .map_err(&mut noted)
            .unwrap_or_default();
        match self.all_set_aside() {
            Ok(stores) => {
                for (place, recovered) in stores {
                    match recovered {
                        None => examined.set_aside.push(place),
                        Some(recovered) if recovered.is_whole() => {}
                        Some(recovered) => examined.recovered_in_part.push((place, recovered)),
                    }
                }
            }
            Err(error) => noted(error),
        }
        examined.stopped = stopped;
        examined
    }

    fn lost_texts(&self) -> Result<Vec<String>> {
        let wanted = self.engine.read(|reading| {
            let mut wanted = Vec::new();
            for blob in reading.blobs()? {
                if reading.dropped(&blob)?.is_none() {
                    wanted.push(blob);
                }
            }
            Ok(wanted)
        })?;
        let blobs = self.engine.blobs().reader();
        let is_lost = |hash: &String| match BlobId::from_hex(hash) {
            Some(id) => !matches!(blobs.get(&id), Ok(Some(_))),
            None => true,
        };
        Ok(wanted.into_iter().filter(is_lost).collect())
    }

    /// Folds the journal into new projections.
    pub fn rebuild(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<Rebuilt> {
        let workspace = &self.engine.workspace;
        if !workspace.has_store() {
            return Ok(Rebuilt::default());
        }
        let rebuilt = workspace.with_store(|store| Ok(store.rebuild(progress)?))?;
        workspace.drop_indexes()?;
        Ok(rebuilt)
    }

    /// Appends the readable events of a store that was set aside to the current journal.
    pub fn recover(&self, from: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<Recovered> {
        if !from.join("journal.db").is_file() {
            return Err(EngineError::NoStore(from.to_owned()));
        }
        let workspace = &self.engine.workspace;
        let recovered = workspace.with_store(|store| Ok(store.recover(from, progress)?))?;
        workspace.drop_indexes()?;
        // Marks the store as recovered without touching its files.
        let numbers = serde_json::to_string(&recovered).map_err(std::io::Error::from)?;
        write_private(&from.join(RECOVERED), &format!("{numbers}\n"))?;
        Ok(recovered)
    }

    /// Sets the store aside so that it can be recovered from. Returns `None` if there is no store.
    pub fn set_aside(&self) -> Result<Option<PathBuf>> {
        let workspace = &self.engine.workspace;
        workspace.close();
        if !workspace.has_store() {
            return Ok(None);
        }
        workspace.drop_indexes()?;
        let name = crate::views::time::file_name(workspace.clock.now());
        let place = flamestack_store::move_aside(&workspace.project.dir, &name)?;
        Ok(Some(place))
    }

    /// Returns the stores that were set aside and not recovered yet, oldest first.
    pub fn set_aside_stores(&self) -> Result<Vec<PathBuf>> {
        let waiting = self.all_set_aside()?.into_iter();
        let waiting = waiting.filter(|(_, recovered)| recovered.is_none());
        Ok(waiting.map(|(place, _)| place).collect())
    }

    /// Returns all stores that were set aside, oldest first, with the numbers of their recovery.
    fn all_set_aside(&self) -> Result<Vec<(PathBuf, Option<Recovered>)>> {
        let place = self.engine.project().dir.join("set-aside");
        let mut found = Vec::new();
        for entry in if_exists(fs_err::read_dir(&place))?.into_iter().flatten() {
            let path = entry?.path();
            if path.is_dir() {
                let recovered = read_recovered(&path.join(RECOVERED))?;
                found.push((path, recovered));
            }
        }
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(found)
    }

    /// Plans what to drop for the project to stay below a size. Changes nothing.
    pub fn plan_collection(&self, limit: u64) -> Result<Collected> {
        let dir = &self.engine.project().dir;
        self.engine
            .read(|reading| Ok(collect(dir, reading, limit)?))
    }

    /// Carries out a plan. The journal records what is dropped before it is.
    pub fn collect(&self, actor: &Actor, plan: &Collected) -> Result<()> {
        if plan.drop_index {
            self.engine.workspace.drop_indexes()?;
            if_exists(fs_err::remove_dir_all(self.engine.project().logs_dir()))?;
        }
        if !plan.drop_blobs.is_empty() {
            let command = Command::DropBlobs(plan.drop_blobs.clone());
            self.engine.commands().run(actor, &command)?;
        }
        let hashes = plan.drop_blobs.iter().map(|(blob, _)| blob.to_string());
        let gone: Vec<String> = hashes.chain(plan.orphans.iter().cloned()).collect();
        self.engine.blobs().drop_all(&gone)?;
        Ok(())
    }
}

/// Reads the numbers that a recovery left; `None` if the store was not recovered yet.
fn read_recovered(file: &Path) -> Result<Option<Recovered>> {
    let text = if_exists(fs_err::read_to_string(file))?;
    Ok(text.map(|text| {
        // An empty file counts as a complete recovery.
        let complete = Recovered {
            events: 1,
            ..Recovered::default()
        };
        serde_json::from_str(&text).unwrap_or(complete)
    }))
}

/// Returns the files of a project that other users can read.
#[cfg(unix)]
fn exposed(dir: &Path) -> Result<Vec<PathBuf>> {
    use std::os::unix::fs::PermissionsExt;
    let mut exposed = Vec::new();
    let mut pending = vec![dir.to_owned()];
    while let Some(path) = pending.pop() {
        // A log or a journal file of SQLite may vanish in the meantime.
        let Some(metadata) = if_exists(fs_err::symlink_metadata(&path))? else {
            continue;
        };
        if metadata.permissions().mode() & 0o077 != 0 {
            exposed.push(path.clone());
        }
        if metadata.is_dir() {
            for entry in fs_err::read_dir(&path)? {
                pending.push(entry?.path());
            }
        }
    }
    exposed.sort();
    Ok(exposed)
}

#[cfg(not(unix))]
fn exposed(_dir: &Path) -> Result<Vec<PathBuf>> {
    Ok(Vec::new())
}
