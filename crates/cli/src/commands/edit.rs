//! `flame edit`

use clap::Args;
use flamestack_engine::request::{Correction, Request};

use super::{grant, text_or_stdin};
use crate::failure::Failure;
use crate::output::Output;
use crate::workplace::Workplace;

/// Correct a frame's goal, or the results of a finished one
///
/// Every version stays in the frame's log.
#[derive(Args)]
pub(crate) struct Edit {
    /// Which frame (default: the active one)
    frame: Option<String>,
    /// The new title
    #[arg(short, long, value_name = "TEXT")]
    title: Option<String>,
    /// The new criteria; `-` reads standard input
    #[arg(short, long, value_name = "TEXT")]
    criteria: Option<String>,
    /// The new criteria in dense form
    #[arg(long, value_name = "TEXT")]
    criteria_compacted: Option<String>,
    /// The new results; `-` reads standard input
    #[arg(short, long, value_name = "TEXT")]
    results: Option<String>,
    /// The new results in dense form
    #[arg(long, value_name = "TEXT")]
    results_compacted: Option<String>,
}

impl Edit {
    pub(crate) fn run(self, place: &Workplace, output: &mut Output) -> Result<(), Failure> {
        let edit = Correction {
            title: self.title,
            criteria: self.criteria.as_deref().map(text_or_stdin).transpose()?,
            criteria_compacted: self.criteria_compacted,
            results: self.results.as_deref().map(text_or_stdin).transpose()?,
            results_compacted: self.results_compacted,
        };
        grant(
            place,
            output,
            &Request::Edit {
                frame: self.frame,
                edit,
            },
        )?;
        Ok(())
    }
}
