//! Rulings: the consequences of a turn that ended, as commands on the frames and a verdict.
//!
//! A ruling is a pure function of the journals, and each of its commands can be repeated: after a crash
//! the same ruling is made again, and commands that were executed before change nothing.

use flamestack_core::command::{PlanItem, Under};
use flamestack_core::event::{Goal, Results};
use flamestack_core::text::{condense, shortened};
use flamestack_core::{Command, FrameHead, FrameId, Note, Outcome, Status, Text, Title};

use crate::host::{TurnFault, TurnFinish};
use crate::next::{Verdict, limits_of, startable};
use crate::prompt::PromptKind;
use crate::record::TurnReport;
use crate::signal::FrameSignal;
use crate::stack::RunTree;
use crate::state::{FrameRun, RunState};

/// Maximum length of a title, in characters.
const TITLE: usize = 180;
/// Maximum length of a text, in bytes.
const TEXT: usize = 60_000;
/// Number of times that a session may continue after its message was cut off.
const MAX_CONTINUATIONS: u32 = 3;
/// Maximum number of artifacts recorded for one turn.
const ARTIFACTS: usize = 200;

/// Consequences of a turn.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ruling {
    /// Changes of frames, in order.
    pub(crate) writes: Vec<ConditionalCommand>,
    /// Consequence for the frame itself.
    pub(crate) verdict: Verdict,
}

/// A change of frames.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ConditionalCommand {
    /// Open this frame, unless it exists.
    Open(FrameId, Command),
    /// Execute this while the frame is open.
    WhileOpen(FrameId, Command),
    /// Execute this while the frame is blocked.
    WhileBlocked(FrameId, Command),
}

/// Rules on the turn of a frame that ended.
pub(crate) fn rule(
    state: &RunState,
    tree: &RunTree,
    frame: &FrameId,
    report: &TurnReport,
) -> Ruling {
    let run = state.frame(frame).cloned().unwrap_or_default();
    let context = RulingContext {
        state,
        tree,
        id: *frame,
        run: &run,
        report,
    };
    context.rule()
}

struct RulingContext<'a> {
    state: &'a RunState,
    tree: &'a RunTree,
    id: FrameId,
    run: &'a FrameRun,
    report: &'a TurnReport,
}

