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
    /// nothing has changed but the frame's own branch.
    pub(crate) fn merge(
        &self,
        frame: &FrameId,
        into: Option<&Path>,
        title: &str,
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
        let message = format!("Merge frame {frame}: {title}");
        let words = ["merge", "--no-ff", "--no-edit", "-m", &message, &branch];
        if let Err(error) = self.commit(into, &words) {
            let files = self.git(into, &["diff", "--name-only", "--diff-filter=U"]);
            let files: Vec<String> = files
                .unwrap_or_default()
                .lines()
                .map(str::to_owned)
                .collect();
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
