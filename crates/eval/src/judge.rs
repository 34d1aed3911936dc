//! What was needed after a cut, and how much of it a text supplies.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use flamestack_core::anchor::moment::{Moment, of_thread};
use flamestack_core::anchor::name::{NameKind, key, path_key};
use flamestack_core::anchor::scan::names;
use flamestack_core::transcript::{Entry, Voice, What};

pub const HORIZON: usize = 40;
pub const OLD: usize = 25;
pub const PLACES: [f64; 3] = [0.4, 0.6, 0.8];

/// Interns names.
#[derive(Default)]
pub struct Interned {
    ids: HashMap<(NameKind, String), u32>,
    pub keys: Vec<(NameKind, String)>,
    base: HashMap<String, BTreeSet<String>>,
}

impl Interned {
    pub fn learn(&mut self, path: &str) {
        let k = path_key(path);
        if let Some((_, name)) = k.rsplit_once('/') {
            self.base
                .entry(name.to_owned())
                .or_default()
                .insert(k.to_owned());
        }
    }
    pub fn path(&self, path: &str) -> String {
        let k = path_key(path);
        if !k.contains('/')
            && let Some(known) = self.base.get(k)
            && known.len() == 1
            && let Some(only) = known.first()
        {
            return only.clone();
        }
        k.to_owned()
    }
    pub fn id(&mut self, kind: NameKind, text: &str) -> u32 {
        let k = if kind == NameKind::Path {
            self.path(text)
        } else {
            key(kind, text).to_owned()
        };
        let next = self.keys.len() as u32;
        let entry = self.ids.entry((kind, k.clone()));
        *entry.or_insert_with(|| {
            self.keys.push((kind, k));
            next
        })
    }
    pub fn find(&self, kind: NameKind, text: &str) -> Option<u32> {
        let k = if kind == NameKind::Path {
            self.path(text)
        } else {
            key(kind, text).to_owned()
        };
        self.ids.get(&(kind, k)).copied()
    }
    pub fn of(&mut self, text: &str) -> BTreeSet<u32> {
        let mut found = BTreeSet::new();
        let mut all = Vec::new();
        names(text, &mut |kind, name| all.push((kind, name)));
        for (kind, name) in all {
            found.insert(self.id(kind, name));
        }
        found
    }
}

pub fn words(text: &str) -> impl Iterator<Item = &[u8]> {
    text.as_bytes()
        .split(|b| !(b.is_ascii_alphanumeric() || *b == b'_'))
        .filter(|w| !w.is_empty())
}
pub fn fnv(bytes: &[u8]) -> u64 {
    let mut h = 0xcbf2_9ce4_8422_2325u64;
    for b in bytes {
        h = (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3);
    }
    h
}
pub fn grams(text: &str) -> Vec<u64> {
    let mut last = [0u64; 4];
    let mut n = 0;
    let mut out = Vec::new();
    for w in words(text) {
        last = [last[1], last[2], last[3], fnv(w)];
        n += 1;
        if n >= 4 {
            let mut h = 0u64;
            for l in last {
                h = (h.rotate_left(23) ^ l).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            }
            out.push(h);
        }
    }
    out
}

/// A recorded session made ready.
pub struct Ready<'a> {
    /// Main-thread entries: (index in entries).
    pub main: Vec<usize>,
    pub entries: &'a [Entry],
    pub moments: Vec<Moment<'a>>,
    /// main index → moment
    pub moment_of: Vec<Option<usize>>,
    pub names: Vec<BTreeSet<u32>>,
    pub grams: Vec<Vec<u64>>,
    pub interned: Interned,
}

pub fn is_call(entry: &Entry) -> bool {
    matches!(entry.what, What::Call(_))
}

pub fn ready(entries: &[Entry]) -> Ready<'_> {
    let main: Vec<usize> = entries
        .iter()
        .enumerate()
        .filter(|(_, e)| e.agent.is_none())
        .map(|(i, _)| i)
        .collect();
    let moments = of_thread(
        entries
            .iter()
            .enumerate()
            .filter(|(_, e)| e.agent.is_none()),
    );
    let mut interned = Interned::default();
    for m in &moments {
        names(&m.text, &mut |kind, text| {
            if kind == NameKind::Path {
                interned.learn(text)
            }
        });
        for p in m.paths {
            interned.learn(p);
        }
    }
    let mut all = Vec::new();
    for m in &moments {
        let mut found = interned.of(&m.text);
        for p in m.paths {
            found.insert(interned.id(NameKind::Path, p));
        }
        all.push(found);
    }
    let by_entry: HashMap<usize, usize> = moments
        .iter()
        .enumerate()
        .map(|(n, m)| (m.entry, n))
        .collect();
    let moment_of = main.iter().map(|e| by_entry.get(e).copied()).collect();
    let grams = moments.iter().map(|m| grams(&m.text)).collect();
    Ready {
        main,
        entries,
        moments,
        moment_of,
        names: all,
        grams,
        interned,
    }
}

