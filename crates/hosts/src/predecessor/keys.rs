//! The names of frames in the predecessors' files, and the names of those files.

use std::collections::{BTreeMap, BTreeSet};

use flamestack_core::{Frame, FrameId, Status};

use super::shape::PLANNED;

/// The host whose session ids the predecessors use as names.
pub(super) const OPENCODE: &str = "opencode";

/// The longest name of a frame, in characters.
pub(super) const NAME_LIMIT: usize = 500;

/// Whether a frame can go by this name.
pub(super) fn is_name(name: &str) -> bool {
    !name.trim().is_empty()
        && name.chars().nth(NAME_LIMIT).is_none()
        && !name.chars().any(char::is_control)
}

/// Which name each frame has in a file, and which frame any of its names means.
#[derive(Debug)]
pub(super) struct Keys<'a> {
    keys: BTreeMap<&'a FrameId, String>,
    frames: BTreeMap<String, &'a Frame>,
}

impl<'a> Keys<'a> {
    /// Names every frame: after its session, else by its former name, else by its own id.
    ///
    /// Names can meet, such as two hosts' sessions of one id. Whoever comes later then gets the
    /// next best name, so that nothing is overwritten.
    pub(super) fn of(frames: &'a [Frame]) -> Self {
        let mut sorted: Vec<&Frame> = frames.iter().collect();
        sorted.sort_by_key(|frame| {
            let foreign_host = frame
                .session
                .as_ref()
                .is_some_and(|it| it.host() != OPENCODE);
            (foreign_host, frame.session.clone(), frame.id.clone())
        });
        let mut keys: BTreeMap<&FrameId, String> = BTreeMap::new();
        let mut frames: BTreeMap<String, &Frame> = BTreeMap::new();
        for names in [by_session, by_alias, by_id] {
            for frame in &sorted {
                if keys.contains_key(&frame.id) {
                    continue;
                }
                let mut candidates = names(frame).into_iter();
                if let Some(name) =
                    candidates.find(|name| is_name(name) && !frames.contains_key(name))
                {
                    frames.insert(name.clone(), frame);
                    keys.insert(&frame.id, name);
                }
            }
        }
        // Only a file made for the purpose has frames that go by the ids of other frames.
        for frame in &sorted {
            if !keys.contains_key(&frame.id) {
                let mut name = format!("frame-{}", frame.id);
                while frames.contains_key(&name) {
                    name.push('-');
                }
                frames.insert(name.clone(), frame);
                keys.insert(&frame.id, name);
            }
        }
        // Other names that a list in an imported file may still use.
        for names in [by_alias, by_session, by_id] {
            for frame in &sorted {
                for name in names(frame) {
                    frames.entry(name).or_insert(frame);
                }
            }
        }
        Self { keys, frames }
    }

    /// The name of a frame in the file.
    pub(super) fn of_frame(&self, id: &FrameId) -> Option<&str> {
        self.keys.get(id).map(String::as_str)
    }

    /// The frame that a name in the file means, or meant.
    pub(super) fn frame(&self, name: &str) -> Option<&'a Frame> {
        self.frames.get(name).copied()
    }
}

fn by_session(frame: &Frame) -> Vec<String> {
    let session = frame.session.as_ref();
    session.map_or_else(Vec::new, |session| {
        vec![session.id().to_owned(), session.to_string()]
    })
}

fn by_alias(frame: &Frame) -> Vec<String> {
    frame.aliases.clone()
}

fn by_id(frame: &Frame) -> Vec<String> {
    let plain = frame.id.to_string();
    let planned = format!("{PLANNED}{plain}");
    if frame.status == Status::Planned {
        vec![planned, plain]
    } else {
        vec![plain, planned]
    }
}

/// The name of a frame's file without its ending, as the predecessors make it.
pub(super) fn sanitised(key: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    key.chars().map(plain).collect()
}

/// The names of the frames' files.
///
/// The predecessors' rule gives `ses/a` and `ses_a` the same file, and some file systems give
/// `ses_a` and `ses_A` the same one too. Whoever is not first then carries a hash of its name, as
/// does a name that is too long for a file.
pub(super) fn file_names<'k>(keys: impl Iterator<Item = &'k str>) -> BTreeMap<&'k str, String> {
    const LONGEST: usize = 150;
    let mut sorted: Vec<(&str, String)> = keys.map(|key| (key, sanitised(key))).collect();
    // A name that needs no change keeps its file.
    sorted.sort_by(|(key, name), (other, its_name)| {
        (key != name, key).cmp(&(other != its_name, other))
    });
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let mut names = BTreeMap::new();
    for (key, name) in sorted {
        let mut stem: String = name.chars().take(LONGEST).collect();
        if stem.len() < name.len() || !taken.insert(stem.to_ascii_lowercase()) {
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
    fn files_of_different_frames_never_meet() {
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
