//! A predecessor's stack as its files have it, checked as a whole.
//!
//! A `state.json` is taken completely or not at all. The files in `frames/` are what is left after
//! accidents: nothing ever reads them back, they can be stale, and a crash leaves them cut off. So a
//! frame file that cannot be used is left out and named, and the rest is taken.

use std::path::PathBuf;

use flamestack_core::Session;
use flamestack_core::id::Timestamp;
use serde_json::Value;

use super::document::{self, Document};
use super::error::{Problem, ReadError, WrongType};
use super::fields::{self, Object};
use super::found::Found;
use super::layout::Layout;
use super::own::{self, Own, Unread};
use super::shape::Said;

/// A stack that was read, parents before children.
#[derive(Debug)]
pub struct Stack {
    /// Frames that only `frames/` knew.
    pub leftovers: usize,
    /// Files in `frames/` that could not be used, and why.
    pub unread: Vec<ReadError>,
    pub(super) source: String,
    pub(super) state: PathBuf,
    /// What the state says besides its frames; our own object is not among it.
    pub(super) fields: Object,
    pub(super) active: Option<String>,
    pub(super) roots: Vec<String>,
    /// The sessions, if this is one of our own exports.
    pub(super) sessions: Option<Vec<Session>>,
    pub(super) frames: Vec<Entry>,
}

/// One frame that was read.
#[derive(Debug)]
pub(super) struct Entry {
    /// Its name in the file.
    pub(super) key: String,
    /// The name it gives itself, if that is another.
    pub(super) former: Option<String>,
    /// The index of its parent, which comes before it.
    pub(super) parent: Option<usize>,
    pub(super) planned_children: Vec<String>,
    /// The object without our own.
    pub(super) object: Object,
    pub(super) said: Said,
    pub(super) own: Option<Own>,
    /// Its file in `frames/`, if the state does not know it.
    pub(super) file: Option<PathBuf>,
}

impl Layout {
    /// Reads the state, and those files in `frames/` that it does not know.
    pub fn read(&self) -> Result<Stack, ReadError> {
        let files = self.frame_files()?;
        self.read_state(&files).map_err(|error| match error {
            ReadError::File { file, problem, .. } if problem.is_of_the_file() => ReadError::File {
                file,
                problem,
                frame_files: files.len(),
            },
            other => other,
        })
    }

    /// Reads `frames/` alone, for when the state cannot be read.
    pub fn read_frames_only(&self) -> Result<Stack, ReadError> {
        let files = self.frame_files()?;
        if files.is_empty() {
            return Err(ReadError::NothingThere {
                dir: self.frames.clone(),
                looked: vec![self.frames.join("*.json")],
            });
        }
        let mut found = Found::default();
        let mut hasher = blake3::Hasher::new();
        for file in files {
            found.frame_file(&file, &mut hasher, Timestamp::default());
        }
        if found.entries.is_empty() && !found.unread.is_empty() {
            return Err(found.unread.swap_remove(0));
        }
        let times = found.entries.iter().map(|entry| entry.said.updated_at);
        let Timestamp(updated) = times.max().unwrap_or_default();
        let fields = Object::from_iter([
            ("version".to_owned(), Value::from(1)),
            ("updatedAt".to_owned(), Value::from(updated)),
        ]);
        Stack {
            leftovers: found.entries.len(),
            unread: found.unread,
            source: format!("frames:{}", hasher.finalize().to_hex()),
            state: self.state.clone(),
            fields,
            active: None,
            roots: Vec::new(),
            sessions: None,
            frames: found.entries,
        }
        .in_order(&found.parents)
    }

    fn read_state(&self, files: &[PathBuf]) -> Result<Stack, ReadError> {
        let wrong = |problem| ReadError::file(&self.state, problem);
        let bytes = self.state_bytes()?;
        let Document { mut fields, frames } = document::state(&bytes).map_err(wrong)?;
        let ours = fields.remove(own::FIELD);
        let sessions = ours.as_ref().map(own::read_sessions).transpose();
        let sessions = sessions.map_err(|unread| wrong(unread.into()))?;
        let state_field = |problem: WrongType| wrong(problem.into());
        let updated = fields::time(&fields, "updatedAt").map_err(state_field)?;
        let updated = updated.unwrap_or_default();
        let roots = fields::texts(&fields, "rootFrameIDs").map_err(state_field)?;
        let roots = roots.into_iter().map(ToOwned::to_owned).collect();
        let active = fields::text(&fields, "activeFrameID").map_err(state_field)?;
        let active = active.map(ToOwned::to_owned);

        let mut found = Found::default();
        for (key, value) in frames {
            let taken = found.take(&key, value, None, updated);
            taken.map_err(|problem| ReadError::frame(&self.state, &key, problem))?;
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(&bytes);
        let known = found.entries.len();
        found.leftovers(files, ours.is_some(), &mut hasher, updated);
        let kind = if ours.is_some() {
            own::FIELD
        } else {
            self.kind.as_str()
        };
        Stack {
            leftovers: found.entries.len() - known,
            unread: found.unread,
            source: format!("{kind}:{}", hasher.finalize().to_hex()),
            state: self.state.clone(),
            fields,
            active,
            roots,
            sessions,
            frames: found.entries,
        }
        .in_order(&found.parents)
    }
}

impl Problem {
    /// Whether nothing in the file can be used, as against one frame of it.
    fn is_of_the_file(&self) -> bool {
        !matches!(
            self,
            Self::Frame { .. } | Self::Newer { .. } | Self::BadOwn { .. }
        )
    }
}

impl From<Unread> for Problem {
    fn from(unread: Unread) -> Self {
        match unread {
            Unread::Newer(found) => Self::Newer {
                found,
                known: own::FORMAT,
            },
            Unread::Bad(message) => Self::BadOwn { message },
        }
    }
}
