//! Measures how well interruptions are inferred on owners that the rule was not fitted to. For each owner, the
//! time that separates a prompt delivered by the host from one typed by a user is chosen on the recordings
//! of all others. [`crate::interruption`] measures the same with one time for all.

use std::collections::BTreeMap;

use flamestack_core::transcript::Entry;
use flamestack_core::transcript::turns::{DELIVERED_WITHIN, turns_within};

/// Times that are tried, in milliseconds; the built-in one first, so that it is chosen among equals.
const TIMES: [i64; 9] = [
    DELIVERED_WITHIN,
    0,
    100,
    300,
    2_000,
    5_000,
    10_000,
    30_000,
    120_000,
];

/// Interruptions that were marked by the host, inferred, and both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Turns that the host marked.
    pub marked: usize,
    /// Turns that the entries alone show as cut short.
    pub inferred: usize,
    /// Turns that both say.
    pub right: usize,
}

impl Marks {
    fn of(entries: &[Entry], delivered_within: i64) -> Self {
        let mut marks = Self::default();
        let turns = turns_within(entries, delivered_within);
        // The last turn has no prompt after it that would show that the session went on.
        for turn in turns.iter().rev().skip(1) {
            let is_inferred = turn.end.is_cut_short();
            marks.marked += usize::from(turn.marked);
            marks.inferred += usize::from(is_inferred);
            marks.right += usize::from(turn.marked && is_inferred);
        }
        marks
    }

    fn add(&mut self, other: Self) {
        self.marked += other.marked;
        self.inferred += other.inferred;
        self.right += other.right;
    }

    /// Returns the harmonic mean of precision and recall, in millionths.
    fn score(self) -> usize {
        let both = self.marked + self.inferred;
        (2_000_000 * self.right).checked_div(both).unwrap_or(0)
    }
}

/// The marks of a set of recordings for each time that is tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MarksByTime([Marks; TIMES.len()]);

impl MarksByTime {
    /// Counts the marks of a session.
    pub fn of(entries: &[Entry]) -> Self {
        Self(TIMES.map(|time| Marks::of(entries, time)))
    }

    /// Adds the counts of another session.
    pub fn add(&mut self, other: &Self) {
        for (mine, other) in self.0.iter_mut().zip(other.0) {
            mine.add(other);
        }
    }
}

/// Counts the marks of all owners, each with the time that does best on the others. Returns the counts
/// and the times that were chosen; `None` for fewer than two owners.
pub fn held_out(owners: &BTreeMap<String, MarksByTime>) -> Option<(Marks, Vec<i64>)> {
    if owners.len() < 2 {
        return None;
    }
    let (mut all, mut times) = (Marks::default(), Vec::new());
    for (owner, own) in owners {
        let mut others = MarksByTime::default();
        for (_, marks) in owners.iter().filter(|(name, _)| *name != owner) {
            others.add(marks);
        }
        let tried = others.0.iter().zip(own.0).zip(TIMES);
        // The first of equals: `max_by_key` would take the last.
        let best = tried.rev().max_by_key(|((others, _), _)| others.score());
        if let Some(((_, own), time)) = best {
            all.add(own);
            times.push(time);
        }
    }
    Some((all, times))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flamestack_core::id::Timestamp;
    use flamestack_core::transcript::{Answer, EntryKind, Speaker};

    fn at(ms: i64, kind: EntryKind) -> Entry {
        Entry {
            at: Some(Timestamp(ms)),
            ..Entry::from(kind)
        }
    }

    fn prompt(ms: i64) -> Entry {
        let (speaker, text) = (Speaker::Person, "go on".to_owned());
        at(ms, EntryKind::User { speaker, text })
    }

    fn answer(ms: i64) -> Entry {
        at(
            ms,
            EntryKind::Answer(Answer {
                call: "a".to_owned(),
                ok: true,
                exit_code: None,
                text: String::new(),
            }),
        )
    }

    fn said(ms: i64) -> Entry {
        let text = "done".to_owned();
        at(ms, EntryKind::Assistant { text })
    }

    /// A prompt that the host delivered this long after an answer, with no interruption anywhere.
    fn delivered(after: i64) -> Vec<Entry> {
        let next = 1_000 + after;
        vec![
            prompt(0),
            answer(1_000),
            prompt(next),
            said(next + 1),
            prompt(900_000),
        ]
    }

    fn marked() -> Vec<Entry> {
        let how = "esc".to_owned();
        let mark = at(2_000, EntryKind::Interrupted { how });
        vec![
            prompt(0),
            answer(1_000),
            mark,
            prompt(400_000),
            said(400_001),
        ]
    }

    #[test]
    fn the_time_is_chosen_on_the_others() {
        let owner = |sessions: &[Vec<Entry>]| {
            let mut all = MarksByTime::default();
            for session in sessions {
                all.add(&MarksByTime::of(session));
            }
            all
        };
        // The host of one owner delivers prompts later than the built-in time allows for.
        let slow = owner(&[delivered(4_000), delivered(4_000), marked()]);
        let usual = owner(&[delivered(50), marked()]);
        let owners = BTreeMap::from([("slow".to_owned(), slow), ("usual".to_owned(), usual)]);
        let (marks, times) = held_out(&owners).unwrap();
        assert_eq!(times, [DELIVERED_WITHIN, 5_000]);
        let expected = Marks {
            marked: 2,
            inferred: 4,
            right: 2,
        };
        assert_eq!(
            marks, expected,
            "the slow one pays for the usual one's time"
        );
        let alone = BTreeMap::from([("usual".to_owned(), usual)]);
        assert_eq!(held_out(&alone), None);
    }
}
