//! The `flamestack` objects: state that the predecessors' formats have no field for.
//!
//! There is one per frame and one per file. They are additions: without them, a valid file of the
//! predecessors remains. They omit everything that the predecessors' format has a field for, so
//! that a frame which a predecessor changed after our export is imported with those changes.

use flamestack_core::event::Results;
use flamestack_core::frame::{Awaiting, LogEntry, Origin, Outcome, Span};
use flamestack_core::id::{BlobId, FrameId, SHELL, SessionRef, Timestamp};
use flamestack_core::{Author, Evidence, Frame, Note, Session, Text, Title};
use flamestack_engine::json_problem::in_plain_words;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::FileProblem;
use super::frame_object::{derive, merge_notes};

/// The name of the additional objects.
pub(super) const FIELD: &str = "flamestack";
/// The format that this version writes, and the newest that it reads.
const FORMAT: u64 = 1;

/// The `flamestack` object of a frame.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(super) struct FrameExtension {
    /// The name under which the frame was exported. A different name in the file means that a
    /// predecessor renamed it, as it does when work on a planned frame begins.
    pub(super) key: String,
    pub(super) id: AsString<FrameId>,
    pub(super) rank: i64,
    #[serde(default, skip_serializing_if = "is_default")]
    origin: AsString<Origin>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) session: Option<AsString<SessionRef>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) aliases: Vec<String>,
    /// True if the compacted criteria in the file were derived, because a predecessor needs some.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) criteria_derived: bool,
    /// The same for the results.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) results_derived: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<NoteJson>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    log: Vec<LogEntryJson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    blocked_on: Option<AsString<Text>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    summary: Option<AsString<Text>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    awaiting: Option<AwaitingJson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    span: Option<SpanJson>,
    /// Time of creation, if the object around this one has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) created_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) foreign: Option<Original>,
}

/// The object that a frame was imported from.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Original {
    /// `true`: the object around this one, which has not changed since.
    Enclosing(bool),
    /// The object as text.
    Text(String),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct NoteJson {
    text: AsString<Text>,
    #[serde(flatten)]
    kind: NoteKindJson,
}

type Reason = Option<AsString<Text>>;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
enum NoteKindJson {
    Artifact,
    Decision {
        why: Reason,
        /// Absent in exports from before authors were known: then it is a model.
        by: Option<AsString<Author>>,
    },
    FailedAttempt {
        why: Reason,
    },
    #[serde(rename_all = "camelCase")]
    Command {
        exit_code: i32,
    },
    Test {
        passed: bool,
    },
    Commit,
    Directive,
}

