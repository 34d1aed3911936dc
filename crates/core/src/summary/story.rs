//! The chosen passages in the order in which things happened, each with the number of its entry.

use super::unit::Unit;
use crate::anchor::moment::{Moment, Source};

/// The beginning of the line that says which entry passages are from.
pub(super) fn heading(moment: &Moment<'_>, moments: &[Moment<'_>]) -> String {
    let number = moment.entry + 1;
    let path = moment.paths.first().map_or("", String::as_str);
    let failed = if moment.ok == Some(false) {
        " failed"
    } else {
        ""
    };
    match moment.source {
        Source::Command => format!("#{number} ran{failed}: "),
        // The text of many edits begins with the path.
        Source::Edit if moment.text.contains(path) => format!("#{number} edit{failed}: "),
        Source::Edit => format!("#{number} edit{failed} {path}: "),
        Source::Call => format!("#{number} call{failed}: "),
        Source::Output | Source::FailedOutput => {
            let called = moment.answers.and_then(|called| moments.get(called));
            match called.and_then(|call| call.paths.first()) {
                Some(path) => format!("#{number} {path}: "),
                None => format!("#{number} out: "),
            }
        }
        Source::Plan => format!("#{number} plan: "),
        Source::Prompt | Source::HostWords | Source::Prose | Source::Summary => {
            format!("#{number} ")
        }
    }
}

/// A passage as it is shown: without indentation and line numbers.
pub(super) fn passage(moment: &Moment<'_>, unit: &Unit) -> String {
    let text = moment
        .text
        .get(unit.start as usize..unit.end as usize)
        .unwrap_or_default();
    let numbered = matches!(moment.source, Source::Output | Source::FailedOutput);
    let mut shown = String::with_capacity(text.len());
    for line in text.lines() {
        let line = line.trim();
        let line = if numbered { without_number(line) } else { line };
        if line.is_empty() {
            continue;
        }
        if !shown.is_empty() {
            shown.push('\n');
        }
        shown.push_str(&clean(line));
    }
    shown
}

/// A text without characters that only steer terminals.
pub(super) fn clean(text: &str) -> std::borrow::Cow<'_, str> {
    let steers = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if text.contains(steers) {
        text.replace(steers, "").into()
    } else {
        text.into()
    }
}

/// A line of a file without the number that a tool put before it.
fn without_number(line: &str) -> &str {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let behind = rest.strip_prefix('→').or_else(|| rest.strip_prefix('\t'));
    match behind {
        Some(behind) if rest.len() < line.len() => behind.trim_start(),
        _ => line,
    }
}

/// The chosen passages.
pub(super) fn story(moments: &[Moment<'_>], units: &[Unit], chosen: &[bool]) -> String {
    let mut text = String::new();
    let mut before: Option<(usize, usize)> = None;
    for (number, unit) in units.iter().enumerate() {
        if chosen.get(number) != Some(&true) {
            continue;
        }
        let Some(moment) = moments.get(unit.moment) else {
            continue;
        };
        match before {
            Some((_, same)) if same != unit.moment => text.push_str(&heading(moment, moments)),
            None => text.push_str(&heading(moment, moments)),
            Some((last, _)) if last + 1 < number => text.push_str("… "),
            Some(_) => {}
        }
        text.push_str(&passage(moment, unit));
        text.push('\n');
        before = Some((number, unit.moment));
    }
    text
}
