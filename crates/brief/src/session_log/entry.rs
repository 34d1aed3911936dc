//! One entry of a session log: its focus, and its lines by field.
//!
//! The parser walks over the items of an entry and keeps two things: the [`Zone`] that headings and
//! labels on a line of their own open, and the label in a bullet, which owns the bullets indented below it.

use super::{focus, focus_of, written};
use crate::claims::{says_blocked, says_decided, says_none, says_over, says_unblocked};
use crate::document::{Kind, Line, items_between};
use crate::fields::Field;
use crate::tasks::TaskState;
use crate::vocabulary::{WORDS, has};

/// An entry of a log.
#[derive(Debug, Default)]
pub(crate) struct Entry<'a> {
    pub(crate) focus: Option<Line<'a>>,
    fields: Vec<(Field, Line<'a>)>,
    /// All lines, for finding names in them.
    pub(crate) lines: Vec<Line<'a>>,
}

impl<'a> Entry<'a> {
    pub(super) fn parse(lines: &[Line<'a>], zone: Zone) -> Self {
        let mut parser = Parser {
            entry: Self {
                lines: written(lines),
                ..Self::default()
            },
            zone,
            label: None,
            first_line: lines.first().and_then(|line| line.number),
        };
        for item in items_between(lines.iter().cloned(), begins) {
            parser.read(item);
        }
        parser.entry
    }

    /// Returns everything in a field, without what says that there is nothing.
    pub(crate) fn all(&self, field: Field) -> impl Iterator<Item = &Line<'a>> {
        let of_field = self.fields.iter().filter(move |(of, _)| *of == field);
        of_field.map(|(_, item)| item).filter(move |item| {
            let is_gone = field == Field::Blockers && says_unblocked(&item.text);
            !says_none(&item.text) && !is_gone
        })
    }

    pub(crate) fn has_open_work(&self) -> bool {
        let mut open = self.all(Field::OpenWork).chain(self.all(Field::Next));
        open.next().is_some()
    }

    fn add(&mut self, field: Field, item: Line<'a>) {
        let is_done = item.kind == Kind::Check(TaskState::Done);
        // A ticked box is done, whatever field it is in.
        let field = if is_done && field.is_ahead() {
            Field::Completed
        } else {
            field
        };
        if field == Field::Focus && self.focus.is_none() {
            self.focus = Some(item.clone());
        }
        self.fields.push((field, item));
    }
}

/// Meaning of lines without a label.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Zone {
    /// Directly below the start of an entry: bullets are what was done.
    Completed,
    /// Below the heading or label of a field.
    Field(Field),
    /// Anything may follow: only lines that say themselves what they are count.
    Unlabelled,
    /// Nothing counts.
    Ignored,
}

struct Parser<'a> {
    entry: Entry<'a>,
    zone: Zone,
    /// Indentation and field of the last label in a bullet.
    label: Option<(usize, Field)>,
    first_line: Option<usize>,
}

impl<'a> Parser<'a> {
    fn read(&mut self, item: Line<'a>) {
        if let Some(name) = focus_of(&item).map(str::to_owned) {
            self.entry.focus.get_or_insert(item.with_text(&name));
            return;
        }
        if let Some((indent, field)) = self.label {
            if item.is_list_item() && item.indent > indent {
                return self.entry.add(field, item);
            }
            self.label = None;
        }
        match item.kind {
            Kind::Rule => self.zone = Zone::Ignored,
            Kind::Heading(_) => self.read_heading(&item),
            _ => match Field::labelled(&item.text) {
                Some((field, value)) => self.read_label(field, value, &item),
                None if item.kind == Kind::Plain => self.read_paragraph(item),
                None => self.read_bullet(item),
            },
        }
    }

    fn read_heading(&mut self, item: &Line<'a>) {
        match Field::named(&item.text) {
            Some(field) => self.zone = Zone::Field(field),
            // The heading that begins a dated entry leaves the zone as it is.
            None if item.number == self.first_line => {}
            None => self.zone = Zone::Unlabelled,
        }
    }

    fn read_label(&mut self, field: Field, value: &str, item: &Line<'a>) {
        if value.is_empty() && item.kind == Kind::Plain {
            self.zone = Zone::Field(field);
            return;
        }
        self.label = Some((item.indent, field));
        match field {
            _ if value.is_empty() => {}
            // A decision is shown with its label.
            Field::Decisions => self.entry.add(field, item.clone()),
            _ => self.entry.add(field, item.with_text(value)),
        }
    }

    fn read_paragraph(&mut self, item: Line<'a>) {
        if let Some(field) = Field::named(&item.text) {
            self.zone = Zone::Field(field);
        } else if is_reality_check(&item.text) || item.text.trim_end_matches('*').ends_with(':') {
            self.zone = Zone::Ignored;
        } else if let Zone::Field(field) = self.zone {
            self.entry.add(field, item);
        }
    }

    fn read_bullet(&mut self, item: Line<'a>) {
        let field = match (self.zone, item.kind) {
            (Zone::Ignored, _) => return,
            (Zone::Field(field), _) => return self.entry.add(field, item),
            (_, Kind::Check(TaskState::Done)) => Field::Completed,
            (_, Kind::Check(_)) => Field::OpenWork,
            _ if says_blocked(&item.text) => Field::Blockers,
            _ if goes_on(&item.text) => Field::OpenWork,
            _ if says_decided(&item.text) => Field::Decisions,
            (Zone::Unlabelled, _) => return,
            (Zone::Completed, _) => Field::Completed,
        };
        self.entry.fields.push((field, item));
    }
}

/// Returns true if a line begins something new though no blank line precedes it.
fn begins(text: &str) -> bool {
    focus(text).is_some() || Field::named(text).is_some() || is_reality_check(text)
}

/// Recognises the line of the template that reviews the session: its answers are not work.
fn is_reality_check(text: &str) -> bool {
    text.to_ascii_lowercase().starts_with("reality check")
}

/// Returns true if a bullet is about work that is not over.
fn goes_on(text: &str) -> bool {
    // A command is one to be given, unless the line says that it was.
    if text.trim_start_matches('`').starts_with('/') {
        return !says_over(text);
    }
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    let first = words.find(|word| !word.is_empty()).unwrap_or_default();
    has(&WORDS.goes_on, first)
}
