//! The index of names: files with the identifiers that belong to them, then the other names.

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

/// Returns the first names in `order` that fit into a number of bytes, grouped by file.
fn listed(table: &NameTable<'_>, order: &[(f32, usize)], bytes: usize, form: PathForm) -> String {
    let shown = |index: usize| {
        table.all.get(index).map_or("", |name| match form {
            PathForm::Short if name.kind != NameKind::Quantity => name.key,
            _ => name.shown,
        })
    };
    let mut files: Vec<(usize, Vec<&str>)> = Vec::new();
    let mut identifiers = Vec::new();
    let mut used = 0;
    for (_, index) in order {
        let cost = shown(*index).len() + 2;
        if used + cost > bytes {
            if used + 10 > bytes {
                break;
            }
            continue;
        }
        used += cost;
        match table.all.get(*index) {
            Some(name) if name.kind == NameKind::Path => files.push((*index, Vec::new())),
            Some(name) => identifiers.push((shown(*index), table.owner_index(name))),
            None => {}
        }
    }
    let mut others = Vec::new();
    for (identifier, owner) in identifiers {
        match files.iter_mut().find(|(file, _)| Some(*file) == owner) {
            Some((_, inside)) => inside.push(identifier),
            None => others.push(identifier),
        }
    }
    let mut text = String::new();
    for (file, inside) in &files {
        text.push_str(shown(*file));
        if !inside.is_empty() {
            text.push_str(": ");
            text.push_str(&inside.join(", "));
        }
        text.push('\n');
    }
    if !others.is_empty() {
        text.push_str(&others.join(", "));
        text.push('\n');
    }
    text
}