impl RulingContext<'_> {
    fn rule(&self) -> Ruling {
        let is_open = self.tree.status(&self.id).is_some_and(Status::is_open);
        if !is_open {
            // It was closed while its turn was running, or by this very ruling before a crash.
            let status = self.tree.status(&self.id);
            let verdict = match status {
                Some(status @ (Status::Completed | Status::Failed)) => Verdict::Closed {
                    status: status.as_str().to_owned(),
                    inferred: false,
                },
                _ => Verdict::Stopped,
            };
            return Ruling {
                writes: Vec::new(),
                verdict,
            };
        }
        match &self.report.finish {
            TurnFinish::Stopped => self.stopped(),
            TurnFinish::Failed {
                fault: TurnFault::Limit | TurnFault::Credentials,
                message,
                until,
            } => Ruling {
                writes: self.artifacts(),
                verdict: Verdict::Limited {
                    reason: message.clone(),
                    until: *until,
                },
            },
            TurnFinish::Failed { message, .. } => self.failed(message),
            TurnFinish::Cut { go_on: true } => Ruling {
                writes: self.artifacts(),
                verdict: Verdict::Again {
                    why: PromptKind::Interrupted,
                    remarks: Vec::new(),
                },
            },
            TurnFinish::Cut { go_on: false } => self
                .blocked("interrupted by a crash: the effects of its last tool calls are unknown"),
            TurnFinish::Length if self.run.reminders < MAX_CONTINUATIONS => Ruling {
                writes: self.artifacts(),
                verdict: Verdict::Again {
                    why: PromptKind::CutOff,
                    remarks: Vec::new(),
                },
            },
            TurnFinish::Length => self.failed("its messages were cut off again and again"),
            TurnFinish::Stop if self.report.signals.is_empty() => self.unsignalled(),
            TurnFinish::Stop => self.signalled(),
        }
    }

    fn stopped(&self) -> Ruling {
        let asked = self.run.turn.as_ref().is_some_and(|turn| turn.stopped);
        if asked || !self.tree.is_wanted(&self.id) {
            return Ruling {
                writes: self.artifacts(),
                verdict: Verdict::Stopped,
            };
        }
        // After an interruption nothing happens on its own until the user says so.
        self.blocked("stopped by the user in its session")
    }

    /// The attempt failed: there is another one, or the frame fails.
    fn failed(&self, lesson: &str) -> Ruling {
        let setup = self.state.setup(&self.id);
        let retries = setup.retries.unwrap_or(self.state.options.retries);
        let lesson = shortened(lesson.trim(), 2_000).into_owned();
        let mut writes = self.artifacts();
        if self.run.attempt <= retries && self.tree.open_children(&self.id).next().is_none() {
            let attempt = format!("Attempt {} did not work", self.run.attempt);
            writes.push(self.own(Command::Note {
                frame: Some(self.id),
                note: Note::FailedAttempt {
                    text: text(&attempt),
                    why: Text::new(&lesson).ok(),
                },
            }));
            return Ruling {
                writes,
                verdict: Verdict::Retry { lesson },
            };
        }
        self.close(writes, Outcome::Failed, &lesson, false)
    }

    fn blocked(&self, reason: &str) -> Ruling {
        let mut writes = self.artifacts();
        writes.push(self.own(Command::Block {
            frame: Some(self.id),
            reason: text(reason),
        }));
        Ruling {
            writes,
            verdict: Verdict::Blocked {
                reason: reason.to_owned(),
            },
        }
    }

    /// Closes the frame. Children that are blocked, or planned below a failed frame, end with it.
    fn close(
        &self,
        mut writes: Vec<ConditionalCommand>,
        outcome: Outcome,
        results: &str,
        inferred: bool,
    ) -> Ruling {
        for child in self.tree.open_children(&self.id) {
            if outcome == Outcome::Blocked {
                break;
            }
            let reason = text("its parent ended without it");
            let given_up = Command::Invalidate {
                frame: Some(child.id),
                reason,
            };
            writes.push(ConditionalCommand::WhileOpen(child.id, given_up));
        }
        let status = outcome.status();
        writes.push(self.own(Command::Pop {
            frame: Some(self.id),
            outcome,
            results: Results {
                full: text(results),
                compacted: None,
            },
        }));
        let verdict = if outcome == Outcome::Blocked {
            Verdict::Blocked {
                reason: shortened(results, 2_000).into_owned(),
            }
        } else {
            Verdict::Closed {
                status: status.as_str().to_owned(),
                inferred,
            }
        };
        Ruling { writes, verdict }
    }

    /// The session ended its turn without a signal.
    fn unsignalled(&self) -> Ruling {
        let open: Vec<&FrameHead> = self.tree.open_children(&self.id).collect();
        let waits = || Ruling {
            writes: self.artifacts(),
            verdict: Verdict::Waits {
                started: Vec::new(),
                remarks: Vec::new(),
            },
        };
        if self.can_start(&[]) {
            return waits();
        }
        let remind = || Ruling {
            writes: self.artifacts(),
            verdict: Verdict::Again {
                why: PromptKind::Remind,
                remarks: Vec::new(),
            },
        };
        if let Some(child) = open.first() {
            if self.run.reminders == 0 {
                return remind();
            }
            let title = child.title.as_str();
            return self.blocked(&format!("`{title}` below it is {}", child.status));
        }
        let said = self.report.text.trim();
        if said.is_empty() {
            return self.failed("the turn ended without a result");
        }
        if self.run.reminders < self.state.options.reminders {
            return remind();
        }
        self.close(self.artifacts(), Outcome::Completed, said, true)
    }

    fn signalled(&self) -> Ruling {
        let mut writes = self.artifacts();
        let mut remarks = Vec::new();
        let mut started = Vec::new();
        let mut given_up = Vec::new();
        for signal in &self.report.signals {
            match signal {
                FrameSignal::Push {
                    id,
                    title,
                    criteria,
                } => self.push(
                    (id, title, criteria.as_deref()),
                    &mut writes,
                    &mut started,
                    &mut remarks,
                ),
                FrameSignal::Activate { frame } => {
                    self.activate(frame, &mut writes, &mut started, &mut remarks);
                }
                FrameSignal::Invalidate { frame, reason } => {
                    match self.tree.child_named(&self.id, frame) {
                        Some(child) => {
                            let command = Command::Invalidate {
                                frame: Some(child.id),
                                reason: text(reason),
                            };
                            given_up.push(child.id);
                            writes.push(ConditionalCommand::WhileOpen(child.id, command));
                        }
                        None => remarks.push(unknown(frame)),
                    }
                }
                FrameSignal::Pop { .. } => {}
            }
        }
        let mut signals = self.report.signals.iter().rev();
        let pop = signals.find_map(|signal| match signal {
            FrameSignal::Pop { results, .. } => Some((signal.outcome()?, results)),
            _ => None,
        });
        let Some((outcome, results)) = pop else {
            let waits = !started.is_empty() || self.can_start(&given_up);
            return self.unfinished(writes, started, remarks, waits);
        };
        if !started.is_empty() {
            remarks.push("a frame that has just opened others cannot end in the same turn".into());
            return Ruling {
                writes,
                verdict: Verdict::Waits { started, remarks },
            };
        }
        let left: Vec<&str> = self
            .tree
            .open_children(&self.id)
            .filter(|child| !given_up.contains(&child.id))
            .filter(|child| matches!(child.status, Status::Planned | Status::InProgress))
            .map(|child| child.title.as_str())
            .collect();
        if outcome == Outcome::Completed && !left.is_empty() {
            remarks.push(format!(
                "the frame did not end, because frames below it are open: {}",
                left.join(", ")
            ));
            let waits = self.can_start(&given_up);
            return self.unfinished(writes, started, remarks, waits);
        }
        if outcome == Outcome::Failed {
            return self.failed(results);
        }
        self.close(writes, outcome, results, false)
    }

    /// Returns true if a frame below can be worked on, besides those that were given up.
    fn can_start(&self, given_up: &[FrameId]) -> bool {
        let startable = startable(self.state, self.tree, &self.id);
        startable.iter().any(|child| !given_up.contains(child))
    }

    /// The session said something, but not that it is finished.
    fn unfinished(
        &self,
        writes: Vec<ConditionalCommand>,
        started: Vec<FrameId>,
        remarks: Vec<String>,
        waits: bool,
    ) -> Ruling {
        if waits {
            return Ruling {
                writes,
                verdict: Verdict::Waits { started, remarks },
            };
        }
        if self.run.reminders < MAX_CONTINUATIONS {
            return Ruling {
                writes,
                verdict: Verdict::Again {
                    why: PromptKind::Remind,
                    remarks,
                },
            };
        }
        self.failed("its requests could not be carried out, and it did not finish")
    }

    fn push(
        &self,
        (id, title, criteria): (&FrameId, &str, Option<&str>),
        writes: &mut Vec<ConditionalCommand>,
        started: &mut Vec<FrameId>,
        remarks: &mut Vec<String>,
    ) {
        let known = self.tree.child_named(&self.id, title);
        // After a crash the frame that this very signal opened is there.
        if let Some(known) = known.filter(|known| known.id != *id && known.status.is_open()) {
            self.activate(known.id.as_str(), writes, started, remarks);
            return;
        }
        if let Some(refusal) = self.too_large(writes) {
            remarks.push(format!(
                "`{}` was not opened: {refusal}",
                title_of(title).as_str()
            ));
            return;
        }
        let item = PlanItem {
            id: *id,
            goal: Goal {
                title: title_of(title),
                criteria: criteria.and_then(|text| Text::new(&cut(text)).ok()),
                criteria_compacted: None,
            },
            children: Vec::new(),
        };
        let plan = Command::Plan {
            under: Under::Frame(self.id),
            items: vec![item],
        };
        writes.push(ConditionalCommand::Open(*id, plan));
        started.push(*id);
    }

    /// Returns the reason for which no further frame fits the limits of the frames above.
    fn too_large(&self, writes: &[ConditionalCommand]) -> Option<String> {
        // After a crash some of the frames of this turn are there, and count only once.
        let of_this_turn = |id: &FrameId| {
            let mut signals = self.report.signals.iter();
            signals.any(|signal| matches!(signal, FrameSignal::Push { id: new, .. } if new == id))
        };
        let new = writes
            .iter()
            .filter(|write| matches!(write, ConditionalCommand::Open(..)))
            .count();
        for (levels, above) in self.tree.path(&self.id).iter().enumerate() {
            let limits = limits_of(self.state, above);
            let below = self.tree.below(above);
            let below = below.iter().skip(1).filter(|id| !of_this_turn(id)).count() + new;
            if limits.frames.is_some_and(|most| below as u64 >= most) {
                return Some(format!("the budget of {below} frames is spent"));
            }
            if limits.depth.is_some_and(|most| levels as u64 >= most) {
                return Some("the budget of levels is spent".to_owned());
            }
        }
        None
    }

    fn activate(
        &self,
        name: &str,
        writes: &mut Vec<ConditionalCommand>,
        started: &mut Vec<FrameId>,
        remarks: &mut Vec<String>,
    ) {
        let Some(child) = self.tree.child_named(&self.id, name) else {
            remarks.push(unknown(name));
            return;
        };
        match child.status {
            Status::Blocked => {
                let unblock = Command::Unblock(child.id);
                writes.push(ConditionalCommand::WhileBlocked(child.id, unblock));
                started.push(child.id);
            }
            Status::Planned | Status::InProgress => started.push(child.id),
            status => remarks.push(format!(
                "`{}` is {status}: push another frame instead",
                child.title.as_str()
            )),
        }
    }

    fn own(&self, command: Command) -> ConditionalCommand {
        ConditionalCommand::WhileOpen(self.id, command)
    }

    fn artifacts(&self) -> Vec<ConditionalCommand> {
        let all = self.report.artifacts.iter().take(ARTIFACTS);
        let notes = all.filter_map(|path| Text::new(path).ok());
        notes
            .map(|path| {
                self.own(Command::Note {
                    frame: Some(self.id),
                    note: Note::Artifact(path),
                })
            })
            .collect()
    }
}

fn unknown(name: &str) -> String {
    format!(
        "no frame below this one is called `{}`",
        shortened(name, 200)
    )
}

/// Turns any text into a valid title.
pub(crate) fn title_of(text: &str) -> Title {
    let short = condense(text, TITLE);
    Title::new(text)
        .or_else(|_| Title::new(&short))
        .unwrap_or_else(|_| Title::recorded("Untitled".to_owned()))
}

/// Makes a text of any text that is not empty.
pub(crate) fn text(given: &str) -> Text {
    Text::new(&cut(given)).unwrap_or_else(|_| Text::recorded("(no text)".to_owned()))
}

/// Removes what a text must not have, and its end if it is too long.
fn cut(given: &str) -> String {
    let mut text = given.replace('\0', "");
    if text.len() > TEXT {
        let mut end = TEXT;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
    }
    text
}
