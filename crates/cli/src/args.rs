//! The command line as a whole.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::commands;

/// What every command takes stands apart from what is its own.
const EVERYWHERE: &str = "Options of every command";

/// What scripts can go by.
const EXIT_CODES: &str = "Exit codes:
  0  done; also where there was nothing to find
  1  understood, and refused, or something needs attention: a rule, a name or file that is not
     there, an empty text, a store that cannot be read
  2  not a command line: an unknown command, option, tool or setting, or a value that has not the
     form it must have

Errors are told on standard error, with a hint at what to do next; with --json as one object with
`error` and `hint`.";

/// A call stack for a coding agent's context.
///
/// Work is a tree of frames. `flame push` opens one, `flame pop` closes it with its results, and
/// `flame tree` shows where everything stands. A frame is named by its id or any unique beginning
/// of it.
#[derive(Parser)]
#[command(name = "flame", version, max_term_width = 100, after_long_help = EXIT_CODES)]
pub(crate) struct Cli {
    /// Print JSON for machines
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub(crate) json: bool,

    /// Act in this session (`host:id`) instead of this worktree's shell
    #[arg(
        long,
        global = true,
        help_heading = EVERYWHERE,
        value_name = "SESSION",
        env = "FLAME_SESSION",
        hide_env_values = true
    )]
    pub(crate) session: Option<String>,

    /// Act on the project of this directory
    #[arg(
        short = 'C',
        long = "dir",
        global = true,
        help_heading = EVERYWHERE,
        value_name = "DIR"
    )]
    pub(crate) dir: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Push(commands::push::Push),
    Pop(commands::pop::Pop),
    Summarize(commands::summarize::Summarize),
    Plan(commands::plan::Plan),
    Activate(commands::activate::Activate),
    Note(commands::note::Note),
    Edit(commands::edit::Edit),
    Block(commands::block::Block),
    Unblock(commands::block::Unblock),
    Invalidate(commands::invalidate::Invalidate),
    Move(commands::relocate::Move),
    Delete(commands::relocate::Delete),
    Bind(commands::bind::Bind),
    Unbind(commands::bind::Unbind),
    Undo(commands::undo::Undo),
    Status(commands::status::Status),
    Tree(commands::tree::Tree),
    Show(commands::show::Show),
    Context(commands::context::Context),
    Brief(commands::brief::Brief),
    Search(commands::search::Search),
    Recall(commands::recall::Recall),
    Log(commands::log::Log),
    Import(commands::import::Import),
    Export(commands::export::Export),
    Tool(commands::tool::Tool),
    Config(commands::config::Config),
    Init(commands::init::Init),
    Doctor(commands::doctor::Doctor),
    Rebuild(commands::rebuild::Rebuild),
    Gc(commands::gc::Gc),
    Replay(commands::replay::Replay),
    Eval(commands::eval::Eval),
    Sidecar(commands::sidecar::Sidecar),
    Demo(commands::demo::Demo),
    Completions(commands::completions::Completions),
    Man(commands::completions::Man),
}

/// Whether a command line that could not be understood asks for JSON.
pub(crate) fn asks_for_json(words: impl Iterator<Item = OsString>) -> bool {
    // What stands behind `--` are values.
    words
        .take_while(|word| word != "--")
        .any(|word| word == "--json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// An argument that has the name of a global option would be taken for that option's value.
    #[test]
    fn no_argument_is_called_like_an_option_of_every_command() {
        fn check(command: &clap::Command, globals: &[String]) {
            for below in command.get_subcommands() {
                for argument in below.get_arguments() {
                    let name = argument.get_id().to_string();
                    assert!(
                        !globals.contains(&name) || argument.is_global_set(),
                        "{}: {name}",
                        below.get_name()
                    );
                }
                check(below, globals);
            }
        }
        let command = Cli::command();
        let globals = command.get_arguments().filter(|it| it.is_global_set());
        let globals: Vec<String> = globals.map(|it| it.get_id().to_string()).collect();
        assert!(globals.contains(&"session".to_owned()), "{globals:?}");
        check(&command, &globals);
    }

    #[test]
    fn json_is_asked_for_before_the_values() {
        let asks = |line: &str| asks_for_json(line.split(' ').map(OsString::from));
        assert!(asks("flame push --json"));
        assert!(asks("flame --json nowhere"));
        assert!(!asks("flame push --jso"));
        assert!(!asks("flame push --nope -- --json"));
    }
}
