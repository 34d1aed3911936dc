//! The files that a session changed and that are still changed.

use std::collections::BTreeMap;

use flamestack_core::transcript::{Answer, Call, CallKind, Entry, EntryKind};

use super::edits::{self, Replacement};
use super::runs::command_lines;
use super::steps::looks;
use crate::shell::{SimpleCommand, file_changes, git_words, invocation, unwrapped};

/// Kind of change of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileChange {
    /// It was edited.
    Edited,
    /// It was created, or written as a whole.
    Written,
    /// It was deleted.
    Deleted,
}

/// A file that a session changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// Its path, relative to the project if it is inside.
    pub path: String,
    /// Its first change, or its deletion.
    pub change: FileChange,
    /// Functions and types that were changed, the newest last.
    pub names: Vec<String>,
    /// Index of the entry of its last change.
    pub entry: usize,
}

/// A successful edit.
#[derive(Clone, Debug)]
pub(super) struct Edit {
    /// Index of the entry that reported it.
    pub(super) entry: usize,
    pub(super) replacement: Replacement,
}

/// The files and edits of a session.
#[derive(Clone, Debug, Default)]
pub(super) struct Files {
    /// Changed files, the last change last.
    pub(super) changed: Vec<ChangedFile>,
    pub(super) edits: Vec<Edit>,
    /// Files whose changes were taken back with git, with the entry.
    pub(super) restored: Vec<(String, usize)>,
}

/// Number of names kept for each file.
const MAX_NAMES: usize = 8;
/// Folders outside of any project.
const OUTSIDE: [&str; 7] = [
    "/tmp/",
    "/private/",
    "/var/",
    "/dev/",
    "~/.",
    ".claude/plans/",
    ".claude/projects/",
];

/// Collects the files and edits of a session.
pub(super) fn files(entries: &[Entry]) -> Files {
    let mut files = Files::default();
    let mut calls: BTreeMap<&str, &Call> = BTreeMap::new();
    for (at, entry) in entries.iter().enumerate() {
        match &entry.kind {
            EntryKind::Call(call) => {
                if matches!(
                    call.kind,
                    CallKind::Edit | CallKind::Write | CallKind::Execute
                ) {
                    calls.insert(&call.id, call);
                }
            }
            EntryKind::Answer(answer) => {
                if let Some(call) = calls.remove(answer.call.as_str()) {
                    files.answered(at, call, answer);
                }
            }
            EntryKind::Changed { paths } => {
                for path in paths {
                    files.seen(path, at);
                }
            }
            _ => {}
        }
    }
    files
}

impl Files {
    fn answered(&mut self, at: usize, call: &Call, answer: &Answer) {
        if edits::succeeded(call, answer) {
            for replacement in edits::replacements(call) {
                let change = match &replacement {
                    Replacement { deleted: true, .. } => FileChange::Deleted,
                    Replacement { whole: true, .. } => FileChange::Written,
                    _ => FileChange::Edited,
                };
                let names = edits::touched(&replacement);
                self.change(&replacement.path, at, change, names);
                self.edits.push(Edit {
                    entry: at,
                    replacement,
                });
            }
        } else if call.kind == CallKind::Execute {
            for line in command_lines(call) {
                for command in unwrapped(&line) {
                    self.commanded(at, &command);
                }
            }
        }
    }

    /// Takes the host's word that a file changed; the host does not say how.
    fn seen(&mut self, path: &str, at: usize) {
        let last = self.changed.iter().rfind(|file| file.path == path);
        let change = last.map_or(FileChange::Edited, |file| file.change);
        self.change(path, at, change, Vec::new());
    }

