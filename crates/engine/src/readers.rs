//! Connections of readers to the store of a project.
//!
//! SQLite's readers wait neither for a writer nor for each other, but two threads cannot share a
//! connection: with one for all, a search that took 34 s made another session wait for 37 s. Each
//! reader takes a connection of its own out of a small pool.

use std::path::Path;
use std::sync::Mutex;

use flamestack_store::{OpenStore, Store, StoreError, Version};

use crate::workspace::lock;

/// Maximum number of connections that are kept open without being used.
const IDLE_LIMIT: usize = 4;

/// A change token of the journal: equal tokens mean that no process has committed in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JournalVersion {
    /// Number of files that the journal has been in.
    file: u64,
    version: Version,
}

/// The readers of one store.
#[derive(Default)]
pub(crate) struct ReaderPool {
    idle: Mutex<Vec<PooledReader>>,
    /// The connection that versions are asked of: those of two connections cannot be compared.
    watcher: Mutex<Watcher>,
}

#[derive(Default)]
struct Watcher {
    reader: Option<PooledReader>,
    files: u64,
}

/// A connection that only one thread uses.
pub(crate) struct PooledReader {
    store: Box<dyn Store>,
    file: Option<FileIdentity>,
}

impl PooledReader {
    /// The store.
    pub(crate) fn store(&self) -> &dyn Store {
        self.store.as_ref()
    }

    fn open(stores: &dyn OpenStore, dir: &Path) -> Result<Option<Self>, StoreError> {
        // The file that is opened may be newer than this, which only means to open it again.
        let file = FileIdentity::of(dir);
        let store = stores.open_existing(dir)?;
        Ok(store.map(|store| Self { store, file }))
    }
}

impl ReaderPool {
    /// Returns a connection to the store in a directory, if there is one.
    pub(crate) fn take(
        &self,
        stores: &dyn OpenStore,
        dir: &Path,
    ) -> Result<Option<PooledReader>, StoreError> {
        match self.take_idle(dir) {
            Some(reader) => Ok(Some(reader)),
            None => PooledReader::open(stores, dir),
        }
    }

    /// Returns a connection that is open and not in use.
    fn take_idle(&self, dir: &Path) -> Option<PooledReader> {
        let now = FileIdentity::of(dir);
        let mut idle = lock(&self.idle);
        // The store may have been replaced.
        idle.retain(|reader| reader.file == now);
        idle.pop()
    }

    /// Gives a connection that is not in use to the writer: to open another takes as long as the rest
    /// of a short command.
    pub(crate) fn give_to_writer(&self, dir: &Path) -> Option<Box<dyn Store>> {
        self.take_idle(dir).map(|reader| reader.store)
    }

    /// Keeps a connection for the next reader.
    pub(crate) fn give_back(&self, reader: Option<PooledReader>) {
        let mut idle = lock(&self.idle);
        if idle.len() < IDLE_LIMIT {
            idle.extend(reader);
        }
    }

    /// Returns the version of the store in a directory, if there is one.
    pub(crate) fn version(
        &self,
        stores: &dyn OpenStore,
        dir: &Path,
    ) -> Result<Option<JournalVersion>, StoreError> {
        let now = FileIdentity::of(dir);
        let mut watcher = lock(&self.watcher);
        if watcher
            .reader
            .as_ref()
            .is_none_or(|reader| reader.file != now)
        {
            watcher.reader = PooledReader::open(stores, dir)?;
            watcher.files += 1;
        }
        let file = watcher.files;
        let version = watcher.reader.as_ref().map(|it| it.store.version());
        let version = version.transpose()?;
        Ok(version.map(|version| JournalVersion { file, version }))
    }

    /// Closes all connections that are not in use.
    pub(crate) fn close(&self) {
        lock(&self.idle).clear();
        lock(&self.watcher).reader = None;
    }
}

/// Identity of a journal's file, which changes when the store is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileIdentity {
    device: u64,
    file: u64,
}

impl FileIdentity {
    #[cfg(unix)]
    fn of(dir: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        let metadata = fs_err::metadata(dir.join("journal.db")).ok()?;
        Some(Self {
            device: metadata.dev(),
            file: metadata.ino(),
        })
    }

    #[cfg(not(unix))]
    fn of(dir: &Path) -> Option<Self> {
        // An open file cannot be replaced there.
        dir.join("journal.db")
            .exists()
            .then_some(Self { device: 0, file: 0 })
    }
}
