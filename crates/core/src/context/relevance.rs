//! How much a frame is worth to somebody who works on another one.
//!
//! Scores are whole numbers, and nothing in them depends on the time: the same tree gives the
//! same order on any machine and on any day.

use std::collections::BTreeMap;

use crate::context::terms::{Piece, each_term, lower, pieces, terms};
use crate::frame::{Frame, Status};
use crate::note::Note;

/// How much of a goal is looked at.
const GOAL_LOOK: usize = 2_000;
/// How much of a candidate's criteria is looked at, where it has no results.
const CRITERIA_LOOK: usize = 480;
/// How much of a candidate's results is looked at.
const RESULTS_LOOK: usize = 800;
/// How many of a candidate's artifacts are looked at, newest first.
const ARTIFACTS_LOOK: usize = 64;

/// What somebody works on, ready to be compared.
#[derive(Clone, Debug, Default)]
pub struct Interest {
    /// In order.
    terms: Vec<String>,
    /// Their hashes, in order, each with its term.
    hashes: Vec<(u64, u32)>,
    beginnings: Beginnings,
}

/// How a frame compares to an interest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Relevance {
    /// How often a term of the interest was met, once for each of goal, results and artifacts.
    pub matches: usize,
    /// How many distinct names of things (paths, identifiers, versions) the frame holds.
    pub names: usize,
    /// The score.
    pub score: i64,
}

impl Interest {
    /// The interest of somebody who works on a frame.
    pub fn of(frame: &Frame) -> Self {
        let mut text = frame.title.as_str().to_owned();
        if let Some(criteria) = &frame.criteria {
            text.push('\n');
            text.push_str(beginning(criteria.as_str(), GOAL_LOOK));
        }
        let terms = terms(&text);
        let mut beginnings = Beginnings::default();
        for term in &terms {
            beginnings.add(term);
        }
        let hashes = terms.iter().map(|term| hash(term)).zip(0..);
        let mut hashes: Vec<(u64, u32)> = hashes.collect();
        hashes.sort_unstable();
        Self {
            terms,
            hashes,
            beginnings,
        }
    }

    /// The terms, in order.
    pub fn terms(&self) -> &[String] {
        &self.terms
    }

    /// Compares frames to this interest, the faster the more of them there are.
    pub fn comparison(&self) -> Comparison<'_> {
        Comparison {
            interest: self,
            met: vec![Met::default(); self.terms.len()],
            names: Vec::new(),
            memo: Memo::default(),
        }
    }
}

/// An interest being compared to one frame after the other.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    interest: &'a Interest,
    /// Where in the frame at hand each term was met.
    met: Vec<Met>,
    /// The names met in it, by their hashes.
    names: Vec<u64>,
    memo: Memo,
}

/// What became of words met before: stemming takes longer than everything else together, and
/// frames of one project use the same words over and over.
#[derive(Clone, Debug)]
struct Memo([Remembered; 512]);

/// A word by its hash, and which term it is, if any.
#[derive(Clone, Copy, Debug, Default)]
struct Remembered {
    hash: u64,
    term: Option<u32>,
}

impl Default for Memo {
    fn default() -> Self {
        Self([Remembered::default(); 512])
    }
}

impl Memo {
    fn recall(&self, hash: u64) -> Option<Remembered> {
        let place = self.0.get(Self::place(hash)).copied();
        place.filter(|remembered| remembered.hash == hash)
    }

    fn remember(&mut self, remembered: Remembered) {
        if let Some(place) = self.0.get_mut(Self::place(remembered.hash)) {
            *place = remembered;
        }
    }

    /// One of 512.
    fn place(hash: u64) -> usize {
        usize::try_from(hash >> 55).unwrap_or(0)
    }
}

