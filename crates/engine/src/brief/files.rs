//! Reads a project's files safely: inside the project only, within limits, whatever they contain.

mod folder;
mod text;

use std::fs::{File, FileType};
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use flamestack_brief::{Document, ReadStats};
use flamestack_redact::Redactor;

pub(super) use self::folder::{Folder, Modified};

/// A project's files, and remarks about those that could not be read.
pub(super) struct Files {
    root: PathBuf,
    open_root: Option<Folder>,
    pub(super) notes: Vec<String>,
    pub(super) stats: ReadStats,
    /// Files that were peeked at, unredacted: reading them afterwards needs no second access.
    peeked: Vec<Document>,
    redactor: Redactor,
}

/// Number of bytes read from the beginning of a file and, if it is longer, from its end.
#[derive(Clone, Copy)]
pub(super) struct ReadLimit {
    pub(super) head: u64,
    pub(super) tail: u64,
}

impl Files {
    pub(super) fn below(root: &Path, redactor: Redactor) -> Self {
        let root = fs_err::canonicalize(root).unwrap_or_else(|_| root.to_owned());
        Self {
            open_root: Folder::open(&root),
            root,
            notes: Vec::new(),
            stats: ReadStats::default(),
            peeked: Vec::new(),
            redactor,
        }
    }

    /// Returns the text of a file without secrets, if it can be read.
    pub(super) fn read(&mut self, path: &str, limit: ReadLimit) -> Option<Document> {
        let known = self.peeked.iter().position(|known| known.path == path);
        let document = match known {
            Some(at) => self.peeked.swap_remove(at),
            None => self.load(path, limit)?,
        };
        Some(Document {
            text: self.redactor.redact_owned(document.text),
            ..document
        })
    }

    /// Returns the unredacted text of a file: to find something out, never to show it.
    pub(super) fn peek(&mut self, path: &str, limit: ReadLimit) -> Option<Document> {
        if let Some(known) = self.peeked.iter().find(|known| known.path == path) {
            return Some(known.clone());
        }
        let document = self.load(path, limit)?;
        self.peeked.push(document.clone());
        Some(document)
    }

    fn load(&mut self, path: &str, limit: ReadLimit) -> Option<Document> {
        let place = self.resolve(path)?;
        let loaded = fs_err::metadata(&place).and_then(|metadata| {
            // Reading a pipe or a device could take forever.
            if !metadata.is_file() {
                return Ok(None);
            }
            let size = metadata.len();
            let text = text::read(&mut File::open(&place)?, size, limit)?;
            Ok(Some((text, size)))
        });
        let (text, size) = match loaded {
            Ok(Some(loaded)) => loaded,
            Ok(None) => {
                self.note(format!("`{path}` is not a file and was not read."));
                return None;
            }
            Err(error) => {
                self.note_error(path, &error);
                return None;
            }
        };
        self.stats.files += 1;
        self.stats.bytes += size.min(limit.head + limit.tail);
        if text.is_damaged {
            self.note(format!(
                "`{path}` is not all text; what is not was replaced by �."
            ));
        }
        if text.counted.is_some() {
            let [size, head, tail] = [size, limit.head, limit.tail].map(|bytes| bytes / 1024);
            self.note(format!(
                "`{path}` has {size} kB: its first {head} kB and its last {tail} kB were read."
            ));
        }
        Some(Document {
            path: path.to_owned(),
            text: text.text,
            counted: text.counted,
        })
    }

    /// Returns the names of the folders in a folder, unordered.
    pub(super) fn list_folders(&mut self, path: &str, limit: usize) -> Vec<String> {
        self.list(path, limit, |kind| !kind.is_file())
    }

    /// Returns the names of the files in a folder, unordered.
    pub(super) fn list_files(&mut self, path: &str, limit: usize) -> Vec<String> {
        self.list(path, limit, |kind| !kind.is_dir())
    }

    fn list(&mut self, path: &str, limit: usize, fits: fn(FileType) -> bool) -> Vec<String> {
        let Some(place) = self.resolve(path) else {
            return Vec::new();
        };
        let entries = match fs_err::read_dir(&place) {
            Ok(entries) => entries,
            Err(error) => {
                if error.kind() != ErrorKind::NotADirectory {
                    self.note_error(path, &error);
                }
                return Vec::new();
            }
        };
        entries
            .filter_map(Result::ok)
            .filter(|entry| entry.file_type().is_ok_and(fits))
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| !name.starts_with('.') && !name.contains(char::is_control))
            .take(limit)
            .collect()
    }

    pub(super) fn exists(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }

    /// Opens a folder for asking many modification times.
    pub(super) fn open_folder(&self, path: &str) -> Option<Folder> {
        Folder::open(&self.root.join(path))
    }

    /// Returns the real place of a path, unless it does not exist or is outside the project.
    fn resolve(&mut self, path: &str) -> Option<PathBuf> {
        let root = self.open_root.as_ref();
        match root.and_then(|root| root.contains(path)) {
            Some(true) => return Some(self.root.join(path)),
            Some(false) => return None,
            None => {}
        }
        match fs_err::canonicalize(self.root.join(path)) {
            Ok(place) if place.starts_with(&self.root) => Some(place),
            Ok(_) => {
                self.note(format!(
                    "`{path}` leads out of the project and was not read."
                ));
                None
            }
            Err(error) => {
                if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) {
                    self.note_error(path, &error);
                }
                None
            }
        }
    }

    fn note_error(&mut self, path: &str, error: &Error) {
        let kind = error.kind();
        self.note(format!("`{path}` could not be read: {kind}."));
    }

    /// Adds a remark once: a file may be accessed twice.
    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: ReadLimit = ReadLimit {
        head: 1024,
        tail: 512,
    };

    fn read_back(bytes: &[u8]) -> (Option<Document>, Vec<String>) {
        let dir = tempfile::tempdir().unwrap();
        fs_err::write(dir.path().join("S.md"), bytes).unwrap();
        let mut files = Files::below(dir.path(), Redactor::default());
        let document = files.read("S.md", ALL);
        (document, files.notes)
    }

    #[test]
    fn all_encodings_are_read() {
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
    fn only_files_inside_the_project_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("project");
        fs_err::create_dir(&root).unwrap();
        fs_err::write(dir.path().join("secret"), "x").unwrap();
        std::os::unix::fs::symlink("../secret", root.join("S.md")).unwrap();
        std::os::unix::fs::symlink("nowhere", root.join("dangling.md")).unwrap();
        fs_err::create_dir(root.join("dir.md")).unwrap();
        let mut files = Files::below(&root, Redactor::default());
        for path in ["S.md", "dangling.md", "dir.md", "missing.md"] {
            assert_eq!(files.read(path, ALL), None, "{path}");
        }
        assert_eq!(
            files.notes,
            [
                "`S.md` leads out of the project and was not read.",
                "`dir.md` is not a file and was not read."
            ]
        );
    }
}
