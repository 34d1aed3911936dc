//! Assembles a context from surroundings, within a budget.

use crate::attempt::Attempt;
use crate::draft::TokenCounter;
use crate::entries::drafts;
use crate::surroundings::Surroundings;
use crate::xml::{Content, Element};
use crate::{Context, ContextSettings, Section, SectionKind};
use flamestack_core::delivery::HeaderReason;
use flamestack_core::frame::Frame;
use flamestack_extract::tokens::{Seam, Tokenizer};

/// Name of the outermost element.
pub(super) const OUTER: &str = "stack-context";
/// Number of attempts to fit the budget before the skeleton is used.
const ATTEMPTS: usize = 4;

/// Assembles the context of a frame.
///
/// The text has at most `settings.budget.total()` tokens by the given tokenizer, is well-formed
/// XML, and shows the parent and the current frame, however long or strange the texts in it are.
/// It is empty if there is nothing that the model does not know already.
pub fn assemble(
    around: &Surroundings,
    settings: &ContextSettings,
    tokenizer: &dyn Tokenizer,
) -> Context {
    assemble_after(around, settings, tokenizer, None)
}

/// Assembles the context of a frame. For a session that has lost its history, even a root without
/// any notes is shown.
pub(super) fn assemble_after(
    around: &Surroundings,
    settings: &ContextSettings,
    tokenizer: &dyn Tokenizer,
    after: Option<HeaderReason>,
) -> Context {
    let context = |sections, text, tokens| Context {
        sections,
        text,
        tokens,
        budget: settings.budget,
        tokenizer: tokenizer.name(),
        position: around.position,
    };
    if after.is_none() && !around.adds_information() {
        return context(Vec::new(), String::new(), 0);
    }
    let counter = TokenCounter { tokenizer };
    let drafts = drafts(around, settings, counter);
    let total = settings.budget.total();
    let mut budget = settings.budget;
    // Where the counts of lines add up, the first attempt fits and need not be counted again. For
    // other tokenizers the final bytes are counted.
    for _ in 0..ATTEMPTS {
        let attempt = Attempt {
            around,
            settings,
            budget,
            after,
            counter,
        };
        let (rendered, text, sum) = attempt.run(&drafts);
        let tokens = match tokenizer.seam() {
            Seam::Exact => sum,
            Seam::AtMost(_) => tokenizer.count(&text),
        };
        if tokens <= total && shows_essentials(around, &rendered) {
            let sections = rendered.into_iter().map(Section::into_owned);
            return context(sections.collect(), text, tokens);
        }
        budget = budget.reduced_by((tokens + 1).saturating_sub(total).max(1));
    }
    let text = skeleton(around);
    let tokens = tokenizer.count(&text);
    context(Vec::new(), text, tokens)
}

/// Returns true if the parent and the current frame are shown.
fn shows_essentials(around: &Surroundings, rendered: &[Section<'_>]) -> bool {
    let shows = |kind: SectionKind, frame: &Frame| {
        let section = rendered.iter().find(|section| section.kind == kind);
        let elements = section.into_iter().flat_map(|section| &section.elements);
        elements.flat_map(Element::and_inside).any(|element| {
            let mut attributes = element.attributes.iter();
            attributes.any(|(name, value)| *name == "id" && value == frame.id.as_str())
        })
    };
    let parent = around.ancestors.first();
    parent.is_none_or(|parent| shows(SectionKind::Ancestors, parent))
        && shows(SectionKind::Current, &around.current)
}

/// Renders only the ids of the parent and the current frame, for tokenizers that count more than
/// was reserved.
fn skeleton(around: &Surroundings) -> String {
    let bare = |name, frame: &'_ Frame| Element::new(name).with("id", frame.id.to_string());
    let mut elements = Vec::new();
    if let Some(parent) = around.ancestors.first() {
        elements.push(Element {
            content: Content::Elements(vec![bare("frame", parent)]),
            ..Element::new(SectionKind::Ancestors.tag())
        });
    }
    elements.push(bare(SectionKind::Current.tag(), &around.current));
    let outer = Element {
        content: Content::Elements(elements),
        ..Element::new(OUTER)
    };
    let mut text = String::new();
    outer.write(&mut text);
    text
}
