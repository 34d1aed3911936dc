//! `flame note`

use std::io::Read;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use flamestack_engine::request::{Learned, Request};
use flamestack_engine::views::counted;

use super::{grant, tell, text_or_stdin};
use crate::failure::Failure;
use crate::output::Output;
use crate::workplace::Workplace;

/// Record what was learned in a frame
#[derive(Args)]
pub(crate) struct Note {
    /// Record it in this frame instead of the active one
    #[arg(short, long, value_name = "FRAME", global = true)]
    frame: Option<String>,
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Something that was decided
    Decision {
        /// What was decided; `-` reads standard input
        text: String,
        /// Why
        #[arg(short, long)]
        why: Option<String>,
    },
    /// Files or resources that were produced
    Artifact {
        /// Paths or addresses
        #[arg(required = true)]
        paths: Vec<String>,
    },
    /// Something that was tried and did not work
    Failed {
        /// What was tried; `-` reads standard input
        text: String,
        /// Why it did not work
        #[arg(short, long)]
        why: Option<String>,
    },
    /// A command that ran, as evidence
    Command {
        /// The command line
        command: String,
        /// Its exit code
        #[arg(short, long, value_name = "N", allow_negative_numbers = true)]
        exit_code: i32,
    },
    /// A test that ran, as evidence
    Test {
        /// The test's name
        #[arg(value_name = "NAME")]
        id: String,
        /// It failed
        #[arg(long)]
        failed: bool,
    },
    /// A commit that holds the work, as evidence
    Commit {
        /// Its hash
        hash: String,
    },
    /// Something you say that is to be kept to, in your own words
    ///
    /// Contexts show it in the frame and in everything below it. When the frame is popped, it
    /// leaves the contexts with the frame; what is to hold for all of the work belongs to the root
    /// (`--frame`).
    Directive {
        /// What is to be kept to; `-` reads standard input
        text: String,
    },
    /// Raw text, such as the output of a build, kept with the frame
    ///
    /// Text is UTF-8: bytes that are not are replaced, and counted in a note.
    Log {
        /// The file; `-` reads standard input
        file: PathBuf,
        /// What it is called (default: the file's name)
        #[arg(short, long)]
        label: Option<String>,
    },
}

impl Note {
    pub(crate) fn run(self, place: &Workplace, output: &mut Output) -> Result<(), Failure> {
        let frame = self.frame;
        let notes = match self.what {
            What::Decision { text, why } => vec![Learned::Decision(text_or_stdin(&text)?, why)],
            What::Artifact { paths } => paths.into_iter().map(Learned::Artifact).collect(),
            What::Failed { text, why } => vec![Learned::FailedAttempt(text_or_stdin(&text)?, why)],
            What::Command { command, exit_code } => vec![Learned::Command(command, exit_code)],
            What::Test { id, failed } => vec![Learned::Test(id, !failed)],
            What::Commit { hash } => vec![Learned::Commit(hash)],
            What::Directive { text } => vec![Learned::Directive(text_or_stdin(&text)?)],
            What::Log { file, label } => return log(place, output, frame.as_deref(), &file, label),
        };
        for note in notes {
            grant(
                place,
                output,
                &Request::Note {
                    frame: frame.clone(),
                    note,
                },
            )?;
        }
        Ok(())
    }
}

fn log(
    place: &Workplace,
    output: &mut Output,
    frame: Option<&str>,
    file: &std::path::Path,
    label: Option<String>,
) -> Result<(), Failure> {
    let (bytes, name) = if file.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes)?;
        (bytes, "standard input".to_owned())
    } else {
        let name = file
            .file_name()
            .unwrap_or(file.as_os_str())
            .to_string_lossy()
            .into_owned();
        (fs_err::read(file)?, name)
    };
    // The output of real programs has stray bytes in it; that is no reason to lose the rest.
    let text = String::from_utf8_lossy(&bytes);
    let strays = strays(&bytes);
    let label = label.unwrap_or(name);
    let receipt = place.engine.log_text(&place.actor, frame, &label, &text)?;
    tell(place, output, &receipt)?;
    if strays > 0 {
        let strays = counted(strays as u64, "byte is", "bytes are");
        output.notice(&format!(
            "{strays} not UTF-8 text and kept as \u{fffd}; a file that is no text is better named as \
             an artifact"
        ))?;
    }
    Ok(())
}

/// How many bytes are no part of UTF-8 text.
fn strays(bytes: &[u8]) -> usize {
    bytes.utf8_chunks().map(|chunk| chunk.invalid().len()).sum()
}
