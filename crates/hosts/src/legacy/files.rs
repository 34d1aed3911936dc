//! The predecessors' files on disk: finding them, reading them within bounds, writing them.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::error::{ExportError, FileProblem, LegacyReadError, OTHER_FILE, RESTORE};
use super::export::ExportFiles;
use crate::staging::{stage, with_path};

/// Maximum size of a `state.json`, in bytes: about half a million frames.
const STATE_LIMIT: u64 = 1 << 30;
/// Maximum size of a frame file, in bytes.
const FRAME_LIMIT: u64 = 1 << 26;
/// Size of the part of a file that is looked at before the rest is read, in bytes.
const HEAD: u64 = 4096;

flamestack_core::enum_names! {
    /// The predecessor whose directory a stack was found in.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum LayoutKind {
        /// `.opencode/stack/`, the newest.
        OpencodeStack = "opencode-stack",
        /// `.opencode/flame/`, its earlier name.
        OpencodeFlame = "opencode-flame",
        /// `.flame/`.
        Flame = "flame",
        /// Any other directory that the user named.
        Directory = "stack",
    }
}

impl LayoutKind {
    /// Directories inside a project, in the order in which they are searched.
    const DIRS: [(Self, &str); 3] = [
        (Self::OpencodeStack, ".opencode/stack"),
        (Self::OpencodeFlame, ".opencode/flame"),
        (Self::Flame, ".flame"),
    ];
}

/// The paths of a stack on disk. Its content has not been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The kind of the directory.
    pub kind: LayoutKind,
    /// The file with the whole state; missing if only `frames/` was found.
    pub state: PathBuf,
    /// The directory with one file per frame; may be missing.
    pub frames: PathBuf,
    /// States of further stacks in the same project, which the user has to name to import them.
    pub others: Vec<PathBuf>,
}

impl Layout {
    /// Finds a stack by its project, its directory or its `state.json`.
    pub fn find(path: &Path) -> Result<Self, LegacyReadError> {
        if path.is_file()
            && let Some(parent) = path.parent()
        {
            return Ok(Self {
                state: path.to_owned(),
                ..Self::at(parent)
            });
        }
        let candidates: Vec<Self> = LayoutKind::DIRS
            .iter()
            .map(|(_, dir)| path.join(dir))
            .chain([path.to_owned()])
            .map(|dir| Self::at(&dir))
            .collect();
        // Frame files without a state are worth finding: `--frames-only` can import them.
        let exists = |layout: &&Self| {
            let files = layout.frame_files();
            layout.state.exists() || files.is_ok_and(|files| !files.is_empty())
        };
        let found: Vec<&Self> = candidates.iter().filter(exists).collect();
        let with_state = found.iter().find(|layout| layout.state.exists());
        let Some(chosen) = with_state.or(found.first()) else {
            return Err(LegacyReadError::NotFound {
                dir: path.to_owned(),
                candidates: candidates.into_iter().map(|layout| layout.state).collect(),
            });
        };
        let others = found.iter().filter(|other| other.state != chosen.state);
        Ok(Self {
            others: others.map(|other| other.state.clone()).collect(),
            ..Self::clone(chosen)
        })
    }

    fn at(dir: &Path) -> Self {
        // By its path, so that naming a directory and naming its project give the same source.
        let absolute = fs_err::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
        let mut kinds = LayoutKind::DIRS.into_iter();
        let kind = kinds.find(|(_, path)| absolute.ends_with(path));
        Self {
            kind: kind.map_or(LayoutKind::Directory, |(kind, _)| kind),
            state: dir.join("state.json"),
            frames: dir.join("frames"),
            others: Vec::new(),
        }
    }

    /// Reads the state file.
    pub(super) fn state_bytes(&self) -> Result<Vec<u8>, LegacyReadError> {
        if !self.state.exists() {
            let missing = FileProblem::new("the file does not exist", RESTORE);
            return Err(LegacyReadError::file(&self.state, missing));
        }
        read_bounded(&self.state, STATE_LIMIT)
    }

    /// Lists the frame files, sorted by name.
    pub(super) fn frame_files(&self) -> Result<Vec<PathBuf>, LegacyReadError> {
        if !self.frames.is_dir() {
            return Ok(Vec::new());
        }
        let mut files = Vec::new();
        for entry in fs_err::read_dir(&self.frames)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().as_encoded_bytes();
            if name.ends_with(b".json") && !name.starts_with(b".") {
                files.push(path);
            }
        }
        files.sort();
        Ok(files)
    }
}

/// Reads a frame file.
pub(super) fn frame_bytes(path: &Path) -> Result<Vec<u8>, LegacyReadError> {
    read_bounded(path, FRAME_LIMIT)
}

fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, LegacyReadError> {
    let refused = |message: &str| {
        let problem = FileProblem::new(message, OTHER_FILE);
        Err(LegacyReadError::file(path, problem))
    };
    // Opening a pipe would block until another process writes to it.
    let metadata = fs_err::metadata(path)?;
    if !metadata.is_file() {
        return refused("this is not a regular file");
    }
    if metadata.len() > limit {
        return refused(&format!("the file has more than {limit} bytes"));
    }
    let mut file = fs_err::File::open(path)?;
    let mut bytes = Vec::new();
    file.by_ref().take(HEAD).read_to_end(&mut bytes)?;
    // A file of zeros may have any size and take no space.
    if bytes.contains(&0) {
        return refused("this is not JSON");
    }
    file.take(limit + 1 - bytes.len() as u64)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return refused(&format!("the file has more than {limit} bytes"));
    }
    Ok(bytes)
}

