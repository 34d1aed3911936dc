//! The relevance of a frame to the work on another one.
//!
//! Scores are whole numbers, and nothing in them depends on the time: the same tree gives the same
//! order on any machine and on any day.

use std::collections::BTreeMap;
use std::hash::BuildHasher as _;
use std::sync::LazyLock;

use rustc_hash::FxBuildHasher;

use crate::data;
use crate::lex::{Fragment, each_term, fragments, lowercase, terms};
use crate::score::{Features, Model};
use flamestack_core::frame::{Frame, Status};
use flamestack_core::note::Note;

/// Length of a goal's criteria that is compared, in bytes.
const MAX_GOAL: usize = 2_000;
/// Length of a candidate's criteria or of an artifact that is compared, in bytes.
const MAX_CRITERIA: usize = 480;
/// Length of a candidate's results that is compared, in bytes.
const MAX_RESULTS: usize = 800;
/// Number of a candidate's artifacts that are compared, newest first.
const MAX_ARTIFACTS: usize = 64;

/// The terms of a goal.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// Sorted.
    terms: Vec<String>,
    /// For each first letter of a term, the letters that follow it, one bit each. A stem begins like
    /// its word, so most words of a frame need not be stemmed.
    beginnings: [u32; 32],
}

/// The relevance of a frame to a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Relevance {
    /// Number of terms of the query that occur, each once for goal, results and artifacts.
    pub matches: usize,
    /// Number of distinct names (paths, identifiers, versions) that the frame mentions.
    pub names: usize,
    /// The score.
    pub score: i64,
}

impl Query {
    /// Returns the query for the work on a frame: the terms of its title and criteria.
    pub fn of(frame: &Frame) -> Self {
        let mut text = frame.title.as_str().to_owned();
        if let Some(criteria) = &frame.criteria {
            text.push('\n');
            text.push_str(beginning(criteria.as_str(), MAX_GOAL));
        }
        let terms = terms(&text);
        let mut beginnings = [0; 32];
        for term in &terms {
            let mut letters = term.bytes();
            let (first, second) = (letters.next().unwrap_or_default(), letters.next());
            if let Some(following) = beginnings.get_mut(usize::from(first & 31)) {
                *following |= match second {
                    // Stemming makes `die` of `dying`.
                    Some(b'y' | b'i') => bit(b'y') | bit(b'i'),
                    Some(letter) if letter.is_ascii_alphabetic() => bit(letter),
                    _ => u32::MAX,
                };
            }
        }
        Self { terms, beginnings }
    }

    /// Returns the terms, sorted.
    pub fn terms(&self) -> &[String] {
        &self.terms
    }

    /// Compares frames to this query.
    pub fn comparison(&self) -> Comparison<'_> {
        Comparison {
            query: self,
            fields: vec![0; self.terms.len()],
            names: Vec::new(),
            stems: (0..STEMS).map(|_| (0, None)).collect(),
        }
    }

    /// Returns false if no term begins like a word.
    fn may_have(&self, word: &str) -> bool {
        match word.as_bytes() {
            [first, second, ..] if first.is_ascii() => {
                let following = self.beginnings.get(usize::from(first & 31));
                following.is_some_and(|following| following & bit(*second) != 0)
            }
            // One letter of ASCII is not a term.
            _ => !word.is_ascii(),
        }
    }

    fn find(&self, term: &str) -> Option<usize> {
        let order = |known: &String| known.as_str().cmp(term);
        self.terms.binary_search_by(order).ok()
    }
}

/// The fields of a frame, one bit each.
mod field {
    pub(super) const GOAL: u8 = 1;
    pub(super) const RESULTS: u8 = 2;
    pub(super) const ARTIFACTS: u8 = 4;
}

/// A query that is compared to one frame after the other.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    query: &'a Query,
    /// For each term, the fields of the current frame that contain it.
    fields: Vec<u8>,
    /// Hashes of the names that the current frame mentions.
    names: Vec<u64>,
    /// Hashes of words seen before, with their terms: stemming takes longer than everything else
    /// together, and frames of one project use the same words over and over.
    stems: Vec<(u64, Option<usize>)>,
}

/// Number of words whose terms a comparison remembers.
const STEMS: u64 = 2048;

