//! Guidance about the stack itself.
//!
//! The texts are constant, in `guidance/`. They inform: nothing here instructs a model unless the user has enabled
//! the full guidance.

use crate::draft::TokenCounter;
use crate::xml::{Content, Element};
use flamestack_core::enum_names;

enum_names! {
    /// Amount of guidance about the stack itself.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Guidance {
        /// Nothing.
        Off = "off",
        /// A description of the stack and pointers to more, in at most [`BRIEF_LIMIT`] tokens.
        #[default]
        Brief = "brief",
        /// A short manual of the stack.
        Full = "full",
    }
}

/// Maximum length of the brief guidance, in tokens with its tags.
pub const BRIEF_LIMIT: usize = 120;

const BRIEF: &str = include_str!("../guidance/brief.txt").trim_ascii_end();
const PHILOSOPHY: &str = include_str!("../guidance/philosophy.txt").trim_ascii_end();
const WHEN_TO_CREATE: &str = include_str!("../guidance/when-to-create.txt");
const RULES: &str = include_str!("../guidance/rules.txt");
const INITIAL_PLANNING: &str = include_str!("../guidance/initial-planning.txt");

impl Guidance {
    /// Returns the next lower level, for contexts where this one does not fit.
    pub(super) fn less(self) -> Self {
        match self {
            Self::Full => Self::Brief,
            Self::Brief | Self::Off => Self::Off,
        }
    }

    /// Returns the guidance as an element. `unplanned` is true for a root without a plan.
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

    /// Returns the number of tokens of the guidance.
    pub fn tokens(self, tokenizer: &dyn flamestack_extract::tokens::Tokenizer) -> usize {
        let counter = TokenCounter { tokenizer };
        self.element(true)
            .map_or(0, |element| counter.measure(element, false).tokens)
    }
}

/// Static text first, so that a prompt cache can reuse it; text that depends on the tree comes last.
fn full(unplanned: bool) -> Vec<Element<'static>> {
    let rules = RULES.lines().map(|text| Element::text("rule", text));
    let mut elements = vec![
        Element::text("philosophy", PHILOSOPHY),
        Element::text("when-to-create-child-frames", bullets(WHEN_TO_CREATE)),
        Element {
            content: Content::Elements(rules.collect()),
            ..Element::new("rules")
        },
    ];
    if unplanned {
        let steps = bullets(INITIAL_PLANNING);
        elements.push(Element::text("initial-planning", steps));
    }
    elements
}

fn bullets(lines: &str) -> String {
    format!("\n- {}\n", lines.trim_end().replace('\n', "\n- "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::O200k;

    #[test]
    fn brief_guidance_is_brief_and_gives_no_orders() {
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
