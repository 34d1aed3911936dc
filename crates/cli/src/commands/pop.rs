//! `flame pop`

use clap::{Args, ValueEnum};
use flamestack_core::Outcome;
use flamestack_engine::Request;

use super::summarize::summed_up;
use super::{grant, text_or_stdin};
use crate::failure::Failure;
use crate::output::Output;
use crate::workplace::Workplace;

/// Finish the active frame with its results and return to its parent
#[derive(Args)]
pub(crate) struct Pop {
    /// What was done or learned; `-` reads standard input. With `--summarize` it may be left out
    #[arg(required_unless_present = "summarize")]
    results: Option<String>,
    /// Sum up what is kept of the frame: behind the results, or instead of them
    #[arg(long)]
    summarize: bool,
    /// How it ended
    #[arg(short, long, value_enum, default_value_t = How::Completed)]
    status: How,
    /// The results in dense form (derived when absent)
    #[arg(long, value_name = "TEXT")]
    compacted: Option<String>,
    /// Finish this frame instead of the active one
    #[arg(short, long, value_name = "FRAME")]
    frame: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum How {
    /// The goal was reached
    Completed,
    /// It was not, and will not be; what is planned below goes with it
    Failed,
    /// It waits for something; the frame can be taken up again
    Blocked,
}

impl Pop {
    pub(crate) fn run(self, place: &Workplace, output: &mut Output) -> Result<(), Failure> {
        let outcome = match self.status {
            How::Completed => Outcome::Completed,
            How::Failed => Outcome::Failed,
            How::Blocked => Outcome::Blocked,
        };
        let results = self.results.as_deref().map(text_or_stdin).transpose()?;
        let (frame, compacted) = (self.frame, self.compacted);
        match results {
            Some(results) if !self.summarize => {
                let request = Request::Pop {
                    frame,
                    outcome,
                    results,
                    compacted,
                };
                grant(place, output, &request)?;
                Ok(())
            }
            results => {
                let request = Request::AwaitSummary {
                    frame,
                    outcome: Some(outcome),
                    results,
                    compacted,
                    note: None,
                };
                summed_up(place, output, &request)
            }
        }
    }
}
