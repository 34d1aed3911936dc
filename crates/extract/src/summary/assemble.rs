//! Assembling a summary within its limit.

use std::borrow::Cow;

use super::SummaryInput;
use super::index::{PathForm, index};
use super::passages::{Passage, passages};
use super::sections::{facts, prompts};
use super::select::{Fit, Selection};
use super::story::{heading, printable, shown, story};
use crate::names::NameTable;
use crate::phrases::PhraseTable;
use crate::score::{self, name_features};
use crate::state::{WorkState, WorkStep, WorkStepKind};
use crate::tokens::{Tokenizer, prefix};
use crate::utterance::{Source, Utterance};
use flamestack_core::text::for_model;
use flamestack_core::transcript::Todo;

/// Tokens for the headings of a brief and the seams between its parts.
const BRIEF_SEAMS: usize = 36;
/// Tokens for the one heading of a result.
const RESULT_SEAMS: usize = 5;
/// No passage has fewer tokens: a smaller rest is left unused.
const MIN_PASSAGE: usize = 12;
/// A passage of fewer signs says nothing.
const MIN_SIGNS: usize = 8;
/// Number of passages in a row that do not fit before the search ends: a session has thousands, and
/// the rest has room for one.
const MAX_MISSES: usize = 64;
/// Maximum number of tokens for the last steps: with 600 of 4,000, wording that is needed again had less
/// room, and H fell from .58 to .57.
const MAX_STEPS: usize = 240;
/// From this number of tokens on, paths are shown whole.
const WHOLE_PATHS: usize = 2_000;
/// Shares of a result for the last words of the model, the state of the work and the notes, in
/// thousandths.
const LAST_WORDS: usize = 300;
const RESULT_STATE: usize = 330;
const RESULT_NOTES: usize = 120;

/// The division of a limit among the parts of a brief, in thousandths. Passages get the rest, and
/// everything that the other parts do not use.
#[derive(Clone, Copy, Debug)]
struct Shares {
    state: usize,
    facts: usize,
    prompts: usize,
    steps: usize,
    names: usize,
}

impl Shares {
    /// The shares were chosen by comparing about ten settings on recorded sessions; docs/quality.md
    /// has the figures.
    fn new(limit: usize, beside_summary: bool) -> Self {
        let names = match limit {
            // The host's summary has the story and leaves out names.
            _ if beside_summary => 480,
            // Names are short and soon complete: a longer brief needs a smaller share for them.
            0..=4_000 => 400,
            4_001..16_000 => 400 - 150 * (limit - 4_000) / 12_000,
            _ => 250,
        };
        Self {
            // A maximum: the state of most sessions takes 150 to 300 tokens.
            state: 500,
            facts: 50,
            // The host's summary has both. Next to it, wording had no room: +.07 of N4R, and +.11 without them.
            prompts: if beside_summary { 0 } else { 150 },
            steps: if beside_summary { 0 } else { 150 },
            names,
        }
    }
}

/// Everything that a summary is made from.
pub(super) struct Assembler<'a> {
    pub(super) state: &'a WorkState,
    pub(super) utterances: &'a [Utterance<'a>],
    pub(super) todos: &'a [Todo],
    pub(super) input: &'a SummaryInput<'a>,
    pub(super) limit: usize,
    pub(super) tokenizer: &'a dyn Tokenizer,
}

/// The parts of a brief besides names and story.
struct Sections {
    state: String,
    facts: String,
    prompts: String,
    steps: String,
}

