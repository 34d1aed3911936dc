//! A brief in the making: lines by section, each with its source and its rank.

use std::collections::BTreeMap;

use super::plain::plain;
use super::{Heading, Source};

/// How long a line may be, in characters.
const LINE: usize = 320;

/// What is given up first when there is no room: the last of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// Goal, step, stage, file, gate and what comes next: without them the brief is none.
    Vital,
    /// What the user said, what is in the way, what nobody has decided.
    Needed,
    /// Decisions, the next tasks.
    Useful,
    /// More of what is told already.
    Extra,
    /// What anybody can ask git.
    Spare,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) text: String,
    pub(super) source: Source,
    pub(super) rank: Rank,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    sections: BTreeMap<Heading, (Vec<Entry>, usize)>,
}

impl Draft {
    /// Adds a line, unless the section says the same already or is full.
    pub(super) fn add(&mut self, heading: Heading, rank: Rank, text: &str, source: Source) {
        let text = plain(text, LINE);
        if text.is_empty() {
            return;
        }
        let most = most(heading);
        let (entries, omitted) = self.section(heading);
        if entries.iter().any(|entry| same(&entry.text, &text)) {
            return;
        }
        if entries.len() >= most {
            *omitted += 1;
        } else {
            entries.push(Entry { text, source, rank });
        }
    }

    /// Counts lines that were left out before they got here.
    pub(super) fn omit(&mut self, heading: Heading, count: usize) {
        *self.section(heading).1 += count;
    }

    pub(super) fn is_empty(&self, heading: Heading) -> bool {
        self.entries(heading).is_empty()
    }

    pub(super) fn entries(&self, heading: Heading) -> &[Entry] {
        self.sections
            .get(&heading)
            .map_or(&[], |(entries, _)| entries)
    }

    pub(super) fn omitted(&self, heading: Heading) -> usize {
        self.sections
            .get(&heading)
            .map_or(0, |(_, omitted)| *omitted)
    }

    fn section(&mut self, heading: Heading) -> (&mut Vec<Entry>, &mut usize) {
        let (entries, omitted) = self.sections.entry(heading).or_default();
        (entries, omitted)
    }
}

/// How many lines a section has at most.
fn most(heading: Heading) -> usize {
    match heading {
        Heading::Objective | Heading::CurrentStep | Heading::NextAction => 3,
        Heading::Completed | Heading::Remaining => 18,
        _ => 12,
    }
}

fn same(one: &str, other: &str) -> bool {
    let bare = |text: &str| text.trim_end_matches(['.', ' ']).to_lowercase();
    bare(one) == bare(other)
}
