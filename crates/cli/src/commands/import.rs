//! `flame import`

mod sessions;

use std::path::{Path, PathBuf};

use clap::Args;
use flamestack_core::command::Command;
use flamestack_core::frame::Frame;
use flamestack_engine::views::counted;
use flamestack_engine::{EngineError, Request, exactly};
use flamestack_hosts::predecessor::{Layout, ReadError, Reading, Stack, Target};
use flamestack_hosts::transcript::{Format, Source, find};
use serde_json::json;

use super::existing;
use super::export::{RAW, raw_name};
use crate::failure::Failure;
use crate::output::{DIM, Output, painted};
use crate::workplace::Workplace;

/// Bring in recorded sessions, or frames from another tool's files
///
/// Reads the sessions that Claude Code, Codex, Gemini CLI and OpenCode record (transcripts,
/// rollouts, chats and the database), and the neutral ctrace format. Each session becomes a frame
/// with its prompts, to-do items and subagents below it.
///
/// Also reads `.opencode/stack/`, `.opencode/flame/` and `.flame/` (state.json and frames/), and
/// what `flame export` wrote. Former ids stay valid as names.
///
/// What is here already is left alone, so a second import brings in only what is new.
#[derive(Args)]
pub(crate) struct Import {
    /// The file, project or folder to read from
    #[arg(value_name = "PATH")]
    from: PathBuf,
    /// Take sessions of other projects too, where a folder or database holds several
    #[arg(long)]
    all: bool,
    /// Read only the files in frames/, where state.json is damaged
    #[arg(long)]
    frames_only: bool,
}

impl Import {
    pub(crate) fn run(self, place: &Workplace, output: &mut Output) -> Result<(), Failure> {
        existing(&self.from)?;
        let layout = Layout::find(&self.from);
        // A folder of a stack is one even if sessions are recorded somewhere below it.
        if self.from.is_file() || layout.is_err() {
            let sources = find(&self.from).unwrap_or_default();
            if !sources.is_empty() {
                // A file was meant by whoever named it; a folder or database holds what it holds.
                let one = |source: &Source| source.format != Format::OpenCode;
                let chosen = self.from.is_file() && sources.iter().all(one);
                return sessions::run(place, output, &sources, !self.all && !chosen);
            }
        }
        let layout = layout.map_err(|error| unread(&error))?;
        let stack = if self.frames_only {
            layout.read_frames_only()
        } else {
            layout.read()
        };
        let stack = stack.map_err(|error| unread(&error))?;
        let reading = fitted(place, &stack)?;
        let brought = reading.import.frames.len();
        take_raw_texts(place, &reading.import.frames, &layout.state)?;
        if brought > 0 {
            let command = Command::Import(Box::new(reading.import));
            place
                .engine
                .execute(&place.actor, &Request::Ready(command))?;
        }
        if output.is_json() {
            return output.data(&json!({
                "from": layout.state.display().to_string(),
                "imported": brought,
                "known": reading.known,
                "leftovers": stack.leftovers,
                "unread": stack.unread.iter().map(ToString::to_string).collect::<Vec<_>>(),
            }));
        }
        output.line(format!(
            "Imported {} from {}.",
            counted(brought as u64, "frame", "frames"),
            layout.state.display()
        ))?;
        if reading.known > 0 {
            let known = counted(reading.known as u64, "frame", "frames");
            output.line(painted(
                DIM,
                format!("{known} were here already and left alone."),
            ))?;
        }
        if stack.leftovers > 0 {
            let found = counted(stack.leftovers as u64, "frame was", "frames were");
            output.line(painted(
                DIM,
                format!("{found} only in frames/, not in state.json."),
            ))?;
        }
        for problem in &stack.unread {
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

/// Takes the raw text along that an export of ours has beside its state.
fn take_raw_texts(place: &Workplace, frames: &[Frame], state: &Path) -> Result<(), Failure> {
    let Some(dir) = state.parent() else {
        return Ok(());
    };
    for entry in frames.iter().flat_map(|frame| &frame.log) {
        let file = dir.join(RAW).join(raw_name(entry));
        if file.is_file() {
            let bytes = fs_err::read(&file)?;
            place.engine.keep_text(&String::from_utf8_lossy(&bytes))?;
        }
    }
    Ok(())
}

/// What was read, fitted into the tree that is here.
fn fitted(place: &Workplace, stack: &Stack) -> Result<Reading, Failure> {
    let mut outcome = None;
    place.engine.read(|reading| {
        let mut failed = None;
        let keep = std::cell::RefCell::new(&mut failed);
        let note = |error: EngineError| {
            keep.borrow_mut().get_or_insert(error);
        };
        let known = |name: &str| {
            exactly(reading, name).unwrap_or_else(|error| {
                note(error);
                None
            })
        };
        let last_rank = |parent: Option<&flamestack_core::FrameId>| {
            reading.last_rank(parent).unwrap_or_else(|error| {
                note(error.into());
                None
            })
        };
        let mut fresh = || loop {
            let id = place.engine.clock().draw_id();
            match reading.is_taken(&id) {
                Ok(true) => {}
                Ok(false) => return id,
                Err(error) => {
                    note(error.into());
                    return id;
                }
            }
        };
        outcome = Some(stack.import(&mut Target {
            fresh: &mut fresh,
            known: &known,
            last_rank: &last_rank,
        }));
        match failed {
            Some(error) => Err(error),
            None => Ok(()),
        }
    })?;
    match outcome {
        Some(reading) => reading.map_err(|error| unread(&error)),
        None => Err(EngineError::BadInput("nothing was read".to_owned()).into()),
    }
}

fn unread(error: &ReadError) -> Failure {
    if let ReadError::NothingThere { dir, .. } = error {
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
        ReadError::Io(error) => flamestack_engine::error::io_hint(error),
        _ => None,
    };
    Failure::Told {
        usage: false,
        message: error.to_string(),
        hint: error.hint().or(io),
    }
}
