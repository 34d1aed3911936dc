//! Frames that a session gets without a tool call, and the prompts at which it turns to another topic.

use flamestack_core::enum_names;
use flamestack_core::transcript::{Entry, EntryKind};

use super::spoken::asked_words;
use crate::autonomy::terms::{KnownTerms, READ_OF_MODEL, READ_OF_PROMPT};

enum_names! {
    /// Selects the work that becomes a frame although no tool was called for it.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Track {
        /// Nothing but the session itself.
        Off = "off",
        /// Each prompt of the user, each item of the to-do list and each subagent.
        #[default]
        Prompts = "prompts",
        /// Each topic of the conversation, which may take several prompts, each item and each subagent.
        Auto = "auto",
    }
}

/// Least share of a prompt's terms that another topic does not know, in percent.
const OTHER_TOPIC: u8 = 60;
/// Work whose words are hardly known, such as that of a process that was just started, has no other
/// topic.
const FEWEST_KNOWN: usize = 40;

/// Follows the topics of one session, in any language.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicReader {
    known: KnownTerms,
}

impl TopicReader {
    /// Reads an entry of the session's own thread. Returns true for a prompt that begins another topic.
    pub fn read(&mut self, entry: &Entry) -> bool {
        if entry.agent.is_some() {
            return false;
        }
        match &entry.kind {
            EntryKind::User { speaker, text } => {
                asked_words(*speaker, text).is_some_and(|words| self.prompt(&words))
            }
            EntryKind::Assistant { text } => {
                self.known.learn(text, READ_OF_MODEL);
                false
            }
            _ => false,
        }
    }

    fn prompt(&mut self, words: &str) -> bool {
        let divergence = self.known.divergence(words).unwrap_or_default();
        let is_other = self.known.len() >= FEWEST_KNOWN && divergence >= OTHER_TOPIC;
        if is_other {
            self.known.clear();
        }
        self.known.learn(words, READ_OF_PROMPT);
        is_other
    }
}
