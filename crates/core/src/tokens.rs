//! Counting text the way models do, and cutting it to a number of tokens.
//!
//! A tokenizer with tables is not made here: loading one takes tens of milliseconds, which is
//! the business of whoever starts the process.

use unicode_segmentation::GraphemeCursor;

/// Something that counts tokens.
///
/// # Counting in parts
///
/// A context is counted part by part, so that nothing is counted twice. Tokenizers do not add up
/// over concatenation in general, but the parts here are whole lines of XML: each ends in `>` and
/// a line break and none begins with a line break or a slash. Tokenizers that first split text by
/// a pattern, as all published ones do, always split at such a seam, so their counts add up exactly.
/// Others name a reserve for each seam, and whoever assembles counts the whole again at the end.
pub trait Tokenizer {
    /// What it is called in settings and tables.
    fn name(&self) -> &'static str;

    /// How many tokens a text has.
    fn count(&self, text: &str) -> usize;

    /// How the tokens of two parts relate to those of the whole, where the first part ends in `>`
    /// and a line break.
    fn seam(&self) -> Seam {
        Seam::AtMost(1)
    }
}

/// How the tokens of two parts relate to those of the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seam {
    /// Their sum is the number of tokens of the whole. To be claimed only with a test that holds
    /// it against arbitrary text.
    Exact,
    /// Their sum is hardly ever exceeded by more than this.
    AtMost(usize),
}

impl Seam {
    /// How many tokens to set aside for it.
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

/// About four characters a token: for where no tokenizer is to be had.
///
/// It is 8% above the truth on prose and 49% below it on JSON, so what it keeps is an estimate.
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

/// A tokenizer for models that make more tokens of a text than the tokenizer at hand.
#[derive(Clone, Copy, Debug)]
pub struct Scaled<T> {
    inner: T,
    per_mille: u32,
}

impl<T: Tokenizer> Scaled<T> {
    /// Counts `per_mille` thousandths of what `inner` counts, rounded up.
    pub fn new(inner: T, per_mille: u32) -> Self {
        Self { inner, per_mille }
    }
}

impl<T: Tokenizer> Tokenizer for Scaled<T> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn count(&self, text: &str) -> usize {
        let scaled = self.inner.count(text) as u128 * u128::from(self.per_mille);
        usize::try_from(scaled.div_ceil(1000)).unwrap_or(usize::MAX)
    }

    fn seam(&self) -> Seam {
        let scaled = self.inner.seam().reserve() as u128 * u128::from(self.per_mille);
        Seam::AtMost(usize::try_from(scaled.div_ceil(1000)).unwrap_or(usize::MAX))
    }
}

/// Ordinary text has four or five bytes to a token; a text this long is over its limit for sure
/// enough that counting all of it would be a waste.
const BYTES_A_TOKEN: usize = 8;
/// Even text of nothing but blanks is cut at this many bytes to a token.
const WIDEST: usize = 64;

/// Whether a text is so long that it need not be counted to know that it is over a limit.
pub fn surely_over(bytes: usize, limit: usize) -> bool {
    bytes > limit.saturating_mul(BYTES_A_TOKEN)
}

/// The longest beginning of a text that costs at most `limit`: the whole text if that fits, else
/// cut after a word, or where the script has no blanks, after a whole character as people see it.
///
/// `cost` says what a beginning of the text costs once it is written down, escapes included. It
/// need not grow evenly, nor even always grow. A handful of calls are made, none of them with
/// more than a few times as much text as fits.
pub fn prefix<'a>(text: &'a str, limit: usize, cost: &dyn Fn(&str) -> usize) -> &'a str {
    let mut span = limit.saturating_mul(BYTES_A_TOKEN);
    let (mut head, mut tokens) = loop {
        let head = up_to(text, span);
        let tokens = cost(head);
        if tokens > limit {
            break (head, tokens);
        }
        if head.len() == text.len() {
            return text;
        }
        if span >= limit.saturating_mul(WIDEST) {
            let cut = at_word(text, head.len());
            return if cost(cut) <= limit { cut } else { "" };
        }
        span = span.saturating_mul(2);
    };
    let mut best = "";
    for _ in 0..6 {
        // Guess by proportion. What did not fit gets shorter with every guess.
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
    // Dense text at the end of a long head makes the guess too small; look once for more.
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

/// The last resort for costs that follow no proportion.
fn halved<'a>(mut head: &'a str, limit: usize, cost: &dyn Fn(&str) -> usize) -> &'a str {
    while !head.is_empty() {
        head = at_word(head, head.len() / 2);
        if cost(head) <= limit {
            return head;
        }
    }
    ""
}

/// The beginning of a text, at most `size` bytes, that ends behind a word if there is one in the
/// second half, else behind a whole grapheme, without blanks at its end.
fn at_word(text: &str, size: usize) -> &str {
    let head = up_to(text, size);
    if head.len() == text.len() {
        return head.trim_end();
    }
    let next_is_blank = text
        .get(head.len()..)
        .is_some_and(|rest| rest.starts_with(char::is_whitespace));
    if next_is_blank {
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
    // A cluster that fills half the text is no character that anyone sees: cut it.
    if end * 2 >= head.len() {
        up_to(text, end)
    } else {
        head
    }
}

/// The beginning of a text, at most `size` bytes, that ends between two code points.
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
        assert_eq!(Scaled::new(Estimate, 1_530).count("abcdefgh"), 4);
    }

    #[test]
    fn text_is_cut_behind_a_word() {
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
        fn uneven_costs_are_kept_too(text in "[a ]{0,200}", limit in 0usize..40) {
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
