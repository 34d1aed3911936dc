//! The frames of an export, by id, by parent and by their names in the files.

use std::collections::{BTreeMap, BTreeSet};

use flamestack_core::{Frame, FrameId, Status};
use serde_json::Value;

use super::extension;
use super::schema::{FrameFields, Object, PLANNED, known_fields};

/// The host whose session ids the predecessors use as names.
pub(super) const OPENCODE: &str = "opencode";

/// Maximum length of a frame's name, in characters.
pub(super) const NAME_LIMIT: usize = 500;

/// Returns true if a frame can have this name.
pub(super) fn is_valid_name(name: &str) -> bool {
    !name.trim().is_empty()
        && name.chars().nth(NAME_LIMIT).is_none()
        && !name.chars().any(char::is_control)
}

/// The frames of an export.
pub(super) struct ExportTree<'a> {
    frames: BTreeMap<&'a FrameId, &'a Frame>,
    children: BTreeMap<Option<&'a FrameId>, Vec<&'a Frame>>,
    /// The objects that frames were imported from.
    originals: BTreeMap<&'a FrameId, Object>,
    keys: BTreeMap<&'a FrameId, String>,
    /// Frames by their name in the file, and by names that an imported list may still use.
    by_name: BTreeMap<String, &'a Frame>,
}

impl<'a> ExportTree<'a> {
    pub(super) fn new(all: &'a [Frame]) -> Self {
        let frames: BTreeMap<&FrameId, &Frame> = all.iter().map(|it| (&it.id, it)).collect();
        let mut children: BTreeMap<Option<&FrameId>, Vec<&Frame>> = BTreeMap::new();
        for frame in all {
            // In an export of a subtree, the top of the subtree is a root.
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
            original.remove(extension::FIELD);
            Some((&frame.id, original))
        });
        let mut tree = Self {
            originals: originals.collect(),
            children,
            frames,
            keys: BTreeMap::new(),
            by_name: BTreeMap::new(),
        };
        tree.assign_keys(all);
        tree
    }

    /// Names every frame: after its session, else by a former name, else by its id.
    ///
    /// Names can clash, such as the sessions of two hosts that have the same id. Then the later
    /// frame gets its next best name, so that no frame overwrites another one.
    fn assign_keys(&mut self, all: &'a [Frame]) {
        let mut sorted: Vec<&Frame> = all.iter().collect();
        sorted.sort_by_key(|frame| {
            let session = frame.session.as_ref();
            let other_host = session.is_some_and(|it| it.host() != OPENCODE);
            (other_host, session, frame.id)
        });
        for names in [session_names, alias_names, id_names] {
            for frame in &sorted {
                if self.keys.contains_key(&frame.id) {
                    continue;
                }
                let is_free =
                    |name: &String| is_valid_name(name) && !self.by_name.contains_key(name);
                if let Some(name) = names(frame).into_iter().find(is_free) {
                    self.assign_key(frame, name);
                }
            }
        }
        // Only a crafted file has frames whose names are the ids of other frames.
        for frame in &sorted {
            if !self.keys.contains_key(&frame.id) {
                let mut name = format!("frame-{}", frame.id);
                while self.by_name.contains_key(&name) {
                    name.push('-');
                }
                self.assign_key(frame, name);
            }
        }
        for names in [alias_names, session_names, id_names] {
            for frame in &sorted {
                for name in names(frame) {
                    self.by_name.entry(name).or_insert(frame);
                }
            }
        }
    }

    fn assign_key(&mut self, frame: &'a Frame, key: String) {
        self.by_name.insert(key.clone(), frame);
        self.keys.insert(&frame.id, key);
    }

    /// Returns the name of a frame in the file.
    pub(super) fn key(&self, id: &FrameId) -> Option<&str> {
        self.keys.get(id).map(String::as_str)
    }

    /// Returns the frame that a name in the file refers to, or referred to when it was imported.
    pub(super) fn by_name(&self, name: &str) -> Option<&'a Frame> {
        self.by_name.get(name).copied()
    }

    /// Returns the parent, if it is part of the export.
    pub(super) fn parent(&self, frame: &Frame) -> Option<&'a Frame> {
        let parent = frame.parent.as_ref()?;
        self.frames.get(parent).copied()
    }

    /// Returns the root of the tree that a frame belongs to.
    pub(super) fn root(&self, id: &FrameId) -> Option<&'a Frame> {
        let mut frame = self.frames.get(id).copied()?;
        // Bounded, so that it ends even if the frames contain a cycle.
        for _ in 0..self.frames.len() {
            match self.parent(frame) {
                Some(parent) => frame = parent,
                None => break,
            }
        }
        Some(frame)
    }

    /// Returns the children of a frame, or the roots, in order.
    pub(super) fn children(&self, parent: Option<&'a FrameId>) -> &[&'a Frame] {
        self.children.get(&parent).map_or(&[], Vec::as_slice)
    }

    /// Returns the object that a frame was imported from.
    pub(super) fn original(&self, frame: &Frame) -> Option<&Object> {
        self.originals.get(&frame.id)
    }

    /// Returns the fields of the object that a frame was imported from.
    pub(super) fn original_fields(&self, frame: &Frame) -> Option<FrameFields> {
        let original = self.original(frame)?;
        Some(known_fields::<FrameFields>(original).unwrap_or_default())
    }

    /// Returns true if a frame was imported with another parent than this one.
    pub(super) fn had_other_parent(&self, frame: &Frame, parent: Option<&Frame>) -> bool {
        self.original_fields(frame)
            .is_some_and(|original| match (original.parent(), parent) {
                (None, None) => false,
                (Some(before), Some(parent)) => {
                    let before = self.by_name(before);
                    before.is_none_or(|before| before.id != parent.id)
                }
                _ => true,
            })
    }
}

