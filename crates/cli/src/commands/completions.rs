//! `flame completions` and `flame man`

use std::path::PathBuf;

use clap::{Args, CommandFactory};
use serde_json::json;

use crate::args::Cli;
use crate::failure::Failure;
use crate::output::Output;

/// Print completions for a shell
///
/// For example `flame completions bash > ~/.local/share/bash-completion/completions/flame`.
#[derive(Args)]
pub(crate) struct Completions {
    /// The shell
    shell: clap_complete::Shell,
}

impl Completions {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "flame", &mut script);
        let script = String::from_utf8_lossy(&script);
        if output.is_json() {
            return output.data(&json!({ "shell": self.shell.to_string(), "script": script }));
        }
        output.text(&script)
    }
}

/// Write the manual pages into a directory
#[derive(Args)]
pub(crate) struct Man {
    /// The directory to write to
    #[arg(value_name = "DIR")]
    to: PathBuf,
}

impl Man {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        fs_err::create_dir_all(&self.to)?;
        clap_mangen::generate_to(Cli::command(), &self.to)?;
        if output.is_json() {
            return output.data(&json!({ "dir": self.to.display().to_string() }));
        }
        output.line(format!("The manual pages are in {}.", self.to.display()))
    }
}
