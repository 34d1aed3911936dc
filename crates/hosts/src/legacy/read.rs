//! Reading a stack from its files and checking it as a whole.
//!
//! A `state.json` is read completely or not at all. The files in `frames/` are only leftovers: the
//! predecessors never read them back, they can be stale, and a crash leaves them truncated. So a
//! frame file that cannot be used is skipped and reported.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use flamestack_core::id::{FrameId, Timestamp};
use flamestack_core::{Frame, Session};
use flamestack_engine::Redactor;
use flamestack_store::transcript::redact_strings;
use serde_json::Value;

use super::error::{
    CORRECT_FIELD, CORRECT_FILE, FieldProblem, FileProblem, LegacyReadError, printable,
};
use super::export_tree::{NAME_LIMIT, is_valid_name, sanitised};
use super::extension::{self, FrameExtension};
use super::files::{Layout, frame_bytes};
use super::schema::{
    self, FrameFields, Object, PLANNED, SessionField, State, StateFields, known_fields,
};
use super::tree;

/// A stack that was read, parents before children.
#[derive(Debug, Default)]
pub struct LegacyStack {
    /// Number of frames that were only in `frames/`.
    pub leftovers: usize,
    /// Files in `frames/` that could not be used.
    pub unreadable: Vec<LegacyReadError>,
    pub(super) source: String,
    pub(super) state: PathBuf,
    /// All fields of the state except its frames and its `flamestack` object.
    pub(super) fields: Object,
    pub(super) active: Option<String>,
    pub(super) roots: Vec<String>,
    /// The sessions, if Flamestack exported the state.
    pub(super) sessions: Option<Vec<Session>>,
    pub(super) frames: Vec<FrameEntry>,
}

/// A frame that was read.
#[derive(Debug)]
pub(super) struct FrameEntry {
    /// Its name in the file.
    pub(super) key: String,
    /// Its `sessionID`, if that differs from `key`.
    pub(super) former_key: Option<String>,
    pub(super) parent_key: Option<String>,
    /// Index of its parent, which comes before it. Set by [`tree::arrange`].
    pub(super) parent: Option<usize>,
    pub(super) planned_children: Vec<String>,
    /// The id of its session, if the format has a field for it.
    pub(super) session: SessionField,
    /// The object without its `flamestack` object.
    pub(super) object: Object,
    /// The frame, without a place in a tree and without names.
    pub(super) frame: Frame,
    pub(super) extension: Option<FrameExtension>,
    /// Its file in `frames/`, if it is not in the state.
    pub(super) file: Option<PathBuf>,
}

impl LegacyStack {
    /// Returns the number of frames.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Returns true if there are no frames.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }
}

impl Layout {
    /// Reads the state, and the files in `frames/` that are missing from it.
    ///
    /// Texts are redacted before titles are cut from them.
    pub fn read(&self, redactor: &Redactor) -> Result<LegacyStack, LegacyReadError> {
        let files = self.frame_files()?;
        self.read_state(&files, redactor)
            .map_err(|error| error.beside(files.len()))
    }

    /// Reads only `frames/`, for a state that cannot be read.
    pub fn read_frames_only(&self, redactor: &Redactor) -> Result<LegacyStack, LegacyReadError> {
        let files = self.frame_files()?;
        if files.is_empty() {
            return Err(LegacyReadError::NotFound {
                dir: self.frames.clone(),
                candidates: vec![self.frames.join("*.json")],
            });
        }
        let mut reader = FrameReader {
            redactor: redactor.clone(),
            ..FrameReader::default()
        };
        for file in files {
            reader.read_file(&file);
        }
        if reader.entries.is_empty() && !reader.unreadable.is_empty() {
            return Err(reader.unreadable.swap_remove(0));
        }
        let times = reader.entries.iter().map(|entry| entry.frame.updated_at);
        let Timestamp(updated) = times.max().unwrap_or_default();
        let mut stack = reader.finish("frames", &self.state);
        stack.leftovers = stack.len();
        stack.fields.insert("version".to_owned(), Value::from(1));
        let updated = Value::from(updated);
        stack.fields.insert("updatedAt".to_owned(), updated);
        tree::arrange(stack)
    }

