//! Reading a project's files safely: inside the project only, never too much, whatever is in them.

mod folder;
mod text;

use std::fs::{File, FileType};
use std::path::{Path, PathBuf};

use flamestack_core::brief::{Document, Extent};

pub(super) use self::folder::{Folder, Moment};

/// A project's files, and what was wrong with some of them.
pub(super) struct Files {
    root: PathBuf,
    open_root: Option<Folder>,
    pub(super) notes: Vec<String>,
    /// How much was read.
    pub(super) read: Extent,
    /// What was only looked at, as it is: whoever reads it afterwards need not open it again.
    glanced: Vec<Document>,
}

/// How much of a file is read: from its beginning, and from its end if it is longer.
#[derive(Clone, Copy)]
pub(super) struct Limit {
    pub(super) head: u64,
    pub(super) tail: u64,
}

impl Files {
    /// The files below a folder.
    pub(super) fn below(root: &Path) -> Self {
        let root = fs_err::canonicalize(root).unwrap_or_else(|_| root.to_owned());
        Self {
            open_root: Folder::open(&root),
            root,
            notes: Vec::new(),
            read: Extent::default(),
            glanced: Vec::new(),
        }
    }

    /// The text of a file, if there is one that can be read, without secrets.
    pub(super) fn read(&mut self, path: &str, limit: Limit) -> Option<Document> {
        let known = self.glanced.iter().position(|known| known.path == path);
        let document = match known {
            Some(at) => self.glanced.swap_remove(at),
            None => self.as_it_is(path, limit)?,
        };
        Some(Document {
            text: flamestack_store::redact::redact_owned(document.text),
            ..document
        })
    }

    /// The text of a file as it is: for finding something out, never for showing it.
    pub(super) fn glance(&mut self, path: &str, limit: Limit) -> Option<Document> {
        if let Some(known) = self.glanced.iter().find(|known| known.path == path) {
            return Some(known.clone());
        }
        let document = self.as_it_is(path, limit)?;
        self.glanced.push(document.clone());
        Some(document)
    }

    fn as_it_is(&mut self, path: &str, limit: Limit) -> Option<Document> {
        let place = self.inside(path)?;
        let found = fs_err::metadata(&place).and_then(|metadata| {
            // Reading a pipe or a device could take for ever.
            if !metadata.is_file() {
                return Ok(None);
            }
            let mut file = File::open(&place)?;
            text::read(&mut file, metadata.len(), limit).map(|found| Some((found, metadata.len())))
        });
        let (found, size) = match found {
            Ok(Some(found)) => found,
            Ok(None) => {
                self.remark(format!("`{path}` is no file and was not read."));
                return None;
            }
            Err(error) => {
                self.note(path, &error);
                return None;
            }
        };
        self.read.files += 1;
        self.read.bytes += size.min(limit.head + limit.tail);
        if found.is_damaged {
            self.remark(format!(
                "`{path}` is not all text; what is not was replaced by �."
            ));
        }
        if found.counted.is_some() {
            self.remark(format!(
                "`{path}` has {} kB: its first {} kB and its last {} kB were read.",
                size / 1024,
                limit.head / 1024,
                limit.tail / 1024
            ));
        }
        Some(Document {
            path: path.to_owned(),
            text: found.text,
            counted: found.counted,
        })
    }

    /// The names of the folders in a folder, in no order.
    pub(super) fn folders(&mut self, path: &str, most: usize) -> Vec<String> {
        self.names(path, most, |kind| !kind.is_file())
    }

    /// The names of the files in a folder, in no order.
    pub(super) fn files(&mut self, path: &str, most: usize) -> Vec<String> {
        self.names(path, most, |kind| !kind.is_dir())
    }

