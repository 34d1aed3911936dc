//! The commits that a command line made.

use flamestack_core::text::condense;

use super::invocation::{git_words, unwrapped};
use super::parse::{Operator, SimpleCommand};

/// Maximum length of a subject, in characters.
const MAX_SUBJECT: usize = 120;

/// Returns the commits that a command line made, as git reports them (`[branch hash] subject`), each as
/// `hash subject`. With `-q` git reports nothing: then a `git commit` that exited 0 counts with its subject.
pub fn commits(line: &str, output: &str, exit_code: Option<i32>) -> Vec<String> {
    let verbs = ["commit", "cherry-pick", "revert", "merge"];
    if !line.contains("git") || !verbs.iter().any(|verb| line.contains(verb)) {
        return Vec::new();
    }
    let commit = |line: &str| {
        let (inside, subject) = line.strip_prefix('[')?.split_once(']')?;
        let (_, hash) = inside.rsplit_once(' ')?;
        let is_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        let is_hash = (7..=64).contains(&hash.len()) && hash.bytes().all(is_hex);
        is_hash.then(|| format!("{hash} {}", condense(subject.trim(), MAX_SUBJECT)))
    };
    let mut reported: Vec<String> = output.lines().filter_map(commit).collect();
    if reported.is_empty() && exit_code == Some(0) {
        reported.extend(unreported(line));
    }
    reported
}

/// Returns the subject of the commit that a command line must have made if it exited 0.
fn unreported(line: &str) -> Option<String> {
    let commands = unwrapped(line);
    let at = commands.iter().position(is_commit)?;
    let (before, from) = commands.split_at_checked(at)?;
    // Its exit code is that of the line only if nothing hides it, and it ran.
    let (_, until_last) = from.split_last()?;
    let is_certain = until_last.iter().all(|it| it.then == Operator::And)
        && before.iter().all(|it| it.then != Operator::Or);
    let words = || {
        from.first()
            .map(|commit| condense(&commit.words.join(" "), MAX_SUBJECT))
    };
    let subject = || {
        subject(line)
            .map(|text| condense(&text, MAX_SUBJECT))
            .or_else(words)
    };
    is_certain.then(subject).flatten()
}

fn is_commit(command: &SimpleCommand) -> bool {
    git_words(command).is_some_and(|words| {
        let is_dry = words.contains(&"--dry-run");
        words.first() == Some(&"commit") && !is_dry && !words.contains(&"--help")
    })
}

/// Returns the first line of the message in a command line: an argument, or a here-document.
pub(crate) fn subject(line: &str) -> Option<String> {
    if let Some((_, document)) = line.split_once("<<") {
        return document.lines().nth(1).map(|line| line.trim().to_owned());
    }
    let commands = unwrapped(line);
    let words = commands
        .iter()
        .filter_map(git_words)
        .find(|words| words.first() == Some(&"commit"))?;
    let at = words
        .iter()
        .position(|word| word.starts_with('-') && !word.starts_with("--") && word.ends_with('m'))?;
    let message = words.get(at + 1)?.lines().next()?.trim();
    (!message.is_empty() && !message.contains('\0')).then(|| message.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_commit_counts_if_it_exited_0() {
        for (line, made) in [
            ("git commit -qm 'Add the cart'", &["Add the cart"][..]),
            (
                "git add -A && git commit -q -m Move && git push -q",
                &["Move"],
            ),
            ("cd web; git -C . commit --quiet -m Move", &["Move"]),
            (
                "git commit -q --amend --no-edit",
                &["git commit -q --amend --no-edit"],
            ),
            ("git commit -qm x; ls", &[]),
            ("git commit -qm x || true", &[]),
            ("git diff --quiet || git commit -qm x", &[]),
            ("git commit -qm x | cat", &[]),
            ("git commit --dry-run -m x", &[]),
            ("git log --grep commit", &[]),
        ] {
            assert_eq!(commits(line, "", Some(0)), made, "{line}");
            assert!(commits(line, "", Some(1)).is_empty(), "{line}");
            assert!(commits(line, "", None).is_empty(), "{line}");
        }
        let reported = "[main abc1234] Move\n 1 file changed";
        assert_eq!(
            commits("git commit -m Move", reported, Some(0)),
            ["abc1234 Move"]
        );
    }
}