    fn read_state(
        &self,
        files: &[PathBuf],
        redactor: &Redactor,
    ) -> Result<LegacyStack, LegacyReadError> {
        let invalid = |problem| LegacyReadError::file(&self.state, problem);
        let bytes = self.state_bytes()?;
        let State { frames, mut fields } = schema::parse(&bytes).map_err(invalid)?;
        schema::rename_state_fields(&mut fields);
        let extension = fields.remove(extension::FIELD);
        let sessions = extension.as_ref().map(extension::read_sessions);
        let sessions = sessions.transpose().map_err(invalid)?;
        let known = known_fields::<StateFields>(&fields);
        let known = known.map_err(|FieldProblem { field, message }| {
            let message = format!("`{field}` is invalid: {message}");
            invalid(FileProblem::new(message, CORRECT_FILE))
        })?;

        let mut reader = FrameReader {
            default_created: known.updated_at.unwrap_or_default(),
            redactor: redactor.clone(),
            ..FrameReader::default()
        };
        reader.hasher.update(&bytes);
        for (key, value) in frames.0 {
            reader
                .add(&key, value, None)
                .map_err(|problem| LegacyReadError::frame(&self.state, &key, problem))?;
        }
        let in_state = reader.entries.len();
        let is_ours = sessions.is_some();
        reader.read_leftovers(files, is_ours);
        let kind = if is_ours {
            extension::FIELD
        } else {
            self.kind.as_str()
        };
        tree::arrange(LegacyStack {
            leftovers: reader.entries.len() - in_state,
            fields,
            active: known.active,
            roots: known.roots.unwrap_or_default(),
            sessions,
            ..reader.finish(kind, &self.state)
        })
    }
}

/// Collects frames from a state and from the files beside it, and checks each of them.
#[derive(Default)]
struct FrameReader {
    entries: Vec<FrameEntry>,
    unreadable: Vec<LegacyReadError>,
    names: BTreeSet<String>,
    ids: BTreeSet<FrameId>,
    /// Hash of everything that was read, which identifies the import.
    hasher: blake3::Hasher,
    /// Time of creation for frames that have none.
    default_created: Timestamp,
    redactor: Redactor,
}

impl FrameReader {
    /// Returns the frames as a stack without a state.
    fn finish(self, kind: &str, state: &Path) -> LegacyStack {
        LegacyStack {
            unreadable: self.unreadable,
            source: format!("{kind}:{}", self.hasher.finalize().to_hex()),
            state: state.to_owned(),
            frames: self.entries,
            ..LegacyStack::default()
        }
    }

    /// Reads the files of frames that are not in the state.
    ///
    /// `state_is_ours` means that Flamestack exported the state. Such a state is complete, so frame
    /// files of ours that it lacks are stale.
    fn read_leftovers(&mut self, files: &[PathBuf], state_is_ours: bool) {
        let stems: BTreeSet<String> = self.names.iter().map(|name| sanitised(name)).collect();
        for file in files {
            if stem(file).is_some_and(|stem| stems.contains(stem)) {
                continue;
            }
            let is_stale = |object: &Object| {
                let name = object.get("sessionID").and_then(Value::as_str);
                state_is_ours && object.contains_key(extension::FIELD)
                    || name.is_some_and(|name| self.names.contains(name))
            };
            if !read_object(file).is_ok_and(|(object, _)| is_stale(&object)) {
                self.read_file(file);
            }
        }
    }

    /// Adds the frame in a file, or records why it cannot be used.
    fn read_file(&mut self, file: &Path) {
        let added = read_object(file).and_then(|(object, bytes)| {
            let key = name_in_file(&object, file);
            self.add(&key, Value::Object(object), Some(file))
                .map_err(|problem| LegacyReadError::frame(file, &key, problem))?;
            self.hasher.update(key.as_bytes()).update(&bytes);
            Ok(())
        });
        self.unreadable.extend(added.err());
    }