impl Comparison<'_> {
    /// Returns the relevance of a finished frame.
    ///
    /// The names that a frame *holds* count more than the words that it shares, both with
    /// diminishing returns, and recency only breaks ties; `data/relevance.toml` has the figures.
    /// Only text that would be shown counts.
    pub fn with(&mut self, frame: &Frame) -> Relevance {
        let shown = Shown::of(frame);
        self.fields.fill(0);
        self.names.clear();
        self.search(shown.title, field::GOAL);
        self.search(shown.criteria, field::GOAL);
        self.search(shown.results, field::RESULTS);
        for artifact in shown.artifacts {
            self.search(artifact, field::ARTIFACTS);
            self.names.push(FxBuildHasher.hash_one(lowercase(artifact)));
        }
        self.names.sort_unstable();
        self.names.dedup();
        let matches = self.fields.iter().map(|fields| fields.count_ones());
        let (names, matches) = (self.names.len(), matches.sum::<u32>() as usize);
        Relevance {
            matches,
            names,
            score: score(names, matches, frame.status),
        }
    }

    fn search(&mut self, text: &str, field: u8) {
        let query = self.query;
        // Most words end at the filter, so that alone is compiled into the loop over the text.
        fragments(text, &mut |fragment| match fragment {
            Fragment::Compound(name) => self.add_name(name, field),
            Fragment::Word(word) if query.may_have(word) => self.add_word(word, field),
            Fragment::Word(_) => {}
        });
    }

    #[inline(never)]
    fn add_name(&mut self, name: &str, field: u8) {
        let name = lowercase(name);
        self.names.push(FxBuildHasher.hash_one(&name));
        if self.query.may_have(&name) {
            self.mark(self.query.find(&name), field);
        }
    }

    #[inline(never)]
    fn add_word(&mut self, word: &str, field: u8) {
        let query = self.query;
        if !word.is_ascii() {
            // Words of other scripts may have several terms.
            return each_term(word, &mut |term| self.mark(query.find(term), field));
        }
        let hash = FxBuildHasher.hash_one(word);
        let place = usize::try_from(hash % STEMS).unwrap_or_default();
        let Some((known, stem)) = self.stems.get_mut(place) else {
            return;
        };
        if *known != hash {
            (*known, *stem) = (hash, None);
            each_term(word, &mut |term| *stem = query.find(term));
        }
        let stem = *stem;
        self.mark(stem, field);
    }

    fn mark(&mut self, term: Option<usize>, field: u8) {
        if let Some(fields) = term.and_then(|term| self.fields.get_mut(term)) {
            *fields |= field;
        }
    }
}

/// The parts of a frame that would be shown, and therefore count.
struct Shown<'a> {
    title: &'a str,
    /// Empty if there are results: those are shown instead.
    criteria: &'a str,
    results: &'a str,
    artifacts: Vec<&'a str>,
}

impl<'a> Shown<'a> {
    fn of(frame: &'a Frame) -> Self {
        let results = frame.results_compacted.as_ref().or(frame.results.as_ref());
        let criteria = frame
            .criteria_compacted
            .as_ref()
            .or(frame.criteria.as_ref())
            .filter(|_| results.is_none());
        let artifacts = artifacts(frame).rev().take(MAX_ARTIFACTS);
        Self {
            title: frame.title.as_str(),
            criteria: criteria.map_or("", |text| beginning(text.as_str(), MAX_CRITERIA)),
            results: results.map_or("", |text| beginning(text.as_str(), MAX_RESULTS)),
            artifacts: artifacts
                .map(|artifact| beginning(artifact, MAX_CRITERIA))
                .collect(),
        }
    }
}

/// The part of a finished frame that an index keeps to compare it without reading it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameTerms {
    /// Number of distinct names that it mentions.
    pub names: usize,
    /// Its terms, each with the number of fields (goal, results, artifacts) that contain it.
    pub terms: BTreeMap<String, u8>,
}

impl FrameTerms {
    /// Returns the terms of a frame.
    pub fn of(frame: &Frame) -> Self {
        let shown = Shown::of(frame);
        let fields = [
            [shown.title, shown.criteria].join("\n"),
            shown.results.to_owned(),
            shown.artifacts.join("\n"),
        ];
        let mut counts = BTreeMap::new();
        for term in fields.iter().flat_map(|field| terms(field)) {
            *counts.entry(term).or_default() += 1;
        }
        Self {
            names: Query::default().comparison().with(frame).names,
            terms: counts,
        }
    }
}

/// Returns the score of a frame with the given numbers of names and matches.
pub fn score(names: usize, matches: usize, status: Status) -> i64 {
    static MODEL: LazyLock<Model<4>> = LazyLock::new(|| Model::parse(data::RELEVANCE, "relevance"));
    // All weights and values are small whole numbers, so the sum is exact on every machine.
    #[expect(clippy::cast_possible_truncation, reason = "a small whole number")]
    let score = MODEL.sum(&features(names, matches, status)) as i64;
    score
}

/// Returns the features of a frame's relevance.
pub(crate) fn features(names: usize, matches: usize, status: Status) -> Features<4> {
    let is = |outcome: Status| f32::from(u8::from(status == outcome));
    crate::score::features! {
        names: f32::from(doublings(names)),
        matches: f32::from(doublings(matches)),
        completed: is(Status::Completed),
        failed: is(Status::Failed),
    }
}

