//! `flame pop`

use clap::{Args, ValueEnum};
use flamestack_core::Outcome;
use flamestack_engine::Request;

use super::{grant, text_or_stdin};
use crate::failure::Failure;
use crate::output::Output;
use crate::workplace::Workplace;

/// Finish the active frame with its results and return to its parent
#[derive(Args)]
pub(crate) struct Pop {
    /// What was done or learned; `-` reads standard input
    results: String,
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
        let request = Request::Pop {
            frame: self.frame,
            outcome: match self.status {
                How::Completed => Outcome::Completed,
                How::Failed => Outcome::Failed,
                How::Blocked => Outcome::Blocked,
            },
            results: text_or_stdin(&self.results)?,
            compacted: self.compacted,
        };
        grant(place, output, &request)?;
        Ok(())
    }
}
