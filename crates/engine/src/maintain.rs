//! Looking after a store: checking, rebuilding, recovering, keeping it small.

use std::path::{Path, PathBuf};

use flamestack_core::command::{Actor, Command};
use flamestack_store::{Collected, Index, Rebuilt, Recovered, Store, Verified, collect};
use serde_json::{Value, json};

use crate::Engine;
use crate::engine::write_private;
use crate::error::EngineError;
use crate::request::Request;

/// What a look at the store found.
#[derive(Debug, Default)]
pub struct Examined {
    /// Journal and projections.
    pub verified: Verified,
    /// Why part of it could not be looked at.
    pub stopped: Vec<EngineError>,
    /// Files that others than their owner can read.
    pub exposed: Vec<PathBuf>,
    /// Raw text that the journal names and that is missing or damaged.
    pub lost_texts: Vec<String>,
    /// Stores that were set aside.
    pub set_aside: Vec<PathBuf>,
    /// Stores that were recovered from, and not all of them could be read.
    pub recovered_in_part: Vec<(PathBuf, Recovered)>,
}

impl Examined {
    /// Whether anything needs attention.
    pub fn is_well(&self) -> bool {
        self.verified.findings.is_empty()
            && self.stopped.is_empty()
            && self.exposed.is_empty()
            && self.lost_texts.is_empty()
            && self.set_aside.is_empty()
            && self.recovered_in_part.is_empty()
    }
}

