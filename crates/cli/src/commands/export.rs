//! `flame export`

use std::path::PathBuf;

use clap::Args;
use flamestack_engine::views::counted;
use flamestack_hosts::predecessor::{Existing, export};
use serde_json::json;

use crate::failure::Failure;
use crate::output::Output;
use crate::workplace::Workplace;

/// Write all frames as files that other tools read
///
/// Writes DIR/.opencode/stack/state.json and frames/. Fields that those tools do not know go into
/// an object of their own, so that `flame import` restores everything.
#[derive(Args)]
pub(crate) struct Export {
    /// The folder to write into
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
            &|_| None,
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
                hint: error.hint(),
            })?;
        if output.is_json() {
            return output
                .data(&json!({ "frames": frames.len(), "to": dir.display().to_string() }));
        }
        output.line(format!(
            "Exported {} to {}.",
            counted(frames.len() as u64, "frame", "frames"),
            dir.display()
        ))
    }
}
