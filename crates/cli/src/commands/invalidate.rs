//! `flame invalidate`

use clap::Args;
use flamestack_engine::Request;

use super::grant;
use crate::failure::Failure;
use crate::output::Output;
use crate::workplace::Workplace;

/// Give up a frame and everything planned below it
///
/// Work in progress below it is reported and left alone; finished work stays as it is.
#[derive(Args)]
pub(crate) struct Invalidate {
    /// Which frame (default: the active one)
    frame: Option<String>,
    /// Why it is no longer wanted
    #[arg(short, long, value_name = "WHY")]
    reason: String,
}

impl Invalidate {
    pub(crate) fn run(self, place: &Workplace, output: &mut Output) -> Result<(), Failure> {
        grant(
            place,
            output,
            &Request::Invalidate {
                frame: self.frame,
                reason: self.reason,
            },
        )?;
        Ok(())
    }
}