/// Handling of a stack that exists already at the destination of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnExisting {
    /// Refuse to write.
    Refuse,
    /// Replace it. Files of frames that are not in the export stay.
    Replace,
}

impl ExportFiles {
    /// Writes the files below a project's directory, or directly into a directory named `stack`,
    /// and returns the directory.
    ///
    /// Every file is replaced atomically. The state is written last, so that it never names a
    /// frame whose file is missing.
    pub fn write(&self, given: &Path, on_existing: OnExisting) -> Result<PathBuf, ExportError> {
        let dir = if given.ends_with("stack") {
            given.to_owned()
        } else {
            given.join(".opencode").join("stack")
        };
        let (state, frames) = (dir.join("state.json"), dir.join("frames"));
        if on_existing == OnExisting::Refuse {
            // Frame files without a state may be the only copy that a crash left.
            let existing = [&state, &frames].into_iter().find(|path| is_occupied(path));
            if let Some(path) = existing {
                return Err(ExportError::Exists(path.clone()));
            }
        }
        let below = dir.ancestors().take_while(|folder| *folder != given);
        below.take(2).try_for_each(refuse_link)?;
        refuse_link(&frames)?;
        fs_err::create_dir_all(&frames)?;
        for (name, content) in self.frames() {
            // Not synced to the disk: the state holds the same frame.
            write_export(&dir, "frames", name, &content)?;
        }
        let file = stage(&state, &self.state_json(), None)?;
        file.as_file().sync_all()?;
        replace(file, &state)?;
        Ok(dir)
    }
}

/// Writes a file into a folder of an export, replacing another one. A link in its place is replaced,
/// not followed.
pub fn write_export(dir: &Path, folder: &str, name: &str, text: &str) -> Result<(), ExportError> {
    let folder = dir.join(folder);
    refuse_link(&folder)?;
    fs_err::create_dir_all(&folder)?;
    let path = folder.join(name);
    Ok(replace(stage(&path, text, None)?, &path)?)
}

/// Fails if a folder of an export is a link: a repository from elsewhere may hold one that leads out
/// of it.
fn refuse_link(folder: &Path) -> Result<(), ExportError> {
    match folder.symlink_metadata() {
        Ok(metadata) if metadata.is_symlink() => Err(ExportError::Link(folder.to_owned())),
        _ => Ok(()),
    }
}

fn replace(file: NamedTempFile, path: &Path) -> io::Result<()> {
    file.persist(path)
        .map_err(|error| with_path(path, &error.error))?;
    Ok(())
}

fn is_occupied(path: &Path) -> bool {
    match fs_err::read_dir(path) {
        Ok(mut entries) => entries.next().is_some(),
        // Not a directory: a file, a dangling link, or nothing at all.
        Err(_) => path.symlink_metadata().is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_is_found_by_project_directory_and_file() {
        let dirs = LayoutKind::DIRS.into_iter();
        for (kind, path) in dirs.chain([(LayoutKind::Directory, "kept")]) {
            let project = tempfile::tempdir().unwrap();
            let dir = project.path().join(path);
            fs_err::create_dir_all(&dir).unwrap();
            fs_err::write(dir.join("state.json"), "{}").unwrap();
            let expected = Layout {
                kind,
                state: dir.join("state.json"),
                frames: dir.join("frames"),
                others: Vec::new(),
            };
            if kind != LayoutKind::Directory {
                assert_eq!(Layout::find(project.path()).unwrap(), expected);
            }
            assert_eq!(Layout::find(&dir).unwrap(), expected);
            assert_eq!(Layout::find(&dir.join("state.json")).unwrap(), expected);
        }
    }

    #[test]
    fn the_newest_predecessor_is_preferred() {
        let project = tempfile::tempdir().unwrap();
        for dir in [".flame", ".opencode/stack"] {
            fs_err::create_dir_all(project.path().join(dir)).unwrap();
            fs_err::write(project.path().join(dir).join("state.json"), "{}").unwrap();
        }
        let layout = Layout::find(project.path()).unwrap();
        assert_eq!(layout.kind, LayoutKind::OpencodeStack);
        assert_eq!(layout.others, [project.path().join(".flame/state.json")]);
    }

    #[test]
    fn without_a_stack_the_error_names_the_candidates() {
        let project = tempfile::tempdir().unwrap();
        let error = Layout::find(project.path()).unwrap_err();
        let message = error
            .to_string()
            .replace(project.path().to_str().unwrap(), "DIR");
        insta::assert_snapshot!(message, @"there is no stack in DIR: looked for DIR/.opencode/stack/state.json, DIR/.opencode/flame/state.json, DIR/.flame/state.json, DIR/state.json");
        assert!(error.hint().is_some());
    }

    #[test]
    fn reads_are_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.json");
        fs_err::write(&path, "12345").unwrap();
        assert_eq!(read_bounded(&path, 5).unwrap(), b"12345");
        let problem = |path: &Path| match read_bounded(path, 4).unwrap_err() {
            LegacyReadError::File { problem, .. } => problem.to_string(),
            other => panic!("{other}"),
        };
        assert_eq!(problem(&path), "the file has more than 4 bytes");
        assert_eq!(problem(dir.path()), "this is not a regular file");
    }
}
