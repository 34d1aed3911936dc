//! Examples from recorded sessions: which names and phrases were needed again.

use std::collections::BTreeSet;

use flamestack_core::transcript::Entry;
use flamestack_eval::Recording;
use flamestack_eval::need::Need;
use flamestack_eval::pop::pops;
use flamestack_extract::names::NameTable;
use flamestack_extract::phrases::{PhraseTable, searched_text};
use flamestack_extract::score::{name_features, phrase_features};
use flamestack_extract::summary::newest_todos;
use flamestack_extract::utterance::{utterances, utterances_of};

use super::examples::Examples;

/// Of the phrases that were not needed, one in this number is an example and counts for all.
const SAMPLED: u32 = 32;

/// The examples of one session, or of many.
#[derive(Clone, Debug, Default)]
pub(super) struct Lesson {
    /// Names, for the session itself.
    pub(super) names: Examples,
    /// Phrases, for the session itself.
    pub(super) phrases: Examples,
    /// Names, for the parent of a finished subagent.
    pub(super) results: Examples,
}

impl Lesson {
    /// Returns the examples of a session. `group` is the number of its owner.
    pub(super) fn of(entries: &[Entry], group: usize) -> Self {
        let mut lesson = Self::default();
        let recording = Recording::new(entries);
        for cut in recording.cuts() {
            let need = Need::after(&recording, &cut);
            let history = recording.before(&cut);
            lesson.add_names(&recording, &need, history, group);
            lesson.add_phrases(&need, history, group);
        }
        let pops = pops(entries);
        for pop in &pops.all {
            let utterances = utterances_of(pop.entries.iter().enumerate());
            let table = NameTable::collect(&utterances, &[]);
            for name in table.all.iter().filter(|name| name.alias_of.is_none()) {
                if let Some(needed) = pops.needs_name(pop, name.kind, name.key) {
                    let features = name_features(name, &table);
                    lesson.results.add(&features, needed, 1.0, group);
                }
            }
        }
        lesson
    }

    fn add_names(
        &mut self,
        recording: &Recording<'_>,
        need: &Need,
        history: &[Entry],
        group: usize,
    ) {
        let utterances = utterances(history);
        let todos = newest_todos(history).iter();
        let todos: Vec<&str> = todos.map(|todo| todo.text.as_str()).collect();
        let table = NameTable::collect(&utterances, &todos);
        for name in table.all.iter().filter(|name| name.alias_of.is_none()) {
            let needed = need.has_name(recording, name.kind, name.key);
            let features = name_features(name, &table);
            self.names.add(&features, needed, 1.0, group);
        }
    }

    fn add_phrases(&mut self, need: &Need, history: &[Entry], group: usize) {
        let utterances = utterances(history);
        let table = PhraseTable::collect(&utterances, "");
        let mut needed = BTreeSet::new();
        for (utterance, words) in utterances.iter().zip(&table.words) {
            let text = searched_text(utterance);
            // The measure knows ASCII only; with other scripts the words do not line up.
            if text.is_ascii() {
                let hits = words.iter().zip(need.has_phrases(text));
                needed.extend(hits.filter_map(|(word, hit)| word.phrase.filter(|_| hit)));
            }
        }
        for (number, phrase) in (0u32..).zip(&table.all) {
            let features = phrase_features(phrase, table.calls);
            if needed.contains(&number) {
                self.phrases.add(&features, true, 1.0, group);
            } else if number.wrapping_mul(0x9e37_79b1) >> 27 == 0 {
                #[expect(clippy::cast_precision_loss, reason = "a small number")]
                self.phrases.add(&features, false, SAMPLED as f32, group);
            }
        }
    }

    /// Adds the examples of another session.
    pub(super) fn join(&mut self, other: Self) {
        self.names.join(other.names);
        self.phrases.join(other.phrases);
        self.results.join(other.results);
    }
}