/// The fields of a [`LogEntry`] in the file.
#[derive(Serialize, Deserialize)]
#[serde(remote = "LogEntry")]
struct LogEntryFields {
    #[serde(with = "string")]
    label: Title,
    #[serde(with = "string")]
    blob: BlobId,
    bytes: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct LogEntryJson(#[serde(with = "LogEntryFields")] LogEntry);

/// The fields of a [`Span`] in the file.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Span")]
struct SpanFields {
    #[serde(with = "string")]
    session: SessionRef,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SpanJson(#[serde(with = "SpanFields")] Span);

/// A wait for a summary.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AwaitingJson {
    session: AsString<SessionRef>,
    since: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outcome: Option<AsString<Outcome>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    results: Option<AsString<Text>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    results_compacted: Option<AsString<Text>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<AsString<Text>>,
}

impl From<&Awaiting> for AwaitingJson {
    fn from(awaiting: &Awaiting) -> Self {
        let given = awaiting.given.as_ref();
        let compacted = given.and_then(|given| given.compacted.clone());
        Self {
            session: AsString(awaiting.session.clone()),
            since: awaiting.since.0,
            until: awaiting.until.map(|until| until.0),
            outcome: awaiting.outcome.map(AsString),
            results: given.map(|given| AsString(given.full.clone())),
            results_compacted: compacted.map(AsString),
            note: awaiting.note.clone().map(AsString),
        }
    }
}

impl From<AwaitingJson> for Awaiting {
    fn from(awaiting: AwaitingJson) -> Self {
        let compacted = awaiting.results_compacted.map(|text| text.0);
        Self {
            session: awaiting.session.0,
            since: Timestamp(awaiting.since),
            until: awaiting.until.map(Timestamp),
            outcome: awaiting.outcome.map(|outcome| outcome.0),
            given: awaiting.results.map(|full| Results {
                full: full.0,
                compacted,
            }),
            note: awaiting.note.map(|note| note.0),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(expecting = "an object")]
struct StateExtension {
    format: u64,
    #[serde(default)]
    sessions: Vec<SessionJson>,
}

#[derive(Serialize, Deserialize)]
struct SessionJson {
    session: AsString<SessionRef>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    worktree: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    own: Option<AsString<FrameId>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    active: Option<AsString<FrameId>>,
}

impl FrameExtension {
    pub(super) fn read(value: &Value) -> Result<Self, String> {
        Self::deserialize(value).map_err(|error| error.to_string())
    }

    /// Describes a frame, apart from what depends on the object around it.
    pub(super) fn of(frame: &Frame, key: &str) -> Self {
        Self {
            key: key.to_owned(),
            id: AsString(frame.id),
            rank: frame.rank.0,
            origin: AsString(frame.origin),
            session: frame.session.clone().map(AsString),
            aliases: frame.aliases.clone(),
            criteria_derived: false,
            results_derived: false,
            notes: frame.notes.iter().map(NoteJson::from).collect(),
            log: frame.log.iter().cloned().map(LogEntryJson).collect(),
            blocked_on: frame.blocked_on.clone().map(AsString),
            summary: frame.summary.clone().map(AsString),
            awaiting: frame.awaiting.as_ref().map(AwaitingJson::from),
            span: frame.span.clone().map(SpanJson),
            created_at: None,
            foreign: frame.foreign.clone().map(Original::Text),
        }
    }

    pub(super) fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Adds to a frame what its own fields in the file cannot express.
    pub(super) fn restore(&self, frame: &mut Frame) {
        let is_derived = |compacted: &Option<Text>, full: &Option<Text>| {
            compacted.is_some() && *compacted == full.as_ref().and_then(derive)
        };
        if self.criteria_derived && is_derived(&frame.criteria_compacted, &frame.criteria) {
            frame.criteria_compacted = None;
        }
        if self.results_derived && is_derived(&frame.results_compacted, &frame.results) {
            frame.results_compacted = None;
        }
        let notes = self.notes.iter().cloned().map(Note::from).collect();
        frame.notes = merge_notes(notes, &frame.notes);
        frame.origin = self.origin.0;
        frame.log = self.log.iter().map(|entry| entry.0.clone()).collect();
        frame.blocked_on = self.blocked_on.clone().map(|text| text.0);
        frame.span = self.span.clone().map(|span| span.0);
        frame.summary = self.summary.clone().map(|text| text.0);
        // A predecessor that has finished the frame since does not wait.
        frame.awaiting = self.awaiting.clone().map(Awaiting::from);
        frame.awaiting.take_if(|_| !frame.status.is_open());
    }
}

/// Reads the sessions from the `flamestack` object of a state.
pub(super) fn read_sessions(value: &Value) -> Result<Vec<Session>, FileProblem> {
    if let Some(found) = value.get("format").and_then(Value::as_u64)
        && found > FORMAT
    {
        let newer = format!(
            "a newer Flamestack exported this (format {found}; this version reads up to {FORMAT})"
        );
        let hint = "update Flamestack and import it again";
        return Err(FileProblem::new(newer, hint).partial());
    }
    let extension = StateExtension::deserialize(value).map_err(|error| {
        let problem = in_plain_words(&error.to_string());
        let message = format!("the `flamestack` object is damaged: {problem}");
        let hint =
            "remove the `flamestack` object from the file: the rest can be imported without it";
        FileProblem::new(message, hint).partial()
    })?;
    Ok(extension.sessions.into_iter().map(Session::from).collect())
}

/// Makes the `flamestack` object of a state.
pub(super) fn write_sessions(sessions: &[&Session]) -> Value {
    let extension = StateExtension {
        format: FORMAT,
        sessions: sessions.iter().copied().map(SessionJson::from).collect(),
    };
    serde_json::to_value(extension).unwrap_or_default()
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A core type that is written as a JSON string.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent, bound = "T: StringForm")]
pub(super) struct AsString<T>(#[serde(with = "string")] pub(super) T);

pub(super) trait StringForm: Sized {
    fn print(&self) -> String;
    fn parse(text: &str) -> Result<Self, String>;
}

/// Writes and reads a core type as a JSON string.
mod string {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::StringForm;

    pub(super) fn serialize<T: StringForm, S: Serializer>(
        value: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&value.print())
    }

    pub(super) fn deserialize<'de, T: StringForm, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        let text = String::deserialize(deserializer)?;
        T::parse(&text).map_err(D::Error::custom)
    }
}

/// Implements [`StringForm`] with `Display` and a parser that returns a `Result`.
macro_rules! string_form {
    ($($type:ty => $parse:expr;)*) => {$(
        impl StringForm for $type {
            fn print(&self) -> String {
                self.to_string()
            }

            fn parse(text: &str) -> Result<Self, String> {
                $parse(text)
            }
        }
    )*};
}

string_form! {
    FrameId => |text: &str| text.parse().map_err(|error| format!("{error}"));
    BlobId => |text| Self::from_hex(text).ok_or_else(|| "a blob is not named by its hash".to_owned());
    Text => |text| Self::new(text).map_err(|problem| format!("a text {problem}"));
    Title => |text| Self::new(text).map_err(|problem| format!("a label {problem}"));
    SessionRef => session_ref;
}

impl StringForm for Author {
    fn print(&self) -> String {
        self.as_str().to_owned()
    }

    /// A later version may know other authors; none of them is the user.
    fn parse(text: &str) -> Result<Self, String> {
        Ok(Self::from_name(text).unwrap_or_default())
    }
}

impl StringForm for Outcome {
    fn print(&self) -> String {
        self.status().as_str().to_owned()
    }

    fn parse(text: &str) -> Result<Self, String> {
        Self::from_name(text).ok_or_else(|| format!("`{text}` is not an outcome"))
    }
}

impl StringForm for Origin {
    fn print(&self) -> String {
        self.as_str().to_owned()
    }

    /// A later version may know other origins.
    fn parse(text: &str) -> Result<Self, String> {
        Ok(Self::from_name(text).unwrap_or_default())
    }
}

/// Parses a session's name. The id of a shell is the path of a worktree, which may hold spaces.
fn session_ref(text: &str) -> Result<SessionRef, String> {
    match text.split_once(':') {
        Some((SHELL, worktree)) => Ok(SessionRef::shell(worktree)),
        _ => text.parse().map_err(|error| format!("{error}")),
    }
}

impl From<&Note> for NoteJson {
    fn from(note: &Note) -> Self {
        let reason = |why: &Option<Text>| why.clone().map(AsString);
        let kind = match note {
            Note::Artifact(_) => NoteKindJson::Artifact,
            Note::Decision { why, by, .. } => NoteKindJson::Decision {
                why: reason(why),
                by: Some(AsString(*by)),
            },
            Note::FailedAttempt { why, .. } => NoteKindJson::FailedAttempt { why: reason(why) },
            Note::Evidence(Evidence::Command { exit_code, .. }) => {
                let exit_code = *exit_code;
                NoteKindJson::Command { exit_code }
            }
            Note::Evidence(Evidence::Test { passed, .. }) => NoteKindJson::Test { passed: *passed },
            Note::Evidence(Evidence::Commit(_)) => NoteKindJson::Commit,
            Note::Directive(_) => NoteKindJson::Directive,
        };
        let text = AsString(note.text().clone());
        Self { text, kind }
    }
}

impl From<NoteJson> for Note {
    fn from(note: NoteJson) -> Self {
        let text = note.text.0;
        let reason = |why: Reason| why.map(|why| why.0);
        match note.kind {
            NoteKindJson::Artifact => Self::Artifact(text),
            NoteKindJson::Decision { why, by } => {
                let why = reason(why);
                let by = by.map(|by| by.0).unwrap_or_default();
                Self::Decision { text, why, by }
            }
            NoteKindJson::FailedAttempt { why } => {
                let why = reason(why);
                Self::FailedAttempt { text, why }
            }
            NoteKindJson::Command { exit_code } => {
                let command = text;
                Self::Evidence(Evidence::Command { command, exit_code })
            }
            NoteKindJson::Test { passed } => Self::Evidence(Evidence::Test { id: text, passed }),
            NoteKindJson::Commit => Self::Evidence(Evidence::Commit(text)),
            NoteKindJson::Directive => Self::Directive(text),
        }
    }
}

impl From<&Session> for SessionJson {
    fn from(session: &Session) -> Self {
        Self {
            session: AsString(session.key.clone()),
            worktree: session.worktree.clone(),
            own: session.own.map(AsString),
            active: session.active.map(AsString),
        }
    }
}

impl From<SessionJson> for Session {
    fn from(session: SessionJson) -> Self {
        Self {
            own: session.own.map(|id| id.0),
            active: session.active.map(|id| id.0),
            worktree: session.worktree,
            ..Self::new(session.session.0)
        }
    }
}
