//! Finding the git repository of a directory.
//!
//! Running `git` would take longer than everything else that a command does.

use std::path::{Component, Path, PathBuf};

use crate::small_file::read_small;

/// Upper bound of the files that are read here, in bytes: each is one path.
const LONGEST: u64 = 16 * 1024;

/// A git repository, seen from one of its worktrees.
pub(super) struct Repository {
    /// Root of the worktree.
    pub(super) root: PathBuf,
    /// The git common directory.
    pub(super) common: PathBuf,
    /// Name of the worktree: `main`, or its name in git.
    pub(super) worktree: String,
}

/// Returns the repository of a directory that is the root of a worktree.
pub(super) fn repository(root: &Path) -> Option<Repository> {
    let dot_git = root.join(".git");
    let of = |common: PathBuf, worktree: &str| {
        Some(Repository {
            root: root.to_owned(),
            common,
            worktree: worktree.to_owned(),
        })
    };
    if fs_err::metadata(&dot_git).ok()?.is_dir() {
        return of(dot_git, "main");
    }
    // A linked worktree or a submodule: the file contains the path of its git directory.
    let pointer = read_pointer(&dot_git)?;
    let pointer = root.join(pointer.strip_prefix("gitdir:")?.trim());
    let Ok(git_dir) = fs_err::canonicalize(&pointer) else {
        // The repository was moved, and git needs `git worktree repair` here. Its state is still
        // found by its old path.
        let (common, worktree) = worktree_of(&pointer)?;
        return of(common, &worktree);
    };
    match read_pointer(&git_dir.join("commondir")) {
        Some(common) => {
            let common = fs_err::canonicalize(git_dir.join(common.trim())).ok()?;
            let name = git_dir.file_name()?.to_string_lossy();
            of(common, &name)
        }
        None => of(git_dir, "main"),
    }
}

/// Splits `…/.git/worktrees/name` into common directory and name.
fn worktree_of(git_dir: &Path) -> Option<(PathBuf, String)> {
    let name = git_dir.file_name()?.to_string_lossy().into_owned();
    let worktrees = git_dir.parent()?;
    let plain = |part| !matches!(part, Component::ParentDir);
    (worktrees.ends_with("worktrees") && git_dir.components().all(plain))
        .then(|| Some((worktrees.parent()?.to_owned(), name)))
        .flatten()
}

/// Reads a short regular file as text. A repository from elsewhere may hold a device or a file
/// without end in its place.
pub(super) fn read_pointer(path: &Path) -> Option<String> {
    read_small(path, LONGEST).ok()
}
