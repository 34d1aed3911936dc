//! The names of a conversation and what is known about each.

use super::moment::{Moment, Source};
use super::name::{NameKind, key};
use super::scan::names;
use super::table::{Table, hash, mix};
use crate::transcript::CallKind;

/// A name and where it was met.
#[derive(Clone, Debug)]
pub struct Known<'a> {
    /// What it is the name of.
    pub kind: NameKind,
    /// How it is told from others.
    pub key: &'a str,
    /// How it is best shown.
    pub shown: &'a str,
    /// The file that an identifier belongs to, as the number of its name.
    pub home: Option<u32>,
    /// How sure that is: where it was changed beats where it was seen.
    home_rank: u8,
    /// Where it was met.
    pub met: Met,
    /// Another name that means the same: a bare file name that only one path ends in.
    pub same_as: Option<u32>,
}

/// Where a name was met. Positions are numbers of calls.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a feature of its own, and any may go with any"
)]
#[derive(Clone, Debug, Default)]
pub struct Met {
    /// First.
    pub first: u32,
    /// Last.
    pub last: u32,
    /// Last in the model's own words.
    pub last_by_model: Option<u32>,
    /// In so many moments of the model.
    pub by_model: u32,
    /// In so many moments from outside.
    pub outside: u32,
    /// In so many commands.
    pub commands: u32,
    /// In so many changes of files.
    pub edits: u32,
    /// In so many passages of prose.
    pub prose: u32,
    /// In calls on so many different files in a row.
    pub files: u32,
    last_file: u64,
    /// A file that was read.
    pub read: bool,
    /// In a person's words.
    pub prompted: bool,
    /// In the newest of them, or since.
    pub in_last_prompt: bool,
    /// In the to-do list.
    pub in_todo: bool,
    /// In what a tool said that failed.
    pub failed: bool,
    /// Since the newest prompt.
    pub this_turn: bool,
    /// In the host's summary.
    pub summarised: bool,
    /// In the last words of the model.
    pub last_words: bool,
    /// How many names the least crowded moment had in which it was met.
    pub crowd: u32,
    /// How many names had been met when it was, in the moment that it was met in last.
    pub place: u32,
    /// The share of its parts that are words of a person.
    pub echo: f32,
    /// The share of its parts that are words of the newest prompt or of the to-do list.
    pub echo_newest: f32,
    stamp: u32,
}

/// All names of a conversation.
#[derive(Debug)]
pub struct Names<'a> {
    /// In the order of their first appearance.
    pub all: Vec<Known<'a>>,
    /// How many calls there were.
    pub calls: u32,
    table: Table,
}

impl<'a> Names<'a> {
    /// Gathers the names of a conversation. `todos` are the texts of its to-do list.
    pub fn gather(moments: &'a [Moment<'a>], todos: &[&'a str]) -> Self {
        let calls = moments.last().map_or(0, |moment| moment.calls);
        let mut gathered = Self {
            all: Vec::new(),
            calls,
            table: Table::with_room(moments.len() * 8),
        };
        let last_prompt = moments
            .iter()
            .rposition(|moment| moment.source == Source::Prompt);
        let last_words = moments
            .iter()
            .rposition(|moment| moment.source == Source::Prose);
        let mut met = Vec::new();
        for (number, moment) in moments.iter().enumerate() {
            let turn = last_prompt.is_none_or(|prompt| number > prompt);
            let newest = last_prompt == Some(number);
            met.clear();
            gathered.moment(number, moment, moments, turn, newest, &mut met);
            gathered.crowd(&met, last_words == Some(number));
        }
        for todo in todos {
            names(todo, &mut |kind, text| {
                let number = gathered.number(kind, text);
                if let Some(known) = gathered.get_mut(number) {
                    known.met.in_todo = true;
                }
            });
        }
        gathered.merge_bare_files();
        gathered.echoes(moments, last_prompt, todos);
        gathered
    }

    fn crowd(&mut self, met: &[u32], last_words: bool) {
        let crowd = u32::try_from(met.len()).unwrap_or(u32::MAX);
        for (place, number) in met.iter().enumerate() {
            if let Some(known) = self.get_mut(*number) {
                let least = known.met.crowd;
                known.met.crowd = if least == 0 { crowd } else { least.min(crowd) };
                known.met.last_words |= last_words;
                known.met.place = u32::try_from(place).unwrap_or(u32::MAX);
            }
        }
    }

