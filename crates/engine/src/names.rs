//! Resolution of the names that users and models type.

use flamestack_core::{FrameId, SessionRef};
use flamestack_store::{Named, Reading};

use crate::error::{EngineError, Result};

/// Maximum length of a name, in bytes.
const MAX_LENGTH: usize = 300;

/// Resolves a name: an id, the beginning of one, a former id, or a session.
pub(crate) fn resolve(reading: &dyn Reading, name: &str) -> Result<FrameId> {
    let name = name.trim();
    let shown = || {
        name.chars()
            .take(80)
            .flat_map(char::escape_debug)
            .collect::<String>()
    };
    if name.is_empty() || name.len() > MAX_LENGTH {
        return Err(EngineError::UnknownFrame(shown()));
    }
    let named = match reading.named(name)? {
        // Ids are lower case, but users may type them in upper case.
        Named::Unknown => reading.named(&name.to_lowercase())?,
        found => found,
    };
    match named {
        Named::Frame(id) => Ok(id),
        Named::Ambiguous(candidates) => Err(EngineError::AmbiguousFrame {
            name: shown(),
            candidates,
        }),
        Named::Unbound(session) => Err(EngineError::UnboundSession(session)),
        Named::Gone(id) => Err(EngineError::GoneFrame(id)),
        Named::Unknown => Err(EngineError::UnknownFrame(shown())),
    }
}

/// Returns the frame with exactly this id or former id, or the one bound to exactly this session.
pub fn exactly(reading: &dyn Reading, name: &str) -> Result<Option<FrameId>> {
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
