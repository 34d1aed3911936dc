//! A folder of which many files are asked when they were written.
//!
//! There may be thousands, one for each piece of work that was ever finished. Asked by whole paths,
//! the system walks down from its root for each; from a folder that is open it is a step or two.

use std::path::Path;

/// A folder that is open.
pub(crate) struct Folder(Handle);

#[cfg(unix)]
type Handle = std::os::fd::OwnedFd;
#[cfg(not(unix))]
type Handle = std::path::PathBuf;

/// When something was written, in nanoseconds of the file system's clock: for choosing what to read
/// first, never for what is said.
pub(crate) type Moment = i128;

#[cfg(unix)]
impl Folder {
    /// Opens a folder, if there is one.
    pub(super) fn open(path: &Path) -> Option<Self> {
        use rustix::fs::{Mode, OFlags};

        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::open(path, flags, Mode::empty()).ok().map(Self)
    }

    /// When a file or a folder below it was last written, if it is there.
    pub(crate) fn written(&self, path: &str) -> Option<Moment> {
        let found = rustix::fs::statat(&self.0, path, rustix::fs::AtFlags::empty()).ok()?;
        let seconds = Moment::from(found.st_mtime);
        Some(seconds * 1_000_000_000 + Moment::from(found.st_mtime_nsec))
    }
}

#[cfg(not(unix))]
impl Folder {
    /// Opens a folder, if there is one.
    pub(super) fn open(path: &Path) -> Option<Self> {
        path.is_dir().then(|| Self(path.to_owned()))
    }

    /// When a file or a folder below it was last written, if it is there.
    pub(crate) fn written(&self, path: &str) -> Option<Moment> {
        let moment = fs_err::metadata(self.0.join(path)).ok()?.modified().ok()?;
        let since = moment.duration_since(std::time::UNIX_EPOCH).ok()?;
        Moment::try_from(since.as_nanos()).ok()
    }
}
