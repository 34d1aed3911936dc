//! The story: the selected passages in the order of the transcript, each with the number of its
//! entry.

use std::borrow::Cow;

use super::passages::Passage;
use crate::shell::{invocation, unwrapped};
use crate::utterance::{Source, Utterance};

/// Number of bytes of an edit in which the beginning of a patch is looked for.
const PATCH_HEAD: usize = 400;

/// Returns the beginning of the line that names the entry of a passage.
pub(super) fn heading(utterance: &Utterance<'_>, utterances: &[Utterance<'_>]) -> String {
    let number = utterance.entry + 1;
    let path = name_on_line(utterance.paths.first().map_or("", String::as_str));
    let failed = if utterance.ok == Some(false) {
        " failed"
    } else {
        ""
    };
    match utterance.source {
        Source::Command if utterance.ok == Some(false) && !is_search(&utterance.text) => {
            format!("#{number} failed: ")
        }
        Source::Command => format!("#{number} ran: "),
        Source::Edit if utterance.ok == Some(false) => format!("#{number} edit failed: {path} "),
        Source::Edit => format!("#{number} edit: {path} "),
        Source::Call => format!("#{number} call{failed}: "),
        Source::Output | Source::FailedOutput => {
            let call = utterance.answers.and_then(|call| utterances.get(call));
            let path = call.and_then(|call| call.paths.first());
            let path = name_on_line(path.map_or("out", String::as_str));
            format!("#{number} {path}: ")
        }
        Source::Plan => format!("#{number} plan: "),
        Source::Prompt | Source::HostWords | Source::Text | Source::Summary => {
            format!("#{number} ")
        }
    }
}

/// Returns true for a command line that ends with a failure if it finds nothing.
fn is_search(line: &str) -> bool {
    const SEARCHES: [&str; 8] = ["rg", "grep", "egrep", "fgrep", "ag", "which", "diff", "cmp"];
    // The other lines are other arguments.
    let line = line.lines().next().unwrap_or_default();
    let last = unwrapped(line).into_iter().next_back();
    let program = last.and_then(|last| invocation(&last).first().map(|it| (*it).to_owned()));
    program.is_some_and(|program| SEARCHES.contains(&program.as_str()))
}

/// Returns a passage as it is shown: in one line, without line numbers, and without the path of an
/// edit, which its heading has.
pub(super) fn shown(utterance: &Utterance<'_>, passage: &Passage) -> String {
    let path = utterance.paths.first().map_or("", String::as_str);
    let is_path = |line: &str| !path.is_empty() && line.ends_with(path) && !line.contains(' ');
    let range = passage.start as usize..passage.end as usize;
    let text = utterance.text.get(range).unwrap_or_default();
    let head = utterance.text.floor_char_boundary(PATCH_HEAD);
    let from_patch = utterance
        .text
        .get(..head)
        .is_some_and(|it| it.contains("*** "));
    let is_call = matches!(utterance.source, Source::Command | Source::Call);
    let mut shown = String::with_capacity(text.len());
    if is_call && passage.start > 0 {
        shown.push_str("… ");
    }
    let marked = shown.len();
    for line in text.lines().map(str::trim) {
        let line = match utterance.source {
            Source::Output | Source::FailedOutput => without_number(line),
            // Added lines of a patch; removed ones keep their mark.
            Source::Edit if from_patch => line.strip_prefix('+').unwrap_or(line).trim_start(),
            _ => line,
        };
        if line.is_empty() || (utterance.source == Source::Edit && is_path(line)) {
            continue;
        }
        if shown.len() > marked {
            // Of a call, another line is another argument: a folder, a description.
            shown.push_str(if is_call { " ⏎ " } else { " " });
        }
        shown.push_str(&printable(line));
    }
    shown
}

/// Returns a text without control characters, which would steer a terminal.
pub(super) fn printable(text: &str) -> Cow<'_, str> {
    let is_control = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if text.contains(is_control) {
        text.replace(is_control, "").into()
    } else {
        text.into()
    }
}

/// Returns a name without line breaks, which would let a part of it pass for a line of the brief.
pub(super) fn name_on_line(name: &str) -> Cow<'_, str> {
    if name.contains(char::is_control) {
        name.replace(char::is_control, " ").into()
    } else {
        name.into()
    }
}

/// Returns a line of a file without the number that a tool put before it.
fn without_number(line: &str) -> &str {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let text = rest.strip_prefix('→').or_else(|| rest.strip_prefix('\t'));
    match text {
        Some(text) if rest.len() < line.len() => text.trim_start(),
        _ => line,
    }
}

/// Returns the selected passages.
pub(super) fn story(
    utterances: &[Utterance<'_>],
    passages: &[Passage],
    selected: &[bool],
) -> String {
    let mut text = String::new();
    let mut last: Option<(usize, usize)> = None;
    let is_selected = passages.iter().zip(selected).enumerate();
    for (number, (passage, _)) in is_selected.filter(|(_, (_, selected))| **selected) {
        let Some(utterance) = utterances.get(passage.utterance) else {
            continue;
        };
        match last {
            Some((last, same)) if same == passage.utterance => {
                let before = utterance.text.get(..passage.start as usize);
                let in_word = before.is_some_and(|it| !it.ends_with(char::is_whitespace));
                text.push_str(if last + 1 < number {
                    " … "
                } else if in_word {
                    ""
                } else {
                    " "
                });
            }
            _ => {
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(&heading(utterance, utterances));
            }
        }
        text.push_str(&shown(utterance, passage));
        last = Some((number, passage.utterance));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}
