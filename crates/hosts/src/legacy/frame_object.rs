//! Converting a frame to a predecessor's JSON object.
//!
//! The conversion starts from the object that the frame was imported from and replaces only the
//! fields that, read again, would not give the current frame. A frame that was never imported
//! starts from an empty object.

use flamestack_core::{Frame, Note, Status, Text};
use serde_json::Value;

use super::extension::{self, FrameExtension, Original};
use super::schema::{FRAME_FIELDS, FrameFields, Object, known_fields};

/// A frame's name in the file and its relation to other frames.
pub(super) struct Position<'a> {
    pub(super) key: &'a str,
    pub(super) parent: Option<&'a str>,
    pub(super) planned_children: Vec<String>,
    pub(super) log_path: Option<String>,
}

/// Converts a frame.
pub(super) fn write(frame: &Frame, original: Option<&Object>, position: &Position<'_>) -> Object {
    let mut writer = ObjectWriter::new(frame, original, position);
    writer.write_position(position);
    writer.write_goal();
    writer.write_results();
    writer.write_list("artifacts", artifacts);
    writer.write_list("decisions", decisions);
    writer.write_invalidation();
    writer.finish()
}

struct ObjectWriter<'a> {
    frame: &'a Frame,
    object: Object,
    /// The frame that the object gave before the export; none without a readable original.
    before: Option<Frame>,
    extension: FrameExtension,
}

impl<'a> ObjectWriter<'a> {
    /// Writes name, times and status first, because other content may be derived from them.
    fn new(frame: &'a Frame, original: Option<&Object>, position: &Position<'_>) -> Self {
        let read = |object: &Object| {
            let fields = known_fields::<FrameFields>(object).ok()?;
            fields.frame(position.key, frame.created_at).ok()
        };
        let mut object = original.cloned().unwrap_or_default();
        let before = read(&object);
        if before.is_none() {
            // An object that an import would have refused: keep only unknown fields.
            object.retain(|field, _| !FRAME_FIELDS.contains(&field.as_str()));
        }
        let is_named = object.contains_key("sessionID");
        let mut writer = Self {
            frame,
            object,
            before,
            extension: FrameExtension::of(frame, position.key),
        };
        if writer.before.is_none() || is_named {
            writer.set("sessionID", Some(position.key));
        }
        if writer.differs(|it| &it.created_at) {
            writer.set("createdAt", Some(frame.created_at.0));
        }
        if writer.differs(|it| &it.updated_at) {
            writer.set("updatedAt", Some(frame.updated_at.0));
        }
        // The status decides what a summary in the object means.
        if writer.differs(|it| &it.status) {
            writer.set("status", Some(frame.status.as_str()));
        }
        writer.before = writer.before.and_then(|_| read(&writer.object));
        writer
    }

    /// Sets a field, or removes it.
    fn set(&mut self, field: &str, value: Option<impl Into<Value>>) {
        match value {
            Some(value) => self.object.insert(field.to_owned(), value.into()),
            None => self.object.remove(field),
        };
    }

    /// Returns true if a part of the frame has to be written.
    fn differs<T: PartialEq>(&self, part: impl Fn(&Frame) -> &T) -> bool {
        let before = self.before.as_ref();
        before.is_none_or(|before| part(before) != part(self.frame))
    }

    fn write_position(&mut self, position: &Position<'_>) {
        let before = known_fields::<FrameFields>(&self.object).unwrap_or_default();
        if position.parent != before.parent() {
            self.set("parentSessionID", position.parent);
        }
        // The predecessor gives every planned frame a list, even an empty one.
        let needs_list = self.before.is_none() && self.frame.status == Status::Planned;
        if needs_list || before.planned_children.unwrap_or_default() != position.planned_children {
            self.set("plannedChildren", Some(position.planned_children.clone()));
        }
        if position.log_path.is_some() && self.object.get("logPath").is_none_or(Value::is_null) {
            self.set("logPath", position.log_path.clone());
        }
    }

    fn write_goal(&mut self) {
        let frame = self.frame;
        if self.differs(|it| &it.title) {
            self.set("title", Some(frame.title.as_str()));
        }
        // The predecessor's code fails on a frame without criteria, so they are written empty.
        let is_changed = self.differs(|it| &it.criteria);
        if is_changed {
            let criteria = frame.criteria.as_ref().map_or("", Text::as_str);
            self.set("successCriteria", Some(criteria));
        }
        if is_changed || self.differs(|it| &it.criteria_compacted) {
            let (compacted, derived) =
                compacted(frame.criteria_compacted.as_ref(), frame.criteria.as_ref());
            self.extension.criteria_derived = derived;
            let compacted = compacted.as_ref().map_or("", Text::as_str);
            self.set("successCriteriaCompacted", Some(compacted));
        }
    }

    fn write_results(&mut self) {
        let frame = self.frame;
        let is_changed = self.differs(|it| &it.results);
        if is_changed {
            self.set("results", frame.results.as_ref().map(Text::as_str));
            if frame.results.is_none() {
                self.object.remove("compactionSummary");
                self.object.remove("compaction");
            }
        }
        if is_changed || self.differs(|it| &it.results_compacted) {
            let (compacted, derived) =
                compacted(frame.results_compacted.as_ref(), frame.results.as_ref());
            self.extension.results_derived = derived;
            self.set("resultsCompacted", compacted.as_ref().map(Text::as_str));
        }
    }

