//! The command line as a whole.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::{commands, complete};

/// Heading of the global options, which are listed apart from a command's own.
const EVERYWHERE: &str = "Global options";

/// The exit codes, for scripts.
const EXIT_CODES: &str = "Exit codes:
  0  done, or nothing found
  1  refused, or something needs attention: a rule, a missing frame or file, an empty text, a
     store that cannot be read
  2  invalid command line: an unknown command, option, tool or setting, or an invalid value

Errors go to standard error, with a hint; with --json as one object with `error` and `hint`.
Output is fitted to the terminal, or to COLUMNS; times are in your time zone, or in TZ.";

/// A call stack for a coding agent's context.
///
/// Work is a tree of frames. `flame push` opens one, `flame pop` closes it with its results, and
/// `flame tree` shows the state of everything. Name a frame by its id or its title, or by the beginning
/// of either (of a title at least three characters).
#[derive(Parser)]
#[command(name = "flame", version, max_term_width = 100, after_long_help = EXIT_CODES)]
pub(crate) struct Cli {
    /// Print JSON
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub(crate) json: bool,

    /// Act as this session (`host:id`) instead of this worktree's shell
    #[arg(
        long,
        global = true,
        help_heading = EVERYWHERE,
        value_name = "SESSION",
        env = "FLAME_SESSION",
        hide_env_values = true,
        add = complete::sessions()
    )]
    pub(crate) session: Option<String>,

    /// Act on the project in this directory
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
    #[command(flatten)]
    Change(commands::change::Change),
    Check(commands::check::Check),
    Status(commands::status::Status),
    Tree(commands::tree::Tree),
    Show(commands::show::Show),
    Graph(commands::graph::Graph),
    Tui(commands::tui::Tui),
    Ui(commands::ui::Ui),
    Context(commands::context::Context),
    Brief(commands::brief::Brief),
    Search(commands::search::Search),
    Recall(commands::recall::Recall),
    Log(commands::log::Log),
    Session(commands::session::Session),
    Import(commands::import::Import),
    Export(commands::export::Export),
    Tool(commands::tool::Tool),
    Autonomy(commands::autonomy::Autonomy),
    Config(commands::config::Config),
    Init(commands::init::Init),
    Doctor(commands::doctor::Doctor),
    Rebuild(commands::rebuild::Rebuild),
    Gc(commands::gc::Gc),
    Forget(commands::forget::Forget),
    Backup(commands::backup::Backup),
    Projects(commands::projects::Projects),
    Run(commands::run::Run),
    #[command(hide = true)]
    RunServer(commands::run::RunServer),
    Replay(commands::replay::Replay),
    Eval(commands::eval::Eval),
    Sidecar(commands::sidecar::Sidecar),
    Demo(commands::demo::Demo),
    Completions(commands::completions::Completions),
    Man(commands::completions::Man),
}

/// Returns true if an invalid command line asks for JSON.
pub(crate) fn asks_for_json(words: impl Iterator<Item = OsString>) -> bool {
    // Everything after `--` is a value.
    words
        .take_while(|word| word != "--")
        .any(|word| word == "--json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// Clap would take an argument with the name of a global option for that option's value.
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
