//! Counting text the way models do, and cutting it to a number of tokens.
//!
//! The tokenizer with the tables of real models is in `flamestack-tokens`.

use unicode_segmentation::GraphemeCursor;

/// A counter of tokens.
///
/// # Counting in parts
///
/// A context is counted part by part, so that nothing is counted twice. Tokenizers do not add up
/// over concatenation in general, but the parts here are whole lines of XML: each ends in `>` and
/// a line break and none begins with a line break or a slash. Tokenizers that first split text by
/// a pattern, as all published ones do, always split at such a seam, so their counts add up exactly.
/// Others have a reserve for each seam, and the whole is counted again at the end.
pub trait Tokenizer {
    /// Returns its name in settings and tables.
    fn name(&self) -> &'static str;

    /// Returns the number of tokens of a text.
    fn count(&self, text: &str) -> usize;

    /// Returns how the tokens of two parts relate to those of the whole, if the first part ends in
    /// `>` and a line break.
    fn seam(&self) -> Seam {
        Seam::AtMost(1)
    }
}

/// The relation of the tokens of two parts to those of the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seam {
    /// Their sum is the number of tokens of the whole. Only for tokenizers with a test of it on
    /// arbitrary text.
    Exact,
    /// The whole hardly ever has more tokens than their sum and this number.
    AtMost(usize),
}

impl Seam {
    /// Returns the number of tokens to reserve for it.
    pub fn reserve(self) -> usize {
        match self {
            Self::Exact => 0,
            Self::AtMost(tokens) => tokens,
        }
    }
}

impl<T: Tokenizer + ?Sized> Tokenizer for &T {
    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn count(&self, text: &str) -> usize {
        (**self).count(text)
    }

    fn seam(&self) -> Seam {
        (**self).seam()
    }
}

/// An estimate of about four characters per token, for use without a tokenizer.
///
/// It is 8% above the real count on prose and 49% below it on JSON.
#[derive(Clone, Copy, Debug, Default)]
pub struct Estimate;

impl Tokenizer for Estimate {
    fn name(&self) -> &'static str {
        "estimate"
    }

    fn count(&self, text: &str) -> usize {
        // Ideographs, kana and hangul are about a token each; four of them in one would make a
        // Japanese context four times as long as it may be.
        let (narrow, wide) = text.chars().fold((0, 0), |(narrow, wide), c| match c {
            '\u{2e80}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}' | '\u{10000}'.. => (narrow, wide + 1),
            _ => (narrow + 1, wide),
        });
        wide + usize::div_ceil(narrow, 4)
    }

    fn seam(&self) -> Seam {
        // Rounding up makes the parts more than the whole, never less.
        Seam::AtMost(0)
    }
}

/// Length of a text that is assumed to exceed its limit, in bytes per token. Ordinary text has four or
/// five, so counting all of a longer one would be a waste.
const BYTES_PER_TOKEN: usize = 8;
/// Length at which even text of nothing but spaces is cut, in bytes per token.
const MAX_BYTES_PER_TOKEN: usize = 64;

/// Returns true if a text is so long that it exceeds a limit without being counted.
pub fn certainly_exceeds(bytes: usize, limit: usize) -> bool {
    bytes > limit.saturating_mul(BYTES_PER_TOKEN)
}

/// Returns the longest beginning of a text that costs at most `limit`: the whole text if it fits,
/// otherwise cut after a word, or in a script without spaces after a grapheme.
///
/// `cost` returns the cost of a beginning of the text in its final form, escapes included. It need
/// not be proportional to the length, or even increase with it. It is called a handful of times,
/// never with more than a few times as much text as fits.
pub fn prefix<'a>(text: &'a str, limit: usize, cost: &dyn Fn(&str) -> usize) -> &'a str {
    let mut span = limit.saturating_mul(BYTES_PER_TOKEN);
    let (mut head, mut tokens) = loop {
        let head = up_to(text, span);
        let tokens = cost(head);
        if tokens > limit {
            break (head, tokens);
        }
        if head.len() == text.len() {
            return text;
        }
        if span >= limit.saturating_mul(MAX_BYTES_PER_TOKEN) {
            let cut = at_word(text, head.len());
            return if cost(cut) <= limit { cut } else { "" };
        }
        span = span.saturating_mul(2);
    };
    let mut best = "";
    for _ in 0..6 {
        // Guess by proportion. The guesses get shorter until one fits.
        let size = head.len() * limit / tokens.max(1);
        let cut = at_word(text, size.min(head.len().saturating_sub(1)));
        if cut.len() <= best.len() {
            break;
        }
        let cut_tokens = cost(cut);
        if cut_tokens <= limit {
            best = cut;
            break;
        }
        (head, tokens) = (cut, cut_tokens);
    }
    if best.is_empty() {
        return halved(head, limit, cost);
    }
    // Dense text at the end of a long head makes the guess too small; try once to take more.
    let best_tokens = cost(best);
    if best_tokens * 10 < limit * 9 {
        let size = best.len() * limit / best_tokens.max(1);
        let cut = at_word(text, size.min(head.len().saturating_sub(1)));
        if cut.len() > best.len() && cost(cut) <= limit {
            return cut;
        }
    }
    best
}

