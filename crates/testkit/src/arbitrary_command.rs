//! Arbitrary commands for property tests.

use flamestack_core::Author;
use flamestack_core::Model;
use flamestack_core::command::{Actor, Command, Fork, Place, PlanItem, Under};
use flamestack_core::compaction::{Anchor, AnchorKind};
use flamestack_core::compaction::{
    AnchorReport, Checkpoint, CompactionKind, Summary, SummaryClaims,
};
use flamestack_core::delivery::{Delivery, HeaderReason, Sending};
use flamestack_core::event::Edit;
use flamestack_core::frame::{LogEntry, Outcome};
use flamestack_core::id::{BlobId, FrameId, Timestamp};
use flamestack_core::note::{Evidence, Note, NoteKind};
use flamestack_core::session::Description;
use flamestack_core::text::Title;
use flamestack_core::transcript::{Entry, EntryKind, Speaker, Todo, TodoStatus, Usage};
use proptest::prelude::*;

use crate::{goal, prose, results, shell};

/// A command in the abstract: a session and a request, with frames given by number.
#[derive(Clone, Debug)]
pub struct ArbitraryCommand {
    /// Number of the session, one of three.
    who: u8,
    verb: u8,
    /// Numbers that stand for the frames it is about.
    a: u16,
    b: u16,
    text: u8,
}

/// Sequences of commands between which sessions are reverted and restored again and again.
pub fn rewinding(most: usize) -> impl Strategy<Value = Vec<ArbitraryCommand>> {
    (arbitrary_commands(most), any::<u64>()).prop_map(|(mut commands, bits)| {
        for (place, arbitrary) in commands.iter_mut().enumerate() {
            if (bits >> (place % 64)).trailing_zeros() >= 2 {
                arbitrary.verb = 19;
            } else if arbitrary.verb < 22 && arbitrary.verb > 13 {
                arbitrary.verb = 22 + arbitrary.verb % 8;
            }
        }
        commands
    })
}

/// Sequences of commands.
pub fn arbitrary_commands(most: usize) -> impl Strategy<Value = Vec<ArbitraryCommand>> {
    let arbitrary = (0..3u8, 0..30u8, any::<u16>(), any::<u16>(), any::<u8>()).prop_map(
        |(who, verb, a, b, text)| ArbitraryCommand {
            who,
            verb,
            a,
            b,
            text,
        },
    );
    proptest::collection::vec(arbitrary, 1..most)
}

impl ArbitraryCommand {
    /// The session that issues the command.
    pub fn actor(&self) -> Actor {
        let name = ["main", "feature", "review"]
            .get(usize::from(self.who))
            .unwrap_or(&"main");
        // A host names its messages, with a few calls in each; the shell names none.
        let message = (self.who == 2).then(|| format!("msg_{}", self.text / 64));
        Actor {
            message,
            ..shell(name)
        }
    }

    /// The observed entries, if this is an observation and no command.
    pub fn seen(&self) -> Option<Vec<Entry>> {
        if self.verb < 22 {
            return None;
        }
        let kind = self.entry_kind();
        let named = |n: u16| format!("{}-{}", self.verb, n % 40);
        Some(vec![Entry {
            id: (self.text % 4 != 3).then(|| named(self.a)),
            message: Some(named(self.b)),
            at: None,
            agent: (self.text % 16 == 15).then(|| "agent0".to_owned()),
            kind,
        }])
    }

    fn entry_kind(&self) -> EntryKind {
        let text = format!("text {}", self.text % 5);
        let agent = format!("agent{}", self.b % 3);
        let some = |n: u16, most: u16| (0..most).filter(move |item| n >> item & 1 == 1);
        match self.verb {
            22 | 23 => EntryKind::User {
                speaker: if self.b % 8 == 7 {
                    Speaker::Host
                } else {
                    Speaker::Person
                },
                text,
            },
            24 => EntryKind::Todos(
                some(self.b, 4)
                    .map(|item| Todo {
                        text: format!("item {item}"),
                        status: match self.b >> (4 + 2 * item) & 3 {
                            0 => TodoStatus::Pending,
                            1 => TodoStatus::Active,
                            2 => TodoStatus::Done,
                            _ => TodoStatus::Cancelled,
                        },
                    })
                    .collect(),
            ),
            25 => EntryKind::SubagentStarted {
                id: agent,
                call: None,
                kind: None,
                title: text,
                prompt: String::new(),
            },
            26 => EntryKind::SubagentEnded {
                id: agent,
                ok: !self.a.is_multiple_of(3),
                text,
            },
            27 => EntryKind::Changed { paths: vec![text] },
            28 => match self.a % 5 {
                0 => EntryKind::Interrupted { how: text },
                1 => EntryKind::TurnEnded,
                4 => EntryKind::Waiting {
                    on: self.b.is_multiple_of(2).then_some(text),
                },
                2 => EntryKind::Compacted {
                    automatic: true,
                    summary: Some(text),
                    tokens_before: Some(7),
                },
                _ => EntryKind::Titled { title: text },
            },
            _ => EntryKind::Usage(Usage {
                input: u64::from(self.a),
                output: u64::from(self.b),
                ..Usage::default()
            }),
        }
    }

