//! Cost of prompts: replays every model call of a session under several policies.
//!
//! A prompt is a list of segments. The prefix that it shares with the previous prompt comes from the
//! cache; the rest is new. Output is the same under all policies and left out. Tokens are
//! four characters here, as everywhere in this crate.

use flamestack_core::enum_names;
use flamestack_core::transcript::{Entry, EntryKind, Speaker};

use crate::recording::Recording;
use crate::tracked::Tracked;

/// Tokens of the instructions and tools before the messages.
const INSTRUCTIONS: u64 = 12_000;
/// Length of a prompt at which the host compacts, in tokens.
const WINDOW: u64 = 160_000;
/// Tokens of a host's summary.
const SUMMARY: u64 = 4_000;
/// Minimum length of a cached prefix, in tokens.
const SHORTEST_CACHED: u64 = 1024;
/// Minimum size of a frame that is folded, in tokens.
const WORTH_FOLDING: u64 = 2_000;
/// Maximum size of a folded frame, in tokens.
const LARGEST_RESULT: u64 = 400;
/// Length of a prompt at which late folding begins, in tokens.
const LATE: u64 = 60_000;
/// Maximum number of characters of a call's arguments in the prompt.
const SHOWN_OF_CALL: usize = 1_200;
/// The price of a token from the cache and of a new one, in thousandths of an uncached token.
const PRICES: (u64, u64) = (100, 1_250);

enum_names! {
    /// A policy that keeps prompts short.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Policy {
        /// Everything is kept, however long it gets.
        Append = "append only, no limit",
        /// Everything is kept until the window is full, then the host summarises.
        Compact = "append only, host compacts",
        /// A finished frame is replaced by its result when the next one begins.
        Fold = "fold at pop",
        /// The same, once the prompt has become long.
        FoldLate = "fold at pop, late",
        /// `track = prompts` and `fold = auto`, without a tool call: a prompt's work is replaced by the
        /// model's last words when the next prompt comes.
        Prompts = "track = prompts, fold = auto",
        /// `track = auto` and `fold = auto`: the same for topics and items of the to-do list.
        Topics = "track = auto, fold = auto",
    }
}

/// Totals of all prompts of one or more sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bill {
    /// Model calls.
    pub calls: u64,
    /// Tokens of all prompts.
    pub prompt: u64,
    /// Tokens that came from the cache.
    pub cached: u64,
    /// The longest prompt.
    pub longest: u64,
}

impl Bill {
    /// Returns the cost in uncached tokens.
    pub fn cost(&self) -> u64 {
        (self.cached * PRICES.0 + (self.prompt - self.cached) * PRICES.1) / 1000
    }

    /// The share of the prompts that was a stable beginning.
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    pub fn stable_prefix(&self) -> f64 {
        self.cached as f64 / self.prompt.max(1) as f64
    }

    /// Adds another bill.
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.prompt += other.prompt;
        self.cached += other.cached;
        self.longest = self.longest.max(other.longest);
    }
}

/// A part of a prompt. Equal parts are equal bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Instructions,
    Entry(usize),
    /// A host's summary, by number.
    Summary(usize),
    /// The result of a frame.
    Result(usize),
}

type Segment = (Part, u64);

/// Replays every model call of a session.
pub fn replay(recording: &Recording<'_>, policy: Policy) -> Bill {
    let sizes: Vec<u64> = (0..recording.thread.len())
        .map(|at| recording.entry(at).map_or(0, size))
        .collect();
    let frames = frames(recording);
    let mut state = State {
        sizes: &sizes,
        frames: &frames,
        base: 0,
        summaries: 0,
        folded: vec![None; frames.len()],
    };
    let tracked = match policy {
        Policy::Prompts => Tracked::prompts(recording, &sizes),
        Policy::Topics => Tracked::topics(recording, &sizes),
        _ => Tracked::default(),
    };
    let mut bill = Bill::default();
    let mut before: Vec<Segment> = Vec::new();
    for call in recording.model_calls() {
        let prompt = match policy {
            Policy::Append => state.appended(call, u64::MAX),
            Policy::Compact => state.appended(call, WINDOW),
            Policy::Fold => state.folded(call, 0),
            Policy::FoldLate => state.folded(call, LATE),
            Policy::Prompts | Policy::Topics => state.tracked(call, &tracked),
        };
        let length = total(&prompt);
        let shared: u64 = before
            .iter()
            .zip(&prompt)
            .take_while(|(old, new)| old == new)
            .map(|(old, _)| old.1)
            .sum();
        bill.calls += 1;
        bill.prompt += length;
        bill.cached += if shared >= SHORTEST_CACHED { shared } else { 0 };
        bill.longest = bill.longest.max(length);
        before = prompt;
    }
    bill
}

struct State<'a> {
    sizes: &'a [u64],
    /// Start of each frame.
    frames: &'a [usize],
    /// Start of the messages after the last compaction.
    base: usize,
    summaries: usize,
    /// Length of the result of each folded frame.
    folded: Vec<Option<u64>>,
}