/// Returns sixteen times the number of doublings from 1 to `n + 1`: a logarithm in whole numbers,
/// which is the same on all machines.
fn doublings(n: usize) -> u16 {
    let n = u32::try_from(n.min(1 << 20)).unwrap_or(0) + 1;
    let whole = n.ilog2();
    let power = 1 << whole;
    let doublings = 16 * whole + 16 * (n - power) / power;
    u16::try_from(doublings).unwrap_or(u16::MAX)
}

/// Returns the score of an ancestor. The parent scores highest, then the grandparent, then the root,
/// which holds the mission. `newer` is the number of ancestors that changed after this one.
pub fn ancestor_score(frame: &Frame, depth: usize, is_root: bool, newer: usize) -> i64 {
    let depth = i64::try_from(depth).unwrap_or(i64::MAX);
    let newer = i64::try_from(newer).unwrap_or(i64::MAX);
    let closeness = match depth {
        0 => 1000,
        1 => 500,
        _ if is_root => 400,
        _ => 100_i64.saturating_sub(depth.saturating_mul(20)).max(0),
    };
    let recency = 50_i64.saturating_sub(newer.saturating_mul(10)).max(0);
    let status = match frame.status {
        Status::InProgress => 30,
        Status::Completed => 10,
        _ => 0,
    };
    let results = i64::from(frame.results.is_some()) * 20;
    let artifacts = i64::from(artifacts(frame).next().is_some()) * 10;
    closeness + recency + status + results + artifacts
}

/// Returns the artifacts of a frame, oldest first.
pub fn artifacts(frame: &Frame) -> impl DoubleEndedIterator<Item = &str> {
    frame.notes.iter().filter_map(|note| match note {
        Note::Artifact(path) => Some(path.as_str()),
        _ => None,
    })
}

/// Returns the bit of a letter of ASCII; other bytes share the bits.
fn bit(letter: u8) -> u32 {
    1 << (letter & 31)
}

fn beginning(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flamestack_core::text::Text;
    use flamestack_testkit::{finished, frame};

    #[test]
    fn doublings_are_a_logarithm() {
        assert_eq!([0, 1, 2, 3, 7, 15].map(doublings), [0, 16, 24, 32, 48, 64]);
        assert!(doublings(usize::MAX) > doublings(1 << 16));
    }

    #[test]
    fn related_work_is_found_through_case_form_and_folder() {
        let mut current = frame("Refresh expired tokens");
        current.criteria = Text::new("refreshToken() renews a session").ok();
        let query = Query::of(&current);
        let related = query
            .comparison()
            .with(&finished("Token refreshing", "Added refresh_token"));
        let unrelated = query
            .comparison()
            .with(&finished("Logo colours", "Made it blue"));
        assert_eq!(unrelated.matches, 0);
        // token and refresh, in the goal and in the results.
        assert_eq!(related.matches, 4);
        assert!(related.score > unrelated.score);
    }

    #[test]
    fn a_word_whose_stem_begins_otherwise_is_found() {
        let query = Query::of(&frame("Die, tie and lie"));
        let found = query.comparison().with(&finished("dying, tying", "lying"));
        assert_eq!(found.matches, 3);
    }

    #[test]
    fn related_work_is_found_in_any_script() {
        let query = Query::of(&frame("ログイン認証を修正する"));
        let related = query
            .comparison()
            .with(&finished("認証の設計", "ログイン画面を作成"));
        let unrelated = query.comparison().with(&finished("色の変更", "青にした"));
        assert!(related.matches >= 3, "{related:?}");
        assert_eq!(unrelated.matches, 0);
        let query = Query::of(&frame("Исправить авторизацию пользователей"));
        assert!(
            query
                .comparison()
                .with(&finished("Авторизация пользователя", "да"))
                .matches
                >= 2
        );
    }

    #[test]
    fn one_match_or_one_name_is_enough_and_neither_is_not() {
        let query = Query::of(&frame("Parser"));
        let score = |title, results| query.comparison().with(&finished(title, results)).score;
        assert!(score("Logo", "done") < 30);
        assert!(score("Logo parser", "done") >= 30);
        assert!(score("Logo", "see assets/logo.svg") >= 30);
    }

    #[test]
    fn the_parent_comes_first_then_the_grandparent_then_the_root() {
        let frame = frame("x");
        let score = |depth, is_root| ancestor_score(&frame, depth, is_root, depth);
        assert!(score(0, false) > score(1, false));
        assert!(score(1, false) > score(9, true));
        assert!(score(9, true) > score(2, false));
        assert!(score(2, false) > score(3, false));
    }
}
