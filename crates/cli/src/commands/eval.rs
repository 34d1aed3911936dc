//! `flame eval`

use clap::Args;

use crate::failure::Failure;
use crate::output::Output;

/// Measure on recorded sessions what compactions lost and what a brief would have kept
#[derive(Args)]
pub(crate) struct Eval {}

impl Eval {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        output.line("")
    }
}
