//! The work at the moment when the conversation was cut: the last call, the step that was announced, the
//! model's last words, and a stop by the user.

use flamestack_core::text::condense;
use flamestack_core::transcript::{CallKind, Entry, EntryKind};

use super::prompts::{self, Said};
use super::runs::{self, is_refusal};
use super::{Action, ActionKind, MAX_COMMAND, edits};

/// Number of calls after which a stated intention has been carried out.
const INTENTION_AGE: usize = 2;
/// Number of calls after which the model's words say nothing about the present.
const WORDS_AGE: usize = 8;
/// Maximum length of a stated intention, in bytes.
const MAX_INTENTION: usize = 400;
/// Maximum lengths of what is quoted, in characters; the entry has the rest.
const MAX_STEP: usize = 300;
const MAX_WORDS: usize = 240;
const MAX_QUESTION: usize = 160;
const MAX_REPLY_START: usize = 80;
const MAX_REPLY_END: usize = 480;

/// Returns the last call that was answered, unless a later one was not.
pub(super) fn last_action(entries: &[Entry]) -> Option<Action> {
    let calls = entries.iter().enumerate().rev();
    let (at, call) = calls.clone().find_map(|(at, entry)| match &entry.kind {
        EntryKind::Call(call) if call.kind != CallKind::Todo => Some((at, call)),
        _ => None,
    })?;
    let mut later = entries.iter().enumerate().skip(at);
    let (answered, answer) = later.find_map(|(at, entry)| match &entry.kind {
        EntryKind::Answer(answer) if answer.call == call.id => Some((at, answer)),
        _ => None,
    })?;
    let action = |kind, object: &str| Action {
        kind,
        object: condense(object, MAX_COMMAND),
        entry: at,
        answered,
    };
    let path = call.paths.first();
    if is_refusal(&answer.text) {
        let line = runs::command_lines(call).into_iter().next_back();
        let object = line.as_deref().or(path.map(String::as_str))?;
        return Some(action(ActionKind::Refused, without_setup(object)));
    }
    match call.kind {
        CallKind::Edit | CallKind::Write if edits::succeeded(call, answer) => {
            path.map(|path| action(ActionKind::Edited, path))
        }
        CallKind::Read if answer.ok => path.map(|path| action(ActionKind::Read, path)),
        CallKind::Execute => {
            let line = runs::command_lines(call).into_iter().next_back()?;
            Some(action(ActionKind::Ran, without_setup(&line)))
        }
        _ => None,
    }
}

/// Returns a command line without the changes of folder and the comments before it.
pub(crate) fn without_setup(line: &str) -> &str {
    let mut rest = line.trim();
    loop {
        let word = rest.split_whitespace().next().unwrap_or_default();
        let end = match word {
            "cd" | "export" | "source" | "set" | "pushd" => ["&&", ";", "\n"]
                .iter()
                .filter_map(|mark| Some((rest.find(mark)?, mark.len())))
                .min(),
            word if word.starts_with('#') => rest.find('\n').map(|at| (at, 1)),
            _ => None,
        };
        let after = end
            .and_then(|(at, length)| rest.get(at + length..))
            .map(str::trim);
        match after.filter(|after| !after.is_empty()) {
            Some(after) => rest = after,
            None => return rest,
        }
    }
}

/// Returns the model's reply before a message of the user: where it begins, and most of its end, which
/// has the offer, the options or the question that the user answers.
pub(super) fn reply_before(entries: &[Entry], entry: usize) -> Option<Said> {
    let before = entries.get(..entry)?.iter().enumerate().rev();
    let mut before = before.take_while(|(_, entry)| !prompts::is_from_user(entry));
    let (entry, text) = before.find_map(|(at, entry)| match &entry.kind {
        EntryKind::Assistant { text } if !text.trim().is_empty() => Some((at, text)),
        _ => None,
    })?;
    let text = both_ends(text, MAX_REPLY_START, MAX_REPLY_END);
    Some(Said { entry, text })
}

