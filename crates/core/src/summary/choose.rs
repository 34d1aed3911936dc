//! Choosing passages: those whose phrases are most likely needed again, each phrase counted once.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::phrase::Phrases;
use super::unit::Unit;

/// A passage and what it would bring for its price, when that was last worked out.
#[derive(Debug)]
struct Offer {
    density: f32,
    unit: usize,
}

impl PartialEq for Offer {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Offer {}
impl PartialOrd for Offer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Offer {
    fn cmp(&self, other: &Self) -> Ordering {
        // Of two that are worth the same, the newer.
        self.density
            .total_cmp(&other.density)
            .then(self.unit.cmp(&other.unit))
    }
}

/// Passages being chosen.
pub(super) struct Choice<'a> {
    units: &'a [Unit],
    phrases: &'a Phrases,
    /// What each phrase would still bring; nothing once it is in.
    worth: Vec<f32>,
    /// Which passages are in.
    pub(super) chosen: Vec<bool>,
    /// Which moments have a passage in.
    opened: Vec<bool>,
    heap: BinaryHeap<Offer>,
}

/// What the line costs that says which moment passages belong to, in bytes.
const HEADER: f32 = 14.0;

impl<'a> Choice<'a> {
    /// Nothing is chosen yet. `worth` says for every phrase how likely it is needed.
    pub(super) fn new(units: &'a [Unit], phrases: &'a Phrases, mut worth: Vec<f32>) -> Self {
        for (worth, phrase) in worth.iter_mut().zip(&phrases.all) {
            if phrase.already {
                *worth = 0.0;
            }
        }
        let mut choice = Self {
            units,
            phrases,
            worth,
            chosen: vec![false; units.len()],
            opened: vec![false; phrases.words.len()],
            heap: BinaryHeap::new(),
        };
        let offers: Vec<Offer> = (0..units.len())
            .filter_map(|unit| {
                let density = choice.density(unit)?;
                (density > 0.0).then_some(Offer { density, unit })
            })
            .collect();
        choice.heap = BinaryHeap::from(offers);
        choice
    }

    /// Takes the best passages for as long as `room` says that there is room for one more. A
    /// passage for which there is none is passed over.
    pub(super) fn take(&mut self, room: &mut dyn FnMut(usize, bool) -> Room) {
        let mut later = Vec::new();
        while let Some(offer) = self.heap.pop() {
            let Some(density) = self.density(offer.unit) else {
                continue;
            };
            if density <= 0.0 {
                continue;
            }
            if self.heap.peek().is_some_and(|next| density < next.density) {
                self.heap.push(Offer { density, ..offer });
                continue;
            }
            let opened = self
                .units
                .get(offer.unit)
                .and_then(|unit| self.opened.get(unit.moment))
                .copied()
                .unwrap_or(true);
            match room(offer.unit, !opened) {
                Room::Enough => self.choose(offer.unit),
                Room::TooLittle => later.push(Offer { density, ..offer }),
                Room::None => {
                    later.push(Offer { density, ..offer });
                    break;
                }
            }
        }
        self.heap.extend(later);
    }

    fn choose(&mut self, unit: usize) {
        let phrases: Vec<u32> = self.gains(unit).collect();
        for phrase in phrases {
            if let Some(worth) = self.worth.get_mut(phrase as usize) {
                *worth = 0.0;
            }
        }
        if let Some(chosen) = self.chosen.get_mut(unit) {
            *chosen = true;
        }
        let moment = self.units.get(unit).map(|unit| unit.moment);
        if let Some(opened) = moment.and_then(|moment| self.opened.get_mut(moment)) {
            *opened = true;
        }
        // A neighbour now also brings the phrases that reach over the seam.
        for neighbour in [unit.checked_sub(1), Some(unit + 1)].into_iter().flatten() {
            if self.chosen.get(neighbour) == Some(&false)
                && let Some(density) = self.density(neighbour)
            {
                self.heap.push(Offer {
                    density,
                    unit: neighbour,
                });
            }
        }
    }

    /// What a passage would bring for each byte; nothing if it is in already.
    fn density(&self, unit: usize) -> Option<f32> {
        if self.chosen.get(unit) != Some(&false) {
            return None;
        }
        let known = self.units.get(unit)?;
        let gain: f32 = self
            .gains(unit)
            .map(|phrase| self.worth.get(phrase as usize).copied().unwrap_or(0.0))
            .sum();
        let header = if self.opened.get(known.moment) == Some(&true) {
            0.0
        } else {
            HEADER
        };
        #[expect(clippy::cast_precision_loss, reason = "a passage is short")]
        let size = known.size as f32;
        Some(gain / (size + header))
    }

    /// The phrases that a passage has, with those that reach over a seam to one that is in.
    fn gains(&self, unit: usize) -> impl Iterator<Item = u32> {
        let range = self.units.get(unit).map_or(0..0, |known| {
            let same = |other: Option<usize>| {
                other.is_some_and(|other| {
                    self.chosen.get(other) == Some(&true)
                        && self.units.get(other).map(|unit| unit.moment) == Some(known.moment)
                })
            };
            let first = known.first
                - if same(unit.checked_sub(1)) {
                    3.min(known.first)
                } else {
                    0
                };
            let behind = if same(Some(unit + 1)) {
                known.behind
            } else {
                known.behind.saturating_sub(3)
            };
            first..behind.max(first)
        });
        let words = self
            .units
            .get(unit)
            .and_then(|known| self.phrases.words.get(known.moment))
            .and_then(|words| words.get(range))
            .unwrap_or_default();
        words.iter().filter_map(|word| word.phrase)
    }
}

/// Whether there is room for a passage.
pub(super) enum Room {
    /// It is taken.
    Enough,
    /// Not for this one.
    TooLittle,
    /// For none.
    None,
}
