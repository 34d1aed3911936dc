//! Finding recordings and detecting their format.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::json::text;
use super::opencode;

/// Number of bytes that are examined.
const HEAD_BYTES: u64 = 1 << 20;
/// Maximum depth of the search in folders.
const DEPTH: usize = 8;
/// Number of lines that are examined.
const HEAD_LINES: usize = 20;

/// The format of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecordingFormat {
    /// Claude Code's transcripts.
    Claude,
    /// Codex's rollouts.
    Codex,
    /// Gemini CLI's chats.
    Gemini,
    /// OpenCode's database.
    OpenCode,
    /// The neutral format.
    Ctrace,
}

impl RecordingFormat {
    /// Returns the name for the user.
    pub fn label(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::OpenCode => "OpenCode",
            Self::Ctrace => "ctrace",
        }
    }
}

/// A file with recorded sessions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordingFile {
    /// The file.
    pub path: PathBuf,
    /// Its format.
    pub format: RecordingFormat,
}

/// Finds the recordings in a file or folder, sorted by path. Other files are ignored.
pub fn find(path: &Path) -> Result<Vec<RecordingFile>, std::io::Error> {
    let mut found = Vec::new();
    if fs_err::metadata(path)?.is_dir() {
        walk(path, DEPTH, &mut found)?;
    } else {
        found.extend(detect(path)?);
    }
    found.sort();
    Ok(found)
}

fn walk(dir: &Path, depth: usize, found: &mut Vec<RecordingFile>) -> Result<(), std::io::Error> {
    for entry in fs_err::read_dir(dir)? {
        let entry = entry?;
        let path = entry.path();
        // Links are not followed: a link to a parent folder would never end.
        let kind = entry.file_type()?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if kind.is_dir() && depth > 0 {
            // Files in these folders are read with their session.
            if name != "subagents" && name != "tool-results" {
                walk(&path, depth - 1, found)?;
            }
        } else if kind.is_file() && (name.ends_with(".jsonl") || name == "opencode.db") {
            found.extend(detect(&path)?);
        }
    }
    Ok(())
}

/// Detects the format of a file, if it is a recording.
fn detect(path: &Path) -> Result<Option<RecordingFile>, std::io::Error> {
    // Opening a pipe would block until another process writes to it.
    if !fs_err::metadata(path)?.is_file() {
        return Ok(None);
    }
    let mut head = Vec::new();
    fs_err::File::open(path)?
        .take(HEAD_BYTES)
        .read_to_end(&mut head)?;
    let format = if head.starts_with(b"SQLite format 3\0") {
        opencode::is_one(path).then_some(RecordingFormat::OpenCode)
    } else {
        let head = String::from_utf8_lossy(&head);
        head.lines().take(HEAD_LINES).find_map(format_of_line)
    };
    Ok(format.map(|format| RecordingFile {
        path: path.to_owned(),
        format,
    }))
}

fn format_of_line(line: &str) -> Option<RecordingFormat> {
    let value: Value = serde_json::from_str(line).ok()?;
    let has = |key: &str| value.get(key).is_some();
    if text(&value, "t") == "session" && has("host") {
        return Some(RecordingFormat::Ctrace);
    }
    if has("payload") && has("timestamp") && has("type") {
        return Some(RecordingFormat::Codex);
    }
    if has("sessionId") && has("projectHash") {
        return Some(RecordingFormat::Gemini);
    }
    if has("sessionId") && has("type") && (has("uuid") || has("leafUuid") || has("parentUuid")) {
        return Some(RecordingFormat::Claude);
    }
    None
}
