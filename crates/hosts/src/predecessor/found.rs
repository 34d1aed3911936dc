//! Frames collected from a state and from the files beside it, each checked for itself.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use flamestack_core::FrameId;
use flamestack_core::id::Timestamp;
use serde_json::Value;

use super::document;
use super::error::{FrameProblem, ReadError};
use super::fields::{self, Object};
use super::keys::{NAME_LIMIT, is_name, sanitised};
use super::layout::frame_bytes;
use super::own;
use super::shape::{self, PLANNED};
use super::stack::Entry;

/// What was read so far.
#[derive(Default)]
pub(super) struct Found {
    pub(super) entries: Vec<Entry>,
    /// The name of each entry's parent.
    pub(super) parents: Vec<Option<String>>,
    names: BTreeSet<String>,
    ids: BTreeSet<FrameId>,
    pub(super) unread: Vec<ReadError>,
}

impl Found {
    /// Files that the state does not know, by their name or by what is in them.
    ///
    /// Our own states are always complete, so beside one of those our own frame files are stale.
    pub(super) fn leftovers(
        &mut self,
        files: &[PathBuf],
        ours: bool,
        hasher: &mut blake3::Hasher,
        unknown: Timestamp,
    ) {
        let stems: BTreeSet<String> = self.names.iter().map(|name| sanitised(name)).collect();
        let stem_is_known = |file: &Path| stem(file).is_some_and(|stem| stems.contains(stem));
        for file in files.iter().filter(|file| !stem_is_known(file)) {
            let stale = |object: &Object| {
                let name = object.get("sessionID").and_then(Value::as_str);
                let ours = ours && object.contains_key(own::FIELD);
                ours || name.is_some_and(|name| self.names.contains(name))
            };
            match read_object(file) {
                Ok((object, _)) if stale(&object) => {}
                _ => self.frame_file(file, hasher, unknown),
            }
        }
    }

    /// Takes the frame in a file, or notes down why that cannot be done.
    pub(super) fn frame_file(
        &mut self,
        file: &Path,
        hasher: &mut blake3::Hasher,
        unknown: Timestamp,
    ) {
        let taken = read_object(file).and_then(|(object, bytes)| {
            let key = name_of(&object, file);
            self.take(&key, Value::Object(object), Some(file), unknown)
                .map_err(|problem| ReadError::frame(file, &key, problem))?;
            hasher.update(key.as_bytes()).update(&bytes);
            Ok(())
        });
        self.unread.extend(taken.err());
    }

    /// Takes a frame: out of the state, whose names must agree, or out of a file of its own.
    pub(super) fn take(
        &mut self,
        key: &str,
        value: Value,
        file: Option<&Path>,
        unknown: Timestamp,
    ) -> Result<(), FrameProblem> {
        if !is_name(key) {
            return Err(FrameProblem::BadName { limit: NAME_LIMIT });
        }
        if self.names.contains(key) {
            return Err(FrameProblem::Duplicate);
        }
        let Value::Object(mut object) = value else {
            let found = fields::kind(&value);
            return Err(FrameProblem::NotAnObject { found });
        };
        let own = object.remove(own::FIELD);
        let own = own.as_ref().map(own::read).transpose();
        let own = own.map_err(|message| FrameProblem::BadOwn { message })?;
        if let Some(own) = &own
            && self.ids.contains(&own.id)
        {
            let message = format!("its id {} is another frame's too", own.id);
            return Err(FrameProblem::BadOwn { message });
        }
        let former = fields::text(&object, "sessionID")?.filter(|name| *name != key);
        if let Some(name) = former
            && file.is_none()
        {
            return Err(FrameProblem::OtherName {
                session_id: name.to_owned(),
            });
        }
        let unknown = own
            .as_ref()
            .and_then(|own| own.created_at)
            .unwrap_or(unknown);
        let said = shape::read(&object, key, unknown)?;
        let parent = shape::parent(&object)?.map(ToOwned::to_owned);
        let planned = shape::planned_children(&object)?;
        self.ids.extend(own.as_ref().map(|own| own.id.clone()));
        self.entries.push(Entry {
            key: key.to_owned(),
            former: former.map(ToOwned::to_owned),
            parent: None,
            planned_children: planned.into_iter().map(ToOwned::to_owned).collect(),
            said,
            own,
            file: file.map(ToOwned::to_owned),
            object,
        });
        self.parents.push(parent);
        self.names.insert(key.to_owned());
        Ok(())
    }
}

fn read_object(file: &Path) -> Result<(Object, Vec<u8>), ReadError> {
    let bytes = frame_bytes(file)?;
    let object = document::object(&bytes).map_err(|problem| ReadError::file(file, problem))?;
    Ok((object, bytes))
}

fn stem(file: &Path) -> Option<&str> {
    file.file_stem().and_then(|stem| stem.to_str())
}

/// The name of the frame in a file. When a planned frame begins, the predecessor moves its old file
/// over the new one: then the content still has the old name and the file has the new one.
fn name_of(object: &Object, file: &Path) -> String {
    let stem = stem(file).unwrap_or_default();
    let ours = object.get(own::FIELD).and_then(|own| own.get("key"));
    let said = object.get("sessionID").or(ours).and_then(Value::as_str);
    match said {
        Some(name) if name.starts_with(PLANNED) && !stem.starts_with(PLANNED) => stem.to_owned(),
        Some(name) => name.to_owned(),
        None => stem.to_owned(),
    }
}