impl Comparison<'_> {
    /// How a finished frame compares to the interest.
    ///
    /// Measured on recorded sessions (nDCG@5 of which earlier frame holds the names that the work
    /// needs next): recency alone .30, BM25 .43, the predecessor's formula .50 and .53 without
    /// its recency, the number of names alone .59, this .62. So what a frame *holds* counts more
    /// than how alike it sounds, both with diminishing returns, and recency only breaks ties.
    /// What counts is what would be shown: the criteria of a frame with results are not.
    pub fn with(&mut self, frame: &Frame) -> Relevance {
        let (criteria, results) = told(frame);
        self.met.fill(Met::default());
        self.names.clear();
        self.look(frame.title.as_str(), Met::GOAL);
        self.look(criteria, Met::GOAL);
        self.look(results, Met::RESULTS);
        for artifact in artifacts(frame).rev().take(ARTIFACTS_LOOK) {
            let artifact = beginning(artifact, CRITERIA_LOOK);
            self.look(artifact, Met::ARTIFACTS);
            self.names.push(hash(artifact));
        }
        self.names.sort_unstable();
        self.names.dedup();
        let names = self.names.len();
        let places = self.met.iter().map(|Met(places)| places.count_ones());
        let matches = places.sum::<u32>() as usize;
        let score = score(names, matches, frame.status);
        Relevance {
            matches,
            names,
            score,
        }
    }

    fn look(&mut self, text: &str, place: Met) {
        pieces(text, &mut |piece| match piece {
            Piece::Name(name) => {
                let hash = hash(name);
                self.names.push(hash);
                if self.interest.beginnings.may_hold(name) {
                    self.meet(self.interest.find_name(name, hash), place);
                }
            }
            Piece::Word(word) => {
                if self.interest.beginnings.may_hold(word) {
                    let term = self.recall(hash(word), |interest| {
                        let mut term = None;
                        each_term(word, &mut |stem| term = interest.find(stem));
                        term
                    });
                    self.meet(term, place);
                }
            }
            Piece::Wide(word) => {
                let interest = self.interest;
                each_term(word, &mut |term| self.meet(interest.find(term), place));
            }
        });
    }

    fn meet(&mut self, term: Option<u32>, place: Met) {
        let met = term.and_then(|term| self.met.get_mut(term as usize));
        if let Some(Met(places)) = met {
            *places |= place.0;
        }
    }

    /// Which term it is that has this hash: as it was found before, or as `find` finds it now.
    fn recall(&mut self, hash: u64, find: impl FnOnce(&Interest) -> Option<u32>) -> Option<u32> {
        if let Some(Remembered { term, .. }) = self.memo.recall(hash) {
            return term;
        }
        let term = find(self.interest);
        self.memo.remember(Remembered { hash, term });
        term
    }
}

/// The hash of a text in lower case, as far as its letters are ASCII, eight bytes at a time.
fn hash(text: &str) -> u64 {
    let mix = |hash: u64, eight: [u8; 8]| {
        let eight = u64::from_le_bytes(eight);
        // 0x20 makes a capital a small letter; bytes of other characters stay as they are.
        let low = eight | (!eight & 0x8080_8080_8080_8080) >> 2;
        let mixed = (hash ^ low).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 29
    };
    let (eights, rest) = text.as_bytes().as_chunks();
    let mut hash = eights
        .iter()
        .fold(text.len() as u64, |hash, eight| mix(hash, *eight));
    if !rest.is_empty() {
        let mut last = [0; 8];
        for (place, byte) in last.iter_mut().zip(rest) {
            *place = *byte;
        }
        hash = mix(hash, last);
    }
    // The upper bits are the best mixed; 0 is for places where there is nothing.
    hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
}

/// How terms begin. Nearly no word of a text begins like one, and a stem keeps the beginning of
/// its word, so most words need not be stemmed at all.
#[derive(Clone, Debug)]
struct Beginnings([u64; 64]);

impl Default for Beginnings {
    fn default() -> Self {
        Self([0; 64])
    }
}

impl Beginnings {
    fn add(&mut self, term: &str) {
        let mut put = |class: usize| {
            if let Some(bits) = self.0.get_mut(class / 64) {
                *bits |= 1 << (class % 64);
            }
        };
        match term.as_bytes() {
            // The stem of `easy` is `easi`.
            [one, two, three, b'i'] => {
                put(Self::class([*one, *two, *three, b'i']));
                put(Self::class([*one, *two, *three, b'y']));
            }
            [one, two, three, four, ..] => put(Self::class([*one, *two, *three, *four])),
            [one, two, three] => put(Self::class([*one, *two, *three, 0])),
            _ => {}
        }
    }

    /// Whether a word begins like a term.
    fn may_hold(&self, word: &str) -> bool {
        let has = |class: usize| {
            let bits = self.0.get(class / 64);
            bits.is_some_and(|bits| bits >> (class % 64) & 1 == 1)
        };
        let low = |byte: &u8| byte | 0x20;
        match word.as_bytes() {
            [one, two, three, four, ..] => {
                let (one, two, three) = (low(one), low(two), low(three));
                has(Self::class([one, two, three, low(four)]))
                    || has(Self::class([one, two, three, 0]))
            }
            [one, two, three] => has(Self::class([low(one), low(two), low(three), 0])),
            _ => false,
        }
    }

    /// One of 4096 classes.
    fn class(letters: [u8; 4]) -> usize {
        let mixed = u32::from_le_bytes(letters).wrapping_mul(0x9e37_79b1);
        (mixed >> 20) as usize
    }
}

/// In which parts of a frame a term was met.
#[derive(Clone, Copy, Debug, Default)]
struct Met(u8);

impl Met {
    const GOAL: Self = Self(1);
    const RESULTS: Self = Self(2);
    const ARTIFACTS: Self = Self(4);
}

impl Interest {
    fn find(&self, term: &str) -> Option<u32> {
        let found = self
            .terms
            .binary_search_by(|known| known.as_str().cmp(term));
        found.ok().and_then(|at| u32::try_from(at).ok())
    }

    /// The same for a name as it was written, whose hash is known.
    fn find_name(&self, name: &str, hash: u64) -> Option<u32> {
        if !name.is_ascii() {
            return self.find(&lower(name));
        }
        let found = self.hashes.binary_search_by_key(&hash, |(hash, _)| *hash);
        let found = found.ok().and_then(|at| self.hashes.get(at));
        found.map(|(_, term)| *term)
    }
}

