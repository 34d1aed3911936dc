//! The one active frame that a predecessor's state knows, out of the many that sessions have.

use flamestack_core::{Frame, Session, Status};

use super::fields;
use super::forest::Forest;
use super::lists::Remembered;
use super::shape;

/// The name of the active frame, if there is one.
///
/// It is the one of the conversation that is the root of its own tree, as that is the one the
/// predecessor would be in; among several, the first session by name.
pub(super) fn active_frame(
    sessions: &[&Session],
    forest: &Forest<'_>,
    remembered: &Remembered,
) -> Option<String> {
    let candidates = sessions.iter().filter_map(|session| {
        let active = session.active.as_ref()?;
        let key = forest.keys.of_frame(active)?;
        let root = forest.root(active)?;
        let is_root = root.session.as_ref() == Some(&session.key);
        Some((!is_root, &session.key, key))
    });
    match candidates.min() {
        Some((_, _, key)) => Some(key.to_owned()),
        None => as_imported(forest, remembered),
    }
}

/// What was imported as active but is no session's work, such as a frame that was finished.
fn as_imported(forest: &Forest<'_>, remembered: &Remembered) -> Option<String> {
    let name = fields::text(&remembered.fields, "activeFrameID").ok()??;
    let Some(frame) = forest.keys.frame(name) else {
        return remembered.is_absent(name).then(|| name.to_owned());
    };
    let key = forest.keys.of_frame(&frame.id)?;
    let became_focus = frame.status == Status::InProgress
        && forest
            .root(&frame.id)
            .is_some_and(|root| root.session.is_some());
    (!became_focus && is_as_imported(frame, forest)).then(|| key.to_owned())
}

fn is_as_imported(frame: &Frame, forest: &Forest<'_>) -> bool {
    let original = forest.original(frame);
    let then = original.and_then(|object| shape::read(object, "", frame.created_at).ok());
    then.is_some_and(|then| then.status == frame.status)
}