#[derive(Clone, Debug)]
pub struct Cut<'a> {
    pub at: usize,
    pub resume: usize,
    pub end: usize,
    pub summary: Option<&'a str>,
}

impl<'a> Ready<'a> {
    fn entry(&self, main: usize) -> &'a Entry {
        &self.entries[self.main[main]]
    }
    fn source_is_model(&self, main: usize) -> Option<bool> {
        self.moment_of[main].map(|m| self.moments[m].source.by_model())
    }
    pub fn cuts(&self, real: bool) -> Vec<Cut<'a>> {
        let n = self.main.len();
        let compactions: Vec<usize> = (0..n)
            .filter(|i| matches!(self.entry(*i).what, What::Compacted { .. }))
            .collect();
        let calls: Vec<usize> = (0..n).filter(|i| is_call(self.entry(*i))).collect();
        let mut cuts = Vec::new();
        if real {
            for (k, i) in compactions.iter().enumerate() {
                let What::Compacted {
                    summary: Some(s), ..
                } = &self.entry(*i).what
                else {
                    continue;
                };
                if s.chars().count() < 400 {
                    continue;
                }
                let limit = compactions.get(k + 1).copied().unwrap_or(n);
                let future: Vec<usize> = calls
                    .iter()
                    .copied()
                    .filter(|j| j > i && *j < limit)
                    .take(HORIZON)
                    .collect();
                if future.len() >= 8 {
                    cuts.push(Cut {
                        at: *i,
                        resume: i + 1,
                        end: future[future.len() - 1] + 1,
                        summary: Some(s),
                    });
                }
            }
        } else {
            let limit = compactions.first().copied().unwrap_or(n);
            let calls: Vec<usize> = calls.into_iter().filter(|c| *c < limit).collect();
            if calls.len() < 60 {
                return cuts;
            }
            let mut starts = Vec::new();
            let mut before = false;
            for i in 0..limit {
                if let Some(model) = self.source_is_model(i) {
                    if model && !before {
                        starts.push(i)
                    }
                    before = model;
                }
            }
            for place in PLACES {
                let t = calls[(calls.len() as f64 * place) as usize];
                let Some(at) = starts.iter().copied().find(|s| *s >= t) else {
                    continue;
                };
                let future: Vec<usize> = calls
                    .iter()
                    .copied()
                    .filter(|c| *c >= at)
                    .take(HORIZON)
                    .collect();
                if future.len() >= 10 {
                    cuts.push(Cut {
                        at,
                        resume: at,
                        end: future[future.len() - 1] + 1,
                        summary: None,
                    });
                }
            }
        }
        cuts
    }
    pub fn history(&self, cut: &Cut<'_>) -> Vec<Entry> {
        let end = self.main[cut.at];
        self.entries[..end].to_vec()
    }
    pub fn need(&self, cut: &Cut<'_>) -> Need {
        let mut known = HashSet::new();
        let mut last: HashMap<u32, usize> = HashMap::new();
        let mut calls = 0;
        let mut history = HashSet::new();
        let mut prompts = Vec::new();
        for i in 0..cut.at {
            calls += usize::from(is_call(self.entry(i)));
            if let What::User {
                voice: Voice::Person,
                text,
            } = &self.entry(i).what
            {
                prompts.push(text.clone());
            }
            let Some(m) = self.moment_of[i] else { continue };
            for n in &self.names[m] {
                known.insert(*n);
                last.insert(*n, calls);
            }
            history.extend(self.grams[m].iter().copied());
        }
        let mut outside = HashSet::new();
        let mut names = BTreeSet::new();
        let mut ours = String::new();
        let mut theirs = String::new();
        for i in cut.resume..cut.end {
            let Some(m) = self.moment_of[i] else { continue };
            let moment = &self.moments[m];
            if moment.source.by_model() {
                for n in &self.names[m] {
                    if known.contains(n) && !outside.contains(n) {
                        names.insert(*n);
                    }
                }
                ours.push_str(&moment.text);
                ours.push('\n');
            } else {
                outside.extend(self.names[m].iter().copied());
                theirs.push_str(&moment.text);
                theirs.push('\n');
            }
        }
        let theirs: HashSet<u64> = grams(&theirs).into_iter().collect();
        let phrases: HashSet<u64> = grams(&ours)
            .into_iter()
            .filter(|g| history.contains(g) && !theirs.contains(g))
            .collect();
        let old = names
            .iter()
            .copied()
            .filter(|n| calls - last.get(n).copied().unwrap_or(calls) > OLD)
            .collect();
        let prompts = prompts.split_off(prompts.len().saturating_sub(12));
        Need {
            names,
            old,
            phrases,
            prompts,
        }
    }
}

