//! A session log such as `SESSION.md`: entries, newest first, and what each of them says.
//!
//! An entry begins with `[Focus: …]`, or with a heading that has a date or a session's number.
//! A file without either is one entry. Fields are labels (`Open Work: …`) or headings, with all
//! the lines that belong to them.

mod entry;
mod fields;

use self::entry::{Zone, said};
use super::dates::{Date, date_in};
use super::document::{Document, Kind, Line, lines};

pub(super) use self::entry::{Entry, Said};
pub(super) use self::fields::{Field, labelled, named};

/// What a log says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SessionLog {
    /// Newest first.
    pub(super) entries: Vec<Entry>,
    /// What stands before the first entry, such as a table of who works on what.
    pub(super) preamble: Vec<Said>,
}

impl SessionLog {
    /// Reads a log.
    pub(super) fn parse(document: &Document) -> Self {
        let lines = lines(document);
        let starts = starts(&lines);
        let Some(first) = starts.first() else {
            let entry = Entry::parse(&lines, Zone::Free);
            return Self {
                entries: vec![entry],
                preamble: Vec::new(),
            };
        };
        let ends = starts.iter().skip(1).copied().chain([lines.len()]);
        let mut entries: Vec<(String, Entry)> = starts
            .iter()
            .zip(ends)
            .filter_map(|(start, end)| {
                let part = lines.get(*start..end)?;
                Some((head(part), Entry::parse(part, Zone::Done)))
            })
            .collect();
        let heads: Vec<&str> = entries.iter().map(|(head, _)| head.as_str()).collect();
        if newest_is_last(&heads, &document.text) {
            entries.reverse();
        }
        Self {
            entries: entries.into_iter().map(|(_, entry)| entry).collect(),
            preamble: lines.iter().take(*first).filter_map(said).collect(),
        }
    }

    /// The entry that counts.
    pub(super) fn newest(&self) -> Option<&Entry> {
        self.entries.first()
    }
}

/// The lines that begin entries.
fn starts(lines: &[Line<'_>]) -> Vec<usize> {
    let at = |test: &dyn Fn(&Line<'_>) -> bool| -> Vec<usize> {
        let found = lines.iter().enumerate().filter(|(_, line)| test(line));
        found.map(|(at, _)| at).collect()
    };
    let focused = at(&|line| focus(line.text).is_some());
    if !focused.is_empty() {
        // A heading right above belongs to the entry: it may have the date.
        let with_heading = |at: usize| {
            let before = lines.get(..at).unwrap_or_default();
            let above = before.iter().rposition(|line| line.kind != Kind::Blank);
            above
                .filter(|above| {
                    let line = lines.get(*above);
                    line.is_some_and(|line| {
                        matches!(line.kind, Kind::Heading(_)) && is_placed(line.text)
                    })
                })
                .unwrap_or(at)
        };
        return focused.into_iter().map(with_heading).collect();
    }
    // Headings of one level: an entry may have dated headings inside.
    let level = |line: &Line<'_>| match line.kind {
        Kind::Heading(level) if is_placed(line.text) => Some(level),
        _ => None,
    };
    let levels = || lines.iter().filter_map(level);
    let several = levels().filter(|one| levels().filter(|other| other == one).count() > 1);
    // The title of the log may have a date too.
    let top = several.min().or_else(|| levels().min());
    at(&|line| top.is_some() && level(line) == top)
}

/// What `[Focus: …]` names, and what stands behind it.
fn focus(text: &str) -> Option<&str> {
    let inside = text.trim_start_matches(['*', '_']);
    let label = inside.get(..7)?;
    if !label.eq_ignore_ascii_case("[focus:") {
        return None;
    }
    let (name, _) = inside.get(7..)?.split_once(']')?;
    Some(name.trim())
}

/// Whether a heading says when its entry was written: it has a date or a number.
fn is_placed(heading: &str) -> bool {
    date_in(heading).is_some() || entry_number(heading).is_some()
}

