//! The user's editor, started as git starts it.

use std::io::{ErrorKind, IsTerminal as _};
use std::path::Path;
use std::process::Command;

use flamestack_core::Author;

use crate::caller;
use crate::failure::Failure;

/// Exit code with which a shell reports a program that it does not find.
#[cfg(unix)]
const NOT_FOUND: i32 = 127;
/// Characters for which git, too, leaves the command line to a shell.
#[cfg(unix)]
const FOR_A_SHELL: &str = "|&;<>()$`\\\"' \t\n*?[#~=%";

/// Opens a file in `$VISUAL`, `$EDITOR` or vi, and waits until the user closes it. `instead` names
/// another way, for the user whose editor does not start.
pub(super) fn open(file: &Path, instead: &str) -> Result<(), Failure> {
    // A model cannot use an editor: its call would hang until the host ends it.
    if caller::author() == Author::Agent {
        return Err(Failure::refused(
            "an agent's tool call has no editor",
            instead,
        ));
    }
    let Some(editor) = chosen() else {
        return Err(Failure::refused(
            "no editor is set, and there is no terminal to open vi in",
            &format!("set $EDITOR, or {instead}"),
        ));
    };
    let status = command(&editor, file).status();
    let problem = match status {
        Ok(status) if status.success() => return Ok(()),
        #[cfg(unix)]
        Ok(status) if status.code() == Some(NOT_FOUND) => "was not found".to_owned(),
        Ok(status) => format!("failed ({status})"),
        Err(error) if error.kind() == ErrorKind::NotFound => "was not found".to_owned(),
        Err(error) => format!("could not be started: {error}"),
    };
    let problem = format!("the editor `{editor}` {problem}");
    let hint = format!("set $EDITOR to another program, or {instead}");
    Err(Failure::refused(problem, &hint))
}

/// Returns the editor of the user; none without a terminal unless one is set.
fn chosen() -> Option<String> {
    let set = |name: &str| {
        let value = std::env::var(name).ok();
        value.filter(|value| !value.trim().is_empty())
    };
    let has_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    set("VISUAL")
        .or_else(|| set("EDITOR"))
        .or_else(|| has_terminal.then(|| "vi".to_owned()))
}

/// Returns the command that opens a file: an editor may have options, such as `code --wait`.
#[cfg(unix)]
fn command(editor: &str, file: &Path) -> Command {
    if !editor.contains(|c: char| FOR_A_SHELL.contains(c)) {
        let mut command = Command::new(editor);
        command.arg(file);
        return command;
    }
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!("{editor} \"$@\""))
        .arg(editor)
        .arg(file);
    command
}

/// Returns the command that opens a file: an editor may have options, such as `code --wait`.
#[cfg(not(unix))]
fn command(editor: &str, file: &Path) -> Command {
    let mut words = shlex::split(editor).unwrap_or_default().into_iter();
    let mut command = Command::new(words.next().unwrap_or_else(|| editor.to_owned()));
    command.args(words).arg(file);
    command
}
