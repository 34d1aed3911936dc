//! Maintenance of a store: checking, rebuilding, recovering and shrinking it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use flamestack_core::id::{BlobId, Timestamp};
use flamestack_core::{Actor, Command};
use flamestack_store::{
    Collected, Index, Mark, Orphans, Rebuilt, Recovered, Retention, StoreError, Verified, collect,
};
use serde::{Deserialize, Serialize};

use crate::Engine;
use crate::error::{EngineError, Result};
use crate::workspace::{if_exists, write_private};

/// File with the time and the sizes of the last clean-up.
const COLLECTED: &str = "collected";
/// Number of raw texts that are dropped in one step.
const STEP: usize = 200;
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

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
    /// Set if there is no journal although there was one, with the number of its events if known.
    pub missing_journal: Option<u64>,
    /// Number of raw texts that only a missing journal refers to.
    pub abandoned_texts: u64,
    /// Damage of the search index.
    pub damaged_index: Option<String>,
    /// The error that the next command would meet when it writes.
    pub not_writable: Option<EngineError>,
}

impl Examined {
    /// Returns true if nothing needs attention.
    pub fn is_healthy(&self) -> bool {
        self.verified.findings.is_empty()
            && self.stopped.is_empty()
            && self.exposed.is_empty()
            && self.lost_texts.is_empty()
            && self.set_aside.is_empty()
            && self.recovered_in_part.is_empty()
            && self.missing_journal.is_none()
            && self.abandoned_texts == 0
            && self.damaged_index.is_none()
            && self.not_writable.is_none()
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
        examined.missing_journal = self
            .missing_journal()
            .map_err(&mut noted)
            .unwrap_or_default();
        // Texts of a store that waits to be recovered are expected.
        if examined.set_aside.is_empty() && examined.missing_journal.is_none() {
            let everything = Retention {
                bytes: u64::MAX,
                since: None,
            };
            let plan = self.plan_collection(&everything, Orphans::Careful);
            examined.abandoned_texts = plan.map_err(&mut noted).map_or(0, |plan| plan.kept);
        }
        let index = Index::new(&self.engine.project().dir);
        examined.damaged_index = index
            .damage()
            .map_err(|error| noted(error.into()))
            .unwrap_or_default();
        // A file that cannot be written is a finding already.
        if examined.verified.findings.is_empty() {
            let tried = flamestack_store::try_writing(&workspace.project.dir);
            examined.not_writable = tried.err().map(EngineError::from);
        }
        examined.stopped = stopped;
        examined
    }

