//! `flame block` and `flame unblock`

use clap::Args;
use flamestack_engine::Request;

use super::grant;
use crate::failure::Failure;
use crate::output::Output;
use crate::workplace::Workplace;

/// Let a frame wait for something and return to its parent
#[derive(Args)]
pub(crate) struct Block {
    /// What it waits for
    reason: String,
    /// Which frame (default: the active one)
    #[arg(short, long, value_name = "FRAME")]
    frame: Option<String>,
}

impl Block {
    pub(crate) fn run(self, place: &Workplace, output: &mut Output) -> Result<(), Failure> {
        grant(
            place,
            output,
            &Request::Block {
                frame: self.frame,
                reason: self.reason,
            },
        )?;
        Ok(())
    }
}

/// End a frame's wait
#[derive(Args)]
pub(crate) struct Unblock {
    /// Which frame
    frame: String,
}

impl Unblock {
    pub(crate) fn run(self, place: &Workplace, output: &mut Output) -> Result<(), Failure> {
        grant(place, output, &Request::Unblock(self.frame))?;
        Ok(())
    }
}