fn session_names(frame: &Frame) -> Vec<String> {
    let session = frame.session.as_ref();
    session.map_or_else(Vec::new, |session| {
        vec![session.id().to_owned(), session.to_string()]
    })
}

fn alias_names(frame: &Frame) -> Vec<String> {
    frame.aliases.clone()
}

fn id_names(frame: &Frame) -> Vec<String> {
    let plain = frame.id.to_string();
    let planned = format!("{PLANNED}{plain}");
    if frame.status == Status::Planned {
        vec![planned, plain]
    } else {
        vec![plain, planned]
    }
}

/// Returns the stem of a frame's file, as the predecessors make it.
pub(super) fn sanitised(key: &str) -> String {
    key.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-', "_")
}

/// Returns the file names of frames.
///
/// The predecessors give `ses/a` and `ses_a` the same file, and some file systems do so for `ses_a`
/// and `ses_A`. All but the first then get a hash of their name appended, and so does a name that
/// is too long for a file.
pub(super) fn file_names<'k>(keys: impl Iterator<Item = &'k str>) -> BTreeMap<&'k str, String> {
    const LONGEST: usize = 150;
    let mut stems: Vec<(&str, String)> = keys.map(|key| (key, sanitised(key))).collect();
    // Names that need no change are first, so that they keep their file.
    stems.sort_by_cached_key(|(key, stem)| (key != stem, *key));
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let mut names = BTreeMap::new();
    for (key, full_stem) in stems {
        let mut stem: String = full_stem.chars().take(LONGEST).collect();
        if stem.len() < full_stem.len() || !taken.insert(stem.to_ascii_lowercase()) {
            stem = format!("{stem}-{}", blake3::hash(key.as_bytes()).to_hex());
            taken.insert(stem.clone());
        }
        names.insert(key, format!("{stem}.json"));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_different_frames_never_share_a_name() {
        let long = "x".repeat(300);
        let keys = [
            "ses/a",
            "ses_a",
            "ses_A",
            "ses.a",
            long.as_str(),
            "日本語",
            "日本誤",
        ];
        let names = file_names(keys.into_iter());
        let distinct: BTreeSet<String> = names
            .values()
            .map(|name| name.to_ascii_lowercase())
            .collect();
        assert_eq!(distinct.len(), keys.len());
        assert_eq!(names["ses_A"], "ses_A.json");
        assert!(names["ses_a"].starts_with("ses_a-"));
        assert!(names.values().all(|name| name.len() < 255));
    }
}
