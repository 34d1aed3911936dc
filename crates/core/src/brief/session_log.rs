//! A session log such as `SESSION.md`: entries, newest first, and what each of them says.
//!
//! An entry begins with `[Focus: …]`, or with a heading that has a date or a session's number.
//! A file without either is one entry. Fields are labels (`Open Work: …`) or headings, with all
//! the lines that belong to them.

use super::claims::{says_blocked, says_decided, says_none, says_over, says_unblocked};
use super::dates::{Date, date_in};
use super::document::{Document, Item, Kind, Line, items_between, lines};

/// What a log says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SessionLog {
    /// Newest first.
    pub(super) entries: Vec<Entry>,
    /// What stands before the first entry, such as a table of who works on what.
    pub(super) preamble: Vec<Said>,
}

/// An entry of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// What it is about.
    pub(super) focus: Option<Said>,
    /// What it says, field by field.
    pub(super) fields: Vec<(Field, Said)>,
    /// All its lines, for whoever looks for a name.
    pub(super) lines: Vec<Said>,
}

/// A piece of text and the line it stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) text: String,
    pub(super) line: Option<usize>,
    /// Whether it has a box that is not ticked.
    pub(super) is_open: bool,
}

/// What a piece of an entry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Focus,
    OpenWork,
    PendingTests,
    Blockers,
    Decisions,
    Completed,
    Files,
    Next,
    Questions,
}

const NAMES: &[(&str, Field)] = &[
    ("focus", Field::Focus),
    ("current focus", Field::Focus),
    ("goal", Field::Focus),
    ("objective", Field::Focus),
    ("primary objective", Field::Focus),
    ("open work", Field::OpenWork),
    ("remaining", Field::OpenWork),
    ("remaining work", Field::OpenWork),
    ("next steps", Field::OpenWork),
    ("todo", Field::OpenWork),
    ("to do", Field::OpenWork),
    ("in progress", Field::OpenWork),
    ("next operator brief", Field::OpenWork),
    ("pending tests", Field::PendingTests),
    ("blocker", Field::Blockers),
    ("blockers", Field::Blockers),
    ("blocked", Field::Blockers),
    ("blockers / risks", Field::Blockers),
    ("risks", Field::Blockers),
    ("decision", Field::Decisions),
    ("decisions", Field::Decisions),
    ("decisions made", Field::Decisions),
    ("key decisions", Field::Decisions),
    ("completed", Field::Completed),
    ("done", Field::Completed),
    ("what was done", Field::Completed),
    ("accomplished", Field::Completed),
    ("active files", Field::Files),
    ("files changed", Field::Files),
    ("files", Field::Files),
    ("next", Field::Next),
    ("next step", Field::Next),
    ("next action", Field::Next),
    ("open questions", Field::Questions),
    ("pending decisions", Field::Questions),
    ("questions", Field::Questions),
];

impl Entry {
    /// Everything under a field, without what says that there is nothing.
    pub(super) fn all(&self, field: Field) -> impl Iterator<Item = &Said> {
        self.fields
            .iter()
            .filter(move |(of, said)| {
                let is_gone = field == Field::Blockers && says_unblocked(&said.text);
                *of == field && !says_none(&said.text) && !is_gone
            })
            .map(|(_, said)| said)
    }

