//! Calls while they run, and prompts that wait for the end of a step.
//!
//! Only a session that is in progress has calls in flight: in the record of a past one, every call has its
//! answer with it or never got one.

use flamestack_core::decide::DecideResult;
use flamestack_core::delegation::NOT_MADE;
use flamestack_core::session::checkpoint::{CallOutcome, CallStart, PROMPT_LIMIT};
use flamestack_core::text::condense;
use flamestack_core::transcript::{Answer, Call};
use flamestack_core::{Event, Text, TreeQuery};

use super::recorder::EntryRecorder;
use super::words::prose;

/// Words with which hosts answer a call that the user or a rule refused.
const REFUSED: &[&str] = &[
    "rejected permission to use",
    "specified a rule which prevents you from using",
    "doesn't want to proceed with this tool use",
    "dismissed this question",
    NOT_MADE,
];
/// Words with which hosts answer a call that was cut off.
const CUT: &[&str] = &[
    "Tool execution aborted",
    "Tool execution was interrupted",
    "Request interrupted by user",
];

impl<N: TreeQuery + ?Sized> EntryRecorder<'_, '_, N> {
    pub(super) fn call_begun(&mut self, call: &Call) {
        // A session without any other entry is not described yet.
        if self.live && !self.decider.is_new_session() {
            self.emit(Event::CallBegun(Box::new(CallStart::of(call))));
        }
    }

    pub(super) fn call_ended(&mut self, answer: &Answer) -> DecideResult<(), N> {
        if !self.live {
            return Ok(());
        }
        let life = self.decider.tree.life(&self.session())?;
        let is_open = life.is_some_and(|life| {
            let mut calls = life.calls.iter();
            calls.any(|known| known.start.call == answer.call)
        });
        if is_open {
            self.emit(Event::CallEnded {
                call: answer.call.clone(),
                outcome: outcome(answer),
            });
        }
        Ok(())
    }

    /// Returns the words of a prompt that arrives while a turn runs.
    pub(super) fn queued(&self, words: &str) -> DecideResult<Option<Text>, N> {
        if !self.live {
            return Ok(None);
        }
        let life = self.decider.tree.life(&self.session())?;
        let is_busy = life.is_some_and(|life| life.state.is_busy());
        let words = is_busy.then(|| condense(words, PROMPT_LIMIT));
        Ok(words.and_then(|words| prose(&words, usize::MAX)))
    }
}

fn outcome(answer: &Answer) -> CallOutcome {
    let says = |words: &[&str]| words.iter().any(|words| answer.text.contains(words));
    if answer.ok {
        CallOutcome::Done
    } else if says(REFUSED) {
        CallOutcome::Refused
    } else if says(CUT) {
        CallOutcome::Cut
    } else {
        CallOutcome::Failed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_say_why_a_call_has_no_result() {
        let of = |ok: bool, text: &str| {
            outcome(&Answer {
                call: "c".to_owned(),
                ok,
                exit_code: None,
                text: text.to_owned(),
            })
        };
        let refused = "The user rejected permission to use this specific tool call.";
        assert_eq!(of(false, refused), CallOutcome::Refused);
        let too_deep = format!("{NOT_MADE}: it would be 4 deep");
        assert_eq!(of(false, &too_deep), CallOutcome::Refused);
        assert_eq!(of(false, "Tool execution aborted"), CallOutcome::Cut);
        assert_eq!(of(false, "no such file"), CallOutcome::Failed);
        assert_eq!(of(true, "grep: Tool execution aborted"), CallOutcome::Done);
    }
}
