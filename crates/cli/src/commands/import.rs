//! `flame import`

mod sessions;

use std::cell::Cell;
use std::path::{Path, PathBuf};

use clap::Args;
use flamestack_core::Author;
use flamestack_core::command::Command;
use flamestack_core::frame::Frame;
use flamestack_core::id::BlobId;
use flamestack_engine::views::counted;
use flamestack_engine::{EngineError, exactly};
use flamestack_hosts::legacy::{
    ImportTarget, Layout, LegacyReadError, LegacyStack, PreparedImport,
};
use flamestack_hosts::recordings::{RecordingFile, RecordingFormat, find};
use flamestack_store::TextHold;
use serde_json::json;

use super::export::{DROPPED, RAW, raw_name};
use super::{existing, only_the_user};
use crate::command_context::CommandContext;
use crate::failure::Failure;
use crate::output::Output;

/// Import recorded sessions, or frames from another tool's files
///
/// Reads the sessions that Claude Code, Codex, Gemini CLI and OpenCode record (transcripts,
/// rollouts, chats and the database), and the neutral ctrace format. Each session becomes a frame
/// with its prompts, to-do items and subagents below it.
///
/// Also reads `.opencode/stack/`, `.opencode/flame/` and `.flame/` (state.json and frames/), and
/// the output of `flame export`. Former ids stay valid as names.
///
/// Existing frames are left alone, so a second import adds only what is new.
#[derive(Args)]
pub(crate) struct Import {
    /// The file, project or folder to read from
    #[arg(value_name = "PATH")]
    from: PathBuf,
    /// Include sessions of other projects, if a folder or database contains several
    #[arg(long)]
    all: bool,
    /// Read only the files in frames/, if state.json is damaged
    #[arg(long)]
    frames_only: bool,
}

impl Import {
    pub(crate) fn run(self, ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
        existing(&self.from)?;
        if !self.from.is_file() && !self.from.is_dir() {
            return Err(Failure::refused(
                format!("{} is neither a file nor a folder", self.from.display()),
                "name a file or a folder",
            ));
        }
        let layout = Layout::find(&self.from);
        // A folder with a stack is imported as one, even if there are recordings somewhere below it.
        if self.from.is_file() || layout.is_err() {
            let sources = find(&self.from).unwrap_or_default();
            if !sources.is_empty() {
                if ctx.actor.by == Author::Agent {
                    return Err(only_the_user(
                        "the prompts of a recording count as words of the user",
                    ));
                }
                // A file that was named is meant, whatever project it is from; a folder or database may mix projects.
                let one = |source: &RecordingFile| source.format != RecordingFormat::OpenCode;
                let chosen = self.from.is_file() && sources.iter().all(one);
                return sessions::run(ctx, output, &sources, !self.all && !chosen);
            }
        }
        let layout = layout.map_err(|error| unread(&error))?;
        let stack = if self.frames_only {
            layout.read_frames_only(ctx.engine.redactor())
        } else {
            layout.read(ctx.engine.redactor())
        };
        let stack = stack.map_err(|error| unread(&error))?;
        let reading = fitted(ctx, &stack)?;
        let brought = reading.import.frames.len();
        if brought > 0 {
            // Until the frames that refer to the texts are recorded.
            let hold = ctx.engine.logs().hold()?;
            let dropped = take_raw_texts(ctx, &hold, &reading.import.frames, &layout.state)?;
            let command = Command::Import(Box::new(reading.import));
            ctx.engine.commands().run(&ctx.actor, &command)?;
            if !dropped.is_empty() {
                let command = Command::DropBlobs(dropped);
                ctx.engine.commands().run(&ctx.actor, &command)?;
            }
        }
        if output.is_json() {
            return output.data(&json!({
                "from": layout.state.display().to_string(),
                "imported": brought,
                "known": reading.known,
                "leftovers": stack.leftovers,
                "unread": stack.unreadable.iter().map(ToString::to_string).collect::<Vec<_>>(),
            }));
        }
        output.line(format!(
            "Imported {} from {}.",
            counted(brought as u64, "frame", "frames"),
            layout.state.display()
        ))?;
        if reading.known > 0 {
            let known = counted(reading.known as u64, "frame was", "frames were");
            output.dim(format!("{known} here already and left alone."))?;
        }
        if stack.leftovers > 0 {
            let found = counted(stack.leftovers as u64, "frame was", "frames were");
            output.dim(format!("{found} only in frames/, not in state.json."))?;
        }
        for problem in &stack.unreadable {
            output.notice(&problem.to_string())?;
        }
        for other in &layout.others {
            output.notice(&format!(
                "there is also {}: import it by its own path",
                other.display()
            ))?;
        }
        Ok(())
    }
}

/// Imports the raw text that `flame export` wrote next to the state. Returns the texts that had been
/// dropped before the export.
fn take_raw_texts(
    ctx: &CommandContext,
    hold: &TextHold,
    frames: &[Frame],
    state: &Path,
) -> Result<Vec<(BlobId, u64)>, Failure> {
    let mut dropped = Vec::new();
    let Some(dir) = state.parent() else {
        return Ok(dropped);
    };
    for entry in frames.iter().flat_map(|frame| &frame.log) {
        let file = dir.join(RAW).join(raw_name(entry));
        if file.is_file() {
            let bytes = fs_err::read(&file)?;
            ctx.engine
                .logs()
                .keep_text(hold, &String::from_utf8_lossy(&bytes))?;
        } else if file.with_extension(DROPPED).is_file()
            && ctx.engine.blobs().get(&entry.blob)?.is_none()
        {
            dropped.push((entry.blob.clone(), entry.bytes));
        }
    }
    dropped.sort();
    dropped.dedup();
    Ok(dropped)
}

/// Fits imported frames into the existing tree.
fn fitted(ctx: &CommandContext, stack: &LegacyStack) -> Result<PreparedImport, Failure> {
    let mut outcome = None;
    ctx.engine.read(|reading| {
        let failed = Cell::new(None);
        let mut fresh = || loop {
            let id = ctx.engine.clock().draw_id();
            if !unless_failed(&failed, reading.is_taken(&id)) {
                return id;
            }
        };
        outcome = Some(stack.import(&mut ImportTarget {
            fresh: &mut fresh,
            known: &|name| unless_failed(&failed, exactly(reading, name)),
            last_rank: &|parent| unless_failed(&failed, reading.last_rank(parent)),
        }));
        failed.take().map_or(Ok(()), Err)
    })?;
    match outcome {
        Some(reading) => reading.map_err(|error| unread(&error)),
        None => Err(EngineError::Internal("nothing was read").into()),
    }
}

/// Returns an answer of the store. After an error, keeps that for later and returns an empty answer.
fn unless_failed<T: Default, E: Into<EngineError>>(
    failed: &Cell<Option<EngineError>>,
    answer: Result<T, E>,
) -> T {
    answer.unwrap_or_else(|error| {
        let first = failed.take().unwrap_or_else(|| error.into());
        failed.set(Some(first));
        T::default()
    })
}

fn unread(error: &LegacyReadError) -> Failure {
    if let LegacyReadError::NotFound { dir, .. } = error {
        return Failure::refused(
            format!(
                "there is nothing to import in {}: no recorded session, and no stack in \
                 .opencode/stack, .opencode/flame, .flame or the folder itself",
                dir.display()
            ),
            "name a recording, a folder of them such as ~/.claude/projects, or the folder that \
             holds a `state.json`",
        );
    }
    let io = match error {
        LegacyReadError::Io(error) => flamestack_engine::error::io_hint(error),
        _ => None,
    };
    Failure::failed(error.to_string(), error.hint().or(io))
}