    fn names(&mut self, path: &str, most: usize, fits: fn(FileType) -> bool) -> Vec<String> {
        let Some(place) = self.inside(path) else {
            return Vec::new();
        };
        let entries = match fs_err::read_dir(&place) {
            Ok(entries) => entries,
            Err(error) => {
                if error.kind() != std::io::ErrorKind::NotADirectory {
                    self.note(path, &error);
                }
                return Vec::new();
            }
        };
        entries
            .filter_map(Result::ok)
            .filter(|entry| entry.file_type().is_ok_and(fits))
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| !name.starts_with('.') && !name.contains(char::is_control))
            .take(most)
            .collect()
    }

    /// Whether there is anything at a path.
    pub(super) fn has(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }

    /// A folder of which many files are asked when they were written.
    pub(super) fn folder(&self, path: &str) -> Option<Folder> {
        Folder::open(&self.root.join(path))
    }

    /// Where a path leads, unless there is nothing or it leads out of the project.
    fn inside(&mut self, path: &str) -> Option<PathBuf> {
        let root = self.open_root.as_ref();
        match root.and_then(|root| root.holds(path)) {
            Some(true) => return Some(self.root.join(path)),
            Some(false) => return None,
            None => {}
        }
        match fs_err::canonicalize(self.root.join(path)) {
            Ok(place) if place.starts_with(&self.root) => Some(place),
            Ok(_) => {
                self.remark(format!(
                    "`{path}` leads out of the project and was not read."
                ));
                None
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => None,
            Err(error) => {
                self.note(path, &error);
                None
            }
        }
    }

    fn note(&mut self, path: &str, error: &std::io::Error) {
        let kind = error.kind();
        self.remark(format!("`{path}` could not be read: {kind}."));
    }

    /// Notes something, once: a file may be looked at twice.
    fn remark(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Limit = Limit {
        head: 1024,
        tail: 512,
    };

    fn read_back(bytes: &[u8]) -> (Option<Document>, Vec<String>) {
        let dir = tempfile::tempdir().unwrap();
        fs_err::write(dir.path().join("S.md"), bytes).unwrap();
        let mut files = Files::below(dir.path());
        let document = files.read("S.md", ALL);
        (document, files.notes)
    }

    #[test]
    fn text_is_read_however_it_is_written() {
        let little: Vec<u8> = "\u{feff}a\r\nö"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        let big: Vec<u8> = "\u{feff}a\r\nö"
            .encode_utf16()
            .flat_map(u16::to_be_bytes)
            .collect();
        for bytes in [
            "a\nö".as_bytes(),
            "\u{feff}a\r\nö".as_bytes(),
            &little,
            &big,
            "a\rö".as_bytes(),
        ] {
            let (document, notes) = read_back(bytes);
            assert_eq!(document.unwrap().text, "a\nö");
            assert!(notes.is_empty(), "{notes:?}");
        }
        let (document, notes) = read_back(b"a\xffb");
        assert_eq!(document.unwrap().text, "a\u{fffd}b");
        assert_eq!(notes.len(), 1);
    }

    #[test]
    fn of_a_long_file_both_ends_are_read() {
        let lines: Vec<String> = (0..1000).map(|n| format!("line {n}\n")).collect();
        let (document, notes) = read_back(lines.concat().as_bytes());
        let document = document.unwrap();
        assert!(document.text.starts_with("line 0\n") && document.text.ends_with("line 999\n"));
        assert!(document.text.len() < 1600);
        let first = document.counted.unwrap();
        assert_eq!(
            document.text.lines().nth(first - 1).unwrap(),
            format!("line {}", first - 1)
        );
        assert!(notes[0].contains("its first 1 kB"), "{notes:?}");
    }

    #[cfg(unix)]
    #[test]
    fn nothing_outside_is_read_and_no_pipe_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("project");
        fs_err::create_dir(&root).unwrap();
        fs_err::write(dir.path().join("secret"), "x").unwrap();
        std::os::unix::fs::symlink("../secret", root.join("S.md")).unwrap();
        std::os::unix::fs::symlink("nowhere", root.join("dangling.md")).unwrap();
        fs_err::create_dir(root.join("dir.md")).unwrap();
        let mut files = Files::below(&root);
        for path in ["S.md", "dangling.md", "dir.md", "missing.md"] {
            assert_eq!(files.read(path, ALL), None, "{path}");
        }
        assert_eq!(
            files.notes,
            [
                "`S.md` leads out of the project and was not read.",
                "`dir.md` is no file and was not read."
            ]
        );
    }
}
