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
        let receipt = grant(place, output, &Request::Activate(self.frame))?;
        // A frame that is in progress already is only turned to; that is worth a word too.
        let began = receipt
            .events
            .iter()
            .any(|recorded| matches!(recorded.event, flamestack_core::Event::FrameStarted { .. }));
        if !receipt.events.is_empty() && !began && !output.is_json() {
            output.line(format!("{} is the active frame now", place.actor.session))?;
        }
        Ok(())
    }
}
