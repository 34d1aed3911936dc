//! The index of names: a map of files with the few identifiers in play, then other names.

use std::borrow::Cow;

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use super::story::name_on_line;
use crate::lex::{NameKind, names};
use crate::names::NameTable;
use crate::tokens::Tokenizer;

/// The form of paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathForm {
    /// As in the transcript.
    Whole,
    /// The file and its folder.
    Short,
}

/// The exponent of a name's length in its price: at 0 the length would not matter, at 1 short names
/// would crowd out the likely ones.
const PRICE: f32 = 0.6;

/// Returns the names with the best scores that are not in the other parts of the summary.
pub(super) fn index(
    table: &NameTable<'_>,
    scores: &[f32],
    other_parts: &[&str],
    limit: usize,
    tokenizer: &dyn Tokenizer,
    form: PathForm,
) -> String {
    let mut shown = vec![false; table.all.len()];
    for text in other_parts {
        names(text, &mut |kind, name| {
            let index = table.find(kind, name);
            if let Some(shown) = index.and_then(|index| shown.get_mut(index)) {
                *shown = true;
            }
        });
    }
    let mut order: Vec<(f32, usize)> = Vec::new();
    for (index, ((name, score), shown)) in table.all.iter().zip(scores).zip(shown).enumerate() {
        if name.alias_of.is_none() && !shown {
            #[expect(clippy::cast_precision_loss, reason = "names are short")]
            let length = name.shown.len() as f32 + 2.0;
            order.push((score / length.powf(PRICE), index));
        }
    }
    order.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    // Guess the number of bytes, and correct the guess by the real cost.
    let mut bytes = limit * 4;
    for _ in 0..4 {
        let text = listed(table, &order, bytes, form);
        let cost = tokenizer.count(&text);
        if cost <= limit {
            return text;
        }
        bytes = bytes * limit / cost.max(1) * 97 / 100;
    }
    String::new()
}

/// Number of identifiers that are listed with a file, and of those that belong to none. A reader looks
/// for the few that are in play; a longer list is not read.
const FILE_NAMES: usize = 10;
const OTHER_NAMES: usize = 30;
/// Number of names in a line.
const LINE_NAMES: usize = 6;

/// Returns the first names in `order` that fit into a number of bytes, as a map of files.
fn listed(table: &NameTable<'_>, order: &[(f32, usize)], bytes: usize, form: PathForm) -> String {
    let mut map = FileMap {
        table,
        form,
        used: 0,
        files: IndexMap::default(),
        others: Vec::new(),
    };
    for (_, index) in order {
        if map.used + 10 > bytes {
            break;
        }
        map.add(*index, bytes);
    }
    map.render()
}

/// Files with the identifiers that belong to them, in the order in which they were first named.
struct FileMap<'t, 'e> {
    table: &'t NameTable<'e>,
    form: PathForm,
    used: usize,
    files: IndexMap<usize, Vec<&'t str>, FxBuildHasher>,
    others: Vec<&'t str>,
}

impl<'t> FileMap<'t, '_> {
    fn shown(&self, index: usize) -> &'t str {
        self.table
            .all
            .get(index)
            .map_or("", |name| match self.form {
                PathForm::Short if name.kind != NameKind::Quantity => name.key,
                _ => name.shown,
            })
    }

    /// Adds a name, and the file that it belongs to, if they fit.
    fn add(&mut self, index: usize, bytes: usize) {
        let Some(name) = self.table.all.get(index) else {
            return;
        };
        let shown = self.shown(index);
        let is_file = name.kind == NameKind::Path;
        let file = if is_file {
            Some(index)
        } else {
            self.table.owner_index(name)
        };
        let known = file.and_then(|file| self.files.get(&file));
        let is_full = match (file, known) {
            (Some(_), Some(names)) => is_file || names.len() >= FILE_NAMES,
            (Some(_), None) => false,
            (None, _) => self.others.len() >= OTHER_NAMES,
        };
        let mut cost = shown.len() + 2;
        if let Some(file) = file.filter(|_| !is_file && known.is_none()) {
            cost += self.shown(file).len() + 4;
        }
        if is_full || self.used + cost > bytes {
            return;
        }
        self.used += cost;
        match file {
            Some(file) => {
                let names = self.files.entry(file).or_default();
                names.extend((!is_file).then_some(shown));
            }
            None => self.others.push(shown),
        }
    }

    fn render(&self) -> String {
        let mut text = String::new();
        let mut bare: Vec<Cow<'_, str>> = Vec::new();
        for (file, names) in &self.files {
            if names.is_empty() {
                bare.push(name_on_line(self.shown(*file)));
            } else {
                let file = name_on_line(self.shown(*file));
                text.push_str(&format!("- {file}: {}\n", names.join(", ")));
            }
        }
        for line in bare.chunks(LINE_NAMES) {
            text.push_str(&format!("- {}\n", line.join(", ")));
        }
        for line in self.others.chunks(LINE_NAMES) {
            text.push_str(&format!("- {}\n", line.join(", ")));
        }
        text
    }
}
