//! Fields: the subjects of headings and labels in logs and in the documents of a workflow.

use serde::Deserialize;

use crate::Heading;
use crate::document::label_and_value;
use crate::draft::Rank;
use crate::vocabulary::{WORDS, has};

/// Subject of the lines below a heading or after a label.
///
/// Parts of headings are compared with the topics of the vocabulary in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Field {
    Focus,
    OpenWork,
    PendingTests,
    Blockers,
    Completed,
    Files,
    Next,
    Questions,
    Decisions,
    Discoveries,
    Utilities,
    Warnings,
}

impl Field {
    /// Returns the field that a text names, if the text is nothing but a name.
    pub(crate) fn named(text: &str) -> Option<Self> {
        let name = text.trim_matches(|c: char| !c.is_alphanumeric());
        let mut fields = WORDS.fields.iter();
        let field = fields.find(|(_, names)| has(names, name));
        field.map(|(field, _)| *field)
    }

    /// Returns the field and the rest of a text that begins with a label.
    pub(crate) fn labelled(text: &str) -> Option<(Self, &str)> {
        let (name, value) = label_and_value(text)?;
        let field = Self::named(name).filter(|_| name.len() <= 40)?;
        Some((field, value))
    }

    /// Returns the topic of a heading in a document of a workflow.
    pub(crate) fn of_topic(heading: &str) -> Option<Self> {
        let heading = heading.to_lowercase();
        let mut topics = WORDS.topics.iter();
        let topic = topics.find(|(_, words)| words.iter().any(|word| heading.contains(word)));
        topic.map(|(topic, _)| *topic)
    }

    /// Returns true if lines of the field are about something that is still to be done or solved.
    pub(crate) fn is_ahead(self) -> bool {
        matches!(
            self,
            Self::OpenWork | Self::PendingTests | Self::Blockers | Self::Next | Self::Questions
        )
    }

    /// Returns the section in which lines of the field are shown, their rank and the words before them.
    pub(crate) fn target(self) -> Option<(Heading, Rank, &'static str)> {
        Some(match self {
            Self::OpenWork | Self::Next => (Heading::Remaining, Rank::Useful, ""),
            Self::PendingTests => (Heading::Remaining, Rank::Useful, "Pending tests: "),
            Self::Blockers => (Heading::Blockers, Rank::Needed, ""),
            Self::Questions => (Heading::Pending, Rank::Needed, ""),
            Self::Decisions => (Heading::Decisions, Rank::Useful, ""),
            Self::Discoveries => (Heading::Completed, Rank::Extra, "Discovery: "),
            Self::Utilities => (Heading::Preconditions, Rank::Extra, "Utility: "),
            Self::Warnings => (Heading::Blockers, Rank::Useful, "Warning: "),
            Self::Focus | Self::Completed | Self::Files => return None,
        })
    }
}
