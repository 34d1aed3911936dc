//! The recorded sessions that quality is measured on. They are kept beside the repository and are
//! never part of it.

use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, bail};
use flamestack_core::transcript::Entry;
use flamestack_hosts::recordings::ctrace::Trace;

use crate::root;

/// A recorded session.
pub(crate) struct Recorded {
    path: PathBuf,
}

impl Recorded {
    /// The publisher: the first part of the file's name.
    pub(crate) fn owner(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let end = name.find(['+', '_']).unwrap_or(name.len());
        name.get(..end).unwrap_or_default().to_owned()
    }

    /// The transcript.
    pub(crate) fn entries(&self) -> Result<Vec<Entry>> {
        let file = BufReader::new(fs_err::File::open(&self.path)?);
        let trace = Trace::read(file, None)?;
        Ok(trace.events.into_iter().map(|(_, entry)| entry).collect())
    }
}

/// The folder of the judge and the recordings.
pub(crate) fn shared() -> Result<PathBuf> {
    let root = root()?;
    let beside = root.parent().unwrap_or(&root).join("shared");
    if !beside.join("traces/ctrace-dev.tar.xz").exists() {
        bail!(
            "there are no recorded sessions at {}: quality is measured on them, and they are not \
             part of the repository",
            beside.join("traces").display()
        );
    }
    Ok(beside)
}

/// The folder of the unpacked development set.
pub(crate) fn unpacked() -> Result<PathBuf> {
    let target = root()?.join("target/quality");
    let dev = target.join("dev");
    if !dev.exists() {
        fs_err::create_dir_all(&target)?;
        let archive = shared()?.join("traces/ctrace-dev.tar.xz");
        let status = Command::new("tar")
            .arg("xJf")
            .arg(&archive)
            .arg("-C")
            .arg(&target)
            .status()
            .context("tar could not be started")?;
        if !status.success() {
            bail!("{} could not be unpacked", archive.display());
        }
    }
    Ok(dev)
}

/// The sessions of the development set, in the order of their names.
pub(crate) fn development_set() -> Result<Vec<Recorded>> {
    let mut sessions = Vec::new();
    for entry in fs_err::read_dir(unpacked()?)? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "jsonl")
        {
            sessions.push(Recorded { path });
        }
    }
    sessions.sort_by(|a, b| Path::cmp(&a.path, &b.path));
    Ok(sessions)
}

/// Applies a function to every session, several at a time; the results are in order.
pub(crate) fn in_parallel<T: Send>(
    sessions: &[Recorded],
    work: impl Fn(&Recorded) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let answers = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(session) = sessions.get(number) else {
                        return;
                    };
                    let answer = work(session);
                    if let Ok(mut answers) = answers.lock() {
                        answers.push((number, answer));
                    }
                }
            });
        }
    });
    let mut answers = answers
        .into_inner()
        .map_err(|_| anyhow::anyhow!("a worker panicked"))?;
    answers.sort_by_key(|(number, _)| *number);
    answers.into_iter().map(|(_, answer)| answer).collect()
}
