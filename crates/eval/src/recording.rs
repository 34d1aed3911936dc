//! A recorded session made ready for measuring, and the places where it can be cut.

use std::collections::BTreeSet;

use flamestack_core::anchor::moment::{Moment, moments};
use flamestack_core::anchor::name::NameKind;
use flamestack_core::transcript::{Entry, What};

use crate::interned::Interned;
use crate::words::phrases;

/// So many calls after a cut count.
pub const HORIZON: usize = 40;
/// A session with fewer calls is not cut.
const SHORTEST: usize = 60;
/// Where a session is cut, as shares of its calls before the first compaction.
const PLACES: [f64; 3] = [0.4, 0.6, 0.8];
/// A summary that is shorter says nothing (in characters).
const SHORTEST_SUMMARY: usize = 400;

/// A recorded session.
pub struct Recording<'a> {
    /// Everything that was seen.
    pub entries: &'a [Entry],
    /// The entries of the session's own thread.
    pub(crate) thread: Vec<usize>,
    pub(crate) moments: Vec<Moment<'a>>,
    /// For each entry of the thread, its moment.
    pub(crate) moment_of: Vec<Option<usize>>,
    pub(crate) names: Vec<BTreeSet<u32>>,
    pub(crate) phrases: Vec<Vec<u64>>,
    pub(crate) interned: Interned,
}

/// A place at which the work went on. Positions count the entries of the session's own thread.
#[derive(Clone, Debug)]
pub struct Cut<'a> {
    /// The first entry that is not known.
    pub at: usize,
    /// The first entry that counts: behind the compaction, where there was one.
    pub resume: usize,
    /// Behind the last entry that counts.
    pub end: usize,
    /// The host's summary, where it compacted here.
    pub summary: Option<&'a str>,
}

impl<'a> Recording<'a> {
    /// Makes a session ready.
    pub fn new(entries: &'a [Entry]) -> Self {
        let thread: Vec<usize> = entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.agent.is_none())
            .map(|(number, _)| number)
            .collect();
        let moments = moments(entries);
        let mut interned = Interned::default();
        for moment in &moments {
            interned.learn_all(&moment.text);
            moment.paths.iter().for_each(|path| interned.learn(path));
        }
        let names = moments
            .iter()
            .map(|moment| {
                let mut names = interned.all(&moment.text);
                let paths = moment.paths.iter();
                names.extend(paths.map(|path| interned.number(NameKind::Path, path)));
                names
            })
            .collect();
        let mut moment_of = vec![None; thread.len()];
        let mut place = 0;
        for (number, moment) in moments.iter().enumerate() {
            while thread.get(place).is_some_and(|entry| *entry < moment.entry) {
                place += 1;
            }
            if let Some(known) = moment_of.get_mut(place) {
                *known = Some(number);
            }
        }
        let phrases = moments.iter().map(|moment| phrases(&moment.text)).collect();
        Self {
            entries,
            thread,
            moments,
            moment_of,
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

    /// The moment at a position of the thread.
    pub(crate) fn moment(&self, position: usize) -> Option<usize> {
        self.moment_of.get(position).copied().flatten()
    }

    /// What was seen before a cut.
    pub fn before(&self, cut: &Cut<'_>) -> &'a [Entry] {
        let end = self.thread.get(cut.at).copied();
        let end = end.unwrap_or(self.entries.len());
        self.entries.get(..end).unwrap_or_default()
    }

    fn positions(&self, wanted: impl Fn(&What) -> bool) -> Vec<usize> {
        (0..self.thread.len())
            .filter(|at| self.entry(*at).is_some_and(|entry| wanted(&entry.what)))
            .collect()
    }

    pub(crate) fn calls(&self) -> Vec<usize> {
        self.positions(|what| matches!(what, What::Call(_)))
    }

    fn compactions(&self) -> Vec<usize> {
        self.positions(|what| matches!(what, What::Compacted { .. }))
    }

    /// Where model calls begin: the first thing of the model's after something from outside.
    pub(crate) fn model_calls(&self) -> Vec<usize> {
        let mut starts = Vec::new();
        let mut before = false;
        for at in 0..self.thread.len() {
            let moment = self.moment(at).and_then(|number| self.moments.get(number));
            if let Some(moment) = moment {
                let by_model = moment.source.by_model();
                if by_model && !before {
                    starts.push(at);
                }
                before = by_model;
            }
        }
        starts
    }

    /// How many calls there were.
    pub fn call_count(&self) -> usize {
        self.calls().len()
    }

    /// Whether there are enough calls to say something about.
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
            let What::Compacted { summary, .. } = &self.entry(*at)?.what else {
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