impl State<'_> {
    fn entries(&self, from: usize, to: usize) -> impl Iterator<Item = Segment> {
        let sizes = self.sizes.iter().copied().enumerate();
        sizes
            .take(to)
            .skip(from)
            .filter(|(_, size)| *size > 0)
            .map(|(at, size)| (Part::Entry(at), size))
    }

    fn appended(&mut self, call: usize, window: u64) -> Vec<Segment> {
        let mut prompt = vec![(Part::Instructions, INSTRUCTIONS)];
        if self.summaries > 0 {
            prompt.push((Part::Summary(self.summaries), SUMMARY));
        }
        prompt.extend(self.entries(self.base, call));
        if total(&prompt) > window {
            self.base = call;
            self.summaries += 1;
            prompt.truncate(1);
            prompt.push((Part::Summary(self.summaries), SUMMARY));
        }
        prompt
    }

    /// Returns a prompt in which each span that is folded by now is replaced by its result. The user's
    /// messages stay.
    fn tracked(&mut self, call: usize, tracked: &Tracked) -> Vec<Segment> {
        let mut prompt = vec![(Part::Instructions, INSTRUCTIONS)];
        if self.summaries > 0 {
            prompt.push((Part::Summary(self.summaries), SUMMARY));
        }
        for (at, size) in self
            .sizes
            .iter()
            .copied()
            .enumerate()
            .take(call)
            .skip(self.base)
        {
            let folded = tracked.folded_at(at, call);
            let stays = folded.is_none_or(|(_, span)| span.stays.contains(&at));
            if stays && size > 0 {
                prompt.push((Part::Entry(at), size));
            }
            if let Some((number, span)) = folded.filter(|(_, span)| at + 1 == span.to) {
                prompt.push((Part::Result(number), span.result));
            }
        }
        if total(&prompt) > WINDOW {
            self.base = call;
            self.summaries += 1;
            prompt.truncate(1);
            prompt.push((Part::Summary(self.summaries), SUMMARY));
        }
        prompt
    }

    fn folded(&mut self, call: usize, threshold: u64) -> Vec<Segment> {
        let begun = self.frames.iter().filter(|start| **start < call).count();
        let finished = self
            .frames
            .iter()
            .skip(1)
            .filter(|start| **start <= call)
            .count();
        if threshold == 0 || total(&self.with_results(call, begun)) > threshold {
            for frame in 0..finished {
                let size: u64 = self.of_frame(frame, call).map(|(_, size)| size).sum();
                if let Some(place) = self.folded.get_mut(frame)
                    && place.is_none()
                    && size > WORTH_FOLDING
                {
                    *place = Some(LARGEST_RESULT.min(size / 10));
                }
            }
        }
        let mut prompt = self.with_results(call, begun);
        if total(&prompt) > WINDOW {
            // One frame alone is too long: the host compacts it.
            prompt.retain(|(part, _)| !matches!(part, Part::Entry(_)));
            prompt.push((Part::Summary(call), SUMMARY));
            for place in self.folded.iter_mut().take(begun) {
                place.get_or_insert(SUMMARY);
            }
        }
        prompt
    }

    fn with_results(&self, call: usize, begun: usize) -> Vec<Segment> {
        let mut prompt = vec![(Part::Instructions, INSTRUCTIONS)];
        for frame in 0..begun {
            match self.folded.get(frame).copied().flatten() {
                Some(size) => prompt.push((Part::Result(frame), size)),
                None => prompt.extend(self.of_frame(frame, call)),
            }
        }
        prompt
    }

    fn of_frame(&self, frame: usize, call: usize) -> impl Iterator<Item = Segment> {
        let start = self.frames.get(frame).copied().unwrap_or(call);
        let next = self.frames.get(frame + 1).copied().unwrap_or(call);
        self.entries(start, next.min(call))
    }
}

fn total(prompt: &[Segment]) -> u64 {
    prompt.iter().map(|(_, size)| size).sum()
}

/// Returns the starts of frames: each prompt of the user begins one.
pub(crate) fn frames(recording: &Recording<'_>) -> Vec<usize> {
    let prompts = (0..recording.thread.len()).filter(|at| {
        let entry = recording.entry(*at);
        entry.is_some_and(|entry| match &entry.kind {
            EntryKind::User {
                speaker: Speaker::Person | Speaker::Slash,
                text,
            } => !text.trim().is_empty(),
            _ => false,
        })
    });
    let mut frames: Vec<usize> = prompts.collect();
    if frames.first() != Some(&0) {
        frames.insert(0, 0);
    }
    frames
}

/// The tokens that an entry takes in a prompt.
fn size(entry: &Entry) -> u64 {
    // Approximate overhead of a message's role marker.
    const MARK: usize = 14;
    let characters = |text: &str| text.chars().count();
    let shown = match &entry.kind {
        EntryKind::User { text, .. }
        | EntryKind::Assistant { text }
        | EntryKind::Plan { text }
        | EntryKind::Attached { text, .. } => characters(text),
        EntryKind::Answer(answer) => characters(&answer.text),
        EntryKind::Call(call) => characters(&call.arguments).min(SHOWN_OF_CALL),
        EntryKind::Compacted { summary, .. } => summary.as_deref().map_or(0, characters),
        EntryKind::Todos(todos) => todos.iter().map(|todo| characters(&todo.text) + MARK).sum(),
        EntryKind::Interrupted { .. } => MARK,
        _ => return 0,
    };
    u64::try_from((shown + MARK).div_ceil(4)).unwrap_or(u64::MAX)
}
