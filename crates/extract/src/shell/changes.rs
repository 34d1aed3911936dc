//! Guesses which files a command changed: those that the command line writes to, and those that git
//! lists.
//!
//! A tool that edits names its file; a shell does not, and much is changed by `sed -i`, by a
//! formatter or by a script. Files that the command line names are taken from it. For the rest git is
//! believed, where the model asked git: what it staged and committed is its own; a list of
//! differences may show older changes, so it counts only in a session that changed something itself.

use super::parse::{SimpleCommand, commands, is_file};

/// Files that a command changed, judged by its line and its output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileChanges {
    /// Written, staged or committed by this command.
    pub made: Vec<String>,
    /// Different from the last commit, whichever process changed them.
    pub differing: Vec<String>,
}

/// Maximum number of bytes of an output that are read.
const MAX_OUTPUT: usize = 20_000;
/// Maximum number of files. A command that changes more is a script's work.
const MAX_FILES: usize = 200;

/// Returns the files that a successful command changed.
pub fn file_changes(line: &str, output: &str) -> FileChanges {
    let mut found = FileChanges::default();
    let output = output
        .get(..output.floor_char_boundary(MAX_OUTPUT))
        .unwrap_or(output);
    // Folder that later commands run in; none once it is unknown.
    let mut folder = Some(String::new());
    let all = commands(line);
    // Bare names are git's only if no other command writes output.
    let alone = all
        .iter()
        .filter(|simple| simple.words.first().is_none_or(|word| word != "cd"))
        .count()
        == 1;
    for simple in &all {
        let words: Vec<&str> = arguments(simple).collect();
        let program = words.first().copied().unwrap_or_default();
        let program = program.rsplit('/').next().unwrap_or(program);
        let rest = words.get(1..).unwrap_or_default();
        if program == "cd" {
            folder = folder.and_then(|folder| moved(&folder, rest.first().copied()));
            continue;
        }
        let mut named: Vec<&str> = simple.into.iter().map(String::as_str).collect();
        match program {
            "tee" | "touch" | "mv" => named.extend(files(rest)),
            "sed" | "perl" | "gsed" => named.extend(edited_in_place(rest)),
            "cp" => named.extend(files(rest).last()),
            "rm" if !is_recursive(rest) => named.extend(files(rest)),
            "gofmt" | "prettier" | "rustfmt" | "black" if writes(program, rest) => {
                named.extend(files(rest).filter(has_extension));
            }
            "git" => found.of_git(rest, output, alone, &mut named),
            _ => {}
        }
        if let Some(folder) = &folder {
            let inside = named.into_iter().filter(|word| is_file(word));
            found.made.extend(inside.map(|word| within(folder, word)));
        }
    }
    for list in [&mut found.made, &mut found.differing] {
        let mut known = std::collections::BTreeSet::new();
        list.retain(|path| known.insert(path.clone()));
        list.truncate(MAX_FILES);
    }
    found
}

impl FileChanges {
    fn of_git<'w>(
        &mut self,
        words: &[&'w str],
        output: &str,
        alone: bool,
        named: &mut Vec<&'w str>,
    ) {
        let (verb, rest) = git_verb(words);
        let has = |flag: &str| rest.iter().any(|word| word.starts_with(flag));
        match verb {
            "add" | "stage" => named.extend(files(rest).filter(has_extension)),
            "mv" => named.extend(files(rest)),
            "rm" if !is_recursive(rest) => named.extend(files(rest)),
            "commit" | "cherry-pick" | "revert" | "am" => {
                self.made.extend(output.lines().filter_map(committed));
            }
            "status" => self.differing.extend(output.lines().filter_map(listed)),
            "diff" if is_of_the_worktree(rest) => {
                if has("--name-only") || has("--name-status") {
                    let lines = output.lines().filter(|_| alone);
                    let last = lines.filter_map(|line| line.split('\t').next_back());
                    self.differing.extend(kept(last));
                } else {
                    self.differing.extend(output.lines().filter_map(counted));
                }
            }
            _ => {}
        }
    }
}

/// Returns the words of a command from its program on, without assignments and prefixes.
fn arguments(simple: &SimpleCommand) -> impl Iterator<Item = &str> {
    let is_setting = |word: &str| {
        word.split_once('=').is_some_and(|(name, _)| {
            name.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        })
    };
    let words = simple.words.iter().map(String::as_str);
    words.skip_while(move |word| is_setting(word) || matches!(*word, "sudo" | "env" | "time"))
}

/// Returns the arguments that are not options.
fn files<'w>(words: &[&'w str]) -> impl Iterator<Item = &'w str> {
    words
        .iter()
        .copied()
        .filter(|word| !word.starts_with('-') && !word.ends_with('/'))
}

