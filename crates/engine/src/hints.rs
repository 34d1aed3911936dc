//! Hints: what to do about a refusal, as a command line or a tool call.
//!
//! Core refuses in the words of the domain; the fronts add the call that would work. The CLI and the
//! tools share these hints, so that both name calls that exist. A hint for a model names a tool; it
//! names a command line only for what no tool does, as something to ask the user for.

use flamestack_core::text::TextProblem;
use flamestack_core::{FrameHead, FrameId, Refusal, Status};

/// Front that a hint is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voice {
    /// The user at a terminal: `flame …`.
    Cli,
    /// The model, which calls tools: `stack_…`.
    Tool,
}

impl Voice {
    /// Returns the words for this front.
    pub(crate) fn pick(self, cli: &str, tool: &str) -> String {
        match self {
            Self::Cli => cli.to_owned(),
            Self::Tool => tool.to_owned(),
        }
    }
}

/// Returns what to do instead of a refused command.
#[expect(clippy::too_many_lines, reason = "one arm per refusal")]
pub fn refusal_hint(refusal: &Refusal, voice: Voice) -> Option<String> {
    let hint = match refusal {
        Refusal::IdTaken(_) | Refusal::BadImport(_) => return None,
        Refusal::BadText { problem, .. } => text_hint(problem, voice).to_owned(),
        Refusal::NotACommit(_) => "give its hash, or in a repository HEAD, a branch or a tag".to_owned(),
        Refusal::OnlyTheUser => voice.pick(
            "record it as a decision (`flame note decision TEXT`), or ask the user to say it or to run this in a terminal",
            "record it as a decision with stack_add_decision, or ask the user to say it",
        ),
        Refusal::NoSuchFrame(_) => voice.pick(
            "`flame tree` lists the frames",
            "stack_tree lists the frames",
        ),
        Refusal::NoSuchSession(_) => voice.pick(
            "`flame session list --all` lists the sessions",
            "stack_session_status lists the sessions",
        ),
        Refusal::SessionLoop { .. } => "link it to a session that is not below it".to_owned(),
        Refusal::NoActiveFrame(_) => voice.pick(
            "name a frame, start one with `flame push TITLE`, or switch to one with `flame activate ID`",
            "name a frame, start one with stack_frame_push, or switch to one with stack_frame_activate",
        ),
        Refusal::ParentFinished { open_above, .. } => match (voice, open_above) {
            (Voice::Cli, Some(above)) => {
                format!("name {above} above it instead, which is in progress")
            }
            (Voice::Cli, None) => "use `--root` to start a new tree".to_owned(),
            (Voice::Tool, Some(above)) => {
                format!("{above} above it is in progress: call stack_frame_activate with it first")
            }
            (Voice::Tool, None) => "call stack_frame_push to start a new tree".to_owned(),
        },
        Refusal::ParentPlanned(frame) | Refusal::NotBegun(frame) => {
            format!(
                "start it with {}, or abandon it with {}",
                call(voice, "activate", &frame.id),
                call(voice, "invalidate", &frame.id)
            )
        }
        Refusal::Blocked(frame) | Refusal::AlreadyBlocked(frame) => {
            format!(
                "once it is no longer blocked, resume it with {}",
                call(voice, "activate", &frame.id)
            )
        }
        Refusal::NotBlocked(frame) => match frame.status {
            Status::Planned | Status::InProgress => {
                format!("switch to it with {}", call(voice, "activate", &frame.id))
            }
            _ => redo(voice),
        },
        Refusal::ChildrenOpen { children, .. } => match children.first() {
            Some(child) => {
                let go_on = match child.status {
                    Status::Planned => {
                        format!("start it with {}", call(voice, "activate", &child.id))
                    }
                    Status::Blocked => {
                        format!("resume it with {}", call(voice, "activate", &child.id))
                    }
                    _ => format!("finish it with {}", call(voice, "pop", &child.id)),
                };
                format!(
                    "{go_on}, or abandon it with {}",
                    call(voice, "invalidate", &child.id)
                )
            }
            None => return None,
        },
        Refusal::AlreadyFinished(_) | Refusal::GoalFrozen(_) => redo(voice),
        Refusal::NoResultsYet(frame) => {
            format!(
                "results are given when it ends: {}",
                call(voice, "pop", &frame.id)
            )
        }
        Refusal::CannotInvalidateFinished(frame) => match voice {
            Voice::Cli => format!(
                "correct its results with `flame edit {} --results TEXT`, or {}",
                frame.id,
                redo(voice)
            ),
            Voice::Tool => redo(voice),
        },
        Refusal::NothingToEdit => voice.pick(
            "give what changes: `--title`, `--criteria`, `--criteria-compacted`, `--results` or \
             `--results-compacted`",
            "give what changes: the title, the criteria or the results",
        ),
        Refusal::PlanTooDeep => "plan the deeper levels afterwards, below its deepest frame".to_owned(),
        Refusal::EmptyPlan => "give at least one title".to_owned(),
        Refusal::NotPlanned(frame) => undeletable(frame, voice),
        Refusal::NotMovable(_) => "plan new work in the other place instead".to_owned(),
        Refusal::Cycle { .. } => "choose a place outside of it".to_owned(),
        Refusal::MoveNextToSelf(_) => "choose another frame".to_owned(),
        Refusal::NoRankLeft(_) => "move one of its siblings elsewhere and back to make room".to_owned(),
        Refusal::SessionBound { session, .. } | Refusal::FrameBound { session, .. } => {
            match voice {
                Voice::Cli => format!("unbind it first: `flame unbind {session}`"),
                Voice::Tool => "choose another frame or session".to_owned(),
            }
        }
        Refusal::NotBound(session) => match voice {
            Voice::Cli => format!("`flame bind ID {session}` binds it to a frame"),
            Voice::Tool => "stack_frame_activate starts work on a frame".to_owned(),
        },
        Refusal::PopWithPush => "call one now and the other in the next message".to_owned(),
        Refusal::NothingToUndo(_) => voice.pick(
            "undo reverses only what this session did; `--session` undoes for another one",
            "undo reverses only what this session did",
        ),
        Refusal::BuiltUpon { .. } | Refusal::ParentEnded { .. } => voice.pick(
            "change the current state instead: `flame log ID` shows what happened",
            "change the current state instead: stack_frame_details shows it",
        ),
    };
    Some(hint)
}