    fn write_list(&mut self, field: &str, list: fn(&[Note]) -> Vec<String>) {
        let now = list(&self.frame.notes);
        let before = self.before.as_ref().map(|before| list(&before.notes));
        match before.and_then(|before| now.strip_prefix(before.as_slice())) {
            Some([]) => {}
            // A list that only grew keeps its old entries, including blank ones.
            Some(added) => {
                let list = self.object.get(field).and_then(Value::as_array);
                let mut list = list.cloned().unwrap_or_default();
                list.extend(added.iter().map(|text| Value::from(text.as_str())));
                self.set(field, Some(list));
            }
            None => {
                self.set(field, Some(now));
                // The other place for a list would bring old entries back.
                let compaction = self.object.get_mut("compaction");
                if let Some(compaction) = compaction.and_then(Value::as_object_mut) {
                    compaction.remove(field);
                }
            }
        }
    }

    fn write_invalidation(&mut self) {
        if self.differs(|it| &it.invalidation) {
            let invalidation = self.frame.invalidation.as_ref();
            let reason = invalidation.map(|it| it.reason.as_str());
            self.set("invalidationReason", reason);
            self.set("invalidatedAt", invalidation.map(|it| it.at.0));
        }
    }

    /// Adds the `flamestack` object.
    fn finish(mut self) -> Object {
        if self.object.get("createdAt").is_none_or(Value::is_null) {
            self.extension.created_at = Some(self.frame.created_at.0);
        }
        let object = serde_json::to_string(&self.object).ok();
        if object.is_some() && object == self.frame.foreign {
            self.extension.foreign = Some(Original::Enclosing(true));
        }
        let extension = self.extension.to_value();
        self.set(extension::FIELD, Some(extension));
        self.object
    }
}

/// Returns the compacted text to write, and true if it is derived because a frame has none.
fn compacted(given: Option<&Text>, full: Option<&Text>) -> (Option<Text>, bool) {
    let derived = given.is_none() && full.is_some();
    let compacted = given.cloned().or_else(|| full.and_then(derive));
    (compacted, derived)
}

/// Derives the compacted text that an export writes if a frame has none.
pub(super) fn derive(full: &Text) -> Option<Text> {
    Text::new(&full.compacted()).ok()
}

/// Returns the artifacts among notes, as the predecessors list them.
fn artifacts(notes: &[Note]) -> Vec<String> {
    let line = |note: &Note| match note {
        Note::Artifact(text) => Some(text.to_string()),
        _ => None,
    };
    notes.iter().filter_map(line).collect()
}

/// Returns the decisions among notes, as the predecessors list them: with the reason on the same
/// line.
fn decisions(notes: &[Note]) -> Vec<String> {
    let line = |note: &Note| match note {
        Note::Decision {
            text, why: None, ..
        } => Some(text.to_string()),
        Note::Decision {
            text,
            why: Some(why),
            ..
        } => {
            let line = format!("{text} — {why}");
            // Together they may exceed the limit of a text; the extension has the reason anyway.
            Some(Text::new(&line).map_or_else(|_| text.to_string(), |_| line))
        }
        _ => None,
    };
    notes.iter().filter_map(line).collect()
}

/// Adds to our own notes what a predecessor added to its lists after our export.
pub(super) fn merge_notes(mut own: Vec<Note>, listed: &[Note]) -> Vec<Note> {
    let (artifacts, decisions) = (artifacts(&own), decisions(&own));
    let is_new = |note: &&Note| {
        let known = match note {
            Note::Artifact(_) => &artifacts,
            // A predecessor lists nothing else.
            Note::Decision { .. }
            | Note::FailedAttempt { .. }
            | Note::Evidence(_)
            | Note::Directive(_) => &decisions,
        };
        !known.iter().any(|line| line == note.text().as_str())
    };
    own.extend(listed.iter().filter(is_new).cloned());
    own
}

#[cfg(test)]
mod tests {
    use super::*;
    use flamestack_core::Author;

    fn text(text: &str) -> Text {
        Text::new(text).unwrap()
    }

    #[test]
    fn additions_of_a_predecessor_are_merged() {
        let own = [
            Note::Decision {
                text: text("keep SQLite"),
                why: Some(text("one file")),
                by: Author::User,
            },
            Note::Artifact(text("src/store.rs")),
        ];
        assert_eq!(artifacts(&own), ["src/store.rs"]);
        assert_eq!(decisions(&own), ["keep SQLite — one file"]);
        let listed = [
            Note::Artifact(text("src/store.rs")),
            Note::Artifact(text("src/new.rs")),
            Note::Decision {
                text: text("keep SQLite — one file"),
                why: None,
                by: Author::Agent,
            },
        ];
        let now = merge_notes(own.to_vec(), &listed);
        assert_eq!(now[..2], own);
        assert_eq!(now[2..], [Note::Artifact(text("src/new.rs"))]);
    }
}