/// Returns true for a name with an extension. Folders can be staged and formatted as well.
fn has_extension(word: &&str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    name.len() > 1 && name.trim_end_matches('.').contains('.')
}

fn is_recursive(words: &[&str]) -> bool {
    words.iter().any(|word| {
        *word == "--recursive"
            || (word.starts_with('-') && !word.starts_with("--") && word.contains(['r', 'R']))
    })
}

/// Returns the files that `sed -i` and `perl -i` change: all words but options and the script.
fn edited_in_place<'w>(words: &[&'w str]) -> Vec<&'w str> {
    let short = |word: &str| word.starts_with('-') && !word.starts_with("--");
    let in_place =
        |word: &&&str| (short(word) && word.contains('i')) || word.starts_with("--in-place");
    if !words.iter().any(|word| in_place(&word)) {
        return Vec::new();
    }
    // The script is an option's value or else the first word that is not an option.
    let mut has_script = words.iter().any(|word| short(word) && word.ends_with('e'));
    let mut files = Vec::new();
    let mut is_value = false;
    for word in words {
        if std::mem::take(&mut is_value) || word.is_empty() {
            continue;
        }
        if word.starts_with('-') {
            is_value = short(word) && word.ends_with(['e', 'f']);
        } else if has_script {
            files.push(*word);
        } else {
            has_script = true;
        }
    }
    files
}

/// Returns true if a formatter writes its output back.
fn writes(program: &str, words: &[&str]) -> bool {
    match program {
        "gofmt" => words.contains(&"-w"),
        "prettier" => words.iter().any(|word| matches!(*word, "--write" | "-w")),
        _ => !words.contains(&"--check"),
    }
}

/// Returns git's subcommand and its arguments.
fn git_verb<'w, 's>(words: &'s [&'w str]) -> (&'w str, &'s [&'w str]) {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        match *word {
            "-C" | "-c" => at += 2,
            word if word.starts_with('-') => at += 1,
            verb => return (verb, words.get(at + 1..).unwrap_or_default()),
        }
    }
    ("", &[])
}

/// Returns true if `git diff` compares the working tree with the last commit, not two commits.
fn is_of_the_worktree(words: &[&str]) -> bool {
    words
        .iter()
        .take_while(|word| **word != "--")
        .all(|word| word.starts_with('-') || *word == "HEAD" || has_extension(word))
        && !words.iter().any(|word| word.contains(".."))
}

/// Reads ` create mode 100644 src/a.rs`, ` rename src/{a.rs => b.rs} (90%)`, ` src/a.rs | 3 +-`.
fn committed(line: &str) -> Option<String> {
    let of_mode = line
        .strip_prefix(" create mode ")
        .or_else(|| line.strip_prefix(" delete mode "))
        .and_then(|rest| rest.split_once(' '))
        .map(|(_, path)| path);
    let renamed = line
        .strip_prefix(" rename ")
        .and_then(|rest| rest.rsplit_once(" ("))
        .and_then(|(path, _)| new_name(path));
    match (of_mode, renamed) {
        (Some(path), _) => path_of(path),
        (None, Some(path)) => path_of(&path),
        (None, None) => counted(line),
    }
}

/// Reads ` src/a.rs | 3 +-`.
fn counted(line: &str) -> Option<String> {
    let (path, count) = line.strip_prefix(' ')?.split_once(" | ")?;
    let count = count.trim_start();
    let is_count = count.starts_with(|c: char| c.is_ascii_digit()) || count.starts_with("Bin");
    let path = path.trim();
    let path = new_name(path).unwrap_or_else(|| path.to_owned());
    is_count.then(|| path_of(&path)).flatten()
}

/// Returns the second of two names: `src/{a.rs => b.rs}` or `a.rs => b.rs`.
fn new_name(path: &str) -> Option<String> {
    let (before, new) = path.split_once(" => ")?;
    Some(match (before.split_once('{'), new.split_once('}')) {
        (Some((folder, _)), Some((new, rest))) => format!("{folder}{new}{rest}").replace("//", "/"),
        _ => new.to_owned(),
    })
}

/// Reads a line of `git status`, long or short.
fn listed(line: &str) -> Option<String> {
    let long = ["modified:", "new file:", "deleted:", "renamed:"]
        .iter()
        .find_map(|mark| line.trim_start().strip_prefix(mark));
    let path = if let Some(path) = long {
        path.trim()
    } else {
        let (marks, path) = line.split_at_checked(2)?;
        let is_mark = |c: char| matches!(c, ' ' | 'M' | 'A' | 'D' | 'R' | 'C' | 'T' | 'U' | '?');
        let path = path.strip_prefix(' ')?;
        if marks.trim().is_empty() || !marks.chars().all(is_mark) || path.starts_with(' ') {
            return None;
        }
        path
    };
    let path = path.rsplit(" -> ").next().unwrap_or(path);
    path_of(path).filter(|path| !path.ends_with('/'))
}

