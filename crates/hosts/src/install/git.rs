//! Git's view of a project: files that a team shares, and the list of what only this clone ignores.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Returns true if git tracks a file. Without git, nothing is tracked.
pub(super) fn is_tracked(root: &Path, file: &Path) -> bool {
    let mut git = git(root);
    git.args(["ls-files", "--error-unmatch", "--"]).arg(file);
    git.status().is_ok_and(|status| status.success())
}

/// Returns true if git ignores a file. Without git, nothing is ignored.
pub fn is_ignored(root: &Path, file: &Path) -> bool {
    let mut git = git(root);
    git.args(["check-ignore", "--quiet", "--"]).arg(file);
    git.status().is_ok_and(|status| status.success())
}

/// Returns the list of patterns that this clone alone ignores; `None` outside of a repository.
pub(super) fn exclude_file(root: &Path) -> Option<PathBuf> {
    let mut git = git(root);
    git.args(["rev-parse", "--git-path", "info/exclude"]);
    let output = git.stdout(Stdio::piped()).output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    let path = path.trim_end_matches('\n');
    let is_found = output.status.success() && !path.is_empty();
    is_found.then(|| root.join(path))
}

fn git(root: &Path) -> Command {
    let mut git = Command::new("git");
    git.arg("-C").arg(root);
    git.stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    git
}