/// Returns what to do about a frame that cannot be deleted any more.
fn undeletable(frame: &FrameHead, voice: Voice) -> String {
    match frame.status {
        Status::InProgress | Status::Blocked => {
            format!("abandon it with {}", call(voice, "invalidate", &frame.id))
        }
        _ => "finished work stays as a record of what was done".to_owned(),
    }
}

/// Returns what to do about a text that is not accepted.
fn text_hint(problem: &TextProblem, voice: Voice) -> &'static str {
    match (problem, voice) {
        (TextProblem::Empty, _) => "say it in a few words",
        (TextProblem::TitleTooLong(_), _) => "put the detail into the success criteria",
        (TextProblem::ProseTooLong(_), Voice::Cli) => {
            "keep the long text in the frame's log: `flame note log FILE`"
        }
        (TextProblem::ProseTooLong(_), Voice::Tool) => {
            "say it shorter, and name the file that holds the rest"
        }
        (TextProblem::Nul(_), _) => "remove it",
    }
}

fn redo(voice: Voice) -> String {
    voice.pick(
        "push a new frame to do it again",
        "call stack_frame_push to do it again",
    )
}

/// Formats a call of a verb.
fn call(voice: Voice, verb: &str, id: &FrameId) -> String {
    match (voice, verb) {
        (Voice::Cli, "pop") => format!("`flame pop --frame {id} RESULTS`"),
        (Voice::Cli, "invalidate") => format!("`flame invalidate {id} --reason WHY`"),
        (Voice::Cli, _) => format!("`flame {verb} {id}`"),
        (Voice::Tool, _) => format!("stack_frame_{verb} ({id})"),
    }
}

#[cfg(test)]
mod tests {
    use flamestack_core::frame::{Origin, Rank};
    use flamestack_core::id::SessionRef;
    use flamestack_core::text::{Text, Title};

    use super::*;

    fn frame(status: Status) -> FrameHead {
        FrameHead {
            id: "abcdefgh".parse().unwrap(),
            parent: None,
            rank: Rank::default(),
            status,
            origin: Origin::Asked,
            title: Title::recorded("Fix".to_owned()),
            blocked_on: Some(Text::recorded("keys".to_owned())),
            session: None,
            is_started: true,
        }
    }

