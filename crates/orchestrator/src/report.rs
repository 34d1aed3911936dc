//! The user's view of a run: events while it is in progress, a summary at its end.

use std::collections::BTreeMap;

use flamestack_core::frame::FrameStanding;
use flamestack_core::{FrameId, Status};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::budget::{BudgetLimit, Spending};
use crate::next::{left_because, limit_reached, subtree};
use crate::stack::RunTree;
use crate::state::RunState;

/// State in which a run stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "ending")]
pub enum RunEnding {
    /// Every frame has its result.
    Completed,
    /// The goal was not reached.
    Failed,
    /// The goal was given up.
    Invalidated,
    /// A budget or the provider stopped it.
    Parked {
        /// Reason.
        reason: String,
        /// Time at which it can continue, in milliseconds, if known.
        until: Option<i64>,
    },
    /// Frames wait for something outside.
    Blocked {
        /// These frames, with their reasons.
        on: Vec<String>,
    },
    /// The user paused it.
    Paused,
    /// The frame of the goal no longer exists.
    Gone,
}

impl RunEnding {
    /// Returns true if every frame has its result.
    pub fn is_complete(&self) -> bool {
        *self == Self::Completed
    }

    /// Returns true if the run can be resumed.
    pub fn is_resumable(&self) -> bool {
        matches!(
            self,
            Self::Parked { .. } | Self::Blocked { .. } | Self::Paused
        )
    }

    /// Returns the ending as a word.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Invalidated => "invalidated",
            Self::Parked { .. } => "parked",
            Self::Blocked { .. } => "blocked",
            Self::Paused => "paused",
            Self::Gone => "gone",
        }
    }
}

/// Something that happened in a run.
#[derive(Clone, Debug, PartialEq)]
pub enum RunEvent {
    /// The run began or was resumed.
    Started {
        /// Name of the run.
        run: String,
        /// True if it was resumed.
        resumed: bool,
    },
    /// The server was started or reached.
    Server {
        /// Address.
        url: String,
    },
    /// A session was created for a frame.
    Session {
        /// The frame.
        frame: FrameId,
        /// The session.
        session: String,
    },
    /// A prompt was sent.
    Prompted {
        /// The frame.
        frame: FrameId,
        /// Title of the frame.
        title: String,
        /// Number of the attempt.
        attempt: u32,
        /// Reason for the prompt.
        why: &'static str,
    },
    /// A session does something.
    Doing {
        /// The frame.
        frame: FrameId,
        /// Title of the frame.
        title: String,
        /// Short description.
        what: String,
    },
    /// A turn ended.
    Turned {
        /// The frame.
        frame: FrameId,
        /// Title of the frame.
        title: String,
        /// Consequence in a word.
        verdict: String,
        /// True if the frame is completed without recorded evidence.
        is_claimed: bool,
        /// Spending of the turn.
        spent: Spending,
    },
    /// Frames were opened below one.
    Opened {
        /// The parent.
        parent: FrameId,
        /// Titles.
        titles: Vec<String>,
    },
    /// A frame has another status.
    Frame {
        /// The frame.
        frame: FrameId,
        /// Its title.
        title: String,
        /// Its status.
        status: Status,
        /// True if it is completed without recorded evidence.
        is_claimed: bool,
    },
    /// A session was quiet for a while. It is not stopped.
    Quiet {
        /// The frame.
        frame: FrameId,
        /// Time without progress, in seconds.
        seconds: u64,
    },
    /// A permission or question is answered or waits for the user.
    Asked {
        /// The frame, if it is one of this run.
        frame: Option<FrameId>,
        /// The subject.
        what: String,
        /// The answer; none if the user is asked.
        answer: Option<String>,
    },
    /// A limit is nearly reached.
    Warning {
        /// The frame.
        frame: FrameId,
        /// The limit in words.
        what: String,
    },
    /// A frame or the whole run is parked.
    Parked {
        /// The frame; none for the whole run.
        frame: Option<FrameId>,
        /// Reason.
        reason: String,
        /// Time at which it can continue, in milliseconds, if known.
        until: Option<i64>,
    },
    /// Something that the user should know.
    Note(String),
    /// The run stopped.
    Ended(RunEnding),
}

