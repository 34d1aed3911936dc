//! Putting a summary together within its tokens.

use super::choose::{Choice, Room};
use super::index::index;
use super::phrase::{self, Phrases};
use super::said::said;
use super::unit::{Unit, units};
use crate::anchor::known::Names;
use crate::anchor::moment::{Moment, Source};
use crate::anchor::worth;
use crate::tokens::Tokenizer;
use crate::transcript::{Todo, TodoStatus};

/// How a budget is divided, in thousandths.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    /// For what the user said.
    pub said: usize,
    /// For the to-do list.
    pub todos: usize,
    /// For the index of names.
    pub names: usize,
    /// Weigh names as what a parent needs of a finished frame.
    pub result: bool,
}

pub(super) fn draft(
    moments: &[Moment<'_>],
    todos: &[Todo],
    limit: usize,
    tokenizer: &dyn Tokenizer,
    shares: Shares,
) -> String {
    let todo_texts: Vec<&str> = todos.iter().map(|todo| todo.text.as_str()).collect();
    let names = Names::gather(moments, &todo_texts);
    let worths: Vec<f32> = names
        .all
        .iter()
        .map(|known| {
            worth::probability(
                &worth::features(known, &names),
                if shares.result {
                    &crate::anchor::weights::RESULTS
                } else {
                    &crate::anchor::weights::NAMES
                },
            )
        })
        .collect();
    let phrases = Phrases::gather(moments, &|_| 0.0);
    let phrase_worths: Vec<f32> = phrases
        .all
        .iter()
        .map(|known| {
            worth::probability(
                &phrase::features(known, phrases.calls),
                &crate::anchor::weights::PHRASES,
            )
        })
        .collect();
    let share = |thousandths: usize| limit * thousandths / 1000;

    let head = said(moments, share(shares.said), tokenizer);
    let list = todo_lines(todos, share(shares.todos), tokenizer);
    let covered = vec![false; phrases.all.len()];
    let units = units(moments, &phrases);
    let mut choice = Choice::new(&units, &phrases, &phrase_worths, covered);
    let fixed = tokenizer.count(&head) + tokenizer.count(&list) + 24;
    let content_limit = limit.saturating_sub(fixed + share(shares.names));
    let mut used = 0;
    let mut fill = |choice: &mut Choice<'_>, limit: usize, used: &mut usize| {
        choice.take(&mut |unit, header| {
            let Some(unit) = units.get(unit) else {
                return Room::TooLittle;
            };
            let Some(moment) = moments.get(unit.moment) else {
                return Room::TooLittle;
            };
            let mut text = passage(moment, unit);
            text.push('\n');
            if header {
                text.push_str(&heading(moment, moments));
            }
            let cost = tokenizer.count(&text);
            if *used + cost <= limit {
                *used += cost;
                Room::Enough
            } else if *used + 12 > limit {
                Room::None
            } else {
                Room::TooLittle
            }
        });
    };
    fill(&mut choice, content_limit, &mut used);
    let body = story(moments, &units, &choice);
    let left = limit.saturating_sub(fixed + tokenizer.count(&body));
    let list_of_names = index(
        &names,
        &worths,
        &[&head, &list, &body],
        left,
        tokenizer,
        shares.result,
    );
    let left = limit.saturating_sub(fixed + tokenizer.count(&list_of_names));
    fill(&mut choice, left.saturating_sub(8), &mut used);
    let body = story(moments, &units, &choice);

    let mut whole = String::new();
    for (title, part) in [
        ("User", &head),
        ("Todo", &list),
        ("Names", &list_of_names),
        ("Log", &body),
    ] {
        if !part.is_empty() {
            whole.push_str("## ");
            whole.push_str(title);
            whole.push('\n');
            whole.push_str(part);
        }
    }
    crate::tokens::prefix(&whole, limit, &|text| tokenizer.count(text)).to_owned()
}

fn todo_lines(todos: &[Todo], limit: usize, tokenizer: &dyn Tokenizer) -> String {
    let mut text = String::new();
    let open = todos
        .iter()
        .filter(|todo| matches!(todo.status, TodoStatus::Active | TodoStatus::Pending));
    let done = todos.iter().filter(|todo| todo.status == TodoStatus::Done);
    for todo in open.chain(done) {
        let mark = match todo.status {
            TodoStatus::Active => "now",
            TodoStatus::Pending => "next",
            _ => "done",
        };
        let line = format!("{mark}: {}\n", crate::text::condense(&todo.text, 160));
        if tokenizer.count(&text) + tokenizer.count(&line) > limit {
            break;
        }
        text.push_str(&line);
    }
    text
}

/// The line that says which moment passages are from.
fn heading(moment: &Moment<'_>, moments: &[Moment<'_>]) -> String {
    let number = moment.entry + 1;
    let path = moment.paths.first().map_or("", String::as_str);
    let outcome = match moment.ok {
        Some(false) => " failed",
        _ => "",
    };
    match moment.source {
        Source::Command => format!("#{number} ran{outcome}: "),
        Source::Edit if moment.text.starts_with(path) => format!("#{number} edit{outcome}: "),
        Source::Edit => format!("#{number} edit{outcome} {path}: "),
        Source::Output | Source::FailedOutput => {
            let called = moment.answers.and_then(|called| moments.get(called));
            let path = called.and_then(|call| call.paths.first());
            match path {
                Some(path) => format!("#{number} {path}: "),
                None => format!("#{number} out: "),
            }
        }
        Source::Call => format!("#{number} call{outcome}: "),
        Source::Plan => format!("#{number} plan: "),
        _ => format!("#{number} "),
    }
}

/// A passage as it is shown: without indentation and line numbers.
fn passage(moment: &Moment<'_>, unit: &Unit) -> String {
    let text = moment
        .text
        .get(unit.start as usize..unit.end as usize)
        .unwrap_or_default();
    let mut shown = String::with_capacity(text.len());
    for line in text.lines() {
        let mut line = line.trim();
        if matches!(moment.source, Source::Output | Source::FailedOutput) {
            line = without_number(line);
        }
        if line.is_empty() {
            continue;
        }
        if !shown.is_empty() {
            shown.push('\n');
        }
        shown.push_str(line);
    }
    shown
}

/// A line of a file without the number that a tool put before it.
fn without_number(line: &str) -> &str {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() == line.len() {
        return line;
    }
    match rest.strip_prefix('→').or_else(|| rest.strip_prefix('\t')) {
        Some(rest) => rest.trim_start(),
        None => line,
    }
}

/// The chosen passages in the order in which things happened.
fn story(moments: &[Moment<'_>], units: &[Unit], choice: &Choice<'_>) -> String {
    let mut text = String::new();
    let mut before: Option<usize> = None;
    for (number, unit) in units.iter().enumerate() {
        if choice.chosen.get(number) != Some(&true) {
            continue;
        }
        let Some(moment) = moments.get(unit.moment) else {
            continue;
        };
        let previous = before.and_then(|before| units.get(before));
        if previous.is_none_or(|previous| previous.moment != unit.moment) {
            text.push_str(&heading(moment, moments));
        } else if before != number.checked_sub(1) {
            text.push_str("… ");
        }
        text.push_str(&passage(moment, unit));
        text.push('\n');
        before = Some(number);
    }
    text
}
