//! `flame rebuild`

use std::path::PathBuf;

use clap::Args;
use flamestack_engine::EngineError;
use flamestack_engine::views::counted;
use flamestack_store::{Rebuilt, Recovered};
use serde_json::json;

use crate::command_context::CommandContext;
use crate::failure::Failure;
use crate::output::{Output, Progress};

/// Rebuild the projections from the journal, or recover a damaged store
///
/// If a store was set aside because it could not be read, its readable events are recovered
/// first. The damaged files stay in place. Exits with 1 if some events could not be recovered.
#[derive(Args)]
pub(crate) struct Rebuild {
    /// Recover from this set-aside store
    #[arg(long, value_name = "DIR", conflicts_with = "recover")]
    from: Option<PathBuf>,
    /// Set the current store aside as damaged and recover what can be read of it
    #[arg(long)]
    recover: bool,
}

impl Rebuild {
    pub(crate) fn run(self, ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
        // Damage found only now is set aside first and recovered in the same run.
        match ctx.engine.read(|reading| Ok(reading.position()?)) {
            Ok(_) | Err(EngineError::SetAside { .. }) => {}
            // With `--recover` the user already knows that the store is damaged.
            Err(_) if self.recover => {}
            Err(error) => return Err(error.into()),
        }
        let sources = match self.from {
            Some(from) => vec![from],
            None if self.recover => match ctx.engine.maintenance().set_aside()? {
                Some(damaged) => vec![damaged],
                None => ctx.engine.maintenance().set_aside_stores()?,
            },
            None => ctx.engine.maintenance().set_aside_stores()?,
        };
        let mut recovered = Vec::new();
        for source in sources {
            let found = Progress::during("recovering", |progress| {
                ctx.engine.maintenance().recover(&source, progress)
            })?;
            recovered.push((source, found));
        }
        let rebuilt = Progress::during("folding", |progress| {
            ctx.engine.maintenance().rebuild(progress)
        })?;
        if output.is_json() {
            output.data(&json!({
                "events": rebuilt.events,
                "frames": rebuilt.frames,
                "recovered": recovered.iter().map(|(from, found)| json!({
                    "from": from.display().to_string(),
                    "events": found.events,
                    "lost": found.lost,
                    "endMissing": found.cut,
                })).collect::<Vec<_>>(),
            }))?;
        } else {
            print(output, &recovered, &rebuilt)?;
        }
        // Nothing can be done about it, but a script should notice.
        if recovered.iter().all(|(_, found)| found.is_whole()) {
            Ok(())
        } else {
            Err(Failure::Attention)
        }
    }
}

fn print(
    output: &mut Output,
    recovered: &[(PathBuf, Recovered)],
    rebuilt: &Rebuilt,
) -> Result<(), Failure> {
    for (from, found) in recovered {
        let lost = match (found.events, found.lost) {
            (0, _) => "nothing in it could be read".to_owned(),
            (_, 0) => "no gaps between them".to_owned(),
            (_, n) => format!("{} could not be read", counted(n, "event", "events")),
        };
        output.line(format!(
            "Recovered {} from {}; {lost}.",
            counted(found.events, "event", "events"),
            from.display()
        ))?;
        if found.events > 0 && !found.is_whole() {
            output.line(if found.cut {
                "The end of that file is missing, with everything written after the last of them."
            } else {
                "Anything written after the last of them is no longer in the file."
            })?;
        }
    }
    output.line(format!(
        "Rebuilt {} from {}.",
        counted(rebuilt.frames, "frame", "frames"),
        counted(rebuilt.events, "event", "events")
    ))
}
