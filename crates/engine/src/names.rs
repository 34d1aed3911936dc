//! Resolution of the names that users and models type.

use flamestack_core::{FrameId, SessionRef};
use flamestack_store::{NameMatch, Reading};

use crate::error::{EngineError, Result};
use crate::views::level;

/// Maximum length of a name, in bytes.
const MAX_LENGTH: usize = 300;

/// Minimum likeness of a name and a frame that is proposed instead, from 0 to 1.
const LIKE: f64 = 0.6;
/// Minimum length of the beginning of a title, in characters. A whole title may be shorter.
const MIN_TITLE: usize = 3;
/// Maximum number of frames that are compared with a name that matches none.
const COMPARED: usize = 200;

/// Resolves a name: an id, a former id or a session; a title; the beginning of an id; the beginning of
/// a title, in this order.
///
/// A whole title comes before the beginning of an id: users name frames "A", "B" or "Docs", and an id
/// that happens to begin with these letters would be another frame, silently.
pub(crate) fn resolve(reading: &dyn Reading, name: &str) -> Result<FrameId> {
    let name = name.trim();
    if name.is_empty() || name.len() > MAX_LENGTH {
        return Err(EngineError::UnknownFrame {
            name: shown(name),
            nearest: None,
        });
    }
    if let Some(id) = exactly(reading, name)? {
        return Ok(id);
    }
    let titled = reading.titled(name, false)?;
    if !titled.is_empty() {
        return one_of(name, titled);
    }
    let named = match reading.named(name)? {
        // Ids are lower case, but users may type them in upper case.
        NameMatch::Unknown => reading.named(&name.to_lowercase())?,
        found => found,
    };
    match named {
        NameMatch::Frame(id) => Ok(id),
        NameMatch::Ambiguous(candidates) => one_of(name, candidates),
        NameMatch::Unbound(session) => Err(EngineError::UnboundSession(session)),
        NameMatch::Gone(id) => Err(EngineError::GoneFrame(id)),
        NameMatch::Unknown if name.chars().count() < MIN_TITLE => unknown(reading, name),
        NameMatch::Unknown => match reading.titled(name, true)? {
            longer if longer.is_empty() => unknown(reading, name),
            longer => one_of(name, longer),
        },
    }
}

/// Returns the only candidate, or the error that lists them.
fn one_of(name: &str, candidates: Vec<(FrameId, String)>) -> Result<FrameId> {
    match candidates.as_slice() {
        [(id, _)] => Ok(*id),
        _ => Err(EngineError::AmbiguousFrame {
            name: shown(name),
            candidates,
        }),
    }
}

/// Returns the error for a name that no frame has, with the frame that is most like it.
fn unknown(reading: &dyn Reading, name: &str) -> Result<FrameId> {
    Err(EngineError::UnknownFrame {
        name: shown(name),
        nearest: nearest(reading, name)?,
    })
}

/// Returns the frame whose id or title is most like a name, among open frames and recent roots.
fn nearest(reading: &dyn Reading, name: &str) -> Result<Option<(FrameId, String)>> {
    let wanted = name.to_lowercase();
    let mut levels = vec![None];
    let mut compared = 0;
    let mut best: Option<(f64, (FrameId, String))> = None;
    while let Some(parent) = levels.pop() {
        for row in level(reading, parent, COMPARED, COMPARED)? {
            compared += 1;
            let frame = row.frame;
            let title = frame.title.as_str().to_lowercase();
            let words = title.split_whitespace();
            let word =
                words.map(|word| strsim::normalized_damerau_levenshtein(&wanted, word) * 0.9);
            let likeness = [
                strsim::normalized_damerau_levenshtein(&wanted, frame.id.as_str()),
                strsim::normalized_damerau_levenshtein(&wanted, &title),
                if title.contains(&wanted) { 0.95 } else { 0.0 },
            ];
            let likeness = likeness.into_iter().chain(word).fold(0.0, f64::max);
            if likeness > best.as_ref().map_or(LIKE, |(likeness, _)| *likeness) {
                best = Some((likeness, (frame.id, frame.title.as_str().to_owned())));
            }
            if frame.status.is_open() {
                levels.push(Some(frame.id));
            }
            if compared >= COMPARED {
                return Ok(best.map(|(_, frame)| frame));
            }
        }
    }
    Ok(best.map(|(_, frame)| frame))
}

/// Returns a name as an error shows it.
fn shown(name: &str) -> String {
    let start = name.chars().take(80);
    start.flat_map(char::escape_debug).collect()
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
