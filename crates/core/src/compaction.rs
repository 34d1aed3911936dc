//! Compactions of a session: the facts that must survive each one, and what became of them.
//!
//! The host replaces a session's history by a summary. Three events of the journal describe that,
//! and a fourth shows its effect; together they are one [`Compaction`]:
//!
//! ```text
//!        CompactionBegun     CompactionChecked     SessionCompacted     SessionSpent
//!              │                     │                    │                  │
//!   (none) ────┴────▶ Begun ─────────┴──▶ Checked ────────┴──▶ Compacted ────┴──▶ Measured
//!                    the checkpoint      the summary is       it replaced       size of the
//!                    with its anchors    there; anchors       the history       first prompt
//!                    is recorded         were looked for                        after it
//! ```
//!
//! Hosts skip steps: one without our instructions has no checkpoint, a crash leaves a checkpoint
//! without a summary. [`Compaction::apply`] therefore accepts every step in every phase.

mod anchor;

pub use anchor::{Anchor, AnchorKind};

use crate::event::{Event, Recorded};
use crate::id::{FrameId, SessionRef, Timestamp};
use crate::names::enum_names;
use crate::note::Note;
use crate::text::Text;

/// Number of model calls after a compaction that show that work continues.
const FRUITFUL_CALLS: u64 = 3;
/// Number of compactions without work in between from which on nothing is added to a prompt.
const FRUITLESS: u64 = 3;

enum_names! {
    /// Reason for replacing a history by a summary.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum CompactionKind {
        /// The prompt had grown too large.
        Overflow = "overflow",
        /// A frame is being completed, and the summary becomes its results.
        Completion = "frame_completion",
        /// The user or a tool call asked for it.
        Manual = "manual_summary",
    }
}

impl CompactionKind {
    /// The kind in words, for a person.
    pub fn label(self) -> &'static str {
        match self {
            Self::Overflow => "overflow",
            Self::Completion => "frame completion",
            Self::Manual => "manual",
        }
    }
}

/// State of a session before it is compacted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Reason for the compaction.
    pub kind: CompactionKind,
    /// The frame that the session worked on.
    pub frame: Option<FrameId>,
    /// Size of the prompt in tokens, as reported by the host.
    pub tokens: Option<u64>,
    /// Facts that must survive.
    pub anchors: Vec<Anchor>,
}

/// Outcome of a checkpoint: the anchors that the summary kept and lost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnchorReport {
    /// The host's summary, without the block of restored text.
    pub summary: Option<Text>,
    /// True if the summary was empty, so that the restored text replaces it.
    pub said_nothing: bool,
    /// Anchors that the summary and the next header contain.
    pub survived: Vec<Anchor>,
    /// Anchors that neither contains.
    pub lost: Vec<Anchor>,
    /// Number of tokens appended to the summary.
    pub restored: u64,
}

/// A summary that ends the wait of frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The text.
    pub text: Text,
    /// Claims of the text about a frame that ends with it.
    pub claims: SummaryClaims,
}

/// Statements of a summary about the frame that ends with it. They are claims of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SummaryClaims {
    /// Results, appended to those that were given when the frame was popped.
    pub results: String,
    /// Artifacts and decisions.
    pub notes: Vec<Note>,
}

/// One compaction of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compaction {
    /// Reason, where it is known.
    pub kind: Option<CompactionKind>,
    /// The frame that the session worked on.
    pub frame: Option<FrameId>,
    /// Time of the checkpoint.
    pub begun: Option<Timestamp>,
    /// Time at which the summary replaced the history.
    pub ended: Option<Timestamp>,
    /// Tokens of the prompt before.
    pub before: Option<u64>,
    /// Tokens of the first prompt after.
    pub after: Option<u64>,
    /// Facts that must survive; empty once the report says which did.
    pub anchors: Vec<Anchor>,
    /// Anchors that survived and that were lost.
    pub report: Option<AnchorReport>,
}

/// Progress of a [`Compaction`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CompactionPhase {
    /// The checkpoint is recorded.
    Begun,
    /// The summary exists and was checked against the anchors.
    Checked,
    /// The summary replaced the history.
    Compacted,
    /// The size of the first prompt after it is known.
    Measured,
}

