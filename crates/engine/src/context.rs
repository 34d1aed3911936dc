//! Contexts for sessions and frames: read from the store, made by the core, kept while they hold.
//!
//! What a context says and how it keeps its budget is `flamestack_core::context`'s to decide.

mod around;
mod preferences;
mod sending;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use flamestack_core::Model;
use flamestack_core::context::{
    Cache, Context, Counters, Key, Settings, Surroundings, assemble, assemble_json,
};
use flamestack_core::id::{FrameId, Seq, SessionRef};
use flamestack_core::tokens::{Estimate, Tokenizer};
use flamestack_store::{Kinship, Reading, TokenCounts, Version};
use flamestack_tokens::{Counts, Memo};

pub use self::around::{Kin, Newest, surroundings};
pub use self::preferences::Preferences;
pub use self::sending::{AsSent, Told};
use crate::Engine;
use crate::error::EngineError;

/// Whose context is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    /// That of the frame that a session works on, else of the one bound to it.
    Session(SessionRef),
    /// That of a frame, for nobody in particular.
    Frame(FrameId),
}

impl Whose {
    fn session(&self) -> Option<&SessionRef> {
        match self {
            Self::Session(session) => Some(session),
            Self::Frame(_) => None,
        }
    }

    /// The frame it is about, if there is one.
    fn frame(&self, reading: &dyn Reading) -> Result<Option<FrameId>, EngineError> {
        match self {
            Self::Frame(frame) => Ok(Some(frame.clone())),
            Self::Session(session) => {
                let known = reading.session(session)?;
                Ok(known.and_then(|known| known.active.or(known.own)))
            }
        }
    }
}

/// What is wanted besides the settings in force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Another limit than the one that is set.
    pub budget: Option<usize>,
    /// How many tokens the model can take, if it is another than the one that is recorded for the
    /// session.
    pub usable_window: Option<usize>,
}

impl Wanted {
    /// The same, with what is known of the session's model.
    fn with(self, model: Option<&Model>) -> Self {
        let window = model.and_then(|model| model.window);
        let window = window.map(|tokens| usize::try_from(tokens).unwrap_or(usize::MAX));
        Self {
            usable_window: self.usable_window.or(window),
            ..self
        }
    }
}

/// Contexts that were made, and what is known without asking the store again.
#[derive(Default)]
pub(crate) struct Contexts {
    preferences: Preferences,
    kept: Mutex<Kept>,
    kin: OnceLock<Kinship>,
    counts: OnceLock<TokenCounts>,
}

#[derive(Debug, Default)]
struct Kept {
    cache: Cache,
    /// The store that the rest is about.
    version: Option<Version>,
    position: Seq,
    sessions: BTreeMap<SessionRef, Known>,
}

/// What a session's context depends on.
#[derive(Clone, Debug, Default)]
struct Known {
    frame: Option<FrameId>,
    model: Option<Model>,
}

/// Somebody wrote between two looks at the store.
enum Failed {
    Moved,
    Other(EngineError),
}

impl From<EngineError> for Failed {
    fn from(error: EngineError) -> Self {
        Self::Other(error)
    }
}

/// How often a context is begun anew because somebody wrote meanwhile.
const ATTEMPTS: usize = 8;

