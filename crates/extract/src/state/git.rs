//! The branch, the last commit and uncommitted changes, from what the model itself ran.

use std::collections::BTreeMap;

use flamestack_core::text::condense;
use flamestack_core::transcript::{Answer, Call, CallKind, Entry, EntryKind};

use super::files::Edit;
use super::prompts::is_from_user;
use super::runs::{command_lines, is_refusal, running_id};
use crate::shell::{SimpleCommand, git_words, invocation, subject, unwrapped};

/// A commit that the model made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionCommit {
    /// The abbreviated hash, if git printed it.
    pub hash: Option<String>,
    /// The first line of its message.
    pub subject: String,
    /// Index of the entry that reported it.
    pub entry: usize,
    /// True if it was pushed.
    pub is_pushed: bool,
}

/// State of the repository, as far as it is certain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitState {
    /// The current branch.
    pub branch: Option<String>,
    /// The last commit of this session.
    pub commit: Option<SessionCommit>,
    /// True if there are uncommitted changes, false if everything is committed.
    pub uncommitted: Option<bool>,
}

/// Number of calls after which a branch that was seen may be another one by now.
const BRANCH_AGE: u32 = 150;
/// Maximum length of a subject, in characters.
const MAX_SUBJECT: usize = 120;

/// Returns the state of the repository after the given entries and successful edits.
pub(super) fn git(entries: &[Entry], edits: &[Edit]) -> GitState {
    let mut reader = Reader::default();
    let mut calls: BTreeMap<&str, &Call> = BTreeMap::new();
    for (at, entry) in entries.iter().enumerate() {
        reader.at = at;
        match &entry.kind {
            EntryKind::Call(call) => {
                reader.count += 1;
                if call.kind == CallKind::Execute || call.tool == "exec" {
                    calls.insert(&call.id, call);
                }
            }
            EntryKind::Answer(answer) => {
                if let Some(call) = calls.remove(answer.call.as_str()) {
                    reader.answered(call, answer);
                }
            }
            _ if is_from_user(entry) => reader.user = at,
            _ => {}
        }
    }
    reader.state(edits)
}

#[derive(Default)]
struct Reader {
    count: u32,
    at: usize,
    /// Index of the user's last message.
    user: usize,
    branch: Option<(String, u32)>,
    commit: Option<SessionCommit>,
    /// Index of the last command that may have changed what is committed.
    unsure: usize,
    /// Git's last word on uncommitted changes, and its entry.
    said: Option<(usize, bool)>,
}

impl Reader {
    fn answered(&mut self, call: &Call, answer: &Answer) {
        let lines = command_lines(call);
        // A commit that was started may yet fail.
        if is_refusal(&answer.text)
            || running_id(&answer.text).is_some()
            || !lines.iter().any(|line| line.contains("git"))
        {
            return;
        }
        let ok = answer.exit_code.unwrap_or(i32::from(!answer.ok)) == 0 && lines.len() == 1;
        for line in &lines {
            let commands = unwrapped(line);
            if is_elsewhere(&commands) {
                continue;
            }
            let alone = commands.len() == 1;
            for words in commands.iter().filter_map(git_words) {
                self.command(&words, line, &answer.text, ok, alone);
            }
        }
    }

    fn command(&mut self, words: &[&str], line: &str, output: &str, ok: bool, alone: bool) {
        let (verb, rest) = words
            .split_first()
            .map_or(("", &[][..]), |(verb, rest)| (*verb, rest));
        match verb {
            "checkout" | "switch" => {
                self.unsure = self.at;
                self.switched(rest, output, ok);
            }
            "commit" if !rest.contains(&"--dry-run") => self.committed(line, output, ok),
            "status" if ok => self.status(rest, output, alone),
            "branch" if ok && rest.contains(&"--show-current") && alone => {
                let last = output.lines().map(str::trim).rfind(|line| !line.is_empty());
                self.on(last.filter(|name| is_ref(name)));
            }
            "branch" if ok && matches!(rest, ["-m" | "-M", _, ..]) => self.on(rest.last().copied()),
            "push" if ok && !says_failed(output) && !rest.contains(&"--dry-run") => {
                if let Some(commit) = &mut self.commit {
                    commit.is_pushed = true;
                }
            }
            "worktree" if rest.first() == Some(&"add") => self.branch = None,
            "stash" | "reset" | "restore" | "revert" | "merge" | "rebase" | "pull"
            | "cherry-pick" | "am" => {
                self.unsure = self.at;
            }
            _ => {}
        }
    }

    fn on(&mut self, branch: Option<&str>) {
        self.branch = branch.map(|name| (name.to_owned(), self.count));
    }