    /// Finds the words of the user in names.
    fn echoes(&mut self, moments: &[Moment<'_>], last_prompt: Option<usize>, todos: &[&str]) {
        let mut all = Table::with_room(256);
        let mut newest = Table::with_room(256);
        for (number, moment) in moments.iter().enumerate() {
            if moment.source == Source::Prompt {
                let text: &str = &moment.text;
                let text = text
                    .get(..text.floor_char_boundary(LONGEST_PROMPT))
                    .unwrap_or(text);
                parts(text, &mut |part| {
                    all.number(part);
                    if last_prompt == Some(number) {
                        newest.number(part);
                    }
                });
            }
        }
        for todo in todos {
            parts(todo, &mut |part| {
                newest.number(part);
            });
        }
        for known in &mut self.all {
            let (mut count, mut in_all, mut in_newest) = (0u8, 0u8, 0u8);
            parts(known.key, &mut |part| {
                count = count.saturating_add(1);
                in_all = in_all.saturating_add(u8::from(all.find(part).is_some()));
                in_newest = in_newest.saturating_add(u8::from(newest.find(part).is_some()));
            });
            if count > 0 {
                known.met.echo = f32::from(in_all) / f32::from(count);
                known.met.echo_newest = f32::from(in_newest) / f32::from(count);
            }
        }
    }

    /// The number of a name that is known.
    pub fn find(&self, kind: NameKind, text: &str) -> Option<u32> {
        let found = self.table.find(name_hash(kind, key(kind, text)))?;
        let known = self.all.get(found as usize)?;
        Some(known.same_as.unwrap_or(found))
    }

    fn get_mut(&mut self, number: u32) -> Option<&mut Known<'a>> {
        self.all.get_mut(number as usize)
    }

    fn number(&mut self, kind: NameKind, text: &'a str) -> u32 {
        let key = key(kind, text);
        let (number, new) = self.table.number(name_hash(kind, key));
        if new {
            self.all.push(Known {
                kind,
                key,
                shown: if kind == NameKind::Quantity {
                    text
                } else {
                    key
                },
                home: None,
                home_rank: 0,
                met: Met::default(),
                same_as: None,
            });
        }
        number
    }

