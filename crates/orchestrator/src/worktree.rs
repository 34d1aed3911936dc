//! Git worktrees of frames that run concurrently: made before the frame starts, merged when it is completed.
//!
//! A worktree with work that is not merged is never removed.

use std::path::{Path, PathBuf};
use std::process::Command;

use flamestack_core::FrameId;

use crate::error::RunError;

/// The worktrees of a run.
#[derive(Clone, Debug)]
pub struct Worktrees {
    /// Folder of the project.
    repository: PathBuf,
    /// Folder of the run's worktrees.
    folder: PathBuf,
}

/// Outcome of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Merged {
    /// The work is merged; worktree and branch are gone.
    Whole,
    /// The work is merged; something of the worktree could not be removed.
    Left(String),
    /// These files have conflicts.
    Conflicts(Vec<String>),
}

impl Worktrees {
    /// The worktrees of a run; `None` if the project is not a git repository with a commit.
    pub fn new(repository: &Path, folder: &Path) -> Option<Self> {
        let worktrees = Self {
            repository: repository.to_owned(),
            folder: folder.to_owned(),
        };
        let head = worktrees.git(repository, &["rev-parse", "--verify", "HEAD"]);
        head.is_ok().then_some(worktrees)
    }

    /// Returns the folder and the branch of a frame.
    pub fn place(&self, frame: &FrameId) -> (String, String) {
        let folder = self.folder.join(frame.as_str());
        (folder.display().to_string(), format!("flame/{frame}"))
    }

    /// Makes a frame's worktree from the state of `base`, unless it is there. `base` is the worktree of the
    /// frame above, called `title`, whose work is committed first, or the project's own folder, which is
    /// left as it is. Returns the number of changes there that are not committed.
    pub(crate) fn create(
        &self,
        frame: &FrameId,
        base: Option<&Path>,
        title: &str,
    ) -> Result<usize, RunError> {
        let (folder, branch) = self.place(frame);
        if Path::new(&folder).join(".git").exists() {
            return Ok(0);
        }
        let changes = match base {
            Some(base) => self.commit_all(base, title).map(|()| 0)?,
            None => self.changes(&self.repository)?,
        };
        let base = base.unwrap_or(&self.repository);
        let head = self.git(base, &["rev-parse", "HEAD"])?;
        // Left by a crash between the two halves of the command.
        let known = self.git(
            &self.repository,
            &["rev-parse", "--verify", &format!("refs/heads/{branch}")],
        );
        let words = match known {
            Ok(_) => vec!["worktree", "add", "--force", &folder, &branch],
            Err(_) => vec!["worktree", "add", "-b", &branch, &folder, head.trim()],
        };
        self.git(&self.repository, &words).map(|_| changes)
    }

    /// Merges the work of a frame. After conflicts nothing has changed but the frame's own branch.
    /// `was_resolved` says that a session had the task to resolve conflicts: a merge of this branch that
    /// it left open is its work.
    pub(crate) fn merge(
        &self,
        frame: &FrameId,
        into: Option<&Path>,
        title: &str,
        was_resolved: bool,
    ) -> Result<Merged, RunError> {
        let (folder, branch) = self.place(frame);
        let into = into.unwrap_or(&self.repository);
        let place = Path::new(&folder);
        if place.exists() {
            self.commit_all(place, &format!("{title}\n\nFrame {frame}"))?;
        }
        if !self.has_branch(&branch) {
            // Merged and removed before a crash.
            return Ok(Merged::Whole);
        }
        if self.is_open(into, &branch) {
            let files = self.unresolved(into);
            if !was_resolved {
                // Left by a crash in the middle of this call.
                self.git(into, &["merge", "--abort"])?;
            } else if files.is_empty() {
                self.commit(into, "commit", &["--quiet", "--no-edit"])?;
            } else {
                return Ok(Merged::Conflicts(files));
            }
        }
        let message = format!("Merge frame {frame}: {title}");
        let words = ["--no-ff", "--no-edit", "-m", &message, &branch];
        if let Err(error) = self.commit(into, "merge", &words) {
            let files = self.unresolved(into);
            if files.is_empty() {
                return Err(error);
            }
            self.git(into, &["merge", "--abort"])?;
            return Ok(Merged::Conflicts(files));
        }
        // What git cannot clean up must not stop the run.
        Ok(match self.remove(&folder, &branch) {
            Ok(()) => Merged::Whole,
            Err(error) => Merged::Left(format!("{frame} is merged, but {folder} stays: {error}")),
        })
    }

