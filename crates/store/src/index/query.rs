//! The words of a search, checked and bounded.

use super::passage::fold;

/// Maximum length of a query, in characters.
pub const QUERY_LIMIT: usize = 1_000;
/// Maximum number of different words in a query.
pub const WORDS_LIMIT: usize = 32;
/// Maximum length of a word, in characters. Chunks overlap by more than this.
pub const WORD_LIMIT: usize = 200;
/// Maximum number of groups of three characters that the index is asked for. Every text found is
/// compared with the whole words anyway.
const GRAMS_LIMIT: usize = 32;

/// The reason why a query is not searched for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadQuery {
    /// It has no word.
    #[error("the query has no word to look for")]
    Empty,
    /// It is too long.
    #[error("the query has {0} characters; {QUERY_LIMIT} are allowed")]
    TooLong(usize),
    /// It has too many words.
    #[error("the query has {0} different words; {WORDS_LIMIT} are allowed")]
    TooManyWords(usize),
    /// One of its words is too long.
    #[error("the query has a word of {0} characters; {WORD_LIMIT} are allowed")]
    WordTooLong(usize),
}

/// The words of a search, in lower case and each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchQuery {
    words: Vec<String>,
}

impl SearchQuery {
    /// Splits a query at blanks and control characters and checks its size.
    pub fn new(text: &str) -> Result<Self, BadQuery> {
        let length = text.chars().count();
        if length > QUERY_LIMIT {
            return Err(BadQuery::TooLong(length));
        }
        let mut words: Vec<String> = Vec::new();
        for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
            let word = fold(word);
            if !word.is_empty() && !words.contains(&word) {
                words.push(word);
            }
        }
        if let Some(length) = words.iter().map(|word| word.chars().count()).max()
            && length > WORD_LIMIT
        {
            return Err(BadQuery::WordTooLong(length));
        }
        match words.len() {
            0 => Err(BadQuery::Empty),
            words if words > WORDS_LIMIT => Err(BadQuery::TooManyWords(words)),
            _ => Ok(Self { words }),
        }
    }

    /// The words.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Returns an FTS5 query for texts that may contain all words, or `None` if every word is too
    /// short for the index.
    pub(super) fn all_grams(&self) -> Option<String> {
        let long = self.words.iter().filter(|word| is_long(word)).count();
        let share = GRAMS_LIMIT / long.max(1);
        let of_words: Vec<String> = self
            .words
            .iter()
            .filter_map(|word| grams(word, share))
            .collect();
        (!of_words.is_empty()).then(|| of_words.join(" AND "))
    }
}

/// Returns an FTS5 query for texts that may contain a word, or `None` if the word is too short for
/// the index.
pub(super) fn word_grams(word: &str) -> Option<String> {
    grams(word, GRAMS_LIMIT)
}

fn is_long(word: &str) -> bool {
    word.chars().nth(2).is_some()
}

/// Returns up to `limit` groups of three characters of a word, evenly spread.
fn grams(word: &str, limit: usize) -> Option<String> {
    let chars: Vec<char> = word.chars().collect();
    let windows = chars.windows(3);
    let step = windows.len().div_ceil(limit.max(1)).max(1);
    let last = windows.len().checked_sub(1)?;
    let mut quoted: Vec<String> = Vec::new();
    for (place, gram) in windows.enumerate() {
        if place % step == 0 || place == last {
            let gram: String = gram.iter().collect();
            // Quoted, FTS5 takes every character literally.
            let gram = format!("\"{}\"", gram.replace('"', "\"\""));
            if !quoted.contains(&gram) {
                quoted.push(gram);
            }
        }
    }
    Some(quoted.join(" AND "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_at_blanks_and_control_characters() {
        let query = SearchQuery::new(" Login\0login\u{1b}ÉTÉ\tx ").unwrap();
        assert_eq!(query.words(), ["login", "été", "x"]);
        assert_eq!(
            query.all_grams().as_deref(),
            Some("\"log\" AND \"ogi\" AND \"gin\" AND \"été\"")
        );
        assert_eq!(SearchQuery::new("a \"b").unwrap().all_grams(), None);
        assert_eq!(
            SearchQuery::new("\"--\"").unwrap().all_grams().as_deref(),
            Some("\"\"\"--\" AND \"--\"\"\"")
        );
    }

    #[test]
    fn a_query_is_bounded() {
        let long = "x".repeat(WORD_LIMIT + 1);
        let words: Vec<String> = (0..=WORDS_LIMIT).map(|n| format!("w{n}")).collect();
        assert_eq!(SearchQuery::new("\0 \n"), Err(BadQuery::Empty));
        assert_eq!(
            SearchQuery::new(&"y ".repeat(QUERY_LIMIT)),
            Err(BadQuery::TooLong(2_000))
        );
        assert_eq!(
            SearchQuery::new(&words.join(" ")),
            Err(BadQuery::TooManyWords(33))
        );
        assert_eq!(SearchQuery::new(&long), Err(BadQuery::WordTooLong(201)));
        let most = SearchQuery::new(
            &(0..WORDS_LIMIT)
                .map(|n| format!("word{n}"))
                .collect::<Vec<_>>()
                .join(" "),
        );
        let grams = most.unwrap().all_grams().unwrap();
        assert!(grams.matches(" AND ").count() < 2 * GRAMS_LIMIT, "{grams}");
    }
}
