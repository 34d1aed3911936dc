//! Claude Code's transcripts: `~/.claude/projects/…/<session>.jsonl`.
//!
//! Subagents have their own files in `<session>/subagents/`; older versions write their lines
//! among those of the session.

mod lines;
mod tasks;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use flamestack_core::SessionRef;
use flamestack_core::transcript::EntryKind;
use serde_json::Value;

use self::lines::LineReader;
use super::json::{some, text};
use super::lines::{Line, Lines};
use super::{
    ReadReport, RecordedSession, RecordingError, Sink, TranscriptItem, deliver, session_ref,
};

/// The host's name.
pub const HOST: &str = "claude-code";

/// Kinds of lines about the program rather than the session.
const HOST_NOISE: [&str; 18] = [
    "agent-color",
    "agent-name",
    "attachment",
    "bridge-session",
    "content-replacement",
    "cost-state",
    "file-history-snapshot",
    "last-prompt",
    "marble-origami-commit",
    "mode",
    "permission-mode",
    "pr-link",
    "progress",
    "queue-operation",
    "saved_hook_context",
    "started",
    "system",
    "worktree-state",
];

/// Reads a session with its subagents.
pub fn read(path: &Path, sink: &mut Sink<'_>) -> Result<ReadReport, RecordingError> {
    let mut report = ReadReport::default();
    let mut subagents = subagent_files(path);
    let by_call = subagents
        .iter()
        .filter_map(|(agent, file)| Some((file.call.clone()?, agent.clone())))
        .collect();
    let mut reader = LineReader::new(by_call);
    let mut lines = Lines::open(path)?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let mut session = None;
    while let Some(line) = lines.next(&mut report)? {
        if session.is_none() {
            let id = some(&line.value, "sessionId");
            let Some(found) = id.and_then(|id| session_of(&stem, &id)) else {
                continue;
            };
            reader.items.push(TranscriptItem::Session(RecordedSession {
                session: found.clone(),
                parent: None,
                directory: some(&line.value, "cwd"),
            }));
            session = Some(found);
        }
        read_line(&mut reader, path, &line, &mut report);
        let position = lines.position;
        for item in reader.items.drain(..) {
            // A subagent's entries come before the result that its parent receives.
            if let Some(agent) = ended_subagent(&item)
                && let Some(file) = subagents.remove(agent)
                && read_subagent(&file.path, agent, position, &mut report, sink)?.is_break()
            {
                return Ok(report);
            }
            if sink(item, position).is_break() {
                return Ok(report);
            }
        }
    }
    let position = lines.position;
    for (agent, file) in subagents.into_iter().filter(|_| session.is_some()) {
        if read_subagent(&file.path, &agent, position, &mut report, sink)?.is_break() {
            return Ok(report);
        }
    }
    reader.end();
    let ended = session.map(TranscriptItem::Ended);
    // It does not matter anymore if the sink breaks.
    let _: ControlFlow<()> = deliver(reader.items.into_iter().chain(ended), position, sink);
    Ok(report)
}

/// Reads a line, or reports it.
fn read_line(reader: &mut LineReader, path: &Path, line: &Line<'_>, report: &mut ReadReport) {
    let kind = text(&line.value, "type");
    if kind.is_empty() {
        report.line_problem(path, line.number, "has no type");
    } else if lacks_text(&line.value) {
        report.line_problem(path, line.number, "has a message without text");
    } else if !reader.line(&line.value, line.number)
        && !HOST_NOISE.contains(&kind)
        && !kind.starts_with("api-request")
    {
        report.unknown(kind);
    }
}

/// Returns the session of a file. Its name is preferred, because the file of a resumed session
/// begins with the lines of the session that it continues.
fn session_of(stem: &str, id: &str) -> Option<SessionRef> {
    let is_uuid = stem.len() == 36 && stem.bytes().filter(|byte| *byte == b'-').count() == 4;
    let id = if is_uuid { stem } else { id };
    session_ref(HOST, id).ok()
}

/// Returns true if a line should hold a message and does not.
fn lacks_text(line: &Value) -> bool {
    let content = line.pointer("/message/content");
    matches!(text(line, "type"), "user" | "assistant")
        && !content.is_some_and(|content| content.is_string() || content.is_array())
}

/// Returns the subagent that has ended according to an item.
fn ended_subagent(item: &TranscriptItem) -> Option<&str> {
    match item {
        TranscriptItem::Entry(entry) => match &entry.kind {
            EntryKind::SubagentEnded { id, .. } => Some(id),
            _ => None,
        },
        _ => None,
    }
}

/// The file of a subagent.
struct SubagentFile {
    path: PathBuf,
    /// The call that started it.
    call: Option<String>,
}

/// Lists the files of a session's subagents, by the agent's id.
fn subagent_files(path: &Path) -> BTreeMap<String, SubagentFile> {
    let dir = path.with_extension("").join("subagents");
    let mut files = BTreeMap::new();
    let entries = fs_err::read_dir(dir).into_iter().flatten();
    for entry in entries.filter_map(Result::ok) {
        let path = entry.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let agent = name
            .strip_prefix("agent-")
            .and_then(|name| name.strip_suffix(".jsonl"));
        let Some(agent) = agent.map(str::to_owned) else {
            continue;
        };
        let meta = fs_err::read_to_string(path.with_extension("meta.json")).ok();
        let meta: Option<Value> = meta.and_then(|meta| serde_json::from_str(&meta).ok());
        let call = meta.and_then(|meta| some(&meta, "toolUseId"));
        files.insert(agent, SubagentFile { path, call });
    }
    files
}

/// Reads the file of a subagent.
fn read_subagent(
    path: &Path,
    agent: &str,
    position: u64,
    report: &mut ReadReport,
    sink: &mut Sink<'_>,
) -> Result<ControlFlow<()>, RecordingError> {
    let mut lines = Lines::open(path)?;
    let mut reader = LineReader::for_subagent(agent);
    while let Some(line) = lines.next(report)? {
        read_line(&mut reader, path, &line, report);
        if deliver(reader.items.drain(..), position, sink).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    reader.end();
    Ok(deliver(reader.items, position, sink))
}
