//! Interruptions of recorded sessions: inferred ones against the host's marks, and what became of the
//! turn after one.

use flamestack_core::transcript::turns::{TurnSpan, turns};
use flamestack_core::transcript::{Entry, EntryKind};

use crate::words::keywords;

/// A prompt after a pause of this length resumes the work: prompt caches are cold by then.
const PAUSE: i64 = 60 * 60 * 1000;
/// Number of words that an answer shares with the goal, unless the goal has fewer.
const SHARED_WORDS: usize = 2;
/// Words of a prompt that ask for more of the same and describe no goal.
const GO_ON: [&str; 8] = [
    "continue", "please", "again", "resume", "proceed", "retry", "yes", "sorry",
];

/// Counts of interruptions and resumes, of one session or summed over many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interruptions {
    /// Turns that another prompt followed.
    pub turns: usize,
    /// Those of them that the host marked as interrupted.
    pub marked: usize,
    /// Those that the entries alone show as cut short.
    pub inferred: usize,
    /// Those that both say.
    pub right: usize,
    /// Recordings that end inside a turn; a mark cannot judge there, because many recordings are copies
    /// of a session that continued.
    pub unfinished: usize,
    /// Turns after an interruption.
    pub after_stop: Resumes,
    /// Turns after a pause of an hour or longer.
    pub after_pause: Resumes,
}

/// Turns with which work was resumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resumes {
    /// Number of turns.
    pub count: usize,
    /// Those in which the model called a tool, or answered the goal in words.
    pub working: usize,
}

impl Resumes {
    fn take(&mut self, works: bool) {
        self.count += 1;
        self.working += usize::from(works);
    }

    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.working += other.working;
    }
}

impl Interruptions {
    /// Counts the interruptions of a session.
    pub fn of(entries: &[Entry]) -> Self {
        let turns = turns(entries);
        let mut counts = Self::default();
        for pair in turns.windows(2) {
            let [before, after] = pair else { continue };
            let inferred = before.end.is_cut_short();
            counts.turns += 1;
            counts.marked += usize::from(before.marked);
            counts.inferred += usize::from(inferred);
            counts.right += usize::from(before.marked && inferred);
            // A slash command of the host has no turn that could work on anything.
            if !calls_model(entries, after) {
                continue;
            }
            if before.marked || inferred {
                counts.after_stop.take(works(entries, before, after));
            } else if pause(entries, before, after) >= PAUSE {
                counts.after_pause.take(works(entries, before, after));
            }
        }
        let unfinished = turns.last().is_some_and(|last| last.end.is_cut_short());
        counts.unfinished = usize::from(unfinished);
        counts
    }

    /// Adds the counts of another session.
    pub fn add(&mut self, other: Self) {
        self.turns += other.turns;
        self.marked += other.marked;
        self.inferred += other.inferred;
        self.right += other.right;
        self.unfinished += other.unfinished;
        self.after_stop.add(other.after_stop);
        self.after_pause.add(other.after_pause);
    }
}

fn own<'e>(entries: &'e [Entry], turn: &TurnSpan) -> impl DoubleEndedIterator<Item = &'e Entry> {
    let within = entries.get(turn.from..turn.to).unwrap_or_default();
    within.iter().filter(|entry| entry.agent.is_none())
}

/// Returns the time between the end of a turn and the next prompt, in milliseconds.
fn pause(entries: &[Entry], before: &TurnSpan, after: &TurnSpan) -> i64 {
    let last = own(entries, before).rev().find_map(|entry| entry.at);
    let next = own(entries, after).find_map(|entry| entry.at);
    match (last, next) {
        (Some(last), Some(next)) => next.0.saturating_sub(last.0),
        _ => 0,
    }
}

/// Returns false for a command of the host that no model answers.
fn calls_model(entries: &[Entry], turn: &TurnSpan) -> bool {
    let is_command = entries.get(turn.from).is_some_and(|entry| {
        matches!(
            &entry.kind,
            EntryKind::User {
                speaker: flamestack_core::transcript::Speaker::Slash,
                ..
            }
        )
    });
    !is_command || own(entries, turn).any(is_by_model)
}

