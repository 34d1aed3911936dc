//! What was said outside the story: the goal, the user's words, the to-do list.

use super::Told;
use super::story::clean;
use crate::anchor::moment::{Moment, Source};
use crate::note::Note;
use crate::tokens::{Tokenizer, prefix, surely_over};
use crate::transcript::{Todo, TodoStatus};

/// So many of the newest prompts are kept beside the first.
const NEWEST: usize = 12;
/// No more of a prompt is looked at.
const LONGEST: usize = 200_000;
/// No word is longer.
const LONGEST_WORD: usize = 30;
/// An item of a to-do list is at most so many characters.
const LONGEST_ITEM: usize = 160;

/// The first prompt and the newest ones.
fn kept<'a>(moments: &'a [Moment<'a>]) -> impl Iterator<Item = &'a Moment<'a>> {
    let prompts = || {
        moments
            .iter()
            .filter(|moment| moment.source == Source::Prompt && !moment.text.trim().is_empty())
    };
    let skip = prompts().count().saturating_sub(NEWEST);
    prompts()
        .enumerate()
        .filter(move |(nth, _)| *nth == 0 || *nth >= skip)
        .map(|(_, moment)| moment)
}

/// What the user said: the first prompt and the newest ones. Short ones are whole; long ones share what is left.
pub(super) fn said(
    moments: &[Moment<'_>],
    told: &Told<'_>,
    limit: usize,
    tokenizer: &dyn Tokenizer,
) -> String {
    let kept: Vec<(String, usize)> = kept(moments)
        .filter(|moment| !told.already.contains(moment.text.trim()))
        .map(|moment| {
            let text: &str = moment.text.trim();
            let text = text
                .get(..text.floor_char_boundary(LONGEST))
                .unwrap_or(text);
            let text = format!("#{} {}\n", moment.entry + 1, clean(text));
            let cost = if surely_over(text.len(), limit) {
                usize::MAX / NEWEST / 4
            } else {
                tokenizer.count(&text)
            };
            (text, cost)
        })
        .collect();
    let level = level(kept.iter().map(|(_, cost)| *cost).collect(), limit);
    let mut whole = String::new();
    for (text, cost) in &kept {
        if *cost <= level {
            whole.push_str(text);
        } else if level > 8 {
            whole.push_str(&ends(text, level - 3, tokenizer));
        }
    }
    whole
}

/// The beginning and the end of a text.
fn ends(text: &str, limit: usize, tokenizer: &dyn Tokenizer) -> String {
    let count = |text: &str| tokenizer.count(text);
    let head = prefix(text, limit * 7 / 10, &count);
    let left = limit.saturating_sub(tokenizer.count(head));
    let mut from = text.ceil_char_boundary(text.len().saturating_sub(left * 4));
    let mut tail = text.get(from..).unwrap_or_default();
    while tokenizer.count(tail) > left {
        from = text.ceil_char_boundary(from + (text.len() - from) / 4 + 1);
        tail = text.get(from..).unwrap_or_default();
    }
    // Not from the middle of a word, where there are words.
    let tail = match tail.split_once(char::is_whitespace) {
        Some((word, rest)) if word.len() < LONGEST_WORD => rest,
        _ => tail,
    };
    format!("{head} … {}\n", tail.trim())
}

/// The most that each may have so that all fit: what the short ones leave goes to the long ones.
fn level(mut costs: Vec<usize>, limit: usize) -> usize {
    costs.sort_unstable();
    let mut left = limit;
    let many = costs.len();
    for (nth, cost) in costs.iter().enumerate() {
        let each = left / (many - nth).max(1);
        if *cost > each {
            return each;
        }
        left -= cost;
    }
    limit
}

/// The goal and what was noted, one to a line, for as long as there is room.
pub(super) fn told_lines(
    moments: &[Moment<'_>],
    told: &Told<'_>,
    limit: usize,
    tokenizer: &dyn Tokenizer,
) -> String {
    let mut lines = Lines::new(limit, tokenizer);
    for (label, text) in [("Goal", told.goal), ("Done when", told.criteria)] {
        if let Some(text) = text {
            let room = limit / 3;
            let text = prefix(text.trim(), room, &|text| tokenizer.count(text));
            lines.add(&format!("{label}: {}\n", clean(text)));
        }
    }
    // The newest notes are the ones that still hold.
    for note in told.notes.iter().rev() {
        // Directives are a person's words; those that stand below are not said twice.
        let beginning: String = note.text().as_str().chars().take(BEGINNING).collect();
        let label = match note {
            Note::Directive(_)
                if kept(moments).any(|moment| moment.text.trim().starts_with(&beginning)) =>
            {
                continue;
            }
            Note::Directive(_) => "The user said",
            Note::Decision { .. } => "Decided",
            Note::FailedAttempt { .. } => "Did not work",
            _ => continue,
        };
        let text = crate::text::condense(note.text().as_str(), LONGEST_NOTE);
        lines.add(&format!("{label}: {text}\n"));
    }
    lines.text
}

/// Texts that begin alike for so many characters are the same.
const BEGINNING: usize = 40;
/// A note is shown with at most so many characters.
const LONGEST_NOTE: usize = 400;

/// The to-do list: what is being done, what comes next, then what is done.
pub(super) fn todo_lines(todos: &[Todo], limit: usize, tokenizer: &dyn Tokenizer) -> String {
    let mut lines = Lines::new(limit, tokenizer);
    for (status, mark) in [
        (TodoStatus::Active, "now"),
        (TodoStatus::Pending, "next"),
        (TodoStatus::Done, "done"),
    ] {
        for todo in todos.iter().filter(|todo| todo.status == status) {
            let item = crate::text::condense(&todo.text, LONGEST_ITEM);
            lines.add(&format!("{mark}: {item}\n"));
        }
    }
    lines.text
}

/// Lines within a number of tokens.
struct Lines<'a> {
    text: String,
    left: usize,
    tokenizer: &'a dyn Tokenizer,
}

impl<'a> Lines<'a> {
    fn new(limit: usize, tokenizer: &'a dyn Tokenizer) -> Self {
        Self {
            text: String::new(),
            left: limit,
            tokenizer,
        }
    }

    fn add(&mut self, line: &str) {
        let cost = self.tokenizer.count(line);
        if cost <= self.left {
            self.left -= cost;
            self.text.push_str(line);
        }
    }
}
