//! The names of a session: where each occurs, and the file that it belongs to.

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

mod collect;
mod overlap;

use crate::lex::{NameKind, name_key};

/// A name and its occurrences.
#[derive(Clone, Debug)]
pub struct Name<'a> {
    /// The kind of thing that it denotes.
    pub kind: NameKind,
    /// Normalised form; two names of one kind are the same if their keys are equal.
    pub key: &'a str,
    /// The form that is shown.
    pub shown: &'a str,
    /// Its occurrences.
    pub stats: NameStats,
    /// Another name of the same thing: the one path that ends in this bare file name.
    pub alias_of: Option<usize>,
    /// The file that an identifier belongs to.
    owner: Option<Owner>,
}

/// The file that an identifier belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Owner {
    confidence: Confidence,
    /// Index of the path.
    path: usize,
}

/// Evidence that an identifier belongs to a file, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Confidence {
    /// The path precedes it on its line.
    SameLine,
    /// It is in the answer to a call that reads or searches the file.
    Answer,
    /// It is an argument of such a call.
    Call,
    /// It is part of a change to the file.
    Edit,
}

/// The occurrences of a name. Positions are numbers of calls.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a feature, and any may occur with any"
)]
#[derive(Clone, Debug, Default)]
pub struct NameStats {
    /// First occurrence.
    pub first: u32,
    /// Last occurrence.
    pub last: u32,
    /// Last occurrence in the model's own words.
    pub last_by_model: Option<u32>,
    /// Number of the model's utterances that mention it.
    pub by_model: u32,
    /// Number of other utterances that mention it.
    pub outside: u32,
    /// Number of commands that mention it.
    pub commands: u32,
    /// Number of changes to files that mention it.
    pub edits: u32,
    /// Number of the model's texts and plans that mention it.
    pub prose: u32,
    /// Number of changes from one file to another between the calls that mention it.
    pub files: u32,
    /// True if it is a file that was read.
    pub read: bool,
    /// True if the user mentions it.
    pub prompted: bool,
    /// True if the newest prompt mentions it.
    pub in_last_prompt: bool,
    /// True if the to-do list mentions it.
    pub in_todo: bool,
    /// True if the answer of a failed tool mentions it.
    pub failed: bool,
    /// True if it occurs after the newest prompt.
    pub this_turn: bool,
    /// True if the host's summary mentions it.
    pub in_summary: bool,
    /// True if the model's last text mentions it.
    pub in_last_words: bool,
    /// Number of names in the utterance with the fewest names that mentions it.
    pub density: u32,
    /// Number of names before it in the last utterance that mentions it.
    pub position: u32,
    /// Share of its parts that are words of a prompt.
    pub prompt_overlap: f32,
    /// Share of its parts that are words of the newest prompt or of the to-do list.
    pub newest_overlap: f32,
    /// The last utterance that mentions it, counted from 1.
    last_utterance: usize,
    /// The file of the last call that mentions it.
    last_file: Option<usize>,
}

/// The names of a session.
#[derive(Debug)]
pub struct NameTable<'a> {
    /// The names, in the order of their first occurrence.
    pub all: Vec<Name<'a>>,
    /// Number of calls.
    pub calls: u32,
    ids: IndexSet<(NameKind, &'a str), FxBuildHasher>,
}

impl<'a> NameTable<'a> {
    /// Returns the index of a name, or of the name that it is an alias of.
    pub fn find(&self, kind: NameKind, text: &str) -> Option<usize> {
        let index = self.ids.get_index_of(&(kind, name_key(kind, text)))?;
        Some(self.without_alias(index))
    }

    /// Returns the file that an identifier belongs to.
    pub(crate) fn owner(&self, name: &Name<'_>) -> Option<&Name<'a>> {
        self.all.get(name.owner?.path)
    }

    /// Returns the index of the file that an identifier belongs to, or of the path that the file
    /// is an alias of.
    pub(crate) fn owner_index(&self, name: &Name<'_>) -> Option<usize> {
        Some(self.without_alias(name.owner?.path))
    }

    fn without_alias(&self, index: usize) -> usize {
        let alias_of = self.all.get(index).and_then(|name| name.alias_of);
        alias_of.unwrap_or(index)
    }
}
