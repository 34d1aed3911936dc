//! The index of names: files with what is in them, then the rest.

use crate::anchor::known::Names;
use crate::anchor::name::NameKind;
use crate::anchor::scan;
use crate::tokens::Tokenizer;

/// How paths are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// From the project's root.
    Whole,
    /// The file and its folder.
    Short,
}

/// How far a name's length counts against it: 0 would be not at all, 1 in full. In full, short names
/// would crowd out the likely ones.
const PRICE: f32 = 0.6;

/// The names most likely needed that stand nowhere else in the summary.
pub(super) fn index(
    names: &Names<'_>,
    worths: &[f32],
    elsewhere: &[&str],
    limit: usize,
    tokenizer: &dyn Tokenizer,
    form: Form,
) -> String {
    let mut there = vec![false; names.all.len()];
    for text in elsewhere {
        scan::names(text, &mut |kind, name| {
            if let Some(number) = names.find(kind, name)
                && let Some(there) = there.get_mut(number as usize)
            {
                *there = true;
            }
        });
    }
    let mut order: Vec<(f32, usize)> = names
        .all
        .iter()
        .enumerate()
        .filter(|(number, known)| known.same_as.is_none() && there.get(*number) == Some(&false))
        .map(|(number, known)| {
            let worth = worths.get(number).copied().unwrap_or(0.0);
            #[expect(clippy::cast_precision_loss, reason = "names are short")]
            let length = known.shown.len() as f32 + 2.0;
            (worth / length.powf(PRICE), number)
        })
        .collect();
    order.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    let mut room = limit * 4;
    let mut text = String::new();
    for _ in 0..4 {
        text = listed(names, &order, room, form);
        let cost = tokenizer.count(&text);
        if cost <= limit {
            return text;
        }
        room = room * limit / cost.max(1) * 97 / 100;
    }
    text.clear();
    text
}

/// The first names in `order` that fit into so many bytes, grouped by file.
fn listed(names: &Names<'_>, order: &[(f32, usize)], room: usize, form: Form) -> String {
    let shown = |number: usize| {
        names.all.get(number).map_or("", |known| match form {
            Form::Whole => known.shown,
            Form::Short if known.kind == NameKind::Quantity => known.shown,
            Form::Short => known.key,
        })
    };
    // Files with what is in them, in the order in which they were chosen.
    let mut files: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut rest: Vec<usize> = Vec::new();
    let mut used = 0;
    for (_, number) in order {
        let cost = shown(*number).len() + 2;
        if used + cost > room {
            if used + 10 > room {
                break;
            }
            continue;
        }
        used += cost;
        if names
            .all
            .get(*number)
            .is_some_and(|known| known.kind == NameKind::Path)
        {
            files.push((*number, Vec::new()));
        } else {
            rest.push(*number);
        }
    }
    let mut left = Vec::new();
    for number in rest {
        let home = names.all.get(number).and_then(|known| known.home);
        let home = home.map(|home| {
            let same = names.all.get(home as usize).and_then(|known| known.same_as);
            same.unwrap_or(home) as usize
        });
        match files.iter_mut().find(|(file, _)| Some(*file) == home) {
            Some((_, inside)) => inside.push(number),
            None => left.push(number),
        }
    }
    let joined = |numbers: &[usize]| {
        numbers
            .iter()
            .map(|number| shown(*number))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let mut text = String::new();
    for (file, inside) in &files {
        text.push_str(shown(*file));
        if !inside.is_empty() {
            text.push_str(": ");
            text.push_str(&joined(inside));
        }
        text.push('\n');
    }
    if !left.is_empty() {
        text.push_str(&joined(&left));
        text.push('\n');
    }
    text
}
