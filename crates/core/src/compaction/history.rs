//! What a session's compactions came to: what was to survive, what did, and how large the prompt
//! was before and after.
//!
//! A checkpoint is recorded before a summary is made, and read back to judge the summary; what
//! became of it is recorded with the summary. A crash in between leaves a compaction that has
//! begun, and the next summary belongs to it.

use crate::brief::Anchor;
use crate::event::{Event, Recorded};
use crate::id::{FrameId, SessionRef, Timestamp};
use crate::text::Prose;

/// How many model calls after a compaction show that the work goes on.
const FRUITFUL_CALLS: u64 = 3;
/// After how many compactions without that nothing more is added to a prompt.
const FRUITLESS: u64 = 3;

/// Why a history was replaced by a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CompactionKind {
    /// The prompt had grown too large.
    Overflow,
    /// A frame is being completed, and its results are to be summed up.
    Completion,
    /// Somebody asked for it.
    Manual,
}

impl CompactionKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Overflow, Self::Completion, Self::Manual];

    /// The name in files and `--json`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Overflow => "overflow",
            Self::Completion => "frame_completion",
            Self::Manual => "manual_summary",
        }
    }

    /// The kind that a name stands for.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// The kind in words, for a person.
    pub fn label(self) -> &'static str {
        match self {
            Self::Overflow => "overflow",
            Self::Completion => "frame completion",
            Self::Manual => "manual",
        }
    }
}

/// Where a session stood before it was compacted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Why it is compacted.
    pub kind: CompactionKind,
    /// The frame it worked on.
    pub frame: Option<FrameId>,
    /// How large its prompt was, in tokens, by the host's account.
    pub tokens: Option<u64>,
    /// What must survive.
    pub anchors: Vec<Anchor>,
}

/// What became of a checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The host's summary, without what was put behind it.
    pub summary: Option<Prose>,
    /// Whether the summary said nothing, so that what was restored stands alone.
    pub said_nothing: bool,
    /// What the model sees next without our help.
    pub survived: Vec<Anchor>,
    /// What it would not have seen.
    pub lost: Vec<Anchor>,
    /// How many tokens were put behind the summary.
    pub restored: u64,
}

/// One compaction of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compaction {
    /// Why, where that is known.
    pub kind: Option<CompactionKind>,
    /// The frame that the session worked on.
    pub frame: Option<FrameId>,
    /// When the checkpoint was made.
    pub begun: Option<Timestamp>,
    /// When the summary took the history's place; none, while it is being made.
    pub ended: Option<Timestamp>,
    /// The prompt's tokens before.
    pub before: Option<u64>,
    /// The tokens of the first prompt after.
    pub after: Option<u64>,
    /// What was to survive, until it is known what did.
    pub anchors: Vec<Anchor>,
    /// What became of that.
    pub verdict: Option<Verdict>,
}

/// What an event means for the compactions of its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// One more.
    Next(Compaction),
    /// The newest is this from now on.
    Newest(Compaction),
}

impl Compaction {
    /// The session whose compactions an event may change.
    pub fn concerned(recorded: &Recorded) -> Option<&SessionRef> {
        match &recorded.event {
            Event::CompactionBegun(_) | Event::CompactionChecked(_) => Some(&recorded.session),
            Event::SessionCompacted { session, .. } | Event::SessionSpent { session, .. } => {
                Some(session)
            }
            _ => None,
        }
    }

    /// What such an event changes, given the newest compaction so far.
    pub fn change(newest: Option<Self>, recorded: &Recorded) -> Option<Change> {
        let is_open = newest.as_ref().is_some_and(|known| known.ended.is_none());
        if let Event::SessionSpent { usage, .. } = &recorded.event {
            let mut newest =
                newest.filter(|known| known.ended.is_some() && known.after.is_none())?;
            newest.after = Some(usage.prompt());
            return Some(Change::Newest(newest));
        }
        let mut this = newest.filter(|_| is_open).unwrap_or_default();
        match &recorded.event {
            // Made once more: the one before came to nothing.
            Event::CompactionBegun(checkpoint) => {
                let Checkpoint {
                    kind,
                    frame,
                    tokens,
                    anchors,
                } = checkpoint.as_ref().clone();
                this = Self {
                    kind: Some(kind),
                    frame,
                    begun: Some(recorded.at),
                    before: tokens,
                    anchors,
                    ..Self::default()
                };
            }
            Event::CompactionChecked(verdict) => {
                this.anchors.clear();
                this.verdict = Some(verdict.as_ref().clone());
            }
            Event::SessionCompacted {
                automatic,
                tokens_before,
                ..
            } => {
                this.ended = Some(recorded.at);
                this.before = tokens_before.or(this.before);
                let kind = if *automatic {
                    CompactionKind::Overflow
                } else {
                    CompactionKind::Manual
                };
                this.kind.get_or_insert(kind);
            }
            _ => return None,
        }
        Some(if is_open {
            Change::Newest(this)
        } else {
            Change::Next(this)
        })
    }
}

/// Compactions that follow each other without anything done in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Streak {
    /// How many.
    pub compactions: u64,
    /// Model calls since the last one.
    pub calls: u64,
}

impl Streak {
    /// The history was replaced once more.
    pub fn compacted(&mut self, automatic: bool) {
        let goes_on = self.calls < FRUITFUL_CALLS;
        self.compactions = match (automatic, goes_on) {
            (true, true) => self.compactions.saturating_add(1),
            (true, false) => 1,
            // Whoever asks for it may ask again.
            (false, _) => 0,
        };
        self.calls = 0;
    }

    /// The model was asked.
    pub fn called(&mut self) {
        self.calls = self.calls.saturating_add(1);
    }

    /// A turn came to its end.
    pub fn turned(&mut self) {
        self.compactions = 0;
    }

    /// Whether the summaries go round in a circle.
    pub fn is_a_loop(self) -> bool {
        self.compactions >= FRUITLESS && self.calls < FRUITFUL_CALLS
    }

    /// Whether one more compaction would be such a circle.
    pub fn would_loop(self) -> bool {
        self.compactions + 1 >= FRUITLESS && self.calls < FRUITFUL_CALLS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
            match Compaction::change(all.last().cloned(), &recorded(seq, event)) {
                Some(Change::Next(next)) => all.push(next),
                Some(Change::Newest(newest)) => {
                    all.pop();
                    all.push(newest);
                }
                None => {}
            }
        }
        all
    }

    #[test]
    fn a_compaction_is_told_from_its_checkpoint_to_the_next_prompt() {
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
        assert!(only.verdict.is_some());
    }

    #[test]
    fn a_checkpoint_that_came_to_nothing_is_replaced_and_a_missing_one_is_no_obstacle() {
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
        let mut streak = Streak::default();
        for _ in 0..40 {
            streak.called();
        }
        for round in 1..=3_u64 {
            assert_eq!(streak.would_loop(), round == 3, "round {round}");
            streak.compacted(true);
            assert_eq!(streak.is_a_loop(), round == 3, "round {round}");
            streak.called();
        }
        streak.called();
        streak.called();
        assert!(!streak.is_a_loop(), "the work goes on");
        streak.compacted(true);
        assert_eq!(streak.compactions, 1);
    }

    #[test]
    fn a_turn_that_ends_and_a_person_who_asks_break_the_streak() {
        let mut streak = Streak {
            compactions: 2,
            calls: 0,
        };
        streak.turned();
        assert!(!streak.would_loop());
        let mut streak = Streak {
            compactions: 2,
            calls: 0,
        };
        streak.compacted(false);
        assert!(!streak.is_a_loop());
    }
}