    fn switched(&mut self, rest: &[&str], output: &str, ok: bool) {
        let named = output.lines().find_map(|line| {
            let rest = line.strip_prefix("Switched to ")?;
            rest.split('\'').nth(1)
        });
        if named.is_some() {
            return self.on(named);
        }
        if rest.contains(&"--") || !ok {
            return;
        }
        let create = |word: &&str| matches!(*word, "-b" | "-B" | "-c" | "-C" | "--create");
        if let Some(at) = rest.iter().position(create) {
            self.on(rest.get(at + 1).copied().filter(|name| is_ref(name)));
        } else if let [name] = rest
            .iter()
            .filter(|word| !word.starts_with('-'))
            .collect::<Vec<_>>()[..]
            && !name.contains('.')
        {
            // It may be a branch, a commit or a path.
            self.branch = None;
        }
    }

    fn committed(&mut self, line: &str, output: &str, ok: bool) {
        let printed = output.lines().rev().find_map(|line| {
            let (place, subject) = line.strip_prefix('[')?.split_once("] ")?;
            let (branch, hash) = place.rsplit_once(' ')?;
            let is_hash =
                (7..=12).contains(&hash.len()) && hash.bytes().all(|b| b.is_ascii_hexdigit());
            is_hash.then_some((branch.trim_end_matches(" (root-commit)"), hash, subject))
        });
        if let Some((branch, hash, subject)) = printed {
            self.on(Some(branch).filter(|name| is_ref(name) && *name != "HEAD"));
            let hash = hash.get(..7).unwrap_or(hash);
            self.commits(Some(hash.to_owned()), subject);
        } else if output.contains("nothing to commit") {
            self.said = Some((self.at, false));
        } else if let Some(subject) = subject(line).filter(|_| ok && !says_failed(output)) {
            self.commits(None, &subject);
        } else {
            self.unsure = self.at;
        }
    }

    fn commits(&mut self, hash: Option<String>, subject: &str) {
        self.unsure = self.at;
        self.commit = Some(SessionCommit {
            hash,
            subject: condense(subject, MAX_SUBJECT),
            entry: self.at,
            is_pushed: false,
        });
    }

    fn status(&mut self, options: &[&str], output: &str, alone: bool) {
        let branch = output.lines().find_map(|line| {
            let short = || {
                line.strip_prefix("## ")?
                    .split_once("...")
                    .map(|(name, _)| name)
            };
            line.strip_prefix("On branch ").or_else(short)
        });
        if branch.is_some() {
            self.on(branch);
        }
        let lists =
            |line: &str| line.starts_with("Changes ") || line.trim_start().starts_with("modified:");
        let is_short = |option: &&str| matches!(*option, "--short" | "-s" | "-sb" | "--porcelain");
        let listed = |line: &str| {
            let (mark, path) = line.split_at_checked(2).unwrap_or(("", ""));
            path.starts_with(' ')
                && mark != "??"
                && mark.chars().all(|c| " MADRCU".contains(c))
                && mark != "  "
        };
        if output.contains("working tree clean") {
            self.said = Some((self.at, false));
        } else if output.lines().any(lists)
            || (alone && options.iter().any(is_short) && output.lines().any(listed))
        {
            self.said = Some((self.at, true));
        }
    }

    fn state(self, edits: &[Edit]) -> GitState {
        let is_inside = |edit: &&Edit| !edit.replacement.path.starts_with(['/', '~']);
        let last_edit = edits.iter().rfind(is_inside).map(|edit| edit.entry);
        let said = self
            .said
            .filter(|(at, _)| *at > self.unsure && last_edit.is_none_or(|edit| edit < *at));
        let edited = last_edit.is_some_and(|edit| edit > self.unsure && edit > self.user);
        let branch = self
            .branch
            .filter(|(_, seen)| self.count - seen <= BRANCH_AGE);
        GitState {
            branch: branch.map(|(name, _)| name),
            commit: self.commit,
            uncommitted: said.map(|(_, dirty)| dirty).or(edited.then_some(true)),
        }
    }
}

/// Returns true if commands are about another repository: a new one, or one in a folder for scratch.
fn is_elsewhere(commands: &[SimpleCommand]) -> bool {
    const SCRATCH: [&str; 4] = ["/tmp", "/private/tmp", "/var/folders", "/private/var"];
    let is_scratch = |word: &&str| SCRATCH.iter().any(|folder| word.starts_with(folder));
    commands.iter().any(|command| {
        let git = git_words(command);
        let words = invocation(command);
        let makes = git.is_some_and(|words| matches!(words.first(), Some(&"init" | &"clone")));
        let enters = matches!(words.first(), Some(&"cd" | &"pushd"));
        let named = matches!(words.get(..2), Some(["git", "-C"]));
        makes
            || matches!(words.first(), Some(&"mktemp"))
            || (enters && words.get(1).is_some_and(&is_scratch))
            || (named && words.get(2).is_some_and(&is_scratch))
    })
}

fn is_ref(name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "_./@+-".contains(c);
    !name.is_empty() && name.len() <= 200 && name.chars().all(is_part)
}

fn says_failed(output: &str) -> bool {
    ["no changes added", "fatal:", "error:", "rejected"]
        .iter()
        .any(|mark| output.contains(mark))
}
