//! The JSON of a state and of a frame.
//!
//! Two generations of field names exist, and files mix them: the later one has `title`,
//! `successCriteria` and `results`, the earlier one `goal` and `compactionSummary`. `null` counts
//! as missing and a blank text as absent, as they do in the tools that wrote these files.

use std::fmt;
use std::str;

use flamestack_core::frame::Invalidation;
use flamestack_core::id::Timestamp;
use flamestack_core::text::{PROSE_LIMIT, TITLE_LIMIT, TextProblem, condense};
use flamestack_core::{Author, Frame, FrameId, Note, Status, Text, Title};
use flamestack_engine::json_problem::in_plain_words;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::{Map, Number, Value};

use super::error::{CORRECT_FIELD, CORRECT_FILE, FieldProblem, FileProblem, RESTORE, printable};
use super::extension;

/// Maximum length of a title that is made from a goal, in characters.
const GOAL_TITLE_LIMIT: usize = 100;

/// Prefix of the names of planned frames.
pub(super) const PLANNED: &str = "plan-";

/// Fields of a frame, in the order in which the predecessors write them.
pub(super) const FRAME_FIELDS: [&str; 20] = [
    "sessionID",
    "parentSessionID",
    "status",
    "title",
    "goal",
    "successCriteria",
    "successCriteriaCompacted",
    "results",
    "resultsCompacted",
    "compactionSummary",
    "createdAt",
    "updatedAt",
    "artifacts",
    "decisions",
    "logPath",
    "invalidationReason",
    "invalidatedAt",
    "plannedChildren",
    "sessionId",
    "compaction",
];

/// Fields of a state, in the order in which the predecessors write them.
const STATE_FIELDS: [&str; 4] = ["version", "frames", "activeFrameID", "rootFrameIDs"];

/// A JSON object with all its fields, known or not.
pub(super) type Object = Map<String, Value>;

/// A `state.json`.
#[derive(Debug, serde::Deserialize)]
#[serde(expecting = "an object with `frames`")]
pub(super) struct State {
    pub(super) frames: FrameList,
    /// All other fields.
    #[serde(flatten)]
    pub(super) fields: Object,
}

/// The names and values of `frames`, in file order.
///
/// A map would keep only the last of two equal names and silently lose a frame.
#[derive(Debug)]
pub(super) struct FrameList(pub(super) Vec<(String, Value)>);

impl<'de> Deserialize<'de> for FrameList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FrameListVisitor;

        impl<'de> Visitor<'de> for FrameListVisitor {
            type Value = FrameList;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with a frame under each name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<FrameList, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(FrameList(entries))
            }
        }

        deserializer.deserialize_map(FrameListVisitor)
    }
}

/// Parses the content of a file.
pub(super) fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, FileProblem> {
    let text = str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let message = format!("the file is not UTF-8 text (from byte {at} on)");
        FileProblem::new(message, "save it as UTF-8 and import it again")
    })?;
    // Some editors on Windows write a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(FileProblem::new("the file is empty", RESTORE));
    }
    serde_json::from_str(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        // As a crash during a write leaves it.
        if error.is_eof() {
            let message = "the file ends in the middle of its JSON";
            let message = format!("{message}, at line {line}, column {column}");
            return FileProblem::new(message, RESTORE);
        }
        let position = format!(" at line {line} column {column}");
        let message = error.to_string();
        let message = message.strip_suffix(&position).unwrap_or(&message);
        let message = format!("{message} (line {line}, column {column})");
        FileProblem::new(message, CORRECT_FILE)
    })
}

/// Reads the known fields of an object.
pub(super) fn known_fields<'a, T: Deserialize<'a>>(object: &'a Object) -> Result<T, FieldProblem> {
    serde_path_to_error::deserialize(object).map_err(|error| FieldProblem {
        field: error.path().to_string(),
        message: in_plain_words(&error.into_inner().to_string()),
    })
}

/// Known fields of a state besides its frames.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct StateFields {
    #[serde(rename = "activeFrameID")]
    pub(super) active: Option<String>,
    #[serde(rename = "rootFrameIDs")]
    pub(super) roots: Option<Vec<String>>,
    #[serde(deserialize_with = "time")]
    pub(super) updated_at: Option<Timestamp>,
}

/// Fields of a frame that hold names of frames; everything else may hold text.
pub(super) const NAMES: [&str; 4] = [
    "sessionID",
    "parentSessionID",
    "plannedChildren",
    "sessionId",
];

