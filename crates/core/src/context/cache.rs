//! Contexts that were made before.
//!
//! An entry is good for as long as the journal has not moved, and not a moment longer: there is no
//! time in it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::context::{Context, Settings};
use crate::id::{FrameId, Seq, SessionRef};

/// What a context was made for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The conversation, if it is for one.
    pub session: Option<SessionRef>,
    /// The frame.
    pub frame: FrameId,
    /// The last event of the journal.
    pub position: Seq,
    /// How it was to be made.
    pub settings: Settings,
}

/// How a cache has served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// How often a context was there.
    pub hits: u64,
    /// How often it had to be made.
    pub misses: u64,
    /// How many are kept.
    pub entries: usize,
}

/// The last few contexts of a process.
#[derive(Debug)]
pub struct Cache {
    entries: BTreeMap<Key, (u64, Arc<Context>)>,
    room: usize,
    uses: u64,
    hits: u64,
    misses: u64,
}

impl Default for Cache {
    fn default() -> Self {
        Self::new(50)
    }
}

impl Cache {
    /// A cache that keeps at most `room` contexts, those used last.
    pub fn new(room: usize) -> Self {
        Self {
            entries: BTreeMap::new(),
            room,
            uses: 0,
            hits: 0,
            misses: 0,
        }
    }

    /// The context for a key: the one that was made before, else the one that `make` makes.
    pub fn get_or_make<E>(
        &mut self,
        key: &Key,
        make: impl FnOnce() -> Result<Context, E>,
    ) -> Result<Arc<Context>, E> {
        self.uses += 1;
        if let Some((used, context)) = self.entries.get_mut(key) {
            *used = self.uses;
            self.hits += 1;
            return Ok(Arc::clone(context));
        }
        self.misses += 1;
        let context = Arc::new(make()?);
        self.entries
            .insert(key.clone(), (self.uses, Arc::clone(&context)));
        while self.entries.len() > self.room {
            let oldest = self.entries.iter().min_by_key(|(_, (used, _))| *used);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else {
                break;
            };
            self.entries.remove(&oldest);
        }
        Ok(context)
    }

    /// Forgets the contexts of one conversation, or all; says how many there were.
    pub fn clear(&mut self, session: Option<&SessionRef>) -> usize {
        let before = self.entries.len();
        self.entries
            .retain(|key, _| session.is_some() && key.session.as_ref() != session);
        before - self.entries.len()
    }

    /// How the cache has served.
    pub fn counters(&self) -> Counters {
        Counters {
            hits: self.hits,
            misses: self.misses,
            entries: self.entries.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::context::Surroundings;
    use crate::context::assemble;
    use crate::context::fixtures::frame;
    use crate::tokens::Estimate;

    fn key(session: &str, position: i64) -> Key {
        Key {
            session: session.parse().ok(),
            frame: FrameId::from_entropy(7),
            position: Seq(position),
            settings: Settings::default(),
        }
    }

    fn ask(cache: &mut Cache, key: &Key) -> Arc<Context> {
        let around = Surroundings::of(frame("x"), key.position);
        let made: Result<_, Infallible> =
            cache.get_or_make(key, || Ok(assemble(&around, &key.settings, &Estimate)));
        made.unwrap()
    }

    #[test]
    fn the_same_position_is_a_hit_and_the_next_is_not() {
        let mut cache = Cache::default();
        for position in [1, 1, 1, 2, 1] {
            assert_eq!(
                ask(&mut cache, &key("a:1", position)).position,
                Seq(position)
            );
        }
        let counters = Counters {
            hits: 3,
            misses: 2,
            entries: 2,
        };
        assert_eq!(cache.counters(), counters);
    }

    #[test]
    fn the_ones_used_last_are_kept() {
        let mut cache = Cache::new(2);
        for position in [1, 2, 1, 3, 1, 2] {
            ask(&mut cache, &key("a:1", position));
        }
        // 3 pushed 2 out, since 1 had been used after it.
        assert_eq!(
            cache.counters(),
            Counters {
                hits: 2,
                misses: 4,
                entries: 2
            }
        );
    }

    #[test]
    fn one_conversation_can_be_forgotten() {
        let mut cache = Cache::default();
        for session in ["a:1", "a:2", "a:2"] {
            ask(&mut cache, &key(session, 1));
        }
        let gone: SessionRef = "a:1".parse().unwrap();
        assert_eq!(cache.clear(Some(&gone)), 1);
        assert_eq!(cache.counters().entries, 1);
        assert_eq!(cache.clear(None), 1);
    }
}
