//! The identity of an open file, to notice that another one has taken its place.
//!
//! A connection stays with its file when the file is moved or deleted: what is written then is in no
//! store. The inode of a file that is open is not given to another file.

use std::path::Path;

use crate::error::Result;

/// State of the database file that a store has open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreFileState {
    /// It is the file of its folder.
    InPlace,
    /// It was set aside, or another file has taken its place.
    Replaced,
    /// It was deleted or moved to an unknown place.
    Gone,
}

/// The identity of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    /// Returns the identity of the file at a path; `None` if there is none.
    #[cfg(unix)]
    pub(crate) fn of(path: &Path) -> Result<Option<Self>> {
        use std::os::unix::fs::MetadataExt;
        match fs_err::metadata(path) {
            Ok(file) => Ok(Some(Self {
                device: file.dev(),
                inode: file.ino(),
            })),
            Err(error) => match error.kind() {
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => Ok(None),
                _ => Err(error.into()),
            },
        }
    }

    /// Returns the same identity for every file: an open file can be neither moved nor deleted here.
    #[cfg(not(unix))]
    pub(crate) fn of(path: &Path) -> Result<Option<Self>> {
        Ok(path.exists().then_some(Self {
            device: 0,
            inode: 0,
        }))
    }

    /// Returns true if the file is in one of the folders of `set-aside/`.
    pub(crate) fn is_set_aside(self, dir: &Path) -> Result<bool> {
        let folders = match fs_err::read_dir(dir.join("set-aside")) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            other => other?,
        };
        for folder in folders {
            if Self::of(&folder?.path().join("journal.db"))? == Some(self) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
