//! `flame completions` and `flame man`

use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::env::Shells;
use serde_json::json;

use crate::args::Cli;
use crate::failure::Failure;
use crate::output::Output;

/// Print completions for a shell
///
/// They complete commands and options, and the frames, sessions, settings and tools that exist. Put
/// this into the start-up file of your shell: `source <(flame completions bash)`, the same with `zsh`,
/// or `flame completions fish | source`.
#[derive(Args)]
pub(crate) struct Completions {
    /// The shell
    shell: clap_complete::Shell,
}

impl Completions {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let name = self.shell.to_string();
        let shells = Shells::builtins();
        let Some(shell) = shells.completer(&name) else {
            return Err(Failure::usage(
                format!("there are no completions for {name}"),
                "use bash, elvish, fish, powershell or zsh",
            ));
        };
        let mut script = Vec::new();
        shell.write_registration("COMPLETE", "flame", "flame", "flame", &mut script)?;
        let script = String::from_utf8_lossy(&script);
        if output.is_json() {
            return output.data(&json!({ "shell": name, "script": script }));
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
