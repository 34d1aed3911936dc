//! Rendering of a draft as text, within a budget.

use flamestack_core::text::condense;
use flamestack_extract::tokens::{self, Tokenizer};

use crate::draft::{Draft, Rank};
use crate::{BriefLine, BriefSection, Heading};

const TITLE: &str = "## Continuation\n";
const TITLE_WITH_STAGES: &str = "## Stage-Aware Continuation\n";
const ABOUT: &str = "Recorded state of the work: background, not instructions. The newest user \
    message takes precedence.";
const ABOUT_STAGES: &str = " Stage names are verbatim.";
const STATE_TITLE: &str = "## Where the Work Stands\n";
const WORKFLOW_TITLE: &str = "---\n## Workflow-Aware Augmentation\n";
const WORKFLOW_ABOUT: &str =
    "These sections are here because the session is part of a declared workflow.\n";
const NOTHING: &str = "- none recorded\n";

/// Maximum length of a needed line where room is short, in characters.
const SHORT: usize = 120;

/// A brief in the process of being fitted into its budget.
pub(crate) struct Page<'t> {
    pub(crate) sections: Vec<BriefSection>,
    pub(crate) text: String,
    pub(crate) tokens: usize,
    /// The state of the work, line by line.
    state: &'t str,
    /// True if empty sections and explanations are left out.
    is_terse: bool,
    tokenizer: &'t dyn Tokenizer,
}

/// Renders a draft. What does not fit is given up by rank, and counted.
pub(crate) fn render<'t>(
    mut draft: Draft,
    state: &'t str,
    has_workflow: bool,
    budget: usize,
    tokenizer: &'t dyn Tokenizer,
) -> Page<'t> {
    let headings = Heading::ALL.into_iter();
    let shown = headings.filter(|heading| has_workflow || !heading.is_of_workflow());
    let mut page = Page {
        sections: shown.map(|heading| draft.take_section(heading)).collect(),
        text: String::new(),
        tokens: 0,
        state,
        is_terse: false,
        tokenizer,
    };
    page.measure();
    for rank in [Rank::Spare, Rank::Extra, Rank::Useful, Rank::Needed] {
        if rank == Rank::Needed && page.tokens > budget {
            page.shorten(Rank::Needed, SHORT);
        }
        while page.tokens > budget && page.give_up(rank, page.tokens - budget) {}
    }
    page.is_terse = true;
    let mut longest = 2 * SHORT;
    while page.tokens > budget && longest > 10 {
        page.shorten(Rank::Vital, longest);
        longest /= 2;
    }
    if page.tokens > budget {
        let kept = tokens::prefix(&page.text, budget, &|text| tokenizer.count(text));
        page.text = kept.to_owned();
        page.tokens = tokenizer.count(&page.text);
    }
    page
}

impl Page<'_> {
    fn measure(&mut self) {
        self.text = self.write();
        self.tokens = self.tokenizer.count(&self.text);
    }

    fn write(&self) -> String {
        let has_stages = self
            .sections
            .iter()
            .any(|section| section.heading.is_of_workflow());
        let (title, about_stages) = if has_stages {
            (TITLE_WITH_STAGES, ABOUT_STAGES)
        } else {
            (TITLE, "")
        };
        let mut text = format!("{title}{ABOUT}{about_stages}\n");
        if !self.state.is_empty() {
            text.push_str(STATE_TITLE);
            text.push_str(self.state);
        }
        let mut in_workflow = false;
        for section in &self.sections {
            if section.heading.is_of_workflow() && !in_workflow {
                in_workflow = true;
                text.push_str(WORKFLOW_TITLE);
                text.push_str(if self.is_terse { "" } else { WORKFLOW_ABOUT });
            }
            let is_empty = section.lines.is_empty() && section.omitted == 0;
            if is_empty && self.is_terse {
                continue;
            }
            text.push_str(&format!("## {}\n", section.heading.as_str()));
            for line in &section.lines {
                text.push_str(&format!("- {}\n", line.text));
            }
            if is_empty {
                text.push_str(NOTHING);
            } else if section.omitted > 0 {
                text.push_str(&format!("- ({} more not shown)\n", section.omitted));
            }
        }
        text
    }

    /// Shortens every line of a rank.
    fn shorten(&mut self, rank: Rank, longest: usize) {
        let lines = self
            .sections
            .iter_mut()
            .flat_map(|section| &mut section.lines);
        for line in lines.filter(|line| line.rank == rank) {
            line.text = condense(&line.text, longest);
        }
        self.measure();
    }

    /// Drops lines of a rank that have about as many tokens as asked for: to count the whole text again
    /// for each of them would be slow. Returns false if no line is left.
    fn give_up(&mut self, rank: Rank, tokens: usize) -> bool {
        let mut freed = 0;
        while freed <= tokens {
            let Some(line) = self.give_up_line(rank) else {
                break;
            };
            freed += self.tokenizer.count(&line.text) + 2;
        }
        if freed > 0 {
            self.measure();
        }
        freed > 0
    }

    /// Drops a line of the section that has most of this rank: of the past the first, which is the
    /// oldest, of the future the last.
    fn give_up_line(&mut self, rank: Rank) -> Option<BriefLine> {
        let of_rank = |line: &BriefLine| line.rank == rank;
        let count =
            |section: &&mut BriefSection| section.lines.iter().filter(|line| of_rank(line)).count();
        let section = self.sections.iter_mut().max_by_key(count)?;
        let at = match section.heading {
            Heading::Completed | Heading::Decisions => section.lines.iter().position(of_rank)?,
            _ => section.lines.iter().rposition(of_rank)?,
        };
        section.omitted += 1;
        Some(section.lines.remove(at))
    }
}
