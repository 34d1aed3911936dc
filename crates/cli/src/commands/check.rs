//! `flame check`

use std::ffi::OsString;
use std::io::Write as _;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use clap::Args;
use flamestack_engine::Request;
use flamestack_engine::request::NoteInput;
use flamestack_engine::views::{one_line, receipt, time};
use serde_json::json;

use crate::command_context::CommandContext;
use crate::complete;
use crate::failure::Failure;
use crate::output::{Output, Transcript};

/// Exit code of a command that could not be started, as shells use it.
const NOT_STARTED: u8 = 127;
/// Exit code after Ctrl-C, as shells use it.
const INTERRUPTED: u8 = 130;
const NOTHING: &str = "interrupted: nothing was recorded";

/// Run a command and record it as evidence: command line, exit code and output
///
/// Prints the command's output as it runs and ends with its exit code, so that it can be put before
/// any command: `flame check cargo test`. Everything is recorded in the active frame, with secrets
/// redacted; `flame show` lists it and `flame log ID#N` prints the output. A single argument with
/// blanks is run by the shell: `flame check "make | tail"`.
#[derive(Args)]
pub(crate) struct Check {
    /// The frame to record it in (default: the active one)
    #[arg(short, long, value_name = "FRAME", add = complete::frames())]
    frame: Option<String>,
    /// Record the command and its exit code, but not its output
    #[arg(long)]
    no_output: bool,
    /// The command and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    words: Vec<OsString>,
}

impl Check {
    pub(crate) fn run(self, ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
        // Named before the command runs: work on another frame may begin meanwhile.
        let frame = match &self.frame {
            Some(name) => ctx.engine.frame_named(name)?,
            None => ctx.active_frame()?,
        };
        let words: Vec<String> = self
            .words
            .iter()
            .map(|word| word.to_string_lossy().into())
            .collect();
        let line = match words.as_slice() {
            [line] => line.clone(),
            words => shlex::try_join(words.iter().map(String::as_str)).unwrap_or(words.join(" ")),
        };
        let begun = Instant::now();
        let watch = Watch::begin()?;
        let (status, transcript) = self.run_command(&line, output)?;
        while !watch.end() {
            // The watch says so, and ends this process.
            std::thread::park();
        }
        // The command may end before the watch knows of it.
        if exit_code(status) == INTERRUPTED {
            output.notice(NOTHING)?;
            return Err(Failure::Exit(INTERRUPTED));
        }
        let took = i64::try_from(begun.elapsed().as_millis()).unwrap_or(i64::MAX);
        let code = exit_code(status);
        let text = transcript.text();
        let note = NoteInput::Command(line.clone(), i32::from(code));
        let pointer = if self.no_output || text.trim().is_empty() {
            let frame = Some(frame.to_string());
            let request = Request::Note { frame, note };
            ctx.engine.commands().execute(&ctx.actor, &request)?;
            None
        } else {
            // Redacted before it is cut: a part of a secret is not recognised.
            let label = one_line(&ctx.engine.redactor().redact(&line), 60);
            let logs = ctx.engine.logs();
            logs.append(&ctx.actor, Some(frame.as_str()), &label, &text, Some(note))?;
            let kept = ctx
                .engine
                .read(|reading| Ok(reading.whole_frame(&frame)?))?;
            kept.map(|kept| format!("{frame}#{}", kept.log.len()))
        };
        if output.is_json() {
            output.data(&json!({
                "frame": frame.as_str(),
                "command": line,
                "exitCode": code,
                "milliseconds": took,
                "output": pointer,
            }))?;
        } else {
            let head = ctx.engine.read(|reading| Ok(reading.frame(&frame)?))?;
            let name = head.map_or_else(|| frame.to_string(), |head| receipt::shown(&head));
            let verdict = if code == 0 { "passed" } else { "failed" };
            let kept = pointer.map(|pointer| format!("; `flame log {pointer}` prints the output"));
            output.notice(&format!(
                "{name} has a check that {verdict}: it exited {code} after {}{}",
                time::duration(took),
                kept.unwrap_or_default()
            ))?;
        }
        match code {
            0 => Ok(()),
            code => Err(Failure::Exit(code)),
        }
    }

    /// Runs the command to its end and returns its output, which is printed meanwhile.
    fn run_command(
        &self,
        line: &str,
        output: &mut Output,
    ) -> Result<(ExitStatus, Transcript), Failure> {
        let mut command = match self.words.as_slice() {
            [_] if line.contains(char::is_whitespace) => {
                let mut shell = Command::new("sh");
                shell.arg("-c").arg(line);
                shell
            }
            words => {
                let mut command = Command::new(words.first().cloned().unwrap_or_default());
                command.args(words.iter().skip(1));
                command
            }
        };
        let child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        match child {
            Ok(child) => output.relay(child),
            Err(error) => {
                output.print_error(
                    &format!("`{line}` could not be started: {error}"),
                    Some("nothing was recorded; check the command's name"),
                );
                Err(Failure::Exit(NOT_STARTED))
            }
        }
    }
}

/// Watches for Ctrl-C while a command runs. The command receives it too.
struct Watch(Arc<AtomicBool>);

impl Watch {
    /// Ends this process at the first interruption, and says that nothing was recorded.
    fn begin() -> Result<Self, Failure> {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let handled = ctrlc::set_handler(move || {
            if !over.swap(true, Ordering::SeqCst) {
                // If standard error is gone too, the exit code still says it.
                drop(writeln!(std::io::stderr(), "note: {NOTHING}"));
            }
            leave();
        });
        handled.map_err(|error| Failure::failed(error.to_string(), None))?;
        Ok(Self(is_over))
    }

    /// Returns true if the command ended without an interruption.
    fn end(&self) -> bool {
        !self.0.swap(true, Ordering::SeqCst)
    }
}

#[expect(clippy::exit, reason = "the user wants to wait for nothing")]
fn leave() {
    std::process::exit(i32::from(INTERRUPTED));
}

/// Returns the exit code; for a command that was killed, the code that shells use.
fn exit_code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return u8::try_from(128 + signal).unwrap_or(1);
    }
    status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .unwrap_or(1)
}