/// What of an entry says when it was written: its first line and, where that is a heading, what
/// the line below it names.
fn head(part: &[Line<'_>]) -> String {
    let mut told = part.iter().filter(|line| line.kind != Kind::Blank);
    let first = told.next().map_or("", |line| line.text);
    match told.next().filter(|line| focus(line.text).is_some()) {
        Some(line) => format!("{first} {}", line.text),
        None => first.to_owned(),
    }
}

/// The number in `Session 12` or `Entry #3`.
fn entry_number(text: &str) -> Option<u64> {
    let lower = text
        .trim_start_matches(['[', '*', '_'])
        .to_ascii_lowercase();
    let (word, behind) = lower.split_once(' ')?;
    if ![
        "session",
        "entry",
        "day",
        "iteration",
        "run",
        "log",
        "update",
        "turn",
    ]
    .contains(&word)
    {
        return None;
    }
    let behind = behind.trim_start_matches(['#', ' ']);
    let end = behind
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(behind.len());
    behind.get(..end)?.parse().ok()
}

/// Which end of the file is the newest: by dates, by numbers, by what the file says about itself.
/// Where nothing tells, entries are prepended, as the template of such files has it.
fn newest_is_last(heads: &[&str], text: &str) -> bool {
    let dates: Vec<Date> = heads.iter().filter_map(|head| date_in(head)).collect();
    if let (Some(first), Some(last)) = (dates.first(), dates.last())
        && first != last
    {
        return last > first;
    }
    let numbers: Vec<u64> = heads.iter().filter_map(|head| entry_number(head)).collect();
    if let (Some(first), Some(last)) = (numbers.first(), numbers.last())
        && first != last
    {
        return last > first;
    }
    let lower = text.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let at_top = [
        "prepend",
        "newest first",
        "latest first",
        "most recent first",
        "newest on top",
    ];
    let at_bottom = [
        "append new",
        "newest last",
        "latest last",
        "oldest first",
        "newest at the bottom",
        "latest at the bottom",
        "new entries at the end",
        "new entries at the bottom",
    ];
    says(&at_bottom) && !says(&at_top)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(text: &str) -> SessionLog {
        SessionLog::parse(&Document::new("SESSION.md", text))
    }

    fn texts(entry: &Entry, field: Field) -> Vec<&str> {
        entry.all(field).map(|said| said.text.as_str()).collect()
    }

    #[test]
    fn an_entry_says_what_it_says() {
        let log = log(
            "# Session State\n\n[Focus: auth] 2026-03-11 — Branch `x`\n- Moved the validator.\n- Decision: keep the \
             old\n  exports.\n- BLOCKED: staging is down\n- unblocked the deploy\n- Continue `/spec-execute next a`.\n\n\
             Reality Check — tests rerun? yes\n\nNext Operator Brief\n\n- Open Work: move the callers\n  of the old one.\n  \
             - and the tests\n- Pending Tests: none.\n- Blockers: none.\n",
        );
        let entry = log.newest().unwrap();
        assert_eq!(entry.focus.as_ref().unwrap().text, "auth");
        assert_eq!(
            texts(entry, Field::Completed),
            ["Moved the validator.", "unblocked the deploy"]
        );
        assert_eq!(
            texts(entry, Field::Decisions),
            ["Decision: keep the old exports."]
        );
        assert_eq!(texts(entry, Field::Blockers), ["staging is down"]);
        assert_eq!(
            texts(entry, Field::OpenWork),
            [
                "Continue `/spec-execute next a`.",
                "move the callers of the old one.",
                "and the tests"
            ]
        );
        assert!(texts(entry, Field::PendingTests).is_empty());
    }

    #[test]
    fn headings_are_fields_with_all_their_lines() {
        let log = log(
            "# Log\n## Open Work\n- a\n- b\n- [x] c\n\nMore of it\n## Scratch\n- d\n## Blockers\n- none\n- e\n## Focus\nShip\n",
        );
        let entry = log.newest().unwrap();
        assert_eq!(texts(entry, Field::OpenWork), ["a", "b", "More of it"]);
        assert_eq!(texts(entry, Field::Completed), ["c"]);
        assert_eq!(texts(entry, Field::Blockers), ["e"]);
        assert_eq!(entry.focus.as_ref().unwrap().text, "Ship");
    }

    #[test]
    fn either_end_may_be_the_newest() {
        let newest = |text: &str| log(text).newest().unwrap().focus.clone().unwrap().text;
        assert_eq!(
            newest("[Focus: b] 2026-03-11\n- x\n[Focus: a] 2026-03-10\n"),
            "b"
        );
        assert_eq!(
            newest("[Focus: a] 2026-03-10\n- x\n[Focus: b] 2026-03-11\n"),
            "b"
        );
        assert_eq!(newest("[Focus: b]\n- x\n[Focus: a]\n"), "b");
        assert_eq!(
            newest("<!-- append new entries -->\n[Focus: a]\n- x\n[Focus: b]\n"),
            "b"
        );
        let log = log(
            "## Session 1: a (2025-11-25)\n- x\n## Session 2: b (2025-11-26)\n- y\n### Notes\n- z\n",
        );
        assert_eq!(texts(log.newest().unwrap(), Field::Completed), ["y"]);
    }

    #[test]
    fn boxes_say_themselves_what_they_are() {
        let log =
            log("# Notes\nProse.\n- [ ] docs\n- [x] code\n- a thought\n## Plan\n- [ ] ship\n");
        let entry = log.newest().unwrap();
        assert_eq!(texts(entry, Field::OpenWork), ["docs", "ship"]);
        assert_eq!(texts(entry, Field::Completed), ["code"]);
    }

    #[test]
    fn a_heading_above_a_focus_says_when() {
        let log = log(
            "# Log\n### Entry 1\n[Focus: a]\n- x\nBlockers: the keys\n### Entry 2\n\n[Focus: b]\n- y\nOpen Work: z\nBlockers: none\n",
        );
        let entry = log.newest().unwrap();
        assert_eq!(entry.focus.as_ref().unwrap().text, "b");
        assert_eq!(texts(entry, Field::Completed), ["y"]);
        assert_eq!(texts(entry, Field::OpenWork), ["z"]);
        assert!(texts(entry, Field::Blockers).is_empty());
    }

    #[test]
    fn labels_need_no_blank_lines() {
        let log = log(
            "[Focus: a]\nFixed the loop.\nOpen Work: b\nPending Tests: c\nBlockers:\nwaiting for d\n\nand for e\n",
        );
        let entry = log.newest().unwrap();
        assert_eq!(texts(entry, Field::OpenWork), ["b"]);
        assert_eq!(texts(entry, Field::PendingTests), ["c"]);
        assert_eq!(
            texts(entry, Field::Blockers),
            ["waiting for d", "and for e"]
        );
    }
}
