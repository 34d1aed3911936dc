//! The direct line: two named pipes beside standard input and output.
//!
//! A shim in JavaScript reads standard output through its host's event loop, in which other things
//! may come first for ten milliseconds. Files it can write and read on the spot. Nothing here knows
//! what is asked. On systems other than Linux there is no such line, and a shim waits for the loop.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tempfile::TempDir;

use super::wire::Direct;

/// How much each pipe is to hold. A plan for a long session names thousands of messages; and a user
/// has only so much room for pipes.
const ROOM: usize = 256 * 1024;
/// The longest answer that goes this way: there is room for it beside a few that nobody has read.
const LONGEST_ANSWER: usize = ROOM / 2;

const QUESTIONS: &str = "questions";
const ANSWERS: &str = "answers";

/// A line that was laid and that nobody has taken up yet.
pub(super) struct DirectLine {
    /// Holds the names of the pipes, which are of no use once both ends are open.
    folder: TempDir,
    questions: File,
    answers: File,
}

impl DirectLine {
    /// Makes both pipes and opens our ends of them.
    pub(super) fn lay() -> io::Result<Self> {
        let folder = private_folder()?;
        let questions = named_pipe(&folder.path().join(QUESTIONS), Waiting::Yes)?;
        let answers = named_pipe(&folder.path().join(ANSWERS), Waiting::No)?;
        Ok(Self {
            folder,
            questions,
            answers,
        })
    }

    /// Where the shim finds it; nothing, if its name cannot be told.
    pub(super) fn told(&self) -> Option<Direct> {
        let path = |name| Some(self.folder.path().join(name).to_str()?.to_owned());
        Some(Direct {
            questions: path(QUESTIONS)?,
            answers: path(ANSWERS)?,
        })
    }

    /// The shim has opened its ends: from now on it asks here.
    pub(super) fn take_up(self) -> io::Result<(Questions, Hangup, DirectAnswers)> {
        let ended = Arc::<AtomicBool>::default();
        let hangup = Hangup {
            pipe: self.questions.try_clone()?,
            ended: Arc::clone(&ended),
        };
        let questions = Questions {
            pipe: BufReader::new(self.questions),
            ended,
        };
        let answers = DirectAnswers(Mutex::new(Offered {
            pipe: self.answers,
            is_cut: false,
        }));
        Ok((questions, hangup, answers))
    }
}

/// A folder that nobody else can enter, whatever the user lets others do by default.
fn private_folder() -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("flame-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.tempdir()
}

/// Whether an end of a pipe waits until there is something to read, or room to write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    Yes,
    No,
}

/// Makes a pipe that its owner alone can open, and opens it for reading and writing, so that nothing
/// here ever waits for the other end to be opened.
#[cfg(target_os = "linux")]
fn named_pipe(path: &Path, waiting: Waiting) -> io::Result<File> {
    use rustix::fs::{CWD, Mode, OFlags, mkfifoat, open};
    use rustix::pipe::fcntl_setpipe_size;

    mkfifoat(CWD, path, Mode::RUSR | Mode::WUSR)?;
    let mut flags = OFlags::RDWR | OFlags::CLOEXEC;
    flags.set(OFlags::NONBLOCK, waiting == Waiting::No);
    let pipe = open(path, flags, Mode::empty())?;
    // Where a system does not grant it, long answers are cut off here and come by standard output.
    let _ = fcntl_setpipe_size(&pipe, ROOM);
    Ok(pipe.into())
}

#[cfg(not(target_os = "linux"))]
fn named_pipe(_: &Path, _: Waiting) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// What the shim asks.
pub(super) struct Questions {
    pub(super) pipe: BufReader<File>,
    ended: Arc<AtomicBool>,
}

impl Questions {
    /// Whether nobody asks any more, once an empty line has come.
    pub(super) fn ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }
}

/// Ends the questions when the shim is gone: a pipe that is open for writing here has no end.
pub(super) struct Hangup {
    pipe: File,
    ended: Arc<AtomicBool>,
}

impl Hangup {
    /// Waits for the end of standard input, on which nothing comes any more.
    pub(super) fn after(mut self, mut input: impl BufRead) {
        // An error is an end too.
        let _ = io::copy(&mut input, &mut io::sink());
        self.ended.store(true, Ordering::SeqCst);
        // The first line end closes a line that was cut off; the second one is the empty line.
        if let Err(error) = self.pipe.write_all(b"\n\n") {
            tracing::warn!("the direct line does not end: {error}");
        }
    }
}

/// Where answers go in addition to standard output.
pub(super) struct DirectAnswers(Mutex<Offered>);

struct Offered {
    pipe: File,
    /// The last answer did not fit, and its line has no end.
    is_cut: bool,
}

impl DirectAnswers {
    /// Offers an answer, and never waits. A shim that does not listen finds it on standard output.
    pub(super) fn offer(&self, line: &str) {
        if line.len() > LONGEST_ANSWER {
            return;
        }
        let mut offered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What was cut off is ended first, so that it spoils nothing but itself.
        if offered.is_cut && !matches!(offered.pipe.write(b"\n"), Ok(1)) {
            return;
        }
        let written = offered.pipe.write(line.as_bytes()).unwrap_or(0);
        offered.is_cut = written > 0 && written < line.len();
    }
}