#[derive(Debug)]
pub struct Need {
    pub names: BTreeSet<u32>,
    pub old: BTreeSet<u32>,
    pub phrases: HashSet<u64>,
    pub prompts: Vec<String>,
}

#[derive(Clone, Debug, Default)]
pub struct Score {
    pub frr: Option<f64>,
    pub old: Option<f64>,
    pub n4r: Option<f64>,
    pub directive: Option<f64>,
    pub precision: Option<f64>,
}

const STOP: &str = "the a an and or but in on at to for of with by from as is was are were been be have has had do does did will would could should may might must shall can need this that these those it its i you he she we they";
pub fn keywords(text: &str) -> BTreeSet<String> {
    let stop: HashSet<&str> = STOP.split(' ').collect();
    text.to_lowercase()
        .split(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit()))
        .filter(|w| w.len() > 2 && !stop.contains(w))
        .map(str::to_owned)
        .collect()
}

pub fn clip(text: &str, budget: usize) -> &str {
    match text.char_indices().nth(budget * 4) {
        Some((at, _)) => &text[..at],
        None => text,
    }
}

pub fn score(text: &str, need: &Need, interned: &Interned) -> Score {
    let mut score = Score::default();
    if need.names.len() >= 5 {
        let mut there = HashSet::new();
        let mut distinct = HashSet::new();
        names(text, &mut |kind, name| {
            distinct.insert((kind, key(kind, name).to_owned()));
            if let Some(id) = interned.find(kind, name) {
                there.insert(id);
            }
        });
        for id in &need.names {
            let (k, t) = &interned.keys[*id as usize];
            if *k == NameKind::Path && text.contains(t.as_str()) {
                there.insert(*id);
            }
        }
        let share = |set: &BTreeSet<u32>| {
            set.iter().filter(|n| there.contains(n)).count() as f64 / set.len() as f64
        };
        score.frr = Some(share(&need.names));
        score.precision = Some(
            need.names.iter().filter(|n| there.contains(n)).count() as f64
                / distinct.len().max(1) as f64,
        );
        if !need.old.is_empty() {
            score.old = Some(share(&need.old));
        }
        let have = keywords(text);
        let kept: Vec<f64> = need
            .prompts
            .iter()
            .map(|p| keywords(p))
            .filter(|k| k.len() >= 4)
            .map(|k| k.intersection(&have).count() as f64 / k.len() as f64)
            .collect();
        if !kept.is_empty() {
            score.directive = Some(kept.iter().sum::<f64>() / kept.len() as f64);
        }
    }
    if need.phrases.len() >= 20 {
        let have: HashSet<u64> = grams(text).into_iter().collect();
        score.n4r = Some(
            need.phrases.iter().filter(|g| have.contains(g)).count() as f64
                / need.phrases.len() as f64,
        );
    }
    score
}

#[derive(Default, Debug)]
pub struct Mean {
    sums: BTreeMap<&'static str, (f64, usize)>,
}
impl Mean {
    pub fn add(&mut self, s: &Score) {
        for (k, v) in [
            ("frr", s.frr),
            ("old", s.old),
            ("n4r", s.n4r),
            ("dir", s.directive),
            ("prec", s.precision),
        ] {
            if let Some(v) = v {
                let e = self.sums.entry(k).or_default();
                e.0 += v;
                e.1 += 1;
            }
        }
    }
    pub fn get(&self, k: &str) -> f64 {
        self.sums.get(k).map_or(0.0, |(s, n)| s / *n as f64)
    }
    pub fn line(&self) -> String {
        let (o, n) = (self.get("old"), self.get("n4r"));
        format!(
            "frr {:.3} old {:.3} n4r {:.3} dir {:.3} prec {:.3} H {:.3} ({})",
            self.get("frr"),
            o,
            n,
            self.get("dir"),
            self.get("prec"),
            2.0 * o * n / (o + n).max(1e-9),
            self.sums.get("n4r").map_or(0, |x| x.1)
        )
    }
}