/// One step of a compaction, as recorded by an event.
#[derive(Clone, Copy, Debug)]
enum Step<'e> {
    Begin(&'e Checkpoint),
    Check(&'e AnchorReport),
    Compact {
        automatic: bool,
        before: Option<u64>,
    },
    Measure {
        prompt: u64,
    },
}

/// Effect of an event on the compactions of its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompactionUpdate {
    /// Another compaction began.
    Added(Compaction),
    /// The newest compaction changed.
    Newest(Compaction),
}

impl<'e> Step<'e> {
    fn of(recorded: &'e Recorded) -> Option<(&'e SessionRef, Self)> {
        Some(match &recorded.event {
            Event::CompactionBegun(checkpoint) => (&recorded.session, Self::Begin(checkpoint)),
            Event::CompactionChecked(report) => (&recorded.session, Self::Check(report)),
            Event::SessionCompacted {
                session,
                automatic,
                tokens_before,
            } => {
                let (automatic, before) = (*automatic, *tokens_before);
                (session, Self::Compact { automatic, before })
            }
            Event::SessionSpent { session, usage } => {
                let prompt = usage.prompt();
                (session, Self::Measure { prompt })
            }
            _ => return None,
        })
    }
}

impl Compaction {
    /// Returns the session whose compactions an event may change.
    pub fn concerned(recorded: &Recorded) -> Option<&SessionRef> {
        Step::of(recorded).map(|(session, _)| session)
    }

    /// Returns the phase that this compaction has reached.
    pub fn phase(&self) -> CompactionPhase {
        match (self.after, self.ended, &self.report) {
            (Some(_), Some(_), _) => CompactionPhase::Measured,
            (None, Some(_), _) => CompactionPhase::Compacted,
            (_, None, Some(_)) => CompactionPhase::Checked,
            (_, None, None) => CompactionPhase::Begun,
        }
    }

    /// Returns true until the summary has replaced the history.
    pub fn is_pending(&self) -> bool {
        self.phase() < CompactionPhase::Compacted
    }

    /// Applies an event to the newest compaction of its session.
    pub fn apply(newest: Option<Self>, recorded: &Recorded) -> Option<CompactionUpdate> {
        let (_, step) = Step::of(recorded)?;
        if let Step::Measure { prompt } = step {
            let compacted = |known: &Self| known.phase() == CompactionPhase::Compacted;
            let newest = newest.filter(compacted)?;
            return Some(CompactionUpdate::Newest(Self {
                after: Some(prompt),
                ..newest
            }));
        }
        // A pending compaction takes the step; after a finished one, the step begins another.
        match newest.filter(Self::is_pending) {
            Some(pending) => Some(CompactionUpdate::Newest(pending.advance(step, recorded.at))),
            None => Some(CompactionUpdate::Added(
                Self::default().advance(step, recorded.at),
            )),
        }
    }

    fn advance(self, step: Step<'_>, at: Timestamp) -> Self {
        match step {
            // A second checkpoint means that no summary followed the first: it starts over.
            Step::Begin(checkpoint) => {
                let checkpoint = checkpoint.clone();
                Self {
                    kind: Some(checkpoint.kind),
                    frame: checkpoint.frame,
                    begun: Some(at),
                    before: checkpoint.tokens,
                    anchors: checkpoint.anchors,
                    ..Self::default()
                }
            }
            Step::Check(report) => Self {
                anchors: Vec::new(),
                report: Some(report.clone()),
                ..self
            },
            Step::Compact { automatic, before } => {
                let kind = if automatic {
                    CompactionKind::Overflow
                } else {
                    CompactionKind::Manual
                };
                Self {
                    kind: self.kind.or(Some(kind)),
                    ended: Some(at),
                    before: before.or(self.before),
                    ..self
                }
            }
            Step::Measure { prompt } => Self {
                after: Some(prompt),
                ..self
            },
        }
    }
}

/// Detects compactions that follow each other without any work in between.
///
/// A prompt whose fixed part (system prompt, tools, newest messages) nearly fills the window is
/// compacted after every answer. Adding a brief to each summary would keep that going.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactionLoop {
    /// Number of compactions in a row.
    pub compactions: u64,
    /// Model calls since the last one.
    pub calls: u64,
}

impl CompactionLoop {
    /// Records a compaction.
    pub fn compacted(&mut self, automatic: bool) {
        let goes_on = self.calls < FRUITFUL_CALLS;
        self.compactions = match (automatic, goes_on) {
            (true, true) => self.compactions.saturating_add(1),
            (true, false) => 1,
            // The user may ask for as many as they like.
            (false, _) => 0,
        };
        self.calls = 0;
    }

