//! Which messages of a conversation leave the prompt, because the work they held is finished.
//!
//! A frame that was pushed and popped inside a conversation is a span of messages. Once it is
//! finished, the whole messages strictly between the one that holds the push and the one that holds
//! the pop are left out: the pop's own answer carries the results. What the user said stays.
//!
//! The answer follows from recorded spans and the list of messages alone, so a prompt that was
//! folded once is folded the same way ever after. Putting it into effect is a host's business.

use std::collections::{BTreeMap, BTreeSet};

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

/// What is left out, and what is put in its place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folding {
    /// Messages to leave out, in order.
    pub dropped: Vec<String>,
    /// Frames whose results no message carries, each with the message it belongs in front of.
    pub untold: Vec<(FrameId, String)>,
}

/// Folds a conversation. `finished` is in the order in which the frames ended.
pub fn fold(leaves: &[Leaf], finished: &[Finished]) -> Folding {
    let places = Places::of(leaves);
    let mut dropped: BTreeSet<usize> = BTreeSet::new();
    let mut untold = Vec::new();
    for frame in finished {
        let Some((first, last)) = places.between(leaves, frame) else {
            continue;
        };
        let within = first..last;
        let leaving = within.filter(|place| {
            leaves
                .get(*place)
                .is_some_and(|leaf| !matches!(leaf.kind, LeafKind::Person | LeafKind::Summary))
        });
        let before = dropped.len();
        dropped.extend(leaving);
        if !frame.told
            && dropped.len() > before
            && let Some(next) = leaves.get(last)
        {
            untold.push((frame.frame.clone(), next.id.clone()));
        }
    }
    let kept_in_front = |(frame, before): (FrameId, String)| {
        // The message that a text belongs in front of may itself have gone with another frame.
        let place = places.messages.get(before.as_str()).copied()?;
        let place = (place..leaves.len()).find(|place| !dropped.contains(place))?;
        Some((frame, leaves.get(place)?.id.clone()))
    };
    let untold = untold.into_iter().filter_map(kept_in_front).collect();
    let dropped = dropped
        .iter()
        .filter_map(|place| leaves.get(*place))
        .map(|leaf| leaf.id.clone())
        .collect();
    Folding { dropped, untold }
}

/// Where things are in a list of messages.
struct Places<'a> {
    messages: BTreeMap<&'a str, usize>,
    calls: BTreeMap<&'a str, usize>,
    /// Behind the last summary.
    start: usize,
    /// The newest message of a person.
    newest_prompt: usize,
}

impl<'a> Places<'a> {
    fn of(leaves: &'a [Leaf]) -> Self {
        let mut places = Self {
            messages: BTreeMap::new(),
            calls: BTreeMap::new(),
            start: 0,
            newest_prompt: 0,
        };
        for (place, leaf) in leaves.iter().enumerate() {
            places.messages.insert(&leaf.id, place);
            for call in &leaf.calls {
                places.calls.insert(call, place);
            }
            match leaf.kind {
                LeafKind::Summary => places.start = place + 1,
                LeafKind::Person => places.newest_prompt = place,
                LeafKind::Host | LeafKind::Model => {}
            }
        }
        places
    }

    /// The messages strictly inside a span: from the first one to just before the end.
    fn between(&self, leaves: &[Leaf], frame: &Finished) -> Option<(usize, usize)> {
        let last = match &frame.ended {
            Edge::Moment(moment) => {
                // From outside there is no message to stay behind: all up to that moment.
                first_after(leaves, *moment)?.min(self.newest_prompt)
            }
            edge => self.place(edge)?,
        };
        let first = match &frame.begun {
            Edge::Moment(moment) => first_after(leaves, *moment)?,
            // What is no longer there was summarised away; the rest of the span begins behind that.
            edge => match self.place(edge) {
                Some(place) => place + 1,
                None if self.start > 0 => self.start,
                None => return None,
            },
        };
        let first = first.max(self.start);
        let last = if frame.patient {
            last.min(self.newest_prompt)
        } else {
            last
        };
        (first < last).then_some((first, last))
    }

    fn place(&self, edge: &Edge) -> Option<usize> {
        match edge {
            Edge::Message(id) => self.messages.get(id.as_str()).copied(),
            Edge::Call(id) => self.calls.get(id.as_str()).copied(),
            Edge::Moment(_) => None,
        }
    }
}

/// The first message that began after a moment; the end, if none did, and nothing where the host
/// does not say when its messages began.
fn first_after(leaves: &[Leaf], moment: Timestamp) -> Option<usize> {
    leaves.iter().all(|leaf| leaf.at.is_some()).then(|| {
        leaves
            .iter()
            .position(|leaf| leaf.at.is_some_and(|at| at > moment))
            .unwrap_or(leaves.len())
    })
}

#[cfg(test)]
mod tests;