    /// The command, on frames that have been named before. `fresh` draws ids.
    pub fn command(&self, known: &[FrameId], fresh: &mut dyn FnMut() -> FrameId) -> Command {
        let frame = |n: u16| -> Option<FrameId> {
            let place = usize::from(n).checked_rem(known.len())?;
            known.get(place).copied()
        };
        // Mostly the session's own frame, as in real work.
        let some = |n: u16| {
            if n.is_multiple_of(3) {
                frame(n / 3)
            } else {
                None
            }
        };
        let must = |n: u16| frame(n).unwrap_or_else(|| FrameId::from_entropy(u64::from(n)));
        let under = match self.a % 7 {
            0 => Under::Root,
            1 | 2 => frame(self.b).map_or(Under::Active, Under::Frame),
            _ => Under::Active,
        };
        let text = format!("text {}", self.text % 5);
        match self.verb {
            0..=3 => Command::Push {
                id: fresh(),
                under,
                goal: goal(&text),
            },
            4..=6 => Command::Pop {
                frame: some(self.a),
                outcome: match self.b % 4 {
                    0 => Outcome::Failed,
                    1 => Outcome::Blocked,
                    _ => Outcome::Completed,
                },
                results: results(&text),
            },
            7 => Command::Plan {
                under,
                items: (0..=self.b % 3)
                    .map(|n| PlanItem {
                        id: fresh(),
                        goal: goal(&text),
                        children: (0..n)
                            .map(|_| PlanItem {
                                id: fresh(),
                                goal: goal("below"),
                                children: vec![],
                            })
                            .collect(),
                    })
                    .collect(),
            },
            8 | 9 => Command::Activate(must(self.a)),
            10 => Command::Block {
                frame: some(self.a),
                reason: prose(&text),
            },
            11 => Command::Unblock(must(self.a)),
            12 => Command::Edit {
                frame: some(self.a),
                edit: self.edit(&text),
            },
            13 => Command::Note {
                frame: some(self.a),
                note: self.note(&text),
            },
            14 => Command::Invalidate {
                frame: some(self.a),
                reason: prose(&text),
            },
            15 => Command::Move {
                frame: must(self.a),
                to: match self.text % 4 {
                    0 => Place::Root,
                    1 => Place::Under(must(self.b)),
                    2 => Place::Before(must(self.b)),
                    _ => Place::After(must(self.b)),
                },
            },
            16 => Command::Delete(must(self.a)),
            17 => self.bind(must(self.a)),
            18 => Command::Undo,
            19 => self.host(&text, fresh),
            20 if self.b.is_multiple_of(2) => Command::Describe(Box::new(Description {
                agent: Some(prose(&text)),
                parent: self.a.is_multiple_of(3).then(|| shell("main").session),
                ..Description::default()
            })),
            20 => self.tell(&text, frame(self.a)),
            _ => Command::Log {
                frame: some(self.a),
                entry: self.entry(),
                note: None,
            },
        }
    }

    fn tell(&self, text: &str, frame: Option<FrameId>) -> Command {
        if self.a.is_multiple_of(2) {
            self.send(text, frame)
        } else {
            self.compact(text, frame.filter(|_| !self.a.is_multiple_of(3)))
        }
    }

    fn compact(&self, text: &str, frame: Option<FrameId>) -> Command {
        let anchors = vec![Anchor {
            kind: AnchorKind::Goal,
            text: text.to_owned(),
        }];
        match self.text % 5 {
            0 => Command::Checkpoint(Box::new(Checkpoint {
                kind: CompactionKind::Overflow,
                frame,
                tokens: Some(u64::from(self.b)),
                anchors,
            })),
            1 => Command::Summarise {
                report: Box::new(AnchorReport {
                    summary: Some(prose(&format!("SUMMARY: {text}\nARTIFACTS: a, b"))),
                    said_nothing: self.b % 7 == 1,
                    lost: anchors,
                    ..AnchorReport::default()
                }),
                claims: SummaryClaims {
                    results: text.to_owned(),
                    notes: ["a", "b"].map(|path| Note::Artifact(prose(path))).into(),
                },
            },
            2 => Command::AwaitSummary {
                frame,
                outcome: None,
                given: None,
                note: Some(prose(text)),
                until: Timestamp(i64::from(self.b)),
            },
            3 if self.b.is_multiple_of(2) => Command::SummarizeNow {
                frame,
                outcome: (!self.b.is_multiple_of(3)).then_some(Outcome::Completed),
                given: (self.b % 5 == 1).then(|| results(text)),
                summary: (!self.b.is_multiple_of(7)).then(|| {
                    Box::new(Summary {
                        text: prose(text),
                        claims: SummaryClaims::default(),
                    })
                }),
            },
            _ => Command::AwaitSummary {
                frame,
                outcome: Some(if self.b.is_multiple_of(3) {
                    Outcome::Failed
                } else {
                    Outcome::Completed
                }),
                given: (self.b % 5 == 1).then(|| results(text)),
                note: None,
                until: Timestamp(i64::from(self.b)),
            },
        }
    }

