//! The program that a command runs, after the words that only run it.

use super::parse::{SimpleCommand, commands};

/// Words that run the command after them; options of their own may come between.
const WRAPPERS: [&str; 19] = [
    "env", "time", "nice", "sudo", "command", "exec", "nohup", "stdbuf", "xvfb-run", "then", "do",
    "else", "if", "while", "until", "!", "npx", "bunx", "uvx",
];
/// Package managers whose first argument may be one of the words that run a program.
const RUNNERS: [(&str, &[&str]); 10] = [
    ("uv", &["run"]),
    ("poetry", &["run"]),
    ("pdm", &["run"]),
    ("rye", &["run"]),
    ("hatch", &["run"]),
    ("pipenv", &["run"]),
    ("npm", &["exec"]),
    ("pnpm", &["exec", "dlx"]),
    ("yarn", &["exec", "dlx"]),
    ("bun", &["x"]),
];
/// Environments that run what follows `--`.
const ENVIRONMENTS: [&str; 5] = ["mise", "direnv", "doppler", "devbox", "nix"];
/// Options of git that have a value and come before its verb.
const GIT_OPTIONS: [&str; 4] = ["-C", "-c", "--git-dir", "--work-tree"];

/// Returns the words of a command from its program on, without assignments and wrappers. The program
/// is its file name, without folders.
pub(crate) fn invocation(command: &SimpleCommand) -> Vec<&str> {
    let all: Vec<&str> = command.words.iter().map(String::as_str).collect();
    let mut words = all.as_slice();
    while let Some((first, rest)) = words.split_first() {
        words = if is_assignment(first) {
            rest
        } else if WRAPPERS.contains(first) {
            skip(rest, |word| word.starts_with('-'))
        } else if *first == "timeout" {
            skip(rest, |word| {
                word.starts_with('-') || word.starts_with(|c: char| c.is_ascii_digit())
            })
        } else if runs_argument(first, rest) {
            skip(rest.get(1..).unwrap_or_default(), |word| {
                word.starts_with('-')
            })
        } else if let Some(after) = after_dashes(first, rest) {
            after
        } else {
            break;
        };
    }
    let mut words = words.to_vec();
    if let Some(program) = words.first_mut() {
        let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
        *program = name.strip_suffix(".exe").unwrap_or(name);
    }
    words
}

/// Returns the verb of a git command and what follows it; nothing if the command is not git's.
pub(crate) fn git_words(command: &SimpleCommand) -> Option<Vec<&str>> {
    let words = invocation(command);
    let (program, mut rest) = words.split_first()?;
    if *program != "git" {
        return None;
    }
    while let Some((first, after)) = rest.split_first() {
        rest = match *first {
            option if GIT_OPTIONS.contains(&option) => after.get(1..).unwrap_or_default(),
            option if option.starts_with('-') => after,
            _ => break,
        };
    }
    (!rest.is_empty()).then(|| rest.to_vec())
}

/// Splits a command line; of a single `bash -c LINE`, the line inside.
pub(crate) fn unwrapped(line: &str) -> Vec<SimpleCommand> {
    let all = commands(line);
    if let [only] = all.as_slice()
        && let [shell, flag, inner, ..] = invocation(only).as_slice()
        && matches!(*shell, "bash" | "sh" | "zsh")
        && flag.starts_with('-')
        && flag.ends_with('c')
    {
        return commands(inner);
    }
    all
}

fn skip<'w, 'a>(words: &'w [&'a str], skips: impl Fn(&str) -> bool) -> &'w [&'a str] {
    let count = words.iter().take_while(|word| skips(word)).count();
    words.get(count..).unwrap_or_default()
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        !name.is_empty() && name.bytes().all(is_name)
    })
}

fn runs_argument(program: &str, rest: &[&str]) -> bool {
    let verbs = RUNNERS.iter().find(|(name, _)| *name == program);
    let first = rest.first().copied().unwrap_or_default();
    verbs.is_some_and(|(_, verbs)| verbs.contains(&first))
}

fn after_dashes<'w, 'a>(program: &str, rest: &'w [&'a str]) -> Option<&'w [&'a str]> {
    if !ENVIRONMENTS.contains(&program) {
        return None;
    }
    let at = rest.iter().position(|word| *word == "--")?;
    rest.get(at + 1..).filter(|after| !after.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> String {
        let all = unwrapped(line);
        let shown: Vec<String> = all.iter().map(|it| invocation(it).join(" ")).collect();
        shown.join(" | ")
    }

    #[test]
    fn wrappers_are_not_the_program() {
        for (line, program) in [
            ("FOO=1 env -i time /usr/bin/cargo test", "cargo test"),
            ("timeout -k 5 60s npx --yes vitest run", "vitest run"),
            ("uv run --frozen pytest -q", "pytest -q"),
            ("mise x -- go test ./...", "go test ./..."),
            ("bash -lc 'cd web && npm test'", "cd web | npm test"),
            ("pnpm exec tsc", "tsc"),
            ("npm test", "npm test"),
            ("sudo", ""),
            ("", ""),
        ] {
            assert_eq!(shown(line), program, "{line}");
        }
    }

    #[test]
    fn options_of_git_come_before_its_verb() {
        let line = commands("git -C web -c a=b --no-pager commit -m x");
        let words = line.first().and_then(git_words);
        assert_eq!(words, Some(vec!["commit", "-m", "x"]));
        assert_eq!(commands("ls").first().and_then(git_words), None);
    }
}
