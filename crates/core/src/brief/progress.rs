//! A log of progress: what is done, what remains, and where it stands by its newest line.

use super::claims::says_none;
use super::dates::{Date, date_in};
use super::document::{Document, Item, Kind, items, lines};
use super::session_log::{Field, labelled, named};

/// What a log of progress says.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Where it stands.
    pub(super) status: Option<Item>,
    /// What was done, oldest first.
    pub(super) done: Vec<Item>,
    /// What is to be done.
    pub(super) open: Vec<Item>,
    /// What else it says, by field.
    pub(super) others: Vec<(Field, Item)>,
}

impl Progress {
    /// Reads a log of progress. Boxes say what they are, headings and labels what stands below
    /// them; everything else was done, and the newest of it is the status, unless a line is
    /// labelled as such.
    pub(super) fn parse(document: &Document) -> Self {
        let mut progress = Self::default();
        let mut zone = None;
        let mut told = Vec::new();
        let mut labelled_status = None;
        for item in items(&lines(document)) {
            match item.kind {
                Kind::Heading(_) => {
                    zone = named(&item.text).map(|(field, _)| field);
                    if zone.is_none() {
                        // The heading of an entry may say when it was.
                        told.extend(date_in(&item.text).map(|date| (Some(date), None)));
                    }
                    continue;
                }
                Kind::Rule | Kind::Blank => continue,
                Kind::Check('x' | 'X' | '✓' | '✔') => {
                    progress.done.push(item);
                    continue;
                }
                Kind::Check(_) => {
                    progress.open.push(item);
                    continue;
                }
                Kind::Bullet | Kind::Plain => {}
            }
            if says_none(&item.text) {
                continue;
            }
            if let Some(text) = status(&item.text) {
                labelled_status = Some(Item {
                    text: text.to_owned(),
                    ..item
                });
                continue;
            }
            let field = match labelled(&item.text) {
                Some((field, "")) if item.kind == Kind::Plain => {
                    zone = Some(field);
                    continue;
                }
                Some((field, rest)) => {
                    let rest = rest.to_owned();
                    progress.put(Some(field), Item { text: rest, ..item });
                    continue;
                }
                None => zone,
            };
            match field {
                None => told.push((date_in(&item.text), Some(item))),
                field => progress.put(field, item),
            }
        }
        let dates: Vec<&Date> = told.iter().filter_map(|(date, _)| date.as_ref()).collect();
        let newest_is_first = dates.first() > dates.last();
        let mut told: Vec<Item> = told.into_iter().filter_map(|(_, item)| item).collect();
        if newest_is_first {
            told.reverse();
        }
        if labelled_status.is_none() {
            labelled_status = told.pop();
        }
        progress.status = labelled_status;
        told.append(&mut progress.done);
        if !newest_is_first {
            told.sort_by_key(|item| item.number);
        }
        progress.done = told;
        progress
    }

    fn put(&mut self, field: Option<Field>, item: Item) {
        if says_none(&item.text) {
            return;
        }
        match field {
            Some(Field::OpenWork | Field::Next | Field::PendingTests) => self.open.push(item),
            Some(Field::Completed) | None => self.done.push(item),
            Some(field) => self.others.push((field, item)),
        }
    }
}

/// What a line labelled `Status` or `Stage` says.
fn status(text: &str) -> Option<&str> {
    let (label, rest) = text.split_once(':')?;
    let label = label.trim_matches(['*', '_', ' ']);
    let is_status = [
        "status",
        "current status",
        "stage",
        "current stage",
        "state",
    ]
    .into_iter()
    .any(|known| label.eq_ignore_ascii_case(known));
    let rest = rest.trim_start_matches(['*', '_']).trim();
    (is_status && !rest.is_empty()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(items: &[Item]) -> Vec<&str> {
        items.iter().map(|item| item.text.as_str()).collect()
    }

    fn progress(text: &str) -> Progress {
        Progress::parse(&Document::new("progress.md", text))
    }

    #[test]
    fn the_last_line_is_the_status() {
        let progress =
            progress("# Progress\n- reproduced\n- [x] a test\n- [ ] the fix\n- bug-fix begun\n");
        assert_eq!(progress.status.unwrap().text, "bug-fix begun");
        assert_eq!(texts(&progress.done), ["reproduced", "a test"]);
        assert_eq!(texts(&progress.open), ["the fix"]);
    }

    #[test]
    fn headings_and_labels_say_what_is_below() {
        let progress = progress(
            "**Status**: bug-fix in progress\n## Completed\n- a test\n- the patch\n## Remaining\n- run the suite\n\
             ## Notes\n- odd\nBlockers: none\nNext: ship it\n",
        );
        assert_eq!(progress.status.unwrap().text, "bug-fix in progress");
        assert_eq!(texts(&progress.done), ["a test", "the patch", "odd"]);
        assert_eq!(texts(&progress.open), ["run the suite", "ship it"]);
        assert!(progress.others.is_empty());
    }

    #[test]
    fn the_newest_entry_may_be_on_top() {
        let progress = progress("## 2026-03-02\n- bug-fix begun\n## 2026-03-01\n- reproduced\n");
        assert_eq!(progress.status.unwrap().text, "bug-fix begun");
        assert_eq!(texts(&progress.done), ["reproduced"]);
    }
}
