//! Sessions of a project: their states, levels, links, interruptions and clean-up.
//!
//! `flamestack_core::session` folds the state of each session from events; this module adds the clock,
//! the processes of the machine and git.
//!
//! - [`process`]: processes and whether they still run;
//! - `interruption`: checkpoints, and the search for turns whose process is gone;
//! - [`listing`]: sessions with their state, level and frame;
//! - `making`: sessions made and linked by a command;
//! - `clean_up`: closes orphans and subagents that ended long ago.

mod clean_up;
mod interruption;
pub mod json;
pub mod listing;
mod making;
pub mod process;

use flamestack_core::SessionRef;
use flamestack_core::session::status::Thresholds;
use flamestack_store::Reading;

use crate::Engine;
use crate::error::{EngineError, Result};
use crate::settings::Settings;

pub use making::NewSession;

/// Reads and changes the sessions of a project.
#[derive(Clone, Copy)]
pub struct Sessions<'e> {
    pub(crate) engine: &'e Engine,
}

impl Sessions<'_> {
    /// Returns the times after which a silent session is shown as idle and as stale.
    pub fn thresholds(&self) -> Result<Thresholds> {
        thresholds(&self.engine.settings()?)
    }

    /// Resolves the name of a session: `host:id`, its bare id, the beginning of one, or a frame that is
    /// bound to it.
    pub fn named(&self, name: &str) -> Result<SessionRef> {
        self.engine.read(|reading| named(reading, name))
    }
}

/// Reads the times from the settings.
pub fn thresholds(settings: &Settings) -> Result<Thresholds> {
    let milliseconds = |key: &str, unit: u64| -> Result<i64> {
        let number = settings.number(key)?.saturating_mul(unit);
        Ok(i64::try_from(number).unwrap_or(i64::MAX))
    };
    Ok(Thresholds {
        cold_after: milliseconds("session.cold_after", 60 * 1000)?,
        stale_after: milliseconds("session.stale_after", 60 * 60 * 1000)?,
    })
}

fn named(reading: &dyn Reading, name: &str) -> Result<SessionRef> {
    let name = name.trim();
    let exact: Option<SessionRef> = name.parse().ok();
    if let Some(session) = exact
        && reading.session(&session)?.is_some()
    {
        return Ok(session);
    }
    let mut found: Vec<SessionRef> = Vec::new();
    for life in reading.lives(false)? {
        let session = life.session;
        if session.id() == name {
            return Ok(session);
        }
        let begins = session.id().starts_with(name) || session.to_string().starts_with(name);
        if begins && !name.is_empty() {
            found.push(session);
        }
    }
    if found.is_empty()
        && let Ok(frame) = crate::names::resolve(reading, name)
        && let Some(frame) = reading.frame(&frame)?
    {
        found.extend(frame.session);
    }
    let mut found = found.into_iter();
    match (found.next(), found.next()) {
        (Some(session), None) => Ok(session),
        (Some(one), Some(other)) => Err(EngineError::AmbiguousSession {
            name: name.chars().take(80).collect(),
            candidates: format!("{one}, {other}"),
        }),
        _ => Err(EngineError::UnknownSession(name.chars().take(80).collect())),
    }
}
