//! What a parent needs of a finished subagent.
use std::collections::{BTreeSet, HashMap};

use flamestack_core::anchor::moment::of_thread;
use flamestack_core::anchor::name::NameKind;
use flamestack_core::anchor::scan::names;
use flamestack_core::transcript::{Entry, What};

use crate::judge::{Interned, Need};

/// A finished subagent and what its parent used of it.
pub struct Pop {
    pub prompt: String,
    pub entries: Vec<Entry>,
    pub need: Need,
    pub known: BTreeSet<u32>,
    pub result: String,
}

pub fn pops(entries: &[Entry]) -> (Vec<Pop>, Interned) {
    let mut interned = Interned::default();
    let everything = of_thread(entries.iter().enumerate());
    for m in &everything {
        names(&m.text, &mut |kind, text| {
            if kind == NameKind::Path {
                interned.learn(text)
            }
        });
        for p in m.paths {
            interned.learn(p);
        }
    }
    let found: HashMap<usize, (BTreeSet<u32>, bool)> = everything
        .iter()
        .map(|m| {
            let mut f = interned.of(&m.text);
            for p in m.paths {
                f.insert(interned.id(NameKind::Path, p));
            }
            (m.entry, (f, m.source.by_model()))
        })
        .collect();
    let mut out = Vec::new();
    for (si, entry) in entries.iter().enumerate() {
        let What::SubagentEnded { id, text, .. } = &entry.what else {
            continue;
        };
        let of: Vec<usize> = entries
            .iter()
            .enumerate()
            .filter(|(_, e)| e.agent.as_deref() == Some(id))
            .map(|(i, _)| i)
            .collect();
        if of
            .iter()
            .filter(|i| matches!(entries[**i].what, What::Call(_)))
            .count()
            < 5
            || text.chars().count() < 200
        {
            continue;
        }
        let (mut prompt, mut call) = (String::new(), None);
        for e in entries {
            if let What::SubagentStarted {
                id: s,
                prompt: p,
                call: c,
                ..
            } = &e.what
                && s == id
            {
                prompt.clone_from(p);
                call.clone_from(c);
            }
        }
        let is_own = |e: &Entry| match &e.what {
            What::Call(c) => Some(&c.id) == call.as_ref(),
            What::Answer(a) => Some(&a.call) == call.as_ref(),
            _ => false,
        };
        let mut before = BTreeSet::new();
        for i in 0..si {
            if entries[i].agent.is_none()
                && !is_own(&entries[i])
                && let Some((f, _)) = found.get(&i)
            {
                before.extend(f.iter().copied());
            }
        }
        let mut new: BTreeSet<u32> = of
            .iter()
            .filter_map(|i| found.get(i))
            .flat_map(|(f, _)| f.iter().copied())
            .collect();
        new.extend(interned.of(text));
        let new: BTreeSet<u32> = new.difference(&before).copied().collect();
        let (mut outside, mut need, mut calls) = (BTreeSet::new(), BTreeSet::new(), 0);
        for i in si + 1..entries.len() {
            let e = &entries[i];
            if e.agent.is_some() || is_own(e) {
                continue;
            }
            let Some((f, model)) = found.get(&i) else {
                continue;
            };
            if *model {
                need.extend(
                    f.iter()
                        .copied()
                        .filter(|n| new.contains(n) && !outside.contains(n)),
                );
                if matches!(e.what, What::Call(_)) {
                    calls += 1;
                    if calls >= 60 {
                        break;
                    }
                }
            } else {
                outside.extend(f.iter().copied());
            }
        }
        if need.len() < 3 {
            continue;
        }
        out.push(Pop {
            prompt,
            known: before,
            result: text.clone(),
            entries: of.iter().map(|i| entries[*i].clone()).collect(),
            need: Need {
                names: need,
                old: BTreeSet::new(),
                phrases: Default::default(),
                prompts: Vec::new(),
            },
        });
    }
    (out, interned)
}
