//! What git says about a worktree: the branch, what is not committed, the last commits.
//!
//! Git is asked by its command line, within a deadline, and told not to write or to run anything.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use flamestack_core::brief::{Commit, Git};

/// How many changed files are named.
const CHANGED: usize = 64;
/// How many commits are looked at.
const COMMITS: &str = "--max-count=8";
/// How much of an answer is read.
const LONGEST: u64 = 512 * 1024;

/// Asks git, or says why it did not answer. `places` are folders of which every file counts.
pub(super) fn ask(root: &Path, places: &[&str], patience: Duration) -> Result<Git, String> {
    let until = Instant::now() + patience;
    let status = Question::ask(
        root,
        &[
            "status",
            "--porcelain=v1",
            "--branch",
            "-z",
            "--untracked-files=normal",
            "--ignore-submodules=all",
        ],
    )?;
    // Asked while git still looks through the worktree.
    let log = Question::ask(
        root,
        &[
            "log",
            COMMITS,
            "--format=%x01%h%x02%s",
            "--name-only",
            "--no-renames",
            "-z",
        ],
    );
    let mut git = status_of(&status.answer(until)?);
    // Of a new folder git names the folder alone, to be quick.
    let hidden: Vec<&str> = places
        .iter()
        .filter(|place| git.changed.iter().any(|path| hides(path, place)))
        .copied()
        .collect();
    if !hidden.is_empty() {
        let mut arguments = vec![
            "status",
            "--porcelain=v1",
            "-z",
            "--untracked-files=all",
            "--",
        ];
        arguments.extend(&hidden);
        git.below = status_of(&Question::ask(root, &arguments)?.answer(until)?).changed;
    }
    // A repository without commits has no log.
    if let Ok(log) = log.and_then(|log| log.answer(until)) {
        git.commits = commits_of(&log);
    }
    Ok(git)
}

/// Whether a path is a folder that holds a place or lies in it.
fn hides(path: &str, place: &str) -> bool {
    path.ends_with('/')
        && (place.starts_with(path.trim_end_matches('/')) || path.starts_with(place))
}

/// A question that git is thinking about.
struct Question {
    child: Child,
    answer: mpsc::Receiver<Vec<u8>>,
}

impl Question {
    fn ask(root: &Path, arguments: &[&str]) -> Result<Self, String> {
        let mut child = Command::new("git")
            .arg("-C")
            .arg(root)
            // A repository's settings must not make us run its programs.
            .args([
                "--no-optional-locks",
                "--no-pager",
                "-c",
                "core.fsmonitor=false",
            ])
            .args([
                "-c",
                "core.quotePath=false",
                "-c",
                "log.showSignature=false",
            ])
            .args(arguments)
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("git could not be asked: {}.", error.kind()))?;
        let (answered, answer) = mpsc::channel();
        let stdout = child.stdout.take();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(stdout) = stdout {
                drop(stdout.take(LONGEST).read_to_end(&mut bytes));
            }
            drop(answered.send(bytes));
        });
        Ok(Self { child, answer })
    }

    fn answer(mut self, until: Instant) -> Result<String, String> {
        let left = until.saturating_duration_since(Instant::now());
        let bytes = self
            .answer
            .recv_timeout(left)
            .map_err(|_| "git took too long to answer.".to_owned())?;
        match self.child.wait() {
            Ok(status) if status.success() || bytes.len() as u64 >= LONGEST => {
                Ok(String::from_utf8_lossy(&bytes).into_owned())
            }
            _ => Err("git could not say anything about this folder.".to_owned()),
        }
    }
}

impl Drop for Question {
    /// Nobody waits for the answer any more.
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn status_of(text: &str) -> Git {
    let mut git = Git::default();
    let mut parts = text.split('\0').filter(|part| !part.is_empty());
    while let Some(part) = parts.next() {
        if let Some(branch) = part.strip_prefix("## ") {
            let branch = branch.strip_prefix("No commits yet on ").unwrap_or(branch);
            let branch = branch.split("...").next().unwrap_or_default();
            git.branch =
                Some(branch.to_owned()).filter(|name| !name.starts_with("HEAD (no branch)"));
            continue;
        }
        let (Some(state), Some(path)) = (part.get(..2), part.get(3..)) else {
            continue;
        };
        if state.contains(['R', 'C']) {
            // The next part is where it came from.
            parts.next();
        }
        git.changed_total += 1;
        if git.changed.len() < CHANGED {
            git.changed.push(path.to_owned());
        }
    }
    git
}

fn commits_of(text: &str) -> Vec<Commit> {
    text.split('\u{1}')
        .filter_map(|commit| {
            let (head, paths) = commit.split_once('\0').unwrap_or((commit, ""));
            let (id, subject) = head.split_once('\u{2}')?;
            let paths = paths
                .split('\0')
                .map(str::trim)
                .filter(|path| !path.is_empty());
            Some(Commit {
                id: id.to_owned(),
                subject: flamestack_store::redact::redact_owned(subject.trim().to_owned()),
                paths: paths.take(CHANGED).map(str::to_owned).collect(),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_taken_apart() {
        let git =
            status_of("## main...origin/main [ahead 1]\0 M a b.rs\0R  new.rs\0old.rs\0?? x/\0");
        assert_eq!(git.branch.as_deref(), Some("main"));
        assert_eq!(git.changed, ["a b.rs", "new.rs", "x/"]);
        assert_eq!(status_of("## HEAD (no branch)\0").branch, None);
        assert_eq!(
            status_of("## No commits yet on main\0").branch.as_deref(),
            Some("main")
        );
        let commits = commits_of("\u{1}abc\u{2}Fix it\0\na.rs\0b.rs\0\0\u{1}def\u{2}Empty\0");
        assert_eq!(commits.len(), 2);
        assert_eq!(commits[0].paths, ["a.rs", "b.rs"]);
        assert_eq!(
            (commits[1].id.as_str(), commits[1].subject.as_str()),
            ("def", "Empty")
        );
    }
}
