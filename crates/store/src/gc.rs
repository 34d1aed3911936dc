//! Garbage collection: keeping a project's files under a size, and raw text only for a time.
//!
//! Files that can be made again go first: the search index and rendered logs. Then the raw text of
//! finished frames, oldest first, each leaving a tombstone in the journal. The journal itself is
//! never cut. Raw text is only deleted if that reaches the limit, or comes much closer to it. Raw text
//! that is too old goes in any case, that of open frames too, and with it what was made from it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use flamestack_core::id::{BlobId, Seq, Timestamp};

use crate::blobs::Blobs;
use crate::error::Result;
use crate::identity::StoreId;
use crate::projections::Reading;

/// Disposable databases.
const INDEXES: [&str; 3] = ["index.db", "relevance.db", "counts.db"];
/// Estimated size of a tombstone in the journal and its projection, in bytes.
const TOMBSTONE: u64 = 450;

/// Sizes of a project's files, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// The journal with its projections.
    pub journal: u64,
    /// Raw text.
    pub blobs: u64,
    /// The search index, the sibling index and the token counts.
    pub index: u64,
    /// Rendered logs.
    pub logs: u64,
}

impl Sizes {
    /// Returns the sum.
    pub fn total(&self) -> u64 {
        self.journal + self.blobs + self.index + self.logs
    }
}

/// The limits of what a project keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Maximum size of its files, in bytes.
    pub bytes: u64,
    /// Time before which raw text is too old.
    pub since: Option<Timestamp>,
}

/// A plan of what to delete, with the sizes before and after.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Sizes before.
    pub before: Sizes,
    /// Estimated sizes after.
    pub after: Sizes,
    /// True if the disposable databases and the rendered logs are deleted.
    pub drop_index: bool,
    /// Raw text to delete to save space: id and uncompressed size.
    pub drop_blobs: Vec<(BlobId, u64)>,
    /// Raw text to delete because it is too old.
    pub expired: Vec<(BlobId, u64)>,
    /// Raw text that the journal does not refer to, left by a process that died.
    pub orphans: Vec<String>,
    /// Number of raw texts that the journal does not refer to, but another one may.
    pub kept: u64,
    /// Reason why the limit is not reached.
    pub short_of: Option<Shortfall>,
}

/// Reason why garbage collection does not reach its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortfall {
    /// The journal alone is larger. Nothing is deleted.
    Journal,
    /// Too little may be deleted to come much closer, so no raw text is.
    TooLittle,
    /// The rest belongs to open frames.
    OpenFrames,
}

/// Treatment of raw texts that the journal does not refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orphans {
    /// Delete them, unless they may belong to a journal that is missing.
    Careful,
    /// Delete all of them.
    All,
    /// Keep all of them, such as those of a journal that waits to be recovered.
    Keep,
}

/// Measures a project's files.
pub fn sizes(dir: &Path) -> Result<Sizes> {
    let mut sizes = Sizes::default();
    for (name, path) in entries(dir)? {
        if name == "logs" && path.is_dir() {
            for (_, log) in entries(&path)? {
                sizes.logs += length(&log)?;
            }
        } else if name.starts_with("journal.db") {
            sizes.journal += length(&path)?;
        } else if name.starts_with("blobs.db") {
            sizes.blobs += length(&path)?;
        } else if INDEXES.iter().any(|index| name.starts_with(index)) {
            sizes.index += length(&path)?;
        }
    }
    Ok(sizes)
}

/// Returns names and paths in a folder; nothing if it does not exist.
fn entries(dir: &Path) -> Result<Vec<(String, std::path::PathBuf)>> {
    let found = match fs_err::read_dir(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let entry = |entry: std::io::Result<fs_err::DirEntry>| {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        Ok((name, entry.path()))
    };
    found.map(entry).collect()
}

/// Returns the length of a file; 0 if it is gone, as SQLite's own files come and go.
fn length(path: &Path) -> Result<u64> {
    match fs_err::symlink_metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
        other => Ok(other?.len()),
    }
}

