//! `flame export`

use std::path::{Path, PathBuf};

use clap::Args;
use flamestack_core::frame::{Frame, LogEntry, Status};
use flamestack_engine::views::{self, counted};
use flamestack_hosts::predecessor::{Existing, export};
use serde_json::json;

use crate::failure::Failure;
use crate::output::Output;
use crate::workplace::Workplace;

/// Write all frames as files that other tools read
///
/// Writes DIR/.opencode/stack/state.json, frames/ and the logs of finished frames as Markdown. Fields
/// that those tools do not know go into an object of their own and raw text into raw/, so that `flame
/// import` restores every frame.
#[derive(Args)]
pub(crate) struct Export {
    /// The folder to write into
    #[arg(value_name = "DIR")]
    to: PathBuf,
    /// Replace files that are there
    #[arg(long)]
    force: bool,
}

impl Export {
    pub(crate) fn run(self, place: &Workplace, output: &mut Output) -> Result<(), Failure> {
        let (frames, sessions, imports) = place.engine.read(|reading| {
            let mut ids = Vec::new();
            reading.all_rows(&mut |row| {
                ids.push(row.frame.id);
                Ok(())
            })?;
            let mut frames = Vec::with_capacity(ids.len());
            for id in ids {
                frames.extend(reading.whole_frame(&id)?);
            }
            Ok((frames, reading.sessions(false)?, reading.imports()?))
        })?;
        let exported = export(
            &frames,
            &sessions,
            imports.last().map(String::as_str),
            &log_path,
        );
        let existing = if self.force {
            Existing::Replace
        } else {
            Existing::Keep
        };
        let dir = exported
            .write(&self.to, existing)
            .map_err(|error| Failure::Told {
                usage: false,
                message: error.to_string(),
                hint: error
                    .hint()
                    .or_else(|| Some("name a folder that can be written".to_owned())),
            })?;
        let logs = write_logs(place, &frames, &dir)?;
        write_raw_texts(place, &frames, &dir)?;
        if output.is_json() {
            return output.data(&json!({
                "frames": frames.len(),
                "logs": logs,
                "to": dir.display().to_string(),
            }));
        }
        output.line(format!(
            "Exported {} and {} to {}.",
            counted(frames.len() as u64, "frame", "frames"),
            counted(logs, "log", "logs"),
            dir.display()
        ))
    }
}

/// Where the log of a finished frame stands, as seen from `state.json`. What an imported file said
/// about logs, or did not say, stays as it was.
fn log_path(frame: &Frame) -> Option<String> {
    (has_log(frame) && frame.foreign.is_none()).then(|| log_name(frame))
}

fn has_log(frame: &Frame) -> bool {
    matches!(frame.status, Status::Completed | Status::Failed)
}

fn log_name(frame: &Frame) -> String {
    format!("logs/{}.md", frame.id)
}

/// Writes the raw text of all frames beside the exported state, each under its own name.
fn write_raw_texts(place: &Workplace, frames: &[Frame], dir: &Path) -> Result<(), Failure> {
    let blobs = place.engine.blobs();
    for entry in frames.iter().flat_map(|frame| &frame.log) {
        if let Some(text) = blobs.get(&entry.blob)? {
            fs_err::create_dir_all(dir.join(RAW))?;
            fs_err::write(dir.join(RAW).join(raw_name(entry)), text)?;
        }
    }
    Ok(())
}

/// The folder of raw text in an export.
pub(super) const RAW: &str = "raw";

/// The file name of a piece of raw text in an export.
pub(super) fn raw_name(entry: &LogEntry) -> String {
    format!("{}.txt", entry.blob)
}

/// Writes the logs of finished frames beside the exported state, and says how many there are.
fn write_logs(place: &Workplace, frames: &[Frame], dir: &Path) -> Result<u64, Failure> {
    let finished: Vec<&Frame> = frames.iter().filter(|frame| has_log(frame)).collect();
    if !finished.is_empty() {
        fs_err::create_dir_all(dir.join("logs"))?;
    }
    for frame in &finished {
        let log = place
            .engine
            .read(|reading| views::log::gather(reading, &frame.id))?;
        fs_err::write(dir.join(log_name(frame)), views::log::markdown(&log))?;
    }
    Ok(finished.len() as u64)
}