/// Known fields of a frame.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct FrameFields {
    #[serde(rename = "sessionID")]
    pub(super) name: Option<String>,
    #[serde(rename = "parentSessionID")]
    parent: Option<String>,
    pub(super) planned_children: Option<Vec<String>>,
    status: Option<String>,
    title: Option<String>,
    goal: Option<String>,
    success_criteria: Option<MaybeBlank>,
    success_criteria_compacted: Option<MaybeBlank>,
    results: Option<MaybeBlank>,
    results_compacted: Option<MaybeBlank>,
    compaction_summary: Option<String>,
    compaction: Option<CompactionFields>,
    /// The session of a frame that has a name of its own: `null` before it was worked on.
    #[serde(rename = "sessionId")]
    pub(super) session: SessionField,
    artifacts: Option<Vec<MaybeBlank>>,
    decisions: Option<Vec<MaybeBlank>>,
    invalidation_reason: Option<MaybeBlank>,
    #[serde(deserialize_with = "time")]
    invalidated_at: Option<Timestamp>,
    #[serde(deserialize_with = "time")]
    pub(super) created_at: Option<Timestamp>,
    #[serde(deserialize_with = "time")]
    pub(super) updated_at: Option<Timestamp>,
}

/// Known fields of a frame's `compaction`.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct CompactionFields {
    summary: Option<MaybeBlank>,
    artifacts: Option<Vec<MaybeBlank>>,
    decisions: Option<Vec<MaybeBlank>>,
}

/// The field that names a frame's session.
#[derive(Debug, Default)]
pub(super) enum SessionField {
    /// The format has none.
    #[default]
    Missing,
    /// The session, if the frame has one.
    Present(Option<String>),
}

impl<'de> Deserialize<'de> for SessionField {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::deserialize(deserializer).map(Self::Present)
    }
}

/// Renames the fields of the one format that has other names for the tree, of which `id`, `parentId`
/// and `children` are typical. It is then read, and exported, like the others.
pub(super) fn rename_tree_fields(object: &mut Object) {
    let has_own_names = ["parentId", "sessionId"]
        .iter()
        .any(|name| object.contains_key(*name));
    if !has_own_names || object.contains_key("parentSessionID") {
        return;
    }
    rename(object, "parentId", "parentSessionID");
    rename(object, "children", "plannedChildren");
    rename(object, "completedAt", "updatedAt");
}

/// Does the same for a state.
pub(super) fn rename_state_fields(fields: &mut Object) {
    for name in ["current", "currentFrameId"] {
        rename(fields, name, "activeFrameID");
    }
    if let Some(root) = fields.get("rootFrameId").and_then(Value::as_str)
        && !fields.contains_key("rootFrameIDs")
    {
        let roots = Value::from(vec![root]);
        fields.remove("rootFrameId");
        fields.insert("rootFrameIDs".to_owned(), roots);
    }
}

/// Renames a field, unless it is `null` or empty or the other name is taken.
fn rename(object: &mut Object, from: &str, to: &str) {
    let is_blank = |value: &Value| value.is_null() || value.as_str() == Some("");
    if object.get(from).is_some_and(|value| !is_blank(value))
        && !object.contains_key(to)
        && let Some(value) = object.remove(from)
    {
        object.insert(to.to_owned(), value);
    }
}

/// Reads a time in milliseconds; JavaScript may have written it with a fraction.
fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "`as` saturates, and no real time is beyond that"
    )]
    let rounded = |ms: f64| ms.round() as i64;
    let number = Option::<Number>::deserialize(deserializer)?;
    let ms = number.and_then(|ms| ms.as_i64().or_else(|| ms.as_f64().map(rounded)));
    Ok(ms.map(Timestamp))
}

/// A text that counts as absent if it is blank.
#[derive(Clone, Debug)]
struct MaybeBlank(Option<Text>);

impl MaybeBlank {
    fn new(text: &str) -> Result<Self, String> {
        match Text::new(text) {
            Ok(text) => Ok(Self(Some(text))),
            Err(TextProblem::Empty) => Ok(Self(None)),
            Err(problem) => Err(format!("it {problem}")),
        }
    }
}

impl<'de> Deserialize<'de> for MaybeBlank {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl FrameFields {
    /// Returns the name of the parent.
    pub(super) fn parent(&self) -> Option<&str> {
        self.parent.as_deref().filter(|parent| !parent.is_empty())
    }