    /// A command that only hosts issue.
    fn host(&self, text: &str, fresh: &mut dyn FnMut() -> FrameId) -> Command {
        match self.b % 3 {
            0 if self.a % 3 == 2 => self.fork(fresh),
            1 => Command::Revert {
                messages: self.messages(self.a).collect(),
                earlier: self
                    .messages(self.b / 4)
                    .filter(|_| self.a % 4 == 3)
                    .collect(),
            },
            2 if self.a % 5 == 4 => Command::Archive,
            2 => Command::Unrevert,
            _ => Command::UseModel(Model {
                name: Title::recorded(text.to_owned()),
                window: Some(u64::from(self.b % 5)),
            }),
        }
    }

    fn fork(&self, fresh: &mut dyn FnMut() -> FrameId) -> Command {
        let from = match self.b / 3 % 3 {
            0 => "main",
            1 => "feature",
            _ => "review",
        };
        let copied = self.messages(self.a / 3);
        Command::Fork(Box::new(Fork {
            from: shell(from).session,
            messages: copied.map(|name| (name.clone(), name)).collect(),
            later: self
                .messages(self.b / 9)
                .filter(|_| self.text.is_multiple_of(2))
                .collect(),
            ids: (0..6).map(|_| fresh()).collect(),
        }))
    }

    /// Messages in which something may have been done or seen.
    fn messages(&self, n: u16) -> impl Iterator<Item = String> {
        let done = std::iter::once(format!("msg_{}", self.text / 64));
        let seen = (22..30).flat_map(move |verb| {
            let some = (0..40).filter(move |place| (place + n % 5).is_multiple_of(5));
            some.map(move |place| format!("{verb}-{place}"))
        });
        done.chain(seen)
    }

    fn send(&self, text: &str, frame: Option<FrameId>) -> Command {
        let (delivery, after) = match self.b % 4 {
            0 => (Delivery::Nothing, None),
            1 => (Delivery::Update(text.to_owned()), None),
            2 => (Delivery::Header(text.to_owned()), None),
            _ => {
                let count = u32::from(self.text);
                let after = Some(HeaderReason::Compaction { count });
                (Delivery::Header(String::new()), after)
            }
        };
        Command::Send(Box::new(Sending {
            delivery,
            after,
            known: frame.iter().copied().collect(),
            frame,
        }))
    }

    fn edit(&self, text: &str) -> Edit {
        match self.b % 3 {
            0 => Edit {
                title: Some(Title::recorded(text.to_owned())),
                ..Edit::default()
            },
            1 => Edit {
                criteria: Some(prose(text)),
                ..Edit::default()
            },
            _ => Edit {
                results: Some(prose(text)),
                ..Edit::default()
            },
        }
    }

    fn note(&self, text: &str) -> Note {
        let kind = NoteKind::ALL.get(usize::from(self.b) % NoteKind::ALL.len());
        match kind.copied().unwrap_or(NoteKind::Artifact) {
            NoteKind::Artifact => Note::Artifact(prose(text)),
            NoteKind::Decision => Note::Decision {
                text: prose(text),
                why: Some(prose("because")),
                by: Author::default(),
            },
            NoteKind::FailedAttempt => Note::FailedAttempt {
                text: prose(text),
                why: None,
            },
            NoteKind::Evidence => Note::Evidence(match self.b % 3 {
                0 => Evidence::Command {
                    command: prose(text),
                    exit_code: 1,
                },
                1 => Evidence::Test {
                    id: prose(text),
                    passed: true,
                },
                _ => Evidence::Commit(prose(text)),
            }),
            NoteKind::Directive => Note::Directive(prose(text)),
        }
    }

    fn bind(&self, frame: FrameId) -> Command {
        let session = shell(if self.b.is_multiple_of(2) {
            "bound"
        } else {
            "main"
        })
        .session;
        if self.text.is_multiple_of(3) {
            Command::Unbind(session)
        } else {
            Command::Bind { frame, session }
        }
    }

    fn entry(&self) -> LogEntry {
        let hash = format!("{:064x}", self.b % 4);
        LogEntry {
            label: Title::recorded("output".to_owned()),
            blob: BlobId::from_hex(&hash).unwrap_or_else(|| unreachable!("64 hex digits")),
            bytes: 7,
        }
    }
}
