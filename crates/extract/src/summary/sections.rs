//! The sections besides the story: the goal and the notes, the user's prompts.

use super::SummaryInput;
use super::story::printable;
use crate::state::typed;
use crate::tokens::{Tokenizer, certainly_exceeds, prefix};
use crate::utterance::{Source, Utterance};
use flamestack_core::note::Note;
use flamestack_core::text::condense;

/// Number of the newest prompts that are shown besides the first.
const MAX_PROMPTS: usize = 12;
/// Length of a prompt that is considered, in bytes.
const MAX_PROMPT: usize = 200_000;
/// Minimum room for a prompt, in tokens.
const MIN_LEVEL: usize = 28;
/// Longer words are cut, in bytes.
const MAX_WORD: usize = 30;
/// Number of letters of a prompt in which the title of its session is looked for.
const MAX_TITLE: usize = 400;
/// Maximum length of a note, in characters.
const MAX_NOTE: usize = 400;
/// A directive that begins like a prompt is that prompt, in characters.
const SAME_BEGINNING: usize = 40;

/// Returns the first prompt and the newest ones.
fn shown_prompts<'a>(utterances: &'a [Utterance<'a>]) -> impl Iterator<Item = &'a Utterance<'a>> {
    let is_prompt = |u: &&Utterance<'_>| u.source == Source::Prompt && !u.text.trim().is_empty();
    let count = utterances.iter().filter(is_prompt).count();
    let skipped = count.saturating_sub(MAX_PROMPTS);
    utterances
        .iter()
        .filter(is_prompt)
        .enumerate()
        .filter(move |(nth, _)| *nth == 0 || *nth >= skipped)
        .map(|(_, utterance)| utterance)
}