    fn change(&mut self, path: &str, at: usize, change: FileChange, names: Vec<String>) {
        let path = path.strip_prefix("./").unwrap_or(path);
        if OUTSIDE.iter().any(|folder| path.starts_with(folder)) || is_in_home(path) {
            return;
        }
        let known = self.changed.iter().position(|file| file.path == path);
        let mut file = match known {
            Some(known) => self.changed.remove(known),
            None => ChangedFile {
                path: path.to_owned(),
                change,
                names: Vec::new(),
                entry: at,
            },
        };
        file.entry = at;
        if (file.change == FileChange::Deleted) != (change == FileChange::Deleted) {
            file.change = change;
        }
        for name in names {
            file.names.retain(|known| *known != name);
            file.names.push(name);
        }
        let excess = file.names.len().saturating_sub(MAX_NAMES);
        file.names.drain(..excess);
        self.changed.push(file);
    }

    /// Follows commands after which a file is no longer changed, or no longer there.
    fn commanded(&mut self, at: usize, command: &SimpleCommand) {
        if let Some(words) = git_words(command) {
            let (verb, rest) = words
                .split_first()
                .map_or(("", &[][..]), |(verb, rest)| (*verb, rest));
            let has = |option: &str| rest.contains(&option);
            match verb {
                "restore" if !has("--staged") => self.restore(at, rest),
                "checkout" if has("--") => {
                    let from = rest
                        .iter()
                        .position(|word| *word == "--")
                        .map_or(0, |at| at + 1);
                    self.restore(at, rest.get(from..).unwrap_or_default());
                }
                "reset" if has("--hard") => self.restore(at, &["."]),
                "stash" if rest.is_empty() => self.restore(at, &["."]),
                "rm" | "mv" => self.remove(rest),
                _ => {}
            }
            return;
        }
        let words = invocation(command);
        if let Some(("rm" | "mv", rest)) = words.split_first().map(|(first, rest)| (*first, rest)) {
            self.remove(rest);
        }
    }

    fn restore(&mut self, at: usize, named: &[&str]) {
        let restored = &mut self.restored;
        self.changed.retain(|file| {
            let is_restored = named
                .iter()
                .any(|name| *name == "." || names_file(name, &file.path));
            if is_restored {
                restored.push((file.path.clone(), at));
            }
            !is_restored
        });
    }

    fn remove(&mut self, named: &[&str]) {
        let is_removed = |file: &ChangedFile| named.iter().any(|name| names_file(name, &file.path));
        self.changed.retain(|file| !is_removed(file));
    }
}

/// Returns true if a call or the host may have changed a file: an edit, or a command that writes.
pub(super) fn may_have_changed(entries: &[Entry]) -> bool {
    entries.iter().any(|entry| match &entry.kind {
        EntryKind::Changed { paths } => !paths.is_empty(),
        EntryKind::Call(call) => match call.kind {
            CallKind::Read
            | CallKind::Search
            | CallKind::Todo
            | CallKind::Web
            | CallKind::Ask
            | CallKind::Plan => false,
            CallKind::Execute => {
                let lines = command_lines(call);
                let mut commands = lines.iter().flat_map(|line| unwrapped(line));
                !commands.all(|command| looks(&command))
                    || lines.is_empty()
                    || lines
                        .iter()
                        .any(|line| !file_changes(line, "").made.is_empty())
            }
            _ => true,
        },
        _ => false,
    })
}

/// Returns true for the hidden files of a user.
fn is_in_home(path: &str) -> bool {
    let mut parts = path.split('/');
    let home = parts.next() == Some("") && matches!(parts.next(), Some("Users" | "home"));
    (home && parts.nth(1).is_some_and(|part| part.starts_with('.'))) || path.starts_with("/root/.")
}

/// Returns true if a word of a command line names a file or a folder around it.
fn names_file(word: &str, path: &str) -> bool {
    let word = word
        .strip_prefix("./")
        .unwrap_or(word)
        .trim_end_matches('/');
    if word.len() < 3 || word.starts_with('-') {
        return false;
    }
    let rest = path.strip_prefix(word);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        || path
            .strip_suffix(word)
            .is_some_and(|before| before.ends_with('/'))
        || word
            .strip_suffix(path)
            .is_some_and(|before| before.ends_with('/'))
}
