//! The frames of an export with everything that is asked of them more than once.

use std::collections::BTreeMap;

use flamestack_core::{Frame, FrameId};
use serde_json::Value;

use super::fields::Object;
use super::keys::Keys;
use super::own;
use super::shape;

/// Frames by id, by parent and by their names in files.
pub(super) struct Forest<'a> {
    pub(super) keys: Keys<'a>,
    frames: BTreeMap<&'a FrameId, &'a Frame>,
    children: BTreeMap<Option<&'a FrameId>, Vec<&'a Frame>>,
    originals: BTreeMap<&'a FrameId, Object>,
}

impl<'a> Forest<'a> {
    pub(super) fn of(all: &'a [Frame]) -> Self {
        let frames: BTreeMap<&FrameId, &Frame> = all.iter().map(|it| (&it.id, it)).collect();
        let mut children: BTreeMap<Option<&FrameId>, Vec<&Frame>> = BTreeMap::new();
        for frame in all {
            // In an export of a part of the tree, that part's top is a root.
            let parent = frame.parent.as_ref().filter(|id| frames.contains_key(id));
            children.entry(parent).or_default().push(frame);
        }
        for siblings in children.values_mut() {
            siblings.sort_by_key(|frame| (frame.rank, &frame.id));
        }
        let originals = all.iter().filter_map(|frame| {
            let original = serde_json::from_str(frame.foreign.as_deref()?).ok()?;
            let Value::Object(mut original) = original else {
                return None;
            };
            original.remove(own::FIELD);
            Some((&frame.id, original))
        });
        Self {
            keys: Keys::of(all),
            originals: originals.collect(),
            children,
            frames,
        }
    }

    /// The parent, if it is among these frames.
    pub(super) fn parent(&self, frame: &Frame) -> Option<&'a Frame> {
        let parent = frame.parent.as_ref()?;
        self.frames.get(parent).copied()
    }

    /// The root of the tree that a frame belongs to.
    pub(super) fn root(&self, id: &FrameId) -> Option<&'a Frame> {
        let mut frame = self.frames.get(id).copied()?;
        // Parents are never descendants, but this must end on frames that break the rule, too.
        for _ in 0..self.frames.len() {
            match self.parent(frame) {
                Some(parent) => frame = parent,
                None => break,
            }
        }
        Some(frame)
    }

    /// The children of a frame, or the roots, in order.
    pub(super) fn children(&self, parent: Option<&'a FrameId>) -> &[&'a Frame] {
        self.children.get(&parent).map_or(&[], Vec::as_slice)
    }

    /// The object that a frame was imported from.
    pub(super) fn original(&self, frame: &Frame) -> Option<&Object> {
        self.originals.get(&frame.id)
    }

    /// Whether a frame was imported with another parent than this one, or than none.
    pub(super) fn came_from_elsewhere(&self, frame: &Frame, parent: Option<&Frame>) -> bool {
        self.original(frame).is_some_and(|original| {
            let then = shape::parent(original).ok().flatten();
            match (then, parent) {
                (None, None) => false,
                (Some(then), Some(parent)) => {
                    let then = self.keys.frame(then);
                    then.is_none_or(|then| then.id != parent.id)
                }
                _ => true,
            }
        })
    }
}