impl Contexts {
    pub(crate) fn new(preferences: Preferences) -> Self {
        Self {
            preferences,
            ..Self::default()
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // What is kept is complete at any moment: a panic elsewhere cannot have spoiled it.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine {
    /// Makes the tokenizer ready, which takes longer than anything that needs it.
    pub fn warm_up(&self) {
        self.contexts.preferences.tokenizer().count("warm");
    }

    /// What a model is shown; nothing, if the session works on no frame and has none of its own.
    ///
    /// The same journal gives the same bytes. As long as nobody writes, the answer comes from
    /// memory, and no state is read from disk.
    pub fn context(
        &self,
        whose: &Whose,
        wanted: &Wanted,
    ) -> Result<Option<Arc<Context>>, EngineError> {
        let mut kept = self.contexts.lock();
        let before = kept.cache.counters();
        for _ in 1..ATTEMPTS {
            match self.attempt_context(&mut kept, whose, wanted) {
                Err(Failed::Moved) => {}
                Err(Failed::Other(error)) => return Err(error),
                Ok(context) => {
                    report(whose, before, kept.cache.counters(), context.as_deref());
                    return Ok(context);
                }
            }
        }
        // Writers that never rest must not starve a reader: one look, and no cache.
        drop(kept);
        let around = self.look_around(whose, wanted)?;
        let tokenizer = self.contexts.preferences.tokenizer();
        Ok(around
            .map(|(around, settings)| Arc::new(assemble(&around, &settings, tokenizer.as_ref()))))
    }

    fn attempt_context(
        &self,
        kept: &mut Kept,
        whose: &Whose,
        wanted: &Wanted,
    ) -> Result<Option<Arc<Context>>, Failed> {
        let version = self.version()?;
        if version.is_none() || kept.version != version {
            kept.sessions.clear();
            kept.version = version;
            kept.position = self.read(|reading| Ok(reading.position()?))?;
        }
        let known = match whose {
            Whose::Frame(frame) => Known {
                frame: Some(frame.clone()),
                model: None,
            },
            Whose::Session(session) => self.known(kept, session)?,
        };
        let wanted = wanted.with(known.model.as_ref());
        let settings = self.contexts.preferences.settings(&wanted)?;
        let Some(frame) = known.frame else {
            return Ok(None);
        };
        let key = Key {
            session: whose.session().cloned(),
            frame,
            position: kept.position,
            settings,
        };
        let made = kept.cache.get_or_make(&key, || {
            let around =
                self.read(|reading| self.told_around(reading, &key.frame, key.session.as_ref()))?;
            if around.position != key.position {
                return Err(Failed::Moved);
            }
            Ok(self.counting(|tokenizer| assemble(&around, &key.settings, tokenizer)))
        });
        if matches!(made, Err(Failed::Moved)) {
            kept.version = None;
        }
        made.map(Some)
    }

    /// What a session's context depends on, at the position that is known.
    fn known(&self, kept: &mut Kept, session: &SessionRef) -> Result<Known, Failed> {
        if let Some(known) = kept.sessions.get(session) {
            return Ok(known.clone());
        }
        let whose = Whose::Session(session.clone());
        let (position, known) = self.read(|reading| {
            let known = Known {
                frame: whose.frame(reading)?,
                model: reading.model(session)?,
            };
            Ok((reading.position()?, known))
        })?;
        if position != kept.position {
            kept.version = None;
            return Err(Failed::Moved);
        }
        kept.sessions.insert(session.clone(), known.clone());
        Ok(known)
    }

    /// What is around a frame, as far as it is told here.
    pub(crate) fn told_around(
        &self,
        reading: &dyn Reading,
        frame: &FrameId,
        session: Option<&SessionRef>,
    ) -> Result<Surroundings, EngineError> {
        let around = surroundings(reading, frame, session, self.kinship())?;
        Ok(self.contexts.preferences.told(around))
    }

    /// Who chooses among many.
    pub(crate) fn kinship(&self) -> &Kinship {
        let dir = &self.project().dir;
        self.contexts.kin.get_or_init(|| Kinship::new(dir))
    }

    /// How many tokens texts have that were counted before.
    pub(crate) fn counts(&self) -> &TokenCounts {
        let dir = &self.project().dir;
        self.contexts.counts.get_or_init(|| TokenCounts::new(dir))
    }

    /// Lets `work` count tokens, and keeps the counts that were missing.
    pub(crate) fn counting<T>(&self, work: impl FnOnce(&dyn Tokenizer) -> T) -> T {
        let tokenizer = self.contexts.preferences.tokenizer();
        if tokenizer.name() == Estimate.name() {
            // Quicker made than looked up.
            return work(&Estimate);
        }
        let counts = self.counts();
        let made = work(&Memo::new(tokenizer.as_ref(), Remembered(counts)));
        counts.save();
        made
    }

    /// How the core is to make a context, given what is recorded about whose it is.
    fn assembly(
        &self,
        reading: &dyn Reading,
        whose: &Whose,
        wanted: &Wanted,
    ) -> Result<Settings, EngineError> {
        let model = match whose.session() {
            Some(session) => reading.model(session)?,
            None => None,
        };
        let wanted = wanted.with(model.as_ref());
        self.contexts.preferences.settings(&wanted)
    }

    fn look_around(
        &self,
        whose: &Whose,
        wanted: &Wanted,
    ) -> Result<Option<(Surroundings, Settings)>, EngineError> {
        self.read(|reading| {
            let settings = self.assembly(reading, whose, wanted)?;
            let Some(frame) = whose.frame(reading)? else {
                return Ok(None);
            };
            let around = self.told_around(reading, &frame, whose.session())?;
            Ok(Some((around, settings)))
        })
    }

    /// A context and the same as JSON, with its sections taken apart. For programs; nothing is
    /// kept.
    pub fn context_as_json(
        &self,
        whose: &Whose,
        wanted: &Wanted,
    ) -> Result<Option<(Context, String)>, EngineError> {
        let around = self.look_around(whose, wanted)?;
        Ok(around.map(|(around, settings)| {
            self.counting(|tokenizer| {
                let context = assemble(&around, &settings, tokenizer);
                let json = assemble_json(&around, &settings, tokenizer);
                (context, json)
            })
        }))
    }

    /// How the kept contexts have served.
    pub fn context_counters(&self) -> Counters {
        self.contexts.lock().cache.counters()
    }

    /// Forgets the contexts of one session, or all; says how many there were.
    pub fn forget_contexts(&self, session: Option<&SessionRef>) -> usize {
        self.contexts.lock().cache.clear(session)
    }

    /// How contexts are made here.
    pub fn context_preferences(&self) -> &Preferences {
        &self.contexts.preferences
    }
}

/// Counts that the store keeps.
struct Remembered<'a>(&'a TokenCounts);

impl Counts for Remembered<'_> {
    fn get(&self, key: u128) -> Option<usize> {
        let tokens = self.0.get(key)?;
        usize::try_from(tokens).ok()
    }

    fn put(&self, key: u128, tokens: usize) {
        self.0.put(key, tokens as u64);
    }
}

fn report(whose: &Whose, before: Counters, after: Counters, context: Option<&Context>) {
    let Some(context) = context else {
        tracing::debug!(?whose, "no frame, no context");
        return;
    };
    tracing::debug!(
        ?whose,
        hit = after.hits > before.hits,
        position = context.position.0,
        tokens = context.tokens,
        budget = context.budget.total(),
        "context"
    );
}
