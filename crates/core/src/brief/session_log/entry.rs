//! One entry of a session log: what its lines mean where they stand.

use super::fields::{Field, labelled, named};
use super::focus;
use crate::brief::claims::{says_blocked, says_decided, says_none, says_over, says_unblocked};
use crate::brief::document::{Item, Kind, Line, items_between};

/// An entry of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::brief) struct Entry {
    /// What it is about.
    pub(in crate::brief) focus: Option<Said>,
    /// What it says, field by field.
    pub(in crate::brief) fields: Vec<(Field, Said)>,
    /// All its lines, for whoever looks for a name.
    pub(in crate::brief) lines: Vec<Said>,
}

/// A piece of text and the line it stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::brief) struct Said {
    pub(in crate::brief) text: String,
    pub(in crate::brief) line: Option<usize>,
    /// Whether it has a box that is not ticked.
    pub(in crate::brief) is_open: bool,
}

impl Entry {
    /// Everything under a field, without what says that there is nothing.
    pub(in crate::brief) fn all(&self, field: Field) -> impl Iterator<Item = &Said> {
        self.fields
            .iter()
            .filter(move |(of, said)| {
                let is_gone = field == Field::Blockers && says_unblocked(&said.text);
                *of == field && !says_none(&said.text) && !is_gone
            })
            .map(|(_, said)| said)
    }

    /// Whether it says what is being worked on.
    pub(in crate::brief) fn has_open_work(&self) -> bool {
        self.all(Field::OpenWork).next().is_some() || self.all(Field::Next).next().is_some()
    }
}

pub(super) fn said(line: &Line<'_>) -> Option<Said> {
    (!line.text.is_empty()).then(|| Said {
        text: line.text.to_owned(),
        line: line.number,
        is_open: matches!(line.kind, Kind::Check(' ')),
    })
}

/// Whether a line begins something new though no blank line is before it.
fn begins(text: &str) -> bool {
    focus(text).is_some()
        || named(text).is_some()
        || text.to_ascii_lowercase().starts_with("reality check")
}

/// What lines without a label mean where they stand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Zone {
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
    pub(super) fn parse(lines: &[Line<'_>], begin: Zone) -> Self {
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
