//! Projects and the directories of their state.
//!
//! A project is a repository, identified by its git common directory, so that all worktrees share
//! one store; outside of git it is the folder itself. State is kept in the user's state directory,
//! never in the repository.

use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;

use crate::error::{EngineError, Result};

/// Directories of a user's state and settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    /// Directory with one folder for each project.
    pub state: PathBuf,
    /// Directory of the user's settings.
    pub config: PathBuf,
}

impl Home {
    /// Returns the directories that the platform prescribes.
    pub fn of_user() -> Result<Self> {
        let base = etcetera::choose_base_strategy().map_err(|_| EngineError::NoHome)?;
        let state = base.state_dir().unwrap_or_else(|| base.data_dir());
        Ok(Self {
            state: state.join("flamestack"),
            config: base.config_dir().join("flamestack"),
        })
    }
}

/// A repository or folder, seen from one of its worktrees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// Root of the worktree, or the folder.
    pub root: PathBuf,
    /// Identity of the project: the git common directory, or the folder.
    pub identity: PathBuf,
    /// Name of the worktree: `main`, or its name in git.
    pub worktree: String,
    /// Directory of the project's state.
    pub dir: PathBuf,
}

impl Project {
    /// Finds the project that a directory belongs to.
    pub fn at(directory: &Path, home: &Home) -> Result<Self> {
        let directory = fs_err::canonicalize(directory)?;
        let found = directory.ancestors().find_map(repository);
        let (root, identity, worktree) =
            found.unwrap_or_else(|| (directory.clone(), directory.clone(), "main".to_owned()));
        let dir = home.state.join("projects").join(key(&identity));
        Ok(Self {
            root,
            identity,
            worktree,
            dir,
        })
    }

    /// Returns the name of the project.
    pub fn name(&self) -> String {
        named(&self.identity).unwrap_or_else(|| "/".to_owned())
    }

    /// Returns the file of the project's settings on this machine.
    pub fn settings_file(&self) -> PathBuf {
        self.dir.join("config.toml")
    }

    /// Returns the file of the settings that a team keeps in the repository.
    pub fn team_settings_file(&self) -> PathBuf {
        self.root.join(".flamestack.toml")
    }

    /// Returns the file of diagnostics.
    pub fn diagnostics_file(&self) -> PathBuf {
        self.dir.join("diagnostics.log")
    }

    /// Returns the folder of rendered logs.
    pub fn logs_dir(&self) -> PathBuf {
        self.dir.join("logs")
    }
}

/// Returns the folder name of a project's state: readable, and unique by a hash of the identity.
fn key(identity: &Path) -> String {
    let hash = blake3::hash(identity.as_os_str().as_encoded_bytes()).to_hex();
    let hash: String = hash.chars().take(12).collect();
    let readable: String = named(identity)
        .unwrap_or_default()
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' || c == '.' {
                c
            } else {
                '_'
            }
        })
        .take(40)
        .collect();
    format!("{readable}-{hash}")
}

/// Returns the name of the repository or folder with an identity; `None` for the root directory.
fn named(identity: &Path) -> Option<String> {
    let folder = match identity.parent() {
        Some(parent) if identity.ends_with(".git") => parent,
        _ => identity,
    };
    Some(folder.file_name()?.to_string_lossy().into_owned())
}

/// Returns root, common directory and worktree name of a directory that is the root of a git
/// worktree.
///
/// Running `git` would take longer than everything else that a command does.
fn repository(root: &Path) -> Option<(PathBuf, PathBuf, String)> {
    let dot_git = root.join(".git");
    let metadata = fs_err::metadata(&dot_git).ok()?;
    if metadata.is_dir() {
        return Some((root.to_owned(), dot_git, "main".to_owned()));
    }
    // A linked worktree or a submodule: the file contains the path of its git directory.
    let pointer = fs_err::read_to_string(&dot_git).ok()?;
    let git_dir = root.join(pointer.strip_prefix("gitdir:")?.trim());
    let git_dir = fs_err::canonicalize(git_dir).ok()?;
    match fs_err::read_to_string(git_dir.join("commondir")) {
        Ok(common) => {
            let common = fs_err::canonicalize(git_dir.join(common.trim())).ok()?;
            let name = git_dir.file_name()?.to_string_lossy().into_owned();
            Some((root.to_owned(), common, name))
        }
        Err(_) => Some((root.to_owned(), git_dir, "main".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(dir: &Path) -> Home {
        Home {
            state: dir.join("state"),
            config: dir.join("config"),
        }
    }

    #[test]
    fn worktrees_share_a_project() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("shop");
        let linked = dir.path().join("shop-feature");
        let git_dir = main.join(".git/worktrees/feature");
        fs_err::create_dir_all(&git_dir).unwrap();
        fs_err::create_dir_all(linked.join("src")).unwrap();
        fs_err::write(git_dir.join("commondir"), "../..\n").unwrap();
        fs_err::write(
            linked.join(".git"),
            format!("gitdir: {}\n", git_dir.display()),
        )
        .unwrap();

        let one = Project::at(&main, &home(dir.path())).unwrap();
        let two = Project::at(&linked.join("src"), &home(dir.path())).unwrap();
        assert_eq!(one.dir, two.dir);
        assert_eq!(
            (one.worktree.as_str(), two.worktree.as_str()),
            ("main", "feature")
        );
        assert_eq!(two.root, fs_err::canonicalize(&linked).unwrap());
        assert_eq!(one.name(), "shop");
    }

    #[test]
    fn a_folder_without_git_is_a_project_too() {
        let dir = tempfile::tempdir().unwrap();
        let project = Project::at(dir.path(), &home(dir.path())).unwrap();
        assert_eq!(project.identity, fs_err::canonicalize(dir.path()).unwrap());
        assert_eq!(project.worktree, "main");
    }
}
