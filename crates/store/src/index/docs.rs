//! The texts of a frame that the index contains, and their identity.

use flamestack_core::frame::{Frame, LogEntry};
use flamestack_core::note::Note;
use flamestack_core::text::Text;

use xxhash_rust::xxh3::Xxh3;

use super::chunk::{Class, DocId};

/// A hash of field, number in the log and content of a text, which identify it within its frame. A
/// frame may have a hundred thousand.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DocKey(u128);

impl DocKey {
    pub(super) fn new(field: &str, piece: Option<u32>, content: &str) -> Self {
        let piece = piece.map_or(0, |piece| u64::from(piece) + 1);
        let mut hash = Xxh3::new();
        hash.update(&(field.len() as u64).to_le_bytes());
        hash.update(&piece.to_le_bytes());
        hash.update(field.as_bytes());
        hash.update(content.as_bytes());
        Self(hash.digest128())
    }
}

/// A text in the index.
pub(super) struct KnownDoc {
    pub(super) id: DocId,
    /// Length of what is indexed; `None` for all of it.
    pub(super) indexed: Option<i64>,
}

/// A text that the index should contain.
pub(super) struct Wanted<'f> {
    pub(super) class: Class,
    pub(super) field: &'static str,
    pub(super) piece: Option<u32>,
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

    /// Returns a name for the content: equal texts have equal names.
    pub(super) fn content(&self) -> String {
        match self.source {
            Source::Text(text) => blake3::hash(text.as_bytes()).to_string(),
            Source::Reason(text, why) => {
                let mut hash = blake3::Hasher::new();
                hash.update(text.as_bytes())
                    .update(b"\0")
                    .update(why.as_bytes());
                hash.finalize().to_string()
            }
            Source::Raw(entry) => format!("{} {}", entry.blob, entry.label),
        }
    }
}

/// Returns the texts of a frame besides its notes and its log.
pub(super) fn fields(frame: &Frame) -> Vec<Wanted<'_>> {
    let title = Source::Text(frame.title.as_str());
    let mut docs = vec![Wanted::new(Class::Title, "title", title)];
    for (name, text) in texts(frame) {
        docs.extend(text.map(|text| Wanted::new(Class::Field, name, Source::Text(text.as_str()))));
    }
    docs
}

/// Returns the text of a note.
pub(super) fn note(note: &Note) -> Wanted<'_> {
    let why = match note {
        Note::Decision { why, .. } | Note::FailedAttempt { why, .. } => why.as_ref(),
        Note::Artifact(_) | Note::Evidence(_) | Note::Directive(_) => None,
    };
    let text = note.text().as_str();
    let source = why.map_or(Source::Text(text), |why| Source::Reason(text, why.as_str()));
    Wanted::new(Class::Field, note.kind().label(), source)
}

/// Returns the raw texts of a frame.
pub(super) fn raw_texts(frame: &Frame) -> impl Iterator<Item = Wanted<'_>> {
    (1..).zip(&frame.log).map(|(number, entry)| Wanted {
        piece: Some(number),
        ..Wanted::new(Class::Log, "log", Source::Raw(entry))
    })
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
