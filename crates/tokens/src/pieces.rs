//! Splitting text into the pieces that are encoded one by one.
//!
//! Does what the pattern of `o200k_base` does, by hand: compiling that pattern takes longer than
//! counting a whole context. With `P` for `[^\r\n\p{L}\p{N}]`, `U` for
//! `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]` and `W` for `[\p{Ll}\p{Lm}\p{Lo}\p{M}]` it reads
//!
//! ```text
//!   P? U* W+ (?i:'s|'t|'re|'ve|'m|'ll|'d)?
//! | P? U+ W* (?i:'s|'t|'re|'ve|'m|'ll|'d)?
//! | \p{N}{1,3}
//! | \x20? [^\s\p{L}\p{N}]+ [\r\n/]*
//! | \s* [\r\n]+
//! | \s+ (?!\S)
//! | \s+
//! ```

/// Class of each character, in pages of 256; see `build.rs`.
static CLASSES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/classes.bin"));

/// Number of pages that cover Unicode.
const PAGES: usize = 0x1100;

/// The classes that the pattern tells apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Other,
    Space,
    Number,
    Mark,
    Caseless,
    Upper,
    Lower,
}

impl Class {
    fn of(c: char) -> Self {
        let code = c as usize;
        let page = CLASSES.get(code / 256).copied().unwrap_or_default();
        let place = PAGES + usize::from(page) * 256 + code % 256;
        match CLASSES.get(place) {
            Some(1) => Self::Space,
            Some(2) => Self::Number,
            Some(3) => Self::Mark,
            Some(4) => Self::Caseless,
            Some(5) => Self::Upper,
            Some(6) => Self::Lower,
            _ => Self::Other,
        }
    }

    /// `U` of the pattern.
    fn begins_word(self) -> bool {
        matches!(self, Self::Upper | Self::Caseless | Self::Mark)
    }

    /// `W` of the pattern.
    fn ends_word(self) -> bool {
        matches!(self, Self::Lower | Self::Caseless | Self::Mark)
    }

    /// `[^\s\p{L}\p{N}]`.
    fn is_punctuation(self) -> bool {
        matches!(self, Self::Other | Self::Mark)
    }
}

/// Iterates over the pieces of a text.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        // Every rule matches something; a step of no length would never end.
        let length = piece_length(rest, first).max(first.len_utf8());
        let (piece, after) = rest.split_at_checked(length)?;
        rest = after;
        Some(piece)
    })
}

/// Returns the length of the first piece of a text that begins with a character.
fn piece_length(text: &str, first: char) -> usize {
    let class = Class::of(first);
    let may_precede = match class {
        Class::Space => !is_newline(first),
        _ => class.is_punctuation(),
    };
    let prefixes = [may_precede.then(|| first.len_utf8()), Some(0)];
    let word = |rule: fn(&str) -> usize| {
        prefixes.into_iter().flatten().find_map(|prefix| {
            let length = rule(text.get(prefix..)?);
            (length > 0).then(|| prefix + length)
        })
    };
    if let Some(length) = word(lower_word).or_else(|| word(upper_word)) {
        return length + contraction(text.get(length..).unwrap_or_default());
    }
    if class == Class::Number {
        let numbers = text.chars().take(3).take_while(|c| Class::of(*c) == class);
        return numbers.map(char::len_utf8).sum();
    }
    let blank = usize::from(first == ' ');
    let marks = run(text.get(blank..).unwrap_or_default(), Class::is_punctuation);
    if marks > 0 {
        let tail = text.get(blank + marks..).unwrap_or_default();
        let kept = tail.trim_start_matches(['\r', '\n', '/']);
        return blank + marks + tail.len() - kept.len();
    }
    space(text)
}

/// `U* W+`, zero if it does not match.
fn lower_word(text: &str) -> usize {
    let upper = run(text, Class::begins_word);
    let lower = run(text.get(upper..).unwrap_or_default(), Class::ends_word);
    if lower > 0 {
        return upper + lower;
    }
    // `U*` gives characters back until one of them can be `W`. What it gave back before are capital
    // letters, so `W+` is that one character.
    let given = text.get(..upper).unwrap_or_default();
    let ends_word = |c: char| Class::of(c).ends_word();
    let last = given.char_indices().rfind(|(_, c)| ends_word(*c));
    last.map_or(0, |(place, c)| place + c.len_utf8())
}

/// `U+ W*`, zero if it does not match. `U* W+` did not, so nothing follows for `W*`.
fn upper_word(text: &str) -> usize {
    run(text, Class::begins_word)
}

/// The length of an English contraction at the beginning of a text. `ſ` is an `s` by case folding.
fn contraction(text: &str) -> usize {
    let Some(rest) = text.strip_prefix('\'') else {
        return 0;
    };
    let mut chars = rest.chars();
    let (one, two) = (chars.next(), chars.next());
    let lower = |c: Option<char>| c.unwrap_or_default().to_ascii_lowercase();
    match (lower(one), lower(two)) {
        ('s' | 't' | 'm' | 'd', _) => 2,
        ('ſ', _) | ('r' | 'v', 'e') | ('l', 'l') => 3,
        _ => 0,
    }
}

/// `\s*[\r\n]+|\s+(?!\S)|\s+`.
fn space(text: &str) -> usize {
    let length = run(text, |class| class == Class::Space);
    let spaces = text.get(..length).unwrap_or_default();
    if let Some(newline) = spaces.rfind(is_newline) {
        return newline + 1;
    }
    // The last space goes with the word after it.
    let last = spaces.chars().next_back().map_or(0, char::len_utf8);
    if length == text.len() || length == last {
        length
    } else {
        length - last
    }
}

/// The length of what is of a kind at the beginning of a text.
fn run(text: &str, kind: impl Fn(Class) -> bool) -> usize {
    text.find(|c| !kind(Class::of(c))).unwrap_or(text.len())
}

fn is_newline(c: char) -> bool {
    matches!(c, '\r' | '\n')
}

#[cfg(test)]
mod tests {
    use super::pieces;

    /// After a word in ASCII the `tiktoken` crate misses that `ſ` folds to `s`; the pattern does not.
    #[test]
    fn contractions_fold_case() {
        let text = "it'ſ IT'S we'Re they'lL x'y";
        let found: Vec<&str> = pieces(text).collect();
        let words = ["it'ſ", " IT'S", " we'Re", " they'lL", " x", "'y"];
        assert_eq!(found, words);
    }
}