    fn session() -> SessionRef {
        "opencode:ses_1".parse().unwrap()
    }

    fn planned() -> FrameHead {
        frame(Status::Planned)
    }

    fn done() -> FrameHead {
        frame(Status::Completed)
    }

    fn check<const N: usize>(cases: [(Refusal, &str); N]) {
        for (refusal, hint) in cases {
            assert_eq!(refusal_hint(&refusal, Voice::Cli).as_deref(), Some(hint));
        }
    }

    #[test]
    fn hints_about_the_tree_name_a_call_that_works() {
        let above = Some("bcdefghj".parse().unwrap());
        let parent = done();
        check([
            (
                Refusal::ParentFinished {
                    parent: parent.clone(),
                    open_above: above,
                },
                "name bcdefghj above it instead, which is in progress",
            ),
            (
                Refusal::ParentFinished {
                    parent,
                    open_above: None,
                },
                "use `--root` to start a new tree",
            ),
            (
                Refusal::ParentPlanned(planned()),
                "start it with `flame activate abcdefgh`, or abandon it with `flame invalidate abcdefgh --reason WHY`",
            ),
            (
                Refusal::NotBegun(planned()),
                "start it with `flame activate abcdefgh`, or abandon it with `flame invalidate abcdefgh --reason WHY`",
            ),
            (
                Refusal::Blocked(frame(Status::Blocked)),
                "once it is no longer blocked, resume it with `flame activate abcdefgh`",
            ),
            (
                Refusal::AlreadyBlocked(frame(Status::Blocked)),
                "once it is no longer blocked, resume it with `flame activate abcdefgh`",
            ),
            (
                Refusal::ChildrenOpen {
                    frame: done(),
                    children: vec![frame(Status::InProgress)],
                    total: 1,
                },
                "finish it with `flame pop --frame abcdefgh RESULTS`, or abandon it with `flame invalidate abcdefgh --reason WHY`",
            ),
            (
                Refusal::AlreadyFinished(done()),
                "push a new frame to do it again",
            ),
            (
                Refusal::GoalFrozen(done()),
                "push a new frame to do it again",
            ),
            (
                Refusal::NoActiveFrame(session()),
                "name a frame, start one with `flame push TITLE`, or switch to one with `flame activate ID`",
            ),
        ]);
    }

    /// Declares one example of each refusal, in a match that the compiler keeps complete.
    macro_rules! examples {
        ($($pattern:pat => $example:expr,)+) => {
            fn examples() -> Vec<Refusal> {
                vec![$($example),+]
            }

            #[expect(dead_code, reason = "fails to compile if a refusal has no example")]
            fn has_example(refusal: &Refusal) {
                match refusal { $($pattern)|+ => {} }
            }
        };
    }

