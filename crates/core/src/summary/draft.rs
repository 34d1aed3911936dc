//! Putting a summary together within its tokens.

use super::Told;
use super::choose::{Choice, Room};
use super::claims::claims;
use super::index::{Form, index};
use super::phrase::{self, Phrases};
use super::said::{said, todo_lines, told_lines};
use super::story::{heading, passage, story};
use super::unit::units;
use crate::anchor::known::Names;
use crate::anchor::moment::Moment;
use crate::anchor::{weights, worth};
use crate::tokens::{Tokenizer, prefix};
use crate::transcript::Todo;

/// Room for the headings and the seams between parts.
const SEAMS: usize = 36;
/// No passage is shorter: what is left below this is left over.
const SHORTEST_PASSAGE: usize = 12;
/// When so many passages in a row are too long for what is left, no other is looked at: a
/// conversation has thousands, and what is left is a passage's worth.
const MOST_MISSES: usize = 64;

/// From this many tokens on there is room for whole paths.
const WHOLE_PATHS: usize = 2_000;

/// How a budget is divided, in thousandths. What a part does not need goes to the passages.
#[derive(Clone, Copy, Debug)]
struct Shares {
    said: usize,
    todos: usize,
    claims: usize,
    names: usize,
}

impl Shares {
    /// Names are cheap and soon complete: the more room there is, the less of it they need.
    fn of(limit: usize, beside: bool) -> Self {
        let names = match limit {
            // A summary tells the story; names are what it leaves out.
            _ if beside => 540,
            0..=4_000 => 400,
            4_001..16_000 => 400 - 150 * (limit - 4_000) / 12_000,
            _ => 250,
        };
        Self {
            said: 220,
            todos: 60,
            // A summary has them.
            claims: if beside { 0 } else { 30 },
            names,
        }
    }
}

/// A conversation, and what else is known of it.
pub(super) struct Draft<'a> {
    pub(super) moments: &'a [Moment<'a>],
    pub(super) todos: &'a [Todo],
    pub(super) told: &'a Told<'a>,
    pub(super) limit: usize,
    pub(super) tokenizer: &'a dyn Tokenizer,
}

impl Draft<'_> {
    /// The brief of a conversation that goes on.
    pub(super) fn brief(&self) -> String {
        let shares = Shares::of(self.limit, !self.told.already.is_empty());
        let share = |thousandths: usize| self.limit * thousandths / 1000;
        let names = self.names();
        let name_worths = worths(&names, &weights::NAMES);
        let phrases = Phrases::gather(self.moments, self.told.already);
        let phrase_worths = phrase::worths(&phrases, &weights::PHRASES);

        let facts = told_lines(
            self.moments,
            self.told,
            share(shares.said) / 4,
            self.tokenizer,
        );
        let words = said(
            self.moments,
            self.told,
            share(shares.said).saturating_sub(self.count(&facts)),
            self.tokenizer,
        );
        let list = todo_lines(self.todos, share(shares.todos), self.tokenizer);
        let claims = claims(self.moments, &facts, share(shares.claims), self.tokenizer);
        let parts = [&facts, &words, &list, &claims];
        let fixed = parts.iter().map(|part| self.count(part)).sum::<usize>() + SEAMS;

        let units = units(self.moments, &phrases);
        let mut choice = Choice::new(&units, &phrases, phrase_worths);
        let mut used = 0;
        let mut fill = |choice: &mut Choice<'_>, room: usize| {
            let mut misses = 0;
            choice.take(&mut |unit, opens| {
                let known = units.get(unit);
                let moment = known.and_then(|known| self.moments.get(known.moment));
                let (Some(known), Some(moment)) = (known, moment) else {
                    return Room::TooLittle;
                };
                let mut text = passage(moment, known);
                text.push('\n');
                if opens {
                    text.push_str(&heading(moment, self.moments));
                }
                let cost = self.count(&text);
                if used + cost <= room {
                    used += cost;
                    misses = 0;
                    return Room::Enough;
                }
                misses += 1;
                if used + SHORTEST_PASSAGE > room || misses == MOST_MISSES {
                    Room::None
                } else {
                    Room::TooLittle
                }
            });
        };
        fill(
            &mut choice,
            self.limit.saturating_sub(fixed + share(shares.names)),
        );
        let body = story(self.moments, &units, &choice.chosen);
        let left = self.limit.saturating_sub(fixed + self.count(&body));
        let elsewhere = [&facts, &words, &list, &claims, &body, self.told.already];
        let listed = index(
            &names,
            &name_worths,
            &elsewhere,
            left,
            self.tokenizer,
            if self.limit < WHOLE_PATHS {
                Form::Short
            } else {
                Form::Whole
            },
        );
        // What the names left over.
        fill(
            &mut choice,
            self.limit.saturating_sub(fixed + self.count(&listed)),
        );
        let body = story(self.moments, &units, &choice.chosen);
        self.whole(&[
            ("", &facts),
            ("What the user said", &words),
            ("To do", &list),
            ("Decided, and tried in vain", &claims),
            ("Names", &listed),
            (&self.story_title(), &body),
        ])
    }

    /// What a parent needs of a frame that is finished: its last words, then its names.
    pub(super) fn result(&self) -> String {
        let names = self.names();
        let name_worths = worths(&names, &weights::RESULTS);
        let last = self
            .moments
            .iter()
            .rfind(|moment| moment.source == crate::anchor::moment::Source::Prose);
        let last = last.map_or("", |moment| moment.text.trim());
        let last = super::story::clean(last);
        let head = prefix(&last, self.limit * LAST_WORDS / 1000, &|text| {
            self.count(text)
        });
        let mut head = head.to_owned();
        if !head.is_empty() {
            head.push_str(if head.len() < last.len() {
                " …\n"
            } else {
                "\n"
            });
        }
        let left = self
            .limit
            .saturating_sub(self.count(&head) + SEAMS_OF_RESULT);
        let elsewhere = [head.as_str(), self.told.already];
        let listed = index(
            &names,
            &name_worths,
            &elsewhere,
            left,
            self.tokenizer,
            Form::Short,
        );
        self.whole(&[("", &head), ("Names", &listed)])
    }

    fn count(&self, text: &str) -> usize {
        self.tokenizer.count(text)
    }

    fn names(&self) -> Names<'_> {
        let todos: Vec<&str> = self.todos.iter().map(|todo| todo.text.as_str()).collect();
        Names::gather(self.moments, &todos)
    }

    fn story_title(&self) -> String {
        match self.told.log {
            Some(log) => format!("What happened (`flame recall {log}#n` shows all of #n)"),
            None => "What happened".to_owned(),
        }
    }

    fn whole(&self, parts: &[(&str, &str)]) -> String {
        let mut whole = String::new();
        for (title, part) in parts {
            if part.is_empty() {
                continue;
            }
            if !title.is_empty() {
                whole.push_str(&format!("## {title}\n"));
            }
            whole.push_str(part);
        }
        // Parts are counted one by one; should a tokenizer make more of the whole, the end goes.
        prefix(&whole, self.limit, &|text| self.count(text)).to_owned()
    }
}

/// The share of a result that its last words may have, in thousandths.
const LAST_WORDS: usize = 300;
/// Room for the one heading of a result.
const SEAMS_OF_RESULT: usize = 5;

fn worths(names: &Names<'_>, weights: &[f32]) -> Vec<f32> {
    names
        .all
        .iter()
        .map(|known| worth::probability(&worth::features(known, names), weights))
        .collect()
}
