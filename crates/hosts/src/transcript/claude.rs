//! Claude Code's transcripts: `~/.claude/projects/…/<session>.jsonl`, with the subagents' own files
//! in `<session>/subagents/`, or their lines among the session's in older versions.

mod lines;
mod tasks;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use flamestack_core::SessionRef;
use serde_json::Value;

use self::lines::Talk;
use super::json::{some, text};
use super::lines::Lines;
use super::{About, Item, ReadError, Report, Taker};

/// The host's name.
pub const HOST: &str = "claude-code";

/// Kinds of lines that tell of the program and not of the conversation.
const CHATTER: [&str; 17] = [
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
    "worktree-state",
];

/// Reads a session with its subagents.
pub fn read(path: &Path, take: &mut Taker<'_>) -> Result<Report, ReadError> {
    let mut report = Report::default();
    let mut files = subagents(path);
    let by_call = files
        .iter()
        .filter_map(|(agent, file)| Some((file.call.clone()?, agent.clone())))
        .collect();
    let mut talk = Talk::new(by_call);
    let mut lines = Lines::open(path)?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let mut session = None;
    while let Some(line) = lines.next(&mut report)? {
        let value = &line.value;
        let mut items = Vec::new();
        if session.is_none() {
            let id = some(value, "sessionId");
            let Some(known) = id.and_then(|id| named(&stem, &id)) else {
                continue;
            };
            items.push(Item::Session(About {
                session: known.clone(),
                parent: None,
                directory: some(value, "cwd"),
            }));
            session = Some(known);
        }
        if text(value, "type").is_empty() {
            report.problem(path, format!("line {}", line.number), "has no type");
        } else if is_wordless(value) {
            report.problem(path, format!("line {}", line.number), WORDLESS);
        } else if !talk.line(value, line.number, &mut items) && !is_chatter(value) {
            report.unknown(text(value, "type"));
        }
        let position = lines.position;
        for item in items {
            // A subagent's own words come before what its parent was given.
            if let Some(agent) = talk.returning(&item)
                && let Some(file) = files.remove(&agent)
                && inner(&file.path, &agent, position, &mut report, take)?
            {
                return Ok(report);
            }
            if take(item, position).is_break() {
                return Ok(report);
            }
        }
    }
    let position = lines.position;
    for (agent, file) in files.into_iter().filter(|_| session.is_some()) {
        if inner(&file.path, &agent, position, &mut report, take)? {
            return Ok(report);
        }
    }
    let mut items = Vec::new();
    talk.end(&mut items);
    items.extend(session.map(Item::Ended));
    for item in items {
        if take(item, position).is_break() {
            break;
        }
    }
    Ok(report)
}

/// The session of a file: by its name, as a session that was resumed begins with the lines of
/// another.
fn named(stem: &str, id: &str) -> Option<SessionRef> {
    let is_uuid = stem.len() == 36 && stem.bytes().filter(|byte| *byte == b'-').count() == 4;
    let id = if is_uuid { stem } else { id };
    format!("{HOST}:{id}").parse().ok()
}

/// What is wrong with a message whose words are no text.
const WORDLESS: &str = "has a message without words";

/// Whether a line should hold a message and does not, or one whose words are something else.
fn is_wordless(value: &Value) -> bool {
    let content = value.pointer("/message/content");
    matches!(text(value, "type"), "user" | "assistant")
        && !content.is_some_and(|content| content.is_string() || content.is_array())
}

fn is_chatter(value: &Value) -> bool {
    let kind = text(value, "type");
    CHATTER.contains(&kind) || kind.starts_with("api-request") || kind == "system"
}

/// A subagent's own file.
struct Subagent {
    path: PathBuf,
    /// The call that began it.
    call: Option<String>,
}

/// The files of a session's subagents, by the agent's id.
fn subagents(path: &Path) -> BTreeMap<String, Subagent> {
    let dir = path.with_extension("").join("subagents");
    let mut found = BTreeMap::new();
    let entries = fs_err::read_dir(dir).into_iter().flatten();
    for entry in entries.filter_map(Result::ok) {
        let path = entry.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let agent = name
            .strip_prefix("agent-")
            .and_then(|name| name.strip_suffix(".jsonl"));
        if let Some(agent) = agent {
            let meta = fs_err::read_to_string(path.with_extension("meta.json")).ok();
            let meta: Option<Value> = meta.and_then(|meta| serde_json::from_str(&meta).ok());
            let call = meta.and_then(|meta| some(&meta, "toolUseId"));
            found.insert(
                agent.to_owned(),
                Subagent {
                    path: path.clone(),
                    call,
                },
            );
        }
    }
    found
}

/// Reads a subagent's file; whether the taker has had enough.
fn inner(
    path: &Path,
    agent: &str,
    position: u64,
    report: &mut Report,
    take: &mut Taker<'_>,
) -> Result<bool, ReadError> {
    let mut lines = Lines::open(path)?;
    let mut talk = Talk::inside(agent);
    loop {
        let mut items = Vec::new();
        let Some(line) = lines.next(report)? else {
            talk.end(&mut items);
            for item in items {
                if take(item, position).is_break() {
                    return Ok(true);
                }
            }
            return Ok(false);
        };
        if is_wordless(&line.value) {
            report.problem(path, format!("line {}", line.number), WORDLESS);
        } else if !talk.line(&line.value, line.number, &mut items) && !is_chatter(&line.value) {
            report.unknown(text(&line.value, "type"));
        }
        for item in items {
            if take(item, position).is_break() {
                return Ok(true);
            }
        }
    }
}
