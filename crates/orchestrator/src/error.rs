//! Failures of a run itself, as opposed to those of its frames.

use std::path::PathBuf;

use crate::host::HostError;
use crate::stack::StackError;

/// A reason for which a run cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The host failed.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The frames could not be read or changed.
    #[error(transparent)]
    Stack(#[from] StackError),
    /// The run's journal could not be read or written.
    #[error("{path}: {source}")]
    Journal {
        /// The file.
        path: PathBuf,
        /// Reason.
        source: std::io::Error,
    },
    /// A line of the run's journal is damaged.
    #[error("line {line} of {path} cannot be read: {reason}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Number of the line.
        line: usize,
        /// Reason.
        reason: String,
    },
    /// Another process drives this run.
    #[error("the run {run} is driven by another process")]
    Busy {
        /// The run.
        run: String,
    },
    /// There is no run to resume.
    #[error("there is no unfinished run in this project")]
    NothingToResume,
    /// Git failed.
    #[error("git {action} failed: {reason}")]
    Git {
        /// The command.
        action: String,
        /// Its message.
        reason: String,
    },
}

impl RunError {
    /// Returns the next step for the user.
    pub fn hint(&self) -> String {
        match self {
            Self::Host(error) => error.hint().to_owned(),
            Self::Stack(error) => error.hint(),
            Self::Journal { .. } => "free some space or fix the permissions".to_owned(),
            Self::Damaged { path, .. } => format!(
                "move {} away and start the goal again: the frames are kept",
                path.display()
            ),
            Self::Busy { .. } => "wait for it, or stop it with Ctrl-C there".to_owned(),
            Self::NothingToResume => "`flame run \"GOAL\"` starts one".to_owned(),
            Self::Git { .. } => "see `git status`; `flame run --resume` continues".to_owned(),
        }
    }
}
