//! Folded stacks: a line for each stack of titles, with the amount of its own work.

use std::collections::BTreeMap;

use flamestack_engine::views::work::Work;

use super::{Picture, label_of};

pub(super) fn write(picture: &Picture, work: &Work) -> String {
    let mut stacks: BTreeMap<String, u64> = BTreeMap::new();
    work.each_stack(&picture.scope, picture.measure, &mut |path, own| {
        let labels: Vec<String> = path.iter().map(|place| plain(&label_of(place))).collect();
        let stack = if labels.is_empty() {
            "outside of frames".to_owned()
        } else {
            labels.join(";")
        };
        *stacks.entry(stack).or_default() += own;
    });
    let lines = stacks.iter().map(|(stack, own)| format!("{stack} {own}\n"));
    lines.collect()
}

/// Returns a title without the characters that separate stacks.
fn plain(label: &str) -> String {
    label.replace(';', ",").replace(['\n', '\r'], " ")
}
