//! Asks git about a worktree: the branch, uncommitted changes, the last commits.
//!
//! Git runs as a command within a deadline, with options that keep it from writing anything and from
//! running other programs.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use flamestack_brief::{Commit, Git};
use flamestack_redact::Redactor;

/// Maximum number of changed files that are named.
const CHANGED: usize = 64;
/// Maximum number of bytes read of an answer.
const MAX_ANSWER: u64 = 512 * 1024;

/// A repository's settings must not make us run its programs.
const OPTIONS: &str = "--no-optional-locks --no-pager -c core.fsmonitor=false -c core.quotePath=false \
    -c log.showSignature=false";
const STATUS: &str =
    "status --porcelain=v1 --branch -z --untracked-files=normal --ignore-submodules=all";
const STATUS_BELOW: &str = "status --porcelain=v1 -z --untracked-files=all --";
const REVISION: &str = "rev-parse --verify --quiet --end-of-options";
const LOG_SINCE: &str = "log --max-count=20 --format=%x01%h%x02%s --name-only --no-renames -z";
const LOG: &str = "log --max-count=8 --format=%x01%h%x02%s --name-only --no-renames -z";

/// Asks git, or says why it did not answer. `homes` are folders of which every changed file counts.
pub(crate) fn read(
    root: &Path,
    homes: &[&str],
    timeout: Duration,
    redactor: &Redactor,
) -> Result<Git, String> {
    let deadline = Instant::now() + timeout;
    let status = Query::start(root, STATUS, &[])?;
    // Both run at the same time.
    let log = Query::start(root, LOG, &[]);
    let mut git = parse_status(&status.answer(deadline)?);
    // Of a new folder, git names the folder alone, which is faster.
    let is_hidden = |home: &&&str| git.changed.iter().any(|path| hides(path, home));
    let hidden: Vec<&str> = homes.iter().filter(is_hidden).copied().collect();
    if !hidden.is_empty() {
        let below = Query::start(root, STATUS_BELOW, &hidden)?;
        git.below = parse_status(&below.answer(deadline)?).changed;
    }
    // A repository without commits has no log.
    if let Ok(log) = log.and_then(|log| log.answer(deadline)) {
        git.commits = parse_log(&log, redactor);
    }
    Ok(git)
}

/// Returns the full hash of the commit that a name means in a repository: a hash, `HEAD`, a branch or a
/// tag. Fails if git knows no such commit, or does not answer.
pub(crate) fn commit(root: &Path, name: &str, timeout: Duration) -> Result<String, String> {
    let revision = format!("{name}^{{commit}}");
    let query = Query::start(root, REVISION, &[&revision])?;
    let answer = query.answer(Instant::now() + timeout)?;
    Ok(answer.trim().to_owned())
}

/// Returns the newest commits after one. Fails if git does not know it, or does not answer.
pub(super) fn commits_since(
    root: &Path,
    commit: &str,
    timeout: Duration,
    redactor: &Redactor,
) -> Result<Vec<Commit>, String> {
    // A hash of our own record; anything else could be an option.
    if !commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err("that is not a commit.".to_owned());
    }
    let range = format!("{commit}..HEAD");
    let log = Query::start(root, LOG_SINCE, &[&range])?;
    let answer = log.answer(Instant::now() + timeout)?;
    Ok(parse_log(&answer, redactor))
}

/// Returns true if a path is a folder that contains another or is inside it.
fn hides(path: &str, home: &str) -> bool {
    path.ends_with('/') && (home.starts_with(path.trim_end_matches('/')) || path.starts_with(home))
}

/// A running git command.
struct Query {
    child: Child,
    answer: mpsc::Receiver<Vec<u8>>,
}

impl Query {
    fn start(root: &Path, command: &str, paths: &[&str]) -> Result<Self, String> {
        let mut child = Command::new("git")
            .arg("-C")
            .arg(root)
            .args(OPTIONS.split_whitespace())
            .args(command.split(' '))
            .args(paths)
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| match error.kind() {
                std::io::ErrorKind::NotFound => "git is not in PATH.".to_owned(),
                kind => format!("git could not be asked: {kind}."),
            })?;
        let (sender, answer) = mpsc::channel();
        let stdout = child.stdout.take();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(stdout) = stdout {
                drop(stdout.take(MAX_ANSWER).read_to_end(&mut bytes));
            }
            drop(sender.send(bytes));
        });
        Ok(Self { child, answer })
    }

    fn answer(mut self, deadline: Instant) -> Result<String, String> {
        let left = deadline.saturating_duration_since(Instant::now());
        let bytes = self.answer.recv_timeout(left);
        let bytes = bytes.map_err(|_| "git took too long to answer.".to_owned())?;
        match self.child.wait() {
            Ok(status) if status.success() || bytes.len() as u64 >= MAX_ANSWER => {
                Ok(String::from_utf8_lossy(&bytes).into_owned())
            }
            _ => Err("git could not describe this folder.".to_owned()),
        }
    }
}

impl Drop for Query {
    /// Ends a command whose answer is no longer wanted.
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn parse_status(text: &str) -> Git {
    let mut git = Git::default();
    let mut parts = text.split('\0').filter(|part| !part.is_empty());
    while let Some(part) = parts.next() {
        if let Some(branch) = part.strip_prefix("## ") {
            let branch = branch.strip_prefix("No commits yet on ").unwrap_or(branch);
            let branch = branch.split("...").next().map(str::to_owned);
            git.branch = branch.filter(|name| !name.starts_with("HEAD (no branch)"));
        } else if let (Some(state), Some(path)) = (part.get(..2), part.get(3..)) {
            if state.contains(['R', 'C']) {
                // The next part is the former path.
                parts.next();
            }
            git.changed_total += 1;
            if git.changed.len() < CHANGED {
                git.changed.push(path.to_owned());
            }
        }
    }
    git
}

fn parse_log(text: &str, redactor: &Redactor) -> Vec<Commit> {
    let commits = text.split('\u{1}').filter_map(|commit| {
        let (head, paths) = commit.split_once('\0').unwrap_or((commit, ""));
        let (id, subject) = head.split_once('\u{2}')?;
        let paths = paths
            .split('\0')
            .map(str::trim)
            .filter(|path| !path.is_empty());
        Some(Commit {
            id: id.to_owned(),
            subject: redactor.redact(subject.trim()).into_owned(),
            paths: paths.take(CHANGED).map(str::to_owned).collect(),
        })
    });
    commits.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_parsed() {
        let git =
            parse_status("## main...origin/main [ahead 1]\0 M a b.rs\0R  new.rs\0old.rs\0?? x/\0");
        assert_eq!(git.branch.as_deref(), Some("main"));
        assert_eq!(git.changed, ["a b.rs", "new.rs", "x/"]);
        assert_eq!(parse_status("## HEAD (no branch)\0").branch, None);
        assert_eq!(
            parse_status("## No commits yet on main\0")
                .branch
                .as_deref(),
            Some("main")
        );
        let commits = parse_log(
            "\u{1}abc\u{2}Fix it\0\na.rs\0b.rs\0\0\u{1}def\u{2}Empty\0",
            &Redactor::default(),
        );
        assert_eq!(commits.len(), 2);
        assert_eq!(commits[0].paths, ["a.rs", "b.rs"]);
        assert_eq!(
            (commits[1].id.as_str(), commits[1].subject.as_str()),
            ("def", "Empty")
        );
    }
}
