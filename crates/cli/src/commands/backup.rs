//! `flame backup`

use std::path::PathBuf;

use clap::Args;
use flamestack_engine::views::{counted, size};
use flamestack_store::Backup as Made;
use serde_json::json;

use crate::command_context::CommandContext;
use crate::failure::Failure;
use crate::output::Output;

/// Write the project's frames and raw text to one file, or restore them from it
///
/// A backup is consistent while other programs write, is verified before it gets its name, and never
/// replaces a file. It holds everything that the store holds: keep it as private. Restoring verifies
/// the file first and sets the present store aside.
#[derive(Args)]
pub(crate) struct Backup {
    /// The file to write, or to restore from
    file: PathBuf,
    /// Restore from the file instead of writing it
    #[arg(long)]
    restore: bool,
}

impl Backup {
    /// Returns true if it replaces the store.
    pub(crate) fn restores(&self) -> bool {
        self.restore
    }

    pub(crate) fn run(self, ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
        let file = self.file.display();
        let maintenance = ctx.engine.maintenance();
        if !self.restore {
            let made = maintenance.backup(&self.file)?;
            if output.is_json() {
                return output.data(&as_json(&made, None));
            }
            return output.line(format!("Backed up {} to {file}.", in_words(&made)));
        }
        super::existing(&self.file)?;
        let (restored, aside) = maintenance.restore(&self.file)?;
        let aside = aside.map(|place| place.display().to_string());
        if output.is_json() {
            return output.data(&as_json(&restored, aside.as_deref()));
        }
        output.line(format!("Restored {} from {file}.", in_words(&restored)))?;
        match aside {
            Some(place) => output.line(format!("The former store is in {place}.")),
            None => Ok(()),
        }
    }
}

fn in_words(made: &Made) -> String {
    format!(
        "{}, {} and {} ({})",
        counted(made.frames, "frame", "frames"),
        counted(made.events, "event", "events"),
        counted(made.texts, "raw text", "raw texts"),
        size(made.bytes)
    )
}

fn as_json(made: &Made, aside: Option<&str>) -> serde_json::Value {
    json!({
        "frames": made.frames,
        "events": made.events,
        "texts": made.texts,
        "bytes": made.bytes,
        "setAside": aside,
    })
}
