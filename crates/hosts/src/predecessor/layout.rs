//! Where the predecessors keep their files, and how those are read without trusting their size.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::error::{Problem, ReadError};

/// The most that is read of a `state.json`: some half a million frames.
const STATE_LIMIT: u64 = 1 << 30;
/// The most that is read of one frame's own file.
const FRAME_LIMIT: u64 = 1 << 26;

/// Which of the predecessors' places a stack was found in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `.opencode/stack/`, the last of them.
    OpencodeStack,
    /// `.opencode/flame/`, under the former name.
    OpencodeFlame,
    /// `.flame/`.
    Flame,
    /// A directory that somebody named outright.
    Directory,
}

impl Kind {
    /// The places inside a project, in the order in which they are looked for.
    const PLACES: [(Self, &str); 3] = [
        (Self::OpencodeStack, ".opencode/stack"),
        (Self::OpencodeFlame, ".opencode/flame"),
        (Self::Flame, ".flame"),
    ];

    /// The name of the kind in [`Import::source`](flamestack_core::command::Import).
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpencodeStack => "opencode-stack",
            Self::OpencodeFlame => "opencode-flame",
            Self::Flame => "flame",
            Self::Directory => "stack",
        }
    }

    /// The kind of a directory by its place, so that naming it outright makes no difference.
    fn of(dir: &Path) -> Self {
        let place = |(kind, place): (Self, &str)| dir.ends_with(place).then_some(kind);
        Self::PLACES
            .into_iter()
            .find_map(place)
            .unwrap_or(Self::Directory)
    }
}

/// A predecessor's stack on disk. It may be read; nothing says yet that it is sound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Which place it is.
    pub kind: Kind,
    /// The file with the whole state; it may be missing when only `frames/` was found.
    pub state: PathBuf,
    /// The directory with one file per frame; it may be missing.
    pub frames: PathBuf,
    /// Further stacks in the same project, which are not read: name them outright to import them.
    pub others: Vec<PathBuf>,
}

impl Layout {
    /// Finds the stack of a project, or the one in `dir` itself, or the one whose `state.json` was
    /// named.
    pub fn find(dir: &Path) -> Result<Self, ReadError> {
        if dir.is_file()
            && let Some(parent) = dir.parent()
        {
            return Ok(Self {
                state: dir.to_owned(),
                ..Self::at(parent)
            });
        }
        let places: Vec<Self> = Kind::PLACES
            .iter()
            .map(|(_, place)| dir.join(place))
            .chain([dir.to_owned()])
            .map(|place| Self::at(&place))
            .collect();
        // What is left of a stack whose state was lost can still be rescued.
        let is_there = |place: &&Self| {
            let files = place.frame_files();
            place.state.exists() || files.is_ok_and(|files| !files.is_empty())
        };
        let found: Vec<&Self> = places.iter().filter(is_there).collect();
        let with_state = found.iter().find(|place| place.state.exists());
        let Some(chosen) = with_state.or(found.first()) else {
            return Err(ReadError::NothingThere {
                dir: dir.to_owned(),
                looked: places.into_iter().map(|place| place.state).collect(),
            });
        };
        let others = found.iter().filter(|other| other.state != chosen.state);
        Ok(Self {
            others: others.map(|other| other.state.clone()).collect(),
            ..Self::clone(chosen)
        })
    }

    fn at(dir: &Path) -> Self {
        let whole = fs_err::canonicalize(dir);
        Self {
            kind: Kind::of(whole.as_deref().unwrap_or(dir)),
            state: dir.join("state.json"),
            frames: dir.join("frames"),
            others: Vec::new(),
        }
    }

    /// The content of the state file.
    pub(super) fn state_bytes(&self) -> Result<Vec<u8>, ReadError> {
        if !self.state.exists() {
            return Err(ReadError::file(&self.state, Problem::Missing));
        }
        bounded(&self.state, STATE_LIMIT)
    }

    /// The files of single frames, by name.
    pub(super) fn frame_files(&self) -> Result<Vec<PathBuf>, ReadError> {
        if !self.frames.is_dir() {
            return Ok(Vec::new());
        }
        let mut files = Vec::new();
        for entry in fs_err::read_dir(&self.frames)? {
            let path = entry?.path();
            let hidden = path
                .file_name()
                .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
            if !hidden && path.extension().is_some_and(|end| end == "json") {
                files.push(path);
            }
        }
        files.sort();
        Ok(files)
    }
}

/// The content of one frame's file.
pub(super) fn frame_bytes(path: &Path) -> Result<Vec<u8>, ReadError> {
    bounded(path, FRAME_LIMIT)
}

fn bounded(path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    // Opening a pipe would wait for ever.
    if !fs_err::metadata(path)?.is_file() {
        return Err(ReadError::file(path, Problem::NotAFile));
    }
    let mut bytes = Vec::new();
    fs_err::File::open(path)?
        .take(limit + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(ReadError::file(path, Problem::TooLarge { limit }));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_is_found_wherever_it_is() {
        for (kind, place) in Kind::PLACES.into_iter().chain([(Kind::Directory, "kept")]) {
            let project = tempfile::tempdir().unwrap();
            let dir = project.path().join(place);
            fs_err::create_dir_all(&dir).unwrap();
            fs_err::write(dir.join("state.json"), "{}").unwrap();
            let expected = Layout {
                kind,
                state: dir.join("state.json"),
                frames: dir.join("frames"),
                others: Vec::new(),
            };
            if kind != Kind::Directory {
                assert_eq!(Layout::find(project.path()).unwrap(), expected);
            }
            assert_eq!(Layout::find(&dir).unwrap(), expected);
            assert_eq!(Layout::find(&dir.join("state.json")).unwrap(), expected);
        }
    }

    #[test]
    fn the_last_of_the_predecessors_comes_first() {
        let project = tempfile::tempdir().unwrap();
        for place in [".flame", ".opencode/stack"] {
            fs_err::create_dir_all(project.path().join(place)).unwrap();
            fs_err::write(project.path().join(place).join("state.json"), "{}").unwrap();
        }
        let found = Layout::find(project.path()).unwrap();
        assert_eq!(found.kind, Kind::OpencodeStack);
        assert_eq!(found.others, [project.path().join(".flame/state.json")]);
    }

    #[test]
    fn where_nothing_is_the_places_are_named() {
        let project = tempfile::tempdir().unwrap();
        let error = Layout::find(project.path()).unwrap_err();
        let told = error
            .to_string()
            .replace(project.path().to_str().unwrap(), "DIR");
        insta::assert_snapshot!(told, @"there is no stack in DIR: looked for DIR/.opencode/stack/state.json, DIR/.opencode/flame/state.json, DIR/.flame/state.json, DIR/state.json");
        assert!(error.hint().is_some());
    }

    #[test]
    fn only_so_much_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.json");
        fs_err::write(&path, "12345").unwrap();
        assert_eq!(bounded(&path, 5).unwrap(), b"12345");
        assert!(matches!(
            bounded(&path, 4),
            Err(ReadError::File {
                problem: Problem::TooLarge { limit: 4 },
                ..
            })
        ));
        assert!(matches!(
            bounded(dir.path(), 4),
            Err(ReadError::File {
                problem: Problem::NotAFile,
                ..
            })
        ));
    }
}
