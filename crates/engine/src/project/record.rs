//! The two notes by which a project and its state find each other.
//!
//! Beside the state, `project.json` records the project's path, its id and, outside of git, the
//! folder's place in the file system. Inside the git directory, `flamestack` holds the same id and
//! the name of the state's folder. It is never in the work tree, so `git status` does not show it.
//! The id is random: a repository from elsewhere cannot guess the one of another project.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::repository::read_pointer;
use super::{Found, Project, shown};
use crate::workspace::if_exists;

/// Name of a file that marks a state directory as temporary: projects are not linked to it.
pub const TEMPORARY: &str = "temporary";
/// Name of the record beside the state.
const RECORD: &str = "project.json";
/// The record of earlier versions: the path alone.
const PATH_ONLY: &str = "project.txt";
/// Name of the file in the git directory.
const LINK: &str = "flamestack";

/// The record of a project beside its state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Path of the git common directory or the folder; not exact if it is not UTF-8.
    pub(crate) path: String,
    /// Id of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<String>,
    /// Place of a folder in the file system, see [`folder_mark`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) folder: Option<String>,
    /// Place of the folder around a repository's git directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) around: Option<String>,
}

impl Record {
    /// Reads the record in a state directory.
    pub(crate) fn read(dir: &Path) -> Option<Self> {
        let record = read_pointer(&dir.join(RECORD));
        if let Some(record) = record.and_then(|text| serde_json::from_str(&text).ok()) {
            return Some(record);
        }
        let path = read_pointer(&dir.join(PATH_ONLY))?;
        Some(Self {
            path: path.trim_end_matches('\n').to_owned(),
            ..Self::default()
        })
    }

    /// Writes the record, replacing an earlier one atomically.
    pub(crate) fn write(&self, dir: &Path) -> std::io::Result<()> {
        let text = serde_json::to_string_pretty(self).map_err(std::io::Error::from)?;
        let mut file = tempfile::NamedTempFile::new_in(dir)?;
        file.write_all(format!("{text}\n").as_bytes())?;
        file.persist(dir.join(RECORD))
            .map_err(|error| error.error)?;
        if_exists(fs_err::remove_file(dir.join(PATH_ONLY)))?;
        Ok(())
    }

    /// Returns true if this is the path on record.
    pub(crate) fn is_at(&self, identity: &Path) -> bool {
        self.path == identity.to_string_lossy()
    }

    /// Returns true if the folder at the path on record is the one that was recorded, as far as can be seen: it
    /// was not deleted and made again. Only the time of creation tells: a device may get another number at the
    /// next start, and an inode is given to the next folder.
    pub(crate) fn is_same_folder(&self, folder: &Path) -> bool {
        let born = |mark: &String| mark.rsplit(':').next().map(str::to_owned);
        let recorded = self.folder.as_ref().or(self.around.as_ref());
        match (recorded.and_then(born), folder_mark(folder)) {
            (Some(recorded), Some(found)) => born(&found) == Some(recorded),
            _ => true,
        }
    }

    /// Returns true if this may be the state of a repository at the path on record that has no id: no id is on
    /// record either, as in stores of earlier versions and of git directories that cannot be written.
    pub(crate) fn may_be_without_id(&self, common: &Path) -> bool {
        self.id.is_none() && self.is_same_folder(shown(common))
    }

    /// Returns the path on record.
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(&self.path)
    }

    /// Returns true if the project is still at the path on record, as far as can be seen.
    pub(crate) fn is_alive(&self) -> bool {
        let path = self.path();
        match fs_err::metadata(&path) {
            Err(error) => error.kind() == std::io::ErrorKind::PermissionDenied,
            Ok(_) => match (&self.id, &self.folder) {
                (_, Some(mark)) => folder_mark(&path).is_none_or(|found| found == *mark),
                (Some(id), None) => Link::read(&path).is_some_and(|link| link.id == *id),
                (None, None) => true,
            },
        }
    }
}

/// The file inside a git directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    /// Id of the project: 32 hex digits.
    pub(crate) id: String,
    /// Name of the state's folder when the file was written.
    pub(crate) folder: String,
}

