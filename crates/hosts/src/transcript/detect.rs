//! Which program recorded a file.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::json::text;
use super::opencode;

/// How much of a file is looked at.
const HEAD: u64 = 1 << 20;
/// How deep folders are searched.
const DEPTH: usize = 8;
/// How many lines of a file are looked at.
const LINES: usize = 20;

/// A program's way of recording sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
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

impl Format {
    /// The name for people.
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

/// A file of recorded sessions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    /// The file.
    pub path: PathBuf,
    /// Who recorded it.
    pub format: Format,
}

/// The recorded sessions in a file or folder, by path. Files of anything else are passed over.
pub fn find(path: &Path) -> Result<Vec<Source>, std::io::Error> {
    let mut found = Vec::new();
    if fs_err::metadata(path)?.is_dir() {
        walk(path, DEPTH, &mut found)?;
    } else {
        found.extend(source(path)?);
    }
    found.sort();
    Ok(found)
}

fn walk(dir: &Path, depth: usize, found: &mut Vec<Source>) -> Result<(), std::io::Error> {
    for entry in fs_err::read_dir(dir)? {
        let entry = entry?;
        let path = entry.path();
        // Not the target of a link: a link back up would never end.
        let kind = entry.file_type()?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if kind.is_dir() && depth > 0 {
            // These are read with the session that they belong to.
            if name != "subagents" && name != "tool-results" {
                walk(&path, depth - 1, found)?;
            }
        } else if kind.is_file() && (name.ends_with(".jsonl") || name == "opencode.db") {
            found.extend(source(&path)?);
        }
    }
    Ok(())
}

/// What a file is, if it is a record of sessions.
fn source(path: &Path) -> Result<Option<Source>, std::io::Error> {
    let mut head = Vec::new();
    fs_err::File::open(path)?
        .take(HEAD)
        .read_to_end(&mut head)?;
    let format = if head.starts_with(b"SQLite format 3\0") {
        opencode::is_one(path).then_some(Format::OpenCode)
    } else {
        let head = String::from_utf8_lossy(&head);
        head.lines().take(LINES).find_map(of_line)
    };
    Ok(format.map(|format| Source {
        path: path.to_owned(),
        format,
    }))
}

fn of_line(line: &str) -> Option<Format> {
    let value: Value = serde_json::from_str(line).ok()?;
    let has = |key: &str| value.get(key).is_some();
    if text(&value, "t") == "session" && has("host") {
        return Some(Format::Ctrace);
    }
    if has("payload") && has("timestamp") && has("type") {
        return Some(Format::Codex);
    }
    if has("sessionId") && has("projectHash") {
        return Some(Format::Gemini);
    }
    if has("sessionId") && has("type") && (has("uuid") || has("leafUuid") || has("parentUuid")) {
        return Some(Format::Claude);
    }
    None
}