impl Assembler<'_> {
    /// Returns the brief of a session that continues.
    pub(super) fn brief(&self) -> String {
        let shares = Shares::new(self.limit, self.input.has_summary);
        let sections = self.sections(&shares);
        let fixed = sections.all().map(|part| self.count(part));
        let left = self
            .limit
            .saturating_sub(fixed.iter().sum::<usize>() + BRIEF_SEAMS);

        let said = self.state.last_words.as_ref();
        let said = said.map_or("", |words| words.text.as_str());
        let known = format!("{}\n{}\n{said}", self.input.already, sections.steps);
        let phrases = PhraseTable::collect(self.utterances, &known);
        let passages = passages(self.utterances, &phrases);
        let mut selection = Selection::new(&passages, &phrases);
        let for_story = left.saturating_sub(self.share(shares.names));
        let used = self.fill(&mut selection, &passages, 0, for_story);
        let body = story(self.utterances, &passages, &selection.selected);

        let for_names = left.saturating_sub(self.count(&body));
        let [state, facts, prompts, steps] = sections.all();
        let already = self.input.already;
        let others = [state, facts, prompts, steps, &body, already];
        let form = if self.limit < WHOLE_PATHS {
            PathForm::Short
        } else {
            PathForm::Whole
        };
        let names = self.names(&score::NAMES, &others, for_names, form);

        // The names may have left room for more of the story.
        let for_story = left.saturating_sub(self.count(&names));
        self.fill(&mut selection, &passages, used, for_story);
        let body = story(self.utterances, &passages, &selection.selected);
        let whole = joined(&[
            ("", state),
            ("", facts),
            ("What the user said", prompts),
            ("Last steps", steps),
            (&self.story_title(), &body),
            ("Files and names in play", &names),
        ]);
        // What is quoted opens and closes no tag that a host or Flamestack gives a meaning.
        self.within_limit(&for_model(&whole))
    }

    /// Returns the result of a finished frame for its parent: its last words, the state in which the
    /// work was left, what to know, then its names.
    pub(super) fn result(&self) -> String {
        let is_text = |utterance: &&Utterance<'_>| utterance.source == Source::Text;
        let last = self.utterances.iter().rfind(is_text);
        let last = printable(last.map_or("", |utterance| utterance.text.trim()));
        let limit = self.limit * LAST_WORDS / 1000;
        let mut words = prefix(&last, limit, &|text| self.count(text)).to_owned();
        if !words.is_empty() {
            let is_cut = words.len() < last.len();
            words.push_str(if is_cut { " …\n" } else { "\n" });
        }
        let state = self
            .state
            .render_result(self.share(RESULT_STATE), self.tokenizer);
        let notes = SummaryInput {
            goal: None,
            criteria: None,
            ..*self.input
        };
        let notes = facts(
            self.utterances,
            &notes,
            &state,
            self.share(RESULT_NOTES),
            self.tokenizer,
        );
        let used = self.count(&words) + self.count(&state) + self.count(&notes);
        let left = self.limit.saturating_sub(used + RESULT_SEAMS);
        let others = [&words, &state, &notes, self.input.already];
        let names = self.names(&score::RESULTS, &others, left, PathForm::Short);
        self.within_limit(&joined(&[
            ("", &words),
            ("", &state),
            ("", &notes),
            ("Names", &names),
        ]))
    }

    fn sections(&self, shares: &Shares) -> Sections {
        let (utterances, tokenizer) = (self.utterances, self.tokenizer);
        let state = self.new_state();
        let state = state.render(self.share(shares.state), tokenizer);
        let limit = self.share(shares.facts);
        let facts = facts(utterances, self.input, &state, limit, tokenizer);
        // What notes do not use is for prompts.
        let limit = match self.share(shares.prompts) {
            0 => 0,
            room => room + limit.saturating_sub(self.count(&facts)),
        };
        let known = format!("{state}{facts}{}", self.input.already);
        Sections {
            prompts: prompts(utterances, &known, limit, tokenizer),
            steps: self.steps(self.share(shares.steps).min(MAX_STEPS)),
            facts,
            state,
        }
    }

    /// Returns the state without words that the reader has.
    fn new_state(&self) -> Cow<'_, WorkState> {
        let words = self.state.last_words.as_ref();
        if words.is_some_and(|words| self.input.already.contains(&words.text)) {
            Cow::Owned(WorkState {
                last_words: None,
                ..self.state.clone()
            })
        } else {
            Cow::Borrowed(self.state)
        }
    }

    /// Returns the last steps that fit, the newest last.
    fn steps(&self, limit: usize) -> String {
        let mut lines = Vec::new();
        let mut left = limit;
        // The state has the model's last words.
        let said = self.state.last_words.as_ref().map(|words| words.entry);
        let is_said = |step: &&WorkStep| {
            said == Some(step.entry) && matches!(step.kind, WorkStepKind::Replied(_))
        };
        for step in self.state.steps.iter().rev().filter(|step| !is_said(step)) {
            let newest = Some(step.newest_line()).filter(|_| lines.is_empty());
            let newest = newest.filter(|line| self.count(line) < left);
            let line = format!("{}\n", newest.unwrap_or_else(|| step.line()));
            let cost = self.count(&line);
            if cost > left {
                break;
            }
            left -= cost;
            lines.push(line);
        }
        lines.reverse();
        lines.concat()
    }

    /// Selects passages while they fit into `limit`, of which `used` is used; returns the cost of
    /// all selected passages.
    fn fill(
        &self,
        selection: &mut Selection<'_>,
        passages: &[Passage],
        mut used: usize,
        limit: usize,
    ) -> usize {
        let mut misses = 0;
        selection.fill(|index, needs_heading| {
            let passage = passages.get(index);
            let utterance = passage.and_then(|passage| self.utterances.get(passage.utterance));
            let (Some(passage), Some(utterance)) = (passage, utterance) else {
                return Fit::No;
            };
            let mut text = shown(utterance, passage);
            if text.bytes().filter(u8::is_ascii_graphic).count() < MIN_SIGNS && text.is_ascii() {
                return Fit::No;
            }
            text.push('\n');
            if needs_heading {
                text.push_str(&heading(utterance, self.utterances));
            }
            let cost = self.count(&text);
            if used + cost <= limit {
                used += cost;
                misses = 0;
                return Fit::Yes;
            }
            misses += 1;
            if used + MIN_PASSAGE > limit || misses == MAX_MISSES {
                Fit::Full
            } else {
                Fit::No
            }
        });
        used
    }

    /// Returns the index of names that are not in the other parts.
    fn names(
        &self,
        model: &score::Model<{ score::NAME }>,
        others: &[&str],
        limit: usize,
        form: PathForm,
    ) -> String {
        let todos: Vec<&str> = self.todos.iter().map(|todo| todo.text.as_str()).collect();
        let table = NameTable::collect(self.utterances, &todos);
        let score = |name| model.probability(&name_features(name, &table));
        let scores: Vec<f32> = table.all.iter().map(score).collect();
        index(&table, &scores, others, limit, self.tokenizer, form)
    }

    fn count(&self, text: &str) -> usize {
        self.tokenizer.count(text)
    }

    fn share(&self, thousandths: usize) -> usize {
        self.limit * thousandths / 1000
    }

    fn story_title(&self) -> String {
        match self.input.log {
            Some(log) => format!("What happened (`flame recall {log}#n` shows all of #n)"),
            None => "What happened".to_owned(),
        }
    }

    /// Cuts the end of a text that has too many tokens: its parts were counted one by one.
    fn within_limit(&self, whole: &str) -> String {
        prefix(whole, self.limit, &|text| self.count(text)).to_owned()
    }
}

/// Joins the parts that are not empty, each below its title.
fn joined(parts: &[(&str, &str)]) -> String {
    let mut whole = String::new();
    for (title, part) in parts.iter().filter(|(_, part)| !part.is_empty()) {
        if !title.is_empty() {
            whole.push_str(&format!("## {title}\n"));
        }
        whole.push_str(part);
    }
    whole
}

impl Sections {
    fn all(&self) -> [&str; 4] {
        [&self.state, &self.facts, &self.prompts, &self.steps]
    }
}
