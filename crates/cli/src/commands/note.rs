//! `flame note`

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, Subcommand};
use flamestack_engine::request::{NoteInput, Request};
use flamestack_engine::views::{counted, one_line};

use super::{execute, print_receipt, text_or_stdin};
use crate::command_context::CommandContext;
use crate::complete;
use crate::failure::Failure;
use crate::output::Output;

/// Record a note in a frame: free text, a decision, a failed attempt, evidence …
///
/// `flame note "Ask Ada about the keys"` keeps a text with the frame, where `flame show` and `flame
/// search` find it. The kinds below are shown to models too.
#[derive(Args)]
#[command(
    subcommand_negates_reqs = true,
    override_usage = "flame note [OPTIONS] <TEXT>\n       flame note [OPTIONS] <COMMAND>"
)]
pub(crate) struct Note {
    /// The frame to record it in (default: the active one; for a directive its root)
    #[arg(short, long, value_name = "FRAME", global = true, add = complete::frames())]
    frame: Option<String>,
    /// A text to keep; `-` reads standard input
    #[arg(required = true, value_name = "TEXT")]
    text: Option<String>,
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Subcommand)]
enum What {
    /// Record a decision
    Decision {
        /// The decision; `-` reads standard input
        text: String,
        /// The reason
        #[arg(short, long)]
        why: Option<String>,
    },
    /// Record your approval of a file or a piece of work
    ///
    /// Briefs say `approved` of a workflow's file only where you have recorded it. An agent cannot do
    /// that: its own decisions approve nothing.
    Approval {
        /// The file or the piece of work, such as `tasks.md`
        what: String,
        /// The reason
        #[arg(short, long)]
        why: Option<String>,
    },
    /// Record files or resources that were produced
    Artifact {
        /// Paths or addresses
        #[arg(required = true)]
        paths: Vec<String>,
    },
    /// Record an attempt that failed
    Failed {
        /// The attempt; `-` reads standard input
        text: String,
        /// The reason why it failed
        #[arg(short, long)]
        why: Option<String>,
    },
    /// Record a command that ran, as evidence
    Command {
        /// The command line
        command: String,
        /// Its exit code
        #[arg(short, long, value_name = "N", allow_negative_numbers = true)]
        exit_code: i32,
    },
    /// Record a test that ran, as evidence
    Test {
        /// The test's name
        #[arg(value_name = "NAME")]
        id: String,
        /// The test failed (default: it passed)
        #[arg(long)]
        failed: bool,
    },
    /// Record a commit that holds the work, as evidence
    Commit {
        /// Its hash, or a name that git resolves: `HEAD`, a branch, a tag
        hash: String,
    },
    /// Record an instruction to follow, in your own words, for all of the work or, with --frame, for a
    /// frame and those under it
    ///
    /// A directive is an instruction in your own words that the agent should follow. Without `--frame`
    /// it applies to the whole tree of the active frame and outlives that frame. With `--frame` it
    /// applies to that frame and everything below it, until that frame is popped. An agent cannot
    /// record one.
    Directive {
        /// The directive; `-` reads standard input
        text: String,
    },
    /// Store raw text, such as the output of a build
    ///
    /// Bytes that are not UTF-8 are replaced and counted.
    Log {
        /// The file; `-` reads standard input
        file: PathBuf,
        /// Its label (default: the file's name)
        #[arg(short, long)]
        label: Option<String>,
    },
}

impl Note {
    pub(super) fn run(self, ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
        if let (None, Some(text)) = (&self.what, &self.text) {
            return keep(ctx, output, self.frame.as_deref(), &text_or_stdin(text)?);
        }
        if let Some(What::Log { file, label }) = self.what {
            return log(ctx, output, self.frame.as_deref(), &file, label);
        }
        let (note, doubts) = self.checked(ctx)?;
        for request in note.requests()? {
            execute(ctx, output, &request)?;
        }
        for doubt in doubts {
            output.notice(&doubt)?;
        }
        Ok(())
    }