    /// Removes the worktree and the branch of a frame if they hold nothing that `into` does not have.
    /// Returns true if they are gone.
    pub(crate) fn remove_unused(
        &self,
        frame: &FrameId,
        into: Option<&Path>,
    ) -> Result<bool, RunError> {
        let (folder, branch) = self.place(frame);
        let place = Path::new(&folder);
        if place.exists() && self.changes(place)? > 0 {
            return Ok(false);
        }
        let into = into.unwrap_or(&self.repository);
        let contained = ["merge-base", "--is-ancestor", &branch, "HEAD"];
        if self.has_branch(&branch) && self.git(into, &contained).is_err() {
            return Ok(false);
        }
        self.remove(&folder, &branch).map(|()| true)
    }

    fn remove(&self, folder: &str, branch: &str) -> Result<(), RunError> {
        if Path::new(folder).exists() {
            self.git(&self.repository, &["worktree", "remove", folder])?;
        }
        if self.has_branch(branch) {
            self.git(&self.repository, &["branch", "--delete", "--force", branch])?;
        }
        Ok(())
    }

    fn has_branch(&self, branch: &str) -> bool {
        let name = format!("refs/heads/{branch}");
        let known = self.git(&self.repository, &["rev-parse", "--verify", &name]);
        known.is_ok()
    }

    /// Returns the number of files in a folder that differ from its last commit, new ones included.
    fn changes(&self, place: &Path) -> Result<usize, RunError> {
        let changed = self.git(place, &["status", "--porcelain"])?;
        Ok(changed.lines().count())
    }

    /// Commits everything in a folder, if there is anything.
    fn commit_all(&self, place: &Path, message: &str) -> Result<(), RunError> {
        self.git(place, &["add", "--all"])?;
        if self.git(place, &["diff", "--cached", "--quiet"]).is_err() {
            self.commit(place, "commit", &["--quiet", "-m", message])?;
        }
        Ok(())
    }

    /// Returns true if a merge of the branch was begun in a folder and is not committed.
    fn is_open(&self, into: &Path, branch: &str) -> bool {
        let at = |name: &str| self.git(into, &["rev-parse", "--verify", "--quiet", name]);
        matches!((at("MERGE_HEAD"), at(branch)), (Ok(open), Ok(ours)) if open == ours)
    }

    /// Returns the files with conflicts in a folder.
    fn unresolved(&self, into: &Path) -> Vec<String> {
        let files = self.git(into, &["diff", "--name-only", "--diff-filter=U"]);
        let files = files.unwrap_or_default();
        files.lines().map(str::to_owned).collect()
    }

    /// Runs a command of git that writes a commit, under the user's name if git knows one. It runs no
    /// hooks and signs nothing, since both may ask the user.
    fn commit(&self, place: &Path, action: &str, words: &[&str]) -> Result<(), RunError> {
        let name = ["-c", "user.name=flame", "-c", "user.email=flame@localhost"];
        let is_known = self.git(place, &["config", "user.email"]).is_ok();
        let name = if is_known { &[][..] } else { &name[..] };
        let action = [action, "--no-verify", "--no-gpg-sign"];
        self.git(place, &[name, &action[..], words].concat())
            .map(|_| ())
    }

    fn git(&self, place: &Path, words: &[&str]) -> Result<String, RunError> {
        let failed = |reason: String| RunError::Git {
            action: action_of(words).to_owned(),
            reason,
        };
        let output = Command::new("git")
            .args(words)
            .current_dir(place)
            .output()
            .map_err(|error| failed(error.to_string()))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = [output.stderr, output.stdout].concat();
        Err(failed(String::from_utf8_lossy(&said).trim().to_owned()))
    }
}

