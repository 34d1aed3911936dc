//! Which messages of a conversation leave the prompt, because the work they held is finished.
//!
//! A frame that was pushed and popped inside a conversation is a span of messages. Once it is
//! finished, the whole messages strictly between the one that holds the push and the one that holds
//! the pop are left out: the pop's own answer carries the results. What the user said stays.
//!
//! The answer follows from recorded spans and the list of messages alone, so a prompt that was
//! folded once is folded the same way ever after. Putting it into effect is a host's business.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::id::{FrameId, Timestamp};

/// A message as far as folding cares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The host's name of it.
    pub id: String,
    /// When it began, where that is known.
    pub at: Option<Timestamp>,
    /// What it is.
    pub kind: LeafKind,
    /// The tool calls in it.
    pub calls: Vec<String>,
}

impl Leaf {
    /// Whether it goes with the work it was part of.
    fn can_leave(&self) -> bool {
        !matches!(self.kind, LeafKind::Person | LeafKind::Summary)
    }
}

/// What a message is, as far as folding cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeafKind {
    /// Words of a person, which always stay.
    Person,
    /// Anything else from the user's side.
    Host,
    /// The model's words and calls.
    Model,
    /// A summary that replaced what came before.
    Summary,
}

/// A finished frame and where it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The frame.
    pub frame: FrameId,
    /// Where it began.
    pub begun: Edge,
    /// Where it ended.
    pub ended: Edge,
    /// Whether a tool call of the conversation itself carries the results.
    pub told: bool,
    /// Whether to wait for the user's next message before anything is left out.
    pub patient: bool,
}

/// One end of a span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edge {
    /// In a message, by its name.
    Message(String),
    /// In the message that holds a tool call.
    Call(String),
    /// At a moment, from outside the conversation.
    Moment(Timestamp),
}

/// How an edge is written where only a text can be kept: a message's name, or a call's with this in
/// front.
const CALL: &str = "call:";

impl Edge {
    /// The edge that a recorded message name stands for.
    pub fn recorded(message: &str) -> Self {
        match message.strip_prefix(CALL) {
            Some(call) => Self::Call(call.to_owned()),
            None => Self::Message(message.to_owned()),
        }
    }

    /// What is recorded for something that happened in a tool call whose message is not known yet.
    pub fn in_call(call: &str) -> String {
        format!("{CALL}{call}")
    }
}

/// What is left out, and what is put in its place. Messages are named by their place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folding {
    /// The stretches that are left out, in order and apart from each other. What a person said in
    /// them stays, and so do summaries.
    pub stretches: Vec<Range<usize>>,
    /// Frames whose results no message carries, each with the message it belongs in front of.
    pub untold: Vec<(FrameId, usize)>,
}

impl Folding {
    /// The messages to leave out, in order.
    pub fn dropped<'a>(&self, leaves: &'a Leaves) -> impl Iterator<Item = &'a Leaf> {
        self.stretches
            .iter()
            .filter_map(|stretch| leaves.list.get(stretch.clone()))
            .flatten()
            .filter(|leaf| leaf.can_leave())
    }
}

/// Folds a conversation. `finished` is in the order in which the frames ended.
pub fn fold(leaves: &Leaves, finished: &[Finished]) -> Folding {
    let mut left_out = Stretches::default();
    let mut untold = Vec::new();
    for frame in finished {
        let Some(span) = leaves.between(frame) else {
            continue;
        };
        let last = span.end;
        let added = left_out.add(span);
        let leaves_something = || {
            let mut places = added.into_iter().flatten();
            places.any(|place| leaves.get(place).is_some_and(Leaf::can_leave))
        };
        if !frame.told && leaves_something() {
            untold.push((&frame.frame, last));
        }
    }
    let stays = |place: &usize| {
        let leaf = leaves.get(*place);
        !left_out.holds(*place) || leaf.is_some_and(|leaf| !leaf.can_leave())
    };
    // The message that a text belongs in front of may itself have gone with another frame.
    let in_front = |(frame, place): (&FrameId, usize)| {
        let place = (place..leaves.len()).find(stays)?;
        Some((frame.clone(), place))
    };
    Folding {
        untold: untold.into_iter().filter_map(in_front).collect(),
        stretches: left_out.0.into_iter().map(|(from, to)| from..to).collect(),
    }
}

/// Stretches of a list that do not touch: where each begins, and where it ends.
#[derive(Default)]
struct Stretches(BTreeMap<usize, usize>);