impl RunEvent {
    /// Returns the event as JSON, for programs.
    pub fn to_json(&self) -> Value {
        let frame = |frame: &FrameId| frame.as_str().to_owned();
        match self {
            Self::Started { run, resumed } => {
                json!({"event": "started", "run": run, "resumed": resumed})
            }
            Self::Server { url } => json!({"event": "server", "url": url}),
            Self::Session { frame: id, session } => {
                json!({"event": "session", "frame": frame(id), "session": session})
            }
            Self::Prompted {
                frame: id,
                title,
                attempt,
                why,
            } => json!({"event": "prompted", "frame": frame(id), "title": title,
                "attempt": attempt, "why": why}),
            Self::Doing {
                frame: id,
                title,
                what,
            } => json!({"event": "doing", "frame": frame(id), "title": title, "what": what}),
            Self::Turned {
                frame: id,
                title,
                verdict,
                is_claimed,
                spent,
            } => json!({"event": "turned", "frame": frame(id), "title": title,
                "verdict": verdict, "claimed": is_claimed, "spent": spending(spent)}),
            Self::Opened { parent, titles } => {
                json!({"event": "opened", "parent": frame(parent), "titles": titles})
            }
            Self::Frame {
                frame: id,
                title,
                status,
                is_claimed,
            } => json!({"event": "frame", "frame": frame(id), "title": title,
                "status": status.as_str(), "claimed": is_claimed}),
            Self::Quiet { frame: id, seconds } => {
                json!({"event": "quiet", "frame": frame(id), "seconds": seconds})
            }
            Self::Asked {
                frame: id,
                what,
                answer,
            } => json!({"event": "asked", "frame": id.as_ref().map(frame), "what": what,
                "answer": answer}),
            Self::Warning { frame: id, what } => {
                json!({"event": "warning", "frame": frame(id), "what": what})
            }
            Self::Parked {
                frame: id,
                reason,
                until,
            } => json!({"event": "parked", "frame": id.as_ref().map(frame), "reason": reason,
                "until": until}),
            Self::Note(text) => json!({"event": "note", "text": text}),
            Self::Ended(ending) => json!({"event": "ended", "ending": ending.as_str()}),
        }
    }
}

fn spending(spent: &Spending) -> Value {
    json!({
        "input": spent.input, "output": spent.output, "cache_read": spent.cache_read,
        "cache_write": spent.cache_write, "cost": spent.cost, "turns": spent.turns,
        "requests": spent.requests,
    })
}

/// A frame of the summary.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameCost {
    /// The frame.
    pub frame: FrameId,
    /// Levels below the goal.
    pub depth: usize,
    /// Title.
    pub title: String,
    /// Status.
    pub status: Status,
    /// True if it is completed without recorded evidence.
    pub is_claimed: bool,
    /// Reason for which it is blocked or parked.
    pub reason: Option<String>,
    /// Number of attempts.
    pub attempts: u32,
    /// Spending of the frame itself.
    pub own: Spending,
    /// Spending of the frame and everything below it.
    pub total: Spending,
    /// True if a turn of it is running.
    pub running: bool,
    /// Name of the tool that it uses now.
    pub doing: Option<String>,
    /// Folder of its worktree, if that holds work that is not merged.
    pub unmerged: Option<String>,
}

/// A turn that goes on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunActivity {
    /// Name of the tool that runs.
    pub doing: Option<String>,
    /// Spending of the turn until now.
    pub spent: Spending,
}

/// The state of a run at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSummary {
    /// Name of the run.
    pub run: String,
    /// Its ending, if it has stopped.
    pub ending: Option<RunEnding>,
    /// Its frames, parents before children, in order.
    pub frames: Vec<FrameCost>,
    /// Time during which it was driven, in milliseconds.
    pub wall_ms: u64,
    /// The limit of the whole run that is reached, if there is one.
    pub limit: Option<BudgetLimit>,
}

impl RunSummary {
    /// Summarises a run.
    pub fn new(state: &RunState, tree: &RunTree) -> Self {
        let mut frames = Vec::new();
        if let Some(root) = state.root {
            collect(state, tree, &root, 0, &mut frames);
        }
        Self {
            run: state.run.clone(),
            ending: state.ending.clone(),
            frames,
            wall_ms: state.wall_ms,
            limit: limit_reached(state),
        }
    }

