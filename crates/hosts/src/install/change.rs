//! Files to write and to delete.
//!
//! Everything is written beside its place first; only when all of it is there is it moved into
//! place. What cannot be written is known before anything has changed.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::error::InstallError;

/// Something to be done to a file or a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Write a file, in place of what is there.
    Write {
        /// Where.
        path: PathBuf,
        /// What.
        text: String,
    },
    /// Make a folder.
    Make(PathBuf),
    /// Delete a file.
    Delete(PathBuf),
    /// Delete a folder if nothing is in it.
    Clear(PathBuf),
}

/// A file's text; nothing where there is no file. A link is followed.
pub(super) fn read(path: &Path) -> Result<Option<String>, InstallError> {
    if fs_err::symlink_metadata(path).is_err() {
        return Ok(None);
    }
    let Ok(metadata) = fs_err::metadata(path) else {
        return Err(InstallError::NoFile {
            path: path.to_owned(),
        });
    };
    if !metadata.is_file() {
        return Err(InstallError::NoFile {
            path: path.to_owned(),
        });
    }
    match String::from_utf8(fs_err::read(path)?) {
        Ok(text) => Ok(Some(text)),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let problem = format!("the file is not UTF-8 text (from byte {at})");
            Err(InstallError::unexpected(path, problem))
        }
    }
}

/// Does all of it, or says why not and leaves everything as it was.
pub(super) fn apply(changes: &[Change]) -> Result<(), InstallError> {
    let mut staged = Staged::default();
    let prepared = changes.iter().try_for_each(|change| staged.prepare(change));
    if let Err(error) = prepared {
        staged.abandon();
        return Err(error);
    }
    for (file, path) in staged.files {
        if let Err(error) = file.persist(&path) {
            return Err(InstallError::Halfway {
                path,
                problem: error.error,
            });
        }
    }
    for change in changes {
        match change {
            Change::Delete(path) => match fs_err::remove_file(path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(InstallError::Halfway {
                        path: path.clone(),
                        problem: error,
                    });
                }
                _ => {}
            },
            // Somebody keeps something in it by now, or it is gone.
            Change::Clear(path) => drop(fs_err::remove_dir(path)),
            Change::Write { .. } | Change::Make(_) => {}
        }
    }
    Ok(())
}

/// What is ready beside its place.
#[derive(Default)]
struct Staged {
    folders: Vec<PathBuf>,
    files: Vec<(tempfile::NamedTempFile, PathBuf)>,
}

impl Staged {
    fn prepare(&mut self, change: &Change) -> Result<(), InstallError> {
        match change {
            Change::Make(path) => self.make(path),
            Change::Write { path, text } => self.write(path, text),
            Change::Delete(path) => {
                // Whoever may not write into the folder may not delete from it.
                if let Some(folder) = path.parent().filter(|folder| folder.is_dir()) {
                    tempfile::Builder::new().tempfile_in(folder)?;
                }
                Ok(())
            }
            Change::Clear(_) => Ok(()),
        }
    }

    fn make(&mut self, folder: &Path) -> Result<(), InstallError> {
        let missing: Vec<&Path> = folder
            .ancestors()
            .take_while(|folder| !folder.exists())
            .collect();
        for folder in missing.into_iter().rev() {
            fs_err::create_dir(folder)?;
            self.folders.push(folder.to_owned());
        }
        Ok(())
    }

    fn write(&mut self, path: &Path, text: &str) -> Result<(), InstallError> {
        // A link stays a link: what it leads to is written.
        let linked = fs_err::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
        let path = if linked {
            fs_err::canonicalize(path)?
        } else {
            path.to_owned()
        };
        let before = fs_err::metadata(&path).ok();
        if before
            .as_ref()
            .is_some_and(|it| it.permissions().readonly())
        {
            return Err(InstallError::Protected { path });
        }
        let folder = path.parent().unwrap_or_else(|| Path::new("."));
        self.make(folder)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".flame-");
        match &before {
            Some(before) => builder.permissions(before.permissions()),
            None => &mut builder,
        };
        #[cfg(unix)]
        if before.is_none() {
            use std::os::unix::fs::PermissionsExt as _;
            // As any new file: the user's mask takes away what it takes away.
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let at_path = |error: std::io::Error| {
            std::io::Error::new(error.kind(), format!("{}: {error}", path.display()))
        };
        let mut file = builder.tempfile_in(folder).map_err(at_path)?;
        file.write_all(text.as_bytes()).map_err(at_path)?;
        file.as_file().sync_all().map_err(at_path)?;
        self.files.push((file, path));
        Ok(())
    }

    /// As if nothing had been.
    fn abandon(self) {
        drop(self.files);
        for folder in self.folders.iter().rev() {
            drop(fs_err::remove_dir(folder));
        }
    }
}