    /// Converts the fields to a frame that has no place in a tree yet.
    ///
    /// `name` is the frame's name in the file; `default_created` is used if the fields hold no
    /// time of creation.
    pub(super) fn frame(
        self,
        name: &str,
        default_created: Timestamp,
    ) -> Result<Frame, FileProblem> {
        let missing = || FileProblem::new("has no `status`", CORRECT_FIELD);
        let status = self.status.as_deref().ok_or_else(missing)?;
        let status = Status::from_name(status).ok_or_else(|| {
            let known = Status::ALL.map(Status::as_str).join(", ");
            let status = printable(status);
            let message = format!("has the unknown status `{status}`; known are {known}");
            FileProblem::new(
                message,
                "put one of these into the file and import it again",
            )
        })?;
        let title = self.title(name)?;
        let criteria = later_or_earlier(self.success_criteria, "goal", self.goal)?;
        let results = later_or_earlier(self.results, "compactionSummary", self.compaction_summary)?;
        let has_compaction = self.compaction.is_some();
        let compaction = self.compaction.unwrap_or_default();
        let compacted = compaction.summary.and_then(|summary| summary.0);
        // The summary of a frame that continues is not a result.
        let (results, summary) = match status {
            Status::Completed | Status::Failed => (results.or(compacted), None),
            _ => (results, compacted),
        };
        let created_at = self.created_at.unwrap_or(default_created);
        let updated_at = self.updated_at.unwrap_or(created_at);
        let at = self.invalidated_at.unwrap_or(updated_at);
        let invalidation = self.invalidation_reason.and_then(|reason| reason.0);
        let artifacts = present(self.artifacts).chain(present(compaction.artifacts));
        let decisions = present(self.decisions).chain(present(compaction.decisions));
        let artifacts = artifacts.map(Note::Artifact);
        let decisions = decisions.map(|text| Note::Decision {
            text,
            why: None,
            by: Author::Agent,
        });
        let mut notes: Vec<Note> = Vec::new();
        for note in artifacts.chain(decisions) {
            // Both lists of artifacts may name a file.
            if !has_compaction || !notes.contains(&note) {
                notes.push(note);
            }
        }
        // An import sets the id.
        let id = FrameId::from_entropy(0);
        Ok(Frame {
            status,
            criteria,
            criteria_compacted: self.success_criteria_compacted.and_then(|text| text.0),
            results,
            results_compacted: self.results_compacted.and_then(|text| text.0),
            notes,
            invalidation: invalidation.map(|reason| Invalidation { reason, at }),
            updated_at,
            summary,
            ..Frame::new(id, title, created_at)
        })
    }

    /// Returns the title, else the first line of the goal, else a title made from the name, as the
    /// predecessors make it.
    fn title(&self, name: &str) -> Result<Title, FieldProblem> {
        let goal = self.goal.as_deref().unwrap_or_default();
        let goal = goal.lines().find(|line| !line.trim().is_empty());
        let candidates = [
            ("title", self.title.as_deref(), TITLE_LIMIT),
            ("goal", goal, GOAL_TITLE_LIMIT),
        ];
        for (field, text, limit) in candidates {
            let title = text.map(|text| shortened_title(text, limit)).transpose();
            if let Some(title) = title
                .map_err(|problem| bad_text(field, &problem))?
                .flatten()
            {
                return Ok(title);
            }
        }
        let title = if name.starts_with(PLANNED) {
            "(untitled)".to_owned()
        } else {
            format!("Session {}", name.chars().take(8).collect::<String>())
        };
        Title::new(&title).map_err(|problem| bad_text("sessionID", &problem))
    }
}

/// Returns the later generation's field if it is there, even if it is blank, else the earlier one's.
fn later_or_earlier(
    later: Option<MaybeBlank>,
    field: &str,
    earlier: Option<String>,
) -> Result<Option<Text>, FieldProblem> {
    let text = match (later, earlier) {
        (Some(later), _) => later,
        (None, Some(earlier)) => MaybeBlank::new(&earlier).map_err(|message| FieldProblem {
            field: field.to_owned(),
            message,
        })?,
        (None, None) => return Ok(None),
    };
    Ok(text.0)
}

fn present(texts: Option<Vec<MaybeBlank>>) -> impl Iterator<Item = Text> {
    let texts = texts.unwrap_or_default().into_iter();
    texts.filter_map(|text| text.0)
}

/// Makes a title of at most `limit` characters; returns none for a blank text.
///
/// The predecessors do not limit titles, so a long one is shortened. The whole text stays in the
/// frame's original object. A text that is too long for any field is refused.
fn shortened_title(text: &str, limit: usize) -> Result<Option<Title>, TextProblem> {
    if text.len() > PROSE_LIMIT {
        let length = text.chars().count();
        return Err(TextProblem::TitleTooLong(length));
    }
    let title = match Title::new(text) {
        Ok(title) if title.as_str().chars().count() <= limit => Ok(title),
        // `condense` may add a mark of two characters.
        Ok(_) | Err(TextProblem::TitleTooLong(_)) => Title::new(&condense(text, limit - 2)),
        Err(problem) => Err(problem),
    };
    match title {
        Ok(title) => Ok(Some(title)),
        Err(TextProblem::Empty) => Ok(None),
        Err(problem) => Err(problem),
    }
}

fn bad_text(field: &str, problem: &TextProblem) -> FieldProblem {
    FieldProblem {
        field: field.to_owned(),
        message: format!("it {problem}"),
    }
}

/// Prints a value as the predecessors do: indented by two spaces, fields in their order.
///
/// Sorting here keeps the bytes of an export independent of the features of `serde_json`, whose
/// map may or may not preserve insertion order.
pub(super) fn to_pretty_json(value: &Value) -> String {
    // Only maps with non-string keys and failing `Serialize` impls can make this fail.
    serde_json::to_string_pretty(&Sorted(value)).unwrap_or_default() + "\n"
}

struct Sorted<'a>(&'a Value);

