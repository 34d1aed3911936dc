//! From the names that people type to frames.

use flamestack_core::{FrameId, SessionRef};
use flamestack_store::{Named, Reading};

use crate::error::EngineError;

/// The longest name worth looking up, and the most of one that an error repeats.
const LONGEST: usize = 300;

/// The frame that a name stands for.
pub(crate) fn resolve(reading: &dyn Reading, name: &str) -> Result<FrameId, EngineError> {
    let name = name.trim();
    let shown = || {
        name.chars()
            .take(80)
            .flat_map(char::escape_debug)
            .collect::<String>()
    };
    if name.is_empty() || name.len() > LONGEST {
        return Err(EngineError::UnknownFrame { name: shown() });
    }
    match reading.named(name)? {
        Named::Frame(id) => Ok(id),
        Named::Ambiguous(candidates) => Err(EngineError::AmbiguousFrame {
            name: shown(),
            candidates,
        }),
        Named::Unbound(session) => Err(EngineError::UnboundSession { session }),
        Named::Gone(id) => Err(EngineError::GoneFrame { id }),
        Named::Unknown => Err(EngineError::UnknownFrame { name: shown() }),
    }
}

/// The frame that has exactly this id or former id, or is bound to exactly this session.
pub fn exactly(reading: &dyn Reading, name: &str) -> Result<Option<FrameId>, EngineError> {
    if let Some(id) = reading.alias(name)? {
        return Ok(Some(id));
    }
    if let Ok(id) = name.parse::<FrameId>()
        && reading.frame(&id)?.is_some()
    {
        return Ok(Some(id));
    }
    match name.parse::<SessionRef>() {
        Ok(session) => Ok(reading.session(&session)?.and_then(|known| known.own)),
        Err(_) => Ok(None),
    }
}
