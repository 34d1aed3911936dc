//! The runs of a project: their files, and which of them can be resumed.

use std::fs::{File, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use crate::error::RunError;
use crate::journal::{failed, read_records};
use crate::record::RunRecord;
use crate::report::RunEnding;
use crate::state::RunState;

/// Size of the part of a journal that is read to find its last record, in bytes.
const TAIL: u64 = 64 * 1024;

/// The files of a project's runs.
#[derive(Clone, Debug)]
pub struct RunPaths {
    dir: PathBuf,
}

/// A run that did not reach its end.
#[derive(Clone, Debug)]
pub struct UnfinishedRun {
    /// Its name.
    pub name: String,
    /// Its state.
    pub state: RunState,
    /// True if a process drives it now.
    pub is_driven: bool,
}

impl RunPaths {
    /// The runs of a project, by the project's folder in the state directory.
    pub fn of(project: &Path) -> Self {
        Self {
            dir: project.join("runs"),
        }
    }

    /// Returns the journal of a run.
    pub fn journal(&self, run: &str) -> PathBuf {
        self.dir.join(format!("{run}.jsonl"))
    }

    /// Returns the inbox of a run.
    pub fn inbox(&self, run: &str) -> PathBuf {
        self.dir.join(format!("{run}.inbox.jsonl"))
    }

    /// Returns the folder of a run's worktrees.
    pub fn worktrees(&self, run: &str) -> PathBuf {
        self.dir.join(format!("{run}.worktrees"))
    }

    /// Lists the runs, newest first.
    pub fn runs(&self) -> Result<Vec<String>, RunError> {
        let entries = match fs_err::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(&self.dir, error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| failed(&self.dir, error))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let run = name.strip_suffix(".jsonl").filter(|run| !run.contains('.'));
            names.extend(run.map(str::to_owned));
        }
        // Names begin with the time.
        names.sort_unstable_by(|a, b| b.cmp(a));
        Ok(names)
    }

    /// Returns the runs that did not reach their end, newest first.
    pub fn unfinished(&self) -> Result<Vec<UnfinishedRun>, RunError> {
        let mut all = Vec::new();
        for name in self.runs()? {
            let path = self.journal(&name);
            if has_ended(&path) {
                continue;
            }
            let state = RunState::fold(&read_records(&path)?);
            let ended = state.ending.as_ref();
            if state.root.is_some() && ended.is_none_or(RunEnding::is_resumable) {
                all.push(UnfinishedRun {
                    is_driven: is_locked(&path),
                    name,
                    state,
                });
            }
        }
        Ok(all)
    }
}

/// Returns true if the last record of a journal says that nothing is left to do. It spares reading the
/// journals of all runs that there ever were.
fn has_ended(journal: &Path) -> bool {
    let last = || -> std::io::Result<String> {
        let mut file = fs_err::File::open(journal)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
        let mut tail = Vec::new();
        file.read_to_end(&mut tail)?;
        let tail = String::from_utf8_lossy(&tail);
        Ok(tail.lines().last().unwrap_or_default().to_owned())
    };
    // A line that cannot be read is left to the caller, who reads all of them.
    let last = last()
        .ok()
        .and_then(|line| serde_json::from_str(&line).ok());
    matches!(last, Some(RunRecord::Ended { ending, .. }) if !ending.is_resumable())
}

/// Returns true if a process drives the run of a journal.
fn is_locked(journal: &Path) -> bool {
    let lock = File::open(journal.with_extension("lock"));
    lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{FileJournal, RunJournal as _};
    use crate::options::RunOptions;
    use flamestack_core::FrameId;

    #[test]
    fn unfinished_runs_are_listed_newest_first_with_those_that_are_driven() {
        let dir = tempfile::tempdir().unwrap();
        let paths = RunPaths::of(dir.path());
        let open = |name: &str| {
            FileJournal::open(&paths.journal(name), name, Box::new(str::to_owned)).unwrap()
        };
        let begin = |name: &str| {
            let mut journal = open(name);
            let begun = RunRecord::Begun {
                at: 1,
                run: name.to_owned(),
                host: "sim".to_owned(),
                root: FrameId::from_entropy(1),
                options: RunOptions::default(),
                frames: Vec::new(),
            };
            journal.append(&begun).unwrap();
            journal
        };
        let end = |journal: &mut FileJournal<'_>, ending: RunEnding| {
            journal.append(&RunRecord::Ended { at: 2, ending }).unwrap();
        };
        end(&mut begin("1-parked"), RunEnding::Paused);
        end(&mut begin("2-done"), RunEnding::Completed);
        drop(begin("3-cut"));
        let driven = begin("4-driven");
        let found: Vec<(String, bool)> = paths
            .unfinished()
            .unwrap()
            .into_iter()
            .map(|run| (run.name, run.is_driven))
            .collect();
        let expected = [("4-driven", true), ("3-cut", false), ("1-parked", false)];
        assert_eq!(
            found,
            expected.map(|(name, is_driven)| (name.to_owned(), is_driven))
        );
        drop(driven);
        assert!(!paths.unfinished().unwrap()[0].is_driven);
    }
}
