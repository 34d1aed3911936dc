//! What a parent needs of a finished subagent.

use std::collections::BTreeSet;

use flamestack_core::anchor::moment::of_thread;
use flamestack_core::anchor::name::NameKind;
use flamestack_core::transcript::{Entry, What};

use crate::interned::Interned;
use crate::need::{Need, Score};

/// So many calls of the parent count.
const HORIZON: usize = 60;
/// A subagent with fewer calls has nothing to fold.
const FEWEST_CALLS: usize = 5;
/// A shorter answer needs no folding (in characters).
const SHORTEST_ANSWER: usize = 200;
/// With fewer names a subagent says nothing.
const FEWEST_NAMES: usize = 3;

/// A finished subagent and what its parent used of it.
#[derive(Debug)]
pub struct Pop {
    /// What was said and done in it, its answer last.
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
    let mut interned = Interned::default();
    let moments = of_thread(entries.iter().enumerate());
    for moment in &moments {
        interned.learn_all(&moment.text);
        moment.paths.iter().for_each(|path| interned.learn(path));
    }
    let mut found: Vec<Option<(BTreeSet<u32>, bool)>> = vec![None; entries.len()];
    for moment in &moments {
        let mut names = interned.all(&moment.text);
        let paths = moment.paths.iter();
        names.extend(paths.map(|path| interned.number(NameKind::Path, path)));
        if let Some(place) = found.get_mut(moment.entry) {
            *place = Some((names, moment.source.by_model()));
        }
    }
    let all = entries
        .iter()
        .enumerate()
        .filter_map(|(at, entry)| match &entry.what {
            What::SubagentEnded { id, text, .. } => {
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
    // Some records mark the ids of subagents, and not everywhere.
    let bare = |id: &'_ str| id.strip_prefix("sub:").unwrap_or(id).to_owned();
    let wanted = bare(id);
    let inside = |entry: &Entry| entry.agent.as_deref().map(bare).as_ref() == Some(&wanted);
    let is_call = |entry: &Entry| matches!(entry.what, What::Call(_));
    let calls = entries.iter().filter(|e| inside(e) && is_call(e)).count();
    if calls < FEWEST_CALLS || answer.chars().count() < SHORTEST_ANSWER {
        return None;
    }
    let (mut prompt, mut began) = ("", None);
    for entry in entries {
        if let What::SubagentStarted {
            id: started,
            prompt: told,
            call,
            ..
        } = &entry.what
            && started == id
        {
            prompt = told;
            began = call.as_deref();
        }
    }
    // The call that began it and its answer are the subagent itself.
    let own = |entry: &Entry| match &entry.what {
        What::Call(call) => Some(call.id.as_str()) == began,
        What::Answer(answer) => Some(answer.call.as_str()) == began,
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
    let mut told: BTreeSet<u32> = BTreeSet::new();
    let mut calls = 0;
    for (at, entry) in entries.iter().enumerate().skip(end + 1) {
        if entry.agent.is_some() || own(entry) {
            continue;
        }
        let Some((names, by_model)) = names_of(at) else {
            continue;
        };
        if !by_model {
            told.extend(names);
            continue;
        }
        let needed =
            |name: &&u32| new.contains(name) && !known.contains(name) && !told.contains(name);
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
    let said = |what: What| Entry {
        id: None,
        message: None,
        at: None,
        agent: None,
        what,
    };
    let mut own_entries = vec![said(What::User {
        voice: flamestack_core::transcript::Voice::Host,
        text: prompt.to_owned(),
    })];
    own_entries.extend(entries.iter().filter(|entry| inside(entry)).cloned());
    own_entries.push(said(What::Assistant {
        text: answer.to_owned(),
    }));
    Some(Pop {
        entries: own_entries,
        need,
        known,
    })
}

impl Pops {
    /// How much of what the parent of a subagent needed a text supplies.
    pub fn score(&self, pop: &Pop, text: &str) -> Score {
        let mut score = Score::default();
        pop.need.score_names(text, &self.interned, &mut score);
        score
    }
}
