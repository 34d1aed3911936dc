//! `flame completions` and `flame man`

use std::path::PathBuf;

use clap::{Args, CommandFactory};

use crate::args::Cli;
use crate::failure::Failure;
use crate::output::Output;

/// Print completions for a shell
///
/// For example `flame completions bash > ~/.local/share/bash-completion/completions/flame`.
#[derive(Args)]
pub(crate) struct Completions {
    /// Which shell
    shell: clap_complete::Shell,
}

impl Completions {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "flame", &mut script);
        output.text(&String::from_utf8_lossy(&script))
    }
}

/// Write the manual pages into a directory
#[derive(Args)]
pub(crate) struct Man {
    /// Where to
    dir: PathBuf,
}

impl Man {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        fs_err::create_dir_all(&self.dir)?;
        clap_mangen::generate_to(Cli::command(), &self.dir)?;
        output.line(format!("The manual pages are in {}.", self.dir.display()))
    }
}
