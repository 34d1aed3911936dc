//! Git worktrees of frames that run at once: made before the frame starts, merged when it is completed.
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

    /// Makes a frame's worktree from the state of `base`, unless it is there.
    pub(crate) fn create(&self, frame: &FrameId, base: Option<&Path>) -> Result<(), RunError> {
        let (folder, branch) = self.place(frame);
        if Path::new(&folder).join(".git").exists() {
            return Ok(());
        }
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
        self.git(&self.repository, &words).map(|_| ())
    }

    /// Merges the work of a frame. Returns the files with conflicts if it cannot be merged; then
    /// nothing has changed but the frame's own branch. `was_resolved` says that a session had the task
    /// to resolve conflicts: a merge of this branch that it left open is its work.
    pub(crate) fn merge(
        &self,
        frame: &FrameId,
        into: Option<&Path>,
        title: &str,
        was_resolved: bool,
    ) -> Result<Option<Vec<String>>, RunError> {
        let (folder, branch) = self.place(frame);
        let into = into.unwrap_or(&self.repository);
        let place = Path::new(&folder);
        if place.exists() {
            self.git(place, &["add", "--all"])?;
            let changed = self.git(place, &["diff", "--cached", "--quiet"]).is_err();
            if changed {
                let message = format!("{title}\n\nFrame {frame}");
                self.commit(place, &["commit", "--quiet", "--no-verify", "-m", &message])?;
            }
        }
        let known = format!("refs/heads/{branch}");
        let known = ["rev-parse", "--verify", &known];
        if self.git(&self.repository, &known).is_err() {
            // Merged and removed before a crash.
            return Ok(None);
        }
        if self.is_open(into, &branch) {
            let files = self.unresolved(into);
            if !was_resolved {
                // Left by a crash in the middle of this call.
                self.git(into, &["merge", "--abort"])?;
            } else if files.is_empty() {
                self.commit(into, &["commit", "--quiet", "--no-verify", "--no-edit"])?;
            } else {
                return Ok(Some(files));
            }
        }
        let message = format!("Merge frame {frame}: {title}");
        let words = ["merge", "--no-ff", "--no-edit", "-m", &message, &branch];
        if let Err(error) = self.commit(into, &words) {
            let files = self.unresolved(into);
            if files.is_empty() {
                return Ok(Some(vec![error.to_string()]));
            }
            self.git(into, &["merge", "--abort"])?;
            return Ok(Some(files));
        }
        if place.exists() {
            self.git(&self.repository, &["worktree", "remove", &folder])?;
        }
        self.git(
            &self.repository,
            &["branch", "--delete", "--force", &branch],
        )?;
        Ok(None)
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

    /// Runs a command of git that writes a commit, under the user's name if git knows one.
    fn commit(&self, place: &Path, words: &[&str]) -> Result<String, RunError> {
        if self.git(place, &["config", "user.email"]).is_ok() {
            return self.git(place, words);
        }
        let name = ["-c", "user.name=flame", "-c", "user.email=flame@localhost"];
        self.git(place, &[&name[..], words].concat())
    }

    fn git(&self, place: &Path, words: &[&str]) -> Result<String, RunError> {
        let failed = |reason: String| RunError::Git {
            action: words.first().copied().unwrap_or_default().to_owned(),
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
            self.worktrees.create(frame, None).unwrap();
            let folder = PathBuf::from(self.worktrees.place(frame).0);
            fs_err::write(folder.join("shop.txt"), text).unwrap();
            folder
        }

        fn merge(&self, frame: &FrameId, was_resolved: bool) -> Option<Vec<String>> {
            let merged = self.worktrees.merge(frame, None, "Work", was_resolved);
            merged.unwrap()
        }

        fn text(&self) -> String {
            fs_err::read_to_string(self.root.join("shop.txt")).unwrap()
        }

        fn git(&self, words: &[&str]) -> String {
            let done = self.worktrees.commit(&self.root, words);
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
        project.worktrees.create(&a, None).unwrap();
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
}