    /// Returns the number of events of a journal that is missing, 0 if it is not known.
    fn missing_journal(&self) -> Result<Option<u64>> {
        if self.engine.workspace.has_store() {
            return Ok(None);
        }
        let mark = Mark::read(&self.engine.project().dir)?;
        let events = mark.map_or(0, |mark| mark.last.0.unsigned_abs());
        // Without a mark, as in a store of an earlier version, raw text is a trace of it.
        let has_texts = !self.engine.blobs().stored_sizes()?.is_empty();
        let waiting = !self.set_aside_stores()?.is_empty();
        Ok((events > 0 || has_texts && !waiting).then_some(events))
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
        recovered.note(from)?;
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
                let recovered = Recovered::of(&path)?;
                found.push((path, recovered));
            }
        }
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(found)
    }

    /// Plans what to drop of what a project is not to keep. Changes nothing.
    pub fn plan_collection(&self, keep: &Retention, orphans: Orphans) -> Result<Collected> {
        let dir = &self.engine.project().dir;
        let mut policy = || match self.set_aside_stores() {
            // Its texts are needed once it is recovered.
            Ok(waiting) if !waiting.is_empty() => Ok(Orphans::Keep),
            Ok(_) => Ok(orphans),
            Err(EngineError::Store(error)) => Err(error),
            Err(EngineError::Io(error)) => Err(error.into()),
            Err(_) => Ok(Orphans::Keep),
        };
        self.engine
            .read(|reading| Ok(collect(dir, reading, keep, &mut policy)?))
    }

    /// Deletes what is made again when it is needed: indexes and rendered logs.
    fn drop_rendered(&self) -> Result<()> {
        self.engine.workspace.drop_indexes()?;
        if_exists(fs_err::remove_dir_all(self.engine.project().logs_dir()))?;
        Ok(())
    }

    /// Drops what a project is not to keep. The journal records what is
    /// dropped before it is. `go_on` is asked between two steps, none of which takes long.
    ///
    /// Fails as busy if other processes are storing raw text for longer than `patience`.
    pub fn collect(
        &self,
        actor: &Actor,
        keep: &Retention,
        orphans: Orphans,
        patience: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Collected> {
        let workspace = &self.engine.workspace;
        let blobs = self.engine.blobs();
        if !workspace.project.dir.exists() {
            return Ok(Collected::default());
        }
        let tried = flamestack_store::try_writing(&workspace.project.dir);
        if matches!(tried, Err(StoreError::DiskFull)) {
            // On a full disk nothing else can be deleted: the journal has to record it first.
            self.drop_rendered()?;
            workspace.close();
        }
        let sweep = blobs.sweep(patience)?;
        let plan = self.plan_collection(keep, orphans)?;
        if plan.drop_index {
            self.drop_rendered()?;
        }
        for some in plan.orphans.chunks(STEP) {
            if go_on() {
                blobs.drop_all(&sweep, some)?;
            }
        }
        let dropped = plan.expired.chunks(STEP);
        for some in dropped.chain(plan.drop_blobs.chunks(STEP)) {
            if go_on() {
                let command = Command::DropBlobs(some.to_vec());
                self.engine.commands().run(actor, &command)?;
                let names: Vec<String> = some.iter().map(|(blob, _)| blob.to_string()).collect();
                blobs.drop_all(&sweep, &names)?;
            }
        }
        if orphans == Orphans::All && plan.kept == 0 {
            blobs.forget_journals(&sweep)?;
        }
        drop(sweep);
        if go_on() {
            blobs.compact()?;
        }
        if go_on() && workspace.has_store() {
            workspace.with_store(|store| Ok(store.compact()?))?;
        }
        self.note_collection(&plan)?;
        Ok(plan)
    }

    /// Drops what is needed if the last time is `interval` ago. Returns `None` if it is not, or if
    /// other processes are busy.
    pub fn collect_if_due(
        &self,
        actor: &Actor,
        keep: &Retention,
        interval: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Option<Collected>> {
        let now = self.engine.clock().now();
        let interval = i64::try_from(interval.as_millis()).unwrap_or(i64::MAX);
        let is_due = match self.last_collection()? {
            // A clock that was set back does not postpone it for years.
            Some(last) => now.0 < last.at || now.0 - last.at >= interval,
            None => true,
        };
        if !is_due || !self.engine.workspace.has_store() {
            return Ok(None);
        }
        match self.collect(actor, keep, Orphans::Careful, Duration::ZERO, go_on) {
            Err(EngineError::Store(StoreError::Busy)) => Ok(None),
            collected => collected.map(Some),
        }
    }

    /// Returns what a project of this size limit and age limit (in days, 0 for none) keeps as of now.
    pub fn retention(&self, bytes: u64, days: u64) -> Retention {
        let age = i64::try_from(days.saturating_mul(DAY_MS)).unwrap_or(i64::MAX);
        let now = self.engine.clock().now();
        Retention {
            bytes,
            since: (days > 0).then(|| Timestamp(now.0.saturating_sub(age))),
        }
    }

    /// Returns the last clean-up, if there was one.
    pub fn last_collection(&self) -> Result<Option<LastCollection>> {
        let file = self.engine.project().dir.join(COLLECTED);
        let text = if_exists(fs_err::read_to_string(file))?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }

    fn note_collection(&self, plan: &Collected) -> Result<()> {
        let dir = &self.engine.project().dir;
        let last = LastCollection {
            at: self.engine.workspace.clock.now().0,
            before: plan.before.total(),
            after: flamestack_store::sizes(dir)?.total(),
        };
        let text = serde_json::to_string(&last).map_err(std::io::Error::from)?;
        write_private(&dir.join(COLLECTED), &format!("{text}\n"))
    }
}

/// The last clean-up of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct LastCollection {
    /// Time of its end, in milliseconds since 1970.
    pub at: i64,
    /// Size before, in bytes.
    pub before: u64,
    /// Size after, in bytes.
    pub after: u64,
}

/// Returns the files of a project that other users can read, and the folders above it that they can
/// write to.
#[cfg(unix)]
fn exposed(dir: &Path) -> Result<Vec<PathBuf>> {
    use std::os::unix::fs::PermissionsExt;
    let mut exposed = Vec::new();
    // `projects` and the state directory.
    for above in dir.ancestors().skip(1).take(2) {
        if let Some(metadata) = if_exists(fs_err::metadata(above))?
            && metadata.permissions().mode() & 0o022 != 0
        {
            exposed.push(above.to_owned());
        }
    }
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
