//! Writing and deleting files, all of them or none.
//!
//! All files are written to temporary files in the same folder first and then renamed, so that most
//! failures occur before anything has changed.

use std::path::{Path, PathBuf};

use super::error::InstallError;
use crate::staging::{stage, with_path};

/// A change of a file or a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Write a file, replacing an existing one.
    Write { path: PathBuf, text: String },
    /// Create a folder.
    CreateDir(PathBuf),
    /// Delete a file.
    Delete(PathBuf),
    /// Delete a folder if it is empty.
    DeleteEmptyDir(PathBuf),
}

/// Reads a file, following links. Returns none if there is no file.
pub(super) fn read(path: &Path) -> Result<Option<String>, InstallError> {
    if fs_err::symlink_metadata(path).is_err() {
        return Ok(None);
    }
    if !path.is_file() {
        return Err(InstallError::new(
            format!("{} is not a file and does not link to one", path.display()),
            "nothing was changed; remove it, or create the file that it links to",
        ));
    }
    let text = String::from_utf8(fs_err::read(path)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let problem = format!("the file is not UTF-8 text (from byte {at})");
        InstallError::unexpected(path, problem)
    })?;
    Ok(Some(text))
}

/// Applies all changes. If preparing them fails, everything is left as it was.
pub(super) fn apply(changes: &[Change]) -> Result<(), InstallError> {
    let mut staged = Staged::default();
    let prepared = changes.iter().try_for_each(|change| staged.prepare(change));
    if let Err(error) = prepared {
        staged.abandon();
        return Err(error);
    }
    for (file, path) in staged.files {
        file.persist(&path)
            .map_err(|error| InstallError::halfway(&path, &error.error))?;
    }
    for change in changes {
        match change {
            Change::Delete(path) => match fs_err::remove_file(path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(InstallError::halfway(path, &error));
                }
                _ => {}
            },
            // It may hold other files by now, or be gone.
            Change::DeleteEmptyDir(path) => drop(fs_err::remove_dir(path)),
            Change::Write { .. } | Change::CreateDir(_) => {}
        }
    }
    Ok(())
}

/// Files and folders that are ready.
#[derive(Default)]
struct Staged {
    folders: Vec<PathBuf>,
    files: Vec<(tempfile::NamedTempFile, PathBuf)>,
}

impl Staged {
    fn prepare(&mut self, change: &Change) -> Result<(), InstallError> {
        match change {
            Change::CreateDir(path) => self.create_dir(path),
            Change::Write { path, text } => self.write(path, text),
            Change::Delete(path) => {
                // Deleting needs the same permission as creating a file.
                if let Some(folder) = path.parent().filter(|folder| folder.is_dir()) {
                    tempfile::Builder::new().tempfile_in(folder)?;
                }
                Ok(())
            }
            Change::DeleteEmptyDir(_) => Ok(()),
        }
    }

    fn create_dir(&mut self, folder: &Path) -> Result<(), InstallError> {
        let missing: Vec<&Path> = folder
            .ancestors()
            .take_while(|folder| !folder.exists())
            .collect();
        for folder in missing.into_iter().rev() {
            let mut builder = std::fs::DirBuilder::new();
            // A host runs what is in it: no umask lets others write there.
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o755);
            let created = builder.create(folder);
            created.map_err(|error| with_path(folder, &error))?;
            self.folders.push(folder.to_owned());
        }
        Ok(())
    }

    fn write(&mut self, path: &Path, text: &str) -> Result<(), InstallError> {
        // A link stays a link: its target is written.
        let is_link = fs_err::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
        let path = if is_link {
            fs_err::canonicalize(path)?
        } else {
            path.to_owned()
        };
        let before = fs_err::metadata(&path).ok().map(|it| it.permissions());
        if before.as_ref().is_some_and(std::fs::Permissions::readonly) {
            return Err(InstallError::new(
                format!("{} is write-protected", path.display()),
                "nothing was changed; make the file writable and try again",
            ));
        }
        let folder = path.parent().unwrap_or_else(|| Path::new("."));
        self.create_dir(folder)?;
        let file = stage(&path, text, before)?;
        let synced = file.as_file().sync_all();
        synced.map_err(|error| with_path(&path, &error))?;
        self.files.push((file, path));
        Ok(())
    }

    /// Removes everything that was prepared.
    fn abandon(self) {
        drop(self.files);
        for folder in self.folders.iter().rev() {
            drop(fs_err::remove_dir(folder));
        }
    }
}
