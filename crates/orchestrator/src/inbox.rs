//! The inbox of a run: messages of the user to its frames, from any terminal.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use fs_err::OpenOptions;
use serde::{Deserialize, Serialize};

use crate::error::RunError;

/// A message of the user to a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserMessage {
    /// Id, by which it is accepted once.
    pub id: String,
    /// The frame's id.
    pub frame: String,
    /// The message.
    pub text: String,
}

/// A file to which messages are appended, and which the driver reads.
#[derive(Debug)]
pub struct Inbox {
    path: PathBuf,
    read: usize,
}

impl Inbox {
    /// The inbox in a file, which need not exist.
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            read: 0,
        }
    }

    /// Appends a message.
    pub fn put(&self, message: &UserMessage) -> Result<(), RunError> {
        let put = || -> std::io::Result<()> {
            let mut options = OpenOptions::new();
            let mut file = options.create(true).append(true).open(&self.path)?;
            let line = serde_json::to_string(message)?;
            file.write_all(format!("{line}\n").as_bytes())?;
            file.sync_data()
        };
        put().map_err(|source| RunError::Journal {
            path: self.path.clone(),
            source,
        })
    }

    /// Returns the messages that arrived since the last call. A line that is still being written, or
    /// makes no sense, is left out.
    pub fn take(&mut self) -> Vec<UserMessage> {
        let text = fs_err::read_to_string(&self.path).unwrap_or_default();
        let new = text.get(self.read..).unwrap_or_default();
        let whole = new.rfind('\n').map_or(0, |end| end + 1);
        self.read += whole;
        let lines = new.get(..whole).unwrap_or_default().lines();
        lines
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }
}
