//! The fields of a log's entries, and the names by which people call them.

/// What a piece of an entry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::brief) enum Field {
    Focus,
    OpenWork,
    PendingTests,
    Blockers,
    Decisions,
    Completed,
    Files,
    Next,
    Questions,
}

const NAMES: &[(&str, Field)] = &[
    ("focus", Field::Focus),
    ("current focus", Field::Focus),
    ("goal", Field::Focus),
    ("objective", Field::Focus),
    ("primary objective", Field::Focus),
    ("open work", Field::OpenWork),
    ("remaining", Field::OpenWork),
    ("remaining work", Field::OpenWork),
    ("next steps", Field::OpenWork),
    ("todo", Field::OpenWork),
    ("to do", Field::OpenWork),
    ("in progress", Field::OpenWork),
    ("next operator brief", Field::OpenWork),
    ("pending tests", Field::PendingTests),
    ("blocker", Field::Blockers),
    ("blockers", Field::Blockers),
    ("blocked", Field::Blockers),
    ("blockers / risks", Field::Blockers),
    ("risks", Field::Blockers),
    ("decision", Field::Decisions),
    ("decisions", Field::Decisions),
    ("decisions made", Field::Decisions),
    ("key decisions", Field::Decisions),
    ("completed", Field::Completed),
    ("done", Field::Completed),
    ("what was done", Field::Completed),
    ("accomplished", Field::Completed),
    ("active files", Field::Files),
    ("files changed", Field::Files),
    ("files", Field::Files),
    ("next", Field::Next),
    ("next step", Field::Next),
    ("next action", Field::Next),
    ("open questions", Field::Questions),
    ("pending decisions", Field::Questions),
    ("questions", Field::Questions),
];

/// The field of a text that is a name and nothing else.
pub(in crate::brief) fn named(text: &str) -> Option<(Field, &str)> {
    let name = text
        .trim_matches(|c: char| !c.is_alphanumeric())
        .to_lowercase();
    NAMES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, field)| (*field, ""))
}

/// The field and the rest of a text that begins with a label.
pub(in crate::brief) fn labelled(text: &str) -> Option<(Field, &str)> {
    let (name, rest) = text.split_once(':')?;
    if name.len() > 40 {
        return None;
    }
    let (field, _) = named(name)?;
    Some((field, rest.trim_start_matches(['*', '_']).trim()))
}
