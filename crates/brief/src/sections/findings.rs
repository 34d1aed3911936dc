//! Decisions, discoveries, utilities, warnings and open questions under the headings of the work item's
//! documents.

use crate::active::Active;
use crate::claims::says_none;
use crate::document::{Document, Kind, Line, items, lines};
use crate::draft::Draft;
use crate::fields::Field;
use crate::tasks::TaskState;

/// Number of findings of one topic and file that are shown, latest ones.
const FINDINGS: usize = 6;

const TOPICS: [Field; 5] = [
    Field::Decisions,
    Field::Discoveries,
    Field::Utilities,
    Field::Warnings,
    Field::Questions,
];

pub(super) fn write(draft: &mut Draft, active: &Active<'_>) {
    let files = active.workflow.artifacts.iter();
    for document in files.filter_map(|artifact| active.content(&artifact.file)) {
        let all = findings(document);
        for topic in TOPICS {
            let Some((heading, rank, words)) = topic.target() else {
                continue;
            };
            let of_topic = all.iter().filter(|(of, _)| *of == topic);
            let lines = of_topic.map(|(_, line)| (format!("{words}{}", line.text), line.source()));
            draft.add_last((heading, rank), FINDINGS, lines);
        }
    }
}

/// Returns everything that a document says under headings with a known topic.
fn findings(document: &Document) -> Vec<(Field, Line<'_>)> {
    let mut found = Vec::new();
    // The topic, and the level of the heading that began it.
    let mut section: Option<(Field, usize)> = None;
    for item in items(lines(document)) {
        if let Kind::Heading(level) = item.kind {
            section = match Field::of_topic(&item.text) {
                Some(topic) => Some((topic, level)),
                // A deeper heading divides the section, any other ends it.
                None => section.filter(|(_, above)| level > *above),
            };
        } else if let Some(question) = needs_clarification(&item.text) {
            found.push((Field::Questions, item.with_text(question)));
        } else if let Some((topic, _)) = section
            && matches!(
                item.kind,
                Kind::Bullet | Kind::Check(TaskState::Open) | Kind::Plain
            )
            && !says_none(&item.text)
            && !is_placeholder(&item.text)
        {
            found.push((topic, item));
        }
    }
    found
}

/// Returns the question in spec-kit's `[NEEDS CLARIFICATION: …]`, or the whole line if the mark has none.
fn needs_clarification(text: &str) -> Option<&str> {
    let (_, after) = text.split_once("[NEEDS CLARIFICATION")?;
    let question = after.split(']').next()?.trim_start_matches(':').trim();
    Some(if question.is_empty() { text } else { question })
}

/// Returns true for the placeholder of a template: `[one sentence]`, `<what was done>`.
fn is_placeholder(text: &str) -> bool {
    let text = text.trim();
    [('[', ']'), ('<', '>')].into_iter().any(|(open, close)| {
        text.starts_with(open) && text.ends_with(close) && text.matches(open).count() == 1
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
        let said: Vec<(Field, String)> = findings(&document)
            .into_iter()
            .map(|(topic, item)| (topic, item.text.into_owned()))
            .collect();
        let expected = [
            (Field::Decisions, "one and why"),
            (Field::Decisions, "two"),
            (Field::Decisions, "three"),
            (Field::Discoveries, "A paragraph of two lines"),
            (Field::Warnings, "careful"),
            (Field::Questions, "Who pays?"),
            (Field::Questions, "how long?"),
        ];
        let expected: Vec<(Field, String)> = expected
            .map(|(topic, text)| (topic, text.to_owned()))
            .to_vec();
        assert_eq!(said, expected);
    }
}