    /// Adds turns that go on, to their frames and to all above them.
    #[must_use]
    pub fn with_activity(mut self, activity: &BTreeMap<FrameId, RunActivity>) -> Self {
        for place in 0..self.frames.len() {
            let frame = self.frames.get(place);
            let Some(now) = frame.and_then(|one| activity.get(&one.frame)) else {
                continue;
            };
            // Parents come before children: the nearest one with a smaller depth is the parent.
            let mut below = usize::MAX;
            for one in self.frames.iter_mut().take(place + 1).rev() {
                if one.depth >= below {
                    continue;
                }
                if below == usize::MAX {
                    one.own.add(&now.spent);
                    one.doing.clone_from(&now.doing);
                }
                one.total.add(&now.spent);
                below = one.depth;
            }
        }
        self
    }

    /// Finds the frames that are completed without recorded evidence.
    pub fn check_evidence<E>(
        &mut self,
        read: impl Fn(&FrameId) -> Result<Option<FrameStanding>, E>,
    ) -> Result<(), E> {
        for one in &mut self.frames {
            if one.status == Status::Completed {
                let standing = read(&one.frame)?;
                one.is_claimed = standing.is_some_and(|standing| standing.is_claimed);
            }
        }
        Ok(())
    }

    /// Returns the spending of the whole run.
    pub fn total(&self) -> Spending {
        self.frames
            .first()
            .map_or_else(Spending::default, |root| root.total)
    }

    /// Returns the summary as JSON.
    pub fn to_json(&self) -> Value {
        let frames: Vec<Value> = self
            .frames
            .iter()
            .map(|one| {
                json!({
                    "frame": one.frame.as_str(), "depth": one.depth, "title": one.title,
                    "status": one.status.as_str(), "claimed": one.is_claimed,
                    "reason": one.reason,
                    "attempts": one.attempts, "unmerged": one.unmerged,
                    "self": spending(&one.own),
                    "total": spending(&one.total),
                })
            })
            .collect();
        json!({
            "event": "summary", "run": self.run,
            "ending": self.ending.as_ref().map(RunEnding::as_str),
            "wall_ms": self.wall_ms, "frames": frames,
        })
    }
}

fn collect(
    state: &RunState,
    tree: &RunTree,
    id: &FrameId,
    depth: usize,
    into: &mut Vec<FrameCost>,
) {
    let Some(head) = tree.get(id) else { return };
    let run = state.frame(id).cloned().unwrap_or_default();
    let is_unmerged = run.is_unmerged();
    let blocked = head.blocked_on.as_ref();
    let blocked = blocked.map(|text| text.as_str().to_owned());
    into.push(FrameCost {
        frame: *id,
        depth,
        title: head.title.as_str().to_owned(),
        status: head.status,
        is_claimed: false,
        reason: blocked
            .or_else(|| run.parked.as_ref().map(|(reason, _)| reason.clone()))
            .or_else(|| left_because(state, tree, id)),
        attempts: run.attempt,
        own: run.spent,
        total: subtree(state, tree, id),
        running: run.turn.is_some(),
        doing: None,
        unmerged: run
            .worktree
            .filter(|_| is_unmerged)
            .map(|(folder, _)| folder),
    });
    for child in tree.children(id) {
        collect(state, tree, child, depth + 1, into);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_running_turn_counts_for_its_frame_and_all_above_it() {
        let frame = |number: u64, depth: usize| FrameCost {
            frame: FrameId::from_entropy(number),
            depth,
            title: String::new(),
            status: Status::InProgress,
            is_claimed: false,
            reason: None,
            attempts: 1,
            own: Spending::default(),
            total: Spending::default(),
            running: false,
            doing: None,
            unmerged: None,
        };
        let summary = RunSummary {
            run: String::new(),
            ending: None,
            frames: vec![frame(1, 0), frame(2, 1), frame(3, 1), frame(4, 2)],
            wall_ms: 0,
            limit: None,
        };
        let spent = Spending {
            input: 7,
            ..Spending::default()
        };
        let doing = Some("bash".to_owned());
        let activity = BTreeMap::from([(FrameId::from_entropy(4), RunActivity { doing, spent })]);
        let summary = summary.with_activity(&activity);
        let figures: Vec<(u64, u64)> = summary
            .frames
            .iter()
            .map(|one| (one.own.input, one.total.input))
            .collect();
        assert_eq!(figures, [(0, 7), (0, 0), (0, 7), (7, 7)]);
        assert_eq!(summary.frames[3].doing.as_deref(), Some("bash"));
    }
}
