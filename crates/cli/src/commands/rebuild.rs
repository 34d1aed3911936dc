//! `flame rebuild`

use std::path::PathBuf;

use clap::Args;
use flamestack_engine::EngineError;
use flamestack_engine::views::counted;
use flamestack_store::{Rebuilt, Recovered};
use serde_json::json;

use crate::failure::Failure;
use crate::output::{Output, Progress};
use crate::workplace::Workplace;

/// Fold the journal into fresh projections, or recover a damaged store
///
/// Where a store was set aside because it could not be read, its readable events are brought
/// back first. The damaged files stay where they are. Exits with 1 where not everything came back.
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
    pub(crate) fn run(self, place: &Workplace, output: &mut Output) -> Result<(), Failure> {
        // Damage that shows only now is set aside first, and recovered in the same go.
        match place.engine.read(|reading| Ok(reading.position()?)) {
            Ok(_) | Err(EngineError::SetAside { .. }) => {}
            // Whoever says that it is damaged need not hear what is wrong with it.
            Err(_) if self.recover => {}
            Err(error) => return Err(error.into()),
        }
        let sources = match self.from {
            Some(from) => vec![from],
            None if self.recover => match place.engine.put_damaged_aside()? {
                Some(damaged) => vec![damaged],
                None => place.engine.set_aside_stores()?,
            },
            None => place.engine.set_aside_stores()?,
        };
        let mut recovered = Vec::new();
        for source in sources {
            let progress = Progress::new("recovering");
            let found = place
                .engine
                .recover(&source, &mut |done, total| progress.at(done, total))?;
            recovered.push((source, found));
        }
        let rebuilt = {
            let progress = Progress::new("folding");
            place
                .engine
                .rebuild(&mut |done, total| progress.at(done, total))?
        };
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
            tell(output, &recovered, &rebuilt)?;
        }
        // Nothing can be done about it, but whoever runs this in a script should know.
        if recovered.iter().all(|(_, found)| found.is_whole()) {
            Ok(())
        } else {
            Err(Failure::Attention)
        }
    }
}

fn tell(
    output: &mut Output,
    recovered: &[(PathBuf, Recovered)],
    rebuilt: &Rebuilt,
) -> Result<(), Failure> {
    for (from, found) in recovered {
        let lost = match (found.events, found.lost) {
            (0, _) => "nothing in it could be read".to_owned(),
            (_, 0) => "none between them is missing".to_owned(),
            (_, n) => format!("{} could not be read", counted(n, "event", "events")),
        };
        output.line(format!(
            "Recovered {} from {}; {lost}.",
            counted(found.events, "event", "events"),
            from.display()
        ))?;
        if found.events > 0 {
            output.line(if found.cut {
                "The end of that file is missing, with whatever was written after the last of them."
            } else {
                "What was written after the last of them, if anything, is not in the file any more."
            })?;
        }
    }
    output.line(format!(
        "Folded {} into {}.",
        counted(rebuilt.events, "event", "events"),
        counted(rebuilt.frames, "frame", "frames")
    ))
}
