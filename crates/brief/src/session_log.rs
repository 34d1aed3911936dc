//! A session log such as `SESSION.md`: its entries, newest first, and their fields.
//!
//! An entry begins with `[Focus: …]`, or with a heading that has a date or a number. A file without
//! either is one entry. Fields are labels (`Open Work: …`) or headings, with all lines that belong to
//! them.

mod entry;

use crate::dates::date_in;
use crate::document::{Document, Kind, Line, lines};
use crate::vocabulary::{WORDS, has};

pub(crate) use self::entry::Entry;
use self::entry::Zone;

/// Start of the name of what an entry is about.
const FOCUS: &str = "[focus:";
/// Maximum length of a date or a number before it, in bytes.
const HEAD: usize = 60;

/// A session log.
#[derive(Debug, Default)]
pub(crate) struct SessionLog<'a> {
    /// Newest first.
    pub(crate) entries: Vec<Entry<'a>>,
    /// Lines before the first entry, such as a table of who works on what.
    pub(crate) preamble: Vec<Line<'a>>,
}

impl<'a> SessionLog<'a> {
    pub(crate) fn parse(document: &'a Document) -> Self {
        let lines: Vec<Line<'a>> = lines(document).collect();
        let starts = starts(&lines);
        let mut log = Self::default();
        let Some(first) = starts.first() else {
            log.entries = vec![Entry::parse(&lines, Zone::Unlabelled)];
            return log;
        };
        let ends = starts.iter().skip(1).copied().chain([lines.len()]);
        let mut heads = Vec::new();
        for (start, end) in starts.iter().zip(ends) {
            let part = lines.get(*start..end).unwrap_or_default();
            log.entries.push(Entry::parse(part, Zone::Completed));
            heads.push(head(part));
        }
        if newest_is_last(&heads, &document.text) {
            log.entries.reverse();
        }
        log.preamble = written(lines.get(..*first).unwrap_or_default());
        log
    }

    /// Returns the entries that still describe the session, newest first: the newest and, while none of
    /// them names open work, the ones before it.
    pub(crate) fn current(&self) -> &[Entry<'a>] {
        let with_work = self.entries.iter().position(Entry::has_open_work);
        let end = with_work.map_or(self.entries.len(), |at| at + 1);
        self.entries.get(..end).unwrap_or_default()
    }
}

/// Returns the lines that say something.
fn written<'a>(lines: &[Line<'a>]) -> Vec<Line<'a>> {
    let written = lines.iter().filter(|line| !line.text.is_empty());
    written.cloned().collect()
}

