//! Small ways to make frames and trees for tests.

use crate::Surroundings;
use crate::reference::in_tree;
use flamestack_core::Author;
use flamestack_core::event::{Event, Recorded};
use flamestack_core::frame::{Frame, Rank, Span, Status};
use flamestack_core::id::{FrameId, Seq, SessionRef, Timestamp};
use flamestack_core::note::Directive;
use flamestack_core::note::{Evidence, Note};
use flamestack_core::text::Text;
use flamestack_extract::tokens::{Seam, Tokenizer};
use flamestack_testkit::Tree;
pub(super) use flamestack_testkit::frame;

/// The real tokenizer, so that the budget is tested as it is used.
pub(super) struct O200k;

impl Tokenizer for O200k {
    fn name(&self) -> &'static str {
        "o200k"
    }

    fn count(&self, text: &str) -> usize {
        tiktoken::get_encoding("o200k_base").unwrap().count(text)
    }

    fn seam(&self) -> Seam {
        Seam::Exact
    }
}

pub(super) fn prose(text: &str) -> Text {
    Text::new(text).unwrap()
}

/// The conversation that tests look from.
pub(super) fn us() -> SessionRef {
    "opencode:ses_us".parse().unwrap()
}

pub(super) fn recorded(seq: i64, session: &SessionRef, event: Event) -> Recorded {
    Recorded {
        seq: Seq(seq),
        batch: Seq(seq),
        at: Timestamp(0),
        session: session.clone(),
        message: None,
        by: Author::of(session),
        event,
    }
}

/// A tree drawn by indentation, and the frame marked with `*`:
///
/// ```text
/// doing Shop
///   criteria = Orders can be paid
///   done Database
///     results = Schema in db/schema.sql
///   * Checkout
///     planned Receipts
/// ```
///
/// Lines with `=` say something about the frame above them. Events come in the order of lines.
pub(super) fn drawn(drawing: &str) -> (Tree, FrameId) {
    let mut frames: Vec<(usize, Frame)> = Vec::new();
    let mut current = None;
    for line in drawing.lines().filter(|line| !line.trim().is_empty()) {
        let depth = line.len() - line.trim_start().len();
        if let Some((key, value)) = line.trim().split_once(" = ") {
            describe(&mut frames.last_mut().unwrap().1, key, value);
            continue;
        }
        let (status, title) = line.trim().split_once(' ').unwrap();
        let above = frames.iter().rev().find(|(other, _)| *other < depth);
        let mut new = frame(title);
        new.parent = above.map(|(_, frame)| frame.id);
        new.rank = Rank(i64::try_from(frames.len()).unwrap());
        new.status = match status {
            "*" | "doing" => Status::InProgress,
            "done" => Status::Completed,
            other => Status::from_name(other).unwrap(),
        };
        if status == "*" {
            current = Some(new.id);
        }
        frames.push((depth, new));
    }
    let imported = frames.into_iter().zip(1..).map(|((_, frame), seq)| {
        recorded(
            seq,
            &us(),
            Event::FrameImported {
                frame: Box::new(frame),
            },
        )
    });
    (Tree::fold(imported), current.unwrap())
}

fn describe(frame: &mut Frame, key: &str, value: &str) {
    let value = prose(value);
    match key {
        "criteria" => frame.criteria = Some(value),
        "dense criteria" => frame.criteria_compacted = Some(value),
        "results" => frame.results = Some(value),
        "dense results" => frame.results_compacted = Some(value),
        "blocked on" => frame.blocked_on = Some(value),
        "file" => frame.notes.push(Note::Artifact(value)),
        "decided" => frame.notes.push(Note::Decision {
            text: value,
            why: None,
            by: Author::Agent,
        }),
        "tried" => frame.notes.push(Note::FailedAttempt {
            text: value,
            why: Some(prose("it deadlocks")),
        }),
        "ran" => frame.notes.push(Note::Evidence(Evidence::Command {
            command: value,
            exit_code: 0,
        })),
        "by" => {
            frame.span = Some(Span {
                session: SessionRef::shell(value.as_str()),
                first: None,
                last: None,
            });
        }
        other => panic!("what is {other}?"),
    }
}

/// The surroundings of the frame marked in a drawing.
pub(super) fn around(drawing: &str) -> Surroundings {
    let (tree, current) = drawn(drawing);
    let mut around = in_tree(&tree, &current).unwrap();
    around.session = Some(us());
    around
}

pub(super) fn directive(text: &str, said: i64) -> Directive {
    Directive {
        text: prose(text),
        said: Seq(said),
        session: us(),
        frame: FrameId::from_entropy(1),
        by: Author::Agent,
    }
}
