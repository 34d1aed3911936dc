//! The overlap of names with the user's words: `parseToken` is about `parse` and `token`.

use std::borrow::Cow;

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use super::NameTable;
use crate::lex::{Fragment, fragments, lowercase};
use crate::utterance::{Source, Utterance};

/// Length of a prompt that is searched for words, in bytes.
const MAX_PROMPT: usize = 20_000;
/// Shorter parts of words say too little, in bytes.
const MIN_PART: usize = 3;

type Parts<'a> = IndexSet<Cow<'a, str>, FxBuildHasher>;

/// Sets the overlaps of all names.
pub(super) fn add_overlaps(
    table: &mut NameTable<'_>,
    utterances: &[Utterance<'_>],
    last_prompt: Option<usize>,
    todos: &[&str],
) {
    let (mut prompts, mut newest) = (Parts::default(), Parts::default());
    for (index, utterance) in utterances.iter().enumerate() {
        if utterance.source == Source::Prompt {
            let end = utterance.text.floor_char_boundary(MAX_PROMPT);
            each_part(utterance.text.get(..end).unwrap_or_default(), &mut |part| {
                if last_prompt == Some(index) {
                    newest.insert(part.clone());
                }
                prompts.insert(part);
            });
        }
    }
    for todo in todos {
        each_part(todo, &mut |part| {
            newest.insert(part);
        });
    }
    for name in &mut table.all {
        let (mut count, mut in_prompts, mut in_newest) = (0u8, 0u8, 0u8);
        each_part(name.key, &mut |part| {
            count = count.saturating_add(1);
            in_prompts = in_prompts.saturating_add(u8::from(prompts.contains(&part)));
            in_newest = in_newest.saturating_add(u8::from(newest.contains(&part)));
        });
        if count > 0 {
            name.stats.prompt_overlap = f32::from(in_prompts) / f32::from(count);
            name.stats.newest_overlap = f32::from(in_newest) / f32::from(count);
        }
    }
}

/// Calls `visit` with every part of every word, in lower case.
fn each_part<'a>(text: &'a str, visit: &mut impl FnMut(Cow<'a, str>)) {
    fragments(text, &mut |fragment| {
        if let Fragment::Word(word) = fragment
            && word.len() >= MIN_PART
        {
            visit(lowercase(word));
        }
    });
}
