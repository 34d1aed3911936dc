//! Ranking of the finished siblings of a frame by how much it needs them, scored as nDCG@5: the
//! gain of the first five against that of the best five.

use std::collections::{BTreeMap, BTreeSet};

use flamestack_core::frame::{Frame, Origin, Status};
use flamestack_core::id::{FrameId, Seq, Timestamp};
use flamestack_core::note::Note;
use flamestack_core::text::{Text, Title};
use flamestack_core::transcript::{CallKind, EntryKind, Speaker};
use flamestack_extract::relevance::Query;

use crate::recording::Recording;

/// A frame with fewer earlier ones has nothing to rank.
const FEWEST: usize = 4;
/// With fewer calls a frame needs nothing.
const FEWEST_CALLS: usize = 3;
/// With fewer names a frame needs nothing.
const FEWEST_NAMES: usize = 2;
/// Number of calls before a frame whose names the model still has in its prompt.
const TAIL: usize = 10;
/// Number of ranked frames that count.
const DEPTH: usize = 5;
/// Length of the title, criteria and results that are shown, in characters.
const SHOWN: (usize, usize, usize) = (80, 400, 800);

/// A prompt and what became of it.
struct Turn<'a> {
    start: usize,
    goal: &'a str,
    said: &'a str,
    files: Vec<&'a str>,
    /// Names in the model's own words.
    names: BTreeSet<u32>,
}

/// Quality of the ranking of a session's frames for each frame after them.
pub fn rankings(recording: &Recording<'_>) -> Vec<f64> {
    let turns = turns(recording);
    let mut spread: BTreeMap<u32, usize> = BTreeMap::new();
    for name in turns.iter().flat_map(|turn| &turn.names) {
        *spread.entry(*name).or_default() += 1;
    }
    let weight = |name: &u32| {
        let met = spread.get(name).copied().unwrap_or(1).max(1);
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let share = turns.len() as f64 / met as f64;
        share.ln_1p()
    };
    let shown: Vec<BTreeSet<u32>> = turns
        .iter()
        .map(|turn| recording.interned.present(&turn.shown()).known)
        .collect();
    let mut found = Vec::new();
    for (number, turn) in turns.iter().enumerate().skip(FEWEST) {
        let end = turns.get(number + 1).map(|next| next.start);
        let need = needed(recording, turn.start, end.unwrap_or(recording.thread.len()));
        let gains: Vec<f64> = shown
            .iter()
            .take(number)
            .map(|shown| need.intersection(shown).map(weight).sum())
            .collect();
        if need.len() < FEWEST_NAMES || gains.iter().sum::<f64>() == 0.0 {
            continue;
        }
        let interest = Query::of(&turn.frame(Status::InProgress));
        let mut comparison = interest.comparison();
        let mut order: Vec<(i64, usize)> = turns
            .iter()
            .take(number)
            .map(|other| comparison.with(&other.frame(Status::Completed)).score)
            .zip(0..)
            .collect();
        order.sort_unstable_by(|a, b| b.cmp(a));
        let ours = order.iter().filter_map(|(_, at)| gains.get(*at).copied());
        let mut best = gains.clone();
        best.sort_unstable_by(|a, b| b.total_cmp(a));
        found.push(discounted(ours) / discounted(best.into_iter()));
    }
    found
}

fn discounted(gains: impl Iterator<Item = f64>) -> f64 {
    let places = gains.take(DEPTH).zip(2u32..);
    places
        .map(|(gain, place)| gain / f64::from(place).log2())
        .sum()
}

