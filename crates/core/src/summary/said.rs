//! What the user said, word for word as far as there is room.

use crate::anchor::moment::{Moment, Source};
use crate::tokens::{Tokenizer, prefix};

/// So many of the newest prompts are kept beside the first.
const NEWEST: usize = 12;

/// The first prompt and the newest ones. Short ones are whole; long ones share what is left.
pub(super) fn said(moments: &[Moment<'_>], limit: usize, tokenizer: &dyn Tokenizer) -> String {
    let prompts: Vec<&Moment<'_>> = moments
        .iter()
        .filter(|moment| moment.source == Source::Prompt && !moment.text.trim().is_empty())
        .collect();
    let skip = prompts.len().saturating_sub(NEWEST);
    let kept: Vec<(String, usize)> = prompts
        .iter()
        .enumerate()
        .filter(|(nth, _)| *nth == 0 || *nth >= skip)
        .map(|(_, moment)| {
            let text = format!("#{} {}\n", moment.entry + 1, moment.text.trim());
            let surely = text.len() > limit * 16;
            let cost = if surely {
                usize::MAX / 64
            } else {
                tokenizer.count(&text)
            };
            (text, cost)
        })
        .collect();
    let level = level(kept.iter().map(|(_, cost)| *cost).collect(), limit);
    let mut whole = String::new();
    for (text, cost) in &kept {
        if *cost <= level {
            whole.push_str(text);
        } else if level > 8 {
            whole.push_str(&ends(text, level - 3, tokenizer));
        }
    }
    whole
}

/// The beginning and the end of a text.
fn ends(text: &str, limit: usize, tokenizer: &dyn Tokenizer) -> String {
    let count = |text: &str| tokenizer.count(text);
    let head = prefix(text, limit * 7 / 10, &count);
    let left = limit.saturating_sub(tokenizer.count(head));
    let mut from = text.ceil_char_boundary(text.len().saturating_sub(left * 4));
    let mut tail = text.get(from..).unwrap_or_default();
    while tokenizer.count(tail) > left {
        from = text.ceil_char_boundary(from + (text.len() - from) / 4 + 1);
        tail = text.get(from..).unwrap_or_default();
    }
    format!("{head} … {}\n", tail.trim())
}

/// The most that each may have so that all fit: what the short ones leave goes to the long ones.
fn level(mut costs: Vec<usize>, limit: usize) -> usize {
    costs.sort_unstable();
    let mut left = limit;
    let many = costs.len();
    for (nth, cost) in costs.iter().enumerate() {
        let each = left / (many - nth).max(1);
        if *cost > each {
            return each;
        }
        left -= cost;
    }
    limit
}
