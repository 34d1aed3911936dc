//! A folder that is open, of which much is asked: when files below it were written, and whether
//! they are below it at all.
//!
//! There may be thousands, one for each piece of work that was ever finished. Asked by whole paths,
//! the system walks down from its root for each; from an open folder it is a step or two.

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

impl Folder {
    /// Whether what a path names is below the folder, with no link on the way. If that cannot be said,
    /// nothing is: then the way has to be followed.
    #[cfg(target_os = "linux")]
    pub(super) fn holds(&self, path: &str) -> Option<bool> {
        use rustix::fs::{Mode, OFlags, ResolveFlags};

        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let plainly = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        match rustix::fs::openat2(&self.0, path, flags, Mode::empty(), plainly) {
            Ok(_) => Some(true),
            Err(rustix::io::Errno::NOENT) => Some(false),
            Err(_) => None,
        }
    }

    /// Whether what a path names is below the folder: only Linux says that by itself.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn holds(&self, _: &str) -> Option<bool> {
        None
    }
}

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
