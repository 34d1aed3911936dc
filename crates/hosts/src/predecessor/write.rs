//! An export onto the disk.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::error::WriteError;
use super::export::Export;

/// What happens to a stack that is already where an export goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and nothing is written.
    Keep,
    /// It is replaced. Files of frames that the export does not have are left alone.
    Replace,
}

impl Export {
    /// Writes the files below a project's directory, or right into one that is named `stack`, and
    /// says where.
    ///
    /// Every file is complete or not there. The state comes last, so that it never names a frame
    /// whose file is missing.
    pub fn write(&self, dir: &Path, existing: Existing) -> Result<PathBuf, WriteError> {
        let dir = if dir.ends_with("stack") {
            dir.to_owned()
        } else {
            dir.join(".opencode").join("stack")
        };
        let (state, frames) = (dir.join("state.json"), dir.join("frames"));
        if existing == Existing::Keep {
            // Frame files without a state are what a crash left: the last copy of something.
            let taken = [&state, &frames].into_iter().find(|path| is_taken(path));
            if let Some(path) = taken {
                return Err(WriteError::Exists { path: path.clone() });
            }
        }
        fs_err::create_dir_all(&frames)?;
        for (name, content) in &self.frames {
            replace(&frames, name, content, Durability::Fast)?;
        }
        replace(&dir, "state.json", &self.state_json, Durability::Synced)?;
        Ok(dir)
    }
}

fn is_taken(path: &Path) -> bool {
    match fs_err::read_dir(path) {
        Ok(mut entries) => entries.next().is_some(),
        // Not a directory: a file, a dangling link, or nothing at all.
        Err(_) => path.symlink_metadata().is_ok(),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Durability {
    /// On the disk before it gets its name.
    Synced,
    /// The state holds the same frame, so the system may write it when it likes.
    Fast,
}

/// Puts a file in its place in one step.
fn replace(
    dir: &Path,
    name: &str,
    content: &str,
    durability: Durability,
) -> Result<(), WriteError> {
    let temporary = dir.join(format!(".{name}.{}.tmp", std::process::id()));
    let written = write_new(&temporary, content, durability)
        .and_then(|()| fs_err::rename(&temporary, dir.join(name)));
    if let Err(error) = written {
        // The first error is the one that matters; that of cleaning up would only hide it.
        drop(fs_err::remove_file(&temporary));
        return Err(error.into());
    }
    Ok(())
}

fn write_new(path: &Path, content: &str, durability: Durability) -> std::io::Result<()> {
    let mut file = fs_err::File::create(path)?;
    file.write_all(content.as_bytes())?;
    if durability == Durability::Synced {
        file.sync_all()?;
    }
    Ok(())
}
