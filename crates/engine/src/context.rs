//! Contexts for sessions and frames: gathered from the store, assembled by `flamestack_context`, and
//! cached while no process writes.

mod cache;
mod gather;
mod preferences;
mod sending;

use std::sync::Arc;

use flamestack_context::{Context, ContextSettings, Surroundings, assemble};
use flamestack_core::{FrameId, Session, SessionRef};
use flamestack_store::Reading;

pub use self::cache::CacheCounters;
pub(crate) use self::cache::ContextCache;
pub use self::gather::surroundings;
pub use self::preferences::Preferences;
pub use self::sending::{SentContext, SentText};
use crate::Engine;
use crate::error::Result;

/// The session or frame that a context is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ContextTarget {
    /// The active frame of a session, else the frame bound to it.
    Session(SessionRef),
    /// A frame, for no session in particular.
    Frame(FrameId),
}

impl ContextTarget {
    fn session(&self) -> Option<&SessionRef> {
        match self {
            Self::Session(session) => Some(session),
            Self::Frame(_) => None,
        }
    }

    /// Returns the frame, and the session with everything recorded about it.
    fn read(&self, reading: &dyn Reading) -> Result<(Option<FrameId>, Option<Session>)> {
        match self {
            Self::Frame(frame) => Ok((Some(*frame), None)),
            Self::Session(session) => {
                let known = reading.session(session)?;
                Ok((known.as_ref().and_then(Session::frame), known))
            }
        }
    }
}

/// Options that override the settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ContextOptions {
    /// Maximum number of tokens.
    pub budget: Option<usize>,
    /// Number of prompt tokens that the model accepts, instead of the number recorded for the
    /// session.
    pub usable_window: Option<usize>,
}

/// Makes and delivers contexts.
#[derive(Clone, Copy)]
pub struct Contexts<'e> {
    pub(crate) engine: &'e Engine,
}

impl Contexts<'_> {
    /// Returns the context of a session or frame, or `None` if the session has no frame.
    ///
    /// The same journal gives the same bytes. While no process writes, the context comes from
    /// memory and nothing is read from disk.
    pub fn context(
        &self,
        target: &ContextTarget,
        options: &ContextOptions,
    ) -> Result<Option<Arc<Context>>> {
        // Taken before the state is read: if another process commits in between, the entry is
        // already out of date and is never served.
        let version = self.engine.workspace.version()?;
        let cache = &self.engine.context_cache;
        let key = (target.clone(), *options);
        if let Some(context) = cache.get(&key, version) {
            report(target, &context, true);
            return Ok(Some(context));
        }
        let Some(context) = self.context_once(target, options)? else {
            return Ok(None);
        };
        let context = Arc::new(context);
        cache.insert(key, version, &context);
        Ok(Some(context))
    }

    /// Makes the same context for a process that asks once: keeping it in memory would take another
    /// connection to the store, which notices when it is out of date.
    pub fn context_once(
        &self,
        target: &ContextTarget,
        options: &ContextOptions,
    ) -> Result<Option<Context>> {
        let Some((around, settings)) = self.gather(target, options)? else {
            tracing::debug!(?target, "no frame, no context");
            return Ok(None);
        };
        let context = self
            .engine
            .counting(|tokenizer| assemble(&around, &settings, tokenizer));
        report(target, &context, false);
        Ok(Some(context))
    }

    fn gather(
        &self,
        target: &ContextTarget,
        options: &ContextOptions,
    ) -> Result<Option<(Surroundings, ContextSettings)>> {
        self.engine.read(|reading| {
            let (frame, session) = target.read(reading)?;
            let settings = self.settings(session.as_ref(), options)?;
            let Some(frame) = frame else {
                return Ok(None);
            };
            let around = self.surroundings(reading, &frame, target.session())?;
            Ok(Some((around, settings)))
        })
    }

    /// Gathers the surroundings of a frame, without what the preferences exclude.
    pub(crate) fn surroundings(
        &self,
        reading: &dyn Reading,
        frame: &FrameId,
        session: Option<&SessionRef>,
    ) -> Result<Surroundings> {
        let siblings = self.engine.workspace.sibling_index();
        let around = surroundings(reading, frame, session, Some(siblings))?;
        Ok(self.engine.preferences.restrict(around))
    }

    /// Returns the settings for one context, given the model recorded for the session.
    fn settings(
        &self,
        session: Option<&Session>,
        options: &ContextOptions,
    ) -> Result<ContextSettings> {
        let window = session.and_then(Session::window);
        let window = window.map(|tokens| usize::try_from(tokens).unwrap_or(usize::MAX));
        self.engine.preferences.settings(&ContextOptions {
            usable_window: options.usable_window.or(window),
            ..*options
        })
    }

    /// Returns the number of cached contexts, and of hits and misses.
    pub fn counters(&self) -> CacheCounters {
        self.engine.context_cache.counters()
    }

    /// Drops the cached contexts of one session, or all. Returns the number of contexts dropped.
    pub fn forget(&self, session: Option<&SessionRef>) -> usize {
        self.engine.context_cache.clear(session)
    }
}

fn report(target: &ContextTarget, context: &Context, hit: bool) {
    tracing::debug!(
        ?target,
        hit,
        position = context.position.0,
        tokens = context.tokens,
        budget = context.budget.total(),
        "context"
    );
}
