//! Folding of prompts: finished work leaves the prompt, its results stay. (Applying events to a frame is
//! [`crate::fold`].)
//!
//! A frame that was pushed and popped inside a session is a span of messages. Once it is finished,
//! the messages strictly between the one with the push and the one with the pop are left out: the
//! pop's own answer carries the results. The user's messages stay.
//!
//! ```text
//!   before   U  P¹ ·  ·  P² ·  U  ·  p² ·  p¹  N      U  user       P  push   p  pop
//!   after    U  P¹             U          p¹  N      ·  any other  N  newest message
//! ```
//!
//! Inner spans (²) vanish with outer ones (¹). The law: a prompt that was folded once is folded the
//! same way ever after, so that the host's prefix cache stays valid. It holds because the result
//! follows from recorded spans and the list of messages alone, because spans are only added, and
//! because nothing but a compaction moves the start. Frames that were only observed, not pushed, wait
//! for the user's next message (`after_prompt`): until then their last answer is what the model is
//! working from.
//!
//! Putting the result into effect is the host adapter's job.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::id::{FrameId, Timestamp};

/// A message of a prompt, reduced to what folding needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptMessage {
    /// The host's id of it.
    pub id: String,
    /// Start, where it is known.
    pub at: Option<Timestamp>,
    /// Kind.
    pub kind: MessageKind,
    /// Its tool calls.
    pub calls: Vec<String>,
}

impl PromptMessage {
    /// Returns true if it leaves the prompt together with the work it was part of.
    fn can_leave(&self) -> bool {
        !matches!(self.kind, MessageKind::Person | MessageKind::Summary)
    }
}

/// Kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// Text of the user, which always stays.
    Person,
    /// Anything else from the user's side.
    Host,
    /// Text and calls of the model.
    Model,
    /// A summary that replaced everything before it.
    Summary,
}

/// A finished frame and its span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The frame.
    pub frame: FrameId,
    /// Start of the span.
    pub begun: SpanEnd,
    /// End of the span.
    pub ended: SpanEnd,
    /// True if a tool call of the session itself carries the results.
    pub has_result_message: bool,
    /// True if nothing is left out before the user's next message.
    pub after_prompt: bool,
}

/// One end of a span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpanEnd {
    /// In a message, by its id.
    Message(String),
    /// In the message that has a tool call.
    Call(String),
    /// At a point in time, from outside the session.
    Moment(Timestamp),
}

/// Prefix of a call id where only one text can be recorded: a span end is a message id, or this and a
/// call id.
const CALL: &str = "call:";

impl SpanEnd {
    /// Parses a recorded span end.
    pub fn recorded(message: &str) -> Self {
        match message.strip_prefix(CALL) {
            Some(call) => Self::Call(call.to_owned()),
            None => Self::Message(message.to_owned()),
        }
    }

    /// Returns the text to record for a tool call whose message is not known yet.
    pub fn in_call(call: &str) -> String {
        format!("{CALL}{call}")
    }
}

/// Messages that are left out, and texts to put in their place. Messages are numbered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folding {
    /// Ranges that are left out, in order, not touching each other. The user's text in them stays, and
    /// so do summaries.
    pub ranges: Vec<Range<usize>>,
    /// Frames whose results no message carries, each with the message before which they belong.
    pub missing_results: Vec<(FrameId, usize)>,
}

impl Folding {
    /// Returns the messages to leave out, in order.
    pub fn dropped<'a>(
        &self,
        messages: &'a PromptMessages,
    ) -> impl Iterator<Item = &'a PromptMessage> {
        self.ranges
            .iter()
            .filter_map(|range| messages.list.get(range.clone()))
            .flatten()
            .filter(|message| message.can_leave())
    }
}

/// Folds a session. `finished` is in the order in which the frames ended.
pub fn fold(messages: &PromptMessages, finished: &[Finished]) -> Folding {
    let mut left_out = Ranges::default();
    let mut missing = Vec::new();
    for frame in finished {
        let Some(span) = messages.between(frame) else {
            continue;
        };
        let last = span.end;
        let added = left_out.add(span);
        let has_removable = || {
            let mut places = added.into_iter().flatten();
            places.any(|place| messages.get(place).is_some_and(PromptMessage::can_leave))
        };
        if !frame.has_result_message && has_removable() {
            missing.push((&frame.frame, last));
        }
    }
    let stays = |place: &usize| {
        let message = messages.get(*place);
        !left_out.holds(*place) || message.is_some_and(|message| !message.can_leave())
    };
    // The message before which a text belongs may itself have left with another frame.
    let placed = |(frame, place): (&FrameId, usize)| {
        let place = (place..messages.len()).find(stays)?;
        Some((*frame, place))
    };
    Folding {
        missing_results: missing.into_iter().filter_map(placed).collect(),
        ranges: left_out.0.into_iter().map(|(from, to)| from..to).collect(),
    }
}

/// Disjoint, non-touching ranges: start to end.
#[derive(Default)]
struct Ranges(BTreeMap<usize, usize>);