    examples! {
        Refusal::BadText { .. } => Refusal::BadText {
            field: "the title",
            problem: TextProblem::ProseTooLong(9),
        },
        Refusal::NotACommit(_) => Refusal::NotACommit("x".to_owned()),
        Refusal::OnlyTheUser => Refusal::OnlyTheUser,
        Refusal::NoSuchFrame(_) => Refusal::NoSuchFrame(done().id),
        Refusal::NoActiveFrame(_) => Refusal::NoActiveFrame(session()),
        Refusal::IdTaken(_) => Refusal::IdTaken(done().id),
        Refusal::ParentFinished { .. } => Refusal::ParentFinished { parent: done(), open_above: None },
        Refusal::ParentPlanned(_) => Refusal::ParentPlanned(planned()),
        Refusal::Blocked(_) => Refusal::Blocked(frame(Status::Blocked)),
        Refusal::AlreadyBlocked(_) => Refusal::AlreadyBlocked(frame(Status::Blocked)),
        Refusal::NotBlocked(_) => Refusal::NotBlocked(planned()),
        Refusal::NotBegun(_) => Refusal::NotBegun(planned()),
        Refusal::AlreadyFinished(_) => Refusal::AlreadyFinished(done()),
        Refusal::ChildrenOpen { .. } => Refusal::ChildrenOpen {
            frame: frame(Status::InProgress),
            children: vec![planned()],
            total: 1,
        },
        Refusal::GoalFrozen(_) => Refusal::GoalFrozen(done()),
        Refusal::NoResultsYet(_) => Refusal::NoResultsYet(planned()),
        Refusal::CannotInvalidateFinished(_) => Refusal::CannotInvalidateFinished(done()),
        Refusal::NothingToEdit => Refusal::NothingToEdit,
        Refusal::EmptyPlan => Refusal::EmptyPlan,
        Refusal::PlanTooDeep => Refusal::PlanTooDeep,
        Refusal::NotPlanned(_) => Refusal::NotPlanned(frame(Status::InProgress)),
        Refusal::NotMovable(_) => Refusal::NotMovable(done()),
        Refusal::Cycle { .. } => Refusal::Cycle { frame: planned(), into: planned() },
        Refusal::MoveNextToSelf(_) => Refusal::MoveNextToSelf(planned()),
        Refusal::NoRankLeft(_) => Refusal::NoRankLeft(planned()),
        Refusal::SessionBound { .. } => Refusal::SessionBound { session: session(), frame: planned() },
        Refusal::FrameBound { .. } => Refusal::FrameBound { session: session(), frame: planned() },
        Refusal::NotBound(_) => Refusal::NotBound(session()),
        Refusal::NoSuchSession(_) => Refusal::NoSuchSession(session()),
        Refusal::SessionLoop { .. } => Refusal::SessionLoop { session: session(), to: session() },
        Refusal::NothingToUndo(_) => Refusal::NothingToUndo(session()),
        Refusal::BuiltUpon { .. } => Refusal::BuiltUpon { session: session(), by: session() },
        Refusal::ParentEnded { .. } => Refusal::ParentEnded {
            session: session(),
            frame: planned(),
        },
        Refusal::PopWithPush => Refusal::PopWithPush,
        Refusal::BadImport(_) => Refusal::BadImport("x".to_owned()),
    }

    #[test]
    fn models_are_given_no_command_lines() {
        for refusal in examples() {
            let hint = refusal_hint(&refusal, Voice::Tool).unwrap_or_default();
            assert!(
                !hint.contains("flame ") && !hint.contains("`--"),
                "{refusal:?}: {hint}"
            );
        }
    }

    #[test]
    fn models_are_given_tools_for_blocked_work() {
        let blocked = || frame(Status::Blocked);
        let refusals = [
            Refusal::Blocked(blocked()),
            Refusal::AlreadyBlocked(blocked()),
            Refusal::ChildrenOpen {
                frame: frame(Status::InProgress),
                children: vec![blocked()],
                total: 1,
            },
        ];
        for refusal in refusals {
            let hint = refusal_hint(&refusal, Voice::Tool).unwrap();
            assert!(hint.contains("stack_frame_activate (abcdefgh)"), "{hint}");
            assert!(!hint.contains("flame "), "{hint}");
        }
    }

    #[test]
    fn hints_about_sessions_and_edits_name_a_call_that_works() {
        check([
            (
                Refusal::CannotInvalidateFinished(done()),
                "correct its results with `flame edit abcdefgh --results TEXT`, or push a new frame to do it again",
            ),
            (
                Refusal::Cycle {
                    frame: planned(),
                    into: planned(),
                },
                "choose a place outside of it",
            ),
            (
                Refusal::NotPlanned(frame(Status::InProgress)),
                "abandon it with `flame invalidate abcdefgh --reason WHY`",
            ),
            (
                Refusal::SessionBound {
                    session: session(),
                    frame: planned(),
                },
                "unbind it first: `flame unbind opencode:ses_1`",
            ),
            (
                Refusal::FrameBound {
                    session: session(),
                    frame: planned(),
                },
                "unbind it first: `flame unbind opencode:ses_1`",
            ),
            (
                Refusal::NotBound(session()),
                "`flame bind ID opencode:ses_1` binds it to a frame",
            ),
            (Refusal::EmptyPlan, "give at least one title"),
            (
                Refusal::BuiltUpon {
                    session: session(),
                    by: session(),
                },
                "change the current state instead: `flame log ID` shows what happened",
            ),
            (
                Refusal::ParentEnded {
                    session: session(),
                    frame: planned(),
                },
                "change the current state instead: `flame log ID` shows what happened",
            ),
            (
                Refusal::NothingToUndo(session()),
                "undo reverses only what this session did; `--session` undoes for another one",
            ),
            (
                Refusal::PopWithPush,
                "call one now and the other in the next message",
            ),
        ]);
    }
}
