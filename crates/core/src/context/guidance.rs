//! What is said about the stack itself, as against what is in it.
//!
//! The texts are constant. They inform: nothing here tells a model what to do unless the user
//! turned the full guidance on.

use crate::context::draft::Meter;
use crate::xml::{Content, Element};

/// How much is said about the stack itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Guidance {
    /// Nothing.
    Off,
    /// What this is and where more can be found, in at most [`BRIEF_LIMIT`] tokens.
    #[default]
    Brief,
    /// How to work with a stack, at the length of a short manual.
    Full,
}

/// How long the brief guidance may be, in tokens with its tags.
pub const BRIEF_LIMIT: usize = 120;

const BRIEF: &str = "\
Recorded state of the work tree, as background. The newest user message takes precedence over \
anything here. Completed, failed and invalidated frames are history. stack_frame_push opens a \
frame, stack_frame_pop ends it with its results, stack_frame_plan_children lists what is to come; \
`flame show ID` prints a frame, `flame log ID` its raw history.";

const PHILOSOPHY: &str = "\
The stack keeps this work as a tree of frames. A frame is one unit of work with criteria that say \
when it is done; when it is popped, its results stay and its raw history leaves the context. The \
newest user message takes precedence over anything recorded here.";

const WHEN_TO_CREATE: [&str; 7] = [
    "a subtask that has success criteria of its own",
    "work that could be done on its own or in parallel",
    "several approaches to try: one frame each",
    "separable concerns, such as a feature and its tests",
    "a switch to other files or another subsystem",
    "more than fits into the current frame",
    "anything whose result is worth a summary of its own",
];

const RULES: [&str; 5] = [
    "Meet the success criteria of the current frame before starting its siblings.",
    "Call stack_frame_pop with results and resultsCompacted when a frame is done.",
    "Work depth-first: finish children before siblings.",
    "Give significant sub-work a child frame of its own.",
    "Keep the plan in frames rather than in a second list.",
];

const INITIAL_PLANNING: [&str; 3] = [
    "Judge how large the task is.",
    "If it has several parts, plan them with stack_frame_plan_children, each with criteria that can be checked.",
    "Begin the first with stack_frame_activate.",
];

impl Guidance {
    /// The name in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Brief => "brief",
            Self::Full => "full",
        }
    }

    /// The level that a name stands for.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Off, Self::Brief, Self::Full]
            .into_iter()
            .find(|level| level.as_str() == name)
    }

    /// The next lower level, for where this one does not fit.
    pub(super) fn less(self) -> Self {
        match self {
            Self::Full => Self::Brief,
            Self::Brief | Self::Off => Self::Off,
        }
    }

    /// The guidance as an element. `unplanned` is a root without a plan: where planning begins.
    pub(super) fn element(self, unplanned: bool) -> Option<Element<'static>> {
        let content = match self {
            Self::Off => return None,
            Self::Brief => Content::Text(BRIEF.into()),
            Self::Full => Content::Elements(full(unplanned)),
        };
        Some(Element {
            content,
            ..Element::new("stack-task-management")
        })
    }

    /// How many tokens the guidance takes.
    pub fn tokens(self, tokenizer: &dyn crate::tokens::Tokenizer) -> usize {
        let meter = Meter { tokenizer };
        self.element(true)
            .map_or(0, |element| meter.piece(element, false).tokens)
    }
}

/// Static text first, so that a prompt cache keeps it; what depends on the tree comes last.
fn full(unplanned: bool) -> Vec<Element<'static>> {
    let rule = |text: &&'static str| Element::text("rule", *text);
    let mut elements = vec![
        Element::text("philosophy", PHILOSOPHY),
        Element::text("when-to-create-child-frames", bullets(&WHEN_TO_CREATE)),
        Element {
            content: Content::Elements(RULES.iter().map(rule).collect()),
            ..Element::new("rules")
        },
    ];
    if unplanned {
        elements.push(Element::text(
            "initial-planning",
            bullets(&INITIAL_PLANNING),
        ));
    }
    elements
}

fn bullets(lines: &[&str]) -> String {
    let mut text = String::new();
    for line in lines {
        text.push_str("\n- ");
        text.push_str(line);
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::fixtures::O200k;

    #[test]
    fn brief_guidance_is_brief_and_orders_nobody_about() {
        assert!(Guidance::Brief.tokens(&O200k) <= BRIEF_LIMIT);
        let lower = BRIEF.to_lowercase();
        for order in [
            "must", "should", "never", "always", "do not", "don't", "please", "!",
        ] {
            assert!(!lower.contains(order), "{order}");
        }
        // Every sentence has a subject.
        for sentence in BRIEF.split(". ") {
            let first = sentence.split(' ').next().unwrap();
            assert!(
                ["Recorded", "The", "Completed,", "stack_frame_push"].contains(&first),
                "{sentence}"
            );
        }
    }

    #[test]
    fn what_depends_on_the_tree_comes_last() {
        let written = |unplanned| {
            let mut text = String::new();
            Guidance::Full.element(unplanned).unwrap().write(&mut text);
            text
        };
        let (with, without) = (written(true), written(false));
        let common = with
            .bytes()
            .zip(without.bytes())
            .take_while(|(a, b)| a == b)
            .count();
        assert!(common + 30 > without.len());
        assert!(Guidance::Full.tokens(&O200k) < 400);
    }

    #[test]
    fn levels_have_names() {
        for level in [Guidance::Off, Guidance::Brief, Guidance::Full] {
            assert_eq!(Guidance::from_name(level.as_str()), Some(level));
        }
        assert_eq!(Guidance::from_name("loud"), None);
    }
}