/// Returns the user's prompts that are not part of `known`: short ones whole, while long ones share
/// the rest of the limit.
pub(super) fn prompts(
    utterances: &[Utterance<'_>],
    known: &str,
    limit: usize,
    tokenizer: &dyn Tokenizer,
) -> String {
    let mut prompts: Vec<(String, usize)> = shown_prompts(utterances)
        .filter_map(|utterance| Some((utterance, one_line(&typed(&utterance.text)?))))
        .filter(|(_, text)| !known.contains(text.as_str()))
        .map(|(utterance, text)| (utterance, without_beginning(&text, known)))
        .map(|(utterance, text)| {
            let text = format!("#{} {text}\n", utterance.entry + 1);
            let cost = if certainly_exceeds(text.len(), limit) {
                usize::MAX / MAX_PROMPTS / 4
            } else {
                tokenizer.count(&text)
            };
            (text, cost)
        })
        .collect();
    let costs = |prompts: &[(String, usize)]| prompts.iter().map(|(_, cost)| *cost).collect();
    let mut level = level_of(costs(&prompts), limit);
    // A few words of each of many prompts say nothing: the oldest go, except for the first.
    while level < MIN_LEVEL && prompts.len() > 2 {
        prompts.remove(1);
        level = level_of(costs(&prompts), limit);
    }
    let mut section = String::new();
    for (text, cost) in &prompts {
        if *cost <= level {
            section.push_str(text);
        } else if level > 8 {
            section.push_str(&both_ends(text, level - 3, tokenizer));
        }
    }
    section
}

/// Returns a prompt without its beginning, if `known` has that as the request.
fn without_beginning(text: &str, known: &str) -> String {
    let lines = known.lines().filter(|line| line.starts_with("Request"));
    let shown = lines.filter_map(|line| line.split_once("): ")?.1.strip_suffix('…'));
    let rest = shown.filter_map(|shown| text.strip_prefix(shown.trim_end()));
    match rest.min_by_key(|rest| rest.len()) {
        Some(rest) => format!("… {}", rest.trim_start()),
        None => text.to_owned(),
    }
}

/// Returns the beginning of a text on one line. A line of a prompt could pass for a heading or a line of
/// the brief.
fn one_line(text: &str) -> String {
    let text = text.trim();
    let end = text.floor_char_boundary(MAX_PROMPT);
    let text = printable(text.get(..end).unwrap_or(text));
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

/// Returns the beginning and the end of a text.
fn both_ends(text: &str, limit: usize, tokenizer: &dyn Tokenizer) -> String {
    let count = |text: &str| tokenizer.count(text);
    let head = prefix(text, limit * 7 / 10, &count);
    let left = limit.saturating_sub(tokenizer.count(head));
    let mut from = text.ceil_char_boundary(text.len().saturating_sub(left * 4));
    let mut tail = text.get(from..).unwrap_or_default();
    while tokenizer.count(tail) > left {
        from = text.ceil_char_boundary(from + (text.len() - from) / 4 + 1);
        tail = text.get(from..).unwrap_or_default();
    }
    // Do not begin in the middle of a word, if there are words.
    let tail = match tail.split_once(char::is_whitespace) {
        Some((word, rest)) if word.len() < MAX_WORD => rest,
        _ => tail,
    };
    format!("{head} … {}\n", tail.trim())
}

/// Returns the most that each may cost so that all fit: the short ones leave room for the long ones.
fn level_of(mut costs: Vec<usize>, limit: usize) -> usize {
    costs.sort_unstable();
    let mut left = limit;
    let count = costs.len();
    for (nth, cost) in costs.iter().enumerate() {
        let each = left / (count - nth).max(1);
        if *cost > each {
            return each;
        }
        left -= cost;
    }
    limit
}

/// Returns the goal and the notes that are not part of `known` and fit, one a line, the newest notes
/// first.
pub(super) fn facts(
    utterances: &[Utterance<'_>],
    input: &SummaryInput<'_>,
    known: &str,
    limit: usize,
    tokenizer: &dyn Tokenizer,
) -> String {
    let mut lines = Lines::new(limit, tokenizer);
    // A session is named after its first prompt, which is shown as such.
    let goal = input.goal.filter(|goal| !names_a_prompt(goal, utterances));
    for (label, text) in [("Goal", goal), ("Done when", input.criteria)] {
        if let Some(text) = text {
            let text = prefix(text.trim(), limit / 3, &|text| tokenizer.count(text));
            lines.add(&format!("{label}: {}\n", one_line(text)));
        }
    }
    for note in input.notes.iter().rev() {
        let text = note.text().as_str();
        let label = match note {
            // Its prompt is shown below.
            Note::Directive(_) if is_prompt(text, utterances) => continue,
            _ if known.contains(text) => continue,
            // The state has the commands that still fail; this one may have passed since.
            Note::FailedAttempt { .. } if is_command(text) && !utterances.is_empty() => continue,
            Note::Directive(_) => "The user said",
            Note::Decision { .. } => "Decided",
            Note::FailedAttempt { .. } => "Did not work",
            Note::Artifact(_) | Note::Evidence(_) => continue,
        };
        lines.add(&format!("{label}: {}\n", condense(text, MAX_NOTE)));
    }
    lines.text
}

/// Returns true if a title is the beginning of a prompt, whatever marks either has.
fn names_a_prompt(title: &str, utterances: &[Utterance<'_>]) -> bool {
    let letters = |text: &str| -> String {
        let letters = text.chars().filter(|c| c.is_alphanumeric());
        letters
            .take(MAX_TITLE)
            .flat_map(char::to_lowercase)
            .collect()
    };
    let title = letters(title);
    let mut prompts = shown_prompts(utterances);
    !title.is_empty()
        && prompts.any(|prompt| {
            let end = prompt.text.floor_char_boundary(4 * MAX_TITLE);
            let start = prompt.text.get(..end).unwrap_or_default();
            letters(start).starts_with(&title)
        })
}

fn is_prompt(directive: &str, utterances: &[Utterance<'_>]) -> bool {
    let beginning: String = directive.chars().take(SAME_BEGINNING).collect();
    let mut prompts = utterances.iter().filter(|it| it.source == Source::Prompt);
    prompts.any(|utterance| utterance.text.trim().starts_with(&beginning))
}

/// Returns true if a note is a command and nothing else.
fn is_command(note: &str) -> bool {
    let command = note.strip_prefix('`').and_then(|it| it.strip_suffix('`'));
    command.is_some_and(|command| !command.is_empty() && !command.contains('`'))
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