    /// Resolves the name of a commit, and returns doubts about what is recorded.
    fn checked(mut self, ctx: &CommandContext) -> Result<(Self, Vec<String>), Failure> {
        let mut doubts = Vec::new();
        let project = ctx.engine.project();
        match &mut self.what {
            Some(What::Commit { hash }) => match ctx.engine.commit_named(hash) {
                Some(resolved) => *hash = resolved,
                None => doubts.extend(unresolved(hash, project.is_repository())?),
            },
            Some(What::Artifact { paths }) => {
                let is_missing = |path: &&String| {
                    !path.contains("://")
                        && !Path::new(path).exists()
                        && !project.root.join(path).exists()
                };
                let missing = paths.iter().filter(is_missing);
                doubts.extend(missing.map(|path| format!("there is no file {path} (yet)")));
            }
            _ => {}
        }
        Ok((self, doubts))
    }

    /// Returns a request for each note. Raw text is stored first, so it has none.
    pub(super) fn requests(self) -> Result<Vec<Request>, Failure> {
        let Some(what) = self.what else {
            return Ok(Vec::new());
        };
        let notes = match what {
            What::Decision { text, why } => vec![NoteInput::Decision(text_or_stdin(&text)?, why)],
            What::Approval { what, why } => vec![NoteInput::Approval(what, why)],
            What::Artifact { paths } => paths.into_iter().map(NoteInput::Artifact).collect(),
            What::Failed { text, why } => {
                vec![NoteInput::FailedAttempt(text_or_stdin(&text)?, why)]
            }
            What::Command { command, exit_code } => vec![NoteInput::Command(command, exit_code)],
            What::Test { id, failed } => vec![NoteInput::Test(id, !failed)],
            What::Commit { hash } => vec![NoteInput::Commit(hash)],
            What::Directive { text } => vec![NoteInput::Directive(text_or_stdin(&text)?)],
            What::Log { .. } => Vec::new(),
        };
        let frame = self.frame;
        let request = |note| Request::Note {
            frame: frame.clone(),
            note,
        };
        Ok(notes.into_iter().map(request).collect())
    }
}

/// Returns the doubt about a commit that git did not resolve, or refuses it. A hash that git does not know would
/// count as evidence that cannot be looked up.
fn unresolved(hash: &str, in_repository: bool) -> Result<Option<String>, Failure> {
    let has_git = has_git();
    match (is_hash(hash), in_repository) {
        (false, _) if !has_git => Err(Failure::refused(
            format!("git is not in PATH, so “{hash}” cannot be looked up"),
            "give the hash of the commit",
        )),
        (true, true) if has_git => Err(Failure::refused(
            format!("git knows no commit {hash} in this repository"),
            "name one that it knows, such as HEAD; `flame note TEXT` keeps a text that is no evidence",
        )),
        (true, true) => Ok(Some(format!(
            "git is not in PATH, so {hash} was not looked up"
        ))),
        // Outside of a repository there is nothing to check a hash against, and a name is refused.
        (true, false) | (false, _) => Ok(None),
    }
}

fn is_hash(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn has_git() -> bool {
    let asked = Command::new("git").arg("--version").output();
    asked.is_ok_and(|answer| answer.status.success())
}

/// Keeps a free text with a frame; its beginning is its label.
fn keep(
    ctx: &CommandContext,
    output: &mut Output,
    frame: Option<&str>,
    text: &str,
) -> Result<(), Failure> {
    if text.trim().is_empty() {
        return Err(Failure::refused(
            "the note is empty",
            "write it in a few words",
        ));
    }
    // Redacted before it is cut: a part of a secret is not recognised.
    let clean = ctx.engine.redactor().redact(text);
    let label = format!("note: {}", one_line(&clean, 70));
    let receipt = ctx
        .engine
        .logs()
        .append(&ctx.actor, frame, &label, text, None)?;
    print_receipt(ctx, output, &receipt)
}

fn log(
    ctx: &CommandContext,
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
    // The output of real programs contains stray bytes; that is not a reason to refuse the rest.
    let text = String::from_utf8_lossy(&bytes);
    let strays = strays(&bytes);
    let label = label.unwrap_or(name);
    let receipt = ctx
        .engine
        .logs()
        .append(&ctx.actor, frame, &label, &text, None)?;
    print_receipt(ctx, output, &receipt)?;
    if strays > 0 {
        let strays = counted(strays as u64, "byte is", "bytes are");
        output.notice(&format!(
            "{strays} not UTF-8 text and kept as \u{fffd}; a file that is not text is better named as \
             an artifact"
        ))?;
    }
    Ok(())
}

/// Returns the number of bytes that are not part of UTF-8 text.
fn strays(bytes: &[u8]) -> usize {
    bytes.utf8_chunks().map(|chunk| chunk.invalid().len()).sum()
}