    /// Whether it says what is being worked on.
    pub(super) fn has_open_work(&self) -> bool {
        self.all(Field::OpenWork).next().is_some() || self.all(Field::Next).next().is_some()
    }
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

fn said(line: &Line<'_>) -> Option<Said> {
    (!line.text.is_empty()).then(|| Said {
        text: line.text.to_owned(),
        line: line.number,
        is_open: matches!(line.kind, Kind::Check(' ')),
    })
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

/// Whether a line begins something new though no blank line is before it.
fn begins(text: &str) -> bool {
    focus(text).is_some()
        || named(text).is_some()
        || text.to_ascii_lowercase().starts_with("reality check")
}

/// What lines without a label mean where they stand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Zone {
    /// They tell what was done.
    Done,
    /// They belong to a field.
    Of(Field),
    /// They may mean anything: only what says itself what it is counts.
    Free,
    /// They mean nothing to us.
    Other,
}

impl Entry {
    fn parse(lines: &[Line<'_>], begin: Zone) -> Self {
        let mut entry = Self {
            lines: lines.iter().filter_map(said).collect(),
            ..Self::default()
        };
        let mut zone = begin;
        // A label that is a bullet itself owns the bullets below it.
        let mut label_at: Option<(usize, Field)> = None;
        for item in items_between(lines, begins) {
            let said = Said {
                text: item.text.clone(),
                line: item.number,
                is_open: matches!(item.kind, Kind::Check(' ')),
            };
            if let Some(name) = focus(&item.text) {
                entry.focus.get_or_insert(Said {
                    text: name.to_owned(),
                    ..said
                });
                continue;
            }
            if let Some((indent, field)) = label_at {
                let inside =
                    matches!(item.kind, Kind::Bullet | Kind::Check(_)) && item.indent > indent;
                if inside {
                    entry.add(field, &item, said);
                    continue;
                }
                label_at = None;
            }
            match item.kind {
                Kind::Rule => zone = Zone::Other,
                Kind::Heading(_) => {
                    zone = match named(&item.text) {
                        Some((field, _)) => Zone::Of(field),
                        // The heading that begins a dated entry.
                        None if item.number == lines.first().and_then(|line| line.number) => zone,
                        None => Zone::Free,
                    };
                }
                _ => {
                    if let Some((field, rest)) = labelled(&item.text) {
                        if rest.is_empty() {
                            if item.kind == Kind::Plain {
                                zone = Zone::Of(field);
                            } else {
                                label_at = Some((item.indent, field));
                            }
                        } else {
                            label_at = Some((item.indent, field));
                            // That something is a decision belongs to what is said.
                            let text = match field {
                                Field::Decisions => item.text.clone(),
                                _ => rest.to_owned(),
                            };
                            entry.add(field, &item, Said { text, ..said });
                        }
                    } else if item.kind == Kind::Plain {
                        zone = plain_zone(zone, &item.text);
                        if let Zone::Of(field) = zone
                            && named(&item.text).is_none()
                        {
                            entry.add(field, &item, said);
                        }
                    } else {
                        entry.place(zone, &item, said);
                    }
                }
            }
        }
        entry
    }

    fn place(&mut self, zone: Zone, item: &Item, said: Said) {
        match zone {
            Zone::Other => {}
            Zone::Of(field) => self.add(field, item, said),
            Zone::Done | Zone::Free => {
                let field = match item.kind {
                    Kind::Check('x' | 'X' | '✓' | '✔') => Field::Completed,
                    Kind::Check(_) => Field::OpenWork,
                    _ if says_blocked(&said.text) => Field::Blockers,
                    _ if goes_on(&said.text) => Field::OpenWork,
                    _ if says_decided(&said.text) => Field::Decisions,
                    _ if zone == Zone::Free => return,
                    _ => Field::Completed,
                };
                self.fields.push((field, said));
            }
        }
    }

    fn add(&mut self, field: Field, item: &Item, said: Said) {
        let done = matches!(item.kind, Kind::Check('x' | 'X' | '✓' | '✔'));
        let field = match field {
            // What is ticked off is not open, wherever it stands.
            Field::OpenWork
            | Field::Next
            | Field::PendingTests
            | Field::Blockers
            | Field::Questions
                if done =>
            {
                Field::Completed
            }
            field => field,
        };
        if field == Field::Focus && self.focus.is_none() {
            self.focus = Some(said.clone());
        }
        self.fields.push((field, said));
    }
}

/// What a plain line makes of the lines behind it.
fn plain_zone(zone: Zone, text: &str) -> Zone {
    let lower = text.to_ascii_lowercase();
    if let Some((field, _)) = named(text) {
        Zone::Of(field)
    } else if lower.starts_with("reality check") || lower.trim_end_matches('*').ends_with(':') {
        Zone::Other
    } else {
        zone
    }
}

/// Whether a bullet tells of something that is not over.
fn goes_on(text: &str) -> bool {
    // A command to be given, unless it was.
    if text.trim_start_matches('`').starts_with('/') {
        return !says_over(text);
    }
    let first = text
        .split(|c: char| !c.is_alphanumeric())
        .find(|word| !word.is_empty())
        .unwrap_or_default()
        .to_ascii_lowercase();
    matches!(
        first.as_str(),
        "continue" | "resume" | "next" | "todo" | "wip"
    )
}

/// The field of a text that is a name and nothing else.
pub(super) fn named(text: &str) -> Option<(Field, &str)> {
    let name = text
        .trim_matches(|c: char| !c.is_alphanumeric())
        .to_lowercase();
    NAMES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, field)| (*field, ""))
}

/// The field and the rest of a text that begins with a label.
pub(super) fn labelled(text: &str) -> Option<(Field, &str)> {
    let (name, rest) = text.split_once(':')?;
    if name.len() > 40 {
        return None;
    }
    let (field, _) = named(name)?;
    Some((field, rest.trim_start_matches(['*', '_']).trim()))
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
