//! Turns of a transcript, and how each of them ended.
//!
//! A host marks an interruption by the user, and not even always: a crash leaves no mark at all. What
//! remains is a turn without an end. This reads it from the entries alone; a mark is reported beside
//! it, and never used, so that the two can be compared.

use std::collections::BTreeSet;

use super::{Entry, EntryKind, Speaker};

/// A prompt that the host delivers with a tool's answer comes within this time after it; a user who
/// reads the answer and types takes longer (recorded sessions: 0.3 s at most, and 1.8 s at least).
pub const DELIVERED_WITHIN: i64 = 1_000;
/// Claude Code's words for a prompt that a hook of the user refused.
const STOPPED_BY_HOOK: &str = "Operation stopped by hook";

/// A prompt and what followed it in a session's own thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnSpan {
    /// Place of the prompt among the entries.
    pub from: usize,
    /// Place after the last entry.
    pub to: usize,
    /// Its end, as the entries show it.
    pub end: TurnEnd,
    /// True if the host marked it as interrupted, and the model said nothing more.
    pub marked: bool,
}

/// The end of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TurnEnd {
    /// The host says that it ended, or the model had the last word.
    Finished,
    /// An error ended it.
    Failed,
    /// A call has no answer.
    InCall,
    /// A call was answered, and the model said nothing to it.
    AfterAnswer,
    /// The model said nothing to the prompt.
    Unanswered,
}

impl TurnEnd {
    /// Returns true if the turn was cut short.
    pub fn is_cut_short(self) -> bool {
        matches!(self, Self::InCall | Self::AfterAnswer | Self::Unanswered)
    }
}

/// Divides a transcript into turns. Words before the first prompt belong to none.
pub fn turns(entries: &[Entry]) -> Vec<TurnSpan> {
    turns_within(entries, DELIVERED_WITHIN)
}

/// Divides a transcript into turns, with another value for [`DELIVERED_WITHIN`].
pub fn turns_within(entries: &[Entry], delivered_within: i64) -> Vec<TurnSpan> {
    let mut all = Vec::new();
    let mut open: Option<OpenTurn<'_>> = None;
    for (place, entry) in entries.iter().enumerate() {
        if entry.agent.is_some() {
            continue;
        }
        let begins = entry.is_prompt() && !is_refusal_of_a_hook(entry);
        let is_inside = |turn: &OpenTurn<'_>| turn.has_delivered(entry, delivered_within);
        if begins && !open.as_ref().is_some_and(is_inside) {
            all.extend(open.take().map(|turn| turn.close(place)));
            open = Some(OpenTurn::new(place, entry));
        } else if let Some(turn) = &mut open {
            turn.take(entry);
        }
    }
    all.extend(open.map(|turn| turn.close(entries.len())));
    all
}

fn is_refusal_of_a_hook(entry: &Entry) -> bool {
    matches!(&entry.kind, EntryKind::User { text, .. } if text.starts_with(STOPPED_BY_HOOK))
}

/// The last item of a turn that says something about its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Prompt,
    /// A slash command: many are the host's own, and call no model.
    Slash,
    Model,
    Answer,
    Ended,
    Failed,
}

#[derive(Debug)]
struct OpenTurn<'e> {
    from: usize,
    last: Last,
    at: Option<i64>,
    unanswered: BTreeSet<&'e str>,
    marked: bool,
}

impl<'e> OpenTurn<'e> {
    fn new(from: usize, prompt: &'e Entry) -> Self {
        let by_command = matches!(
            &prompt.kind,
            EntryKind::User {
                speaker: Speaker::Slash,
                ..
            }
        );
        Self {
            from,
            last: if by_command {
                Last::Slash
            } else {
                Last::Prompt
            },
            at: prompt.at.map(|at| at.0),
            unanswered: BTreeSet::new(),
            marked: false,
        }
    }

    /// Returns true if the host delivered a prompt inside this turn: typed while the model worked, or
    /// one more part of the same message. Without times, a prompt after an answer counts as delivered.
    fn has_delivered(&self, prompt: &Entry, within: i64) -> bool {
        if self.marked || !matches!(self.last, Last::Prompt | Last::Answer) {
            return false;
        }
        match (self.at, prompt.at) {
            (Some(last), Some(prompt)) => prompt.0.saturating_sub(last) <= within,
            _ => self.last == Last::Answer,
        }
    }

    fn take(&mut self, entry: &'e Entry) {
        let last = match &entry.kind {
            EntryKind::User { .. } if is_refusal_of_a_hook(entry) => Last::Ended,
            EntryKind::User {
                speaker: Speaker::Person | Speaker::Slash,
                ..
            } => Last::Prompt,
            EntryKind::Assistant { .. } | EntryKind::Plan { .. } => Last::Model,
            EntryKind::Call(call) => {
                self.unanswered.insert(&call.id);
                Last::Model
            }
            EntryKind::Answer(answer) => {
                self.unanswered.remove(answer.call.as_str());
                Last::Answer
            }
            EntryKind::SubagentEnded { .. } => Last::Answer,
            EntryKind::TurnEnded | EntryKind::Compacted { .. } => {
                self.unanswered.clear();
                Last::Ended
            }
            EntryKind::Failed { .. } => Last::Failed,
            EntryKind::Interrupted { .. } => {
                self.marked = true;
                return;
            }
            EntryKind::User {
                speaker: Speaker::Shell | Speaker::Host,
                ..
            }
            | EntryKind::Thinking { .. }
            | EntryKind::Begun(_)
            | EntryKind::Attached { .. }
            | EntryKind::SubagentStarted { .. }
            | EntryKind::Todos(_)
            | EntryKind::Changed { .. }
            | EntryKind::Waiting { .. }
            | EntryKind::Titled { .. }
            | EntryKind::Usage(_) => return,
        };
        // The model continued: what was marked was one refused call.
        self.marked &= last != Last::Model;
        self.last = last;
        self.at = entry.at.map(|at| at.0).or(self.at);
    }