fn kept<'a>(paths: impl Iterator<Item = &'a str>) -> impl Iterator<Item = String> {
    paths.filter_map(path_of)
}

fn path_of(word: &str) -> Option<String> {
    let word = word.trim();
    is_file(word).then(|| word.to_owned())
}

/// Returns the folder that `cd` leads to from a folder of the project. An absolute path is taken for
/// the folder that the session runs in.
fn moved(folder: &str, to: Option<&str>) -> Option<String> {
    let to = to?;
    if to.starts_with('/') {
        return Some(String::new());
    }
    is_file(to.trim_end_matches('/')).then(|| within(folder, to.trim_end_matches('/')))
}

fn within(folder: &str, path: &str) -> String {
    let path = path.strip_prefix("./").unwrap_or(path);
    if folder.is_empty() {
        path.to_owned()
    } else {
        format!("{folder}/{path}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn made(line: &str) -> Vec<String> {
        file_changes(line, "").made
    }

    #[test]
    fn a_command_line_says_what_it_writes() {
        for (line, files) in [
            ("cat > src/a.rs <<'EOF'\nx > no.rs\nEOF", &["src/a.rs"][..]),
            ("cargo test 2>&1 | tee out.log", &["out.log"]),
            (
                "sed -i 's/a/b/' src/a.rs src/b.rs",
                &["src/a.rs", "src/b.rs"],
            ),
            ("sed -i '' -e 's/a/b/' src/a.rs", &["src/a.rs"]),
            ("perl -pi -e 's/a/b/' src/a.rs", &["src/a.rs"]),
            ("sed -n 1,5p src/a.rs", &[]),
            ("git mv a.rs src/b.rs", &["a.rs", "src/b.rs"]),
            ("cp a.rs b.rs && rm c.rs", &["b.rs", "c.rs"]),
            ("rm -rf target", &[]),
            (
                "cd web && touch app.ts && cd .. && touch lost.ts",
                &["web/app.ts"],
            ),
            ("cd /home/ada/shop && gofmt -w cart.go", &["cart.go"]),
            (
                "git add -A src docs/a.md && git commit -m x",
                &["docs/a.md"],
            ),
            ("echo x > /tmp/x; echo y > $HOME/y; ls > /dev/null", &[]),
            ("grep -rn 'a > b.rs' src", &[]),
        ] {
            assert_eq!(made(line), files, "{line}");
        }
    }

    #[test]
    fn git_says_what_was_committed() {
        let output = "[main abc1234] Move\n 3 files changed, 4 insertions(+)\n \
                      create mode 100644 src/new.rs\n rename src/{a.rs => b.rs} (90%)\n \
                      delete mode 100644 old.rs";
        assert_eq!(
            file_changes("git commit -m Move", output).made,
            ["src/new.rs", "src/b.rs", "old.rs"]
        );
    }

    #[test]
    fn files_that_differ_are_listed_apart_from_those_made() {
        let short = " M src/a.rs\n?? src/new.rs\nR  x.rs -> y.rs\n?? dir/\n## main\nall good";
        assert_eq!(
            file_changes("git status --short", short).differing,
            ["src/a.rs", "src/new.rs", "y.rs"]
        );
        let long = "On branch main\n\tmodified:   src/a.rs\n\tnew file:   b.rs\n";
        assert_eq!(
            file_changes("git status", long).differing,
            ["src/a.rs", "b.rs"]
        );
        let stat = " src/a.rs | 3 +--\n .../deep/b.rs | 2 ++\n pic.png | Bin 0 -> 3 bytes\n 2 files changed";
        assert_eq!(
            file_changes("git diff --stat", stat).differing,
            ["src/a.rs", "pic.png"]
        );
        assert_eq!(
            file_changes("git diff main...HEAD --stat", stat),
            FileChanges::default()
        );
        assert_eq!(
            file_changes("git diff main --stat", stat),
            FileChanges::default()
        );
        assert_eq!(
            file_changes("git diff --name-only", "src/a.rs\nb.rs\n").differing,
            ["src/a.rs", "b.rs"]
        );
    }

    proptest! {
        #[test]
        fn any_command_is_looked_at(line in any::<String>(), output in any::<String>()) {
            file_changes(&line, &output);
            file_changes(&format!("git status; git commit; git diff --stat; {line}"), &output);
        }
    }
}
