//! A brief in the making: lines by section, each with its source and its rank.

use std::collections::BTreeMap;

use flamestack_core::text::undisguised;

use crate::document::Line;
use crate::fields::Field;
use crate::plain::plain;
use crate::sameness::is_same_step;
use crate::{BriefLine, BriefSection, Heading, LineSource};

/// Maximum length of a line, in characters.
const LINE: usize = 320;
/// Number of lines left out from which on further ones are only counted: a frame may have a hundred
/// thousand notes, and comparing each with those shown took seven seconds.
const CROWD: usize = 1_000;

/// Importance of a line; the last rank is given up first when room is short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// Goal, step, stage, file, gate and next action: shortened, never left out.
    Vital,
    /// The user's directives, blockers, open decisions.
    Needed,
    /// Decisions, the next tasks.
    Useful,
    /// More of the same.
    Extra,
    /// Facts that git shows as well.
    Spare,
}

impl Rank {
    pub(crate) fn useful_if(is_useful: bool) -> Self {
        if is_useful { Self::Useful } else { Self::Extra }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Draft {
    sections: BTreeMap<Heading, BriefSection>,
}

impl Draft {
    /// Adds a line, unless the section has it already; a full section counts it as left out.
    pub(crate) fn add(&mut self, heading: Heading, rank: Rank, text: &str, source: LineSource) {
        let section = self.section(heading);
        if section.omitted >= CROWD && section.lines.len() >= max_lines(heading) {
            section.omitted += 1;
            return;
        }
        let text = plain(&undisguised(text), LINE);
        let is_known = section.lines.iter().any(|line| {
            let in_other_words = || is_same_step((&line.text, &line.source), (&text, &source));
            is_same(&line.text, &text) || (heading == Heading::Remaining && in_other_words())
        });
        if text.is_empty() || is_known {
            return;
        }
        if section.lines.len() >= max_lines(heading) {
            section.omitted += 1;
        } else {
            section.lines.push(BriefLine { text, source, rank });
        }
    }

    pub(crate) fn vital(&mut self, heading: Heading, text: &str, source: LineSource) {
        self.add(heading, Rank::Vital, text, source);
    }

    pub(crate) fn needed(&mut self, heading: Heading, text: &str, source: LineSource) {
        self.add(heading, Rank::Needed, text, source);
    }

    pub(crate) fn useful(&mut self, heading: Heading, text: &str, source: LineSource) {
        self.add(heading, Rank::Useful, text, source);
    }

    pub(crate) fn extra(&mut self, heading: Heading, text: &str, source: LineSource) {
        self.add(heading, Rank::Extra, text, source);
    }

    pub(crate) fn spare(&mut self, heading: Heading, text: &str, source: LineSource) {
        self.add(heading, Rank::Spare, text, source);
    }

    /// Adds a line of a field, if the field is shown.
    pub(crate) fn add_field(&mut self, field: Field, line: &Line<'_>) {
        if let Some((heading, rank, words)) = field.target() {
            let text = format!("{words}{}", line.text);
            self.add(heading, rank, &text, line.source());
        }
    }

    /// Adds the first lines of a list, and counts the others as left out.
    pub(crate) fn add_first<T: AsRef<str>>(
        &mut self,
        (heading, rank): (Heading, Rank),
        limit: usize,
        lines: impl IntoIterator<Item = (T, LineSource)>,
    ) {
        let mut lines = lines.into_iter();
        for (text, source) in lines.by_ref().take(limit) {
            self.add(heading, rank, text.as_ref(), source);
        }
        self.omit(heading, lines.count());
    }

    /// Adds the last lines of a list, and counts the others as left out.
    pub(crate) fn add_last<T: AsRef<str>>(
        &mut self,
        (heading, rank): (Heading, Rank),
        limit: usize,
        lines: impl IntoIterator<Item = (T, LineSource)>,
    ) {
        let lines: Vec<(T, LineSource)> = lines.into_iter().collect();
        let earlier = lines.len().saturating_sub(limit);
        for (text, source) in lines.into_iter().skip(earlier) {
            self.add(heading, rank, text.as_ref(), source);
        }
        self.omit(heading, earlier);
    }

    /// Counts lines that were left out before they got here.
    pub(crate) fn omit(&mut self, heading: Heading, count: usize) {
        self.section(heading).omitted += count;
    }

    fn section(&mut self, heading: Heading) -> &mut BriefSection {
        let section = self.sections.entry(heading);
        section.or_insert_with(|| BriefSection::new(heading))
    }

    pub(crate) fn is_empty(&self, heading: Heading) -> bool {
        self.lines(heading).is_empty()
    }

    pub(crate) fn lines(&self, heading: Heading) -> &[BriefLine] {
        let section = self.sections.get(&heading);
        section.map_or(&[], |section| &section.lines)
    }

    pub(crate) fn take_section(&mut self, heading: Heading) -> BriefSection {
        let section = self.sections.remove(&heading);
        section.unwrap_or_else(|| BriefSection::new(heading))
    }
}

impl BriefSection {
    fn new(heading: Heading) -> Self {
        Self {
            heading,
            lines: Vec::new(),
            omitted: 0,
        }
    }
}

fn max_lines(heading: Heading) -> usize {
    match heading {
        Heading::Objective | Heading::CurrentStep | Heading::NextAction => 3,
        Heading::Completed | Heading::Remaining => 18,
        _ => 12,
    }
}

fn is_same(one: &str, other: &str) -> bool {
    let bare = |text: &str| text.trim_end_matches(['.', ' ']).to_lowercase();
    bare(one) == bare(other)
}
