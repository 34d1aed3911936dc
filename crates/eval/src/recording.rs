//! A recorded session prepared for measuring, and the positions at which it is cut.

use std::collections::BTreeSet;

use flamestack_core::transcript::{Entry, EntryKind};
use flamestack_extract::utterance::{Utterance, utterances};

use crate::interned::Interned;
use crate::words::phrases;

/// Number of calls after a cut that count.
pub const HORIZON: usize = 40;
/// Minimum number of calls of a session that is cut.
const SHORTEST: usize = 60;
/// Positions of the cuts, as shares of the calls before the first compaction.
const PLACES: [f64; 3] = [0.4, 0.6, 0.8];
/// Minimum length of a meaningful summary, in characters.
const SHORTEST_SUMMARY: usize = 400;

/// A recorded session.
pub struct Recording<'a> {
    /// The whole transcript.
    pub entries: &'a [Entry],
    /// The entries of the session's own thread.
    pub(crate) thread: Vec<usize>,
    pub(crate) utterances: Vec<Utterance<'a>>,
    /// For each entry of the thread, its utterance.
    pub(crate) utterance_of: Vec<Option<usize>>,
    pub(crate) names: Vec<BTreeSet<u32>>,
    pub(crate) phrases: Vec<Vec<u64>>,
    pub(crate) interned: Interned,
}

/// A position at which the work continued. Positions count the entries of the session's own thread.
#[derive(Clone, Debug)]
pub struct Cut<'a> {
    /// The first entry that is not known.
    pub at: usize,
    /// The first entry that counts: after the compaction, if there was one.
    pub resume: usize,
    /// One past the last entry that counts.
    pub end: usize,
    /// The host's summary, if it compacted here.
    pub summary: Option<&'a str>,
}

impl<'a> Recording<'a> {
    /// Prepares a session for measuring.
    pub fn new(entries: &'a [Entry]) -> Self {
        let thread: Vec<usize> = entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.agent.is_none())
            .map(|(number, _)| number)
            .collect();
        let utterances = utterances(entries);
        let (interned, names) = Interned::of(&utterances);
        let mut utterance_of = vec![None; thread.len()];
        let mut place = 0;
        for (number, utterance) in utterances.iter().enumerate() {
            while thread
                .get(place)
                .is_some_and(|entry| *entry < utterance.entry)
            {
                place += 1;
            }
            if let Some(known) = utterance_of.get_mut(place) {
                *known = Some(number);
            }
        }
        let phrases = utterances
            .iter()
            .map(|utterance| phrases(&utterance.text))
            .collect();
        Self {
            entries,
            thread,
            utterances,
            utterance_of,
            names,
            phrases,
            interned,
        }
    }

    /// The entry at a position of the thread.
    pub(crate) fn entry(&self, position: usize) -> Option<&'a Entry> {
        let number = self.thread.get(position)?;
        self.entries.get(*number)
    }

    /// The utterance at a position of the thread.
    pub(crate) fn utterance(&self, position: usize) -> Option<usize> {
        self.utterance_of.get(position).copied().flatten()
    }

    /// Returns the entries before a cut.
    pub fn before(&self, cut: &Cut<'_>) -> &'a [Entry] {
        let end = self.thread.get(cut.at).copied();
        let end = end.unwrap_or(self.entries.len());
        self.entries.get(..end).unwrap_or_default()
    }

    fn positions(&self, wanted: impl Fn(&EntryKind) -> bool) -> Vec<usize> {
        (0..self.thread.len())
            .filter(|at| self.entry(*at).is_some_and(|entry| wanted(&entry.kind)))
            .collect()
    }

    pub(crate) fn calls(&self) -> Vec<usize> {
        self.positions(|what| matches!(what, EntryKind::Call(_)))
    }

    fn compactions(&self) -> Vec<usize> {
        self.positions(|what| matches!(what, EntryKind::Compacted { .. }))
    }

    /// Returns the starts of model calls: the first entry by the model after one that is not.
    pub(crate) fn model_calls(&self) -> Vec<usize> {
        let mut starts = Vec::new();
        let mut before = false;
        for at in 0..self.thread.len() {
            let utterance = self
                .utterance(at)
                .and_then(|number| self.utterances.get(number));
            if let Some(utterance) = utterance {
                let by_model = utterance.source.by_model();
                if by_model && !before {
                    starts.push(at);
                }
                before = by_model;
            }
        }
        starts
    }

    /// Returns the number of calls.
    pub fn call_count(&self) -> usize {
        self.calls().len()
    }

    /// Returns true if there are enough calls for a meaningful figure.
    pub fn is_long(&self) -> bool {
        self.calls().len() >= SHORTEST
    }

    /// Cuts at fixed shares of the calls before the first compaction.
    pub fn cuts(&self) -> Vec<Cut<'a>> {
        let limit = self.compactions().first().copied();
        let limit = limit.unwrap_or(self.thread.len());
        let calls: Vec<usize> = self.calls().into_iter().filter(|at| *at < limit).collect();
        if calls.len() < SHORTEST {
            return Vec::new();
        }
        let starts = self.model_calls();
        let cut = |place: f64| {
            #[expect(
                clippy::cast_precision_loss,
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a share of a small number"
            )]
            let call = calls.get((calls.len() as f64 * place) as usize)?;
            let at = starts
                .iter()
                .copied()
                .find(|at| at >= call && *at < limit)?;
            let future: Vec<usize> = calls.iter().copied().filter(|call| *call >= at).collect();
            let last = future.iter().take(HORIZON).next_back()?;
            (future.len() >= 10).then_some(Cut {
                at,
                resume: at,
                end: last + 1,
                summary: None,
            })
        };
        PLACES.into_iter().filter_map(cut).collect()
    }

    /// Cuts where the host compacted and left a summary that can be read.
    pub fn real_cuts(&self) -> Vec<Cut<'a>> {
        let compactions = self.compactions();
        let calls = self.calls();
        let cut = |(nth, at): (usize, &usize)| {
            let EntryKind::Compacted { summary, .. } = &self.entry(*at)?.kind else {
                return None;
            };
            let summary = summary.as_deref()?;
            let limit = compactions.get(nth + 1).copied();
            let limit = limit.unwrap_or(self.thread.len());
            let future: Vec<usize> = calls
                .iter()
                .copied()
                .filter(|call| call > at && *call < limit)
                .take(HORIZON)
                .collect();
            let last = future.last()?;
            let counts = future.len() >= 8 && summary.chars().count() >= SHORTEST_SUMMARY;
            counts.then_some(Cut {
                at: *at,
                resume: at + 1,
                end: last + 1,
                summary: Some(summary),
            })
        };
        compactions.iter().enumerate().filter_map(cut).collect()
    }
}