/// Returns the command among the words for git, which options with values may precede.
fn action_of<'w>(words: &[&'w str]) -> &'w str {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if *word != "-c" {
            return word;
        }
        words.next();
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Repository {
        _dir: tempfile::TempDir,
        root: PathBuf,
        worktrees: Worktrees,
    }

    impl Repository {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let root = dir.path().join("a project");
            fs_err::create_dir(&root).unwrap();
            let run = |words: &[&str]| {
                let name = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
                let done = Command::new("git")
                    .args(name)
                    .args(words)
                    .current_dir(&root)
                    .output();
                assert!(done.unwrap().status.success(), "{words:?}");
            };
            run(&["init", "--quiet", "--initial-branch=main"]);
            fs_err::write(root.join("shop.txt"), "one\n").unwrap();
            run(&["add", "."]);
            run(&["commit", "--quiet", "-m", "Begin"]);
            let worktrees = Worktrees::new(&root, &dir.path().join("trees")).unwrap();
            Self {
                _dir: dir,
                root,
                worktrees,
            }
        }

        /// Makes a worktree in which a file was changed.
        fn worked(&self, frame: &FrameId, text: &str) -> PathBuf {
            self.worktrees.create(frame, None, "").unwrap();
            let folder = PathBuf::from(self.worktrees.place(frame).0);
            fs_err::write(folder.join("shop.txt"), text).unwrap();
            folder
        }

        fn merge(&self, frame: &FrameId, was_resolved: bool) -> Option<Vec<String>> {
            let merged = self.worktrees.merge(frame, None, "Work", was_resolved);
            match merged.unwrap() {
                Merged::Whole => None,
                Merged::Left(reason) => panic!("{reason}"),
                Merged::Conflicts(files) => Some(files),
            }
        }

        fn text(&self) -> String {
            fs_err::read_to_string(self.root.join("shop.txt")).unwrap()
        }

        fn git(&self, words: &[&str]) -> String {
            let name = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
            let done = self.worktrees.git(&self.root, &[&name[..], words].concat());
            done.unwrap_or_else(|error| error.to_string())
        }
    }

    fn frames() -> [FrameId; 2] {
        [FrameId::from_entropy(1), FrameId::from_entropy(2)]
    }

    #[test]
    fn work_is_merged_once_and_its_worktree_removed() {
        let project = Repository::new();
        let [a, _] = frames();
        let folder = project.worked(&a, "two\n");
        // After a crash between the call and its record.
        project.worktrees.create(&a, None, "").unwrap();
        assert_eq!(project.merge(&a, false), None);
        assert_eq!(project.merge(&a, false), None);
        assert_eq!(project.text(), "two\n");
        assert!(!folder.exists());
        assert_eq!(project.git(&["branch", "--list", "flame/*"]), "");
    }

    #[test]
    fn conflicts_change_nothing_until_they_are_resolved() {
        let project = Repository::new();
        let [a, b] = frames();
        project.worked(&a, "two\n");
        let folder = project.worked(&b, "three\n");
        assert_eq!(project.merge(&a, false), None);
        assert_eq!(project.merge(&b, false), Some(vec!["shop.txt".to_owned()]));
        assert_eq!(project.text(), "two\n");
        assert!(folder.join("shop.txt").exists());
        // A session that was asked to resolve them and did nothing.
        assert_eq!(project.merge(&b, true), Some(vec!["shop.txt".to_owned()]));
        // One that forgot to commit.
        project.git(&["merge", &project.worktrees.place(&b).1]);
        assert_eq!(project.merge(&b, true), Some(vec!["shop.txt".to_owned()]));
        fs_err::write(project.root.join("shop.txt"), "two and three\n").unwrap();
        project.git(&["add", "."]);
        assert_eq!(project.merge(&b, true), None);
        assert_eq!(project.text(), "two and three\n");
        assert!(!folder.exists());
        assert_eq!(project.git(&["status", "--porcelain"]), "");
    }

    #[test]
    fn a_merge_that_a_crash_cut_off_is_made_again() {
        let project = Repository::new();
        let [a, b] = frames();
        project.worked(&a, "two\n");
        project.worked(&b, "three\n");
        assert_eq!(project.merge(&a, false), None);
        let branch = project.worktrees.place(&b).1;
        assert_eq!(project.merge(&b, false), Some(vec!["shop.txt".to_owned()]));
        project.git(&["merge", &branch]);
        assert_eq!(project.merge(&b, false), Some(vec!["shop.txt".to_owned()]));
        assert_eq!(project.git(&["status", "--porcelain"]), "");
    }

    #[test]
    fn a_worktree_begins_with_the_work_of_the_frame_above() {
        let project = Repository::new();
        let [a, b] = frames();
        let above = project.worked(&a, "two\n");
        assert_eq!(
            project.worktrees.create(&b, Some(&above), "Above").unwrap(),
            0
        );
        let below = PathBuf::from(project.worktrees.place(&b).0);
        assert_eq!(
            fs_err::read_to_string(below.join("shop.txt")).unwrap(),
            "two\n"
        );
        fs_err::write(below.join("shop.txt"), "three\n").unwrap();
        let merged = project.worktrees.merge(&b, Some(&above), "Below", false);
        assert_eq!(merged.unwrap(), Merged::Whole);
        assert_eq!(project.text(), "one\n");
        assert_eq!(project.merge(&a, false), None);
        assert_eq!(project.text(), "three\n");
    }

    #[test]
    fn changes_of_the_user_are_counted_and_never_overwritten() {
        let project = Repository::new();
        let [a, _] = frames();
        fs_err::write(project.root.join("shop.txt"), "mine\n").unwrap();
        fs_err::write(project.root.join("new.txt"), "mine too\n").unwrap();
        assert_eq!(project.worktrees.create(&a, None, "").unwrap(), 2);
        let folder = project.worked(&a, "two\n");
        let refused = project.worktrees.merge(&a, None, "Work", false);
        assert!(refused.unwrap_err().to_string().contains("shop.txt"));
        assert_eq!(project.text(), "mine\n");
        assert!(folder.exists());
        project.git(&["stash"]);
        assert_eq!(project.merge(&a, false), None);
        assert_eq!(project.text(), "two\n");
    }

    #[test]
    fn what_was_given_up_is_removed_only_if_it_holds_no_work() {
        let project = Repository::new();
        let [a, b] = frames();
        let remove = |frame: &FrameId| project.worktrees.remove_unused(frame, None).unwrap();
        let dirty = project.worked(&a, "two\n");
        assert!(!remove(&a));
        project.worktrees.commit_all(&dirty, "Work").unwrap();
        assert!(!remove(&a));
        assert!(dirty.exists());
        let clean = project.worked(&b, "one\n");
        assert!(remove(&b));
        assert!(!clean.exists());
        // After a crash between the call and its record.
        assert!(remove(&b));
        assert_eq!(
            project
                .git(&["branch", "--list", "flame/*"])
                .lines()
                .count(),
            1
        );
    }

    #[test]
    fn neither_hooks_nor_signatures_stop_a_merge() {
        let project = Repository::new();
        let [a, _] = frames();
        let hooks = project.root.join(".git/hooks");
        for name in ["pre-commit", "commit-msg", "pre-merge-commit"] {
            let hook = hooks.join(name);
            fs_err::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
            assert!(
                Command::new("chmod")
                    .arg("+x")
                    .arg(&hook)
                    .status()
                    .unwrap()
                    .success()
            );
        }
        project.git(&["config", "commit.gpgsign", "true"]);
        project.git(&["config", "gpg.program", "false"]);
        project.worked(&a, "two\n");
        assert_eq!(project.merge(&a, false), None);
        assert_eq!(project.text(), "two\n");
    }
}
