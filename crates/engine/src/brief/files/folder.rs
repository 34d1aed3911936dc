//! An open folder, for asking much about the files below it.
//!
//! There may be thousands of finished work items. With whole paths, the system walks down from its root
//! for each; from an open folder it is a step or two.

use std::path::Path;

/// An open folder.
pub(crate) struct Folder(Handle);

#[cfg(unix)]
type Handle = std::os::fd::OwnedFd;
#[cfg(not(unix))]
type Handle = std::path::PathBuf;

/// Modification time in nanoseconds of the file system's clock: for choosing what to read first, never for
/// anything shown.
pub(crate) type Modified = i128;

impl Folder {
    /// Returns true if a path exists below the folder without a link on the way, false if it does not
    /// exist, and none if the system cannot tell: then the path has to be followed.
    #[cfg(target_os = "linux")]
    pub(super) fn contains(&self, path: &str) -> Option<bool> {
        use rustix::fs::{Mode, OFlags, ResolveFlags};

        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        match rustix::fs::openat2(&self.0, path, flags, Mode::empty(), resolve) {
            Ok(_) => Some(true),
            Err(rustix::io::Errno::NOENT) => Some(false),
            Err(_) => None,
        }
    }

    /// Returns none: only Linux can tell.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn contains(&self, _: &str) -> Option<bool> {
        None
    }
}

#[cfg(unix)]
impl Folder {
    pub(super) fn open(path: &Path) -> Option<Self> {
        use rustix::fs::{Mode, OFlags};

        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::open(path, flags, Mode::empty()).ok().map(Self)
    }

    /// Returns the modification time of a file or a folder below it.
    pub(crate) fn modified(&self, path: &str) -> Option<Modified> {
        let found = rustix::fs::statat(&self.0, path, rustix::fs::AtFlags::empty()).ok()?;
        let seconds = Modified::from(found.st_mtime);
        Some(seconds * 1_000_000_000 + Modified::from(found.st_mtime_nsec))
    }
}

#[cfg(not(unix))]
impl Folder {
    pub(super) fn open(path: &Path) -> Option<Self> {
        path.is_dir().then(|| Self(path.to_owned()))
    }

    /// Returns the modification time of a file or a folder below it.
    pub(crate) fn modified(&self, path: &str) -> Option<Modified> {
        let modified = fs_err::metadata(self.0.join(path)).ok()?.modified().ok()?;
        let since = modified.duration_since(std::time::UNIX_EPOCH).ok()?;
        Modified::try_from(since.as_nanos()).ok()
    }
}
