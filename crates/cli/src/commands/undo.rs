//! `flame undo`

use clap::Args;
use flamestack_engine::Request;

use super::grant;
use crate::failure::Failure;
use crate::output::Output;
use crate::workplace::Workplace;

/// Take back the last command of this session
///
/// Said again, it takes back the command before that, and so on. An undo is not itself undone:
/// there is no redo. It is refused when somebody has built on the command since. Nothing leaves
/// the journal.
#[derive(Args)]
pub(crate) struct Undo {}

impl Undo {
    pub(crate) fn run(self, place: &Workplace, output: &mut Output) -> Result<(), Failure> {
        grant(place, output, &Request::Undo)?;
        Ok(())
    }
}
