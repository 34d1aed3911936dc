//! Collecting the names of a session, utterance by utterance.

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use super::overlap::add_overlaps;
use super::{Confidence, Name, NameStats, NameTable, Owner};
use crate::lex::{NameKind, name_key, named_text, names};
use crate::utterance::{Source, Utterance};
use flamestack_core::transcript::CallKind;

/// The utterance that is being read.
#[derive(Clone, Copy)]
struct Reading<'a> {
    utterance: &'a Utterance<'a>,
    /// Index of the utterance, from 1.
    number: usize,
    is_last_prompt: bool,
    after_last_prompt: bool,
    /// The call, for a call and for its answer.
    call: &'a Utterance<'a>,
    /// Index of the call's first file.
    file: Option<usize>,
}

impl<'a> NameTable<'a> {
    /// Collects the names of a session. `todos` are the texts of its to-do list.
    pub fn collect(utterances: &'a [Utterance<'a>], todos: &[&'a str]) -> Self {
        let mut table = Self {
            all: Vec::new(),
            calls: utterances.last().map_or(0, |utterance| utterance.calls),
            ids: indexmap::IndexSet::default(),
        };
        let last_of = |source: Source| utterances.iter().rposition(|u| u.source == source);
        let (last_prompt, last_text) = (last_of(Source::Prompt), last_of(Source::Text));
        let mut mentioned = Vec::new();
        for (index, utterance) in utterances.iter().enumerate() {
            let called = utterance.answers.and_then(|call| utterances.get(call));
            let mut reading = Reading {
                utterance,
                number: index + 1,
                is_last_prompt: last_prompt == Some(index),
                after_last_prompt: last_prompt.is_none_or(|prompt| index > prompt),
                call: called.unwrap_or(utterance),
                file: None,
            };
            mentioned.clear();
            table.add_paths(&mut reading, &mut mentioned);
            table.add_text(reading, &mut mentioned);
            table.add_positions(&mentioned, last_text == Some(index));
        }
        for todo in todos {
            names(todo, &mut |kind, text| {
                if let Some((_, name)) = table.insert(kind, text) {
                    name.stats.in_todo = true;
                }
            });
        }
        table.merge_bare_files();
        add_overlaps(&mut table, utterances, last_prompt, todos);
        table
    }

    /// Returns a name and its index; adds it if it is new.
    fn insert(&mut self, kind: NameKind, text: &'a str) -> Option<(usize, &mut Name<'a>)> {
        let key = name_key(kind, text);
        let (index, is_new) = self.ids.insert_full((kind, key));
        if is_new {
            let is_quantity = kind == NameKind::Quantity;
            self.all.push(Name {
                kind,
                key,
                shown: if is_quantity { text } else { key },
                stats: NameStats::default(),
                alias_of: None,
                owner: None,
            });
        }
        Some((index, self.all.get_mut(index)?))
    }

    /// Adds the files that a call names, and sets the file of the call.
    fn add_paths(&mut self, reading: &mut Reading<'a>, mentioned: &mut Vec<usize>) {
        for path in reading.utterance.paths {
            if let Some((index, name)) = self.insert(NameKind::Path, path) {
                name.shown = path;
                name.stats.read |= reading.utterance.kind == Some(CallKind::Read);
                if name.stats.mention(reading) {
                    mentioned.push(index);
                }
            }
        }
        // The file of an answer is mentioned by the call, not by the answer.
        let first = reading.call.paths.first();
        let inserted = first.and_then(|path| self.insert(NameKind::Path, path));
        reading.file = inserted.map(|(index, _)| index);
    }

    /// Adds the names of an utterance's text.
    fn add_text(&mut self, reading: Reading<'a>, mentioned: &mut Vec<usize>) {
        let is_edit = reading.utterance.source == Source::Edit;
        let owner = reading.owner();
        let mut path_before = None;
        for line in named_text(&reading.utterance.text).split_inclusive('\n') {
            if !is_edit {
                path_before = None;
            }
            names(line, &mut |kind, text| {
                // Output is full of numbers; those that matter are talked about.
                if kind == NameKind::Quantity && !reading.utterance.source.is_prose() {
                    return;
                }
                let Some((index, name)) = self.insert(kind, text) else {
                    return;
                };
                if name.stats.mention(&reading) {
                    mentioned.push(index);
                }
                match kind {
                    NameKind::Path => path_before = Some(index),
                    NameKind::Identifier => {
                        // A patch names its file before the changes.
                        let confidence = if is_edit {
                            Confidence::Edit
                        } else {
                            Confidence::SameLine
                        };
                        let near = path_before.map(|path| Owner { confidence, path });
                        name.belongs_to(owner.or(near));
                        name.stats.add_file(&reading);
                    }
                    _ => {}
                }
            });
        }
    }