    fn moment(
        &mut self,
        number: usize,
        moment: &'a Moment<'a>,
        moments: &'a [Moment<'a>],
        turn: bool,
        newest: bool,
        seen: &mut Vec<u32>,
    ) {
        let called = moment.answers.and_then(|called| moments.get(called));
        // A file that the call is about is the home of what stands in it.
        let about = called.unwrap_or(moment);
        let looks_inside = matches!(
            about.kind,
            Some(CallKind::Read | CallKind::Search | CallKind::Edit | CallKind::Write)
        );
        let mut home = None;
        let mut rank = 0;
        for (nth, path) in moment.paths.iter().enumerate() {
            let path_number = self.number(NameKind::Path, path);
            if self.meet(number, moment, path_number, turn, newest) {
                seen.push(path_number);
            }
            if let Some(known) = self.get_mut(path_number) {
                known.shown = path;
                known.met.read |= moment.kind == Some(CallKind::Read);
            }
            if nth == 0 && looks_inside {
                home = Some(path_number);
            }
        }
        if let Some(path) = about
            .paths
            .first()
            .filter(|_| called.is_some() && looks_inside)
        {
            home = Some(self.number(NameKind::Path, path));
        }
        if home.is_some() {
            rank = match about.kind {
                Some(CallKind::Edit | CallKind::Write) => 4,
                _ if called.is_none() => 3,
                _ => 2,
            };
        }
        let file = about.paths.first().map_or(0, |path| hash(path.as_bytes()));
        let whole = moment.text.as_ptr() as usize;
        let text: &'a str = &moment.text;
        let mut line_home: Option<(u32, usize)> = None;
        names(text, &mut |kind, found| {
            // What tools print is full of numbers; those that count are talked about.
            if kind == NameKind::Quantity && !moment.source.is_talk() {
                return;
            }
            let name = self.number(kind, found);
            if self.meet(number, moment, name, turn, newest) {
                seen.push(name);
            }
            let at = found.as_ptr() as usize - whole;
            match kind {
                NameKind::Path => line_home = Some((name, at)),
                NameKind::Identifier => {
                    // A path earlier on the same line, or earlier in the same patch.
                    let near = line_home.filter(|(_, path_at)| {
                        moment.source == Source::Edit
                            || text.get(*path_at..at).is_some_and(|between| {
                                between.len() < 400 && !between.contains('\n')
                            })
                    });
                    let (place, rank) = match (home, near) {
                        (Some(home), _) => (Some(home), rank),
                        (None, Some((path, _))) if moment.source == Source::Edit => (Some(path), 4),
                        (None, Some((path, _))) => (Some(path), 1),
                        (None, None) => (None, 0),
                    };
                    if let Some(known) = self.get_mut(name) {
                        if place.is_some() && rank >= known.home_rank {
                            known.home = place;
                            known.home_rank = rank;
                        }
                        if moment.source.by_model() && file != 0 && known.met.last_file != file {
                            known.met.last_file = file;
                            known.met.files += 1;
                        }
                    }
                }
                _ => {}
            }
        });
    }

    fn meet(
        &mut self,
        number: usize,
        moment: &Moment<'_>,
        name: u32,
        turn: bool,
        newest: bool,
    ) -> bool {
        let Some(known) = self.all.get_mut(name as usize) else {
            return false;
        };
        let met = &mut known.met;
        let stamp = u32::try_from(number).unwrap_or(u32::MAX).saturating_add(1);
        if met.stamp == stamp {
            return false;
        }
        if met.stamp == 0 {
            met.first = moment.calls;
        }
        met.stamp = stamp;
        met.last = moment.calls;
        met.this_turn |= turn;
        if moment.source.by_model() {
            met.by_model += 1;
            met.last_by_model = Some(moment.calls);
        } else {
            met.outside += 1;
        }
        match moment.source {
            Source::Prompt => {
                met.prompted = true;
                met.in_last_prompt |= newest;
            }
            Source::Command => met.commands += 1,
            Source::Edit => met.edits += 1,
            Source::Prose | Source::Plan => met.prose += 1,
            Source::FailedOutput => met.failed = true,
            Source::Summary => met.summarised = true,
            Source::HostWords | Source::Call | Source::Output => {}
        }
        true
    }

    /// A bare file name means the one path that ends in it.
    fn merge_bare_files(&mut self) {
        let mut ends = Table::with_room(self.all.len());
        let mut only: Vec<Option<u32>> = Vec::new();
        for (number, known) in self.all.iter().enumerate() {
            if known.kind != NameKind::Path {
                continue;
            }
            if let Some((_, name)) = known.key.rsplit_once('/') {
                let (end, new) = ends.number(hash(name.as_bytes()));
                let number = u32::try_from(number).ok();
                if new {
                    only.push(number);
                } else if let Some(place) = only.get_mut(end as usize) {
                    *place = None;
                }
            }
        }
        for number in 0..self.all.len() {
            let Some(known) = self.all.get(number) else {
                continue;
            };
            if known.kind != NameKind::Path || known.key.contains('/') {
                continue;
            }
            let path = ends.find(hash(known.key.as_bytes()));
            let Some(Some(path)) = path.and_then(|end| only.get(end as usize).copied()) else {
                continue;
            };
            let met = known.met.clone();
            if let Some(known) = self.all.get_mut(number) {
                known.same_as = Some(path);
            }
            if let Some(known) = self.get_mut(path) {
                known.met.join(&met);
            }
        }
    }
}

impl Met {
    fn join(&mut self, other: &Self) {
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
        self.summarised |= other.summarised;
        self.last_words |= other.last_words;
        self.crowd = match (self.crowd, other.crowd) {
            (0, crowd) | (crowd, 0) => crowd,
            (ours, theirs) => ours.min(theirs),
        };
    }
}

fn name_hash(kind: NameKind, key: &str) -> u64 {
    mix(hash(key.as_bytes()), kind as u64)
}

/// Of a prompt, so much is looked at for its words.
const LONGEST_PROMPT: usize = 20_000;

/// Calls `visit` with the hash of every part of every word: `parseToken` has `parse` and `token`.
fn parts(text: &str, visit: &mut impl FnMut(u64)) {
    let mut part = [0u8; 24];
    let mut length = 0;
    let mut low = false;
    for byte in text.bytes().chain(std::iter::once(b' ')) {
        let letter = byte.is_ascii_alphanumeric() || byte >= 0x80;
        if (!letter || (byte.is_ascii_uppercase() && low)) && length > 0 {
            if length > 2 {
                visit(hash(part.get(..length).unwrap_or_default()));
            }
            length = 0;
        }
        low = byte.is_ascii_lowercase();
        if letter && let Some(place) = part.get_mut(length) {
            *place = byte.to_ascii_lowercase();
            length += 1;
        }
    }
}