/// Plans what to delete of a project. Changes nothing.
///
/// `orphans` is asked after the journal was read: a journal that is replaced meanwhile is set aside
/// by then.
pub fn collect(
    dir: &Path,
    reading: &dyn Reading,
    keep: &Retention,
    orphans: &mut dyn FnMut() -> Result<Orphans>,
) -> Result<Collected> {
    let blobs = Blobs::new(dir);
    let before = sizes(dir)?;
    let mut plan = Collected {
        before,
        after: before,
        ..Collected::default()
    };
    let known = reading.blobs()?;
    let sizes = blobs.stored_sizes()?;
    let unknown = sizes
        .iter()
        .filter(|(name, _)| known.binary_search(name).is_err());
    let policy = match orphans()? {
        Orphans::Careful if !is_settled(reading, &blobs.stores()?)? => Orphans::Keep,
        other => other,
    };
    if policy == Orphans::Keep {
        plan.kept = unknown.count() as u64;
    } else {
        for (name, size) in unknown {
            plan.after.blobs = plan.after.blobs.saturating_sub(*size);
            plan.orphans.push(name.clone());
        }
    }
    expire(&mut plan, reading, keep.since, &sizes)?;
    let limit = keep.bytes;
    if plan.after.total() <= limit {
        return Ok(plan);
    }
    // The files that SQLite keeps beside the journal are emptied, but not the journal.
    if length(&dir.join("journal.db"))? > limit && plan.expired.is_empty() {
        return Ok(Collected {
            before,
            after: before,
            kept: plan.kept + plan.orphans.len() as u64,
            short_of: Some(Shortfall::Journal),
            ..Collected::default()
        });
    }
    plan.drop_index = before.index > 0 || before.logs > 0;
    plan.after.index = 0;
    plan.after.logs = 0;
    let mut droppable = reading.droppable()?;
    let expired: BTreeSet<String> = plan.expired.iter().map(|(id, _)| id.to_string()).collect();
    droppable.retain(|(name, _)| !expired.contains(name));
    choose_texts(&mut plan, droppable, &sizes, limit);
    Ok(plan)
}

/// Chooses the raw texts that are too old. The search index and rendered logs repeat them.
fn expire(
    plan: &mut Collected,
    reading: &dyn Reading,
    since: Option<Timestamp>,
    sizes: &BTreeMap<String, u64>,
) -> Result<()> {
    let Some(since) = since else {
        return Ok(());
    };
    for (name, bytes) in reading.texts_before(since)? {
        if let Some(id) = BlobId::from_hex(&name) {
            let size = sizes.get(&name).copied().unwrap_or_default();
            plan.after.blobs = plan.after.blobs.saturating_sub(size);
            plan.after.journal += TOMBSTONE;
            plan.expired.push((id, bytes));
        }
    }
    if !plan.expired.is_empty() {
        plan.drop_index = plan.before.index > 0 || plan.before.logs > 0;
        (plan.after.index, plan.after.logs) = (0, 0);
    }
    Ok(())
}

/// Chooses the raw texts of finished frames to delete.
fn choose_texts(
    plan: &mut Collected,
    droppable: Vec<(String, u64)>,
    sizes: &BTreeMap<String, u64>,
    limit: u64,
) {
    let excess = plan.after.total().saturating_sub(limit);
    let mut after = plan.after;
    let mut chosen = Vec::new();
    for (name, bytes) in droppable {
        if after.total() <= limit {
            break;
        }
        let size = sizes.get(&name).copied().unwrap_or_default();
        // A tombstone outweighs a small text.
        if let Some(id) = BlobId::from_hex(&name)
            && size > TOMBSTONE
        {
            after.blobs = after.blobs.saturating_sub(size);
            after.journal += TOMBSTONE;
            chosen.push((id, bytes));
        }
    }
    if after.total() > limit {
        let gain = plan.after.total().saturating_sub(after.total());
        if gain < excess / 2 {
            plan.short_of = Some(Shortfall::TooLittle);
            return;
        }
        plan.short_of = Some(Shortfall::OpenFrames);
    }
    plan.after = after;
    plan.drop_blobs = chosen;
}

/// Returns true if all journals that raw texts were stored for are here: as this journal, or
/// recovered into it.
fn is_settled(reading: &dyn Reading, stores: &[StoreId]) -> Result<bool> {
    let here = reading.stores()?;
    Ok(reading.position()? > Seq(0) && stores.iter().all(|store| here.contains(store)))
}
