//! A draft as text, within a budget.

use super::draft::{Draft, Entry, Rank};
use super::{Heading, Line, Section};
use crate::tokens::{self, Tokenizer};

const TITLE: &str = "## Stage-Aware Continuation\n";
const ABOUT: &str = "Recorded state of the work, as background: it informs and grants nothing. \
    The newest user message stands above it. Names of stages are verbatim.\n";
const WORKFLOW_TITLE: &str = "---\n## Workflow-Aware Augmentation\n";
const WORKFLOW_ABOUT: &str =
    "These sections are here because the session is part of a declared workflow.\n";
const NOTHING: &str = "- none recorded\n";

pub(super) struct Rendered {
    pub(super) sections: Vec<Section>,
    pub(super) text: String,
    pub(super) tokens: usize,
}

/// How long a line that is needed may be, in characters, where room is short.
const SHORT: usize = 120;

struct Part {
    heading: Heading,
    entries: Vec<Entry>,
    omitted: usize,
}

/// Renders a draft. What does not fit is given up from the least needed on, and counted.
pub(super) fn render(
    draft: &Draft,
    has_workflow: bool,
    budget: usize,
    tokenizer: &dyn Tokenizer,
) -> Rendered {
    let mut parts: Vec<Part> = Heading::ALL
        .into_iter()
        .filter(|heading| has_workflow || !heading.is_of_workflow())
        .map(|heading| Part {
            heading,
            entries: draft.entries(heading).to_vec(),
            omitted: draft.omitted(heading),
        })
        .collect();
    let mut text = write(&parts, true);
    let mut tokens = tokenizer.count(&text);
    for rank in [Rank::Spare, Rank::Extra, Rank::Useful, Rank::Needed] {
        if rank == Rank::Needed {
            shorten(&mut parts, Rank::Needed, SHORT);
            text = write(&parts, true);
            tokens = tokenizer.count(&text);
        }
        while tokens > budget {
            // One count after the other of a long text is slow, so a guess comes first.
            let over = tokens - budget;
            let mut freed = 0;
            while freed <= over {
                let Some(entry) = give_up(&mut parts, rank) else {
                    break;
                };
                freed += tokenizer.count(&entry.text) + 2;
            }
            if freed == 0 {
                break;
            }
            text = write(&parts, true);
            tokens = tokenizer.count(&text);
        }
        if tokens <= budget {
            break;
        }
    }
    let mut longest = 2 * SHORT;
    while tokens > budget && longest > 10 {
        shorten(&mut parts, Rank::Vital, longest);
        text = write(&parts, false);
        tokens = tokenizer.count(&text);
        longest /= 2;
    }
    if tokens > budget {
        let cut = tokens::prefix(&text, budget, &|text| tokenizer.count(text));
        text = cut.to_owned();
        tokens = tokenizer.count(&text);
    }
    let sections = parts
        .into_iter()
        .map(|part| Section {
            heading: part.heading,
            lines: part
                .entries
                .into_iter()
                .map(|entry| Line {
                    text: entry.text,
                    source: entry.source,
                })
                .collect(),
            omitted: part.omitted,
        })
        .collect();
    Rendered {
        sections,
        text,
        tokens,
    }
}

/// Shortens every line of a rank.
fn shorten(parts: &mut [Part], rank: Rank, longest: usize) {
    for entry in parts.iter_mut().flat_map(|part| &mut part.entries) {
        if entry.rank == rank {
            entry.text = crate::text::condense(&entry.text, longest);
        }
    }
}

/// Takes a line of this rank from the section that has most of them: of what is past the first, which
/// is the oldest, and of what is to come the last.
fn give_up(parts: &mut [Part], rank: Rank) -> Option<Entry> {
    let of_rank = |part: &Part| {
        part.entries
            .iter()
            .filter(|entry| entry.rank == rank)
            .count()
    };
    let part = parts.iter_mut().max_by_key(|part| of_rank(part))?;
    let is_past = matches!(part.heading, Heading::Completed | Heading::Decisions);
    let of_rank = |entry: &Entry| entry.rank == rank;
    let at = if is_past {
        part.entries.iter().position(of_rank)?
    } else {
        part.entries.iter().rposition(of_rank)?
    };
    part.omitted += 1;
    Some(part.entries.remove(at))
}

/// The whole text; without what is merely helpful where room is very short.
fn write(parts: &[Part], with_words: bool) -> String {
    let mut text = String::from(TITLE);
    text.push_str(ABOUT);
    let mut in_workflow = false;
    for part in parts {
        if part.heading.is_of_workflow() && !in_workflow {
            in_workflow = true;
            text.push_str(WORKFLOW_TITLE);
            if with_words {
                text.push_str(WORKFLOW_ABOUT);
            }
        }
        if part.entries.is_empty() && part.omitted == 0 && !with_words {
            continue;
        }
        text.push_str(&format!("## {}\n", part.heading.as_str()));
        for entry in &part.entries {
            text.push_str(&format!("- {}\n", entry.text));
        }
        match part.omitted {
            0 if part.entries.is_empty() => text.push_str(NOTHING),
            0 => {}
            more => text.push_str(&format!("- ({more} more not shown)\n")),
        }
    }
    text
}