    /// Adds a frame from the state or from a frame file.
    fn add(&mut self, key: &str, value: Value, file: Option<&Path>) -> Result<(), FileProblem> {
        if !is_valid_name(key) {
            let message = format!(
                "has a name that is empty, longer than {NAME_LIMIT} characters or not printable"
            );
            let hint = "rename the frame in the file and import it again";
            return Err(FileProblem::new(message, hint));
        }
        if self.names.contains(key) {
            let hint = "remove or rename one of the two in the file and import it again";
            return Err(FileProblem::new("is there twice", hint));
        }
        let Value::Object(mut object) = value else {
            let message = format!("is {}, not an object", json_type(&value));
            return Err(FileProblem::new(message, CORRECT_FIELD));
        };
        let extension = self.extension(object.remove(extension::FIELD).as_ref())?;
        schema::rename_tree_fields(&mut object);
        for (name, field) in &mut object {
            if !schema::NAMES.contains(&name.as_str()) {
                redact_strings(field, &self.redactor);
            }
        }
        let mut fields = known_fields::<FrameFields>(&object)?;
        let session = std::mem::take(&mut fields.session);
        let former_key = fields.name.take().filter(|name| name != key);
        if let (Some(other), None) = (&former_key, file) {
            let other = printable(other);
            let message = format!("has another name as its `sessionID`: `{other}`");
            let hint = "make the frame's `sessionID` and its key in `frames` the same and import \
                        it again";
            return Err(FileProblem::new(message, hint));
        }
        let created = extension.as_ref().and_then(|own| own.created_at);
        let default_created = created.map_or(self.default_created, Timestamp);
        let parent_key = fields.parent().map(ToOwned::to_owned);
        let planned_children = fields.planned_children.take().unwrap_or_default();
        let mut frame = fields.frame(key, default_created)?;
        if let Some(extension) = &extension {
            extension.restore(&mut frame);
            self.ids.insert(extension.id.0);
        }
        self.names.insert(key.to_owned());
        self.entries.push(FrameEntry {
            key: key.to_owned(),
            former_key,
            parent_key,
            parent: None,
            planned_children,
            session,
            frame,
            extension,
            file: file.map(ToOwned::to_owned),
            object,
        });
        Ok(())
    }

    fn extension(&self, value: Option<&Value>) -> Result<Option<FrameExtension>, FileProblem> {
        let damaged = |problem: String| {
            let message = format!("has a damaged `flamestack` object: {problem}");
            let hint = "remove the `flamestack` object from the frame: the rest can be imported \
                        without it";
            FileProblem::new(message, hint)
        };
        let extension = value.map(FrameExtension::read).transpose();
        let extension = extension.map_err(damaged)?;
        if let Some(FrameExtension { id, .. }) = &extension
            && self.ids.contains(&id.0)
        {
            return Err(damaged(format!("another frame has its id {}", id.0)));
        }
        Ok(extension)
    }
}

fn read_object(file: &Path) -> Result<(Object, Vec<u8>), LegacyReadError> {
    let bytes = frame_bytes(file)?;
    let object = schema::parse(&bytes).map_err(|problem| LegacyReadError::file(file, problem))?;
    Ok((object, bytes))
}

fn stem(file: &Path) -> Option<&str> {
    file.file_stem().and_then(|stem| stem.to_str())
}

/// Returns the name of the frame in a file.
///
/// When work on a planned frame begins, the predecessor moves its old file over the new one. Then
/// the content still has the old name and only the file has the new one.
fn name_in_file(object: &Object, file: &Path) -> String {
    let stem = stem(file).unwrap_or_default();
    let key = object.get(extension::FIELD).and_then(|own| own.get("key"));
    let name = object.get("sessionID").or(key).and_then(Value::as_str);
    match name {
        Some(name) if name.starts_with(PLANNED) && !stem.starts_with(PLANNED) => stem.to_owned(),
        Some(name) => name.to_owned(),
        None => stem.to_owned(),
    }
}

fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