    /// Records a model call.
    pub fn called(&mut self) {
        self.calls = self.calls.saturating_add(1);
    }

    /// Records the end of a turn.
    pub fn turned(&mut self) {
        self.compactions = 0;
    }

    /// Returns true if the session is compacted again and again without progress.
    pub fn is_a_loop(self) -> bool {
        self.compactions >= FRUITLESS && self.calls < FRUITFUL_CALLS
    }

    /// Returns true if one more compaction would make it a loop.
    pub fn would_loop(self) -> bool {
        self.compactions + 1 >= FRUITLESS && self.calls < FRUITFUL_CALLS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::author::Author;
    use crate::id::Seq;
    use crate::transcript::Usage;

    fn session() -> SessionRef {
        "opencode:ses_1".parse().unwrap()
    }

    fn recorded(seq: i64, event: Event) -> Recorded {
        Recorded {
            seq: Seq(seq),
            batch: Seq(seq),
            at: Timestamp(seq),
            session: session(),
            message: None,
            by: Author::Agent,
            event,
        }
    }

    fn begun(tokens: u64) -> Event {
        Event::CompactionBegun(Box::new(Checkpoint {
            kind: CompactionKind::Completion,
            frame: None,
            tokens: Some(tokens),
            anchors: Vec::new(),
        }))
    }

    fn compacted() -> Event {
        Event::SessionCompacted {
            session: session(),
            automatic: true,
            tokens_before: None,
        }
    }

    fn spent(input: u64) -> Event {
        let usage = Usage {
            input,
            cache_read: 10,
            ..Usage::default()
        };
        Event::SessionSpent {
            session: session(),
            usage,
        }
    }

    fn folded(events: Vec<Event>) -> Vec<Compaction> {
        let mut all: Vec<Compaction> = Vec::new();
        for (seq, event) in (1..).zip(events) {
            match Compaction::apply(all.last().cloned(), &recorded(seq, event)) {
                Some(CompactionUpdate::Added(next)) => all.push(next),
                Some(CompactionUpdate::Newest(newest)) => {
                    all.pop();
                    all.push(newest);
                }
                None => {}
            }
        }
        all
    }

    #[test]
    fn a_compaction_spans_its_checkpoint_to_the_next_prompt() {
        let checked = Event::CompactionChecked(Box::default());
        let all = folded(vec![
            spent(90),
            begun(90),
            checked,
            compacted(),
            spent(20),
            spent(30),
        ]);
        let [only] = all.as_slice() else {
            panic!("{all:?}")
        };
        assert_eq!((only.before, only.after), (Some(90), Some(30)));
        assert_eq!(only.kind, Some(CompactionKind::Completion));
        assert_eq!(
            (only.begun, only.ended),
            (Some(Timestamp(2)), Some(Timestamp(4)))
        );
        assert!(only.report.is_some());
        assert_eq!(only.phase(), CompactionPhase::Measured);
    }

    #[test]
    fn a_checkpoint_without_a_summary_is_replaced_and_a_missing_one_is_accepted() {
        let all = folded(vec![begun(90), begun(91), compacted(), compacted()]);
        let [first, second] = all.as_slice() else {
            panic!("{all:?}")
        };
        assert_eq!(first.before, Some(91));
        assert_eq!(second.kind, Some(CompactionKind::Overflow));
        assert_eq!(second.begun, None);
    }

    #[test]
    fn three_compactions_without_work_between_are_a_loop() {
        let mut loops = CompactionLoop::default();
        for _ in 0..40 {
            loops.called();
        }
        for round in 1..=3_u64 {
            assert_eq!(loops.would_loop(), round == 3, "round {round}");
            loops.compacted(true);
            assert_eq!(loops.is_a_loop(), round == 3, "round {round}");
            loops.called();
        }
        loops.called();
        loops.called();
        assert!(!loops.is_a_loop(), "the work goes on");
        loops.compacted(true);
        assert_eq!(loops.compactions, 1);
    }

    #[test]
    fn a_finished_turn_and_a_manual_compaction_end_the_loop() {
        let mut loops = CompactionLoop {
            compactions: 2,
            calls: 0,
        };
        loops.turned();
        assert!(!loops.would_loop());
        let mut loops = CompactionLoop {
            compactions: 2,
            calls: 0,
        };
        loops.compacted(false);
        assert!(!loops.is_a_loop());
    }
}