/// Returns the indexes of the lines that begin entries.
fn starts(lines: &[Line<'_>]) -> Vec<usize> {
    let focused = (0..)
        .zip(lines)
        .filter(|(_, line)| focus_of(line).is_some());
    let focused: Vec<usize> = focused.map(|(at, _)| with_heading(lines, at)).collect();
    if !focused.is_empty() {
        return focused;
    }
    // Headings of one level: an entry may have dated headings inside.
    let levels: Vec<Option<usize>> = lines.iter().map(entry_level).collect();
    let several = levels.iter().flatten().filter(|level| {
        let same = levels.iter().flatten().filter(|other| other == level);
        same.count() > 1
    });
    // The title of the log may have a date too.
    let top = several.min().or_else(|| levels.iter().flatten().min());
    let is_top = |level: &Option<usize>| top.is_some() && level.as_ref() == top;
    let starts = (0..).zip(&levels).filter(|(_, level)| is_top(level));
    starts.map(|(at, _)| at).collect()
}

/// Returns the index of a dated or numbered heading right above a line, else that of the line.
fn with_heading(lines: &[Line<'_>], at: usize) -> usize {
    let before = lines.get(..at).unwrap_or_default();
    let above = before.iter().rposition(|line| line.kind != Kind::Blank);
    let is_heading = |above: &usize| lines.get(*above).and_then(entry_level).is_some();
    above.filter(is_heading).unwrap_or(at)
}

/// Returns the level of a heading that has a date or the number of an entry.
fn entry_level(line: &Line<'_>) -> Option<usize> {
    match line.kind {
        Kind::Heading(level) => {
            let is_entry = date_in(&line.text).is_some() || entry_number(&line.text).is_some();
            is_entry.then_some(level)
        }
        _ => None,
    }
}

/// Returns the name in `[Focus: name]`, at the start of a line or after a date or the number of an entry.
fn focus(text: &str) -> Option<&str> {
    let (before, name) = bracketed_focus(text)?;
    let is_mark = |c: char| !c.is_alphanumeric();
    let is_head = before.chars().all(is_mark)
        || before.len() <= HEAD && (date_in(before).is_some() || entry_number(before).is_some());
    is_head.then_some(name)
}

/// Returns the focus that a line names; in a heading it may be anywhere.
fn focus_of<'l>(line: &'l Line<'_>) -> Option<&'l str> {
    match line.kind {
        Kind::Heading(_) => bracketed_focus(&line.text).map(|(_, name)| name),
        _ => focus(&line.text),
    }
}

/// Returns the name in `[Focus: name]`, and what is before it.
fn bracketed_focus(text: &str) -> Option<(&str, &str)> {
    let mut starts = text.match_indices('[').map(|(at, _)| at);
    let at = starts.find(|at| {
        let start = text.get(*at..*at + FOCUS.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(FOCUS))
    })?;
    let (name, _) = text.get(at + FOCUS.len()..)?.split_once(']')?;
    Some((text.get(..at)?, name.trim()))
}

/// Returns the part of an entry that dates it: its first line and a `[Focus: …]` below a heading.
fn head(part: &[Line<'_>]) -> String {
    let mut written = part.iter().filter(|line| line.kind != Kind::Blank);
    let first = written.next().map_or("", |line| &line.text);
    match written.next().filter(|line| focus_of(line).is_some()) {
        Some(line) => format!("{first} {}", line.text),
        None => first.to_owned(),
    }
}

/// Returns the number in `Session 12` or `Entry #3`.
fn entry_number(text: &str) -> Option<u64> {
    let text = text.trim_start_matches(['[', '*', '_']);
    let (word, rest) = text.split_once(' ')?;
    let rest = rest.trim_start_matches(['#', ' ']);
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok().filter(|_| has(&WORDS.entry, word))
}

/// Decides which end of the file is the newest: by dates, by numbers, by what the file says about
/// itself. Without any of these, entries are prepended, as in the template of such files.
fn newest_is_last(heads: &[String], text: &str) -> bool {
    rises(heads.iter().filter_map(|head| date_in(head)))
        .or_else(|| rises(heads.iter().filter_map(|head| entry_number(head))))
        .unwrap_or_else(|| {
            let text = text.to_ascii_lowercase();
            let says = |list: &[String]| list.iter().any(|phrase| text.contains(phrase));
            says(&WORDS.newest_last) && !says(&WORDS.newest_first)
        })
}

/// Compares the ends of a sequence: true if the last is greater, none if they are equal or missing.
fn rises<T: PartialOrd>(mut values: impl Iterator<Item = T>) -> Option<bool> {
    let first = values.next()?;
    let last = values.last().filter(|last| *last != first)?;
    Some(last > first)
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::fields::Field;

    fn log(text: &str) -> SessionLog<'static> {
        let document = Box::new(Document::new("SESSION.md", text));
        SessionLog::parse(Box::leak(document))
    }

    fn texts<'a>(entry: &'a Entry<'_>, field: Field) -> Vec<&'a str> {
        entry.all(field).map(|said| &*said.text).collect()
    }

    #[test]
    fn an_entry_says_what_it_says() {
        let log = log(
            "# Session State\n\n[Focus: auth] 2026-03-11 — Branch `x`\n- Moved the validator.\n- Decision: keep the \
             old\n  exports.\n- BLOCKED: staging is down\n- unblocked the deploy\n- Continue `/spec-execute next a`.\n\n\
             Reality Check — tests rerun? yes\n\nNext Operator Brief\n\n- Open Work: move the callers\n  of the old one.\n  \
             - and the tests\n- Pending Tests: none.\n- Blockers: none.\n",
        );
        let entry = log.entries.first().unwrap();
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
        let entry = log.entries.first().unwrap();
        assert_eq!(texts(entry, Field::OpenWork), ["a", "b", "More of it"]);
        assert_eq!(texts(entry, Field::Completed), ["c"]);
        assert_eq!(texts(entry, Field::Blockers), ["e"]);
        assert_eq!(entry.focus.as_ref().unwrap().text, "Ship");
    }

    #[test]
    fn either_end_may_be_the_newest() {
        let newest = |text: &str| {
            log(text)
                .entries
                .first()
                .unwrap()
                .focus
                .clone()
                .unwrap()
                .text
        };
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
        assert_eq!(texts(log.entries.first().unwrap(), Field::Completed), ["y"]);
    }

    #[test]
    fn boxes_say_themselves_what_they_are() {
        let log =
            log("# Notes\nProse.\n- [ ] docs\n- [x] code\n- a thought\n## Plan\n- [ ] ship\n");
        let entry = log.entries.first().unwrap();
        assert_eq!(texts(entry, Field::OpenWork), ["docs", "ship"]);
        assert_eq!(texts(entry, Field::Completed), ["code"]);
    }

    #[test]
    fn a_heading_above_a_focus_says_when() {
        let log = log(
            "# Log\n### Entry 1\n[Focus: a]\n- x\nBlockers: the keys\n### Entry 2\n\n[Focus: b]\n- y\nOpen Work: z\nBlockers: none\n",
        );
        let entry = log.entries.first().unwrap();
        assert_eq!(entry.focus.as_ref().unwrap().text, "b");
        assert_eq!(texts(entry, Field::Completed), ["y"]);
        assert_eq!(texts(entry, Field::OpenWork), ["z"]);
        assert!(texts(entry, Field::Blockers).is_empty());
    }

    #[test]
    fn the_focus_may_be_anywhere_in_the_head_of_an_entry() {
        for head in [
            "## 2026-03-11 [Focus: auth]",
            "[2026-03-11] [Focus: auth]",
            "## Wednesday: [Focus: auth] on `main`",
            "2026-03-11 — [Focus: auth]",
            "Session 12 [FOCUS: auth]",
            "**[Focus: auth]** 2026-03-11",
        ] {
            let log = log(&format!(
                "# Log\n\n{head}\n- Moved the validator.\n- Open Work: the callers\n"
            ));
            let [entry] = &log.entries[..] else {
                panic!("{head}: {:?}", log.entries)
            };
            assert_eq!(entry.focus.as_ref().unwrap().text, "auth", "{head}");
            assert_eq!(
                texts(entry, Field::Completed),
                ["Moved the validator."],
                "{head}"
            );
            assert_eq!(texts(entry, Field::OpenWork), ["the callers"], "{head}");
        }
        // Prose about such a line is not an entry.
        let log = log("## 2026-03-11\n- The template says [Focus: name] at its top\n");
        assert_eq!(log.entries.first().unwrap().focus, None);
    }

    #[test]
    fn labels_need_no_blank_lines() {
        let log = log(
            "[Focus: a]\nFixed the loop.\nOpen Work: b\nPending Tests: c\nBlockers:\nwaiting for d\n\nand for e\n",
        );
        let entry = log.entries.first().unwrap();
        assert_eq!(texts(entry, Field::OpenWork), ["b"]);
        assert_eq!(texts(entry, Field::PendingTests), ["c"]);
        assert_eq!(
            texts(entry, Field::Blockers),
            ["waiting for d", "and for e"]
        );
    }
}
