//! Small text files that another program or a repository wrote, read within bounds.

use std::io::Read as _;
use std::path::Path;

/// The reason why a small file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SmallFileError {
    /// It is a device, a pipe, a folder or the like.
    #[error("it is not a regular file")]
    NotRegular,
    /// It is too large.
    #[error("it has more than {} kB", limit / 1024)]
    TooLarge {
        /// Maximum size, in bytes.
        limit: u64,
    },
    /// It is not UTF-8.
    #[error("it is not UTF-8 text")]
    NotText,
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Reads a regular file of at most `limit` bytes. Links are followed; what they lead to is checked.
pub fn read_small(path: &Path, limit: u64) -> Result<String, SmallFileError> {
    // Opening a pipe would block until another process writes to it.
    let metadata = fs_err::metadata(path)?;
    if !metadata.is_file() {
        return Err(SmallFileError::NotRegular);
    }
    let mut bytes = Vec::new();
    // Files of the kernel have a length of 0 and any content.
    fs_err::File::open(path)?
        .take(limit + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(SmallFileError::TooLarge { limit });
    }
    String::from_utf8(bytes).map_err(|_| SmallFileError::NotText)
}