impl Serialize for Sorted<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Array(items) => serializer.collect_seq(items.iter().map(Sorted)),
            Value::Object(fields) => {
                let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
                fields.sort_by_cached_key(|(name, _)| (field_position(name), *name));
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                for (name, value) in fields {
                    map.serialize_entry(name, &Sorted(value))?;
                }
                map.end()
            }
            scalar => scalar.serialize(serializer),
        }
    }
}

/// Returns the sort position of a field: known fields, then unknown ones, then our own object.
fn field_position(name: &str) -> usize {
    if name == extension::FIELD {
        return usize::MAX;
    }
    let mut known = STATE_FIELDS.iter().chain(&FRAME_FIELDS).chain(&["format"]);
    known
        .position(|known| *known == name)
        .unwrap_or(usize::MAX - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn state(bytes: &[u8]) -> Result<State, FileProblem> {
        parse(bytes)
    }

    #[test]
    fn duplicate_names_stay_visible() {
        let state = state(br#"{"version":1,"frames":{"a":1,"a":2}}"#).unwrap();
        let names: Vec<_> = state.frames.0.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["a", "a"]);
        assert_eq!(state.fields.len(), 1);
    }

    #[test]
    fn a_byte_order_mark_is_ignored() {
        assert!(state("\u{feff}{\"frames\":{}}".as_bytes()).is_ok());
        let blank = state("\u{feff} \n".as_bytes()).unwrap_err();
        assert_eq!(blank.to_string(), "the file is empty");
    }

    #[test]
    fn syntax_errors_have_a_position() {
        let error = |text: &[u8]| state(text).unwrap_err().to_string();
        assert_eq!(
            error(b"{\n  \"frames\": {},,}"),
            "key must be a string (line 2, column 16)"
        );
        assert_eq!(
            error(b"{\"frames\": {\"a\": {"),
            "the file ends in the middle of its JSON, at line 1, column 18"
        );
        assert_eq!(
            error(b"{\"frames\": []}"),
            "invalid type: sequence, expected an object with a frame under each name \
             (line 1, column 11)"
        );
        assert_eq!(
            error(b"[]"),
            "invalid type: sequence, expected an object with `frames` (line 1, column 0)"
        );
        assert_eq!(error(b"{}"), "missing field `frames` (line 1, column 2)");
        assert_eq!(
            error(b"{\"frames\":{},\"frames\":{}}"),
            "duplicate field `frames` (line 1, column 21)"
        );
        assert_eq!(
            error(b"{\"a\xff"),
            "the file is not UTF-8 text (from byte 3 on)"
        );
        let deep = format!("{{\"frames\":{{\"a\":{}", "[".repeat(10_000));
        assert!(error(deep.as_bytes()).starts_with("recursion limit exceeded"));
    }

    #[test]
    fn fields_are_printed_in_the_predecessors_order() {
        let value = json!({
            "flamestack": {}, "zeta": [], "alpha": [1, {"b": "\"\n"}],
            "title": "t", "status": "planned", "version": 1,
        });
        insta::assert_snapshot!(to_pretty_json(&value), @r#"
        {
          "version": 1,
          "status": "planned",
          "title": "t",
          "alpha": [
            1,
            {
              "b": "\"\n"
            }
          ],
          "zeta": [],
          "flamestack": {}
        }
        "#);
        assert_eq!(
            serde_json::from_str::<Value>(&to_pretty_json(&value)).unwrap(),
            value
        );
    }
}
