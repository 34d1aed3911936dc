//! Which project this is, and where its state lives.
//!
//! A project is a repository, known by its git common directory, so that all worktrees share one
//! store; outside of git it is the folder itself. State lives in the user's state directory, never
//! in the repository.

use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;

use crate::error::EngineError;

/// Where a user's state and settings are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    /// The directory that holds one folder per project.
    pub state: PathBuf,
    /// The directory of the user's settings.
    pub config: PathBuf,
}

impl Home {
    /// The user's own directories, as the platform has them.
    pub fn of_user() -> Result<Self, EngineError> {
        let base = etcetera::choose_base_strategy().map_err(|_| EngineError::NoHome)?;
        let state = base.state_dir().unwrap_or_else(|| base.data_dir());
        Ok(Self {
            state: state.join("flamestack"),
            config: base.config_dir().join("flamestack"),
        })
    }
}

/// A repository or folder, with the worktree that was asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The root of the worktree, or the folder.
    pub root: PathBuf,
    /// What identifies the project: the git common directory, or the folder.
    pub identity: PathBuf,
    /// The worktree's name: `main`, or what git calls it.
    pub worktree: String,
    /// Where the project's state is.
    pub dir: PathBuf,
}

impl Project {
    /// The project that a directory belongs to.
    pub fn at(directory: &Path, home: &Home) -> Result<Self, EngineError> {
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

    /// The project's name, for people.
    pub fn name(&self) -> String {
        let named = if self.identity.ends_with(".git") {
            self.identity.parent().unwrap_or(&self.identity)
        } else {
            &self.identity
        };
        named.file_name().map_or_else(
            || "/".to_owned(),
            |name| name.to_string_lossy().into_owned(),
        )
    }

    /// The file of settings that are this project's on this machine.
    pub fn settings_file(&self) -> PathBuf {
        self.dir.join("config.toml")
    }

    /// The file of settings that a team keeps in the repository, if it has one.
    pub fn team_settings_file(&self) -> PathBuf {
        self.root.join(".flamestack.toml")
    }

    /// The file that diagnostics go to.
    pub fn diagnostics_file(&self) -> PathBuf {
        self.dir.join("diagnostics.log")
    }

    /// The folder of rendered logs.
    pub fn logs_dir(&self) -> PathBuf {
        self.dir.join("logs")
    }
}

/// The folder name of a project's state: readable, and different for different projects.
fn key(identity: &Path) -> String {
    let hash = blake3::hash(identity.as_os_str().as_encoded_bytes()).to_hex();
    let hash: String = hash.chars().take(12).collect();
    let named = if identity.ends_with(".git") {
        identity.parent()
    } else {
        Some(identity)
    };
    let name = named
        .and_then(Path::file_name)
        .map(|name| name.to_string_lossy().into_owned());
    let readable: String = name
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

/// The root, common directory and worktree name, if a directory is the root of a git worktree.
///
/// Asking `git` itself would cost more than everything else that a command does.
fn repository(root: &Path) -> Option<(PathBuf, PathBuf, String)> {
    let dot_git = root.join(".git");
    let metadata = fs_err::metadata(&dot_git).ok()?;
    if metadata.is_dir() {
        return Some((root.to_owned(), dot_git, "main".to_owned()));
    }
    // A linked worktree or a submodule: a file that says where its git directory is.
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
