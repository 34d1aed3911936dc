//! An entry of a conversation as far as it says something that may be needed again.

use std::borrow::Cow;

use crate::arguments;
use crate::transcript::{CallKind, Entry, Voice, What};

/// Where words come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// A person's words.
    Prompt,
    /// What the host put into the user's mouth, and what it attached.
    HostWords,
    /// The model's prose.
    Prose,
    /// A plan of the model.
    Plan,
    /// A command that the model ran.
    Command,
    /// A change that the model made to a file.
    Edit,
    /// Another call of the model: what it looked for, whom it asked.
    Call,
    /// What a tool answered.
    Output,
    /// What a tool answered that failed.
    FailedOutput,
    /// The host's summary of what was before.
    Summary,
}

impl Source {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Prompt,
        Self::HostWords,
        Self::Prose,
        Self::Plan,
        Self::Command,
        Self::Edit,
        Self::Call,
        Self::Output,
        Self::FailedOutput,
        Self::Summary,
    ];

    /// Whether somebody talks to somebody: a person or the model, in sentences.
    pub fn is_talk(self) -> bool {
        matches!(self, Self::Prompt | Self::Prose | Self::Plan)
    }

    /// Whether the model wrote it.
    pub fn by_model(self) -> bool {
        matches!(
            self,
            Self::Prose | Self::Plan | Self::Command | Self::Edit | Self::Call
        )
    }
}

/// An entry that says something.
#[derive(Clone, Debug)]
pub struct Moment<'a> {
    /// Which entry it is.
    pub entry: usize,
    /// How many calls there were until then, this one included.
    pub calls: u32,
    /// Where the words come from.
    pub source: Source,
    /// The words; of a call, the texts of its arguments, line after line.
    pub text: Cow<'a, str>,
    /// The files that a call names.
    pub paths: &'a [String],
    /// What a call does.
    pub kind: Option<CallKind>,
    /// For an answer: the moment that called.
    pub answers: Option<usize>,
    /// For a call: whether it worked, as far as it was answered.
    pub ok: Option<bool>,
}

/// So many calls wait for their answers at a time.
const MOST_OPEN: usize = 64;

/// The moments of a conversation's own thread: what its subagents said among themselves is left to
/// the frames of those.
pub fn moments(entries: &[Entry]) -> Vec<Moment<'_>> {
    of_thread(
        entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.agent.is_none()),
    )
}

/// The moments of the entries given, whoever spoke.
pub fn of_thread<'a>(entries: impl Iterator<Item = (usize, &'a Entry)>) -> Vec<Moment<'a>> {
    let mut moments: Vec<Moment<'a>> = Vec::new();
    let mut open: Vec<(&str, usize)> = Vec::new();
    let mut calls = 0;
    for (number, entry) in entries {
        let mut moment = Moment {
            entry: number,
            calls,
            source: Source::HostWords,
            text: Cow::Borrowed(""),
            paths: &[],
            kind: None,
            answers: None,
            ok: None,
        };
        match &entry.what {
            What::User { voice, text } => {
                moment.source = match voice {
                    Voice::Person | Voice::Slash | Voice::Shell => Source::Prompt,
                    Voice::Host => Source::HostWords,
                };
                moment.text = Cow::Borrowed(text);
            }
            What::Assistant { text } => {
                moment.source = Source::Prose;
                moment.text = Cow::Borrowed(text);
            }
            What::Plan { text } => {
                moment.source = Source::Plan;
                moment.text = Cow::Borrowed(text);
            }
            What::Attached { paths, text } => {
                moment.paths = paths;
                moment.text = Cow::Borrowed(text);
            }
            What::Compacted {
                summary: Some(summary),
                ..
            } => {
                moment.source = Source::Summary;
                moment.text = Cow::Borrowed(summary);
            }
            What::Call(call) => {
                calls += 1;
                moment.calls = calls;
                moment.kind = Some(call.kind);
                moment.source = match call.kind {
                    // The list itself is an entry of its own.
                    CallKind::Todo => continue,
                    CallKind::Execute => Source::Command,
                    CallKind::Edit | CallKind::Write => Source::Edit,
                    _ => Source::Call,
                };
                moment.text = joined(&call.arguments);
                moment.paths = &call.paths;
                // Calls that are never answered must not make each later one dearer.
                if open.len() >= MOST_OPEN {
                    open.remove(0);
                }
                open.push((&call.id, moments.len()));
            }
            What::Answer(answer) => {
                let called = open.iter().rposition(|(id, _)| *id == answer.call);
                if let Some(called) = called {
                    let (_, index) = open.remove(called);
                    moment.answers = Some(index);
                    if let Some(call) = moments.get_mut(index) {
                        call.ok = Some(answer.ok);
                    }
                }
                moment.source = if answer.ok {
                    Source::Output
                } else {
                    Source::FailedOutput
                };
                moment.text = Cow::Borrowed(&answer.text);
            }
            _ => continue,
        }
        moments.push(moment);
    }
    moments
}

/// The texts of a call's arguments, one below the other.
fn joined(json: &str) -> Cow<'_, str> {
    let mut whole: Option<Cow<'_, str>> = None;
    arguments::strings(json, &mut |_, text| match &mut whole {
        None => whole = Some(text),
        Some(whole) => {
            let whole = whole.to_mut();
            whole.push('\n');
            whole.push_str(&text);
        }
    });
    whole.unwrap_or_default()
}
