//! `flame bind` and `flame unbind`

use clap::Args;
use flamestack_core::SessionRef;
use flamestack_engine::{EngineError, Request};

use super::grant;
use crate::failure::Failure;
use crate::output::Output;
use crate::workplace::Workplace;

/// Make a frame and a host session one
///
/// From then on the session's name stands for the frame wherever a frame is named, and a session
/// that works on nothing turns to it.
#[derive(Args)]
pub(crate) struct Bind {
    /// Which frame
    frame: String,
    /// Which session, as `host:id`
    #[arg(value_name = "SESSION")]
    bound: String,
}

impl Bind {
    pub(crate) fn run(self, place: &Workplace, output: &mut Output) -> Result<(), Failure> {
        let session: SessionRef = self.bound.parse().map_err(EngineError::BadSession)?;
        grant(
            place,
            output,
            &Request::Bind {
                frame: self.frame,
                session,
            },
        )?;
        Ok(())
    }
}

/// Part a host session from its frame
#[derive(Args)]
pub(crate) struct Unbind {
    /// Which session, as `host:id`
    #[arg(value_name = "SESSION")]
    bound: String,
}

impl Unbind {
    pub(crate) fn run(self, place: &Workplace, output: &mut Output) -> Result<(), Failure> {
        let session: SessionRef = self.bound.parse().map_err(EngineError::BadSession)?;
        grant(place, output, &Request::Unbind(session))?;
        Ok(())
    }
}