impl Stretches {
    /// Adds one, and says what of it was in none before.
    fn add(&mut self, stretch: Range<usize>) -> Vec<Range<usize>> {
        let touching = self.0.range(..=stretch.end).rev();
        let mut touching: Vec<(usize, usize)> = touching
            .take_while(|(_, to)| **to >= stretch.start)
            .map(|(from, to)| (*from, *to))
            .collect();
        touching.reverse();
        let mut added = Vec::new();
        let mut reached = stretch.start;
        let mut whole = stretch.clone();
        for (from, to) in touching {
            added.push(reached..from);
            reached = reached.max(to);
            whole = whole.start.min(from)..whole.end.max(to);
            self.0.remove(&from);
        }
        added.push(reached..stretch.end);
        self.0.insert(whole.start, whole.end);
        added
    }

    fn holds(&self, place: usize) -> bool {
        let begun = self.0.range(..=place).next_back();
        begun.is_some_and(|(_, to)| *to > place)
    }
}

/// The messages of a conversation, in order.
///
/// Names are looked up and not searched for, so that folding costs what there is to fold, however
/// long the conversation has become.
#[derive(Clone, Debug, Default)]
pub struct Leaves {
    list: Vec<Leaf>,
    messages: Named,
    calls: Named,
    /// The latest moment at which any message up to each place began.
    latest: Vec<Timestamp>,
    /// Where summaries are, what persons said, and messages of which it is not known when they began.
    summaries: Vec<usize>,
    prompts: Vec<usize>,
    untimed: Vec<usize>,
}

/// Where the bearers of a name are, in order. Some hosts use the name of a call again.
type Named = BTreeMap<String, Vec<usize>>;

impl Leaves {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The message at a place.
    pub fn get(&self, place: usize) -> Option<&Leaf> {
        self.list.get(place)
    }

    /// Adds a message at the end.
    pub fn push(&mut self, leaf: Leaf) {
        let place = self.list.len();
        self.messages
            .entry(leaf.id.clone())
            .or_default()
            .push(place);
        for call in &leaf.calls {
            self.calls.entry(call.clone()).or_default().push(place);
        }
        match leaf.kind {
            LeafKind::Summary => self.summaries.push(place),
            LeafKind::Person => self.prompts.push(place),
            LeafKind::Host | LeafKind::Model => {}
        }
        if leaf.at.is_none() {
            self.untimed.push(place);
        }
        let before = self.latest.last().copied().unwrap_or(Timestamp(i64::MIN));
        self.latest
            .push(leaf.at.map_or(before, |at| at.max(before)));
        self.list.push(leaf);
    }

    /// Leaves only so many at the beginning.
    pub fn truncate(&mut self, count: usize) {
        while self.list.len() > count {
            let Some(leaf) = self.list.pop() else { return };
            forget(&mut self.messages, &leaf.id);
            for call in leaf.calls.iter().rev() {
                forget(&mut self.calls, call);
            }
        }
        self.latest.truncate(count);
        for places in [&mut self.summaries, &mut self.prompts, &mut self.untimed] {
            places.truncate(places.partition_point(|place| *place < count));
        }
    }

    /// The messages strictly inside a span.
    fn between(&self, frame: &Finished) -> Option<Range<usize>> {
        // Behind the last summary, and the newest message of a person.
        let start = self.summaries.last().map_or(0, |place| place + 1);
        let newest_prompt = self.prompts.last().copied().unwrap_or_default();
        let last = match &frame.ended {
            Edge::Moment(moment) => {
                // From outside there is no message to stay behind: all up to that moment.
                self.first_after(*moment)?.min(newest_prompt)
            }
            edge => self.place(edge)?,
        };
        let first = match &frame.begun {
            Edge::Moment(moment) => self.first_after(*moment)?,
            // What is no longer there was summarised away; the rest of the span begins behind that.
            edge => match self.place(edge) {
                Some(place) => place + 1,
                None if start > 0 => start,
                None => return None,
            },
        };
        let first = first.max(start);
        let last = if frame.patient {
            last.min(newest_prompt)
        } else {
            last
        };
        (first < last).then_some(first..last)
    }

    fn place(&self, edge: &Edge) -> Option<usize> {
        let places = match edge {
            Edge::Message(id) => self.messages.get(id),
            Edge::Call(id) => self.calls.get(id),
            Edge::Moment(_) => None,
        };
        places?.last().copied()
    }

    /// The first message that began after a moment; the end, if none did, and nothing where the
    /// host does not say when its messages began.
    fn first_after(&self, moment: Timestamp) -> Option<usize> {
        let found = || self.latest.partition_point(|latest| *latest <= moment);
        self.untimed.is_empty().then(found)
    }
}

impl FromIterator<Leaf> for Leaves {
    fn from_iter<I: IntoIterator<Item = Leaf>>(all: I) -> Self {
        let mut leaves = Self::default();
        for leaf in all {
            leaves.push(leaf);
        }
        leaves
    }
}

/// Forgets the last bearer of a name.
fn forget(named: &mut Named, name: &str) {
    if let Some(places) = named.get_mut(name) {
        places.pop();
        if places.is_empty() {
            named.remove(name);
        }
    }
}

#[cfg(test)]
mod tests;