impl Link {
    /// Reads the file in a git directory.
    pub(crate) fn read(common: &Path) -> Option<Self> {
        let text = read_pointer(&common.join(LINK))?;
        let (id, folder) = text.trim().split_once(' ')?;
        let is_id = id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit());
        // It is joined to the state directory, so it must be a plain name.
        let is_name = |name: &str| {
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
            name.chars().all(plain) && !name.starts_with('.')
        };
        (is_id && is_name(folder)).then(|| Self {
            id: id.to_owned(),
            folder: folder.to_owned(),
        })
    }

    /// Writes the file, replacing another.
    pub(crate) fn write(&self, common: &Path) -> std::io::Result<()> {
        let staged = self.stage(common)?;
        staged
            .persist(common.join(LINK))
            .map_err(|error| error.error)?;
        Ok(())
    }

    /// Writes the file unless there is one already, and returns the one that is there then.
    fn write_if_missing(self, common: &Path) -> std::io::Result<Self> {
        match self.stage(common)?.persist_noclobber(common.join(LINK)) {
            Ok(_) => Ok(self),
            Err(error) => match Self::read(common) {
                Some(other) => Ok(other),
                // What is there is not one of ours, or damaged.
                None if error.error.kind() == std::io::ErrorKind::AlreadyExists => {
                    self.write(common)?;
                    Ok(self)
                }
                None => Err(error.error),
            },
        }
    }

    fn stage(&self, common: &Path) -> std::io::Result<tempfile::NamedTempFile> {
        let mut file = tempfile::Builder::new()
            .prefix(".flamestack-")
            .tempfile_in(common)?;
        file.write_all(format!("{} {}\n", self.id, self.folder).as_bytes())?;
        Ok(file)
    }

    /// Deletes the file in a git directory if it holds this id.
    pub(crate) fn delete(common: &Path, id: &str) -> std::io::Result<()> {
        if Self::read(common).is_some_and(|link| link.id == id) {
            if_exists(fs_err::remove_file(common.join(LINK)))?;
        }
        Ok(())
    }
}

/// Returns the place of a folder in the file system: device, inode and time of creation, which
/// stay when the folder is renamed. `None` where the system does not know all of them: an inode
/// alone may belong to another folder later.
#[cfg(unix)]
pub(crate) fn folder_mark(folder: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = fs_err::metadata(folder).ok()?;
    let born = metadata.created().ok()?;
    let born = born.duration_since(std::time::UNIX_EPOCH).ok()?.as_nanos();
    Some(format!("{}:{}:{born}", metadata.dev(), metadata.ino()))
}

/// Returns nothing: folders are recognised on Unix only.
#[cfg(not(unix))]
pub(crate) fn folder_mark(_: &Path) -> Option<String> {
    None
}

/// Returns the place of the folder around a repository's git directory; `None` for a folder without git, and for
/// a git directory elsewhere, such as that of a submodule.
fn around_mark(project: &Project) -> Option<String> {
    let folder = shown(&project.identity);
    (project.is_repository() && folder != project.identity)
        .then(|| folder_mark(folder))
        .flatten()
}

/// Draws an id for a project.
pub(crate) fn draw_id() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

/// Writes the notes of a project whose state exists, if they are not what they should be.
pub(super) fn settle(project: &Project) -> std::io::Result<()> {
    let (dir, identity) = (&project.dir, &project.identity);
    // A worktree of a repository that was moved still names the old path.
    let is_gone = project.is_repository() && !identity.is_dir();
    let mut above = dir.ancestors();
    let is_temporary = above
        .nth(2)
        .is_some_and(|state| state.join(TEMPORARY).exists());
    if is_gone || is_temporary || is_settled(project) {
        return Ok(());
    }
    // The first commands in a project may run at the same time: one of them draws the id.
    let lock = flamestack_store::private_file(&dir.join("project.lock"))?;
    lock.lock()?;
    if is_settled(project) {
        return Ok(());
    }
    let before = Record::read(dir);
    let mut record = Record {
        path: identity.to_string_lossy().into_owned(),
        id: before.and_then(|record| record.id),
        folder: None,
        around: around_mark(project),
    };
    let folder = dir.file_name().unwrap_or_default().to_string_lossy();
    let link = |id| Link {
        id,
        folder: folder.clone().into_owned(),
    };
    if !project.is_repository() {
        record.folder = folder_mark(identity);
    } else if matches!(project.found, Found::CopyOf { .. }) {
        // The id in the git directory is the original's.
        let id = record.id.map_or_else(draw_id, Ok)?;
        link(id.clone()).write(identity)?;
        record.id = Some(id);
    } else {
        let id = match (record.id.take(), Link::read(identity)) {
            (_, Some(link)) => link.id,
            (Some(id), None) => id,
            (None, None) => draw_id()?,
        };
        // Another state directory may serve the same repository: the id is the repository's.
        let linked = link(id).write_if_missing(identity);
        // A git directory that cannot be written works too, as long as it is not moved. An id on record would
        // make it another project.
        record.id = linked.ok().map(|link| link.id);
    }
    record.write(dir)
}

/// Returns true if the record and the file in the git directory are what they should be.
fn is_settled(project: &Project) -> bool {
    let identity = &project.identity;
    Record::read(&project.dir).is_some_and(|record| {
        record.is_at(identity)
            && if project.is_repository() {
                let link = Link::read(identity);
                link.is_some_and(|link| record.id == Some(link.id))
                    && record.around == around_mark(project)
            } else {
                record.folder == folder_mark(identity)
            }
    })
}
