//! Classifies command lines by the programs that they run.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Relation of a command line to the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CommandKind {
    /// Looks around; finding nothing is not a failure.
    Look,
    /// Any other command.
    Other,
    /// Tests, builds, formats, commits or publishes: its outcome says something about the work.
    Check,
}

/// A program of the table: its kind, and the verbs for which it has that kind, if not for all.
type Program = (CommandKind, Vec<&'static str>);

static PROGRAMS: LazyLock<BTreeMap<&str, Program>> = LazyLock::new(|| {
    let lines = include_str!("../../data/programs.txt").lines();
    let rows = lines.filter_map(|line| {
        let mut words = line.split_whitespace();
        let kind = match words.next()? {
            "check" => CommandKind::Check,
            "look" => CommandKind::Look,
            _ => return None,
        };
        Some((words.next()?, (kind, words.collect())))
    });
    rows.collect()
});

/// Programs that run a script or a module, which is what counts.
const INTERPRETERS: [&str; 6] = ["python", "python3", "node", "bash", "sh", "ruby"];
/// Modules and options of interpreters that run tests.
const TEST_RUNNERS: [&str; 2] = ["unittest", "--test"];
/// Words that only run the command that follows them.
const PREFIXES: [&str; 7] = ["sudo", "env", "time", "nice", "exec", "timeout", "xvfb-run"];

/// Returns the highest kind of the commands in a command line.
pub fn command_kind(line: &str) -> CommandKind {
    parts(line)
        .filter_map(|part| kind_of(words(part)))
        .max()
        .unwrap_or(CommandKind::Look)
}

fn kind_of<'l>(mut words: impl Iterator<Item = &'l str>) -> Option<CommandKind> {
    let program = words.next()?;
    let program = program.rsplit('/').next().unwrap_or(program);
    let program = program.strip_suffix(".exe").unwrap_or(program);
    let always_checks = |name: &str| {
        let known = PROGRAMS.get(name);
        known.is_some_and(|(kind, verbs)| *kind == CommandKind::Check && verbs.is_empty())
    };
    Some(match PROGRAMS.get(program) {
        Some((kind, verbs)) if verbs.is_empty() => *kind,
        Some((kind, verbs)) => {
            let verb = words.find(|word| !word.starts_with(['-', '+']));
            match verb {
                Some(verb) if verbs.contains(&verb) => *kind,
                _ => CommandKind::Other,
            }
        }
        None if INTERPRETERS.contains(&program)
            && words.any(|word| always_checks(word) || TEST_RUNNERS.contains(&word)) =>
        {
            CommandKind::Check
        }
        None => CommandKind::Other,
    })
}

/// Splits a command line into commands. Quotes are ignored, since a wrong guess only keeps a command
/// more or less.
fn parts(line: &str) -> impl Iterator<Item = &str> {
    line.split(['\n', ';', '|', '&'])
        .filter(|part| !part.trim().is_empty())
}

/// Returns the words of a command from its program on, without assignments and prefixes.
fn words(part: &str) -> impl Iterator<Item = &str> {
    let is_assignment = |word: &&str| {
        word.split_once('=')
            .is_some_and(|(name, _)| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'))
    };
    part.trim_start_matches(['(', '{', '!', ' '])
        .split_whitespace()
        .skip_while(move |word| {
            is_assignment(word)
                || PREFIXES.contains(word)
                || word.bytes().all(|b| b.is_ascii_digit() || b == b's')
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_kind_of_its_most_telling_command() {
        for (line, kind) in [
            ("cd web && FOO=1 npm test", CommandKind::Check),
            ("timeout 30s cargo nextest run", CommandKind::Check),
            ("cargo tree | head", CommandKind::Other),
            ("python3 -m pytest -q", CommandKind::Check),
            ("python3 setup.py", CommandKind::Other),
            ("grep -rn x src | wc -l", CommandKind::Look),
            ("./run.sh", CommandKind::Other),
            ("", CommandKind::Look),
        ] {
            assert_eq!(command_kind(line), kind, "{line}");
        }
    }
}
