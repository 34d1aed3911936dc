//! The mark of a journal: the last event that was acknowledged, noted outside of the database.
//!
//! SQLite ignores the rest of a write-ahead log from the first damaged byte on, and soon overwrites
//! it: acknowledged events vanish without an error. The mark knows better. It also says whose journal
//! belongs here, so that a missing one, or another project's, is noticed.
//!
//! It is written after the commit and not synced. After a loss of power it may be too low, so it never
//! raises a false alarm; after the death of the process it is exact.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use flamestack_core::id::Seq;

use crate::error::Result;
use crate::identity::StoreId;
use crate::write_queue;

/// Name of the file.
pub(crate) const FILE: &str = "journal.mark";

/// The last acknowledged event of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The store.
    pub store: StoreId,
    /// Its last acknowledged event.
    pub last: Seq,
}

impl Mark {
    /// Reads the mark in a store's folder; `None` if there is none that can be read.
    pub fn read(dir: &Path) -> Result<Option<Self>> {
        let mut text = String::new();
        match fs_err::File::open(dir.join(FILE)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            // A mark is short; damage may have made it anything.
            file => file?.take(100).read_to_string(&mut text).unwrap_or(0),
        };
        Ok(Self::parse(&text))
    }

    fn parse(text: &str) -> Option<Self> {
        let (store, last) = text.trim_end().split_once(' ')?;
        let last = last.trim_start().parse().ok().filter(|last| *last >= 0)?;
        Some(Self {
            store: StoreId::parse(store)?,
            last: Seq(last),
        })
    }

    /// Writes the mark in a store's folder.
    pub fn write(&self, dir: &Path) -> Result<()> {
        MarkFile::new(dir).write(self)
    }
}

/// The file of a mark, kept open by a store that writes it often.
pub(crate) struct MarkFile {
    path: PathBuf,
    file: Option<File>,
}

impl MarkFile {
    /// The file in a store's folder. It is created when it is first written.
    pub(crate) fn new(dir: &Path) -> Self {
        Self {
            path: dir.join(FILE),
            file: None,
        }
    }

    /// Replaces the mark. All marks have the same length.
    pub(crate) fn write(&mut self, mark: &Mark) -> Result<()> {
        let text = format!("{} {:>20}\n", mark.store, mark.last.0);
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(write_queue::open(&self.path)?),
        };
        write_at_start(file, text.as_bytes())?;
        Ok(())
    }
}

#[cfg(unix)]
fn write_at_start(file: &mut File, bytes: &[u8]) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, 0)
}

#[cfg(not(unix))]
fn write_at_start(file: &mut File, bytes: &[u8]) -> std::io::Result<()> {
    std::io::Seek::rewind(file)?;
    std::io::Write::write_all(file, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_as_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Mark::read(dir.path()).unwrap(), None);
        let mut file = MarkFile::new(dir.path());
        let store = StoreId::draw().unwrap();
        for last in [10_000, 7] {
            let mark = Mark {
                store: store.clone(),
                last: Seq(last),
            };
            file.write(&mark).unwrap();
            assert_eq!(Mark::read(dir.path()).unwrap(), Some(mark));
        }
    }

    #[test]
    fn a_damaged_mark_is_no_mark() {
        for text in [
            "",
            " ",
            "x 7",
            "0123456789abcdef0123456789abcdef -7\n",
            "\u{0}",
        ] {
            assert_eq!(Mark::parse(text), None, "{text:?}");
        }
        let dir = tempfile::tempdir().unwrap();
        fs_err::write(dir.path().join(FILE), [0xff; 50]).unwrap();
        assert_eq!(Mark::read(dir.path()).unwrap(), None);
    }
}
