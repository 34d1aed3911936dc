//! The list of commands in the help, in groups.

use clap::{Command, CommandFactory as _};
use flamestack_engine::views::canvas::wrapped;

use crate::args::Cli;
use crate::output;

/// The groups of commands, in the order of the help. The first one has descriptions in the short
/// help too; of the others it has only the names. A new command is added to one of them.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Everyday work",
        &[
            "push", "pop", "plan", "activate", "next", "note", "check", "tree", "status", "show",
            "undo",
        ],
    ),
    (
        "Change frames",
        &[
            "edit",
            "block",
            "unblock",
            "invalidate",
            "move",
            "delete",
            "summarize",
        ],
    ),
    ("Look at the work", &["ui", "tui", "graph"]),
    ("Find again", &["search", "recall", "log"]),
    (
        "What a model gets",
        &["context", "brief", "tool", "autonomy", "replay", "eval"],
    ),
    (
        "Agent programs",
        &["run", "init", "bind", "unbind", "session", "sidecar"],
    ),
    (
        "Settings and help",
        &["config", "demo", "completions", "man", "help"],
    ),
    (
        "The store",
        &[
            "doctor", "rebuild", "gc", "backup", "forget", "projects", "import", "export",
        ],
    ),
];

const TEMPLATE: &str = "\
{about-with-newline}
{usage-heading} {usage}

{before-help}Global options:
{options}{after-help}";

/// Maximum width of the help.
const WIDEST: usize = 100;

/// Returns the command line with its help in groups.
pub(crate) fn command() -> Command {
    let mut command = Cli::command();
    // Commands that clap adds, such as `help`, are listed too.
    command.build();
    let (short, long) = (listed(&command, false), listed(&command, true));
    Cli::command()
        .help_template(TEMPLATE)
        .before_help(short)
        .before_long_help(long)
}

/// Lists the commands of each group; with `long` all of them with their descriptions.
fn listed(command: &Command, long: bool) -> String {
    let header = command.get_styles().get_header();
    let literal = command.get_styles().get_literal();
    let width = output::width().unwrap_or(WIDEST).min(WIDEST);
    let mut text = String::new();
    for (place, (group, names)) in GROUPS.iter().enumerate() {
        let commands = names
            .iter()
            .filter_map(|name| command.find_subcommand(name));
        let commands: Vec<&Command> = commands.collect();
        text.push_str(&format!("{header}{group}:{header:#}\n"));
        if !long && place > 0 {
            let names: Vec<&str> = commands.iter().map(|it| it.get_name()).collect();
            text.push_str(&wrapped("  ", "  ", &names.join(", "), width));
            continue;
        }
        for command in commands {
            let about = command.get_about().map(ToString::to_string);
            let aliases: Vec<&str> = command.get_visible_aliases().collect();
            let aliases = match aliases.as_slice() {
                [] => String::new(),
                names => format!(" (also: {})", names.join(", ")),
            };
            let about = format!("{}{aliases}", about.unwrap_or_default());
            let name = format!("  {literal}{:<12}{literal:#} ", command.get_name());
            text.push_str(&wrapped(&name, &" ".repeat(15), &about, width));
        }
        if place + 1 < GROUPS.len() {
            text.push('\n');
        }
    }
    if !long {
        text.push_str("\n`flame --help` describes all of them, `flame COMMAND -h` one.\n");
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let mut command = Cli::command();
        command.build();
        for below in command.get_subcommands().filter(|it| !it.is_hide_set()) {
            let name = below.get_name();
            let groups = GROUPS.iter().filter(|(_, names)| names.contains(&name));
            assert_eq!(
                groups.count(),
                1,
                "`{name}` belongs to one group of help.rs"
            );
        }
        for name in GROUPS.iter().flat_map(|(_, names)| *names) {
            assert!(
                command.find_subcommand(name).is_some(),
                "there is no `{name}`"
            );
        }
    }
}
