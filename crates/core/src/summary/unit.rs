//! Units: the passages that are taken over or left out as a whole.

use super::phrase::Phrases;
use crate::anchor::moment::{Moment, Source};

/// A passage is about this many bytes: a few lines of code, a sentence or two.
const ABOUT: u32 = 100;
/// A line that is longer is taken apart.
const LONGEST: u32 = 200;

/// A passage of a moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    /// The moment.
    pub(super) moment: usize,
    /// First byte in its text.
    pub(super) start: u32,
    /// Behind the last.
    pub(super) end: u32,
    /// Its first word.
    pub(super) first: usize,
    /// Behind its last word.
    pub(super) behind: usize,
    /// About how many bytes it has when it is shown.
    pub(super) size: u32,
}

/// Takes every moment apart.
pub(super) fn units(moments: &[Moment<'_>], phrases: &Phrases) -> Vec<Unit> {
    let mut units = Vec::new();
    for (number, moment) in moments.iter().enumerate() {
        // A person's words have their own place.
        if moment.source == Source::Prompt {
            continue;
        }
        let Some(words) = phrases.words.get(number) else {
            continue;
        };
        let bytes = moment.text.as_bytes();
        let mut open: Option<Unit> = None;
        for (at, word) in words.iter().enumerate() {
            if let Some(unit) = open {
                let gap = bytes.get(unit.end as usize..word.start as usize);
                let line_ends = gap.is_some_and(|gap| gap.contains(&b'\n'));
                let size = word.end - unit.start;
                if (line_ends && unit.end - unit.start >= ABOUT) || size > LONGEST {
                    units.push(unit);
                    open = None;
                }
            }
            let unit = open.get_or_insert(Unit {
                moment: number,
                start: word.start,
                end: word.end,
                first: at,
                behind: at + 1,
                size: 0,
            });
            // Blanks are shown as one.
            let gap = bytes
                .get(unit.end.min(word.start) as usize..word.start as usize)
                .unwrap_or_default();
            let blank = gap.iter().any(u8::is_ascii_whitespace);
            let signs = gap
                .iter()
                .filter(|byte| !byte.is_ascii_whitespace())
                .count();
            unit.size +=
                word.end - word.start + u32::from(blank) + u32::try_from(signs).unwrap_or(u32::MAX);
            unit.end = word.end;
            unit.behind = at + 1;
        }
        units.extend(open);
    }
    // What is between two passages of a moment belongs to the first of them.
    for at in 0..units.len() {
        let next = units.get(at + 1).copied();
        let Some(unit) = units.get_mut(at) else {
            continue;
        };
        let text_end = moments
            .get(unit.moment)
            .map_or(0, |moment| moment.text.len());
        unit.end = match next {
            Some(next) if next.moment == unit.moment => next.start,
            _ => u32::try_from(text_end)
                .unwrap_or(u32::MAX)
                .min(unit.end + 8),
        };
    }
    units
}