/// Returns the beginning and the end of a text on one line, cut between words.
fn both_ends(text: &str, start: usize, end: usize) -> String {
    let line = condense(text, usize::MAX);
    let length = line.chars().count();
    if length <= start + end {
        return line;
    }
    let skipped = line.char_indices().nth(length - end);
    let tail = skipped.and_then(|(at, _)| line.get(at..));
    let tail = tail.and_then(|tail| tail.split_once(' '));
    let tail = tail.map_or("", |(_, rest)| rest);
    format!("{} {tail}", condense(&line, start))
}

/// Returns the beginning of the model's last text, and the question that it ends with, unless much was
/// done since: words about a step that was taken long ago mislead.
pub(super) fn last_words(entries: &[Entry]) -> Option<Said> {
    let mut calls = 0;
    let texts = entries.iter().enumerate().rev();
    let mut recent = texts.take_while(|(_, entry)| {
        calls += usize::from(matches!(entry.kind, EntryKind::Call(_)));
        calls <= WORDS_AGE
    });
    let (entry, text) = recent.find_map(|(at, entry)| match &entry.kind {
        EntryKind::Assistant { text } if !text.trim().is_empty() => Some((at, text)),
        _ => None,
    })?;
    let mut words = prompts::gist(text, MAX_WORDS);
    let asked = prompts::sentences(text).into_iter().next_back();
    let asked = asked.filter(|sentence| sentence.ends_with(['?', '？']));
    let asked = asked.map(|sentence| condense(sentence, MAX_QUESTION));
    if let Some(asked) = asked.filter(|asked| !words.contains(asked.as_str())) {
        words.push_str(&format!(" {asked}"));
    }
    Some(Said { entry, text: words })
}

/// Returns the index of the entry with which the user stopped the work, if nothing was done since.
pub(super) fn stopped(entries: &[Entry]) -> Option<usize> {
    for (at, entry) in entries.iter().enumerate().rev() {
        match &entry.kind {
            EntryKind::Interrupted { .. } => return Some(at),
            EntryKind::Call(_) | EntryKind::Assistant { .. } => return None,
            _ if prompts::is_from_user(entry) => return None,
            _ => {}
        }
    }
    None
}

/// Phrases with which a model announces its next step.
const ANNOUNCEMENTS: [&str; 17] = [
    "i'll ",
    "i will ",
    "i'm going to ",
    "i am going to ",
    "let me ",
    "let's ",
    "going to ",
    "next, ",
    "next i ",
    "next i'",
    "next step",
    "now, ",
    "now i ",
    "now i'",
    "now let",
    "about to ",
    "i need to ",
];

/// Returns the step that the model announced in its newest text, unless it was taken since or the
/// user spoke.
pub(super) fn intention(entries: &[Entry]) -> Option<Said> {
    let mut calls = 0;
    for (at, entry) in entries.iter().enumerate().rev() {
        match &entry.kind {
            EntryKind::Call(call) => calls += usize::from(call.kind != CallKind::Todo),
            EntryKind::Assistant { text } if !text.trim().is_empty() => {
                if calls > INTENTION_AGE {
                    return None;
                }
                let announces = |sentence: &&str| {
                    let lower = format!("{} ", sentence.to_lowercase().replace('’', "'"));
                    sentence.len() <= MAX_INTENTION
                        && !sentence.ends_with('?')
                        && (ANNOUNCEMENTS
                            .iter()
                            .any(|phrase| has_phrase(&lower, phrase))
                            || is_doing(&lower))
                };
                let sentences = prompts::sentences(text);
                let found = sentences.into_iter().rev().find(announces)?;
                return Some(Said {
                    entry: at,
                    text: condense(found, MAX_STEP),
                });
            }
            _ if prompts::is_from_user(entry) => return None,
            _ => {}
        }
    }
    None
}

fn has_phrase(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default();
        !before.ends_with(|c: char| c.is_alphanumeric() || c == '\'')
    })
}

/// Returns true for "I'm checking …".
fn is_doing(text: &str) -> bool {
    let after = text.split_once("i'm ").map(|(_, after)| after);
    let after = after.map(|after| after.strip_prefix("now ").unwrap_or(after));
    after
        .and_then(|after| after.split(' ').next())
        .is_some_and(|word| word.ends_with("ing"))
}
