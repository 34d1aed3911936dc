//! What a workflow's documents say under their headings: decisions, discoveries, warnings.

use super::claims::says_none;
use super::document::{Document, Item, Kind, items, lines};

/// What a piece of a document is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Topic {
    Decision,
    Discovery,
    Utility,
    Warning,
    Question,
}

/// A piece of a document and what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) topic: Topic,
    pub(super) text: String,
    pub(super) line: Option<usize>,
}

/// Everything that a document says under headings that we know, section by section, whole.
pub(super) fn findings(document: &Document) -> Vec<Finding> {
    let mut found = Vec::new();
    // The topic, and the level of the heading that began it.
    let mut topic: Option<(Topic, usize)> = None;
    for item in items(&lines(document)) {
        if let Kind::Heading(level) = item.kind {
            topic = match (topic_of(&item.text), topic) {
                (Some(new), _) => Some((new, level)),
                // A heading below divides the section, one beside it ends it.
                (None, Some((same, above))) if level > above => Some((same, above)),
                (None, _) => None,
            };
            continue;
        }
        if let Some(question) = unclear(&item) {
            found.push(question);
            continue;
        }
        let is_text = matches!(item.kind, Kind::Bullet | Kind::Check(' ') | Kind::Plain);
        if let Some((topic, _)) = topic
            && is_text
            && !says_none(&item.text)
            && !is_hole(&item.text)
        {
            found.push(Finding {
                topic,
                text: item.text,
                line: item.number,
            });
        }
    }
    found
}

fn topic_of(heading: &str) -> Option<Topic> {
    let heading = heading.to_lowercase();
    let has = |word: &str| heading.contains(word);
    if has("question") || has("pending decision") || has("unresolved") || has("clarification") {
        Some(Topic::Question)
    } else if has("decision") || has("trade-off") || has("tradeoff") {
        Some(Topic::Decision)
    } else if has("discover") || has("learned") || has("learning") || has("findings") {
        Some(Topic::Discovery)
    } else if has("utilit") || has("helper") {
        Some(Topic::Utility)
    } else if has("warning")
        || has("carry-forward")
        || has("carry forward")
        || has("risk")
        || has("gotcha")
    {
        Some(Topic::Warning)
    } else {
        None
    }
}

/// A mark of something that nobody has decided yet.
fn unclear(item: &Item) -> Option<Finding> {
    let (_, behind) = item.text.split_once("[NEEDS CLARIFICATION")?;
    let question = behind.split_once(']').map_or(behind, |(inside, _)| inside);
    let question = question.trim_start_matches(':').trim();
    let text = if question.is_empty() {
        item.text.clone()
    } else {
        question.to_owned()
    };
    Some(Finding {
        topic: Topic::Question,
        text,
        line: item.number,
    })
}

/// Whether a text is a template's hole: `[one sentence]`, `<what was done>`.
fn is_hole(text: &str) -> bool {
    let text = text.trim();
    (text.starts_with('[') && text.ends_with(']') && text.matches('[').count() == 1)
        || (text.starts_with('<') && text.ends_with('>') && text.matches('<').count() == 1)
}

/// The value behind a label at the beginning of a line, such as `Last completed batch: 2`.
pub(super) fn labelled_value(document: &Document, label: &str) -> Option<(String, Option<usize>)> {
    lines(document).into_iter().find_map(|line| {
        let bare = line.text.trim_start_matches(['*', '_']);
        let behind = bare.get(label.len()..).filter(|_| {
            bare.get(..label.len())
                .is_some_and(|head| head.eq_ignore_ascii_case(label))
        })?;
        let value = behind.trim_start_matches(['*', '_']).strip_prefix(':')?;
        let value = value.trim_start_matches(['*', '_']).trim();
        (!value.is_empty()).then(|| (value.to_owned(), line.number))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_read_to_its_end() {
        let document = Document::new(
            "context.md",
            "# Context\n## Status\nLast completed batch: 2\n## Decisions Made\n- one\n  and why\n- two\n### Batch 2\n- three\n\
             ## Key Discoveries\nA paragraph\nof two lines\n- none\n## Else\n- no\n## Carry-Forward Warnings\n* careful\n\
             ## Open Questions\n- [which one]\n- Who pays?\n- FR-2: [NEEDS CLARIFICATION: how long?]\n",
        );
        let said: Vec<(Topic, String)> = findings(&document)
            .into_iter()
            .map(|finding| (finding.topic, finding.text))
            .collect();
        let expected = [
            (Topic::Decision, "one and why"),
            (Topic::Decision, "two"),
            (Topic::Decision, "three"),
            (Topic::Discovery, "A paragraph of two lines"),
            (Topic::Warning, "careful"),
            (Topic::Question, "Who pays?"),
            (Topic::Question, "how long?"),
        ];
        let expected: Vec<(Topic, String)> = expected
            .map(|(topic, text)| (topic, text.to_owned()))
            .to_vec();
        assert_eq!(said, expected);
        assert_eq!(
            labelled_value(&document, "last completed batch"),
            Some(("2".to_owned(), Some(3)))
        );
    }
}
