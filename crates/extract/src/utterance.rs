//! Utterances: the entries of a transcript that have a text, with the source of each.

use std::borrow::Cow;
use std::ops::Range;

use crate::arguments;
use flamestack_core::transcript::{CallKind, Entry, EntryKind, Speaker};

/// The source of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// The user.
    Prompt,
    /// The host, in the role of the user, or as an attachment.
    HostWords,
    /// The model, in prose.
    Text,
    /// A plan of the model.
    Plan,
    /// A command that the model ran.
    Command,
    /// A change that the model made to a file.
    Edit,
    /// Another call of the model, such as a search or a subagent's task.
    Call,
    /// A tool's answer.
    Output,
    /// The answer of a tool that failed.
    FailedOutput,
    /// The host's summary of earlier work.
    Summary,
}

impl Source {
    /// Returns true for natural language: the user's words and the model's prose.
    pub fn is_prose(self) -> bool {
        matches!(self, Self::Prompt | Self::Text | Self::Plan)
    }

    /// Returns true if the model wrote the text.
    pub fn by_model(self) -> bool {
        matches!(
            self,
            Self::Text | Self::Plan | Self::Command | Self::Edit | Self::Call
        )
    }
}

/// An entry with a text.
#[derive(Clone, Debug)]
pub struct Utterance<'a> {
    /// Index of the entry.
    pub entry: usize,
    /// Number of calls up to here, this one included.
    pub calls: u32,
    /// The source of the text.
    pub source: Source,
    /// The text; of a call, the strings of its arguments, line by line.
    pub text: Cow<'a, str>,
    /// The files that a call names.
    pub paths: &'a [String],
    /// The parts of the text that an edit replaces.
    pub replaced: Vec<Range<usize>>,
    /// The kind of a call.
    pub kind: Option<CallKind>,
    /// For an answer: index of the utterance that made the call.
    pub answers: Option<usize>,
    /// For a call that was answered: true if it succeeded.
    pub ok: Option<bool>,
}

/// Maximum number of calls that wait for their answers. Calls that are never answered must not make
/// each later one more expensive.
const MAX_OPEN: usize = 64;

/// Returns the utterances of a session's own thread, without those of its subagents, which belong
/// to the subagents' frames.
pub fn utterances(entries: &[Entry]) -> Vec<Utterance<'_>> {
    let own = |(_, entry): &(usize, &Entry)| entry.agent.is_none();
    utterances_of(entries.iter().enumerate().filter(own))
}

/// Returns the utterances of the given entries, each with its index.
pub fn utterances_of<'a>(entries: impl Iterator<Item = (usize, &'a Entry)>) -> Vec<Utterance<'a>> {
    let mut utterances: Vec<Utterance<'a>> = Vec::new();
    let mut open: Vec<(&str, usize)> = Vec::new();
    let mut calls = 0;
    for (number, entry) in entries {
        calls += u32::from(matches!(entry.kind, EntryKind::Call(_)));
        let Some(mut utterance) = Utterance::of(&entry.kind) else {
            continue;
        };
        (utterance.entry, utterance.calls) = (number, calls);
        match &entry.kind {
            EntryKind::Call(call) => {
                if open.len() >= MAX_OPEN {
                    open.remove(0);
                }
                open.push((&call.id, utterances.len()));
            }
            EntryKind::Answer(answer) => {
                let called = open.iter().rposition(|(id, _)| *id == answer.call);
                utterance.answers = called.map(|called| open.remove(called).1);
                let call = utterance.answers.and_then(|call| utterances.get_mut(call));
                if let Some(call) = call {
                    call.ok = Some(answer.ok);
                }
            }
            _ => {}
        }
        utterances.push(utterance);
    }
    utterances
}

impl<'a> Utterance<'a> {
    /// Returns an utterance of a text alone.
    pub(crate) fn of_text(source: Source, text: &'a str) -> Self {
        Self {
            entry: 0,
            calls: 0,
            source,
            text: Cow::Borrowed(text),
            paths: &[],
            replaced: Vec::new(),
            kind: None,
            answers: None,
            ok: None,
        }
    }

    /// Returns an entry's text and its source, if it has one.
    fn of(entry: &'a EntryKind) -> Option<Self> {
        Some(match entry {
            EntryKind::User { speaker, text } => {
                let source = match speaker {
                    Speaker::Person | Speaker::Slash | Speaker::Shell => Source::Prompt,
                    Speaker::Host => Source::HostWords,
                };
                Self::of_text(source, text)
            }
            EntryKind::Assistant { text } => Self::of_text(Source::Text, text),
            EntryKind::Plan { text } => Self::of_text(Source::Plan, text),
            EntryKind::Attached { paths, text } => Self {
                paths,
                ..Self::of_text(Source::HostWords, text)
            },
            EntryKind::Compacted { summary, .. } => {
                Self::of_text(Source::Summary, summary.as_deref()?)
            }
            EntryKind::Call(call) => {
                let source = of_call(call.kind)?;
                let (text, replaced) = arguments::with_replaced(&call.arguments);
                Self {
                    text,
                    paths: &call.paths,
                    replaced,
                    kind: Some(call.kind),
                    ..Self::of_text(source, "")
                }
            }
            EntryKind::Answer(answer) if answer.ok => Self::of_text(Source::Output, &answer.text),
            EntryKind::Answer(answer) => Self::of_text(Source::FailedOutput, &answer.text),
            _ => return None,
        })
    }
}

/// Returns the source of a call's arguments.
fn of_call(kind: CallKind) -> Option<Source> {
    match kind {
        // The list itself is another entry.
        CallKind::Todo => None,
        CallKind::Execute => Some(Source::Command),
        CallKind::Edit | CallKind::Write => Some(Source::Edit),
        _ => Some(Source::Call),
    }
}