impl Engine {
    /// Checks journal, projections, raw text and permissions. Changes nothing. What cannot be looked
    /// at is found too, and keeps nobody from looking at the rest.
    pub fn examine(&self, progress: &mut dyn FnMut(u64, u64)) -> Examined {
        let mut examined = Examined::default();
        // Looking at a project that has no store yet must not make one.
        let verified = if self.has_store() {
            self.with_store(|store| Ok(store.verify(progress)?))
        } else {
            Ok(Verified::default())
        };
        let mut stopped = Vec::new();
        let mut noted = |error: EngineError| stopped.push(error);
        examined.verified = verified.map_err(&mut noted).unwrap_or_default();
        // Which texts there should be is in the journal.
        if examined.verified.events > 0 {
            examined.lost_texts = self.lost_texts().map_err(&mut noted).unwrap_or_default();
        }
        examined.exposed = exposed(&self.project().dir)
            .map_err(&mut noted)
            .unwrap_or_default();
        match self.put_aside_so_far() {
            Ok(found) => {
                for (place, recovered) in found {
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

    fn lost_texts(&self) -> Result<Vec<String>, EngineError> {
        let wanted = self.read(|reading| {
            let mut wanted = Vec::new();
            for blob in reading.blobs()? {
                if reading.dropped(&blob)?.is_none() {
                    wanted.push(blob);
                }
            }
            Ok(wanted)
        })?;
        let blobs = self.blobs();
        let is_lost = |hash: &String| match flamestack_core::id::BlobId::from_hex(hash) {
            Some(id) => !matches!(blobs.get(&id), Ok(Some(_))),
            None => true,
        };
        Ok(wanted.into_iter().filter(is_lost).collect())
    }

    /// Deletes what is made from the journal beside it, as when the journal is another one.
    pub(crate) fn drop_indexes(&self) -> Result<(), EngineError> {
        Index::new(&self.project().dir).drop_all()?;
        self.kinship().drop_all()?;
        self.counts().drop_all()?;
        Ok(())
    }

    /// Folds the journal into fresh projections.
    pub fn rebuild(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<Rebuilt, EngineError> {
        if !self.has_store() {
            return Ok(Rebuilt::default());
        }
        let rebuilt = self.with_store(|store| Ok(store.rebuild(progress)?))?;
        self.drop_indexes()?;
        Ok(rebuilt)
    }

    /// Brings back what can be read of a store that was set aside, behind what is there now.
    pub fn recover(
        &self,
        from: &Path,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Recovered, EngineError> {
        if !from.join("journal.db").is_file() {
            return Err(EngineError::NoStore {
                place: from.to_owned(),
            });
        }
        let recovered = self.with_store(|store| Ok(store.recover(from, progress)?))?;
        self.drop_indexes()?;
        // Told apart from those that still wait, without touching what is in it.
        let came_to = json!({
            "events": recovered.events,
            "lost": recovered.lost,
            "cut": recovered.cut,
        });
        write_private(&from.join(RECOVERED), &format!("{came_to}\n"))?;
        Ok(recovered)
    }

    /// Sets a damaged store aside on purpose, so that it can be recovered from; nothing, where
    /// there is no store.
    pub fn put_damaged_aside(&self) -> Result<Option<PathBuf>, EngineError> {
        self.close();
        if !self.has_store() {
            return Ok(None);
        }
        self.drop_indexes()?;
        let name = crate::views::time::file_name(self.clock().now());
        let place = flamestack_store::move_aside(&self.project().dir, &name)?;
        Ok(Some(place))
    }

    /// Stores that were set aside and not recovered yet, oldest first.
    pub fn set_aside_stores(&self) -> Result<Vec<PathBuf>, EngineError> {
        let waiting = self.put_aside_so_far()?.into_iter();
        let waiting = waiting.filter(|(_, recovered)| recovered.is_none());
        Ok(waiting.map(|(place, _)| place).collect())
    }

    /// All stores that were set aside, oldest first, with what recovering them came to.
    fn put_aside_so_far(&self) -> Result<Vec<(PathBuf, Option<Recovered>)>, EngineError> {
        let place = self.project().dir.join("set-aside");
        let mut found = Vec::new();
        match fs_err::read_dir(&place) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(found),
            Err(error) => return Err(error.into()),
            Ok(entries) => {
                for entry in entries {
                    let path = entry?.path();
                    if path.is_dir() {
                        let recovered = came_to(&path.join(RECOVERED))?;
                        found.push((path, recovered));
                    }
                }
            }
        }
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(found)
    }

    /// What would have to go for the project to stay under a size. Changes nothing.
    pub fn plan_collection(&self, limit: u64) -> Result<Collected, EngineError> {
        let dir = self.project().dir.clone();
        self.read(|reading| Ok(collect(&dir, reading, limit)?))
    }

    /// Lets it go. The journal says what is dropped before it is.
    pub fn collect(&self, actor: &Actor, plan: &Collected) -> Result<(), EngineError> {
        if plan.drop_index {
            self.drop_indexes()?;
            match fs_err::remove_dir_all(self.project().logs_dir()) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error.into());
                }
                _ => {}
            }
        }
        if !plan.drop_blobs.is_empty() {
            let command = Command::DropBlobs(plan.drop_blobs.clone());
            self.execute(actor, &Request::Ready(command))?;
        }
        let hashes = plan.drop_blobs.iter().map(|(blob, _)| blob.to_string());
        let gone: Vec<String> = hashes.chain(plan.orphans.iter().cloned()).collect();
        self.blobs().drop_all(&gone)?;
        Ok(())
    }
}

/// The file that marks a set-aside store as recovered and says what that came to.
const RECOVERED: &str = "recovered";

/// What a recovery came to by the file that it left; nothing, if there was none yet.
fn came_to(file: &Path) -> Result<Option<Recovered>, EngineError> {
    let text = match fs_err::read_to_string(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let told: Value = serde_json::from_str(&text).unwrap_or_default();
    let number = |name: &str| told.get(name).and_then(Value::as_u64);
    Ok(Some(Recovered {
        // A file that says nothing says nothing bad.
        events: number("events").unwrap_or(1),
        lost: number("lost").unwrap_or_default(),
        cut: told.get("cut").and_then(Value::as_bool).unwrap_or_default(),
    }))
}

/// Files of a project that others than their owner can read.
#[cfg(unix)]
fn exposed(dir: &Path) -> Result<Vec<PathBuf>, EngineError> {
    use std::os::unix::fs::PermissionsExt;
    let mut exposed = Vec::new();
    let mut pending = vec![dir.to_owned()];
    while let Some(path) = pending.pop() {
        let metadata = match fs_err::symlink_metadata(&path) {
            // A log or a journal file of SQLite may vanish meanwhile.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            other => other?,
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
fn exposed(_dir: &Path) -> Result<Vec<PathBuf>, EngineError> {
    Ok(Vec::new())
}
