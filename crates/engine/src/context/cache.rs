//! Contexts that were made before. An entry is valid only while no process has written since.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use flamestack_context::Context;
use flamestack_core::SessionRef;

use super::{ContextOptions, ContextTarget};
use crate::readers::JournalVersion;
use crate::workspace::lock;

/// Maximum number of cached contexts.
const CAPACITY: usize = 50;

/// Usage of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounters {
    /// Number of contexts that were served from the cache.
    pub hits: u64,
    /// Number of contexts that were made.
    pub misses: u64,
    /// Number of cached contexts.
    pub entries: usize,
}

/// The target of a context, and the options that it was made with.
pub(super) type ContextKey = (ContextTarget, ContextOptions);

/// The last contexts of this process.
#[derive(Debug, Default)]
pub(crate) struct ContextCache(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    contexts: BTreeMap<ContextKey, Cached>,
    hits: u64,
    misses: u64,
}

#[derive(Debug)]
struct Cached {
    version: JournalVersion,
    /// Number of the request that used it last.
    used: u64,
    context: Arc<Context>,
}

impl ContextCache {
    /// Returns a context that is still valid at `version`.
    pub(super) fn get(
        &self,
        key: &ContextKey,
        version: Option<JournalVersion>,
    ) -> Option<Arc<Context>> {
        let mut entries = lock(&self.0);
        let used = entries.hits + entries.misses;
        let cached = entries.contexts.get_mut(key)?;
        if Some(cached.version) != version {
            return None;
        }
        cached.used = used;
        let context = Arc::clone(&cached.context);
        entries.hits += 1;
        Some(context)
    }

    /// Keeps a context that was made after `version` was taken.
    pub(super) fn insert(
        &self,
        key: ContextKey,
        version: Option<JournalVersion>,
        context: &Arc<Context>,
    ) {
        let mut entries = lock(&self.0);
        entries.misses += 1;
        let Some(version) = version else {
            return;
        };
        let cached = Cached {
            version,
            used: entries.hits + entries.misses,
            context: Arc::clone(context),
        };
        entries.contexts.insert(key, cached);
        while entries.contexts.len() > CAPACITY {
            let oldest = entries.contexts.iter().min_by_key(|(_, it)| it.used);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else {
                break;
            };
            entries.contexts.remove(&oldest);
        }
    }

    pub(super) fn clear(&self, session: Option<&SessionRef>) -> usize {
        let mut entries = lock(&self.0);
        let before = entries.contexts.len();
        entries
            .contexts
            .retain(|(target, _), _| session.is_some() && target.session() != session);
        before - entries.contexts.len()
    }

    pub(super) fn counters(&self) -> CacheCounters {
        let entries = lock(&self.0);
        CacheCounters {
            hits: entries.hits,
            misses: entries.misses,
            entries: entries.contexts.len(),
        }
    }
}