    fn add_positions(&mut self, mentioned: &[usize], is_last_text: bool) {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        for (position, index) in mentioned.iter().enumerate() {
            if let Some(name) = self.all.get_mut(*index) {
                let stats = &mut name.stats;
                stats.density = least(stats.density, count(mentioned.len()));
                stats.in_last_words |= is_last_text;
                stats.position = count(position);
            }
        }
    }

    /// Makes a bare file name an alias of the one path that ends in it.
    fn merge_bare_files(&mut self) {
        let mut ends: IndexMap<&str, Option<usize>, FxBuildHasher> = IndexMap::default();
        let is_path = |(_, name): &(usize, &Name<'_>)| name.kind == NameKind::Path;
        for (index, name) in self.all.iter().enumerate().filter(is_path) {
            if let Some((_, file)) = name.key.rsplit_once('/') {
                let only = ends.entry(file);
                only.and_modify(|path| *path = None).or_insert(Some(index));
            }
        }
        let alias = |(index, name): (usize, &Name<'_>)| {
            let path = ends.get(name.key).copied().flatten()?;
            Some((index, path))
        };
        let paths = self.all.iter().enumerate().filter(is_path);
        let aliases: Vec<(usize, usize)> = paths.filter_map(alias).collect();
        for (bare, path) in aliases {
            let Some(name) = self.all.get_mut(bare) else {
                continue;
            };
            name.alias_of = Some(path);
            let stats = name.stats.clone();
            if let Some(path) = self.all.get_mut(path) {
                path.stats.merge(&stats);
            }
        }
    }
}

impl Reading<'_> {
    /// Returns the file that the identifiers of a call or its answer belong to.
    fn owner(&self) -> Option<Owner> {
        let confidence = match self.call.kind? {
            CallKind::Edit | CallKind::Write => Confidence::Edit,
            CallKind::Read | CallKind::Search if self.utterance.answers.is_none() => {
                Confidence::Call
            }
            CallKind::Read | CallKind::Search => Confidence::Answer,
            _ => return None,
        };
        let path = self.file?;
        Some(Owner { confidence, path })
    }
}

impl Name<'_> {
    /// Sets the owner, unless there is better evidence for another one.
    fn belongs_to(&mut self, owner: Option<Owner>) {
        let known = self.owner.map(|known| known.confidence);
        if owner.is_some_and(|owner| Some(owner.confidence) >= known) {
            self.owner = owner;
        }
    }
}

impl NameStats {
    /// Counts an utterance that mentions the name; returns false if it is counted already.
    fn mention(&mut self, reading: &Reading<'_>) -> bool {
        let utterance = reading.utterance;
        if self.last_utterance == reading.number {
            return false;
        }
        if self.last_utterance == 0 {
            self.first = utterance.calls;
        }
        self.last_utterance = reading.number;
        self.last = utterance.calls;
        self.this_turn |= reading.after_last_prompt;
        if utterance.source.by_model() {
            self.by_model += 1;
            self.last_by_model = Some(utterance.calls);
        } else {
            self.outside += 1;
        }
        match utterance.source {
            Source::Prompt => {
                self.prompted = true;
                self.in_last_prompt |= reading.is_last_prompt;
            }
            Source::Command => self.commands += 1,
            Source::Edit => self.edits += 1,
            Source::Text | Source::Plan => self.prose += 1,
            Source::FailedOutput => self.failed = true,
            Source::Summary => self.in_summary = true,
            Source::HostWords | Source::Call | Source::Output => {}
        }
        true
    }

    /// Counts the file of a call of the model.
    fn add_file(&mut self, reading: &Reading<'_>) {
        if reading.utterance.source.by_model()
            && reading.file.is_some()
            && self.last_file != reading.file
        {
            self.last_file = reading.file;
            self.files += 1;
        }
    }

    /// Adds the occurrences of another name of the same thing.
    fn merge(&mut self, other: &Self) {
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.last_by_model = self.last_by_model.max(other.last_by_model);
        self.by_model += other.by_model;
        self.outside += other.outside;
        self.commands += other.commands;
        self.edits += other.edits;
        self.prose += other.prose;
        self.read |= other.read;
        self.prompted |= other.prompted;
        self.in_last_prompt |= other.in_last_prompt;
        self.in_todo |= other.in_todo;
        self.failed |= other.failed;
        self.this_turn |= other.this_turn;
        self.in_summary |= other.in_summary;
        self.in_last_words |= other.in_last_words;
        self.density = least(self.density, other.density);
    }
}

/// Returns the smaller of two densities; 0 means that there is no density yet.
fn least(one: u32, other: u32) -> u32 {
    match (one, other) {
        (0, density) | (density, 0) => density,
        (one, other) => one.min(other),
    }
}