fn is_by_model(entry: &Entry) -> bool {
    matches!(
        entry.kind,
        EntryKind::Assistant { .. } | EntryKind::Call(_) | EntryKind::Plan { .. }
    )
}

/// Returns true if the model called a tool, or if its words are about the goal: the prompt, and that of
/// the turn before.
fn works(entries: &[Entry], before: &TurnSpan, after: &TurnSpan) -> bool {
    if own(entries, after).any(|entry| matches!(entry.kind, EntryKind::Call(_))) {
        return true;
    }
    let prompts = [before, after].map(|turn| match entries.get(turn.from).map(|e| &e.kind) {
        Some(EntryKind::User { text, .. }) => text.as_str(),
        _ => "",
    });
    let mut goal = keywords(&prompts.join(" "));
    goal.retain(|word| !GO_ON.contains(&word.as_str()));
    let said: Vec<&str> = own(entries, after)
        .filter_map(|entry| match &entry.kind {
            EntryKind::Assistant { text } | EntryKind::Plan { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let said = keywords(&said.join(" "));
    let shared = goal.intersection(&said).count();
    shared > 0 && shared >= SHARED_WORDS.min(goal.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use flamestack_core::id::Timestamp;
    use flamestack_core::transcript::Speaker;

    fn prompt(minute: i64, text: &str) -> Entry {
        let (speaker, text) = (Speaker::Person, text.to_owned());
        let at = Some(Timestamp(minute * 60_000));
        Entry {
            at,
            ..Entry::from(EntryKind::User { speaker, text })
        }
    }

    fn said(minute: i64, text: &str) -> Entry {
        let at = Some(Timestamp(minute * 60_000));
        let text = text.to_owned();
        Entry {
            at,
            ..Entry::from(EntryKind::Assistant { text })
        }
    }

    fn marked(minute: i64) -> Entry {
        let how = "esc".to_owned();
        let at = Some(Timestamp(minute * 60_000));
        Entry {
            at,
            ..Entry::from(EntryKind::Interrupted { how })
        }
    }

    #[test]
    fn marks_and_inference_are_compared_turn_by_turn() {
        let entries = [
            prompt(0, "fix the parser"),
            marked(1),
            prompt(2, "fix the lexer"),
            prompt(4, "fix the lexer and its tests"),
            said(5, "the lexer and its tests are fixed"),
            marked(5),
            prompt(6, "commit"),
        ];
        let counts = Interruptions::of(&entries);
        assert_eq!(
            (counts.turns, counts.marked, counts.inferred, counts.right),
            (3, 2, 2, 1)
        );
        assert_eq!(counts.unfinished, 1);
    }

    #[test]
    fn an_empty_phrase_is_no_work_on_the_task() {
        let resumed = |answer: &str| {
            let entries = [
                prompt(0, "Fix the failing parser tests"),
                marked(1),
                prompt(2, "Continue"),
                said(3, answer),
            ];
            Interruptions::of(&entries).after_stop
        };
        let idle = resumed("No response requested.");
        assert_eq!((idle.count, idle.working), (1, 0));
        let working = resumed("The parser tests fail because of a missing case.");
        assert_eq!((working.count, working.working), (1, 1));
    }

    #[test]
    fn a_long_pause_is_a_resume() {
        let entries = [
            prompt(0, "fix the parser"),
            said(1, "the parser is fixed"),
            prompt(62, "now fix the lexer tests"),
            said(63, "the lexer tests are fixed"),
            prompt(64, "thanks"),
            said(65, "welcome"),
        ];
        let counts = Interruptions::of(&entries);
        assert_eq!(
            (counts.after_pause.count, counts.after_pause.working),
            (1, 1)
        );
        assert_eq!(counts.after_stop.count, 0);
    }
}
