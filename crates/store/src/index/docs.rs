//! The texts of a frame that the index contains, and their identity.

use flamestack_core::frame::{Frame, LogEntry};
use flamestack_core::note::Note;
use flamestack_core::text::Text;

use super::chunk::{Class, DocId};

/// Field, number in the log and content of a text, which identify it within its frame.
pub(super) type DocKey = (String, Option<u32>, String);

/// A text in the index.
pub(super) struct KnownDoc {
    pub(super) id: DocId,
    /// Length of what is indexed; `None` for all of it.
    pub(super) indexed: Option<i64>,
}

/// A text that the index should contain.
pub(super) struct Wanted<'f> {
    pub(super) class: Class,
    field: &'static str,
    piece: Option<u32>,
    pub(super) source: Source<'f>,
    /// The document that holds its beginning, and the length of that.
    pub(super) resumed: Option<(DocId, i64)>,
}

/// The source of a text.
#[derive(Clone, Copy)]
pub(super) enum Source<'f> {
    Text(&'f str),
    /// A text with its reason.
    Reason(&'f str, &'f str),
    Raw(&'f LogEntry),
}

impl<'f> Wanted<'f> {
    fn new(class: Class, field: &'static str, source: Source<'f>) -> Self {
        Self {
            class,
            field,
            piece: None,
            source,
            resumed: None,
        }
    }

    pub(super) fn resumed(self, doc: DocId, indexed: Option<i64>) -> Self {
        let resumed = Some((doc, indexed.unwrap_or_default()));
        Self { resumed, ..self }
    }

    pub(super) fn key(&self) -> DocKey {
        let content = match self.source {
            Source::Text(text) => blake3::hash(text.as_bytes()).to_string(),
            Source::Reason(text, why) => {
                let mut hash = blake3::Hasher::new();
                hash.update(text.as_bytes())
                    .update(b"\0")
                    .update(why.as_bytes());
                hash.finalize().to_string()
            }
            Source::Raw(entry) => format!("{} {}", entry.blob, entry.label),
        };
        (self.field.to_owned(), self.piece, content)
    }
}

/// Returns the texts of a frame.
pub(super) fn wanted_docs(frame: &Frame) -> Vec<Wanted<'_>> {
    let mut docs = vec![Wanted::new(
        Class::Title,
        "title",
        Source::Text(frame.title.as_str()),
    )];
    let field = |field, text| Wanted::new(Class::Field, field, Source::Text(text));
    for (name, text) in texts(frame) {
        docs.extend(text.map(|text| field(name, text.as_str())));
    }
    for note in &frame.notes {
        let name = note.kind().label();
        docs.push(match note {
            Note::Decision {
                text,
                why: Some(why),
                ..
            }
            | Note::FailedAttempt {
                text,
                why: Some(why),
            } => Wanted::new(
                Class::Field,
                name,
                Source::Reason(text.as_str(), why.as_str()),
            ),
            _ => field(name, note.text().as_str()),
        });
    }
    for (number, entry) in (1..).zip(&frame.log) {
        docs.push(Wanted {
            piece: Some(number),
            ..Wanted::new(Class::Log, "log", Source::Raw(entry))
        });
    }
    docs
}

fn texts(frame: &Frame) -> [(&'static str, Option<&Text>); 6] {
    [
        ("criteria", frame.criteria.as_ref()),
        ("criteria", frame.criteria_compacted.as_ref()),
        ("results", frame.results.as_ref()),
        ("results", frame.results_compacted.as_ref()),
        ("blocked", frame.blocked_on.as_ref()),
        (
            "invalidated",
            frame.invalidation.as_ref().map(|known| &known.reason),
        ),
    ]
}
