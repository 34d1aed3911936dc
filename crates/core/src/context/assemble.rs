//! From surroundings to a context that keeps its budget.

use crate::context::attempt::Attempt;
use crate::context::delivery::Reason;
use crate::context::draft::Meter;
use crate::context::entries::rosters;
use crate::context::roster::Drawn;
use crate::context::surroundings::Surroundings;
use crate::context::telling::titled;
use crate::context::{Context, Section, SectionKind, Settings, json};
use crate::frame::Frame;
use crate::tokens::{Seam, Tokenizer};
use crate::xml::{Content, Element};

/// The element around everything.
pub(super) const OUTER: &str = "stack-context";
/// How often a context that turned out too long is made again before the least is said.
const ATTEMPTS: usize = 4;

/// Makes the context of a frame.
///
/// The text has at most `settings.budget.total()` tokens by the given tokenizer, is well-formed
/// XML, and shows the parent and the current frame, however long or strange the texts in it are.
/// It is empty where there is nothing to tell.
pub fn assemble(around: &Surroundings, settings: &Settings, tokenizer: &dyn Tokenizer) -> Context {
    let question = Question {
        around,
        settings,
        after: None,
        tokenizer,
    };
    question.answered(|context, _| context)
}

/// The same for a conversation that has lost its history, so that even the least is worth telling.
pub(super) fn assemble_after(
    around: &Surroundings,
    settings: &Settings,
    tokenizer: &dyn Tokenizer,
    reason: Reason,
) -> Context {
    let question = Question {
        around,
        settings,
        after: Some(reason),
        tokenizer,
    };
    question.answered(|context, _| context)
}

/// The context of a frame as JSON, for programs: the same sections, taken apart.
pub fn assemble_json(
    around: &Surroundings,
    settings: &Settings,
    tokenizer: &dyn Tokenizer,
) -> String {
    let question = Question {
        around,
        settings,
        after: None,
        tokenizer,
    };
    question.answered(|context, content| json::written(&context, content))
}

/// What a context is asked for.
struct Question<'a> {
    around: &'a Surroundings,
    settings: &'a Settings,
    after: Option<Reason>,
    tokenizer: &'a dyn Tokenizer,
}

impl Question<'_> {
    /// Makes the context and hands it on, with the elements that its sections were drawn from.
    fn answered<T>(&self, hand_on: impl FnOnce(Context, &[Vec<Element<'_>>]) -> T) -> T {
        if self.after.is_none() && !self.around.has_something_to_tell() {
            return hand_on(self.context(Vec::new(), String::new(), 0), &[]);
        }
        let meter = Meter {
            tokenizer: self.tokenizer,
        };
        let rosters = rosters(self.around, self.settings, meter);
        let total = self.settings.budget.total();
        let mut budget = self.settings.budget;
        // Where the counts of lines add up, the first attempt fits and need not be counted again.
        // For other tokenizers the law is kept by looking at the final bytes.
        for _ in 0..ATTEMPTS {
            let attempt = Attempt {
                around: self.around,
                settings: self.settings,
                budget,
                after: self.after,
                meter,
            };
            let (drawn, text, sum) = attempt.run(&rosters);
            let tokens = match self.tokenizer.seam() {
                Seam::Exact => sum,
                Seam::AtMost(_) => self.tokenizer.count(&text),
            };
            if tokens <= total && says_where(self.around, &drawn) {
                let parts = drawn
                    .into_iter()
                    .map(|drawn| (drawn.section, drawn.elements));
                let (sections, content): (Vec<_>, Vec<_>) = parts.unzip();
                return hand_on(self.context(sections, text, tokens), &content);
            }
            budget = budget.reduced_by((tokens + 1).saturating_sub(total).max(1));
        }
        let text = skeleton(self.around);
        let tokens = self.tokenizer.count(&text);
        hand_on(self.context(Vec::new(), text, tokens), &[])
    }

    fn context(&self, sections: Vec<Section>, text: String, tokens: usize) -> Context {
        Context {
            sections,
            text,
            tokens,
            budget: self.settings.budget,
            tokenizer: self.tokenizer.name(),
            position: self.around.position,
        }
    }
}

/// Whether the parent and the current frame are among what is shown.
fn says_where(around: &Surroundings, drawn: &[Drawn<'_>]) -> bool {
    let shows = |kind: SectionKind, frame: &Frame| {
        let drawn = drawn.iter().find(|drawn| drawn.section.kind == kind);
        let elements = drawn.into_iter().flat_map(|drawn| &drawn.elements);
        elements.flat_map(Element::and_inside).any(|element| {
            let mut attributes = element.attributes.iter();
            attributes.any(|(name, value)| *name == "id" && value == frame.id.as_str())
        })
    };
    let parent = around.ancestors.first();
    parent.is_none_or(|parent| shows(SectionKind::Ancestors, parent))
        && shows(SectionKind::Current, &around.current)
}

/// The least that can be said, for tokenizers that make more of it than there is room for.
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
    written(Element::new(OUTER), elements)
}

/// Where the work stands and where to read the rest, in a few dozen tokens: for windows that are
/// nearly full.
pub fn pointer(around: &Surroundings, settings: &Settings, tokenizer: &dyn Tokenizer) -> String {
    let meter = Meter { tokenizer };
    let parent = around.ancestors.first();
    let mut elements = Vec::new();
    elements.extend(parent.map(|parent| titled(parent, "parent", meter)));
    elements.push(titled(&around.current, SectionKind::Current.tag(), meter));
    let call = settings.calls.details(&around.current.id);
    written(Element::new(OUTER).with("show", call), elements)
}

fn written<'a>(outer: Element<'a>, elements: Vec<Element<'a>>) -> String {
    let mut text = String::new();
    let outer = Element {
        content: Content::Elements(elements),
        ..outer
    };
    outer.write(&mut text);
    text
}
