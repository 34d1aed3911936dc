//! Projects and the directories of their state.
//!
//! A project is a repository, identified by its git common directory, so that all worktrees share
//! one store; outside of git it is the folder itself. State is kept in the user's state directory,
//! never in the repository. A project that was moved finds its state again (`locate`): a
//! repository by an id inside its git directory, a folder by its place in the file system.

mod locate;
mod record;
mod repository;

use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;

pub(crate) use self::locate::scan;
pub use self::record::TEMPORARY;
pub(crate) use self::record::{Link, Record, draw_id, folder_mark};
use self::repository::{Repository, repository};
use crate::error::{EngineError, Result};

/// Directories of a user's state and settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    /// Directory of state: of the projects, and of what `flame init` installs.
    pub state: PathBuf,
    /// Directory of the user's settings.
    pub config: PathBuf,
}

impl Home {
    /// Returns the directory with one folder for each project.
    pub fn projects(&self) -> PathBuf {
        self.state.join("projects")
    }

    /// Fails if the state, or the state of a project, belongs to another user, who could read it and
    /// plant links in it. The superuser is trusted.
    #[cfg(unix)]
    pub fn check_owner(&self, project: &Project) -> Result<()> {
        use std::os::unix::fs::MetadataExt as _;
        let me = rustix::process::geteuid().as_raw();
        for dir in [&self.state, &self.projects(), &project.dir] {
            // A link of another user leads wherever that user wants.
            let owners = [fs_err::symlink_metadata(dir), fs_err::metadata(dir)];
            let mut owners = owners.into_iter().flatten().map(|found| found.uid());
            if owners.any(|owner| ![me, 0].contains(&owner)) {
                return Err(EngineError::ForeignState(dir.clone()));
            }
        }
        Ok(())
    }

    /// Does nothing: owners are known on Unix only.
    #[cfg(not(unix))]
    pub fn check_owner(&self, _: &Project) -> Result<()> {
        Ok(())
    }

    /// Returns the directories that the platform prescribes.
    pub fn of_user() -> Result<Self> {
        let base = etcetera::choose_base_strategy().map_err(|_| EngineError::NoHome)?;
        let state = base.state_dir().unwrap_or_else(|| base.data_dir());
        // It would be a different directory in every folder, in the middle of a repository.
        if let Some(relative) = [&state, &base.config_dir()]
            .into_iter()
            .find(|dir| dir.is_relative())
        {
            return Err(EngineError::RelativeHome(relative.clone()));
        }
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
    /// The way in which its state was found.
    pub found: Found,
}

/// The way in which a project's state was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// At the path that its state records, or there is no state yet.
    Here,
    /// The project was at another path, or was not a repository yet.
    Moved {
        /// Its former path.
        from: PathBuf,
    },
    /// This is a copy of a repository that still exists. It gets state of its own.
    CopyOf {
        /// Path of the original.
        original: PathBuf,
    },
    /// There is no state yet, but that of another project, which was at this path before.
    InPlaceOf {
        /// Path of the other project.
        path: PathBuf,
        /// Name of the folder of its state.
        state: String,
    },
    /// There is no state yet, but the state of a project of this name whose path is gone.
    Perhaps {
        /// Its path.
        gone: PathBuf,
    },
}

impl Project {
    /// Finds the project that a directory belongs to, and its state. Changes nothing.
    pub fn at(directory: &Path, home: &Home) -> Result<Self> {
        let directory = fs_err::canonicalize(directory)?;
        let projects = home.projects();
        if let Some(repository) = directory.ancestors().find_map(repository) {
            let (dir, found) = locate::of_repository(&projects, &repository, &directory);
            let Repository {
                root,
                common,
                worktree,
            } = repository;
            return Ok(Self {
                root,
                identity: common,
                worktree,
                dir,
                found,
            });
        }
        let (folder, dir, found) = locate::of_folder(&projects, &directory);
        Ok(Self {
            root: folder.clone(),
            identity: folder,
            worktree: "main".to_owned(),
            dir,
            found,
        })
    }

    /// Returns true if the project is a git repository.
    pub fn is_repository(&self) -> bool {
        self.identity != self.root
    }

    /// Returns true if git has no worktree of this name any more, or its folder was deleted. A locked one may be on
    /// a disk that is not there now.
    pub fn is_worktree_gone(&self, name: &str) -> bool {
        if name == "main" || !self.is_repository() || !self.identity.is_dir() {
            return false;
        }
        let git_dir = self.identity.join("worktrees").join(name);
        match repository::read_pointer(&git_dir.join("gitdir")) {
            Some(path) => !git_dir.join("locked").exists() && !git_dir.join(path.trim()).exists(),
            None => !git_dir.exists(),
        }
    }

    /// Records the project's path beside its state, and its id in the git directory, so that the
    /// state is found again if the project is moved.
    pub(crate) fn settle(&self) -> std::io::Result<()> {
        record::settle(self)
    }

    /// Returns the name of the project.
    pub fn name(&self) -> String {
        name_of(&self.identity).unwrap_or_else(|| "/".to_owned())
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
    let readable: String = name_of(identity)
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

/// Returns the folder that a user calls the project: without `.git` at its end.
pub fn shown(identity: &Path) -> &Path {
    match identity.parent() {
        Some(parent) if identity.ends_with(".git") => parent,
        _ => identity,
    }
}

/// Returns the name of the repository or folder with an identity; `None` for the root directory.
fn name_of(identity: &Path) -> Option<String> {
    Some(shown(identity).file_name()?.to_string_lossy().into_owned())
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

    #[cfg(unix)]
    #[test]
    fn a_hostile_repository_is_a_folder_without_git() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev/zero", dir.path().join(".git")).unwrap();
        let project = Project::at(dir.path(), &home(dir.path())).unwrap();
        assert_eq!(project.identity, fs_err::canonicalize(dir.path()).unwrap());
    }

    #[test]
    fn a_folder_without_git_is_a_project_too() {
        let dir = tempfile::tempdir().unwrap();
        let project = Project::at(dir.path(), &home(dir.path())).unwrap();
        assert_eq!(project.identity, fs_err::canonicalize(dir.path()).unwrap());
        assert_eq!(project.worktree, "main");
    }
}