impl Ranges {
    /// Adds a range and returns the parts of it that were not covered before.
    fn add(&mut self, range: Range<usize>) -> Vec<Range<usize>> {
        let touching = self.0.range(..=range.end).rev();
        let mut touching: Vec<(usize, usize)> = touching
            .take_while(|(_, to)| **to >= range.start)
            .map(|(from, to)| (*from, *to))
            .collect();
        touching.reverse();
        let mut added = Vec::new();
        let mut reached = range.start;
        let mut whole = range.clone();
        for (from, to) in touching {
            added.push(reached..from);
            reached = reached.max(to);
            whole = whole.start.min(from)..whole.end.max(to);
            self.0.remove(&from);
        }
        added.push(reached..range.end);
        self.0.insert(whole.start, whole.end);
        added
    }

    fn holds(&self, place: usize) -> bool {
        let begun = self.0.range(..=place).next_back();
        begun.is_some_and(|(_, to)| *to > place)
    }
}

/// The messages of a session, in order.
///
/// Ids are indexed, so that folding costs what there is to fold, however long the session has
/// become.
#[derive(Clone, Debug, Default)]
pub struct PromptMessages {
    list: Vec<PromptMessage>,
    messages: Positions,
    calls: Positions,
    /// The latest start of any message up to each position.
    latest: Vec<Timestamp>,
    /// Positions of summaries, of prompts, and of messages without a known start.
    summaries: Vec<usize>,
    prompts: Vec<usize>,
    untimed: Vec<usize>,
}

/// Positions of the messages with an id, in order. Some hosts reuse call ids.
type Positions = BTreeMap<String, Vec<usize>>;

impl PromptMessages {
    /// Returns the number of messages.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns true if there are no messages.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the message at a position.
    pub fn get(&self, place: usize) -> Option<&PromptMessage> {
        self.list.get(place)
    }

    /// Appends a message.
    pub fn push(&mut self, message: PromptMessage) {
        let place = self.list.len();
        self.messages
            .entry(message.id.clone())
            .or_default()
            .push(place);
        for call in &message.calls {
            self.calls.entry(call.clone()).or_default().push(place);
        }
        match message.kind {
            MessageKind::Summary => self.summaries.push(place),
            MessageKind::Person => self.prompts.push(place),
            MessageKind::Host | MessageKind::Model => {}
        }
        if message.at.is_none() {
            self.untimed.push(place);
        }
        let before = self.latest.last().copied().unwrap_or(Timestamp(i64::MIN));
        self.latest
            .push(message.at.map_or(before, |at| at.max(before)));
        self.list.push(message);
    }

    /// Keeps only the first `count` messages.
    pub fn truncate(&mut self, count: usize) {
        while self.list.len() > count {
            let Some(message) = self.list.pop() else {
                return;
            };
            forget(&mut self.messages, &message.id);
            for call in message.calls.iter().rev() {
                forget(&mut self.calls, call);
            }
        }
        self.latest.truncate(count);
        for places in [&mut self.summaries, &mut self.prompts, &mut self.untimed] {
            places.truncate(places.partition_point(|place| *place < count));
        }
    }

    /// Returns the messages strictly inside a span.
    fn between(&self, frame: &Finished) -> Option<Range<usize>> {
        // After the last summary, and before the newest prompt.
        let start = self.summaries.last().map_or(0, |place| place + 1);
        let newest_prompt = self.prompts.last().copied().unwrap_or_default();
        let last = match &frame.ended {
            SpanEnd::Moment(moment) => {
                // From outside there is no message that must stay: everything up to that point in time.
                self.first_after(*moment)?.min(newest_prompt)
            }
            end => self.place(end)?,
        };
        let first = match &frame.begun {
            SpanEnd::Moment(moment) => self.first_after(*moment)?,
            // A message that is gone was summarised away; the rest of the span begins after the summary.
            end => match self.place(end) {
                Some(place) => place + 1,
                None if start > 0 => start,
                None => return None,
            },
        };
        let first = first.max(start);
        let last = if frame.after_prompt {
            last.min(newest_prompt)
        } else {
            last
        };
        (first < last).then_some(first..last)
    }

    fn place(&self, end: &SpanEnd) -> Option<usize> {
        let places = match end {
            SpanEnd::Message(id) => self.messages.get(id),
            SpanEnd::Call(id) => self.calls.get(id),
            SpanEnd::Moment(_) => None,
        };
        places?.last().copied()
    }

    /// Returns the first message that started after a point in time; the end if none did, and none
    /// where the host does not say when its messages started.
    fn first_after(&self, moment: Timestamp) -> Option<usize> {
        let found = || self.latest.partition_point(|latest| *latest <= moment);
        self.untimed.is_empty().then(found)
    }
}

impl FromIterator<PromptMessage> for PromptMessages {
    fn from_iter<I: IntoIterator<Item = PromptMessage>>(all: I) -> Self {
        let mut messages = Self::default();
        for message in all {
            messages.push(message);
        }
        messages
    }
}

/// Forgets the last position of an id.
fn forget(index: &mut Positions, name: &str) {
    if let Some(places) = index.get_mut(name) {
        places.pop();
        if places.is_empty() {
            index.remove(name);
        }
    }
}

#[cfg(test)]
mod tests;
