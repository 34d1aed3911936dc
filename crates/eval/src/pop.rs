//! Measures the quality of pops: how many of the facts that a parent needs after a subagent has finished
//! are in the result of the subagent.

use std::collections::BTreeSet;

use flamestack_core::transcript::{Entry, EntryKind};
use flamestack_extract::lex::NameKind;
use flamestack_extract::utterance::utterances_of;

use crate::interned::Interned;
use crate::need::{Need, Score};

/// Number of calls of the parent that count.
const HORIZON: usize = 60;
/// Minimum number of calls of a subagent that is worth folding.
const FEWEST_CALLS: usize = 5;
/// Minimum length of an answer that is worth folding, in characters.
const SHORTEST_ANSWER: usize = 200;
/// Minimum number of names for a meaningful figure.
const FEWEST_NAMES: usize = 3;

/// A finished subagent and the facts that its parent used.
#[derive(Debug)]
pub struct Pop {
    /// Its transcript, with its answer last.
    pub entries: Vec<Entry>,
    pub(crate) need: Need,
    pub(crate) known: BTreeSet<u32>,
}

/// The finished subagents of a session.
#[derive(Debug)]
pub struct Pops {
    /// One by one, in the order in which they ended.
    pub all: Vec<Pop>,
    pub(crate) interned: Interned,
}

/// Finds the finished subagents of a session.
pub fn pops(entries: &[Entry]) -> Pops {
    let utterances = utterances_of(entries.iter().enumerate());
    let (mut interned, names) = Interned::of(&utterances);
    let mut found: Vec<Option<(BTreeSet<u32>, bool)>> = vec![None; entries.len()];
    for (utterance, names) in utterances.iter().zip(names) {
        if let Some(place) = found.get_mut(utterance.entry) {
            *place = Some((names, utterance.source.by_model()));
        }
    }
    let all = entries
        .iter()
        .enumerate()
        .filter_map(|(at, entry)| match &entry.kind {
            EntryKind::SubagentEnded { id, text, .. } => {
                pop(entries, at, id, text, &found, &mut interned)
            }
            _ => None,
        })
        .collect();
    Pops { all, interned }
}

fn pop(
    entries: &[Entry],
    end: usize,
    id: &str,
    answer: &str,
    found: &[Option<(BTreeSet<u32>, bool)>],
    interned: &mut Interned,
) -> Option<Pop> {
    let names_of = |at: usize| found.get(at).and_then(Option::as_ref);
    // Some recordings prefix the ids of subagents, but not everywhere.
    let bare = |id: &'_ str| id.strip_prefix("sub:").unwrap_or(id).to_owned();
    let wanted = bare(id);
    let inside = |entry: &Entry| entry.agent.as_deref().map(bare).as_ref() == Some(&wanted);
    let is_call = |entry: &Entry| matches!(entry.kind, EntryKind::Call(_));
    let calls = entries.iter().filter(|e| inside(e) && is_call(e)).count();
    if calls < FEWEST_CALLS || answer.chars().count() < SHORTEST_ANSWER {
        return None;
    }
    let (mut prompt, mut began) = ("", None);
    for entry in entries {
        if let EntryKind::SubagentStarted {
            id: started,
            prompt: given,
            call,
            ..
        } = &entry.kind
            && started == id
        {
            prompt = given;
            began = call.as_deref();
        }
    }
    // The call that began it and its answer are the subagent itself.
    let own = |entry: &Entry| match &entry.kind {
        EntryKind::Call(call) => Some(call.id.as_str()) == began,
        EntryKind::Answer(answer) => Some(answer.call.as_str()) == began,
        _ => false,
    };
    let mut known = BTreeSet::new();
    let mut new = interned.all(answer);
    for (at, entry) in entries.iter().enumerate() {
        let Some((names, _)) = names_of(at) else {
            continue;
        };
        if inside(entry) {
            new.extend(names);
        } else if at < end && entry.agent.is_none() && !own(entry) {
            known.extend(names.iter().copied());
        }
    }
    let mut need = Need::default();
    let mut repeated: BTreeSet<u32> = BTreeSet::new();
    let mut calls = 0;
    for (at, entry) in entries.iter().enumerate().skip(end + 1) {
        if entry.agent.is_some() || own(entry) {
            continue;
        }
        let Some((names, by_model)) = names_of(at) else {
            continue;
        };
        if !by_model {
            repeated.extend(names);
            continue;
        }
        let needed =
            |name: &&u32| new.contains(name) && !known.contains(name) && !repeated.contains(name);
        need.names.extend(names.iter().filter(needed));
        calls += usize::from(is_call(entry));
        if calls >= HORIZON {
            break;
        }
    }
    need.part(interned);
    if need.names.len() < FEWEST_NAMES {
        return None;
    }
    let mut own_entries = vec![Entry::from(EntryKind::User {
        speaker: flamestack_core::transcript::Speaker::Host,
        text: prompt.to_owned(),
    })];
    own_entries.extend(entries.iter().filter(|entry| inside(entry)).cloned());
    own_entries.push(Entry::from(EntryKind::Assistant {
        text: answer.to_owned(),
    }));
    Some(Pop {
        entries: own_entries,
        need,
        known,
    })
}

impl Pops {
    /// Returns true if the parent of a subagent needed a name from it, false if it did not, and
    /// nothing if the parent knew the name before.
    pub fn needs_name(&self, pop: &Pop, kind: NameKind, key: &str) -> Option<bool> {
        let number = self.interned.find(kind, key);
        if number.is_some_and(|number| pop.known.contains(&number)) {
            return None;
        }
        Some(number.is_some_and(|number| pop.need.has(number)))
    }

    /// Scores a text by the share of the parent's needs that it supplies.
    pub fn score(&self, pop: &Pop, text: &str) -> Score {
        let mut score = Score::default();
        pop.need.score_names(text, &self.interned, &mut score);
        score
    }
}
