//! `flame activate`

use clap::Args;
use flamestack_engine::Request;

use super::grant;
use crate::failure::Failure;
use crate::output::Output;
use crate::workplace::Workplace;

/// Turn to a frame, beginning it if it is planned
#[derive(Args)]
pub(crate) struct Activate {
    /// Which frame
    frame: String,
}

impl Activate {
    pub(crate) fn run(self, place: &Workplace, output: &mut Output) -> Result<(), Failure> {
        grant(place, output, &Request::Activate(self.frame))?;
        Ok(())
    }
}