fn turns<'a>(recording: &Recording<'a>) -> Vec<Turn<'a>> {
    let mut turns: Vec<Turn<'a>> = Vec::new();
    for at in 0..recording.thread.len() {
        let Some(entry) = recording.entry(at) else {
            continue;
        };
        let prompt = match &entry.kind {
            EntryKind::User {
                speaker: Speaker::Person | Speaker::Slash,
                text,
            } if !text.trim().is_empty() => Some(text.as_str()),
            _ => None,
        };
        if prompt.is_some() || turns.is_empty() {
            turns.push(Turn {
                start: at,
                goal: prompt.unwrap_or_default(),
                said: "",
                files: Vec::new(),
                names: BTreeSet::new(),
            });
        }
        let Some(turn) = turns.last_mut() else {
            continue;
        };
        match &entry.kind {
            EntryKind::Assistant { text } => turn.said = text,
            EntryKind::Call(call) if matches!(call.kind, CallKind::Edit | CallKind::Write) => {
                for path in &call.paths {
                    if !turn.files.contains(&path.as_str()) {
                        turn.files.push(path);
                    }
                }
            }
            _ => {}
        }
        let utterance = recording.utterance(at);
        let ours = utterance.filter(|number| {
            let utterance = recording.utterances.get(*number);
            utterance.is_some_and(|utterance| utterance.source.by_model())
        });
        let names = ours.and_then(|number| recording.names.get(number));
        turn.names.extend(names.into_iter().flatten());
    }
    turns
}

/// The names that a frame used before anything repeated them, and that were neither in its prompt
/// nor met just before.
fn needed(recording: &Recording<'_>, start: usize, end: usize) -> BTreeSet<u32> {
    let names_at = |at: usize| {
        let utterance = recording.utterance(at);
        let names = utterance.and_then(|utterance| recording.names.get(utterance));
        names.into_iter().flatten().copied()
    };
    let is_call = |at: usize| {
        matches!(
            recording.entry(at).map(|it| &it.kind),
            Some(EntryKind::Call(_))
        )
    };
    let mut need = BTreeSet::new();
    if (start..end).filter(|at| is_call(*at)).count() < FEWEST_CALLS {
        return need;
    }
    let known: BTreeSet<u32> = (0..=start).flat_map(names_at).collect();
    let mut near: BTreeSet<u32> = names_at(start).collect();
    let mut calls = 0;
    for at in (0..start).rev() {
        near.extend(names_at(at));
        calls += usize::from(is_call(at));
        if calls >= TAIL {
            break;
        }
    }
    let mut repeated = BTreeSet::new();
    for at in start + 1..end {
        let utterance = recording.utterance(at);
        let utterance = utterance.and_then(|number| recording.utterances.get(number));
        if utterance.is_some_and(|utterance| utterance.source.by_model()) {
            let new = |name: &u32| known.contains(name) && !repeated.contains(name);
            need.extend(names_at(at).filter(new));
        } else {
            repeated.extend(names_at(at));
        }
    }
    need.retain(|name| !near.contains(name) && recording.interned.is_measured(*name));
    need
}

impl Turn<'_> {
    fn title(&self) -> String {
        let line = self.goal.trim().lines().next().unwrap_or_default();
        beginning(line, SHOWN.0)
    }

    /// Returns the text that a reader would see.
    fn shown(&self) -> String {
        let (criteria, said) = (beginning(self.goal, SHOWN.1), beginning(self.said, SHOWN.2));
        let files = self.files.join(", ");
        format!("{}\n{criteria}\n{said}\n{files}", self.title())
    }

    fn frame(&self, status: Status) -> Frame {
        let prose = |text: String| (!text.is_empty()).then(|| Text::recorded(text));
        let files = self.files.iter().map(|path| (*path).to_owned());
        let id = FrameId::from_entropy(self.start as u64);
        Frame {
            status,
            origin: Origin::Prompt,
            criteria: prose(beginning(self.goal, SHOWN.1)),
            results: prose(beginning(self.said, SHOWN.2)),
            notes: files.map(Text::recorded).map(Note::Artifact).collect(),
            changed: Seq(1),
            ..Frame::new(id, Title::recorded(self.title()), Timestamp(0))
        }
    }
}

fn beginning(text: &str, characters: usize) -> String {
    text.chars().take(characters).collect()
}