/// Halves a text until it fits: the last resort for costs without any proportion.
fn halved<'a>(mut head: &'a str, limit: usize, cost: &dyn Fn(&str) -> usize) -> &'a str {
    while !head.is_empty() {
        head = at_word(head, head.len() / 2);
        if cost(head) <= limit {
            return head;
        }
    }
    ""
}

/// Returns the beginning of a text, at most `size` bytes, that ends after a word if one ends in the
/// second half, otherwise after a grapheme, without trailing whitespace.
fn at_word(text: &str, size: usize) -> &str {
    let head = up_to(text, size);
    if head.len() == text.len() {
        return head.trim_end();
    }
    let next_is_space = text
        .get(head.len()..)
        .is_some_and(|rest| rest.starts_with(char::is_whitespace));
    if next_is_space {
        return head.trim_end();
    }
    if let Some((words, _)) = head.rsplit_once(char::is_whitespace)
        && words.len() * 2 >= head.len()
    {
        return words.trim_end();
    }
    let mut cursor = GraphemeCursor::new(head.len(), text.len(), true);
    let whole = cursor.is_boundary(text, 0).unwrap_or(true);
    if whole {
        return head;
    }
    let end = cursor.prev_boundary(text, 0).ok().flatten().unwrap_or(0);
    // A cluster that fills half the text is not a visible character: cut it.
    if end * 2 >= head.len() {
        up_to(text, end)
    } else {
        head
    }
}

/// Returns the beginning of a text, at most `size` bytes, that ends between two code points.
fn up_to(text: &str, size: usize) -> &str {
    text.get(..text.floor_char_boundary(size)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn four_characters_are_a_token_and_so_is_an_ideograph() {
        assert_eq!(Estimate.count(""), 0);
        assert_eq!(Estimate.count("abcde"), 2);
        assert_eq!(Estimate.count("日本語"), 3);
    }

    #[test]
    fn text_is_cut_after_a_word() {
        let cost = |text: &str| Estimate.count(text);
        assert_eq!(prefix("one two three", 4, &cost), "one two three");
        assert_eq!(prefix("one two three four", 4, &cost), "one two three");
        assert_eq!(prefix("one two three four", 0, &cost), "");
        assert_eq!(prefix("onetwothreefour", 2, &cost), "onetwot");
        assert_eq!(prefix("これは長い文章です", 3, &cost), "これは");
        // A family of four is one character of seven code points.
        assert_eq!(
            prefix("abcdefghijklmnopqrst👨‍👩‍👧‍👦", 7, &cost),
            "abcdefghijklmnopqrst"
        );
    }

    proptest! {
        #[test]
        fn a_prefix_fits_and_is_one(text in any::<String>(), limit in 0usize..40) {
            let cost = |text: &str| Estimate.count(text);
            let cut = prefix(&text, limit, &cost);
            prop_assert!(text.starts_with(cut));
            prop_assert!(cost(cut) <= limit);
            prop_assert!(cost(&text) > limit || cut == text);
        }

        #[test]
        fn uneven_costs_are_within_the_limit(text in "[a ]{0,200}", limit in 0usize..40) {
            // Costs that jump: a beginning may cost more than a longer one.
            let cost = |text: &str| text.len() + if text.len().is_multiple_of(3) { 5 } else { 0 };
            prop_assert!(cost(prefix(&text, limit, &cost)) <= limit || limit < 5);
        }

        #[test]
        fn words_stay_whole(words in prop::collection::vec("[a-z]{1,9}", 1..60), limit in 6usize..40) {
            let text = words.join(" ");
            let cost = |text: &str| Estimate.count(text);
            let cut = prefix(&text, limit, &cost);
            let rest = &text[cut.len()..];
            prop_assert!(rest.is_empty() || rest.starts_with(' '), "{cut:?} | {rest:?}");
        }
    }
}
