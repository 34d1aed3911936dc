//! `flame summarize`

use std::time::Duration;

use clap::Args;
use flamestack_engine::Request;

use super::tell;
use crate::failure::Failure;
use crate::output::Output;
use crate::workplace::Workplace;

/// Sum up what is kept of a frame, as a checkpoint; the frame goes on
///
/// No model is asked. `flame show` tells the summary until the frame has results.
#[derive(Args)]
pub(crate) struct Summarize {
    /// Which frame (default: the active one)
    frame: Option<String>,
    /// Why, in a few words
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

impl Summarize {
    pub(crate) fn run(self, place: &Workplace, output: &mut Output) -> Result<(), Failure> {
        let request = Request::AwaitSummary {
            frame: self.frame,
            outcome: None,
            results: None,
            compacted: None,
            note: self.note,
        };
        summed_up(place, output, &request)
    }
}

/// Grants a request that waits for a summary, and has it at once: at a terminal nobody else makes
/// one.
pub(super) fn summed_up(
    place: &Workplace,
    output: &mut Output,
    request: &Request,
) -> Result<(), Failure> {
    place.engine.execute(&place.actor, request)?;
    for receipt in place.engine.give_up_waiting(&place.actor, Duration::ZERO)? {
        tell(place, output, &receipt)?;
    }
    Ok(())
}
