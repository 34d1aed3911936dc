//! Garbage collection: keeping a project's files under a size.
//!
//! Files that can be made again go first: the search index and rendered logs. Then the raw text of
//! finished frames, oldest first, each leaving a tombstone in the journal. The journal itself is
//! never cut.

use std::path::Path;

use flamestack_core::id::BlobId;

use crate::blobs::Blobs;
use crate::error::Result;
use crate::index::Index;
use crate::projections::Reading;

/// Disposable databases.
const INDEXES: [&str; 3] = ["index.db", "relevance.db", "counts.db"];

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

/// A plan of what to delete, with the sizes before and after.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Sizes before.
    pub before: Sizes,
    /// Estimated sizes after.
    pub after: Sizes,
    /// True if the disposable databases and the rendered logs are deleted.
    pub drop_index: bool,
    /// Raw text to delete: id and uncompressed size.
    pub drop_blobs: Vec<(BlobId, u64)>,
    /// Raw text that the journal does not refer to, left by a process that died.
    pub orphans: Vec<String>,
}

/// Measures a project's files.
pub fn sizes(dir: &Path) -> Result<Sizes> {
    let mut sizes = Sizes::default();
    let entries = match fs_err::read_dir(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(sizes),
        other => other?,
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let metadata = entry.metadata()?;
        if name == "logs" && metadata.is_dir() {
            for log in fs_err::read_dir(entry.path())? {
                sizes.logs += log?.metadata()?.len();
            }
        } else if name.starts_with("journal.db") {
            sizes.journal += metadata.len();
        } else if name.starts_with("blobs.db") {
            sizes.blobs += metadata.len();
        } else if INDEXES.iter().any(|index| name.starts_with(index)) {
            sizes.index += metadata.len();
        }
    }
    Ok(sizes)
}

/// Plans what to delete to keep a project under `limit` bytes. Changes nothing.
pub fn collect(dir: &Path, reading: &dyn Reading, limit: u64) -> Result<Collected> {
    let blobs = Blobs::new(dir);
    let before = sizes(dir)?;
    let mut collected = Collected {
        before,
        after: before,
        ..Collected::default()
    };
    let known = reading.blobs()?;
    for name in blobs.names()? {
        if known.binary_search(&name).is_err() {
            let size = blobs.stored_size(&name)?;
            collected.after.blobs = collected.after.blobs.saturating_sub(size);
            collected.orphans.push(name);
        }
    }
    if collected.after.total() <= limit {
        return Ok(collected);
    }
    collected.drop_index = Index::new(dir).path().exists() || before.logs > 0;
    collected.after.index = 0;
    collected.after.logs = 0;
    for (hash, bytes) in reading.droppable()? {
        if collected.after.total() <= limit {
            break;
        }
        if let Some(id) = BlobId::from_hex(&hash) {
            let size = blobs.stored_size(&hash)?;
            collected.after.blobs = collected.after.blobs.saturating_sub(size);
            collected.drop_blobs.push((id, bytes));
        }
    }
    Ok(collected)
}
