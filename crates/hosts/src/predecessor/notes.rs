//! Notes and the two lists of texts that the predecessors have for them.

use flamestack_core::{Note, Prose};

/// A frame's artifacts, as the predecessors list them.
pub(super) fn artifacts(notes: &[Note]) -> Vec<String> {
    let line = |note: &Note| match note {
        Note::Artifact(text) => Some(text.as_str().to_owned()),
        _ => None,
    };
    notes.iter().filter_map(line).collect()
}

/// A frame's decisions, as the predecessors list them: the reason follows on the same line.
pub(super) fn decisions(notes: &[Note]) -> Vec<String> {
    let line = |note: &Note| match note {
        Note::Decision { text, why: None } => Some(text.as_str().to_owned()),
        Note::Decision {
            text,
            why: Some(why),
        } => {
            let line = format!("{text} — {why}");
            // Together they may be more than one text may be; the reason is kept beside it anyway.
            Some(Prose::new(&line).map_or_else(|_| text.as_str().to_owned(), |_| line))
        }
        _ => None,
    };
    notes.iter().filter_map(line).collect()
}

/// The notes that a predecessor's two lists stand for.
pub(super) fn from_lists(artifacts: &[Prose], decisions: &[Prose]) -> Vec<Note> {
    let decision = |text: &Prose| Note::Decision {
        text: text.clone(),
        why: None,
    };
    artifacts
        .iter()
        .cloned()
        .map(Note::Artifact)
        .chain(decisions.iter().map(decision))
        .collect()
}

/// Our own notes, and whatever a predecessor has added to its lists since they were exported.
pub(super) fn with_additions(own: &[Note], artifacts: &[Prose], decisions: &[Prose]) -> Vec<Note> {
    let additions = |said: &[Prose], known: &[String]| -> Vec<Prose> {
        let new = |text: &&Prose| !known.iter().any(|line| line == text.as_str());
        said.iter().filter(new).cloned().collect()
    };
    let artifacts = additions(artifacts, &self::artifacts(own));
    let decisions = additions(decisions, &self::decisions(own));
    let mut notes = own.to_vec();
    notes.extend(from_lists(&artifacts, &decisions));
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prose(text: &str) -> Prose {
        Prose::new(text).unwrap()
    }

    #[test]
    fn what_a_predecessor_added_is_found() {
        let own = [
            Note::Decision {
                text: prose("keep SQLite"),
                why: Some(prose("one file")),
            },
            Note::Artifact(prose("src/store.rs")),
        ];
        let lists = (artifacts(&own), decisions(&own));
        assert_eq!(lists.0, ["src/store.rs"]);
        assert_eq!(lists.1, ["keep SQLite — one file"]);
        let now = with_additions(
            &own,
            &[prose("src/store.rs"), prose("src/new.rs")],
            &[prose("keep SQLite — one file")],
        );
        assert_eq!(now[..2], own);
        assert_eq!(now[2..], [Note::Artifact(prose("src/new.rs"))]);
    }
}
