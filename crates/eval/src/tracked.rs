//! Spans of work that become frames without a tool call, and leave the prompt once the user speaks
//! again.

use std::collections::BTreeSet;

use flamestack_core::transcript::{EntryKind, TodoStatus};
use flamestack_engine::ingest::topics::TopicReader;

use crate::cost::frames;
use crate::recording::Recording;

/// Maximum size of a result, in tokens: the model's last words are cut at 4,000 bytes.
const LARGEST_RESULT: u64 = 1_000;
/// Tokens of a result without words.
const WORDLESS: u64 = 10;

/// The spans of a session.
#[derive(Default)]
pub(crate) struct Tracked {
    spans: Vec<TrackedSpan>,
    /// For each entry, the spans that it is in, the outermost first.
    around: Vec<Vec<usize>>,
}

/// A span, by the places of its entries.
pub(crate) struct TrackedSpan {
    /// First entry.
    from: usize,
    /// The entry after the last.
    pub(crate) to: usize,
    /// The prompt with which it leaves.
    leaves: usize,
    /// The user's messages in it.
    pub(crate) stays: BTreeSet<usize>,
    /// Tokens of its result.
    pub(crate) result: u64,
}

impl Tracked {
    /// Makes each prompt a span.
    pub(crate) fn prompts(recording: &Recording<'_>, sizes: &[u64]) -> Self {
        let starts = frames(recording);
        let spans = starts.windows(2).filter_map(|pair| match pair {
            &[from, to] => Some(span(recording, sizes, from..to, to)),
            _ => None,
        });
        Self::of(spans.collect(), sizes.len())
    }

    fn of(spans: Vec<TrackedSpan>, entries: usize) -> Self {
        let mut around = vec![Vec::new(); entries];
        for (number, span) in spans.iter().enumerate() {
            for places in around.iter_mut().take(span.to).skip(span.from) {
                places.push(number);
            }
        }
        Self { spans, around }
    }

    /// Makes each topic a span, and each item of the to-do list that was worked on.
    pub(crate) fn topics(recording: &Recording<'_>, sizes: &[u64]) -> Self {
        let mut reader = TopicReader::default();
        let prompts = frames(recording);
        let mut starts = vec![0];
        let mut items: Vec<(String, usize)> = Vec::new();
        let mut spans = Vec::new();
        for at in 0..recording.thread.len() {
            let Some(entry) = recording.entry(at) else {
                continue;
            };
            if reader.read(entry) {
                starts.push(at);
            }
            let EntryKind::Todos(todos) = &entry.kind else {
                continue;
            };
            for todo in todos {
                let place = items.iter().position(|(text, _)| *text == todo.text);
                match (todo.status, place) {
                    (TodoStatus::Active, None) => items.push((todo.text.clone(), at)),
                    (TodoStatus::Done, Some(place)) => {
                        let (_, from) = items.swap_remove(place);
                        let next = prompts.iter().find(|prompt| **prompt > at);
                        if let Some(next) = next {
                            spans.push(span(recording, sizes, from + 1..at, *next));
                        }
                    }
                    _ => {}
                }
            }
        }
        let topics = starts.windows(2).filter_map(|pair| match pair {
            &[from, to] => Some(span(recording, sizes, from..to, to)),
            _ => None,
        });
        // A topic takes the items in it along.
        let topics = topics.collect::<Vec<_>>();
        Self::of(topics.into_iter().chain(spans).collect(), sizes.len())
    }

    /// Returns the first span, with its number, that an entry has left the prompt with before a call.
    pub(crate) fn folded_at(&self, at: usize, call: usize) -> Option<(usize, &TrackedSpan)> {
        let around = self.around.get(at)?.iter();
        let mut spans = around.filter_map(|number| Some((*number, self.spans.get(*number)?)));
        spans.find(|(_, span)| span.leaves < call)
    }
}

fn span(
    recording: &Recording<'_>,
    sizes: &[u64],
    range: std::ops::Range<usize>,
    leaves: usize,
) -> TrackedSpan {
    let size = |at: usize| sizes.get(at).copied().unwrap_or_default();
    let is = |at: &usize, wanted: fn(&EntryKind) -> bool| {
        recording
            .entry(*at)
            .is_some_and(|entry| wanted(&entry.kind))
    };
    let said = range.clone().rev();
    let mut said = said.filter(|at| is(at, |kind| matches!(kind, EntryKind::Assistant { .. })));
    let result = said
        .next()
        .map_or(WORDLESS, |at| size(at).min(LARGEST_RESULT));
    let users = range.clone();
    let stays = users.filter(|at| is(at, |kind| matches!(kind, EntryKind::User { .. })));
    TrackedSpan {
        stays: stays.collect(),
        from: range.start,
        to: range.end,
        leaves,
        result,
    }
}