    fn close(self, to: usize) -> TurnSpan {
        let end = match self.last {
            Last::Failed => TurnEnd::Failed,
            Last::Ended => TurnEnd::Finished,
            _ if !self.unanswered.is_empty() => TurnEnd::InCall,
            Last::Answer => TurnEnd::AfterAnswer,
            Last::Prompt => TurnEnd::Unanswered,
            Last::Slash | Last::Model => TurnEnd::Finished,
        };
        TurnSpan {
            from: self.from,
            to,
            end,
            marked: self.marked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Timestamp;
    use crate::transcript::{Answer, Call, CallKind};

    fn at(seconds: i64, kind: EntryKind) -> Entry {
        Entry {
            at: Some(Timestamp(seconds * 1000)),
            ..Entry::from(kind)
        }
    }

    fn prompt(seconds: i64) -> Entry {
        let (speaker, text) = (Speaker::Person, "go on".to_owned());
        at(seconds, EntryKind::User { speaker, text })
    }

    fn said(seconds: i64) -> Entry {
        let text = "done".to_owned();
        at(seconds, EntryKind::Assistant { text })
    }

    fn call(seconds: i64, id: &str) -> Entry {
        at(
            seconds,
            EntryKind::Call(Call {
                id: id.to_owned(),
                tool: "bash".to_owned(),
                kind: CallKind::Execute,
                arguments: String::new(),
                paths: Vec::new(),
                command: None,
            }),
        )
    }

    fn answer(seconds: i64, id: &str) -> Entry {
        at(
            seconds,
            EntryKind::Answer(Answer {
                call: id.to_owned(),
                ok: true,
                exit_code: None,
                text: String::new(),
            }),
        )
    }

    fn mark(seconds: i64) -> Entry {
        let how = "esc".to_owned();
        at(seconds, EntryKind::Interrupted { how })
    }

    fn ends(entries: &[Entry]) -> Vec<TurnEnd> {
        turns(entries).iter().map(|turn| turn.end).collect()
    }

    #[test]
    fn the_last_word_of_the_model_ends_a_turn() {
        let entries = [prompt(0), call(1, "a"), answer(2, "a"), said(3), prompt(60)];
        assert_eq!(ends(&entries), [TurnEnd::Finished, TurnEnd::Unanswered]);
        let places: Vec<_> = turns(&entries).iter().map(|t| (t.from, t.to)).collect();
        assert_eq!(places, [(0, 4), (4, 5)]);
    }

    #[test]
    fn a_turn_may_be_cut_short_at_three_places() {
        assert_eq!(ends(&[prompt(0), call(1, "a")]), [TurnEnd::InCall]);
        let silent = [
            prompt(0),
            call(1, "a"),
            answer(2, "a"),
            prompt(20),
            said(21),
        ];
        assert_eq!(ends(&silent), [TurnEnd::AfterAnswer, TurnEnd::Finished]);
        let edited = [prompt(0), prompt(9), said(10)];
        assert_eq!(ends(&edited), [TurnEnd::Unanswered, TurnEnd::Finished]);
    }

    #[test]
    fn a_prompt_typed_while_the_model_works_interrupts_nothing() {
        let queued = [prompt(0), call(1, "a"), answer(9, "a"), prompt(9), said(12)];
        assert_eq!(ends(&queued), [TurnEnd::Finished]);
        let mut untimed = queued;
        for entry in &mut untimed {
            entry.at = None;
        }
        assert_eq!(ends(&untimed), [TurnEnd::Finished]);
    }

    #[test]
    fn a_refused_call_is_no_interruption_while_the_model_goes_on() {
        let refused = [prompt(0), call(1, "a"), answer(2, "a"), mark(2), said(4)];
        let turn = turns(&refused)[0];
        assert_eq!((turn.end, turn.marked), (TurnEnd::Finished, false));
        let stopped = [prompt(0), call(1, "a"), answer(2, "a"), mark(2), prompt(2)];
        let turn = turns(&stopped)[0];
        assert_eq!((turn.end, turn.marked), (TurnEnd::AfterAnswer, true));
    }

    #[test]
    fn the_host_has_the_final_say_about_an_end() {
        let ended = at(3, EntryKind::TurnEnded);
        let turn = [
            prompt(0),
            call(1, "background"),
            ended,
            prompt(90),
            said(91),
        ];
        assert_eq!(ends(&turn), [TurnEnd::Finished, TurnEnd::Finished]);
        let why = "overloaded".to_owned();
        let failed = [prompt(0), at(2, EntryKind::Failed { why })];
        assert_eq!(ends(&failed), [TurnEnd::Failed]);
    }

    #[test]
    fn subagents_and_commands_of_the_host_count_for_nothing() {
        let (speaker, text) = (Speaker::Slash, "/exit".to_owned());
        let left = at(30, EntryKind::User { speaker, text });
        let mut inside = call(2, "b");
        inside.agent = Some("explorer".to_owned());
        let entries = [prompt(0), inside, said(3), left, prompt(900), said(901)];
        assert_eq!(ends(&entries), [TurnEnd::Finished; 3]);
    }
}