/// What a frame with so many names and matches scores.
pub fn score(names: usize, matches: usize, status: Status) -> i64 {
    3 * doublings(names) + 2 * doublings(matches) + finished(status)
}

/// What an index keeps of a finished frame, so that it can be compared without being read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gist {
    /// How many distinct names of things it holds.
    pub names: usize,
    /// Its terms, and in how many of goal, results and artifacts each occurs.
    pub terms: BTreeMap<String, u8>,
}

impl Gist {
    /// The gist of a frame.
    pub fn of(frame: &Frame) -> Self {
        let nobody = Interest::default();
        let (criteria, results) = told(frame);
        let goal = [frame.title.as_str(), criteria];
        let files = artifacts(frame).rev().take(ARTIFACTS_LOOK);
        let files = files.map(|artifact| beginning(artifact, CRITERIA_LOOK));
        let fields = [
            goal.join("\n"),
            results.to_owned(),
            files.collect::<Vec<_>>().join("\n"),
        ];
        let mut gist = Self {
            names: nobody.comparison().with(frame).names,
            terms: BTreeMap::new(),
        };
        for term in fields.iter().flat_map(|field| terms(field)) {
            *gist.terms.entry(term).or_default() += 1;
        }
        gist
    }
}

/// The predecessor's bonus for how a frame ended: done work is worth most, and failure teaches.
fn finished(status: Status) -> i64 {
    match status {
        Status::Completed => 20,
        Status::Failed => 15,
        _ => 0,
    }
}

/// Sixteen times the number of doublings from 1 to `n + 1`: a logarithm without fractions, which
/// no two machines compute differently.
fn doublings(n: usize) -> i64 {
    let n = i64::try_from(n.min(1 << 20)).unwrap_or(0) + 1;
    let whole = n.ilog2();
    let power = 1_i64 << whole;
    16 * i64::from(whole) + 16 * (n - power) / power
}

/// The parent is worth most, then the grandparent, then the root, which holds the mission; the
/// rest by the predecessor's points. `newer` is how many ancestors changed after this one.
pub(crate) fn ancestor_score(frame: &Frame, depth: usize, is_root: bool, newer: usize) -> i64 {
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

/// The artifacts of a frame, oldest first.
pub(crate) fn artifacts(frame: &Frame) -> impl DoubleEndedIterator<Item = &str> {
    frame.notes.iter().filter_map(|note| match note {
        Note::Artifact(path) => Some(path.as_str()),
        _ => None,
    })
}

/// What would be shown of a frame beside its title: its results, or its criteria as long as it has
/// none. Criteria first.
fn told(frame: &Frame) -> (&str, &str) {
    let results = frame.results_compacted.as_ref().or(frame.results.as_ref());
    let criteria = frame
        .criteria_compacted
        .as_ref()
        .or(frame.criteria.as_ref());
    match (criteria, results) {
        (_, Some(results)) => ("", beginning(results.as_str(), RESULTS_LOOK)),
        (Some(criteria), None) => (beginning(criteria.as_str(), CRITERIA_LOOK), ""),
        (None, None) => ("", ""),
    }
}

fn beginning(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::fixtures::{finished, frame};
    use crate::text::Prose;

    #[test]
    fn doublings_are_a_logarithm() {
        assert_eq!([0, 1, 2, 3, 7, 15].map(doublings), [0, 16, 24, 32, 48, 64]);
        assert!(doublings(usize::MAX) > doublings(1 << 16));
    }

    #[test]
    fn kinship_shows_through_case_form_and_folder() {
        let mut current = frame("Refresh expired tokens");
        current.criteria = Prose::new("refreshToken() renews a session").ok();
        let interest = Interest::of(&current);
        let related = interest
            .comparison()
            .with(&finished("Token refreshing", "Added refresh_token"));
        let stranger = interest
            .comparison()
            .with(&finished("Logo colours", "Made it blue"));
        assert_eq!(stranger.matches, 0);
        // token and refresh, in the goal and in the results.
        assert_eq!(related.matches, 4);
        assert!(related.score > stranger.score);
    }

    #[test]
    fn kinship_shows_in_any_script() {
        let interest = Interest::of(&frame("ログイン認証を修正する"));
        let related = interest
            .comparison()
            .with(&finished("認証の設計", "ログイン画面を作成"));
        let stranger = interest
            .comparison()
            .with(&finished("色の変更", "青にした"));
        assert!(related.matches >= 3, "{related:?}");
        assert_eq!(stranger.matches, 0);
        let interest = Interest::of(&frame("Исправить авторизацию пользователей"));
        assert!(
            interest
                .comparison()
                .with(&finished("Авторизация пользователя", "да"))
                .matches
                >= 2
        );
    }

    #[test]
    fn one_match_or_one_name_is_enough_and_neither_is_not() {
        let interest = Interest::of(&frame("Parser"));
        let score = |title, results| interest.comparison().with(&finished(title, results)).score;
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
