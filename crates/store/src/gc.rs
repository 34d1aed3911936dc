//! Keeping a project's files under a size.
//!
//! What can be made again goes first: the search index and rendered logs. Then the raw text of
//! finished frames, oldest first; each leaves a tombstone in the journal. The journal itself is
//! never cut.

use std::path::Path;

use flamestack_core::id::BlobId;

use crate::blobs::Blobs;
use crate::error::StoreError;
use crate::index::Index;
use crate::store::Reading;

/// What can be made again.
const INDEXES: [&str; 3] = ["index.db", "relevance.db", "counts.db"];

/// What a project takes on disk, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// The journal with its projections.
    pub journal: u64,
    /// Raw text.
    pub blobs: u64,
    /// The search index, the index of relevance, and the counts of tokens.
    pub index: u64,
    /// Rendered logs.
    pub logs: u64,
}

impl Sizes {
    /// All of it.
    pub fn total(&self) -> u64 {
        self.journal + self.blobs + self.index + self.logs
    }
}

/// What is to go, and what that leaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Sizes before.
    pub before: Sizes,
    /// Sizes after, by estimate where nothing was dropped yet.
    pub after: Sizes,
    /// Whether the index and the rendered logs go.
    pub drop_index: bool,
    /// Raw text that goes: name and size, uncompressed.
    pub drop_blobs: Vec<(BlobId, u64)>,
    /// Raw text that the journal does not know, left by a process that died.
    pub orphans: Vec<String>,
}

/// Measures a project's files; a project without any takes no room.
pub fn sizes(dir: &Path) -> Result<Sizes, StoreError> {
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

/// Decides what has to go for a project to stay under `limit` bytes. Changes nothing.
pub fn collect(dir: &Path, reading: &dyn Reading, limit: u64) -> Result<Collected, StoreError> {
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
